//! Traffic without nodes: packets by a pattern, at a rate or in a closed loop, or from a trace; and what it measures.

use super::config::Config;
use super::network::Network;
use super::report::{Channel, Times};
use super::rule::Rule;
use super::topology::Topology;
use super::trace::Sent;
use crate::{NodeId, Priority, Random};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which node sends to which.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pattern {
    /// To anybody, oneself included.
    Uniform,
    /// From `(x, y)` to `(y, x)`, from `(x, y, z)` to `(z, y, x)`; sides must be equal.
    Transpose,
    /// To the place opposite in all dimensions; where sides are powers of two, all bits of the number are complemented.
    BitComplement,
    /// To the next place, in all dimensions and round the edge.
    Neighbour,
    /// This share of packets to one node, the others to anybody.
    HotSpot {
        /// The node.
        node: NodeId,
        /// From 0 to 1.
        share: f64,
    },
}

/// Where packets come from.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    /// Each node makes packets at random times, whatever becomes of them.
    Open {
        /// The receivers.
        pattern: Pattern,
        /// Length of packets.
        flits: u32,
        /// Flits that a node makes in a cycle, on the average.
        rate: f64,
    },
    /// Each node has some calls under way: a request, an answer from whoever gets it, and a new request.
    Closed {
        /// The receivers.
        pattern: Pattern,
        /// Length of requests.
        flits: u32,
        /// Length of answers; none: the call ends when the request arrives.
        answer_flits: Option<u32>,
        /// Calls of a node under way.
        calls: u32,
        /// From an answer to the next request.
        think_cycles: u64,
        /// From a request to its answer.
        serve_cycles: u64,
    },
    /// Packets at given times, these not decreasing.
    Trace(Vec<Sent>),
}

/// Traffic, and how long it is measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Traffic {
    /// The packets.
    pub source: Source,
    /// Cycles before anything is measured.
    pub warm_up: u64,
    /// Cycles in which packets count.
    pub measure: u64,
    /// Cycles in which those may arrive yet; the traffic goes on meanwhile.
    pub drain_max: u64,
}

/// What traffic measured. Rates are flits for each node and cycle.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// What nodes made.
    pub offered: f64,
    /// What came to nodes.
    pub accepted: f64,
    /// Whether the network took less than it was offered: then latencies mean little, because they grow with the
    /// length of the run.
    pub saturated: bool,
    /// From when a packet was made until its last flit came, of the packets that were made while it was measured and
    /// that arrived.
    pub latency: Times,
    /// From a request to its answer, if there are any.
    pub round_trip: Times,
    /// Links that these packets crossed, on the average.
    pub hops_mean: f64,
    /// By node and port, while it was measured.
    pub channels: Vec<Channel>,
    /// Flits over links in the whole run.
    pub flit_hops: u64,
    /// Cycles of the whole run.
    pub cycles: u64,
    /// The event log, if the configuration wants it.
    pub log: String,
    /// All packets that were made, if the configuration wants them.
    pub trace: Vec<Sent>,
}

/// Packets that may wait in a node of an open loop; more are not made, and the network is saturated.
const QUEUE_MAX: u32 = 1000;
/// An open loop saturates the network if at the end of the measurement more packets wait in the nodes than at its
/// beginning: this share of those that were made meanwhile, and one for each node, which may just be leaving.
const BACKLOG: f64 = 0.05;
/// Most calls under way in a closed loop, and the longest time of one outside the network.
const CALLS_MAX: u32 = 1 << 30;
const CYCLES_MAX: u64 = 1 << 31;

/// Runs traffic without faults. A configuration or traffic that makes no sense is a mistake of the caller's: panics,
/// and says what is wrong.
pub fn measure(config: &Config, traffic: &Traffic) -> Measured {
    run(config, traffic, None)
}

/// As [`measure`]; the rule makes faults.
pub fn measure_with(config: &Config, traffic: &Traffic, rule: &mut dyn Rule) -> Measured {
    run(config, traffic, Some(rule))
}

fn run(config: &Config, traffic: &Traffic, mut rule: Option<&mut dyn Rule>) -> Measured {
    let mut run = Run::new(config, traffic);
    let (begin, end) = (traffic.warm_up, traffic.warm_up + traffic.measure);
    while run.network.now() < begin {
        run.cycle(rule.as_deref_mut());
    }
    let (before, backlog) = (run.network.counters(), run.network.waiting());
    while run.network.now() < end {
        run.cycle(rule.as_deref_mut());
    }
    let (after, backlog) = (run.network.counters(), run.network.waiting().saturating_sub(backlog));
    while run.missing > 0 && run.network.now() < end + traffic.drain_max {
        run.cycle(rule.as_deref_mut());
    }
    let few = BACKLOG * run.made as f64 + f64::from(config.topology.nodes());
    let piles_up = matches!(traffic.source, Source::Open { .. }) && backlog as f64 > few;
    run.finish(before, after, piles_up)
}

