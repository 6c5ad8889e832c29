//! One page for all reports of a session; it needs no other file and no network.
//!
//! The scorecard comes first, if there is one; then where the figures come from, the contents with what each experiment
//! asks and answers, and the experiments. Colours follow the reader's system, and paper has its own.

use crate::answers;
use crate::report::{Cell, Chart, Kind, Provenance, Report, Table};
use crate::svg;
use crate::svg::escaped;
use std::collections::BTreeSet;

/// How the page looks.
pub const STYLE: &str = include_str!("page.css");
/// Tables with more rows than this are folded.
const ROWS_MAX: usize = 40;
/// The report that comes first.
const SCORECARD: &str = "scorecard";

/// The page, with a link to each report and to the tables that its words name as `report/table`.
pub fn page(reports: &[Report]) -> String {
    let anchors = anchors(reports);
    let (scorecards, experiments): (Vec<&Report>, Vec<&Report>) =
        reports.iter().partition(|report| report.name == SCORECARD);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Fifth: laboratory</title>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>\n{STYLE}</style></head><body>\n\
         <header><h1>Fifth: the laboratory</h1>\n<p>Published tables and figures, measured again. Each value says where \
         it comes from:</p>\n{}</header>\n",
        legend(&Kind::ALL)
    );
    for scorecard in &scorecards {
        out += &section(scorecard, &anchors);
    }
    out += &origin(experiments.iter().filter_map(|report| report.provenance.as_ref()));
    out += &contents(&experiments);
    for report in &experiments {
        out += &section(report, &anchors);
    }
    out + "</body></html>\n"
}

/// The names of reports and of their tables on a page of them.
pub fn anchors(reports: &[Report]) -> BTreeSet<String> {
    let of_a_report = |report: &Report| -> Vec<String> {
        let tables = report.tables.iter().map(|table| anchor(report, table));
        tables.chain([report.name.clone()]).collect()
    };
    reports.iter().flat_map(of_a_report).collect()
}

/// The name of a table on the page.
fn anchor(report: &Report, table: &Table) -> String {
    format!("{}/{}", report.name, table.id)
}

/// What the experiments ask and answer.
fn contents(reports: &[&Report]) -> String {
    let row = |report: &&Report| {
        let question = answers::question(&report.name).unwrap_or(&report.title);
        let uncounted = report.why_not().map_or(String::new(), |why| format!(" ({why})"));
        format!(
            "<tr><td class=\"text\"><a href=\"#{0}\">{0}</a>{uncounted}</td><td class=\"text\">{1}</td>\
             <td class=\"text\">{2}</td></tr>\n",
            escaped(&report.name),
            escaped(question),
            escaped(&answers::answer(report))
        )
    };
    let rows: String = reports.iter().map(row).collect();
    format!(
        "<nav id=\"contents\"><h2>Contents</h2>\n<div class=\"scroll\"><table>\n<tr><th class=\"text\">experiment</th>\
         <th class=\"text\">question</th><th class=\"text\">answer</th></tr>\n{rows}</table></div></nav>\n"
    )
}

/// Where the figures come from, as far as all experiments have it in common.
fn origin<'a>(mut all: impl Iterator<Item = &'a Provenance> + Clone) -> String {
    let Some(first) = all.clone().next() else { return String::new() };
    let is_common = |(name, fact): &(&str, &str)| {
        *name != "date" && all.clone().all(|other| other.facts().contains(&(*name, *fact)))
    };
    let mut facts: Vec<(&str, &str)> = first.facts().into_iter().filter(is_common).collect();
    if let Some(last) = all.by_ref().map(|from| from.date.as_str()).max() {
        facts.push(("last date", last));
    }
    format!("<section id=\"origin\"><h2>Where the figures come from</h2>\n{}</section>\n", list(&facts))
}

fn list(facts: &[(&str, &str)]) -> String {
    let fact = |(name, fact): &(&str, &str)| format!("<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(fact));
    format!("<dl class=\"facts\">{}</dl>\n", facts.iter().map(fact).collect::<String>())
}

fn paragraph(class: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<p class=\"{class}\">{}</p>\n", escaped(text)) }
}

/// A report, as a part of a page whose anchors are these.
pub fn section(report: &Report, anchors: &BTreeSet<String>) -> String {
    let name = escaped(&report.name);
    let mut out = format!("<section id=\"{name}\">\n<h2>{name}: {}</h2>\n", escaped(&report.title));
    out += &paragraph("source", &report.source);
    out += &paragraph("question", answers::question(&report.name).unwrap_or_default());
    out += &paragraph("answer", &answers::answer(report));
    for run in &report.disturbed {
        let told = format!("Something else on the host disturbed {run}: these values measure nothing.");
        out += &paragraph("warning", &told);
    }
    out += &paragraph("about", &report.about);
    if !report.charts.is_empty() {
        let figure = |chart: &Chart| format!("<figure>{}</figure>\n", svg::chart(chart));
        out += &format!(
            "<div class=\"charts\">\n{}</div>\n",
            report.charts.iter().map(figure).collect::<String>()
        );
    }
    report.tables.iter().for_each(|table| out += &shown(report, table, anchors));
    out += &paragraph("note", &report.measured_on);
    let notes = report.notes.iter().map(|note| format!("<li>{}</li>\n", escaped(note)));
    if !report.notes.is_empty() {
        out += &format!("<ul class=\"note\">\n{}</ul>\n", notes.collect::<String>());
    }
    if let Some(from) = &report.provenance {
        out +=
            &format!("<details><summary>where it comes from</summary>\n{}</details>\n", list(&from.facts()));
    }
    out + "</section>\n"
}

