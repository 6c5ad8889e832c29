//! A node of the runtime as a program of the machine layer.
//!
//! Reducing goals is the node's background work: a *turn* goes on until it is time to look for messages. After each
//! turn, what happened to variables that other nodes know is told to the protocol, whose messages become the
//! machine's. Between turns messages come in, and bind variables and make goals ready.
//!
//! Invariants:
//! - J1 A node of this process that is reducing is woken after a message for it can be seen: bells ring at the next
//!   background work, before which the machine has polled, and so published. A node of another process looks by
//!   itself.
//! - J2 A node whose run has ended, by itself or because another one's has, reduces nothing more and drops what
//!   comes: so the machine finds that nobody has anything to do.
//! - J3 A node with a meter is simulated: its turns are slices of reductions, and virtual time passes with each
//!   reduction and message, before what follows from it is sent.
//! - J5 A node from which more than a quarter of its heap limit is under way has no turn, and so hands no goal over,
//!   until that is less. It goes on handling what comes: what it sends for that answers others. So what is under way to
//!   it gets less whatever it waits for itself, and no two nodes wait for each other.
//! - J4 What shows a value to another node leaves when what is beside terms ([`crate::Beside`]) lets it, and all
//!   messages of a priority to a node leave in order. While any is kept, an answer to this node is under way: so the
//!   run goes on (X4 of `machine`).

use crate::balance::Balance;
use crate::beside::Shared;
use crate::heap::Heap;
use crate::letters::{Letters, noted};
use crate::message::{Message, Round, TABLES};
use crate::model::Meter;
use crate::outgoing::{BESIDE, Mail, Outgoing, PROTOCOL};
use crate::protocol::{Fault, Goal, Options, Protocol};
use crate::rounds::{Rounds, Usage};
use crate::run::Part;
use crate::store::{ExportId, ImportId};
use fabric::{Fabric, NodeId, Priority, Time};
use machine::{Call, Context, Here, Program, Verdict};
use runtime::abroad::Outward;
use runtime::node::{Bell, Node, Term, Terms, Turn};
use runtime::outcome::{ErrorKind, ProgramError, RunOutcome};
use runtime::schedule::thread_time;
use std::sync::Arc;
use term::abi::PredicateId;

/// The run is over. A word: 1 if somebody has interrupted it, so that all nodes tell what waits.
const STOP: u32 = 1;
/// Somebody wants to know what waits.
const ASKED: u32 = 2;
/// What a message between threads or processes takes of both its nodes, about.
const MESSAGE_NS: u64 = 1_000;
/// Levels of structure that a gift brings of what it awaits.
const GIFT_LEVELS: u8 = 64;
/// J5: a node has at most one of so many parts of its heap limit under way.
const UNDER_WAY_PART: u64 = 4;

