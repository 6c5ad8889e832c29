//! Table 4: LU decomposition on four clusters, invalidations by multicast and by messages to each.

use super::mbp::{ACK_ENTRIES, ACKMAP_SOURCES, HANDLE_CYCLES, NET_LINES, Tell, lu};
use super::multicasts::{
    COLLECT_HARDWARE, COLLECT_SOFTWARE, MULTICAST_CYCLES, SOURCE, UNICAST_CYCLES, measured_on,
};
use super::table3::{ACK_HARDWARE, ACK_SOFTWARE};
use crate::chosen;
use crate::report::{self, Cell, Kind, Report, Table};
use crate::{Config, Error, Experiment, Host};
use fabric::simulated;
use lu::{Layout, Owners};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "jump1/table4",
    title: "JUMP-1: LU decomposition on four clusters",
    source: SOURCE,
    about: "Four clusters decompose a matrix of 16 by 16 in a memory that their MBP-lights keep coherent, and \
            invalidations go to sharers by one multicast or one after the other. How many packets the home cluster \
            sends and receives depends on how the matrix is laid out, which is not printed: each layout that was \
            tried is a row, and none is chosen.",
    times_host: false,
    run,
};

const SEED: u64 = 1;
const OWNERS: [(Owners, &str); 6] = [
    (Owners::RowsInTurn, "rows in turn"),
    (Owners::RowsInBlocks, "rows in blocks"),
    (Owners::ColumnsInTurn, "columns in turn"),
    (Owners::ColumnsInBlocks, "columns in blocks"),
    (Owners::SquaresInTurn, "2 by 2 in turn"),
    (Owners::Blocks, "blocks of 4 by 4, as SPLASH-2"),
];
/// Invalidations and others sent; acknowledgements and others received.
const PUBLISHED: [(Tell, &str, Option<[f64; 4]>); 3] = [
    (Tell::Exact, "multicast", Some([57.0, 165.0, 57.0, 169.0])),
    (Tell::Each, "a message to each", Some([92.0, 172.0, 92.0, 175.0])),
    (Tell::Levels, "multicast, a map a level", None),
];
/// Heads of the table of packets.
const HEADS: [&str; 18] = [
    "a cluster computes",
    "bytes of an element",
    "at the begin",
    "invalidations by",
    "invalidations sent",
    "published",
    "others sent",
    "published",
    "acknowledgements received",
    "published",
    "others received",
    "published",
    "sent",
    "published",
    "received",
    "published",
    "interrupts",
    "cycles",
];

fn run(experiment: &Experiment, host: &mut dyn Host, _: &Config) -> Result<Report, Error> {
    let network = chosen::network(simulated::Config::jump1(4, SEED));
    let (mut rows, mut ratios) = (Vec::new(), Vec::new());
    let layouts = OWNERS.iter().flat_map(|owners| [4, 8].map(|bytes| (*owners, bytes)));
    let layouts: Vec<_> = layouts.flat_map(|layout| [false, true].map(|read| (layout, read))).collect();
    for (part, (((owners, name), element_bytes), read_before)) in layouts.iter().copied().enumerate() {
        host.progress(part + 1, layouts.len(), &format!("{name}, elements of {element_bytes} bytes"));
        let layout = Layout { owners, element_bytes, one_home: true, read_before };
        let which = || {
            let before = if read_before { "all have read all" } else { "at home only" };
            [Cell::Text(name.into()), Cell::key(element_bytes), Cell::Text(before.into())]
        };
        let mut totals = Vec::new();
        for (tell, by, published) in PUBLISHED {
            let taken = lu::run(&network, layout, tell)?;
            let [sent, received] = [taken.sent, taken.received];
            let counted = [sent.invalidations, sent.lines, received.acknowledgements, received.lines];
            let sums = [counted[0] + counted[1], counted[2] + counted[3]];
            let published = |at: usize, more: usize| match published {
                Some(all) => Cell::Published(all[at..=at + more].iter().sum(), 0),
                None => Cell::Absent,
            };
            let [owner, bytes, before] = which();
            let told = |at: usize| Cell::count(sums[at]);
            let cells = [("layout", owner), ("bytes", bytes), ("before", before), ("told", Cell::text(by))];
            host.row(
                "Packets of the home cluster",
                &[&cells[..], &[("sent", told(0)), ("received", told(1))][..]].concat(),
            );
            let parts = (0..4).flat_map(|at| [Cell::count(counted[at]), published(at, 0)]);
            let sums_of_it = [0, 1].into_iter().flat_map(|at| [Cell::count(sums[at]), published(2 * at, 1)]);
            let more = [Cell::count(taken.interrupts), Cell::count(taken.cycles)];
            let row =
                which().into_iter().chain([Cell::Text(by.into())]).chain(parts).chain(sums_of_it).chain(more);
            rows.push(row.collect());
            totals.push(sums);
        }
        let ratio = |at: usize| Cell::of(Kind::Derived, totals[1][at] as f64, totals[0][at] as f64, 2);
        let published = [264.0 / 222.0, 267.0 / 226.0].map(|ratio| Cell::Published(ratio, 2));
        let [sent, received] = published;
        ratios.push(which().into_iter().chain([ratio(0), sent, ratio(1), received]).collect());
    }
    let note = "Packets of cluster 0 over the network; those of barriers are left out. Others: lines that are asked \
                for, sent, recalled and given back. Published: invalidations and reads, of the home cluster; the \
                sums are of these. Interrupts are those of all clusters, cycles the simulation's until the last \
                cluster has ended. None of these layouts gives the eight published counts. The \
                scorecard compares blocks of 4 by 4 elements of 8 bytes, at home only, which was fixed before it ran.";
    let table = Table::new("packets", "Packets of the home cluster", note, &HEADS, rows);
    let heads = [
        "a cluster computes",
        "bytes of an element",
        "at the begin",
        "sent, times those of a multicast",
        "published",
        "received, times those of a multicast",
        "published",
    ];
    let note = "Packets with a message to each, divided by packets with a multicast. The two ratios are equal by \
                construction: the home gets an acknowledgement for each invalidation that it sends, and a packet for \
                each other one.";
    let ratios = Table::new("ratios", "A message to each beside a multicast", note, &heads, ratios);
    Ok(Report { tables: vec![table, ratios, cycles(), inputs()], ..Report::of(experiment, measured_on()) })
}

