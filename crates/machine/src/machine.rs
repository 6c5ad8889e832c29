//! One node: takes messages from the fabric, runs handlers and tasks, and finds out when all is done.

use crate::collective::{Reduction, parent};
use crate::context::Context;
use crate::core::{Core, Costs, Counters};
use crate::header::{Call, Header, Kind, WORDS};
use crate::here::{Here, Shared};
use crate::multicast::Answers;
use crate::names::Name;
use crate::tasks::Tasks;
use crate::waves::{Count, Found};
use crate::{Program, Verdict};
use fabric::NodeSet;
use fabric::{Fabric, Message, Node, NodeId, Priority, Step, Time};
use std::collections::BTreeMap;
use std::task::Waker;

/// Messages and steps of tasks before the fabric may look at something else.
const STEPS: usize = 64;
/// A program that holds the run is asked for its background work after this multiple of the node's patience.
const LOOK: u64 = 50;

/// How the run ended at this node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    /// Tasks of all nodes that would have waited for ever.
    pub waiting: u64,
}

/// One node that runs a program.
pub struct Machine<P> {
    /// The program: its state may be looked at when the run is over.
    pub program: P,
    core: Core,
    tasks: Tasks,
    here: Here,
    started: bool,
    /// What is to be sent or dispatched again, and when.
    later: BTreeMap<Time, Vec<Later>>,
    /// Of node 0: when the next wave may begin.
    next_wave: Time,
    /// Of node 0: waves that found that the run goes on.
    waves_in_vain: u32,
    /// The program may have background work.
    background: bool,
    /// Messages that were dispatched since it was last asked (X8).
    in_row: usize,
    /// When it is asked for that although nothing has happened.
    look: Option<Time>,
    ended: Option<Ended>,
}

enum Later {
    Send(NodeId, Message),
    /// To its handler.
    Dispatch(Message),
    /// As if it had just come.
    Again(Message),
}

