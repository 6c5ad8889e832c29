//! The scorecard: each number that the papers print, the cell of an experiment that stands beside it, and how near it
//! is.
//!
//! The rows are in `rows.txt`, which says how it is written. A row's state never claims more than its cell: what was
//! told, fitted or computed is not within some percent, it is an input, fitted or derived.

mod tables;

pub use tables::{markdown, report};

use crate::report::{Cell, Kind, Report};
use std::fmt;
use std::sync::OnceLock;

/// A number or a finding that a paper prints.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The paper.
    pub paper: &'static str,
    /// Where in it.
    pub place: &'static str,
    /// What it is.
    pub quantity: &'static str,
    /// In what it is measured.
    pub unit: &'static str,
    /// What is printed.
    pub published: Printed,
    /// What the row may claim at best.
    pub kind: Kind,
    /// What stands beside it.
    pub link: Link,
    /// How its model or its cell was chosen by what is printed, in a sentence: then it is fitted, whatever the cell
    /// says. Empty: it was not.
    pub chosen: &'static str,
    /// Why it is off, in a sentence; empty: it is not.
    pub why_off: &'static str,
    /// Which model may bring it within 10 % as something measured; empty: it is.
    pub model: &'static str,
}

/// What a paper prints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Printed {
    /// A number, and its decimals.
    Number(f64, usize),
    /// More than this.
    Above(f64),
    /// Less than this.
    Below(f64),
    /// From one number to another.
    Range(f64, f64),
    /// Something that it found.
    Finding,
}

/// What stands beside a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Link {
    /// A cell of an experiment's report.
    Cell(Address),
    /// Nothing; why, in a sentence.
    Nothing(&'static str),
}

/// Where a cell is.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// The experiment.
    pub experiment: &'static str,
    /// The table's ID.
    pub table: &'static str,
    /// The first cells of its row.
    pub row: Vec<&'static str>,
    /// The head of its column.
    pub column: &'static str,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} / {} / {}", self.experiment, self.table, self.row.join("; "), self.column)
    }
}

impl Address {
    fn parse(text: &'static str) -> Option<Address> {
        let (experiment, rest) = text.split_once(": ")?;
        let mut parts = rest.splitn(3, " / ");
        let (table, row, column) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Address { experiment, table, row: row.split("; ").collect(), column })
    }
    /// The cell, if a report has it.
    pub fn find<'a>(&self, report: &'a Report) -> Option<&'a Cell> {
        let table = report.tables.iter().find(|table| table.id == self.table)?;
        let column = table.columns.iter().position(|head| head == self.column)?;
        let is_meant = |row: &&Vec<Cell>| self.row.iter().zip(*row).all(|(name, cell)| cell.exact() == *name);
        table.rows.iter().find(is_meant)?.get(column)
    }
}

impl Printed {
    fn parse(text: &str) -> Option<Printed> {
        let number = |text: &str| text.parse::<f64>().ok();
        if text == "yes" {
            return Some(Printed::Finding);
        }
        if let Some(bound) = text.strip_prefix('>') {
            return number(bound).map(Printed::Above);
        }
        if let Some(bound) = text.strip_prefix('<') {
            return number(bound).map(Printed::Below);
        }
        if let Some((from, to)) = text.split_once(" to ") {
            return Some(Printed::Range(number(from)?, number(to)?));
        }
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        Some(Printed::Number(number(text)?, decimals))
    }
    /// As a cell.
    pub fn cell(self) -> Cell {
        match self {
            Printed::Number(value, decimals) => Cell::Published(value, decimals),
            Printed::Above(value) => Cell::Text(format!("over {value}*")),
            Printed::Below(value) => Cell::Text(format!("under {value}*")),
            Printed::Range(from, to) => Cell::Text(format!("{from} to {to}*")),
            Printed::Finding => Cell::Finding(Kind::Published, true),
        }
    }
    /// How a cell's value compares with it; none: it has no value that could.
    fn agreement(self, cell: &Cell) -> Option<Agreement> {
        let holds = |holds| if holds { Agreement::Within2 } else { Agreement::Not };
        if let Cell::Finding(_, found) = cell {
            return (self == Printed::Finding).then(|| holds(*found));
        }
        let (value, _) = cell.value()?;
        match self {
            Printed::Above(bound) => Some(holds(value > bound)),
            Printed::Below(bound) => Some(holds(value < bound)),
            Printed::Range(from, _) if value < from => Some(Agreement::of(value, from)),
            Printed::Range(_, to) if value > to => Some(Agreement::of(value, to)),
            Printed::Range(..) => Some(Agreement::Within2),
            Printed::Finding => None,
            Printed::Number(printed, _) => Some(Agreement::of(value, printed)),
        }
    }
}

