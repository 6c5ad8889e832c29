//! The scorecard as a report, and as the table of docs/laboratory.md.

use super::{Agreement, Link, Row, State, rows, state};
use crate::report::{Cell, Report, Table};

/// Columns of counts: how near what was measured is; then what was told or computed; then what is missing.
const COLUMNS: [&str; 9] = [
    "measured, within 2 %",
    "measured, within 10 %",
    "measured, off",
    "derived",
    "input",
    "fitted",
    "not modelled",
    "not run",
    "no cell",
];

fn column(state: &State) -> usize {
    use crate::report::Kind;
    match state {
        State::Measured(Agreement::Within2) => 0,
        State::Measured(Agreement::Within10) => 1,
        State::Measured(Agreement::Off(_) | Agreement::Not) => 2,
        State::Told(Kind::Input, _) => 4,
        State::Told(Kind::Fitted, _) => 5,
        State::Told(..) => 3,
        State::NotModelled(_) => 6,
        State::NotRun => 7,
        State::NoCell => 8,
    }
}

/// All rows with their states.
fn states(reports: &[Report]) -> Vec<(&'static Row, Option<&Cell>, State)> {
    rows()
        .iter()
        .map(|row| (row, state(row, reports)))
        .map(|(row, (cell, state))| (row, cell, state))
        .collect()
}

fn papers() -> Vec<&'static str> {
    let mut papers = Vec::new();
    for row in rows() {
        if !papers.contains(&row.paper) {
            papers.push(row.paper);
        }
    }
    papers
}

/// How a row that has a value was chosen, why it is off or has none, and what may bring it.
fn said(row: &Row, state: &State) -> String {
    let why = match state {
        State::NotModelled(why) => vec![why.as_str()],
        _ => vec![row.chosen, if state.is_off() { row.why_off } else { "" }],
    };
    let said: Vec<&str> = why.into_iter().filter(|said| !said.is_empty()).collect();
    let model = if state.is_near() { "" } else { row.model };
    let may = (!model.is_empty()).then(|| match model.strip_prefix("none: ") {
        Some(why) => format!("nothing may bring it: {why}"),
        None => format!("what may bring it: {model}"),
    });
    said.into_iter().map(String::from).chain(may).collect::<Vec<_>>().join("; ")
}

/// How many rows of each paper are in each state; the last line is of all papers.
fn counts(states: &[(&Row, Option<&Cell>, State)]) -> Vec<(&'static str, [usize; COLUMNS.len()])> {
    let of = |is_meant: &dyn Fn(&Row) -> bool| {
        let mut counts = [0; COLUMNS.len()];
        for (_, _, state) in states.iter().filter(|(row, ..)| is_meant(row)) {
            counts[column(state)] += 1;
        }
        counts
    };
    let each = papers().into_iter().map(|paper| (paper, of(&|row| row.paper == paper)));
    each.chain([("all", of(&|_| true))]).collect()
}

/// How many rows that a model can measure are near, and how many only look so.
fn summary(states: &[(&Row, Option<&Cell>, State)]) -> String {
    use crate::report::Kind;
    let could = || states.iter().filter(|(row, ..)| row.kind == Kind::Measured);
    let near = could().filter(|(.., state)| state.is_near()).count();
    let chosen = could()
        .filter(|(.., state)| matches!(state, State::Told(Kind::Fitted, Some(_))) && !state.is_off())
        .count();
    let missing = could().filter(|(.., state)| *state == State::NotRun).count();
    let missing = if missing == 0 { String::new() } else { format!(" {missing} of them were not run.") };
    format!(
        "Of {} numbers and findings that a run could give, {near} are measured and within 10 %. {chosen} more are as \
         near, but their model, or the cell beside them, was chosen with them in view: they are fitted.{missing}",
        could().count()
    )
}

