//! Table 1: what a message costs.

use super::nodes::{Nodes, Threads};
use super::{SOURCE, measured_on, network_inputs, simulation};
use crate::disturbed;
use crate::report::{Cell, Kind, Report, Table};
use crate::{Config, Error, Experiment, Host, Scale};
use fabric::{Fabric, NodeId, Priority, Time};
use machine::{Call, Context, Here, Program, Verdict, WORDS};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "jmachine/table1",
    title: "J-Machine: overhead of messages",
    source: SOURCE,
    about: "What a message costs, whatever its length, and what each of its bytes costs: on machines of the time, on \
        the J-Machine, and on nodes of this host.",
    times_host: true,
    run,
};

/// Clock in MHz; cycles a message and cycles a byte; microseconds a message and a byte.
const PUBLISHED: [(&str, f64, [f64; 2], [f64; 2]); 6] = [
    ("nCUBE/2, vendor's library", 20.0, [3200.0, 9.0], [160.0, 0.45]),
    ("nCUBE/2, active messages", 20.0, [460.0, 9.0], [23.0, 0.45]),
    ("CM-5, vendor's library", 33.0, [2838.0, 4.0], [86.0, 0.12]),
    ("CM-5, active messages", 33.0, [109.0, 4.0], [3.3, 0.12]),
    ("Delta, vendor's library", 40.0, [2880.0, 3.0], [72.0, 0.08]),
    (J_MACHINE, super::CLOCK_HZ / 1e6, J_CYCLES, [0.9, 0.04]),
];
const J_MACHINE: &str = "J-Machine";
const J_CYCLES: [f64; 2] = [11.0, 0.5];
/// Bytes of a word of the simulated machine, and of this host's messages.
const SIMULATED_BYTES: f64 = 4.0;
const REAL_BYTES: f64 = 8.0;
const PAYLOAD_BYTES: usize = 16_384;

const TAKE: u32 = 1;
const RETURN: u32 = 2;

/// Node 1 sends messages to node 0, or one that goes to and fro.
#[derive(Clone, Copy)]
struct Stream {
    code: u32,
    messages: u64,
    words: usize,
    payload: usize,
    /// Of node 0: messages that came, when the first one did and when the last.
    taken: u64,
    first: Time,
    last: Time,
}

impl Stream {
    fn new(code: u32, messages: u64, words: usize, payload: usize) -> Stream {
        Stream { code, messages, words, payload, taken: 0, first: Time(0), last: Time(0) }
    }
    /// From one message to the next, at node 0.
    fn interval(&self) -> f64 {
        (self.last.0 as f64 - self.first.0 as f64) / (self.taken as f64 - 1.0)
    }
}

impl Program for Stream {
    fn start(&mut self, here: &Here) {
        if here.node() != NodeId(1) {
            return;
        }
        let (here, Stream { code, messages, words, payload, .. }) = (here.clone(), *self);
        here.clone().spawn(async move {
            let sent = if code == TAKE { messages } else { 1 };
            for _ in 0..sent {
                // Some processors take a hundred nanoseconds to fill no bytes at a place where no memory is.
                let bytes = if payload == 0 { Vec::new() } else { vec![1; payload] };
                here.send_with(NodeId(0), Priority::Low, code, &[0; WORDS][..words], bytes).await;
            }
        });
    }
    fn handle<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        self.taken += 1;
        if self.taken == 1 {
            self.first = context.now();
        }
        if self.taken == self.messages {
            self.last = context.now();
        } else if call.code == RETURN {
            context.send(call.from, Priority::Low, RETURN, call.words);
        }
        Verdict::Done
    }
}

/// Cycles of a message of this number of words: one way, and of the two nodes.
fn simulated(words: usize) -> Result<[f64; 2], Error> {
    let run = simulation::run(2, |_| Stream::new(TAKE, 1, words, 0))?;
    Ok([run.programs[0].last.0 as f64, run.spent.messages as f64])
}

/// What the nodes spend, which is the sum of inputs and what the paper counts; and all, from node to node.
fn of_simulated() -> Result<Vec<Vec<Cell>>, Error> {
    let (short, long) = (simulated(0)?, simulated(WORDS)?);
    let a_byte = |part: usize| (long[part] - short[part]) / (WORDS as f64 * SIMULATED_BYTES);
    let row = |name: &str, part: usize, kind: Kind, published: Option<[f64; 2]>| {
        let cycles = [short[part], a_byte(part)];
        let ratio = |of: usize| match published {
            Some(published) => Cell::of(kind, cycles[of], published[of], 2),
            None => Cell::Absent,
        };
        let micros = cycles.map(simulation::micros);
        let name = Cell::Text(format!("{J_MACHINE}, simulated: {name}"));
        let own = [Cell::number(kind, cycles[0], 1), Cell::number(kind, cycles[1], 3)];
        let times = [Cell::number(kind, micros[0], 2), Cell::number(kind, micros[1], 3)];
        let rest = [Cell::Absent, Cell::Absent, ratio(0), ratio(1)];
        [vec![name], own.to_vec(), times.to_vec(), rest.to_vec()].concat()
    };
    Ok(vec![
        row("the two nodes", 1, Kind::Derived, Some(J_CYCLES)),
        row("with the network, to a neighbour", 0, Kind::Measured, None),
    ])
}

