//! What it takes to tell many nodes: multicast by the routers beside messages to each, on JUMP-1's network.

use super::table3::{ACK_HARDWARE, CYCLE_NS};
use crate::chosen;
use crate::report::{self, Cell, Chart, Kind, Report, Series, Table};
use crate::{Config, Error, Experiment, Host, Scale};
use fabric::simulated::{self, Endpoint, run as simulate};
use fabric::{Busy, Fabric, Map, Message, Node, NodeId, NodeSet, Priority, Random, Refused, Step, Time};

pub(super) const SOURCE: &str = "N. Suzuki, H. Amano et al.: Performance Evaluation of a Multicast Mechanism for a \
                      Massively Parallel Processor JUMP-1";

pub(crate) const FIG11: Experiment = Experiment {
    name: "jump1/fig11",
    title: "JUMP-1: a message to several clusters",
    source: SOURCE,
    about: "One cluster sends a message to n others, by one multicast or one after the other. What sending costs \
            is published and an input; when the first and the last have it is measured on the simulated network.",
    times_host: false,
    run: fig11,
};

pub(crate) const FIG12: Experiment = Experiment {
    name: "jump1/fig12",
    title: "JUMP-1: acknowledgements of several clusters",
    source: SOURCE,
    about: "n clusters acknowledge one multicast to their home. What the home does for each acknowledgement was \
            fitted to the published 132 cycles that hardware saves for 7 clusters; what it saves for other n follows.",
    times_host: false,
    run: fig12,
};

pub(crate) const DIRECTORIES: Experiment = Experiment {
    name: "jump1/directories",
    title: "JUMP-1: how a directory tells its sharers",
    source: SOURCE,
    about: "Beyond the paper, a model: a home invalidates its sharers, by messages to each, along a chain, by a \
            multicast to exactly these, or by one bit-map a level, which takes 8 bits a level and reaches strangers, \
            too.",
    times_host: false,
    run: directories,
};

const SEED: u64 = 1;
/// Cycles that a sender spends on a multicast, and on a message to one (figure 11).
pub(super) const MULTICAST_CYCLES: u64 = 17;
pub(super) const UNICAST_CYCLES: u64 = 69;
/// Cycles until a receiver has made its acknowledgement (table 3).
const ACK_CYCLES: u64 = ACK_HARDWARE;
/// Cycles of the home for each acknowledgement, by hardware and by software.
pub(super) const COLLECT_HARDWARE: u64 = 3;
pub(super) const COLLECT_SOFTWARE: u64 = 22;

/// The number of clusters to which the home's cycles were fitted.
const FITTED_CLUSTERS: u32 = 7;

/// How the home tells its sharers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scheme {
    Unicast,
    Chain,
    Exact,
    Levels,
}

const SCHEMES: [(Scheme, &str); 4] = [
    (Scheme::Unicast, "a message to each"),
    (Scheme::Chain, "a chain"),
    (Scheme::Exact, "multicast, exact map"),
    (Scheme::Levels, "multicast, a map a level"),
];

/// One invalidation.
#[derive(Clone, Debug)]
struct Job {
    home: NodeId,
    sharers: NodeSet,
    scheme: Scheme,
    acknowledge: bool,
    /// Of a multicast: nodes of the tree wait for those behind them, and send one acknowledgement on.
    combine: bool,
    collect_cycles: u64,
}

/// A node that takes part; at the home `left` are the nodes that it has not told yet.
struct Part {
    job: Job,
    left: Vec<NodeId>,
    told: bool,
    /// When it was told; at the home, when it had dealt with the last acknowledgement.
    time: Option<u64>,
    /// Acknowledgements that came.
    acks: u64,
    /// Acknowledgements that others still owe this node, as far as it knows: some come before its own copy does.
    missing: i64,
    /// Whom it owes one (none: the home), once its own copy has come.
    parent: Option<Option<NodeId>>,
}

/// The word of an acknowledgement of all, where nodes combine them.
const FOR_HOME: u64 = 0;
/// After this no message is under way.
const END: u64 = 1_000_000;

