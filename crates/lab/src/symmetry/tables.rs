//! What the runs say: the paper's tables, its findings, what was told.

use super::machine::{Costs, JITTER};
use super::memory::{FLAG, GOAL, HEAD, MESSAGE, PRINTED, SUSPENSION};
use super::programs::Program;
use super::{Case, PROCESSORS, Runs, sizes};
use crate::Scale;
use crate::report::{Cell, Kind, Table, inputs};

pub(super) fn all(runs: &Runs) -> Vec<Table> {
    vec![
        findings(runs),
        speed(runs),
        pushed(runs),
        copying(runs),
        shares(runs),
        consumption(runs),
        collections(runs),
        assumed(runs),
        told(runs),
    ]
}

/// A row for each program and number of processors.
fn rows(runs: &Runs, cells: impl Fn(&Case) -> Vec<Cell>) -> Vec<Vec<Cell>> {
    let row = |case: &Case| {
        [vec![Cell::text(case.program.name()), Cell::key(case.processors)], cells(case)].concat()
    };
    runs.cases.iter().map(row).collect()
}

fn published(value: Option<f64>, decimals: usize) -> Cell {
    value.map_or(Cell::Absent, |value| Cell::Published(value, decimals))
}

fn speed(runs: &Runs) -> Table {
    let cells = |case: &Case| {
        let [seconds, rate, up] = match case.program {
            Program::Puzzle => [606.02, 1_891.0, 7.5],
            Program::Kl1cmp => [126.83, 1_508.0, 5.9],
            Program::Triangle => [365.15, 1_825.0, 6.4],
        };
        let (one, eight) = (case.processors == 1, case.processors == 8);
        let kind = case.program.kind();
        vec![
            Cell::Derived(case.seconds(), 2),
            published(one.then_some(seconds), 2),
            Cell::number(kind, case.reductions(), 0),
            Cell::number(if one { Kind::Fitted } else { kind }, case.reductions() / case.reducing(), 0),
            published(one.then_some(rate), 0),
            Cell::number(kind, runs.against_one(case, Case::speed), 2),
            published(eight.then_some(up), 1),
            Cell::number(kind, runs.against_one(case, Case::reducing_speed), 2),
        ]
    };
    Table::new(
        "speed",
        "Table 2: speed",
        "Seconds follow from the size of the programs, which is ours. Reductions/s are of the time without \
         collections; on one processor those of puzzle and kl1cmp were fitted. Triangle's figures are called fitted, here \
         and below: its program lost a list of jumps, of which the paper says nothing, after its runs had been seen.",
        &[
            "program",
            "processors",
            "s",
            "published",
            "reductions",
            "reductions/s",
            "published",
            "speed-up",
            "published",
            "without collections",
        ],
        rows(runs, cells),
    )
}

fn pushed(runs: &Runs) -> Table {
    let row = |program: Program| {
        let case = runs.case(program, 1);
        let (printed, kind) = match program {
            Program::Puzzle => (0.17, Kind::Measured),
            Program::Kl1cmp => (0.33, Kind::Measured),
            Program::Triangle => (0.85, Kind::Derived),
        };
        let value = case.mean(|run| run.counts.pushes as f64) / case.reductions();
        vec![Cell::text(program.name()), Cell::number(kind, value, 3), Cell::Published(printed, 2)]
    };
    Table::new(
        "pushed",
        "Table 3: goals pushed a reduction",
        "A property of the programs. Triangle's follows from 36 goals and 42 reductions a position.",
        &["program", "pushed a reduction", "published"],
        Program::ALL.map(row).to_vec(),
    )
}

fn copying(runs: &Runs) -> Table {
    let row = |program: Program| {
        let (printed, kind) = match program {
            Program::Puzzle => (14.4, Kind::Measured),
            Program::Kl1cmp => (14.8, Kind::Fitted),
            Program::Triangle => (15.1, Kind::Fitted),
        };
        let value = runs.case(program, 1).copied_a_second() / 1e3;
        vec![Cell::text(program.name()), Cell::number(kind, value, 1), Cell::Published(printed, 1)]
    };
    Table::new(
        "copying",
        "Table 4: words copied on one processor",
        "A record counts as 32 words, and is copied by its head and its arguments.",
        &["program", "1,000 words/s", "published"],
        Program::ALL.map(row).to_vec(),
    )
}

