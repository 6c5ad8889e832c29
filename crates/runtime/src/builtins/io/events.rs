//! What arrives from outside: descriptors that become ready, timers, children that end, signals.
//!
//! Builtins ask for variables; [`Outside::poll`] binds them. Invariants:
//! - E1 Everything that is waited for is in exactly one list of [`Sources`], with the root of its variable.
//! - Whatever starts waiting wakes the worker, so that the scheduler looks and begins to tick.
//! - E4 While goals run, timers are looked at once per tick, however often the worker is woken: what a timer resumes
//!   runs at once, and if it asks for another timer that is due, all other goals would wait for ever.
//! - E5 What runs in a signal handler uses atomics and system calls only, or ends the process without running anything.
//! - `poll` answers at least once for what is ready, and waits only while nothing is.
//!
//! Absent on purpose: threads (`jobs` has them). Signals come through a pair of sockets that signal handlers write to.

use super::buffers::{Direction, Fd};
use super::many::{Many, Wait};
use crate::builtins::merge::open_cons;
use crate::coordination::sync::lock;
use crate::coordination::waker::TICK;
use crate::worker::events::Events;
use crate::worker::{Root, Worker};
use rustc_hash::FxHashMap;
use rustix::event::{PollFd, PollFlags, Timespec};

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;

use crate::coordination::sync::{Mutex, MutexGuard};
use std::sync::Arc;
use std::time::{Duration, Instant};
use term::Word;

/// A variable that an event gives its value.
pub(super) struct Awaited {
    root: Root,
    /// Whose fault it is if it has another one: a priority, or a lane.
    lane: i64,
}

impl Awaited {
    fn new(worker: &mut Worker, variable: Word) -> Awaited {
        Awaited { root: worker.root(variable), lane: worker.lane_outside() }
    }
}

/// A child whose end is waited for.
struct Child {
    process: std::process::Child,
    /// Readable once the child has ended.
    ended: Fd,
    status: Awaited,
}

/// A signal that a program asked for: the handler writes a byte per occurrence to the other end.
struct Signal {
    number: i32,
    occurrences: UnixStream,
    fd: Fd,
    /// The tail of the list of occurrences.
    tail: Awaited,
}

/// Descriptors that `poll` gets; of more than these the system is told.
const FEW: usize = 64;

/// Everything that is waited for (E1).
#[derive(Default)]
struct Sources {
    /// Descriptors that are looked at one by one, [`FEW`] or so.
    fds: Vec<Wait>,
    /// All other descriptors.
    many: Many,
    /// How many may stay in `fds` beyond those few.
    more: usize,
    timers: BTreeMap<(Instant, u64), Awaited>,
    timer_count: u64,
    /// The times of timers that may be taken back, by number.
    alarms: FxHashMap<u64, Instant>,
    /// When timers were last looked at.
    timers_seen: Option<Instant>,
    children: Vec<Child>,
    signals: Vec<Signal>,
    /// Readable after an interrupt, so that waiting ends.
    interrupts: Option<(UnixStream, Fd)>,
    /// The process is to have one thread.
    alone: Option<Alone>,
}

/// A goal wants to copy the process.
struct Alone {
    lane: i64,
    /// What is bound when nothing ticks any more.
    variable: Option<Awaited>,
}

/// The outside world of one worker.
#[derive(Clone, Default)]
pub(crate) struct Outside {
    sources: Arc<Mutex<Sources>>,
}

/// A variable that is bound when the descriptor is ready.
pub(crate) fn when_ready(worker: &mut Worker, fd: Fd, direction: Direction) -> Word {
    let variable = worker.new_variable();
    let wait = Wait { fd, direction, variable: Awaited::new(worker, variable) };
    worker.state::<Outside>().sources().fds.push(wait);
    worker.waker().wake();
    variable
}

