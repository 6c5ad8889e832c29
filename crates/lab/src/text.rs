//! A report for a terminal.

use crate::report::{Cell, Report, Table, marks};

/// Characters of a line of running text.
const WIDTH: usize = 100;

/// Title, tables, notes. Charts are only named: a terminal does not show them.
pub fn report(report: &Report) -> String {
    let mut out = format!("{}: {}\n{}\n\n", report.name, report.title, report.source);
    out += &wrapped(&report.about);
    out += &wrapped(&report.measured_on);
    for run in &report.disturbed {
        out += &wrapped(&format!(
            "- disturbed by something else on this host, so no measure of anything: {run}"
        ));
    }
    for note in &report.notes {
        out += &wrapped(&format!("- {note}"));
    }
    for table in &report.tables {
        out += &format!("\n{}\n{}", table.title, grid(table));
        out += &wrapped(&table.note);
    }
    let marks = marks(report);
    if marks.is_empty() { out } else { out + "\n" + &wrapped(&marks) }
}

fn wrapped(text: &str) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > WIDTH {
            out.push('\n');
            column = 0;
        }
        if column > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += width;
    }
    if column > 0 {
        out.push('\n');
    }
    out
}

fn grid(table: &Table) -> String {
    let shown: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(Cell::show).collect()).collect();
    let left = |column: usize| table.rows.iter().all(|row| matches!(row[column], Cell::Text(_)));
    let width = |column: usize| {
        let cells = shown.iter().map(|row| row[column].chars().count());
        cells.chain([table.columns[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    let line = |cells: &[String]| {
        let padded = cells.iter().enumerate().map(|(column, text)| {
            let width = widths[column];
            if left(column) { format!("{text:<width$}") } else { format!("{text:>width$}") }
        });
        format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut out = line(&table.columns);
    for row in &shown {
        out += &line(row);
    }
    out
}
