//! What MPI's own calls take, to compare with. All nodes of the job call these together, between runs.

use super::Session;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};
use std::time::{Duration, Instant};

/// Nodes 0 and 1 send eight bytes back and forth, so often.
pub fn ping(session: &Session, count: u64) -> Duration {
    let world = session.universe.world();
    let mut word = [0u64];
    world.barrier();
    let begin = Instant::now();
    if world.rank() < 2 {
        let partner = world.process_at_rank(1 - world.rank());
        for _ in 0..count {
            if world.rank() == 0 {
                partner.send(&word[..]);
                partner.receive_into(&mut word[..]);
            } else {
                partner.receive_into(&mut word[..]);
                partner.send(&word[..]);
            }
        }
    }
    begin.elapsed()
}

/// So many barriers of all nodes.
pub fn barrier(session: &Session, count: u64) -> Duration {
    let world = session.universe.world();
    world.barrier();
    let begin = Instant::now();
    (0..count).for_each(|_| world.barrier());
    begin.elapsed()
}