impl Part {
    fn new(node: NodeId, job: &Job) -> Part {
        let left = if node == job.home { job.sharers.iter().collect() } else { Vec::new() };
        Part { job: job.clone(), left, told: false, time: None, acks: 0, missing: 0, parent: None }
    }

    /// Tells the sharers that are left, as far as there is room. False: there is none.
    fn tell(&mut self, fabric: &mut Endpoint) -> bool {
        if matches!(self.job.scheme, Scheme::Exact | Scheme::Levels) {
            if !std::mem::replace(&mut self.told, true) {
                fabric.spend(MULTICAST_CYCLES);
                let set = self.job.sharers.clone();
                let map = if self.job.scheme == Scheme::Exact { Map::Exact(set) } else { Map::Levels(set) };
                let sent = fabric.send_many(&map, Message::new(Priority::Low, &[1, 0]));
                assert!(
                    !matches!(sent, Err(Refused::Unsupported(_))),
                    "the tree of an RDT reaches its nodes"
                );
            }
            return true;
        }
        let cost = if self.job.scheme == Scheme::Unicast { UNICAST_CYCLES } else { MULTICAST_CYCLES };
        while let Some(to) = self.left.first().copied() {
            fabric.spend(cost);
            if let Err(Busy(_)) = fabric.send(to, Message::new(Priority::Low, &[1, u64::from(to.0)])) {
                return false;
            }
            self.left.remove(0);
            if self.job.scheme == Scheme::Chain {
                self.left.clear();
            }
        }
        true
    }

    fn receive(&mut self, fabric: &mut Endpoint, message: &Message) {
        if message.words().len() < 2 {
            fabric.spend(self.job.collect_cycles);
            // A map a level may make the home a node that gathers, too.
            if !self.job.combine || message.words() == [FOR_HOME] {
                self.acks += 1;
                self.time = Some(fabric.now().0);
            } else {
                self.missing -= 1;
                self.pass_on(fabric);
            }
            return;
        }
        if fabric.node() != self.job.home {
            self.time = Some(fabric.now().0);
        }
        self.told = true;
        if self.job.combine && self.job.acknowledge {
            let place = fabric.gather();
            self.missing += place.map_or(0, |place| place.children.into());
            self.parent = Some(place.and_then(|place| place.parent));
            fabric.spend(ACK_CYCLES);
            self.pass_on(fabric);
            return;
        }
        let me = fabric.node();
        let next =
            self.job.sharers.iter().find(|node| *node > me).filter(|_| self.job.scheme == Scheme::Chain);
        let (to, words) = match next {
            Some(next) => (next, &[1, u64::from(next.0)][..]),
            None if self.job.acknowledge => (self.job.home, &[][..]),
            None => return,
        };
        fabric.spend(if next.is_some() { MULTICAST_CYCLES } else { ACK_CYCLES });
        fabric.send(to, Message::new(Priority::Low, words)).expect("a node sends one message here");
    }
}

impl Part {
    /// Sends its acknowledgement on, if it has its own copy and those of all behind it.
    fn pass_on(&mut self, fabric: &mut Endpoint) {
        if self.missing == 0
            && let Some(parent) = self.parent.take()
        {
            let (to, words) = match parent {
                Some(parent) => (parent, &[][..]),
                None => (self.job.home, &[FOR_HOME][..]),
            };
            fabric.send(to, Message::new(Priority::Low, words)).expect("there is room for a few messages");
        }
    }
}

impl Node<Endpoint> for Part {
    fn step(&mut self, fabric: &mut Endpoint) -> Step {
        if fabric.node() == self.job.home && !self.tell(fabric) {
            return Step::Wait(Some(Time(fabric.now().0 + 1)));
        }
        while let Some(message) = fabric.poll() {
            self.receive(fabric, &message);
        }
        if fabric.now().0 >= END { Step::Done } else { Step::Wait(Some(Time(END))) }
    }
}

/// What one invalidation took.
struct Taken {
    /// Links that its messages used, acknowledgements left out.
    links: u64,
    /// Nodes that got it.
    reached: u64,
    acks: u64,
    /// When the first and the last were told, and when the home had all acknowledgements.
    first: u64,
    last: u64,
    collected: u64,
}

