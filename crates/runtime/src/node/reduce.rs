//! The scheduler of one worker: reduces goals until it must wait for others.
//!
//! The loop enters the goal on top of the goal stack; generated code then goes from goal to goal by itself and comes
//! back when something needs attention. Between two reductions (and only there) the worker *attends* (`attend`): it
//! ends the program if it must, makes resumed goals ready, handles outside events and mail, gives goals away, lets a
//! collection happen, and switches to the highest priority.

use crate::builtins::io::batches;
use crate::builtins::{merge_resumed, stream_resumed};
use crate::collect::lead;
use crate::coordination::schedule::{Leaves, now, since};
use crate::coordination::sync::lock;
use crate::coordination::team::{PATIENCE_MAX, Phase, Wake};
use crate::coordination::waker::{TICK, Waker};
use crate::memory::ranges::read;
use crate::node::home::Home;
use crate::reports::outcome::{ErrorKind, RunOutcome};
use crate::reports::profile::Doing;
use crate::reports::trace::What;
use crate::sharing::tuning::PATIENCE;
use crate::worker::Worker;
use crate::worker::all::Shared;
use crate::worker::native::Record;
use std::time::{Duration, Instant};
use term::Word;
use term::abi::{BOTTOM, PredicateId, Status, WorkerAbi};

/// What a worker waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// Goals.
    Rest,
    /// Others, at higher priorities.
    Yield,
    /// Others, that reduce what comes before its goals (B14 of `gaps`).
    Gap,
    /// Worker 0, which has to tell other nodes what this one has to say first (Y12 of `abroad`).
    Hold,
    /// Everybody else to stop, for a collection.
    Collect,
    /// The end of somebody else's stop.
    Stopped,
    /// Whoever steps the node to look at what is outside it.
    Look,
    /// Nothing: the run is over.
    Over,
}

impl Pause {
    /// What a profile says of it.
    fn doing(self) -> Doing {
        match self {
            Pause::Rest | Pause::Yield | Pause::Gap | Pause::Hold => Doing::Idle,
            Pause::Collect | Pause::Stopped => Doing::Collecting,
            Pause::Look | Pause::Over => Doing::Scheduling,
        }
    }
}

/// Why worker 0 came back from its share of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Of a node among several: it is time to look for messages.
    Look,
    /// Nothing is ready at this node.
    Quiescent,
    /// The run is over.
    Ended,
}

/// How long worker 0 rests until it looks for messages of other processes, which do not wake it.
const MESSAGES_REST: Duration = Duration::from_micros(200);

/// How long a worker waits before it looks again whether it may tell what it has to tell (Y12 of `abroad`).
const HOLD: Duration = Duration::from_micros(50);

/// Processes that are reduced at one attention: few enough for the room that there always is above the limit (C3).
const PROCESSES_MAX: usize = 16;

/// Reduces for worker `me`, which is not 0, until the run is over.
pub(crate) fn work(shared: &Shared, me: usize) {
    let schedule = shared.team.schedule();
    schedule.iter().for_each(|schedule| schedule.enter(me));
    let _leaves = schedule.map(|schedule| Leaves(schedule, me));
    let _clock = shared.clock(me);
    let mut idle = Idle::new(shared, me);
    let turn = turn(shared, &mut idle, None);
    assert_eq!(turn, Turn::Ended, "only worker 0 is told of anything else");
}

