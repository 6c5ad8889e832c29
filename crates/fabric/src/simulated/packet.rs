//! Packets under way, in one vector whose places are used again.

use super::tree::Stage;
use crate::{NodeId, Priority};

/// The number of no packet.
pub(super) const NOBODY: u32 = u32::MAX;
/// Bits of a flit; the rest is its packet's number.
pub(super) const FIRST: u32 = 1 << 31;
pub(super) const LAST: u32 = 1 << 30;
const NUMBER: u32 = LAST - 1;

/// The packet of a flit.
#[inline]
pub(super) fn packet_of(flit: u32) -> u32 {
    flit & NUMBER
}
/// The first flit of a packet.
#[inline]
pub(super) fn first_flit(number: u32, flits: u32) -> u32 {
    number | FIRST | if flits == 1 { LAST } else { 0 }
}

/// A packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// Counts all packets of a run.
    pub(super) number: u64,
    /// When its node sent it.
    pub(super) sent: u64,
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) flits: u32,
    /// Flits that have come to its destination.
    pub(super) arrived: u32,
    /// On an RDT: where its way begins in the table of all.
    pub(super) way: u32,
    /// Routers that have told it the way.
    pub(super) routers: u32,
    /// The packet behind it, in its node's queue, in the buffer where its last flit is, or among the free places.
    pub(super) next: u32,
    /// Whatever its sender wants to know of it.
    pub(super) tag: u32,
    pub(super) priority: Priority,
    /// The multicast it belongs to, or [`NOBODY`], and what is still to do for it.
    pub(super) cast: u32,
    pub(super) stage: Stage,
}

/// All packets.
#[derive(Default)]
pub(super) struct Packets {
    places: Vec<Packet>,
    free: Option<u32>,
    alive: u32,
}

impl Packets {
    pub(super) fn add(&mut self, packet: Packet) -> u32 {
        self.alive += 1;
        let Some(place) = self.free else {
            self.places.push(packet);
            return self.places.len() as u32 - 1;
        };
        let next = self.places[place as usize].next;
        self.free = (next != NOBODY).then_some(next);
        self.places[place as usize] = packet;
        place
    }
    pub(super) fn remove(&mut self, number: u32) -> Packet {
        let packet = self.places[number as usize];
        self.places[number as usize].next = self.free.unwrap_or(NOBODY);
        self.free = Some(number);
        self.alive -= 1;
        packet
    }
    /// Packets under way.
    pub(super) fn alive(&self) -> u32 {
        self.alive
    }
    /// Places, used or free.
    pub(super) fn places(&self) -> usize {
        self.places.len()
    }
}

impl std::ops::Index<u32> for Packets {
    type Output = Packet;
    fn index(&self, number: u32) -> &Packet {
        &self.places[number as usize]
    }
}

impl std::ops::IndexMut<u32> for Packets {
    fn index_mut(&mut self, number: u32) -> &mut Packet {
        &mut self.places[number as usize]
    }
}
