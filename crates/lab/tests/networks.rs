//! Experiments on simulated networks: they need no host, so their figures are the same everywhere.

use lab::report::{Cell, Kind, Report, Table};
use lab::{Config, Finished, Host, Job, Scale};

/// Runs no programs.
struct Nobody;

impl Host for Nobody {
    fn run(&mut self, job: &Job) -> Result<Finished, String> {
        Err(format!("{} is not asked for", job.program.name))
    }
    fn progress(&mut self, part: usize, parts: usize, _: &str) {
        assert!((1..=parts).contains(&part));
    }
    fn machine(&self) -> String {
        "nothing".into()
    }
}

fn run(name: &str, scale: Scale) -> Report {
    let experiment = lab::find(name).expect("it is in the list");
    let config = Config { workers: vec![1], nodes: vec![], runs: 1, scale };
    let report = (experiment.run)(experiment, &mut Nobody, &config).expect("it needs nobody");
    println!("{}", lab::text::report(&report));
    for table in &report.tables {
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{}", table.id);
    }
    let ids = report.tables.iter().map(|table| &table.id).chain(report.charts.iter().map(|chart| &chart.id));
    let mut ids: Vec<&String> = ids.collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "two files would have one name");
    assert!(report.charts.iter().all(|chart| lab::svg::chart(chart).ends_with("</svg>\n")));
    report
}

/// The values of a table's column, each of which is of one of these kinds.
fn values(table: &Table, head: &str, kinds: &[Kind]) -> Vec<f64> {
    let at = table.columns.iter().position(|column| column == head).expect("there is such a column");
    let value = |row: &Vec<Cell>| {
        let kind = row[at].kind()?;
        assert!(kinds.contains(&kind), "{head}: {:?} is none of {kinds:?}", row[at]);
        row[at].value().map(|(value, _)| value)
    };
    table.rows.iter().filter_map(value).collect()
}

/// The values of a table's column, which are all measured.
fn column(table: &Table, head: &str) -> Vec<f64> {
    values(table, head, &[Kind::Measured])
}

/// The kinds of a table's column, row by row.
fn kinds(table: &Table, head: &str) -> Vec<Option<Kind>> {
    let at = table.columns.iter().position(|column| column == head).expect("there is such a column");
    table.rows.iter().map(|row| row[at].kind()).collect()
}

fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value / expected - 1.0).abs() < tolerance
}

#[test]
fn round_trips_of_the_j_machine() {
    let report = run("jmachine/fig2", Scale::Small);
    let table = &report.tables[0];
    let both = [Kind::Measured, Kind::Derived];
    assert_eq!(values(table, "base", &both)[0], 43.0);
    assert_eq!(values(table, "a hop", &[Kind::Derived]), [2.0; 5]);
    // Published: 60 and 98.
    assert_eq!(
        (values(table, "neighbour", &both)[2], values(table, "opposite corner", &both)[2]),
        (57.0, 97.0)
    );
    // What the ping was told is no result; what reads take is.
    assert_eq!(kinds(table, "neighbour")[..2], [Some(Kind::Derived), Some(Kind::Measured)]);
    assert_eq!(values(&report.tables[1], "cycles", &Kind::ALL), [24.0, 19.0, 43.0]);
    assert_eq!(
        kinds(&report.tables[1], "cycles"),
        [Some(Kind::Fitted), Some(Kind::Input), Some(Kind::Derived)]
    );
    assert_eq!(kinds(&report.tables[1], "published"), [Some(Kind::Published); 3]);
}

#[test]
fn random_traffic_of_the_j_machine() {
    let report = run("jmachine/fig3", Scale::Small);
    let most = column(&report.tables[0], "most traffic, Gbit/s");
    assert!(most[2..].iter().all(|gbits| (gbits / 6.0 - 1.0).abs() < 0.1), "{most:?}");
    let half = column(&report.tables[0], "half-power grain, cycles");
    assert!(half.is_sorted() && half[0] > 100.0 && half[3] < 400.0, "{half:?}");
}

#[test]
fn bandwidth_of_the_j_machine() {
    let share = column(&run("jmachine/fig4", Scale::Small).tables[0], "% of the channel");
    assert!(share[1] > 50.0 && share[5] >= 90.0 && share.is_sorted(), "{share:?}");
}

