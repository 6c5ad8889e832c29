//! Checks the network after a cycle, from nothing but its state.
//!
//! - S1 No flit is lost or doubled: those of each packet that wait, are in buffers and have arrived are all of them.
//! - S2 A buffer holds no more than it may, and whoever has flits is looked at.
//! - S3 In a virtual channel one packet's flits follow another's: what a buffer says of its foremost flit, of its
//!   packets and of their number agrees.
//! - S4 A virtual channel is held by the one input whose packet has begun to pass it and has not passed it wholly;
//!   that input knows it.
//! - S5 No place stays taken for longer than a credit takes, nor a flit in a link for longer than a hop.
//! - S6 A buffer that says stop and go has said what it must.

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

    /// S2, S3, S5, S6 for a buffer; counts the flits of each packet.
    fn ring_is_right(&self, at: usize, found: &mut [u32]) -> Result<(), String> {
        let buffer = &self.buffers[at];
        let (node, input) = (at / self.inputs(), at % self.inputs());
        let len = usize::from(buffer.len);
        if len > self.depth {
            return Err(format!("S2: {len} flits in buffer {at}"));
        }
        if !self.signals.is_right(at, len) {
            return Err(format!("S6: buffer {at} has {len} flits, and its sender is told otherwise"));
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
        for offset in (0..self.depth).filter(|_| !self.times.is_empty()) {
            let time = self.times[self.place(at, offset)];
            let latest =
                self.clock + if offset < len { self.config.hop_cycles } else { self.config.credit_cycles };
            if time >= latest {
                return Err(format!("S5: place {offset} of buffer {at} is busy until {time}"));
            }
        }
        if from_node { Ok(()) } else { self.packets_follow(at, found) }
    }

    /// S3 for a buffer; counts the flits of each packet.
    fn packets_follow(&self, at: usize, found: &mut [u32]) -> Result<(), String> {
        let buffer = &self.buffers[at];
        let (mut number, mut rest) = (packet_of(buffer.flit), u32::from(buffer.len));
        if rest == 0 {
            return Ok(());
        }
        let flits = self.packets[number].flits;
        let first = if buffer.left == flits { FIRST } else { 0 };
        let last = if buffer.left == 1 { LAST } else { 0 };
        if !(1..=flits).contains(&buffer.left) || buffer.flit != number | first | last {
            return Err(format!("S3: the foremost flit of buffer {at} is not the one of {}", buffer.left));
        }
        let mut whole = buffer.left;
        loop {
            found[number as usize] += rest.min(whole);
            if rest <= whole {
                break;
            }
            rest -= whole;
            number = self.packets[number].next;
            if number == NOBODY || number as usize >= found.len() {
                return Err(format!("S3: {rest} flits of buffer {at} are of no packet"));
            }
            whole = self.packets[number].flits;
        }
        let says = self.lasts[at];
        if says != number {
            Err(format!("S3: packet {number} is the last of buffer {at}, not {says}"))
        } else {
            Ok(())
        }
    }

    /// S4 for the channel that ends in a buffer.
    fn owner_is_right(&self, at: usize) -> Result<(), String> {
        let (node, input) = (at / self.inputs(), at % self.inputs());
        let (port, channel) = (input / self.channels, input % self.channels);
        let beyond = self.outputs[node * self.ports + port].neighbour as usize;
        let output = &self.outputs[node * self.ports + port];
        if port < self.ports - 1 && output.neighbour as usize == node {
            // There is no link.
            return Ok(());
        }
        let back = output.end as usize / self.channels % self.ports;
        let route = if port == self.ports - 1 { input } else { back * self.channels + channel };
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
    use crate::simulated::network::Buffer;
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
            spoil(&mut network.buffers[at].flit);
        };
        assert_eq!(finding(|network| foremost(network, |flit| *flit ^= LAST)), "S3");
        assert_eq!(finding(|network| foremost(network, |flit| *flit ^= 1)), "S3");
        assert_eq!(
            finding(|network| network.buffers.iter_mut().for_each(|buffer| buffer.owner = NONE)),
            "S4"
        );
        assert_eq!(finding(|network| network.times[0] += 1000), "S5");
        let all = |network: &mut Network, spoil: fn(&mut Buffer)| network.buffers.iter_mut().for_each(spoil);
        assert_eq!(finding(|network| network.lasts.fill(NOBODY)), "S3");
        assert_eq!(finding(|network| all(network, |buffer| buffer.left += 1)), "S3");
    }

    #[test]
    fn a_buffer_that_says_the_wrong_thing_is_found() {
        let flow = Flow::OnOff { stop: 4, go: 1 };
        let config = Config { flow, buffer_flits: 5, ..Config::plain(Topology::mesh(&[4]), 0) };
        let mut network = Network::new(&config);
        network.send(NodeId(0), NodeId(3), 9, Priority::Low, 0);
        (0..4).for_each(|_| network.cycle(None));
        network.broken().expect("nothing is wrong yet");
        network.signals.spoil();
        assert_eq!(network.broken().expect_err("it is spoilt")[..2], *"S6");
    }
}
