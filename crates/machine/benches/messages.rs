//! How fast messages are: `cargo xtask bench --messages`, or `cargo bench -p machine --bench messages`, and for
//! processes `MPICC=mpicc.mpich cargo bench -p machine --features mpi --target-dir target/mpich --bench messages`, or
//! the same with `openmpi`.
//!
//! Everything is measured by nodes that call the fabric themselves and by handlers and tasks of machines; between
//! processes, beside MPI's own calls. They have turns, in rounds: the figures are medians with the best and the worst
//! round behind them, and how they compare with the first of their group in the same round (the median of it).
//! Arguments say how many nodes. `ping` as the argument: one round of messages between handlers of two nodes, and
//! nothing is printed but how many microseconds one way takes.

use fabric::{Fabric, Message, Node, NodeId, Priority, Step};
use machine::{Call, Context, Costs, Here, Machine, Program, Slot, Verdict};
use std::time::{Duration, Instant};

const ROUNDS: usize = 9;
/// Of one round.
const PINGS: u64 = 20_000;
const STREAM: u64 = 2_000_000;
const BARRIERS: u64 = 1000;

/// Nodes 0 and 1 send a message of one word back and forth, busy all the time.
struct Ping {
    left: u64,
}

impl<F: Fabric> Node<F> for Ping {
    fn step(&mut self, fabric: &mut F) -> Step {
        let me = fabric.node().0;
        if me > 1 {
            return Step::Done;
        }
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
        match fabric.node().0 {
            0 => {
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
            1 => {}
            _ => return Step::Done,
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

/// All nodes wait for each other, again and again.
struct Barrier {
    entered: u64,
}

impl<F: Fabric> Node<F> for Barrier {
    fn step(&mut self, fabric: &mut F) -> Step {
        while fabric.all_arrived() {
            if self.entered == BARRIERS {
                return Step::Done;
            }
            self.entered += 1;
            assert!(fabric.arrive(), "all nodes share memory");
        }
        Step::Wait(None)
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

/// The same by messages for handlers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Ping,
    Stream,
    Barrier,
}

struct Handlers {
    what: What,
    count: u64,
    sum: u64,
    /// Filled with the time that it took.
    done: Slot<Duration>,
    begin: Instant,
}

const BALL: u32 = 0;
const ITEM: u32 = 1;
const ALL: u32 = 2;

impl Handlers {
    fn new(what: What) -> Handlers {
        Handlers { what, count: 0, sum: 0, done: Slot::new(), begin: Instant::now() }
    }
}

impl Program for Handlers {
    fn start(&mut self, here: &Here) {
        self.begin = Instant::now();
        let (begin, done, first) = (self.begin, self.done.clone(), here.node() == NodeId(0));
        let (task, what) = (here.clone(), self.what);
        here.spawn(async move {
            match what {
                What::Ping if first => task.send(NodeId(1), Priority::Low, BALL, &[1]).await,
                What::Stream if first => {
                    for i in 0..STREAM {
                        task.send(NodeId(1), Priority::Low, ITEM, &[i, 1, 2]).await;
                    }
                }
                What::Barrier => {
                    for _ in 0..BARRIERS {
                        task.barrier().await;
                    }
                    let _ = done.fill(begin.elapsed());
                }
                _ => {}
            }
        });
    }
    #[inline]
    fn handle<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        match call.code {
            BALL => {
                self.count += 1;
                if context.node() == NodeId(0) && self.count == PINGS {
                    let _ = self.done.fill(self.begin.elapsed());
                } else {
                    context.send(call.from, Priority::Low, BALL, call.words);
                }
            }
            ITEM => {
                self.sum = self.sum.wrapping_add(call.words[0]);
                self.count += 1;
                if self.count == STREAM {
                    assert_eq!(self.sum, STREAM * (STREAM - 1) / 2);
                    context.send(call.from, Priority::High, ALL, &[]);
                }
            }
            _ => _ = self.done.fill(self.begin.elapsed()),
        }
        Verdict::Done
    }
}

/// Something that is measured: what it is called, and a round of it.
type Measured<'a> = (&'a str, Box<dyn FnMut() -> Duration + 'a>);

/// How a time becomes a figure.
#[derive(Clone, Copy)]
enum Unit {
    /// Of so many.
    Micros(u64),
    MillionsPerSecond(u64),
}

impl Unit {
    fn figure(self, took: Duration) -> f64 {
        match self {
            Unit::Micros(count) => took.as_secs_f64() * 1e6 / count as f64,
            Unit::MillionsPerSecond(count) => count as f64 / took.as_secs_f64() / 1e6,
        }
    }
    fn name(self) -> &'static str {
        match self {
            Unit::Micros(_) => "us",
            Unit::MillionsPerSecond(_) => "M/s",
        }
    }
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Measures a group, all in turn.
fn group(what: &str, unit: Unit, show: bool, mut measured: Vec<Measured<'_>>) {
    let rounds: Vec<Vec<f64>> =
        (0..ROUNDS).map(|_| measured.iter_mut().map(|(_, round)| unit.figure(round())).collect()).collect();
    if !show {
        return;
    }
    println!("{what}");
    for (i, (name, _)) in measured.iter().enumerate() {
        let mut figures: Vec<f64> = rounds.iter().map(|round| round[i]).collect();
        let mut ratios: Vec<f64> = rounds.iter().map(|round| round[i] / round[0]).collect();
        let (middle, ratio) = (median(&mut figures), median(&mut ratios));
        let (low, high) = (figures[0], figures[ROUNDS - 1]);
        println!("  {name:<20} {middle:>9.3} {:<4} ({low:.3} to {high:.3}){ratio:>8.2}", unit.name());
    }
}

fn main() {
    nodes::main();
}

/// The one figure that was asked for.
const PING: &str = "ping";

fn asked_for_ping() -> bool {
    std::env::args().any(|argument| argument == PING)
}

fn show_ping(took: Duration) {
    println!("{:.4}", Unit::Micros(2 * PINGS).figure(took));
}

/// How many nodes the arguments say, or these.
fn sizes(usual: &[u32]) -> Vec<u32> {
    let said: Vec<u32> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    if said.is_empty() { usual.to_vec() } else { said }
}

#[cfg(not(feature = "mpi"))]
mod nodes {
    //! On threads.

    use super::*;
    use fabric::threads::{Threads, run};

    pub(super) fn main() {
        if asked_for_ping() {
            return show_ping(handlers(2, What::Ping));
        }
        for nodes in sizes(&[2, 4, 8, 64]) {
            let barrier = || Box::new(move || bare(nodes, || Barrier { entered: 0 }));
            let handlers = |what| Box::new(move || handlers(nodes, what));
            if nodes == 2 {
                let ping = Box::new(move || bare(2, || Ping { left: PINGS }));
                let unit = Unit::Micros(2 * PINGS);
                group("one way", unit, true, vec![("threads", ping), ("handlers", handlers(What::Ping))]);
                let stream = Box::new(move || bare(2, || Stream { count: 0, sum: 0 }));
                let unit = Unit::MillionsPerSecond(STREAM);
                let measured: Vec<Measured> = vec![("threads", stream), ("handlers", handlers(What::Stream))];
                group("messages from one to the other", unit, true, measured);
            }
            let measured: Vec<Measured> = vec![("threads", barrier()), ("handlers", handlers(What::Barrier))];
            group(&format!("barrier of {nodes}"), Unit::Micros(BARRIERS), true, measured);
        }
    }

    fn bare<N: Node<Threads>>(nodes: u32, make: impl Fn() -> N + Sync) -> Duration {
        let make = |_| Timed { inner: make(), begin: None, took: Duration::ZERO };
        run(nodes, make, |node| node.took).expect("no node panics")[0]
    }

    fn handlers(nodes: u32, what: What) -> Duration {
        let make = |node| Machine::new(node, nodes, Handlers::new(what), Costs::REAL);
        let ends = run(nodes, make, |machine| machine.program.done.get());
        ends.expect("no node panics")[0].expect("it has been measured")
    }
}

#[cfg(feature = "mpi")]
mod nodes {
    //! Between processes.

    use super::*;
    use fabric::mpi::{Mpi, Session, launch, yardstick};
    use std::cell::RefCell;

    /// How many times fewer barriers of MPI's own: some libraries are very slow if processors are few.
    const SHORTER: u32 = 25;

    pub(super) fn main() {
        match launch::program().as_deref() {
            Some(PING) => return ping(),
            Some(_) => return node(),
            None => {}
        }
        let run = |program, nodes| {
            let status = launch::job(program, nodes).and_then(|mut job| job.status()).expect("a launcher");
            assert!(status.success(), "{nodes} nodes: {status}");
        };
        if asked_for_ping() {
            return run(PING, 2);
        }
        println!("{}", launch::library());
        sizes(&[2, 4, 8]).into_iter().for_each(|nodes| run("bench", nodes));
    }

    fn ping() {
        let session = RefCell::new(Session::start().expect("the first session of this process"));
        let took = handlers(&session, What::Ping);
        let session = session.into_inner();
        if session.node() == NodeId(0) {
            show_ping(took);
        }
        session.finish();
    }

    fn node() {
        let owned = RefCell::new(Session::start().expect("the first session of this process"));
        let session = &owned;
        let (first, nodes) = (session.borrow().node() == NodeId(0), session.borrow().nodes());
        let handlers =
            |what| -> Box<dyn FnMut() -> Duration + '_> { Box::new(move || handlers(session, what)) };
        if nodes == 2 {
            let measured: Vec<Measured> = vec![
                ("MPI", Box::new(|| yardstick::ping(&session.borrow(), PINGS))),
                ("processes", Box::new(|| bare(session, Ping { left: PINGS }))),
                ("handlers", handlers(What::Ping)),
            ];
            group("one way", Unit::Micros(2 * PINGS), first, measured);
            let measured: Vec<Measured> = vec![
                ("processes", Box::new(|| bare(session, Stream { count: 0, sum: 0 }))),
                ("handlers", handlers(What::Stream)),
            ];
            group("messages from one to the other", Unit::MillionsPerSecond(STREAM), first, measured);
        }
        let measured: Vec<Measured> = vec![
            (
                "MPI",
                Box::new(|| SHORTER * yardstick::barrier(&session.borrow(), BARRIERS / u64::from(SHORTER))),
            ),
            ("processes", Box::new(|| bare(session, Barrier { entered: 0 }))),
            ("handlers", handlers(What::Barrier)),
        ];
        group(&format!("barrier of {nodes}"), Unit::Micros(BARRIERS), first, measured);
        owned.into_inner().finish();
    }

    fn bare<N: Node<Mpi>>(session: &RefCell<Session>, inner: N) -> Duration {
        let node = Timed { inner, begin: None, took: Duration::ZERO };
        session.borrow_mut().run(|_| node).expect("all nodes are well").took
    }

    fn handlers(session: &RefCell<Session>, what: What) -> Duration {
        let nodes = session.borrow().nodes();
        let make = |node| Machine::new(node, nodes, Handlers::new(what), Costs::REAL);
        let machine = session.borrow_mut().run(make).expect("all nodes are well");
        machine.program.done.get().unwrap_or_default()
    }
}
