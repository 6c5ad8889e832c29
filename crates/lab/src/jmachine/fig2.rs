//! Figure 2: round trips against distance.

use super::{DISPATCH, PRINTED, REPLY_HANDLER, REQUEST_HANDLER, SIDES, SOURCE, inputs, measured_on, network};
use crate::report::{Cell, Chart, Kind, Report, Series, Table};
use crate::{Config, Error, Experiment, Host};
use fabric::simulated::{Endpoint, run as run_nodes};
use fabric::{Fabric, Message, Node, NodeId, Priority, Step};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "jmachine/fig2",
    title: "J-Machine: round trips against distance",
    source: SOURCE,
    about: "Node 0 sends a message to a node and waits for the reply: a ping, or a word of its memory. Otherwise the \
            machine is idle. A round trip takes the same for everybody, and a little for each link on the way.",
    times_host: false,
    run,
};

/// What is sent there and back, and what is read.
#[derive(Clone, Copy)]
struct Exchange {
    name: &'static str,
    request_words: usize,
    reply_words: usize,
    memory_cycles: u64,
}

const EXCHANGES: [Exchange; 5] = [
    Exchange::new("ping", [2, 1], 0),
    Exchange::new("read 1 word on the chip", [3, 2], ON_CHIP),
    Exchange::new("read 1 word off the chip", [3, 2], OFF_CHIP),
    Exchange::new("read 6 words on the chip", [3, 7], 6 * ON_CHIP),
    Exchange::new("read 6 words off the chip", [3, 7], 6 * OFF_CHIP),
];
/// Cycles of a word of memory.
const ON_CHIP: u64 = 2;
const OFF_CHIP: u64 = 8;

impl Exchange {
    const fn new(
        name: &'static str,
        [request_words, reply_words]: [usize; 2],
        memory_cycles: u64,
    ) -> Exchange {
        Exchange { name, request_words, reply_words, memory_cycles }
    }
    /// Where what the simulation gives for it comes from: the ping was told.
    fn kind(&self) -> Kind {
        if self.memory_cycles == 0 { Kind::Derived } else { Kind::Measured }
    }
}

/// A node: number 0 asks, `target` answers.
struct Trip {
    exchange: Exchange,
    target: NodeId,
    asked: bool,
    cycles: Option<u64>,
}

impl Node<Endpoint> for Trip {
    fn step(&mut self, fabric: &mut Endpoint) -> Step {
        let node = fabric.node();
        if node.0 == 0 && !self.asked {
            self.asked = true;
            return send(fabric, self.target, self.exchange.request_words);
        }
        if node.0 != 0 && node != self.target {
            return Step::Done;
        }
        let Some(message) = fabric.poll() else { return Step::Wait(None) };
        fabric.spend(DISPATCH);
        if node == self.target {
            fabric.spend(REQUEST_HANDLER + self.exchange.memory_cycles);
            send(fabric, message.from, self.exchange.reply_words);
        } else {
            fabric.spend(REPLY_HANDLER);
            self.cycles = Some(fabric.now().0);
        }
        Step::Done
    }
}

fn send(fabric: &mut Endpoint, to: NodeId, words: usize) -> Step {
    let message = Message::new(Priority::Low, &vec![0; words]);
    match fabric.send(to, message) {
        Ok(()) => Step::Wait(None),
        Err(_) => unreachable!("the network is idle"),
    }
}

fn round_trip(exchange: Exchange, hops: u32) -> Result<u64, Error> {
    let network = network();
    let mut rest = hops;
    let place = SIDES.map(|side| {
        let steps = rest.min(side - 1);
        rest -= steps;
        steps
    });
    let target = network.topology.node(&place);
    let trip = |_| Trip { exchange, target, asked: false, cycles: None };
    let outcome = run_nodes(&network, trip).map_err(|stopped| Error(stopped.to_string()))?;
    outcome.nodes[0].cycles.ok_or_else(|| Error(format!("{}: no reply", exchange.name)))
}

