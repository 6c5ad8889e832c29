//! A team of real threads: what one thread can see in order, and random goals that multiply and die.

use super::*;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use term::Word;

const SHORT: Duration = Duration::from_millis(1);

fn mail(words: impl IntoIterator<Item = i64>) -> Mail {
    Mail {
        priority: 0,
        rank: 0,
        when: When::Next,
        gift: 0,
        giver: None,
        words: words.into_iter().map(Word::small).collect(),
    }
}

fn contents(mails: &[Mail]) -> Vec<i64> {
    mails.iter().flat_map(|mail| &mail.words).map(|word| word.as_int()).collect()
}

#[test]
fn mail_keeps_its_order_and_pokes() {
    let team = Team::new(2, 2);
    let limit = AtomicUsize::new(7);
    team.attach(1, &raw const limit);
    assert!(team.take_mail(1).is_empty());
    team.post(1, mail([1, 2]));
    team.post(1, mail([3]));
    team.visit_mail(1, |mail| mail.priority += 5);
    team.detach(1);
    assert_eq!(limit.load(SeqCst), 0);
    let mails = team.take_mail(1);
    assert_eq!(contents(&mails), [1, 2, 3]);
    assert!(mails.iter().all(|mail| mail.priority == 5));
    limit.store(7, SeqCst);
    team.post(1, mail([4]));
    assert_eq!(limit.load(SeqCst), 7, "nobody uses the address after `detach`");
    assert_eq!(team.rest(1, None, None), Wake::Mail);
}

#[test]
fn overlooked_pokes_are_repeated() {
    let team = Team::new(2, 2);
    let limits = [7, 7].map(AtomicUsize::new);
    limits.iter().enumerate().for_each(|(me, limit)| team.attach(me, limit));
    team.post(1, mail([1]));
    limits[1].store(7, SeqCst);
    team.poke_again();
    assert_eq!(limits.map(AtomicUsize::into_inner), [7, 0]);
}

#[test]
fn a_worker_alone_is_quiescent_when_it_rests() {
    let team = Team::new(1, 2);
    assert_eq!(team.rest(0, None, Some(SHORT)), Wake::Quiescent);
    team.post(0, mail([1]));
    assert_eq!(team.rest(0, Some(0), None), Wake::Mail);
    assert_eq!(team.take_mail(0).len(), 1);
    assert!(team.stop_others(0), "nobody else need stop");
    team.resume_others(0);
    assert_eq!(team.rest(0, Some(0), None), Wake::Quiescent);
    assert_eq!(team.hungry(), 0, "who is awake asks for nothing");
    team.finish();
    assert_eq!(team.rest(0, None, None), Wake::Over);
    team.begin_run();
    assert_eq!(team.rest(0, None, None), Wake::Quiescent);
}

#[test]
fn a_timeout_ends_a_rest_only_while_somebody_runs() {
    let team = &Team::new(2, 2);
    assert_eq!(team.rest(1, None, Some(SHORT)), Wake::Timeout);
    assert!(!team.claim(1), "who is awake asks for nothing");
    let timeouts = &AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while team.rest(1, None, Some(SHORT)) == Wake::Timeout {
                timeouts.fetch_add(1, SeqCst);
            }
        });
        assert_eq!(team.rest(0, None, None), Wake::Quiescent);
        let before = timeouts.load(SeqCst);
        thread::sleep(SHORT * 20);
        assert_eq!(timeouts.load(SeqCst), before, "T2: worker 0 has the node for itself");
        team.go_on();
        while timeouts.load(SeqCst) == before {
            thread::yield_now();
        }
        team.finish();
    });
}

#[test]
fn hunger_is_answered_by_one_giver() {
    let team = &Team::new(3, 2);
    let given = &AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..200 {
                assert_eq!(team.rest(2, Some(0), None), Wake::Mail);
                assert_eq!(team.take_mail(2).len(), 1, "one giver");
            }
            team.finish();
        });
        for me in 0..2 {
            scope.spawn(move || {
                while !team.over() {
                    if team.hungry() & 4 != 0 && team.claim(2) {
                        given.fetch_add(1, SeqCst);
                        team.post(2, mail([me]));
                    }
                    thread::yield_now();
                }
            });
        }
    });
    assert_eq!(given.load(SeqCst), 200);
}

