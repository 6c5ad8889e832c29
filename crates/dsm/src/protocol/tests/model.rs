//! A small machine: programs without races, the nodes that run them, and the messages between these.

use super::super::home::HomeState;
use super::super::{Counters, Mode, Options, Outbox, Place, Post, Protocol, Rule, State as CopyState};
use crate::{Access, Message, Page, Store, WORD};
use explorer::Model;
use fabric::{NodeId, NodeSet, Random};
use std::collections::{BTreeSet, VecDeque};

/// Words of a page.
pub(super) const WORDS: usize = 2;

/// What a node's program does next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Op {
    /// A word of a page: it has what was written last.
    Read(Page, usize),
    Write(Page, usize, u8),
    /// From one page to another, both of them too: all of them are there at once, to be read or, if true, written.
    Touch(Page, Page, bool),
    Lock(u32),
    Unlock(u32),
    Barrier,
    /// Shows others what it wrote before, by a message of its own of this number, and goes on.
    Tell(u32),
    /// Waits for such a message.
    Hear(u32),
}

/// Programs, and the machine that runs them.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// The home of each page.
    pub(super) homes: Vec<u32>,
    pub(super) mode: Mode,
    /// Of each node.
    pub(super) programs: Vec<Vec<Op>>,
    pub(super) without: Option<Rule>,
}

/// The pages of a node, and what the program may do with them.
#[derive(Clone, Hash, Debug)]
struct Tiny(Vec<(Access, [u8; WORDS * WORD])>);

impl Store for Tiny {
    fn read(&self, page: Page, into: &mut [u8]) {
        into.copy_from_slice(&self.0[page as usize].1);
    }
    fn write(&mut self, page: Page, at: usize, bytes: &[u8]) {
        self.0[page as usize].1[at..at + bytes.len()].copy_from_slice(bytes);
    }
    fn access(&mut self, page: Page, access: Access) {
        self.0[page as usize].0 = access;
    }
}

#[derive(Clone, Hash, Debug)]
struct Node {
    protocol: Protocol,
    store: Tiny,
    /// What it wants to tell.
    outbox: Outbox<u32>,
    /// The operation that is next, and how far it is.
    next: usize,
    stage: u8,
    /// Barriers that it has come to.
    barriers: u32,
}

/// A multicast that is under way.
#[derive(Clone, Hash, Debug)]
struct Many {
    from: u32,
    tag: u64,
    message: Message,
    left: NodeSet,
}

#[derive(Clone, Hash)]
pub(super) struct State {
    nodes: Vec<Node>,
    /// By sender, receiver, and whether they answer: in order.
    ways: Vec<VecDeque<Message>>,
    /// In no order.
    many: Vec<Many>,
    /// What every word has: what was written last.
    truth: Vec<[u8; WORDS]>,
    /// What has been told, and may be heard at any time from now on.
    told: BTreeSet<u32>,
}

#[derive(Clone, Debug)]
pub(super) enum Action {
    /// A node's program goes on.
    Go(u32),
    /// The first message of a way arrives.
    Deliver(u32),
    /// A multicast arrives at a node.
    Reach(u32, NodeId),
    /// All have acknowledged a multicast.
    Acknowledge(u32),
}

/// What a node sends.
struct Env<'a> {
    store: &'a mut Tiny,
    from: u32,
    nodes: u32,
    ways: &'a mut Vec<VecDeque<Message>>,
    many: &'a mut Vec<Many>,
}

impl Post for Env<'_> {
    fn post(&mut self, to: NodeId, message: Message) {
        // As it travels.
        let (words, bytes) = message.clone().write();
        let message = Message::read(message.kind(), &words, &bytes, WORDS * WORD).expect("as it was written");
        let way = (self.from * self.nodes + to.0) * 2 + u32::from(message.answers());
        self.ways[way as usize].push_back(message);
    }
    fn post_many(&mut self, to: NodeSet, tag: u64, message: Message) {
        assert!(!to.is_empty() && !to.contains(NodeId(self.from)));
        self.many.push(Many { from: self.from, tag, message, left: to });
        self.many.sort_by_key(|many| (many.from, many.tag));
    }
}