impl<P: Program> Machine<P> {
    /// A node that is going to run this program.
    pub fn new(node: NodeId, nodes: u32, program: P, costs: Costs) -> Machine<P> {
        let core = Core::new(node, nodes, costs);
        Machine {
            program,
            core,
            tasks: Tasks::default(),
            here: Here::new(node, nodes, costs.are_simulated()),
            started: false,
            later: BTreeMap::new(),
            next_wave: Time(costs.patience),
            waves_in_vain: 0,
            background: true,
            in_row: 0,
            look: None,
            ended: None,
        }
    }
    /// What the node has done so far.
    pub fn counters(&self) -> Counters {
        Counters { put_off: self.core.flow.put_off(), ..self.core.counters }
    }
    /// How the run ended; `None` until it has.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Runs the handler of a message.
    fn handle<F: Fabric>(&mut self, fabric: &mut F, call: &Call<'_>) -> Verdict {
        self.background = true;
        let Machine { program, core, here, .. } = self;
        let verdict = program.handle(&mut Context { core, fabric, here }, call);
        self.core.counters.strange += u64::from(verdict == Verdict::Strange);
        verdict
    }
    #[inline]
    fn dispatch<F: Fabric>(&mut self, fabric: &mut F, message: Message) {
        let Some(header) = Header::of(&message) else {
            self.core.counters.strange += 1;
            return;
        };
        let low = message.priority == Priority::Low;
        if header.kind != Kind::Copy
            && let Some(credits) = self.core.flow.dispatched(message.from, low, message.payload.len())
        {
            self.core.flow.send(fabric, message.from, credits);
        }
        self.core.counters.dispatched += u64::from(header.kind.counts());
        self.core.spend_on_dispatch(fabric, header.kind, &message);
        self.handle_or_return(fabric, header, message);
    }
    fn handle_or_return<F: Fabric>(&mut self, fabric: &mut F, header: Header, message: Message) {
        let (skip, reply) = match header.kind {
            Kind::Plain => (1, None),
            Kind::Request => (2, message.words().get(1).copied()),
            _ => return self.system(fabric, header, message),
        };
        let Some(words) = message.words().get(skip..).filter(|words| words.len() <= WORDS) else {
            self.core.counters.strange += 1;
            return;
        };
        let Message { from, priority, .. } = message;
        let call =
            Call { from, code: header.code, words, payload: &message.payload, object: None, priority, reply };
        if self.handle(fabric, &call) == Verdict::Refused {
            self.send_back(fabric, header, message);
        }
    }
    /// The message goes back to its sender, marked; its kind is in `aux`.
    #[cold]
    fn send_back<F: Fabric>(&mut self, fabric: &mut F, header: Header, message: Message) {
        let from = message.from;
        let marked = Header {
            kind: Kind::Returned,
            aux: header.kind as u32 | (message.priority as u32) << 8,
            ..header
        };
        let mut back = marked.message(Priority::High, &message.words()[1..]);
        back.payload = message.payload;
        self.core.post(fabric, from, back);
    }
    /// Everything that is not simply for a handler.
    fn system<F: Fabric>(&mut self, fabric: &mut F, header: Header, message: Message) {
        let right = self.system_message(fabric, header, message);
        self.core.counters.strange += u64::from(!right);
    }
    /// False if the message is none that a machine would have sent.
    fn system_message<F: Fabric>(&mut self, fabric: &mut F, header: Header, message: Message) -> bool {
        let Header { kind, aux, .. } = header;
        let from = message.from;
        let core = &mut self.core;
        match kind {
            Kind::Plain | Kind::Request => unreachable!("these are for handlers"),
            Kind::Reply => {
                let slot = message.words().get(1).and_then(|&slot| core.take_call(slot));
                return slot.is_some_and(|slot| slot.fill(message).is_ok());
            }
            Kind::Named => return self.named(fabric, header, message),
            Kind::Moved => return core.object_moved(aux, message.words()),
            Kind::Returned => return self.returned(fabric, header, message),
            Kind::Credits => {
                // What the program sees of it is what is under way.
                self.background = true;
                return core.flow.refill(from, aux, &message.words()[1..]);
            }
            Kind::Broadcast => {
                if aux >= core.nodes || message.words().len() > 1 + WORDS {
                    return false;
                }
                core.broadcast(fabric, NodeId(aux), &message);
                self.deliver(fabric, message);
            }
            Kind::Multicast | Kind::Chain | Kind::Copy => return self.multicast(fabric, header, message),
            Kind::Acknowledge => {
                let &[_, answers] = message.words() else { return false };
                core.part_done(fabric, aux, Answers::of(answers));
            }
            Kind::Gathered => return core.part_gathered(fabric, aux, message.words()),
            Kind::Barrier => {
                let right = core.barrier.arrive(aux);
                core.advance_barrier(fabric);
                return right;
            }
            Kind::ReduceUp => {
                let &[_, reduction, value] = message.words() else { return false };
                let Some(reduction) = Reduction::of(reduction) else { return false };
                core.reduce.arrive(reduction, value);
                core.advance_reduction(fabric);
            }
            Kind::ReduceDown => {
                let &[_, value] = message.words() else { return false };
                let right = core.reduction_done(fabric, value);
                core.advance_reduction(fabric);
                return right;
            }
            Kind::WaveDown => {
                core.waves.begin();
                core.tell_children(fabric, Kind::WaveDown, &[]);
            }
            Kind::WaveUp => {
                let count = Count::of(&message.words()[1..]);
                return count.is_some_and(|count| core.waves.answer(count));
            }
            Kind::End => {
                let &[_, waiting] = message.words() else { return false };
                self.end(fabric, waiting);
            }
        }
        true
    }
    /// This node's part of a multicast. False if no machine would have sent it.
    fn multicast<F: Fabric>(&mut self, fabric: &mut F, header: Header, message: Message) -> bool {
        let Message { from, priority, .. } = message;
        let core = &mut self.core;
        let sender = message.words().get(1).filter(|sender| **sender < u64::from(core.nodes));
        let Some(sender) = sender.map(|sender| NodeId(*sender as u32)) else { return false };
        let words = &message.words()[1..];
        let (bytes, answers) = match (header.kind, message.payload.split_last_chunk()) {
            (Kind::Chain, Some((bytes, answers))) => (bytes, Answers::of(u64::from_le_bytes(*answers))),
            _ => (&message.payload[..], Answers::default()),
        };
        if header.kind == Kind::Copy {
            let Some(place) = fabric.gather().filter(|_| from == sender) else { return false };
            core.copy_came(fabric, (sender, header.aux), place);
            self.deliver(fabric, message);
            return true;
        }
        let Some((payload, set)) = NodeSet::split(bytes, core.nodes) else { return false };
        let content = (header.code, words, payload);
        let entry = match header.kind {
            Kind::Chain => core.enter_chain((sender, header.aux), set, answers, content),
            // The sender's own part has its entry already.
            _ if from == core.node => Ok(header.aux),
            _ => core.pass_on(fabric, (from, header.aux), &set, content),
        };
        let Ok(entry) = entry else {
            self.put_off(fabric, Later::Again(message));
            return true;
        };
        let header = Header { kind: Kind::Multicast, aux: entry, ..header };
        let mut mine = header.message(priority, words);
        (mine.from, mine.payload) = (from, payload.to_vec());
        self.deliver(fabric, mine);
        true
    }
    /// A message that must not go back, because its sender has other things to do with it: if it is refused, it is
    /// tried again here.
    fn deliver<F: Fabric>(&mut self, fabric: &mut F, message: Message) {
        let header = Header::of(&message).expect("it was looked at before");
        let word = message.words().get(1).copied().unwrap_or_default();
        let (skip, from, object) = match header.kind {
            Kind::Named => {
                let name = Name::of(word);
                (2, NodeId(header.aux), self.core.names.translate(name).map(|value| (name, value)))
            }
            Kind::Multicast | Kind::Copy => (2, NodeId(word as u32), None),
            _ => (1, NodeId(header.aux), None),
        };
        let call = Call {
            from,
            code: header.code,
            words: &message.words()[skip..],
            payload: &message.payload,
            object,
            priority: message.priority,
            reply: None,
        };
        let answers = match self.handle(fabric, &call) {
            Verdict::Refused if header.kind == Kind::Named => {
                return self.put_off(fabric, Later::Again(message));
            }
            Verdict::Refused => return self.put_off(fabric, Later::Dispatch(message)),
            Verdict::Done => Answers { done: 1, absent: 0 },
            Verdict::Absent | Verdict::Strange => Answers { done: 0, absent: 1 },
        };
        match header.kind {
            Kind::Multicast => self.core.part_done(fabric, header.aux, answers),
            Kind::Copy => self.core.copy_done(fabric, (from, header.aux), answers),
            _ => {}
        }
    }
    fn named<F: Fabric>(&mut self, fabric: &mut F, header: Header, message: Message) -> bool {
        let Some(&word) = message.words().get(1) else { return false };
        let name = Name::of(word);
        if header.aux >= self.core.nodes || name.home.0 >= self.core.nodes {
            return false;
        }
        if self.core.names.translate(name).is_some() {
            self.deliver(fabric, message);
            return true;
        }
        let place = self.core.names.place(name);
        if place == self.core.node {
            // Its home knows of no such object (yet).
            self.put_off(fabric, Later::Again(message));
            return true;
        }
        self.core.counters.forwarded += 1;
        if name.home == self.core.node && header.aux != self.core.node.0 {
            // The asker is not the home, so it does not care how new this is.
            let moved = Header::new(Kind::Moved, 0, place.0).message(Priority::High, &[word, 0]);
            self.core.post(fabric, NodeId(header.aux), moved);
        }
        // Whoever is not the home may know less than it.
        let to = if name.home == self.core.node { place } else { name.home };
        self.core.post(fabric, to, message);
        true
    }
    fn returned<F: Fabric>(&mut self, fabric: &mut F, header: Header, message: Message) -> bool {
        let kind = match header.aux & 0xff {
            kind if kind == Kind::Plain as u32 => Kind::Plain,
            kind if kind == Kind::Request as u32 => Kind::Request,
            _ => return false,
        };
        self.core.counters.returned += 1;
        let priority = if header.aux >> 8 == 0 { Priority::Low } else { Priority::High };
        let mut again = Header { kind, aux: 0, ..header }.message(priority, &message.words()[1..]);
        again.payload = message.payload;
        self.put_off(fabric, Later::Send(message.from, again));
        true
    }
    fn put_off<F: Fabric>(&mut self, fabric: &mut F, what: Later) {
        let time = Time(fabric.now().0 + self.core.costs.patience);
        self.later.entry(time).or_default().push(what);
    }
    /// Does what was put off until now.
    fn catch_up<F: Fabric>(&mut self, fabric: &mut F) -> bool {
        if self.later.is_empty() && self.here.shared().sleeping.borrow().is_empty() {
            return false;
        }
        let now = fabric.now();
        let mut any = false;
        while let Some(entry) = self.later.first_entry().filter(|entry| *entry.key() <= now) {
            any = true;
            for what in entry.remove() {
                match what {
                    Later::Send(to, message) => self.core.post(fabric, to, message),
                    Later::Again(message) => {
                        let header = Header::of(&message).expect("it was looked at before");
                        self.system(fabric, header, message);
                    }
                    Later::Dispatch(message) => self.deliver(fabric, message),
                }
            }
        }
        let mut sleeping = self.here.shared().sleeping.borrow_mut();
        while let Some(entry) = sleeping.first_entry().filter(|entry| *entry.key() <= now) {
            any = true;
            entry.remove().into_iter().for_each(|slot| _ = slot.fill(()));
        }
        any
    }

