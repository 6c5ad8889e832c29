//! One page for all reports of a session; it needs no other file.

use crate::report::{Cell, Report, Table, kinds};
use crate::svg;
use crate::svg::escaped;
use std::collections::BTreeSet;

const STYLE: &str = "body{font:15px/1.5 sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}\
table{border-collapse:collapse;margin:.5rem 0}th,td{border:1px solid #ccc;padding:.15rem .6rem;text-align:right}\
th{background:#f3f3f3}td.text{text-align:left}td.key{font-weight:bold}\
.measured{background:#f0f7f0;color:#10500f;font-weight:bold}.derived{background:#eef3fb;color:#1d4373}\
.input{background:#f2f2f2;color:#555;font-style:italic}.published{color:#8a4b00;background:#fff7ec}\
.fitted{background:#fbeef5;color:#8a1f5c;font-style:italic;text-decoration:underline dotted}\
.not-modelled{color:#777;background:repeating-linear-gradient(45deg,#fff,#fff 6px,#eee 6px,#eee 12px)}\
ul.legend{list-style:none;padding:0}.legend span{padding:0 .4rem}\
.scroll{overflow-x:auto}svg{max-width:100%;height:auto}";

/// The page, with a link to each report and to the tables that its words name as `report/table`.
pub fn page(reports: &[Report]) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Fifth: laboratory</title>\n\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body>\n"
    );
    let contents = reports.iter().map(|report| {
        format!("<li><a href=\"#{0}\">{0}</a>: {1}</li>\n", escaped(&report.name), escaped(&report.title))
    });
    out += &format!("<nav><ul>\n{}</ul></nav>\n", contents.collect::<String>());
    let anchors =
        reports.iter().flat_map(|report| report.tables.iter().map(move |table| anchor(report, table)));
    let anchors: BTreeSet<String> = anchors.collect();
    for report in reports {
        out += &section(report, &anchors);
    }
    out + "</body></html>\n"
}

/// The name of a table on the page.
fn anchor(report: &Report, table: &Table) -> String {
    format!("{}/{}", report.name, table.id)
}

fn section(report: &Report, anchors: &BTreeSet<String>) -> String {
    let paragraph =
        |text: &str| if text.is_empty() { String::new() } else { format!("<p>{}</p>\n", escaped(text)) };
    let name = escaped(&report.name);
    let mut out = format!("<h1 id=\"{name}\">{name}: {}</h1>\n", escaped(&report.title));
    out += &paragraph(&report.source);
    out += &paragraph(&report.about);
    out += &paragraph(&report.measured_on);
    let notes = report.notes.iter().map(|note| format!("<li>{}</li>\n", escaped(note)));
    out += &format!("<ul>\n{}</ul>\n", notes.collect::<String>());
    for table in &report.tables {
        let (id, title) = (escaped(&anchor(report, table)), escaped(&table.title));
        out += &format!("<h2 id=\"{id}\">{title}</h2>\n{}{}", grid(table, anchors), paragraph(&table.note));
    }
    out += &legend(report);
    for chart in &report.charts {
        out += &svg::chart(chart);
    }
    out
}

fn grid(table: &Table, anchors: &BTreeSet<String>) -> String {
    let heads = table.columns.iter().map(|head| format!("<th>{}</th>", escaped(head)));
    let mut out = format!("<div class=\"scroll\"><table>\n<tr>{}</tr>\n", heads.collect::<String>());
    for row in &table.rows {
        let cells = row.iter().map(|one| cell(one, anchors));
        out += &format!("<tr>{}</tr>\n", cells.collect::<String>());
    }
    out + "</table></div>\n"
}

fn cell(cell: &Cell, anchors: &BTreeSet<String>) -> String {
    let class = match (cell, cell.kind()) {
        (_, Some(kind)) => kind.name(),
        (Cell::Text(_), _) => "text",
        (Cell::Key(..), _) => "key",
        _ => "absent",
    };
    let told = match cell {
        Cell::NotModelled(why) => format!(" title=\"{}\"", escaped(why)),
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

/// What the looks of values mean, as far as a report has them.
fn legend(report: &Report) -> String {
    let kinds = kinds(report).into_iter().map(|kind| {
        let (name, mark) = (kind.name(), kind.mark());
        format!("<li><span class=\"{name}\">1{mark}</span> {}</li>\n", escaped(kind.meaning()))
    });
    format!("<ul class=\"legend\">\n{}</ul>\n", kinds.collect::<String>())
}
