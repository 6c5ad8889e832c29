//! What a machine must do on every fabric: programs whose nodes check what comes to them, the same for all kinds.

use fabric::{Fabric, NodeId, Priority, Random, Time};
use machine::{CREDITS, Call, Context, Counters, Ended, Here, Machine, Name, NodeSet, Passport};
use machine::{Program, Reduction, Slot, Spread, Verdict};
use std::cell::RefCell;
use std::rc::Rc;

/// A kind of fabric, as the programs need it.
pub trait Kind {
    /// How many nodes it runs.
    fn nodes(&self) -> u32;
    /// Runs a program until no node has anything to do: of each node of this process, what `end` makes of it. If one
    /// fails, so does the test.
    fn run<P: Program, R: Send>(
        &mut self,
        make: impl Fn(NodeId) -> P + Sync,
        end: impl Fn(Machine<P>) -> R + Sync,
    ) -> Vec<(NodeId, R)>;
}

/// A test and what it is called.
pub type Test<K> = (&'static str, fn(&mut K));

/// All of them.
pub fn tests<K: Kind>() -> Vec<Test<K>> {
    vec![
        ("every call has its reply", calls),
        ("messages of one pair stay in order, and credits bound them", order),
        ("barriers and reductions hold everybody", collective),
        ("barriers hold everybody although nobody sends anything", barriers),
        ("a barrier that some never come to", missed),
        ("broadcasts and multicasts reach their nodes once", multicasts),
        ("a multicast reaches its nodes once, whichever way it goes", spreads),
        ("a chain of messages ends the run only when it is at its end", chain),
        ("tasks that wait for ever are counted", waiting),
        ("who sleeps wakes in time", sleeping),
        ("messages find an object that moves", moving),
        ("what is done in the background is done to the end", background),
        ("nodes that hold back what they send end", |kind| hold_back(kind, 60, 400, 1_000)),
        ("what may come from outside keeps a run going while somebody waits", outside),
    ]
}

const ASK: u32 = 1;
const NOTE: u32 = 2;
const HOP: u32 = 3;

type Notes = Rc<RefCell<Vec<(NodeId, u64)>>>;

/// Answers [`ASK`] with the double, notes the words of [`NOTE`], and refuses some.
struct Clerk {
    notes: Notes,
    refuse: u32,
    main: fn(&Here, Notes),
}

impl Program for Clerk {
    fn start(&mut self, here: &Here) {
        (self.main)(here, self.notes.clone());
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
            TELL_ALL => {
                let &[id, set] = call.words else { panic!("{:?}", call.words) };
                assert_eq!(call.payload, told(id));
                if set >> context.node().0 & 1 == 0 {
                    self.notes.borrow_mut().push((call.from, STRANGER));
                    return Verdict::Absent;
                }
                self.notes.borrow_mut().push((call.from, id));
            }
            code => panic!("code {code}"),
        }
        Verdict::Done
    }
}

/// Runs a program whose tasks all come to their end.
fn run<K: Kind, P: Program, R: Send>(
    kind: &mut K,
    make: impl Fn(NodeId) -> P + Sync,
    end: impl Fn(P) -> R + Sync,
) -> Vec<(NodeId, R)> {
    let result = kind.run(make, |machine| (machine.ended(), machine.counters(), end(machine.program)));
    let lost = |counters: Counters| counters.sent.wrapping_sub(counters.dispatched);
    assert_eq!(total(kind, result.iter().map(|&(node, (_, counters, _))| (node, lost(counters)))), 0);
    let check = |(node, (ended, counters, result)): (NodeId, (Option<Ended>, Counters, R))| {
        assert_eq!((ended, counters.strange), (Some(Ended { waiting: 0 }), 0), "node {}", node.0);
        (node, result)
    };
    result.into_iter().map(check).collect()
}

/// The same with clerks: what each of them has noted.
fn clerks<K: Kind>(kind: &mut K, refuse: u32, main: fn(&Here, Notes)) -> Vec<(NodeId, Vec<(NodeId, u64)>)> {
    run(kind, |_| Clerk { notes: Notes::default(), refuse, main }, |clerk| clerk.notes.take())
}

