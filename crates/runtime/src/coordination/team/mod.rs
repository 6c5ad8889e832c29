//! Several workers as a team: mail between them, rest and quiescence, stopping everybody, the end of a run.
//!
//! Knows nothing of heaps nor of what goals mean. A worker is a thread with a number; it *runs* (reduces goals),
//! *rests* (waits in [`Team::rest`]), or is *stopped* (in [`Team::stopped`], see `stop`). Running workers look at
//! [`Team::take_mail`], [`Team::hungry`], [`Team::stop_wanted`] and [`Team::over`] at every attention; they are
//! brought there by pokes.
//!
//! Invariants:
//! - T1 `active` counts the workers that do not rest and the mails that nobody has taken. Only a running worker posts
//!   or takes, and counts a mail before it can be seen; so the count reaches zero in `rest` only. Then nothing is
//!   left to reduce and nobody can post: the team is *quiescent*.
//! - T2 `active` goes to zero and leaves it under the lock of `World`. From zero, only worker 0 comes back
//!   (`Quiescent`), once for each time that zero is reached. The team then stays `calm`: no other worker ends its
//!   rest because of a timeout until worker 0 calls `go_on` or a resting worker gets mail. So worker 0 has the node
//!   for itself.
//! - T3 A poster puts mail into the box first and then asks, under the box's lock, whether the receiver listens; a
//!   worker that goes to rest begins to listen under that lock if the box is empty. So one of them sees the other.
//! - T4 A resting worker answers to nobody but the leader while there is one: `rest` returns when the stop is over.
//! - T5 Whoever waits does so in `wait`: what it waits for changes under the lock of `World`, and whoever changes it
//!   rings (`ring`) under the same lock. Locks are taken in this order: `World`, one mailbox.
//! - T6 A mailbox's `limit` leads to its worker's `abi.limit` from `attach` to `detach`, and is used under the box's
//!   lock only.
//! - T7 A poke is a hint. A worker restores its limit and then looks, and so does generated code, which reads `poked`
//!   as long as there is the worker; without a fence between the two (it would cost more than all the rest) it may
//!   overlook a poke made meanwhile. A leader repeats its pokes, and so do workers that ask for goals, which reminds
//!   others of their mail; a worker that has left the run calls `poke_again` until all have.

mod knock;
mod mail;
#[cfg(all(test, models))]
mod models;
mod pause;
mod solo;
mod stop;
#[cfg(all(test, not(models)))]
mod tests;

pub(crate) use mail::{Mail, When};
pub(crate) use pause::NOT_RUNNING;
pub(crate) use stop::{Phase, Sharers};

use crate::coordination::schedule::{Schedule, now, since};
use crate::coordination::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::Release,
};
use crate::coordination::sync::{Condvar, Mutex, MutexGuard};
// The limit is of the ABI, not of the models.
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize as Limit};
use std::time::{Duration, Instant};

/// A set of workers, a bit each, is one word.
pub(crate) const WORKERS_MAX: usize = 64;
/// What a resting worker shows in place of a priority.
pub(crate) const AT_REST: i64 = i64::MAX;
/// A worker that asks for goals asks again after this at the latest.
pub(crate) const PATIENCE_MAX: Duration = Duration::from_millis(10);
/// How long a worker looks for a change before it parks, if there is a processor for each: to wake a parked thread
/// costs as much. A worker that asks for goals gets them within 20 us as a rule: those that were made after the last
/// look (B4 of `choose`).
const SPIN: Duration = Duration::from_micros(100);
/// The same while all are stopped: most collections end within that.
const SPIN_STOPPED: Duration = Duration::from_micros(200);
const UNPOISONED: &str = "nothing panics under the locks of a team, but a bug that ends the process";

/// Why a worker's rest is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wake {
    /// There is mail to take.
    Mail,
    /// The time is over; the worker runs again.
    Timeout,
    /// To worker 0 only: nobody runs and no mail is left. It has the node for itself until it goes on (T2).
    Quiescent,
    /// A leader wants help: take part, then rest again. The worker still rests, and must not post or take mail.
    Share,
    /// The time is over, but another worker is solo (T10); the worker still rests.
    Solo,
    /// The run is over.
    Over,
}

