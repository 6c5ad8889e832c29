//! Long packets where buffers say stop and go: cycles that only do again what the last one did are done at once.
//!
//! A packet of a page is thousands of flits, and a flit of it follows the other. As long as no first or last flit goes,
//! no signal arrives or is given, and nothing that waited may go, each cycle moves a flit of the same packets by the
//! same ports. [`Network::steady_for`] says for how long that is sure, [`Network::go_on`] does it.

use super::Network;
use super::buffers::FORK;
use super::outputs::Grant;
use crate::simulated::config::{Duplex, Routing};
use crate::simulated::packet::{FIRST, LAST, packet_of};

/// Cycles that are done at once, at most; and grants of a cycle, because each is compared with each.
const CYCLES_MAX: u32 = 1 << 12;
const GRANTS_MAX: usize = 32;

impl Network {
    /// For how many cycles from now on the flits go that went in the last one, and no others; at most `most`.
    pub(in crate::simulated) fn steady_for(&self, most: u64) -> u32 {
        let config = &self.config;
        let is_seen = self.log.is_on() || config.check;
        let is_simple = config.routing == Routing::Own && config.duplex == Duplex::Full;
        if is_seen || !is_simple || !self.buffers.say_stop() || !(1..=GRANTS_MAX).contains(&self.grants.len())
        {
            return 0;
        }
        let mut cycles = most.min(CYCLES_MAX.into()) as u32;
        for grant in &self.grants {
            cycles = cycles.min(self.lasts(grant));
            if cycles == 0 {
                return 0;
            }
        }
        for at in self.occupied.all() {
            if !self.is_drained(at) {
                cycles = cycles.min(self.stays(at));
            }
        }
        cycles.min(self.buffers.no_signal_for(self.clock.cycle()))
    }

    fn is_fed(&self, at: usize) -> bool {
        self.grants.iter().any(|grant| grant.to as usize == at && !self.shape.is_own(grant.route))
    }
    fn is_drained(&self, at: usize) -> bool {
        self.grants.iter().any(|grant| grant.from as usize == at)
    }

    /// For how many cycles what went in the last one goes on.
    fn lasts(&self, grant: &Grant) -> u32 {
        let (from, to) = (grant.from as usize, grant.to as usize);
        let (buffer, cycle) = (self.buffers.at(from), self.clock.cycle());
        let goes_on =
            buffer.route == grant.route && buffer.flit & (FIRST | LAST) == 0 && buffer.time <= cycle;
        if !goes_on || self.buffers.at(to).owner != grant.input {
            return 0;
        }
        let behind = if self.shape.is_own(grant.route) {
            u32::MAX
        } else if self.buffers.at(to).len == 0 || !self.buffers.has_place(to, cycle) {
            0
        } else {
            self.buffers.stays_in_bounds(to, true, self.is_drained(to))
        };
        let here = if self.shape.is_own(grant.input) {
            let level = usize::from(self.shape.gate(grant.input).level);
            let gone = self.queues.at(grant.node as usize, level).left;
            self.packets[packet_of(buffer.flit)].flits - gone
        } else {
            let fed = self.is_fed(from);
            let bounds = self.buffers.stays_in_bounds(from, fed, true);
            buffer
                .left
                .min(bounds.saturating_add(2))
                .min(self.buffers.flows_for(from, fed, cycle).saturating_add(2))
        };
        // The last flit goes in a cycle of its own, and so does the one before, behind which it is shown.
        behind.min(here.saturating_sub(2))
    }

    /// For how many cycles an input stays where it is from which nothing went.
    fn stays(&self, at: usize) -> u32 {
        let (buffer, cycle) = (self.buffers.at(at), self.clock.cycle());
        if buffer.time > cycle {
            return buffer.time - cycle;
        }
        if buffer.route >= FORK {
            return 0;
        }
        let node = self.shape.router(at);
        let gate = self.shape.gate(buffer.route);
        let port = self.outputs.at(node * self.shape.ports() + usize::from(gate.port));
        let end = port.end as usize + usize::from(gate.channel);
        let owner = self.buffers.at(end).owner;
        let has_it = usize::from(owner) == at - node * self.shape.inputs();
        let is_stopped = !self.shape.is_own(buffer.route) && !self.buffers.has_place(end, cycle);
        // Another packet has the channel, or its own was told to stop.
        if owner != super::buffers::NONE && (!has_it || is_stopped) { u32::MAX } else { 0 }
    }

