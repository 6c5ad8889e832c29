//! What shared memory costs between two processes, by messages and with the same pages, beside what MPI, `memcpy` and
//! one node take in the same run: medians of ten. This program is its own node: without a launcher it starts itself
//! under one.

use dsm::fault::{Attached, Real, Stats};
use dsm::kernels::fft::Fft;
use dsm::kernels::lu::Lu;
use dsm::kernels::matmul::Matmul;
use dsm::kernels::owned::ByOwner;
use dsm::kernels::{PAGE_BYTES, PAGE_WORDS, options};
use dsm::protocol::{Mode, Options};
use dsm::{Memory, Use, Work};
use fabric::NodeId;
use fabric::mpi::{Session, launch, yardstick};
use std::collections::BTreeMap;
use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::process::ExitCode;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

const ROUNDS: usize = 10;
/// Pages that are missed one by one in a round.
const PAGES: usize = 256;
/// Pages of 64 MB, and those of a stream.
const MANY: usize = 16_384;
const STREAM: usize = 4096;
const MEGABYTES: f64 = (STREAM * PAGE_BYTES) as f64 / 1e6;

const LU: Lu = Lu { n: 512, block: 16 };
const SIX_STEPS: Fft = Fft { side: 256, inverse: false };
// Rows that others are compared with.
const PAGE_PING: &str = "MPI ping-pong of 8 bytes and 4 KB, us";
const MEMCPY: &str = "memcpy, MB/s";
const HOME_FAULT: &str = "a fault without messages, us";
const LU_ROWS: &str = "LU 512, rows of blocks, ms";
const FFT: &str = "FFT 65,536, ms";
const MATMUL: &str = "matmul 512 with filling, ms";

type Rows = BTreeMap<&'static str, Vec<f64>>;

fn main() -> ExitCode {
    if launch::program().is_some() {
        return node();
    }
    let status = launch::job("measures", 2).and_then(|mut job| job.status());
    ExitCode::from(u8::from(!status.is_ok_and(|status| status.success())))
}

/// Of a real node, which waits inside: a future that is ready at once.
fn now<R>(future: impl Future<Output = R>) -> R {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("a real node waits inside"),
    }
}

fn micros(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e6
}

fn node() -> ExitCode {
    let mut session = Session::start().expect("the first session of this process");
    let first = session.node() == NodeId(0);
    let mut yard = Rows::new();
    for _ in 0..ROUNDS {
        let ping = yardstick::ping(&session, 1000).as_secs_f64() * 1e6 / 1000.0;
        yard.entry("MPI ping-pong of 8 bytes, us").or_default().push(ping);
        let page = yardstick::ask(&session, 1000, PAGE_WORDS).as_secs_f64() * 1e6 / 1000.0;
        yard.entry(PAGE_PING).or_default().push(page);
        if first {
            serial(&mut yard);
        }
    }
    let mut tables = vec![("alone", yard)];
    for (name, direct) in [("by messages", false), ("the same pages", true)] {
        let real = Real { faults: None, direct };
        let mut rows = Rows::new();
        for measure in [misses, steps, streams, kernels] {
            let of_one = |_| Options {
                homes: vec![NodeId(0); MANY].into(),
                ..options(0, NodeId(0), 2, Mode::Invalidate)
            };
            let options = |node| Options { node, ..of_one(node) };
            let ended = real.join(&mut session, options, measure).unwrap_or_else(|failed| panic!("{failed}"));
            rows.extend(ended.result);
        }
        let layout = ByOwner::new(&LU, 2);
        let by_owner = |node| layout.options(node, 2, Mode::Invalidate);
        let ended = real.join(&mut session, by_owner, |memory| lu_by_owner(memory, &layout));
        rows.extend(ended.unwrap_or_else(|failed| panic!("{failed}")).result);
        let by_owner = |node| Options {
            homes: SIX_STEPS.homes(2).into(),
            ..options(SIX_STEPS.words(), node, 2, Mode::Invalidate)
        };
        let ended = real.join(&mut session, by_owner, fft_by_owner);
        rows.extend(ended.unwrap_or_else(|failed| panic!("{failed}")).result);
        tables.push((name, rows));
    }
    // Most is measured by node 1, which has no page at home.
    let bytes = session.gather(text(&tables)).expect("all processes are there");
    if let [first, second] = &bytes[..] {
        let [first, second] = [first, second].map(|bytes| read(&String::from_utf8_lossy(bytes)));
        report(&first, &second);
    }
    session.finish();
    ExitCode::SUCCESS
}