impl Store for Env<'_> {
    fn read(&self, page: Page, into: &mut [u8]) {
        self.store.read(page, into);
    }
    fn write(&mut self, page: Page, at: usize, bytes: &[u8]) {
        self.store.write(page, at, bytes);
    }
    fn access(&mut self, page: Page, access: Access) {
        self.store.access(page, access);
    }
}

impl Case {
    fn count(&self) -> u32 {
        self.programs.len() as u32
    }
    fn with<R>(&self, state: &mut State, node: u32, f: impl FnOnce(&mut Protocol, &mut Env<'_>) -> R) -> R {
        let State { nodes, ways, many, .. } = state;
        let Node { protocol, store, .. } = &mut nodes[node as usize];
        f(protocol, &mut Env { store, from: node, nodes: self.programs.len() as u32, ways, many })
    }
    /// What a node's outbox lets go is told.
    fn tell_more(&self, state: &mut State, node: u32, more: Option<u32>) {
        let State { nodes, ways, many, told, .. } = state;
        let Node { protocol, store, outbox, .. } = &mut nodes[node as usize];
        let mut env = Env { store, from: node, nodes: self.programs.len() as u32, ways, many };
        match more {
            Some(number) => outbox.put(number, true, protocol, &mut env),
            None => outbox.go_on(protocol, &mut env),
        }
        told.extend(std::iter::from_fn(|| outbox.take_free()));
    }
    /// Whether nodes tell each other something: they wait for nothing then but what they hear.
    fn tells(&self) -> bool {
        self.programs.iter().flatten().any(|op| matches!(op, Op::Tell(_)))
    }
    fn next(&self, state: &State, node: u32) -> Option<Op> {
        self.programs[node as usize].get(state.nodes[node as usize].next).copied()
    }
    /// Whether a node's program can go on.
    fn can_go(&self, state: &State, number: u32) -> bool {
        let node = &state.nodes[number as usize];
        if node.protocol.is_leaving() {
            return true;
        }
        let released = node.protocol.is_released();
        match (self.next(state, number), node.stage) {
            (None, _) => false,
            (Some(Op::Read(page, _) | Op::Write(page, ..)), _) => !node.protocol.is_fetching(page),
            (Some(Op::Touch(first, last, _)), _) => {
                (first..=last).all(|page| !node.protocol.is_fetching(page))
            }
            (Some(Op::Lock(lock)), 1) => node.protocol.has_lock(lock),
            (Some(Op::Hear(number)), _) => state.told.contains(&number),
            (Some(Op::Barrier), 2) => state.nodes.iter().all(|other| other.barriers >= node.barriers),
            (_, 0) => true,
            _ => released,
        }
    }
    /// A node's stage of an operation. True if it was the last one.
    fn stage(&self, state: &mut State, number: u32, (op, stage): (Op, u8)) -> Result<bool, String> {
        Ok(match (op, stage) {
            (Op::Read(page, word), _) => self.read(state, number, (page, word))?,
            (Op::Write(page, word, value), _) => {
                let (access, bytes) = &mut state.nodes[number as usize].store.0[page as usize];
                let may = *access == Access::Write;
                if may {
                    bytes[word * WORD] = value;
                    state.truth[page as usize][word] = value;
                } else {
                    self.with(state, number, |protocol, env| protocol.write(page, env));
                }
                may
            }
            (Op::Touch(first, last, writes), _) => self.with(state, number, |protocol, env| {
                let missing = (first..=last).filter(|&page| !protocol.look(page, writes, env)).count();
                protocol.fetch(env);
                missing == 0
            }),
            (Op::Lock(lock), 0) => {
                self.with(state, number, |protocol, env| protocol.lock(lock, env));
                false
            }
            (Op::Lock(_), 1) | (Op::Barrier, 2) => {
                self.with(state, number, |protocol, env| protocol.acquire(env));
                false
            }
            (Op::Unlock(_) | Op::Barrier, 0) => {
                self.with(state, number, |protocol, env| protocol.release(env));
                false
            }
            (Op::Barrier, 1) => {
                state.nodes[number as usize].barriers += 1;
                false
            }
            (Op::Unlock(lock), _) => {
                let had = self.with(state, number, |protocol, env| protocol.unlock(lock, env));
                if !had {
                    return Err("a lock that it does not have".into());
                }
                true
            }
            (Op::Lock(_) | Op::Barrier, _) => true,
            (Op::Tell(more), _) => {
                self.tell_more(state, number, Some(more));
                true
            }
            (Op::Hear(_), _) => {
                self.with(state, number, |protocol, env| protocol.acquire(env));
                true
            }
        })
    }
    /// True if the node may read the word, which has the right value then.
    fn read(&self, state: &mut State, number: u32, (page, word): (u32, usize)) -> Result<bool, String> {
        let (access, bytes) = &state.nodes[number as usize].store.0[page as usize];
        let may = *access >= Access::Read;
        let (found, wanted) = (bytes[word * WORD], state.truth[page as usize][word]);
        if may && found != wanted {
            return Err(format!("node {number} reads {found} in word {page}.{word}, not {wanted}"));
        }
        if !may {
            self.with(state, number, |protocol, env| protocol.read(page, env));
        }
        Ok(may)
    }
    fn go(&self, state: &mut State, number: u32) -> Result<(), String> {
        let op = self.next(state, number).ok_or("no operation")?;
        if state.nodes[number as usize].protocol.is_leaving() {
            self.with(state, number, |protocol, env| protocol.go_on(env));
            return Ok(());
        }
        let node = &mut state.nodes[number as usize];
        let stage = node.stage;
        node.stage += 1;
        let ends = self.stage(state, number, (op, stage))?;
        let node = &mut state.nodes[number as usize];
        if ends {
            (node.next, node.stage) = (node.next + 1, 0);
        } else if matches!(op, Op::Read(..) | Op::Write(..) | Op::Touch(..)) {
            node.stage = 0;
        }
        Ok(())
    }
}

impl Model for Case {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        let homes: Vec<NodeId> = self.homes.iter().map(|&home| NodeId(home)).collect();
        let nodes = (0..self.count()).map(|node| {
            let options = Options {
                node: NodeId(node),
                nodes: self.count(),
                page_bytes: WORDS * WORD,
                homes: homes.clone().into(),
                mode: self.mode,
            };
            let access = |home: &NodeId| if *home == options.node { Access::Write } else { Access::None };
            let store = Tiny(homes.iter().map(|home| (access(home), [0; WORDS * WORD])).collect());
            let mut protocol = Protocol::new(options);
            protocol.without = self.without;
            if !self.tells() {
                protocol.set_part(1);
            }
            Node { protocol, store, outbox: Outbox::default(), next: 0, stage: 0, barriers: 0 }
        });
        State {
            nodes: nodes.collect(),
            ways: vec![VecDeque::new(); (self.count() * self.count() * 2) as usize],
            many: Vec::new(),
            truth: vec![[0; WORDS]; self.homes.len()],
            told: BTreeSet::new(),
        }
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.extend((0..self.count()).filter(|&node| self.can_go(state, node)).map(Action::Go));
        let ways = (0..).zip(&state.ways).filter(|(_, way)| !way.is_empty());
        actions.extend(ways.map(|(number, _)| Action::Deliver(number)));
        for (number, many) in (0..).zip(&state.many) {
            actions.extend(many.left.iter().map(|node| Action::Reach(number, node)));
            if many.left.is_empty() {
                actions.push(Action::Acknowledge(number));
            }
        }
    }

