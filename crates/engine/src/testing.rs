//! The tests of a program text, and what became of one.
//!
//! | a test | passes if |
//! |---|---|
//! | a predicate `test_NAME/1` of a module | the goal `test_NAME(R)` ends, with R = `ok` |
//! | `?- goal. %= X = 3, Y = [a]` in a `%%` comment | the goal ends, with these values |
//! | `% stdout: TEXT` lines above a program | `main:main` prints these lines, and ends with the code of `% exit: N`, or 0 |
//!
//! Goals that wait for ever fail a test, as every error does.

use crate::error::Error;
use crate::interactive::{Interactive, Leave, Said};
use crate::render::diagnostics::for_people;
use crate::settings::Settings;
use crate::sources::Files;
use std::path::Path;
use std::sync::{Arc, Mutex};
use syntax::lexer::{Scanned, TermScanner};
use syntax::operators::OpTable;
use syntax::pieces::{PieceKind, pieces};
use syntax::print::print_readable;
use syntax::source::SourceMap;
use syntax::tree::{NodeId, NodeKind, Tree};
use syntax::views::{TreeTerm, TreeView};
use term::AtomTable;

/// A test of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Its predicate as `module:name`, or its goal, or `main:main`.
    pub name: String,
    /// Where it stands, from 1.
    pub line: u32,
    /// What it is.
    pub kind: Kind,
}

/// What a test is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A goal of this text, and what its variables must be, as text.
    Goal {
        /// With `?-` and its end.
        goal: String,
        /// Names and values; of a test predicate the result must be `ok`.
        expected: Vec<(String, String)>,
    },
    /// An example whose values cannot be read: the reason.
    Unreadable(String),
    /// The whole program.
    Program {
        /// What it must print.
        stdout: Vec<u8>,
        /// Its exit code.
        exit: u8,
    },
}

/// How a test ended: why it failed, if it did.
pub type Verdict = Result<(), String>;

/// The tests of a text, in its order.
pub fn tests(text: &[u8]) -> Vec<Test> {
    let atoms = AtomTable::new();
    let mut sources = SourceMap::default();
    let file = sources.add(String::new(), text.to_vec());
    let (program, _) = syntax::read_program(&sources, &[file], &atoms);
    let mut tests = vec![];
    for module in &program.modules {
        let named = |name: &[u8]| name.starts_with(b"test_");
        let own =
            module.predicates.iter().filter(|p| p.arity == 1 && !p.auxiliary && named(atoms.text(p.name)));
        tests.extend(own.map(|predicate| {
            let (module, name) = (shown(&atoms, module.name), shown(&atoms, predicate.name));
            let expected = vec![("R".into(), "ok".into())];
            let kind = Kind::Goal { goal: format!("?- {module}:{name}(R)."), expected };
            Test { name: format!("{module}:{name}"), line: sources.line(file, predicate.span.start), kind }
        }));
    }
    tests.extend(examples(text, &atoms).into_iter().map(|(start, mut test)| {
        test.line = sources.line(file, start);
        test
    }));
    let main = program.modules.iter().find(|module| module.name == term::symbol::MAIN);
    let main = main.and_then(|m| m.predicates.iter().find(|p| p.name == term::symbol::MAIN && p.arity == 0));
    if let (Some(main), Some(kind)) = (main, whole(text)) {
        let line = sources.line(file, main.span.start);
        tests.push(Test { name: "main:main".into(), line, kind });
    }
    tests.sort_by_key(|test| test.line);
    tests
}

/// An atom as a text has it.
fn shown(atoms: &AtomTable, atom: term::Atom) -> String {
    let quoted = |name: &str| format!("'{}'", name.replace('\\', "\\\\").replace('\'', "''"));
    let name = atoms.name(atom);
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_plain { name.into_owned() } else { quoted(&name) }
}

/// The examples of documentation comments, with their places: a goal, and its values on the same line or the next.
fn examples(text: &[u8], atoms: &AtomTable) -> Vec<(u32, Test)> {
    let pieces = pieces(text, atoms);
    let comments: Vec<(u32, &[u8])> = (pieces.iter().filter(|piece| piece.kind == PieceKind::DocComment))
        .map(|piece| (piece.start, text[piece.start as usize + 2..piece.end as usize].trim_ascii()))
        .collect();
    let mut found = vec![];
    for (n, &(start, line)) in comments.iter().enumerate() {
        if !line.starts_with(b"?-") {
            continue;
        }
        let ended = [line, b"\n"].concat();
        let end = match TermScanner::new().scan(&ended, true) {
            Scanned::Term(end) => end.min(line.len()),
            _ => line.len(),
        };
        let (goal, rest) = line.split_at(end);
        let next = comments.get(n + 1).map(|&(_, line)| line).filter(|_| rest.trim_ascii().is_empty());
        let values =
            [Some(rest), next].into_iter().flatten().find_map(|text| text.trim_ascii().strip_prefix(b"%="));
        let mut goal = String::from_utf8_lossy(goal).trim_end().to_string();
        if !syntax::lexer::has_end(goal.as_bytes()) {
            goal += " .";
        }
        let name = goal.trim_start_matches("?-").trim().trim_end_matches('.').trim_end().to_string();
        let kind = match values.map_or(Ok(vec![]), |values| bindings(values, atoms)) {
            Ok(expected) => Kind::Goal { goal, expected },
            Err(wrong) => Kind::Unreadable(wrong),
        };
        found.push((start, Test { name, line: 0, kind }));
    }
    found
}

