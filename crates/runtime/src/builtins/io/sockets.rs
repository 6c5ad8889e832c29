//! Sockets: connecting, listening, accepting; over TCP (`inet`) and over the file system (`unix`).
//!
//! Nothing here waits: names of hosts are looked up by a [`Job`], all else the system does without blocking.

use super::buffers::{Direction, Fd};
use super::errors::Refusal;
use super::events;
use super::jobs::Job;
use super::requests::{open, owned, pair, refused_saying_why, reply};
use crate::builtins::{attempt, bytes, describe, error, index, integer, out_of_range, wrong};
use crate::reports::outcome::ErrorKind;
use crate::terms::View;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, acceptfrom_with, bind as bind_socket,
    connect as connect_socket, listen, socket_with, sockopt,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};
use term::Word;
use term::symbol::NIL;

/// Connections that wait to be accepted; the system takes fewer if its own limit is below.
const BACKLOG: i32 = 4096;
/// Errors of `accept` that concern one connection, which is gone.
const PASSING: [Errno; 10] = [
    Errno::INTR,
    Errno::CONNABORTED,
    Errno::PROTO,
    Errno::NOPROTOOPT,
    Errno::PERM,
    Errno::NETDOWN,
    Errno::NETUNREACH,
    Errno::HOSTDOWN,
    Errno::HOSTUNREACH,
    Errno::OPNOTSUPP,
];
/// Errors of `accept` that end when other descriptors are closed; the connection waits.
const SHORT: [Errno; 4] = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
/// After so long a connection that had to wait for a descriptor is tried again.
const RETRY: Duration = Duration::from_millis(10);

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
    /// Whose it is: a priority, or a lane.
    pub(super) lane: i64,
}

/// What is made of an address.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    /// A connection that is one stream.
    Stream,
    /// A connection with a stream for each direction.
    TwoStreams,
    /// A socket that accepts connections.
    Server,
}

/// A socket that is being made.
#[derive(Debug)]
pub(crate) struct Connecting {
    state: State,
    answer: crate::worker::Root,
    wanted: Wanted,
    /// Whose it is: a priority, or a lane.
    pub(super) lane: i64,
}

#[derive(Debug)]
enum State {
    /// The host's name is looked up.
    Resolving(Job<Result<Vec<Address>, Refusal>>),
    /// A connection was begun.
    Begun {
        fd: Fd,
        name: String,
        /// What to try if this address refuses.
        others: Vec<Address>,
    },
}