/// Reduces for a worker until something is to be done outside the node, or the run is over.
pub(crate) fn turn(shared: &Shared, idle: &mut Idle, mut home: Option<&mut Home>) -> Turn {
    let (crew, me) = (shared.crew(), idle.me);
    let before = crew.with(me, |worker| worker.abi.reductions);
    let mut has_looked = false;
    loop {
        let reduce = || {
            shared.trial.begin_busy(me);
            let pause = crew.with(me, |worker| worker.reduce(home.as_deref_mut()));
            shared.trial.end_busy(me);
            pause
        };
        shared.does(me, Doing::Scheduling);
        let pause = shared.noted(me, reduce, |_| crew.with(me, |worker| worker.note_reducing()));
        shared.does(me, pause.doing());
        match pause {
            Pause::Hold => shared.noted(me, || idle.hold(shared), |_| What::Resting),
            Pause::Gap => shared.noted(me, || idle.wait_at_gap(shared), |()| What::Resting),
            Pause::Yield => {
                let yields = || crew.with(me, Worker::yield_to_others);
                shared.noted(me, yields, |()| What::Resting);
            }
            Pause::Rest => {
                if home.is_some() && idle.is_awaited(shared) {
                    continue;
                }
                crew.with(me, |worker| worker.show_at_rest());
                match shared.noted(me, || idle.rest(shared, home.as_deref_mut()), |_| What::Resting) {
                    Wake::Over => return Turn::Ended,
                    Wake::Quiescent if home.as_deref().is_some_and(|home| home.tells_shoens(shared)) => {}
                    Wake::Quiescent => return Turn::Quiescent,
                    Wake::Timeout if home.is_some() && idle.several_nodes => return Turn::Look,
                    Wake::Mail | Wake::Timeout => {}
                    Wake::Share | Wake::Solo => unreachable!("a rest looks after these itself"),
                }
            }
            Pause::Collect if lead_collection(shared, me, home.as_deref()) => {}
            Pause::Collect | Pause::Stopped => {
                be_stopped(shared, me);
                if home.is_some() && shared.waker.is_asked() {
                    // Another worker's collection came before the one in which the answer is given.
                    shared.waker.wake();
                }
            }
            // What woke it was outside when the turn began, and was looked at: however often that is so, it reduces.
            // What has come since then is looked at a tick later; a turn of metered code has an end, and no clock.
            Pause::Look
                if !std::mem::replace(&mut has_looked, true)
                    && crew.with(me, |worker| worker.abi.reductions == before && worker.is_only_woken()) =>
            {
                let waker = crew.with(me, |worker| (!worker.is_metered()).then(|| worker.waker()));
                if let (Some(home), Some(waker)) = (home.as_deref_mut(), waker) {
                    home.ticker.set(true, &waker);
                }
            }
            Pause::Look => return Turn::Look,
            Pause::Over => return Turn::Ended,
        }
    }
}

/// True if worker `me` has led a collection. Else another worker does, or the run is over.
fn lead_collection(shared: &Shared, me: usize, home: Option<&Home>) -> bool {
    let Some(wanted) = stop_others(shared, me) else { return false };
    lead::collect(shared, me, wanted);
    if let Some(home) = home {
        shared.watch.get().inspect(|watch| watch.stopped(wanted));
        home.answer(shared);
    }
    shared.team.resume_others(me);
    true
}

fn be_stopped(shared: &Shared, me: usize) {
    let stopped = || {
        while shared.team.stopped(me) == Phase::Share {
            take_part(shared, me);
        }
    };
    shared.noted(me, stopped, |()| What::Stopped);
}

/// Collects everything between two turns of worker 0, unless the run is over. What messages have resumed is made ready
/// before (F5 of `collect`).
pub(crate) fn collect_everything(shared: &Shared) {
    shared.crew().with(0, |worker| {
        worker.push_resumed();
        worker.wanted.be_major();
    });
    while !shared.team.over() && !lead_collection(shared, 0, None) {
        be_stopped(shared, 0);
    }
}

/// If worker `me` leads from now on: since when it has waited for the others to stop.
fn stop_others(shared: &Shared, me: usize) -> Option<Instant> {
    let wanted = now();
    let stop = || shared.team.stop_others(me);
    let leads = if shared.team.len() == 1 { stop() } else { shared.noted(me, stop, |_| What::Stopping) };
    leads.then_some(wanted)
}

