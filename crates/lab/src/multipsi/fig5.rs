//! Figure 5: where the time goes, how much of the network messages take, and how that grows with the machine.

use super::{
    CASES, Case, Figures, SOURCE, Simulated, inputs, job, jobs, measure, measured_on, notes, places,
    run as run_program, settings, title, will_run,
};
use crate::programs::{DEALERS, PENTOMINO, Size};
use crate::report::{Cell, Chart, Group, Look, Report, Series, Table};
use crate::{Config, Error, Experiment, Host, Place, Scale};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "multipsi/fig5",
    title: "Multi-PSI: where the time goes, and the load of the network",
    source: SOURCE,
    about: "How much of the processors' time goes into reductions, messages and collections, and how much of the \
        channels is used, for two programs. Then how much of the channels would be used by the Parallel Inference \
        Machine as it was planned: 1,600 clusters, 32 times as fast, with 4 times the network.",
    times_host: false,
    run,
};

/// A machine whose nodes have as much work as those of the others, and what the paper prints for it.
struct Machine {
    name: &'static str,
    size: Size,
    /// Load of channels in percent.
    published: Option<f64>,
}

/// Each node covers the same board, and deals the search to all.
const fn machine(name: &'static str, arguments: &'static [&'static str], published: Option<f64>) -> Machine {
    Machine { name, size: Size { arguments, answer: "0" }, published }
}

const FULL: &[Machine] = &[
    machine("multipsi:16", &["3", "6", "1", "16"], Some(0.35)),
    machine("pim:16", &["3", "6", "1", "16"], None),
    machine("pim:64", &["3", "6", "1", "64"], None),
    machine("pim:256", &["3", "6", "1", "256"], None),
];
/// The machine as it was planned, and what the paper estimates for it. Its nodes take minutes to simulate.
const PLANNED: (&str, u32, f64) = ("pim:1600", 1_600, 28.0);
const SMALL: &[Machine] = &[
    machine("multipsi:4", &["3", "4", "1", "4"], None),
    machine("pim:4", &["3", "4", "1", "4"], None),
    machine("pim:9", &["3", "4", "1", "9"], None),
];

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let all: Vec<(&Case, Vec<Place>)> = CASES.iter().map(|case| (case, places(host, case, config))).collect();
    let machines = if config.scale == Scale::Full { FULL } else { SMALL };
    let parts = all.iter().map(|(_, places)| places.len()).sum::<usize>() + machines.len();
    let (mut part, mut times, mut loads, mut growth) = (0, Vec::new(), Vec::new(), Vec::new());
    let (mut bars, mut largest) = (Vec::new(), None);
    let place = |machine: &Machine| Place::Simulated {
        machine: machine.name.to_string() + &settings(),
        identities: false,
    };
    let of_cases = all.iter().flat_map(|(case, places)| {
        places.iter().flat_map(|place| jobs(case, config, place)).collect::<Vec<_>>()
    });
    let of_machines = machines.iter().map(|machine| job(&DEALERS, &machine.size, &place(machine)));
    will_run(host, config, &of_cases.chain(of_machines).collect::<Vec<_>>());
    for (case, places) in &all {
        for place in places {
            part += 1;
            host.progress(part, parts, &format!("{}, {}", case.name(), title(place)));
            let figures = measure(host, case, config, place)?;
            times.push(time(case, place, &figures));
            if let Some(simulated) = &figures.simulated {
                loads.push(load(case, &figures, simulated));
                bars.push((case.name(), shares(&figures, simulated)));
            }
        }
    }
    for machine in machines {
        part += 1;
        host.progress(part, parts, machine.name);
        let figures = run_program(host, &DEALERS, &machine.size, &place(machine))?;
        growth.push(grown(machine, &figures));
        largest = Some(figures);
    }
    growth.push(planned(config.scale, largest.as_ref()));
    let mut tables = vec![
        Table::new("time", "Time of the processors", TIME_NOTE, TIME, times),
        Table::new("load", "Load of channels", LOAD_NOTE, LOAD, loads),
        Table::new("growth", "Larger and faster machines", GROWTH_NOTE, GROWTH, growth),
    ];
    tables.push(inputs(config.scale));
    let charts = vec![chart(&bars)];
    Ok(Report { notes: notes(), tables, charts, ..Report::of(experiment, measured_on(host, config)) })
}

