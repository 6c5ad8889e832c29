//! Nodes that are processes under an MPI launcher, one each.
//!
//! Small messages travel together in packets (`wire`), others through several; a payload above eight kilobytes is
//! announced in a packet and then received straight into its place. One thread at a time calls MPI, and no call waits
//! for another node but the first and the last.
//!
//! Packets leave when they are full, when a node has polled everything there is, waits or is done, and otherwise
//! after [`HELD_BACK`] (N3).
//!
//! Invariants (those of single nodes are in `peer`, of transfers in `raw`):
//! - M1 What arrives is not trusted. Bytes that no fabric sends, packets beyond the credits and payloads for which
//!   there is no memory end the run with an [`Error`].
//! - M2 A run ends at all nodes together: each tells all others that it sends no more, reads what they still send,
//!   and lets it vanish. So nothing of one run comes to the next, but for credits, which say of which run they are.
//! - M3 A process that leaves its session in any other way than by [`Session::finish`] ends the job.

mod bells;
mod drive;
mod error;
mod exchange;
pub mod launch;
mod peer;
mod place;
mod ports;
#[expect(unsafe_code)]
mod raw;
mod strange;
pub mod yardstick;

pub use drive::Bell;
pub use error::Error;

use crate::patience::{Patience, Processors};
use crate::wire::{self, Header, Kind, Malformed};
use crate::{Busy, Fabric, Message, Node, NodeId, Priority, Step, Time};
use bells::{Bells, Pause, QUIET_SLEEP};
use mpi::environment::Universe;
use mpi::traits::Communicator as _;
use peer::{LONG_MAX, Next, PACKET_BYTES, PACKETS, Packet, Peer};
use ports::{PAYLOAD, POSTED, Ports};
use raw::{Channel, Transfer};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Messages that a node may have sent to itself and not polled, of each priority.
const OWN_MAX: usize = 1024;
/// Messages of low priority that may come before the next look at the network.
const STRETCH: u32 = 32;
/// How long a packet waits for more messages while its sender is busy.
const HELD_BACK: Duration = Duration::from_micros(10);
/// Before a job is given up.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// What a job that is given up ends with.
const GIVEN_UP: i32 = 1;
/// The same if there was a panic.
const PANICKED: i32 = 101;
const PRIORITIES: [Priority; 2] = [Priority::High, Priority::Low];

/// This process's part in the job.
pub struct Session {
    ports: Option<Ports>,
    processors: Processors,
    runs: u8,
    finished: bool,
    /// Dropped last: it ends MPI.
    universe: Universe,
}

/// A process's way to the others.
pub struct Mpi {
    ports: Ports,
    node: NodeId,
    run: u8,
    processors: Processors,
    patience: Patience,
    begin: Instant,
    peers: Vec<Peer>,
    /// What this node sent to itself, by priority; it and the others have turns.
    own: [VecDeque<Message>; 2],
    own_turn: bool,
    /// Nodes from which there is something to read, by priority.
    ready: [VecDeque<u32>; 2],
    /// Packets that are being filled, and since when there are any.
    filling: Vec<(u32, Priority)>,
    filling_since: Option<Instant>,
    /// Payloads on their way.
    long_out: Vec<(u32, Priority, Transfer)>,
    long_in: Vec<(u32, Priority, Transfer)>,
    /// Messages of low priority until the next look at the network.
    stretch: u32,
    /// The last poll gave a message.
    got: bool,
    /// What the node has done in this step: looked at the network, polled.
    looked: bool,
    polled: bool,
    /// It got a message back and has read none since: what it needs is that others run.
    stalled: bool,
    /// Of several threads that step the node in turn.
    bell: Bell,
    error: Option<Error>,
}

impl Session {
    /// Begins MPI; all processes of the job do so.
    pub fn start() -> Result<Session, Error> {
        let (universe, _) = mpi::initialize_with_threading(mpi::Threading::Serialized).ok_or(Error::Twice)?;
        let world = universe.world();
        let here = world.split_shared(world.rank());
        let channel = Channel::new(&world, PACKET_BYTES);
        let processors = place::processors(&here);
        let ports = Ports::new(channel, Bells::new(&world, &here, processors));
        Ok(Session { ports: Some(ports), processors, runs: 0, finished: false, universe })
    }

