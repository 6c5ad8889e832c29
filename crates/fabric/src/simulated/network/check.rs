//! Checks the network after a cycle, from nothing but its state.
//!
//! - S1 No flit is lost or doubled: those of each packet that wait, are in buffers and have arrived are all of them.
//! - S2 A buffer holds no more than it may, and whoever has flits is looked at, or waits for a channel that another
//!   input has.
//! - S3 In a virtual channel one packet's flits follow another's: what a buffer says of its foremost flit, of its
//!   packets and of their number agrees.
//! - S4 A virtual channel is held by the one input whose packet has begun to pass it and has not passed it wholly;
//!   that input knows it.
//! - S5 No place stays taken for longer than a credit takes, nor a flit in a link for longer than a hop.
//! - S6 A buffer that says stop and go has said what it must.

use super::Network;
use super::buffers::{FORK, NONE};
use super::forks::Child;
use super::shape::Gate;
use crate::simulated::packet::{FIRST, NOBODY};

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
        for at in 0..self.buffers.count() {
            self.ring_is_right(at, &mut found)?;
            self.owner_is_right(at)?;
            inside += u64::from(self.buffers.at(at).len);
        }
        if inside != self.inside {
            return Err(format!("S1: {inside} flits in buffers, {} are said to be", self.inside));
        }
        self.packets_are_whole(&found)
    }

    /// S2, S3, S5, S6 for a buffer; counts the flits of each packet.
    fn ring_is_right(&self, at: usize, found: &mut [u32]) -> Result<(), String> {
        self.buffers.ring_is_right(at, self.clock.cycle())?;
        let (node, input) = (at / self.shape.inputs(), at % self.shape.inputs());
        let len = usize::from(self.buffers.at(at).len);
        let looked_at = self.occupied.has(at);
        let waits = self.waits(node, input)?;
        let from_node = self.shape.is_own(input as u8);
        if waits && looked_at {
            return Err(format!("S2: buffer {at} waits for a channel and is looked at"));
        }
        if len > 0 && !looked_at && !waits {
            return Err(format!("S2: buffer {at} has flits and nobody looks at it"));
        }
        if len == 0 && !from_node && looked_at {
            return Err(format!("S2: buffer {at} has no flits and is looked at"));
        }
        if from_node { Ok(()) } else { self.buffers.packets_follow(at, &self.packets, found) }
    }

    /// S2: whether an input waits for a channel, which another one has then.
    fn waits(&self, node: usize, input: usize) -> Result<bool, String> {
        let buffer = self.buffers.at(node * self.shape.inputs() + input);
        if buffer.route >= FORK {
            return Ok(false);
        }
        let Gate { port, channel, .. } = self.shape.gate(buffer.route);
        let port = self.outputs.at(node * self.shape.ports() + usize::from(port));
        let end = port.end as usize + usize::from(channel);
        let waits = self.occupied.waits(input, end);
        let owner = self.buffers.at(end).owner;
        if waits && (owner == NONE || usize::from(owner) == input) {
            return Err(format!("S2: input {input} of router {node} waits for a channel that it may have"));
        }
        Ok(waits)
    }

    /// S4 for the channel that ends in a buffer.
    fn owner_is_right(&self, at: usize) -> Result<(), String> {
        let (node, input) = (at / self.shape.inputs(), at % self.shape.inputs());
        let (port, channel) = (input / self.shape.channels(), input % self.shape.channels());
        let beyond = self.outputs.at(node * self.shape.ports() + port).neighbour as usize;
        let output = self.outputs.at(node * self.shape.ports() + port);
        if port < self.shape.ports() - 1 && output.neighbour as usize == node {
            // There is no link.
            return Ok(());
        }
        let back = output.end as usize / self.shape.channels() % self.shape.ports();
        let route =
            if port == self.shape.ports() - 1 { input } else { back * self.shape.channels() + channel };
        let last = self.buffers.at(at).owner;
        let passing = (0..self.shape.inputs()).filter(|from| {
            let buffer = self.buffers.at(beyond * self.shape.inputs() + from);
            if let Some(fork) = self.multicasts.fork(beyond * self.shape.inputs() + from) {
                let passing = |child: &Child| (1..fork.flits()).contains(&child.left());
                return fork
                    .children()
                    .iter()
                    .any(|child| usize::from(child.route()) == route && passing(child));
            }
            usize::from(buffer.route) == route && self.under_way(beyond, *from)
        });
        let passing: Vec<usize> = passing.collect();
        let held: Vec<usize> = (last != NONE).then_some(usize::from(last)).into_iter().collect();
        let edge = port != self.shape.ports() - 1 && beyond == node && self.config.topology.nodes() > 1;
        if !edge && passing != held {
            return Err(format!("S4: inputs {passing:?} pass the channel of buffer {at}, held by {held:?}"));
        }
        Ok(())
    }

    /// Whether the foremost packet of an input has begun to leave it.
    fn under_way(&self, node: usize, input: usize) -> bool {
        let buffer = self.buffers.at(node * self.shape.inputs() + input);
        if input / self.shape.channels() == self.shape.ports() - 1 {
            return self.queues.at(node, usize::from(self.shape.gate(input as u8).level)).left > 0;
        }
        // An input that has a route and no flits waits for those behind.
        buffer.route != NONE && (buffer.len == 0 || buffer.flit & FIRST == 0)
    }

    /// S1 for every packet.
    fn packets_are_whole(&self, found: &[u32]) -> Result<(), String> {
        let mut seen = 0;
        let mut left = found.to_vec();
        for queue in self.queues.all() {
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
        for fork in self.multicasts.forks() {
            left[fork.packet() as usize] += fork.passed();
            for child in fork.children() {
                left[child.packet() as usize] += self.packets[child.packet()].flits - child.left();
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
        let arrived = self.exits.arrived().len();
        if (delivered as usize) < arrived {
            return Err(format!("S1: {delivered} packets are delivered, {arrived} just now"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::packet::LAST;
    use crate::simulated::{Config, Flow, Topology};
    use crate::{NodeId, Priority};

    /// Some packets on their way along a row, two of them one behind the other.
    fn under_way() -> Network {
        let config = Config { hop_cycles: 2, buffer_flits: 6, ..Config::plain(Topology::mesh(&[4]), 0) };
        let mut network = Network::new(&config);
        for (from, flits) in [(0, 2), (0, 9), (2, 5)] {
            network.send(NodeId(from), NodeId(3), flits, Priority::Low, 0);
        }
        (0..10).for_each(|_| network.cycle(None));
        network
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
        assert_eq!(finding(|network| network.queues.spoil(|queue| queue.left -= 1)), "S1");
        assert_eq!(finding(|network| network.queues.spoil(|queue| queue.len += 1)), "S1");
        assert_eq!(finding(|network| network.occupied.spoil(|inputs| inputs.fill(0))), "S2");
        assert_eq!(finding(|network| network.occupied.spoil(|inputs| inputs[0] = !0)), "S2");
        let foremost = |network: &mut Network, bits: u32| {
            let mut left = bits;
            network.buffers.spoil(|buffer| {
                if buffer.len > 0 {
                    buffer.flit ^= std::mem::take(&mut left);
                }
            });
        };
        assert_eq!(finding(|network| foremost(network, LAST)), "S3");
        assert_eq!(finding(|network| foremost(network, 1)), "S3");
        assert_eq!(finding(|network| network.buffers.spoil(|buffer| buffer.owner = NONE)), "S4");
        assert_eq!(finding(|network| network.buffers.spoil_time()), "S5");
        assert_eq!(finding(|network| network.buffers.spoil_lasts()), "S3");
        assert_eq!(finding(|network| network.buffers.spoil(|buffer| buffer.left += 1)), "S3");
    }

    #[test]
    fn a_buffer_that_says_the_wrong_thing_is_found() {
        let flow = Flow::OnOff { stop: 4, go: 1 };
        let config = Config { flow, buffer_flits: 5, ..Config::plain(Topology::mesh(&[4]), 0) };
        let mut network = Network::new(&config);
        network.send(NodeId(0), NodeId(3), 9, Priority::Low, 0);
        (0..4).for_each(|_| network.cycle(None));
        network.broken().expect("nothing is wrong yet");
        network.buffers.spoil_signals();
        assert_eq!(network.broken().expect_err("it is spoilt")[..2], *"S6");
    }
}
