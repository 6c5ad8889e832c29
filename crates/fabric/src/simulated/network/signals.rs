//! Flow control by stop and go ([`Flow::OnOff`]): what the senders of buffers have been told.
//!
//! A buffer with more than `stop` flits says *stop* (Xoff), and *go* (Xon) when it has no more than `go` again. Its
//! sender knows `credit_cycles` later; what it has sent meanwhile still needs room, so a buffer is longer than `stop`.

use crate::simulated::config::Flow;
use std::collections::VecDeque;

/// Of all buffers. Empty where senders have credits.
pub(super) struct Signals {
    stop: usize,
    go: usize,
    buffers: Vec<Signal>,
}

/// What a buffer says.
#[derive(Clone)]
struct Signal {
    /// What its sender knows: it may send.
    known: bool,
    /// What is on its way to the sender, and when it is there.
    under_way: VecDeque<(u32, bool)>,
}

impl Signal {
    fn last(&self) -> bool {
        self.under_way.back().map_or(self.known, |signal| signal.1)
    }
}

impl Signals {
    pub(super) fn new(flow: Flow, buffers: usize) -> Signals {
        let Flow::OnOff { stop, go } = flow else { return Signals { stop: 0, go: 0, buffers: Vec::new() } };
        let signal = Signal { known: true, under_way: VecDeque::new() };
        Signals { stop: stop as usize, go: go as usize, buffers: vec![signal; buffers] }
    }
    pub(super) fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }
    /// Whether a buffer's sender believes now that it may send.
    pub(super) fn allow(&self, at: usize, now: u32) -> bool {
        let signal = &self.buffers[at];
        let come = signal.under_way.iter().rev().find(|(time, _)| *time <= now);
        come.map_or(signal.known, |come| come.1)
    }
    /// A buffer has this number of flits now; what it says of that is with its sender later.
    pub(super) fn note(&mut self, at: usize, len: usize, now: u32, later: u32) {
        let Some(signal) = self.buffers.get_mut(at) else { return };
        while let Some(&(_, says)) = signal.under_way.front().filter(|(time, _)| *time <= now) {
            signal.known = says;
            signal.under_way.pop_front();
        }
        let last = signal.last();
        let says = if last { len <= self.stop } else { len <= self.go };
        if says != last {
            signal.under_way.push_back((later, says));
        }
    }
    /// For how many cycles no signal arrives.
    pub(super) fn quiet_for(&self, now: u32) -> u32 {
        let under_way = self.buffers.iter().flat_map(|signal| &signal.under_way);
        under_way.filter(|(time, _)| *time > now).map(|(time, _)| time - now).min().unwrap_or(u32::MAX)
    }
    /// For how many cycles a buffer of this length stays where it is, seen from both bounds, if a flit comes in each
    /// or leaves, or both in any order.
    pub(super) fn says_nothing_for(&self, len: u32, comes: bool, leaves: bool) -> u32 {
        let (most, least) = (len + u32::from(comes), len.saturating_sub(leaves.into()));
        let of = |bound: u32| {
            if most <= bound {
                if comes && !leaves { bound - most + 1 } else { u32::MAX }
            } else if least > bound {
                if leaves && !comes { least - bound } else { u32::MAX }
            } else {
                0
            }
        };
        of(self.stop as u32).min(of(self.go as u32))
    }
    /// S6: a buffer of this length has said what it must.
    pub(super) fn is_right(&self, at: usize, len: usize) -> bool {
        self.buffers.get(at).is_none_or(|signal| if signal.last() { len <= self.stop } else { len > self.go })
    }
    /// The clock begins anew, earlier by this time.
    pub(super) fn shift(&mut self, past: u32) {
        for (time, _) in self.buffers.iter_mut().flat_map(|signal| &mut signal.under_way) {
            *time = time.saturating_sub(past);
        }
    }
    /// Spoils them, for tests of the checks.
    #[cfg(test)]
    pub(super) fn spoil(&mut self) {
        self.buffers.iter_mut().for_each(|signal| signal.under_way.push_back((0, !signal.last())));
    }
}

#[cfg(test)]
mod tests {
    use crate::simulated::network::Network;
    use crate::simulated::network::clock::{CLOCK_MAX, Clock};
    use crate::simulated::{Config, Flow, Topology};
    use crate::{NodeId, Priority};

    /// The longest that the FIFO behind a link has been, and when the last flit came.
    fn fill(config: &Config, packets: u32) -> (usize, u64) {
        let mut network = Network::new(config);
        // What comes to node 2 from both sides gets out at half the speed.
        for _ in 0..packets {
            network.send(NodeId(0), NodeId(2), 40, Priority::Low, 0);
            network.send(NodeId(3), NodeId(2), 40, Priority::Low, 0);
        }
        let mut longest = 0;
        while !network.is_empty() {
            network.cycle(None);
            network.buffers.spoil(|buffer| longest = longest.max(usize::from(buffer.len)));
        }
        (longest, network.now())
    }

    #[test]
    fn a_fifo_says_stop_in_time_and_never_runs_over() {
        for (credit_cycles, go) in [(1, 10), (1, 3), (4, 10), (4, 0), (9, 10)] {
            let flow = Flow::OnOff { stop: 10, go };
            let plain = Config::plain(Topology::mesh(&[4]), 0);
            let config =
                Config { flow, credit_cycles, buffer_flits: 10 + credit_cycles, check: true, ..plain };
            let (longest, time) = fill(&config, 6);
            assert_eq!(longest, 10 + credit_cycles as usize, "signals of {credit_cycles} cycles, go at {go}");
            // The sink is never idle for want of a flit that was told to wait, unless go comes too late.
            let late = u64::from(credit_cycles).saturating_sub(u64::from(go)) * 40;
            assert!(
                (480..500 + late).contains(&time),
                "{time} cycles, signals of {credit_cycles}, go at {go}"
            );
        }
    }

    #[test]
    fn a_clock_that_begins_anew_takes_signals_along() {
        let run = |clock| {
            let flow = Flow::OnOff { stop: 3, go: 1 };
            let plain = Config::plain(Topology::ring(4), 0);
            let config = Config { flow, credit_cycles: 5, buffer_flits: 8, check: true, log: true, ..plain };
            let mut network = Network::new(&config);
            network.clock = Clock::at(clock, u64::from(CLOCK_MAX - clock));
            for node in 0..4 {
                network.send(NodeId(node), NodeId((node + 2) % 4), 30, Priority::Low, 0);
                network.send(NodeId(node), NodeId((node + 1) % 4), 30, Priority::Low, 0);
            }
            while !network.is_empty() {
                network.cycle(None);
            }
            network.take_log()
        };
        let log = run(1);
        (1..90).for_each(|before| assert_eq!(run(CLOCK_MAX - before), log));
    }
}