/// `X = 3, Y = [a]` as names and values.
fn bindings(text: &[u8], atoms: &AtomTable) -> Result<Vec<(String, String)>, String> {
    let wrong = || "behind `%=` stand equations of variables and values: X = 3, Y = [a]".to_string();
    let text = text.trim_ascii();
    let text = text.strip_suffix(b".").unwrap_or(text);
    let ops = OpTable::source_table(atoms);
    let tree = syntax::parse_term(&[text, b" ."].concat(), &ops, atoms).ok().flatten().ok_or_else(wrong)?;
    let (mut found, mut rest) = (vec![], vec![tree.root()]);
    while let Some(id) = rest.pop() {
        let NodeKind::Struct(name, range) = tree.node(id).kind else { return Err(wrong()) };
        match (atoms.text(name), tree.children(range)) {
            (b",", &[left, right]) => rest.extend([right, left]),
            (b"=", &[variable, value]) => {
                let NodeKind::Var(variable) = tree.node(variable).kind else { return Err(wrong()) };
                let name = String::from_utf8_lossy(&tree.variables()[variable as usize].name).into_owned();
                found.push((name, written(&tree, value, atoms)));
            }
            _ => return Err(wrong()),
        }
    }
    Ok(found)
}

fn written(tree: &Tree, id: NodeId, atoms: &AtomTable) -> String {
    let ops = OpTable::source_table(atoms);
    let term = TreeTerm::of(id);
    String::from_utf8_lossy(&print_readable(&TreeView(tree), atoms, &ops, term)).into_owned()
}

/// A shown value as [`written`] writes it; as it is if it cannot be read.
fn rewritten(value: &str, atoms: &AtomTable) -> String {
    let ops = OpTable::source_table(atoms);
    match syntax::parse_term(format!("{value} .").as_bytes(), &ops, atoms) {
        Ok(Some(tree)) => written(&tree, tree.root(), atoms),
        _ => value.to_string(),
    }
}

/// What the comments at the top say about the whole program.
fn whole(text: &[u8]) -> Option<Kind> {
    let (mut stdout, mut exit, mut found) = (vec![], 0, false);
    for line in
        text.split(|&byte| byte == b'\n').take_while(|line| line.starts_with(b"%") || line.starts_with(b"#!"))
    {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(printed) = line.strip_prefix(b"% stdout:") {
            stdout.extend_from_slice(printed.strip_prefix(b" ").unwrap_or(printed));
            stdout.push(b'\n');
            found = true;
        } else if let Some(code) = line.strip_prefix(b"% exit:") {
            exit = std::str::from_utf8(code).ok().and_then(|code| code.trim().parse().ok()).unwrap_or(exit);
            found = true;
        }
    }
    found.then_some(Kind::Program { stdout, exit })
}

/// Runs a goal of a file on a node of its own.
pub fn run(
    path: &Path,
    goal: &str,
    expected: &[(String, String)],
    files: Box<dyn Files>,
    settings: &Settings,
) -> Result<Verdict, Error> {
    let values = Values::default();
    let seen = values.clone();
    let show = move |binding: crate::interactive::Binding<'_>| {
        let value = String::from_utf8_lossy(binding.value).into_owned();
        let mut seen = base::lock(&seen);
        seen.push((binding.name.unwrap_or_default().to_string(), value));
        Ok(())
    };
    let is_library = is_of_library(path, &*files);
    let mut node = Interactive::start(settings, files, Box::new(show))?;
    let (mut failed, mut warned) = (String::new(), String::new());
    let mut tell = |said: Said| match said {
        Said::Wrong(wrong) if crate::render::diagnostics::has_errors(wrong.list()) => {
            failed += &for_people(wrong.list(), wrong.sources(), false);
        }
        Said::Wrong(_) | Said::Note(_) => {}
        Said::Missing(name) => warned = format!("there is no predicate {name}/0\n"),
        Said::Ended { text, .. } => failed += &text,
    };
    if !is_library {
        node.load(path, &mut tell)?;
    }
    let left = node.enter(goal.as_bytes(), &mut tell)?;
    let atoms = AtomTable::new();
    match left {
        Some(Leave::Exit(status)) => failed += &format!("it ended with unix:exit({status})\n"),
        Some(Leave::ReaderGone) => failed += "nobody reads its output any more\n",
        None => {}
    }
    failed += &warned;
    if !failed.is_empty() {
        return Ok(Err(failed));
    }
    let shown = taken(&values);
    for (name, expected) in expected {
        // The last one that was shown is the whole value.
        let value = shown.iter().rev().find(|(known, _)| known == name);
        match value.map(|(_, value)| rewritten(value, &atoms)) {
            Some(value) if value == *expected => {}
            Some(value) if value.contains("..") && is_equal(&mut node, goal, name, expected, &values)? => {}
            Some(value) => failed += &format!("{name} = {value}, and {expected} is expected\n"),
            None => failed += &format!("the goal has no variable {name}\n"),
        }
    }
    Ok(if failed.is_empty() { Ok(()) } else { Err(failed) })
}