/// What several workers share to work together.
#[derive(Debug)]
pub(crate) struct Team {
    seats: Box<[Seat]>,
    /// T1. Relaxed everywhere: it is one location, and what it counts is handed over under locks.
    active: AtomicUsize,
    /// The workers that ask for goals, resting or at gaps. Relaxed everywhere: a bit orders nothing, the mail that
    /// answers it does.
    hungry: AtomicU64,
    /// Whether there is a leader. Relaxed, like `over`: a hint to come and take the lock.
    stop: AtomicBool,
    /// What `pause` keeps of all.
    precedence: pause::Precedence,
    /// The solo worker is to end that (T10). Relaxed: a hint to come and take the lock.
    solo_interrupted: AtomicBool,
    /// Written under the lock of `world`.
    over: AtomicBool,
    world: Mutex<World>,
    /// Whether each worker can have a processor of its own.
    spins: bool,
    /// Workers run one after the other (tests).
    schedule: Option<Arc<Schedule>>,
}

/// What belongs to one worker. Aligned so that no two share a cache line (nor a pair that is fetched together).
#[derive(Debug)]
#[repr(align(128))]
struct Seat {
    /// The priority that the worker reduces at, or the highest that it has goals for; [`AT_REST`]. Relaxed: others
    /// compare theirs with it.
    priority: AtomicI64,
    /// The priority that the worker reduces at; [`NOT_RUNNING`]. Relaxed, like the one above.
    runs_at: AtomicI64,
    /// How often the worker has stopped reducing. Relaxed: a hint.
    stops: AtomicU32,
    /// How often others have begun to poll what the worker is about to make. Relaxed: a hint.
    needed: AtomicU32,
    /// The worker is going to look soon whether others reduce at a lower priority. Relaxed: a poke would not tell it
    /// more.
    looks: AtomicBool,
    /// The worker has something to attend to: set with every poke, before it. Relaxed: a hint to look at everything
    /// else.
    poked: AtomicBool,
    /// Whether the mailbox holds mail; written under its lock. Relaxed: a hint for the owner to take that lock.
    waiting: AtomicBool,
    mailbox: Mutex<Mailbox>,
    /// Grows, under the lock of `world`, when the worker shall look again at what it waits for. Relaxed: to look
    /// takes that lock.
    rings: AtomicU32,
    bell: Condvar,
    /// Ends its pause; with the mailbox (T13 of `pause`).
    nudge: Condvar,
}

#[derive(Debug)]
struct Mailbox {
    mails: Vec<Mail>,
    /// T3: the next mail must ring.
    listening: bool,
    /// T13.
    pausing: bool,
    /// T6. Atomic only because a raw pointer cannot be sent.
    limit: AtomicPtr<Limit>,
}

/// Sets of workers, and the stop that is going on.
#[derive(Debug, Default)]
struct World {
    at_rest: u64,
    /// Resting workers that have a reason to wake but must wait for the end of a stop or of the calm.
    held: u64,
    /// Workers that wait on their bell and that nobody has rung since.
    parked: u64,
    /// T2.
    calm: bool,
    /// T10.
    solo: Option<usize>,
    /// Workers that end their rest before anybody is solo again: T12 of `solo`.
    claims: u64,
    stop: stop::Stop,
}

impl Mailbox {
    /// Makes the worker look soon if it reduces; to any other it does no harm.
    fn poke(&mut self, seat: &Seat) {
        if self.pausing {
            seat.nudge.notify_one();
        }
        let limit = *self.limit.get_mut();
        // SAFETY: T6 - the worker lives until `detach` has had the lock that the caller holds.
        if let Some(limit) = unsafe { limit.as_ref() } {
            // Release: whoever reads the zero sees what it was poked for.
            limit.store(0, Release);
        }
    }
}

fn bit(worker: usize) -> u64 {
    1 << worker
}

fn members(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(first)
    })
}

