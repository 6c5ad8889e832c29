//! The protocol among a few nodes, for the explorer: every order of events.

use super::*;
use explorer::{Model, breadth_first, walks};
use fabric::Random;
use std::collections::VecDeque;

/// Lines have their homes in turn.
fn homes(nodes: u32) -> fn(Line) -> NodeId {
    match nodes {
        2 => |line| NodeId(line.0 % 2),
        3 => |line| NodeId(line.0 % 3),
        4 => |line| NodeId(line.0 % 4),
        _ => |line| NodeId(line.0 % 5),
    }
}

/// A case: how large it is.
#[derive(Clone, Copy, Debug)]
struct Case {
    nodes: u32,
    lines: u32,
    /// Lines of a cache.
    places: usize,
    /// Reads and writes of a node.
    uses: u8,
    /// Invalidations go to all nodes, not only to those that have the line.
    to_all: bool,
    /// Messages of a node to another come in order.
    in_order: bool,
}

/// An invalidation under way.
#[derive(Clone, Hash, Debug)]
struct Cast {
    home: NodeId,
    line: Line,
    version: u32,
    left: Vec<NodeId>,
}

#[derive(Clone, Hash, Debug)]
struct State {
    nodes: Vec<Node<DirectMapped>>,
    channels: BTreeMap<(NodeId, NodeId), VecDeque<Message>>,
    casts: Vec<Cast>,
    /// What each node is about to do, and how often it will do something yet.
    doing: Vec<Option<(Line, Access)>>,
    left: Vec<u8>,
    /// What was written last, by line.
    last: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Action {
    Use(NodeId, Line, Access),
    /// A message comes: from, to, and which of those under way between the two.
    Come(NodeId, NodeId, usize),
    /// A copy of a multicast comes to a node.
    Copy(usize, NodeId),
    /// A multicast has been acknowledged by all.
    Acknowledged(usize),
}

impl State {
    /// The node uses a line that it may use.
    fn use_now(&mut self, node: NodeId, line: Line, access: Access) -> Result<(), String> {
        let last = &mut self.last[line.0 as usize];
        let held = self.nodes[node.0 as usize].store.held(line).ok_or("a line that is ready is there")?;
        if held.bytes[0] != *last {
            return Err(format!("node {} sees {} and not {last} in {line:?}", node.0, held.bytes[0]));
        }
        if access == Access::Write {
            if held.access != Access::Write {
                return Err(format!("node {} writes {line:?}, which it may only read", node.0));
            }
            *last += 1;
            held.bytes[0] = *last;
        }
        self.doing[node.0 as usize] = None;
        Ok(())
    }
    fn effects(&mut self, case: &Case, node: NodeId, effects: Vec<Effect>) -> Result<(), String> {
        for effect in effects {
            match effect {
                Effect::Send(to, message) => {
                    self.channels.entry((node, to)).or_default().push_back(message);
                }
                Effect::Invalidate { line, sharers, version } => {
                    let all = (0..case.nodes).map(NodeId);
                    let left = all.filter(|node| case.to_all || sharers.contains(*node)).collect();
                    self.casts.push(Cast { home: node, line, version, left });
                }
                Effect::Ready(line, access) => {
                    if self.doing[node.0 as usize] != Some((line, access)) {
                        return Err(format!("node {} is given {line:?}, and has not asked", node.0));
                    }
                    self.use_now(node, line, access)?;
                }
            }
        }
        Ok(())
    }
}

impl Model for Case {
    type State = State;
    type Action = Action;
    fn start(&self) -> State {
        assert!((2..=5).contains(&self.nodes), "there are homes for 2 to 5 nodes");
        let store = || DirectMapped::new(self.places, homes(self.nodes), BTreeMap::new());
        State {
            nodes: (0..self.nodes).map(|node| Node::new(NodeId(node), store())).collect(),
            channels: BTreeMap::new(),
            casts: Vec::new(),
            doing: vec![None; self.nodes as usize],
            left: vec![self.uses; self.nodes as usize],
            last: vec![0; self.lines as usize],
        }
    }
    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for node in (0..self.nodes).map(NodeId) {
            if state.left[node.0 as usize] > 0 && state.doing[node.0 as usize].is_none() {
                for line in (0..self.lines).map(Line) {
                    actions
                        .extend([Access::Read, Access::Write].map(|access| Action::Use(node, line, access)));
                }
            }
        }
        for ((from, to), messages) in &state.channels {
            let first = if self.in_order { messages.len().min(1) } else { messages.len() };
            actions.extend((0..first).map(|at| Action::Come(*from, *to, at)));
        }
        for (at, cast) in state.casts.iter().enumerate() {
            actions.extend(cast.left.iter().map(|node| Action::Copy(at, *node)));
            if cast.left.is_empty() {
                actions.push(Action::Acknowledged(at));
            }
        }
    }
    fn step(&self, state: &mut State, action: &Action) -> Result<(), String> {
        let mut effects = Vec::new();
        let strange = |Strange| format!("{action:?} is no event of the protocol");
        let node = match *action {
            Action::Use(node, line, access) => {
                state.left[node.0 as usize] -= 1;
                state.doing[node.0 as usize] = Some((line, access));
                if state.nodes[node.0 as usize].want(line, access, &mut effects) {
                    state.use_now(node, line, access)?;
                }
                node
            }
            Action::Come(from, to, at) => {
                let channel = state.channels.get_mut(&(from, to)).ok_or("there is a channel")?;
                let message = channel.remove(at).ok_or("there is a message")?;
                if channel.is_empty() {
                    state.channels.remove(&(from, to));
                }
                state.nodes[to.0 as usize].receive(from, message, &mut effects).map_err(strange)?;
                to
            }
            Action::Copy(at, node) => {
                let cast = &mut state.casts[at];
                cast.left.retain(|left| *left != node);
                state.nodes[node.0 as usize].invalidate(cast.line, cast.version);
                node
            }
            Action::Acknowledged(at) => {
                let cast = state.casts.remove(at);
                let home = &mut state.nodes[cast.home.0 as usize];
                home.invalidated(cast.line, &mut effects).map_err(strange)?;
                cast.home
            }
        };
        state.effects(self, node, effects)
    }
    fn check(&self, state: &State) -> Result<(), String> {
        for line in (0..self.lines).map(Line) {
            let mut holders = Vec::new();
            for node in &state.nodes {
                if let Some(held) = node.store.clone().held(line) {
                    holders.push(held.access);
                    if held.bytes[0] != state.last[line.0 as usize] {
                        return Err(format!("L2: an old copy of {line:?} at node {}", node.node.0));
                    }
                }
            }
            if holders.len() > 1 && holders.contains(&Access::Write) {
                return Err(format!("L1: {line:?} has {} holders, one of them writes", holders.len()));
            }
        }
        Ok(())
    }
    fn end(&self, state: &State) -> Result<(), String> {
        let waits = state.nodes.iter().any(Node::is_waiting) || state.doing.iter().any(Option::is_some);
        if waits { Err("somebody waits for ever".into()) } else { Ok(()) }
    }
    fn parts(&self, action: &Action) -> u64 {
        match action {
            Action::Use(node, ..) => 1 << node.0,
            Action::Come(from, to, _) => 1 << (8 + from.0 * self.nodes + to.0),
            Action::Copy(..) | Action::Acknowledged(_) => 1 << 63,
        }
    }
}