#[test]
fn barriers_of_the_j_machine() {
    let report = run("jmachine/table3", Scale::Small);
    let ratios = values(&report.tables[0], "times the published", &[Kind::Fitted, Kind::Measured]);
    assert!(ratios.len() == 9 && ratios.iter().all(|ratio| near(*ratio, 1.0, 0.1)), "{ratios:?}");
    // Barriers of 2 and 4 nodes were fitted.
    let told = kinds(&report.tables[0], "us");
    assert_eq!(told.iter().filter(|kind| **kind == Some(Kind::Fitted)).count(), 2, "{told:?}");
    assert_eq!(told[..2], [Some(Kind::Fitted); 2]);
}

#[test]
fn messages_of_the_j_machine() {
    let report = run("jmachine/table1", Scale::Small);
    // The J-Machine simulated: 11 cycles and half a cycle a byte are published, without the network. What is beside
    // them is a sum of inputs.
    assert_eq!(values(&report.tables[0], "times the published", &[Kind::Derived]), [5.0 / 11.0]);
    assert_eq!(values(&report.tables[0], "times the published, a byte", &[Kind::Derived]), [0.125 / 0.5]);
    // What is printed in microseconds follows from cycles and clocks, but for its rounding.
    let micros = values(&report.tables[0], "us a message", &[Kind::Derived, Kind::Measured]);
    let published = values(&report.tables[0], "us a message, published", &[Kind::Published]);
    let near = micros.iter().zip(&published).all(|(own, printed)| near(*own, *printed, 0.03));
    assert!(near && published.len() == 6, "{micros:?} {published:?}");
    let times = column(&report.tables[1], "ns a message");
    assert!(times.len() == 3 && times.iter().all(|time| *time > 0.0), "{times:?}");
}

#[test]
fn slots_of_this_host() {
    let times = column(&run("jmachine/table2", Scale::Small).tables[0], "ns, this host");
    assert!(times.len() == 3 && times.iter().all(|time| *time > 0.0), "{times:?}");
}

#[test]
fn programs_of_the_j_machine() {
    let report = run("jmachine/table4", Scale::Small);
    // 256 characters come to each of 64 nodes; every board has an answer, and so have those above it; most keys of 7
    // passes go to other nodes.
    let threads = column(&report.tables[1], "number");
    assert_eq!((threads[0], threads[1], threads[4]), (1.0, 256.0 * 64.0, 64.0));
    assert!(threads[3] > threads[2] && threads[3] < 1.5 * threads[2], "{threads:?}");
    assert!(near(threads[5], 4096.0 * 7.0 * 63.0 / 64.0, 0.01), "{threads:?}");
    // Printed: 3 words of a character, of an answer and of a key. Lengths of boards and answers were chosen.
    let words = values(&report.tables[1], "words of a message", &[Kind::Measured, Kind::Input]);
    assert_eq!(words, [1.0, 3.0, 8.0, 3.0, 3.0]);
    assert_eq!(kinds(&report.tables[1], "words of a message")[2..4], [Some(Kind::Input); 2]);
    // At node 63 nothing is sent on.
    assert!(near(values(&report.tables[1], "cycles each", &[Kind::Input])[1], 464.0, 1e-3));
    let idle = column(&report.tables[0], "% idle");
    assert!(idle.iter().all(|idle| (0.0..90.0).contains(idle)), "{idle:?}");
}

#[test]
fn speed_up_of_the_j_machine() {
    let report = run("jmachine/fig5", Scale::Small);
    let [lcs, .., tsp, _ideal] = &report.charts[0].series[..] else { panic!("four lines and what is ideal") };
    for line in [lcs, tsp] {
        let speedups: Vec<f64> = line.points.iter().map(|point| point.1).collect();
        assert!(speedups.len() == 5 && speedups[0] == 1.0 && speedups.is_sorted(), "{speedups:?}");
        assert!((8.0..16.0).contains(&speedups[4]), "{}: {speedups:?}", line.name);
    }
}