fn invalidate(side: u32, job: &Job) -> Taken {
    // A router must take in all acknowledgements while its node is at work.
    let network =
        simulated::Config { send_queue: 4096, receive_queue: 8192, ..simulated::Config::jump1(side, SEED) };
    let network = chosen::network(network);
    let links_of = |job: &Job| {
        let outcome = simulate(&network, |node| Part::new(node, job)).expect("all nodes end by the clock");
        let ports = network.topology.ports();
        let links = (0..).zip(&outcome.channels).filter(|(at, _)| at % ports != ports - 1);
        (links.map(|(_, channel)| channel.packets).sum(), outcome.nodes)
    };
    let (links, silent) = links_of(&Job { acknowledge: false, ..job.clone() });
    let (_, nodes) = links_of(job);
    let home = &nodes[job.home.0 as usize];
    let times = (0..).zip(&silent).filter(|(node, _)| *node != job.home.0).filter_map(|(_, part)| part.time);
    let times: Vec<u64> = times.collect();
    Taken {
        links,
        reached: times.len() as u64,
        acks: home.acks,
        first: times.iter().min().copied().unwrap_or(0),
        last: times.iter().max().copied().unwrap_or(0),
        collected: home.time.unwrap_or(0),
    }
}

/// `count` sharers of a home in the middle: of the whole machine, or of the 9 by 9 nodes round it.
fn sharers(random: &mut Random, side: u32, count: u32, local: bool) -> (NodeId, NodeSet) {
    let (x, y) = (side / 2 + random.below(4), side / 2 + random.below(4));
    let home = NodeId(y * side + x);
    let mut set = NodeSet::new();
    while set.len() < count as usize {
        let place = |at: u32, random: &mut Random| {
            if local { (at + side + random.below(9) - 4) % side } else { random.below(side) }
        };
        let (x, y) = (place(x, random), place(y, random));
        let node = NodeId(y * side + x);
        if node != home {
            set.insert(node);
        }
    }
    (home, set)
}

fn fig11(experiment: &Experiment, host: &mut dyn Host, _: &Config) -> Result<Report, Error> {
    const SIDE: u32 = 16;
    let mut rows = Vec::new();
    let mut lines = [("multicast", Vec::new()), ("one after the other", Vec::new())];
    for n in 1..=8u32 {
        host.progress(n as usize, 8, &format!("{n} receivers"));
        let (home, sharers) = sharers(&mut Random::new(chosen::seed(SEED)), SIDE, n, true);
        let run = |scheme| {
            let sharers = sharers.clone();
            let job = Job {
                home,
                sharers,
                scheme,
                acknowledge: true,
                combine: false,
                collect_cycles: COLLECT_HARDWARE,
            };
            invalidate(SIDE, &job)
        };
        let (many, each) = (run(Scheme::Exact), run(Scheme::Unicast));
        let told = [
            ("receivers", Cell::key(n)),
            ("multicast: last", Cell::count(many.last)),
            ("each: last", Cell::count(each.last)),
        ];
        host.row("Times, cycles", &told);
        lines[0].1.push((f64::from(n), many.last as f64));
        lines[1].1.push((f64::from(n), each.last as f64));
        rows.push(vec![
            Cell::key(n),
            Cell::Input(MULTICAST_CYCLES as f64, 0),
            Cell::Published(MULTICAST_CYCLES as f64, 0),
            Cell::count(many.first),
            Cell::count(many.last),
            Cell::Input(UNICAST_CYCLES as f64, 0),
            if n == 1 { Cell::Published(UNICAST_CYCLES as f64, 0) } else { Cell::Absent },
            Cell::count(each.first),
            Cell::count(each.last),
        ]);
    }
    let heads = [
        "receivers",
        "multicast: sending",
        "published",
        "multicast: first has it",
        "multicast: last has it",
        "each: sending one",
        "published for one",
        "each: first has it",
        "each: last has it",
    ];
    let note = "Cycles since the sender began. The published figure draws messages to each as rising with n; here each \
                of them takes the sender 69 cycles.";
    let lines = lines.map(|(name, points)| Series { name: name.into(), points }).to_vec();
    Ok(Report {
        tables: vec![Table::new("times", "Times", note, &heads, rows), inputs()],
        charts: vec![Chart::lines("last", "The last has it", "receivers", "cycles", lines).log(true, true)],
        ..Report::of(experiment, measured_on())
    })
}

