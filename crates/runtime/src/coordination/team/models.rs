//! What every order of events of two or three workers leads to (`cargo xtask loom`).
//!
//! A lost wake-up shows as a deadlock, a worker that touches the heap when it may not as a race on [`Heap`].

use super::*;
use crate::coordination::sync::atomic::Ordering::SeqCst;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// Stands for the heap: workers that reduce may look at it together, a leader and worker 0 in quiescence change it.
struct Heap(UnsafeCell<()>);

// SAFETY: T8 - loom's cell checks it: a model fails if two accesses are at once.
unsafe impl Sync for Heap {}

struct Node {
    team: Team,
    heap: Heap,
    /// Worker 0 got up after its claim.
    up: AtomicBool,
}

impl Node {
    fn reduce(&self) {
        self.heap.0.with(|_| ());
    }
    fn collect(&self) {
        self.heap.0.with_mut(|_| ());
    }
    fn post(&self, to: usize) {
        self.reduce();
        self.team.post(
            to,
            Mail { priority: 0, rank: 0, when: When::Next, gift: 0, giver: None, words: Vec::new() },
        );
        self.reduce();
    }
    /// Takes and reduces mail, and takes part in a stop, as at an attention; answers the number of mails.
    fn attend(&self, me: usize) -> usize {
        let mails = self.team.take_mail(me).len();
        (0..mails).for_each(|_| self.reduce());
        if self.team.stop_wanted() {
            self.take_part(me);
        }
        mails
    }
    fn take_part(&self, me: usize) {
        while self.team.stopped(me) == Phase::Share {
            self.reduce();
        }
    }
    fn collect_or_take_part(&self, me: usize) -> bool {
        let leads = self.team.stop_others(me);
        if leads {
            self.collect();
            self.team.resume_others(me);
        } else {
            self.take_part(me);
        }
        leads
    }
    /// Reduces until the run is over; answers the number of mails. Worker 0 ends the run at quiescence.
    fn work(&self, me: usize, ask: Option<usize>) -> usize {
        let mut mails = 0;
        loop {
            match self.team.rest(me, ask, None) {
                Wake::Mail => mails += self.attend(me),
                Wake::Share => self.reduce(),
                Wake::Quiescent => {
                    self.collect();
                    self.team.finish();
                    return mails;
                }
                Wake::Over => return mails,
                Wake::Timeout | Wake::Solo => unreachable!("no time was set"),
            }
        }
    }
}

/// Runs `workers` in all orders with at most `preemptions` preemptions.
fn model<const N: usize>(preemptions: usize, workers: [fn(&Node) -> usize; N], check: fn([usize; N])) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        let node = Arc::new(Node {
            team: Team::new(N, N),
            heap: Heap(UnsafeCell::new(())),
            up: AtomicBool::new(false),
        });
        let threads: Vec<_> = workers[1..]
            .iter()
            .map(|&worker| {
                let node = node.clone();
                thread::spawn(move || worker(&node))
            })
            .collect();
        let mut results = [0; N];
        results[0] = workers[0](&node);
        for (result, thread) in results[1..].iter_mut().zip(threads) {
            *result = thread.join().expect("no worker panics");
        }
        check(results);
    });
}

#[test]
fn mail_wakes_worker_0() {
    let poster = |node: &Node| {
        node.post(0);
        node.work(1, None)
    };
    model(5, [|node| node.work(0, None), poster], |mails| assert_eq!(mails, [1, 0]));
}

#[test]
fn quiescence_waits_for_mail_on_its_way() {
    let poster = |node: &Node| {
        node.post(1);
        node.post(1);
        node.work(0, None)
    };
    model(5, [poster, |node| node.work(1, None)], |mails| assert_eq!(mails, [0, 2]));
}

#[test]
fn two_posters() {
    let second = |node: &Node| {
        node.post(0);
        node.work(1, None)
    };
    let third = |node: &Node| {
        node.post(0);
        node.work(2, None)
    };
    model(2, [|node| node.work(0, None), second, third], |mails| assert_eq!(mails, [2, 0, 0]));
}

#[test]
fn a_timeout_does_not_disturb_quiescence() {
    let worker_0 = |node: &Node| {
        for _ in 0..2 {
            assert_eq!(node.team.rest(0, None, None), Wake::Quiescent);
            node.collect();
            node.team.go_on();
        }
        node.work(0, None)
    };
    let other = |node: &Node| {
        for _ in 0..2 {
            match node.team.rest(1, None, Some(Duration::ZERO)) {
                Wake::Timeout => node.reduce(),
                wake => {
                    assert_eq!(wake, Wake::Over);
                    return 0;
                }
            }
        }
        node.work(1, None)
    };
    model(4, [worker_0, other], |_| ());
}

#[test]
fn nobody_reduces_beside_a_solo_worker() {
    let worker_0 = |node: &Node| {
        if node.team.go_solo(0) {
            node.collect();
            node.team.end_solo(0);
        }
        node.reduce();
        node.work(0, None)
    };
    let other = |node: &Node| {
        loop {
            match node.team.rest(1, None, Some(Duration::ZERO)) {
                Wake::Solo => node.team.interrupt_solo(1),
                Wake::Timeout => break node.reduce(),
                wake => {
                    assert_eq!(wake, Wake::Over);
                    return 0;
                }
            }
            thread::yield_now();
        }
        node.work(1, None)
    };
    model(3, [worker_0, other], |_| ());
}