/// A table's name, a row, its median and its least value.
type Figure = (String, String, f64, f64);

fn text(tables: &[(&str, Rows)]) -> Vec<u8> {
    let mut text = String::new();
    for (name, rows) in tables {
        for (row, values) in rows {
            let mut values = values.clone();
            values.sort_by(f64::total_cmp);
            // Of the parts of a kernel's time, those that there are.
            if row.contains(": ") && values[values.len() / 2] == 0.0 {
                continue;
            }
            text += &format!("{name}\t{row}\t{}\t{}\n", values[values.len() / 2], values[0]);
        }
    }
    text.into_bytes()
}

fn read(text: &str) -> Vec<Figure> {
    let figure = |line: &str| {
        let parts: Vec<&str> = line.split('\t').collect();
        let [name, row, median, least] = parts[..] else { panic!("{line}") };
        let [median, least] = [median, least].map(|number| number.parse().expect("a number"));
        (name.to_string(), row.to_string(), median, least)
    };
    text.lines().map(figure).collect()
}

/// What a figure is compared with, of the same run.
fn yardsticks(row: &str) -> &'static [&'static str] {
    match row {
        "read miss, us" | "write miss, us" => &[HOME_FAULT, PAGE_PING],
        "write upgrade, us" => &[HOME_FAULT],
        row if row.starts_with("stream") => &[MEMCPY],
        row if row.starts_with("LU") && !row.contains(':') => &[LU_ROWS],
        row if row.starts_with("FFT") && !row.contains(':') => &[FFT],
        MATMUL => &[MATMUL],
        _ => &[],
    }
}

fn report(first: &[Figure], second: &[Figure]) {
    let at_first = |(name, row, ..): &&Figure| {
        // Of the parts of a kernel's time, those of node 1, which has no page at home.
        let whole = row.ends_with("ms") && !row.contains(": ");
        name == "alone" || row == HOME_FAULT || row.starts_with("barrier") || whole
    };
    let all = || first.iter().filter(at_first).chain(second.iter().filter(|figure| !at_first(figure)));
    let find = |row: &str, tables: [&str; 2]| {
        let mut all = all();
        all.find(|(name, other, ..)| other == row && tables.contains(&name.as_str())).map(|figure| figure.2)
    };
    for (name, row, median, least) in all() {
        let mut line = format!("{}, {name}: {row}: {median:.2} (least {least:.2}", launch::library());
        let beside = if name == "alone" { &[][..] } else { yardsticks(row) };
        let known: Vec<f64> =
            beside.iter().filter_map(|other| find(other, ["alone", "by messages"])).collect();
        for (other, value) in beside.iter().zip(&known) {
            line += &format!("; {other}: {value:.2}");
        }
        let sum: f64 = known.iter().sum();
        if row.ends_with(", us") && !known.is_empty() {
            line += &format!("; more than these: {:.2}", median - sum);
        } else if let [one] = known[..] {
            line += &format!("; ratio {:.2}", median / one);
        }
        println!("{line})");
    }
}