/// Helps whoever leads a collection, unless it has come to its end.
fn take_part(shared: &Shared, me: usize) {
    let work = lock(&shared.work).clone();
    if let Some(work) = work {
        work.take_part(shared, me);
    }
}

/// Nothing is ready at this node, and worker 0 has it for itself. True if goals wait that events from outside may
/// resume.
pub(crate) fn awaits_events(shared: &Shared, home: &Home) -> bool {
    shared.crew().with(0, |worker| home.has_pending(worker)) && has_waiting(shared)
}

/// Whether goals of this node wait, daemons not counted.
pub(crate) fn has_waiting(shared: &Shared) -> bool {
    let crew = shared.crew();
    (0..crew.len()).any(|index| crew.with(index, |worker| worker.waiting_goals().next().is_some()))
}

/// The same; sleeps until such an event has come.
pub(crate) fn await_event(shared: &Shared, home: &mut Home) {
    shared.crew().with(0, |worker| shared.noted(0, || home.sleep(worker), |()| What::Outside));
}

/// Nothing is ready at this node, and nothing will resume a goal: success, or the goals that wait for ever.
pub(crate) fn stuck(shared: &Shared) -> RunOutcome {
    let crew = shared.crew();
    let mut waiting = Vec::new();
    crew.each(|worker| waiting.extend(worker.waiting_goals()));
    crew.with(0, |worker| worker.perpetual_suspension(&waiting).unwrap_or(RunOutcome::Success))
}

/// How a worker behaves that has no goals.
pub(crate) struct Idle {
    me: usize,
    workers: usize,
    /// The worker that it asked last.
    asked: usize,
    /// Its worker's.
    waker: Waker,
    /// The node is one of several, and nobody wakes its worker 0 for a message.
    several_nodes: bool,
    ticks: bool,
}

impl Idle {
    pub(crate) fn new(shared: &Shared, me: usize) -> Idle {
        let (crew, workers) = (shared.crew(), shared.crew().len());
        let (waker, several_nodes, ticks) =
            crew.with(me, |worker| (worker.waker(), worker.is_one_of_several_nodes(), worker.options.ticks));
        Idle { me, workers, waker, asked: me, several_nodes, ticks }
    }
    /// Worker 0 was woken, and has overlooked it (K2 of `waker`): it attends and does not rest.
    fn is_awaited(&self, shared: &Shared) -> bool {
        let awaited = self.workers > 1 && self.waker.is_set();
        if awaited {
            shared.crew().with(self.me, |worker| worker.abi.want_attention());
        }
        awaited
    }
    /// The worker to ask next.
    fn next_to_ask(&mut self) -> usize {
        debug_assert!(self.workers > 1, "a worker asks others");
        self.asked = (self.asked + 1) % self.workers;
        if self.asked == self.me {
            self.asked = (self.asked + 1) % self.workers;
        }
        self.asked
    }
    fn hold(&self, shared: &Shared) {
        debug_assert!(self.me != 0, "Y12: worker 0 tells other nodes itself");
        shared.team.pause(self.me, HOLD, || true);
        shared.crew().with(self.me, |worker| worker.abi.want_attention());
    }
    /// B14 of `gaps`.
    fn wait_at_gap(&mut self, shared: &Shared) {
        shared.crew().with(self.me, |worker| worker.begin_trial_at_gap());
        let ask = shared.may_not_ask(self.me).is_none().then(|| self.next_to_ask());
        let (time, but) = shared.crew().with(self.me, |worker| {
            worker.show_no_running();
            worker.pause_at_gap()
        });
        let begin = now();
        shared.team.pause_behind(self.me, &but, ask, time);
        shared.crew().with(self.me, |worker| worker.waited_at_gap(since(begin)));
    }
    fn rest(&mut self, shared: &Shared, home: Option<&mut Home>) -> Wake {
        if self.workers == 1 {
            return shared.team.rest(self.me, None, None);
        }
        shared.crew().with(self.me, Worker::go_to_rest);
        let off = shared.may_not_ask(self.me);
        let mut ask = off.is_none().then(|| self.next_to_ask());
        shared.crew().with(self.me, |worker| {
            worker.statistics.rests += 1;
            worker.statistics.requests += u64::from(ask.is_some());
        });
        if let Some(worker) = ask {
            shared.note(self.me, || What::Asking { worker });
        }
        let longest = match &home {
            Some(_) if self.several_nodes && self.ticks => MESSAGES_REST,
            // Nobody rings worker 0 for events.
            Some(_) => TICK,
            None => PATIENCE_MAX,
        };
        let mut patience = PATIENCE;
        let mut timeout = off.unwrap_or(patience).min(longest);
        loop {
            match shared.team.rest(self.me, ask, Some(timeout)) {
                Wake::Share => take_part(shared, self.me),
                Wake::Solo if home.is_some() && self.waker.is_set() => shared.team.interrupt_solo(self.me),
                // What a timeout is for, without disturbing the solo worker.
                Wake::Solo => {
                    patience = (patience * 2).min(PATIENCE_MAX);
                    let off = shared.may_not_ask(self.me);
                    timeout = off.unwrap_or(patience).min(longest);
                    ask = off.is_none().then(|| self.next_to_ask());
                }
                wake => return wake,
            }
        }
    }
}

