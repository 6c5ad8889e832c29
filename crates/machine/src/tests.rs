//! Programs on a fabric that delivers in any order that is allowed, with the smallest queues: by seed.

use crate::*;
use fabric::{Busy, Fabric, Message, Node, NodeId, Priority, Random, Step, Time};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Queues of one or a few messages from each node to each, by priority.
struct Net {
    random: Random,
    room: usize,
    queues: Vec<[VecDeque<Message>; 2]>,
}

struct Way {
    node: NodeId,
    nodes: u32,
    time: u64,
    net: Rc<RefCell<Net>>,
}

impl Fabric for Way {
    fn node(&self) -> NodeId {
        self.node
    }
    fn nodes(&self) -> u32 {
        self.nodes
    }
    fn send(&mut self, to: NodeId, mut message: Message) -> Result<(), Busy> {
        let net = &mut *self.net.borrow_mut();
        let queue = &mut net.queues[(self.node.0 * self.nodes + to.0) as usize][message.priority as usize];
        if queue.len() >= net.room {
            return Err(Busy(message));
        }
        message.from = self.node;
        queue.push_back(message);
        Ok(())
    }
    fn poll(&mut self) -> Option<Message> {
        let net = &mut *self.net.borrow_mut();
        for priority in [1, 0] {
            let first = net.random.below(self.nodes);
            for i in 0..self.nodes {
                let from = (first + i) % self.nodes;
                // Some are on their way for a while.
                if net.random.below(4) == 0 {
                    continue;
                }
                let queue = &mut net.queues[(from * self.nodes + self.node.0) as usize][priority];
                if let Some(message) = queue.pop_front() {
                    return Some(message);
                }
            }
        }
        None
    }
    fn now(&self) -> Time {
        Time(self.time)
    }
    fn spend(&mut self, time: u64) {
        self.time += time;
    }
}

/// Runs a program on so many nodes until all are done.
fn run<P: Program>(seed: u64, nodes: u32, room: usize, make: impl Fn(NodeId) -> P) -> Vec<Machine<P>> {
    let net = Rc::new(RefCell::new(Net {
        random: Random::new(seed),
        room,
        queues: (0..nodes * nodes).map(|_| Default::default()).collect(),
    }));
    let costs = Costs { patience: 100, ..Costs::default() };
    let mut all: Vec<_> = (0..nodes)
        .map(|node| {
            let node = NodeId(node);
            let way = Way { node, nodes, time: 0, net: net.clone() };
            (Machine::new(node, nodes, make(node), costs), way, true)
        })
        .collect();
    for turn in 0.. {
        assert!(turn < 10_000_000, "seed {seed}: no end");
        let Some(index) = all.iter().position(|(.., going)| *going) else { break };
        let pick = (index + net.borrow_mut().random.below(nodes) as usize) % all.len();
        let (machine, way, going) = &mut all[pick];
        if !*going {
            continue;
        }
        way.time += 7;
        *going = machine.step(way) != Step::Done;
    }
    let machines: Vec<_> = all.into_iter().map(|(machine, ..)| machine).collect();
    let sum = |field: fn(Counters) -> u64| machines.iter().map(|m| field(m.counters())).sum::<u64>();
    assert_eq!(sum(|c| c.sent), sum(|c| c.dispatched), "seed {seed}");
    assert_eq!(sum(|c| c.strange), 0, "seed {seed}");
    machines
}

fn seeds() -> impl Iterator<Item = (u64, u32, usize)> {
    (0..40).map(|seed| (seed, 1 + seed as u32 % 9, 1 + seed as usize % 3))
}

const ASK: u32 = 1;
const NOTE: u32 = 2;
const HOP: u32 = 3;

type Notes = Rc<RefCell<Vec<(NodeId, u64)>>>;

/// Answers [`ASK`] with the double, notes the words of [`NOTE`], and refuses some.
#[derive(Default)]
struct Clerk {
    notes: Notes,
    refuse: u32,
    main: Option<fn(&Here, Notes)>,
}

