//! One report of several of the same experiment: with other seeds ([`spread`]), or with other values of an input
//! ([`sensitivity`]).

use crate::report::{Cell, Chart, Kind, Report, Series, Table, Whisker, median};

/// Medians over seeds; what differs has its least and greatest value in a table, and whiskers in charts. Gives the
/// only report as it is.
pub fn spread(seeds: &[u64], reports: Vec<Report>) -> Option<Report> {
    let mut of_all = reports.first()?.clone();
    if reports.len() < 2 {
        return Some(of_all);
    }
    let mut differing = Vec::new();
    for (at, table) in of_all.tables.iter_mut().enumerate() {
        let others: Option<Vec<&Table>> =
            reports.iter().map(|report| report.tables.get(at).filter(|other| alike(table, other))).collect();
        let Some(others) = others else { continue };
        let (id, columns) = (table.id.clone(), table.columns.clone());
        for (row, cells) in table.rows.iter_mut().enumerate() {
            let name = name(cells);
            for (column, cell) in cells.iter_mut().enumerate() {
                let values: Vec<&Cell> = others.iter().map(|other| &other.rows[row][column]).collect();
                let Some((middle, spread)) = middle(&values) else { continue };
                let place = [Cell::text(&id), Cell::text(&name), Cell::text(&columns[column])];
                differing.push([&place[..], std::slice::from_ref(&middle), &spread[..]].concat());
                *cell = middle;
            }
        }
    }
    for (at, chart) in of_all.charts.iter_mut().enumerate() {
        let others: Option<Vec<&Chart>> = reports.iter().map(|report| report.charts.get(at)).collect();
        others.into_iter().for_each(|others| whiskers(chart, &others));
    }
    let (first, last) = (seeds.first()?, seeds.last()?);
    let note = format!(
        "What depends on the seed, over seeds {first} to {last}: the other tables have the medians. A finding holds if it \
         holds for most."
    );
    let heads = ["table", "row", "column", "median", "least", "most", "most to least"];
    of_all.measured_on += &format!(" Medians over seeds {first} to {last}.");
    of_all.tables.push(Table::new("seeds", "Spread over seeds", &note, &heads, differing));
    of_all.disturbed = reports.into_iter().flat_map(|report| report.disturbed).collect();
    Some(of_all)
}

/// Whether two tables have the same rows.
fn alike(one: &Table, other: &Table) -> bool {
    one.id == other.id
        && one.columns == other.columns
        && one.rows.len() == other.rows.len()
        && one.rows.iter().zip(&other.rows).all(|(one, other)| name(one) == name(other))
}

/// The words and keys that a row begins with.
fn name(row: &[Cell]) -> String {
    let words = row.iter().take_while(|cell| matches!(cell, Cell::Text(_) | Cell::Key(..)));
    let words: Vec<String> = words.map(Cell::exact).collect();
    words.join("; ")
}

/// The middle of cells that differ; their least and greatest value, and the quotient of these.
fn middle(cells: &[&Cell]) -> Option<(Cell, [Cell; 3])> {
    let first = *cells.first()?;
    if cells.iter().all(|cell| *cell == first) {
        return None;
    }
    if let Cell::Finding(kind, _) = first {
        let holding = cells.iter().filter(|cell| ***cell == Cell::Finding(*kind, true)).count();
        let told = Cell::Text(format!("in {holding} of {}", cells.len()));
        return Some((Cell::Finding(*kind, 2 * holding > cells.len()), [told, Cell::Absent, Cell::Absent]));
    }
    let (kind, (_, decimals)) = (first.kind()?, first.value()?);
    let values: Vec<f64> = cells.iter().filter_map(|cell| Some(cell.value()?.0)).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let number = |value| Cell::number(kind, value, decimals);
    Some((number(median(values)?), [number(least), number(most), Cell::of(kind, most, least, 3)]))
}

/// Points at the same place become their medians, with whiskers; of lines with other places the first stay.
fn whiskers(chart: &mut Chart, others: &[&Chart]) {
    for (number, series) in chart.series.iter_mut().enumerate() {
        let alike = |other: &&Chart| {
            let same = |(a, b): (&(f64, f64), &(f64, f64))| a.0 == b.0;
            other.series.get(number).is_some_and(|other| {
                other.points.len() == series.points.len() && other.points.iter().zip(&series.points).all(same)
            })
        };
        if !others.iter().all(alike) {
            continue;
        }
        for (at, point) in series.points.iter_mut().enumerate() {
            let values: Vec<f64> = others.iter().map(|other| other.series[number].points[at].1).collect();
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            point.1 = median(values).unwrap_or(point.1);
            if least < most {
                chart.look.whiskers.push(Whisker { series: number, x: point.0, least, most });
            }
        }
    }
}

/// Lines of a chart of sensitivity, at most: those that change most.
const LINES_MAX: usize = 6;

