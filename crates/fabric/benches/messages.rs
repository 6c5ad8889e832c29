//! How fast messages are: `cargo bench -p fabric --bench messages`, and for processes
//! `MPICC=mpicc.mpich cargo bench -p fabric --features mpi --target-dir target/mpich --bench messages`, or the same with `openmpi`.
//!
//! The same nodes run on threads and, with the feature `mpi`, on processes, beside MPI's own calls in the same run. Each figure is the best of
//! some rounds, with the worst behind it. With MPI, arguments say how many nodes.

use fabric::{Fabric, Message, Node, NodeId, Priority, Step};
use std::time::{Duration, Instant};

const ROUNDS: usize = 7;
/// Of one round.
const PINGS: u64 = 20_000;
const STREAM: u64 = 2_000_000;
const BARRIERS: u64 = 500;

/// Nodes 0 and 1 send a message of one word back and forth, busy all the time.
struct Ping {
    left: u64,
}

impl<F: Fabric> Node<F> for Ping {
    fn step(&mut self, fabric: &mut F) -> Step {
        let me = fabric.node().0;
        if me == 0 && self.left == PINGS {
            self.left -= 1;
            assert!(fabric.send(NodeId(1), Message::new(Priority::Low, &[1])).is_ok());
        }
        if let Some(message) = fabric.poll() {
            if me == 0 && self.left == 0 {
                return Step::Done;
            }
            self.left -= 1;
            assert!(fabric.send(message.from, message).is_ok());
            if me == 1 && self.left == 0 {
                return Step::Done;
            }
        }
        Step::Again
    }
}

/// Node 0 sends messages of three words, as many as there is room for; node 1 polls them and says when it has all.
struct Stream {
    count: u64,
    sum: u64,
}

impl<F: Fabric> Node<F> for Stream {
    fn step(&mut self, fabric: &mut F) -> Step {
        if fabric.node().0 == 0 {
            for _ in 0..256 {
                if self.count == STREAM {
                    return if fabric.poll().is_some() { Step::Done } else { Step::Again };
                }
                let words = [self.count, 1, 2];
                if fabric.send(NodeId(1), Message::new(Priority::Low, &words)).is_err() {
                    return Step::Again;
                }
                self.count += 1;
            }
            return Step::Again;
        }
        for _ in 0..256 {
            let Some(message) = fabric.poll() else { break };
            self.sum = self.sum.wrapping_add(message.words()[0]);
            self.count += 1;
        }
        if self.count < STREAM {
            return Step::Again;
        }
        assert_eq!(self.sum, STREAM * (STREAM - 1) / 2);
        assert!(fabric.send(NodeId(0), Message::new(Priority::High, &[])).is_ok());
        Step::Done
    }
}

/// All nodes wait for each other, again and again: in wave k a node tells the one that is 2^k further.
struct Barrier {
    entered: u64,
    waves: u32,
    wave: u32,
    /// Words by wave that came and are not used up.
    came: [u64; 32],
    sent: bool,
}

impl Barrier {
    fn new(nodes: u32) -> Barrier {
        Barrier { entered: 0, waves: nodes.next_power_of_two().ilog2(), wave: 0, came: [0; 32], sent: false }
    }
}

impl<F: Fabric> Node<F> for Barrier {
    fn step(&mut self, fabric: &mut F) -> Step {
        loop {
            while let Some(message) = fabric.poll() {
                self.came[message.words()[0] as usize] += 1;
            }
            if self.wave == self.waves {
                (self.wave, self.entered) = (0, self.entered + 1);
            }
            if self.entered == BARRIERS {
                return Step::Done;
            }
            if !self.sent {
                let to = NodeId((fabric.node().0 + (1 << self.wave)) % fabric.nodes());
                assert!(fabric.send(to, Message::new(Priority::High, &[self.wave.into()])).is_ok());
                self.sent = true;
            }
            if self.came[self.wave as usize] == 0 {
                return Step::Wait(None);
            }
            self.came[self.wave as usize] -= 1;
            (self.wave, self.sent) = (self.wave + 1, false);
        }
    }
}

/// Measures node 0 from its first step to its last, for what the run itself needs is not to be measured.
struct Timed<N> {
    inner: N,
    begin: Option<Instant>,
    took: Duration,
}

impl<F: Fabric, N: Node<F>> Node<F> for Timed<N> {
    fn step(&mut self, fabric: &mut F) -> Step {
        let begin = *self.begin.get_or_insert_with(Instant::now);
        let step = self.inner.step(fabric);
        if step == Step::Done {
            self.took = begin.elapsed();
        }
        step
    }
}

