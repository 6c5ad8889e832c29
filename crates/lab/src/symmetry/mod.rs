//! The simulated Symmetry: the machine of ICOT TR-448 (M. Sato, A. Goto, 1989) in virtual time, with its memory
//! manager, collector, free lists and locks, at 1 to 8 processors.
//!
//! It is a model inside the laboratory, and no second engine: it runs three programs of its own, which use a part of
//! KL1. `code` has parsed clauses, `memory` blocks and free lists, `machine` the processors, `reduce` a reduction,
//! `collect` a collection; `tables` and `charts` say what came out. Tests compare the answers with the reference
//! interpreter's.

mod charts;
mod code;
mod collect;
mod machine;
mod memory;
mod programs;
mod reduce;
mod tables;

#[cfg(test)]
mod tests;

use crate::chosen;
use crate::report::{Cell, Report, median};
use crate::{Config, Error, Experiment, Host, Scale};
use code::Code;
use collect::Collection;
use machine::{After, Costs, Given, Locked, Machine, Run, Setup, Time};
use memory::{PRINTED, Sizes};
use programs::Program;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "symmetry",
    title: "KL1 on a shared-memory machine: the paper's, simulated",
    source: "M. Sato, A. Goto: KL1並列処理系の評価 — メモリ消費特性とGC —. ICOT TR-448, 1989",
    about: "A model inside the laboratory, no second engine of Fifth: the paper's machine of 1 to 8 processors, with \
        its memory, free lists, collector and locks, reduces three programs in virtual time. What is consumed, what is \
        active after collections, how fast reduction and collection grow, and what locks take: tables 2 to 5, \
        figures 1 to 8. Times of single steps were fitted once, and the table of inputs says to what; the bus and its caches are \
        not simulated.",
    times_host: false,
    run,
};

/// Numbers of processors.
const PROCESSORS: [u32; 4] = [1, 2, 4, 8];
/// Runs with several processors, each with a seed; a seed changes nothing where there is only one.
const SEEDS: u64 = 3;

/// The seed of the first of them. Other choices have runs of their own.
fn first_seed() -> u64 {
    chosen::seed(1).wrapping_sub(1).wrapping_mul(SEEDS).wrapping_add(1)
}

/// Fitted: see `tables::told`.
const COSTS: Costs =
    Costs { reduction: 524_700, word: 8_020, lock: 26_000, copy: 57_970, goal: 688_000, poll: 250_000 };

/// What steps cost, as it was chosen.
fn costs() -> Costs {
    let nanos = |name, own: Time| chosen::set(name).map_or(own, |micros| (1e3 * micros).round() as Time);
    Costs {
        reduction: chosen::cycles(COSTS.reduction),
        word: chosen::cycles(COSTS.word),
        lock: nanos("lock-us", COSTS.lock),
        copy: nanos("copy-us", COSTS.copy),
        goal: nanos("goal-us", COSTS.goal),
        ..COSTS
    }
}

/// The memory that a program has, as it was chosen. Puzzle takes few words, so its blocks are smaller.
fn sizes(program: Program, scale: Scale) -> Sizes {
    let block = match (program, scale) {
        (Program::Puzzle, Scale::Full) => 840,
        (_, Scale::Full) => PRINTED.block,
        (_, Scale::Small) => 2_560,
    };
    Sizes { block: chosen::count("block-words", block), ..PRINTED }
}

/// The runs of a program with a number of processors.
struct Case {
    program: Program,
    processors: u32,
    runs: Vec<Run>,
}

