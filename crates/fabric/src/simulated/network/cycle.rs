//! What happens in a cycle, and when nothing happens.

use super::Network;
use crate::simulated::config::Duplex;
use crate::simulated::rule::Rule;

impl Network {
    /// A cycle. What has arrived is in `arrived` then, until the next one.
    pub(in crate::simulated) fn cycle<'r>(&mut self, rule: Option<&mut (dyn Rule + 'r)>) {
        self.exits.begin_cycle();
        self.left.clear();
        self.grants.clear();
        self.choose();
        if rule.is_some() || self.log.is_on() {
            // They show the order of ports.
            self.grants.sort_unstable_by_key(|grant| grant.port);
        }
        if self.config.duplex == Duplex::Half {
            self.wires.share(&mut self.grants, self.clock.cycle(), &self.outputs, &self.shape);
        }
        if let Some(rule) = rule {
            self.judge(rule);
        }
        self.pass_all();
        if !self.undecided.is_empty() {
            self.forget_choices();
        }
        if self.clock.tick() {
            self.begin_clock_anew();
        }
        if self.config.check {
            self.verify();
        }
    }

    /// Nothing is under way until then: so nothing happens. At least one cycle goes by.
    pub(in crate::simulated) fn skip_to(&mut self, time: u64) {
        assert!(self.is_empty() && time > self.now(), "time goes forward, and only an empty network is idle");
        self.exits.begin_cycle();
        // All places are free and all links quiet after the longest delay.
        if self.clock.skip_to(time, self.config.hop_cycles.max(self.config.credit_cycles)) {
            self.begin_clock_anew();
        }
    }

    /// After a cycle in which nothing went: until when nothing goes yet, because all that could waits for its time.
    /// None if something may go in the next cycle. What nodes do meanwhile may change it.
    pub(in crate::simulated) fn quiet_until(&self) -> Option<u64> {
        if !self.grants.is_empty() {
            return None;
        }
        let cycle = self.clock.cycle();
        let mut soonest = u32::MAX;
        for at in self.occupied.all() {
            let time = self.buffers.at(at).time;
            if time <= cycle {
                return None;
            }
            soonest = soonest.min(time);
        }
        (soonest < u32::MAX).then(|| self.now() + u64::from(soonest - cycle))
    }

    /// Nothing goes until then ([`Network::quiet_until`]).
    pub(in crate::simulated) fn wait_until(&mut self, time: u64) {
        self.exits.begin_cycle();
        if self.clock.wait_until(time) {
            self.begin_clock_anew();
        }
    }

    fn begin_clock_anew(&mut self) {
        let past = self.clock.begin_anew();
        self.buffers.shift(past);
        self.wires.begin_anew();
        self.outputs.begin_anew();
    }
}
