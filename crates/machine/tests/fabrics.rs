//! Machines on threads and on simulated networks.

use conformance::machines::{Kind, hold_back, tests};
use fabric::simulated::{self, Config, Outcome, Topology};
use fabric::{Fabric, NodeId, NodeSet, Pace, Priority, threads};
use machine::{Answers, Call, Context, Costs, Ended, Here, Machine, Program, Spread, Verdict};

struct Threads(u32);

impl Kind for Threads {
    fn nodes(&self) -> u32 {
        self.0
    }
    fn run<P: Program, R: Send>(
        &mut self,
        make: impl Fn(NodeId) -> P + Sync,
        end: impl Fn(Machine<P>) -> R + Sync,
    ) -> Vec<(NodeId, R)> {
        let make = |node| Machine::new(node, self.0, make(node), Costs::REAL);
        let ends = threads::run(self.0, make, end).unwrap_or_else(|failed| panic!("{failed}"));
        (0..self.0).map(NodeId).zip(ends).collect()
    }
}

/// Each run is made twice, because it must be the same: event by event, and in what the nodes have counted.
struct Simulated(Config, Costs);

impl Kind for Simulated {
    fn nodes(&self) -> u32 {
        self.0.topology.nodes()
    }
    fn run<P: Program, R: Send>(
        &mut self,
        make: impl Fn(NodeId) -> P + Sync,
        end: impl Fn(Machine<P>) -> R + Sync,
    ) -> Vec<(NodeId, R)> {
        let nodes = self.nodes();
        let config = Config { log: true, ..self.0.clone() };
        let again = || {
            let outcome = simulated::run(&config, |node| Machine::new(node, nodes, make(node), self.1));
            outcome.unwrap_or_else(|stopped| panic!("{stopped}"))
        };
        let (first, second) = (again(), again());
        let counters =
            |outcome: &Outcome<Machine<P>>| outcome.nodes.iter().map(Machine::counters).collect::<Vec<_>>();
        assert!(first.log == second.log && counters(&first) == counters(&second), "not the same run");
        (0..nodes).map(NodeId).zip(first.nodes.into_iter().map(end)).collect()
    }
}

fn conforms<K: Kind>(mut kind: K) {
    for (name, test) in tests::<K>() {
        let begin = std::time::Instant::now();
        test(&mut kind);
        println!("{} nodes, {name}: {:.1?}", kind.nodes(), begin.elapsed());
    }
}

#[test]
fn machines_conform_on_threads() {
    for nodes in [1, 2, 3, 8] {
        conforms(Threads(nodes));
    }
}

/// Payloads are acknowledged, so that a node knows how much its receivers have not taken, and no two of them wait for
/// each other.
#[test]
fn nodes_that_hold_back_much_end() {
    for nodes in [2, 3, 8] {
        hold_back(&mut Threads(nodes), 1_000, 100_000, 400_000);
    }
}

const COSTS: Costs = Costs {
    dispatch: 4,
    send: 2,
    send_words: Pace { cycles: 1, things: 2 },
    receive_words: Pace { cycles: 2, things: 3 },
    boards_pass_on: true,
    barrier_round: 3,
    barrier: 5,
    restart: 7,
    patience: 1000,
};

#[test]
fn machines_conform_on_simulated_networks() {
    for topology in [Topology::mesh(&[2]), Topology::mesh(&[3, 3]), Topology::torus(&[2, 4])] {
        conforms(Simulated(Config { time_max: 1 << 30, ..Config::plain(topology, 1) }, COSTS));
    }
}

#[test]
fn machines_conform_on_an_rdt() {
    conforms(Simulated(Config { time_max: 1 << 30, ..Config::jump1(4, 1) }, COSTS));
}

/// Time passes only because messages travel.
#[test]
fn machines_conform_that_take_no_time() {
    let config = Config { time_max: 1 << 30, ..Config::j_machine(&[2, 1, 2], 1) };
    conforms(Simulated(config, Costs { patience: 1000, ..Costs::default() }));
}

#[test]
fn machines_conform_on_a_network_with_the_smallest_queues() {
    let config = Config { time_max: 1 << 30, ..Config::plain(Topology::mesh(&[2, 2]), 1) };
    conforms(Simulated(Config { buffer_flits: 1, send_queue: 1, receive_queue: 1, ..config }, COSTS));
}

/// All nodes meet, and the last one tells every third in each way.
struct Tells(Vec<Answers>);

impl Program for Tells {
    fn start(&mut self, here: &Here) {
        let node = here.clone();
        here.spawn(async move {
            node.barrier().await;
            if node.node().0 + 1 == node.nodes() {
                let set: NodeSet = (0..node.nodes()).step_by(3).map(NodeId).collect();
                for spread in [Spread::Network, Spread::Levels, Spread::Tree] {
                    let answers = node.multicast_by(spread, set.clone(), 1, &[7], Vec::new()).await;
                    let words = [answers.done, answers.absent].map(u64::from);
                    node.send(NodeId(0), Priority::Low, 2, &words).await;
                }
            }
            node.barrier().await;
        });
    }
    fn handle<F: Fabric>(&mut self, _: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        if let (2, &[done, absent]) = (call.code, call.words) {
            self.0.push(Answers { done: done as u32, absent: absent as u32 });
        }
        Verdict::Done
    }
}

/// What a node has does not grow with the number of nodes, so machines of thousands of nodes run in seconds.
#[test]
fn thousands_of_nodes_run() {
    let network = Config { time_max: 1 << 30, ..Config::jump1(64, 1) };
    let nodes = network.topology.nodes();
    let make = |node| Machine::new(node, nodes, Tells(Vec::new()), COSTS);
    let outcome = simulated::run(&network, make).unwrap_or_else(|stopped| panic!("{stopped}"));
    assert!(outcome.nodes.iter().all(|machine| machine.ended() == Some(Ended { waiting: 0 })));
    let mut told: Vec<u32> = outcome.nodes[0].program.0.iter().map(|answers| answers.done).collect();
    told.sort_unstable();
    // One map a level reaches all nodes; each of them does what it is told here.
    let third = nodes.div_ceil(3);
    assert_eq!(told, [third, third, nodes]);
}
