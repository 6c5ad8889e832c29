//! Table 3: what an acknowledgement takes. An input of the model, printed as such.

use super::multicasts::SOURCE;
use crate::report::{Cell, Report, Table};
use crate::{Config, Error, Experiment, Host};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "jump1/table3",
    title: "JUMP-1: to make an acknowledgement",
    source: SOURCE,
    about: "What it takes a cluster to acknowledge a multicast, by the MBP-light's hardware or by its software. Both \
            figures are inputs of the simulation: nothing is measured here.",
    times_host: false,
    run,
};

/// A cycle of the router and of the MBP-light: 50 MHz.
pub(super) const CYCLE_NS: f64 = 20.0;
/// Cycles until an acknowledgement is made.
pub(super) const ACK_HARDWARE: u64 = 51;
pub(super) const ACK_SOFTWARE: u64 = 91;

fn run(experiment: &Experiment, _: &mut dyn Host, _: &Config) -> Result<Report, Error> {
    let rows = [
        ("hardware", ACK_HARDWARE, "the line is in the net cache, the source in the ackmap cache"),
        ("software", ACK_SOFTWARE, "it is not: the MBP-light interrupts its software"),
    ];
    let text = |text: &str| Cell::Text(text.into());
    let rows = rows.map(|(by, cycles, when)| {
        let cells = [Cell::Input(cycles as f64, 0), Cell::Published(cycles as f64, 0)];
        let nanos = Cell::Derived(cycles as f64 * CYCLE_NS, 0);
        [&[text(by)], &cells[..], &[nanos, Cell::Absent, text(when), text("jump1/table4")]].concat()
    });
    let saved = ACK_SOFTWARE - ACK_HARDWARE;
    let saved = vec![
        text("what hardware saves"),
        Cell::Derived(saved as f64, 0),
        Cell::Published(40.0, 0),
        Cell::Derived(saved as f64 * CYCLE_NS, 0),
        Cell::Published(800.0, 0),
        Cell::Absent,
        Cell::Absent,
    ];
    let heads = ["by", "cycles", "cycles, published", "ns", "ns, published", "when", "used in"];
    let note = "The model does not look into the chip, so it has no figure of its own to put beside these. \
                jump1/fig11 and jump1/fig12 use the first. Nanoseconds are cycles of 20.";
    let table = Table::new(
        "acknowledgement",
        "To make an acknowledgement",
        note,
        &heads,
        [&rows[..], &[saved]].concat(),
    );
    Ok(Report { tables: vec![table], ..Report::of(experiment, "Nothing is measured.".into()) })
}