/// The sum of the values of all nodes, of which each process knows its own.
fn total<K: Kind>(kind: &mut K, own: impl Iterator<Item = (NodeId, u64)>) -> u64 {
    struct Total(u64, Slot<u64>);
    impl Program for Total {
        fn start(&mut self, here: &Here) {
            let (here, value, total) = (here.clone(), self.0, self.1.clone());
            here.clone().spawn(async move {
                assert_eq!(total.fill(here.reduce(Reduction::Sum, value).await), Ok(()));
            });
        }
        fn handle<F: Fabric>(&mut self, _: &mut Context<'_, F>, _: &Call<'_>) -> Verdict {
            panic!("nobody sends anything")
        }
    }
    let own: Vec<(NodeId, u64)> = own.collect();
    let value = |node| own.iter().find(|own| own.0 == node).expect("it is a node of this process").1;
    let totals = kind.run(|node| Total(value(node), Slot::new()), |machine| machine.program.1.get());
    assert!(totals.windows(2).all(|pair| pair[0].1 == pair[1].1), "all get the same: {totals:?}");
    totals[0].1.expect("it has been added up")
}

/// Does units of work in the background; from time to time it gives what is left away.
struct Labourer {
    left: u64,
    done: u64,
}

impl Program for Labourer {
    fn start(&mut self, _: &Here) {}
    fn handle<F: Fabric>(&mut self, _: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        self.left += call.words[0];
        Verdict::Done
    }
    fn background<F: Fabric>(&mut self, context: &mut Context<'_, F>) -> bool {
        if self.left == 0 {
            return false;
        }
        context.spend(3);
        (self.left, self.done) = (self.left - 1, self.done + 1);
        if self.left % 10 == 9 {
            let next = NodeId((context.node().0 + 1) % context.nodes());
            context.send(next, Priority::Low, NOTE, &[std::mem::take(&mut self.left)]);
        }
        true
    }
}

fn background<K: Kind>(kind: &mut K) {
    const WORK: u64 = 1000;
    let make = |node: NodeId| Labourer { left: if node == NodeId(0) { WORK } else { 0 }, done: 0 };
    let done = run(kind, make, |labourer| (labourer.left, labourer.done));
    assert!(done.iter().all(|&(_, (left, _))| left == 0));
    let own = done.into_iter().map(|(node, (_, done))| (node, done));
    assert_eq!(total(kind, own), WORK);
}

/// Node 0 hears from outside after a while, and tells the last node, which may wait for that.
struct Listener {
    holds: bool,
    waits: bool,
    begin: Option<Time>,
    delay: u64,
    heard: bool,
}

impl Program for Listener {
    fn start(&mut self, _: &Here) {}
    fn handle<F: Fabric>(&mut self, _: &mut Context<'_, F>, _: &Call<'_>) -> Verdict {
        (self.waits, self.heard) = (false, true);
        Verdict::Done
    }
    fn background<F: Fabric>(&mut self, context: &mut Context<'_, F>) -> bool {
        let begin = *self.begin.get_or_insert(context.now());
        if self.holds && context.now().0 >= begin.0 + self.delay {
            self.holds = false;
            context.send(NodeId(context.nodes() - 1), Priority::Low, NOTE, &[]);
        }
        false
    }
    fn holds(&mut self) -> bool {
        self.holds
    }
    fn waits(&mut self) -> bool {
        self.waits
    }
}

fn outside<K: Kind>(kind: &mut K) {
    let last = NodeId(kind.nodes() - 1);
    for waits in [true, false] {
        // A node that waits for nothing is not kept: the time that would be needed is an hour and more.
        let delay = if waits { 1_000_000 } else { 1 << 42 };
        let make = |node| {
            let (holds, waits) = (node == NodeId(0), waits && node == last);
            Listener { holds, waits, begin: None, delay, heard: false }
        };
        let ends = run(kind, make, |listener| (listener.holds, listener.heard));
        for (node, (holds, heard)) in ends {
            assert_eq!((holds, heard), (node == NodeId(0) && !waits, node == last && waits));
        }
    }
}

