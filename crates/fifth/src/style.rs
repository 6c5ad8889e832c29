//! `fifth fmt`: program texts in one style.

use crate::cli::{self, MessageFormat};
use crate::destination::Destination;
use crate::files::{self, Disk};
use crate::{USAGE, output, report};
use anyhow::bail;
use engine::sources::Files;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use syntax::pretty::{Refusal, pretty};
use syntax::source::SourceMap;
use term::AtomTable;

/// A text is not in the style (`--check`).
const OTHER: u8 = 1;

/// Writes the files in the style, or says which are not; gives the exit code.
pub(crate) fn run(options: &cli::Fmt) -> anyhow::Result<u8> {
    let mut code = 0;
    for path in &options.files {
        let found = one(path, options.check)?;
        code = code.max(found);
    }
    Ok(code)
}

fn one(path: &Path, check: bool) -> anyhow::Result<u8> {
    let text = Disk.read(path).map_err(anyhow::Error::msg)?;
    // Some editors begin UTF-8 files with a byte order mark.
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&text);
    let name = Disk.name(path);
    let new = match pretty(text, &AtomTable::new()) {
        Ok(new) => new,
        Err(Refusal::Errors(errors)) => {
            let mut sources = SourceMap::default();
            let file = sources.add(name, text.to_vec());
            let list: Vec<_> = errors.into_iter().map(|error| error.diagnostic(file)).collect();
            report::diagnostics(&list, &sources, MessageFormat::Human);
            return Ok(USAGE);
        }
        Err(Refusal::Changed(at)) => {
            let line = text[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
            bail!(
                "{name} stays as it is: its clause in line {line} would become another one; please report this bug with the file"
            );
        }
    };
    let is_input = path.as_os_str() == files::DASH;
    if check {
        if new == text {
            return Ok(0);
        }
        return output::line(&name).map(|()| OTHER);
    }
    if is_input {
        return output::bytes(&new).map(|()| 0);
    }
    if new != text {
        // What the file's owner allows stays.
        let mode = std::fs::metadata(path).map_or(0o644, |facts| facts.permissions().mode() & 0o7777);
        Destination::new(path, &[])?.write(mode, |out| std::io::Write::write_all(out, &new))?;
    }
    Ok(0)
}