/// Worker 1 gives worker 0, which rests, a claim while it is solo, and goes solo again as soon as it may.
fn claims_are_kept(often_solo: fn(&Node) -> usize) {
    let claimant = |node: &Node| {
        let wake = node.team.rest(0, None, None);
        node.up.store(wake == Wake::Timeout, SeqCst);
        node.reduce();
        if wake != Wake::Quiescent {
            assert_eq!(node.team.rest(0, None, None), Wake::Quiescent);
        }
        node.team.finish();
        0
    };
    model(4, [claimant, often_solo], |_| ());
}

fn often_solo(node: &Node, claim: impl Fn(&Team)) -> usize {
    if node.team.go_solo(1) {
        claim(&node.team);
        node.collect();
        node.team.end_solo(1);
        if node.team.go_solo(1) {
            assert!(node.up.load(SeqCst), "T12");
            node.team.end_solo(1);
        }
    }
    node.work(1, None)
}

#[test]
fn nobody_is_solo_again_before_the_interrupter_is_up() {
    claims_are_kept(|node| often_solo(node, |team| team.interrupt_solo(0)));
}

#[test]
fn nobody_is_solo_again_before_worker_0_has_heard_a_knock() {
    claims_are_kept(|node| often_solo(node, Team::knock));
}

#[test]
fn a_timeout_during_the_calm_is_not_forgotten() {
    let worker_0 = |node: &Node| {
        if node.team.rest(0, None, None) == Wake::Quiescent {
            node.collect();
            node.team.go_on();
        }
        while node.attend(0) == 0 {
            thread::yield_now();
        }
        node.work(0, None)
    };
    let other = |node: &Node| {
        assert_eq!(node.team.rest(1, None, Some(Duration::ZERO)), Wake::Timeout);
        node.post(0);
        node.work(1, None)
    };
    model(4, [worker_0, other], |_| ());
}

#[test]
fn rest_against_stop() {
    let leader = |node: &Node| {
        node.post(1);
        node.collect_or_take_part(0);
        node.work(0, None)
    };
    let other = |node: &Node| {
        node.reduce();
        node.work(1, None)
    };
    model(4, [leader, other], |mails| assert_eq!(mails, [0, 1]));
}

#[test]
fn two_leaders() {
    let first = |node: &Node| usize::from(node.collect_or_take_part(0)) + node.work(0, None);
    let second = |node: &Node| usize::from(node.collect_or_take_part(1)) + node.work(1, None);
    model(4, [first, second], |leaders| assert!(leaders[0] + leaders[1] > 0));
}

fn share(node: &Node, sharers: Sharers) -> usize {
    assert!(node.team.stop_others(0), "nobody else wants to lead");
    for _ in 0..2 {
        node.collect();
        node.team.open_share(0, sharers, WORKERS_MAX);
        node.reduce();
        node.team.wait_shares(0);
        node.collect();
    }
    node.team.resume_others(0);
    node.work(0, None)
}

#[test]
fn resting_workers_take_part() {
    model(4, [|node| share(node, Sharers::Everybody), |node| node.work(1, None)], |_| ());
}

#[test]
fn stopped_workers_take_part() {
    let other = |node: &Node| {
        node.reduce();
        node.attend(1);
        node.work(1, None)
    };
    model(4, [|node| share(node, Sharers::Stopped), other], |_| ());
}

#[test]
fn finish_against_rest() {
    let finisher = |node: &Node| {
        node.team.finish();
        0
    };
    model(5, [|node| node.work(0, None), finisher], |_| ());
}

#[test]
fn finish_against_a_leader() {
    let leader = |node: &Node| {
        assert!(!node.team.stop_others(0), "the other never stops");
        node.take_part(0);
        usize::from(node.team.over())
    };
    let finisher = |node: &Node| {
        node.team.finish();
        0
    };
    model(5, [leader, finisher], |results| assert_eq!(results[0], 1));
}

#[test]
fn hunger_is_claimed_once() {
    fn give(node: &Node, me: usize) -> usize {
        let claimed = node.team.hungry() & 4 != 0 && node.team.claim(2);
        if claimed {
            node.post(2);
        }
        node.work(me, None);
        usize::from(claimed)
    }
    let asking = |node: &Node| match node.team.rest(2, Some(1), None) {
        Wake::Mail => {
            let mails = node.attend(2);
            mails + node.work(2, None)
        }
        _ => 0,
    };
    model(3, [|node| give(node, 0), |node| give(node, 1), asking], |[first, second, mails]| {
        assert!(first + second <= 1);
        assert_eq!(mails, first + second);
    });
}

#[test]
fn a_stop_ends_a_pause() {
    let leader = |node: &Node| {
        node.collect_or_take_part(0);
        node.work(0, None)
    };
    let pausing = |node: &Node| {
        // Nothing else ends it.
        node.team.pause(1, Duration::from_secs(1 << 20), || true);
        while !node.team.stop_wanted() {
            thread::yield_now();
        }
        node.take_part(1);
        node.work(1, None)
    };
    model(4, [leader, pausing], |_| ());
}
