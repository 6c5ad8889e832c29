//! A model of what is left of a shoen whose goals are at several nodes, of which some die: X20 and X21 of the
//! runtime's `goals::shoen`, whose design is in `goals::shoen::losses`. It knows goals, fosters, acknowledgements,
//! deaths, and what goals leave open for daemons until the shoen is aborted: its own, and those of shoens inside, each
//! of which sends one goal from its own node to another one.
//! Messages between two nodes come in any order, as the goals that they are run in any.

use explorer::{Break, Model, breadth_first, walks};

const NODES: usize = 4;
/// The shoen's own node.
const HOME: u8 = 0;

/// What a node tells another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Message {
    Goal,
    /// At these nodes, a bit each, something is left open.
    Done(u8),
    /// The sender has a new foster.
    Hello,
    /// The shoen was aborted.
    Abort,
    /// A goal of a shoen inside, whose own node sends it.
    Inside,
    /// Nothing is left of that but what is open; and whether the other shoen was aborted, which closes it.
    InsideDone,
    InsideAbort,
    InsideAborted,
    /// The shoen's own node counts the receiver, because this node is dead.
    Lost(u8),
    /// The sender is dead.
    Death,
}

#[derive(Clone, Default, Hash, Debug)]
struct Node {
    dead: bool,
    goals: u8,
    /// Of a foster: whom it tells when nothing is left.
    parent: Option<u8>,
    aborted: bool,
    /// Goals have opened something here that daemons use.
    open: bool,
    /// Where something is left open, or may be, as far as the shoen's own node knows, or a foster.
    left: u8,
    away: [u8; NODES],
    has_sent: bool,
    /// Shoens inside this one that are made here, by where their goals are; and the nodes, a bit each, whose shoens
    /// inside this one have opened something here.
    inside: [u8; NODES],
    open_inside: u8,
    /// Dead nodes that it knows of; and how often the shoen's own node has told it of them before.
    known: [bool; NODES],
    early: [u8; NODES],
}

#[derive(Clone, Default, Hash, Debug)]
struct State {
    nodes: [Node; NODES],
    /// By sender and receiver, in the order of kinds.
    messages: [[Vec<Message>; NODES]; NODES],
    throws: u8,
    deaths: u8,
    opens: u8,
    over: bool,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Finish(u8),
    Throw(u8, u8),
    Open(u8),
    /// A goal makes a shoen inside, whose goal goes to another node and opens something there.
    OpenInside(u8, u8),
    Abort,
    Die(u8),
    Deliver(u8, u8, Message),
}

/// A part that tests take away.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// The shoen's own node counts the branches of a dead one.
    Branches,
    /// A foster's node counts what it sent to a dead one until it is told.
    Patience,
    /// A node that does not know of a death does not answer.
    Early,
    /// A branch answers when nothing is left of it.
    Adopts,
    /// New fosters are told of those that are dead.
    Hello,
    /// What a dead node has sent is not taken in any more.
    Drops,
    /// Whoever tells that nothing is left tells where something is open.
    Left,
    /// The shoen's own node counts what it tells others of an abort.
    Counts,
    /// A node knows of what is open which shoens are around the one that has opened it.
    Around,
    /// Where a shoen has left something open that is over, so has the one around it.
    Inherits,
}

struct Shoen {
    nodes: usize,
    throws: u8,
    deaths: u8,
    /// What goals open at most; whether it is aborted.
    opens: u8,
    aborts: bool,
    without: Option<Rule>,
}

