//! Errors of system calls: what they say, and which of them mean only that the other end is gone.

use rustix::io::Errno;

/// Errors that say that a connection or pipe has no other end any more.
const BROKEN: [Errno; 10] = [
    Errno::PIPE,
    Errno::CONNRESET,
    Errno::CONNABORTED,
    Errno::TIMEDOUT,
    Errno::NOTCONN,
    Errno::NETDOWN,
    Errno::NETUNREACH,
    Errno::NETRESET,
    Errno::HOSTDOWN,
    Errno::HOSTUNREACH,
];

/// A system call's error, with what was tried.
#[derive(Debug)]
pub(crate) struct IoError {
    /// `cannot write to out.txt: No space left on device`
    pub(crate) message: String,
    /// Nobody reads standard output, or standard error, any more.
    pub(crate) reader_gone: bool,
}

impl IoError {
    pub(crate) fn new(what: &str, name: &str, error: Errno) -> IoError {
        IoError { message: format!("{what} {name}: {}", reason(error)), reader_gone: false }
    }
    /// What was written to one of the streams that the process was born with did not get there.
    pub(crate) fn of_standard(name: &str, error: Errno) -> IoError {
        IoError { reader_gone: error == Errno::PIPE, ..IoError::new("cannot write to", name, error) }
    }
}

/// The system's words for an error, without its number.
pub(super) fn reason(error: Errno) -> String {
    let text = std::io::Error::from(error).to_string();
    text.split(" (os error").next().unwrap_or_default().into()
}

/// Does an error say that a connection or pipe has no other end any more?
pub(super) fn breaks(error: Errno) -> bool {
    BROKEN.contains(&error)
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_is_lost_in_any_way_is_broken_and_a_full_disk_is_not() {
        assert!([Errno::TIMEDOUT, Errno::CONNRESET, Errno::PIPE, Errno::HOSTUNREACH].into_iter().all(breaks));
        assert!(
            ![Errno::NOSPC, Errno::IO, Errno::ACCESS, Errno::MFILE, Errno::AGAIN].into_iter().any(breaks)
        );
    }
}