const SMALL: Case = Case { nodes: 2, lines: 1, places: 1, uses: 3, to_all: false, in_order: true };

#[test]
fn lines_are_coherent_in_every_order() {
    let cases = [
        SMALL,
        Case { to_all: true, ..SMALL },
        Case { lines: 2, uses: 2, ..SMALL },
        Case { lines: 2, uses: 2, to_all: true, ..SMALL },
        Case { nodes: 3, uses: 2, ..SMALL },
        Case { nodes: 3, uses: 2, to_all: true, ..SMALL },
        Case { nodes: 3, uses: 1, lines: 2, ..SMALL },
        Case { nodes: 3, uses: 1, lines: 2, to_all: true, ..SMALL },
    ];
    for case in cases {
        let explored = breadth_first(&case, 4_000_000).unwrap_or_else(|broken| panic!("{case:?}: {broken}"));
        assert!(explored.complete && explored.ends > 0, "{case:?}: {explored:?}");
        println!("{case:?}: {} states", explored.states);
    }
}

#[test]
fn lines_are_coherent_in_random_orders() {
    let walked = walks(0..400, 100_000, |seed| {
        let mut random = Random::new(seed);
        Case {
            nodes: 2 + random.below(4),
            lines: 1 + random.below(4),
            places: 1 + random.below(3) as usize,
            uses: 10,
            to_all: random.below(2) == 0,
            in_order: true,
        }
    });
    let walked = walked.unwrap_or_else(|broken| panic!("{broken}"));
    assert_eq!(walked.ended, 400);
}

/// What the protocol needs of the network it does need: the explorer sees what goes wrong without it.
#[test]
fn messages_out_of_order_break_it() {
    let case = Case { lines: 2, in_order: false, ..SMALL };
    assert!(breadth_first(&case, 1_000_000).is_err());
}

/// Nothing that a stranger sends changes anything.
#[test]
fn strange_messages_are_refused() {
    let store = DirectMapped::new(2, homes(2), BTreeMap::new());
    let mut node = Node::new(NodeId(1), store);
    let held = Held { bytes: [1; LINE_BYTES], access: Access::Write, version: 3 };
    let mut effects = Vec::new();
    for message in [
        Message::Want(Line(2), Access::Read),
        Message::Grant(Line(2), held.clone()),
        Message::Recall { line: Line(1), keep: true, version: 0 },
        Message::Give { line: Line(1), keeps: false, held },
    ] {
        assert_eq!(node.receive(NodeId(0), message, &mut effects), Err(Strange));
    }
    assert_eq!(node.invalidated(Line(1), &mut effects), Err(Strange));
    assert!(!node.invalidate(Line(2), 9) && effects.is_empty() && !node.is_waiting());
}
