//! Checks the network after a cycle, from nothing but its state.
//!
//! - S1 No flit is lost or doubled: those of each packet that wait, are in buffers and have arrived are all of them.
//! - S2 A buffer holds no more than it may, and whoever has flits is looked at.
//! - S3 In a virtual channel one packet's flits follow another's, each packet from its first flit to its last.
//! - S4 A virtual channel is held by the one input whose packet has begun to pass it and has not passed it wholly; that input knows it.
//! - S5 No place stays taken for longer than a credit takes, nor a flit in a link for longer than a hop.

use super::network::{FIRST, LAST, NONE, Network, packet_of};
use super::packet::NOBODY;

impl Network {
    /// Panics, with the seed, if an invariant does not hold.
    pub(super) fn verify(&self) {
        if let Err(what) = self.broken() {
            panic!("seed {}, before cycle {}: {what}", self.config.seed, self.now());
        }
    }

    fn broken(&self) -> Result<(), String> {
        let mut found = vec![0u32; self.packets.places()];
        let mut inside = 0;
        for at in 0..self.buffers.len() {
            self.ring_is_right(at, &mut found)?;
            self.owner_is_right(at)?;
            inside += u64::from(self.buffers[at].len);
        }
        if inside != self.inside {
            return Err(format!("S1: {inside} flits in buffers, {} are said to be", self.inside));
        }
        self.packets_are_whole(&found)
    }

    /// S2, S3, S5 for a buffer; counts the flits of each packet.
    fn ring_is_right(&self, at: usize, found: &mut [u32]) -> Result<(), String> {
        let buffer = &self.buffers[at];
        let (node, input) = (at / self.inputs(), at % self.inputs());
        let len = usize::from(buffer.len);
        if len > self.depth {
            return Err(format!("S2: {len} flits in buffer {at}"));
        }
        let looked_at =
            self.occupied[node] & (1 << input) != 0 && self.active[node / 64] & (1 << (node % 64)) != 0;
        let from_node = input / self.channels == self.ports - 1;
        if len > 0 && !looked_at {
            return Err(format!("S2: buffer {at} has flits and nobody looks at it"));
        }
        if len == 0 && !from_node && self.occupied[node] & (1 << input) != 0 {
            return Err(format!("S2: buffer {at} has no flits and is looked at"));
        }
        let mut before: Option<u32> = None;
        for offset in 0..self.depth {
            let place = self.places[at * self.depth + self.ring(buffer.first, offset)];
            let latest =
                self.clock + if offset < len { self.config.hop_cycles } else { self.config.credit_cycles };
            if place.time >= latest {
                return Err(format!("S5: place {offset} of buffer {at} is busy until {}", place.time));
            }
            if offset >= len {
                continue;
            }
            found[packet_of(place.flit) as usize] += 1;
            let follows = before.is_none_or(|before| match before & LAST {
                0 => packet_of(before) == packet_of(place.flit) && place.flit & FIRST == 0,
                _ => place.flit & FIRST != 0,
            });
            if !follows {
                return Err(format!("S3: place {offset} of buffer {at} does not follow the one before"));
            }
            if offset == 0 && place.flit != buffer.flit {
                return Err(format!("S3: the foremost flit of buffer {at} is another"));
            }
            before = Some(place.flit);
        }
        Ok(())
    }

    /// S4 for the channel that ends in a buffer.
    fn owner_is_right(&self, at: usize) -> Result<(), String> {
        let (node, input) = (at / self.inputs(), at % self.inputs());
        let (port, channel) = (input / self.channels, input % self.channels);
        let beyond = self.outputs[node * self.ports + port].neighbour as usize;
        let route = if port == self.ports - 1 { input } else { (port ^ 1) * self.channels + channel };
        let last = self.buffers[at].owner;
        let passing = (0..self.inputs()).filter(|from| {
            let buffer = &self.buffers[beyond * self.inputs() + from];
            if let Some(fork) = self.multicasts.fork(beyond * self.inputs() + from) {
                let flits = self.packets[fork.packet].flits;
                let mut children = fork.children.iter();
                return children
                    .any(|child| usize::from(child.route) == route && (1..flits).contains(&child.left));
            }
            usize::from(buffer.route) == route && self.under_way(beyond, *from)
        });
        let passing: Vec<usize> = passing.collect();
        let held: Vec<usize> = (last != NONE).then_some(usize::from(last)).into_iter().collect();
        let edge = port != self.ports - 1 && beyond == node && self.config.topology.nodes() > 1;
        if !edge && passing != held {
            return Err(format!("S4: inputs {passing:?} pass the channel of buffer {at}, held by {held:?}"));
        }
        Ok(())
    }

