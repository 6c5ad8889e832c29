//! What a simulated network is like.

use super::topology::{INPUTS_MAX, Topology};
use crate::{Message, Pace, Priority};

/// A network. Times are cycles. One that makes no sense is a mistake of the caller's: whoever runs it panics, and
/// says what is wrong.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// Nodes and links.
    pub topology: Topology,
    /// Which ways packets take.
    pub routing: Routing,
    /// What the two directions of a link share.
    pub duplex: Duplex,
    /// What the two priorities share.
    pub priorities: Priorities,
    /// Which packet gets a free channel when several want it.
    pub arbitration: Arbitration,
    /// From a router's buffer to that of the next, or to the node: at least 1.
    pub hop_cycles: u32,
    /// How a router knows that the next buffer has room.
    pub flow: Flow,
    /// From when a flit has left a buffer until the router before it may use the place, or from when a buffer says
    /// stop or go until the router before it knows: at least 1.
    pub credit_cycles: u32,
    /// From when a node sends until the packet's first flit may leave its first router.
    pub interface_cycles: u32,
    /// What each flit of a packet adds to that: the interface hands on whole packets, and several beside each other.
    pub entry: Pace,
    /// What each flit of a packet takes, once the last has left the network, until the node has the message: one
    /// packet after another.
    pub exit: Pace,
    /// Flits that the buffer of one virtual channel holds.
    pub buffer_flits: u32,
    /// Flits of a packet beside those of its words.
    pub header_flits: u32,
    /// Flits of a word: a link carries a flit a cycle, so this is its width.
    pub word_flits: u32,
    /// Bytes of a payload that are a word.
    pub word_bytes: u32,
    /// Packets of one priority that may wait in a node for the network: then sending is busy.
    pub send_queue: u32,
    /// Messages of one priority that may wait in a node for being polled: then they wait in the network.
    pub receive_queue: u32,
    /// From when a link has lost a flit until it sends it again.
    pub retransmit_cycles: u32,
    /// A run that takes longer is stopped.
    pub time_max: u64,
    /// Where random numbers begin.
    pub seed: u64,
    /// Whether the invariants of the network are checked in each cycle. It is slow.
    pub check: bool,
    /// Whether every event is written down.
    pub log: bool,
    /// Whether every packet that is sent is written down.
    pub trace: bool,
}

/// Which ways packets take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Routing {
    /// The topology's own: by dimension on a grid, along vectors on an RDT; up and down, by a table or between groups
    /// on a graph.
    Own,
    /// Any shortest way, where there is room; the own one where there is none. Each link has one virtual channel more.
    /// Not on an RDT.
    Adaptive,
    /// To a random node first, both ways being the topology's own. Each link has twice the virtual channels. Not on an
    /// RDT.
    Valiant,
}

/// What the two directions of a link share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Duplex {
    /// Nothing: a flit a cycle in each direction.
    Full,
    /// The wires: a flit a cycle in one direction; when both want, the one of higher priority, or else the one that
    /// did not have the last.
    Half,
}

/// How a router knows that the next buffer has room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// It counts places, and gets back those that have become free.
    Credits,
    /// The buffer tells it to stop, and to go on. What is sent until it knows has room, too: a buffer has at least
    /// `stop + credit_cycles` places. Not on an RDT, whose multicasts must know how much room there is.
    OnOff {
        /// With more flits than this a buffer says stop (Xoff).
        stop: u32,
        /// With no more than this it says go again (Xon): not greater.
        go: u32,
    },
}

/// What the two priorities share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priorities {
    /// All channels: a packet of higher priority waits for those before it.
    Alike,
    /// The wires only: each has its own virtual channels, and the higher one wins.
    Apart,
}

/// Which packet gets a free channel when several want it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arbitration {
    /// The one from the port of the lowest number: those of the links, then that of the node itself. It is not fair.
    Fixed,
    /// The next one round.
    RoundRobin,
}

impl Config {
    /// A network of this form with fast routers: a cycle a hop, a word a flit.
    pub fn plain(topology: Topology, seed: u64) -> Config {
        Config {
            topology,
            routing: Routing::Own,
            duplex: Duplex::Full,
            priorities: Priorities::Apart,
            arbitration: Arbitration::RoundRobin,
            hop_cycles: 1,
            flow: Flow::Credits,
            credit_cycles: 1,
            interface_cycles: 1,
            entry: Pace::NONE,
            exit: Pace::NONE,
            buffer_flits: 4,
            header_flits: 1,
            word_flits: 1,
            word_bytes: 8,
            send_queue: 16,
            receive_queue: 64,
            retransmit_cycles: 20,
            time_max: 1 << 40,
            seed,
            check: false,
            log: false,
            trace: false,
        }
    }

    /// The J-Machine's network (M. Noakes, D. Wallach, W. Dally: *The J-Machine Multicomputer*, ISCA 1993) of these
    /// sides. Printed there: half
    /// a word a cycle, a cycle a hop, two priorities, fixed arbitration, messages that a queue holds. Chosen to fit:
    /// half-duplex links (their
    /// bisection counts both directions), one header flit, buffers of 3 flits, 3 cycles of interface.
    pub fn j_machine(sides: &[u32; 3], seed: u64) -> Config {
        Config {
            duplex: Duplex::Half,
            arbitration: Arbitration::Fixed,
            interface_cycles: 3,
            buffer_flits: 3,
            word_flits: 2,
            word_bytes: 4,
            receive_queue: 256,
            ..Config::plain(Topology::mesh(sides), seed)
        }
    }

