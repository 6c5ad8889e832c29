//! `fifth lab serve`: the laboratory as a page of this host, which starts experiments and shows machines at work.

use super::processes::{Progress, Watcher};
use super::runs::{self, Plan};
use super::{chosen, up_to};
use crate::cli::{Inputs, Seeds, ServeLab};
use crate::laboratory::processes::processors;
use crate::output;
use anyhow::Context;
use base::lock;
use lab::movie::Scene;
use lab::report::{Cell, Kind, Report, Table};
use lab::{Config, EXPERIMENTS, Experiment, Scale, html};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};
use web::{Answer, Server, Site};

/// The page, with words in capitals where something is filled in.
const PAGE: &str = include_str!("serve.html");
/// Most runs of a program that the page may ask for.
const RUNS_MAX: u32 = 20;

/// Serves until it is ended.
pub(super) fn run(options: &ServeLab) -> anyhow::Result<u8> {
    let server = Server::listen(options.port)
        .with_context(|| format!("cannot listen on port {} of this host", options.port))?;
    output::complain(&format!("the laboratory is at {}", server.address()));
    output::complain("whoever knows this address can start experiments; Ctrl-C ends it");
    server.run(Arc::new(Laboratory::default())).context("cannot serve any longer")?;
    Ok(0)
}

/// What is shown.
#[derive(Default)]
struct Laboratory {
    state: Arc<Mutex<State>>,
}

/// What runs, and what came of it.
#[derive(Default)]
struct State {
    /// Counts what was started.
    run: u64,
    running: bool,
    told: String,
    done: f64,
    /// Parts of the page.
    reports: Vec<String>,
    /// Rows of the experiment that runs, as far as they are measured, and how many there have ever been.
    live: Vec<Table>,
    rows: u64,
}

impl State {
    /// A row comes. One that begins with the same words and keys is measured anew, and takes the place of the old one.
    fn row(&mut self, title: &str, cells: &[(&str, Cell)]) {
        self.rows += 1;
        let heads: Vec<&str> = cells.iter().map(|(head, _)| *head).collect();
        let row: Vec<Cell> = cells.iter().map(|(_, cell)| cell.clone()).collect();
        let known = self.live.iter_mut().find(|table| table.title == title && table.columns == heads);
        let Some(table) = known else {
            self.live.push(Table::new("live", title, "", &heads, vec![row]));
            return;
        };
        let is_name = |cell: &&Cell| matches!(cell, Cell::Text(_) | Cell::Key(..));
        let name = |row: &[Cell]| row.iter().take_while(is_name).map(Cell::exact).collect::<Vec<_>>();
        match table.rows.iter_mut().find(|other| name(other) == name(&row)) {
            Some(other) => *other = row,
            None => table.rows.push(row),
        }
    }
    /// The report of the experiment that ran takes the place of its rows.
    fn report(&mut self, html: String) {
        self.reports.push(html);
        self.live.clear();
        self.rows += 1;
    }
}

/// What the page asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    names: Vec<String>,
    scale: String,
    runs: u32,
    seed: String,
    set: String,
}

#[derive(Serialize)]
struct Shown<'a> {
    run: u64,
    running: bool,
    told: &'a str,
    done: f64,
    reports: &'a [String],
    /// How many rows there have been, and those that there are; none: the page has them.
    rows: u64,
    live: Option<String>,
}

impl Site for Laboratory {
    fn get(&self, path: &str, query: &str) -> Answer {
        match path {
            "" => Answer::Page(Box::new(page)),
            "state" => Answer::Json(self.shown(query)),
            "machine" => match Scene::parse(query) {
                Ok(scene) => serde_json::to_string(&scene.movie()).map_or(Answer::Unknown, Answer::Json),
                Err(wrong) => Answer::Wrong(wrong),
            },
            _ => Answer::Unknown,
        }
    }
    fn post(&self, path: &str, body: &str) -> Answer {
        if path != "start" {
            return Answer::Unknown;
        }
        let asked = serde_json::from_str::<Start>(body).map_err(|wrong| wrong.to_string());
        match asked
            .and_then(|start| start.plan())
            .and_then(|(plan, experiments)| self.start(plan, experiments))
        {
            Ok(()) => Answer::Json("{}".into()),
            Err(wrong) => Answer::Wrong(wrong),
        }
    }
}

impl Start {
    fn plan(self) -> Result<(Plan<'static>, Vec<&'static Experiment>), String> {
        let experiments = chosen(&self.names).map_err(|wrong| wrong.to_string())?;
        if experiments.is_empty() {
            return Err("no experiment is chosen".into());
        }
        if !(1..=RUNS_MAX).contains(&self.runs) {
            return Err(format!("1 to {RUNS_MAX} runs"));
        }
        let scale = match self.scale.as_str() {
            "full" => Scale::Full,
            "small" => Scale::Small,
            _ => return Err("the size is full or small".into()),
        };
        let seeds = match self.seed.trim() {
            "" => Vec::new(),
            text => text.parse::<Seeds>()?.0.collect(),
        };
        let settings = match self.set.trim() {
            "" => Vec::new(),
            text => vec![text.parse::<Inputs>()?.0],
        };
        let config = Config { workers: up_to(processors()), nodes: Vec::new(), runs: self.runs, scale };
        Ok((Plan { config, seeds, settings, folder: None, resume: false, at_once: 1 }, experiments))
    }
}

