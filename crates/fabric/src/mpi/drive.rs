//! A process's node that several of its threads step in turn, and memory that it shares with those of its host.

use super::bells::{Board, Lying};
use super::{Error, Mpi, Session, place};
use crate::patience::Processors;
use crate::{Drive, Failed, NodeId, Step};
use mpi::traits::Communicator as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Longest sleep: what a library has kept back is looked for then.
const SLEEP: Duration = Duration::from_millis(5);
/// The same while a transfer is under way, for which nothing rings.
const BUSY_SLEEP: Duration = Duration::from_micros(50);

/// The doorbell of a node that several threads of its process step in turn.
#[derive(Clone)]
pub struct Bell {
    board: Board,
    node: NodeId,
    notice: Arc<Notice>,
}

/// Why the node has failed. The other processes learn of it by the end of the job.
#[derive(Default)]
struct Notice {
    failed: AtomicBool,
    failure: Mutex<Option<Failed>>,
}

/// A sleep that is about to begin.
pub struct Rest {
    lying: Lying,
    limit: Duration,
}

impl Session {
    /// This process's way to the others in the next run, for a node that the caller steps. Until it is given to
    /// [`Session::close`], only who has it calls MPI, one thread at a time.
    pub fn open(&mut self) -> Mpi {
        self.begin(true)
    }

    /// This process's node is done: returns when all are. After an error the job cannot go on, as with
    /// [`Session::run`].
    pub fn close(&mut self, fabric: Mpi) -> Result<(), Error> {
        self.ports = Some(fabric.close()?);
        Ok(())
    }

    /// Memory of `bytes` bytes that all processes share, as a file; none if they are on several hosts or the system
    /// keeps them apart. All processes call it together, between runs.
    pub fn shared_file(&self, bytes: u64) -> Option<std::fs::File> {
        let world = self.universe.world();
        place::shared_file(&world.split_shared(world.rank()), world.size(), bytes)
    }
}

impl Bell {
    pub(super) fn new(board: Board, node: NodeId) -> Bell {
        Bell { board, node, notice: Arc::default() }
    }
    fn has_failed(&self) -> bool {
        // Relaxed: whoever has to know looks again and again, and the lock of `failure` orders the rest.
        self.notice.failed.load(Ordering::Relaxed)
    }
}

impl crate::Bell for Bell {
    type Rest = Rest;
    /// Sleepers are known by their words.
    fn adopt(&self) {}
    fn hush(&self) {
        self.board.get_up();
    }
    fn ring(&self) {
        self.board.ring_own();
    }
    fn sleep(&self, rest: Rest, limit: Duration) {
        self.board.sleep(&rest.lying, limit.min(rest.limit));
    }
    fn fail(&self, reason: String) {
        let mut failure = base::lock(&self.notice.failure);
        failure.get_or_insert(Failed { node: self.node, reason });
        self.notice.failed.store(true, Ordering::Relaxed);
        self.board.ring_own();
    }
    fn failure(&self) -> Option<Failed> {
        base::lock(&self.notice.failure).clone()
    }
}

impl Drive for Mpi {
    type Bell = Bell;
    fn bell(&self) -> Bell {
        self.bell.clone()
    }
    fn settle(&mut self, step: Step) {
        if matches!(step, Step::Again | Step::Refused(_)) {
            self.between();
        } else {
            // A step that ends with a wait has often looked just before.
            if !std::mem::take(&mut self.looked) || self.ports.bells.is_ringing() {
                self.progress();
                self.looked = false;
            }
            self.flush();
        }
        if let Some(error) = &self.error {
            crate::Bell::fail(&self.bell, error.to_string());
        }
    }
    fn lie_down(&mut self) -> Option<Rest> {
        let lying = self.ports.bells.board().lie_down();
        if self.progress() || self.has_work() || self.bell.has_failed() {
            return None;
        }
        let limit = if self.has_sent_all() { SLEEP } else { BUSY_SLEEP };
        // What woke it may be known to MPI alone.
        self.ports.look_anyway();
        self.looked = false;
        Some(Rest { lying, limit })
    }
    fn may_spin(&self) -> bool {
        self.processors == Processors::Enough
    }
    fn has_failed(&self) -> bool {
        self.error.is_some() || self.bell.has_failed()
    }
}