    /// Whether the foremost packet of an input has begun to leave it.
    fn under_way(&self, node: usize, input: usize) -> bool {
        let buffer = &self.buffers[node * self.inputs() + input];
        if input / self.channels == self.ports - 1 {
            let queue = &self.queues[node * self.levels + input % self.channels / self.classes];
            return queue.left > 0;
        }
        // An input that has a route and no flits waits for those behind.
        buffer.route != NONE && (buffer.len == 0 || buffer.flit & FIRST == 0)
    }

    /// S1 for every packet.
    fn packets_are_whole(&self, found: &[u32]) -> Result<(), String> {
        let mut seen = 0;
        let mut left = found.to_vec();
        for queue in &self.queues {
            let (mut number, mut len) = (queue.first, 0);
            while number != NOBODY {
                let gone = if len == 0 { queue.left } else { 0 };
                left[number as usize] += self.packets[number].flits - gone;
                len += 1;
                number = self.packets[number].next;
            }
            if len != queue.len {
                return Err(format!("S1: a queue has {len} packets and not {}", queue.len));
            }
        }
        for (_, fork) in self.multicasts.forks() {
            left[fork.packet as usize] += fork.passed;
            for child in &fork.children {
                left[child.packet as usize] += self.packets[child.packet].flits - child.left;
            }
        }
        for (number, count) in left.iter().enumerate() {
            let packet = &self.packets[number as u32];
            if *count > 0 {
                seen += 1;
                if count + packet.arrived != packet.flits {
                    return Err(format!("S1: {count} flits and {} arrived of {packet:?}", packet.arrived));
                }
            }
        }
        let delivered = self.packets.alive() - seen;
        if (delivered as usize) < self.arrived.len() {
            return Err(format!("S1: {delivered} packets are delivered, {} just now", self.arrived.len()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Config, Topology};
    use crate::{NodeId, Priority};

    /// Some packets on their way along a row, two of them one behind the other.
    fn under_way() -> Network {
        let mut network = Network::new(&Config::plain(Topology::mesh(&[4]), 0));
        for (from, flits) in [(0, 2), (0, 9), (2, 5)] {
            network.send(NodeId(from), NodeId(3), flits, Priority::Low, 0);
        }
        (0..5).for_each(|_| network.cycle(None));
        network
    }

    /// A buffer with so many flits.
    fn with_flits(network: &Network, flits: u16) -> usize {
        network.buffers.iter().position(|buffer| buffer.len >= flits).expect("there is such a buffer")
    }

    /// What is found after a change for the worse.
    fn finding(spoil: impl FnOnce(&mut Network)) -> String {
        let mut network = under_way();
        network.broken().expect("nothing is wrong yet");
        spoil(&mut network);
        network.broken().expect_err("it is spoilt")[..2].into()
    }

    #[test]
    fn everything_that_can_break_is_found() {
        assert_eq!(finding(|network| network.inside += 1), "S1");
        assert_eq!(finding(|network| network.queues[0].left -= 1), "S1");
        assert_eq!(finding(|network| network.queues[0].len += 1), "S1");
        assert_eq!(finding(|network| network.occupied.fill(0)), "S2");
        assert_eq!(finding(|network| network.occupied[3] |= 1), "S2");
        let foremost = |network: &mut Network, spoil: fn(&mut u32)| {
            let at = with_flits(network, 1);
            let place = at * network.depth + usize::from(network.buffers[at].first);
            spoil(&mut network.places[place].flit);
        };
        assert_eq!(finding(|network| foremost(network, |flit| *flit ^= LAST)), "S3");
        assert_eq!(finding(|network| foremost(network, |flit| *flit ^= 1)), "S3");
        assert_eq!(
            finding(|network| network.buffers.iter_mut().for_each(|buffer| buffer.owner = NONE)),
            "S4"
        );
        assert_eq!(finding(|network| network.places[0].time += 1000), "S5");
    }
}
