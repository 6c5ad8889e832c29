//! `--observe`: the page of a running program, for the user of this host.

use crate::output;
use anyhow::Context;
use base::lock;
use engine::{Machine, Observer, Seen, Waits};
use runtime::node::Rouser;
use serde::Serialize;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use web::{Answer, Server, Site};

/// The page, with words in capitals where something is filled in.
const PAGE: &str = include_str!("observe.html");
/// How long an answer to what waits may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Somebody who has asked within this time still watches, and is told how the run ended, which may take as long.
const WATCHES: Duration = Duration::from_secs(2);
/// Letters of a page's name, and how many pages are remembered.
const NAME_MAX: usize = 32;
const WATCHERS_MAX: usize = 32;
/// Letters of a term that are shown.
const LETTERS_MAX: usize = 300;

/// The page of a machine's run.
pub(crate) struct Page {
    run: Arc<Run>,
}

/// What is shown.
struct Run {
    title: String,
    observer: Arc<Observer>,
    state: Mutex<State>,
    /// A page knows how the run ended.
    told: Condvar,
}

#[derive(Default)]
struct State {
    ended: Option<Ended>,
    /// Pages that show the run and do not know yet how it ended: their names, and when they have asked last.
    watchers: Vec<(String, Instant)>,
}

/// How the run ended.
#[derive(Clone, Serialize)]
struct Ended {
    code: u8,
    text: String,
}

#[derive(Serialize)]
struct Shown<'a> {
    title: &'a str,
    ended: Option<Ended>,
    seen: Seen,
}

impl Page {
    /// Serves the page of what this machine is going to run at a port of loopback, and says where it is. `rouser`:
    /// [`Machine::observe`].
    pub(crate) fn open(
        machine: &mut Machine,
        port: u16,
        program: Option<&Path>,
        rouser: Option<Rouser>,
    ) -> anyhow::Result<Page> {
        let server = Server::listen(port)
            .with_context(|| format!("--observe: cannot listen on port {port} of this host"))?;
        let own = std::env::args().next().unwrap_or_default();
        let title = program.unwrap_or(Path::new(&own)).display().to_string();
        let observer = Arc::new(machine.observe(rouser));
        let run = Run { title, observer, state: Mutex::default(), told: Condvar::new() };
        let page = Page { run: Arc::new(run) };
        output::complain(&format!("the program's page is at {}", server.address()));
        let site: Arc<dyn Site> = page.run.clone();
        // It ends with the process, or where it can no longer listen.
        let serve = move || _ = server.run(site);
        std::thread::Builder::new().name("observe".into()).spawn(serve).context("--observe")?;
        Ok(page)
    }
    /// What sees the run.
    pub(crate) fn observer(&self) -> Arc<Observer> {
        self.run.observer.clone()
    }
    /// The run has ended: whoever watches is told, within a time.
    pub(crate) fn end(self, code: u8, text: &str) {
        let Run { state, told, .. } = &*self.run;
        let (begin, mut state) = (Instant::now(), lock(state));
        state.ended = Some(Ended { code, text: cut(text, 20 * LETTERS_MAX) });
        loop {
            state.watchers.retain(|(_, asked)| asked.elapsed() < WATCHES);
            let left = WATCHES.saturating_sub(begin.elapsed());
            if state.watchers.is_empty() || left.is_zero() {
                return;
            }
            state = base::unpoisoned(told.wait_timeout(state, left)).0;
        }
    }
}

impl Site for Run {
    fn get(&self, path: &str, query: &str) -> Answer {
        match path {
            "" => Answer::Page(Box::new(|nonce| {
                PAGE.replace("NONCE", nonce).replace("STYLE", lab::html::STYLE)
            })),
            "state" => self.shown(query),
            _ => Answer::Unknown,
        }
    }
    fn post(&self, path: &str, body: &str) -> Answer {
        match path {
            "waiting" => json(&self.waiting()),
            "stop" => json(&self.observer.interrupt()),
            "told" => {
                lock(&self.state).watchers.retain(|(name, _)| name != body);
                self.told.notify_all();
                json(&true)
            }
            _ => Answer::Unknown,
        }
    }
}

impl Run {
    fn shown(&self, query: &str) -> Answer {
        let value = |name: &str| {
            let mut parts = query.split('&').filter_map(|part| part.split_once('='));
            parts.find(|part| part.0 == name).map(|part| part.1)
        };
        let (page, after) = (value("page").unwrap_or_default(), value("after").unwrap_or("0"));
        let (true, Ok(after)) = ((1..=NAME_MAX).contains(&page.len()), after.parse()) else {
            return Answer::Wrong("state?page=NAME&after=NANOSECONDS\n".into());
        };
        let seen = self.observer.look(after);
        let mut state = lock(&self.state);
        let asked = Instant::now();
        match state.watchers.iter().position(|(name, _)| name == page) {
            Some(known) => state.watchers[known].1 = asked,
            None if state.watchers.len() < WATCHERS_MAX => state.watchers.push((page.into(), asked)),
            None => {}
        }
        let ended = state.ended.clone();
        drop(state);
        json(&Shown { title: &self.title, ended, seen })
    }
    /// What waits at each node.
    fn waiting(&self) -> serde_json::Value {
        let answers = self.observer.waiting(PATIENCE);
        let node = |waits: &Waits| {
            let goals = waits.waiting.goals.iter().map(|goal| {
                serde_json::json!({
                    "goal": cut(&goal.goal.text, LETTERS_MAX),
                    "name": format!("{}:{}", goal.goal.module, goal.goal.name),
                    "waits_for": goal.waits_for,
                    "outside": goal.outside.iter().map(|text| cut(text, LETTERS_MAX)).collect::<Vec<_>>(),
                    "file": goal.file,
                    "line": goal.line,
                    "waits_at": goal.waits_at,
                    "holds": goal.holds,
                })
            });
            serde_json::json!({
                "node": waits.node,
                "count": waits.waiting.count,
                "pause": waits.pause.as_nanos() as u64,
                "goals": goals.collect::<Vec<_>>(),
            })
        };
        answers.iter().map(node).collect()
    }
}

fn json(value: &impl Serialize) -> Answer {
    serde_json::to_string(value).map_or_else(|error| Answer::Wrong(error.to_string()), Answer::Json)
}

/// A text of this number of letters at most.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_letters() {
        assert_eq!(cut("äöü", 2), "äö..");
        assert_eq!(cut("äöü", 3), "äöü");
    }
}
