//! Every order of what several workers do with one shoen's tally (X12, X14), and with what is parked (X19).

use crate::coordination::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use crate::goals::shoen::state::{Shoens, Tally, Told};
use loom::thread;
use std::sync::Arc;
use term::Word;

/// A shoen, how often its end was reported, and whether a goal of it ran after that.
#[derive(Clone)]
struct Shoen {
    tally: Arc<Tally>,
    ends: Arc<AtomicUsize>,
    late: Arc<AtomicBool>,
}

impl Shoen {
    /// A worker has ready goals of it, and this number of goals wait.
    fn new(waiting: i64) -> Shoen {
        let tally = Tally::new();
        assert!(tally.begin() && !tally.begin());
        tally.wait(waiting);
        let (ends, late) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        Shoen { tally: Arc::new(tally), ends, late }
    }
    fn leave(&self) {
        if self.tally.leave() {
            self.ends.fetch_add(1, SeqCst);
        }
    }
    fn abort(&self) {
        if self.tally.abort() {
            self.ends.fetch_add(1, SeqCst);
        }
    }
    /// A goal runs, unless it is dropped.
    fn run(&self) {
        if !self.tally.is_aborted() && self.ends.load(SeqCst) > 0 {
            self.late.store(true, SeqCst);
        }
    }
    /// A goal that waited is resumed by another worker, and runs there.
    fn resume(&self) {
        self.tally.claim();
        // X14: a holder looks.
        if !self.tally.is_aborted() {
            if self.ends.load(SeqCst) > 0 {
                self.late.store(true, SeqCst);
            }
            self.run();
        }
        self.leave();
    }
    fn ended(&self, times: usize) {
        assert_eq!(self.ends.load(SeqCst), times, "the end is reported once");
        assert!(!self.late.load(SeqCst), "a goal ran after the end");
    }
}

#[test]
fn a_worker_that_leaves_and_one_that_takes_a_goal_that_waits() {
    loom::model(|| {
        // The goal that waits was not counted yet: its worker does so when it leaves.
        let shoen = Shoen::new(0);
        let other = shoen.clone();
        let resumes = thread::spawn(move || other.resume());
        shoen.tally.wait(1);
        shoen.leave();
        resumes.join().expect("no assertion fails there");
        shoen.ended(1);
    });
}

#[test]
fn an_abort_and_a_goal_that_is_resumed() {
    loom::model(|| {
        let shoen = Shoen::new(2);
        shoen.leave();
        let other = shoen.clone();
        let resumes = thread::spawn(move || other.resume());
        shoen.abort();
        resumes.join().expect("no assertion fails there");
        shoen.ended(1);
    });
}

#[test]
fn an_abort_and_goals_that_are_mail() {
    loom::model(|| {
        let shoen = Shoen::new(1);
        // What is sent is a holder before its sender has left.
        shoen.tally.hold();
        let other = shoen.clone();
        let receives = thread::spawn(move || {
            other.run();
            other.leave();
        });
        shoen.leave();
        shoen.abort();
        receives.join().expect("no assertion fails there");
        shoen.ended(1);
    });
}

#[test]
fn the_last_two_that_leave_and_an_abort() {
    loom::model(|| {
        let shoen = Shoen::new(0);
        shoen.tally.hold();
        let others = [(); 2].map(|()| shoen.clone());
        let threads = others.map(|other| thread::spawn(move || other.leave()));
        shoen.abort();
        threads.into_iter().for_each(|thread| thread.join().expect("no assertion fails there"));
        shoen.ended(1);
    });
}

#[test]
fn a_worker_that_parks_goals_and_one_that_starts_their_shoen() {
    loom::model(|| {
        let shoens = Arc::new(Shoens::new(0, 1));
        let told = Told { kinds: 0, range: (0, 9), depth: 1, around: Box::default() };
        let shoen = shoens.add(None, 5, told, Word::NIL);
        let lane = shoens.lane_of(&shoen, 5, false);
        assert!(shoen.stop());
        shoens.count_stop();
        let (others, other) = (shoens.clone(), shoen.clone());
        let starts = thread::spawn(move || {
            assert!(other.start());
            others.count_start();
            others.take_started().len()
        });
        let parks = shoens.lane(lane).is_some_and(|lane| lane.is_parked());
        if parks {
            shoens.park(lane, &[Word::NIL]);
        }
        let taken = shoens.take_started().len() + starts.join().expect("no assertion fails there");
        assert_eq!(taken, usize::from(parks), "X19: what was parked is taken up, once");
    });
}

#[test]
fn the_last_goal_of_a_foster_and_one_that_comes() {
    loom::model(|| {
        let shoens = Arc::new(Shoens::new(1, 2));
        let told = Told { kinds: 0, range: (0, 9), depth: 1, around: Box::default() };
        let told_too = told.clone();
        let (first, new) = shoens.hold_foster(2, false, 0, told).expect("it is new");
        assert!(new);
        let others = shoens.clone();
        let comes = thread::spawn(move || {
            let (shoen, new) = others.hold_foster(2, false, 0, told_too).expect("a foster is never refused");
            assert!(!shoen.tally.is_over(), "X20: what is held is not over");
            (shoen.tally.leave(), new)
        });
        let over = first.tally.leave();
        let (later_over, new) = comes.join().expect("no assertion fails there");
        assert_eq!(usize::from(over) + usize::from(later_over), 1 + usize::from(new), "X20: each ends once");
    });
}