    /// Which of them this is.
    pub fn node(&self) -> NodeId {
        NodeId(self.ports().channel.world().rank() as u32)
    }

    /// How many there are.
    pub fn nodes(&self) -> u32 {
        self.ports().channel.world().size() as u32
    }

    /// Runs this process's node until all nodes of the job are done, and gives it back. All processes call it equally
    /// often. After an error the job cannot go on: say what it was, and drop the session.
    pub fn run<N: Node<Mpi>>(&mut self, make: impl FnOnce(NodeId) -> N) -> Result<N, Error> {
        let mut fabric = self.begin(false);
        let mut program = make(fabric.node);
        loop {
            let step = program.step(&mut fabric);
            if let Some(error) = fabric.error.take() {
                return Err(error);
            }
            match step {
                Step::Again | Step::Refused(_) => fabric.between(),
                Step::Wait(until) => fabric.wait(until)?,
                Step::Done => break,
            }
        }
        self.close(fabric)?;
        Ok(program)
    }

    fn begin(&mut self, in_turn: bool) -> Mpi {
        self.runs = self.runs.wrapping_add(1);
        let (node, nodes) = (self.node(), self.nodes());
        let mut ports = self.ports.take().expect("it has them between runs");
        ports.bells.set_fences(in_turn);
        Mpi::new(ports, node, nodes, self.runs, self.processors)
    }

    /// Ends this process's part; all processes do so.
    pub fn finish(mut self) {
        let ports = self.ports.take().expect("no run has failed: else the job cannot end well");
        ports.bells.free();
        self.finished = true;
    }

    /// Payloads that are longer travel in pieces of this size. All processes must say the same.
    #[doc(hidden)]
    pub fn set_chunk_for_test(&mut self, bytes: usize) {
        self.ports.as_mut().expect("no run has failed").channel.chunk_bytes = bytes;
    }

    fn ports(&self) -> &Ports {
        self.ports.as_ref().expect("no run has failed")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.finished {
            // Launchers drop what they have not forwarded yet when a job is aborted: what this process has just said
            // about its failure.
            std::thread::sleep(LAST_WORDS);
            // M3: the others wait for this node.
            self.universe.world().abort(if std::thread::panicking() { PANICKED } else { GIVEN_UP });
        }
    }
}

impl Mpi {
    fn new(ports: Ports, node: NodeId, nodes: u32, run: u8, processors: Processors) -> Mpi {
        Mpi {
            bell: Bell::new(ports.bells.board().clone(), node),
            ports,
            node,
            run,
            processors,
            patience: Patience::new(processors),
            begin: Instant::now(),
            peers: (0..nodes).map(|_| Peer::new()).collect(),
            own: Default::default(),
            own_turn: false,
            ready: Default::default(),
            filling: Vec::new(),
            filling_since: None,
            long_out: Vec::new(),
            long_in: Vec::new(),
            stretch: 0,
            got: false,
            looked: false,
            polled: false,
            stalled: false,
            error: None,
        }
    }

    /// Sends a packet, with the credits that its receiver has back.
    fn dispatch(&mut self, to: u32, kind: Kind, mut packet: Vec<u8>) {
        let inbox = &mut self.peers[to as usize].inbox;
        let credits = [std::mem::take(&mut inbox[0].owed), std::mem::take(&mut inbox[1].owed)];
        Header { kind, credits, run: self.run }.write(&mut packet);
        self.ports.send(to, packet);
    }

    fn dispatch_bare(&mut self, to: u32, kind: Kind) {
        let packet = self.ports.empty_packet();
        self.dispatch(to, kind, packet);
    }

    /// Sends the packet that is being filled, if there is a credit for it.
    fn dispatch_filled(&mut self, to: u32, priority: Priority) -> bool {
        let outbox = &mut self.peers[to as usize].outbox[priority as usize];
        if outbox.credits == 0 {
            return false;
        }
        outbox.credits -= 1;
        let packet = std::mem::take(&mut outbox.packet);
        self.dispatch(to, Kind::Messages(priority), packet);
        true
    }

