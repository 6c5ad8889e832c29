//! How a waiting node passes the time until it pays to sleep.
//!
//! To wake a sleeping thread costs tens of microseconds, so a short wait is better spent awake: spinning if there is
//! a processor for everybody, and otherwise by letting others run, for what is waited for may be theirs to do.

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
    #[cfg_attr(not(feature = "mpi"), expect(dead_code))]
    FewInGroups,
}

/// One wait.
pub(crate) struct Patience {
    processors: Processors,
    rounds: u32,
    end: Option<Instant>,
}

impl Patience {
    pub(crate) fn new(processors: Processors) -> Patience {
        Patience { processors, rounds: 0, end: None }
    }
    /// Passes a moment. False when it is time to sleep.
    pub(crate) fn wait(&mut self) -> bool {
        // Models have no time.
        if cfg!(models) {
            return false;
        }
        self.rounds += 1;
        match self.processors {
            Processors::FewInGroups => false,
            Processors::Few => {
                std::thread::yield_now();
                self.rounds < TURNS
            }
            Processors::Enough => {
                std::hint::spin_loop();
                if !self.rounds.is_multiple_of(ROUNDS) {
                    return true;
                }
                let now = Instant::now();
                now < *self.end.get_or_insert(now + AWAKE)
            }
        }
    }
}
