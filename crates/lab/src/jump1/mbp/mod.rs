//! JUMP-1's clusters with their MBP-light, the processor that manages a cluster's part of the memory: nodes on the
//! simulated RDT that keep a memory of lines coherent ([`super::lines`]), and run a program on it.
//!
//! Source: N. Suzuki, H. Amano et al., *Performance Evaluation of a Multicast Mechanism for a Massively Parallel
//! Processor JUMP-1*. The MBP-light makes acknowledgements by hardware, if the line is in its net cache and the source
//! in its ackmap cache, and gathers them by hardware, if they have an entry in its ack cache; otherwise it interrupts
//! its software.
//!
//! Assumed: a cluster runs one program (it had four processors); a cluster has its own lines by messages to itself,
//! which take no time on the network; barriers are messages to cluster 0, and are counted apart.

mod caches;
pub(super) mod lu;
mod packet;

use super::multicasts::{COLLECT_HARDWARE, COLLECT_SOFTWARE, MULTICAST_CYCLES, UNICAST_CYCLES};
use super::table3::{ACK_HARDWARE, ACK_SOFTWARE};
use crate::jump1::lines::{self, Access, Bytes, DirectMapped, Effect, Line, Store};
pub(super) use caches::{ACK_ENTRIES, ACKMAP_SOURCES, NET_LINES};
use caches::{AckCache, AckmapCache};
use fabric::simulated::Endpoint;
use fabric::{Busy, Fabric, Map, NodeId, NodeSet, Refused, Step, Time};
use packet::Packet;
use std::collections::{BTreeMap, VecDeque};

/// Cycles of a request, a reply, or a use of a line that is there. Assumed: no result depends on it but times.
pub(super) const HANDLE_CYCLES: u64 = 20;
const USE_CYCLES: u64 = 1;
/// When clusters are done: until then those whose program has ended serve the others.
const END: u64 = 1 << 32;

/// How a home invalidates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tell {
    /// Each sharer by a message of its own.
    Each,
    /// All by one multicast.
    Exact,
    /// By one multicast with a bit-map a level, which reaches others, too.
    Levels,
}

/// What a program does with the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
    /// To have a line and to look at it, or to write it; [`Program::use_line`] does.
    Use(Line, Access),
    Barrier,
}

/// A cluster's program: its uses of the memory, in order.
pub(super) trait Program {
    /// What it does next; none: it has ended.
    fn next(&self) -> Option<Op>;
    /// It may use the line of its [`Op::Use`] now.
    fn use_line(&mut self, bytes: &mut Bytes);
    /// All have come to its [`Op::Barrier`].
    fn pass(&mut self);
}

/// Packets that went over the network, by what they were for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Packets {
    pub(super) invalidations: u64,
    pub(super) acknowledgements: u64,
    /// Wants, grants, recalls, and what owners give.
    pub(super) lines: u64,
    pub(super) barriers: u64,
}

impl Packets {
    fn count(&mut self, packet: &Packet) {
        *match packet {
            Packet::Memory(_) => &mut self.lines,
            Packet::Invalidate(..) => &mut self.invalidations,
            Packet::Gather { .. } | Packet::Acknowledge { .. } => &mut self.acknowledgements,
            Packet::Arrive | Packet::Go => &mut self.barriers,
        } += 1;
    }
}

/// Acknowledgements that a cluster gathers for a home's line: what is missing (a signed count, since some come before
/// its own copy), and whom to tell, at which level.
#[derive(Debug, Default)]
struct Gathering {
    missing: i64,
    parent: Option<(Option<NodeId>, u32)>,
}

/// Whom a packet is for.
#[derive(Debug)]
enum To {
    One(NodeId),
    Sharers(NodeSet),
}

/// A cluster.
pub(super) struct Mbp<P> {
    pub(super) program: P,
    pub(super) sent: Packets,
    pub(super) received: Packets,
    /// What its hardware could not do.
    pub(super) interrupts: u64,
    /// When its program ended.
    pub(super) ended: Option<u64>,
    /// Messages that no cluster sends: none, or there is a mistake.
    pub(super) strange: u64,
    lines: lines::Node<DirectMapped>,
    tell: Tell,
    ackmaps: AckmapCache,
    acks: AckCache,
    gatherings: BTreeMap<(NodeId, Line), Gathering>,
    /// As a home: acknowledgements to come, by line.
    expected: BTreeMap<Line, u32>,
    /// What waits for room in the network, and what the cluster tells itself.
    out: VecDeque<(To, Packet)>,
    own: VecDeque<lines::Message>,
    /// It has asked for a line, or come to a barrier.
    waits: bool,
    /// Of cluster 0: who has come to the barrier.
    arrived: u32,
    clusters: u32,
}

