//! A node of the runtime as a program of the machine layer.
//!
//! Reducing goals is the node's background work: a *turn* goes on until it is time to look for messages. After each
//! turn, what happened to variables that other nodes know is told to the protocol, whose messages become the
//! machine's. Between turns messages come in, and bind variables and make goals ready.
//!
//! Invariants:
//! - J1 A node of this process that is reducing is woken after a message for it can be seen: bells ring at the next
//!   background work, before which the machine has polled, as a rule, and so published. It may overlook that (K2 of
//!   the runtime's `waker`), and what had to wait for credits or for room leaves later: so it is reminded, too, every
//!   5 ms while it reduces, and looks even if it allocates nothing. A node of another process looks by itself.
//! - J2 A node whose run has ended, by itself or because another one's has, reduces nothing more and drops what
//!   comes: so the machine finds that nobody has anything to do.
//! - J3 A node with a meter is simulated: its turns are slices of reductions, and virtual time passes with each
//!   reduction and message, before what follows from it is sent.
//! - J5 A node from which more than a quarter of its heap limit is under way has no turn, and so hands no goal over,
//!   until that is less. It goes on handling what comes: what it sends for that answers others. So what is under way to
//!   it gets less whatever it waits for itself, and no two nodes wait for each other.
//! - J7 Near its heap limit a node first reduces what others have thrown to it: while its worker 0 has ready goals, its
//!   other workers hand none over. So of goals that are thrown to and fro no more wait than with one worker. After
//!   [`SHORT_TURNS`] turns in a row the others go on for one: nobody waits for ever, whatever worker 0 does.
//! - J4 What shows a value to another node leaves when what is beside terms ([`crate::Beside`]) lets it, and all
//!   messages of a priority to a node leave in order. While any is kept, an answer to this node is under way: so the
//!   run goes on (X4 of `machine`).
//! - J6 A simulated node may die ([`Crash`](crate::Crash)): its turn, what it has not told and what it keeps are
//!   lost, and it does nothing more but tell all others, in both priorities: so behind all that it has sent. The
//!   machine layer below it lives, drops what comes (J2), and finds the end of the run. Others hold it for dead when
//!   they were told in both priorities. What that means says `losses` of the protocol and of the runtime's shoens.
//!   Node 0's death ends the run.

mod inbound;
mod losses;
mod outbound;
mod outgoing;
mod trace;

use crate::balance::{Balance, Notice, Rounds};
use crate::coherence::Shared;
use crate::model::{Meter, Work};
use crate::protocol::{Fault, Options, Protocol};
use crate::run::Part;
use fabric::{Fabric, NodeId, Priority, Time};
use machine::{Call, Context, Here, Program, Verdict};
use outbound::Outbound;
use outgoing::{BALANCE, Outgoing, PROTOCOL};
use runtime::node::{Bell, Node, Turn, Watcher};
use runtime::outcome::{ErrorKind, ProgramError, RunOutcome};
use runtime::schedule::thread_time;
use runtime::watch::{self, Virtual};
use std::collections::BTreeSet;
use std::sync::Arc;
use term::abi::PredicateId;
use trace::Letters;

/// The run is over. A word: 1 if somebody has interrupted it, so that all nodes tell what waits.
const STOP: u32 = 1;
/// Somebody wants to know what waits.
const ASKED: u32 = 2;
/// Nothing is ready at any node, and goals of shoens may wait for ever. A word: shoens of this depth are told; 0: node
/// 0 wants to know the greatest depth of one that was not, and gets it.
const STUCK: u32 = 3;
/// J6: the sender is dead.
const LOST: u32 = 5;
/// What a message between threads or processes takes of both its nodes at most, with waking one of them.
const MESSAGE_NS: u64 = 5_000;
/// Levels of structure that a gift brings of what it awaits.
const GIFT_LEVELS: u8 = 64;
/// J7: less than this part of the heap limit is left: half. The turns.
const SHORT_PART: usize = 2;
const SHORT_TURNS: u32 = 64;
/// J5: a node has at most this part of its heap limit under way: a quarter.
const UNDER_WAY_PART: u64 = 4;