    /// A step of a task, and what it asked for; false if none was ready.
    fn step_task<F: Fabric>(&mut self, fabric: &mut F) -> bool {
        let shared = self.here.shared();
        shared.spawned.borrow_mut().drain(..).for_each(|task| self.tasks.spawn(task));
        if !self.tasks.any_ready() {
            return false;
        }
        shared.now.set(fabric.now());
        shared.full.set(self.core.flow.is_full());
        if self.tasks.step() {
            let restart = self.core.costs.restart;
            self.core.spend(fabric, |spent| &mut spent.synchronization, restart);
        }
        self.core.counters.steps += 1;
        self.serve(fabric);
        true
    }
    /// A stretch of the program's background work; false if there was none, or it was the last.
    fn step_background<F: Fabric>(&mut self, fabric: &mut F) -> bool {
        self.in_row = 0;
        if self.background {
            let Machine { program, core, here, .. } = self;
            self.background = program.background(&mut Context { core, fabric, here });
        }
        self.background
    }
    /// The node has nothing to do: if its program awaits something from outside, it is asked again after a while.
    fn look_outside<F: Fabric>(&mut self, fabric: &mut F) {
        // To ask for the time takes longer than all the rest of a step.
        match self.look {
            Some(look) if look <= fabric.now() => {
                self.background = true;
                self.look = None;
            }
            _ if !self.program.holds() => self.look = None,
            Some(_) => {}
            None => self.look = Some(Time(fabric.now().0 + LOOK * self.core.costs.patience)),
        }
    }
    fn serve<F: Fabric>(&mut self, fabric: &mut F) {
        let Machine { core, here, .. } = self;
        let Shared { requests, letters, .. } = here.shared();
        let (mut requests, mut letters) = (requests.borrow_mut(), letters.borrow_mut());
        let mut sent = 0;
        for (before, request) in requests.drain(..) {
            letters.take(sent, before).for_each(|(to, message)| core.post(fabric, to, message));
            sent = before;
            core.serve(fabric, request);
        }
        let all = letters.len();
        letters.take(sent, all).for_each(|(to, message)| core.post(fabric, to, message));
        letters.clear();
    }
    fn any_ready(&self) -> bool {
        self.tasks.any_ready() || !self.here.shared().spawned.borrow().is_empty()
    }
    fn count(&mut self) -> Count {
        let busy = self.any_ready()
            || self.background
            || !self.core.all_sent()
            || self.core.flow.under_way() > 0
            || !self.later.is_empty()
            || !self.here.shared().sleeping.borrow().is_empty();
        let Counters { sent, dispatched, .. } = self.core.counters;
        // A barrier that is entered is as good as a message to oneself.
        let entered = self.core.barrier.entered_in_fabric();
        Count {
            sent: sent + entered,
            dispatched: dispatched + entered,
            tasks: self.tasks.alive() as u64,
            busy,
            holds: self.program.holds(),
            waits: self.program.waits(),
        }
    }
    /// X4: answers waves, and begins them at node 0 if it has nothing else to do.
    fn look_for_end<F: Fabric>(&mut self, fabric: &mut F, idle: bool) {
        let first = idle && self.core.node == NodeId(0) && !self.core.waves.is_going_on();
        if first && fabric.now() >= self.next_wave && !self.keeps_going() {
            self.core.waves.begin();
            self.core.tell_children(fabric, Kind::WaveDown, &[]);
        }
        if !self.core.waves.is_going_on() {
            return;
        }
        // Whoever is told that a barrier is over is busy.
        self.core.advance_barrier(fabric);
        let own = self.count();
        let Some(count) = self.core.waves.finish(|| own) else { return };
        if let Some(parent) = parent(self.core.node, NodeId(0), self.core.nodes) {
            return self.core.tell(fabric, parent, Kind::WaveUp, 0, &count.words());
        }
        let patience = match self.core.waves.judge(count) {
            Found::End if !count.waits || self.may_end(fabric) => return self.end(fabric, count.tasks),
            Found::End => self.core.costs.patience,
            Found::PerhapsEnd => self.core.costs.patience,
            Found::NoEnd => {
                // The longer nothing comes of it, the rarer.
                self.waves_in_vain += 1;
                self.core.costs.patience << self.waves_in_vain.min(6)
            }
        };
        self.next_wave = Time(fabric.now().0 + patience);
    }
    /// X6: this node alone keeps the run from its end, so a wave has nothing to find.
    fn keeps_going(&mut self) -> bool {
        self.program.holds() && self.program.waits()
    }
    fn may_end<F: Fabric>(&mut self, fabric: &mut F) -> bool {
        let Machine { program, core, here, .. } = self;
        let ends = program.may_end(&mut Context { core, fabric, here });
        self.background |= !ends;
        ends
    }
    fn end<F: Fabric>(&mut self, fabric: &mut F, waiting: u64) {
        self.core.tell_children(fabric, Kind::End, &[waiting]);
        self.ended = Some(Ended { waiting });
    }
    /// When there will be something to do although no message comes.
    fn next_time(&mut self) -> Option<Time> {
        let later = self.later.first_key_value().map(|(&time, _)| time);
        let sleeping = self.here.shared().sleeping.borrow().first_key_value().map(|(&time, _)| time);
        let waves = self.core.node == NodeId(0) && !self.core.waves.is_going_on() && !self.keeps_going();
        [later, sleeping, waves.then_some(self.next_wave), self.look].into_iter().flatten().min()
    }
}