/// How near a value is to the published one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Agreement {
    /// Within 2 %, or as found, or within the printed bounds.
    Within2,
    /// Within 10 %.
    Within10,
    /// Off by this part of the published one.
    Off(f64),
    /// Not as found, or outside of a bound.
    Not,
}

impl Agreement {
    fn of(value: f64, published: f64) -> Agreement {
        let off = if published == 0.0 { value } else { value / published - 1.0 };
        match off.abs() {
            part if part <= 0.02 => Agreement::Within2,
            part if part <= 0.1 => Agreement::Within10,
            _ => Agreement::Off(off),
        }
    }
    /// For people.
    pub fn show(self) -> String {
        match self {
            Agreement::Within2 => "within 2 %".into(),
            Agreement::Within10 => "within 10 %".into(),
            // Nobody reads hundreds of percent.
            Agreement::Off(part) if part > 1.0 => format!("off: {:.1} times", part + 1.0),
            Agreement::Off(part) => format!("off by {:+.0} %", 100.0 * part),
            Agreement::Not => "not so".into(),
        }
    }
}

/// What can be said of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// It was measured: so near is it.
    Measured(Agreement),
    /// It was told, fitted, or computed; and how near that is.
    Told(Kind, Option<Agreement>),
    /// Nothing gives it; why.
    NotModelled(String),
    /// Its experiment did not run, or not at a size that has the value.
    NotRun,
    /// Its experiment ran, and has no such cell: the row's address is wrong.
    NoCell,
}

impl State {
    /// Of a row whose cell this is.
    fn of(row: &Row, cell: &Cell) -> State {
        if let Cell::NotModelled(why) = cell {
            return State::NotModelled(why.clone());
        }
        let Some(kind) = cell.kind() else {
            return if *cell == Cell::Absent { State::NotRun } else { State::NoCell };
        };
        // What a table only repeats from the paper is no more than an input.
        let kind = if kind == Kind::Published { Kind::Input } else { kind };
        let kind = if row.chosen.is_empty() { kind } else { kind.max(Kind::Fitted) };
        match (kind.max(row.kind), row.published.agreement(cell)) {
            (Kind::Measured, Some(agreement)) => State::Measured(agreement),
            (Kind::Measured, None) => State::NoCell,
            (Kind::NotModelled, _) => State::NotModelled("its kind says so".into()),
            (kind, agreement) => State::Told(kind, agreement),
        }
    }
    /// Whether its value is further from the published one than 10 %, or not as found.
    pub fn is_off(&self) -> bool {
        let (State::Measured(agreement) | State::Told(_, Some(agreement))) = self else { return false };
        matches!(agreement, Agreement::Off(_) | Agreement::Not)
    }
    /// Whether it was measured, and is within 10 % or as found.
    pub fn is_near(&self) -> bool {
        matches!(self, State::Measured(_)) && !self.is_off()
    }
    /// For people.
    pub fn show(&self) -> String {
        match self {
            State::Measured(agreement) => agreement.show(),
            State::Told(kind, Some(agreement @ (Agreement::Off(_) | Agreement::Not))) => {
                format!("{}, {}", kind.name(), agreement.show())
            }
            State::Told(kind, _) => kind.name().into(),
            State::NotModelled(_) => "not modelled".into(),
            State::NotRun => "not run".into(),
            State::NoCell => "no cell".into(),
        }
    }
}

/// The rows, in the papers' order.
pub fn rows() -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    // The test `all_rows_are_read` reads the same text.
    ROWS.get_or_init(|| parse(include_str!("rows.txt")).unwrap_or_else(|wrong| panic!("{wrong}")))
}