/// All of them.
struct Runs {
    scale: Scale,
    cases: Vec<Case>,
    /// Runs with 8 processors that do one thing in another way.
    variants: Vec<(&'static str, Case)>,
    /// Findings that would be others with triangle's list of jumps.
    doubtful: Vec<&'static str>,
}

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let runs = measure(host, config.scale)?;
    let scale = match config.scale {
        Scale::Full => "full",
        Scale::Small => "small (figures of runs this short mean little)",
    };
    let measured_on = format!(
        "Simulated: the same on every machine. Seeds {} to {} where there are several processors; scale: {scale}.",
        first_seed(),
        first_seed().wrapping_add(SEEDS - 1)
    );
    Ok(Report {
        notes: Program::ALL.map(|program| format!("{}: {}", program.name(), program.about())).to_vec(),
        tables: tables::all(&runs),
        charts: charts::all(&runs),
        ..Report::of(experiment, measured_on)
    })
}

/// What is done in another way, and that way.
type Otherwise = (&'static str, fn(Setup) -> Setup);

/// A program and how it is run, with each seed.
struct Wanted<'a> {
    program: Program,
    code: &'a Code,
    setup: Setup,
}

impl Wanted<'_> {
    /// What it is called while it runs.
    fn name(&self) -> String {
        format!("{}, {} simulated processors", self.program.name(), self.setup.processors)
    }
    /// With each number of processors.
    fn on_all(self) -> [Self; PROCESSORS.len()] {
        let Wanted { program, code, setup } = self;
        PROCESSORS.map(|processors| Wanted { program, code, setup: Setup { processors, ..setup } })
    }
    fn run(&self, seed: u64, scale: Scale) -> Result<Run, Error> {
        let failed = |why: String| Error(format!("{}: {why}", self.program.name()));
        let setup = Setup { seed, ..self.setup };
        let run = Machine::new(self.code, setup).and_then(Machine::run).map_err(failed)?;
        let answer = self.program.answer(scale);
        if run.answer != answer {
            return Err(failed(format!("the answer should be {answer}")));
        }
        Ok(run)
    }
}

/// Runs all that is wanted, on all processors of the host.
fn cases(host: &mut dyn Host, scale: Scale, wanted: &[Wanted<'_>]) -> Result<Vec<Case>, Error> {
    let seeds = |one: &Wanted<'_>| if one.setup.processors == 1 { 1 } else { SEEDS };
    let with_seeds = |(at, one)| (0..seeds(one)).map(move |n| (at, first_seed().wrapping_add(n)));
    let all: Vec<(usize, u64)> = wanted.iter().enumerate().flat_map(with_seeds).collect();
    let mut part = 0;
    let run = |(at, seed): &(usize, u64)| wanted[*at].run(*seed, scale);
    let runs = chosen::each(&all, run, |(at, seed), run| {
        part += 1;
        host.progress(part, all.len(), &format!("{}, seed {seed}", wanted[*at].name()));
        let told = [
            ("program", Cell::text(wanted[*at].program.name())),
            ("processors", Cell::key(wanted[*at].setup.processors)),
            ("seed", Cell::key(*seed)),
            ("s", Cell::Derived(seconds(run.time), 2)),
            ("collections", Cell::number(wanted[*at].program.kind(), run.collections.len() as f64, 0)),
        ];
        host.row("Runs", &told);
    })?;
    let mut runs = runs.into_iter();
    let case = |one: &Wanted<'_>| Case {
        program: one.program,
        processors: one.setup.processors,
        runs: runs.by_ref().take(seeds(one) as usize).collect(),
    };
    Ok(wanted.iter().map(case).collect())
}