const TIME: &[&str] = &[
    "program",
    "where",
    "us a reduction",
    "% reduction",
    "% messages",
    "% memory",
    "% idle",
    "work rate, %",
    "published",
    "% messages of work",
    "published",
];
const TIME_NOTE: &str = "In percent of the time of all processors. The work rate is the time at work in percent of \
    all time. Microseconds a reduction are those of one processor. What collections cost on the Multi-PSI is not \
    known, so the simulated machine is not charged for them; on this host it is their time, and what else they do is \
    not told apart.";

/// Reductions, messages, and what is left, in percent of all time.
fn shares(figures: &Figures, simulated: &Simulated) -> [f64; 3] {
    let [reducing, handling] =
        [simulated.reducing, simulated.handling].map(|time| 100.0 * time / figures.time());
    [reducing, handling, (100.0 - reducing - handling).max(0.0)]
}

fn time(case: &Case, place: &Place, figures: &Figures) -> Vec<Cell> {
    let mut cells = vec![Cell::Text(case.name().into()), Cell::Text(title(place))];
    match &figures.simulated {
        Some(simulated) => {
            let [reducing, handling, idle] = shares(figures, simulated);
            let derived = |value| Cell::Derived(value, 1);
            cells.push(Cell::Input(case.reduction() as f64 / 1e3, 0));
            cells.extend([derived(reducing), derived(handling), Cell::Absent, derived(idle)]);
            cells.push(derived(reducing + handling));
            cells.push(Cell::Published(case.published.working, 0));
            cells.push(figures.timed(100.0 * handling, reducing + handling, 1));
        }
        None => {
            cells.extend([Cell::Absent, Cell::Absent, Cell::Absent]);
            cells.push(Cell::ratio(100.0 * figures.collecting, figures.time(), 2));
            cells.extend([
                Cell::Absent,
                Cell::Absent,
                Cell::Published(case.published.working, 0),
                Cell::Absent,
            ]);
        }
    }
    cells.push(Cell::Published(case.published.handling, 0));
    cells
}

const LOAD: &[&str] = &[
    "program",
    "channels",
    "bytes a message",
    "published",
    "channels a message",
    "published",
    "Mbyte/s of a channel, given",
    "kbyte/s a channel",
    "published",
    "% of a channel",
    "published",
    "% of the busiest",
];
const LOAD_NOTE: &str = "Bytes are counted on the simulated channels, those of the messages that find the end of a \
    run among them, and divided by the derived time of the run. The published ones are computed in the paper for \
    Pentomino, from messages of 20 bytes to random nodes.";

fn load(case: &Case, figures: &Figures, simulated: &Simulated) -> Vec<Cell> {
    let published = |value: f64, decimals| match case.program.name == PENTOMINO.name {
        true => Cell::Published(value, decimals),
        false => Cell::Absent,
    };
    let carried: f64 = simulated.channels.iter().sum();
    let [mean, busiest] = loads(figures, simulated);
    vec![
        Cell::Text(case.name().into()),
        Cell::Derived(simulated.channels.len() as f64, 0),
        Cell::ratio(simulated.bytes, figures.messages(), 1),
        published(20.0, 0),
        Cell::ratio(carried, simulated.bytes, 2),
        published(2.5, 1),
        Cell::Input(simulated.capacity / 1e6, 0),
        Cell::Derived(mean * simulated.capacity / 1e3, 1),
        published(17.7, 1),
        Cell::Derived(100.0 * mean, 2),
        published(0.35, 2),
        Cell::Derived(100.0 * busiest, 2),
    ]
}