/// What a term says of where a socket is.
enum Named {
    Addresses(Vec<Address>),
    Host(String, u16),
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

/// What a term names.
fn named(worker: &mut Worker, address: Word) -> Result<Named, Outcome> {
    let one = |address| Ok(Named::Addresses(vec![address]));
    let (name, arity) = match worker.view(address) {
        View::Struct(name, arity) => (worker.atoms.text(name).to_vec(), arity),
        View::Unbound(variable) => return Err(Outcome::Wait(variable)),
        _ => return Err(wrong_address(worker, address)),
    };
    let first = worker.arg(address, 0);
    match (&name[..], arity) {
        (b"unix", 1) => one(Address::Unix(bytes(worker, 1, first)?)),
        (b"inet", 1) => {
            let port = port(worker, 1, first)?;
            one(Address::Inet((Ipv4Addr::UNSPECIFIED, port).into()))
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
                return one(Address::Inet((IpAddr::from(octets), port).into()));
            }
            let host = bytes(worker, 1, first)?;
            let host = String::from_utf8_lossy(&host).into_owned();
            match host.parse::<IpAddr>() {
                Ok(known) => one(Address::Inet((known, port).into())),
                Err(_) => Ok(Named::Host(host, port)),
            }
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
        send_at_once(&fd);
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

/// Streams collect what they send by themselves. Sockets that know no such option need none.
fn send_at_once(fd: &OwnedFd) {
    let _ = sockopt::set_tcp_nodelay(fd, true);
}

/// `connect(Address,R)`, `connect2(Address,R)` and `bind(Address,R)`.
pub(super) fn make(
    worker: &mut Worker,
    address: Word,
    answer: Word,
    wanted: Wanted,
) -> Result<Word, Outcome> {
    let (host, port) = match named(worker, address)? {
        Named::Addresses(addresses) => return try_next(worker, addresses, None, answer, wanted),
        Named::Host(host, port) => (host, port),
    };
    let look_up = move || {
        let found = (&host[..], port).to_socket_addrs();
        found.map(|found| found.map(Address::Inet).collect()).map_err(|error| Refusal::host(&host, &error))
    };
    match Job::start(look_up) {
        Ok(job) => Ok(go_on(worker, State::Resolving(job), answer, wanted)),
        Err(error) => {
            let refusal =
                Refusal::new("cannot look up a host", Errno::from_io_error(&error).unwrap_or(Errno::AGAIN));
            refused_saying_why(worker, answer, &refusal)
        }
    }
}

/// Uses the first address that allows it; without one the answer is `abnormal(Reason)`. `before` is why an address did
/// not that was tried already.
fn try_next(
    worker: &mut Worker,
    addresses: Vec<Address>,
    before: Option<Refusal>,
    answer: Word,
    wanted: Wanted,
) -> Result<Word, Outcome> {
    let (mut addresses, mut last) = (addresses.into_iter(), before);
    while let Some(address) = addresses.next() {
        if let Wanted::Server = wanted {
            match address.listen() {
                Ok(fd) => return Ok(server(worker, fd, address, answer)),
                Err(error) => {
                    last = Some(Refusal::new(format!("cannot listen on {}", address.text()), error));
                }
            }
            continue;
        }
        match address.connect() {
            Ok(fd) => {
                let others = addresses.collect();
                let begun = State::Begun { fd: owned(fd), name: address.text(), others };
                return Ok(go_on(worker, begun, answer, wanted));
            }
            Err(error) => last = Some(no_connection(&address.text(), error)),
        }
    }
    let last = last.unwrap_or_else(|| Refusal::new("the host has no address", Errno::ADDRNOTAVAIL));
    refused_saying_why(worker, answer, &last)
}

fn no_connection(to: &str, error: Errno) -> Refusal {
    Refusal::new(format!("cannot connect to {to}"), error)
}

/// The rest is done by `connected`.
fn go_on(worker: &mut Worker, state: State, answer: Word, wanted: Wanted) -> Word {
    let (answer, lane) = (worker.root(answer), worker.lane_outside());
    let place = worker.io().connecting.add(Connecting { state, answer, wanted, lane });
    reply(worker, "connecting", &[Word::small(place as i64)])
}

/// `connected(K,Reply)`: waits until a host is known, or a connection made or refused.
pub(super) fn connected(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let place = attempt!(index(worker, 1, inputs[0], usize::MAX));
    if super::is_late(worker, |io| &mut io.connecting, place, |connecting| connecting.lane) {
        outputs[0] = worker.new_variable();
        return Outcome::Done;
    }
    let Some(connecting) = worker.io().connecting.get_mut(place) else {
        return error(ErrorKind::Other, "this connection was made already");
    };
    let (fd, direction) = match &connecting.state {
        State::Resolving(job) => (job.done(), Direction::Read),
        State::Begun { fd, .. } => (fd.clone(), Direction::Write),
    };
    if !super::buffers::is_ready(&fd, direction) {
        return Outcome::Wait(events::when_ready(worker, fd, direction));
    }
    let Some(connecting) = worker.io().connecting.remove(place) else { return Outcome::No };
    let (answer, wanted) = (worker.take_root(connecting.answer), connecting.wanted);
    outputs[0] = attempt!(match connecting.state {
        State::Resolving(job) => match job.result() {
            Some(Ok(addresses)) => try_next(worker, addresses, None, answer, wanted),
            Some(Err(refusal)) => refused_saying_why(worker, answer, &refusal),
            None => try_next(worker, Vec::new(), None, answer, wanted),
        },
        State::Begun { fd, name, others } => match sockopt::socket_error(&fd) {
            Ok(Ok(())) => Ok(streams(worker, &name, fd, answer, matches!(wanted, Wanted::TwoStreams))),
            Ok(Err(error)) | Err(error) => {
                try_next(worker, others, Some(no_connection(&name, error)), answer, wanted)
            }
        },
    });
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

/// A socket that accepts connections.
fn server(worker: &mut Worker, fd: OwnedFd, address: Address, answer: Word) -> Word {
    let path = if let Address::Unix(path) = address { Some(path) } else { None };
    let lane = worker.lane_outside();
    let place = worker.io().listeners.add(Listener { fd: owned(fd), path, lane });
    reply(worker, "server", &[Word::small(place as i64), answer])
}

/// `accept(S,H,State)`: the next message of a bound socket. States: `busy(V,S)`, `stream(N,R,S)`, `pair(I,O,R,S)`,
/// `closed`.
pub(super) fn accept(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let place = attempt!(index(worker, 2, inputs[1], usize::MAX));
    if super::is_late(worker, |io| &mut io.listeners, place, |listener| listener.lane) {
        outputs[0] = worker.new_variable();
        return Outcome::Done;
    }
    let lane = worker.lane_outside();
    if lane != worker.abi.priority
        && let Some(server) = worker.predicate_named("file_stream", "server", 2)
    {
        // X15 of `shoen`: a daemon serves it, whether it has had to wait for its first message or not.
        worker.spawn_at_lane(lane, server, inputs);
        outputs[0] = reply(worker, "closed", &[]);
        return Outcome::Done;
    }
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
    let Some(listener) = worker.io().listeners.get_mut(place) else {
        return error(ErrorKind::Other, "this socket was closed");
    };
    let fd = listener.fd.clone();
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    // Each turn takes a connection away that waits.
    let accepted = loop {
        match acceptfrom_with(&fd, flags) {
            Err(error) if PASSING.contains(&error) => {}
            other => break other,
        }
    };
    outputs[0] = match accepted {
        Ok((socket, _)) => {
            send_at_once(&socket);
            let state = streams(worker, "connection", owned(socket), answer, two);
            let parts: Vec<Word> = (0..if two { 3 } else { 2 }).map(|i| worker.arg(state, i)).collect();
            let state = [&parts[..], &[rest]].concat();
            reply(worker, if two { "pair" } else { "stream" }, &state)
        }
        Err(Errno::AGAIN) => {
            let variable = events::when_ready(worker, fd, Direction::Read);
            reply(worker, "busy", &[variable, inputs[0]])
        }
        Err(error) if SHORT.contains(&error) => {
            let variable = worker.new_variable();
            events::bind_at(worker, Instant::now() + RETRY, variable);
            reply(worker, "busy", &[variable, inputs[0]])
        }
        Err(error) => {
            attempt!(refused_saying_why(worker, answer, &Refusal::new("cannot accept a connection", error)));
            reply(worker, "open", &[rest])
        }
    };
    Outcome::Done
}

fn close(worker: &mut Worker, place: usize) {
    if let Some(listener) = worker.io().listeners.remove(place)
        && let Some(path) = listener.path
    {
        // A path that is gone already needs no removing.
        let _ = rustix::fs::unlink(path);
    }
}

/// X14 of `shoen`: closes the sockets of shoens that were aborted, those that listen and those that were being made.
pub(super) fn close_deserted(worker: &mut Worker) {
    for place in super::deserted(worker, |io| &io.listeners, |listener| listener.lane) {
        close(worker, place);
    }
    for place in super::deserted(worker, |io| &io.connecting, |connecting| connecting.lane) {
        if let Some(connecting) = worker.io().connecting.remove(place) {
            worker.take_root(connecting.answer);
        }
    }
}