impl Shoen {
    fn rule(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }
    fn send(&self, state: &mut State, from: u8, to: u8, message: Message) {
        if !state.nodes[to as usize].dead && !state.nodes[from as usize].known[to as usize] {
            let way = &mut state.messages[from as usize][to as usize];
            way.push(message);
            way.sort_unstable();
        }
    }
    /// A holder of the shoen has left a node.
    fn left(&self, state: &mut State, at: u8) {
        let node = &mut state.nodes[at as usize];
        if node.goals > 0 || node.away.iter().chain(&node.inside).any(|&goals| goals > 0) {
            return;
        }
        if at == HOME {
            state.over = true;
        } else if let Some(parent) = node.parent.take() {
            // What an aborted one has opened is closed.
            node.open &= !node.aborted;
            node.aborted = false;
            let left = std::mem::take(&mut node.left) | u8::from(self.has_left(node)) << at;
            self.send_done(state, at, parent, left);
        }
    }
    /// Whether something is open here that was opened by what belongs to the shoen, as far as the node knows.
    fn has_left(&self, node: &Node) -> bool {
        node.open || node.open_inside != 0 && self.rule(Rule::Around)
    }
    /// What is open here is closed, as the shoen was aborted.
    fn close(&self, node: &mut Node) {
        node.open = false;
        if self.rule(Rule::Around) {
            node.open_inside = 0;
        }
    }
    fn send_done(&self, state: &mut State, from: u8, to: u8, left: u8) {
        self.send(state, from, to, Message::Done(if self.rule(Rule::Left) { left } else { 0 }));
    }
    /// The shoen's own node tells another one that it was aborted, and counts that.
    fn order(&self, state: &mut State, node: u8) {
        if !state.nodes[HOME as usize].known[node as usize] {
            state.nodes[HOME as usize].away[node as usize] += u8::from(self.rule(Rule::Counts));
            self.send(state, HOME, node, Message::Abort);
        }
    }
    fn order_all(&self, state: &mut State, nodes: u8) {
        let others = (1..self.nodes as u8).filter(|node| nodes >> node & 1 != 0);
        others.for_each(|node| self.order(state, node));
    }
    fn abort(&self, state: &mut State) {
        let home = &mut state.nodes[HOME as usize];
        (home.aborted, home.goals) = (true, 0);
        self.close(home);
        let nodes = home.left;
        self.order_all(state, nodes);
        self.left(state, HOME);
    }
    fn obey(&self, state: &mut State, at: u8) {
        self.close(&mut state.nodes[at as usize]);
        if self.rule(Rule::Counts) {
            self.send_done(state, at, HOME, 0);
        }
        let node = &mut state.nodes[at as usize];
        if node.parent.is_some() {
            (node.aborted, node.goals) = (true, 0);
            self.left(state, at);
        }
    }
    fn take_in(&self, state: &mut State, from: u8, at: u8) {
        let node = &mut state.nodes[at as usize];
        if node.known[from as usize] && self.rule(Rule::Drops) {
            return;
        }
        node.goals += u8::from(!node.aborted);
        let new = at != HOME && node.parent.is_none();
        if new {
            node.parent = Some(from);
            self.send(state, at, HOME, Message::Hello);
        } else {
            self.send_done(state, at, from, 0);
        }
        if state.nodes[at as usize].aborted {
            self.left(state, at);
        }
    }
    fn done(&self, state: &mut State, from: u8, at: u8, left: u8) -> Result<(), String> {
        let away = &mut state.nodes[at as usize].away[from as usize];
        match away.checked_sub(1) {
            Some(less) => *away = less,
            None if state.nodes[at as usize].known[from as usize] => return Ok(()),
            None => return Err(format!("node {at} had nothing at node {from}")),
        }
        self.note_left(state, at, left);
        self.left(state, at);
        Ok(())
    }
    /// Of the shoen, or of one inside, something is left open at these nodes.
    fn note_left(&self, state: &mut State, at: u8, left: u8) {
        let node = &mut state.nodes[at as usize];
        node.left |= left;
        if at == HOME && node.aborted {
            if left >> HOME & 1 != 0 {
                self.close(node);
            }
            self.order_all(state, left);
        }
    }
    /// What a shoen inside says where its goal is, whose own node is `from`.
    fn inside(&self, state: &mut State, from: u8, at: u8, aborted: bool) {
        let node = &mut state.nodes[at as usize];
        if node.known[from as usize] && self.rule(Rule::Drops) {
            return;
        }
        node.open_inside = node.open_inside & !(1 << from) | u8::from(!aborted) << from;
        self.send(state, at, from, if aborted { Message::InsideAborted } else { Message::InsideDone });
    }
    /// What is said to the node of a shoen inside of its goal.
    fn inside_done(&self, state: &mut State, from: u8, at: u8, closed: bool) {
        let node = &mut state.nodes[at as usize];
        if node.known[from as usize] {
            return;
        }
        if node.aborted && !closed {
            return self.send(state, at, from, Message::InsideAbort);
        }
        node.inside[from as usize] -= 1;
        if !closed && self.rule(Rule::Inherits) {
            self.note_left(state, at, 1 << from);
        }
        self.left(state, at);
    }
    fn death(&self, state: &mut State, dead: u8, at: u8) {
        let node = &mut state.nodes[at as usize];
        node.known[dead as usize] = true;
        // Shoens of the dead node are aborted.
        node.open_inside &= !(1 << dead);
        if at != HOME {
            if !self.rule(Rule::Patience) {
                node.away[dead as usize] = 0;
                self.left(state, at);
            }
            let early = std::mem::take(&mut state.nodes[at as usize].early[dead as usize]);
            (0..early).for_each(|_| self.lost(state, dead, at));
            if std::mem::take(&mut state.nodes[at as usize].inside[dead as usize]) > 0 {
                self.left(state, at);
            }
            return;
        }
        if state.over {
            return;
        }
        if node.has_sent && self.rule(Rule::Branches) {
            (1..self.nodes as u8).for_each(|other| self.ask(state, other, dead));
        }
        let node = &mut state.nodes[at as usize];
        (node.away[dead as usize], node.inside[dead as usize]) = (0, 0);
        self.left(state, at);
    }
    fn hello(&self, state: &mut State, from: u8) {
        if state.over {
            return;
        }
        state.nodes[HOME as usize].left |= 1 << from;
        if state.nodes[HOME as usize].aborted {
            self.order(state, from);
        }
        if !self.rule(Rule::Hello) {
            return;
        }
        for dead in (0..self.nodes).filter(|&node| state.nodes[HOME as usize].known[node]).collect::<Vec<_>>()
        {
            self.ask(state, from, dead as u8);
        }
    }
    /// The shoen's own node counts a node, because another one is dead.
    fn ask(&self, state: &mut State, node: u8, dead: u8) {
        if !state.nodes[HOME as usize].known[node as usize] {
            state.nodes[HOME as usize].away[node as usize] += 1;
            self.send(state, HOME, node, Message::Lost(dead));
        }
    }
    fn lost(&self, state: &mut State, dead: u8, at: u8) {
        let node = &mut state.nodes[at as usize];
        if !node.known[dead as usize] && self.rule(Rule::Early) {
            node.early[dead as usize] += 1;
            return;
        }
        node.away[dead as usize] = 0;
        if node.parent == Some(dead) && self.rule(Rule::Adopts) {
            node.parent = Some(HOME);
        } else {
            let left = u8::from(node.parent.is_none() && self.has_left(node)) << at;
            self.send_done(state, at, HOME, left);
        }
        self.left(state, at);
    }
}