#[test]
fn time_of_the_j_machine() {
    let report = run("jmachine/fig6", Scale::Small);
    let table = &report.tables[0];
    let any = [Kind::Measured, Kind::Derived];
    let parts = ["computing", "messages", "synchronization", "idle"].map(|head| values(table, head, &any));
    for program in 0..4 {
        let sum: f64 = parts.iter().map(|part| part[program]).sum();
        assert!(near(sum, 100.0, 1e-9) && parts.iter().all(|part| part[program] >= 0.0), "{parts:?}");
    }
    // With so short a second string, a fifth of the time goes by before the last node has its first character.
    let skew = column(&report.tables[2], "skew, % of the time")[0];
    assert!((15.0..25.0).contains(&skew), "{skew}");
    let times = values(&report.tables[2], "times the published", &[Kind::Fitted])[0];
    assert!((0.7..1.0).contains(&times), "{times}");
    // What the system's null calls take was told.
    let synchronization = kinds(table, "synchronization");
    assert_eq!(synchronization[2..], [Some(Kind::Measured), Some(Kind::Derived)]);
    let dealt = column(&report.tables[1], "% idle");
    assert!(dealt.len() == 4 && dealt.iter().all(|idle| (0.0..80.0).contains(idle)), "{dealt:?}");
}

#[test]
fn search_of_the_j_machine() {
    let report = run("jmachine/table5", Scale::Small);
    let all = [Kind::Measured, Kind::Derived, Kind::Input];
    let simulated = values(&report.tables[0], "simulated", &all);
    let [users, system, calls, idle] = [1, 2, 6, 9].map(|row| simulated[row]);
    assert!(users > 64.0 && system > users - 64.0 && calls == 61.0, "{simulated:?}");
    assert!((0.0..90.0).contains(&idle), "{simulated:?}");
    // Run time, threads and idle time are results; what follows from instructions that were told is none.
    let measured = kinds(&report.tables[0], "simulated");
    assert_eq!(measured.iter().filter(|kind| **kind == Some(Kind::Measured)).count(), 5, "{measured:?}");
}

#[test]
fn networks_of_booksim() {
    let report = run("networks/booksim", Scale::Small);
    let latency = column(&report.tables[0], "times BookSim2's");
    // Next to saturation a latency says little.
    let (low, high) = latency.split_at(10);
    assert!(low.iter().all(|ratio| near(*ratio, 1.0, 0.05)), "{low:?}");
    assert!(high.iter().filter(|ratio| !near(**ratio, 1.0, 0.1)).count() <= 1, "{high:?}");
    let accepted = column(&report.tables[1], "times BookSim2's");
    assert!(accepted.len() == 10 && accepted.iter().all(|ratio| near(*ratio, 1.0, 0.1)), "{accepted:?}");
}

#[test]
fn acknowledgements_of_jump1() {
    let report = run("jump1/fig12", Scale::Small);
    let saved = values(&report.tables[0], "hardware saves", &[Kind::Fitted, Kind::Derived]);
    assert_eq!(kinds(&report.tables[0], "hardware saves")[6], Some(Kind::Fitted));
    // 19 cycles an acknowledgement; 7 of them were fitted to the published 132.
    assert!(near(saved[6], 132.0, 0.01) && saved.is_sorted(), "{saved:?}");
}

#[test]
fn directories_of_jump1() {
    let report = run("jump1/directories", Scale::Small);
    let links = column(&report.tables[0], "links");
    let reached = column(&report.tables[0], "nodes reached");
    // 16 sharers among 256 nodes, counted by another program: 79 links, 62, 40 and 215 (207 nodes).
    for (found, counted) in links[8..12].iter().zip([79.0, 62.0, 40.0, 215.0]) {
        assert!(near(*found, counted, 0.15), "{links:?}");
    }
    assert!(near(reached[11], 207.0, 0.1), "{reached:?}");
    // Combined, a home gets one acknowledgement: of a map a level that is what makes it quick. Each of 4 sharers of an
    // exact map waits for others instead.
    let combined = column(&report.tables[0], "last acknowledgement, combined, cycles");
    let alone = column(&report.tables[0], "last acknowledgement, cycles");
    let acknowledgements = column(&report.tables[0], "acknowledgements, combined");
    assert_eq!(acknowledgements, [1.0; 8], "all of them in one");
    assert!(combined[5] < alone[11] / 2.0, "{combined:?} {alone:?}");
    assert!(combined[0] > alone[2], "{combined:?} {alone:?}");
}

