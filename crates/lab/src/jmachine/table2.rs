//! Table 2: what synchronization on a slot costs.

use super::SOURCE;
use crate::disturbed::{self, Share, Timed};
use crate::report::{Cell, Report, Table, median};
use crate::{Config, Error, Experiment, Host, Scale};
use fabric::{Fabric, threads};
use machine::{Call, Context, Costs, Here, Machine, Program, Slot, Verdict};
use std::cell::Cell as Shared;
use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "jmachine/table2",
    title: "J-Machine: synchronization of threads",
    source: SOURCE,
    about: "A thread that reads a slot before it is filled has to wait. The J-Machine's tags say which slots are \
        empty; without them programs have to keep and test flags. Here, a slot is a value of the machine, and a \
        thread is a task.",
    times_host: true,
    run,
};

/// What was measured, in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Times {
    success: f64,
    write: f64,
    /// A read that fails, a write that finds a waiting task, and the restart.
    wait: f64,
}

/// A node whose tasks read and fill slots.
struct Slots {
    count: usize,
    times: Rc<Shared<Times>>,
}

impl Slots {
    /// Nanoseconds of each.
    fn since(&self, begin: Instant) -> f64 {
        begin.elapsed().as_secs_f64() * 1e9 / self.count as f64
    }
}

impl Program for Slots {
    fn start(&mut self, here: &Here) {
        let (here, this) = (here.clone(), Slots { count: self.count, times: self.times.clone() });
        here.clone().spawn(async move {
            let slots = || (0..this.count).map(|_| Slot::new()).collect::<Vec<Slot<u64>>>();
            let mut times = Times::default();
            let full = slots();
            let begin = Instant::now();
            full.iter().for_each(|slot| _ = black_box(slot).fill(1));
            times.write = this.since(begin);
            let begin = Instant::now();
            for slot in &full {
                black_box(slot.read().await);
            }
            times.success = this.since(begin);
            // Two tasks that wait for each other in turn.
            let (pings, pongs) = (slots(), slots());
            let other = pings.iter().cloned().zip(pongs.iter().cloned()).collect::<Vec<_>>();
            here.spawn(async move {
                for (ping, pong) in other {
                    let _ = pong.fill(ping.read().await);
                }
            });
            let begin = Instant::now();
            for (ping, pong) in pings.iter().zip(&pongs) {
                let _ = ping.fill(1);
                black_box(pong.read().await);
            }
            times.wait = this.since(begin) / 2.0;
            this.times.set(times);
        });
    }
    fn handle<F: Fabric>(&mut self, _: &mut Context<'_, F>, _: &Call<'_>) -> Verdict {
        Verdict::Strange
    }
}

fn measure(count: usize) -> Result<Timed<Times>, Error> {
    let make = |node| Machine::new(node, 1, Slots { count, times: Rc::default() }, Costs::REAL);
    let timed = threads::run(1, make, |machine| {
        let starved = Share::now().is_starved();
        Timed { value: machine.program.times.get(), starved }
    });
    timed.map_err(|failed| Error(failed.to_string()))?.pop().ok_or_else(|| Error("no node ran".into()))
}

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    host.progress(1, 1, "slots of this host");
    let count = if config.scale == Scale::Full { 200_000 } else { 1000 };
    let parts = |times: &Times| vec![times.success, times.write, times.wait];
    let (times, is_disturbed) =
        disturbed::repeated(config, disturbed::REPETITIONS, || measure(count), parts)?;
    let disturbed = if is_disturbed { vec!["all rows".to_string()] } else { Vec::new() };
    let range = |of: fn(&Times) -> f64| {
        let values: Vec<f64> = times.iter().map(of).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        [median(values).unwrap_or_default(), least, most].map(|nanos| Cell::Measured(nanos, 1)).to_vec()
    };
    let row = |what: &str, published: [Option<f64>; 2], measured: Vec<Cell>| {
        let published =
            published.map(|cycles| cycles.map_or(Cell::Absent, |cycles| Cell::Published(cycles, 0)));
        [vec![Cell::Text(what.into())], published.to_vec(), measured].concat()
    };
    let nothing = || vec![Cell::Absent; 3];
    let rows = vec![
        row("read that succeeds", [Some(2.0), Some(5.0)], range(|times| times.success)),
        row("read that fails", [Some(6.0), Some(7.0)], nothing()),
        row("write", [Some(4.0), Some(6.0)], range(|times| times.write)),
        row("restart", [Some(0.0), Some(0.0)], nothing()),
        row("saving a thread's state, at least", [Some(30.0), None], nothing()),
        row("saving a thread's state, at most", [Some(50.0), None], nothing()),
        row("restoring it, at least", [Some(20.0), None], nothing()),
        row("restoring it, at most", [Some(50.0), None], nothing()),
        row("to wait once: read, write and restart", [None, None], range(|times| times.wait)),
    ];
    let note = format!(
        "The cycles are the paper's, and inputs where a simulated thread waits. This host's figures are of {count} \
         slots each: median, least and most of {} runs. To wait once is what two tasks that wait for each other in \
         turn take for it; its parts are not measured alone. (Saving and restoring are printed once, for both.){}",
        config.runs,
        disturbed::told(&disturbed)
    );
    let heads = ["operation", "cycles with tags", "without", "ns, this host", "least", "most"];
    Ok(Report {
        tables: vec![Table::new("slots", "Synchronization", &note, &heads, rows)],
        ..Report::of(experiment, format!("Measured on {}.", host.machine()))
    })
}
