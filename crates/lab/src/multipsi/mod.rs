//! K. Nakajima: "The Multi-PSI: Inter-PE Data Processing and Its Evaluation", ICOT TR-486, 1989.
//!
//! The paper runs two programs on 16 processors of the Multi-PSI/V2, and counts messages between them. Its programs
//! are not printed; ours solve problems of the same kind. They run on the simulated machine, and on nodes of this host
//! if these are asked for.
//!
//! On the simulated machine counts are measured. Times are not: what a reduction takes was derived from the published
//! time, so times and shares of time say no more than that input and the counts do.
//!
//! Here is what the paper prints, and how programs are run; `table1` and `fig5` make tables of the figures;
//! `fig4` counts what the protocol does for a message.

use crate::chosen;
use crate::programs::{BESTPATH, PENTOMINO, Program, Size};
use crate::record::{NodeRecord, Record, Spent};
use crate::report::{self, Cell, Table};
use crate::{Config, Error, Host, Job, Place, Scale};

pub(crate) mod fig4;
mod fig5;
mod table1;

pub(crate) use fig4::EXPERIMENT as FIG4;
pub(crate) use fig5::EXPERIMENT as FIG5;
pub(crate) use table1::EXPERIMENT as TABLE1;

const SOURCE: &str =
    "K. Nakajima: The Multi-PSI: Inter-PE Data Processing and Its Evaluation. ICOT TR-486, 1989";

/// Kinds of messages that the paper counts, and all others together.
const KINDS: [&str; 5] = ["read", "answer_value", "release", "unify", "throw_goal"];

/// What the paper prints of a program, on 16 processors.
struct Published {
    /// Messages, in the order of [`KINDS`], and then the others.
    sent: [f64; KINDS.len() + 1],
    messages: f64,
    reductions: f64,
    seconds: f64,
    /// Of the whole machine.
    micros_a_reduction: f64,
    reductions_a_message: f64,
    messages_a_second: f64,
    /// Time at work, in percent of all time.
    working: f64,
    /// Time for messages, in percent of the time at work.
    handling: f64,
}

struct Case {
    program: &'static Program,
    /// Nanoseconds of a reduction on one processor, derived from the published time.
    reduction: u32,
    /// The program without the stage that is counted, of full and of small size: its figures are taken off.
    rest: Option<[Size; 2]>,
    /// Messages whose number the size of the program was chosen for.
    fitted: &'static [&'static str],
    published: Published,
}

static CASES: [Case; 2] = [
    Case {
        program: &PENTOMINO,
        reduction: 22_000,
        rest: None,
        fitted: &["throw_goal", "unify"],
        published: Published {
            sent: [183_405.0, 183_399.0, 165_474.0, 2_171.0, 2_171.0, 2_765.0],
            messages: 539_385.0,
            reductions: 14_735_231.0,
            seconds: 31.482,
            micros_a_reduction: 2.14,
            reductions_a_message: 27.3,
            messages_a_second: 17_133.0,
            working: 85.0,
            handling: 25.0,
        },
    },
    Case {
        program: &BESTPATH,
        reduction: 41_000,
        rest: Some([
            Size { arguments: &["330", "4", "distribute"], answer: "[1099511627776,119736816264806400]" },
            Size { arguments: &["40", "2", "distribute"], answer: "[1099511627776,1759218604441600]" },
        ]),
        fitted: &[],
        published: Published {
            sent: [63_385.0, 53_476.0, 31_688.0, 41_600.0, 31_688.0, 3_863.0],
            messages: 225_700.0,
            reductions: 4_900_791.0,
            seconds: 16.426,
            micros_a_reduction: 3.35,
            reductions_a_message: 21.7,
            messages_a_second: 13_740.0,
            working: 85.0,
            handling: 10.0,
        },
    },
];

impl Case {
    fn name(&self) -> &'static str {
        self.program.name
    }
    /// Nanoseconds of a reduction, as it was chosen.
    fn reduction(&self) -> u64 {
        chosen::cycles(self.reduction.into()).max(1)
    }
    /// The simulated machine on which it is measured.
    fn machine(&self, scale: Scale) -> String {
        let nodes = if scale == Scale::Full { 16 } else { 4 };
        format!("multipsi:{nodes},reduction={}ns{}", self.reduction(), settings())
    }
}

/// Settings of simulated machines that were chosen.
fn settings() -> String {
    let word = |name, words: &[&str]| {
        let value = chosen::set(name).and_then(|value| words.get(value as usize));
        value.map_or(String::new(), |word| format!(",{name}={word}"))
    };
    word("depth", &chosen::DEPTHS) + &word("tables", &chosen::TABLES)
}

