//! What ends a run (M1).

use crate::NodeId;
use std::fmt;

/// Why a run could not go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// This process has had a session.
    Twice,
    /// A node sent what no fabric sends.
    Malformed(NodeId),
    /// There is no memory for the payload of a message.
    TooLarge {
        /// Its sender.
        from: NodeId,
        /// How many bytes it has.
        bytes: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Twice => write!(f, "MPI can be begun once in a process"),
            Error::Malformed(from) => write!(f, "node {} sent a packet that makes no sense", from.0),
            Error::TooLarge { from, bytes } => {
                write!(f, "no memory for a message of {bytes} bytes from node {}", from.0)
            }
        }
    }
}

impl std::error::Error for Error {}
