//! The model: a few nodes with programs of a few actions, and messages under way in their real words.

use super::oracle::{Oracle, Value};
use super::tiny::{Cell, Event, StoreRule, Tiny};
use crate::Goal;
use crate::protocol::{Depth, Fault, How, Options, Post, Protocol, Rule, With};
use crate::store::Store;
use crate::wire::message::Message;
use explorer::Model;
use fabric::{NodeId, Priority, Random};
use runtime::abroad::{By, FAR};
use smallvec::smallvec;
use std::collections::VecDeque;
use term::abi::PredicateId;

/// What a node's program does, with variables that all nodes number alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Act {
    Bind(u8, u32),
    /// The first becomes a pair of the others.
    Pair(u8, u8, u8),
    Unify(u8, u8),
    Wait(u8),
    Throw(u8, u8),
    Forget(u8),
    ForgetGoals(u8),
}

/// A goal that waits for a variable, and the value that it got.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Waiter {
    pub(super) variable: u8,
    pub(super) cell: usize,
    pub(super) got: Option<Option<u32>>,
}

#[derive(Clone, Hash, Debug)]
pub(super) struct Node {
    pub(super) protocol: Protocol,
    pub(super) store: Tiny,
    /// The variables that the program has here.
    pub(super) handles: Vec<(u8, usize)>,
    pub(super) goals: Vec<Waiter>,
    pub(super) acts: VecDeque<Act>,
}

/// Channels by sender, receiver and priority.
#[derive(Clone, Hash, Debug)]
pub(super) struct State {
    pub(super) nodes: Vec<Node>,
    pub(super) ways: Vec<VecDeque<Vec<u64>>>,
    pub(super) oracle: Oracle,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    Act(u8),
    /// The variable that the next action needs never comes.
    Skip(u8),
    Tell(u8),
    Collect(u8),
    Flush(u8),
    Deliver(u16),
}

/// A rule to take away.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Removed {
    Protocol(Rule),
    Store(StoreRule),
    /// Weight is asked for in messages that overtake.
    WantLow,
    /// Releases overtake.
    ReleaseLow,
}

/// A case to explore.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) nodes: u8,
    pub(super) variables: u8,
    pub(super) exponent: u8,
    pub(super) hops: u16,
    pub(super) depth: Depth,
    pub(super) identities: bool,
    /// Distances are told, and imports at this one are suspected.
    pub(super) far: Option<u8>,
    /// Words that a collection of everything leaves for what moves.
    pub(super) room: usize,
    pub(super) batch: usize,
    /// Where the variables are made.
    pub(super) homes: Vec<u8>,
    /// Throws that are over when it begins: variable, from, to.
    pub(super) before: Vec<(u8, u8, u8)>,
    pub(super) acts: Vec<Vec<Act>>,
    pub(super) removed: Option<Removed>,
}

/// What a node sends, until it is put on its way.
pub(super) struct Outbox<'a> {
    ways: &'a mut [VecDeque<Vec<u64>>],
    from: usize,
    nodes: usize,
    removed: Option<Removed>,
}

impl Post for Outbox<'_> {
    fn post(&mut self, to: NodeId, message: Message<'_>) {
        let high = match (self.removed, &message) {
            (Some(Removed::WantLow), Message::WantWeight { .. }) => true,
            (Some(Removed::ReleaseLow), Message::Release { .. }) => true,
            _ => message.priority() == Priority::High,
        };
        let mut words = Vec::new();
        message.write(&mut words);
        self.ways[way(self.nodes, self.from, to.0 as usize, high)].push_back(words);
    }
}

fn way(nodes: usize, from: usize, to: usize, high: bool) -> usize {
    (from * nodes + to) * 2 + usize::from(high)
}

impl Case {
    /// A random case; everything follows from the seed. Each node does `length` things, after as many throws.
    pub(super) fn random(seed: u64, nodes: u8, variables: u8, length: u8) -> Case {
        let mut random = Random::new(seed ^ 0x5eed);
        let mut below = |bound: u8| random.below(bound.into()) as u8;
        let homes: Vec<u8> = (0..variables).map(|_| below(nodes)).collect();
        let mut holders: Vec<Vec<u8>> = homes.iter().map(|&home| vec![home]).collect();
        let mut before = Vec::new();
        for _ in 0..length {
            let variable = below(variables);
            let known = &mut holders[variable as usize];
            let from = known[below(known.len() as u8) as usize];
            let to = (from + 1 + below(nodes - 1)) % nodes;
            known.push(to);
            before.push((variable, from, to));
        }
        // Nothing is bound; atoms, pairs or both are.
        let binds = below(4);
        let acts = (0..nodes)
            .map(|node| (0..length).map(|_| Case::act(&mut below, node, nodes, variables, binds)).collect());
        let acts = acts.collect();
        Case {
            nodes,
            variables,
            exponent: [0, 0, 1, 2, 5, 56][below(6) as usize],
            hops: [0, 1, 9, 9][below(4) as usize],
            depth: [Depth::Off, Depth::OneLevel, Depth::Adaptive][below(3) as usize],
            identities: below(2) == 0,
            far: [None, Some(1), Some(2), Some(3)][below(4) as usize],
            batch: [1, 1, 3][below(3) as usize],
            room: [1 << 20, 4, 20][below(3) as usize],
            homes,
            before,
            acts,
            removed: None,
        }
    }