/// Table 5: collection to reduction, locks in reduction, locks in collection; on 2, 4, 8 processors.
const TABLE5: [(Program, [[f64; 3]; 3]); 3] = [
    (Program::Puzzle, [[0.4, 0.7, 1.2], [6.8, 6.5, 6.2], [35.3, 29.1, 19.2]]),
    (Program::Kl1cmp, [[5.6, 10.3, 18.2], [6.2, 6.3, 5.8], [4.8, 3.6, 3.0]]),
    (Program::Triangle, [[0.2, 1.2, 2.0], [9.2, 9.5, 8.9], [19.7, 23.4, 13.7]]),
];

fn shares(runs: &Runs) -> Table {
    let cells = |case: &Case| {
        let at =
            PROCESSORS.iter().position(|&count| count == case.processors).and_then(|at| at.checked_sub(1));
        let (_, printed) = TABLE5[case.program as usize];
        let printed = |which: usize| published(at.map(|at| printed[which][at]), 1);
        let is_fitted = case.program == Program::Kl1cmp && case.processors == 2;
        let kind = if is_fitted { Kind::Fitted } else { case.program.kind() };
        vec![
            Cell::number(case.program.kind(), 100.0 * case.collecting() / case.reducing(), 2),
            printed(0),
            Cell::number(kind, case.lock_in_reduction(), 1),
            printed(1),
            Cell::number(case.program.kind(), case.lock_in_collection(), 1),
            printed(2),
            Cell::number(case.program.kind(), case.lock_without_waiting(), 1),
        ]
    };
    Table::new(
        "shares",
        "Table 5: collections and locks, in percent",
        "Time of collections to time of reduction; time in locks of all processors' time in reduction, and in \
         collections. The time of a lock was fitted to kl1cmp's reduction on 2. A push takes no lock, because others ask \
         a processor for its ready goals. In a collection the shared stack is locked, and each object that is copied. The \
         last column leaves out waiting for the stack.",
        &[
            "program",
            "processors",
            "gc/red",
            "published",
            "lock in red",
            "published",
            "lock in gc",
            "published",
            "without waiting",
        ],
        rows(runs, cells),
    )
}

fn consumption(runs: &Runs) -> Table {
    let cells = |case: &Case| {
        let up = runs.against_one(case, Case::reducing_speed);
        let consumed = runs.against_one(case, |case| case.consumed() / case.reducing());
        let is_sized = case.program == Program::Kl1cmp && case.processors == 1;
        let free = case.program.kind();
        let kind = if is_sized { Kind::Fitted } else { free };
        vec![
            Cell::number(kind, case.consumed() / case.reductions(), 2),
            Cell::number(kind, case.consumed() / case.reducing(), 0),
            Cell::number(free, consumed, 2),
            Cell::number(free, up, 2),
            Cell::number(free, consumed / up, 2),
            Cell::number(free, case.mean(|run| run.counts.records as f64), 0),
        ]
    };
    Table::new(
        "consumption",
        "Figures 1 and 2: words taken from blocks",
        "A record from a free list is not consumed, nor is what a collection copies. What kl1cmp consumes on one \
         processor was fitted, by the size of its tables, to ten collections.",
        &[
            "program",
            "processors",
            "words a reduction",
            "words/s",
            "consumption, times",
            "reduction, times",
            "consumption : speed",
            "records from blocks",
        ],
        rows(runs, cells),
    )
}

fn collections(runs: &Runs) -> Table {
    let cells = |case: &Case| {
        let kind = if case.processors == 1 { Kind::Fitted } else { case.program.kind() };
        let up = runs.against_one(case, Case::copied_a_second);
        let cell = |value, decimals| Cell::number(case.program.kind(), value, decimals);
        vec![
            Cell::number(kind, case.mean(|run| run.collections.len() as f64), 1),
            cell(case.collecting(), 2),
            cell(case.active(), 0),
            cell(100.0 * case.spread(), 1),
            cell(case.heap_a_goal(), 1),
            cell(case.copied_a_second(), 0),
            cell(up, 2),
            cell(up / runs.against_one(case, Case::reducing_speed), 2),
            cell(100.0 * case.used(), 0),
            cell(case.each(|done| done.stopping as f64) / 1e6, 2),
        ]
    };
    Table::new(
        "collections",
        "Figures 3 to 8: collections",
        "Active words are those that a collection copies: the mean of all collections and runs; spread is that of the \
         runs' means, of the middle one. The number on one processor was fitted: for kl1cmp by its tables, for puzzle by \
         the size of its blocks. A synchronization is the wait for the last processor to end its reduction.",
        &[
            "program",
            "processors",
            "collections",
            "s of all",
            "active words",
            "spread %",
            "heap words a goal",
            "words copied/s",
            "speed-up",
            "to that of reduction",
            "use of processors %",
            "ms of a synchronization",
        ],
        rows(runs, cells),
    )
}

