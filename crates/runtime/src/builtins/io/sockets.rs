//! Sockets: connecting, listening, accepting; over TCP (`inet`) and over the file system (`unix`).
//!
//! Names of hosts are looked up at once, which may block for as long as the system's resolver does; nothing else here
//! waits.

use super::buffers::{Direction, Fd};
use super::requests::{abnormal, open, owned, pair, reply};
use super::{Io, events};
use crate::builtins::{attempt, bytes, describe, error, index, integer, out_of_range, wrong};
use crate::native::Outcome;
use crate::outcome::ErrorKind;
use crate::terms::View;
use crate::worker::Worker;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, acceptfrom_with, bind as bind_socket,
    connect as connect_socket, listen, socket_with, sockopt,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use term::Word;
use term::symbol::NIL;

const BACKLOG: i32 = 5;

/// Where a socket is.
#[derive(Clone, Debug)]
enum Address {
    Inet(SocketAddr),
    Unix(Vec<u8>),
}

/// A socket that accepts connections.
#[derive(Debug)]
pub(crate) struct Listener {
    fd: Fd,
    /// A socket of the file system disappears with its listener.
    path: Option<Vec<u8>>,
}

/// A connection that is being made.
#[derive(Debug)]
pub(crate) struct Connecting {
    fd: Fd,
    name: String,
    /// What to try if this address refuses.
    others: Vec<Address>,
    answer: crate::worker::Root,
    two_streams: bool,
}

fn wrong_address(worker: &Worker, address: Word) -> Outcome {
    let text = describe(worker, address);
    error(
        ErrorKind::ArgumentType,
        format!("an address is unix(Path), inet(Host,Port) or (for bind) inet(Port), not {text}"),
    )
}

fn port(worker: &Worker, position: usize, word: Word) -> Result<u16, Outcome> {
    let port = integer(worker, position, word)?;
    u16::try_from(port).map_err(|_| out_of_range(position, "a port from 0 to 65535", port))
}

/// The addresses that a term names: empty if the host is unknown.
fn addresses(worker: &mut Worker, address: Word) -> Result<Vec<Address>, Outcome> {
    let (name, arity) = match worker.view(address) {
        View::Struct(name, arity) => (worker.atoms.text(name).to_vec(), arity),
        View::Unbound(variable) => return Err(Outcome::Wait(variable)),
        _ => return Err(wrong_address(worker, address)),
    };
    let first = worker.arg(address, 0);
    match (&name[..], arity) {
        (b"unix", 1) => Ok(vec![Address::Unix(bytes(worker, 1, first)?)]),
        (b"inet", 1) => {
            let port = port(worker, 1, first)?;
            Ok(vec![Address::Inet((Ipv4Addr::UNSPECIFIED, port).into())])
        }
        (b"inet", 2) => {
            let port = port(worker, 2, worker.arg(address, 1))?;
            if let Some(parts) = worker.vector_elements(first) {
                let mut octets = [0; 4];
                if parts.len() != octets.len() {
                    return Err(wrong_address(worker, address));
                }
                for (octet, &part) in octets.iter_mut().zip(&parts) {
                    *octet = index(worker, 1, part, 256)? as u8;
                }
                return Ok(vec![Address::Inet((IpAddr::from(octets), port).into())]);
            }
            let host = bytes(worker, 1, first)?;
            let host = String::from_utf8_lossy(&host).into_owned();
            let found = (&host[..], port).to_socket_addrs();
            Ok(found.map_or_else(|_| Vec::new(), |found| found.map(Address::Inet).collect()))
        }
        _ => Err(wrong_address(worker, address)),
    }
}

impl Address {
    fn family(&self) -> AddressFamily {
        match self {
            Address::Inet(SocketAddr::V4(_)) => AddressFamily::INET,
            Address::Inet(SocketAddr::V6(_)) => AddressFamily::INET6,
            Address::Unix(_) => AddressFamily::UNIX,
        }
    }
    fn text(&self) -> String {
        match self {
            Address::Inet(address) => address.to_string(),
            Address::Unix(path) => String::from_utf8_lossy(path).into_owned(),
        }
    }
    fn socket(&self) -> Result<OwnedFd, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        socket_with(self.family(), SocketType::STREAM, flags, None)
    }
    fn connect(&self) -> Result<OwnedFd, Errno> {
        let fd = self.socket()?;
        let started = match self {
            Address::Inet(address) => connect_socket(&fd, address),
            Address::Unix(path) => connect_socket(&fd, &SocketAddrUnix::new(&path[..])?),
        };
        match started {
            Ok(()) | Err(Errno::INPROGRESS | Errno::AGAIN) => Ok(fd),
            Err(error) => Err(error),
        }
    }
    fn listen(&self) -> Result<OwnedFd, Errno> {
        let fd = self.socket()?;
        match self {
            Address::Inet(address) => {
                sockopt::set_socket_reuseaddr(&fd, true)?;
                bind_socket(&fd, address)?;
            }
            Address::Unix(path) => bind_socket(&fd, &SocketAddrUnix::new(&path[..])?)?,
        }
        listen(&fd, BACKLOG)?;
        Ok(fd)
    }
}

