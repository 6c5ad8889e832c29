//! Figures 7 to 11: matrix multiplication, FFT and LU decomposition, and what their time goes into.

use super::SOURCE;
use super::cluster::{Ending, Marks, Place, Stretch, inputs, run};
use crate::chosen;
use crate::report::{Cell, Chart, Group, Kind, Look, Report, Series, Table};
use crate::{Config, Error, Experiment, Host, Scale};
use dsm::kernels::fft::{self, Fft};
use dsm::kernels::lu::{Lu, residual};
use dsm::kernels::matmul::{self, Matmul};
use dsm::kernels::{PAGE_WORDS, element, share};
use dsm::protocol::Mode;
use dsm::{Local, Memory, Use};
use std::f64::consts::TAU;

pub(crate) const MATMUL: Experiment = Experiment {
    name: "staff/matmul",
    title: "STAFF-Link: matrix multiplication",
    source: SOURCE,
    about: "One to four nodes multiply matrices of 128 by 128 in shared pages (figure 7): on the simulated cluster, \
        and on this host's nodes. The figure prints no numbers; what the text says of it is a row.",
    times_host: false,
    run: |experiment, host, config| report(experiment, host, config, &[Problem::Matmul(Matmul { n: 128 })]),
};

pub(crate) const FFT: Experiment = Experiment {
    name: "staff/fft",
    title: "STAFF-Link: fast Fourier transform",
    source: SOURCE,
    about: "One to four nodes transform 1,024 and 65,536 complex numbers in shared pages, SPLASH-2's way (figures 8 \
        and 9): on the simulated cluster, and on this host's nodes. The figures print no numbers; what the text says \
        of them are rows.",
    times_host: false,
    run: |experiment, host, config| {
        let of = |side| Problem::Fft(Fft { side, inverse: false });
        report(experiment, host, config, &[of(32), of(256)])
    },
};

pub(crate) const LU: Experiment = Experiment {
    name: "staff/lu",
    title: "STAFF-Link: LU decomposition",
    source: SOURCE,
    about: "One to four nodes decompose matrices of 128 by 128 and 512 by 512 in shared pages, SPLASH-2's way with \
            contiguous blocks of 16 by 16 (figures 10 and 11): on the simulated cluster, and on this host's nodes. The \
            figures print no numbers; what the text says of them is a row.",
    times_host: false,
    run: |experiment, host, config| {
        let of = |n| Problem::Lu(Lu { n, block: 16 });
        report(experiment, host, config, &[of(128), of(512)])
    },
};

/// Most nodes.
const NODES: u32 = 4;
/// Largest difference between a transform and the plain one, and between a matrix and the product of its factors
/// beside its side.
const TOLERANCE: f64 = 1e-9;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Problem {
    Matmul(Matmul),
    Fft(Fft),
    Lu(Lu),
}

/// Which node writes what a program begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Filling {
    Own,
    All,
    /// All of it, and what SPLASH-2's FFT begins with besides: the roots of one that are used later. Then each node
    /// touches its rows of the numbers, of the room to transpose them, and of the roots.
    Roots,
}

/// Operations of a sine or a cosine: not printed. A hundred cycles of 60 MHz.
const SINE_OPERATIONS: u64 = 15;

impl Filling {
    const ALL: [Filling; 3] = [Filling::Own, Filling::All, Filling::Roots];
    fn name(self) -> &'static str {
        match self {
            Filling::Own => "its own part",
            Filling::All => "all of it",
            Filling::Roots => "all of it and the roots, as SPLASH-2",
        }
    }
    /// What its shares are: one reading was added with those of the others in view.
    fn kind(self) -> Kind {
        if self == Filling::Roots { Kind::Fitted } else { Kind::Measured }
    }
    fn is_of(self, problem: Problem) -> bool {
        self != Filling::Roots || matches!(problem, Problem::Fft(_))
    }
}