#[test]
fn everybody_takes_part_in_a_share() {
    let team = &Team::new(3, 2);
    let (open, done) = (&AtomicBool::new(false), &[const { AtomicUsize::new(0) }; 3]);
    let share = move |me: usize| {
        while open.load(SeqCst) {
            done[me].fetch_add(1, SeqCst);
            thread::yield_now();
        }
    };
    thread::scope(|scope| {
        scope.spawn(move || {
            while team.rest(1, None, None) == Wake::Share {
                share(1);
            }
        });
        scope.spawn(move || {
            while !team.over() {
                while team.stop_wanted() && team.stopped(2) == Phase::Share {
                    share(2);
                }
                thread::yield_now();
            }
        });
        while team.world().at_rest == 0 {
            thread::yield_now();
        }
        assert!(team.stop_others(0));
        for (sharers, expected) in [(Sharers::Stopped, &done[2..]), (Sharers::Everybody, &done[1..])] {
            done.iter().for_each(|done| done.store(0, SeqCst));
            open.store(true, SeqCst);
            team.open_share(0, sharers, WORKERS_MAX);
            while expected.iter().any(|done| done.load(SeqCst) == 0) {
                thread::yield_now();
            }
            open.store(false, SeqCst);
            team.wait_shares(0);
            let all = done.iter().filter(|done| done.load(SeqCst) > 0).count();
            assert_eq!(all, expected.len(), "{sharers:?}");
        }
        team.resume_others(0);
        team.finish();
    });
}

/// Goals of the stress test: a goal of weight N has N descendants, itself included, so what must be reduced is known
/// beforehand.
struct Stress {
    team: Team,
    reduced: AtomicUsize,
    /// The workers that reduce just now.
    reducing: Vec<AtomicBool>,
    /// Changed by leaders only, with a load and a store: two at once would lose one.
    collections: AtomicUsize,
    led: AtomicUsize,
    shared: AtomicUsize,
    rounds: AtomicUsize,
}

const WORKERS: usize = 8;
const ROUNDS: usize = 5;
const WEIGHT: i64 = 2_000;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