impl Laboratory {
    /// What happened since the page has shown this number of reports of this run.
    fn shown(&self, query: &str) -> String {
        let number = |name: &str| {
            let mut parts = query.split('&').filter_map(|part| part.split_once('='));
            parts.find(|part| part.0 == name).and_then(|part| part.1.parse::<u64>().ok()).unwrap_or(0)
        };
        let state = lock(&self.state);
        let before = if number("run") == state.run { number("shown") as usize } else { 0 };
        let State { run, running, done, .. } = *state;
        let told = if state.told.is_empty() { "Nothing runs." } else { &state.told };
        let reports = state.reports.get(before..).unwrap_or_default();
        let is_shown = number("run") == run && number("rows") == state.rows;
        let live = (!is_shown).then(|| html::tables(&state.live));
        let shown = Shown { run, running, told, done, reports, rows: state.rows, live };
        serde_json::to_string(&shown).unwrap_or_default()
    }

    fn start(&self, plan: Plan<'static>, experiments: Vec<&'static Experiment>) -> Result<(), String> {
        let mut state = lock(&self.state);
        if state.running {
            return Err("experiments are running already".into());
        }
        *state = State { run: state.run + 1, running: true, ..State::default() };
        drop(state);
        let state = self.state.clone();
        let work = move || {
            let _ended = Ended(state.clone());
            measure(&state, &plan, &experiments);
        };
        let started = std::thread::Builder::new().name("experiments".into()).spawn(work);
        started.map(|_| ()).map_err(|wrong| {
            lock(&self.state).running = false;
            wrong.to_string()
        })
    }
}

/// Whatever ends the experiments, others may start then.
struct Ended(Arc<Mutex<State>>);

impl Drop for Ended {
    fn drop(&mut self) {
        lock(&self.0).running = false;
    }
}

fn measure(state: &Arc<Mutex<State>>, plan: &Plan<'_>, experiments: &[&'static Experiment]) {
    let progress = Progress::Told(Arc::new(Watching(state.clone())));
    let show = |report: &Report| {
        let anchors = html::anchors(std::slice::from_ref(report));
        lock(state).report(html::section(report, &anchors));
        Ok(())
    };
    let told = match runs::all(plan, experiments, Vec::new(), progress, show) {
        Ok(measured) if measured.failed.is_empty() => {
            let scorecard = runs::scorecard(&measured.reports);
            let anchors = html::anchors(&measured.reports);
            lock(state).report(html::section(&scorecard, &anchors));
            match measured.reports.len() {
                1 => "One experiment is done.".into(),
                count => format!("{count} experiments are done."),
            }
        }
        Ok(measured) => format!("Failed: {}.", measured.failed.join(", ")),
        Err(wrong) => format!("Failed: {wrong:#}"),
    };
    let mut state = lock(state);
    (state.told, state.done) = (told, 1.0);
}

/// What the page is told while experiments run.
struct Watching(Arc<Mutex<State>>);

impl Watcher for Watching {
    fn part(&self, experiment: &str, part: usize, parts: usize, what: &str) {
        let mut state = lock(&self.0);
        state.told = format!("{experiment}, part {part} of {parts}: {what}");
        state.done = part.saturating_sub(1) as f64 / parts.max(1) as f64;
    }
    fn row(&self, title: &str, cells: &[(&str, Cell)]) {
        lock(&self.0).row(title, cells);
    }
}

/// The page of an answer with this nonce.
fn page(nonce: &str) -> String {
    let option = |name: &str, title: &str| {
        format!(
            "<option value=\"{name}\">{name}: {}</option>",
            title.replace('&', "&amp;").replace('<', "&lt;")
        )
    };
    let options: String =
        EXPERIMENTS.iter().map(|experiment| option(experiment.name, experiment.title)).collect();
    let inputs: String = lab::chosen::INPUTS.iter().map(|input| option(input.name, &input.told())).collect();
    let legend = html::legend(&Kind::ALL);
    let parts = [
        ("NONCE", nonce),
        ("STYLE", html::STYLE),
        ("LEGEND", &legend),
        ("OPTIONS", &options),
        ("INPUTS", &inputs),
    ];
    parts.into_iter().fold(PAGE.to_string(), |page, (word, text)| page.replace(word, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_one_by_one_and_make_room_for_the_report() {
        let laboratory = Laboratory::default();
        let watching = Watching(laboratory.state.clone());
        let shown = |query: &str| -> serde_json::Value {
            serde_json::from_str(&laboratory.shown(query)).expect("JSON")
        };
        let row = |nodes: u32, us: f64| {
            watching.row("Barriers", &[("nodes", Cell::key(nodes)), ("us", Cell::Measured(us, 1))])
        };
        row(2, 4.4);
        let first = shown("run=0&rows=0");
        let live = first["live"].as_str().expect("rows");
        assert!(live.contains("Barriers") && live.contains("4.4") && first["rows"] == 1, "{first}");
        row(4, 6.5);
        let second = shown("run=0&rows=1");
        let live = second["live"].as_str().expect("rows");
        assert!(
            live.contains("4.4") && live.contains("6.5") && live.matches("<table>").count() == 1,
            "{live}"
        );
        // The page has all of them.
        assert!(shown("run=0&rows=2")["live"].is_null());
        // Measured anew, and another table.
        row(2, 9.9);
        watching.row("Runs", &[("run", Cell::text("one")), ("s", Cell::Measured(1.0, 0))]);
        let third = shown("run=0&rows=2");
        let live = third["live"].as_str().expect("rows");
        assert!(
            live.contains("9.9") && !live.contains("4.4") && live.matches("<table>").count() == 2,
            "{live}"
        );
        lock(&laboratory.state).report("<section></section>".into());
        let last = shown("run=0&rows=4");
        assert_eq!((last["live"].as_str(), last["reports"].as_array().map(Vec::len)), (Some(""), Some(1)));
    }
}