fn fig12(experiment: &Experiment, host: &mut dyn Host, _: &Config) -> Result<Report, Error> {
    const SIDE: u32 = 16;
    let mut rows = Vec::new();
    for (part, n) in [1, 2, 3, 4, 5, 6, 7, 8, 16, 32].into_iter().enumerate() {
        host.progress(part + 1, 10, &format!("{n} acknowledgements"));
        let (home, sharers) = sharers(&mut Random::new(chosen::seed(SEED)), SIDE, n, true);
        let run = |collect_cycles| {
            let sharers = sharers.clone();
            let job = Job {
                home,
                sharers,
                scheme: Scheme::Exact,
                acknowledge: true,
                combine: false,
                collect_cycles,
            };
            invalidate(SIDE, &job).collected
        };
        let (hardware, software) = (run(COLLECT_HARDWARE), run(COLLECT_SOFTWARE));
        let told = [
            ("acknowledgements", Cell::key(n)),
            ("hardware", Cell::count(hardware)),
            ("software", Cell::count(software)),
        ];
        host.row("Collection, cycles", &told);
        let [published, published_ns] = match n {
            FITTED_CLUSTERS => [Cell::Published(132.0, 0), Cell::Published(2640.0, 0)],
            _ => [Cell::Absent, Cell::Absent],
        };
        let kind = if n == FITTED_CLUSTERS { Kind::Fitted } else { Kind::Derived };
        let saved = (software - hardware) as f64;
        rows.push(vec![
            Cell::key(n),
            Cell::count(hardware),
            Cell::count(software),
            Cell::number(kind, saved, 0),
            published,
            Cell::Derived(saved * CYCLE_NS, 0),
            published_ns,
        ]);
    }
    let heads = [
        "acknowledgements",
        "by hardware",
        "by software",
        "hardware saves",
        "published",
        "hardware saves, ns",
        "ns, published",
    ];
    let note = "Cycles from the begin of the multicast until the home has dealt with the last acknowledgement. The \
                saving for 7 clusters was fitted; for other numbers it follows from that: 19 cycles each. Nanoseconds \
                are cycles of 20.";
    Ok(Report {
        tables: vec![Table::new("collection", "Collection", note, &heads, rows), inputs()],
        ..Report::of(experiment, measured_on())
    })
}

/// Heads of the table of schemes.
const SCHEME_HEADS: [&str; 12] = [
    "nodes",
    "sharers",
    "where",
    "scheme",
    "links",
    "nodes reached",
    "acknowledgements",
    "last is told, cycles",
    "last acknowledgement, cycles",
    "acknowledgements, combined",
    "last acknowledgement, combined, cycles",
    "bits of the entry",
];