fn assumed(runs: &Runs) -> Table {
    let row = |(name, case): (&str, &Case)| {
        let cell = |value, decimals| Cell::number(case.program.kind(), value, decimals);
        vec![
            Cell::text(case.program.name()),
            Cell::text(name),
            cell(runs.against_one(case, Case::speed), 2),
            cell(case.consumed() / case.reductions(), 2),
            cell(case.active(), 0),
            cell(case.lock_in_collection(), 1),
        ]
    };
    let plain = runs.cases.iter().filter(|case| case.processors == 8);
    let plain = plain.map(|case| ("oldest goal given, goals stay", case));
    Table::new(
        "assumed",
        "What is not printed: both ways, on 8 processors",
        "Which goal is given to a processor that asks, whose a ready goal is after a collection, and whether a collection \
         locks all objects or only those that reductions change.",
        &["program", "way", "speed-up", "words a reduction", "active words", "lock in gc %"],
        plain.chain(runs.variants.iter().map(|(name, case)| (*name, case))).map(row).collect(),
    )
}

/// What the paper finds, and whether it is so here.
pub(super) fn found(runs: &Runs) -> Vec<(&'static str, bool)> {
    reduction_findings(runs).into_iter().chain(collection_findings(runs)).collect()
}

fn findings(runs: &Runs) -> Table {
    let kind = |what: &str| {
        let is_fitted = what == MOST || what.starts_with("triangle") || runs.doubtful.contains(&what);
        if is_fitted { Kind::Fitted } else { Kind::Measured }
    };
    let row = |(what, holds): (&str, bool)| vec![Cell::text(what), Cell::Finding(kind(what), holds)];
    Table::new(
        "findings",
        "What the paper finds",
        "On 8 processors against one, unless it says otherwise. What is said of all three programs is measured if it \
         comes out with triangle's list of jumps as without it, and otherwise fitted.",
        &["what", "holds"],
        found(runs).into_iter().map(row).collect(),
    )
}

/// It follows from the number of collections on one processor, for which the programs' sizes were chosen.
const MOST: &str = "kl1cmp consumes most a reduction";

fn on_all(holds: impl Fn(Program) -> bool) -> bool {
    Program::ALL.into_iter().all(holds)
}

/// On consumption and active words.
fn reduction_findings(runs: &Runs) -> Vec<(&'static str, bool)> {
    use Program::{Kl1cmp, Puzzle, Triangle};
    let of = |program, processors| runs.case(program, processors);
    let words =
        |program, processors| of(program, processors).consumed() / of(program, processors).reductions();
    let grows = |program, at| words(program, at) / words(program, 1);
    let as_speed = |program| [2, 4, 8].into_iter().all(|at| (0.9..=1.1).contains(&grows(program, at)));
    let pattern = |program| super::correlation(of(program, 1), of(program, 8));
    vec![
        (MOST, words(Kl1cmp, 1) > words(Puzzle, 1).max(words(Triangle, 1))),
        (
            "consumption grows as speed does, within 10 %: puzzle and kl1cmp",
            as_speed(Puzzle) && as_speed(Kl1cmp),
        ),
        ("triangle consumes far more than speed grows: above 1.2", grows(Triangle, 8) > 1.2),
        ("active words grow with processors", on_all(|p| of(p, 8).active() > of(p, 1).active())),
        ("the pattern over collections stays: rank correlation above 0.5", on_all(|p| pattern(p) > 0.5)),
        ("spread grows with processors: 8 against 2", on_all(|p| of(p, 8).spread() > of(p, 2).spread())),
        ("heap grows less than goal records", on_all(|p| of(p, 8).heap_a_goal() < of(p, 1).heap_a_goal())),
    ]
}