fn measure(host: &mut dyn Host, scale: Scale) -> Result<Runs, Error> {
    let setup = |program| Setup {
        processors: 8,
        sizes: sizes(program, scale),
        costs: costs(),
        given: Given::Oldest,
        after: After::Stays,
        locked: Locked::Objects,
        seed: first_seed(),
    };
    let read = |text: &str| Code::read(text).map_err(Error);
    let codes: Vec<Code> =
        Program::ALL.iter().map(|program| read(&program.text(scale))).collect::<Result<_, Error>>()?;
    let listed = read(&Program::listed(scale))?;
    let programs = || Program::ALL.into_iter().zip(&codes);
    let plain = |(program, code)| Wanted { program, code, setup: setup(program) };
    let others: [Otherwise; 3] = [
        ("newest goal given", |setup| Setup { given: Given::Newest, ..setup }),
        ("goals go to the processor that copied them", |setup| Setup { after: After::Copier, ..setup }),
        ("collections lock only what reductions change", |setup| Setup {
            locked: Locked::Variables,
            ..setup
        }),
    ];
    let otherwise =
        |one: (Program, _)| others.map(|(_, other)| Wanted { setup: other(setup(one.0)), ..plain(one) });
    let mut wanted: Vec<Wanted<'_>> = programs().flat_map(|one| plain(one).on_all()).collect();
    wanted.extend(programs().flat_map(otherwise));
    wanted.extend(plain((Program::Triangle, &listed)).on_all());
    let mut cases = cases(host, scale, &wanted)?;
    let listed = cases.split_off(cases.len() - PROCESSORS.len());
    let varied = cases.split_off(Program::ALL.len() * PROCESSORS.len());
    let names = others.iter().map(|(name, _)| *name).cycle();
    let mut runs = Runs { scale, cases, variants: names.zip(varied).collect(), doubtful: Vec::new() };
    runs.doubt(listed);
    Ok(runs)
}

impl Runs {
    /// Finds out which findings would be others with triangle as it was before.
    fn doubt(&mut self, mut listed: Vec<Case>) {
        let found = tables::found(self);
        let first = Program::Triangle as usize * PROCESSORS.len();
        self.cases[first..].swap_with_slice(&mut listed);
        let others = tables::found(self);
        self.cases[first..].swap_with_slice(&mut listed);
        let differ = found.into_iter().zip(others).filter(|(one, other)| one.1 != other.1);
        self.doubtful = differ.map(|((what, _), _)| what).collect();
    }
    fn case(&self, program: Program, processors: u32) -> &Case {
        let number = PROCESSORS.iter().position(|&count| count == processors).unwrap_or(0);
        &self.cases[program as usize * PROCESSORS.len() + number]
    }
    /// How many times what it is with one processor.
    fn against_one(&self, case: &Case, of: impl Fn(&Case) -> f64) -> f64 {
        of(case) / of(self.case(case.program, 1))
    }
}

fn seconds(time: machine::Time) -> f64 {
    time as f64 / 1e9
}
/// All collections of a run.
fn collecting(run: &Run) -> f64 {
    seconds(run.collections.iter().map(|done| done.time).sum())
}
/// Where in the time of reduction a collection lies, 0 to 1.
fn part(run: &Run, done: &Collection) -> f64 {
    let before: machine::Time =
        run.collections.iter().take_while(|other| other.start < done.start).map(|other| other.time).sum();
    seconds(done.start - before) / (seconds(run.time) - collecting(run))
}
/// Mean of the words that are active after a run's collections.
fn active(run: &Run) -> f64 {
    run.collections.iter().map(|done| done.words() as f64).sum::<f64>() / run.collections.len().max(1) as f64
}