/// Nodes of a side and sharers; whether these are near; a scheme and its name.
type Case = (((u32, u32), bool), (Scheme, &'static str));

fn place(local: bool) -> &'static str {
    if local { "local" } else { "uniform" }
}

fn mean_of(taken: &[Taken], part: fn(&Taken) -> u64) -> Cell {
    let sum: u64 = taken.iter().map(part).sum();
    Cell::of(Kind::Measured, sum as f64, taken.len() as f64, 1)
}

fn directories(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let (cases, draws): (&[(u32, u32)], u64) = match config.scale {
        Scale::Full => (&[(16, 4), (16, 16), (32, 16), (64, 4), (64, 16), (64, 64)], 10),
        Scale::Small => (&[(16, 4), (16, 16)], 2),
    };
    let cases: Vec<_> = cases.iter().flat_map(|sizes| [false, true].map(|local| (*sizes, local))).collect();
    let cases: Vec<_> = cases.iter().flat_map(|case| SCHEMES.map(|scheme| (*case, scheme))).collect();
    // The largest take longest, and begin first.
    let cases: Vec<_> = cases.into_iter().rev().collect();
    let run = |(((side, count), local), (scheme, _)): &Case| {
        let draw = |combine| -> Vec<Taken> {
            let mut random = Random::new(chosen::seed(SEED));
            let one = |_| {
                let (home, sharers) = sharers(&mut random, *side, *count, *local);
                let (scheme, collect_cycles) = (*scheme, COLLECT_HARDWARE);
                let job = Job { home, sharers, scheme, acknowledge: true, combine, collect_cycles };
                invalidate(*side, &job)
            };
            (0..draws).map(one).collect()
        };
        let is_multicast = matches!(scheme, Scheme::Exact | Scheme::Levels);
        Ok((draw(false), if is_multicast { draw(true) } else { Vec::new() }))
    };
    let mut part = 0;
    let taken = chosen::each(&cases, run, |(((side, count), local), (_, name)), (taken, _)| {
        part += 1;
        host.progress(part, cases.len(), &format!("{side} by {side} nodes, {count} sharers, {name}"));
        let told = [
            ("nodes", Cell::key(side * side)),
            ("sharers", Cell::key(*count)),
            ("where", Cell::text(place(*local))),
            ("scheme", Cell::text(name)),
            ("last is told, cycles", mean_of(taken, |taken| taken.last)),
        ];
        host.row("Schemes", &told);
    })?;
    let row = |((((side, count), local), (scheme, name)), (taken, combined)): (
        &Case,
        &(Vec<Taken>, Vec<Taken>),
    )| {
        let nodes = side * side;
        let levels = (nodes.ilog2()).div_ceil(3);
        let mean = |part| mean_of(taken, part);
        vec![
            Cell::key(nodes),
            Cell::key(*count),
            Cell::text(place(*local)),
            Cell::text(name),
            mean(|taken| taken.links),
            mean(|taken| taken.reached),
            mean(|taken| taken.acks),
            mean(|taken| taken.last),
            mean(|taken| taken.collected),
            mean_of(combined, |taken| taken.acks),
            mean_of(combined, |taken| taken.collected),
            Cell::Derived(f64::from(if *scheme == Scheme::Levels { 8 * levels } else { nodes }), 0),
        ]
    };
    let rows = cases.iter().zip(&taken).rev().map(row).collect();
    let note = format!(
        "Means of {draws} draws. Links: those that invalidations use, acknowledgements left out. Local sharers lie \
         among the 9 by 9 nodes round the home. Each node that is reached acknowledges by itself, or, \
         combined, each node of the multicast's tree waits for those behind it and sends one acknowledgement on: the \
         home gets fewer. A chain has one. One map a level saves the sender's time and the directory's bits; it costs \
         links, strangers and acknowledgements, and can be used only if these are combined, as the paper concludes. A \
         few sharers of an exact map pay some cycles for being combined."
    );
    Ok(Report {
        tables: vec![Table::new("schemes", "Schemes", &note, &SCHEME_HEADS, rows), inputs()],
        ..Report::of(experiment, measured_on())
    })
}

fn inputs() -> Table {
    let rows = [
        ("network", "RDT(2,4,1), 16-flit buffers".to_string(), "printed"),
        ("cycles of sending a multicast", MULTICAST_CYCLES.to_string(), "printed (figure 11)"),
        ("cycles of sending a message to one", UNICAST_CYCLES.to_string(), "printed (figure 11)"),
        ("cycles until an acknowledgement is made", ACK_CYCLES.to_string(), "printed (table 3)"),
        (
            "cycles of the home an acknowledgement, hardware",
            COLLECT_HARDWARE.to_string(),
            "fitted (figure 12, 7 clusters)",
        ),
        (
            "cycles of the home an acknowledgement, software",
            COLLECT_SOFTWARE.to_string(),
            "fitted (figure 12, 7 clusters)",
        ),
        ("cycles of a router and of the interface", "1".to_string(), "assumed"),
    ];
    report::inputs("What the simulation was told.", &rows)
}

pub(super) fn measured_on() -> String {
    format!("Simulated, flit by flit; seed {}. The same on every machine.", chosen::seed(SEED))
}