/// What nodes did together.
#[derive(Clone, Debug)]
struct Figures {
    nodes: f64,
    reductions: f64,
    /// Messages, in the order of [`KINDS`], and then the others.
    sent: [f64; KINDS.len() + 1],
    seconds: f64,
    /// Time in collections, of all nodes together.
    collecting: f64,
    simulated: Option<Simulated>,
}

/// What is known of simulated nodes: times of all of them together.
#[derive(Clone, Debug)]
struct Simulated {
    reducing: f64,
    handling: f64,
    /// White and black ones, sent.
    references: [f64; 2],
    /// Bytes of all messages.
    bytes: f64,
    /// Bytes that each channel carried, and could carry in a second.
    channels: Vec<f64>,
    capacity: f64,
}

impl Figures {
    fn of(record: &Record) -> Figures {
        let nodes = &record.nodes;
        let mut sent = [0.0; KINDS.len() + 1];
        for (kind, count) in nodes.iter().flat_map(|node| &node.sent) {
            let place = KINDS.iter().position(|known| known == kind).unwrap_or(KINDS.len());
            sent[place] += *count as f64;
        }
        let sum = |of: fn(&NodeRecord) -> f64| nodes.iter().map(of).sum::<f64>();
        let spent = |of: fn(&Spent) -> f64| {
            nodes.iter().filter_map(|node| node.simulated.as_ref()).map(of).sum::<f64>()
        };
        let simulated = record.simulation.as_ref().map(|simulation| Simulated {
            reducing: spent(|node| node.reducing_seconds),
            handling: spent(|node| node.handling_seconds),
            references: [spent(|node| node.references[0] as f64), spent(|node| node.references[1] as f64)],
            bytes: spent(|node| node.bytes as f64),
            channels: simulation.channel_bytes.iter().map(|bytes| *bytes as f64).collect(),
            capacity: simulation.channel_bytes_per_second,
        });
        let pauses = nodes.iter().flat_map(|node| &node.collections).map(|sample| sample.pause_seconds);
        Figures {
            nodes: nodes.len() as f64,
            reductions: sum(|node| node.reductions as f64),
            sent,
            seconds: record.simulation.as_ref().map_or(record.wall_seconds, |simulation| simulation.seconds),
            collecting: pauses.sum(),
            simulated,
        }
    }

    /// What is left when the figures of another run are taken off.
    fn less(mut self, other: &Figures) -> Figures {
        self.reductions -= other.reductions;
        self.seconds -= other.seconds;
        self.collecting -= other.collecting;
        self.sent.iter_mut().zip(other.sent).for_each(|(sent, other)| *sent -= other);
        if let (Some(simulated), Some(other)) = (&mut self.simulated, &other.simulated) {
            simulated.reducing -= other.reducing;
            simulated.handling -= other.handling;
            simulated.bytes -= other.bytes;
            simulated.references.iter_mut().zip(other.references).for_each(|(count, other)| *count -= other);
            simulated.channels.iter_mut().zip(&other.channels).for_each(|(bytes, other)| *bytes -= other);
        }
        self
    }

    fn messages(&self) -> f64 {
        self.sent.iter().sum()
    }
    /// Time of all nodes together.
    fn time(&self) -> f64 {
        self.nodes * self.seconds
    }
    /// A value that hangs on times: measured on this host, derived on a simulated machine.
    fn timed(&self, dividend: f64, divisor: f64, decimals: usize) -> Cell {
        match Cell::ratio(dividend, divisor, decimals) {
            Cell::Measured(value, decimals) if self.simulated.is_some() => Cell::Derived(value, decimals),
            cell => cell,
        }
    }
}

/// A run.
fn job(program: &'static Program, size: &Size, place: &Place) -> Job {
    Job { program, arguments: size.arguments.to_vec(), place: place.clone() }
}

/// The simulated runs that [`measure`] asks for.
fn jobs(case: &Case, config: &Config, place: &Place) -> Vec<Job> {
    let rest = case.rest.as_ref().map(|[full, small]| if config.scale == Scale::Full { full } else { small });
    let sizes = std::iter::once(case.program.size(config.scale)).chain(rest);
    let is_simulated = matches!(place, Place::Simulated { .. });
    sizes.filter(|_| is_simulated).map(|size| job(case.program, size, place)).collect()
}

/// Lets the host simulate before it is asked, unless that would disturb what it times.
fn will_run(host: &mut dyn Host, config: &Config, jobs: &[Job]) {
    if config.nodes.is_empty() {
        host.will_run(jobs);
    }
}