/// Where the roots are, and their words: one for each number, and one for each row.
fn roots(plan: Fft) -> (usize, usize) {
    (plan.words(), 2 * plan.side * (plan.side + 1))
}

/// Fills as SPLASH-2's FFT does.
async fn fill_with_roots(plan: Fft, memory: &Local) {
    let row = 2 * plan.side;
    let (first_root, root_words) = roots(plan);
    let root = |place: usize| {
        let angle = TAU * (place / 2) as f64 / (plan.side * plan.side) as f64;
        if place.is_multiple_of(2) { angle.cos() } else { -angle.sin() }
    };
    write(memory, 0, row * plan.side, 1, element).await;
    write(memory, first_root, root_words, SINE_OPERATIONS, |place| root(place - first_root)).await;
    memory.barrier().await;
    let rows = share(plan.side, memory.node(), memory.nodes());
    for array in [plan.array(0), plan.array(1), first_root] {
        let touched = Use::read(array + row * rows.start, row * rows.len());
        memory.with(&[touched], |views| std::hint::black_box(views[0].iter().sum::<f64>())).await;
        memory.spend((row * rows.len()) as u64);
    }
    memory.barrier().await;
}

/// Writes words page by page; each takes this number of `operations`.
async fn write(memory: &Local, first: usize, words: usize, operations: u64, word: impl Fn(usize) -> f64) {
    for start in (first..first + words).step_by(PAGE_WORDS) {
        let count = PAGE_WORDS.min(first + words - start);
        let fill = |words: &mut [f64]| (start..).zip(words).for_each(|(place, value)| *value = word(place));
        memory.with(&[Use::write(start, count)], |views| fill(&mut views[0])).await;
        memory.spend(operations * count as u64);
    }
}

impl Problem {
    fn words(self, filling: Filling) -> usize {
        match self {
            Problem::Matmul(plan) => plan.words(),
            Problem::Fft(plan) if filling == Filling::Roots => plan.words() + roots(plan).1,
            Problem::Fft(plan) => plan.words(),
            Problem::Lu(plan) => plan.words(),
        }
    }
    fn name(self) -> String {
        match self {
            Problem::Matmul(plan) => format!("matrices of {0} by {0}", plan.n),
            Problem::Fft(plan) => format!("FFT of {}", plan.side * plan.side),
            Problem::Lu(plan) => format!("LU of {0} by {0}", plan.n),
        }
    }
    /// A problem of a moment.
    fn small(self) -> Problem {
        match self {
            Problem::Matmul(_) => Problem::Matmul(Matmul { n: 64 }),
            Problem::Fft(plan) => Problem::Fft(Fft { side: 32, ..plan }),
            Problem::Lu(plan) => Problem::Lu(Lu { n: 64, ..plan }),
        }
    }
    /// Every node calls it: three marks, before and after the initialisation and at the end.
    async fn run(self, filling: Filling, memory: Local) -> Ending<Vec<f64>> {
        let mut marks = Marks::of(&memory);
        match (self, filling) {
            (Problem::Matmul(plan), Filling::Own) => plan.fill(&memory).await,
            (Problem::Matmul(plan), Filling::All) => plan.fill_all(&memory).await,
            (Problem::Fft(plan), Filling::Own) => plan.fill(&memory).await,
            (Problem::Fft(plan), Filling::All) => plan.fill_all(&memory).await,
            (Problem::Fft(plan), Filling::Roots) => fill_with_roots(plan, &memory).await,
            (Problem::Lu(plan), Filling::Own) => plan.fill(&memory).await,
            (Problem::Lu(plan), Filling::All) => plan.fill_all(&memory).await,
            (Problem::Matmul(_) | Problem::Lu(_), Filling::Roots) => {}
        }
        marks.set();
        match self {
            Problem::Matmul(plan) => {
                plan.multiply(&memory).await;
                memory.barrier().await;
            }
            Problem::Fft(plan) => plan.run(&memory).await,
            Problem::Lu(plan) => plan.factorise(&memory).await,
        }
        marks.set();
        let first = memory.node() == 0;
        let result = match self {
            Problem::Matmul(plan) => plan.rows(&memory).await,
            Problem::Fft(plan) if first => {
                let all = [Use::read(0, 2 * plan.side * plan.side)];
                memory.with(&all, |views| views[0].to_vec()).await
            }
            Problem::Lu(plan) if first => plan.matrix(&memory).await,
            Problem::Fft(_) | Problem::Lu(_) => Vec::new(),
        };
        marks.end(result)
    }
    /// Whether the nodes' results together are right.
    fn is_right(self, results: &[Vec<f64>]) -> bool {
        match self {
            Problem::Matmul(plan) => results.concat() == matmul::sequential(plan.n),
            Problem::Fft(plan) => {
                let mut plain = plan.original();
                fft::transform(&mut plain, plan.inverse);
                let near = |(a, b): (&f64, &f64)| (a - b).abs() < TOLERANCE;
                plain.len() == results[0].len() && plain.iter().zip(&results[0]).all(near)
            }
            Problem::Lu(plan) => residual(&plan.original(), &results[0], plan.n) < TOLERANCE,
        }
    }
}