/// On what collections cost.
fn collection_findings(runs: &Runs) -> Vec<(&'static str, bool)> {
    use Program::{Kl1cmp, Puzzle, Triangle};
    let of = |program, processors| runs.case(program, processors);
    let up = |program, speed: fn(&Case) -> f64| runs.against_one(of(program, 8), speed);
    let lost = |program| 1.0 - up(program, Case::speed) / up(program, Case::reducing_speed);
    let collected = |program| up(program, Case::copied_a_second);
    let is_half = |program| (0.35..=0.65).contains(&(collected(program) / up(program, Case::reducing_speed)));
    let more_locks = |program| {
        PROCESSORS[1..]
            .iter()
            .all(|&at| of(program, at).lock_in_collection() > of(program, at).lock_in_reduction())
    };
    let waits_little = |program| PROCESSORS.iter().all(|&at| of(program, at).synchronizing() < 0.01);
    vec![
        (
            "collection costs kl1cmp speed-up, above 10 %, and the others none, below 5 %",
            lost(Kl1cmp) > 0.1 && lost(Puzzle) < 0.05 && lost(Triangle) < 0.05,
        ),
        (
            "collection speeds up half as much as reduction, .35 to .65: puzzle and kl1cmp",
            is_half(Puzzle) && is_half(Kl1cmp),
        ),
        ("triangle collects faster than P times", collected(Triangle) > 8.0),
        (
            "use of processors in collections: kl1cmp below 60 %, the others above 80 %",
            of(Kl1cmp, 8).used() < 0.6 && of(Puzzle, 8).used() > 0.8 && of(Triangle, 8).used() > 0.8,
        ),
        ("synchronization costs nearly nothing: below 1 % of the time", on_all(waits_little)),
        (
            "locks cost more in collection than in reduction, but in kl1cmp",
            more_locks(Puzzle) && more_locks(Triangle) && !more_locks(Kl1cmp),
        ),
    ]
}

fn told(runs: &Runs) -> Table {
    let Costs { reduction, word, lock, copy, goal, poll } = super::costs();
    let micros = |time: u64| format!("{}", time as f64 / 1e3);
    let size = |what: u32| what.to_string();
    let table1 = "printed: table 1";
    let memory = "printed: 2.1, 2.2";
    let mut told = vec![
        ("words of a block", size(sizes(Program::Kl1cmp, Scale::Full).block), memory),
        ("blocks of a side", size(PRINTED.blocks), memory),
        ("memory, K words", size(sizes(Program::Kl1cmp, Scale::Full).block * PRINTED.blocks / 1024), memory),
        ("words of a goal record", size(GOAL), table1),
        ("words of a suspension record", size(SUSPENSION), table1),
        ("words of a communication record", size(MESSAGE), table1),
        ("words of a variable", size(1), table1),
        ("words of a list", size(2), table1),
        ("words of a suspension flag", size(FLAG), table1),
        ("synchronizations a collection", size(3), "printed: 2.2"),
        (
            "words of a block, puzzle",
            size(sizes(Program::Puzzle, runs.scale).block),
            "fitted to ten collections on one",
        ),
        ("us a reduction", micros(reduction), "fitted to puzzle's and kl1cmp's reductions/s"),
        ("us a word taken from a block", micros(word), "fitted to puzzle's and kl1cmp's reductions/s"),
        ("us a lock", micros(lock), "fitted to kl1cmp's locks in reduction on 2"),
        ("us a word copied", micros(copy), "fitted to kl1cmp's and triangle's words copied/s"),
        (
            "us a goal that is copied, beside its words",
            micros(goal),
            "fitted to kl1cmp's and triangle's words copied/s",
        ),
    ];
    told.extend([
        ("words of a record's head that are copied", size(HEAD), "assumed"),
        ("us between two looks of an idle processor", micros(poll), "assumed"),
        ("ms within which processors start", size((JITTER / 1_000_000) as u32), "assumed"),
    ]);
    inputs(
        "A suspension takes half a reduction, an answer to a processor that asks a whole one: assumed.",
        &told,
    )
}