impl Model for Shoen {
    type State = State;
    type Action = Action;
    fn start(&self) -> State {
        let mut state = State::default();
        state.nodes[HOME as usize].goals = 1;
        state
    }
    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let nodes = || 0..self.nodes as u8;
        if self.aborts && !state.over && !state.nodes[HOME as usize].aborted {
            actions.push(Action::Abort);
        }
        for at in nodes() {
            let node = &state.nodes[at as usize];
            if node.dead {
                continue;
            }
            if node.goals > 0 {
                actions.push(Action::Finish(at));
                if at != HOME && state.opens < self.opens {
                    actions.push(Action::Open(at));
                }
                let lives = |to: &u8| *to != at && !node.known[*to as usize];
                if state.opens < self.opens {
                    actions.extend(nodes().filter(lives).map(|to| Action::OpenInside(at, to)));
                }
                if state.throws < self.throws {
                    actions.extend(nodes().filter(lives).map(|to| Action::Throw(at, to)));
                }
            }
            if at != HOME && state.deaths < self.deaths {
                actions.push(Action::Die(at));
            }
            for from in nodes() {
                let mut kinds = state.messages[from as usize][at as usize].clone();
                kinds.dedup();
                actions.extend(kinds.into_iter().map(|kind| Action::Deliver(from, at, kind)));
            }
        }
    }
    fn step(&self, state: &mut State, action: &Action) -> Result<(), String> {
        match *action {
            Action::Finish(at) => {
                state.nodes[at as usize].goals -= 1;
                self.left(state, at);
            }
            Action::Throw(at, to) => {
                state.throws += 1;
                let node = &mut state.nodes[at as usize];
                (node.away[to as usize], node.has_sent) = (node.away[to as usize] + 1, true);
                self.send(state, at, to, Message::Goal);
            }
            Action::Open(at) => {
                state.opens += 1;
                state.nodes[at as usize].open = true;
            }
            Action::OpenInside(at, to) => {
                state.opens += 1;
                let node = &mut state.nodes[at as usize];
                (node.inside[to as usize], node.has_sent) = (node.inside[to as usize] + 1, true);
                self.send(state, at, to, Message::Inside);
            }
            Action::Abort => self.abort(state),
            Action::Die(at) => {
                state.deaths += 1;
                for to in (0..self.nodes as u8).filter(|&to| to != at) {
                    self.send(state, at, to, Message::Death);
                }
                state.nodes[at as usize] = Node { dead: true, ..Node::default() };
                (0..self.nodes).for_each(|from| state.messages[from][at as usize].clear());
            }
            Action::Deliver(from, at, message) => {
                let way = &mut state.messages[from as usize][at as usize];
                let place = way.iter().position(|&other| other == message).ok_or("no such message")?;
                way.remove(place);
                match message {
                    Message::Goal => self.take_in(state, from, at),
                    Message::Done(left) => self.done(state, from, at, left)?,
                    Message::Hello => self.hello(state, from),
                    Message::Abort => self.obey(state, at),
                    Message::Inside => self.inside(state, from, at, false),
                    Message::InsideAbort => self.inside(state, from, at, true),
                    Message::InsideDone => self.inside_done(state, from, at, false),
                    Message::InsideAborted => self.inside_done(state, from, at, true),
                    Message::Lost(dead) => self.lost(state, dead, at),
                    Message::Death => self.death(state, from, at),
                }
            }
        }
        Ok(())
    }
    fn check(&self, state: &State) -> Result<(), String> {
        if state.over && state.nodes.iter().any(|node| node.goals > 0) {
            return Err("the shoen is over, and a node has goals of it".into());
        }
        let aborted = state.over && state.nodes[HOME as usize].aborted;
        match aborted && state.nodes.iter().any(|node| node.open || node.open_inside != 0) {
            true => Err("the shoen was aborted, and something is open".into()),
            false => Ok(()),
        }
    }
    fn end(&self, state: &State) -> Result<(), String> {
        if !state.over {
            return Err("nothing is left, and the shoen is not over".into());
        }
        let foster = state.nodes.iter().any(|node| node.parent.is_some());
        if foster { Err("a foster is left".into()) } else { Ok(()) }
    }
    fn parts(&self, action: &Action) -> u64 {
        match *action {
            Action::Finish(at)
            | Action::Throw(at, _)
            | Action::Open(at)
            | Action::OpenInside(at, _)
            | Action::Die(at) => 1 << at,
            Action::Abort => 1 << HOME,
            Action::Deliver(from, at, _) => 1 << at | 1 << (8 + NODES * from as usize + at as usize),
        }
    }
}

