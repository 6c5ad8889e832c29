//! Table 4: three programs' threads on 64 nodes. (The fourth is table 5's.)

use super::applications::{Application, Ran, Sizes, report};
use super::{SOURCE, simulation};
use crate::report::{Cell, Kind, Report, Table};
use crate::{Config, Error, Experiment, Host};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "jmachine/table4",
    title: "J-Machine: programs on 64 nodes",
    source: SOURCE,
    about: "Longest common subsequence, N-Queens and radix sort: how long they take, how many threads of which length \
        they start, and how long their messages are.",
    times_host: false,
    run,
};

pub(super) const NODES: u32 = 64;
const APPLICATIONS: [Application; 3] = [Application::Lcs, Application::Queens, Application::RadixSort];
/// Run time in milliseconds.
const MILLIS: [f64; 3] = [153.0, 775.0, 63.0];
/// What the paper prints of a kind of threads: how many, thousands of instructions of all, instructions of a thread,
/// words of its message.
struct Printed {
    name: &'static str,
    threads: f64,
    kilo_instructions: f64,
    instructions: f64,
    words: f64,
}

const THREADS: [Printed; 6] = [
    printed("StartUp", [1.0, 86.0, 86_000.0, 1.0]),
    printed("NxtChar", [262_000.0, 60_800.0, 232.0, 3.0]),
    printed("NQueens", [1030.0, 305_000.0, 296_000.0, 8.0]),
    printed("NQDone", [1180.0, 25.0, 21.0, 3.0]),
    printed("Sort", [64.0, 17_600.0, 276_000.0, 8.0]),
    printed("Write", [452_000.0, 1810.0, 4.0, 3.0]),
];

const fn printed(name: &'static str, [threads, kilo_instructions, instructions, words]: [f64; 4]) -> Printed {
    Printed { name, threads, kilo_instructions, instructions, words }
}

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let sizes = Sizes::of(config.scale);
    let (mut times, mut threads) = (Vec::new(), Vec::new());
    for (part, (application, published)) in APPLICATIONS.into_iter().zip(MILLIS).enumerate() {
        host.progress(part + 1, APPLICATIONS.len(), application.name());
        let ran = application.run(NODES, &sizes)?;
        let told = [("program", Cell::text(application.name())), ("ms", Cell::Derived(ran.millis(), 1))];
        host.row("Run time", &told);
        times.push(vec![
            Cell::Text(application.name().into()),
            Cell::Derived(ran.cycles as f64, 0),
            Cell::Derived(ran.millis(), 1),
            Cell::Published(published, 0),
            Cell::of(Kind::Derived, ran.millis(), published, 2),
            Cell::Measured(ran.idle(), 1),
        ]);
        threads.extend(rows(application, &ran));
    }
    let heads = ["program", "cycles", "ms", "ms, published", "times the published", "% idle"];
    let note = "What a thread spends is an input, taken from the instructions that the paper prints for it: that the \
        simulated run takes about as long as the published one is no result as far as nodes are busy. Its results are \
        what messages, waiting and imbalance add.";
    let times = Table::new("run-time", "Run time", note, &heads, times);
    let heads = [
        "threads",
        "number",
        "published",
        "cycles each",
        "instructions each",
        "instructions each, published",
        "1,000 instructions of all",
        "1,000 instructions of all, published",
        "words of a message",
        "words of a message, published",
    ];
    let note = "A message's words are counted with that of its handler's code. The threads of sorting wait for \
        messages and are not started by one, and LCS's StartUp is a task. A board's message has the places of its queens, \
        too, as the printed length suggests. Cycles and instructions each were told. Instructions of all are those that are printed \
        for a thread, times the number of threads here.";
    let threads = Table::new("threads", "Threads", note, &heads, threads);
    let topology = simulation::network(NODES).topology.to_string();
    Ok(report(experiment, (&APPLICATIONS, config.scale), &topology, vec![times, threads], Vec::new()))
}

fn rows(application: Application, ran: &Ran) -> Vec<Vec<Cell>> {
    let row = |name: &str, count: u64, cycles: u64, words: Option<f64>| {
        let printed = THREADS.iter().find(|threads| threads.name == name);
        let of = |value: fn(&Printed) -> f64| {
            printed.map_or(Cell::Absent, |printed| Cell::Published(value(printed), 0))
        };
        let instructions = printed.map_or(0.0, |printed| printed.instructions);
        let words = words.map_or(Cell::Absent, |words| Cell::number(words_kind(name), words, 1));
        vec![
            Cell::Text(format!("{}: {name}", application.name())),
            Cell::count(count),
            of(|printed| printed.threads),
            Cell::of(Kind::Input, cycles as f64, count as f64, 0),
            Cell::Input(instructions, 0),
            of(|printed| printed.instructions),
            Cell::Derived(count as f64 * instructions / 1e3, 0),
            of(|printed| printed.kilo_instructions),
            words,
            of(|printed| printed.words),
        ]
    };
    let started = application.handlers().iter().zip(&ran.threads).map(|((name, _), threads)| {
        let words = threads.words as f64 / threads.count.max(1) as f64;
        row(name, threads.count, threads.cycles, Some(words))
    });
    let sort = (application == Application::RadixSort).then(|| {
        // All that nodes compute, and that is not in a handler.
        row("Sort", ran.nodes.into(), ran.spent.program - ran.threads[0].cycles, None)
    });
    sort.into_iter().chain(started).collect()
}

/// What a message's length says: those of boards and of their answers were chosen with the printed ones in view, and a
/// task needs none.
fn words_kind(name: &str) -> Kind {
    match name {
        "NQueens" | "NQDone" | "StartUp" => Kind::Input,
        _ => Kind::Measured,
    }
}