/// What a program's time went into, ms.
#[derive(Clone, Copy, Debug)]
struct Split {
    initialisation: f64,
    /// All that is none of the others; waiting for pages is a part of it.
    computation: f64,
    pages: f64,
    release: f64,
    barrier: f64,
}

impl Split {
    fn of(stretches: &[Stretch]) -> Split {
        let [filling, work] = stretches else { unreachable!("three marks") };
        let ms = |us: f64| us / 1e3;
        Split {
            initialisation: ms(filling.time),
            computation: ms(work.time - work.release - work.barrier),
            pages: ms(work.pages),
            release: ms(work.release),
            barrier: ms(work.barrier),
        }
    }
    fn total(&self) -> f64 {
        self.initialisation + self.computation + self.release + self.barrier
    }
}

/// All numbers of nodes.
struct Row {
    problem: Problem,
    filling: Filling,
    place: Place,
    splits: Vec<Split>,
}

fn measure(problem: Problem, filling: Filling, place: Place, nodes: u32, runs: u32) -> Result<Split, Error> {
    let mut splits = Vec::new();
    for _ in 0..if place == Place::Host { runs.max(1) } else { 1 } {
        let program = move |memory: Local| problem.run(filling, memory);
        let run = run(place, nodes, problem.words(filling), Mode::Update, program)?;
        if !problem.is_right(&run.results) {
            return Err(Error(format!("{}: {nodes} nodes have a wrong result", problem.name())));
        }
        splits.push(Split::of(&run.stretches));
    }
    splits.sort_by(|a, b| a.total().total_cmp(&b.total()));
    Ok(splits[splits.len() / 2])
}