impl Program for Clerk {
    fn start(&mut self, here: &Here) {
        if let Some(main) = self.main {
            main(here, self.notes.clone());
        }
    }
    fn handle<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        if self.refuse > 0 {
            self.refuse -= 1;
            return Verdict::Refused;
        }
        match call.code {
            ASK => assert!(context.reply(call, &[2 * call.words[0]], call.payload.to_vec())),
            NOTE => self.notes.borrow_mut().push((call.from, call.words[0])),
            HOP => {
                self.notes.borrow_mut().push((call.from, call.words[0]));
                if call.words[0] > 0 {
                    let next = NodeId((context.node().0 + 1) % context.nodes());
                    context.send(next, Priority::Low, HOP, &[call.words[0] - 1]);
                }
            }
            code => panic!("code {code}"),
        }
        Verdict::Done
    }
}

fn clerks(
    (seed, nodes, room): (u64, u32, usize),
    refuse: u32,
    main: fn(&Here, Notes),
) -> Vec<Vec<(NodeId, u64)>> {
    let machines = run(seed, nodes, room, |_| Clerk { refuse, main: Some(main), ..Clerk::default() });
    for machine in &machines {
        assert_eq!(machine.ended(), Some(Ended { waiting: 0 }), "seed {seed}");
    }
    machines.into_iter().map(|machine| machine.program.notes.take()).collect()
}

#[test]
fn every_call_has_its_reply() {
    for case in seeds() {
        let notes = clerks(case, case.0 as u32 % 5, |here, notes| {
            for to in 0..here.nodes() {
                let (here, notes) = (here.clone(), notes.clone());
                here.clone().spawn(async move {
                    for i in 0..20 {
                        let reply = here.call_with(NodeId(to), ASK, &[i], vec![i as u8; i as usize]).await;
                        assert_eq!((reply.words(), reply.payload().len()), (&[2 * i][..], i as usize));
                        notes.borrow_mut().push((NodeId(to), i));
                    }
                });
            }
        });
        assert!(notes.iter().all(|notes| notes.len() == 20 * case.1 as usize));
    }
}

#[test]
fn messages_of_one_pair_stay_in_order_and_credits_bound_them() {
    for case in seeds().take(12) {
        let notes = clerks(case, 0, |here, _| {
            for to in 0..here.nodes() {
                let here = here.clone();
                here.clone().spawn(async move {
                    for i in 0..3 * u64::from(CREDITS) {
                        here.send(NodeId(to), Priority::Low, NOTE, &[i]).await;
                    }
                });
            }
        });
        for notes in notes {
            for from in 0..case.1 {
                let words = notes.iter().filter(|note| note.0 == NodeId(from)).map(|note| note.1);
                assert!(words.eq(0..3 * u64::from(CREDITS)), "seed {}", case.0);
            }
        }
    }
}

#[test]
fn barriers_and_reductions_hold_everybody() {
    for case in seeds() {
        clerks(case, 0, |here, _| {
            let here = here.clone();
            here.clone().spawn(async move {
                let (me, nodes) = (u64::from(here.node().0), u64::from(here.nodes()));
                for round in 0..10 {
                    here.barrier().await;
                    assert_eq!(here.reduce(Reduction::Max, round).await, round);
                    assert_eq!(here.reduce(Reduction::Min, round).await, round);
                    assert_eq!(
                        here.reduce(Reduction::Sum, me + round).await,
                        nodes * (nodes - 1) / 2 + nodes * round
                    );
                    assert_eq!(here.reduce(Reduction::Or, 1 << me).await, (1 << nodes) - 1);
                    assert_eq!(here.reduce(Reduction::And, !(1 << me)).await, !((1 << nodes) - 1));
                }
            });
        });
    }
}

#[test]
fn broadcasts_and_multicasts_reach_their_nodes_once() {
    for case in seeds() {
        let notes = clerks(case, case.0 as u32 % 3, |here, notes| {
            let here = here.clone();
            here.clone().spawn(async move {
                let me = u64::from(here.node().0);
                here.broadcast(NOTE, &[me], Vec::new()).await;
                for set in 1u64..1 << here.nodes().min(5) {
                    let set: NodeSet = (0..5).filter(|bit| set >> bit & 1 != 0).map(NodeId).collect();
                    here.multicast(set, NOTE, &[1000 + me], vec![1; 9]).await;
                }
                notes.borrow_mut().push((here.node(), 2000));
            });
        });
        for (node, notes) in notes.iter().enumerate() {
            let sets = 1usize << case.1.min(5);
            for from in 0..case.1 {
                let count = |word: u64| notes.iter().filter(|&&note| note == (NodeId(from), word)).count();
                assert_eq!(count(u64::from(from)), 1, "seed {}", case.0);
                assert_eq!(
                    count(1000 + u64::from(from)),
                    if node < 5 { sets / 2 } else { 0 },
                    "seed {}",
                    case.0
                );
            }
        }
    }
}