/// `connect(Address,R)` and `connect2(Address,R)`.
pub(super) fn connect(
    worker: &mut Worker,
    address: Word,
    answer: Word,
    two_streams: bool,
) -> Result<Word, Outcome> {
    let addresses = addresses(worker, address)?;
    Ok(try_next(worker, addresses, answer, two_streams))
}

/// Starts a connection to the first address that allows it.
fn try_next(worker: &mut Worker, addresses: Vec<Address>, answer: Word, two_streams: bool) -> Word {
    let mut addresses = addresses.into_iter();
    while let Some(address) = addresses.next() {
        if let Ok(fd) = address.connect() {
            let answer = worker.root(answer);
            let connecting = Connecting {
                fd: owned(fd),
                name: address.text(),
                others: addresses.collect(),
                answer,
                two_streams,
            };
            let place = worker.state::<Io>().connecting.add(connecting);
            return reply(worker, "connecting", &[Word::small(place as i64)]);
        }
    }
    abnormal(worker, answer)
}

/// `connected(K,Reply)`: waits until a connection is made or refused.
pub(super) fn connected(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let place = attempt!(index(worker, 1, inputs[0], usize::MAX));
    let Some(connecting) = worker.state::<Io>().connecting.get_mut(place) else {
        return error(ErrorKind::Other, "this connection was made already");
    };
    let fd = connecting.fd.clone();
    if !super::buffers::is_ready(&fd, Direction::Write) {
        return Outcome::Wait(events::when_ready(worker, fd, Direction::Write));
    }
    let Some(connecting) = worker.state::<Io>().connecting.remove(place) else { return Outcome::No };
    let answer = worker.take_root(connecting.answer);
    outputs[0] = match sockopt::socket_error(&connecting.fd) {
        Ok(Ok(())) => streams(worker, &connecting.name, connecting.fd, answer, connecting.two_streams),
        _ => try_next(worker, connecting.others, answer, connecting.two_streams),
    };
    Outcome::Done
}

/// A connected socket as one stream, or as one for each direction.
fn streams(worker: &mut Worker, name: &str, fd: Fd, answer: Word, two: bool) -> Word {
    if two {
        return pair(worker, name, fd.clone(), fd, answer);
    }
    let handle = open(worker, name, Some(fd.clone()), Some(fd));
    reply(worker, "stream", &[handle, answer])
}

/// `bind(Address,R)`.
pub(super) fn bind(worker: &mut Worker, address: Word, answer: Word) -> Result<Word, Outcome> {
    let addresses = addresses(worker, address)?;
    let Some(address) = addresses.into_iter().next() else { return Ok(abnormal(worker, answer)) };
    let Ok(fd) = address.listen() else { return Ok(abnormal(worker, answer)) };
    let path = if let Address::Unix(path) = address { Some(path) } else { None };
    let place = worker.state::<Io>().listeners.add(Listener { fd: owned(fd), path });
    Ok(reply(worker, "server", &[Word::small(place as i64), answer]))
}

/// `accept(S,H,State)`: the next message of a bound socket. States: `busy(V,S)`, `stream(N,R,S)`, `pair(I,O,R,S)`, `closed`.
pub(super) fn accept(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let place = attempt!(index(worker, 2, inputs[1], usize::MAX));
    let (message, rest) = match worker.view(inputs[0]) {
        View::Cons(message, rest) => (message, rest),
        View::Atom(NIL) => {
            close(worker, place);
            outputs[0] = reply(worker, "closed", &[]);
            return Outcome::Done;
        }
        _ => return wrong(worker, 1, "a list of messages", inputs[0]),
    };
    let (name, answer) = match worker.view(message) {
        View::Struct(name, 1) => (worker.atoms.text(name).to_vec(), worker.arg(message, 0)),
        View::Unbound(variable) => return Outcome::Wait(variable),
        _ => (Vec::new(), message),
    };
    let two = match &name[..] {
        b"accept" => false,
        b"accept2" => true,
        _ => {
            let text = worker.term_text(message);
            return error(ErrorKind::ReductionFailure, format!("a bound socket does not understand {text}"));
        }
    };
    let Some(listener) = worker.state::<Io>().listeners.get_mut(place) else {
        return error(ErrorKind::Other, "this socket was closed");
    };
    let fd = listener.fd.clone();
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    outputs[0] = match acceptfrom_with(&fd, flags) {
        Ok((socket, _)) => {
            let state = streams(worker, "connection", owned(socket), answer, two);
            let parts: Vec<Word> = (0..if two { 3 } else { 2 }).map(|i| worker.arg(state, i)).collect();
            let state = [&parts[..], &[rest]].concat();
            reply(worker, if two { "pair" } else { "stream" }, &state)
        }
        Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => {
            let variable = events::when_ready(worker, fd, Direction::Read);
            reply(worker, "busy", &[variable, inputs[0]])
        }
        Err(_) => {
            worker.unify(answer, Word::atom(term::symbol::ABNORMAL));
            reply(worker, "open", &[rest])
        }
    };
    Outcome::Done
}

fn close(worker: &mut Worker, place: usize) {
    if let Some(listener) = worker.state::<Io>().listeners.remove(place)
        && let Some(path) = listener.path
    {
        // A path that is gone already needs no removing.
        let _ = rustix::fs::unlink(path);
    }
}
