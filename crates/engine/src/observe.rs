//! What somebody sees who watches a run, and may do: from any thread, while another one runs the [`Machine`].

use crate::machine::Machine;
use base::lock;
use runtime::node::{Rouser, Watcher};
use runtime::outcome::Waiting;
use runtime::waker::Waker;
use runtime::watch::{NodeSeen, WorkerSeen};
use serde::Serialize;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// Nodes that are shown one by one; of the others only sums.
const NODES_SHOWN: usize = 64;
/// How long workers may take to copy their counters until what was known before is shown.
const PATIENCE: Duration = Duration::from_millis(20);
/// How often counters are asked for, at most: of one node, and of several.
const OFTEN: Duration = Duration::from_millis(200);
const SELDOM: Duration = Duration::from_millis(950);

/// Sees a run.
pub struct Observer {
    start: Instant,
    nodes: Vec<Watcher>,
    /// Of the nodes' first workers.
    wakers: Vec<Waker>,
    /// Ends the rest of the first node's first worker.
    rouser: Option<Rouser>,
    /// All nodes of the program, those of other processes included.
    node_count: u32,
    kinds: Vec<&'static str>,
    /// Nanoseconds of a cycle of a simulated machine.
    cycle: Option<f64>,
    asked: Mutex<Option<Instant>>,
    /// Whoever has it may ask.
    turn: Mutex<()>,
    question: Mutex<Question>,
    answered: Condvar,
}

/// What waits is to be told: answers of nodes.
#[derive(Default)]
struct Question {
    is_open: bool,
    answers: Vec<Waits>,
}

/// What waits at a node.
pub struct Waits {
    /// Its number.
    pub node: u32,
    /// The goals.
    pub waiting: Waiting,
    /// How long the node stood still for this answer: a collection, and a walk through its goals.
    pub pause: Duration,
}

/// What is seen of a run.
#[derive(Serialize)]
pub struct Seen {
    /// Nanoseconds since it began.
    pub now: u64,
    /// Its first nodes.
    pub nodes: Vec<NodeSeen>,
    /// Sums over the nodes of this process, if they are not all shown.
    pub others: Option<Others>,
    /// How many nodes the program has, those of other processes included.
    pub node_count: u32,
    /// Kinds of messages between nodes, in the order of their counts.
    pub kinds: Vec<&'static str>,
    /// Nanoseconds of a cycle of a simulated machine.
    pub cycle: Option<f64>,
}

/// What the nodes do that are not shown one by one.
#[derive(Default, Serialize)]
pub struct Others {
    /// How many they are.
    pub nodes: usize,
    /// Messages that they have sent.
    pub sent: u64,
    /// Bytes of their heaps.
    pub heap_bytes: usize,
    /// Their reductions, when the code counts them.
    pub reductions: u64,
    /// The latest time, in cycles, that one has come to.
    pub virtual_now: u64,
}

impl Machine {
    /// From now on runs may be watched. `rouser`: what ends the first worker's rest
    /// ([`Node::end_on_interrupt`](runtime::node::Node::end_on_interrupt)).
    pub fn observe(&mut self, rouser: Option<Rouser>) -> Observer {
        let start = Instant::now();
        let (mut nodes, mut wakers) = (Vec::new(), Vec::new());
        for node in self.nodes() {
            nodes.push(node.watch(start));
            wakers.push(node.waker());
        }
        let node_count = self.node().options().nodes;
        Observer {
            start,
            nodes,
            wakers,
            rouser,
            node_count,
            kinds: if node_count > 1 { distribution::KINDS.to_vec() } else { Vec::new() },
            cycle: self.cycle(),
            asked: Mutex::default(),
            turn: Mutex::default(),
            question: Mutex::default(),
            answered: Condvar::new(),
        }
    }
}

impl Observer {
    /// What is seen now, with the collections that ended after a time ([`Seen::now`]). Workers are asked for their
    /// counters, at most five times a second, and once a second if there are several nodes.
    pub fn look(&self, after: u64) -> Seen {
        self.ask();
        let now = self.start.elapsed().as_nanos() as u64;
        let shown = self.nodes.len().min(NODES_SHOWN);
        let others = (self.nodes.len() > shown).then(|| {
            let mut others = Others { nodes: self.nodes.len() - shown, ..Others::default() };
            self.nodes[shown..].iter().for_each(|node| others.add(&node.seen(u64::MAX)));
            others
        });
        Seen {
            now,
            nodes: self.nodes[..shown].iter().map(|node| node.seen(after)).collect(),
            others,
            node_count: self.node_count,
            kinds: self.kinds.clone(),
            cycle: self.cycle,
        }
    }
    fn ask(&self) {
        let mut asked = lock(&self.asked);
        let pause = if self.nodes.len() > 1 { SELDOM } else { OFTEN };
        if asked.is_some_and(|asked| asked.elapsed() < pause) {
            return;
        }
        let begin = Instant::now();
        *asked = Some(begin);
        for node in &self.nodes {
            node.ask_letters();
            node.ask();
        }
        while begin.elapsed() < PATIENCE && self.nodes.iter().any(Watcher::is_awaited) {
            std::thread::sleep(PATIENCE / 20);
        }
    }
    /// Asks what waits, and gives what the nodes have answered within a time: each collects everything for that, and
    /// looks at its goals. Empty: nothing runs.
    pub fn waiting(&self, patience: Duration) -> Vec<Waits> {
        // One question at a time.
        let _turn = lock(&self.turn);
        let mut question = lock(&self.question);
        // The first node passes it on.
        if !self.wakers.first().is_some_and(Waker::ask) {
            return Vec::new();
        }
        *question = Question { is_open: true, answers: Vec::new() };
        self.rouse();
        let end = Instant::now() + patience;
        while question.answers.len() < self.nodes.len() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            question = base::unpoisoned(self.answered.wait_timeout(question, left)).0;
        }
        question.is_open = false;
        let mut answers = std::mem::take(&mut question.answers);
        answers.sort_by_key(|waits| waits.node);
        answers
    }
    /// A node of this process says what waits there. False: nobody has asked by [`Observer::waiting`].
    pub fn answer(&self, node: u32, waiting: &Waiting) -> bool {
        let mut question = lock(&self.question);
        if !question.is_open {
            return false;
        }
        // Nodes of other processes are not seen.
        let watcher = self.nodes.get(if self.nodes.len() > 1 { node as usize } else { 0 });
        let stopped = watcher.and_then(Watcher::stopped_at);
        let pause = stopped.map(|at| at.elapsed()).unwrap_or_default();
        question.answers.push(Waits { node, waiting: waiting.clone(), pause });
        self.answered.notify_all();
        true
    }
    /// Ends the run, as an interrupt does. False: nothing runs that was not ended before.
    pub fn interrupt(&self) -> bool {
        // All of them hear of it, whatever the first says.
        let heard = self.wakers.iter().filter(|waker| waker.interrupt()).count();
        self.rouse();
        heard > 0
    }
    fn rouse(&self) {
        self.rouser.iter().for_each(Rouser::rouse);
    }
}

impl Others {
    fn add(&mut self, node: &NodeSeen) {
        self.sent += node.letters.sent.iter().sum::<u64>();
        let young: usize = node.workers.iter().map(|worker| worker.figures.young_bytes).sum();
        self.heap_bytes += node.old_bytes + young;
        let reductions = |worker: &WorkerSeen| worker.figures.reductions;
        self.reductions += node.workers.iter().map(reductions).sum::<u64>();
        let now = node.letters.simulated.map_or(0, |simulated| simulated.now);
        self.virtual_now = self.virtual_now.max(now);
    }
}
