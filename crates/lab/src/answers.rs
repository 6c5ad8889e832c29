//! What each experiment asks, and the sentence in which its report answers. The sentences are in `answers.txt`, which
//! says how it is written; their numbers are the report's own.

use crate::report::{Cell, Kind, Report};
use crate::scorecard::{self, State};

const TEXT: &str = include_str!("answers.txt");
const DISTURBED: &str =
    "Something else on the host disturbed its runs, so they answer nothing: run it again on a quiet host.";

/// What an experiment asks; none: it is not in the file.
pub fn question(experiment: &str) -> Option<&'static str> {
    lines(experiment, "? ").next()
}

/// What a report answers, as far as it has the values, with the printed ones beside them; and how near they are. A
/// report of disturbed runs answers nothing, and values that do not count stand beside no printed ones.
pub fn answer(report: &Report) -> String {
    if !report.disturbed.is_empty() {
        return DISTURBED.into();
    }
    let sentence = lines(&report.name, "! ").find_map(|template| filled(template, report));
    let nearness = match report.why_not() {
        Some(why) => Some(format!("Its values stand beside no printed ones, because {why}.")),
        None => nearness(report),
    };
    let parts: Vec<String> = sentence.into_iter().chain(nearness).collect();
    parts.join(" ")
}

fn lines(experiment: &str, mark: &'static str) -> impl Iterator<Item = &'static str> {
    let own = TEXT.lines().skip_while(move |line| line.strip_prefix("= ") != Some(experiment));
    let own = own.skip(1).take_while(|line| !line.starts_with("= "));
    own.filter_map(move |line| line.strip_prefix(mark))
}

/// A template with its values; none: one is missing.
fn filled(template: &'static str, report: &Report) -> Option<String> {
    let (mut out, mut rest) = (String::new(), template);
    while let Some((before, behind)) = rest.split_once('{') {
        let (address, behind) = behind.split_once('}')?;
        let cell = find(address, report)?;
        let shown =
            matches!(cell, Cell::Finding(..)) || cell.value().is_some_and(|(value, _)| value.is_finite());
        out += before;
        out += &shown.then(|| cell.plain())?;
        out += &printed(address, cell, report).unwrap_or_default();
        rest = behind;
    }
    Some(out + rest)
}

/// What the paper prints for a value, in brackets; none: it prints nothing, or it told the value.
fn printed(address: &str, cell: &Cell, report: &Report) -> Option<String> {
    let is_told = matches!(cell.kind(), Some(Kind::Input | Kind::Published));
    let is_its = |row: &&scorecard::Row| match &row.link {
        scorecard::Link::Cell(its) => its.to_string() == format!("{}: {address}", report.name),
        scorecard::Link::Nothing(_) => false,
    };
    let row = scorecard::rows().iter().filter(|_| report.counts() && !is_told).find(is_its)?;
    Some(format!(" (printed: {})", row.published.cell().plain().replace('*', "")))
}

fn find<'a>(address: &'static str, report: &'a Report) -> Option<&'a Cell> {
    let mut parts = address.splitn(3, " / ");
    let (table, row, column) = (parts.next()?, parts.next()?, parts.next()?);
    let row = row.split("; ").collect();
    scorecard::Address { experiment: "", table, row, column }.find(report)
}

/// How many of the printed values that stand beside it came out; none: there are none.
fn nearness(report: &Report) -> Option<String> {
    let reports = std::slice::from_ref(report);
    let own = scorecard::rows().iter().filter(|row| match &row.link {
        scorecard::Link::Cell(address) => address.experiment == report.name,
        scorecard::Link::Nothing(_) => false,
    });
    let states: Vec<State> = own.map(|row| scorecard::state(row, reports).1).collect();
    let measured: Vec<&State> = states.iter().filter(|state| matches!(state, State::Measured(_))).collect();
    let near = measured.iter().filter(|state| !state.is_off()).count();
    match (measured.len(), near) {
        (0, _) => None,
        (1, 1) => Some("The one printed value that is measured here is within 10 % of ours.".into()),
        (all, near) if all == near => {
            Some(format!("All {all} printed values that are measured here are within 10 %."))
        }
        (all, 0) => Some(format!("Of {all} printed values that are measured here none is within 10 %.")),
        (all, near) => {
            let are = if near == 1 { "is" } else { "are" };
            Some(format!("Of {all} printed values that are measured here {near} {are} within 10 %."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EXPERIMENTS;
    use crate::report::{Provenance, Table};

    #[test]
    fn every_experiment_asks_and_answers() {
        for experiment in EXPERIMENTS {
            let question =
                question(experiment.name).unwrap_or_else(|| panic!("{} asks nothing", experiment.name));
            assert!(question.ends_with('?'), "{question}");
            let answers: Vec<&str> = lines(experiment.name, "! ").collect();
            assert!(!answers.is_empty(), "{} has no answer", experiment.name);
            // A number comes from the run: none is typed in.
            assert!(answers[0].contains('{'), "{} answers without a number", experiment.name);
            let answer = answers.join(" ");
            assert!(answer.ends_with('.'), "{answer}");
            assert_eq!(answer.matches('{').count(), answer.matches('}').count(), "{answer}");
        }
    }

    #[test]
    fn an_answer_has_the_values_of_its_report_or_is_left_out() {
        let cells = vec![Cell::text("one"), Cell::Measured(1234.0, 0), Cell::Absent];
        let table = Table::new("table", "", "", &["what", "here", "there"], vec![cells]);
        let report = Report { tables: vec![table], ..Report::of(&EXPERIMENTS[0], String::new()) };
        assert_eq!(filled("It is {table / one / here}, yes.", &report).as_deref(), Some("It is 1,234, yes."));
        for missing in
            ["{table / one / there}", "{table / two / here}", "{chair / one / here}", "{table / one"]
        {
            assert_eq!(filled(missing, &report), None, "{missing}");
        }
        for nothing in [f64::NAN, f64::INFINITY] {
            let cells = vec![Cell::text("one"), Cell::Measured(nothing, 0)];
            let table = Table::new("table", "", "", &["what", "here"], vec![cells]);
            let report = Report { tables: vec![table], ..Report::of(&EXPERIMENTS[0], String::new()) };
            assert_eq!(filled("It is {table / one / here}.", &report), None, "{nothing}");
        }
    }

    #[test]
    fn a_value_has_the_printed_one_beside_it_if_it_counts() {
        let table = |cell: Cell| {
            let rows = vec![vec![Cell::key(16_u32), cell]];
            Table::new("barriers", "", "", &["nodes", "us"], rows)
        };
        let report = |cell: Cell| Report {
            tables: vec![table(cell)],
            name: "jmachine/table3".into(),
            ..Report::of(&EXPERIMENTS[0], String::new())
        };
        let shown = |report: &Report| filled("It is {barriers / 16 / us} us.", report);
        let measured = report(Cell::Measured(12.345, 1));
        assert_eq!(shown(&measured).as_deref(), Some("It is 12.3 (printed: 11.7) us."));
        assert_eq!(shown(&report(Cell::Input(11.7, 1))).as_deref(), Some("It is 11.7 us."));
        let size = "scale small, runs 3, workers [1], nodes []";
        let provenance = Some(Provenance { size: size.into(), ..Provenance::default() });
        let small = Report { provenance, ..measured };
        assert_eq!(shown(&small).as_deref(), Some("It is 12.3 us."));
        assert_eq!(answer(&small), "Its values stand beside no printed ones, because it ran at small scale.");
    }

    #[test]
    fn a_report_of_disturbed_runs_answers_nothing() {
        let speed = vec![Cell::text("kl1cmp"), Cell::key(1_u32), Cell::Measured(326_283_302.0, 0)];
        let words = vec![Cell::text("kl1cmp"), Cell::key(1_u32), Cell::Measured(0.0, 3)];
        let tables = vec![
            Table::new("speed", "", "", &["program", "workers", "reductions/s"], vec![speed]),
            Table::new("consumption", "", "", &["program", "workers", "words/reduction"], vec![words]),
        ];
        let report = Report { tables, ..Report::of(&crate::tr448::EXPERIMENT, String::new()) };
        assert!(answer(&report).contains("326,283,302 reductions a second"), "{}", answer(&report));
        let disturbed = Report { disturbed: vec!["kl1cmp, 1 worker, run 2".into()], ..report };
        assert_eq!(answer(&disturbed), DISTURBED);
    }
}
