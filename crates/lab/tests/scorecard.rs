//! The scorecard against runs of the experiments, and docs/laboratory.md against the scorecard.

use lab::report::{Kind, Report};
use lab::scorecard::{self, Link, Row, State};
use lab::{Config, Finished, Host, Job, Scale};
use std::collections::BTreeSet;

/// Runs no programs.
struct Nobody;

impl Host for Nobody {
    fn run(&mut self, job: &Job) -> Result<Finished, String> {
        Err(format!("{} is not asked for", job.program.name))
    }
    fn progress(&mut self, _: usize, _: usize, _: &str) {}
    fn machine(&self) -> String {
        "nothing".into()
    }
}

fn run(name: &str, scale: Scale) -> Report {
    let experiment = lab::find(name).expect("it is in the list");
    let config = Config { workers: vec![1], nodes: vec![], runs: 1, scale };
    (experiment.run)(experiment, &mut Nobody, &config).expect("it needs nobody")
}

/// Experiments that run KL1 programs, which the command does: its tests look at their rows.
fn needs_programs(name: &str) -> bool {
    name.starts_with("multipsi/")
}

fn is_of(row: &Row, names: &[&str]) -> bool {
    matches!(&row.link, Link::Cell(address) if names.contains(&address.experiment))
}

#[test]
fn every_row_has_its_cell() {
    let names: Vec<&str> =
        scorecard::experiments().into_iter().filter(|name| !needs_programs(name)).collect();
    let reports: Vec<Report> = names.iter().map(|name| run(name, Scale::Small)).collect();
    for row in scorecard::rows().iter().filter(|row| is_of(row, &names)) {
        let (cell, state) = scorecard::state(row, &reports);
        assert!(state != State::NoCell, "{} {}: {:?}, {cell:?}", row.place, row.quantity, row.link);
    }
    // What is measured is called differently in each column of a table.
    for (report, table) in
        reports.iter().flat_map(|report| report.tables.iter().map(move |table| (report, table)))
    {
        let mut heads = BTreeSet::new();
        let twice = table.columns.iter().find(|head| *head != "published" && !heads.insert(head.as_str()));
        assert_eq!(twice, None, "{}/{}", report.name, table.id);
    }
    // Whatever a run gives, its rows are on the scorecard.
    let report = scorecard::report(&reports);
    assert_eq!(report.tables[1].rows.len(), scorecard::rows().len());
}

/// docs/laboratory.md from mark to mark, by line.
fn documented() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/laboratory.md");
    let text = std::fs::read_to_string(path).expect("the page is there");
    let mut lines = text.lines().skip_while(|line| !line.starts_with("<!-- scorecard")).peekable();
    assert!(lines.peek().is_some(), "the page has no scorecard");
    lines.take_while(|line| !line.starts_with("<!-- end of the scorecard")).map(String::from).collect()
}

/// What a line of the table says of a row, apart from what was found.
fn of_row(line: &str) -> String {
    line.split(" | ").take(3).collect::<Vec<_>>().join(" | ")
}

const HOW: &str =
    "`fifth lab run all --out results && fifth lab scorecard --from results --markdown` writes it";

#[test]
fn the_page_has_all_rows() {
    let here = scorecard::markdown(&[]);
    let is_row = |line: &&str| line.matches(" | ").count() == 5 && !line.starts_with("| place");
    let ours: Vec<String> = here.lines().filter(is_row).map(of_row).collect();
    let documented = documented();
    let theirs: Vec<String> = documented.iter().map(String::as_str).filter(is_row).map(of_row).collect();
    assert_eq!(ours.len(), scorecard::rows().len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs, "docs/laboratory.md: {HOW}");
    }
    assert_eq!(ours.len(), theirs.len(), "docs/laboratory.md: {HOW}");
    for line in documented.iter().filter(|line| line.contains("off") || line.contains("| not so |")) {
        let why = line.rsplit(" | ").next().and_then(|place| place.split_once("`: "));
        assert!(
            !is_row(&line.as_str()) || why.is_some_and(|(_, why)| why.len() > 10),
            "why is that off? {line}"
        );
    }
    // Each row that a run could give is measured and near, or it is said which model may bring it so far.
    for row in scorecard::rows() {
        let begin = format!("| {} | {} | ", row.place, row.quantity.replace('<', "&lt;"));
        let line = documented.iter().find(|line| line.starts_with(&begin)).expect("it is there");
        let is_near = line.contains("| within ");
        let could = row.kind == Kind::Measured && !is_near;
        assert_eq!(could, !row.model.is_empty(), "which model may bring it? {line}");
        assert_eq!(could, line.contains(" may bring it: "), "docs/laboratory.md: {HOW}: {line}");
    }
    for state in ["not run", "no cell"] {
        let line = documented.iter().find(|line| line.contains(&format!("| {state} |")));
        assert_eq!(line, None, "docs/laboratory.md: {HOW}");
    }
}

/// What the page says of a row is what a run gives: here of experiments that take a moment at full size.
#[test]
fn the_page_claims_what_runs_give() {
    let names = [
        "jmachine/fig2",
        "jmachine/fig4",
        "jump1/fig11",
        "jump1/fig12",
        "jump1/table3",
        "jump1/table4",
        "staff/table1",
    ];
    let reports: Vec<Report> = names.iter().map(|name| run(name, Scale::Full)).collect();
    let here = scorecard::markdown(&reports);
    let documented: BTreeSet<String> = documented().into_iter().collect();
    let mut count = 0;
    for line in here.lines().filter(|line| names.iter().any(|name| line.contains(&format!("`{name}`")))) {
        assert!(documented.contains(line), "docs/laboratory.md has not this line; {HOW}:\n{line}");
        count += 1;
    }
    assert!(count > 30, "{count} rows");
    // An answer whose cells are not there would be left out.
    for report in &reports {
        let answer = lab::answers::answer(report);
        assert!(!answer.is_empty() && !answer.starts_with("Of "), "{}: {answer}", report.name);
    }
    let of_lu = reports.iter().find(|report| report.name == "jump1/table4").map(lab::answers::answer);
    assert!(of_lu.is_some_and(|answer| answer.contains(" packets with multicasts")), "which layout is that?");
}