impl Team {
    /// A team whose workers all run, on this number of processors.
    pub(crate) fn new(workers: usize, processors: usize) -> Team {
        assert!((1..=WORKERS_MAX).contains(&workers), "a team of {workers} workers");
        let seat = |_| Seat {
            priority: AtomicI64::new(AT_REST),
            runs_at: AtomicI64::new(pause::NOT_RUNNING),
            stops: AtomicU32::new(0),
            needed: AtomicU32::new(0),
            looks: AtomicBool::new(false),
            poked: AtomicBool::new(false),
            waiting: AtomicBool::new(false),
            mailbox: Mutex::new(Mailbox {
                mails: Vec::new(),
                listening: false,
                pausing: false,
                limit: AtomicPtr::new(std::ptr::null_mut()),
            }),
            rings: AtomicU32::new(0),
            bell: Condvar::new(),
            nudge: Condvar::new(),
        };
        Team {
            seats: (0..workers).map(seat).collect(),
            active: AtomicUsize::new(workers),
            hungry: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            precedence: pause::Precedence::new(),
            solo_interrupted: AtomicBool::new(false),
            over: AtomicBool::new(false),
            world: Mutex::new(World::default()),
            spins: workers <= processors && cfg!(not(all(test, models))),
            schedule: None,
        }
    }
    /// The same team, whose workers run one after the other, in an order from this seed.
    pub(crate) fn scheduled(self, seed: u64) -> Team {
        let schedule = Some(Arc::new(Schedule::new(self.len(), seed)));
        Team { spins: false, schedule, ..self }
    }
    /// The order in which workers run, if there is one.
    pub(crate) fn schedule(&self) -> Option<&Arc<Schedule>> {
        self.schedule.as_ref()
    }
    /// Number of workers.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.seats.len()
    }
    /// Whether somebody poked a running worker since it last called `look`.
    #[inline(always)]
    pub(crate) fn wants(&self, me: usize) -> bool {
        self.seats[me].poked.load(Relaxed)
    }
    /// C8 of `term::abi`: where generated code sees that, as long as there is this team.
    pub(crate) fn poked(&self, me: usize) -> *const u8 {
        (&raw const self.seats[me].poked).cast()
    }
    /// A worker is going to look at everything that it may have been poked for (T7).
    pub(crate) fn look(&self, me: usize) {
        self.seats[me].poked.store(false, Relaxed);
    }
    fn poke(&self, worker: usize) {
        let seat = &self.seats[worker];
        seat.poked.store(true, Relaxed);
        self.mailbox(worker).poke(seat);
    }
    /// The address of the worker's `abi.limit`, where pokes store 0. It must stay valid until `detach`.
    pub(crate) fn attach(&self, me: usize, limit: *const Limit) {
        let before = std::mem::replace(&mut self.mailbox(me).limit, AtomicPtr::new(limit.cast_mut()));
        debug_assert!(limit.is_null() || before.into_inner().is_null(), "T6: two limits of one worker");
    }
    pub(crate) fn detach(&self, me: usize) {
        self.attach(me, std::ptr::null());
    }

    /// Sends goals to a worker. Only a running worker may (T1).
    pub(crate) fn post(&self, to: usize, mail: Mail) {
        self.put(to, 1, |mails_there| mails_there.push(mail));
    }
    /// Sends goals of several priorities to a worker, all at once.
    pub(crate) fn post_all(&self, to: usize, mut mails: Vec<Mail>) {
        self.put(to, mails.len(), |mails_there| mails_there.append(&mut mails));
    }
    fn put(&self, to: usize, count: usize, put: impl FnOnce(&mut Vec<Mail>)) {
        debug_assert!(to < self.len() && count > 0, "T1: {count} mails for worker {to}");
        self.active.fetch_add(count, Relaxed);
        let seat = &self.seats[to];
        let mut mailbox = self.mailbox(to);
        put(&mut mailbox.mails);
        self.expect(to, mailbox.mails.iter().map(|mail| mail.rank).max());
        seat.waiting.store(true, Relaxed);
        seat.poked.store(true, Relaxed);
        mailbox.poke(seat);
        let listening = std::mem::take(&mut mailbox.listening);
        drop(mailbox);
        if listening {
            self.ring(self.world(), bit(to));
        }
    }
    /// All mail of a running worker.
    #[inline(always)]
    pub(crate) fn take_mail(&self, me: usize) -> Vec<Mail> {
        if self.seats[me].waiting.load(Relaxed) { self.open_mailbox(me) } else { Vec::new() }
    }
    #[cold]
    fn open_mailbox(&self, me: usize) -> Vec<Mail> {
        let mut mailbox = self.mailbox(me);
        self.seats[me].waiting.store(false, Relaxed);
        let mails = std::mem::take(&mut mailbox.mails);
        drop(mailbox);
        let before = self.active.fetch_sub(mails.len(), Relaxed);
        debug_assert!(before > mails.len(), "T1: who takes mail runs");
        mails
    }
    /// Mail that a worker has not taken, for the collector: only in a stop.
    pub(crate) fn visit_mail(&self, of: usize, visit: impl FnMut(&mut Mail)) {
        self.mailbox(of).mails.iter_mut().for_each(visit);
    }

    /// The set of workers that ask for goals, a bit each.
    #[inline(always)]
    pub(crate) fn hungry(&self) -> u64 {
        self.hungry.load(Relaxed)
    }
    /// True for one giver: it then posts goals to the worker that asked.
    pub(crate) fn claim(&self, hungry_worker: usize) -> bool {
        let asked = bit(hungry_worker);
        self.hungry.fetch_and(!asked, Relaxed) & asked != 0
    }

    /// Shows the priority that a worker has goals for, and whether it is going to look at those of others soon.
    pub(crate) fn show_priority(&self, me: usize, priority: i64) {
        self.seats[me].priority.store(priority, Relaxed);
    }
    pub(crate) fn show_looks(&self, me: usize, looks: bool) {
        self.seats[me].looks.store(looks, Relaxed);
    }
    /// The running workers that show a priority lower than this one: they and their priorities.
    pub(crate) fn lower(&self, than: i64) -> impl Iterator<Item = (usize, i64)> {
        // A worker that has mail is going to look at that first.
        let running = |seat: &Seat| !seat.waiting.load(Relaxed);
        let shown = self.seats.iter().enumerate().filter(move |(_, seat)| running(seat));
        let shown = shown.map(|(worker, seat)| (worker, seat.priority.load(Relaxed)));
        shown.filter(move |&(_, priority)| priority < than)
    }
    /// True if this worker showed that it has goals.
    pub(crate) fn has_goals(&self, worker: usize) -> bool {
        self.seats[worker].priority.load(Relaxed) != AT_REST
    }
    /// Waits until there is something to do; with `ask`, asks for goals meanwhile, that worker or the next one that
    /// runs. After the time is over it runs again, but if it asks and is not worker 0: then it asks the next one, and
    /// ever later.
    pub(crate) fn rest(&self, me: usize, ask: Option<usize>, timeout: Option<Duration>) -> Wake {
        let mut world = self.world();
        if world.at_rest & bit(me) != 0 {
            world = self.end_share(world, me);
        } else if !self.listen(me) {
            return if self.over() { Wake::Over } else { Wake::Mail };
        } else {
            world = self.lie_down(world, me);
        }
        let mut spin = SPIN;
        let mut next = ask.map(|first| self.ask(&world, me, first));
        let mut pause = timeout.unwrap_or(PATIENCE_MAX);
        let mut deadline = timeout.and_then(|timeout| now().checked_add(timeout));
        let mut expired = false;
        loop {
            if deadline.is_some_and(|deadline| now() >= deadline) {
                (deadline, expired) = (None, true);
            }
            if world.stop.enter_share(me) {
                return Wake::Share;
            }
            let claims = self.has_claim(&world, me, &mut deadline);
            expired |= claims;
            if expired
                && !claims
                && me != 0
                && let Some(first) = next
            {
                if world.calm {
                    // Nobody has goals until worker 0 has waited for the world outside, which may take hours (T2).
                    world.held |= bit(me);
                } else {
                    // T1: to end a rest only to ask again would keep a team of many from becoming quiescent.
                    next = Some(self.ask(&world, me, first));
                    pause = (pause * 2).min(PATIENCE_MAX);
                    (deadline, expired) = (now().checked_add(pause), false);
                }
            }
            if let Some(wake) = self.reason(&world, me, expired) {
                if wake == Wake::Timeout && world.solo.is_some() && !claims {
                    return Wake::Solo;
                }
                let calm = world.calm || self.active.load(Relaxed) == 0;
                let waits = wake == Wake::Timeout && (calm || world.solo.is_some());
                if world.stop.leader().is_none() && !waits {
                    self.get_up(world, me, wake);
                    return wake;
                }
                world.held |= bit(me);
            }
            world = self.wait(world, me, deadline, spin);
            spin = Duration::ZERO;
        }
    }
    /// Asks for goals, and pokes the first worker from this one on that runs. Returns the one to ask next.
    fn ask(&self, world: &World, me: usize, first: usize) -> usize {
        self.hungry.fetch_or(bit(me), Relaxed);
        let running = self.everybody() & !world.at_rest;
        let asked = members(running & u64::MAX << first).next().or(members(running).next());
        let Some(asked) = asked else { return first };
        self.poke(asked);
        (asked + 1) % self.len()
    }
    /// T3. False if there is mail already.
    fn listen(&self, me: usize) -> bool {
        let mut mailbox = self.mailbox(me);
        mailbox.listening = mailbox.mails.is_empty();
        mailbox.listening
    }
    fn lie_down<'a>(&'a self, mut world: MutexGuard<'a, World>, me: usize) -> MutexGuard<'a, World> {
        debug_assert!(world.at_rest & bit(me) == 0, "T1: a worker rests once");
        world.at_rest |= bit(me);
        let mut news = 0;
        if self.active.fetch_sub(1, Relaxed) == 1 {
            news |= bit(0);
        }
        if self.gathered(&world) {
            news |= world.stop.leader().map_or(0, bit);
        }
        self.ring_and_stay(world, news & !bit(me))
    }
    fn reason(&self, world: &World, me: usize, expired: bool) -> Option<Wake> {
        debug_assert!(world.at_rest & bit(me) != 0);
        if self.over() {
            Some(Wake::Over)
        } else if self.seats[me].waiting.load(Relaxed) {
            Some(Wake::Mail)
        } else if me == 0 && self.active.load(Relaxed) == 0 {
            Some(Wake::Quiescent)
        } else {
            expired.then_some(Wake::Timeout)
        }
    }
    fn get_up(&self, mut world: MutexGuard<World>, me: usize, wake: Wake) {
        debug_assert!(world.at_rest & bit(me) != 0, "T1: it does not rest");
        debug_assert!(world.stop.leader().is_none() || wake == Wake::Over, "T4: a rest ends after the stop");
        self.active.fetch_add(1, Relaxed);
        world.at_rest &= !bit(me);
        world.held &= !bit(me);
        world.claims &= !bit(me);
        if self.hungry() & bit(me) != 0 {
            self.claim(me);
        }
        world.calm = wake == Wake::Quiescent;
        let released = if world.calm { 0 } else { std::mem::take(&mut world.held) };
        self.ring(world, released);
    }
    /// Worker 0 has seen what it wanted to see while the team was quiescent, and reduces again: so others may ask it
    /// for goals (T2).
    pub(crate) fn go_on(&self) {
        let mut world = self.world();
        world.calm = false;
        let released = std::mem::take(&mut world.held);
        self.ring(world, released);
    }

    /// Ends the run: every rest ends, and nobody stops any more. A stop in which all have stopped already goes on
    /// until its leader resumes the others. May be called from any thread.
    pub(crate) fn finish(&self) {
        self.schedule.iter().for_each(|schedule| schedule.finish());
        let mut world = self.world();
        self.over.store(true, Relaxed);
        if world.stop.cancel() {
            self.stop.store(false, Relaxed);
        }
        self.ring(world, self.everybody());
        self.poke_again();
    }
    #[inline(always)]
    pub(crate) fn over(&self) -> bool {
        self.over.load(Relaxed)
    }
    /// Everybody runs again, without mail. To be called when no worker is in the run that is over.
    pub(crate) fn begin_run(&self) {
        let mut world = self.world();
        assert!(world.at_rest == 0 && world.stop.nobody(), "a run begins while the last one goes on");
        *world = World::default();
        for (worker, seat) in self.seats.iter().enumerate() {
            let mut mailbox = self.mailbox(worker);
            (mailbox.mails, mailbox.listening) = (Vec::new(), false);
            seat.waiting.store(false, Relaxed);
            seat.priority.store(AT_REST, Relaxed);
            seat.looks.store(false, Relaxed);
            seat.runs_at.store(pause::NOT_RUNNING, Relaxed);
        }
        self.precedence.begin_run();
        self.active.store(self.seats.len(), Relaxed);
        self.hungry.store(0, Relaxed);
        self.solo_interrupted.store(false, Relaxed);
        self.over.store(false, Relaxed);
        drop(world);
        self.schedule.iter().for_each(|schedule| schedule.begin());
    }
    /// T7: the same from time to time, by those who have left the run. With a schedule no poke is overlooked.
    pub(crate) fn remind(&self) {
        if self.schedule.is_none() {
            self.poke_again();
        }
    }
    /// T7: pokes workers again that have mail or do not leave the run.
    pub(crate) fn poke_again(&self) {
        for worker in 0..self.seats.len() {
            if self.over() || self.seats[worker].waiting.load(Relaxed) {
                self.poke(worker);
            }
        }
    }

    fn everybody(&self) -> u64 {
        u64::MAX >> (WORKERS_MAX - self.seats.len())
    }
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect(UNPOISONED)
    }
    fn mailbox(&self, of: usize) -> MutexGuard<'_, Mailbox> {
        self.seats[of].mailbox.lock().expect(UNPOISONED)
    }
    /// Waits for the next ring or the deadline, or returns for no reason (T5).
    fn wait<'a>(
        &'a self,
        mut world: MutexGuard<'a, World>,
        me: usize,
        deadline: Option<Instant>,
        spin: Duration,
    ) -> MutexGuard<'a, World> {
        if let Some(schedule) = &self.schedule {
            drop(world);
            schedule.wait(me, deadline);
            return self.world();
        }
        let seat = &self.seats[me];
        let rings = seat.rings.load(Relaxed);
        if self.spins {
            let spin = if world.stop.leader().is_some() { SPIN_STOPPED } else { spin };
            drop(world);
            let begin = Instant::now();
            while seat.rings.load(Relaxed) == rings && begin.elapsed() < spin {
                std::hint::spin_loop();
            }
            world = self.world();
        }
        if seat.rings.load(Relaxed) == rings {
            world.parked |= bit(me);
            world = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                Some(time) => seat.bell.wait_timeout(world, time).expect(UNPOISONED).0,
                None => seat.bell.wait(world).expect(UNPOISONED),
            };
            world.parked &= !bit(me);
        }
        world
    }
    /// Makes these workers look again at what they wait for (T5).
    fn ring(&self, mut world: MutexGuard<World>, who: u64) {
        for worker in members(who) {
            self.seats[worker].rings.fetch_add(1, Relaxed);
        }
        self.schedule.iter().for_each(|schedule| schedule.wake(who));
        let parked = who & world.parked;
        world.parked &= !parked;
        // Without the lock: those that wake want it.
        drop(world);
        for worker in members(parked) {
            self.seats[worker].bell.notify_one();
        }
    }
    fn ring_and_stay<'a>(&'a self, world: MutexGuard<'a, World>, who: u64) -> MutexGuard<'a, World> {
        if who == 0 {
            return world;
        }
        self.ring(world, who);
        self.world()
    }
}
