//! Tables and charts as comma-separated values, with all digits.

use crate::report::{Cell, Chart, Table};

/// A table. Published values are in columns whose head says so.
pub fn table(table: &Table) -> String {
    let heads = table.columns.iter().map(|head| quoted(head)).collect::<Vec<_>>();
    let rows = table.rows.iter().map(|row| row.iter().map(Cell::exact).map(|cell| quoted(&cell)).collect());
    lines(std::iter::once(heads).chain(rows))
}

/// A chart's points, one a line.
pub fn chart(chart: &Chart) -> String {
    let heads = vec!["series".to_string(), quoted(&chart.x), quoted(&chart.y)];
    let points = chart.series.iter().flat_map(|series| {
        series.points.iter().map(|(x, y)| {
            let group = chart.groups.get(*x as usize);
            let x = group.map_or(x.to_string(), |group| quoted(&group.name));
            vec![quoted(&series.name), x, y.to_string()]
        })
    });
    lines(std::iter::once(heads).chain(points))
}

fn lines(rows: impl Iterator<Item = Vec<String>>) -> String {
    rows.map(|row| row.join(",") + "\n").collect()
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}