    /// Sends the packet that is being filled, for which there is a credit: another one, which is empty.
    fn next_packet(&mut self, to: u32, priority: Priority) -> &mut Vec<u8> {
        let sent = self.dispatch_filled(to, priority);
        assert!(sent, "there are credits for all that a message fills");
        let packet = self.ports.empty_packet();
        let outbox = &mut self.peers[to as usize].outbox[priority as usize];
        outbox.packet = packet;
        &mut outbox.packet
    }

    /// Sends all packets that are being filled, as far as there are credits.
    fn flush(&mut self) {
        if self.filling.is_empty() {
            return;
        }
        let mut filling = std::mem::take(&mut self.filling);
        filling.retain(|&(to, priority)| !self.dispatch_filled(to, priority));
        self.filling = filling;
        self.filling_since = None;
    }

    /// Looks at the network: takes what has come, and lets transfers get on. Whether something came.
    fn progress(&mut self) -> bool {
        let mut came = false;
        self.looked = true;
        // What a node waits for is given to it before it is looked for more.
        let packets = if self.has_work() { POSTED } else { 1 };
        for _ in 0..packets {
            let Some((from, packet)) = self.ports.receive() else { break };
            came = true;
            if let Err(Malformed) = self.arrive(from, packet) {
                self.error.get_or_insert(Error::Malformed(NodeId(from)));
            }
        }
        self.ports.reclaim();
        if !self.long_out.is_empty() {
            let (channel, peers) = (&self.ports.channel, &mut self.peers);
            self.long_out.retain_mut(|(to, priority, transfer)| {
                let complete = transfer.test(channel).is_some();
                peers[*to as usize].outbox[*priority as usize].long -= u32::from(complete);
                !complete
            });
        }
        let mut next = 0;
        while next < self.long_in.len() {
            let Some(complete) = self.long_in[next].2.test(&self.ports.channel) else {
                next += 1;
                continue;
            };
            let (from, priority, transfer) = self.long_in.swap_remove(next);
            came = true;
            if complete.bytes.is_none() {
                self.error.get_or_insert(Error::Malformed(NodeId(from)));
                continue;
            }
            self.peers[from as usize].inbox[priority as usize].complete(transfer.into_buffer());
            self.ready[priority as usize].push_back(from);
        }
        came
    }

    /// Passes a moment, at most so long.
    fn rest(&mut self, pause: &mut Pause, limit: Option<Duration>) {
        if pause.wait() {
            return;
        }
        let lying = self.ports.bells.board().lie_down();
        if self.progress() || self.has_work() {
            return;
        }
        let quiet = self.ports.bells.is_silent() && self.has_sent_all();
        let sleep = if quiet { QUIET_SLEEP } else { pause.sleep(lying.still) };
        if !self.ports.bells.board().sleep(&lying, limit.map_or(sleep, |limit| limit.min(sleep))) {
            self.ports.look_anyway();
        }
        self.looked = false;
    }

    /// Whether no transfer is under way that would have to be asked to get on.
    fn has_sent_all(&self) -> bool {
        self.long_in.is_empty() && self.long_out.is_empty() && self.ports.sending.is_empty()
    }

    /// A packet has come (M1).
    fn arrive(&mut self, from: u32, packet: Packet) -> Result<(), Malformed> {
        let header = Header::read(&packet.buffer[..packet.bytes])?;
        let peer = &mut self.peers[from as usize];
        if header.run == self.run {
            peer.credit(header.credits)?;
        } else if header.kind != Kind::Bare {
            return Err(Malformed);
        }
        match header.kind {
            Kind::Messages(priority) if !peer.is_done => {
                let inbox = &mut peer.inbox[priority as usize];
                let was_ready = inbox.is_ready();
                inbox.arrive(packet)?;
                if !was_ready && inbox.is_ready() {
                    self.ready[priority as usize].push_back(from);
                }
                return Ok(());
            }
            Kind::Last if !peer.is_done => peer.is_done = true,
            Kind::Bare => {}
            _ => return Err(Malformed),
        }
        self.ports.whole.push(packet.buffer);
        Ok(())
    }

    /// What [`Mpi::take`] would take, if it is a message of low priority as most are.
    #[inline(always)]
    fn take_plain(&mut self) -> Option<Message> {
        let from = *self.ready[Priority::Low as usize].front()?;
        if !self.own[Priority::Low as usize].is_empty() {
            return None;
        }
        let inbox = &mut self.peers[from as usize].inbox[Priority::Low as usize];
        inbox.next_plain(NodeId(from), Priority::Low)
    }