#[test]
fn decomposition_on_jump1() {
    let report = run("jump1/table4", Scale::Small);
    let table = &report.tables[0];
    // Every layout by multicast, by messages to each, and by a map a level.
    let told = column(table, "invalidations sent");
    assert_eq!(told.len(), 72);
    assert!(told.chunks(3).all(|ways| ways[0] <= ways[1]), "{told:?}");
    // The home gets an acknowledgement for each invalidation that it sends. It sends some if others have read what a
    // cluster writes.
    assert_eq!(told, column(table, "acknowledgements received"));
    assert!(told.chunks(6).all(|layout| layout[3] > 0.0), "{told:?}");
    assert!(column(table, "others sent").iter().all(|count| *count > 0.0));
    let ratios = values(&report.tables[1], "sent, times those of a multicast", &[Kind::Derived]);
    assert!(ratios.iter().all(|ratio| (0.9..2.5).contains(ratio)), "{ratios:?}");
}

#[test]
fn inputs_of_jump1_are_no_results() {
    let report = run("jump1/table3", Scale::Small);
    let cells = report.tables.iter().flat_map(|table| table.rows.iter().flatten());
    assert!(cells.clone().all(|cell| !matches!(cell, Cell::Measured(..))));
    assert_eq!(cells.clone().filter(|cell| matches!(cell, Cell::Input(..))).count(), 2);
    // 40 cycles of 20 ns.
    assert!(cells.clone().any(|cell| *cell == Cell::Derived(800.0, 0)));
}

/// What follows from the boards' stages by arithmetic is no result.
#[test]
fn stages_of_the_staff_link_are_no_results() {
    let report = run("staff/table1", Scale::Small);
    let cells = report.tables.iter().flat_map(|table| table.rows.iter().flatten());
    assert!(cells.clone().all(|cell| !matches!(cell, Cell::Measured(..))));
    let there_and_back = |cell: &Cell| matches!(cell, Cell::Derived(us, 0) if us.round() == 2842.0);
    assert!(cells.clone().any(there_and_back));
}

/// Table III of the STAFF-Link paper: what is printed there, but for one request a node.
#[test]
fn update_requests_of_the_staff_link() {
    let report = run("staff/table3", Scale::Small);
    let table = &report.tables[0];
    assert_eq!(column(table, "requests, decomposition"), [6120.0, 11_440.0, 11_440.0, 11_440.0]);
    let requests = column(table, "requests");
    assert_eq!(requests, [6632.0, 12_464.0, 12_976.0, 13_488.0]);
    let published = values(table, "requests, published", &[Kind::Published]);
    assert_eq!(published, [6633.0, 12_466.0, 12_979.0, 13_492.0]);
    // Each page has blocks of two owners, unless there is one node.
    assert_eq!(column(table, "requests, each node fills its blocks"), [512.0, 1024.0, 1024.0, 1024.0]);
    let updates = column(table, "copies updated");
    assert!(updates[0] == 0.0 && updates[1..].iter().all(|&count| count > 0.0), "{updates:?}");
    // On the simulated cluster: a smaller matrix of 32 pages, all of which each node fills.
    let table = &report.tables[1];
    assert_eq!(column(table, "requests, each node fills all"), [32.0, 64.0, 96.0, 128.0]);
    let messages = column(table, "update messages, decomposition");
    assert!(messages[0] == 0.0 && messages[1..].iter().all(|&count| count > 0.0), "{messages:?}");
}

/// What was told comes out: a page and a twin. A page that all others have copies of takes longer to release.
#[test]
fn misses_of_the_staff_link() {
    let table = &run("staff/misses", Scale::Small).tables[0];
    for nodes in ["simulated, 2 nodes, us", "simulated, 3", "simulated, 4"] {
        let us = values(table, nodes, &Kind::ALL);
        let told = [Kind::Fitted, Kind::Input, Kind::Measured, Kind::Derived].map(Some);
        assert_eq!(kinds(table, nodes)[..4], told);
        assert!(near(us[0], 3000.0, 0.01) && near(us[1], 700.0, 0.001), "{us:?}");
        assert!(near(us[3], us[0] + us[1], 0.01) && us[4] > us[2], "{us:?}");
    }
    let [two, four] =
        ["simulated, 2 nodes, us", "simulated, 4"].map(|nodes| values(table, nodes, &Kind::ALL));
    assert!(four[5] > 1.5 * two[5] && four[6] > two[6], "{two:?} {four:?}");
}