/// A variable that is bound when nothing ticks any more, until [`end_alone`]; `None` if that is so.
pub(crate) fn when_alone(worker: &mut Worker) -> Option<Word> {
    if worker.state::<Outside>().sources().alone.is_some() {
        return None;
    }
    let variable = worker.new_variable();
    let awaited = Awaited::new(worker, variable);
    worker.state::<Outside>().sources().alone = Some(Alone { lane: awaited.lane, variable: Some(awaited) });
    worker.waker().wake();
    Some(variable)
}

/// What [`when_alone`] was asked for is done.
pub(crate) fn end_alone(worker: &mut Worker) {
    worker.state::<Outside>().sources().alone = None;
    worker.waker().wake();
}

/// Binds `variable` to `[]` at an instant.
pub(crate) fn bind_at(worker: &mut Worker, at: Instant, variable: Word) {
    let awaited = Awaited::new(worker, variable);
    let mut sources = worker.state::<Outside>().sources();
    sources.timer_count += 1;
    let key = (at, sources.timer_count);
    sources.timers.insert(key, awaited);
    drop(sources);
    worker.waker().wake();
}

/// The same for a timer that may be taken back: its number.
pub(crate) fn set_alarm(worker: &mut Worker, at: Instant, variable: Word) -> u64 {
    bind_at(worker, at, variable);
    let mut sources = worker.state::<Outside>().sources();
    let number = sources.timer_count;
    sources.alarms.insert(number, at);
    number
}

/// Takes such a timer back, if it has not gone off.
pub(crate) fn take_alarm_back(worker: &mut Worker, number: u64) {
    let mut sources = worker.state::<Outside>().sources();
    let at = sources.alarms.remove(&number);
    let awaited = at.and_then(|at| sources.timers.remove(&(at, number)));
    drop(sources);
    if let Some(awaited) = awaited {
        worker.take_root(awaited.root);
    }
}

/// Binds `status` to the raw wait status of a child when it has ended.
pub(crate) fn when_ended(
    worker: &mut Worker,
    process: std::process::Child,
    status: Word,
) -> Result<(), rustix::io::Errno> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let pid = Pid::from_child(&process);
    let ended = Fd::Owned(Arc::new(pidfd_open(pid, PidfdFlags::empty())?));
    let status = Awaited::new(worker, status);
    worker.state::<Outside>().sources().children.push(Child { process, ended, status });
    worker.waker().wake();
    Ok(())
}

/// The list of occurrences of a signal, from now on; `None` if the signal cannot be caught.
pub(crate) fn signal_list(worker: &mut Worker, number: i32) -> Option<Word> {
    let outside = worker.state::<Outside>().clone();
    if let Some(signal) = outside.sources().signals.iter().find(|signal| signal.number == number) {
        return Some(worker.root_word(&signal.tail.root));
    }
    if number <= 0 || signal_hook::consts::FORBIDDEN.contains(&number) {
        return None;
    }
    let (occurrences, handler) = UnixStream::pair().ok()?;
    occurrences.set_nonblocking(true).ok()?;
    let fd = Fd::Owned(Arc::new(occurrences.try_clone().ok()?.into()));
    signal_hook::low_level::pipe::register(number, handler).ok()?;
    let list = worker.new_variable();
    let tail = Awaited::new(worker, list);
    outside.sources().signals.push(Signal { number, occurrences, fd, tail });
    worker.waker().claim(number);
    worker.waker().wake();
    Some(list)
}

