//! What a simulated network is like.

use super::topology::Topology;
use crate::{Message, Priority};

/// A network. Times are cycles. One that makes no sense is a mistake of the caller's: whoever runs it panics, and
/// says what is wrong.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// Nodes and links.
    pub topology: Topology,
    /// What the two directions of a link share.
    pub duplex: Duplex,
    /// What the two priorities share.
    pub priorities: Priorities,
    /// Which packet gets a free channel when several want it.
    pub arbitration: Arbitration,
    /// From a router's buffer to that of the next, or to the node: at least 1.
    pub hop_cycles: u32,
    /// From when a flit has left a buffer until the router before it may use the place: at least 1.
    pub credit_cycles: u32,
    /// From when a node sends until the packet's first flit may leave its first router.
    pub interface_cycles: u32,
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

/// What the two directions of a link share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Duplex {
    /// Nothing: a flit a cycle in each direction.
    Full,
    /// The wires: a flit a cycle in one direction; when both want, the one of higher priority, or else the one that
    /// did not have the last.
    Half,
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
            duplex: Duplex::Full,
            priorities: Priorities::Apart,
            arbitration: Arbitration::RoundRobin,
            hop_cycles: 1,
            credit_cycles: 1,
            interface_cycles: 1,
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

    /// Flits of a message's packet.
    pub fn flits(&self, message: &Message) -> u32 {
        let payload = message.payload.len().div_ceil(self.word_bytes as usize);
        let words = message.words().len() + payload;
        // Nobody has a payload that long; a packet has at least one flit.
        (words as u32).saturating_mul(self.word_flits).saturating_add(self.header_flits).max(1)
    }

    /// Virtual channels of a link.
    pub(super) fn channels(&self) -> usize {
        self.topology.classes() * self.levels()
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
    /// A mistake of the caller's panics.
    pub(super) fn validate(&self) {
        assert!(self.hop_cycles >= 1 && self.credit_cycles >= 1, "a hop and a credit take a cycle at least");
        assert!((1..=1 << 12).contains(&self.buffer_flits), "buffers of 1 to 4,096 flits");
        assert!(self.word_bytes >= 1, "words of at least a byte");
        assert!(self.send_queue >= 1 && self.receive_queue >= 1, "queues of at least a packet");
        let longest = self.hop_cycles.max(self.credit_cycles).max(self.interface_cycles);
        assert!(longest.max(self.retransmit_cycles) <= 1 << 20, "delays of at most a million cycles");
    }
}
