//! One page for all reports of a session; it needs no other file.

use crate::report::{Cell, Report, Table, marks};
use crate::svg;
use crate::svg::escaped;

const STYLE: &str = "body{font:15px/1.5 sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}\
table{border-collapse:collapse;margin:.5rem 0}th,td{border:1px solid #ccc;padding:.15rem .6rem;text-align:right}\
th{background:#f3f3f3}td.text{text-align:left}td.published{color:#8a4b00;background:#fff7ec}\
.scroll{overflow-x:auto}svg{max-width:100%;height:auto}";

/// The page.
pub fn page(reports: &[Report]) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Fifth: laboratory</title>\n\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body>\n"
    );
    for report in reports {
        out += &section(report);
    }
    out + "</body></html>\n"
}

fn section(report: &Report) -> String {
    let paragraph = |text: &str| format!("<p>{}</p>\n", escaped(text));
    let mut out = format!("<h1>{}: {}</h1>\n", escaped(report.name), escaped(report.title));
    out += &paragraph(report.source);
    out += &paragraph(report.about);
    out += &paragraph(&report.measured_on);
    let notes = report.notes.iter().map(|note| format!("<li>{}</li>\n", escaped(note)));
    out += &format!("<ul>\n{}</ul>\n", notes.collect::<String>());
    for table in &report.tables {
        out += &format!("<h2>{}</h2>\n{}{}", escaped(&table.title), grid(table), paragraph(&table.note));
    }
    out += &paragraph(&marks(report));
    for chart in &report.charts {
        out += &svg::chart(chart);
    }
    out
}

fn grid(table: &Table) -> String {
    let heads = table.columns.iter().map(|head| format!("<th>{}</th>", escaped(head)));
    let mut out = format!("<div class=\"scroll\"><table>\n<tr>{}</tr>\n", heads.collect::<String>());
    for row in &table.rows {
        let cells = row.iter().map(|cell| {
            let class = match cell {
                Cell::Text(_) => " class=\"text\"",
                Cell::Published(..) => " class=\"published\"",
                Cell::Input(..) => " class=\"input\"",
                Cell::Fitted(..) => " class=\"fitted\"",
                Cell::Derived(..) => " class=\"derived\"",
                Cell::Measured(..) | Cell::Absent => "",
            };
            format!("<td{class}>{}</td>", escaped(&cell.show()))
        });
        out += &format!("<tr>{}</tr>\n", cells.collect::<String>());
    }
    out + "</table></div>\n"
}