    fn act(below: &mut impl FnMut(u8) -> u8, node: u8, nodes: u8, variables: u8, binds: u8) -> Act {
        let v = below(variables);
        let u = (v + 1 + below(variables - 1)) % variables;
        match below(20) {
            6..=8 if binds & 1 == 1 && below(3) == 0 => Act::Bind(v, u32::from(below(40) == 0)),
            0..=8 => Act::Unify(v, u),
            9..=12 => Act::Wait(v),
            13..=16 => Act::Throw(v, (node + 1 + below(nodes - 1)) % nodes),
            17 if binds & 2 == 2 => Act::Pair(v, u, below(variables)),
            17 | 18 => Act::Forget(v),
            _ => Act::ForgetGoals(v),
        }
    }

    fn count(&self) -> usize {
        self.nodes.into()
    }

    /// Lets a node's protocol do something.
    pub(super) fn with(
        &self,
        state: &mut State,
        node: usize,
        what: impl FnOnce(&mut With<'_, Tiny, Outbox<'_>>) -> Result<(), String>,
    ) -> Result<(), String> {
        let State { nodes, ways, .. } = state;
        let Node { protocol, store, handles, .. } = &mut nodes[node];
        let mut outbox = Outbox { ways, from: node, nodes: self.count(), removed: self.removed };
        what(&mut protocol.with(store, &mut outbox))?;
        for (variable, cell) in std::mem::take(&mut store.came) {
            handles.push((variable as u8, cell));
        }
        store.broken.map_or(Ok(()), |broken| Err(format!("at node {node}: {broken}")))
    }

    fn act_now(&self, state: &mut State, node: usize, act: Act) -> Result<(), String> {
        let mut oracle = state.oracle.clone();
        match act {
            Act::Bind(v, atom) => oracle.bind(v, Value::Atom(atom)),
            Act::Pair(v, a, b) => oracle.bind(v, Value::Pair(a, b)),
            Act::Unify(v, u) => oracle.unite(v, u),
            _ => {}
        }
        // Infinite terms would be unified for ever on one node, too. After a failure the oracle cannot tell which are.
        let pairs = match act {
            Act::Pair(..) => true,
            Act::Unify(..) => state.oracle.has_pairs(),
            _ => false,
        };
        if !oracle.is_finite() || (pairs && oracle.failed) {
            return Ok(());
        }
        state.oracle = oracle;
        let this = &mut state.nodes[node];
        let has = |v: u8| this.handles.iter().find(|(known, _)| *known == v).map(|(_, cell)| *cell);
        let cell = |v| has(v).ok_or_else(|| format!("node {node} does not have v{v}"));
        match act {
            Act::Bind(v, atom) => {
                let to = cell(v)?;
                let value = this.store.add(Cell::Atom(atom));
                this.store.unify(value, to);
            }
            Act::Pair(v, a, b) => {
                let (to, a, b) = (cell(v)?, cell(a)?, cell(b)?);
                let value = this.store.add(Cell::Pair(a, b));
                this.store.unify(value, to);
            }
            Act::Unify(v, u) => {
                let (a, b) = (cell(v)?, cell(u)?);
                this.store.unify(a, b);
            }
            Act::Wait(variable) => {
                let cell = cell(variable)?;
                this.goals.push(Waiter { variable, cell, got: None });
            }
            Act::Throw(v, to) => {
                let args = smallvec![cell(v)?];
                let goal = Goal { priority: 0, predicate: PredicateId(v.into()), args };
                // One throw in two brings a level of a structure.
                let how = How { values: u64::from(v % 2), levels: 1, gift: false, white: 0 };
                self.with(state, node, |protocol| {
                    protocol.throw(NodeId(to.into()), &goal, how);
                    Ok(())
                })?;
            }
            Act::Forget(v) => this.handles.retain(|(known, _)| *known != v),
            Act::ForgetGoals(v) => this.goals.retain(|goal| goal.variable != v),
        }
        Ok(())
    }

