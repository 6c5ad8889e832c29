//! What a node sends, counts and keeps, apart from its program and its tasks.

use crate::WORDS;
use crate::collective::{Barrier, Partial, Reduce, children};
use crate::flow::Flow;
use crate::header::{Header, Kind, NODES_MAX};
use crate::here::Request;
use crate::multicast::Multicasts;
use crate::names::{Name, Names};
use crate::slot::Slot;
use crate::waves::Waves;
use fabric::{Fabric, Message, NodeId, Pace, Priority, Time};

/// What things cost in simulated time, in its cycles. They are what the hardware of the machine did that is
/// simulated, beside what programs [spend](crate::Context::spend).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Costs {
    /// From a message at the head of the queue to the first instruction of its handler.
    pub dispatch: u64,
    /// To send a message.
    pub send: u64,
    /// Beside that, for the message's words; four bytes of a payload are one.
    pub send_words: Pace,
    /// Beside `dispatch`, for the message's words.
    pub receive_words: Pace,
    /// What passes a [chain](crate::Spread::Chain) on, and acknowledges it, is the network's hardware: it costs the
    /// node nothing.
    pub boards_pass_on: bool,
    /// A round of a barrier, beside its message.
    pub barrier_round: u64,
    /// To come to a barrier, and to leave it.
    pub barrier: u64,
    /// To make a task go on that waited for a slot.
    pub restart: u64,
    /// Between two waves that look for the end of the run (X4), and until what was refused is sent again.
    pub patience: u64,
}

impl Costs {
    /// Of real nodes: what happens takes the time that it takes.
    pub const REAL: Costs = Costs {
        dispatch: 0,
        send: 0,
        send_words: Pace::NONE,
        receive_words: Pace::NONE,
        boards_pass_on: false,
        barrier_round: 0,
        barrier: 0,
        restart: 0,
        patience: 20_000,
    };

    /// Whether time passes by what is spent only: then a node looks for messages whenever it has spent some.
    pub(crate) fn are_simulated(&self) -> bool {
        Costs { patience: Costs::REAL.patience, ..*self } != Costs::REAL
    }
}

/// What a node's time went into, where time is simulated. The rest of a run's time it was idle, or could not send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spent {
    /// Into what handlers and tasks said that they spend.
    pub program: u64,
    /// Into sending and dispatching messages of programs.
    pub messages: u64,
    /// Into barriers, reductions, acknowledgements, and into making tasks go on.
    pub synchronization: u64,
    /// Into finding the end of the run (X4), and into credits.
    pub machine: u64,
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Spent) {
        self.program += other.program;
        self.messages += other.messages;
        self.synchronization += other.synchronization;
        self.machine += other.machine;
    }
}

impl Spent {
    fn on(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Barrier | Kind::ReduceUp | Kind::ReduceDown | Kind::Acknowledge | Kind::Gathered => {
                &mut self.synchronization
            }
            kind if kind.counts() => &mut self.messages,
            _ => &mut self.machine,
        }
    }
}

/// What a node has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Messages, those of the machine itself included, except credits and what finds the end of the run.
    pub sent: u64,
    /// The same, dispatched.
    pub dispatched: u64,
    /// Messages that had to wait in the outbox.
    pub put_off: u64,
    /// Messages that came back.
    pub returned: u64,
    /// Messages for objects that were elsewhere.
    pub forwarded: u64,
    /// Messages that no machine writes, that answer nothing, or that a handler does not know: another program sent
    /// them.
    pub strange: u64,
    /// Steps of tasks.
    pub steps: u64,
    /// Where time went.
    pub spent: Spent,
    /// When the node last spent time on anything but the end of the run.
    pub worked_until: Time,
}

/// Bytes of a payload that cost as much to send as a word: the machines that are simulated had words of 32 bits.
const WORD_BYTES: u64 = 4;