impl Worker {
    /// Reduces until there is nothing more to do without others.
    fn reduce(&mut self, mut home: Option<&mut Home>) -> Pause {
        if self.shared.team.schedule().is_some() {
            // So the first step ends soon, too.
            self.abi.want_attention();
        }
        loop {
            if self.abi.heap as usize > self.abi.limit()
                && !(self.has_resumed() && self.attend_to_resumed() && !self.wants_other_priority())
                && let Some(pause) = self.attend(home.as_deref_mut())
            {
                return pause;
            }
            let goal = read(self.abi.goals as usize - 8);
            let predicate = PredicateId::of_goal_word(goal);
            if predicate == BOTTOM {
                if self.has_batches() && batches::serve(self, None) {
                    continue;
                }
                if !self.next_segment() {
                    let is_outward = self.has_outward() && !self.is_single();
                    if is_outward || self.lanes.has_news() || self.goals.has_entering() {
                        // Y8 of `abroad`: what resumed daemons have to tell does not wait for the end of a rest.
                        self.abi.want_attention();
                        continue;
                    }
                    if batches::end(self) {
                        continue;
                    }
                    return Pause::Rest;
                } else if !self.is_single() {
                    self.go_down();
                }
                continue;
            }
            let entry = self.code.entries.get(predicate.0 as usize).copied();
            let (Some(enter), Some(entry)) =
                (self.code.enter, entry.filter(|&entry| entry != self.code.native_entry))
            else {
                self.run_top_native();
                continue;
            };
            self.let_code_attend();
            let abi: *mut WorkerAbi = (&raw mut *self).cast();
            // SAFETY: C1 - the goal's record is on top of the goal stack and `entry` is the address of its predicate's
            // code; `abi` is derived from the whole worker (R1), which nothing else uses meanwhile.
            let status = unsafe { enter(abi, entry) };
            if status == Status::Fail as u64 {
                self.fail_top(ErrorKind::ReductionFailure, "no clause of this goal can commit");
            }
        }
    }