    fn inform(&self, state: &mut State, node: usize, event: Event) -> Result<(), String> {
        self.with(state, node, |protocol| {
            match event {
                Event::Wanted(import) => protocol.wanted(import),
                Event::Bound(import) => protocol.bound(import, By::default()),
                Event::Marked(export) => protocol.marked(export),
                Event::Alias(a, b) => protocol.alias(a, b, By::default()),
                Event::Dead(import) => protocol.dead(import),
                Event::Lost(export) => protocol.lost(export),
            }
            Ok(())
        })
    }

    fn deliver(&self, state: &mut State, way: usize) -> Result<(), String> {
        let words = state.ways[way].pop_front().ok_or("nothing to deliver")?;
        let (from, to) = (way / 2 / self.count(), way / 2 % self.count());
        let sender = NodeId(from as u32);
        let message = Message::read(&words, self.nodes.into());
        let message = message.map_err(|malformed| Fault::of(sender, malformed).to_string())?;
        self.with(state, to, |protocol| protocol.receive(sender, message).map_err(|fault| fault.to_string()))
    }

    /// Goals that got a value go on; those that wait for an import let it be read.
    fn settle(&self, node: &mut Node, oracle: &Oracle) {
        for goal in node.goals.iter_mut().filter(|goal| goal.got.is_none()) {
            match node.store.cells[node.store.at(goal.cell)] {
                Cell::Atom(atom) => goal.got = Some(Some(atom)),
                Cell::Pair(head, tail) => {
                    goal.got = Some(None);
                    // The reader goes on with the parts, under the names that the pair was made with.
                    if let Some(Value::Pair(a, b)) = oracle.value(goal.variable) {
                        node.handles.extend([(a, head), (b, tail)]);
                    }
                }
                _ => node.store.wait(goal.cell),
            }
        }
        node.handles.sort_unstable();
        node.handles.dedup();
        let goals = node.goals.iter_mut().filter(|goal| goal.got.is_none());
        let mut cells: Vec<&mut usize> = goals.map(|goal| &mut goal.cell).collect();
        cells.extend(node.handles.iter_mut().map(|(_, cell)| cell));
        node.store.tidy(&mut cells);
        node.goals.iter_mut().filter(|goal| goal.got.is_some()).for_each(|goal| goal.cell = 0);
        node.handles.sort_unstable();
        node.handles.dedup();
    }
}

impl Node {
    /// The cells that the program keeps alive.
    fn program(&self) -> Vec<usize> {
        let goals = self.goals.iter().filter(|goal| goal.got.is_none()).map(|goal| goal.cell);
        self.handles.iter().map(|(_, cell)| *cell).chain(goals).collect()
    }
    fn can_act(&self) -> bool {
        let has = |v: u8| self.handles.iter().any(|(known, _)| *known == v);
        match self.acts.front() {
            None => false,
            Some(&Act::Bind(v, _) | &Act::Wait(v) | &Act::Throw(v, _)) => has(v),
            Some(&Act::Unify(v, u)) => has(v) && has(u),
            Some(&Act::Pair(v, a, b)) => has(v) && has(a) && has(b),
            Some(Act::Forget(_) | Act::ForgetGoals(_)) => true,
        }
    }
}

