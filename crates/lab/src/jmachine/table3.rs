//! Table 3: barriers.

use super::nodes::{Nodes, Threads};
use super::{ANY_BOX, ASSUMED, SOURCE, measured_on, network_inputs, simulation};
use crate::disturbed;
use crate::report::{Cell, Chart, Kind, Report, Series, Table};
use crate::{Config, Error, Experiment, Host, Scale};
use fabric::{Fabric, NodeId, Priority, Time};
use machine::{Call, Context, Here, Program, Verdict};
use std::cell::Cell as Shared;
use std::rc::Rc;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "jmachine/table3",
    title: "J-Machine: barriers",
    source: SOURCE,
    about: "All nodes come to a barrier, and go on when everybody has come. In each of its waves a node sends a \
        message and waits for one; a barrier of twice as many nodes has a wave more.",
    times_host: true,
    run,
};

const PUBLISHED_MICROS: [(u32, f64); 9] =
    [(2, 4.4), (4, 6.5), (8, 8.7), (16, 11.7), (32, 14.4), (64, 16.5), (128, 20.7), (256, 24.4), (512, 27.4)];
/// What nodes spend on a barrier was fitted to barriers of so many nodes and fewer.
const FITTED_NODES: u32 = 4;
/// What is printed of other machines, for growing numbers of nodes.
const OTHERS_MICROS: [(&str, &[f64]); 4] = [
    ("EM4", &[2.7, 3.6, 4.7, 5.4, 7.4]),
    ("KSR", &[60.0, 90.0, 180.0, 260.0, 525.0]),
    ("iPSC/860", &[111.0, 234.0, 381.0, 546.0, 692.0, 847.0]),
    ("Delta", &[109.0, 248.0, 473.0, 923.0, 1816.0, 3587.0]),
];
/// Barriers of a simulated run of the machine's own.
const BARRIERS: u64 = 10;

/// Words of a message are two: the handler's code and the wave.
const ENTER: u32 = 1;
const WAVE: u32 = 2;
/// Of a node: to come to a barrier and to leave it, and the handler of a wave.
const ENTRY_AND_EXIT: u64 = 26;
const WAVE_HANDLER: u64 = 9;

/// The barrier of a library, in handlers alone: in wave w a node and the one whose number differs in bit w tell each
/// other that they are there.
struct Exchange {
    waves: u32,
    /// The wave that this node is in; none: it has not come to the barrier.
    wave: Option<u32>,
    /// A bit for each wave whose word has come.
    arrived: u32,
    began: Time,
    ended: Time,
}

impl Exchange {
    fn new(nodes: u32) -> Exchange {
        Exchange { waves: nodes.ilog2(), wave: None, arrived: 0, began: Time(0), ended: Time(0) }
    }
    fn begin_wave<F: Fabric>(&mut self, context: &mut Context<'_, F>, wave: u32) {
        self.wave = Some(wave);
        if wave == self.waves {
            context.spend(ENTRY_AND_EXIT);
            self.ended = context.now();
        } else {
            context.send(NodeId(context.node().0 ^ 1 << wave), Priority::High, WAVE, &[wave.into()]);
        }
    }
}

impl Program for Exchange {
    fn start(&mut self, here: &Here) {
        let here = here.clone();
        here.clone().spawn(async move { here.send(here.node(), Priority::High, ENTER, &[]).await });
    }
    fn handle<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        match call.words {
            &[wave] if wave < self.waves.into() => {
                context.spend(WAVE_HANDLER);
                self.arrived |= 1 << wave;
            }
            [] => {
                self.began = context.now();
                self.begin_wave(context, 0);
            }
            _ => return Verdict::Strange,
        }
        while let Some(wave) = self.wave.filter(|wave| self.arrived >> wave & 1 != 0) {
            self.begin_wave(context, wave + 1);
        }
        Verdict::Done
    }
}

/// A node that comes to barriers of the machine, one after the other: the first is not measured.
struct Meeting {
    barriers: u64,
    began: Rc<Shared<Time>>,
    ended: Rc<Shared<Time>>,
}

impl Meeting {
    fn new(barriers: u64) -> Meeting {
        Meeting { barriers, began: Rc::default(), ended: Rc::default() }
    }
    /// Time of a barrier.
    fn time(&self) -> f64 {
        (self.ended.get().0 - self.began.get().0) as f64 / self.barriers as f64
    }
}

impl Program for Meeting {
    fn start(&mut self, here: &Here) {
        let (here, barriers) = (here.clone(), self.barriers);
        let (began, ended) = (self.began.clone(), self.ended.clone());
        here.clone().spawn(async move {
            here.barrier().await;
            began.set(here.now());
            for _ in 0..barriers {
                here.barrier().await;
            }
            ended.set(here.now());
        });
    }
    fn handle<F: Fabric>(&mut self, _: &mut Context<'_, F>, _: &Call<'_>) -> Verdict {
        Verdict::Strange
    }
}

/// Cycles from when a node comes to a barrier until it leaves it, the mean of all nodes: of the barrier in handlers
/// alone, to which all come at the same time, and of the machine's.
fn simulated(nodes: u32) -> Result<[f64; 2], Error> {
    let exchange = simulation::run(nodes, |_| Exchange::new(nodes))?.programs;
    let exchange = exchange.iter().map(|node| (node.ended.0 - node.began.0) as f64);
    let machine = simulation::run(nodes, |_| Meeting::new(BARRIERS))?.programs;
    let sums = [exchange.sum::<f64>(), machine.iter().map(Meeting::time).sum()];
    Ok(sums.map(|sum| sum / f64::from(nodes)))
}