/// What measured values become with other values of an input: a column and a point for each.
pub fn sensitivity(input: &str, values: &[(String, f64)], reports: &[Report]) -> Option<Report> {
    let first = reports.first()?;
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    for (at, table) in first.tables.iter().enumerate() {
        let others = reports.iter().map(|report| report.tables.get(at).filter(|other| alike(table, other)));
        let Some(others) = others.collect::<Option<Vec<&Table>>>() else { continue };
        for (row, cells) in table.rows.iter().enumerate() {
            for (column, head) in table.columns.iter().enumerate() {
                let cells_of: Vec<&Cell> = others.iter().map(|other| &other.rows[row][column]).collect();
                let is_result = matches!(cells[column].kind(), Some(Kind::Measured | Kind::Derived));
                if !is_result || cells_of.iter().all(|cell| *cell == cells_of[0]) {
                    continue;
                }
                let place = [table.id.clone(), name(cells), head.clone()];
                lines.extend(line(&place, values, &cells_of));
                let place = place.map(Cell::Text).into_iter();
                rows.push(place.chain(cells_of.into_iter().cloned()).collect());
            }
        }
    }
    lines.sort_by(|a, b| b.0.total_cmp(&a.0));
    let series = lines.into_iter().take(LINES_MAX).map(|(_, series)| series).collect();
    let heads: Vec<String> = values.iter().map(|(text, _)| format!("{input}={text}")).collect();
    let heads: Vec<&str> =
        ["table", "row", "column"].into_iter().chain(heads.iter().map(String::as_str)).collect();
    let note = "What changes with the input. The chart has the values that change most, against the first.";
    let (title, y) = (format!("Sensitivity to {input}"), format!("times the value at {}", values.first()?.0));
    let numeric = values
        .iter()
        .enumerate()
        .all(|(at, (text, value))| text.parse() == Ok(*value) || at as f64 == *value);
    let x = if numeric { input.to_string() } else { format!("{input}, in the order of the table") };
    Some(Report {
        tables: vec![Table::new("sensitivity", &title, note, &heads, rows)],
        charts: vec![Chart::lines("sensitivity-chart", &title, &x, &y, series)],
        disturbed: reports.iter().flat_map(|report| report.disturbed.clone()).collect(),
        notes: first.notes.clone(),
        ..Report { tables: vec![], charts: vec![], ..first.clone() }
    })
}

/// How far the line of a value goes from 1, and the line.
fn line(place: &[String; 3], values: &[(String, f64)], cells: &[&Cell]) -> Option<(f64, Series)> {
    let first = cells.first()?.value()?.0;
    if first == 0.0 {
        return None;
    }
    let points: Vec<(f64, f64)> =
        values.iter().zip(cells).filter_map(|((_, x), cell)| Some((*x, cell.value()?.0 / first))).collect();
    let change = points.iter().map(|point| point.1.max(1e-9).ln().abs()).fold(0.0, f64::max);
    Some((change, Series { name: format!("{}: {}", place[1], place[2]), points }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(value: f64, holds: bool) -> Report {
        let row = |name, cells: &[Cell]| [&[Cell::text(name)], cells].concat();
        let rows = vec![
            row("speed", &[Cell::Measured(value, 1), Cell::Published(5.0, 0)]),
            row("size", &[Cell::Measured(4.0, 1), Cell::Absent]),
            row("found", &[Cell::Finding(Kind::Measured, holds), Cell::Absent]),
        ];
        let table = Table::new("table", "Table", "", &["what", "here", "published"], rows);
        let points = vec![(1.0, value), (2.0, 4.0)];
        let chart = Chart::lines("chart", "Chart", "x", "y", vec![Series { name: "line".into(), points }]);
        let of = Report::of(&crate::EXPERIMENTS[0], "Here.".into());
        Report { tables: vec![table], charts: vec![chart], ..of }
    }

    #[test]
    fn seeds_give_medians_and_their_spread() {
        let reports = vec![report(3.0, true), report(9.0, false), report(4.0, true)];
        let merged = spread(&[1, 2, 3], reports).expect("reports");
        assert_eq!(merged.tables[0].rows[0][1], Cell::Measured(4.0, 1));
        assert_eq!(merged.tables[0].rows[2][1], Cell::Finding(Kind::Measured, true));
        let rows = &merged.tables[1].rows;
        assert_eq!(rows.len(), 2, "the size does not depend on the seed");
        let shown: Vec<String> = rows[0].iter().map(Cell::show).collect();
        assert_eq!(shown, ["table", "speed", "here", "4.0", "3.0", "9.0", "3.000"]);
        assert_eq!(rows[1][4], Cell::text("in 2 of 3"));
        assert_eq!(merged.charts[0].series[0].points, [(1.0, 4.0), (2.0, 4.0)]);
        assert_eq!(merged.charts[0].look.whiskers, [Whisker { series: 0, x: 1.0, least: 3.0, most: 9.0 }]);
        assert_eq!(merged.measured_on, "Here. Medians over seeds 1 to 3.");
        assert_eq!(spread(&[1], vec![report(3.0, true)]).map(|one| one.tables.len()), Some(1));
    }

    #[test]
    fn an_input_shows_what_it_changes() {
        let values = [("2".to_string(), 2.0), ("4".to_string(), 4.0)];
        let merged =
            sensitivity("buffer-flits", &values, &[report(3.0, true), report(6.0, true)]).expect("reports");
        let table = &merged.tables[0];
        assert_eq!(table.columns[3..], ["buffer-flits=2", "buffer-flits=4"]);
        assert_eq!(table.rows.len(), 1);
        assert_eq!(table.rows[0][3..], [Cell::Measured(3.0, 1), Cell::Measured(6.0, 1)]);
        assert_eq!(merged.charts[0].series[0].points, [(2.0, 1.0), (4.0, 2.0)]);
    }
}