impl Traffic {
    /// A mistake of the caller's panics.
    fn validate(&self, topology: &Topology) {
        let nodes = topology.nodes();
        let of_pattern = |pattern: &Pattern, flits: u32| {
            assert!(flits >= 1, "packets of at least one flit");
            if let Pattern::HotSpot { node, share } = pattern {
                assert!(node.0 < nodes, "a hot spot among the {nodes} nodes");
                assert!((0.0..=1.0).contains(share), "a share of 0 to 1 for the hot spot");
            }
            if *pattern == Pattern::Transpose {
                let sides = topology.sides();
                assert!(sides.iter().all(|side| *side == sides[0]), "equal sides for a transpose");
            }
        };
        match &self.source {
            Source::Open { pattern, flits, rate } => {
                of_pattern(pattern, *flits);
                assert!(*rate >= 0.0 && rate.is_finite(), "a rate of at least 0");
            }
            Source::Closed { pattern, flits, answer_flits, calls, think_cycles, serve_cycles } => {
                of_pattern(pattern, answer_flits.unwrap_or(1).min(*flits));
                let all = nodes.checked_mul(*calls).filter(|all| *all <= CALLS_MAX);
                assert!(all.is_some(), "at most {CALLS_MAX} calls of all nodes");
                assert!(
                    *think_cycles.max(serve_cycles) <= CYCLES_MAX,
                    "calls of at most {CYCLES_MAX} cycles"
                );
            }
            Source::Trace(trace) => {
                let known = |sent: &Sent| sent.from.0 < nodes && sent.to.0 < nodes && sent.flits >= 1;
                assert!(trace.iter().all(known), "packets of at least one flit between the {nodes} nodes");
                assert!(trace.is_sorted_by_key(|sent| sent.time), "packets in the order of their times");
            }
        }
        let all = self.warm_up.checked_add(self.measure).and_then(|sum| sum.checked_add(self.drain_max));
        assert!(self.measure >= 1 && all.is_some(), "a cycle or more in which packets count, and an end");
    }
}

struct Run<'a> {
    network: Network,
    source: &'a Source,
    random: Random,
    /// Where packets go to if the pattern is fixed.
    targets: Vec<NodeId>,
    window: std::ops::Range<u64>,
    /// What happens next in a closed loop: the call's number, and whether it is answered.
    events: BinaryHeap<Reverse<(u64, u32, bool)>>,
    /// When each call began, and the node that serves it.
    calls: Vec<(u64, NodeId)>,
    /// Where a trace goes on.
    next: usize,
    /// Packets made while it is measured; those of them that have not arrived; flits made; packets that found no room.
    made: u64,
    missing: u64,
    made_flits: u64,
    refused: u64,
    latency: Times,
    round_trip: Times,
    hops: u64,
}

