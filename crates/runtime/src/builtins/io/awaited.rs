//! What a descriptor is, for people who want to know what a run waits for.

use super::buffers::{Direction, Fd};
use rustix::fd::{AsFd, AsRawFd};
use rustix::net::{SocketAddrAny, getpeername, getsockname, sockopt};
use std::net::SocketAddr;

impl Fd {
    /// What is waited for at it: `input from standard input`, `a connection to 127.0.0.1:7000`.
    pub(super) fn awaited(&self, direction: Direction) -> String {
        let fd = self.as_fd();
        if sockopt::socket_acceptconn(fd).unwrap_or(false) {
            let own = getsockname(fd).ok().and_then(|address| named(&address));
            let place = own.unwrap_or_else(|| "a socket".into());
            return format!("a connection to {place}");
        }
        let link = || std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()));
        let name = match fd.as_raw_fd() {
            0 => "standard input".to_string(),
            1 => "standard output".to_string(),
            2 => "standard error".to_string(),
            _ => getpeername(fd).ok().flatten().and_then(|address| named(&address)).unwrap_or_else(|| {
                let path = link().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
                match path.split_once(":[") {
                    Some((kind, _)) => format!("a {kind}"),
                    None if path.is_empty() => "a file".to_string(),
                    None => path,
                }
            }),
        };
        match direction {
            Direction::Read => format!("input from {name}"),
            Direction::Write => format!("{name} to take output"),
        }
    }
}

/// Host and port, or the path, of an address that has one.
fn named(address: &SocketAddrAny) -> Option<String> {
    if let Ok(inet) = SocketAddr::try_from(address.clone()) {
        return Some(inet.to_string());
    }
    let unix = rustix::net::SocketAddrUnix::try_from(address.clone()).ok()?;
    unix.path().map(|path| path.to_string_lossy().into_owned())
}