#[test]
fn a_chain_of_messages_ends_the_run_only_when_it_is_at_its_end() {
    for case in seeds() {
        let notes = clerks(case, 0, |here, _| {
            if here.node() == NodeId(0) {
                let here = here.clone();
                here.clone().spawn(async move { here.send(NodeId(0), Priority::Low, HOP, &[500]).await });
            }
        });
        assert_eq!(notes.iter().map(Vec::len).sum::<usize>(), 501);
    }
}

#[test]
fn tasks_that_wait_for_ever_are_counted() {
    for (seed, nodes, room) in seeds() {
        let main = |here: &Here, _| {
            let here = here.clone();
            here.clone().spawn(async move {
                here.barrier().await;
                if here.node() == NodeId(0) {
                    Slot::<()>::new().read().await;
                }
            });
        };
        let machines = run(seed, nodes, room, |_| Clerk { main: Some(main), ..Clerk::default() });
        assert!(machines.iter().all(|machine| machine.ended() == Some(Ended { waiting: 1 })), "seed {seed}");
    }
}

#[test]
fn who_sleeps_wakes_in_time() {
    for case in seeds().take(10) {
        let notes = clerks(case, 0, |here, notes| {
            for i in [3u64, 1, 2] {
                let (here, notes) = (here.clone(), notes.clone());
                here.clone().spawn(async move {
                    here.sleep_until(Time(1000 * i)).await;
                    assert!(here.now() >= Time(1000 * i));
                    notes.borrow_mut().push((here.node(), i));
                });
            }
        });
        assert!(notes.iter().all(|notes| notes.iter().map(|note| note.1).eq([1, 2, 3])));
    }
}

const VISIT: u32 = 4;
const MOVE: u32 = 5;
const CARRY: u32 = 6;
const TELL: u32 = 7;

/// An object that goes from node to node, and is sent messages meanwhile.
#[derive(Default)]
struct Nomad {
    visits: u64,
}

impl Program for Nomad {
    fn start(&mut self, here: &Here) {
        if here.node() == NodeId(0) {
            let here = here.clone();
            here.clone()
                .spawn(async move { here.send(NodeId(0), Priority::Low, CARRY, &[u64::MAX, 30]).await });
        }
    }
    fn handle<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        match call.code {
            CARRY => {
                if call.words[0] == u64::MAX {
                    let name = context.enter(77);
                    for to in 0..context.nodes() {
                        context.send(NodeId(to), Priority::Low, TELL, &[name.word()]);
                    }
                    context.send_to_name(name, Priority::Low, MOVE, &[call.words[1]]);
                } else {
                    let name = Name::of(call.words[0]);
                    context.adopt(name, Passport { value: 77, moves: call.words[2] });
                    if call.words[1] > 0 {
                        context.send_to_name(name, Priority::Low, MOVE, &[call.words[1] - 1]);
                    }
                }
            }
            TELL => {
                for i in 0..50 {
                    context.send_to_name(Name::of(call.words[0]), Priority::Low, VISIT, &[i]);
                }
            }
            VISIT => {
                assert_eq!(call.object.expect("it is here").1, 77);
                self.visits += 1;
            }
            MOVE => {
                let (name, _) = call.object.expect("it is here");
                let to = NodeId((context.node().0 * 5 + call.words[0] as u32) % context.nodes());
                if to == context.node() {
                    if call.words[0] > 0 {
                        context.send_to_name(name, Priority::Low, MOVE, &[call.words[0] - 1]);
                    }
                    return Verdict::Done;
                }
                let passport = context.leave(name, to).expect("it is here");
                assert_eq!(passport.value, 77);
                context.send(to, Priority::Low, CARRY, &[name.word(), call.words[0], passport.moves]);
            }
            code => panic!("code {code}"),
        }
        Verdict::Done
    }
}

#[test]
fn messages_find_an_object_that_moves() {
    for (seed, nodes, room) in seeds().filter(|case| case.1 > 1) {
        let machines = run(seed, nodes, room, |_| Nomad::default());
        let visits: u64 = machines.iter().map(|machine| machine.program.visits).sum();
        assert_eq!(visits, 50 * u64::from(nodes), "seed {seed}");
    }
}