impl<P: Program> Mbp<P> {
    /// A cluster of this number of processors that run programs, with its part of the memory.
    pub(super) fn new(
        node: NodeId,
        clusters: u32,
        (homes, memory): (fn(Line) -> NodeId, BTreeMap<Line, Bytes>),
        tell: Tell,
        program: P,
    ) -> Mbp<P> {
        Mbp {
            program,
            sent: Packets::default(),
            received: Packets::default(),
            interrupts: 0,
            ended: None,
            strange: 0,
            lines: lines::Node::new(node, DirectMapped::new(NET_LINES, homes, memory)),
            tell,
            ackmaps: AckmapCache::new(),
            acks: AckCache::default(),
            gatherings: BTreeMap::new(),
            expected: BTreeMap::new(),
            out: VecDeque::new(),
            own: VecDeque::new(),
            waits: false,
            arrived: 0,
            clusters,
        }
    }
    /// The bytes of a line when all is over, if this cluster may write it or nobody may and it is the home.
    pub(super) fn bytes(&mut self, node: NodeId, line: Line) -> (Option<Bytes>, Option<Bytes>) {
        let store = &mut self.lines.store;
        let owned = store.held(line).filter(|held| held.access == Access::Write).map(|held| held.bytes);
        let at_home = (store.home(line) == node).then(|| *store.memory(line));
        (owned, at_home)
    }

    fn send(&mut self, to: NodeId, packet: Packet) {
        self.out.push_back((To::One(to), packet));
    }

