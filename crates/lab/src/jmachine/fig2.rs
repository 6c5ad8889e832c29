//! Figure 2: round trips against distance.

use super::{
    ASSUMED, DISPATCH, PRINTED, REPLY_HANDLER, REQUEST_HANDLER, SIDES, SOURCE, inputs, measured_on, network,
};
use crate::report::{Cell, Chart, Report, Series, Table};
use crate::{Config, Error, Experiment, Host};
use fabric::simulated::{Endpoint, run as run_nodes};
use fabric::{Fabric, Message, Node, NodeId, Priority, Step};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "jmachine/fig2",
    title: "J-Machine: round trips against distance",
    source: SOURCE,
    about: "Node 0 sends a message to a node and waits for the reply: a ping, or a word of its memory. Otherwise the \
            machine is idle. A round trip takes the same for everybody, and a little for each link on the way.",
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

const EXCHANGES: [Exchange; 3] = [
    Exchange { name: "ping", request_words: 2, reply_words: 2, memory_cycles: 0 },
    Exchange { name: "read 1 word on the chip", request_words: 3, reply_words: 3, memory_cycles: 2 },
    Exchange { name: "read 1 word off the chip", request_words: 3, reply_words: 3, memory_cycles: 8 },
];

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
    let mut series = Vec::new();
    for (part, exchange) in EXCHANGES.into_iter().enumerate() {
        host.progress(part + 1, EXCHANGES.len(), exchange.name);
        let cycles = (1..=farthest).map(|hops| round_trip(exchange, hops)).collect::<Result<Vec<_>, _>>()?;
        let (near, far) = (cycles[0] as f64, cycles[cycles.len() - 1] as f64);
        let slope = (far - near) / f64::from(farthest - 1);
        let [base, a_hop, neighbour, corner] = published(exchange.name);
        rows.push(vec![
            Cell::Text(exchange.name.into()),
            Cell::Measured(near - slope, 0),
            base,
            Cell::Measured(slope, 2),
            a_hop,
            Cell::Measured(near, 0),
            neighbour,
            Cell::Measured(far, 0),
            corner,
        ]);
        let points = (1..=farthest).map(f64::from).zip(cycles.iter().map(|cycles| *cycles as f64));
        series.push(Series { name: exchange.name.into(), points: points.collect() });
    }
    let heads = ["base", "a hop", "neighbour", "opposite corner"];
    let columns = heads.iter().flat_map(|head| [(*head).to_string(), format!("{head}, published")]);
    let note = "The paper prints one figure for reads of one word and draws the rest. The ping's base is the sum of \
        inputs that were fitted to it; the slope is the network's.";
    let columns = std::iter::once("exchange".to_string()).chain(columns).collect();
    let table = Table { columns, ..Table::new("round-trips", "Round trips, cycles", note, &[], rows) };
    let words = |pick: fn(&Exchange) -> String| EXCHANGES.iter().map(pick).collect::<Vec<_>>().join(", ");
    let own = [
        ("words there and back", words(|e| format!("{} and {}", e.request_words, e.reply_words)), ASSUMED),
        ("cycles of memory", words(|e| e.memory_cycles.to_string()), PRINTED),
    ];
    Ok(Report {
        tables: vec![table, inputs(&own)],
        charts: vec![Chart::lines("by-links", "Round trips", "links each way", "cycles", series)],
        ..Report::of(experiment, measured_on())
    })
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
