//! The side of a file that is written, and where that goes: to a descriptor, to a function of whoever has the node, or
//! nowhere but into a string.

use super::Fd;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Takes what is written to standard output or standard error, in the order in which it is written.
pub struct Sink(Box<Take>);

type Take = dyn FnMut(&[u8]) -> std::io::Result<()> + Send;

impl Sink {
    /// Gives this function what is written. An error of its is one of the program's; a panic is, too, because none may
    /// cross generated code (A7).
    pub fn new(take: impl FnMut(&[u8]) -> std::io::Result<()> + Send + 'static) -> Sink {
        Sink(Box::new(take))
    }
    /// Hands bytes over; or says why they were not taken.
    fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        match catch_unwind(AssertUnwindSafe(|| (self.0)(bytes))) {
            Ok(taken) => taken.map_err(|error| error.to_string()),
            Err(_) => Err("its function panicked".into()),
        }
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sink")
    }
}

/// The side that is written.
#[derive(Debug)]
pub(super) struct Output {
    /// `None`: collected, for a string, or taken by the sink.
    pub(super) fd: Option<Fd>,
    sink: Option<Sink>,
    /// Writing never waits: a regular file, or a device like /dev/null.
    pub(super) regular: bool,
    pub(super) bytes: Vec<u8>,
    /// A terminal: written at every newline.
    pub(super) lines: bool,
    /// It was not there when the process began: nothing can be written.
    pub(super) closed: bool,
}

impl Output {
    /// What is written goes to this descriptor.
    pub(super) fn to(fd: Fd, regular: bool, lines: bool, closed: bool) -> Output {
        Output { fd: Some(fd), sink: None, regular, bytes: Vec::new(), lines, closed }
    }
    /// What is written is collected, or goes to a sink.
    pub(super) fn without_descriptor(sink: Option<Sink>) -> Output {
        Output { fd: None, sink, regular: true, bytes: Vec::new(), lines: false, closed: false }
    }
    /// Whether what is written goes somewhere, and is not only collected.
    #[inline(always)]
    pub(super) fn leads_out(&self) -> bool {
        self.fd.is_some() || self.sink.is_some()
    }
    /// Gives the sink, if there is one, what is in the buffer.
    pub(super) fn give_to_sink(&mut self) -> Result<(), String> {
        match &mut self.sink {
            Some(sink) if !self.bytes.is_empty() => {
                let taken = sink.take(&self.bytes);
                self.bytes.clear();
                taken
            }
            _ => Ok(()),
        }
    }
}