impl<P: Program, F: Fabric> Node<F> for Machine<P> {
    fn step(&mut self, fabric: &mut F) -> Step {
        self.core.time_passed = false;
        if !self.started {
            self.started = true;
            self.program.start(&self.here);
            self.serve(fabric);
        }
        let mut did = self.catch_up(fabric);
        self.core.advance_barrier(fabric);
        for _ in 0..STEPS {
            // What has come while time passed is seen in the next step.
            if self.core.time_passed {
                did = true;
                break;
            }
            if self.in_row == STEPS {
                self.step_background(fabric);
            } else if let Some(message) = fabric.poll() {
                self.in_row += 1;
                self.dispatch(fabric, message);
            } else if self.step_task(fabric) {
                self.background = true;
            } else if !self.step_background(fabric) {
                break;
            }
            did = true;
        }
        // Handlers may have asked for what only tasks may do.
        self.serve(fabric);
        if self.core.flush(fabric) {
            (did, self.background) = (true, true);
        }
        if !self.core.flow.is_full() {
            let waiting = std::mem::take(&mut *self.here.shared().room.borrow_mut());
            waiting.into_iter().for_each(Waker::wake);
        }
        if !did {
            self.look_outside(fabric);
        }
        self.look_for_end(fabric, !did && !self.any_ready());
        if self.ended.is_some() && self.core.all_sent() {
            return Step::Done;
        }
        if did || self.any_ready() || self.background || self.core.multicasts.any_waiting() {
            return Step::Again;
        }
        let time = self.next_time();
        if self.core.flow.is_refused() { Step::Refused(time) } else { Step::Wait(time) }
    }
}