/// The part of what channels could carry that they did: on average, and the busiest.
fn loads(figures: &Figures, simulated: &Simulated) -> [f64; 2] {
    let carried: f64 = simulated.channels.iter().sum();
    let busiest = simulated.channels.iter().copied().fold(0.0, f64::max);
    [carried / simulated.channels.len() as f64, busiest]
        .map(|bytes| bytes / figures.seconds / simulated.capacity)
}

const GROWTH: &[&str] = &[
    "machine",
    "nodes",
    "reductions",
    "messages",
    "reductions/message",
    "s",
    "messages/s",
    "work rate, %",
    "% of a channel",
    "published",
    "% of the busiest",
];
const GROWTH_NOTE: &str = "Simulated. Each node deals a search for coverings of 3 by 6 squares (there are none) to \
    all nodes, so the work of a node is the same in all machines, and messages go everywhere. It is a smaller search \
    than the one above, by a program whose nodes have all pieces. `pim` has processors 32 times and channels 4 times \
    as fast. The row of 1,600 nodes is computed from that of 256: the side of a mesh, plus one, is how much a channel \
    carries. Published: for the first the figure that the paper computes for its Pentomino; for 1,600 an estimate by a \
    rule of thumb, for which exact counts of links and channels give 23.4.";

/// The planned machine, from the largest one that was simulated: each node sends as much, to nodes anywhere. A message
/// crosses 2(L-1)(L+1)/(3L) of the 4L(L-1) channels of a mesh of L by L nodes, so a channel carries L+1 parts. At small
/// scale there are no values.
fn planned(scale: Scale, largest: Option<&Figures>) -> Vec<Cell> {
    let (name, nodes, percent) = PLANNED;
    let mut cells = vec![Cell::Absent; GROWTH.len()];
    cells[0] = Cell::text(name);
    let figures = largest.filter(|_| scale == Scale::Full);
    if let Some((figures, simulated)) =
        figures.and_then(|figures| Some((figures, figures.simulated.as_ref()?)))
    {
        let grows = (f64::from(nodes).sqrt() + 1.0) / (figures.nodes.sqrt() + 1.0);
        cells[1] = Cell::key(nodes);
        cells[GROWTH.len() - 3] = Cell::Derived(100.0 * loads(figures, simulated)[0] * grows, 2);
        cells[GROWTH.len() - 2] = Cell::Published(percent, 2);
    }
    cells
}

fn grown(machine: &Machine, figures: &Figures) -> Vec<Cell> {
    let mut cells = vec![
        Cell::Text(machine.name.into()),
        Cell::Key(figures.nodes, 0),
        Cell::Measured(figures.reductions, 0),
        Cell::Measured(figures.messages(), 0),
        Cell::ratio(figures.reductions, figures.messages(), 1),
        figures.timed(figures.seconds, 1.0, 4),
        figures.timed(figures.messages(), figures.seconds, 0),
    ];
    let published = machine.published.map_or(Cell::Absent, |percent| Cell::Published(percent, 2));
    match &figures.simulated {
        Some(simulated) => {
            let ([mean, busiest], [reducing, handling, _]) =
                (loads(figures, simulated), shares(figures, simulated));
            cells.push(Cell::Derived(reducing + handling, 1));
            cells.extend([Cell::Derived(100.0 * mean, 2), published, Cell::Derived(100.0 * busiest, 2)]);
        }
        None => cells.extend([Cell::Absent, Cell::Absent, published, Cell::Absent]),
    }
    cells
}

fn chart(bars: &[(&str, [f64; 3])]) -> Chart {
    let series = |(number, name): (usize, &str)| {
        let points = bars.iter().enumerate().map(|(group, (_, shares))| (group as f64, shares[number]));
        Series { name: name.into(), points: points.collect() }
    };
    Chart {
        id: "shares".into(),
        title: "Time of the simulated processors".into(),
        x: "program".into(),
        y: "% of the time".into(),
        groups: bars.iter().map(|(name, _)| Group { name: (*name).into(), published: false }).collect(),
        series: ["reduction", "messages", "idle"].into_iter().enumerate().map(series).collect(),
        look: Look { stacked: true, ..Look::default() },
    }
}
