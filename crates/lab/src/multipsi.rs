//! K. Nakajima: "Distributed Implementation of KL1 on the Multi-PSI/V2", ICOT TR-486, 1989: what messages between
//! nodes load the network with.
//!
//! The paper computes it from the number of messages. Here the same messages go over a simulated network of that
//! form, in an open loop: random destinations, 20 bytes each.

use crate::report::{Cell, Report, Table};
use crate::{Config, Error, Experiment, Host, Scale};
use fabric::NodeId;
use fabric::simulated::{self, Measured, Pattern, Priorities, Source, Topology, Traffic, measure};

pub(crate) const TRAFFIC: Experiment = Experiment {
    name: "multipsi/traffic",
    title: "Multi-PSI: load of the network",
    source: "K. Nakajima: Distributed Implementation of KL1 on the Multi-PSI/V2. ICOT TR-486, 1989",
    about: "Pentomino on 16 processors sends 17,133 messages a second. How much of the network do they take, and how much would they \
            take on the Parallel Inference Machine as it was planned: 1,600 clusters, 32 times as fast, with 4 times the network?",
    run,
};

const SEED: u64 = 1;
const MESSAGE_BYTES: u32 = 20;
const MESSAGES_A_SECOND: f64 = 17_133.0;
const PROCESSORS: f64 = 16.0;

/// A machine; a flit is a byte, a cycle the time in which a channel carries one.
struct Machine {
    name: &'static str,
    side: u32,
    /// How much faster its processors are.
    speed: f64,
    channel_bytes_a_second: f64,
    published: Published,
}

struct Published {
    kbytes_a_channel: Option<f64>,
    percent: f64,
}

const MACHINES: [Machine; 2] = [
    Machine {
        name: "Multi-PSI/V2",
        side: 4,
        speed: 1.0,
        channel_bytes_a_second: 5e6,
        published: Published { kbytes_a_channel: Some(17.7), percent: 0.35 },
    },
    Machine {
        name: "PIM, as planned",
        side: 40,
        speed: 32.0,
        channel_bytes_a_second: 20e6,
        published: Published { kbytes_a_channel: None, percent: 28.0 },
    },
];

impl Machine {
    fn network(&self) -> simulated::Config {
        simulated::Config {
            priorities: Priorities::Alike,
            // The output buffers of a channel.
            buffer_flits: 48,
            header_flits: 0,
            word_bytes: 1,
            ..simulated::Config::plain(Topology::mesh(&[self.side, self.side]), SEED)
        }
    }
    fn nodes(&self) -> f64 {
        f64::from(self.side * self.side)
    }
    fn messages_a_second(&self) -> f64 {
        MESSAGES_A_SECOND / PROCESSORS * self.nodes() * self.speed
    }
    fn measure(&self, scale: Scale) -> Measured {
        let rate =
            self.messages_a_second() * f64::from(MESSAGE_BYTES) / self.nodes() / self.channel_bytes_a_second;
        let source = Source::Open { pattern: Pattern::Uniform, flits: MESSAGE_BYTES, rate };
        // Messages for each node, on the average.
        let messages = if scale == Scale::Full { 300.0 } else { 20.0 } * 16.0 / f64::from(self.side);
        let cycles = (messages * f64::from(MESSAGE_BYTES) / rate) as u64;
        measure(
            &self.network(),
            &Traffic { source, warm_up: cycles / 10, measure: cycles, drain_max: cycles },
        )
    }
}

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let mut rows = Vec::new();
    for (part, machine) in MACHINES.iter().enumerate() {
        host.progress(part + 1, MACHINES.len(), machine.name);
        rows.push(row(machine, &machine.measure(config.scale)));
    }
    let heads = [
        "machine",
        "messages/s",
        "channels",
        "links a message",
        "kbyte/s a channel",
        "published",
        "% of a channel",
        "published",
        "% of the busiest",
        "latency, us",
        "alone, us",
    ];
    let note = "Messages a second of the first machine are the paper's count, those of the second follow from it. The paper's figure for the second is an estimate by \
               a rule of thumb; arithmetic with the exact number of links and channels gives 23.4. `Alone` is the latency that the same messages would have in an idle \
               network.";
    let table = Table::new("load", "Load of channels", note, &heads, rows);
    Ok(Report {
        notes: vec![
            "Inputs from the paper: messages a second, 20 bytes a message, x-then-y routing, 5 Mbyte/s a channel, 48-byte buffers.".into(),
            "Inputs that were assumed: destinations at random, oneself included; a router takes the time of a byte.".into(),
        ],
        tables: vec![table],
        ..Report::of(experiment, format!("Simulated, byte by byte; seed {SEED}. The same on every machine."))
    })
}

fn row(machine: &Machine, measured: &Measured) -> Vec<Cell> {
    let network = machine.network();
    let topology = &network.topology;
    let ports = topology.ports();
    let links = (0..topology.nodes()).flat_map(|node| (0..topology.links()).map(move |port| (node, port)));
    let loads: Vec<u64> = links
        .filter(|(node, port)| topology.neighbour(NodeId(*node), *port).is_some())
        .map(|(node, port)| measured.channels[node as usize * ports + port].flits)
        .collect();
    // What arrives at nodes is known per cycle, so the length of the measurement is too.
    let arrived: u64 =
        measured.channels.iter().skip(topology.links()).step_by(ports).map(|channel| channel.flits).sum();
    let cycles = arrived as f64 / measured.accepted / machine.nodes();
    let share = |flits: f64| flits / cycles;
    let mean = share(loads.iter().sum::<u64>() as f64 / loads.len() as f64);
    let busiest = share(loads.iter().copied().max().unwrap_or_default() as f64);
    let micros = |cycles: f64| cycles / machine.channel_bytes_a_second * 1e6;
    let alone = f64::from(network.interface_cycles)
        + (measured.hops_mean + 1.0) * f64::from(network.hop_cycles)
        + f64::from(MESSAGE_BYTES - 1);
    vec![
        Cell::Text(machine.name.into()),
        Cell::Measured(
            measured.accepted / f64::from(MESSAGE_BYTES) * machine.nodes() * machine.channel_bytes_a_second,
            0,
        ),
        Cell::count(loads.len() as u64),
        Cell::Measured(measured.hops_mean, 2),
        Cell::Measured(mean * machine.channel_bytes_a_second / 1e3, 1),
        machine.published.kbytes_a_channel.map_or(Cell::Absent, |kbytes| Cell::Published(kbytes, 1)),
        Cell::Measured(100.0 * mean, 2),
        Cell::Published(machine.published.percent, 2),
        Cell::Measured(100.0 * busiest, 1),
        Cell::Measured(micros(measured.latency.mean()), 2),
        Cell::Measured(micros(alone), 2),
    ]
}
