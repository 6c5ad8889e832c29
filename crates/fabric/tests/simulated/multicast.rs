//! Multicast in the routers of an RDT.

use crate::for_seeds;
use fabric::simulated::{Arbitration, Config, Duplex, Endpoint, RandomFaults, run, run_with};
use fabric::{Busy, Fabric, Map, Message, Node, NodeId, NodeSet, Priority, Random, Refused, Step, Time};
use std::collections::{BTreeMap, VecDeque};

/// What a node is to send.
#[derive(Clone)]
enum Job {
    One(NodeId),
    Many(Map),
}

/// Sends its jobs as there is room, and notes what comes, until a time at which all has come.
struct Talker {
    jobs: VecDeque<(u64, Job)>,
    words: usize,
    end: u64,
    got: BTreeMap<u64, u32>,
    last: u64,
}

impl Node<Endpoint> for Talker {
    fn step(&mut self, fabric: &mut Endpoint) -> Step {
        while let Some(message) = fabric.poll() {
            *self.got.entry(message.words()[0]).or_default() += 1;
            self.last = fabric.now().0;
        }
        while let Some((id, job)) = self.jobs.front() {
            let words: Vec<u64> = std::iter::repeat_n(*id, self.words).collect();
            let message = Message::new(Priority::Low, &words);
            let sent = match job {
                Job::One(to) => fabric.send(*to, message).map_err(|Busy(message)| Refused::Busy(message)),
                Job::Many(map) => fabric.send_many(map, message).map(drop),
            };
            match sent {
                Ok(()) => drop(self.jobs.pop_front()),
                Err(Refused::Busy(_)) => return Step::Wait(Some(Time(fabric.now().0 + 10))),
                Err(Refused::Unsupported(_)) => panic!("an RDT has multicast"),
            }
        }
        if fabric.now().0 >= self.end { Step::Done } else { Step::Wait(Some(Time(self.end))) }
    }
}

fn talker(jobs: Vec<(u64, Job)>, words: usize, end: u64) -> Talker {
    Talker { jobs: jobs.into(), words, end, got: BTreeMap::new(), last: 0 }
}

fn random_set(random: &mut Random, nodes: u32) -> NodeSet {
    let count = 1 + random.below(20);
    (0..count).map(|_| NodeId(random.below(nodes))).collect()
}

/// Multicasts of both kinds and messages to one, with the smallest legal buffers, with and without faults: each
/// comes once to each node of its map,
/// exact ones to no other, and nothing waits for ever.
#[test]
fn every_copy_comes_once_and_nothing_deadlocks() {
    for_seeds("every_copy_comes_once_and_nothing_deadlocks", 200, |seed| {
        let mut random = Random::new(seed);
        let side = [4, 8, 8, 16][random.below(4) as usize];
        let words = 1 + random.below(6) as usize;
        let nodes = side * side;
        let config = Config {
            duplex: [Duplex::Full, Duplex::Half][random.below(2) as usize],
            arbitration: [Arbitration::Fixed, Arbitration::RoundRobin][random.below(2) as usize],
            hop_cycles: 1 + random.below(3),
            credit_cycles: 1 + random.below(3),
            header_flits: 1,
            word_flits: 1,
            word_bytes: 8,
            buffer_flits: 1 + words as u32,
            send_queue: 1 + random.below(3),
            receive_queue: 1 + random.below(3),
            time_max: 10_000_000,
            check: seed % 4 == 0,
            ..Config::jump1(side, seed)
        };
        let mut jobs = vec![Vec::new(); nodes as usize];
        let mut all = Vec::new();
        for id in 0..u64::from(side) * 12 {
            let job = match random.below(3) {
                0 => Job::One(NodeId(random.below(nodes))),
                1 => Job::Many(Map::Exact(random_set(&mut random, nodes))),
                _ => Job::Many(Map::Levels(random_set(&mut random, nodes))),
            };
            jobs[random.below(nodes) as usize].push((id, job.clone()));
            all.push(job);
        }
        let make = |node: NodeId| talker(jobs[node.0 as usize].clone(), words, 1_000_000);
        let outcome = match seed % 2 {
            0 => run(&config, make),
            _ => run_with(&config, &mut RandomFaults::swarm(seed), make),
        };
        let outcome = outcome.unwrap_or_else(|stopped| panic!("{stopped}\n{config:?}"));
        for (id, job) in (0u64..).zip(&all) {
            for (node, talker) in (0..).map(NodeId).zip(&outcome.nodes) {
                let got = talker.got.get(&id).copied().unwrap_or(0);
                let right = match job {
                    Job::One(to) => got == u32::from(node == *to),
                    Job::Many(Map::Exact(set)) => got == u32::from(set.contains(node)),
                    Job::Many(Map::Levels(set)) => got == 1 || got == 0 && !set.contains(node),
                };
                assert!(right, "{got} copies of {id} at {}", node.0);
            }
        }
    });
}

/// One multicast to all, alone: its links are those of the tree, and it takes no longer than the longest path.
#[test]
fn a_multicast_alone_takes_the_tree() {
    for (side, links, longest) in [(16, 3 + 4 + 4 * 63, 9), (32, 1 + 2 + 2 * 519, 12)] {
        let config = Config { check: true, ..Config::jump1(side, 1) };
        let all = NodeSet::all(side * side);
        let make = |node: NodeId| {
            let jobs =
                if node == NodeId(0) { vec![(7, Job::Many(Map::Exact(all.clone())))] } else { Vec::new() };
            talker(jobs, 1, 10_000)
        };
        let outcome = run(&config, make).expect("all are done");
        let flits = 3 + 2;
        let packets: u64 =
            (0..).zip(&outcome.channels).filter(|(at, _)| at % 9 != 8).map(|(_, c)| c.packets).sum();
        assert!(packets.abs_diff(links) <= 1, "{packets} links");
        let last = outcome.nodes.iter().map(|talker| talker.last).max().expect("there are nodes");
        assert!(last <= 1 + (longest + 1) + flits, "{last} cycles");
        assert!(outcome.nodes.iter().all(|talker| talker.got.get(&7) == Some(&1)));
    }
}

#[test]
fn what_a_network_cannot_multicast_comes_back() {
    struct Tries(Vec<bool>);
    impl Node<Endpoint> for Tries {
        fn step(&mut self, fabric: &mut Endpoint) -> Step {
            let all = || Map::Exact(NodeSet::all(fabric.nodes()));
            let mut long = Message::new(Priority::Low, &[]);
            long.payload = vec![0; 100];
            let tries = [
                (all(), Message::new(Priority::Low, &[])),
                (all(), long),
                (Map::Exact(NodeSet::new()), Message::new(Priority::Low, &[])),
            ];
            for (map, message) in tries {
                self.0.push(matches!(fabric.send_many(&map, message), Err(Refused::Unsupported(_))));
            }
            Step::Done
        }
    }
    let tried = |config: &Config| run(config, |_| Tries(Vec::new())).expect("all are done").nodes.remove(0).0;
    assert_eq!(tried(&Config::jump1(4, 0)), [false, true, false]);
    assert_eq!(tried(&Config::j_machine(&[2, 2, 1], 0)), [true, true, true]);
}