/// The scorecard of these reports.
pub fn report(reports: &[Report]) -> Report {
    let states = states(reports);
    let counted = counts(&states).into_iter().map(|(paper, counts)| {
        let all = counts.iter().sum::<usize>();
        let cells = counts.into_iter().chain([all]).map(Cell::key);
        std::iter::once(Cell::text(paper)).chain(cells).collect()
    });
    let heads = [&["paper"], &COLUMNS[..], &["all"]].concat();
    let note = "Measured: a program or a network ran, and was not told the value; a finding that comes out is within \
        2 %. What was told, fitted or computed is counted as that, however near it is.";
    let papers = Table::new("papers", "Rows by paper and state", note, &heads, counted.collect());
    let lines = states.iter().map(|(row, cell, state)| {
        let link = match &row.link {
            Link::Cell(address) if !matches!(state, State::NotModelled(_)) => {
                format!("{}/{}", address.experiment, address.table)
            }
            _ => String::new(),
        };
        vec![
            Cell::text(row.paper),
            Cell::text(row.place),
            Cell::text(row.quantity),
            Cell::text(row.unit),
            row.published.cell(),
            cell.cloned().unwrap_or(Cell::Absent),
            Cell::Text(state.show()),
            Cell::Text(link),
            Cell::Text(said(row, state)),
        ]
    });
    let heads = [
        "paper",
        "place",
        "quantity",
        "unit",
        "published",
        "here",
        "state",
        "where",
        "why not, and what may bring it",
    ];
    let note = "A row is a number or a finding that a paper prints; the table that has its value stands beside it, or why \
        there is none, or why it is off.";
    let all = Table::new("rows", "Every printed number", note, &heads, lines.collect());
    Report {
        name: "scorecard".into(),
        title: "The scorecard: every number that the papers print".into(),
        source: "Five papers: the J-Machine, JUMP-1, STAFF-Link, TR-448 (KL1 on a Symmetry), TR-486 (the Multi-PSI)".into(),
        about: "Which of the printed numbers come out here, how near, and which of them were told.".into(),
        measured_on: String::new(),
        notes: vec![summary(&states)],
        tables: vec![papers, all],
        charts: Vec::new(),
        disturbed: Vec::new(),
        provenance: None,
    }
}

/// What stands before and after the scorecard in docs/laboratory.md.
pub(crate) const BEGIN: &str = "<!-- scorecard: written by `fifth lab scorecard --markdown` -->\n";
pub(crate) const END: &str = "<!-- end of the scorecard -->\n";

/// The scorecard as docs/laboratory.md has it, from mark to mark.
pub fn markdown(reports: &[Report]) -> String {
    let states = states(reports);
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut out = BEGIN.to_string();
    out += &line(
        &[&["paper"], &COLUMNS[..7], &["all"]].concat().iter().map(|head| (*head).into()).collect::<Vec<_>>(),
    );
    out += &format!("|---|{}\n", "--:|".repeat(8));
    for (paper, counts) in counts(&states) {
        let all = counts.iter().sum::<usize>();
        let numbers = counts[..7].iter().chain([&all]).map(usize::to_string);
        out += &line(&std::iter::once(paper.to_string()).chain(numbers).collect::<Vec<_>>());
    }
    // A sentence a line.
    out += &format!("\n{}\n", summary(&states).replace("%. ", "%.\n"));
    for paper in papers() {
        out += &format!(
            "\n{paper}:\n\n| place | quantity | published | here | state | where, or why not, and what may bring it |\n|---|---|--:|--:|---|---|\n"
        );
        for (row, cell, state) in states.iter().filter(|(row, ..)| row.paper == paper) {
            let unit = if row.unit == "yes/no" { String::new() } else { format!(" {}", row.unit) };
            let place = match (&row.link, state) {
                (Link::Cell(address), state) if !matches!(state, State::NotModelled(_)) => {
                    match said(row, state) {
                        said if said.is_empty() => format!("`{}`", address.experiment),
                        said => format!("`{}`: {said}", address.experiment),
                    }
                }
                _ => said(row, state),
            };
            let published = row.published.cell().plain().replace('*', "");
            let here = cell.map_or("-".into(), Cell::plain);
            out += &line(&[
                row.place.into(),
                row.quantity.replace('<', "&lt;"),
                published + &unit,
                here,
                state.show(),
                place,
            ]);
        }
    }
    out + END
}