#[test]
fn programs_of_the_staff_link() {
    for name in ["staff/matmul", "staff/fft", "staff/lu"] {
        let report = run(name, Scale::Small);
        let [total, filling, work, pages, release, barrier] = [
            "total, ms",
            "initialisation, ms",
            "computation, ms",
            "of it waiting for pages, ms",
            "release, ms",
            "barrier, ms",
        ]
        .map(|head| column(&report.tables[0], head));
        // Both places, and both ways to fill; of the FFT three.
        assert_eq!(total.len(), if name == "staff/fft" { 24 } else { 16 }, "{name}");
        for row in 0..total.len() {
            assert!(near(total[row], filling[row] + work[row] + release[row] + barrier[row], 1e-9), "{name}");
            assert!(work[row] > pages[row] - 1e-9 && pages[row] >= 0.0, "{name}");
        }
        // One node fetches nothing; four of the cluster do.
        assert!(pages[0] == 0.0 && pages[3] > 0.0, "{name}: {pages:?}");
        let findings = &report.tables[1];
        assert!(!findings.rows.is_empty(), "{name}");
        // A reading that was added when the others had been seen is fitted.
        let own = kinds(findings, "simulated cluster");
        for (row, kind) in findings.rows.iter().zip(own) {
            let is_fitted = matches!(&row[1], Cell::Text(filling) if filling.contains("the roots"));
            assert_eq!(kind, Some(if is_fitted { Kind::Fitted } else { Kind::Measured }), "{name}: {row:?}");
        }
    }
}

/// All but what this host measures is the same again.
#[test]
fn the_simulated_staff_link_is_the_same_again() {
    let simulated = || {
        let mut report = run("staff/lu", Scale::Small);
        let here = Cell::Text("this host, threads".into());
        report.tables.iter_mut().for_each(|table| table.rows.retain(|row| !row.contains(&here)));
        lab::text::report(&report)
    };
    assert_eq!(simulated(), simulated());
}

/// Triangle was changed after its runs had been seen: nothing of it is measured.
#[test]
fn triangle_of_the_symmetry_is_no_result() {
    let report = run("symmetry", Scale::Small);
    let of = |name: &str| -> Vec<Kind> {
        let is_meant = |row: &&Vec<Cell>| matches!(&row[0], Cell::Text(text) if text.starts_with(name));
        let rows = report.tables.iter().flat_map(|table| &table.rows).filter(is_meant);
        rows.flatten().filter_map(Cell::kind).filter(|kind| *kind != Kind::Published).collect()
    };
    let triangle = of("triangle");
    assert!(triangle.len() > 100 && !triangle.contains(&Kind::Measured), "{triangle:?}");
    assert!(of("puzzle").contains(&Kind::Measured) && of("kl1cmp").contains(&Kind::Measured));
}

/// Nodes that compute nearly always are as fast on any network; with more communication the links of a word count.
#[test]
fn programs_of_the_j_machine_on_jump1() {
    let report = run("jump1/programs", Scale::Small);
    let ratios = column(&report.tables[0], "times as fast on the RDT");
    assert!(ratios.len() == 4 && ratios.iter().all(|ratio| (0.8..1.6).contains(ratio)), "{ratios:?}");
}

#[test]
fn simulated_experiments_are_the_same_again() {
    for name in ["jump1/fig11", "jump1/table4", "jmachine/table4", "jmachine/table5"] {
        let [first, second] = [(); 2].map(|()| lab::text::report(&run(name, Scale::Small)));
        assert_eq!(first, second);
    }
}

/// Theory says a half; the adaptive ways are measured beside it.
#[test]
fn detours_give_every_permutation_half() {
    let report = run("networks/routing", Scale::Small);
    let held: Vec<&Cell> = report.tables[1].rows.iter().map(|row| &row[1]).collect();
    assert_eq!(held, [&Cell::Finding(Kind::Measured, true); 3], "{:?}", report.tables[0].rows);
    assert!(lab::answers::answer(&report).starts_with("Transposition gets 0."));
}