impl<'a> Run<'a> {
    fn new(config: &Config, traffic: &'a Traffic) -> Run<'a> {
        traffic.validate(&config.topology);
        let mut network = Network::new(config);
        // A node takes everything at once.
        network.open_exits();
        let nodes = config.topology.nodes();
        let mut run = Run {
            network,
            source: &traffic.source,
            random: Random::new(config.seed),
            targets: Vec::new(),
            window: traffic.warm_up..traffic.warm_up + traffic.measure,
            events: BinaryHeap::new(),
            calls: Vec::new(),
            next: 0,
            made: 0,
            missing: 0,
            made_flits: 0,
            refused: 0,
            latency: Times::default(),
            round_trip: Times::default(),
            hops: 0,
        };
        match &traffic.source {
            Source::Open { pattern, .. } => run.targets = targets(*pattern, &config.topology),
            Source::Closed { pattern, calls, think_cycles, .. } => {
                run.targets = targets(*pattern, &config.topology);
                run.calls = vec![(0, NodeId(0)); (nodes * calls) as usize];
                for call in 0..nodes * calls {
                    // They do not all begin at once.
                    let begin = u64::from(run.random.below(*think_cycles as u32 + 1));
                    run.events.push(Reverse((begin, call, false)));
                }
            }
            Source::Trace(_) => {}
        }
        run
    }

    fn cycle<'r>(&mut self, rule: Option<&mut (dyn Rule + 'r)>) {
        match self.source {
            Source::Open { pattern, flits, rate } => self.make(*pattern, *flits, *rate),
            Source::Closed { pattern, flits, answer_flits, .. } => {
                while self.events.peek().is_some_and(|event| event.0.0 <= self.network.now()) {
                    let Some(Reverse((_, call, answer))) = self.events.pop() else { break };
                    let nodes = self.network.config().topology.nodes();
                    let caller = NodeId(call % nodes);
                    if answer {
                        let (_, server) = self.calls[call as usize];
                        self.send(server, caller, answer_flits.unwrap_or(1), Priority::Low, 2 * call + 1);
                    } else {
                        let to = self.target(*pattern, caller);
                        self.calls[call as usize] = (self.network.now(), to);
                        self.send(caller, to, *flits, Priority::Low, 2 * call);
                    }
                }
            }
            Source::Trace(trace) => {
                while let Some(sent) = trace.get(self.next) {
                    if sent.time.0 > self.network.now() {
                        break;
                    }
                    self.send(sent.from, sent.to, sent.flits, sent.priority, 0);
                    self.next += 1;
                }
            }
        }
        self.network.cycle(rule);
        self.take();
    }

    /// An open loop: each node makes a packet with the same probability in each cycle.
    fn make(&mut self, pattern: Pattern, flits: u32, rate: f64) {
        let probability = rate / f64::from(flits);
        for node in (0..self.network.config().topology.nodes()).map(NodeId) {
            if !self.random.chance(probability) {
                continue;
            }
            let to = self.target(pattern, node);
            if self.network.queued(node, Priority::Low) < QUEUE_MAX {
                self.send(node, to, flits, Priority::Low, 0);
            } else if self.window.contains(&self.network.now()) {
                self.refused += 1;
                self.made_flits += u64::from(flits);
            }
        }
    }

    fn target(&mut self, pattern: Pattern, from: NodeId) -> NodeId {
        let nodes = self.network.config().topology.nodes();
        match (pattern, self.targets.get(from.0 as usize)) {
            (_, Some(target)) => *target,
            (Pattern::HotSpot { node, share }, None) if self.random.chance(share) => node,
            _ => NodeId(self.random.below(nodes)),
        }
    }

    fn send(&mut self, from: NodeId, to: NodeId, flits: u32, priority: Priority, tag: u32) {
        if self.window.contains(&self.network.now()) {
            self.made += 1;
            self.missing += 1;
            self.made_flits += u64::from(flits);
        }
        self.network.send(from, to, flits, priority, tag);
    }

    /// What has just arrived.
    fn take(&mut self) {
        // The cycle is over: a flit that moved in it is there a hop, and the way out, later.
        let now = self.network.now() - 1;
        for at in 0..self.network.arrived().len() {
            let number = self.network.arrived()[at];
            let time = self.network.arrival(number, now);
            let packet = self.network.take(number, time);
            self.network.make_room(packet.to, packet.priority);
            if self.window.contains(&packet.sent) {
                self.missing -= 1;
                self.latency.add(time - packet.sent);
                self.hops += u64::from(packet.routers) - 1;
            }
            if let Source::Closed { answer_flits, think_cycles, serve_cycles, .. } = self.source {
                let (call, answer) = (packet.tag / 2, packet.tag % 2 == 1);
                if answer || answer_flits.is_none() {
                    let (begin, _) = self.calls[call as usize];
                    if self.window.contains(&begin) {
                        self.round_trip.add(time - begin);
                    }
                    self.events.push(Reverse((time + think_cycles, call, false)));
                } else {
                    self.events.push(Reverse((time + serve_cycles, call, true)));
                }
            }
        }
    }

    fn finish(mut self, before: Vec<Channel>, after: Vec<Channel>, piles_up: bool) -> Measured {
        let topology = &self.network.config().topology;
        let (ports, links) = (topology.ports(), topology.links());
        let channels: Vec<Channel> = after
            .iter()
            .zip(&before)
            .map(|(after, before)| Channel {
                flits: after.flits - before.flits,
                packets: after.packets - before.packets,
                lost: after.lost - before.lost,
            })
            .collect();
        let arrived: u64 = channels.iter().skip(links).step_by(ports).map(|channel| channel.flits).sum();
        let of_links = |(at, channel): (usize, &Channel)| if at % ports == links { 0 } else { channel.flits };
        let flit_hops = self.network.counters().iter().enumerate().map(of_links).sum();
        let cycles = (self.window.end - self.window.start) as f64 * f64::from(topology.nodes());
        Measured {
            offered: self.made_flits as f64 / cycles,
            accepted: arrived as f64 / cycles,
            saturated: piles_up || self.refused > 0 || self.missing > 0,
            hops_mean: self.hops as f64 / self.latency.count().max(1) as f64,
            latency: self.latency,
            round_trip: self.round_trip,
            channels,
            flit_hops,
            cycles: self.network.now(),
            log: self.network.take_log(),
            trace: self.network.take_trace(),
        }
    }
}

/// Where each node sends to, if that is fixed.
fn targets(pattern: Pattern, topology: &Topology) -> Vec<NodeId> {
    let sides = topology.sides();
    let to = |place: Vec<u32>| -> Vec<u32> {
        match pattern {
            Pattern::Transpose => place.into_iter().rev().collect(),
            Pattern::BitComplement => place.iter().zip(sides).map(|(at, side)| side - 1 - at).collect(),
            _ => place.iter().zip(sides).map(|(at, side)| (at + 1) % side).collect(),
        }
    };
    match pattern {
        Pattern::Uniform | Pattern::HotSpot { .. } => Vec::new(),
        _ => (0..topology.nodes()).map(|node| topology.node(&to(topology.place(NodeId(node))))).collect(),
    }
}