/// What barriers of nodes of this host take.
pub(crate) fn of_this_host<N: Nodes>(nodes: &mut N, config: &Config) -> Result<Table, Error> {
    let (most, barriers) = if config.scale == Scale::Full { (64, 20_000) } else { (4, 100) };
    let most = nodes.most().min(most);
    let (mut rows, mut disturbed) = (Vec::new(), Vec::new());
    for &(count, published) in PUBLISHED_MICROS.iter().filter(|(count, _)| *count <= most) {
        let make = || Meeting::new(barriers / u64::from(count));
        let times = nodes.times(config, count, make, |meeting| meeting.time() / 1e3)?;
        if times.disturbed {
            disturbed.push(format!("{count} nodes"));
        }
        let measured = [times.median, times.least, times.most].map(|micros| Cell::Measured(micros, 2));
        rows.push([&[Cell::key(count)], &measured[..], &[Cell::Published(published, 1)]].concat());
    }
    let note = format!(
        "The median, the least and the most of {} runs of {barriers} barriers, divided by the number of nodes. Where \
         there are more of them than processors, they take turns. {}{}",
        config.runs,
        nodes.about(),
        disturbed::told(&disturbed)
    );
    let heads = ["nodes", "us", "least", "most", "us, published, J-Machine"];
    Ok(Table::new(N::KIND, &format!("Barriers of {}", N::KIND), &note, &heads, rows))
}

/// What the paper prints of other machines.
fn others() -> Table {
    let most = OTHERS_MICROS.iter().map(|(_, micros)| micros.len()).max().unwrap_or(0);
    let row = |(machine, micros): &(&str, &[f64])| {
        let cell = |at: usize| {
            micros.get(at).map_or(Cell::Absent, |&us| Cell::Published(us, usize::from(us < 10.0)))
        };
        std::iter::once(Cell::text(machine)).chain((0..most).map(cell)).collect()
    };
    let places = (1..=most).map(|place| format!("value {place}"));
    let columns = std::iter::once("machine".to_string()).chain(places).collect();
    let note = "Microseconds, in the order in which they are printed, for growing numbers of nodes. None of these \
        machines is modelled.";
    let rows = OTHERS_MICROS.iter().map(row).collect();
    Table { columns, ..Table::new("others", "Barriers of other machines", note, &[], rows) }
}

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let (mut rows, mut points) = (Vec::new(), Vec::new());
    let parts = PUBLISHED_MICROS.len() + 1;
    for (part, &(nodes, published)) in PUBLISHED_MICROS.iter().enumerate() {
        host.progress(part + 1, parts, &format!("barriers of {nodes} nodes"));
        let [cycles, of_machine] = simulated(nodes)?;
        let micros = simulation::micros(cycles);
        points.push((f64::from(nodes), micros));
        let told = [
            ("nodes", Cell::key(nodes)),
            ("us", Cell::Measured(micros, 2)),
            ("published", Cell::Published(published, 1)),
        ];
        host.row("Barriers of simulated nodes", &told);
        let kind = if nodes <= FITTED_NODES { Kind::Fitted } else { Kind::Measured };
        rows.push(vec![
            Cell::key(nodes),
            Cell::number(kind, cycles, 1),
            Cell::number(kind, micros, 2),
            Cell::Published(published, 1),
            Cell::of(kind, micros, published, 2),
            Cell::Measured(simulation::micros(of_machine), 2),
        ]);
    }
    let table = Table::new(
        "barriers",
        "Barriers of simulated nodes",
        "From when a node comes to the barrier until it leaves it, the mean of all nodes, which come at the same \
         time. What a node spends on a barrier and on a wave was fitted to the first two rows; what the others add to \
         them is the network's. The last column is the barrier of `machine`, which works for any number of nodes \
         (each tells the one 2^w further on), and in which a thread waits and is restored.",
        &["nodes", "cycles", "us", "us, published", "times the published", "us, machine's own"],
        rows,
    );
    let others = others();
    host.progress(parts, parts, "barriers of this host");
    let this_host = of_this_host(&mut Threads, config)?;
    let fitted = "fitted to barriers of 2 and 4 nodes";
    let own = [
        ("partners", "nodes whose numbers differ in one bit, the lowest first".to_string(), ASSUMED),
        ("words of a message", "2".into(), ASSUMED),
        ("cycles to come to a barrier and to leave it", ENTRY_AND_EXIT.to_string(), fitted),
        ("cycles of a wave's handler", WAVE_HANDLER.to_string(), fitted),
    ];
    let inputs = [&simulation::inputs()[..], &own].concat();
    let published = PUBLISHED_MICROS.iter().map(|&(nodes, micros)| (f64::from(nodes), micros)).collect();
    let line = |name: &str, points| Series { name: name.into(), points };
    let lines = vec![line("simulated", points), line("published", published)];
    Ok(Report {
        tables: vec![table, others, this_host, network_inputs(ANY_BOX, &inputs)],
        charts: vec![Chart::lines("by-nodes", "Barriers", "nodes", "us", lines).log(true, true)],
        ..Report::of(experiment, format!("{} This host: {}.", measured_on(), host.machine()))
    })
}