/// What is printed, and the microseconds that follow from cycles and clocks.
fn printed() -> impl Iterator<Item = Vec<Cell>> {
    PUBLISHED.into_iter().map(|(machine, mhz, cycles, micros)| {
        vec![
            Cell::text(machine),
            Cell::Published(cycles[0], 0),
            Cell::Published(cycles[1], 1),
            Cell::Derived(cycles[0] / mhz, 2),
            Cell::Derived(cycles[1] / mhz, 3),
            Cell::Published(micros[0], 1),
            Cell::Published(micros[1], 2),
            Cell::Absent,
            Cell::Absent,
        ]
    })
}

/// What messages between nodes of this host cost.
pub(crate) fn of_this_host<N: Nodes>(nodes: &mut N, config: &Config) -> Result<Table, Error> {
    let messages = if config.scale == Scale::Full { 1_000_000 } else { 2000 };
    let few = messages / 20 + 2;
    let kinds = [
        (
            "in a stream",
            Stream::new(TAKE, messages, 0, 0),
            Stream::new(TAKE, messages, WORDS, 0),
            WORDS as f64 * REAL_BYTES,
        ),
        (
            "in a stream, bytes in payloads",
            Stream::new(TAKE, few, 0, 1),
            Stream::new(TAKE, few, 0, PAYLOAD_BYTES),
            (PAYLOAD_BYTES - 1) as f64,
        ),
        (
            "there and back",
            Stream::new(RETURN, few, 0, 0),
            Stream::new(RETURN, few, WORDS, 0),
            2.0 * WORDS as f64 * REAL_BYTES,
        ),
    ];
    let (mut rows, mut disturbed) = (Vec::new(), Vec::new());
    for (name, short, long, bytes) in kinds {
        let short = nodes.times(config, 2, || short, Stream::interval)?;
        let long = nodes.times(config, 2, || long, Stream::interval)?;
        if short.disturbed || long.disturbed {
            disturbed.push(name.to_string());
        }
        rows.push(vec![
            Cell::Text(name.into()),
            Cell::Measured(short.median, 0),
            Cell::Measured(short.least, 0),
            Cell::Measured(short.most, 0),
            Cell::Measured((long.median - short.median) / bytes, 3),
        ]);
    }
    let note = format!(
        "Two nodes of this host, from handler to handler. A message without words: median, least and most of {} runs \
         of {messages} messages (a twentieth of that for payloads and for those that go there and back); what each \
         further byte adds, 8 to a word, is that of the medians, and less than nothing if it is lost in their \
         differences. {}{}",
        config.runs,
        nodes.about(),
        disturbed::told(&disturbed)
    );
    let heads = ["messages", "ns a message", "least", "most", "ns a byte"];
    Ok(Table::new(N::KIND, &format!("Messages between {}", N::KIND), &note, &heads, rows))
}

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    host.progress(1, 2, "messages of simulated nodes");
    let rows = printed().chain(of_simulated()?).collect();
    let note = "The paper counts what sender and receiver spend, and leaves out the network. So does the row of the \
        two nodes, which is the sum of inputs: to dispatch a message of nothing but its handler's code and to send \
        it, and what each further byte adds, 4 to a word. With the network it is from the first instruction of the \
        sender to the first of the handler: nothing published is beside that. Microseconds follow from cycles and the \
        machine's clock.";
    let heads = [
        "machine",
        "cycles a message",
        "cycles a byte",
        "us a message",
        "us a byte",
        "us a message, published",
        "us a byte, published",
        "times the published",
        "times the published, a byte",
    ];
    let overhead = Table::new("overhead", "Overhead of a message, one way", note, &heads, rows);
    host.progress(2, 2, "messages of this host");
    let this_host = of_this_host(&mut Threads, config)?;
    let box_of_two = simulation::network(2).topology.to_string();
    Ok(Report {
        tables: vec![overhead, this_host, network_inputs(&box_of_two, &simulation::inputs())],
        ..Report::of(experiment, format!("{} This host: {}.", measured_on(), host.machine()))
    })
}
