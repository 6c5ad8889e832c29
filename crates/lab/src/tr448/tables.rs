//! Tables: published values beside the measured ones.

use super::{Runs, Words, reductions, seconds};
use crate::record::{Kind, Record, Sample, Share};
use crate::report::{Cell, Table, percentile};

pub(super) fn all(measured: &[Runs]) -> Vec<Table> {
    vec![
        speed(measured),
        consumption(measured),
        collection(measured),
        growth(measured),
        utilisation(measured),
        sharing(measured),
        pauses(measured),
        in_use(measured),
    ]
}

/// A row for each program and number of workers.
fn rows(measured: &[Runs], cells: impl Fn(&Runs) -> Vec<Cell>) -> Vec<Vec<Cell>> {
    let row = |runs| [name(runs), cells(runs)].concat();
    measured.iter().map(row).collect()
}
fn name(runs: &Runs) -> Vec<Cell> {
    vec![Cell::Text(runs.name().into()), Cell::key(runs.workers)]
}
fn cell(value: Option<f64>, decimals: usize) -> Cell {
    value.map_or(Cell::Absent, |value| Cell::Measured(value, decimals))
}

fn speed(measured: &[Runs]) -> Table {
    let cells = |runs: &Runs| {
        let range = runs.records.iter().map(seconds);
        vec![
            cell(runs.median(seconds), 3),
            Cell::Measured(range.clone().fold(f64::INFINITY, f64::min), 3),
            Cell::Measured(range.fold(0.0, f64::max), 3),
            cell(runs.median(|record| record.cpu_seconds), 3),
            cell(runs.median(reductions), 0),
            cell(runs.quotient(reductions, seconds), 0),
            cell(runs.speedup(measured), 2),
        ]
    };
    Table::new(
        "speed",
        "Speed",
        "Medians of the runs, with the fastest and the slowest; reductions/s by elapsed time. Elapsed time times \
         workers far above CPU time means that workers had no goals, or that the machine was busy with something \
         else.",
        &["program", "workers", "s", "least s", "most s", "CPU s", "reductions", "reductions/s", "speed-up"],
        rows(measured, cells),
    )
}

fn consumption(measured: &[Runs]) -> Table {
    let cells = |runs: &Runs| {
        vec![
            cell(runs.quotient(|record| record.words_allocated as f64, reductions), 3),
            cell(runs.words_per_second(), 0),
            cell(runs.quotient(|record| record.suspensions as f64, reductions), 4),
        ]
    };
    Table::new(
        "consumption",
        "Consumption of memory",
        "Words of 8 bytes, per second of reduction time. Goals that are ready lie on a stack and consume none, unlike \
         the paper's goal records of 32 words. The paper draws these and prints no numbers.",
        &["program", "workers", "words/reduction", "words/s", "suspensions/reduction"],
        rows(measured, cells),
    )
}

fn collection(measured: &[Runs]) -> Table {
    let cells = |runs: &Runs| {
        vec![
            cell(runs.median(|record| record.count(Kind::Minor) as f64), 0),
            cell(runs.median(|record| record.count(Kind::Major) as f64), 0),
            cell(runs.median(|record| record.words_copied() as f64), 0),
            cell(runs.words_copied_per_second(), 0),
            cell(runs.quotient(|record| 100.0 * record.pause_seconds(), seconds), 2),
            cell(runs.collection_share(), 2),
        ]
    };
    Table::new(
        "collection",
        "Collection",
        "Medians of the runs. Collections are generational here: most copy only what is young. The paper's copy \
         everything.",
        &[
            "program",
            "workers",
            "minor",
            "major",
            "words copied",
            "words copied/s",
            "% of time",
            "% of reduction time",
        ],
        rows(measured, cells),
    )
}

fn growth(measured: &[Runs]) -> Table {
    let cells = |runs: &Runs| {
        let reduction = runs.against_one(measured, Runs::reductions_per_second);
        let collection = runs.against_one(measured, Runs::words_copied_per_second);
        vec![
            cell(reduction, 2),
            cell(runs.against_one(measured, Runs::words_per_second), 2),
            cell(collection, 2),
            cell(collection.zip(reduction).map(|(collection, reduction)| collection / reduction), 2),
            cell(runs.against_one(measured, |runs| mean(runs, Sample::words)), 2),
        ]
    };
    let several = |row: &Vec<Cell>| row[2..].iter().any(|cell| *cell != Cell::Absent);
    Table::new(
        "growth",
        "Against one worker",
        "How many times as much as with one worker: reductions per second of reduction time, words consumed per \
         second of it, words copied per second of collection, that divided by reductions/s, and the mean of words in \
         use after collections. The paper finds that consumption grows as reductions/s do, that words in use grow \
         with workers, and that collection falls behind: half as much as reduction, for kl1cmp and the puzzle.",
        &[
            "program",
            "workers",
            "reductions/s",
            "words/s",
            "words copied/s",
            "copied to reductions",
            "words in use",
        ],
        rows(measured, cells).into_iter().filter(several).collect(),
    )
}

