//! Table I: what the stages of the interface board do. Inputs, and what follows from them for a page.

use super::SOURCE;
use crate::report::{Cell, Report, Table};
use crate::{Config, Error, Experiment, Host};
use dsm::kernels::PAGE_BYTES;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "staff/table1",
    title: "STAFF-Link: a page through the interface boards",
    source: SOURCE,
    about: "What the stages of an interface board take, as printed, and what follows from that for a page that goes \
        to a neighbour. This is arithmetic: nothing is measured or simulated here.",
    times_host: false,
    run,
};

/// A processor writes to its board's buffer, and reads from it, Mbit/s.
pub(super) const WRITE_MBIT_S: f64 = 128.0;
pub(super) const READ_MBIT_S: f64 = 64.0;
/// A stage that each bit passes: what it does, Mbit/s.
const STAGES: [(&str, f64); 5] = [
    ("write to the buffer", WRITE_MBIT_S),
    ("buffer to FIFO", 200.0),
    ("FIFO to FIFO, the link", 140.0),
    ("FIFO to buffer", 200.0),
    ("read from the buffer", READ_MBIT_S),
];
/// What a packet takes besides, each time, us: at each of the two boards, at the FIFO, at a node that it passes.
pub(super) const ACCESS_US: f64 = 45.0;
const FIFO_US: f64 = 0.32;
const ROUTING_US: f64 = 1.0;
/// A transfer of a page of 4 KB, us: "about 3 ms".
pub(super) const PUBLISHED_US: f64 = 3000.0;

/// What a number of bytes takes in a stage, us.
fn stage_us(bytes: usize, mbit_s: f64) -> f64 {
    bytes as f64 * 8.0 / mbit_s
}

/// One way to a neighbour, us: two boards are accessed, and each stage begins when the one before has ended, or, if
/// they overlap, all go on at the pace of the slowest.
fn way_us(bytes: usize, overlap: bool) -> f64 {
    let times = STAGES.map(|(_, rate)| stage_us(bytes, rate));
    let stages = if overlap { times.into_iter().fold(0.0, f64::max) } else { times.iter().sum() };
    2.0 * ACCESS_US + FIFO_US + ROUTING_US + stages
}

fn derived(value: f64, decimals: usize) -> Cell {
    Cell::Derived(value, decimals)
}

fn run(experiment: &Experiment, _: &mut dyn Host, _: &Config) -> Result<Report, Error> {
    let text = |text: &str| Cell::Text(text.into());
    let stage = |(what, rate): (&str, f64)| {
        let (told, printed) = (Cell::Input(rate, 0), Cell::Published(rate, 0));
        vec![text(what), told, printed, Cell::Absent, Cell::Absent, derived(stage_us(PAGE_BYTES, rate), 0)]
    };
    let start = |(what, us): (&str, f64)| {
        let (told, printed) = (Cell::Input(us, 2), Cell::Published(us, 2));
        vec![text(what), Cell::Absent, Cell::Absent, told, printed, derived(us, 2)]
    };
    let starts = [
        ("access to a board, each time", ACCESS_US),
        ("start from buffer to FIFO", FIFO_US),
        ("routing, a node", ROUTING_US),
    ];
    let rows = STAGES.into_iter().map(stage).chain(starts.into_iter().map(start)).collect();
    let heads =
        ["stage", "Mbit/s", "Mbit/s, published", "us a packet", "us a packet, published", "us for 4 KB"];
    let note = "Printed in the paper, all of them inputs. The last column is arithmetic.";
    let stages = Table::new("stages", "Stages of a board", note, &heads, rows);

    let (apart, overlapping) = (way_us(PAGE_BYTES, false), way_us(PAGE_BYTES, true));
    let sum = |what: &str, us: f64| {
        let published = Cell::Published(PUBLISHED_US / 1e3, 0);
        vec![text(what), derived(us, 0), derived(us / 1e3, 2), published, derived(us / PUBLISHED_US, 2)]
    };
    let rows = vec![
        sum("one way, each stage after the one before", apart),
        sum("there and back, each stage after the one before", 2.0 * apart),
        sum("one way, stages overlap", overlapping),
        sum("there and back, stages overlap", 2.0 * overlapping),
    ];
    let heads = ["a page of 4 KB", "us", "ms", "ms, published", "of the published"];
    let note = "Published is \"about 3 ms\" for the transfer of a page; what that includes is not printed. There and \
        back with stages one after the other comes within a tenth of it. Assumed: one access at each of the two \
        boards, one node that routes.";
    let pages = Table::new("page", "Transfer of a page", note, &heads, rows);
    let tables = vec![stages, pages, rates(apart)];
    Ok(Report { tables, ..Report::of(experiment, "Nothing is measured.".into()) })
}

/// How fast a transfer can be: by the slowest stage, and by what one page takes.
fn rates(one_way_us: f64) -> Table {
    let slowest = STAGES.iter().map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min);
    let in_series = PAGE_BYTES as f64 * 8.0 / one_way_us;
    let row = |what, mbit_s, published| vec![Cell::text(what), derived(mbit_s, 1), published];
    let rows = vec![
        row("the slowest stage: the limit", slowest, Cell::Published(64.0, 0)),
        row("a page one way, each stage after the one before", in_series, Cell::Absent),
    ];
    let note =
        "The printed limit is the slowest stage's rate. A page whose stages do not overlap is far from it.";
    Table::new("rates", "Rate of a transfer", note, &["by", "Mbit/s", "Mbit/s, published"], rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_there_and_back_is_near_what_is_printed() {
        assert_eq!(way_us(PAGE_BYTES, false).round(), 1421.0);
        assert_eq!(way_us(PAGE_BYTES, true).round(), 603.0);
        let there_and_back = 2.0 * way_us(PAGE_BYTES, false);
        assert!((0.9..1.0).contains(&(there_and_back / PUBLISHED_US)), "{there_and_back}");
    }
}