/// The experiments that rows have cells of, in the papers' order.
pub fn experiments() -> Vec<&'static str> {
    let mut names = Vec::new();
    for row in rows() {
        if let Link::Cell(address) = &row.link
            && !names.contains(&address.experiment)
        {
            names.push(address.experiment);
        }
    }
    names
}

/// A row's cell, if its report is there, and its state.
pub fn state<'a>(row: &Row, reports: &'a [Report]) -> (Option<&'a Cell>, State) {
    let address = match &row.link {
        Link::Nothing(why) => return (None, State::NotModelled((*why).into())),
        Link::Cell(address) => address,
    };
    let Some(report) = reports.iter().find(|report| report.name == address.experiment) else {
        return (None, State::NotRun);
    };
    let cell = address.find(report);
    (cell, cell.map_or(State::NoCell, |cell| State::of(row, cell)))
}

fn parse(text: &'static str) -> Result<Vec<Row>, String> {
    let (mut rows, mut paper) = (Vec::new(), "");
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('%'));
    let mut lines = lines.peekable();
    while let Some((number, line)) = lines.next() {
        if let Some(name) = line.strip_prefix("= ") {
            paper = name;
            continue;
        }
        let link = lines.next_if(|(_, line)| line.starts_with("    ")).map(|(_, line)| line.trim());
        let mut after = |mark: &str| {
            lines.next_if(|(_, line)| line.starts_with(mark)).map_or("", |(_, line)| &line[mark.len()..])
        };
        let (chosen, why_off, model) = (after("    fitted: "), after("    off: "), after("    model: "));
        let row = link.and_then(|link| parse_row(paper, line, link));
        let row = row.map(|row| Row { chosen, why_off, model, ..row });
        rows.push(row.ok_or_else(|| format!("rows.txt, line {number}: this is no row: {line}"))?);
    }
    Ok(rows)
}