    fn do_effects(&mut self, node: NodeId, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send(to, message) if to == node => self.own.push_back(message),
                Effect::Send(to, message) => self.send(to, Packet::Memory(message)),
                Effect::Invalidate { line, mut sharers, version } => {
                    // Its own copy needs no packet.
                    if sharers.remove(node) {
                        self.lines.invalidate(line, version);
                    }
                    if sharers.is_empty() {
                        self.expected.insert(line, 1);
                        self.acknowledged(node, line);
                    } else {
                        self.out.push_back((To::Sharers(sharers), Packet::Invalidate(line, version)));
                    }
                }
                Effect::Ready(line, _) => {
                    self.waits = false;
                    self.use_line(line);
                }
            }
        }
    }

    fn use_line(&mut self, line: Line) {
        let Some(held) = self.lines.store.held(line) else { return };
        self.program.use_line(&mut held.bytes);
    }

    /// Sends the first of what waits. False: there is no room.
    fn send_first(&mut self, fabric: &mut Endpoint) -> bool {
        let Some((to, packet)) = self.out.pop_front() else { return true };
        match to {
            To::One(to) => match fabric.send(to, packet.clone().message()) {
                Ok(()) => {
                    fabric.spend(UNICAST_CYCLES);
                    if to != fabric.node() {
                        self.sent.count(&packet);
                    }
                    true
                }
                Err(Busy(_)) => {
                    self.out.push_front((To::One(to), packet));
                    false
                }
            },
            To::Sharers(sharers) => self.send_to_sharers(fabric, sharers, packet),
        }
    }

    fn send_to_sharers(&mut self, fabric: &mut Endpoint, sharers: NodeSet, packet: Packet) -> bool {
        let Packet::Invalidate(line, version) = packet else { return true };
        let map = match self.tell {
            Tell::Levels => Map::Levels(sharers.clone()),
            Tell::Each | Tell::Exact => Map::Exact(sharers.clone()),
        };
        let sent = match self.tell {
            Tell::Each => Err(Refused::Unsupported(packet.clone().message())),
            Tell::Exact | Tell::Levels => fabric.send_many(&map, packet.clone().message()),
        };
        match sent {
            Ok(_) => {
                fabric.spend(MULTICAST_CYCLES);
                self.sent.count(&packet);
                self.expected.insert(line, 1);
                true
            }
            Err(Refused::Busy(_)) => {
                self.out.push_front((To::Sharers(sharers), packet));
                false
            }
            Err(Refused::Unsupported(_)) => {
                self.expected.insert(line, sharers.len() as u32);
                sharers.iter().for_each(|to| self.send(to, Packet::Invalidate(line, version)));
                true
            }
        }
    }

    fn receive(&mut self, fabric: &mut Endpoint, message: &fabric::Message) {
        let (me, from) = (fabric.node(), message.from);
        let Some(packet) = Packet::of(message) else {
            self.strange += 1;
            return;
        };
        if from != me {
            self.received.count(&packet);
        }
        match packet {
            Packet::Memory(message) => {
                fabric.spend(HANDLE_CYCLES);
                self.receive_line(me, from, message);
            }
            Packet::Invalidate(line, version) => {
                let place = fabric.gather();
                let in_hardware = self.lines.invalidate(line, version) & self.ackmaps.hit(from);
                self.hardware(fabric, in_hardware, [ACK_HARDWARE, ACK_SOFTWARE]);
                let parent = place.map_or((None, 0), |place| (place.parent, place.level));
                // The own part is done at once.
                let missing = place.map_or(0, |place| place.children.into());
                self.gathered((from, line), missing, Some(parent));
            }
            Packet::Gather { line, level, home } => {
                let key = (NodeId(home), line);
                let in_hardware = self.acks.hit(level as usize, key);
                self.hardware(fabric, in_hardware, [COLLECT_HARDWARE, COLLECT_SOFTWARE]);
                self.gathered(key, -1, None);
            }
            Packet::Acknowledge { line, level } => {
                let in_hardware = self.acks.hit(level as usize, (me, line));
                self.hardware(fabric, in_hardware, [COLLECT_HARDWARE, COLLECT_SOFTWARE]);
                self.acknowledged(me, line);
            }
            Packet::Arrive => self.arrive(),
            Packet::Go => self.go(),
        }
    }

    fn receive_line(&mut self, me: NodeId, from: NodeId, message: lines::Message) {
        let mut effects = Vec::new();
        self.strange += u64::from(self.lines.receive(from, message, &mut effects).is_err());
        self.do_effects(me, effects);
    }

    fn hardware(&mut self, fabric: &mut Endpoint, hit: bool, [hardware, software]: [u64; 2]) {
        self.interrupts += u64::from(!hit);
        fabric.spend(if hit { hardware } else { software });
    }

    fn gathered(&mut self, key: (NodeId, Line), missing: i64, parent: Option<(Option<NodeId>, u32)>) {
        let gathering = self.gatherings.entry(key).or_default();
        gathering.missing += missing;
        gathering.parent = gathering.parent.or(parent);
        let Some((parent, level)) = gathering.parent.filter(|_| gathering.missing == 0) else { return };
        self.gatherings.remove(&key);
        self.acks.end(key);
        let (home, line) = key;
        match parent {
            Some(parent) => self.send(parent, Packet::Gather { line, level, home: home.0 }),
            None => self.send(home, Packet::Acknowledge { line, level }),
        }
    }

    fn acknowledged(&mut self, me: NodeId, line: Line) {
        let Some(expected) = self.expected.get_mut(&line) else {
            self.strange += 1;
            return;
        };
        *expected -= 1;
        if *expected > 0 {
            return;
        }
        self.expected.remove(&line);
        self.acks.end((me, line));
        let mut effects = Vec::new();
        self.strange += u64::from(self.lines.invalidated(line, &mut effects).is_err());
        self.do_effects(me, effects);
    }

    /// Somebody has come to the barrier, of which cluster 0 keeps count.
    fn arrive(&mut self) {
        self.arrived += 1;
        if self.arrived == self.clusters {
            self.arrived = 0;
            (1..self.clusters).for_each(|node| self.send(NodeId(node), Packet::Go));
            self.go();
        }
    }

    fn go(&mut self) {
        self.waits = false;
        self.program.pass();
    }

    /// A step of the program; false if it waits or has ended.
    fn run_program(&mut self, fabric: &mut Endpoint) -> bool {
        if self.waits || self.ended.is_some() {
            return false;
        }
        let me = fabric.node();
        match self.program.next() {
            None => self.ended = Some(fabric.now().0),
            Some(Op::Barrier) => {
                self.waits = true;
                if me == NodeId(0) { self.arrive() } else { self.send(NodeId(0), Packet::Arrive) }
            }
            Some(Op::Use(line, access)) => {
                let mut effects = Vec::new();
                if self.lines.want(line, access, &mut effects) {
                    fabric.spend(USE_CYCLES);
                    self.use_line(line);
                } else {
                    self.waits = true;
                    self.do_effects(me, effects);
                }
            }
        }
        true
    }
}

impl<P: Program> fabric::Node<Endpoint> for Mbp<P> {
    fn step(&mut self, fabric: &mut Endpoint) -> Step {
        let before = fabric.now();
        // What has come while time passed is seen in the next step.
        while fabric.now() == before {
            let has_room = self.send_first(fabric);
            if fabric.now() != before || has_room && !self.out.is_empty() {
                continue;
            }
            if let Some(message) = self.own.pop_front() {
                fabric.spend(HANDLE_CYCLES);
                self.receive_line(fabric.node(), fabric.node(), message);
            } else if let Some(message) = fabric.poll() {
                self.receive(fabric, &message);
            } else if !has_room {
                return Step::Wait(Some(Time(before.0 + 1)));
            } else if !self.run_program(fabric) {
                return if before >= Time(END) { Step::Done } else { Step::Wait(Some(Time(END))) };
            }
        }
        Step::Again
    }
}