/// From now on SIGQUIT makes each of these nodes say what waits ([`Node::report_to`](crate::node::Node::report_to)),
/// and Ctrl-C and SIGTERM end the run of each of these nodes' first workers
/// ([`ErrorKind::Interrupted`](crate::reports::outcome::ErrorKind)), unless the program handles the signal itself; a
/// second one half a second later, or one between runs, ends the process at once with exit code 130 (unless
/// [interrupts are held](crate::coordination::waker::Waker::hold_interrupts)). Answers what ends the first one's rest.
pub(crate) fn end_on_interrupt(nodes: &mut [&mut Worker]) -> std::io::Result<Option<Rouser>> {
    let wakers: Vec<_> = nodes.iter().map(|worker| worker.waker()).collect();
    let Some(first) = nodes.first_mut() else { return Ok(None) };
    let rouser = rouser(first)?;
    let handler = rouser.0.try_clone()?;
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let wakers = wakers.clone();
        let action = move || {
            if wakers.iter().any(|waker| waker.is_claimed(signal)) {
                return;
            }
            // All of them hear of it, whatever the first says.
            let heard = wakers.iter().filter(|waker| waker.interrupt()).count();
            if heard == 0 {
                signal_hook::low_level::exit(130);
            }
        };
        // SAFETY: E5 - the action looks at atomics of wakers, and wakes or ends the process by system calls.
        unsafe { signal_hook::low_level::register(signal, action)? };
        signal_hook::low_level::pipe::register(signal, handler.try_clone()?)?;
    }
    let quit = signal_hook::consts::SIGQUIT;
    let action = move || {
        let claimed = wakers.iter().any(|waker| waker.is_claimed(quit));
        // The first node passes it on.
        if !claimed && !wakers.first().is_some_and(|waker| waker.ask()) {
            // There is no run: the signal does what it always does.
            let _ = signal_hook::low_level::emulate_default_handler(quit);
        }
    };
    // SAFETY: E5 - the action looks at atomics of wakers; what it emulates is a system call.
    unsafe { signal_hook::low_level::register(quit, action)? };
    signal_hook::low_level::pipe::register(quit, handler)?;
    Ok(Some(rouser))
}

/// Ends the rest of a first worker that waits for events; may be used from any thread.
#[derive(Debug)]
pub struct Rouser(UnixStream);

impl Rouser {
    /// To be used behind its [`Waker`](crate::coordination::waker::Waker), which a worker that waits for events does
    /// not hear.
    pub fn rouse(&self) {
        // Where there is no room for a byte, some lie there that were not read yet.
        let _ = std::io::Write::write(&mut &self.0, &[0]);
    }
}

/// What ends the rest of this worker, a node's first. There is one.
pub(crate) fn rouser(worker: &mut Worker) -> std::io::Result<Rouser> {
    let (wakeups, handler) = UnixStream::pair()?;
    wakeups.set_nonblocking(true)?;
    handler.set_nonblocking(true)?;
    let fd = Fd::Owned(Arc::new(wakeups.try_clone()?.into()));
    worker.state::<Outside>().sources().interrupts = Some((wakeups, fd));
    Ok(Rouser(handler))
}

impl Sources {
    /// Is somebody to be told that nothing ticks?
    fn waits_alone(&self) -> bool {
        self.alone.as_ref().is_some_and(|alone| alone.variable.is_some())
    }
    /// Tells the system of descriptors that are many.
    fn sort_out(&mut self) {
        if self.fds.len() > FEW + self.more {
            let all = std::mem::take(&mut self.fds);
            self.fds = all.into_iter().filter_map(|wait| self.many.add(wait).err()).collect();
            // What the system does not watch stays, and is not offered again and again.
            self.more = 2 * self.fds.len();
        }
    }
}