/// Runs a program, and checks its answer.
fn run(host: &mut dyn Host, program: &'static Program, size: &Size, place: &Place) -> Result<Figures, Error> {
    let name = program.name;
    let finished = host
        .run(&job(program, size, place))
        .map_err(|why| Error(format!("{name}, {}: {why}", title(place))))?;
    let given = finished.stdout.trim_end();
    if given != size.answer {
        return Err(Error(format!("{name}: the answer is {given}, and should be {}", size.answer)));
    }
    if finished.record.nodes.is_empty() {
        return Err(Error(format!("{name}: the figures of the run have no nodes")));
    }
    Ok(Figures::of(&finished.record))
}

/// The figures of what is counted of a program. Of several runs on nodes of this host it is the one whose time is in
/// the middle.
fn measure(host: &mut dyn Host, case: &Case, config: &Config, place: &Place) -> Result<Figures, Error> {
    let runs = if matches!(place, Place::Simulated { .. }) { 1 } else { config.runs };
    let mut all = Vec::new();
    for _ in 0..runs {
        let whole = run(host, case.program, case.program.size(config.scale), place)?;
        let figures = match &case.rest {
            None => whole,
            Some([full, small]) => {
                let size = if config.scale == Scale::Full { full } else { small };
                whole.less(&run(host, case.program, size, place)?)
            }
        };
        all.push(figures);
    }
    all.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
    let middle = all.len() / 2;
    all.into_iter().nth(middle).ok_or_else(|| Error("no runs".into()))
}

/// The places where programs are measured: a simulated machine, and those of this host that were asked for.
fn places(host: &dyn Host, case: &Case, config: &Config) -> Vec<Place> {
    let real = config.nodes.iter().flat_map(|&nodes| {
        let processes = host.has_launcher().then_some(Place::Processes(nodes));
        [Some(Place::Threads(nodes)), processes].into_iter().flatten()
    });
    let machine = case.machine(config.scale);
    std::iter::once(Place::Simulated { machine, identities: false }).chain(real).collect()
}

fn title(place: &Place) -> String {
    match place {
        Place::Workers(workers) => format!("{workers} workers"),
        Place::Threads(nodes) => format!("{nodes} threads"),
        Place::Processes(nodes) => format!("{nodes} processes"),
        Place::Simulated { .. } => "simulated".into(),
    }
}

/// Where a report was measured.
fn measured_on(host: &dyn Host, config: &Config) -> String {
    let size = if config.scale == Scale::Full {
        ""
    } else {
        " Small scale: figures of runs this short mean little."
    };
    let here = if config.nodes.is_empty() {
        String::new()
    } else {
        let (machine, runs) = (host.machine(), config.runs);
        format!(" Threads and processes: on {machine}, the run in the middle of {runs}.")
    };
    format!("Simulated machines: in virtual time, the same for each run and on every host.{size}{here}")
}

/// What the simulated machine was told, beside what the other tables have.
fn inputs(scale: Scale) -> Table {
    let pim = PIM_TIMES_AS_FAST.to_string();
    let nodes = if scale == Scale::Full { "16" } else { "4" };
    let squares = BESTPATH.size(scale).arguments[0];
    let micros = |case: usize| (CASES[case].reduction() as f64 / 1e3).to_string();
    let rows = [
        ("processors", nodes.to_string(), "printed: 16"),
        ("processors of the largest machine", "64".into(), "printed; more are allowed here"),
        ("squares of a side of Bestpath", squares.into(), "printed: 330"),
        ("ns of a cycle", "200".into(), "printed"),
        ("bytes of the output buffer", "48".into(), "printed"),
        ("Kbytes of the Write and Read Buffers", "4".into(), "printed"),
        ("Mbyte/s of a channel", "5".into(), "printed"),
        ("us of a reduction of Pentomino on one processor", micros(0), "fitted to the printed time"),
        ("us of a reduction of Bestpath on one processor", micros(1), "fitted to the printed time"),
        ("times as fast as a processor of the Multi-PSI: pim", pim, "printed: 8 times 4"),
    ];
    report::inputs("Times of messages are in multipsi/fig4.", &rows)
}

/// How many times as fast a processor of the planned machine is.
const PIM_TIMES_AS_FAST: u32 = 32;

/// What must be known of the programs.
fn notes() -> Vec<String> {
    vec![
        format!("{}: {}.", PENTOMINO.name, PENTOMINO.about),
        "Of the pieces two are left out, N and X: so the boards are as many as the paper's thrown goals. What else is \
         counted for it was not fitted: the list of pieces is read anew for each board, as the Multi-PSI did it."
            .into(),
        format!("{}: {}. Counted is what it does without the making of the grid.", BESTPATH.name, BESTPATH.about),
        "Inputs: time to send and to receive each kind of message, printed; time of a reduction on one processor, 22 \
         us and 41 us, derived from the published times. So times and shares of the simulated machine are no results."
            .into(),
    ]
}