fn parse_row(paper: &'static str, line: &'static str, link: &'static str) -> Option<Row> {
    let parts: Vec<&str> = line.split(" | ").collect();
    let &[place, quantity, unit, published, kind] = &parts[..] else { return None };
    let kind = kind.replace(' ', "-");
    let kind = Kind::ALL.into_iter().find(|known| known.name() == kind)?;
    let link = match link.strip_prefix("- ") {
        Some(why) => Link::Nothing(why),
        None => Link::Cell(Address::parse(link)?),
    };
    let published = Printed::parse(published)?;
    Some(Row { paper, place, quantity, unit, published, kind, link, chosen: "", why_off: "", model: "" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Table;

    fn row(published: &'static str, kind: &'static str) -> Row {
        let line = format!("figure 1 | speed | km/s | {published} | {kind}");
        parse_row("paper", line.leak(), "some/experiment: table / one; 2 / head").expect("a row")
    }

    #[test]
    fn all_rows_are_read() {
        let rows = parse(include_str!("rows.txt")).expect("all lines are rows");
        assert_eq!(rows.len(), 340);
        let kinds = [136, 63, 116, 16, 0, 9];
        for (kind, count) in Kind::ALL.into_iter().zip(kinds) {
            assert_eq!(rows.iter().filter(|row| row.kind == kind).count(), count, "{kind:?}");
        }
        let names = |row: &Row| (row.paper, row.place, row.quantity);
        for (at, row) in rows.iter().enumerate() {
            assert!(rows[..at].iter().all(|other| names(other) != names(row)), "twice: {row:?}");
        }
        for name in experiments() {
            assert!(crate::find(name).is_some(), "no experiment is called {name}");
        }
        // The third and fourth line of a row.
        let row = |name: &str| rows.iter().find(|row| row.quantity == name).expect("a row");
        let updates = row("updates on 3 nodes");
        assert!(updates.chosen.starts_with("of three ways") && updates.why_off.starts_with("who has copies"));
        assert!(row("barrier of 8 nodes").chosen.is_empty() && row("barrier of 8 nodes").model.is_empty());
        assert!(row("TSP: idle").model.starts_with("none: the one list of 14 cities"));
        // A row without a value says why.
        let why = rows.iter().filter_map(|row| match row.link {
            Link::Nothing(why) => Some(why),
            Link::Cell(_) => None,
        });
        assert!(why.into_iter().all(|why| why.split_whitespace().count() > 3));
    }

    #[test]
    fn a_cell_is_found_by_the_first_cells_of_its_row() {
        let rows = vec![
            vec![Cell::text("one"), Cell::key(1_u32), Cell::Measured(5.0, 0)],
            vec![Cell::text("one"), Cell::key(2_u32), Cell::Measured(7.0, 0)],
        ];
        let table = Table::new("table", "Table", "", &["what", "nodes", "head"], rows);
        let report = Report { tables: vec![table], ..Report::of(&crate::EXPERIMENTS[0], String::new()) };
        let find = |text: &'static str| Address::parse(text).expect("an address").find(&report).cloned();
        assert_eq!(find("some/experiment: table / one; 2 / head"), Some(Cell::Measured(7.0, 0)));
        assert_eq!(find("some/experiment: table / one / head"), Some(Cell::Measured(5.0, 0)));
        for wrong in ["e: table / two; 2 / head", "e: table / one; 2 / foot", "e: chair / one; 2 / head"] {
            assert_eq!(find(wrong), None, "{wrong}");
        }
        let text = "some/experiment: table / one; 2 / head";
        assert_eq!(Address::parse(text).map(|address| address.to_string()), Some(text.into()));
    }

    #[test]
    fn a_state_claims_no_more_than_its_cell() {
        let shown = |published, kind, cell: Cell| State::of(&row(published, kind), &cell).show();
        let measured = |value| Cell::Measured(value, 2);
        assert_eq!(shown("100", "measured", measured(101.9)), "within 2 %");
        assert_eq!(shown("100", "measured", measured(91.0)), "within 10 %");
        assert_eq!(shown("100", "measured", measured(89.0)), "off by -11 %");
        assert_eq!(shown("100", "measured", measured(320.0)), "off: 3.2 times");
        assert_eq!(shown("0", "measured", measured(0.0)), "within 2 %");
        // However few digits are printed.
        assert_eq!(shown("0.4", "measured", measured(0.44)), "within 10 %");
        assert_eq!(shown("1", "measured", measured(1.13)), "off by +13 %");
        for (cell, state) in [
            (Cell::Derived(100.0, 0), "derived"),
            (Cell::Input(100.0, 0), "input"),
            (Cell::Published(100.0, 0), "input"),
            (Cell::Fitted(100.0, 0), "fitted"),
            (Cell::Derived(50.0, 0), "derived, off by -50 %"),
            (Cell::NotModelled("no".into()), "not modelled"),
            (Cell::Absent, "not run"),
            (Cell::text("100"), "no cell"),
            (Cell::key(100_u32), "no cell"),
        ] {
            assert_eq!(shown("100", "measured", cell), state);
        }
        // A model or a cell that was chosen by the printed value gives nothing measured.
        let chosen = Row { chosen: "one of three ways to count", ..row("100", "measured") };
        assert_eq!(State::of(&chosen, &measured(100.0)).show(), "fitted");
        assert_eq!(State::of(&chosen, &measured(80.0)).show(), "fitted, off by -20 %");
        // Nor more than its row.
        for kind in ["derived", "input", "fitted"] {
            assert_eq!(shown("100", kind, measured(100.0)), kind);
        }
        assert_eq!(shown("100", "not modelled", measured(100.0)), "not modelled");
    }

    #[test]
    fn findings_and_bounds() {
        let shown = |published, cell: Cell| State::of(&row(published, "measured"), &cell).show();
        assert_eq!(shown("yes", Cell::Finding(Kind::Measured, true)), "within 2 %");
        assert_eq!(shown("yes", Cell::Finding(Kind::Measured, false)), "not so");
        assert_eq!(shown("yes", Cell::Finding(Kind::Derived, true)), "derived");
        assert_eq!(shown("yes", Cell::Measured(1.0, 0)), "no cell");
        assert_eq!(shown(">3", Cell::Measured(3.1, 1)), "within 2 %");
        assert_eq!(shown(">3", Cell::Measured(2.9, 1)), "not so");
        assert_eq!(shown("<2", Cell::Measured(2.1, 1)), "not so");
        assert_eq!(shown("3.3 to 3.9", Cell::Measured(3.5, 1)), "within 2 %");
        assert_eq!(shown("3.3 to 3.9", Cell::Measured(4.2, 1)), "within 10 %");
    }
}
