//! T7: arrows between the rooms of a crate, which are its folders. A room uses those behind it in the list of its
//! crate.

use std::path::Path;

/// Crate -> its rooms, from the top down. [`STATE`] is no folder.
const ROOMS: &[(&str, &[&str])] = &[
    (
        "runtime",
        &[
            "node",
            "collect",
            "sharing",
            "builtins",
            "goals",
            "terms",
            "worker",
            STATE,
            "reports",
            "memory",
            "coordination",
        ],
    ),
    ("compiler", &["emit", "tree", "plan", "program", "ir"]),
];

/// What the rooms of the runtime keep in a worker stands in files of this name, each in its room; so do their
/// numbers, in those of [`NUMBERS`]. Fields are private to the room. A worker has all of these states, so they lie
/// below it.
const STATE: &str = "state";
const NUMBERS: &str = "tuning";

/// An arrow that runs up, and is known: file, room, reason. The list only shrinks: an entry that is not needed is a
/// finding.
type Known = (&'static str, &'static str, &'static str);

const KNOWN: &[Known] =
    &[("crates/compiler/src/program/names.rs", "Options", "how to compile is part of the crate's face")];

/// The arrows of one source file; its tests may use anything.
pub(crate) fn arrows(name: &str, text: &str, findings: &mut Vec<String>) {
    check(name, text, KNOWN, findings);
}

/// The call of a method from one module (`runtime::goals::stack`) to another, if it runs up.
pub(crate) fn call(method: &str, from: &str, to: &str, findings: &mut Vec<String>) {
    let krate = from.split("::").next().unwrap_or_default();
    let Some((_, rooms)) = ROOMS.iter().find(|(with_rooms, _)| *with_rooms == krate) else { return };
    let place = |module: &str| {
        let mut modules = module.split("::").skip(1);
        let folder = modules.next().unwrap_or_default();
        rooms.iter().position(|room| *room == room_of(modules.clone(), folder, rooms))
    };
    if place(to) < place(from) {
        findings.push(format!("{from}: calls `{method}` of {to}, which is above it (T7)"));
    }
}

/// Entries of the list that name no file any more.
pub(crate) fn gone(root: &Path, findings: &mut Vec<String>) {
    for (file, room, _) in KNOWN.iter().filter(|(file, _, _)| !root.join(file).exists()) {
        findings.push(format!("{file}: gone, but an arrow to `{room}` is on the list of rooms.rs (T7)"));
    }
}

fn check(name: &str, text: &str, known: &[Known], findings: &mut Vec<String>) {
    let mut parts = name.split('/');
    let (Some("crates"), Some(krate), Some("src"), Some(from)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return;
    };
    let Some((_, rooms)) = ROOMS.iter().find(|(with_rooms, _)| *with_rooms == krate) else { return };
    if from == "lib.rs" || is_test(name) {
        return;
    }
    if !rooms.contains(&from) || from == STATE {
        findings.push(format!("{name}: not in a room of `{krate}` {rooms:?} (T7)"));
        return;
    }
    let from = room_of(name.trim_end_matches(".rs").rsplit('/'), from, rooms);
    let mine = rooms.iter().position(|room| *room == from).expect("it is one of them");
    let mut used = Vec::new();
    for (number, path) in paths(text) {
        let to = path.split("::").next().unwrap_or_default();
        let to = room_of(path.split("::").skip(1), to, rooms);
        let place = rooms.iter().position(|room| *room == to);
        if place.is_some_and(|room| room >= mine) {
            continue;
        }
        if known.iter().any(|(file, room, _)| *file == name && *room == to) {
            used.push(to);
        } else if place.is_some() {
            findings.push(format!("{name}:{number}: `{from}` must not use `{to}`, which is above it (T7)"));
        } else {
            findings.push(format!("{name}:{number}: `crate::{to}` does not begin with a room (T7)"));
        }
    }
    for (_, room, _) in known.iter().filter(|(file, room, _)| *file == name && !used.contains(room)) {
        findings.push(format!("{name}: uses `{room}` no more: take the arrow off the list of rooms.rs (T7)"));
    }
}

pub(crate) fn is_test(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or_default();
    file == "tests.rs" || file == "models.rs" || file.ends_with("_tests.rs") || name.contains("/tests/")
}

/// The room of a module: that of its folder, unless it is one of those that lie below all workers.
fn room_of<'a>(mut modules: impl Iterator<Item = &'a str>, folder: &'a str, rooms: &[&str]) -> &'a str {
    let apart = rooms.contains(&STATE) && modules.any(|module| module == STATE || module == NUMBERS);
    if apart && folder != "memory" { STATE } else { folder }
}

/// The path that follows each `crate::` in the code before the module of tests (`mod tests` behind an attribute),
/// with its line.
fn paths(text: &str) -> Vec<(usize, &str)> {
    let code = text.split("]\nmod tests {").next().unwrap_or_default();
    let mut found = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let line = line.split("//").next().unwrap_or_default();
        for rest in line.split("crate::").skip(1) {
            let end =
                rest.find(|c: char| !c.is_ascii_alphanumeric() && !"_:".contains(c)).unwrap_or(rest.len());
            found.push((number + 1, &rest[..end]));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(name: &str, text: &str, known: &[Known]) -> Vec<String> {
        let mut findings = Vec::new();
        check(name, text, known, &mut findings);
        findings
    }

    #[test]
    fn an_arrow_that_runs_up_is_found_and_one_that_runs_down_is_not() {
        let file = "crates/compiler/src/tree/ask.rs";
        let up = "use crate::ir::Op;\nuse crate::emit::body;\n";
        assert_eq!(findings(file, up, &[]).len(), 1);
        assert!(findings(file, up, &[])[0].contains(":2:"));
        assert!(findings(file, "use crate::ir::Op; // not crate::emit\n", &[]).is_empty());
        assert!(findings("crates/compiler/src/tree/tests.rs", up, &[]).is_empty());
        assert!(findings("crates/syntax/src/lexer.rs", "use crate::source::Span;\n", &[]).is_empty());
    }

    #[test]
    fn a_known_arrow_passes_and_one_that_is_gone_does_not() {
        let file = "crates/compiler/src/tree/ask.rs";
        let known = [(file, "emit", "a reason")];
        assert!(findings(file, "use crate::emit::body;\n", &known).is_empty());
        assert_eq!(findings(file, "use crate::ir::Op;\n", &known).len(), 1);
    }

    #[test]
    fn the_states_of_rooms_lie_below_the_worker_that_has_them() {
        let worker = "crates/runtime/src/worker/mod.rs";
        assert!(findings(worker, "use crate::goals::state::Goals;\n", &[]).is_empty());
        assert!(findings(worker, "use crate::goals::abroad::state::{Abroad, Kind};\n", &[]).is_empty());
        assert_eq!(findings(worker, "use crate::goals::stack::Goals;\n", &[]).len(), 1);
        let state = "crates/runtime/src/sharing/state.rs";
        assert!(
            findings(state, "use crate::sharing::tuning::LEVELS;\nuse crate::memory::ranges::read;\n", &[])
                .is_empty()
        );
        assert_eq!(findings(state, "use crate::worker::Worker;\n", &[]).len(), 1);
        assert_eq!(findings(state, "use crate::sharing::give::Polling;\n", &[]).len(), 1);
    }

    #[test]
    fn a_call_of_a_method_runs_down() {
        let mut findings = Vec::new();
        call("unify", "runtime::collect::lead", "runtime::terms::order", &mut findings);
        call("next", "runtime::goals::stack", "runtime::goals::state", &mut findings);
        call("next", "syntax::lexer", "syntax::macros", &mut findings);
        assert!(findings.is_empty(), "{findings:?}");
        call("resume", "runtime::terms::order", "runtime::goals::resume", &mut findings);
        assert_eq!(findings.len(), 1);
    }

    #[test]
    fn what_goes_around_the_rooms_is_found() {
        assert_eq!(findings("crates/compiler/src/tree/ask.rs", "use crate::text;\n", &[]).len(), 1);
        assert_eq!(findings("crates/compiler/src/tree/ask.rs", "use crate::{emit};\n", &[]).len(), 1);
        assert_eq!(findings("crates/compiler/src/loose.rs", "", &[]).len(), 1);
    }
}
