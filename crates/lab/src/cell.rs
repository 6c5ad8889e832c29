//! Cells of tables: a value, and where it comes from. The kind goes with it to the terminal, the page, CSV and JSON.

use crate::report::grouped;
use serde::{Deserialize, Serialize};

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A program or a network ran, and was not told it.
    Measured,
    /// Arithmetic over counts, inputs and printed values: it says no more than they do.
    Derived,
    /// A model was given it.
    Input,
    /// An input that was chosen so that a published value comes out, or that value.
    Fitted,
    /// Printed in the paper, and measured on the paper's machine.
    Published,
    /// Nothing here gives it.
    NotModelled,
}

impl Kind {
    /// All of them, the strongest claim first.
    pub const ALL: [Kind; 6] =
        [Kind::Measured, Kind::Derived, Kind::Input, Kind::Fitted, Kind::Published, Kind::NotModelled];

    /// Its name: for people, and as a class of the page.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Measured => "measured",
            Kind::Derived => "derived",
            Kind::Input => "input",
            Kind::Fitted => "fitted",
            Kind::Published => "published",
            Kind::NotModelled => "not-modelled",
        }
    }
    /// What follows a value of this kind in a line of text.
    pub fn mark(self) -> &'static str {
        match self {
            Kind::Measured | Kind::NotModelled => "",
            Kind::Derived => "~",
            Kind::Input => "^",
            Kind::Fitted => "^^",
            Kind::Published => "*",
        }
    }
    /// What the mark says.
    pub fn meaning(self) -> &'static str {
        match self {
            Kind::Measured => "measured: a program or a network ran, and was not told it",
            Kind::Derived => "derived: follows from inputs and counts",
            Kind::Input => "an input: the model was given it",
            Kind::Fitted => "fitted: chosen so that a published value comes out, or that value",
            Kind::Published => "published, not measured here",
            Kind::NotModelled => "not modelled: nothing here gives it",
        }
    }
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub enum Cell {
    /// A word, left-aligned.
    Text(String),
    /// A number that names its row: what the run was asked for.
    Key(f64, usize),
    /// A measured value, and its decimals when people read it.
    Measured(f64, usize),
    /// A value from the paper, as it is printed there.
    Published(f64, usize),
    /// A value that a model was given.
    Input(f64, usize),
    /// An input that was chosen so that a published value comes out, or that value.
    Fitted(f64, usize),
    /// A value that follows from inputs and counts: it says no more than they do.
    Derived(f64, usize),
    /// Whether something that a paper says holds.
    Finding(Kind, bool),
    /// Nothing here gives such a value; why, in a sentence.
    NotModelled(String),
    /// There is no such value.
    Absent,
}

impl Cell {
    /// A measured number without decimals.
    pub fn count(value: impl TryInto<u64>) -> Cell {
        Cell::whole(value, Cell::Measured)
    }
    /// A whole number that names its row.
    pub fn key(value: impl TryInto<u64>) -> Cell {
        Cell::whole(value, Cell::Key)
    }
    fn whole(value: impl TryInto<u64>, make: fn(f64, usize) -> Cell) -> Cell {
        // Beyond 2^53 the last digits do not matter.
        value.try_into().map_or(Cell::Absent, |value| make(value as f64, 0))
    }
    /// A word.
    pub fn text(text: &str) -> Cell {
        Cell::Text(text.into())
    }
    /// The quotient of measured values; absent if nothing can be divided.
    pub fn ratio(dividend: f64, divisor: f64, decimals: usize) -> Cell {
        Cell::of(Kind::Measured, dividend, divisor, decimals)
    }
    /// The quotient as a value of a kind; absent if nothing can be divided.
    pub fn of(kind: Kind, dividend: f64, divisor: f64, decimals: usize) -> Cell {
        if divisor > 0.0 { Cell::number(kind, dividend / divisor, decimals) } else { Cell::Absent }
    }
    /// A number of a kind; what is not modelled has none.
    pub fn number(kind: Kind, value: f64, decimals: usize) -> Cell {
        match kind {
            Kind::Measured => Cell::Measured(value, decimals),
            Kind::Derived => Cell::Derived(value, decimals),
            Kind::Input => Cell::Input(value, decimals),
            Kind::Fitted => Cell::Fitted(value, decimals),
            Kind::Published => Cell::Published(value, decimals),
            Kind::NotModelled => Cell::Absent,
        }
    }
    /// What a model was told: a number, or a word, with where it comes from. An origin that begins with "fitted" says
    /// that it was chosen so that a published value comes out.
    pub fn told(value: &str, origin: &str) -> Cell {
        let Ok(number) = value.parse::<f64>() else { return Cell::text(value) };
        let decimals = value.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let kind = if origin.starts_with("fitted") { Kind::Fitted } else { Kind::Input };
        Cell::number(kind, number, decimals)
    }