/// See the module comment.
pub(crate) struct Reducer<'a> {
    node: &'a mut Node,
    /// What the run begins with: at the first node.
    goal: Option<PredicateId>,
    pub(crate) protocol: Protocol,
    /// Atoms below have the same number at all nodes.
    atoms: u32,
    /// Those of all nodes, if they are threads of this process.
    bells: Arc<[Bell]>,
    /// J3.
    pub(crate) meter: Option<Meter>,
    outgoing: Outgoing,
    /// Room for the words of a message that came as a payload.
    incoming: Vec<u64>,
    /// Exports to be told as marked.
    late: Vec<ExportId>,
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
    rounds: Rounds,
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
        let (letters, beside) = (Letters::of(node), Shared::of(&mut node.terms()));
        let outgoing = Outgoing::new(letters, beside);
        let (late, over, ended) = (Vec::new(), false, None);
        let limit = node.terms().heap_limit();
        let identities = node.options().identities;
        let protocol = Protocol::new(Options { identities, ..options });
        let (balances, message) =
            (node.options().balance, meter.as_ref().map_or(MESSAGE_NS, |meter| meter.model().message()));
        let balance = Balance::new(options.node, options.nodes, balances, message);
        Reducer {
            node,
            goal,
            protocol,
            atoms,
            bells,
            meter,
            outgoing,
            incoming: Vec::new(),
            late,
            over,
            ended,
            balance,
            received: 0,
            woken: true,
            holds_back: false,
            rounds: Rounds::new(options.node, options.nodes, limit),
        }
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
        let counts = self.outgoing.beside.get().map(|beside| beside.counts()).unwrap_or_default();
        let beside = counts.into_iter().map(|(name, count)| (name.to_string(), count)).collect();
        Part { time, outcome, waiting: self.node.take_waiting(), counters: self.protocol.counters(), beside }
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
        let (own, why) = (context.node(), [u64::from(interrupted)]);
        for to in (0..context.nodes()).map(NodeId).filter(|&to| to != own) {
            context.send(to, Priority::High, STOP, &why);
            self.outgoing.bells.push(to);
        }
    }

    fn fault<F: Fabric>(&mut self, context: &mut Context<'_, F>, fault: Fault) {
        let kind = if fault == Fault::Full { ErrorKind::HeapLimit } else { ErrorKind::Other };
        let error = ProgramError::new(kind, fault.to_string());
        self.stop(context, Some(RunOutcome::Failed(error)));
    }

    /// Tells the protocol what has happened; false if nothing has.
    fn tell<F: Fabric>(&mut self, context: &mut Context<'_, F>) -> bool {
        debug_assert!(!self.over, "J2: a run that has ended tells nothing");
        let Reducer { node, atoms, protocol, outgoing, late, meter, balance, .. } = self;
        let (mut worker, options) = (node.terms(), *protocol.options());
        let mut any = false;
        let mut mail = Mail { context, outgoing, meter: meter.as_mut() };
        while let Some(event) = worker.next_outward() {
            any = true;
            let awaits = match &event {
                Outward::Throw { predicate, .. } => worker.predicates().get(*predicate).awaits,
                _ => 0,
            };
            let mut heap = Heap::new(&mut worker, *atoms, late);
            let mut with = protocol.with(&mut heap, &mut mail);
            match event {
                Outward::Throw { node, priority, predicate, args } => {
                    let goal = thrown(priority, predicate, &args, awaits);
                    with.throw(NodeId(node), &goal);
                }
                Outward::Wanted { import, whole } => {
                    if whole {
                        with.want_whole(ImportId(import));
                    }
                    with.wanted(ImportId(import));
                }
                Outward::Looked { import, whole } => {
                    if whole {
                        with.want_whole(ImportId(import));
                    }
                    with.peek(ImportId(import));
                }
                Outward::Bound { import, .. } => with.bound(ImportId(import)),
                Outward::Marked { export } => with.marked(ExportId(export)),
                Outward::Alias { a, b } => with.alias(a, b),
                Outward::Offered => {
                    balance.offered();
                    let (own, nodes) = (options.node, options.nodes);
                    let others = (0..nodes).map(NodeId).filter(|&to| to != own);
                    others.for_each(|to| with.send(to, Message::Offer));
                }
            }
        }
        let (dead, lost) = (worker.take_dead(), worker.take_lost());
        let distances = worker.take_distances().map(|far| {
            let far = far.into_iter().map(|(import, distance)| (ImportId(import), distance));
            (far.collect::<Vec<_>>(), worker.room() / 8)
        });
        let mut told = Vec::new();
        let mut heap = Heap::new(&mut worker, *atoms, &mut told);
        let mut with = protocol.with(&mut heap, &mut mail);
        dead.into_iter().for_each(|import| with.dead(ImportId(import)));
        lost.into_iter().for_each(|export| with.lost(ExportId(export)));
        let collected = distances.is_some();
        if let Some((far, room)) = distances {
            with.far(&far, room);
        }
        let marked = std::mem::take(late);
        any |= !marked.is_empty();
        marked.into_iter().for_each(|export| with.marked(export));
        late.append(&mut told);
        self.weigh(collected) || any
    }

    /// Counts what the tables take, and whether everything is to be collected. If it was, true if rounds begin.
    fn weigh(&mut self, collected: bool) -> bool {
        let Reducer { node, protocol, rounds, .. } = self;
        let mut worker = node.terms();
        let (bytes, idle) = protocol.bytes();
        worker.set_bytes_beside(bytes);
        if !collected {
            if bytes > 0 && rounds.must_look(worker.bytes_in_use().saturating_sub(idle)) {
                worker.collect_soon();
            }
            return false;
        }
        let usage = usage(&worker, protocol);
        let leads = rounds.collected(&usage);
        if leads || !rounds.are_on() {
            worker.set_hopes(leads || usage.leaves_enough());
        }
        leads
    }

    /// Takes part in rounds. True if this node holds back for them (R1 of `rounds`).
    fn take_part<F: Fabric>(&mut self, context: &mut Context<'_, F>) -> bool {
        while self.rounds.are_on() {
            if self.rounds.take_due() {
                self.node.collect_everything();
                self.tell(context);
            }
            if self.protocol.moves() {
                break;
            }
            self.flush(context);
            for leader in self.rounds.done() {
                self.say(context, Some((leader, Message::Collect(Round::Done))));
            }
            let Reducer { node, protocol, rounds, .. } = self;
            let usage = usage(&node.terms(), protocol);
            let Some(round) = rounds.go_on(&usage) else { break };
            if round == Round::Over {
                node.terms().set_hopes(usage.leaves_enough());
            }
            let own = context.node();
            for to in (0..context.nodes()).map(NodeId).filter(|&to| to != own) {
                self.say(context, Some((to, Message::Collect(round))));
            }
        }
        self.rounds.are_on()
    }

    /// Sends the releases that were kept for a batch.
    fn flush<F: Fabric>(&mut self, context: &mut Context<'_, F>) {
        let Reducer { node, atoms, protocol, outgoing, late, meter, .. } = self;
        let mut terms = node.terms();
        let mut heap = Heap::new(&mut terms, *atoms, late);
        protocol.with(&mut heap, &mut Mail { context, outgoing, meter: meter.as_mut() }).flush();
    }

    /// Sends what the balance has to say.
    fn say<F: Fabric>(&mut self, context: &mut Context<'_, F>, what: Option<(NodeId, Message<'_>)>) {
        let Reducer { node, atoms, protocol, outgoing, late, meter, .. } = self;
        if let Some((to, message)) = what {
            let mut terms = node.terms();
            let mut heap = Heap::new(&mut terms, *atoms, late);
            protocol
                .with(&mut heap, &mut Mail { context, outgoing, meter: meter.as_mut() })
                .send(to, message);
        }
    }

    /// Gives a goal to a node that has none, if there is one to spare.
    fn feed<F: Fabric>(&mut self, context: &mut Context<'_, F>, to: NodeId) -> bool {
        let Reducer { node, atoms, protocol, outgoing, late, meter, balance, .. } = self;
        let mut worker = node.terms();
        let spare = worker.take_spare(|predicate| balance.stays(predicate.0));
        balance.looked(to, spare.is_some());
        let Some((priority, predicate, args)) = spare else { return false };
        let awaits = worker.predicates().get(predicate).awaits;
        debug_assert!(!self.holds_back, "J5: a node that holds back gives no goal away");
        let goal = Goal { levels: GIFT_LEVELS, gift: true, ..thrown(priority, predicate, &args, awaits) };
        let mut heap = Heap::new(&mut worker, *atoms, late);
        protocol.with(&mut heap, &mut Mail { context, outgoing, meter: meter.as_mut() }).throw(to, &goal);
        true
    }

    /// Messages about terms and goals that this node has sent and received.
    fn traffic(&self) -> u64 {
        self.protocol.sent() + self.received
    }

    /// For how long this node has reduced: of a simulated one in cycles, of others in nanoseconds of its thread.
    fn time(&self) -> u64 {
        match &self.meter {
            Some(meter) => meter.work.reducing,
            None => thread_time().as_nanos() as u64,
        }
    }

    /// What is done with a message before the tables get it.
    fn consider<F: Fabric>(&mut self, context: &mut Context<'_, F>, from: NodeId, message: &Message<'_>) {
        let told = match *message {
            Message::Throw { predicate, gift: false, .. } => {
                self.node.terms().place_here(PredicateId(predicate));
                None
            }
            Message::Throw { predicate, gift: true, .. } => {
                let told = self.balance.close(self.traffic());
                self.balance.got(from, predicate, self.traffic());
                told
            }
            Message::Hungry { asker, .. } if !self.holds_back && self.feed(context, asker) => None,
            Message::Hungry { asker, hops } => self.balance.pass_on(asker, hops),
            Message::NoGoal => {
                self.balance.no_goal();
                self.balance.close(self.traffic())
            }
            Message::Gained { predicate, much } => {
                self.balance.gained(predicate, much);
                None
            }
            Message::Collect(round) => {
                self.rounds.hear(from, round);
                None
            }
            Message::Offer => {
                self.woken |= self.balance.offered();
                None
            }
            _ => None,
        };
        self.say(context, told);
        let of_tables = message.kind() < TABLES;
        self.received += u64::from(of_tables);
        self.woken |= of_tables;
    }

    /// J5: looks what is under way, which counts for the heap limit. True if the node is to have no turn, for that or
    /// because it is in rounds.
    fn must_hold_back<F: Fabric>(&mut self, context: &mut Context<'_, F>, in_rounds: bool) -> bool {
        let under_way = context.under_way() + self.outgoing.kept;
        let worker = self.node.terms();
        let limit = worker.heap_limit() as u64;
        // A turn ends what is to end.
        let goes_on = worker.may_go_on(0).is_ok();
        self.holds_back = goes_on && (in_rounds || under_way > limit / UNDER_WAY_PART);
        self.node.set_under_way(under_way, self.holds_back);
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

    /// The words for which there is room now, and the message may need; `None`: there is none, and the run is over.
    fn make_room<F: Fabric>(
        &mut self,
        context: &mut Context<'_, F>,
        from: NodeId,
        message: &Message<'_>,
    ) -> Option<usize> {
        if self.protocol.can_spare(message) {
            return Some(0);
        }
        let room = message.room();
        let Err(error) = self.node.make_room(room) else { return Some(room) };
        let error = error.detail(format!("it came with a message of node {}", from.0));
        self.stop(context, Some(RunOutcome::Failed(error)));
        None
    }

    /// The node has nothing to do.
    fn rest<F: Fabric>(&mut self, context: &mut Context<'_, F>) {
        if !std::mem::take(&mut self.woken) {
            return;
        }
        if self.balance.measures() && !self.node.has_waiting() {
            let told = self.balance.close(self.traffic());
            self.say(context, told);
        }
        let asked = self.balance.rest();
        self.say(context, asked);
    }

    /// A turn, and how long it took if that is to be known.
    fn turn<F: Fabric>(&mut self, context: &mut Context<'_, F>) -> Turn {
        debug_assert!(!self.over && !self.holds_back, "J2, J5: it reduces nothing");
        let begin = self.balance.measures().then(|| self.time());
        let turn = match &mut self.meter {
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

    /// A message of what is beside has come.
    fn pass_on<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>, code: u32) -> Verdict {
        let Reducer { node, outgoing, .. } = self;
        let (Some(kind), Some(mut beside)) = (code.checked_sub(BESIDE), outgoing.beside.get()) else {
            return Verdict::Strange;
        };
        let received = beside.receive(&mut node.terms(), call.from, kind, call.words, call.payload);
        drop(beside);
        node.expect_messages();
        // An acknowledgement of the machine's goes back.
        outgoing.wake(context.node(), call.from);
        outgoing.send_beside(context);
        if let Err(malformed) = received {
            self.fault(context, Fault::of(call.from, malformed));
        }
        Verdict::Done
    }

    /// If somebody asked the first node what waits, the others are asked, too.
    fn pass_question_on<F: Fabric>(&mut self, context: &mut Context<'_, F>) {
        if self.node.take_asked() && context.node() == NodeId(0) {
            for to in (1..context.nodes()).map(NodeId) {
                context.send(to, Priority::High, ASKED, &[]);
                self.outgoing.bells.push(to);
            }
        }
    }

    /// J1.
    fn ring(&mut self) {
        for to in self.outgoing.bells.drain(..) {
            self.bells.get(to.0 as usize).inspect(|bell| bell.ring());
        }
    }
}

/// What a node has in use.
fn usage(worker: &Terms<'_>, protocol: &Protocol) -> Usage {
    let (_, idle) = protocol.bytes();
    Usage {
        in_use: worker.bytes_in_use().saturating_sub(idle),
        held: worker.held_abroad().saturating_sub(idle),
        limit: worker.heap_limit(),
        farthest: protocol.farthest(),
    }
}

/// A goal that goes to another node because the program says so.
fn thrown<'a, 't>(
    priority: i64,
    predicate: PredicateId,
    arguments: &'a [Term<'t>],
    values: u64,
) -> Goal<'a, Term<'t>> {
    Goal { priority, predicate: predicate.0, arguments, values, levels: 1, gift: false, white: 0 }
}