    /// JUMP-1's network of `side` by `side` clusters (N. Suzuki, H. Amano et al.: *Performance Evaluation of a
    /// Multicast Mechanism for a Massively
    /// Parallel Processor JUMP-1*). Printed there: RDT(2,4,1), flits of 36 bits (32 of data), a header of 3 flits,
    /// packets of at most 16 flits, a buffer
    /// for a whole packet at each virtual channel. Assumed: a flit a cycle and direction, 1 cycle a router and of
    /// interface. All priorities are alike.
    pub fn jump1(side: u32, seed: u64) -> Config {
        Config {
            priorities: Priorities::Alike,
            buffer_flits: 16,
            header_flits: 3,
            word_flits: 1,
            word_bytes: 4,
            ..Config::plain(Topology::rdt(side), seed)
        }
    }

    /// The network of a STAFF-Link cluster (H. Nakajo, A. Ichikawa, Y. Kaneda: *A Distributed Shared-Memory System on
    /// a Workstation Cluster Using Fast Serial Links*, IJPP 28(2), 2000) of this number of workstations, with FIFOs of
    /// this number of bytes. A flit is a byte, a cycle 57.1 ns: 140 Mbit/s. Printed there: 1 us a router (18 cycles),
    /// a start of 320 ns (6 cycles), 200 Mbit/s between buffer and FIFO, Xoff at half full and Xon when it can receive
    /// again. Assumed: a ring with a link in each direction, a signal that is as long under way as a flit, a header of
    /// 8 bytes, stages that take a packet as a whole.
    pub fn staff_link(nodes: u32, fifo_bytes: u32, seed: u64) -> Config {
        let half = fifo_bytes / 2;
        Config {
            priorities: Priorities::Alike,
            hop_cycles: 18,
            flow: Flow::OnOff { stop: half, go: half },
            credit_cycles: 18,
            interface_cycles: 6,
            entry: Pace { cycles: 7, things: 10 },
            exit: Pace { cycles: 7, things: 10 },
            buffer_flits: fifo_bytes,
            header_flits: 8,
            word_flits: 8,
            word_bytes: 8,
            ..Config::plain(Topology::ring(nodes), seed)
        }
    }

    /// Flits of a message's packet.
    pub fn flits(&self, message: &Message) -> u32 {
        let payload = message.payload.len().div_ceil(self.word_bytes as usize);
        let words = message.words().len() + payload;
        // Nobody has a payload that long; a packet has at least one flit.
        (words as u32).saturating_mul(self.word_flits).saturating_add(self.header_flits).max(1)
    }

    /// Virtual channels of a link.
    pub(super) fn channels(&self) -> usize {
        self.classes() * self.levels()
    }
    /// Virtual channels of a link for each of these priorities.
    pub(super) fn classes(&self) -> usize {
        let own = self.topology.classes();
        match self.routing {
            Routing::Own => own,
            Routing::Adaptive => own + 1,
            Routing::Valiant => 2 * own,
        }
    }
    /// Priorities that have channels of their own.
    pub(super) fn levels(&self) -> usize {
        match self.priorities {
            Priorities::Alike => 1,
            Priorities::Apart => 2,
        }
    }
    /// Which of them a priority has.
    pub(super) fn level(&self, priority: Priority) -> usize {
        match (self.priorities, priority) {
            (Priorities::Apart, Priority::High) => 1,
            _ => 0,
        }
    }
    /// Whether its routers have room for its virtual channels. Without it a run panics.
    pub fn fits(&self) -> bool {
        self.topology.ports() * self.channels() <= INPUTS_MAX
    }
    /// A mistake of the caller's panics.
    pub(super) fn validate(&self) {
        assert!(self.hop_cycles >= 1 && self.credit_cycles >= 1, "a hop and a credit take a cycle at least");
        assert!((1..=1 << 12).contains(&self.buffer_flits), "buffers of 1 to 4,096 flits");
        assert!(self.routing == Routing::Own || !self.topology.is_rdt(), "an RDT's own ways");
        assert!(self.duplex == Duplex::Full || !self.topology.is_graph(), "full-duplex links of a graph");
        assert!(self.word_bytes >= 1, "words of at least a byte");
        assert!(self.send_queue >= 1 && self.receive_queue >= 1, "queues of at least a packet");
        assert!(self.entry.things >= 1 && self.exit.things >= 1, "a pace of at least one flit");
        let a_flit =
            self.entry.cycles.div_ceil(self.entry.things).max(self.exit.cycles.div_ceil(self.exit.things));
        assert!(a_flit <= 1 << 10, "interfaces of at most 1,024 cycles a flit");
        if let Flow::OnOff { stop, go } = self.flow {
            assert!(go <= stop, "a buffer that says go has no more flits than one that says stop");
            let room = stop.saturating_add(self.credit_cycles) <= self.buffer_flits;
            assert!(room, "room in a buffer for what comes between stop and its arrival");
            assert!(!self.topology.is_rdt(), "credits on an RDT");
        }
        let longest = self.hop_cycles.max(self.credit_cycles).max(self.interface_cycles);
        assert!(longest.max(self.retransmit_cycles) <= 1 << 20, "delays of at most a million cycles");
    }
}
