//! What must hold after every step (D1 to D4), and where nothing happens any more.

use super::model::{Case, Node, Removed, State};
use super::oracle::Value;
use super::tiny::Cell;
use crate::protocol::Rule;
use crate::store::{ExportId, ImportId, Store};
use crate::wire::message::{Message, Reader};
use crate::wire::tokens::{Token, Tokens};
use fabric::NodeId;
use std::collections::BTreeMap;

type Key = (u32, u32);

/// After every step.
pub(super) fn check(case: &Case, state: &State) -> Result<(), String> {
    let mut sum = Sums::default();
    for (number, node) in (0u32..).zip(&state.nodes) {
        for (id, import) in node.protocol.imports().all() {
            let key = (import.home.0, import.entry);
            sum.weight(key, import.weight.into());
            sum.labels.push((key, (import.root, import.depth)));
            if import.weight == 0 {
                return Err(format!("import {number}.{} without weight", id.0));
            }
        }
        for (to, items) in node.protocol.releases() {
            items.for_each(|item| sum.weight((to.0, item.entry), item.weight.into()));
        }
    }
    for (way, words) in
        state.ways.iter().enumerate().flat_map(|(way, queue)| queue.iter().map(move |w| (way, w)))
    {
        let nodes = state.nodes.len();
        let (from, to) = ((way / 2 / nodes) as u32, (way / 2 % nodes) as u32);
        sum.message(from, to, Message::read(words, nodes as u32).map_err(|e| e.0)?);
    }
    weights(state, &mut sum)?;
    readers(state, &sum)?;
    if !matches!(case.removed, Some(Removed::Protocol(Rule::Depth))) {
        labels(state)?;
        one_label(&mut sum.labels)?;
        waiting_below(state, &sum)?;
    }
    if state.nodes.iter().any(|node| node.store.failed) && !state.oracle.failed {
        return Err("a failure without a cause".into());
    }
    Ok(())
}

/// What is under way.
#[derive(Default)]
struct Sums {
    weights: BTreeMap<Key, u128>,
    /// Entries that messages name, which must exist therefore.
    named: Vec<Key>,
    /// Of imports, and of references under way.
    labels: Vec<(Key, (NodeId, u32))>,
    reads: Vec<(Key, Reader)>,
    answers: Vec<Reader>,
}

impl Sums {
    fn weight(&mut self, key: Key, weight: u128) {
        *self.weights.entry(key).or_default() += weight;
    }
    fn tokens(&mut self, tokens: Tokens<'_>) {
        for token in tokens {
            if let Token::Reference(reference) = token {
                let key = (reference.home.0, reference.entry);
                self.named.push(key);
                self.labels.push((key, (reference.root, reference.depth)));
                self.weight(key, reference.log2.map_or(0, |log2| 1 << log2));
            }
        }
    }
    fn message(&mut self, from: u32, to: u32, message: Message<'_>) {
        match message {
            Message::Throw { arguments, .. } => self.tokens(arguments),
            Message::Read { entry, reader, .. } => self.reads.push(((to, entry), reader)),
            Message::Answer { reader, value } => {
                self.answers.push(reader);
                self.tokens(value);
            }
            Message::Distances { items } => items.for_each(|item| self.named.push((to, item.entry))),
            Message::Unbound { .. } => {}
            Message::Unify { entry, weight, value } => {
                self.weight((to, entry), weight.into());
                self.tokens(value);
            }
            Message::Release { items } => {
                items.for_each(|item| self.weight((to, item.entry), item.weight.into()));
            }
            Message::WantWeight { entry, .. } => self.named.push((to, entry)),
            Message::Grant { entry, log2, .. } => self.weight((from, entry), 1 << log2),
        }
    }
}

/// D1 and D2.
fn weights(state: &State, sum: &mut Sums) -> Result<(), String> {
    let exists = |(node, entry): Key| {
        state.nodes.get(node as usize).is_some_and(|n| n.protocol.exports().get(ExportId(entry)).is_some())
    };
    let named = sum.named.iter().copied().chain(sum.reads.iter().map(|(key, _)| *key));
    if let Some((node, entry)) = named.into_iter().find(|key| !exists(*key)) {
        return Err(format!("a message about {node}.{entry}, which is free"));
    }
    for (number, node) in (0u32..).zip(&state.nodes) {
        for (id, export) in node.protocol.exports().all() {
            let out = sum.weights.remove(&(number, id.0)).unwrap_or(0);
            if out != export.weight {
                return Err(format!(
                    "export {number}.{} has given {}, and {out} is out",
                    id.0, export.weight
                ));
            }
        }
    }
    match sum.weights.iter().find(|(_, weight)| **weight > 0) {
        Some(((node, entry), weight)) => Err(format!("weight {weight} of {node}.{entry}, which is free")),
        None => Ok(()),
    }
}

/// D4: nobody who still waits is in two places.
fn readers(state: &State, sum: &Sums) -> Result<(), String> {
    let mut all: Vec<Reader> =
        sum.reads.iter().map(|(_, reader)| *reader).chain(sum.answers.iter().copied()).collect();
    for node in &state.nodes {
        all.extend(node.protocol.exports().all().flat_map(|(_, export)| &export.readers).map(|w| w.reader));
    }
    all.sort_unstable();
    let twice = all.windows(2).find(|pair| pair[0] == pair[1]);
    twice.map_or(Ok(()), |pair| Err(format!("{:?} waits in two places", pair[0])))
}