fn calls<K: Kind>(kind: &mut K) {
    let all = 20 * kind.nodes() as usize;
    for refuse in [0, 4] {
        let notes = clerks(kind, refuse, |here, notes| {
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
        assert!(notes.iter().all(|(_, notes)| notes.len() == all));
    }
}

fn order<K: Kind>(kind: &mut K) {
    const COUNT: u64 = 3 * CREDITS as u64;
    let nodes = kind.nodes();
    let notes = clerks(kind, 0, |here, _| {
        for to in 0..here.nodes() {
            let here = here.clone();
            here.clone().spawn(async move {
                for i in 0..COUNT {
                    here.send(NodeId(to), Priority::Low, NOTE, &[i]).await;
                }
            });
        }
    });
    for (node, notes) in notes {
        for from in 0..nodes {
            let words = notes.iter().filter(|note| note.0 == NodeId(from)).map(|note| note.1);
            assert!(words.eq(0..COUNT), "from {from} to {}", node.0);
        }
    }
}

fn collective<K: Kind>(kind: &mut K) {
    clerks(kind, 0, |here, _| {
        let here = here.clone();
        here.clone().spawn(async move {
            let (me, nodes) = (u64::from(here.node().0), u64::from(here.nodes()));
            for round in 0..10 {
                here.barrier().await;
                assert_eq!(here.reduce(Reduction::Max, round).await, round);
                assert_eq!(here.reduce(Reduction::Min, round).await, round);
                let sum = nodes * (nodes - 1) / 2 + nodes * round;
                assert_eq!(here.reduce(Reduction::Sum, me + round).await, sum);
                assert_eq!(here.reduce(Reduction::Or, 1 << me).await, (1 << nodes) - 1);
                assert_eq!(here.reduce(Reduction::And, !(1 << me)).await, !((1 << nodes) - 1));
            }
        });
    });
}

fn barriers<K: Kind>(kind: &mut K) {
    let notes = clerks(kind, 0, |here, notes| {
        let here = here.clone();
        here.clone().spawn(async move {
            for round in 0..100 {
                for _ in 0..(here.node().0 + round) % 4 {
                    here.give_way().await;
                }
                here.barrier().await;
                notes.borrow_mut().push((here.node(), round.into()));
            }
        });
    });
    assert!(notes.iter().all(|(_, notes)| notes.len() == 100));
}

fn missed<K: Kind>(kind: &mut K) {
    let nodes = u64::from(kind.nodes());
    let main = |here: &Here, _| {
        let here = here.clone();
        here.clone().spawn(async move {
            here.barrier().await;
            if here.node() != NodeId(0) {
                here.barrier().await;
            }
        });
    };
    let ends = kind.run(|_| Clerk { notes: Notes::default(), refuse: 0, main }, |machine| machine.ended());
    assert!(ends.iter().all(|&(_, ended)| ended == Some(Ended { waiting: nodes - 1 })), "{ends:?}");
}

fn multicasts<K: Kind>(kind: &mut K) {
    let nodes = kind.nodes();
    for refuse in [0, 2] {
        let notes = clerks(kind, refuse, |here, notes| {
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
        let sets = 1usize << nodes.min(5);
        for (node, notes) in notes {
            for from in 0..nodes {
                let count = |word: u64| notes.iter().filter(|&&note| note == (NodeId(from), word)).count();
                assert_eq!(count(u64::from(from)), 1, "from {from} to {}", node.0);
                let expected = if node.0 < 5 { sets / 2 } else { 0 };
                assert_eq!(count(1000 + u64::from(from)), expected, "from {from} to {}", node.0);
            }
        }
    }
}

/// Multicasts of each spread that a node sends.
const SETS: u64 = 6;
const TELL_ALL: u32 = 8;
/// Notes of who was told what is not for it, and of how many such the senders have heard of.
const STRANGER: u64 = 1 << 60;
const STRANGERS: u64 = 1 << 61;

/// The set of a multicast, a bit for each node; they are at most 64.
fn told_set(from: NodeId, id: u64, nodes: u32) -> u64 {
    let all = u64::MAX >> (64 - nodes);
    match id % SETS {
        0 => all,
        1 => all & !(1 << from.0),
        2 => 1 << from.0,
        3 => 0,
        _ => Random::new(u64::from(from.0) << 32 | id).bits() & all,
    }
}

/// Its payload: some do not fit into a packet of every network.
fn told(id: u64) -> Vec<u8> {
    vec![id as u8; if id % SETS == 5 { 90 } else { 9 }]
}

fn spreads<K: Kind>(kind: &mut K) {
    let nodes = kind.nodes();
    for refuse in [0, 3] {
        let notes = clerks(kind, refuse, |here, notes| {
            for (number, spread) in (0..).zip(Spread::ALL) {
                let (here, notes) = (here.clone(), notes.clone());
                here.clone().spawn(async move {
                    for id in number * SETS..(number + 1) * SETS {
                        let bits = told_set(here.node(), id, here.nodes());
                        let set: NodeSet =
                            (0..here.nodes()).filter(|node| bits >> node & 1 != 0).map(NodeId).collect();
                        let answers = here.multicast_by(spread, set, TELL_ALL, &[id, bits], told(id)).await;
                        assert_eq!(answers.done, bits.count_ones(), "{spread:?}");
                        assert!(answers.absent == 0 || spread == Spread::Levels, "{spread:?}: {answers:?}");
                        notes.borrow_mut().push((here.node(), STRANGERS + u64::from(answers.absent)));
                    }
                });
            }
        });
        for (node, notes) in &notes {
            for from in (0..nodes).map(NodeId) {
                for id in 0..SETS * Spread::ALL.len() as u64 {
                    let count = notes.iter().filter(|&&note| note == (from, id)).count();
                    let expected = told_set(from, id, nodes) >> node.0 & 1;
                    assert_eq!(count as u64, expected, "{id} from {} to {}", from.0, node.0);
                }
            }
        }
        let strangers =
            |notes: &[(NodeId, u64)]| notes.iter().filter(|note| note.1 == STRANGER).count() as u64;
        let heard = |notes: &[(NodeId, u64)]| {
            notes.iter().filter_map(|note| note.1.checked_sub(STRANGERS)).sum::<u64>()
        };
        let own = notes.iter().map(|(node, notes)| (*node, heard(notes).wrapping_sub(strangers(notes))));
        let own: Vec<(NodeId, u64)> = own.collect();
        assert_eq!(total(kind, own.into_iter()), 0, "all strangers are heard of, and no others");
    }
}

fn chain<K: Kind>(kind: &mut K) {
    let notes = clerks(kind, 0, |here, _| {
        if here.node() == NodeId(0) {
            let here = here.clone();
            here.clone().spawn(async move { here.send(NodeId(0), Priority::Low, HOP, &[500]).await });
        }
    });
    assert_eq!(total(kind, notes.iter().map(|(node, notes)| (*node, notes.len() as u64))), 501);
}

fn waiting<K: Kind>(kind: &mut K) {
    let main = |here: &Here, _| {
        let here = here.clone();
        here.clone().spawn(async move {
            here.barrier().await;
            if here.node() == NodeId(0) {
                Slot::<()>::new().read().await;
            }
        });
    };
    let ends = kind.run(|_| Clerk { notes: Notes::default(), refuse: 0, main }, |machine| machine.ended());
    assert!(ends.iter().all(|&(_, ended)| ended == Some(Ended { waiting: 1 })), "{ends:?}");
}

fn sleeping<K: Kind>(kind: &mut K) {
    let notes = clerks(kind, 0, |here, notes| {
        for i in [3u64, 1, 2] {
            let (here, notes) = (here.clone(), notes.clone());
            here.clone().spawn(async move {
                here.sleep_until(Time(1000 * i)).await;
                assert!(here.now() >= Time(1000 * i));
                notes.borrow_mut().push((here.node(), i));
            });
        }
    });
    for (node, notes) in notes {
        let mut order: Vec<u64> = notes.iter().map(|note| note.1).collect();
        order.sort();
        assert_eq!(order, [1, 2, 3], "node {}", node.0);
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

fn moving<K: Kind>(kind: &mut K) {
    let visits = run(kind, |_| Nomad::default(), |nomad| nomad.visits);
    assert_eq!(total(kind, visits.into_iter()), 50 * u64::from(kind.nodes()));
}

/// Writes letters to random nodes, itself among them, and none while more than a limit is under way (X7). Each is
/// answered by one that is as long.
struct Writer {
    left: u32,
    longest: u32,
    limit: u64,
    random: Random,
    answers: u32,
    most: u64,
}

const LETTER: u32 = 8;
const ANSWER: u32 = 9;

impl Program for Writer {
    fn start(&mut self, _: &Here) {}
    fn handle<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        match call.code {
            LETTER => {
                context.send_with(call.from, Priority::High, ANSWER, call.words, call.payload.to_vec());
            }
            ANSWER => {
                assert_eq!(call.words, [call.payload.len() as u64]);
                self.answers += 1;
            }
            code => panic!("code {code}"),
        }
        self.most = self.most.max(context.under_way());
        Verdict::Done
    }
    fn background<F: Fabric>(&mut self, context: &mut Context<'_, F>) -> bool {
        self.most = self.most.max(context.under_way());
        if self.left == 0 || context.under_way() > self.limit {
            return false;
        }
        self.left -= 1;
        let to = NodeId(self.random.below(context.nodes()));
        let length = if self.random.below(3) == 0 { 0 } else { self.random.below(self.longest) };
        context.send_with(to, Priority::Low, LETTER, &[length.into()], vec![1; length as usize]);
        true
    }
}

/// Each node writes so many letters, with so many bytes at most, and holds back from this number of bytes on.
pub fn hold_back<K: Kind>(kind: &mut K, letters: u32, longest: u32, limit: u64) {
    let nodes = u64::from(kind.nodes());
    let writer = |NodeId(node)| Writer {
        left: letters,
        longest,
        limit,
        random: Random::new(node.into()),
        answers: 0,
        most: 0,
    };
    for (_, writer) in run(kind, writer, |writer| writer) {
        assert_eq!((writer.left, writer.answers), (0, letters));
        // What goes over the limit is one letter, and answers to what others have under way.
        let message = 200 + u64::from(longest);
        let others = (limit + message + (64 << 10) + 1024 * 200) * nodes;
        assert!(writer.most <= limit + message + others, "{} bytes", writer.most);
    }
}
