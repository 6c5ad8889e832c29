//! How a waiting node passes the time until it pays to sleep.
//!
//! To wake a sleeping thread costs tens of microseconds, so a short wait is better spent awake: spinning if there is
//! a processor for everybody, and otherwise by letting others run, for what is waited for may be theirs to do.
//!
//! There may be a processor for everybody and yet none that is free: other programs have them, and a node that spins
//! keeps the very node that it waits for from running. Nothing tells that but spins in vain. So what is spent on them
//! is bounded by what the others have spared ([`Savings`]), and a node that has nothing left waits as if there were
//! few processors, and tries again from time to time.

use std::time::{Duration, Instant};

/// How long one stays awake: a few times what waking costs.
const AWAKE: Duration = Duration::from_micros(200);
/// Rounds of spinning between two looks at the clock, which takes as long as many of them.
const ROUNDS: u32 = 64;

/// So often one lets others run. They may be of another scheduling group, which the system does not choose from then:
/// so not for long.
const TURNS: u32 = 16;

/// Whether there is a processor for every waiting node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Processors {
    Enough,
    Few,
    /// Few, and a node that gives way is not followed by a waiting one: the system has put them into different
    /// scheduling groups.
    FewInGroups,
}

/// What a spin in vain costs, in spins that ended a wait: each spares to wake a thread.
const IN_VAIN: u32 = 8;
/// Most that is saved, in the same unit: a node that begins has it.
const MOST: u32 = 4 * IN_VAIN;
/// After trials in vain, at most 2 to this power of waits without spinning until the next.
const TRIALS_MAX: u32 = 10;

/// What a node has gained by spinning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Savings {
    saved: u32,
    /// Waits until the next one that spins, and trials in vain since spinning last paid.
    left_out: u32,
    trials: u32,
}

impl Savings {
    const NEW: Savings = Savings { saved: MOST, left_out: 0, trials: 0 };

    /// A wait begins: whether it spins.
    fn begin(&mut self) -> bool {
        let spins = self.left_out == 0;
        self.left_out = self.left_out.saturating_sub(1);
        spins
    }
    /// A spin has ended a wait.
    fn paid(&mut self) {
        self.saved = (self.saved + 1).min(MOST);
        if self.saved >= IN_VAIN {
            self.trials = 0;
        }
    }
    /// A spin was in vain.
    fn was_in_vain(&mut self) {
        if self.saved >= IN_VAIN {
            self.saved -= IN_VAIN;
            return;
        }
        self.saved = 0;
        self.trials = (self.trials + 1).min(TRIALS_MAX);
        self.left_out = 1 << self.trials;
    }
}

/// A node's, wait after wait.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    processors: Processors,
    savings: Savings,
    /// Of this wait.
    spins: bool,
    rounds: u32,
    end: Option<Instant>,
}

impl Patience {
    pub(crate) fn new(processors: Processors) -> Patience {
        Patience { processors, savings: Savings::NEW, spins: false, rounds: 0, end: None }
    }
    /// A wait begins.
    pub(crate) fn begin(&mut self) {
        (self.rounds, self.end) = (0, None);
        self.spins = self.processors == Processors::Enough && self.savings.begin();
    }
    /// Passes a moment. False when it is time to sleep.
    pub(crate) fn wait(&mut self) -> bool {
        // Models have no time.
        if cfg!(models) {
            return false;
        }
        self.rounds += 1;
        if self.processors == Processors::FewInGroups {
            return false;
        }
        if !self.spins {
            std::thread::yield_now();
            return self.rounds < TURNS;
        }
        std::hint::spin_loop();
        if !self.rounds.is_multiple_of(ROUNDS) {
            return true;
        }
        let now = Instant::now();
        let goes_on = now < *self.end.get_or_insert(now + AWAKE);
        if !goes_on {
            self.spins = false;
            self.savings.was_in_vain();
        }
        goes_on
    }
    /// What was waited for has come.
    pub(crate) fn end(&mut self) {
        if std::mem::take(&mut self.spins) && self.rounds > 0 {
            self.savings.paid();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of these waits, as many as spin; `paid` says of each whether that ends it.
    fn spins(savings: &mut Savings, waits: u32, paid: impl Fn(u32) -> bool) -> u32 {
        (0..waits)
            .filter(|&wait| {
                let spins = savings.begin();
                match paid(wait) {
                    _ if !spins => {}
                    true => savings.paid(),
                    false => savings.was_in_vain(),
                }
                spins
            })
            .count() as u32
    }

    #[test]
    fn a_node_whose_spins_are_in_vain_hardly_spins_and_one_whose_spins_pay_always_does() {
        let mut savings = Savings::NEW;
        assert_eq!(spins(&mut savings, 10_000, |_| true), 10_000);
        assert!(spins(&mut savings, 20_000, |_| false) < 40);
        // The load is gone.
        assert!(spins(&mut savings, 2_000, |_| true) > 900);
        assert_eq!(spins(&mut savings, 10_000, |_| true), 10_000);
    }

    #[test]
    fn what_is_spent_in_vain_is_at_most_what_was_saved_and_little_more() {
        for of in 2..20 {
            let mut savings = Savings::NEW;
            let spins = spins(&mut savings, 100_000, |wait| wait % of > 0);
            // One of `of` is in vain: it pays if that many waits cost less to wake from.
            assert_eq!(spins == 100_000, of > IN_VAIN, "{of}: {spins}");
        }
        let mut savings = Savings::NEW;
        assert!(spins(&mut savings, 100_000, |wait| wait % 2 > 0) < 30_000);
    }

    #[test]
    fn a_long_wait_now_and_then_changes_nothing() {
        let mut savings = Savings::NEW;
        assert_eq!(spins(&mut savings, 10_000, |wait| wait % 50 > 0), 10_000);
    }
}
