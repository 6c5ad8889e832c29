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

use crate::heap::Heap;
use crate::letters::{Letters, noted};
use crate::message::Message;
use crate::model::Meter;
use crate::protocol::{Fault, Goal, Options, Post, Protocol};
use crate::run::Part;
use crate::store::{ExportId, ImportId};
use fabric::{Fabric, NodeId, Priority, Time};
use machine::{Call, Context, Here, Program, Verdict, WORDS};
use runtime::abroad::Outward;
use runtime::node::{Node, Turn};
use runtime::outcome::{ErrorKind, ProgramError, RunOutcome};
use runtime::waker::Waker;
use std::sync::Arc;
use term::abi::PredicateId;

/// A message of the protocol.
const PROTOCOL: u32 = 0;
/// The run is over.
const STOP: u32 = 1;

/// See the module comment.
pub(crate) struct Reducer<'a> {
    node: &'a mut Node,
    /// What the run begins with: at the first node.
    goal: Option<PredicateId>,
    pub(crate) protocol: Protocol,
    /// Atoms below have the same number at all nodes.
    atoms: u32,
    /// Those of all nodes, if they are threads of this process.
    wakers: Arc<[Waker]>,
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
}

/// What sending needs.
struct Outgoing {
    /// J1: nodes that are to be woken.
    bells: Vec<NodeId>,
    /// Room for the words of a message.
    words: Vec<u64>,
    /// Of a node that is traced.
    letters: Option<Letters>,
}

/// Sends the protocol's messages.
struct Mail<'a, 'c, F: Fabric> {
    context: &'a mut Context<'c, F>,
    outgoing: &'a mut Outgoing,
    meter: Option<&'a mut Meter>,
}

impl<F: Fabric> Post for Mail<'_, '_, F> {
    fn post(&mut self, to: NodeId, message: Message<'_>) {
        let Outgoing { bells, words, letters } = &mut *self.outgoing;
        words.clear();
        message.write(words);
        let priority = message.priority();
        if let Some(meter) = &mut self.meter {
            self.context.spend(meter.send(&message, words.len()));
        }
        let sending = letters.as_mut().map(|letters| letters.sending(to, &message));
        noted(sending, || {
            if words.len() <= WORDS {
                return self.context.send(to, priority, PROTOCOL, words);
            }
            let mut payload = vec![0; 8 * words.len()];
            let (places, _) = payload.as_chunks_mut::<8>();
            places.iter_mut().zip(words.iter()).for_each(|(place, word)| *place = word.to_le_bytes());
            self.context.send_with(to, priority, PROTOCOL, &[], payload);
        });
        if to != self.context.node() && !bells.contains(&to) {
            bells.push(to);
        }
    }
}