/// The programs on one node, and copies.
fn serial(rows: &mut Rows) {
    let (from, mut to) = (vec![1.5f64; STREAM * PAGE_WORDS], vec![0.0; STREAM * PAGE_WORDS]);
    // The first copy brings the memory.
    to.copy_from_slice(black_box(&from));
    let begin = Instant::now();
    black_box(&mut to).copy_from_slice(black_box(&from));
    black_box(&to);
    rows.entry(MEMCPY).or_default().push(MEGABYTES / begin.elapsed().as_secs_f64());
    let one = |node| Options { homes: vec![node; MANY].into(), ..options(0, node, 1, Mode::Invalidate) };
    let ended = Real::default().run(1, one, kernels).unwrap_or_else(|failed| panic!("{failed}"));
    ended.into_iter().for_each(|ended| {
        ended.result.into_iter().for_each(|(row, mut values)| {
            values.sort_by(f64::total_cmp);
            rows.entry(row).or_default().push(values[values.len() / 2]);
        })
    });
}

/// Node 1 reads pages of node 0, writes them, and writes pages that it does not have; then the same while node 0
/// computes.
fn misses(memory: &Attached<'_>) -> Rows {
    let region = memory.region::<u64>(0, PAGES * PAGE_WORDS);
    let touch = |write: bool, round: usize| {
        let begin = Instant::now();
        for page in 0..PAGES {
            let at = page * PAGE_WORDS + memory.node() as usize;
            if write { region.set(at, round as u64 + 1) } else { _ = black_box(region.get(at)) }
        }
        micros(begin) / PAGES as f64
    };
    let mut rows = Rows::new();
    for round in 0..ROUNDS {
        for (row, write) in [("read miss, us", false), ("write upgrade, us", true), ("write miss, us", true)]
        {
            // An upgrade needs what was read before it.
            if memory.node() == 0 && row != "write upgrade, us" {
                touch(true, round);
            }
            if row != "write upgrade, us" {
                now(memory.barrier());
            }
            if memory.node() == 1 {
                rows.entry(row).or_default().push(touch(write, round));
            }
            if row != "read miss, us" {
                now(memory.barrier());
            }
        }
        // The home writes pages of which node 1 has copies.
        if memory.node() == 1 {
            touch(false, round);
        }
        now(memory.barrier());
        if memory.node() == 0 {
            rows.entry(HOME_FAULT).or_default().push(touch(true, round));
        }
        now(memory.barrier());
        let begin = Instant::now();
        if memory.node() == 0 {
            while begin.elapsed() < Duration::from_millis(100) {}
        } else {
            for page in 0..8 {
                let begin = Instant::now();
                black_box(region.get(page * PAGE_WORDS));
                rows.entry("a miss while the home computes, us").or_default().push(micros(begin));
            }
        }
        now(memory.barrier());
    }
    rows
}

/// Barriers, locks and a release.
fn steps(memory: &Attached<'_>) -> Rows {
    let region = memory.region::<u64>(0, MANY * PAGE_WORDS);
    let mut rows = Rows::new();
    for round in 0..ROUNDS {
        let begin = Instant::now();
        (0..500).for_each(|_| now(memory.barrier()));
        rows.entry("barrier, nothing dirty, us").or_default().push(micros(begin) / 500.0);
        let begin = Instant::now();
        for _ in 0..200 {
            now(memory.lock(0));
            now(memory.unlock(0));
        }
        rows.entry("lock hand-off, us").or_default().push(micros(begin) / 400.0);
        now(memory.barrier());
        // Lock 1 is at home at node 1.
        if memory.node() == 1 {
            for page in 0..32 {
                now(memory.lock(1));
                region.set(page * PAGE_WORDS, round as u64 + 7);
                let begin = Instant::now();
                now(memory.unlock(1));
                rows.entry("release of one page, us").or_default().push(micros(begin));
            }
        }
        now(memory.barrier());
        if memory.node() == 1 {
            memory.touch(&[Use::read(0, MANY * PAGE_WORDS)]);
        }
        now(memory.barrier());
        if memory.node() == 0 {
            (0..MANY).for_each(|page| region.set(page * PAGE_WORDS + 1, round as u64 + 1));
        }
        let begin = Instant::now();
        now(memory.barrier());
        rows.entry("barrier that invalidates 64 MB, ms").or_default().push(micros(begin) / 1e3);
    }
    rows
}