fn report(
    experiment: &Experiment,
    host: &mut dyn Host,
    config: &Config,
    published: &[Problem],
) -> Result<Report, Error> {
    let mut problems = published.to_vec();
    if config.scale == Scale::Small {
        problems.iter_mut().for_each(|problem| *problem = problem.small());
        problems.dedup();
    }
    let large: Vec<String> = published.iter().map(|problem| problem.name()).collect();
    let of_problem = |problem: &Problem| Filling::ALL.map(|filling| (*problem, filling));
    let cases = problems.iter().flat_map(of_problem).filter(|(problem, filling)| filling.is_of(*problem));
    let cases: Vec<_> = cases.flat_map(|case| Place::ALL.map(|place| (case, place))).collect();
    let mut rows = Vec::new();
    for (part, &((problem, filling), place)) in cases.iter().enumerate() {
        let (what, whose) = (problem.name(), filling.name());
        host.progress(part + 1, cases.len(), &format!("{what}, each node fills {whose}: {}", place.name()));
        let nodes: Vec<u32> = (1..=NODES).collect();
        let run = |nodes: &u32| measure(problem, filling, place, *nodes, config.runs);
        let mut told = |nodes: &u32, split: &Split| {
            let told = [
                ("problem", Cell::text(&what)),
                ("each node fills", Cell::text(whose)),
                ("where", Cell::text(place.name())),
                ("nodes", Cell::key(*nodes)),
                ("ms", Cell::Measured(split.total(), 1)),
            ];
            host.row("Where the time goes", &told);
        };
        let splits = match place {
            Place::Cluster => chosen::each(&nodes, run, told)?,
            // What is timed runs alone.
            Place::Host => {
                let one = |nodes: &u32| run(nodes).inspect(|split| told(nodes, split));
                nodes.iter().map(one).collect::<Result<Vec<Split>, Error>>()?
            }
        };
        rows.push(Row { problem, filling, place, splits });
    }
    let charts =
        rows.iter().zip(1..).filter(|(row, _)| row.place == Place::Cluster).map(|(row, at)| chart(row, at));
    let charts = charts.collect();
    let mut tables = vec![split(&rows), findings(&rows)];
    if matches!(problems[0], Problem::Fft(_)) {
        tables.push(shares(&rows, &large));
    }
    tables.push(inputs());
    let measured_on = format!(
        "Published: only drawn, but for the findings. Simulated: the same on every machine. This host: {}, median of \
         {} runs.",
        host.machine(),
        config.runs.max(1)
    );
    Ok(Report { tables, charts, ..Report::of(experiment, measured_on) })
}

fn split(rows: &[Row]) -> Table {
    let cells = |row: &Row, nodes: usize| {
        let split = &row.splits[nodes];
        let ms = |value: f64| Cell::Measured(value, if row.place == Place::Cluster { 0 } else { 2 });
        let text = |text: &str| Cell::Text(text.into());
        vec![
            text(&row.problem.name()),
            text(row.filling.name()),
            text(row.place.name()),
            Cell::key(nodes + 1),
            ms(split.total()),
            ms(split.initialisation),
            ms(split.computation),
            ms(split.pages),
            ms(split.release),
            ms(split.barrier),
            Cell::ratio(row.splits[0].total(), split.total(), 2),
            Cell::ratio(100.0 * split.initialisation, split.total(), 0),
        ]
    };
    let cells =
        rows.iter().flat_map(|row| (0..row.splits.len()).map(move |nodes| cells(row, nodes))).collect();
    let heads = [
        "problem",
        "each node fills",
        "where",
        "nodes",
        "total, ms",
        "initialisation, ms",
        "computation, ms",
        "of it waiting for pages, ms",
        "release, ms",
        "barrier, ms",
        "times one node",
        "initialisation, %",
    ];
    let note = "Means of all nodes. Which node fills what is not printed: table III's 513 requests a node fit nodes \
        that each fill all of a matrix of 512 pages, and SPLASH-2's FFT fills in roots of one, too. Copies are updated. The initialisation has its own pages, \
        release and barrier. On the cluster handlers that come while a program computes are in its computation.";
    Table::new("split", "Where the time goes", note, &heads, cells)
}