impl<'a> Reducer<'a> {
    /// A node that is going to run, beginning with this goal if it is to have one. The first `atoms` atoms have the
    /// same numbers at all nodes.
    pub(crate) fn new(
        node: &'a mut Node,
        goal: Option<PredicateId>,
        options: Options,
        atoms: u32,
        wakers: Arc<[Waker]>,
        meter: Option<Meter>,
    ) -> Reducer<'a> {
        let outgoing = Outgoing { bells: Vec::new(), words: Vec::new(), letters: Letters::of(node) };
        let incoming = Vec::new();
        let (late, over, ended) = (Vec::new(), false, None);
        let protocol = Protocol::new(options);
        Reducer { node, goal, protocol, atoms, wakers, meter, outgoing, incoming, late, over, ended }
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
        Part { time, outcome, counters: self.protocol.counters() }
    }

    /// The run ends, with this outcome unless the node has one.
    fn stop<F: Fabric>(&mut self, context: &mut Context<'_, F>, outcome: Option<RunOutcome>) {
        if self.over {
            return;
        }
        self.over = true;
        self.ended = Some((context.now(), self.node.end(outcome)));
        let own = context.node();
        for to in (0..context.nodes()).map(NodeId).filter(|&to| to != own) {
            context.send(to, Priority::High, STOP, &[]);
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
        let Reducer { node, atoms, protocol, outgoing, late, meter, .. } = self;
        let worker = node.worker();
        let mut any = false;
        let mut mail = Mail { context, outgoing, meter: meter.as_mut() };
        while let Some(event) = worker.next_outward() {
            any = true;
            let awaits = match &event {
                Outward::Throw { predicate, .. } => worker.predicates.get(*predicate).awaits,
                _ => 0,
            };
            let mut heap = Heap::new(worker, *atoms, late);
            let mut with = protocol.with(&mut heap, &mut mail);
            match event {
                Outward::Throw { node, priority, predicate, args } => {
                    let goal =
                        Goal { priority, predicate: predicate.0, arguments: &args, values: awaits, white: 0 };
                    with.throw(NodeId(node), &goal);
                }
                Outward::Wanted { import } => with.wanted(ImportId(import)),
                Outward::Looked { import } => with.peek(ImportId(import)),
                Outward::Bound { import, .. } => with.bound(ImportId(import)),
                Outward::Marked { export } => with.marked(ExportId(export)),
                Outward::Alias { a, b } => with.alias(a, b),
            }
        }
        let (dead, lost) = (worker.take_dead(), worker.take_lost());
        let mut told = Vec::new();
        let mut heap = Heap::new(worker, *atoms, &mut told);
        let mut with = protocol.with(&mut heap, &mut mail);
        dead.into_iter().for_each(|import| with.dead(ImportId(import)));
        lost.into_iter().for_each(|export| with.lost(ExportId(export)));
        let marked = std::mem::take(late);
        any |= !marked.is_empty();
        marked.into_iter().for_each(|export| with.marked(export));
        late.append(&mut told);
        any
    }

    /// J1.
    fn ring(&mut self) {
        for to in self.outgoing.bells.drain(..) {
            self.wakers.get(to.0 as usize).inspect(|waker| waker.wake());
        }
    }
}

impl Program for Reducer<'_> {
    fn start(&mut self, _: &Here) {
        self.node.begin(self.goal.map(|goal| (goal, &[][..])));
    }

    fn handle<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        match call.code {
            _ if self.over => {}
            STOP => {
                self.over = true;
                self.node.end(Some(RunOutcome::Success));
            }
            PROTOCOL => {
                let Reducer { node, atoms, protocol, outgoing, incoming, late, meter, .. } = self;
                let words = if call.payload.is_empty() {
                    call.words
                } else {
                    let (chunks, _) = call.payload.as_chunks::<8>();
                    incoming.clear();
                    incoming.extend(chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)));
                    incoming
                };
                let received = Message::read(words, protocol.options().nodes)
                    .map_err(|malformed| Fault::of(call.from, malformed))
                    .and_then(|message| {
                        if let Some(meter) = meter {
                            context.spend(meter.receive(message.kind()));
                        }
                        let letters = outgoing.letters.as_mut();
                        let handling = letters.map(|letters| letters.handling(call.from, &message));
                        let mut heap = Heap::new(node.worker(), *atoms, late);
                        let mut mail = Mail { context, outgoing, meter: meter.as_mut() };
                        noted(handling, || protocol.with(&mut heap, &mut mail).receive(call.from, message))
                    });
                if let Err(fault) = received {
                    self.fault(context, fault);
                }
            }
            _ => return Verdict::Strange,
        }
        Verdict::Done
    }

    fn background<F: Fabric>(&mut self, context: &mut Context<'_, F>) -> bool {
        self.ring();
        if self.over {
            return false;
        }
        let turn = match &mut self.meter {
            None => self.node.turn(),
            Some(meter) => {
                let (turn, reductions) = self.node.turn_within(meter.slice());
                context.spend(meter.reduce(reductions));
                turn
            }
        };
        if turn == Turn::Ended {
            self.stop(context, None);
            return true;
        }
        if self.tell(context) || turn == Turn::Look {
            return true;
        }
        let Reducer { node, atoms, protocol, outgoing, late, meter, .. } = self;
        let mut heap = Heap::new(node.worker(), *atoms, late);
        protocol.with(&mut heap, &mut Mail { context, outgoing, meter: meter.as_mut() }).flush();
        // What came from outside makes the node attend: then it has a turn.
        let outside = self.node.has_events() && self.node.look_outside();
        outside || !self.outgoing.bells.is_empty()
    }

    fn holds(&mut self) -> bool {
        !self.over && self.node.has_events()
    }

    fn waits(&mut self) -> bool {
        !self.over && self.node.has_waiting()
    }
}
