//! Figures 5 and 6: what single accesses, releases and barriers take.

use super::SOURCE;
use super::cluster::{Ending, Marks, Place, Stretch, TWIN_US, inputs, published_page, run};
use crate::report::{Cell, Kind, Report, Table, median};
use crate::{Config, Error, Experiment, Host};
use dsm::kernels::PAGE_WORDS;
use dsm::protocol::Mode;
use dsm::{Local, Memory, Use};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "staff/misses",
    title: "STAFF-Link: misses, twins and releases",
    source: SOURCE,
    about: "What one access to a page of another node takes when nothing else happens, what a release takes that \
        tells others of one page, and a barrier: on the simulated cluster, and on this host's nodes. Figures 5 and 6 \
        print no numbers; the text has about 3 ms for a page and about 700 us for a twin.",
    times_host: false,
    run: report,
};

/// Pages of each node.
const PAGES: usize = 4;
const NODES: [u32; 3] = [2, 3, 4];

/// What is measured: between which marks, and which part of that.
struct Row {
    what: &'static str,
    mark: usize,
    part: fn(&Stretch) -> f64,
    /// Of what the simulated cluster gives for it.
    kind: Kind,
    published: Cell,
}

/// Node 0 does it, the pages are node 1's.
fn rows() -> [Row; 7] {
    let row =
        |what, mark, part: fn(&Stretch) -> f64, kind, published| Row { what, mark, part, kind, published };
    let measured = |what, mark, part| row(what, mark, part, Kind::Measured, Cell::Absent);
    let pages: fn(&Stretch) -> f64 = |stretch| stretch.pages;
    let release: fn(&Stretch) -> f64 = |stretch| stretch.release;
    [
        row("a page is read that is elsewhere", 0, pages, Kind::Fitted, published_page()),
        row(TWIN, 1, pages, Kind::Input, Cell::Published(TWIN_US, 0)),
        measured("release of a word", 2, release),
        row("a page is written that is elsewhere", 3, pages, Kind::Derived, Cell::Absent),
        measured("release of a whole page", 4, release),
        measured("release of a word of which all others have a copy", 6, release),
        measured("a barrier, nothing written", 8, |stretch| stretch.barrier),
    ]
}

const TWIN: &str = "its copy is written for the first time: a twin";

fn word(page: usize) -> usize {
    PAGE_WORDS * (PAGES + page)
}

/// Every node calls it. Node 0 has the lock, so that it releases alone.
async fn program(memory: Local) -> Ending<()> {
    let first = memory.node() == 0;
    // All have a copy of one page.
    memory.with(&[Use::read(word(2), 1)], |views| views[0][0]).await;
    memory.barrier().await;
    if first {
        memory.lock(0).await;
    }
    let mut marks = Marks::of(&memory);
    if first {
        memory.with(&[Use::read(word(0), 1)], |views| views[0][0]).await;
    }
    marks.set();
    for (page, words) in [(0, 1), (1, PAGE_WORDS), (2, 1)] {
        if first {
            memory.with(&[Use::write(word(page), words)], |views| views[0].fill(1.0)).await;
        }
        marks.set();
        if first {
            memory.unlock(0).await;
            memory.lock(0).await;
        }
        marks.set();
    }
    // The first barrier waits for node 0.
    memory.barrier().await;
    marks.set();
    memory.barrier().await;
    marks.set();
    if first {
        memory.unlock(0).await;
    }
    marks.end(())
}

/// By row, us.
fn measure(place: Place, nodes: u32, runs: u32) -> Result<Vec<Cell>, Error> {
    let words = nodes as usize * PAGES * PAGE_WORDS;
    let (runs, decimals) = if place == Place::Host { (runs.max(1), 1) } else { (1, 0) };
    let kind = |row: &Row| if place == Place::Host { Kind::Measured } else { row.kind };
    let taken = (0..runs).map(|_| run(place, nodes, words, Mode::Update, program).map(|run| run.first));
    let taken = taken.collect::<Result<Vec<_>, _>>()?;
    let value = |row: &Row| median(taken.iter().map(|stretches| (row.part)(&stretches[row.mark])).collect());
    Ok(rows()
        .into_iter()
        .map(|row| value(&row).map_or(Cell::Absent, |us| Cell::number(kind(&row), us, decimals)))
        .collect())
}

fn report(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let mut columns = Vec::new();
    for (part, (place, nodes)) in
        Place::ALL.iter().flat_map(|place| NODES.map(|nodes| (*place, nodes))).enumerate()
    {
        host.progress(part + 1, 2 * NODES.len(), &format!("{nodes} nodes: {}", place.name()));
        let column = measure(place, nodes, config.runs)?;
        for (row, cell) in rows().iter().zip(&column) {
            let told = [
                ("what", Cell::text(row.what)),
                ("where", Cell::text(place.name())),
                ("nodes", Cell::key(nodes)),
                ("us", cell.clone()),
            ];
            host.row("Accesses, releases, a barrier", &told);
        }
        columns.push(column);
    }
    let row = |(at, row): (usize, Row)| -> Vec<Cell> {
        let text = Cell::Text(row.what.into());
        let cells = columns.iter().map(|column| column[at].clone());
        let (cluster, here): (Vec<_>, Vec<_>) = (cells.clone().take(3).collect(), cells.skip(3).collect());
        [text].into_iter().chain(cluster).chain([row.published]).chain(here).collect()
    };
    let rows = rows().into_iter().enumerate().map(row).collect();
    let heads = [
        "what",
        "simulated, 2 nodes, us",
        "simulated, 3",
        "simulated, 4",
        "published, us",
        "this host, 2 nodes, us",
        "this host, 3",
        "this host, 4",
    ];
    let note = "The page was fitted (its manager's part), the twin is an input: they say only that the simulation does \
                what it was told. The others follow. A node of this host is a thread that says what it uses, and gets \
                pages by messages.";
    let table = Table::new("accesses", "Accesses, releases, a barrier", note, &heads, rows);
    let measured_on = format!("Simulated: the same on every machine. This host: {}.", host.machine());
    Ok(Report { tables: vec![table, inputs()], ..Report::of(experiment, measured_on) })
}