/// Names and values that were shown.
type Values = Arc<Mutex<Vec<(String, String)>>>;

fn taken(values: &Values) -> Vec<(String, String)> {
    std::mem::take(&mut *base::lock(values))
}

/// Whether a variable gets the expected value, of which only a part is shown: the goal runs once more.
fn is_equal(
    node: &mut Interactive,
    goal: &str,
    name: &str,
    expected: &str,
    values: &Values,
) -> Result<bool, Error> {
    const SAME: &str =
        "'same value'(X,X,R) :- true | R = yes.\notherwise.\n'same value'(_,_,R) :- true | R = no.\n";
    node.add(SAME.as_bytes(), &mut |_| {})?;
    let goal = goal.trim_end();
    let goal = goal.strip_suffix('.').unwrap_or(goal);
    let compared = format!("{goal}, 'same value'({name},{expected},Same_value).");
    node.enter(compared.as_bytes(), &mut |_| {})?;
    Ok(taken(values).iter().any(|(name, value)| name == "Same_value" && value == "yes"))
}

/// Whether the file is a module of the library as it is in this executable: then the library itself is tested.
fn is_of_library(path: &Path, files: &dyn Files) -> bool {
    let name = path.file_stem().and_then(|name| name.to_str()).and_then(library::text);
    name.is_some_and(|text| files.read(path).is_ok_and(|own| own == text.as_bytes()))
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::sources::Texts;

    const TEXT: &str = "\
% stdout: 3
% exit: 1
%% Numbers.
%%
%%     ?- next(2,N). %= N = 3
%%     ?- next(2,N), M = f(N).
%%     %= M = f(3), N = 3.
%%     ?- next(1,2). %= what
%%     ?- lists:range(1,20,L). %= L = [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]
%%     ?- lists:range(1,20,K). %= K = [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,21]
:- module main.
main :- true | next(2,N), io:outstream([print(N),nl]).
next(N,M) :- M := N + 1.
test_next(R) :- next(1,N), is(N,2,R).
test_wrong(R) :- next(1,N), is(N,3,R).
test_waits(R) :- wait(_) | R = ok.
test_breaks(R) :- R = ok, R = no.
is(N,N,R) :- R = ok.
otherwise.
is(N,M,R) :- R = failed(N-M).
'test_of two'(R) :- R = ok.
";

    #[test]
    fn a_text_has_predicates_examples_and_itself() {
        let found: Vec<_> = tests(TEXT.as_bytes()).into_iter().map(|test| (test.line, test.name)).collect();
        let found: Vec<_> = found.iter().map(|(line, name)| (*line, name.as_str())).collect();
        let expected = [
            (5, "next(2,N)"),
            (6, "next(2,N), M = f(N)"),
            (8, "next(1,2)"),
            (9, "lists:range(1,20,L)"),
            (10, "lists:range(1,20,K)"),
            (12, "main:main"),
            (14, "main:test_next"),
            (15, "main:test_wrong"),
            (16, "main:test_waits"),
            (17, "main:test_breaks"),
            (21, "main:'test_of two'"),
        ];
        assert_eq!(found, expected);
        assert_eq!(tests(b"p :- q(."), vec![]);
        assert_eq!(tests(b"%% ?- "), tests(b"%% ?-"));
    }

    #[test]
    fn goals_pass_or_say_why_not() {
        let mut texts = Texts::default();
        texts.add("main.kl1", TEXT);
        let mut verdicts = vec![];
        for test in tests(TEXT.as_bytes()) {
            let Kind::Goal { goal, expected } = test.kind else { continue };
            let files = Box::new(texts.clone());
            let verdict = run(Path::new("main.kl1"), &goal, &expected, files, &Settings::with_workers(1));
            verdicts.push((test.name, verdict.expect("a node can be made").err()));
        }
        let why = |name: &str| {
            let found = verdicts.iter().find(|(known, _)| known == name).expect("it is a test");
            found.1.as_deref()
        };
        assert_eq!(why("next(2,N)"), None);
        assert_eq!(why("next(2,N), M = f(N)"), None);
        assert_eq!(why("main:test_next"), None);
        assert_eq!(why("lists:range(1,20,L)"), None);
        assert!(why("lists:range(1,20,K)").is_some_and(|why| why.contains("is expected")), "{verdicts:?}");
        assert_eq!(why("main:'test_of two'"), None);
        assert_eq!(why("main:test_wrong"), Some("R = failed(2-3), and ok is expected\n"));
        assert!(why("main:test_waits").is_some_and(|why| why.contains("test_waits")), "{verdicts:?}");
        assert!(why("main:test_breaks").is_some_and(|why| why.contains("main.kl1")), "{verdicts:?}");
    }
}