/// Node 1 reads 16 MB of node 0, and writes them.
fn streams(memory: &Attached<'_>) -> Rows {
    let words = STREAM * PAGE_WORDS;
    let mut rows = Rows::new();
    for round in 0..ROUNDS {
        if memory.node() == 0 {
            now(memory.with(&[Use::write(0, words)], |views| views[0].fill(round as f64)));
        }
        now(memory.barrier());
        if memory.node() == 1 {
            let begin = Instant::now();
            now(memory.with(&[Use::read(0, words)], |views| black_box(views[0].iter().sum::<f64>())));
            rows.entry("stream read, MB/s").or_default().push(MEGABYTES / begin.elapsed().as_secs_f64());
        }
        now(memory.barrier());
        let begin = Instant::now();
        if memory.node() == 1 {
            now(memory.with(&[Use::write(0, words)], |views| views[0].fill(round as f64 + 0.5)));
        }
        now(memory.barrier());
        rows.entry("stream write and release, MB/s")
            .or_default()
            .push(MEGABYTES / begin.elapsed().as_secs_f64());
    }
    rows
}

/// Names of a kernel's rows: its time, and what that of a node went into.
macro_rules! rows_of {
    ($name:expr) => {
        [
            concat!($name, ", ms"),
            concat!($name, ": computing, ms"),
            concat!($name, ": waiting for pages, ms"),
            concat!($name, ": releasing, ms"),
            concat!($name, ": waiting in barriers, ms"),
            concat!($name, ": misses"),
            concat!($name, ": upgrades"),
            concat!($name, ": diffs"),
        ]
    };
}

/// What a node has done since then: a kernel's rows.
fn note(rows: &mut Rows, names: [&'static str; 8], memory: &Attached<'_>, begin: Stats) {
    let done = memory.stats() - begin;
    let millis = |nanoseconds: u64| nanoseconds as f64 / 1e6;
    let Work { fetching, releasing, barriers, .. } = done.work;
    let times = [done.nanoseconds, done.computing(), fetching, releasing, barriers].map(millis);
    let counters = done.counters;
    let counts = [counters.misses, counters.upgrades(), counters.diffs].map(|count| count as f64);
    let values = times.into_iter().chain(counts);
    names.into_iter().zip(values).for_each(|(row, value)| rows.entry(row).or_default().push(value));
}

/// All pages are at home at node 0; the first rounds bring what stays.
fn kernels(memory: &Attached<'_>) -> Rows {
    let matmul = Matmul { n: 512 };
    let mut rows = Rows::new();
    for _ in 0..ROUNDS {
        now(LU.fill(memory));
        let begin = memory.stats();
        now(LU.factorise(memory));
        note(&mut rows, rows_of!("LU 512, rows of blocks"), memory, begin);
        now(SIX_STEPS.fill(memory));
        let begin = memory.stats();
        now(SIX_STEPS.run(memory));
        note(&mut rows, rows_of!("FFT 65,536"), memory, begin);
        let begin = memory.stats();
        black_box(now(matmul.run(memory)));
        note(&mut rows, rows_of!("matmul 512 with filling"), memory, begin);
        now(memory.barrier());
    }
    rows
}

/// The same with the blocks of each node in pages of its own.
fn lu_by_owner(memory: &Attached<'_>, layout: &ByOwner) -> Rows {
    let mut rows = Rows::new();
    let over = layout.over(memory);
    for _ in 0..ROUNDS {
        now(LU.fill(&over));
        let begin = memory.stats();
        now(LU.factorise(&over));
        note(&mut rows, rows_of!("LU 512, blocks by owner"), memory, begin);
        now(memory.barrier());
    }
    rows
}

/// The same with the rows of each node in pages of its own.
fn fft_by_owner(memory: &Attached<'_>) -> Rows {
    let mut rows = Rows::new();
    for _ in 0..ROUNDS {
        now(SIX_STEPS.fill(memory));
        let begin = memory.stats();
        now(SIX_STEPS.run(memory));
        note(&mut rows, rows_of!("FFT 65,536, rows by owner"), memory, begin);
    }
    rows
}