/// What the text says, of the simulated cluster.
fn findings(rows: &[Row]) -> Table {
    let mut found: Vec<Vec<Cell>> = Vec::new();
    for row in rows.iter().filter(|row| row.place == Place::Cluster) {
        let time = |nodes: usize| row.splits[nodes - 1];
        let mut says = |what: &str, holds: bool| {
            let case = [Cell::text(&row.problem.name()), Cell::text(row.filling.name()), Cell::text(what)];
            let findings = [Cell::Finding(row.filling.kind(), holds), Cell::Finding(Kind::Published, true)];
            found.push([&case[..], &findings].concat());
        };
        match row.problem {
            Problem::Matmul(_) => {
                let falls = row.splits.is_sorted_by(|a, b| a.total() > b.total());
                says("the time falls with each node", falls);
            }
            Problem::Fft(_) => {
                let shares = (2..=4).map(|nodes| time(nodes).initialisation / time(nodes).total());
                says(
                    "initialisation is 40 to 50 % on 2 to 4 nodes",
                    shares.into_iter().all(|share| (0.395..0.505).contains(&share)),
                );
                let worse = (2..=4).all(|nodes| time(nodes).total() > time(1).total());
                says("the total is worse than on one node", worse);
                let rest = |nodes: usize| time(nodes).total() - time(nodes).initialisation;
                let flat = (3..=4).all(|nodes| (rest(nodes) / rest(2) - 1.0).abs() < 0.1);
                says("without the initialisation 2, 3 and 4 nodes take the same, within 10 %", flat);
            }
            Problem::Lu(_) => {
                let shortest = time(3).release < time(2).release.min(time(4).release);
                says("of 2 to 4 nodes, release is shortest on 3", shortest);
            }
        }
    }
    let heads = ["problem", "each node fills", "finding", "simulated cluster", "published"];
    let note = "Who fills what is not printed, so each reading is a row; the third was added when the others had been \
        seen, and is fitted. That the FFT takes the same on any number of \
        nodes is said of 65,536 numbers.";
    Table::new("findings", "What the text says", note, &heads, found)
}

/// The FFT's initialisation on the cluster, by problem of the published size: what was not run has no value.
fn shares(rows: &[Row], problems: &[String]) -> Table {
    let mut cells = Vec::new();
    for name in problems {
        for filling in Filling::ALL {
            let is_meant = |row: &&Row| {
                row.place == Place::Cluster && row.filling == filling && row.problem.name() == *name
            };
            let row = rows.iter().find(is_meant);
            let shares = row.iter().flat_map(|row| &row.splits[1..]);
            let shares: Vec<f64> = shares.map(|split| 100.0 * split.initialisation / split.total()).collect();
            let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
            let most = shares.iter().copied().fold(0.0, f64::max);
            let kind = filling.kind();
            for (which, share, published) in [("least", least, 40.0), ("most", most, 50.0)] {
                let share = if row.is_some() { Cell::number(kind, share, 0) } else { Cell::Absent };
                let case = [Cell::text(name), Cell::text(filling.name()), Cell::text(which)];
                cells.push([&case[..], &[share, Cell::Published(published, 0)]].concat());
            }
        }
    }
    let heads = ["problem", "each node fills", "of 2 to 4 nodes", "initialisation, %", "published"];
    let note = "Published: 40 to 50 %. The program is SPLASH-2's, which begins with the numbers and with roots of one, and \
        then touches its rows; table III has it that each node does so. That is compared; that a sine takes 15 operations \
        is assumed. Both were fixed before this reading ran, but when it had been seen how far the two others are from \
        what is published: so what it gives is fitted.";
    Table::new("shares", "Initialisation on the simulated cluster", note, &heads, cells)
}

fn chart(row: &Row, at: usize) -> Chart {
    let group = |nodes: usize| Group { name: format!("{nodes}"), published: false };
    let series = |name: &str, part: fn(&Split) -> f64| Series {
        name: name.into(),
        points: row.splits.iter().enumerate().map(|(at, split)| (at as f64, part(split))).collect(),
    };
    let title = format!("{}, each node fills {}", row.problem.name(), row.filling.name());
    let series = vec![
        series("initialisation", |split| split.initialisation),
        series("computation", |split| split.computation),
        series("release", |split| split.release),
        series("barrier", |split| split.barrier),
    ];
    let groups = (1..=row.splits.len()).map(group).collect();
    let look = Look { stacked: true, ..Look::default() };
    Chart { groups, look, ..Chart::lines(&format!("split_{at}"), &title, "nodes", "ms", series) }
}
