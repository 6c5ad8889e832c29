//! M. Noakes, D. Wallach, W. Dally: "The J-Machine Multicomputer: An Architectural Evaluation", ISCA 1993.
//!
//! 512 nodes, a mesh of 8 x 8 x 8, 12.5 MHz. The experiments run the paper's programs on a simulated network of this
//! form. What the paper does not print about the network was chosen so that the network's part of figure 2's ping
//! comes out; each report lists these inputs.

mod applications;
mod fig2;
mod fig3;
mod fig4;
mod fig5;
mod fig6;
mod nodes;
mod rdt;
mod simulation;
mod table1;
mod table2;
mod table3;
mod table4;
mod table5;

use crate::chosen;
use crate::report::{self, Table};
use fabric::simulated;

pub(crate) use fig2::EXPERIMENT as FIG2;
pub(crate) use fig3::EXPERIMENT as FIG3;
pub(crate) use fig4::EXPERIMENT as FIG4;
pub(crate) use fig5::EXPERIMENT as FIG5;
pub(crate) use fig6::EXPERIMENT as FIG6;
pub(crate) use rdt::EXPERIMENT as RDT;
pub(crate) use table1::EXPERIMENT as TABLE1;
#[cfg(feature = "mpi")]
pub(crate) use table1::of_this_host as messages;
pub(crate) use table2::EXPERIMENT as TABLE2;
pub(crate) use table3::EXPERIMENT as TABLE3;
#[cfg(feature = "mpi")]
pub(crate) use table3::of_this_host as barriers;
pub(crate) use table4::EXPERIMENT as TABLE4;
pub(crate) use table5::EXPERIMENT as TABLE5;

const SOURCE: &str =
    "M. Noakes, D. Wallach, W. Dally: The J-Machine Multicomputer: An Architectural Evaluation. ISCA 1993";
const SIDES: [u32; 3] = [8, 8, 8];
const SEED: u64 = 1;
const CLOCK_HZ: f64 = 12.5e6;
const WORD_BITS: f64 = 36.0;

/// From a message's arrival to its handler, printed; what handlers of requests and replies take, whose sum is printed.
const DISPATCH: u64 = 4;
const REQUEST_HANDLER: u64 = 9;
const REPLY_HANDLER: u64 = 10;

/// Where an input comes from.
const PRINTED: &str = "printed";
const FITTED: &str = "fitted to the 24 cycles that are printed for the network's part of the ping";
const THREADS: &str = "printed for both together: 19; how they share it is assumed";
/// Cycles of the interface: the network's part of the ping is 24.
const INTERFACE: u32 = 4;
const ASSUMED: &str = "assumed";

fn network() -> simulated::Config {
    network_of(&SIDES)
}

/// The same of any box.
fn network_of(sides: &[u32; 3]) -> simulated::Config {
    let own = simulated::Config::j_machine(sides, SEED);
    chosen::network(simulated::Config { interface_cycles: INTERFACE, ..own })
}

/// Flits of a message of so many words.
fn flits(words: u32) -> u32 {
    let network = network();
    network.header_flits + words * network.word_flits
}

/// Megabits or gigabits a second of so many words a cycle.
fn bits(words_a_cycle: f64, unit: f64) -> f64 {
    words_a_cycle * WORD_BITS * CLOCK_HZ / unit
}

/// A row of a table of inputs: what, its value, and where that comes from.
type Input = (&'static str, String, &'static str);

/// What an experiment on all nodes was told, handlers of requests and replies included: never a result.
fn inputs(own: &[Input]) -> Table {
    let handlers = [
        ("cycles of the request's handler", REQUEST_HANDLER.to_string(), THREADS),
        ("cycles of the reply's handler", REPLY_HANDLER.to_string(), THREADS),
    ];
    network_inputs(&network().topology.to_string(), &[&handlers, own].concat())
}

/// The network of experiments with any number of nodes.
const ANY_BOX: &str = "a box of as many nodes, with sides as equal as they can be";

/// What an experiment on this network was told.
fn network_inputs(topology: &str, own: &[Input]) -> Table {
    let network = network();
    let common = [
        ("network", format!("{topology}, e-cube routing"), PRINTED),
        ("cycles a hop", network.hop_cycles.to_string(), PRINTED),
        ("flits of a word", network.word_flits.to_string(), PRINTED),
        ("arbitration", "fixed priority".into(), PRINTED),
        (
            "links",
            "both directions share a flit a cycle".into(),
            "the printed bisection counts both directions",
        ),
        ("header flits of a message", network.header_flits.to_string(), ASSUMED),
        ("flits of a buffer", network.buffer_flits.to_string(), ASSUMED),
        ("cycles of the interface", network.interface_cycles.to_string(), FITTED),
        ("cycles of dispatch", DISPATCH.to_string(), PRINTED),
    ];
    report::inputs("What the simulation was told.", &[&common, own].concat())
}

fn measured_on() -> String {
    format!("Simulated, flit by flit; seed {}. The same on every machine.", chosen::seed(SEED))
}
