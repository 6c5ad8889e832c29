//! Figure 4: what one node can send to another.

use super::{SOURCE, bits, flits, inputs, measured_on, network};
use crate::report::{Cell, Chart, Report, Series, Table};
use crate::{Config, Error, Experiment, Host};
use fabric::simulated::trace::Sent;
use fabric::simulated::{Source, Traffic, measure};
use fabric::{NodeId, Priority, Time};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "jmachine/fig4",
    title: "J-Machine: bandwidth between two nodes",
    source: SOURCE,
    about: "One node sends messages to its neighbour as fast as the network takes them. The longer the messages, the \
        less their headers matter.",
    times_host: false,
    run,
};

const WORDS: [u32; 8] = [1, 2, 3, 4, 6, 8, 12, 16];
const MESSAGES: u32 = 1000;

/// Words a cycle that arrive.
fn words_a_cycle(words: u32) -> f64 {
    let message =
        Sent { time: Time(0), from: NodeId(0), to: NodeId(1), flits: flits(words), priority: Priority::Low };
    let source = Source::Trace(vec![message; MESSAGES as usize]);
    let enough = u64::from(2 * MESSAGES * flits(words));
    let measured = measure(&network(), &Traffic { source, warm_up: 0, measure: 1, drain_max: enough });
    f64::from(words * MESSAGES) / measured.latency.percentile(100) as f64
}

fn run(experiment: &Experiment, host: &mut dyn Host, _: &Config) -> Result<Report, Error> {
    let peak = 1.0 / f64::from(network().word_flits);
    host.progress(1, 1, "messages to a neighbour");
    let rates = WORDS.map(words_a_cycle);
    let rows = WORDS.iter().zip(rates).map(|(words, rate)| {
        let published = match words {
            2 => Cell::Published(50.0, 0),
            8 => Cell::Published(90.0, 0),
            _ => Cell::Absent,
        };
        vec![
            Cell::key(*words),
            Cell::Measured(bits(rate, 1e6), 0),
            Cell::Measured(100.0 * rate / peak, 1),
            published,
        ]
    });
    let note = format!(
        "A channel carries {peak} words a cycle, {:.0} Mbit/s. Published are bounds: more than half of it with 2 \
         words, at least 90 % with 8. What sending and handling cost the nodes is not in the measured figures.",
        bits(peak, 1e6)
    );
    let heads = ["words", "Mbit/s", "% of the channel", "% at least, published"];
    let title = "Bandwidth between two nodes";
    let table = Table::new("bandwidth", title, &note, &heads, rows.collect());
    let points = WORDS.iter().zip(rates).map(|(words, rate)| (f64::from(*words), bits(rate, 1e6)));
    let line = Series { name: "measured".into(), points: points.collect() };
    let bounds = [(2.0, bits(0.5 * peak, 1e6)), (8.0, bits(0.9 * peak, 1e6))];
    let bounds = Series { name: "published, at least".into(), points: bounds.to_vec() };
    Ok(Report {
        tables: vec![table, inputs(&[])],
        charts: vec![Chart::lines("by-words", title, "words of a message", "Mbit/s", vec![line, bounds])],
        ..Report::of(experiment, measured_on())
    })
}