/// What the paper prints of the whole program.
fn cycles() -> Table {
    let [multicast, each] = [2_640_023.0, 3_750_258.0];
    let why = || Cell::NotModelled("processor cycles outside of the protocol are not printed".into());
    let row = |what, cell, published| vec![Cell::text(what), cell, Cell::Published(published, 0)];
    let rows = vec![
        row("multicast", why(), multicast),
        row("a message to each", why(), each),
        row("saved, printed as about 1,110,000", Cell::Derived(each - multicast, 0), 1_110_000.0),
    ];
    let note = "The saving is the difference of the two printed totals. The work of the paper's program is not \
                printed, so the cycles of the layouts above cannot be compared with it.";
    let heads = ["by", "cycles", "published"];
    Table::new("cycles", "Cycles of the whole program", note, &heads, rows)
}

fn inputs() -> Table {
    let rows = [
        ("network", "RDT(2,4,1) of 4 by 4, clusters 0 to 3 compute".to_string(), "assumed"),
        ("bytes of a line", super::lines::LINE_BYTES.to_string(), "assumed"),
        ("protocol", "a line has one writer; who writes it takes it from its sharers".to_string(), "assumed"),
        (
            "home of all lines",
            "cluster 0".to_string(),
            "assumed (the paper counts the packets of the home cluster)",
        ),
        ("programs of a cluster", "1 (there were 4 processors)".to_string(), "assumed"),
        ("synchronization", "two barriers a step, by messages to cluster 0".to_string(), "assumed"),
        ("lines of the net cache", NET_LINES.to_string(), "printed"),
        ("sources of the ackmap cache", ACKMAP_SOURCES.to_string(), "assumed"),
        ("entries of the ack cache, a level", ACK_ENTRIES.to_string(), "printed"),
        ("cycles of an acknowledgement by hardware", ACK_HARDWARE.to_string(), "printed (table 3)"),
        ("cycles of an acknowledgement by software", ACK_SOFTWARE.to_string(), "printed (table 3)"),
        ("cycles to gather one by hardware", COLLECT_HARDWARE.to_string(), "fitted (figure 12)"),
        ("cycles to gather one by software", COLLECT_SOFTWARE.to_string(), "fitted (figure 12)"),
        ("cycles of sending a multicast", MULTICAST_CYCLES.to_string(), "printed (figure 11)"),
        ("cycles of sending a message to one", UNICAST_CYCLES.to_string(), "printed (figure 11)"),
        ("cycles of another message's handler", HANDLE_CYCLES.to_string(), "assumed"),
    ];
    report::inputs("What the simulation was told.", &rows)
}