fn timed<N>(inner: N) -> Timed<N> {
    Timed { inner, begin: None, took: Duration::ZERO }
}

/// The best of several rounds and the worst, by `figure`.
fn report(what: &str, unit: &str, mut round: impl FnMut() -> Duration, figure: impl Fn(Duration) -> f64) {
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| round()).collect();
    times.sort();
    println!("{what:<46} {:>9.3} {unit:<22} worst {:.3}", figure(times[0]), figure(times[ROUNDS - 1]));
}

fn one_way(took: Duration) -> f64 {
    took.as_secs_f64() * 1e6 / (2 * PINGS) as f64
}

fn rate(took: Duration) -> f64 {
    STREAM as f64 / took.as_secs_f64() / 1e6
}

fn each(took: Duration) -> f64 {
    took.as_secs_f64() * 1e6 / BARRIERS as f64
}

const MICROS: &str = "us";
const MILLIONS: &str = "million messages/s";

fn main() {
    nodes::main();
}

#[cfg(not(feature = "mpi"))]
mod nodes {
    //! On threads.

    use super::*;
    use fabric::threads::{Threads, run};

    pub(super) fn main() {
        report("threads, one way", MICROS, || took(2, || Ping { left: PINGS }), one_way);
        report("threads, 24 bytes, one pair", MILLIONS, || took(2, || Stream { count: 0, sum: 0 }), rate);
        for nodes in [2, 4, 8, 64] {
            let what = format!("threads, barrier of {nodes}");
            report(&what, MICROS, || took(nodes, || Barrier::new(nodes)), each);
        }
    }

    fn took<N: Node<Threads>>(nodes: u32, make: impl Fn() -> N + Sync) -> Duration {
        run(nodes, |_| timed(make()), |node| node.took).expect("no node panics")[0]
    }
}

#[cfg(feature = "mpi")]
mod nodes {
    //! Between processes.

    use super::*;
    use fabric::mpi::{Mpi, Session, launch};
    use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};

    pub(super) fn main() {
        if launch::program().is_some() {
            return node();
        }
        println!("{}", launch::library());
        let said: Vec<u32> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
        for nodes in if said.is_empty() { vec![2, 4, 8] } else { said } {
            let status = launch::job("bench", nodes).and_then(|mut job| job.status()).expect("a launcher");
            assert!(status.success(), "{nodes} nodes: {status}");
        }
    }

    fn node() {
        let mut session = Session::start().expect("the first session of this process");
        let (first, nodes) = (session.node() == NodeId(0), session.nodes());
        let show =
            |what: &str, unit: &str, round: &mut dyn FnMut() -> Duration, figure: fn(Duration) -> f64| {
                if first {
                    report(what, unit, round, figure);
                } else {
                    (0..ROUNDS).for_each(|_| _ = round());
                }
            };
        if nodes == 2 {
            show("MPI itself, one way, 8 bytes", MICROS, &mut raw_ping, one_way);
            show("processes, one way", MICROS, &mut || run(&mut session, Ping { left: PINGS }), one_way);
            show("MPI itself, one way, 8 bytes, again", MICROS, &mut raw_ping, one_way);
            let stream = || Stream { count: 0, sum: 0 };
            show("processes, 24 bytes, one pair", MILLIONS, &mut || run(&mut session, stream()), rate);
        }
        // MPICH's own spins, which takes whole time slices if there are more nodes than processors.
        if nodes == 2 {
            show("MPI itself, barrier of 2", MICROS, &mut raw_barrier, each);
        }
        let what = format!("processes, barrier of {nodes}");
        show(&what, MICROS, &mut || run(&mut session, Barrier::new(nodes)), each);
        session.finish();
    }

    fn run<N: Node<Mpi>>(session: &mut Session, node: N) -> Duration {
        session.run(|_| timed(node)).expect("all nodes are well").took
    }

    fn raw_ping() -> Duration {
        let world = mpi::topology::SimpleCommunicator::world();
        let partner = world.process_at_rank(1 - world.rank());
        let mut word = [0u64];
        world.barrier();
        let begin = Instant::now();
        for _ in 0..PINGS {
            if world.rank() == 0 {
                partner.send(&word[..]);
                partner.receive_into(&mut word[..]);
            } else {
                partner.receive_into(&mut word[..]);
                partner.send(&word[..]);
            }
        }
        begin.elapsed()
    }

    fn raw_barrier() -> Duration {
        let world = mpi::topology::SimpleCommunicator::world();
        world.barrier();
        let begin = Instant::now();
        for _ in 0..BARRIERS {
            world.barrier();
        }
        begin.elapsed()
    }
}