impl Case {
    fn mean(&self, of: impl Fn(&Run) -> f64) -> f64 {
        self.runs.iter().map(of).sum::<f64>() / self.runs.len() as f64
    }
    fn done(&self) -> impl Iterator<Item = &Collection> {
        self.runs.iter().flat_map(|run| &run.collections)
    }
    /// Mean of all collections.
    fn each(&self, of: impl Fn(&Collection) -> f64) -> f64 {
        self.done().map(of).sum::<f64>() / self.done().count().max(1) as f64
    }
    fn seconds(&self) -> f64 {
        self.mean(|run| seconds(run.time))
    }
    fn collecting(&self) -> f64 {
        self.mean(collecting)
    }
    fn reducing(&self) -> f64 {
        self.seconds() - self.collecting()
    }
    fn reductions(&self) -> f64 {
        self.mean(|run| run.counts.reductions as f64)
    }
    fn speed(&self) -> f64 {
        self.reductions() / self.seconds()
    }
    fn reducing_speed(&self) -> f64 {
        self.reductions() / self.reducing()
    }
    fn consumed(&self) -> f64 {
        self.mean(|run| run.consumed as f64)
    }
    fn active(&self) -> f64 {
        self.mean(active)
    }
    /// Of the runs' active words, the largest less the smallest, of the middle.
    fn spread(&self) -> f64 {
        let of: Vec<f64> = self.runs.iter().map(active).collect();
        let range = of.iter().copied().fold(0.0, f64::max) - of.iter().copied().fold(f64::INFINITY, f64::min);
        range / median(of).unwrap_or(f64::INFINITY)
    }
    fn heap_a_goal(&self) -> f64 {
        let goals: f64 = self.done().map(|done| (done.goals / u64::from(memory::GOAL)) as f64).sum();
        self.done().map(|done| done.heap as f64).sum::<f64>() / goals
    }
    fn copied_a_second(&self) -> f64 {
        self.done().map(|done| done.words() as f64).sum::<f64>()
            / self.done().map(|done| seconds(done.time)).sum::<f64>()
    }
    /// All processors' time in collections.
    fn processor_seconds(&self) -> f64 {
        f64::from(self.processors) * self.done().map(|done| seconds(done.time)).sum::<f64>()
    }
    fn used(&self) -> f64 {
        self.done().flat_map(|done| &done.busy).map(|&busy| seconds(busy)).sum::<f64>()
            / self.processor_seconds()
    }
    fn lock_in_collection(&self) -> f64 {
        100.0 * self.done().map(|done| seconds(done.lock)).sum::<f64>() / self.processor_seconds()
    }
    /// The same without waiting for the stack.
    fn lock_without_waiting(&self) -> f64 {
        100.0 * self.done().map(|done| seconds(done.lock - done.waited)).sum::<f64>()
            / self.processor_seconds()
    }
    fn lock_in_reduction(&self) -> f64 {
        100.0 * self.mean(|run| seconds(run.counts.lock)) / (f64::from(self.processors) * self.reducing())
    }
    /// Waits for the last processor, and saying so three times, of the whole time.
    fn synchronizing(&self) -> f64 {
        let barriers = 3 * u64::from(self.processors) * costs().lock;
        let waits =
            self.mean(|run| run.collections.iter().map(|done| seconds(done.stopping + barriers)).sum());
        waits / self.seconds()
    }
}

/// Rank correlation of the active words of two cases' first runs, at equal parts of the time of reduction.
fn correlation(left: &Case, right: &Case) -> f64 {
    const PARTS: usize = 8;
    let ranks = |case: &Case| -> Option<Vec<f64>> {
        let run = case.runs.first().filter(|run| !run.collections.is_empty())?;
        let at = |wanted: f64| {
            let near = |done: &&Collection| ((part(run, done) - wanted).abs() * 1e9) as u64;
            run.collections.iter().min_by_key(near).map_or(0, Collection::words)
        };
        let values: Vec<u64> = (0..PARTS).map(|n| at((n as f64 + 0.5) / PARTS as f64)).collect();
        // Equal values share the middle of their ranks.
        let rank = |value: &u64| {
            let less = values.iter().filter(|other| *other < value).count();
            let same = values.iter().filter(|other| *other == value).count();
            less as f64 + (same as f64 - 1.0) / 2.0
        };
        Some(values.iter().map(rank).collect())
    };
    let (Some(left), Some(right)) = (ranks(left), ranks(right)) else { return 0.0 };
    let middle = (PARTS as f64 - 1.0) / 2.0;
    let product =
        |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum::<f64>();
    product(&left, &right) / (product(&left, &left) * product(&right, &right)).sqrt().max(f64::MIN_POSITIVE)
}
