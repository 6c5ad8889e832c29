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
    run,
};

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
        vec![text(by), Cell::Published(cycles as f64, 0), text(when), text("jump1/table4")]
    });
    let heads = ["by", "cycles, an input", "when", "used in"];
    let note = "The model does not look into the chip, so it has no figure of its own to put beside these. \
                jump1/fig11 and jump1/fig12 use the first.";
    let table = Table::new("acknowledgement", "To make an acknowledgement", note, &heads, rows.to_vec());
    Ok(Report { tables: vec![table], ..Report::of(experiment, "Nothing is measured.".into()) })
}
