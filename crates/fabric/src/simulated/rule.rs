//! Faults on demand: a rule is asked whenever a packet is about to cross a link.
//!
//! What a rule does holds a packet up or kills a node; it never breaks what the network promises (N1 of the crate). A
//! flit that is lost is lost below the link's protocol: the sending end has no acknowledgement, keeps the flit, and
//! sends it again.

use crate::{NodeId, Priority, Random, Time};

/// A packet whose first flit is about to cross a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossing {
    /// Now.
    pub time: Time,
    /// Where the link begins.
    pub at: NodeId,
    /// Where the link ends.
    pub next: NodeId,
    /// The packet's sender.
    pub from: NodeId,
    /// The packet's receiver.
    pub to: NodeId,
    /// Its length.
    pub flits: u32,
    /// Its priority.
    pub priority: Priority,
}

/// What becomes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It crosses.
    Pass,
    /// It waits this number of cycles, and those behind it in its channel with it.
    Delay(u32),
    /// Nothing crosses the link in this direction for this number of cycles.
    Stall(u32),
    /// The link loses the flit; it tries again after [`super::Config::retransmit_cycles`], and the rule is asked again.
    Drop,
}

/// What makes faults.
pub trait Rule {
    /// What becomes of a packet at a link. After a delay or a stall it is not asked again for this packet and link.
    fn crossing(&mut self, crossing: &Crossing) -> Verdict;
    /// Whether a node lives; a dead one stays dead. Its router works, and what comes to it vanishes.
    fn lives(&mut self, _node: NodeId, _time: Time) -> bool {
        true
    }
}

impl<F: FnMut(&Crossing) -> Verdict> Rule for F {
    fn crossing(&mut self, crossing: &Crossing) -> Verdict {
        self(crossing)
    }
}

/// Several rules: the first that does not let a packet pass decides.
pub struct Rules(pub Vec<Box<dyn Rule>>);

impl Rule for Rules {
    fn crossing(&mut self, crossing: &Crossing) -> Verdict {
        let verdicts = self.0.iter_mut().map(|rule| rule.crossing(crossing));
        // All are asked, so that what one says does not change what another will say next time.
        verdicts.fold(Verdict::Pass, |first, next| if first == Verdict::Pass { next } else { first })
    }
    fn lives(&mut self, node: NodeId, time: Time) -> bool {
        self.0.iter_mut().all(|rule| rule.lives(node, time))
    }
}

/// A node that dies.
#[derive(Clone, Copy, Debug)]
pub struct Death {
    /// The node.
    pub node: NodeId,
    /// From when on it does nothing.
    pub time: Time,
}

impl Rule for Death {
    fn crossing(&mut self, _: &Crossing) -> Verdict {
        Verdict::Pass
    }
    fn lives(&mut self, node: NodeId, time: Time) -> bool {
        node != self.node || time < self.time
    }
}

/// Faults at random.
#[derive(Clone, Debug)]
pub struct RandomFaults {
    /// Where they begin.
    pub random: Random,
    /// How probable a delay is, for each packet and link.
    pub delay: f64,
    /// As `delay`.
    pub stall: f64,
    /// As `delay`.
    pub drop: f64,
    /// Delays and stalls are shorter.
    pub cycles_max: u32,
}

impl RandomFaults {
    /// A mixture that depends on the seed: none of one kind in one run, many in another.
    pub fn swarm(seed: u64) -> RandomFaults {
        let mut random = Random::new(seed);
        let mut probability = || [0.0, 0.01, 0.1][random.below(3) as usize];
        let (delay, stall, drop) = (probability(), probability(), probability());
        let cycles_max = 2 + random.below(100);
        RandomFaults { random, delay, stall, drop, cycles_max }
    }
}

impl Rule for RandomFaults {
    fn crossing(&mut self, _: &Crossing) -> Verdict {
        let cycles = 1 + self.random.below(self.cycles_max);
        if self.random.chance(self.delay) {
            Verdict::Delay(cycles)
        } else if self.random.chance(self.stall) {
            Verdict::Stall(cycles)
        } else if self.random.chance(self.drop) {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }
}
