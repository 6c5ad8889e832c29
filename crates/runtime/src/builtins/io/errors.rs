//! Errors of system calls: what they say, and which of them mean only that the other end is gone.

use crate::worker::Worker;
use rustix::io::Errno;
use term::Word;

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

/// The names of the system's errors from number 1 on, as C has them on Linux; empty where there is none.
#[rustfmt::skip]
const NAMES: [&str; 133] = [
    "EPERM", "ENOENT", "ESRCH", "EINTR", "EIO", "ENXIO", "E2BIG", "ENOEXEC", "EBADF", "ECHILD", "EAGAIN",
    "ENOMEM", "EACCES", "EFAULT", "ENOTBLK", "EBUSY", "EEXIST", "EXDEV", "ENODEV", "ENOTDIR", "EISDIR",
    "EINVAL", "ENFILE", "EMFILE", "ENOTTY", "ETXTBSY", "EFBIG", "ENOSPC", "ESPIPE", "EROFS", "EMLINK",
    "EPIPE", "EDOM", "ERANGE", "EDEADLK", "ENAMETOOLONG", "ENOLCK", "ENOSYS", "ENOTEMPTY", "ELOOP", "",
    "ENOMSG", "EIDRM", "ECHRNG", "EL2NSYNC", "EL3HLT", "EL3RST", "ELNRNG", "EUNATCH", "ENOCSI", "EL2HLT",
    "EBADE", "EBADR", "EXFULL", "ENOANO", "EBADRQC", "EBADSLT", "", "EBFONT", "ENOSTR", "ENODATA", "ETIME",
    "ENOSR", "ENONET", "ENOPKG", "EREMOTE", "ENOLINK", "EADV", "ESRMNT", "ECOMM", "EPROTO", "EMULTIHOP",
    "EDOTDOT", "EBADMSG", "EOVERFLOW", "ENOTUNIQ", "EBADFD", "EREMCHG", "ELIBACC", "ELIBBAD", "ELIBSCN",
    "ELIBMAX", "ELIBEXEC", "EILSEQ", "ERESTART", "ESTRPIPE", "EUSERS", "ENOTSOCK", "EDESTADDRREQ",
    "EMSGSIZE", "EPROTOTYPE", "ENOPROTOOPT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EOPNOTSUPP",
    "EPFNOSUPPORT", "EAFNOSUPPORT", "EADDRINUSE", "EADDRNOTAVAIL", "ENETDOWN", "ENETUNREACH", "ENETRESET",
    "ECONNABORTED", "ECONNRESET", "ENOBUFS", "EISCONN", "ENOTCONN", "ESHUTDOWN", "ETOOMANYREFS", "ETIMEDOUT",
    "ECONNREFUSED", "EHOSTDOWN", "EHOSTUNREACH", "EALREADY", "EINPROGRESS", "ESTALE", "EUCLEAN", "ENOTNAM",
    "ENAVAIL", "EISNAM", "EREMOTEIO", "EDQUOT", "ENOMEDIUM", "EMEDIUMTYPE", "ECANCELED", "ENOKEY",
    "EKEYEXPIRED", "EKEYREVOKED", "EKEYREJECTED", "EOWNERDEAD", "ENOTRECOVERABLE", "ERFKILL", "EHWPOISON",
];

/// The name of an error, as C has it.
pub(super) fn name(error: Errno) -> String {
    let number = error.raw_os_error();
    let name = usize::try_from(number - 1).ok().and_then(|at| NAMES.get(at)).filter(|name| !name.is_empty());
    name.map_or_else(|| format!("E{number}"), |name| name.to_string())
}

/// Why a request cannot be done.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// What was tried: `cannot open out.txt`.
    what: String,
    why: Why,
}

#[derive(Clone, Debug)]
enum Why {
    System(Errno),
    /// The host's name is not known, in the resolver's words.
    Host(String),
}

impl Refusal {
    /// The system refuses it.
    pub(crate) fn new(what: impl Into<String>, error: Errno) -> Refusal {
        Refusal { what: what.into(), why: Why::System(error) }
    }
    /// There is no host of this name.
    pub(crate) fn host(name: &str, error: &std::io::Error) -> Refusal {
        let text = error.to_string();
        let text = text.strip_prefix("failed to lookup address information: ").unwrap_or(&text);
        Refusal { what: format!("cannot find the host {name}"), why: Why::Host(text.to_string()) }
    }
    /// `cannot open out.txt: No such file or directory`
    pub(crate) fn message(&self) -> String {
        format!("{}: {}", self.what, self.text())
    }
    /// The cause in words.
    fn text(&self) -> String {
        match &self.why {
            Why::System(error) => reason(*error),
            Why::Host(text) => text.clone(),
        }
    }
    /// `system(Name,Text)`, or `host(Text)`.
    pub(crate) fn term(&self, worker: &mut Worker) -> Word {
        let text = worker.string(self.text().as_bytes());
        let (functor, args) = match &self.why {
            Why::System(error) => ("system", vec![Word::atom(worker.intern(&name(*error))), text]),
            Why::Host(_) => ("host", vec![text]),
        };
        let functor = worker.intern(functor);
        worker.structure(functor, &args)
    }
}

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
    /// What was written did not get to a sink.
    pub(crate) fn of_sink(name: &str, reason: &str) -> IoError {
        IoError { message: format!("cannot write to {name}: {reason}"), reader_gone: false }
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
    fn errors_have_the_names_that_c_gives_them() {
        let all = [(Errno::PERM, "EPERM"), (Errno::LOOP, "ELOOP"), (Errno::CONNREFUSED, "ECONNREFUSED")];
        assert!(all.into_iter().all(|(error, known)| name(error) == known));
        assert_eq!(name(Errno::HWPOISON), "EHWPOISON");
        assert_eq!(name(Errno::from_raw_os_error(4000)), "E4000");
    }

    #[test]
    fn a_connection_that_is_lost_in_any_way_is_broken_and_a_full_disk_is_not() {
        assert!([Errno::TIMEDOUT, Errno::CONNRESET, Errno::PIPE, Errno::HOSTUNREACH].into_iter().all(breaks));
        assert!(
            ![Errno::NOSPC, Errno::IO, Errno::ACCESS, Errno::MFILE, Errno::AGAIN].into_iter().any(breaks)
        );
    }
}
