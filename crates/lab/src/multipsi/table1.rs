//! Table 1: messages by kind, reductions, and how often there is a message; and what the ways to read and to note
//! references change.

use super::{
    CASES, Case, Figures, KINDS, SOURCE, inputs, jobs, measure, measured_on, notes, places, title, will_run,
};
use crate::report::{Cell, Kind, Report, Table};
use crate::{Config, Error, Experiment, Host, Place};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "multipsi/table1",
    title: "Multi-PSI: messages of Pentomino and Bestpath",
    source: SOURCE,
    about: "Which messages nodes send for two programs, and how many goals are reduced for a message; published for 16 \
            processors. Then what changes if answers bring more of a structure, or if each reference is noted.",
    times_host: false,
    run,
};

/// Settings of the simulated machine that are compared, and whether structures have identities. The first is what the
/// Multi-PSI did.
const VARIANTS: [(&str, &str, bool); 5] = [
    ("depth off", "", false),
    ("depth off, structure IDs", "", true),
    ("one level", ",depth=level", false),
    ("adaptive", ",depth=adaptive", false),
    ("adaptive, all black", ",depth=adaptive,tables=black", false),
];

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let all: Vec<(&Case, Vec<Place>)> = CASES.iter().map(|case| (case, places(host, case, config))).collect();
    let parts = all.iter().map(|(_, places)| places.len() + VARIANTS.len() - 1).sum();
    let varied = |case: &Case| {
        let place = |&(_, setting, identities): &(&str, &str, bool)| Place::Simulated {
            machine: case.machine(config.scale) + setting,
            identities,
        };
        VARIANTS[1..].iter().map(place).collect::<Vec<_>>()
    };
    let runs = all.iter().flat_map(|(case, places)| {
        let places = places.iter().cloned().chain(varied(case));
        places.flat_map(|place| jobs(case, config, &place)).collect::<Vec<_>>()
    });
    will_run(host, config, &runs.collect::<Vec<_>>());
    let mut part = 0;
    let mut next = |host: &mut dyn Host, case: &Case, place: &Place| {
        part += 1;
        host.progress(part, parts, &format!("{}, {}", case.name(), title(place)));
        measure(host, case, config, place)
    };
    let (mut tables, mut rates, mut variants) = (Vec::new(), Vec::new(), Vec::new());
    for (case, places) in &all {
        let mut measured = Vec::new();
        for place in places {
            measured.push((title(place), next(host, case, place)?));
        }
        tables.push(messages(case, &measured));
        rates.extend(measured.iter().map(|(title, figures)| rate(case, title, figures)));
        variants.push(variant(case, VARIANTS[0].0, &measured[0].1));
        for (&(name, ..), place) in VARIANTS[1..].iter().zip(varied(case)) {
            variants.push(variant(case, name, &next(host, case, &place)?));
        }
    }
    tables.push(Table::new("rates", "Reductions and messages", RATES_NOTE, RATES, rates));
    tables.push(Table::new(
        "variants",
        "Ways to read and to note references",
        VARIANTS_NOTE,
        VARIANT,
        variants,
    ));
    tables.push(inputs(config.scale));
    Ok(Report { notes: notes(), tables, ..Report::of(experiment, measured_on(host, config)) })
}

