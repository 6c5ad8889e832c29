//! What keeps the engine from its work, as a value.

use std::fmt;
use std::path::PathBuf;

/// Why something was not done. What is wrong with a program text is no `Error` but a diagnosis, and what goes wrong in
/// a run is its outcome.
#[derive(Debug)]
pub enum Error {
    /// A file that cannot be read.
    Unreadable(Unreadable),
    /// The settings ask for what there is not, or do not go with each other.
    Settings(String),
    /// The system refuses memory, threads or code.
    System(String),
    /// Stored bytes are no program of this build of Fifth.
    Stored(String),
    /// The processes of a job cannot go on together.
    Job(String),
}

/// A file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// As it was named.
    pub path: PathBuf,
    /// What is wrong, and what to do.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::Unreadable(unreadable) => &unreadable.message,
            Error::Settings(text) | Error::System(text) | Error::Stored(text) | Error::Job(text) => text,
        })
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Unreadable {}

impl From<Unreadable> for Error {
    fn from(unreadable: Unreadable) -> Error {
        Error::Unreadable(unreadable)
    }
}

/// An error with its reasons, in one line.
pub(crate) fn reasons(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(reason) = next {
        text += &format!(": {reason}");
        next = reason.source();
    }
    text
}