    /// The next message of a priority that is here.
    fn take(&mut self, priority: Priority) -> Option<Message> {
        self.own_turn = !self.own_turn;
        if self.own_turn && !self.own[priority as usize].is_empty() {
            return self.own[priority as usize].pop_front();
        }
        while let Some(&from) = self.ready[priority as usize].front() {
            let inbox = &mut self.peers[from as usize].inbox[priority as usize];
            let next = inbox.next(NodeId(from), priority);
            let (is_ready, emptied) = (inbox.is_ready(), inbox.emptied.take());
            if emptied.is_some() || !is_ready {
                // Whoever else has sent something has a turn.
                self.ready[priority as usize].pop_front();
                if is_ready {
                    self.ready[priority as usize].push_back(from);
                }
            }
            if let Some(buffer) = emptied {
                self.emptied(from, priority, buffer);
            }
            match next {
                Next::Message(message) => return Some(message),
                Next::Awaits(bytes) => self.await_payload(from, priority, bytes),
                Next::Nothing => {}
                Next::Malformed => {
                    self.error.get_or_insert(Error::Malformed(NodeId(from)));
                    return None;
                }
            }
        }
        self.own[priority as usize].pop_front()
    }

    /// A packet has been read to its end.
    fn emptied(&mut self, from: u32, priority: Priority, buffer: Vec<u8>) {
        self.ports.whole.push(buffer);
        if self.peers[from as usize].inbox[priority as usize].owed >= PACKETS / 2 {
            self.dispatch_bare(from, Kind::Bare);
        }
    }

    fn await_payload(&mut self, from: u32, priority: Priority, bytes: u64) {
        match place::buffer(bytes) {
            Some(buffer) => {
                let tag = PAYLOAD[priority as usize];
                self.long_in.push((from, priority, self.ports.channel.receive_all(buffer, from, tag)));
            }
            None => {
                self.error.get_or_insert(Error::TooLarge { from: NodeId(from), bytes });
            }
        }
    }

    /// Whether a step can be worth its while.
    fn has_work(&self) -> bool {
        let own = self.own.iter().any(|own| !own.is_empty());
        let ready = self.ready.iter().any(|ready| !ready.is_empty());
        own || ready || self.ports.bells.is_over() || self.error.is_some()
    }

    /// Between two steps of a node that is busy.
    fn between(&mut self) {
        if !std::mem::take(&mut self.looked) {
            self.progress();
        }
        if std::mem::take(&mut self.polled) && !self.has_work() {
            // It has read everything and may wait for answers.
            self.flush();
        } else if !self.filling.is_empty() {
            let now = Instant::now();
            if now >= *self.filling_since.get_or_insert(now) + HELD_BACK {
                self.flush();
            }
        }
        if self.stalled {
            self.flush();
            if self.processors != Processors::Enough {
                std::thread::yield_now();
            }
        }
    }

    /// Returns when there is a message, or at this time.
    fn wait(&mut self, until: Option<Time>) -> Result<(), Error> {
        let mut pause = Pause::new(self.patience);
        loop {
            // A step that ends with a wait has often looked just before.
            if !std::mem::take(&mut self.looked) || self.ports.bells.is_ringing() {
                self.progress();
                self.looked = false;
            }
            self.flush();
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            let left = until.map(|until| until.0.saturating_sub(self.now().0));
            let came = self.has_work();
            if came || left == Some(0) {
                self.patience = pause.end(&self.ports.bells, came);
                return Ok(());
            }
            self.rest(&mut pause, left.map(Duration::from_nanos));
        }
    }