/// Messages by kind: a row for each, with the published number and those of each place.
fn messages(case: &Case, measured: &[(String, Figures)]) -> Table {
    let mut heads = vec!["message".to_string(), "published".into(), "published %".into()];
    heads.extend(measured.iter().flat_map(|(title, _)| [title.clone(), format!("{title} %")]));
    let row = |name: &str, published: f64, of: &dyn Fn(&Figures) -> f64| {
        let fitted = case.fitted.contains(&name);
        let kind = if fitted { Kind::Fitted } else { Kind::Measured };
        let mut cells = vec![
            Cell::Text(name.into()),
            Cell::Published(published, 0),
            Cell::Published(100.0 * published / case.published.messages, 1),
        ];
        for (_, figures) in measured {
            cells.push(Cell::number(kind, of(figures), 0));
            cells.push(Cell::ratio(100.0 * of(figures), figures.messages(), 1));
        }
        cells
    };
    let names = KINDS.iter().copied().chain(["others"]).enumerate();
    let mut rows: Vec<Vec<Cell>> = names
        .map(|(kind, name)| row(name, case.published.sent[kind], &|figures| figures.sent[kind]))
        .collect();
    rows.push(row("all", case.published.messages, &Figures::messages));
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    Table::new(
        &format!("messages-{}", case.name()),
        &format!("Messages of {}", case.name()),
        "Shares in percent of all messages. On threads and processes answers bring more of a list each time \
         (adaptive), and one message releases many references.",
        &heads,
        rows,
    )
}

const RATES: &[&str] = &[
    "program",
    "where",
    "reductions",
    "published",
    "reductions/message",
    "published",
    "ms",
    "published",
    "messages/s",
    "published",
    "1,000 reductions/s",
    "published",
    "us a reduction",
    "published",
];
const RATES_NOTE: &str = "Published figures are those of 16 processors. Microseconds a reduction are of the whole \
    machine: the time of the run divided by all reductions.";

fn rate(case: &Case, title: &str, figures: &Figures) -> Vec<Cell> {
    let published = &case.published;
    let messages = figures.messages();
    vec![
        Cell::Text(case.name().into()),
        Cell::Text(title.into()),
        Cell::Measured(figures.reductions, 0),
        Cell::Published(published.reductions, 0),
        Cell::ratio(figures.reductions, messages, 1),
        Cell::Published(published.reductions_a_message, 1),
        figures.timed(figures.seconds * 1e3, 1.0, 0),
        Cell::Published(published.seconds * 1e3, 0),
        figures.timed(messages, figures.seconds, 0),
        Cell::Published(published.messages_a_second, 0),
        figures.timed(figures.reductions / 1e3, figures.seconds, 0),
        Cell::Published((1e3 / published.micros_a_reduction).round(), 0),
        figures.timed(figures.seconds * 1e6, figures.reductions, 3),
        Cell::Published(published.micros_a_reduction, 2),
    ]
}

const VARIANT: &[&str] = &[
    "program",
    "variant",
    "messages",
    "reads",
    "releases",
    "reductions/message",
    "white references",
    "black references",
    "s",
    "% messages of work",
];
const VARIANTS_NOTE: &str = "On the simulated machine. Depth is how much of a structure an answer brings: itself, its \
    parts that are structures, too, or of a list twice as many elements as the answer before. A white reference is \
    not noted by the term's address, so the same term sent again makes another entry; here those to variables of \
    thrown goals that no other node knew are white, and those to tails of lists that answer an adaptive read, or \
    none. A structure with an ID that comes again is not read again. What a message costs does not change with its \
    length or with the colour of its references (published: 2 to 5.6 us more for black ones).";

fn variant(case: &Case, name: &str, figures: &Figures) -> Vec<Cell> {
    let [white, black] = figures.simulated.as_ref().map_or([0.0; 2], |simulated| simulated.references);
    let working = figures.simulated.as_ref().map_or(0.0, |simulated| simulated.reducing + simulated.handling);
    let handling = figures.simulated.as_ref().map_or(0.0, |simulated| simulated.handling);
    vec![
        Cell::Text(case.name().into()),
        Cell::Text(name.into()),
        Cell::Measured(figures.messages(), 0),
        Cell::Measured(figures.sent[0], 0),
        Cell::Measured(figures.sent[2], 0),
        Cell::ratio(figures.reductions, figures.messages(), 1),
        Cell::Measured(white, 0),
        Cell::Measured(black, 0),
        figures.timed(figures.seconds, 1.0, 3),
        figures.timed(100.0 * handling, working, 1),
    ]
}