fn run(experiment: &Experiment, host: &mut dyn Host, _: &Config) -> Result<Report, Error> {
    let farthest: u32 = SIDES.iter().map(|side| side - 1).sum();
    let mut rows = Vec::new();
    let (mut series, mut parts) = (Vec::new(), Vec::new());
    for (part, exchange) in EXCHANGES.into_iter().enumerate() {
        host.progress(part + 1, EXCHANGES.len(), exchange.name);
        let cycles = (1..=farthest).map(|hops| round_trip(exchange, hops)).collect::<Result<Vec<_>, _>>()?;
        let (near, far) = (cycles[0] as f64, cycles[cycles.len() - 1] as f64);
        let slope = (far - near) / f64::from(farthest - 1);
        let [base, a_hop, neighbour, corner] = published(exchange.name);
        let number = |value, decimals| Cell::number(exchange.kind(), value, decimals);
        if exchange.memory_cycles == 0 {
            parts = ping(near - slope);
        }
        let told = [
            ("exchange", Cell::text(exchange.name)),
            ("neighbour", number(near, 0)),
            ("opposite corner", number(far, 0)),
        ];
        host.row("Round trips, cycles", &told);
        rows.push(vec![
            Cell::text(exchange.name),
            number(near - slope, 0),
            base,
            Cell::Derived(slope, 2),
            a_hop,
            number(near, 0),
            neighbour,
            number(far, 0),
            corner,
        ]);
        let points = (1..=farthest).map(f64::from).zip(cycles.iter().map(|cycles| *cycles as f64));
        series.push(Series { name: exchange.name.into(), points: points.collect() });
    }
    let heads = ["base", "a hop", "neighbour", "opposite corner"];
    let columns = heads.iter().flat_map(|head| [(*head).to_string(), format!("{head}, published")]);
    let note = "The paper prints one figure for reads of one word and draws the rest; the reads of six words are the \
        longest that it draws. What a hop takes follows from an input, a cycle a hop.";
    let columns = std::iter::once("exchange".to_string()).chain(columns).collect();
    let table = Table { columns, ..Table::new("round-trips", "Round trips, cycles", note, &[], rows) };
    let note = "The network's part was given to the simulation by its interface, the threads' by their handlers: both \
        are printed, and the base is their sum.";
    let heads = ["of the ping's base", "cycles", "published"];
    let base = Table::new("ping", "What the ping's base is made of", note, &heads, parts);
    let words = |pick: fn(&Exchange) -> String| EXCHANGES.iter().map(pick).collect::<Vec<_>>().join(", ");
    let own = [
        ("words there and back", words(|e| format!("{} and {}", e.request_words, e.reply_words)), PRINTED),
        ("cycles of a word of memory on the chip", ON_CHIP.to_string(), PRINTED),
        ("cycles of a word of memory off the chip", OFF_CHIP.to_string(), PRINTED),
    ];
    Ok(Report {
        tables: vec![table, base, inputs(&own)],
        charts: vec![Chart::lines("by-links", "Round trips", "links each way", "cycles", series)],
        ..Report::of(experiment, measured_on())
    })
}

/// What a ping's base is made of.
fn ping(base: f64) -> Vec<Vec<Cell>> {
    let threads = (REQUEST_HANDLER + REPLY_HANDLER) as f64;
    let row = |what, cell, published| vec![Cell::text(what), cell, Cell::Published(published, 0)];
    vec![
        row("the network, dispatch included", Cell::Fitted(base - threads, 0), 24.0),
        row("two threads", Cell::Input(threads, 0), 19.0),
        row("both", Cell::Derived(base, 0), 43.0),
    ]
}

/// Base, cycles a hop, neighbour, opposite corner.
fn published(exchange: &str) -> [Cell; 4] {
    match exchange {
        "ping" => [Cell::Published(43.0, 0), Cell::Published(2.0, 0), Cell::Absent, Cell::Absent],
        // The paper does not say of which memory; its other figures are of the off-chip one.
        "read 1 word off the chip" => {
            [Cell::Absent, Cell::Absent, Cell::Published(60.0, 0), Cell::Published(98.0, 0)]
        }
        _ => [Cell::Absent, Cell::Absent, Cell::Absent, Cell::Absent],
    }
}