/// See the module comment.
pub(crate) struct Reducer<'a> {
    node: &'a mut Node,
    /// What the run begins with: at the first node.
    goal: Option<PredicateId>,
    out: Outbound,
    /// Those of all nodes, if they are threads of this process.
    bells: Arc<[Bell]>,
    /// Room for the words of a message that came as a payload.
    incoming: Vec<u64>,
    /// The run has ended at this node.
    over: bool,
    /// How it ended, if it did so here, and when.
    ended: Option<(Time, RunOutcome)>,
    balance: Balance,
    /// Messages about terms and goals that have come.
    received: u64,
    /// Something has come since this node rested, or it has not rested.
    woken: bool,
    /// J5, or R1 of `rounds`.
    holds_back: bool,
    /// J7: turns in a row for which the other workers have handed nothing over.
    short: u32,
    /// Of node 0: all nodes were asked how deep shoens are that wait for ever, and the deepest that is known.
    deepest: Option<u32>,
    rounds: Rounds,
    /// J6: who has said that it is dead, in which priority.
    deaths: BTreeSet<(NodeId, Priority)>,
    /// Somebody may watch the run.
    watcher: Option<Watcher>,
}

impl<'a> Reducer<'a> {
    /// A node that is going to run, beginning with this goal if it is to have one. The first `atoms` atoms have the
    /// same numbers at all nodes.
    pub(crate) fn new(
        node: &'a mut Node,
        goal: Option<PredicateId>,
        options: Options,
        atoms: u32,
        bells: Arc<[Bell]>,
        meter: Option<Meter>,
    ) -> Reducer<'a> {
        assert!(bells.is_empty() || bells.len() == options.nodes as usize, "J1: each node has a bell");
        assert!(meter.is_none() || node.worker_count() == 1, "J3: a simulated node has one worker");
        let watcher = node.watcher();
        let (letters, beside) = (Letters::of(node), Shared::of(&mut node.terms()));
        let outgoing = Outgoing::new(letters, beside);
        let limit = node.terms().heap_limit();
        let (balances, message) =
            (node.options().balance, meter.as_ref().map_or(MESSAGE_NS, |meter| meter.model().message()));
        let balance = Balance::new(options.node, options.nodes, balances, message);
        Reducer {
            node,
            goal,
            out: Outbound { protocol: Protocol::new(options), atoms, late: Vec::new(), outgoing, meter },
            bells,
            incoming: Vec::new(),
            over: false,
            ended: None,
            balance,
            received: 0,
            woken: true,
            holds_back: false,
            short: 0,
            deepest: None,
            rounds: Rounds::new(options.node, options.nodes, limit),
            deaths: BTreeSet::new(),
            watcher,
        }
    }

    /// What a simulated node has done.
    pub(crate) fn work(&self) -> Option<&Work> {
        self.out.meter.as_ref().map(|meter| &meter.work)
    }

    /// When all nodes are done: when the run ended here by itself, and how; or what waits.
    pub(crate) fn end(&mut self) -> Part {
        let (time, outcome) = match self.ended.take() {
            Some((time, outcome)) => (Some(time.0), outcome),
            None if self.over => (None, RunOutcome::Success),
            None => {
                let outcome = self.node.stuck();
                (None, self.node.end(Some(outcome)))
            }
        };
        let counts = self.out.outgoing.beside.get().map(|beside| beside.counts()).unwrap_or_default();
        let beside = counts.into_iter().map(|(name, count)| (name.to_string(), count)).collect();
        Part { time, outcome, waiting: self.node.take_waiting(), counters: self.out.counters(), beside }
    }

    /// The run ends, with this outcome unless the node has one.
    fn stop<F: Fabric>(&mut self, context: &mut Context<'_, F>, outcome: Option<RunOutcome>) {
        if self.over {
            return;
        }
        self.over = true;
        let outcome = self.node.end(outcome);
        let interrupted =
            matches!(&outcome, RunOutcome::Failed(error) if error.kind == ErrorKind::Interrupted);
        self.ended = Some((context.now(), outcome));
        self.show(context);
        let (own, why) = (context.node(), [u64::from(interrupted)]);
        for to in (0..context.nodes()).map(NodeId).filter(|&to| to != own) {
            context.send(to, Priority::High, STOP, &why);
            self.out.outgoing.bells.push(to);
        }
    }

    fn fault<F: Fabric>(&mut self, context: &mut Context<'_, F>, fault: Fault) {
        let kind = if fault == Fault::Full { ErrorKind::HeapLimit } else { ErrorKind::Other };
        let error = ProgramError::new(kind, fault.to_string());
        self.stop(context, Some(RunOutcome::Failed(error)));
    }

    /// Messages about terms and goals that this node has sent and received.
    fn traffic(&self) -> u64 {
        self.out.protocol.sent() + self.received
    }

    /// For how long this node has reduced: of a simulated one in cycles, of others in nanoseconds of its thread.
    fn time(&self) -> u64 {
        match &self.out.meter {
            Some(meter) => meter.work.reducing,
            None => thread_time().as_nanos() as u64,
        }
    }

    /// J5: looks what is under way, which counts for the heap limit. True if the node is to have no turn, for that or
    /// because it is in rounds.
    fn must_hold_back<F: Fabric>(&mut self, context: &mut Context<'_, F>, in_rounds: bool) -> bool {
        let under_way = context.under_way() + self.out.outgoing.kept;
        let worker = self.node.terms();
        let limit = worker.heap_limit() as u64;
        // A turn ends what is to end.
        let goes_on = worker.may_go_on(0).is_ok();
        self.holds_back = goes_on && (in_rounds || under_way > limit / UNDER_WAY_PART);
        let short = worker.room() < worker.heap_limit() / SHORT_PART && worker.has_ready();
        self.short = if short && self.short < SHORT_TURNS { self.short + 1 } else { 0 };
        debug_assert!(self.short <= SHORT_TURNS, "J7: others wait for {} turns", self.short);
        let others = self.holds_back || goes_on && self.short > 0;
        self.node.set_under_way(under_way, others);
        if under_way > limit && goes_on {
            let [under_way, limit] = [under_way, limit].map(|bytes| bytes.div_ceil(1 << 20));
            let message = format!(
                "the heap limit of {limit} MiB is reached: messages to other nodes that are under way take \
                 {under_way} MiB"
            );
            self.stop(context, Some(RunOutcome::Failed(ProgramError::new(ErrorKind::HeapLimit, message))));
            return true;
        }
        self.holds_back
    }

    /// The node has nothing to do.
    fn rest<F: Fabric>(&mut self, context: &mut Context<'_, F>) {
        if !std::mem::take(&mut self.woken) {
            return;
        }
        // Nobody can ask it soon.
        self.show(context);
        if self.balance.measures() && !self.node.has_waiting() {
            let told = self.balance.close(self.traffic());
            self.out.say(context, told);
        }
        let asked = self.balance.rest();
        self.out.say(context, asked.into_iter().map(|other| (other, Notice::Hungry)));
    }

    /// A turn, and how long it took if that is to be known.
    fn turn<F: Fabric>(&mut self, context: &mut Context<'_, F>) -> Turn {
        debug_assert!(!self.over && !self.holds_back, "J2, J5: it reduces nothing");
        let begin = self.balance.measures().then(|| self.time());
        let turn = match &mut self.out.meter {
            None => self.node.turn(),
            Some(meter) => {
                let (turn, reductions) = self.node.turn_within(meter.slice());
                context.spend(meter.reduce(reductions));
                turn
            }
        };
        begin.into_iter().for_each(|begin| self.balance.spend(self.time() - begin));
        turn
    }

    /// If somebody asked the first node what waits, the others are asked, too.
    fn pass_question_on<F: Fabric>(&mut self, context: &mut Context<'_, F>) {
        if self.node.take_asked() && context.node() == NodeId(0) {
            for to in (1..context.nodes()).map(NodeId) {
                context.send(to, Priority::High, ASKED, &[]);
                self.out.outgoing.bells.push(to);
            }
        }
    }

    /// Shows what this node has sent, to whoever watches.
    fn show<F: Fabric>(&self, context: &Context<'_, F>) {
        let Some(watcher) = &self.watcher else { return };
        let (counters, now) = (self.out.counters(), || context.now().0);
        let simulated = self.out.meter.as_ref().map(|meter| {
            let Work { reductions, reducing, messages, .. } = meter.work;
            Virtual { now: now(), reducing, messages, reductions }
        });
        watcher.show_letters(watch::Letters {
            at: 0,
            sent: counters.sent.to_vec(),
            received: self.received,
            gifts: counters.gifts,
            exports: counters.exports,
            imports: counters.imports,
            simulated,
        });
    }

    /// At node 0: how deep another one's shoens are that wait for ever. At others: what node 0 wants of them.
    fn hear_of_deadlock<F: Fabric>(&mut self, context: &mut Context<'_, F>, depth: u32) {
        if context.node() == NodeId(0) {
            self.deepest = self.deepest.map(|deepest| deepest.max(depth));
        } else if depth > 0 {
            self.node.tell_of_deadlock(depth);
        } else if let Some(deepest) = self.node.deepest_deadlock() {
            context.send(NodeId(0), Priority::High, STUCK, &[deepest.into()]);
            self.out.outgoing.bells.push(NodeId(0));
        }
    }

    /// J1.
    fn ring(&mut self) {
        for to in self.out.outgoing.bells.drain(..) {
            self.bells.get(to.0 as usize).inspect(|bell| bell.ring());
        }
    }
}

