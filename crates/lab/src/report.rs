//! A report as data: tables and charts, whoever writes them and however.

use crate::Experiment;
pub use crate::cell::{Cell, Kind};
pub use crate::provenance::Provenance;
use serde::{Deserialize, Serialize};

/// What an experiment gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The experiment's name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The paper.
    pub source: String,
    /// What it shows.
    pub about: String,
    /// The machine that measured, and how much was measured.
    pub measured_on: String,
    /// What was run.
    pub notes: Vec<String>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Charts.
    pub charts: Vec<Chart>,
    /// Runs that something else on the host disturbed, again and again: measured values mean little.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<String>,
    /// Where it comes from, if it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

impl Report {
    /// An experiment's report, with nothing in it yet.
    pub fn of(experiment: &Experiment, measured_on: String) -> Report {
        let Experiment { name, title, source, about, .. } = experiment;
        let [name, title, source, about] = [name, title, source, about].map(|text| (*text).to_string());
        let (notes, tables, charts, disturbed) = Default::default();
        Report { name, title, source, about, measured_on, notes, tables, charts, disturbed, provenance: None }
    }
    /// Whether its values may stand beside the papers'.
    pub fn counts(&self) -> bool {
        self.why_not().is_none()
    }
    /// Why its values may not stand beside the papers'; none: they may.
    pub fn why_not(&self) -> Option<&'static str> {
        let from = self.provenance.as_ref();
        if !self.disturbed.is_empty() {
            Some("its runs were disturbed")
        } else if from.is_some_and(Provenance::is_small) {
            Some("it ran at small scale")
        } else if from.is_some_and(|from| !from.set.is_empty()) {
            Some("inputs were set")
        } else {
            None
        }
    }
    /// The report, if each of its rows has as many cells as its table has columns: a file may say anything.
    pub fn checked(self) -> Result<Report, String> {
        for table in &self.tables {
            if table.rows.iter().any(|row| row.len() != table.columns.len()) {
                return Err(format!(
                    "a row of the table {} has not as many cells as it has columns",
                    table.id
                ));
            }
        }
        Ok(self)
    }
}

/// A table. Every row has as many cells as there are columns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table {
    /// Names its file.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// What must be known to read it.
    pub note: String,
    /// Heads, with units.
    pub columns: Vec<String>,
    /// Cells.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table with these heads.
    pub fn new(id: &str, title: &str, note: &str, heads: &[&str], rows: Vec<Vec<Cell>>) -> Table {
        let columns = heads.iter().map(|head| (*head).to_string()).collect();
        Table { id: id.into(), title: title.into(), note: note.into(), columns, rows }
    }
}

/// Kinds of values that a report has, the strongest claim first.
pub fn kinds(report: &Report) -> Vec<Kind> {
    let cells = || report.tables.iter().flat_map(|table| &table.rows).flatten();
    Kind::ALL.into_iter().filter(|kind| cells().any(|cell| cell.kind() == Some(*kind))).collect()
}

/// What the marks after values mean, as far as a report has them.
pub fn marks(report: &Report) -> String {
    let marks = kinds(report).into_iter().filter(|kind| !kind.mark().is_empty());
    marks.map(|kind| format!("{} {}", kind.mark(), kind.meaning())).collect::<Vec<_>>().join("; ")
}

/// Digits in groups of three.
pub fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    // A sum of nothing is -0.0.
    let minus = if text.contains(|digit| ('1'..='9').contains(&digit)) { "-" } else { "" };
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| (minus, rest));
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut digits = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            digits.push(',');
        }
        digits.push(digit);
    }
    format!("{sign}{digits}{fraction}")
}

/// A table of what a model was told: what, its value, and where that comes from. An origin begins with "printed",
/// "assumed" or "fitted".
pub fn inputs<W: AsRef<str>>(note: &str, inputs: &[(W, String, &str)]) -> Table {
    let row = |(what, value, origin): &(W, String, &str)| {
        vec![Cell::text(what.as_ref()), Cell::told(value, origin), Cell::text(origin)]
    };
    let rows = inputs.iter().map(row).collect();
    Table::new("inputs", "Inputs", note, &["what", "value", "origin"], rows)
}

/// A chart of lines, or of bars in groups.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Chart {
    /// Names its files; no table of the report has the same.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// What the axes are, with units.
    pub x: String,
    /// As `x`.
    pub y: String,
    /// Groups of bars; none: the series are lines.
    pub groups: Vec<Group>,
    /// The lines, or the bars of one colour. A line called `ideal` or `ideal, ..` is what would be without losses, and
    /// points called `published` or `published, ..` are the paper's.
    pub series: Vec<Series>,
    /// How it is drawn.
    #[serde(default)]
    pub look: Look,
}

/// How a chart is drawn, where it is not as most are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Equal steps of this axis are equal factors.
    pub log_x: bool,
    /// As `log_x`.
    pub log_y: bool,
    /// Bars of a group stand on each other: they are parts of a whole.
    pub stacked: bool,
    /// Points of the same number in all lines are of the same setting, and are joined.
    pub joined: bool,
    /// Between which values points lay in several runs.
    pub whiskers: Vec<Whisker>,
}

/// Between which values a point lay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Whisker {
    /// Of which series.
    pub series: usize,
    /// Where the point is.
    pub x: f64,
    /// The least value.
    pub least: f64,
    /// The greatest.
    pub most: f64,
}

impl Chart {
    /// A chart of lines.
    pub fn lines(id: &str, title: &str, x: &str, y: &str, series: Vec<Series>) -> Chart {
        let (id, title, x, y) = (id.into(), title.into(), x.into(), y.into());
        Chart { id, title, x, y, groups: Vec::new(), series, look: Look::default() }
    }
    /// The same on axes of equal factors: for machines that grow by factors.
    pub fn log(mut self, x: bool, y: bool) -> Chart {
        (self.look.log_x, self.look.log_y) = (x, y);
        self
    }
}

/// A group of bars.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Group {
    /// What stands below it.
    pub name: String,
    /// Whether its values are published ones.
    pub published: bool,
}

/// A line of a chart: all points that were measured, in the order of what was varied. Of bars, x is the number of the
/// group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Series {
    /// What the line is.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

/// The middle of some values, or the mean of the two in the middle; `None` of none.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

/// The smallest value that this percentage of the values does not exceed; `None` of none.
pub fn percentile(mut values: Vec<f64>, percent: u32) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() * percent as usize).div_ceil(100).max(1);
    values.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        let shown = [(0.0, 0), (999.0, 0), (1000.0, 0), (-1234567.891, 2), (0.5, 1), (12345.6, 0)];
        let texts = shown.map(|(value, decimals)| grouped(value, decimals));
        assert_eq!(texts, ["0", "999", "1,000", "-1,234,567.89", "0.5", "12,346"]);
        assert_eq!(
            (grouped(-0.0, 2), grouped(-0.04, 1), grouped(-0.06, 1)),
            ("0.00".into(), "0.0".into(), "-0.1".into())
        );
    }

    #[test]
    fn middles_and_percentiles() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!((median(vec![]), percentile(vec![], 50)), (None, None));
        let values = || (1..=100).map(f64::from).rev().collect::<Vec<_>>();
        assert_eq!([50, 99, 100].map(|percent| percentile(values(), percent)), [50.0, 99.0, 100.0].map(Some));
    }
}