/// The label of an unbound variable.
fn label(state: &State, node: usize, cell: usize) -> Option<(NodeId, u32)> {
    let Node { protocol, store, .. } = &state.nodes[node];
    match store.cells[store.at(cell)] {
        Cell::Variable { .. } => Some((NodeId(node as u32), 0)),
        Cell::Import { import, .. } => {
            protocol.imports().get(import).map(|import| (import.root, import.depth))
        }
        _ => None,
    }
}

/// D3: from every import to its export.
fn labels(state: &State) -> Result<(), String> {
    for (number, node) in state.nodes.iter().enumerate() {
        for (id, import) in node.protocol.imports().all() {
            let home = import.home.0 as usize;
            let export = ExportId(import.entry);
            let Some(cell) = state.nodes[home].store.anchored(export) else {
                return Err(format!("import {number}.{} of a term that has died", id.0));
            };
            if let Some(label) = label(state, home, cell)
                && label >= (import.root, import.depth)
            {
                let from = (import.root, import.depth);
                return Err(format!("the label of {number}.{} does not fall: {from:?} to {label:?}", id.0));
            }
        }
    }
    Ok(())
}

/// D3: all references to one export have the same label.
fn one_label(labels: &mut [(Key, (NodeId, u32))]) -> Result<(), String> {
    labels.sort_unstable();
    match labels.windows(2).find(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1) {
        Some(pair) => Err(format!("two labels of one export: {:?} and {:?}", pair[0], pair[1])),
        None => Ok(()),
    }
}

/// D3: a read that is under way or parked is below its reader.
fn waiting_below(state: &State, sum: &Sums) -> Result<(), String> {
    let mut reads = sum.reads.clone();
    for (number, node) in (0u32..).zip(&state.nodes) {
        for (id, export) in node.protocol.exports().all() {
            reads.extend(export.readers.iter().map(|waiting| ((number, id.0), waiting.reader)));
        }
    }
    for ((node, entry), reader) in reads {
        let protocol = &state.nodes[reader.node.0 as usize].protocol;
        let import = ImportId(reader.import);
        let Some(import) =
            protocol.imports().get(import).filter(|_| protocol.imports().serial(import) == reader.serial)
        else {
            continue;
        };
        let cell = state.nodes[node as usize].store.anchored(ExportId(entry));
        if let Some(label) = cell.and_then(|cell| label(state, node as usize, cell))
            && label >= (import.root, import.depth)
        {
            return Err(format!("a read at {node}.{entry} is not below its reader {reader:?}"));
        }
    }
    Ok(())
}

/// Where a term is in the end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Found {
    Variable(usize, usize),
    Atom(u32),
    Pair,
}

fn find(state: &State, mut node: usize, mut cell: usize) -> Result<Found, String> {
    for _ in 0..1_000 {
        let store = &state.nodes[node].store;
        cell = store.at(cell);
        match store.cells[cell] {
            Cell::Variable { .. } => return Ok(Found::Variable(node, cell)),
            Cell::Atom(atom) => return Ok(Found::Atom(atom)),
            Cell::Pair(..) => return Ok(Found::Pair),
            Cell::Import { import, .. } => {
                let import = state.nodes[node]
                    .protocol
                    .imports()
                    .get(import)
                    .ok_or("a variable of an import that is gone")?;
                node = import.home.0 as usize;
                let export = ExportId(import.entry);
                cell = state.nodes[node].store.anchored(export).ok_or("a reference to what has died")?;
            }
            Cell::Reference(_) => unreachable!("followed"),
        }
    }
    Err("a circle of references".into())
}

/// Nothing happens any more: every goal has the value that there is, and variables are one if and only if they were
/// unified.
pub(super) fn quiet(state: &State) -> Result<(), String> {
    let oracle = &state.oracle;
    let failed = state.nodes.iter().any(|node| node.store.failed);
    if oracle.failed != failed {
        return Err("two values were unified, and that was lost".into());
    }
    if failed {
        return Ok(());
    }
    let (mut classes, mut places) = (BTreeMap::new(), BTreeMap::new());
    for (number, node) in state.nodes.iter().enumerate() {
        for goal in &node.goals {
            let value = oracle.value(goal.variable).map(|value| match value {
                Value::Atom(atom) => Some(atom),
                Value::Pair(..) => None,
            });
            if value != goal.got {
                let (v, got) = (goal.variable, &goal.got);
                return Err(format!("a goal at {number} for v{v} has {got:?}, and its value is {value:?}"));
            }
        }
        let waiting =
            node.goals.iter().filter(|goal| goal.got.is_none()).map(|goal| (goal.variable, goal.cell));
        for (variable, cell) in node.handles.iter().copied().chain(waiting) {
            let class = oracle.class(variable);
            let place = find(state, number, cell)?;
            let known = *classes.entry(class).or_insert(place);
            if known != place {
                return Err(format!("v{variable} is {known:?} and {place:?}"));
            }
            if matches!(place, Found::Variable(..)) && *places.entry(place).or_insert(class) != class {
                return Err(format!("v{variable} is also a variable of another class"));
            }
            let right = match (oracle.value(class), place) {
                (Some(Value::Atom(a)), Found::Atom(b)) => a == b,
                (Some(Value::Pair(..)), Found::Pair) | (None, Found::Variable(..)) => true,
                _ => false,
            };
            if !right {
                return Err(format!("v{variable} is {place:?} instead of {:?}", oracle.value(class)));
            }
        }
    }
    Ok(())
}
