//! Standard output, for everything but the program's own writing: a full disk is an error like others; a reader that
//! has gone ends the command without a word.

use anyhow::{Context, bail};
use std::fmt;
use std::io::{ErrorKind, Write};

/// Nobody reads standard output any more.
#[derive(Debug)]
pub(crate) struct ReaderGone;

impl fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads standard output any more")
    }
}

impl std::error::Error for ReaderGone {}

/// Writes a text to standard output.
pub(crate) fn write(text: &str) -> anyhow::Result<()> {
    bytes(text.as_bytes())
}

/// Writes bytes to standard output.
pub(crate) fn bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if !runtime::builtins::io::has_output() {
        bail!("cannot write to standard output: it is closed");
    }
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(ReaderGone.into()),
        written => written.context("cannot write to standard output"),
    }
}

/// The same with a newline behind it.
pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    write(&format!("{text}\n"))
}

/// A line on standard error. Nobody is left to tell when that is closed.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// An error with its reasons. The system's number of it is no news to anybody.
pub(crate) fn told(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    let told = text.strip_suffix(')').and_then(|text| text.rsplit_once(" (os error ")).map(|(told, _)| told);
    told.map_or(text.clone(), str::to_string)
}

/// Says what is wrong.
pub(crate) fn error(error: &anyhow::Error) {
    complain(&format!("error: {}", told(error)));
}
