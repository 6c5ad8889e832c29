//! `fifth lab network`: a network of the user's own, from a file.

use super::files;
use super::processes::processors;
use crate::cli::OwnNetwork;
use crate::output;
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use lab::own::Network;

/// Something that the file expects does not hold.
const DOES_NOT_HOLD: u8 = 1;

/// Measures the network of a file, and says what came of it.
pub(super) fn run(options: &OwnNetwork) -> anyhow::Result<u8> {
    let name = options.file.display();
    let text = std::fs::read_to_string(&options.file).with_context(|| format!("cannot read {name}"))?;
    let network = match Network::read(&text) {
        Ok(network) => network,
        Err(wrong) => bail!("{name}:{wrong}\n{}", shown(&text, wrong.line)),
    };
    let bar = ProgressBar::no_length();
    if let Ok(style) = ProgressStyle::with_template("{bar:20} {pos}/{len} runs {eta} left") {
        bar.set_style(style);
    }
    let threads = options.threads.unwrap_or_else(processors);
    let judged = network.measure(threads as usize, &|done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let said = output::write(&lab::text::report(&judged.report));
    if let Some(folder) = &options.out {
        files::make_folder(folder)?;
        files::write_report(&judged.report, folder)?;
        files::write_page(std::slice::from_ref(&judged.report), folder)?;
    }
    said.map(|()| if judged.holds { 0 } else { DOES_NOT_HOLD })
}

/// The line that is wrong, as errors in programs show theirs.
fn shown(text: &str, line: usize) -> String {
    let content = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    format!("  {line} | {}", content.trim_end())
}