impl Model for Case {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        let nodes = (0..self.nodes).map(|node| {
            let options = Options {
                exponent: self.exponent,
                hops: self.hops,
                depth: self.depth,
                identities: self.identities,
                far: self.far.unwrap_or(FAR),
                batch: self.batch,
                ..Options::new(NodeId(node.into()), self.nodes.into())
            };
            let mut store = Tiny::default();
            let mine = (0..self.variables).filter(|&v| self.homes[v as usize] == node);
            let handles = mine.map(|v| (v, store.variable())).collect();
            Node {
                protocol: Protocol::new(options),
                store,
                handles,
                goals: Vec::new(),
                acts: VecDeque::new(),
            }
        });
        let ways = vec![VecDeque::new(); self.count() * self.count() * 2];
        let mut state = State { nodes: nodes.collect(), ways, oracle: Oracle::new(self.variables) };
        let whole = Case { removed: None, ..self.clone() };
        for &(variable, from, to) in &self.before {
            state.nodes[from as usize].acts.push_back(Act::Throw(variable, to));
            whole.finish(&mut state).expect("throws at the beginning");
        }
        for (node, acts) in state.nodes.iter_mut().zip(&self.acts) {
            node.acts.extend(acts);
        }
        for node in &mut state.nodes {
            match self.removed {
                Some(Removed::Protocol(rule)) => node.protocol.without(rule),
                Some(Removed::Store(rule)) => node.store.without = Some(rule),
                _ => {}
            }
        }
        state
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.nodes.iter().any(|node| node.store.failed) {
            return;
        }
        for (number, node) in (0..).zip(&state.nodes) {
            if node.can_act() {
                actions.push(Action::Act(number));
            }
            if !node.store.queue.is_empty() {
                actions.push(Action::Tell(number));
            }
            if node.store.would_collect(&node.program()) {
                actions.push(Action::Collect(number));
            }
            if node.protocol.has_releases() {
                actions.push(Action::Flush(number));
            }
        }
        let ways = (0..).zip(&state.ways).filter(|(_, way)| !way.is_empty());
        actions.extend(ways.map(|(number, _)| Action::Deliver(number)));
        if actions.is_empty() {
            let blocked = (0..).zip(&state.nodes).filter(|(_, node)| !node.acts.is_empty());
            actions.extend(blocked.map(|(number, _)| Action::Skip(number)));
        }
    }

    fn step(&self, state: &mut State, action: &Action) -> Result<(), String> {
        match *action {
            Action::Act(node) => {
                let act = state.nodes[node as usize].acts.pop_front().ok_or("no action")?;
                self.act_now(state, node.into(), act)?;
            }
            Action::Skip(node) => {
                state.nodes[node as usize].acts.pop_front();
            }
            Action::Tell(node) => {
                let event = state.nodes[node as usize].store.queue.pop_front().ok_or("no event")?;
                self.inform(state, node.into(), event)?;
            }
            Action::Collect(number) => {
                let node = &mut state.nodes[number as usize];
                let program = node.program();
                node.store.collect(&program);
                let distances = node.store.distances(&program);
                if self.far.is_some() {
                    self.with(state, number.into(), |protocol| {
                        protocol.far(&distances, self.room);
                        Ok(())
                    })?;
                }
            }
            Action::Flush(node) => self.with(state, node.into(), |protocol| {
                protocol.flush();
                Ok(())
            })?,
            Action::Deliver(way) => self.deliver(state, way.into())?,
        }
        let State { nodes, oracle, .. } = state;
        nodes.iter_mut().for_each(|node| self.settle(node, oracle));
        Ok(())
    }

    fn check(&self, state: &State) -> Result<(), String> {
        super::invariants::check(self, state)?;
        let mut actions = Vec::new();
        self.actions(state, &mut actions);
        let quiet = actions.iter().all(|action| matches!(action, Action::Skip(_)));
        if quiet { super::invariants::quiet(state) } else { Ok(()) }
    }

    fn end(&self, state: &State) -> Result<(), String> {
        if state.nodes.iter().any(|node| node.store.failed) {
            return Ok(());
        }
        let mut state = state.clone();
        for node in &mut state.nodes {
            node.handles.clear();
            node.goals.clear();
        }
        self.finish(&mut state)?;
        match state.nodes.iter().position(|node| node.protocol.counters().exports_and_imports() > 0) {
            Some(node) => Err(format!("the tables of node {node} are not empty after everything died")),
            None => Ok(()),
        }
    }

    fn parts(&self, action: &Action) -> u64 {
        // A node pauses, its events are late, its collections are, a channel is.
        match *action {
            Action::Act(node) | Action::Skip(node) => 1 << (node % 8),
            Action::Tell(node) => 1 << (node % 8) | 1 << (8 + node % 8),
            Action::Collect(node) | Action::Flush(node) => 1 << (16 + node % 8),
            Action::Deliver(way) => {
                let to = way / 2 % u16::from(self.nodes);
                1 << (to % 8) | 1 << (24 + way % 39)
            }
        }
    }

    fn tell(&self, state: &State, action: &Action) -> String {
        match *action {
            Action::Act(node) => format!("node {node}: {:?}", state.nodes[node as usize].acts.front()),
            Action::Tell(node) => {
                format!("node {node} is told {:?}", state.nodes[node as usize].store.queue.front())
            }
            Action::Deliver(way) => {
                let (from, to) = (usize::from(way) / 2 / self.count(), usize::from(way) / 2 % self.count());
                let words = state.ways[way as usize].front().cloned().unwrap_or_default();
                format!("{from} -> {to}: {:?}", Message::read(&words, self.nodes.into()))
            }
            action => format!("{action:?}"),
        }
    }
}

impl Case {
    /// Goes on in a fixed order until nothing is left to do.
    pub(super) fn finish(&self, state: &mut State) -> Result<(), String> {
        let mut actions = Vec::new();
        for _ in 0..20_000 {
            actions.clear();
            self.actions(state, &mut actions);
            let Some(action) = actions.first() else { return Ok(()) };
            self.step(state, action)?;
            super::invariants::check(self, state)?;
        }
        Err("it does not end when everything dies".into())
    }
}
