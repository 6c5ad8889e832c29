//! Between a node and its router: what each flit of a packet adds ([`Config::entry`], [`Config::exit`]), the room that
//! a node has for messages, and what has come to it.

use super::shape::Shape;
use crate::Pace;
use crate::simulated::config::Config;
use crate::simulated::packet::Packet;

/// What the interface takes for the flits of a packet; nobody's is so long that it takes more.
pub(super) fn entry(config: &Config, flits: u32) -> u32 {
    config.entry.of(flits.into()).min(1 << 29) as u32
}

/// The ways out of the network.
pub(super) struct Exits {
    /// By node: until when its interface hands on what has come.
    busy: Vec<u64>,
    /// By node and level: messages that the node can still take.
    room: Vec<u32>,
    levels: usize,
    hop_cycles: u64,
    pace: Pace,
    /// Packets whose last flit has just left the network; they are with their nodes `hop_cycles` later.
    arrived: Vec<u32>,
}

impl Exits {
    pub(super) fn new(config: &Config, nodes: usize, shape: &Shape) -> Exits {
        Exits {
            busy: vec![0; nodes],
            room: vec![config.receive_queue; nodes * shape.levels()],
            levels: shape.levels(),
            hop_cycles: config.hop_cycles.into(),
            pace: config.exit,
            arrived: Vec::new(),
        }
    }
    /// Whether a node takes one more message.
    #[inline]
    pub(super) fn has_room(&self, node: usize, level: usize) -> bool {
        self.room[node * self.levels + level] > 0
    }
    /// A node begins to take a message.
    #[inline]
    pub(super) fn take_room(&mut self, node: usize, level: usize) {
        self.room[node * self.levels + level] -= 1;
    }
    /// A node has taken a message out of its queue, or never will look at it.
    pub(super) fn make_room(&mut self, node: usize, level: usize) {
        self.room[node * self.levels + level] += 1;
    }
    /// All nodes take whatever comes.
    pub(super) fn open(&mut self) {
        self.room.fill(u32::MAX / 2);
    }
    /// A cycle begins.
    pub(super) fn begin_cycle(&mut self) {
        self.arrived.clear();
    }
    /// The last flit of a packet has left the network.
    #[inline]
    pub(super) fn arrive(&mut self, packet: u32) {
        self.arrived.push(packet);
    }
    /// What arrived in the last cycle.
    pub(super) fn arrived(&self) -> &[u32] {
        &self.arrived
    }
    /// When a node has the message of a packet whose last flit has left the network at a time. Its interface hands on
    /// one after another.
    pub(super) fn arrival(&mut self, packet: &Packet, now: u64) -> u64 {
        let time = now + self.hop_cycles;
        if self.pace.cycles == 0 {
            return time;
        }
        let busy = &mut self.busy[packet.to.0 as usize];
        *busy = time.max(*busy) + self.pace.of(packet.flits.into());
        *busy
    }
}