    /// Where its value comes from; words and keys have no kind.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Cell::Measured(..) => Some(Kind::Measured),
            Cell::Published(..) => Some(Kind::Published),
            Cell::Input(..) => Some(Kind::Input),
            Cell::Fitted(..) => Some(Kind::Fitted),
            Cell::Derived(..) => Some(Kind::Derived),
            Cell::Finding(kind, _) => Some(*kind),
            Cell::NotModelled(_) => Some(Kind::NotModelled),
            Cell::Text(_) | Cell::Key(..) | Cell::Absent => None,
        }
    }
    /// Its number and decimals.
    pub fn value(&self) -> Option<(f64, usize)> {
        match *self {
            Cell::Key(value, decimals)
            | Cell::Measured(value, decimals)
            | Cell::Published(value, decimals)
            | Cell::Input(value, decimals)
            | Cell::Fitted(value, decimals)
            | Cell::Derived(value, decimals) => Some((value, decimals)),
            Cell::Text(_) | Cell::Finding(..) | Cell::NotModelled(_) | Cell::Absent => None,
        }
    }
    /// For people, without a mark.
    pub fn plain(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Finding(_, holds) => yes(*holds).into(),
            Cell::NotModelled(_) => "not modelled".into(),
            Cell::Absent => "-".into(),
            number => number.value().map_or(String::new(), |(value, decimals)| grouped(value, decimals)),
        }
    }
    /// For people.
    pub fn show(&self) -> String {
        self.plain() + self.kind().map_or("", Kind::mark)
    }
    /// For programs.
    pub fn exact(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Finding(_, holds) => yes(*holds).into(),
            Cell::NotModelled(_) | Cell::Absent => String::new(),
            number => number.value().map_or(String::new(), |(value, _)| value.to_string()),
        }
    }
}

fn yes(holds: bool) -> &'static str {
    if holds { "yes" } else { "no" }
}

/// A cell in a file: `{"kind":"measured","value":43.0,"decimals":0}`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stored {
    kind: StoredKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decimals: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    holds: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum StoredKind {
    Value(Kind),
    Other(Other),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Other {
    Text,
    Key,
    Absent,
}

impl From<Cell> for Stored {
    fn from(cell: Cell) -> Stored {
        let kind = match (&cell, cell.kind()) {
            (_, Some(kind)) => StoredKind::Value(kind),
            (Cell::Text(_), _) => StoredKind::Other(Other::Text),
            (Cell::Key(..), _) => StoredKind::Other(Other::Key),
            _ => StoredKind::Other(Other::Absent),
        };
        let number = cell.value();
        let (mut holds, mut text) = (None, None);
        match cell {
            Cell::Finding(_, given) => holds = Some(given),
            Cell::Text(given) | Cell::NotModelled(given) => text = Some(given),
            _ => {}
        }
        // JSON has no such numbers.
        let value = number.map(|(value, _)| value).filter(|value| value.is_finite());
        Stored { kind, value, decimals: number.map(|(_, decimals)| decimals), holds, text }
    }
}

impl TryFrom<Stored> for Cell {
    type Error = String;
    fn try_from(stored: Stored) -> Result<Cell, String> {
        let Stored { kind, value, decimals, holds, text } = stored;
        // As many digits as a number may have; a file can ask for any number of them.
        let decimals = decimals.unwrap_or(0).min(20);
        Ok(match (kind, value, holds, text) {
            (StoredKind::Other(Other::Text), None, None, Some(text)) => Cell::Text(text),
            (StoredKind::Other(Other::Key), Some(value), None, None) => Cell::Key(value, decimals),
            (StoredKind::Value(Kind::NotModelled), None, None, Some(why)) => Cell::NotModelled(why),
            (StoredKind::Value(kind), None, Some(holds), None) => Cell::Finding(kind, holds),
            (StoredKind::Value(kind), Some(value), None, None) => Cell::number(kind, value, decimals),
            (StoredKind::Value(_) | StoredKind::Other(Other::Key | Other::Absent), None, None, None) => {
                Cell::Absent
            }
            (kind, ..) => return Err(format!("no cell of the kind {kind:?} has such parts")),
        })
    }
}