/// All but the program, the tasks and the fabric.
pub(crate) struct Core {
    pub(crate) node: NodeId,
    pub(crate) nodes: u32,
    pub(crate) flow: Flow,
    pub(crate) names: Names,
    pub(crate) barrier: Barrier,
    pub(crate) reduce: Reduce,
    pub(crate) multicasts: Multicasts,
    pub(crate) waves: Waves,
    /// Slots of tasks that wait for replies.
    pub(crate) calls: Vec<Option<Slot<Message>>>,
    pub(crate) free_calls: Vec<u64>,
    pub(crate) costs: Costs,
    pub(crate) counters: Counters,
    /// Time has been spent in this step.
    pub(crate) time_passed: bool,
}

impl Core {
    pub(crate) fn new(node: NodeId, nodes: u32, costs: Costs) -> Core {
        assert!((1..=NODES_MAX).contains(&nodes) && node.0 < nodes, "node {} of {nodes}", node.0);
        Core {
            node,
            nodes,
            flow: Flow::new(costs.are_simulated()),
            names: Names::new(node),
            barrier: Barrier::new(node, nodes),
            reduce: Reduce::new(node, nodes),
            multicasts: Multicasts::default(),
            waves: Waves::new(node, nodes),
            calls: Vec::new(),
            free_calls: Vec::new(),
            costs,
            counters: Counters::default(),
            time_passed: false,
        }
    }
    /// `Kind::Moved`: an object is at node `to` now. False if no machine would have sent it.
    pub(crate) fn object_moved(&mut self, to: u32, words: &[u64]) -> bool {
        let &[_, name, moves] = words else { return false };
        let name = Name::of(name);
        let known = to < self.nodes && name.home.0 < self.nodes && self.names.may_exist(name);
        if known {
            self.names.moved(name, NodeId(to), moves);
        }
        known
    }
    /// Sends a message, and counts it.
    #[inline(always)]
    pub(crate) fn post<F: Fabric>(&mut self, fabric: &mut F, to: NodeId, message: Message) {
        assert!(to.0 < self.nodes, "there is no node {}", to.0);
        self.counters.sent += 1;
        self.spend_on_sending(fabric, Kind::Plain, &message);
        self.flow.send(fabric, to, message);
    }
    #[inline]
    fn spend_on_sending<F: Fabric>(&mut self, fabric: &mut F, kind: Kind, message: &Message) {
        self.spend_on_words(fabric, kind, message.words().len(), message.payload.len());
    }
    /// Time that sending a message of these words and bytes takes.
    #[inline]
    pub(crate) fn spend_on_words<F: Fabric>(
        &mut self,
        fabric: &mut F,
        kind: Kind,
        words: usize,
        bytes: usize,
    ) {
        let time =
            self.costs.send + self.costs.send_words.of(words as u64 + (bytes as u64).div_ceil(WORD_BYTES));
        self.spend(fabric, |spent| spent.on(kind), time);
    }
    /// Time passes.
    #[inline]
    pub(crate) fn spend<F: Fabric>(
        &mut self,
        fabric: &mut F,
        on: impl FnOnce(&mut Spent) -> &mut u64,
        time: u64,
    ) {
        if time > 0 {
            let ends = self.counters.spent.machine;
            *on(&mut self.counters.spent) += time;
            fabric.spend(time);
            self.time_passed = true;
            if self.counters.spent.machine == ends {
                self.counters.worked_until = fabric.now();
            }
        }
    }
    #[inline]
    pub(crate) fn spend_on_dispatch<F: Fabric>(&mut self, fabric: &mut F, kind: Kind, message: &Message) {
        let words = message.words().len() as u64 + (message.payload.len() as u64).div_ceil(WORD_BYTES);
        self.spend(fabric, |spent| spent.on(kind), self.costs.dispatch + self.costs.receive_words.of(words));
    }
    /// What `f` sends is sent by the network's hardware, if that passes chains on.
    pub(crate) fn by_board(&mut self, f: impl FnOnce(&mut Core)) {
        let costs = self.costs;
        if costs.boards_pass_on {
            (self.costs.send, self.costs.send_words) = (0, Pace::NONE);
        }
        f(self);
        self.costs = costs;
    }
    /// Sends a message of the machine itself.
    pub(crate) fn tell<F: Fabric>(
        &mut self,
        fabric: &mut F,
        to: NodeId,
        kind: Kind,
        aux: u32,
        words: &[u64],
    ) {
        let header = Header::new(kind, 0, aux);
        let message = header.message(Priority::High, words);
        self.counters.sent += u64::from(kind.counts());
        self.spend_on_sending(fabric, kind, &message);
        self.flow.send(fabric, to, message);
    }
    pub(crate) fn advance_barrier<F: Fabric>(&mut self, fabric: &mut F) {
        while let Some((to, round)) = self.barrier.advance(fabric) {
            self.spend(fabric, |spent| &mut spent.synchronization, self.costs.barrier_round);
            self.tell(fabric, to, Kind::Barrier, round, &[]);
        }
    }
    pub(crate) fn advance_reduction<F: Fabric>(&mut self, fabric: &mut F) {
        while let Some(partial) = self.reduce.advance() {
            match partial {
                Partial::Up(parent, reduction, value) => {
                    self.tell(fabric, parent, Kind::ReduceUp, 0, &[reduction as u64, value]);
                }
                Partial::Down(value) => {
                    self.reduction_done(fabric, value);
                }
            }
        }
    }
    pub(crate) fn reduction_done<F: Fabric>(&mut self, fabric: &mut F, value: u64) -> bool {
        let right = self.reduce.finish(value);
        self.tell_children(fabric, Kind::ReduceDown, &[value]);
        right
    }
    pub(crate) fn tell_children<F: Fabric>(&mut self, fabric: &mut F, kind: Kind, words: &[u64]) {
        for child in children(self.node, NodeId(0), self.nodes) {
            self.tell(fabric, child, kind, 0, words);
        }
    }
    /// Passes a broadcast on.
    pub(crate) fn broadcast<F: Fabric>(&mut self, fabric: &mut F, root: NodeId, message: &Message) {
        for child in children(self.node, root, self.nodes) {
            self.post(fabric, child, message.clone());
        }
    }
    /// Whether all that was to be sent is under way.
    pub(crate) fn all_sent(&self) -> bool {
        self.flow.is_empty() && !self.multicasts.any_waiting()
    }
    /// Sends what it can of what waits; true if something was sent.
    pub(crate) fn flush<F: Fabric>(&mut self, fabric: &mut F) -> bool {
        self.flow.flush(fabric) | (self.multicasts.any_waiting() && self.begin_multicasts(fabric))
    }
    pub(crate) fn enter_call(&mut self, reply: Slot<Message>) -> u64 {
        if let Some(index) = self.free_calls.pop() {
            self.calls[index as usize] = Some(reply);
            return index;
        }
        self.calls.push(Some(reply));
        self.calls.len() as u64 - 1
    }
    pub(crate) fn take_call(&mut self, index: u64) -> Option<Slot<Message>> {
        let slot = self.calls.get_mut(usize::try_from(index).ok()?)?.take()?;
        self.free_calls.push(index);
        Some(slot)
    }
    /// What a task asked for.
    pub(crate) fn serve<F: Fabric>(&mut self, fabric: &mut F, request: Request) {
        match request {
            Request::Send(to, message) => self.post(fabric, to, message),
            Request::Call { to, code, mut words, payload, reply } => {
                assert!(words.len() <= WORDS, "a message has at most {WORDS} words");
                words.insert(0, self.enter_call(reply));
                let mut message = Header::new(Kind::Request, code, 0).message(Priority::Low, &words);
                message.payload = payload;
                self.post(fabric, to, message);
            }
            Request::Broadcast { code, words, payload } => {
                let mut message =
                    Header::new(Kind::Broadcast, code, self.node.0).message(Priority::Low, &words);
                message.payload = payload;
                self.post(fabric, self.node, message);
            }
            Request::Multicast(multicast) => self.multicast(fabric, multicast),
            Request::Barrier(done) => {
                self.spend(fabric, |spent| &mut spent.synchronization, self.costs.barrier);
                self.barrier.enter(fabric, done);
                self.advance_barrier(fabric);
            }
            Request::Reduce(reduction, value, done) => {
                self.reduce.enter(reduction, value, done);
                self.advance_reduction(fabric);
            }
            Request::Spend(time) => self.spend(fabric, |spent| &mut spent.program, time),
        }
    }
}