impl Outside {
    fn sources(&self) -> MutexGuard<'_, Sources> {
        lock(&self.sources)
    }
    /// The outside world of this worker.
    pub(crate) fn of(worker: &mut Worker) -> Outside {
        worker.state::<Outside>().clone()
    }
    /// This process is a copy of another one, which goes on: what the system watches for both is watched anew for this
    /// one (J9 of `many`).
    pub(super) fn begin_copy(&self) {
        let mut sources = self.sources();
        let all = sources.many.abandon();
        sources.fds.extend(all);
        debug_assert!(sources.many.all().next().is_none(), "J9: the sets are new");
        sources.more = 0;
    }
    /// The lanes of all that is awaited.
    pub(super) fn lanes(&self) -> Vec<i64> {
        let sources = self.sources();
        let fds = sources.fds.iter().chain(sources.many.all());
        let mut lanes: Vec<i64> = fds.map(|wait| wait.variable.lane).collect();
        lanes.extend(sources.timers.values().map(|awaited| awaited.lane));
        lanes.extend(sources.children.iter().map(|child| child.status.lane));
        lanes.extend(sources.signals.iter().map(|signal| signal.tail.lane));
        lanes.extend(sources.alone.iter().map(|alone| alone.lane));
        lanes
    }
    /// X14 of `shoen`: nobody waits any more for what was awaited in shoens that were aborted. Children are waited for
    /// all the same, and signals are everybody's.
    pub(super) fn forget_deserted(&self, worker: &mut Worker) {
        let mut sources = self.sources();
        let mut deserted = |wait: &Wait| worker.was_aborted(wait.variable.lane);
        let mut fds = sources.many.take_if(&mut deserted);
        fds.extend(sources.fds.extract_if(.., |wait| deserted(wait)));
        let mut forgotten: Vec<Awaited> = fds.into_iter().map(|wait| wait.variable).collect();
        if let Some(alone) = sources.alone.take_if(|alone| worker.was_aborted(alone.lane)) {
            forgotten.extend(alone.variable);
        }
        let timers = std::mem::take(&mut sources.timers);
        for (at, awaited) in timers {
            if worker.was_aborted(awaited.lane) {
                sources.alarms.remove(&at.1);
                forgotten.push(awaited);
            } else {
                sources.timers.insert(at, awaited);
            }
        }
        drop(sources);
        forgotten.into_iter().for_each(|awaited| _ = worker.take_root(awaited.root));
    }
    /// Waits until something is ready, at most `timeout`, then takes out what is: variables to bind, with values.
    fn collect(
        &self,
        worker: &mut Worker,
        timeout: Option<Duration>,
        blocked: &[Fd],
    ) -> Vec<(Awaited, Word)> {
        let ready = self.wait(timeout, blocked);
        let mut sources = self.sources();
        if let Some((wakeups, _)) = &mut sources.interrupts {
            // The waker knows of the interrupt: the bytes have done their work.
            let _ = std::io::Read::read(wakeups, &mut [0; 64]);
        }
        let mut fired = Vec::new();
        let alone = sources.alone.as_mut().and_then(|alone| alone.variable.take());
        fired.extend(alone.map(|awaited| (awaited, Word::NIL)));
        let now = Instant::now();
        // E4
        let waited = timeout != Some(Duration::ZERO);
        if waited || sources.timers_seen.is_none_or(|before| now - before >= TICK / 2) {
            sources.timers_seen = Some(now);
            while let Some(entry) = sources.timers.first_entry()
                && entry.key().0 <= now
            {
                let ((_, number), awaited) = entry.remove_entry();
                sources.alarms.remove(&number);
                fired.push((awaited, Word::NIL));
            }
        }
        let (fds, children) = (sources.fds.len(), sources.children.len());
        let waits = fds + children + sources.signals.len();
        for &index in ready.iter().rev() {
            if index < fds {
                fired.push((sources.fds.swap_remove(index).variable, Word::NIL));
            } else if index >= waits {
                let ready = sources.many.take_ready();
                fired.extend(ready.into_iter().map(|wait| (wait.variable, Word::NIL)));
            } else if index < fds + children {
                let mut child = sources.children.swap_remove(index - fds);
                match child.process.try_wait() {
                    Ok(None) => sources.children.push(child),
                    Ok(Some(status)) => fired.push((child.status, Word::small(status.into_raw().into()))),
                    Err(_) => fired.push((child.status, Word::small(-1))),
                }
            } else {
                extend_signal(worker, &mut sources.signals[index - fds - children], &mut fired);
            }
        }
        fired
    }
    /// Indices of ready descriptors: first those of `fds`, then of children, then of signals, then of all in `many`; in
    /// ascending order.
    /// Waiting ends also when a `blocked` one takes output.
    fn wait(&self, timeout: Option<Duration>, blocked: &[Fd]) -> Vec<usize> {
        let mut sources = self.sources();
        sources.sort_out();
        let next_timer = (sources.timers.first_key_value())
            .map(|((at, _), _)| at.saturating_duration_since(Instant::now()));
        let timeout = match (timeout, next_timer) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let timeout = if sources.waits_alone() { Some(Duration::ZERO) } else { timeout };
        let mut polled: Vec<PollFd<'_>> = Vec::new();
        for Wait { fd, direction, .. } in &sources.fds {
            let flags = match direction {
                Direction::Read => PollFlags::IN,
                Direction::Write => PollFlags::OUT,
            };
            polled.push(PollFd::new(fd, flags));
        }
        polled.extend(sources.children.iter().map(|child| PollFd::new(&child.ended, PollFlags::IN)));
        polled.extend(sources.signals.iter().map(|signal| PollFd::new(&signal.fd, PollFlags::IN)));
        polled.extend(sources.many.any().map(|set| PollFd::new(set, PollFlags::IN)));
        let waits = polled.len();
        polled.extend(blocked.iter().map(|fd| PollFd::new(fd, PollFlags::OUT)));
        polled.extend(sources.interrupts.iter().map(|(_, fd)| PollFd::new(fd, PollFlags::IN)));
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        // Interrupted by a signal or refused: nothing is ready, the scheduler asks again.
        let _ = rustix::event::poll(&mut polled, timeout.as_ref());
        (0..waits).filter(|&index| !polled[index].revents().is_empty()).collect()
    }
}