    /// Does as many cycles as [`Network::steady_for`] says, or fewer.
    pub(in crate::simulated) fn go_on(&mut self, cycles: u32) {
        self.exits.begin_cycle();
        self.left.clear();
        let grants = std::mem::take(&mut self.grants);
        let mut gone = 0;
        // What goes in comes first, so that no buffer is empty in between.
        for grant in &grants {
            self.outputs.pass_many(grant.port as usize, cycles);
            if self.shape.is_own(grant.route) {
                let flit = self.buffers.at(grant.from as usize).flit;
                self.packets[packet_of(flit)].arrived += cycles;
                gone += u64::from(cycles);
            } else {
                self.buffers.enter_many(grant.to as usize, cycles, &self.clock);
            }
            if self.shape.is_own(grant.input) {
                let level = usize::from(self.shape.gate(grant.input).level);
                self.queues.pass_many(grant.node as usize, level, cycles);
                self.inside += u64::from(cycles);
            }
        }
        self.inside -= gone;
        for grant in grants.iter().filter(|grant| !self.shape.is_own(grant.input)) {
            self.buffers.leave_many(grant.from as usize, cycles, &self.clock);
        }
        self.grants = grants;
        self.wait_until(self.now() + u64::from(cycles));
    }
}

#[cfg(test)]
mod tests {
    use crate::simulated::network::Network;
    use crate::simulated::{Config, Flow, Topology};
    use crate::{NodeId, Priority, Random};

    const PACKETS: usize = 60;

    /// When each packet arrived, what went out by each port, and the cycles that were done at once.
    fn run(config: &Config, seed: u64, at_once: bool) -> (Vec<(u64, u32)>, String, u64) {
        let (mut network, mut random) = (Network::new(config), Random::new(seed));
        let (nodes, mut arrived, mut saved) = (config.topology.nodes(), Vec::new(), 0);
        network.open_exits();
        let mut next = 0;
        for sent in 0..=PACKETS {
            // What comes now and then ends what is alike.
            next += if sent == PACKETS { 1 << 40 } else { u64::from(random.below(400)) };
            while network.now() < next && !network.is_empty() {
                let steady = if at_once { network.steady_for(next - network.now()) } else { 0 };
                if steady > 0 {
                    network.go_on(steady);
                    saved += u64::from(steady);
                } else {
                    network.cycle(None);
                }
                arrived.extend(network.arrived().iter().map(|packet| (network.now(), *packet)));
            }
            if sent == PACKETS {
                break;
            }
            if network.is_empty() && network.now() < next {
                network.skip_to(next);
            }
            let (from, to) = (random.below(nodes), random.below(nodes));
            network.send(NodeId(from), NodeId(to), 1 + random.below(900), Priority::Low, 0);
        }
        (arrived, format!("{:?}", network.counters()), saved)
    }

    #[test]
    fn cycles_at_once_are_those_one_by_one() {
        let mut all = 0;
        for seed in 0..40 {
            let mut random = Random::new(seed);
            let (stop, credit_cycles) = (1 + random.below(60), 1 + random.below(30));
            let config = Config {
                flow: Flow::OnOff { stop, go: random.below(stop + 1) },
                hop_cycles: 1 + random.below(30),
                credit_cycles,
                buffer_flits: stop + credit_cycles + random.below(50),
                ..Config::plain(Topology::ring(3 + random.below(3)), seed)
            };
            let (one, many) = (run(&config, seed, false), run(&config, seed, true));
            assert_eq!((&one.0, &one.1), (&many.0, &many.1), "seed {seed}");
            assert_eq!(one.0.len(), PACKETS, "seed {seed}");
            all += many.2;
        }
        assert!(all > 100_000, "{all} cycles were done at once");
    }
}