fn utilisation(measured: &[Runs]) -> Table {
    let row = |runs: &Runs, worker: u32| {
        let words = |share: &Share| share.words_copied as f64;
        let (collections, part) = (runs.samples().count() as f64, runs.shares(worker).count() as f64);
        let all = runs.samples().flat_map(|sample| &sample.shares).map(words).sum();
        let own: f64 = runs.shares(worker).map(words).sum();
        let cells = [
            Cell::key(worker),
            Cell::ratio(100.0 * part, collections, 1),
            Cell::ratio(own, runs.records.len() as f64, 0),
            Cell::ratio(100.0 * own, all, 1),
            cell(runs.utilisation(worker), 1),
        ];
        [name(runs), cells.to_vec()].concat()
    };
    let rows = measured.iter().flat_map(|runs| (0..runs.workers).map(move |worker| row(runs, worker)));
    Table::new(
        "utilisation",
        "Each worker in collections",
        "Collections in which it took part (who rests is not woken for a minor one), words that it copied in a run, \
         its part of all words copied, and for how much of the time of all collections it had work. The paper draws \
         these.",
        &["program", "workers", "worker", "% took part", "words copied", "% of words", "% of time busy"],
        rows.collect(),
    )
}

fn sharing(measured: &[Runs]) -> Table {
    let cells = |runs: &Runs| {
        let per_thousand = |count: fn(&Record) -> u64| {
            cell(runs.quotient(|record| 1e3 * count(record) as f64, reductions), 4)
        };
        let lost = |record: &Record| 100.0 * record.shared_writes_lost as f64;
        vec![
            per_thousand(|record| record.shared_writes),
            cell(runs.quotient(lost, |record| record.shared_writes as f64), 3),
            per_thousand(|record| record.mails),
        ]
    };
    Table::new(
        "sharing",
        "In the place of locks",
        "The paper's system locks variables and measures the time that it takes. Ours has no locks on the way of a \
         reduction, so there is no such time to measure. Counted are writes to variables that other workers may write \
         too (a compare-and-swap each), those in which another worker was first, and mails with goals between \
         workers, which lock a mailbox. All other writes are plain.",
        &["program", "workers", "shared writes/1,000 reductions", "% of them lost", "mails/1,000 reductions"],
        rows(measured, cells),
    )
}

fn pauses(measured: &[Runs]) -> Table {
    let cells = |runs: &Runs| {
        let pauses = || runs.samples().map(|sample| sample.pause_seconds * 1e3).collect();
        let figures = [
            cell(runs.median(|record| record.collections.len() as f64), 0),
            cell(runs.median(Record::pause_seconds), 3),
        ];
        figures
            .into_iter()
            .chain([50, 99, 100].map(|percent| cell(percentile(pauses(), percent), 3)))
            .collect()
    };
    Table::new(
        "pauses",
        "Pauses",
        "Percentiles of the pauses of all runs together; number and total are medians of the runs. Not in the paper.",
        &["program", "workers", "pauses", "total s", "50 % ms", "99 % ms", "100 % ms"],
        rows(measured, cells),
    )
}

/// Words of some kind after collections: their mean over all of them.
fn mean(runs: &Runs, of: Words) -> Option<f64> {
    let count = runs.samples().count() as f64;
    (count > 0.0).then(|| runs.samples().map(|sample| of(sample) as f64).sum::<f64>() / count)
}

fn in_use(measured: &[Runs]) -> Table {
    let cells = |runs: &Runs| {
        let all = |of: Words| runs.samples().map(|sample| of(sample) as f64).sum::<f64>();
        let most = runs.samples().map(Sample::words).max();
        let live = runs.samples().filter(|sample| sample.kind == Kind::Major).map(Sample::words).max();
        vec![
            cell(mean(runs, Sample::words), 0),
            most.map_or(Cell::Absent, Cell::count),
            live.map_or(Cell::Absent, Cell::count),
            Cell::ratio(100.0 * all(Sample::goal_words), all(Sample::words), 2),
            Cell::ratio(100.0 * all(|sample| sample.waiting_words), all(Sample::words), 2),
        ]
    };
    Table::new(
        "in-use",
        "Words in use after collections",
        "Over all collections of all runs. After a minor collection what died in old space since the last major one \
         still counts, so only the value after major collections is exactly what is live (none ran: no value). Goals \
         are ready ones on the stack and records of waiting ones; everything else is data. The paper draws these.",
        &["program", "workers", "mean", "most", "most after major", "% goals", "% waiting goals"],
        rows(measured, cells),
    )
}