impl Program for Reducer<'_> {
    fn start(&mut self, _: &Here) {
        let mut terms = self.node.terms();
        self.out.outgoing.beside.get().into_iter().for_each(|mut beside| beside.begin(&mut terms));
        self.node.begin(self.goal);
    }

    fn handle<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        match call.code {
            _ if self.over || self.dies(context) => {}
            STOP => {
                self.over = true;
                if call.words.first() == Some(&1) {
                    self.node.list_waiting();
                }
                self.node.end(Some(RunOutcome::Success));
                self.show(context);
            }
            ASKED => _ = self.node.waker().ask(),
            STUCK => self.hear_of_deadlock(context, call.words.first().map_or(0, |&depth| depth as u32)),
            LOST => self.hear_of_death(context, call.from, call.priority),
            PROTOCOL => self.hear(context, call),
            BALANCE => self.consider(context, call),
            kind => return self.pass_on(context, call, kind),
        }
        Verdict::Done
    }

    fn background<F: Fabric>(&mut self, context: &mut Context<'_, F>) -> bool {
        self.ring();
        if self.over || self.dies(context) {
            return false;
        }
        if self.watcher.as_ref().is_some_and(Watcher::take_letters_asked) {
            self.show(context);
        }
        let in_rounds = self.take_part(context);
        if self.must_hold_back(context, in_rounds) {
            // What comes wakes it, and so does each acknowledgement.
            self.out.outgoing.send_beside(context);
            return !self.out.outgoing.bells.is_empty();
        }
        if self.balance.is_asked() && self.out.meter.is_none() {
            self.node.look_soon();
        }
        let turn = self.turn(context);
        if self.dies(context) {
            return true;
        }
        if turn == Turn::Ended {
            self.stop(context, None);
            return true;
        }
        self.pass_question_on(context);
        if turn == Turn::Look {
            self.feed(context);
        }
        let told = self.tell(context);
        let mut terms = self.node.terms();
        let again = self.out.outgoing.beside.get().is_some_and(|mut beside| beside.go_on(&mut terms));
        self.out.outgoing.send_beside(context);
        if told || again || turn == Turn::Look {
            return true;
        }
        self.rest(context);
        self.flush(context);
        self.out.outgoing.send_beside(context);
        // What came from outside makes the node attend: then it has a turn.
        let outside = self.node.has_events() && self.node.look_outside();
        outside || self.node.is_reducing() || !self.out.outgoing.bells.is_empty()
    }

    /// Goals of shoens may wait for ever: the innermost that had not been told are, and the run goes on. First all
    /// nodes say how deep theirs are.
    fn may_end<F: Fabric>(&mut self, context: &mut Context<'_, F>) -> bool {
        let depth = match self.deepest.take() {
            Some(0) => return true,
            depth => depth.unwrap_or(0),
        };
        if self.over {
            return true;
        }
        for to in (1..context.nodes()).map(NodeId) {
            context.send(to, Priority::High, STUCK, &[depth.into()]);
            self.out.outgoing.bells.push(to);
        }
        if depth == 0 {
            self.deepest = Some(self.node.deepest_deadlock().unwrap_or(0));
        } else {
            self.node.tell_of_deadlock(depth);
        }
        false
    }

    fn holds(&mut self) -> bool {
        !self.over && self.node.has_events()
    }

    fn waits(&mut self) -> bool {
        !self.over && self.node.has_waiting()
    }
}