    fn step(&self, state: &mut State, action: &Action) -> Result<(), String> {
        let malformed = |malformed: crate::Malformed| malformed.to_string();
        match *action {
            Action::Go(node) => self.go(state, node),
            Action::Deliver(way) => {
                let message = state.ways[way as usize].pop_front().ok_or("no message")?;
                let (from, to) = (NodeId(way / 2 / self.count()), way / 2 % self.count());
                let received = self.with(state, to, |protocol, env| protocol.receive(from, message, env));
                self.tell_more(state, to, None);
                received.map_err(malformed)
            }
            Action::Reach(number, node) => {
                let many = &mut state.many[number as usize];
                many.left.remove(node);
                let (from, message) = (NodeId(many.from), many.message.clone());
                self.with(state, node.0, |protocol, env| protocol.receive(from, message, env))
                    .map_err(malformed)
            }
            Action::Acknowledge(number) => {
                let many = state.many.remove(number as usize);
                self.with(state, many.from, |protocol, env| protocol.acknowledged(many.tag, env));
                self.tell_more(state, many.from, None);
                Ok(())
            }
        }
    }

    fn check(&self, state: &State) -> Result<(), String> {
        for (number, node) in (0..).zip(&state.nodes) {
            for (page, place) in (0..).zip(node.protocol.places.iter()) {
                let access = node.store.0[page as usize].0;
                let at = || format!("page {page} at node {number}");
                match place {
                    Place::Here(home) => {
                        let written = matches!(home.state, HomeState::Written { .. });
                        let right = home.state != HomeState::Guarded;
                        if (access == Access::Write) != right || access == Access::None {
                            return Err(format!(
                                "{}: the program may {access:?} what is {:?}",
                                at(),
                                home.state
                            ));
                        }
                        if home.state == HomeState::Open && !home.has_no_copies() {
                            return Err(format!("{}: open although there are copies", at()));
                        }
                        let mut listed = node.protocol.dirty.iter().chain(&node.protocol.leaving);
                        if written != listed.any(|&listed| listed == page) {
                            return Err(format!("{}: not listed as it is written", at()));
                        }
                    }
                    Place::Away(copy) => {
                        let wanted = match copy.state {
                            CopyState::Absent => Access::None,
                            CopyState::Clean { .. } => Access::Read,
                            CopyState::Dirty { .. } | CopyState::DirtyStale { .. } => Access::Write,
                        };
                        if access != wanted {
                            return Err(format!("{}: the program may {access:?}, not {wanted:?}", at()));
                        }
                        if matches!(copy.state, CopyState::Clean { .. } | CopyState::Dirty { .. }) {
                            self.is_known(state, number, page)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn end(&self, state: &State) -> Result<(), String> {
        for (number, node) in (0..).zip(&state.nodes) {
            if let Some(op) = self.next(state, number) {
                return Err(format!("node {number} waits for ever in {op:?}"));
            }
            let protocol = &node.protocol;
            let told = node.outbox.is_empty();
            let quiet =
                protocol.is_released() && protocol.batches.is_empty() && protocol.has_no_locks() && told;
            if !quiet {
                return Err(format!("node {number} has something under way"));
            }
        }
        if self.tells() {
            return Ok(());
        }
        // All programs end with a barrier: whatever somebody may read is the truth.
        for node in &state.nodes {
            for (page, (access, bytes)) in node.store.0.iter().enumerate() {
                let right = (0..WORDS).all(|word| bytes[word * WORD] == state.truth[page][word]);
                if *access != Access::None && !right {
                    return Err(format!("page {page} has {bytes:?}, not {:?}", state.truth[page]));
                }
            }
        }
        Ok(())
    }

    fn parts(&self, action: &Action) -> u64 {
        let nodes = self.count();
        let way = |way: u32| 1 << (way / 2 % nodes) | 1 << (nodes + way);
        match *action {
            Action::Go(node) => 1 << node,
            Action::Deliver(number) => way(number),
            Action::Reach(_, node) => 1 << node.0 | 1 << 63,
            Action::Acknowledge(_) => 1 << 62,
        }
    }

    fn tell(&self, state: &State, action: &Action) -> String {
        match *action {
            Action::Go(node) => format!("node {node}: {:?}", self.next(state, node)),
            Action::Deliver(way) => {
                let (from, to) = (way / 2 / self.count(), way / 2 % self.count());
                format!("{from} -> {to}: {:?}", state.ways[way as usize].front())
            }
            Action::Reach(number, node) => {
                let many = &state.many[number as usize];
                format!("{} => {}: {:?}", many.from, node.0, many.message)
            }
            Action::Acknowledge(number) => {
                let many = &state.many[number as usize];
                format!("{}: {} is acknowledged", many.from, many.tag)
            }
        }
    }
}

impl Case {
    /// Whoever has a copy that is not stale is known to its home, or is going to be told that it is.
    fn is_known(&self, state: &State, node: u32, page: Page) -> Result<(), String> {
        let home = self.homes[page as usize];
        let Some(Place::Here(entry)) = state.nodes[home as usize].protocol.places.seen(page) else {
            return Err("a home that is none".into());
        };
        let concerns = |many: &Many| match &many.message {
            Message::Invalidate { pages } => pages.iter().any(|&(told, _)| told == page),
            _ => false,
        };
        let told = state.many.iter().any(|many| many.left.contains(NodeId(node)) && concerns(many));
        let known = entry.sharers.contains(NodeId(node));
        if known || told { Ok(()) } else { Err(format!("nobody knows of node {node}'s copy of page {page}")) }
    }
    /// The sum of what the nodes have counted.
    pub(super) fn counters(state: &State) -> Vec<Counters> {
        state.nodes.iter().map(|node| node.protocol.counters()).collect()
    }

    /// Programs of this number of phases without races: in each phase each word is one node's, everybody's to read, or
    /// protected by a lock all the time.
    pub(super) fn random(seed: u64, nodes: u32, pages: u32, phases: u32, ops: u32) -> Case {
        let mut random = Random::new(seed);
        let homes = (0..pages).map(|_| random.below(nodes)).collect();
        let mode = if random.chance(0.5) { Mode::Invalidate } else { Mode::Update };
        let words: Vec<(Page, usize)> =
            (0..pages).flat_map(|page| (0..WORDS).map(move |w| (page, w))).collect();
        let locked: Vec<bool> = words.iter().map(|_| random.chance(0.25)).collect();
        let mut programs = vec![Vec::new(); nodes as usize];
        let mut value = 0;
        for _ in 0..phases {
            let owners: Vec<u32> = words.iter().map(|_| random.below(nodes + 1)).collect();
            for (node, program) in (0..).zip(&mut programs) {
                for _ in 0..random.below(ops + 1) {
                    let word = random.below(words.len() as u32) as usize;
                    let (page, place) = words[word];
                    let lock = page * WORDS as u32 + place as u32;
                    value = value % 255 + 1;
                    if random.chance(0.2) {
                        let (one, other) = (random.below(pages), random.below(pages));
                        program.push(Op::Touch(one.min(other), one.max(other), random.chance(0.5)));
                    }
                    match (locked[word], owners[word]) {
                        (true, _) => program.extend([
                            Op::Lock(lock),
                            Op::Read(page, place),
                            Op::Write(page, place, value),
                            Op::Unlock(lock),
                        ]),
                        (false, owner) if owner == node => program.push(Op::Write(page, place, value)),
                        (false, owner) if owner == nodes => program.push(Op::Read(page, place)),
                        _ => {}
                    }
                }
                program.push(Op::Barrier);
            }
        }
        Case { homes, mode, programs, without: None }
    }

    /// Programs in which each word goes from node to node: who wrote it tells the next one.
    pub(super) fn telling(seed: u64, nodes: u32, pages: u32, ops: u32) -> Case {
        let mut random = Random::new(seed);
        let homes = (0..pages).map(|_| random.below(nodes)).collect();
        let mode = if random.chance(0.5) { Mode::Invalidate } else { Mode::Update };
        let mut last: Vec<u32> = (0..pages * WORDS as u32).map(|_| random.below(nodes)).collect();
        let mut programs = vec![Vec::new(); nodes as usize];
        for number in 0..ops {
            let (node, word) = (random.below(nodes), random.below(pages * WORDS as u32));
            let (page, place) = (word / WORDS as u32, word as usize % WORDS);
            let before = std::mem::replace(&mut last[word as usize], node);
            if before != node {
                programs[before as usize].push(Op::Tell(number));
                programs[node as usize].push(Op::Hear(number));
            }
            if random.chance(0.3) {
                programs[random.below(nodes) as usize].push(Op::Touch(page, page, false));
            }
            programs[node as usize].extend([Op::Read(page, place), Op::Write(page, place, number as u8 + 1)]);
        }
        Case { homes, mode, programs, without: None }
    }
}