    /// Attention for generated code, which does not do it itself (C8): true if goals were resumed, and nothing else is
    /// wanted.
    #[inline(always)]
    pub(crate) fn attend_in_code(&mut self) -> bool {
        let answer = match self.attend_to_process() {
            Some(answer) => answer,
            None => self.attend_to_resumed(),
        };
        if answer && self.abi.limit_after == 0 {
            self.let_code_attend();
        }
        answer
    }
    /// The same if the first of those goals is a stream's or a merger's process: it is reduced, and so is what comes
    /// next while that is such a process. `None` if nothing has happened but that the limit was restored.
    #[inline(always)]
    fn attend_to_process(&mut self) -> Option<bool> {
        let (mut record, mut goal) = self.first_process()?;
        // C8: then nothing else is wanted.
        let (limit, heap) = (self.abi.limit_after, self.abi.heap as usize);
        if heap <= limit {
            self.abi.set_limit(limit);
        } else {
            let limit = self.attention.first();
            self.abi.set_limit(limit);
            if heap > limit || self.abi.need != 0 || self.abi.more_wanted || self.wants_other_priority() {
                return None;
            }
        }
        let crowd = !self.is_single();
        // K2, T7.
        if self.is_woken() || crowd && self.shared.team.wants(self.index) {
            return None;
        }
        for _ in 0..PROCESSES_MAX {
            let level = self.abi.resumed_at;
            self.reduce_process(record, goal);
            if crowd && self.goes_below() {
                // P7.
                self.abi.resumed_at = level;
            }
            if !self.has_resumed() {
                // It may have ended the program.
                return Some(self.abi.heap as usize <= self.abi.limit());
            }
            match self.first_process() {
                Some(next) if !self.abi.more_wanted => (record, goal) = next,
                _ => break,
            }
        }
        Some(self.attend_after_builtin())
    }
    #[inline(always)]
    fn reduce_process(&mut self, record: usize, goal: Word) {
        let later = self.take_first_of(record);
        let process = Record(record);
        let waits = if goal == self.system_goals.stream.goal_word() {
            stream_resumed(self, process)
        } else {
            merge_resumed(self, process)
        };
        if !waits {
            self.reduce_its_goal(record, PredicateId::of_goal_word(goal));
        }
        if later != 0 {
            self.resume_after_builtin(later);
        }
    }
    /// Attention in the usual case: goals were resumed, and nothing else is wanted. Otherwise false: `attend` is to
    /// look.
    #[inline(always)]
    pub(crate) fn attend_to_resumed(&mut self) -> bool {
        match self.attend_once() {
            Some(answer) => answer,
            // It may have ended the program.
            None if !self.has_resumed() => self.abi.heap as usize <= self.abi.limit(),
            None => self.attend_after_builtin(),
        }
    }
    #[inline(never)]
    fn attend_after_builtin(&mut self) -> bool {
        while self.has_resumed() {
            if let Some(answer) = self.attend_once() {
                return answer;
            }
        }
        // It may have ended the program.
        self.abi.heap as usize <= self.abi.limit()
    }
    /// The answer of `attend_to_resumed`; `None` if the first goal was a builtin and was reduced.
    #[inline(always)]
    fn attend_once(&mut self) -> Option<bool> {
        let limit = self.attention.first();
        self.abi.set_limit(limit);
        // K2, T7: after the limit was restored.
        let other = self.is_woken()
            || !self.is_single() && self.shared.team.wants(self.index)
            || self.abi.heap as usize > limit
            || self.abi.need != 0
            || self.abi.more_wanted
            || self.wants_other_priority();
        if other || !self.has_resumed() {
            self.abi.want_attention();
            return Some(false);
        }
        let ready = if self.is_single() { self.reduce_or_push_resumed() } else { self.reduce_or_put_off() };
        ready.then_some(true)
    }
    /// The goal on top of the stack has no code of its own. True if it was reduced, or resumed goals came on top: then
    /// the goal that is on top now is next. False: the scheduler is to look.
    #[inline(always)]
    pub(crate) fn reduce_native(&mut self) -> bool {
        if self.abi.heap as usize > self.abi.limit() {
            return self.has_resumed() && self.attend_in_code();
        }
        if PredicateId::of_goal_word(read(self.abi.goals as usize - 8)) == BOTTOM {
            return self.leaves_segment();
        }
        self.run_top_native();
        true
    }
    /// It attended because it was woken, and has a goal to reduce.
    fn is_only_woken(&self) -> bool {
        !self.has_outward() && PredicateId::of_goal_word(read(self.abi.goals as usize - 8)) != BOTTOM
    }
}
