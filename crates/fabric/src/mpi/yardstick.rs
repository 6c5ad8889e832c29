//! What MPI's own calls take, to compare with. All nodes of the job call these together, between runs.

use super::Session;
use crate::patience::Processors;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};
use std::time::{Duration, Instant};

/// Nodes 0 and 1 send eight bytes back and forth, so often.
pub fn ping(session: &Session, count: u64) -> Duration {
    ask(session, count, 1)
}

/// Node 0 sends eight bytes, and node 1 answers with so many words, so often.
pub fn ask(session: &Session, count: u64, words: usize) -> Duration {
    let world = session.universe.world();
    let (mut word, mut answer) = ([0u64], vec![0u64; words]);
    world.barrier();
    let begin = Instant::now();
    if world.rank() < 2 {
        let partner = world.process_at_rank(1 - world.rank());
        for _ in 0..count {
            if world.rank() == 0 {
                partner.send(&word[..]);
                partner.receive_into(&mut answer[..]);
            } else {
                partner.receive_into(&mut word[..]);
                partner.send(&answer[..]);
            }
        }
    }
    begin.elapsed()
}

/// This number of barriers of all nodes. If processors are few, a node that waits for the others gives way to them
/// each time that it has asked MPI.
pub fn barrier(session: &Session, count: u64) -> Duration {
    let world = session.universe.world();
    world.barrier();
    let begin = Instant::now();
    for _ in 0..count {
        if session.processors == Processors::Enough {
            world.barrier();
            continue;
        }
        let channel = &session.ports().channel;
        let mut barrier = channel.barrier();
        while barrier.test(channel).is_none() {
            std::thread::yield_now();
        }
    }
    begin.elapsed()
}