    /// The node is done: ends the run with all others (M2).
    fn close(mut self) -> Result<Ports, Error> {
        let (me, nodes) = (self.node.0, self.peers.len() as u32);
        let others = || (0..nodes).filter(|&node| node != me);
        let mut pause = Pause::new(self.patience);
        let mut said = false;
        loop {
            self.progress();
            for priority in PRIORITIES {
                while self.take(priority).is_some() {}
            }
            self.flush();
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            if !said && self.filling.is_empty() {
                others().for_each(|to| self.dispatch_bare(to, Kind::Last));
                said = true;
            }
            let all_done = others().all(|node| self.peers[node as usize].is_done);
            if said && all_done && self.has_sent_all() {
                break;
            }
            self.rest(&mut pause, None);
        }
        let mut pause = Pause::new(pause.end(&self.ports.bells, true));
        self.ports.bells.end_run();
        drop(self.bell);
        let mut barrier = self.ports.channel.barrier();
        while barrier.test(&self.ports.channel).is_none() {
            // Without a look at the network: packets of the next run may be there already.
            if !pause.wait() {
                std::thread::sleep(pause.sleep(true));
            }
        }
        Ok(self.ports)
    }
}

impl Fabric for Mpi {
    fn node(&self) -> NodeId {
        self.node
    }
    fn nodes(&self) -> u32 {
        self.peers.len() as u32
    }
    fn send(&mut self, to: NodeId, mut message: Message) -> Result<(), Busy> {
        let priority = message.priority;
        if to == self.node {
            let own = &mut self.own[priority as usize];
            if own.len() >= OWN_MAX {
                self.stalled = true;
                return Err(Busy(message));
            }
            message.from = to;
            own.push_back(message);
            return Ok(());
        }
        let follows = wire::follows(&message);
        let outbox = &mut self.peers[to.0 as usize].outbox[priority as usize];
        // What is announced leaves at once, behind what is full already: all need credits.
        let needed = outbox.fills(&message) + u16::from(follows);
        let in_pieces = message.payload.len() > self.ports.channel.chunk_bytes;
        let alone = in_pieces || outbox.in_pieces;
        if outbox.credits < needed || (follows && outbox.long >= if alone { 1 } else { LONG_MAX }) {
            self.stalled = true;
            return Err(Busy(message));
        }
        if outbox.packet.is_empty() {
            outbox.packet = self.ports.empty_packet();
            self.filling.push((to.0, priority));
        } else if outbox.packet.len() + wire::head_bytes(&message) > PACKET_BYTES {
            self.next_packet(to.0, priority);
        }
        let outbox = &mut self.peers[to.0 as usize].outbox[priority as usize];
        wire::write_head(&mut outbox.packet, &message);
        let mut rest = wire::write_inside(&mut outbox.packet, wire::inside(&message), PACKET_BYTES);
        while !rest.is_empty() {
            let packet = self.next_packet(to.0, priority);
            rest = wire::write_inside(packet, rest, PACKET_BYTES);
        }
        let outbox = &mut self.peers[to.0 as usize].outbox[priority as usize];
        if follows {
            outbox.long += 1;
            outbox.in_pieces = in_pieces;
            self.dispatch_filled(to.0, priority);
            self.filling.retain(|&filling| filling != (to.0, priority));
            let transfer = self.ports.channel.send(message.payload, to.0, PAYLOAD[priority as usize]);
            self.long_out.push((to.0, priority, transfer));
        }
        Ok(())
    }
    fn poll(&mut self) -> Option<Message> {
        self.polled = true;
        let mut message = None;
        if self.stretch > 0 {
            self.stretch -= 1;
            if let Some(message) = self.take_plain() {
                (self.got, self.stalled) = (true, false);
                return Some(message);
            }
            message = self.take(Priority::Low);
            if message.is_none() && std::mem::take(&mut self.got) {
                // It may want to act on what it got before others run: to look at the network can take as long as
                // they do.
                message = self.take(Priority::High);
                if message.is_none() {
                    self.flush();
                    return None;
                }
            }
        }
        if message.is_none() {
            if self.processors != Processors::Enough {
                self.flush();
            }
            self.progress();
            self.stretch = STRETCH;
            message = PRIORITIES.into_iter().find_map(|priority| self.take(priority));
        }
        self.got = message.is_some();
        self.stalled &= message.is_none();
        if message.is_none() {
            // A node that finds nothing may be waiting for an answer to what it has sent.
            self.flush();
        }
        message
    }
    fn arrive(&mut self) -> bool {
        self.ports.bells.arrive()
    }
    fn all_arrived(&mut self) -> bool {
        self.ports.bells.all_arrived()
    }
    fn now(&self) -> Time {
        Time(self.begin.elapsed().as_nanos() as u64)
    }
    fn spend(&mut self, _: u64) {}
}