/// A table. Inputs and long tables are folded.
fn shown(report: &Report, table: &Table, anchors: &BTreeSet<String>) -> String {
    let (id, title) = (escaped(&anchor(report, table)), escaped(&table.title));
    let body = format!("{}{}", grid(table, anchors), paragraph("note", &table.note));
    if table.rows.is_empty() {
        return String::new();
    }
    if table.id != "inputs" && table.rows.len() <= ROWS_MAX {
        return format!("<h3 id=\"{id}\">{title}</h3>\n{body}");
    }
    let count = table.rows.len();
    format!("<details id=\"{id}\"><summary>{title} ({count} rows)</summary>\n{body}</details>\n")
}

/// Tables of what is being measured, one after the other.
pub fn tables(tables: &[Table]) -> String {
    let none = BTreeSet::new();
    tables.iter().map(|table| format!("<h3>{}</h3>\n{}", escaped(&table.title), grid(table, &none))).collect()
}

fn grid(table: &Table, anchors: &BTreeSet<String>) -> String {
    let is_text = |column: usize| {
        let mut cells = table.rows.iter().filter_map(|row| row.get(column));
        cells.any(|cell| matches!(cell, Cell::Text(_)))
    };
    let heads = table.columns.iter().enumerate().map(|(column, head)| {
        let class = if is_text(column) { " class=\"text\"" } else { "" };
        format!("<th{class}>{}</th>", escaped(head))
    });
    let mut out = format!("<div class=\"scroll\"><table>\n<tr>{}</tr>\n", heads.collect::<String>());
    for row in &table.rows {
        let cells = row.iter().zip(&table.columns).map(|(one, head)| cell(one, head, anchors));
        out += &format!("<tr>{}</tr>\n", cells.collect::<String>());
    }
    out + "</table></div>\n"
}

fn cell(cell: &Cell, head: &str, anchors: &BTreeSet<String>) -> String {
    let class = match (cell, cell.kind()) {
        (_, Some(kind)) => kind.name().into(),
        (Cell::Text(text), _) if head == "state" => format!("text {}", state(text)),
        (Cell::Text(_), _) => "text".into(),
        (Cell::Key(..), _) => "key".into(),
        _ => "absent".into(),
    };
    let told = match (cell, cell.kind()) {
        (Cell::NotModelled(why), _) => format!(" title=\"{}\"", escaped(why)),
        (_, Some(kind)) => format!(" title=\"{}\"", escaped(kind.meaning())),
        _ => String::new(),
    };
    let shown = escaped(&cell.show());
    match cell {
        Cell::Text(text) if anchors.contains(text) => {
            format!("<td class=\"{class}\"><a href=\"#{shown}\">{shown}</a></td>")
        }
        _ => format!("<td class=\"{class}\"{told}>{shown}</td>"),
    }
}

/// How a row of the scorecard stands.
fn state(text: &str) -> &'static str {
    match text {
        "within 2 %" => "good",
        "within 10 %" => "near",
        "not modelled" | "not run" | "derived" | "input" | "fitted" => "told",
        _ => "off",
    }
}

/// What the looks of values mean.
pub fn legend(kinds: &[Kind]) -> String {
    let kinds = kinds.iter().map(|kind| {
        let (name, mark) = (kind.name(), kind.mark());
        format!("<li><span class=\"{name}\">1{mark}</span> {}</li>\n", escaped(kind.meaning()))
    });
    format!("<ul class=\"legend\">\n{}</ul>\n", kinds.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EXPERIMENTS;

    fn report(name: &str) -> Report {
        Report { name: name.into(), ..Report::of(&EXPERIMENTS[0], String::new()) }
    }

    #[test]
    fn the_scorecard_is_first_and_the_contents_lead_to_the_others() {
        let page = page(&[report("jmachine/fig2"), report("scorecard"), report("jmachine/fig3")]);
        let at = |what: &str| page.find(what).unwrap_or_else(|| panic!("{what} in {page}"));
        assert!(at("<section id=\"scorecard\">") < at("<nav id=\"contents\">"));
        assert!(at("<nav id=\"contents\">") < at("<section id=\"jmachine/fig2\">"));
        assert!(page.contains("<a href=\"#jmachine/fig3\">jmachine/fig3</a>"));
        // Nothing is fetched: no address but those of the page itself and of SVG's names.
        for scheme in ["http://", "https://", "src=", "@import", "url("] {
            assert_eq!(
                page.matches(scheme).count(),
                page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count()
                    * usize::from(scheme == "http://"),
                "{scheme}"
            );
        }
    }

    /// Whoever likes dark screens has white paper.
    #[test]
    fn dark_colours_are_for_screens() {
        let all = STYLE.matches("prefers-color-scheme: dark").count();
        assert_eq!(all, STYLE.matches("@media screen and (prefers-color-scheme: dark)").count());
        assert!(all > 2 && STYLE.contains("@media print"));
    }

    #[test]
    fn what_reports_have_in_common_stands_once() {
        let from = |seed: &str, date: &str| Provenance {
            commit: "abcdef".into(),
            seed: seed.into(),
            date: date.into(),
            ..Provenance::default()
        };
        let all = [from("1", "2026-01-01"), from("2", "2026-01-02")];
        let text = origin(all.iter());
        assert!(text.contains("<dt>commit</dt><dd>abcdef</dd>"), "{text}");
        assert!(text.contains("<dt>last date</dt><dd>2026-01-02</dd>"), "{text}");
        assert!(!text.contains("<dt>seed</dt>"), "{text}");
        assert_eq!(origin([].iter()), "");
    }
}