impl Stress {
    fn new() -> Stress {
        Stress {
            team: Team::new(WORKERS, 2),
            reduced: AtomicUsize::new(0),
            reducing: (0..WORKERS).map(|_| AtomicBool::new(false)).collect(),
            collections: AtomicUsize::new(0),
            led: AtomicUsize::new(0),
            shared: AtomicUsize::new(0),
            rounds: AtomicUsize::new(0),
        }
    }
    fn run(&self, seed: u64) {
        thread::scope(|scope| {
            for me in 0..WORKERS {
                let random = Random(seed.wrapping_mul(1000) + me as u64);
                scope.spawn(move || self.work(me, random));
            }
        });
        assert_eq!(self.reduced.load(SeqCst), ROUNDS * WEIGHT as usize, "no goal is lost and none is new");
        assert_eq!(self.collections.load(SeqCst), self.led.load(SeqCst), "leaders exclude each other");
    }
    fn work(&self, me: usize, mut random: Random) {
        let team = &self.team;
        let mut goals = Vec::new();
        let limit = AtomicUsize::new(0);
        team.attach(me, &raw const limit);
        while !team.over() {
            self.attend(me, &mut random, &mut goals);
            if let Some(goal) = goals.pop() {
                self.reduce(me, &mut random, goal, &mut goals);
            } else {
                self.idle(me, &mut random);
            }
        }
        team.detach(me);
    }
    fn reduce(&self, me: usize, random: &mut Random, weight: i64, goals: &mut Vec<i64>) {
        self.reducing[me].store(true, SeqCst);
        self.reduced.fetch_add(1, SeqCst);
        let first = random.below(weight as u64) as i64;
        for child in [first, weight - 1 - first].into_iter().filter(|&child| child > 0) {
            if random.below(4) == 0 {
                let to = random.below(WORKERS as u64) as usize;
                self.team.post(to, mail([child]));
            } else {
                goals.push(child);
            }
        }
        self.reducing[me].store(false, SeqCst);
    }
    fn attend(&self, me: usize, random: &mut Random, goals: &mut Vec<i64>) {
        let team = &self.team;
        goals.extend(contents(&team.take_mail(me)));
        let hungry = team.hungry();
        if goals.len() > 1 && hungry != 0 && team.claim(hungry.trailing_zeros() as usize) {
            team.post(hungry.trailing_zeros() as usize, mail(goals.drain(..1)));
        }
        if random.below(4) == 0 && team.go_solo(me) {
            self.alone();
            if random.below(2) == 0 && team.stop_others(me) {
                self.lead(me, random);
            }
            while random.below(4) != 0 && !team.solo_interrupted() {
                self.alone();
            }
            team.end_solo(me);
        }
        if random.below(200) == 0 && team.stop_others(me) {
            self.lead(me, random);
        } else if team.stop_wanted() {
            while team.stopped(me) == Phase::Share {
                self.share();
            }
        }
    }
    fn lead(&self, me: usize, random: &mut Random) {
        self.led.fetch_add(1, SeqCst);
        for _ in 0..random.below(3) {
            let before = self.alone();
            let sharers = if random.below(2) == 0 { Sharers::Stopped } else { Sharers::Everybody };
            self.team.open_share(me, sharers, WORKERS_MAX);
            self.share();
            self.team.wait_shares(me);
            // Nobody is in a share any more, so this stands still.
            let shared = self.shared.load(SeqCst);
            thread::yield_now();
            assert_eq!(self.shared.load(SeqCst), shared);
            self.collections.store(before, SeqCst);
        }
        let before = self.alone();
        self.collections.store(before + 1, SeqCst);
        self.team.resume_others(me);
    }
    /// Asserts that nobody reduces.
    fn alone(&self) -> usize {
        let before = self.collections.load(SeqCst);
        thread::yield_now();
        assert!(self.reducing.iter().all(|reducing| !reducing.load(SeqCst)), "T8");
        before
    }
    fn share(&self) {
        self.shared.fetch_add(1, SeqCst);
        self.alone();
        self.shared.fetch_add(1, SeqCst);
    }
    fn idle(&self, me: usize, random: &mut Random) {
        let ask = (random.below(2) == 0).then(|| random.below(WORKERS as u64) as usize);
        let timeout = (random.below(2) == 0).then(|| Duration::from_micros(random.below(300)));
        loop {
            match self.team.rest(me, ask, timeout) {
                Wake::Share => self.share(),
                Wake::Solo => self.team.interrupt_solo(me),
                Wake::Quiescent => return self.quiescent(me, random),
                Wake::Mail | Wake::Timeout | Wake::Over => return,
            }
        }
    }
    fn quiescent(&self, me: usize, random: &mut Random) {
        assert_eq!(me, 0);
        let rounds = self.rounds.fetch_add(1, SeqCst);
        assert_eq!(self.reduced.load(SeqCst), rounds * WEIGHT as usize, "quiescent once a round, at its end");
        self.alone();
        if random.below(2) == 0 && self.team.stop_others(me) {
            self.lead(me, random);
        }
        if rounds == ROUNDS {
            return self.team.finish();
        }
        if random.below(2) == 0 {
            self.team.go_on();
        }
        self.team.post(random.below(WORKERS as u64) as usize, mail([WEIGHT]));
    }
}

#[test]
fn whoever_is_solo_ends_that_when_asked() {
    let team = Team::new(2, 2);
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut asked = 0;
            loop {
                match team.rest(1, None, Some(SHORT)) {
                    Wake::Solo => {
                        team.interrupt_solo(1);
                        asked += 1;
                    }
                    // The time may be over before the other one goes solo.
                    Wake::Timeout if asked == 0 => {}
                    wake => return (asked, wake),
                }
            }
        });
        while !team.go_solo(0) {}
        while !team.solo_interrupted() {}
        team.end_solo(0);
        let (asked, wake) = other.join().expect("no worker panics");
        assert!(asked > 0 && wake == Wake::Timeout, "{asked} {wake:?}");
        assert!(!team.go_solo(0), "the other one runs");
    });
}

#[test]
fn goals_that_multiply_and_die_all_get_reduced() {
    let repetitions = std::env::var("FIFTH_STRESS").ok().and_then(|n| n.parse().ok()).unwrap_or(5);
    for seed in 0..repetitions {
        let mut stress = Stress::new();
        // With and without spinning, whatever the machine: both must be right.
        stress.team.spins = seed % 2 == 0;
        stress.run(seed);
        // The same team, another run.
        let Stress { team, .. } = stress;
        team.begin_run();
        Stress { team, ..Stress::new() }.run(!seed);
    }
}