impl Program for Reducer<'_> {
    fn start(&mut self, _: &Here) {
        let mut worker = self.node.terms();
        self.outgoing.beside.get().into_iter().for_each(|mut beside| beside.begin(&mut worker));
        self.node.begin(self.goal);
    }

    fn handle<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        match call.code {
            _ if self.over => {}
            STOP => {
                self.over = true;
                if call.words.first() == Some(&1) {
                    self.node.list_waiting();
                }
                self.node.end(Some(RunOutcome::Success));
            }
            ASKED => _ = self.node.waker().ask(),
            PROTOCOL => {
                let mut incoming = std::mem::take(&mut self.incoming);
                let words = if call.payload.is_empty() {
                    call.words
                } else {
                    let (chunks, _) = call.payload.as_chunks::<8>();
                    incoming.clear();
                    incoming.extend(chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)));
                    &incoming
                };
                let message = match Message::read(words, self.protocol.options().nodes) {
                    Ok(message) => message,
                    Err(malformed) => {
                        self.fault(context, Fault::of(call.from, malformed));
                        return Verdict::Done;
                    }
                };
                if let Some(meter) = &mut self.meter {
                    context.spend(meter.receive(message.kind()));
                }
                let Some(room) = self.make_room(context, call.from, &message) else { return Verdict::Done };
                self.consider(context, call.from, &message);
                let Reducer { node, atoms, protocol, outgoing, late, meter, .. } = self;
                if message.shows() {
                    outgoing.beside.get().into_iter().for_each(|mut beside| beside.heard());
                }
                let letters = outgoing.letters.as_mut();
                let handling = letters.map(|letters| letters.handling(call.from, &message));
                let mut terms = node.terms();
                let mut heap = Heap::new(&mut terms, *atoms, late).with_room(room);
                let mut mail = Mail { context, outgoing, meter: meter.as_mut() };
                let received =
                    noted(handling, || protocol.with(&mut heap, &mut mail).receive(call.from, message));
                self.incoming = incoming;
                if let Err(fault) = received {
                    self.fault(context, fault);
                }
            }
            kind => return self.pass_on(context, call, kind),
        }
        Verdict::Done
    }

    fn background<F: Fabric>(&mut self, context: &mut Context<'_, F>) -> bool {
        self.ring();
        if self.over {
            return false;
        }
        let in_rounds = self.take_part(context);
        if self.must_hold_back(context, in_rounds) {
            // What comes wakes it, and so does each acknowledgement.
            self.outgoing.send_beside(context);
            return !self.outgoing.bells.is_empty();
        }
        let turn = self.turn(context);
        if turn == Turn::Ended {
            self.stop(context, None);
            return true;
        }
        self.pass_question_on(context);
        if turn == Turn::Look
            && let Some(asker) = self.balance.asker()
        {
            self.feed(context, asker);
        }
        let told = self.tell(context);
        let mut worker = self.node.terms();
        let again = self.outgoing.beside.get().is_some_and(|mut beside| beside.go_on(&mut worker));
        self.outgoing.send_beside(context);
        if told || again || turn == Turn::Look {
            return true;
        }
        self.rest(context);
        self.flush(context);
        self.outgoing.send_beside(context);
        // What came from outside makes the node attend: then it has a turn.
        let outside = self.node.has_events() && self.node.look_outside();
        outside || self.node.is_reducing() || !self.outgoing.bells.is_empty()
    }

    fn holds(&mut self) -> bool {
        !self.over && self.node.has_events()
    }

    fn waits(&mut self) -> bool {
        !self.over && self.node.has_waiting()
    }
}
