//! Tables and charts as comma-separated values, with all digits.

use crate::report::{Chart, Table};

/// A table. A column with values is followed by one with their kinds. No two columns have the same head: one that
/// stands over several columns is put behind the one before it.
pub fn table(table: &Table) -> String {
    let has_values = |column: usize| table.rows.iter().any(|row| row[column].kind().is_some());
    let valued: Vec<bool> = (0..table.columns.len()).map(has_values).collect();
    let mut heads = Vec::new();
    for (head, valued) in own_heads(&table.columns).iter().zip(&valued) {
        heads.push(quoted(head));
        heads.extend(valued.then(|| quoted(&format!("{head}: kind"))));
    }
    let rows = table.rows.iter().map(|row| {
        let mut cells = Vec::new();
        for (cell, valued) in row.iter().zip(&valued) {
            cells.push(quoted(&cell.exact()));
            cells.extend(valued.then(|| cell.kind().map_or(String::new(), |kind| kind.name().into())));
        }
        cells
    });
    lines(std::iter::once(heads).chain(rows))
}

fn own_heads(columns: &[String]) -> Vec<String> {
    let is_once = |head: &str| columns.iter().filter(|other| *other == head).count() == 1;
    let mut before = "";
    let own = columns.iter().map(|head| {
        if is_once(head) {
            before = head;
            return head.clone();
        }
        format!("{before}: {head}")
    });
    own.collect()
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

#[cfg(test)]
mod tests {
    use super::own_heads;

    #[test]
    fn no_two_columns_have_the_same_head() {
        let columns = ["program", "s", "published", "speed", "published"].map(String::from);
        assert_eq!(own_heads(&columns), ["program", "s", "s: published", "speed", "speed: published"]);
    }
}