/// One list element per occurrence that was written.
fn extend_signal(worker: &mut Worker, signal: &mut Signal, fired: &mut Vec<(Awaited, Word)>) {
    use std::io::Read;
    let mut buffer = [0; 64];
    while let Ok(count @ 1..) = signal.occurrences.read(&mut buffer) {
        for _ in 0..count {
            let (cons, tail) = open_cons(worker, Word::small(signal.number.into()));
            let new_tail = Awaited { root: worker.root(tail), ..signal.tail };
            fired.push((std::mem::replace(&mut signal.tail, new_tail), cons));
        }
    }
}

impl Events for Outside {
    fn awaited(&self, worker: &Worker) -> Vec<(Word, String)> {
        let (sources, now) = (self.sources(), Instant::now());
        let mut all: Vec<(&Awaited, String)> = Vec::new();
        let fds = sources.fds.iter().chain(sources.many.all());
        all.extend(fds.map(|wait| (&wait.variable, wait.fd.awaited(wait.direction))));
        all.extend(sources.timers.iter().map(|((at, _), awaited)| {
            let left = at.saturating_duration_since(now);
            (awaited, format!("a timer, in {:.3} s", left.as_secs_f64()))
        }));
        all.extend(
            sources
                .children
                .iter()
                .map(|child| (&child.status, format!("the end of process {}", child.process.id()))),
        );
        all.extend(sources.signals.iter().map(|signal| (&signal.tail, format!("signal {}", signal.number))));
        all.into_iter().map(|(awaited, text)| (worker.root_word(&awaited.root), text)).collect()
    }
    fn has_pending(&self, _: &Worker) -> bool {
        let sources = self.sources();
        !(sources.fds.is_empty()
            && sources.many.any().next().is_none()
            && sources.timers.is_empty()
            && sources.children.is_empty()
            && sources.signals.is_empty()
            && !sources.waits_alone())
    }
    fn needs_one_thread(&self) -> bool {
        self.sources().alone.is_some()
    }
    fn poll(&mut self, worker: &mut Worker, timeout: Option<Duration>) {
        if super::close_deserted(worker) && timeout.is_none() && !self.has_pending(worker) {
            return;
        }
        let waits = timeout != Some(Duration::ZERO);
        let blocked = if waits { super::flush_before_waiting(worker) } else { Vec::new() };
        if worker.ending.has_failed() {
            return;
        }
        for (Awaited { root, lane }, value) in self.collect(worker, timeout, &blocked) {
            let variable = worker.take_root(root);
            worker.in_lane(lane, |worker| worker.unify(variable, value));
        }
    }
}