fn model(nodes: usize, throws: u8, deaths: u8, without: Option<Rule>) -> Shoen {
    Shoen { nodes, throws, deaths, opens: 0, aborts: false, without }
}

/// The same of one that is aborted.
fn aborted(nodes: usize, throws: u8, deaths: u8, without: Option<Rule>) -> Shoen {
    Shoen { opens: 2, aborts: true, ..model(nodes, throws, deaths, without) }
}

/// `FIFTH_SEEDS=100000` walks more ways.
fn seeds() -> u64 {
    std::env::var("FIFTH_SEEDS").map_or(4_000, |seeds| seeds.parse().expect("a number"))
}

#[test]
fn a_shoen_is_over_when_nothing_is_left_of_it_whoever_dies() {
    let explored = breadth_first(&model(3, 3, 1, None), 3_000_000).unwrap_or_else(|found| panic!("{found}"));
    assert!(explored.complete && explored.ends > 0, "{explored:?}");
    walks(0..seeds(), 10_000, |seed| model(4, 4 + (seed % 8) as u8, (seed % 4) as u8, None))
        .unwrap_or_else(|found| panic!("{found}"));
}

#[test]
fn nothing_is_open_when_an_aborted_shoen_is_over_whoever_dies() {
    let explored =
        breadth_first(&aborted(3, 2, 0, None), 3_000_000).unwrap_or_else(|found| panic!("{found}"));
    assert!(explored.complete && explored.ends > 0, "{explored:?}");
    walks(0..seeds(), 10_000, |seed| aborted(4, 3 + (seed % 8) as u8, (seed % 4) as u8, None))
        .unwrap_or_else(|found| panic!("{found}"));
}

#[test]
fn each_rule_is_needed() {
    let broken = |rule| -> Option<Break> {
        let walks = walks(0..20_000, 10_000, |seed| match rule {
            Rule::Left | Rule::Counts | Rule::Around | Rule::Inherits => {
                aborted(4, 4 + (seed % 8) as u8, 0, Some(rule))
            }
            _ => model(4, 4 + (seed % 8) as u8, 1, Some(rule)),
        });
        breadth_first(&model(3, 3, 1, Some(rule)), 300_000).err().or(walks.err())
    };
    for (rule, name) in [
        (Rule::Branches, "branches"),
        (Rule::Patience, "patience"),
        (Rule::Early, "early"),
        (Rule::Adopts, "adopts"),
        (Rule::Hello, "hello"),
        (Rule::Drops, "drops"),
        (Rule::Left, "left"),
        (Rule::Counts, "counts"),
        (Rule::Around, "around"),
        (Rule::Inherits, "inherits"),
    ] {
        assert!(broken(rule).is_some(), "{name} is not needed");
    }
}
