//! Programs that say in comments what they do, and the comparison of two executions with that.
//!
//! | directive | meaning |
//! |---|---|
//! | `% test: TEXT` | what it exercises; a file without it is a part of another program |
//! | `% stdout: TEXT` | one line of standard output (`% stdout-raw: TEXT`: the last piece, without newline) |
//! | `% unordered` | the lines may come in any order |
//! | `% stderr: TEXT` | standard error contains this |
//! | `% exit: N` | exit code, 0 if not given (2 with `% error`) |
//! | `% outcome: success\|failure\|deadlock\|error` | how the run ends |
//! | `% warning: LINE CODE`, `% error: LINE CODE` | all diagnostics of the compiler |
//! | `% stdin: TEXT`, `% args: A B`, `% files: F G` | input lines, program arguments, further files of the same folder |
//! | `% skip-interpreter: WHY` | only the compiled program is run |
//! | `% skip-check-heap: WHY` | it is not run with a collection at every reduction |
//! | `% any-order: WHY` | with several workers lines may come in any order |
//! | `% one-worker: WHY` | what it does depends on the order in which one worker reduces |
//! | `% skip-check-nodes: WHY` | its goals are not thrown to any node |
//! | `% one-node: WHY` | it asks for nodes that are not there, or for what only one node has |
//! | `% real-nodes: WHY` | it is not run on a simulated machine |

use super::execute::{self, Ending, Execution};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What a program says about itself.
#[derive(Debug, Default)]
pub(crate) struct Directives {
    pub(crate) stdout: Vec<u8>,
    pub(crate) unordered: bool,
    pub(crate) stderr: Vec<String>,
    pub(crate) exit: Option<i32>,
    pub(crate) outcome: Option<Ending>,
    /// Line and code.
    pub(crate) warnings: BTreeSet<(u64, String)>,
    pub(crate) errors: BTreeSet<(u64, String)>,
    pub(crate) stdin: Vec<u8>,
    pub(crate) arguments: Vec<String>,
    pub(crate) files: Vec<String>,
    pub(crate) skip_interpreter: bool,
    /// Several workers may print the lines in another order.
    pub(crate) any_order: bool,
    /// Several workers may do something else.
    pub(crate) one_worker: bool,
    /// Its goals read too much for being thrown to any node.
    pub(crate) skip_check_nodes: bool,
    /// It is not run on a simulated machine.
    pub(crate) real_nodes: bool,
    /// It is not run on several nodes.
    pub(crate) one_node: bool,
    /// Too many reductions for a collection at each of them.
    pub(crate) skip_check_heap: bool,
    is_test: bool,
}

impl Directives {
    /// Reads the comment lines at the top of a program.
    pub(crate) fn parse(text: &[u8]) -> Result<Directives, String> {
        let mut found = Directives::default();
        let lines = text.split(|byte| *byte == b'\n').take_while(|line| line.starts_with(b"%"));
        // Two are documentation.
        for line in lines.filter(|line| !line.starts_with(b"%%")) {
            let line = std::str::from_utf8(line).map_err(|_| "directives are UTF-8".to_string())?;
            let line = line.strip_prefix("% ").unwrap_or(line);
            let (name, rest) = line.split_once(':').unwrap_or((line, ""));
            found.directive(name.trim_end(), rest.strip_prefix(' ').unwrap_or(rest))?;
        }
        Ok(found)
    }

    fn directive(&mut self, name: &str, rest: &str) -> Result<(), String> {
        let words = || rest.split_whitespace().map(str::to_string);
        match name {
            "test" => self.is_test = true,
            "stdout" => self.stdout.extend(rest.bytes().chain([b'\n'])),
            "stdout-raw" => self.stdout.extend(rest.bytes()),
            "unordered" => self.unordered = true,
            "stderr" => self.stderr.push(rest.to_string()),
            "exit" => self.exit = Some(rest.trim().parse().map_err(|_| format!("exit: {rest}"))?),
            "outcome" => {
                self.outcome = Some(match rest.trim() {
                    "success" => Ending::Success,
                    "failure" => Ending::Failure,
                    "error" => Ending::Error,
                    "deadlock" => Ending::Deadlock,
                    other => return Err(format!("outcome: {other}")),
                });
            }
            "warning" => _ = self.warnings.insert(diagnostic(rest)?),
            "error" => _ = self.errors.insert(diagnostic(rest)?),
            "stdin" => self.stdin.extend(rest.bytes().chain([b'\n'])),
            "args" => self.arguments.extend(words()),
            "files" => self.files.extend(words()),
            "skip-interpreter" => self.skip_interpreter = true,
            "any-order" => self.any_order = true,
            "one-worker" => self.one_worker = true,
            "real-nodes" => self.real_nodes = true,
            "one-node" => self.one_node = true,
            "skip-check-heap" => self.skip_check_heap = true,
            "skip-check-nodes" => self.skip_check_nodes = true,
            _ if !self.is_test => {}
            _ => return Err(format!("unknown directive {name}")),
        }
        Ok(())
    }
}

fn diagnostic(text: &str) -> Result<(u64, String), String> {
    let parts = text
        .trim()
        .split_once(' ')
        .and_then(|(line, code)| Some((line.parse().ok()?, code.trim().to_string())));
    parts.ok_or_else(|| format!("a diagnostic is a line and a code, not {text}"))
}

/// A program of the corpus.
#[derive(Debug)]
pub(crate) struct Program {
    /// The main file.
    pub(crate) path: PathBuf,
    pub(crate) directives: Directives,
}

impl Program {
    /// All its files, the main one first.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let beside = self.directives.files.iter().map(|name| self.path.with_file_name(name));
        std::iter::once(self.path.clone()).chain(beside).collect()
    }
}

/// The programs below a folder, in order of their names; only those whose path from there contains one of the texts in
/// `filter` (`guard/,merge/`).
pub(crate) fn programs(root: &Path, filter: &str) -> Result<Vec<Program>, String> {
    let mut programs = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries {
            let path = entry.map_err(|error| error.to_string())?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "kl1") {
                let text = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                let directives =
                    Directives::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
                let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
                if directives.is_test && filter.split(',').any(|part| name.contains(part)) {
                    programs.push(Program { path, directives });
                }
            }
        }
    }
    programs.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(programs)
}

/// What is wrong with some of a program's executions.
pub(crate) type Check = fn(&Program) -> Vec<String>;

/// Runs all programs, several at a time; the error names everything that is wrong.
pub(crate) fn check_all(programs: &[Program], root: &Path, check: Check) -> Result<(), String> {
    let next = AtomicUsize::new(0);
    let complaints: Mutex<Vec<(usize, String)>> = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((at, program)) = take(&next, programs) {
                    let found = check(program);
                    if !found.is_empty() {
                        let name =
                            program.path.strip_prefix(root).unwrap_or(&program.path).display().to_string();
                        let text = format!("{name}\n    {}\n", found.join("\n    "));
                        complaints.lock().expect("no thread panics while it holds the lock").push((at, text));
                    }
                }
            });
        }
    });
    let mut complaints = complaints.into_inner().expect("all threads have ended");
    complaints.sort();
    if complaints.is_empty() {
        return Ok(());
    }
    let texts: Vec<String> = complaints.into_iter().map(|(_, text)| text).collect();
    Err(format!("{} of {} programs do something else\n\n{}", texts.len(), programs.len(), texts.join("\n")))
}

fn take<'p>(next: &AtomicUsize, programs: &'p [Program]) -> Option<(usize, &'p Program)> {
    // Relaxed: the counter orders nothing else.
    let at = next.fetch_add(1, Ordering::Relaxed);
    programs.get(at).map(|program| (at, program))
}

/// Compiled, with a collection at every reduction and at random ones, and interpreted.
pub(crate) fn with_one_worker(program: &Program) -> Vec<String> {
    let directives = &program.directives;
    let mut wrong = Vec::new();
    match execute::compiled(&["--workers", "1"], &program.files(), &directives.arguments, &directives.stdin) {
        Err(error) => wrong.push(format!("compiled: {error}")),
        Ok((execution, diagnostics)) => {
            let name = program.path.display().to_string();
            for (severity, expected) in [("warning", &directives.warnings), ("error", &directives.errors)] {
                let given: BTreeSet<(u64, String)> = diagnostics
                    .iter()
                    .filter(|diagnostic| diagnostic.severity == severity)
                    .map(|diagnostic| {
                        let line = if diagnostic.file == name { diagnostic.line } else { 0 };
                        (line, diagnostic.code.clone())
                    })
                    .collect();
                if given != *expected {
                    wrong.push(format!("compiled: {severity}s {given:?}, expected {expected:?}"));
                }
            }
            compare("compiled", directives, &execution, &mut wrong);
            for text in &directives.stderr {
                if !execution.stderr.contains(text.as_str()) {
                    wrong.push(format!("compiled: standard error lacks {text:?}: {:?}", execution.stderr));
                }
            }
        }
    }
    if directives.errors.is_empty() && !directives.skip_check_heap {
        run("collecting", &["--workers", "1", "--check-heap"], program, &mut wrong);
        run("collecting at random", &["--workers", "1", &disorder()], program, &mut wrong);
    }
    if directives.errors.is_empty() && !directives.skip_interpreter {
        match execute::interpreted(&program.files(), &directives.arguments, &directives.stdin) {
            Err(error) => wrong.push(format!("interpreter: {error}")),
            Ok(execution) => compare("interpreter", directives, &execution, &mut wrong),
        }
    }
    wrong
}

/// Gifts of goals that the programs of [`with_several_workers`] made in disorder: without any, nothing was seen of
/// several workers.
pub(crate) static GIFTS: AtomicU64 = AtomicU64::new(0);

/// With four workers, and with three that collect and give goals away at random.
pub(crate) fn with_several_workers(program: &Program) -> Vec<String> {
    let directives = &program.directives;
    let mut wrong = Vec::new();
    if directives.errors.is_empty() && !directives.one_worker {
        run("4 workers", &["--workers", "4"], program, &mut wrong);
        if !directives.skip_check_heap {
            let execution = run(
                "3 workers in disorder",
                &["--workers", "3", &disorder(), "--stats"],
                program,
                &mut wrong,
            );
            // Relaxed: only the sum matters.
            GIFTS.fetch_add(
                execution.map_or(0, |execution| execution.count("gifts of goals")),
                Ordering::Relaxed,
            );
        }
    }
    wrong
}

/// On several nodes, as it is written and with goals thrown to any of them. As many as `FIFTH_NODES` says, else three;
/// each with as many workers as `FIFTH_NODE_WORKERS` says, else one.
pub(crate) fn on_several_nodes(program: &Program) -> Vec<String> {
    let directives = &program.directives;
    let mut wrong = Vec::new();
    if !directives.errors.is_empty() || directives.one_worker || directives.one_node {
        return wrong;
    }
    let count = std::env::var("FIFTH_NODES").unwrap_or("3".into());
    let workers = std::env::var("FIFTH_NODE_WORKERS").unwrap_or("1".into());
    on_nodes_with_workers(&count, &workers, program, &mut wrong);
    wrong
}

/// The options of nodes that send each other the pages of arrays.
pub(crate) const COPIES: &str = "--dsm-pages=messages";

/// The programs about arrays on two and three nodes that have copies of them; these with two workers each, too.
pub(crate) fn on_nodes_with_copies(program: &Program) -> Vec<String> {
    let directives = &program.directives;
    let mut wrong = Vec::new();
    let is_about_them = program.path.parent().is_some_and(|folder| folder.ends_with("array"));
    if is_about_them && directives.errors.is_empty() {
        for [nodes, workers] in [["2", "1"], ["3", "1"], ["3", "2"]] {
            let who = format!("{nodes} nodes with {workers} workers each and copies");
            let options = ["--nodes", nodes, "--workers", workers, COPIES];
            run(&who, &options, program, &mut wrong);
            if !directives.skip_check_heap && !directives.skip_check_nodes {
                let seed = format!("--check-nodes={}", std::env::var("FIFTH_SEED").unwrap_or("1".into()));
                run(&format!("{who}, in disorder"), &[&options[..], &[&seed]].concat(), program, &mut wrong);
            }
        }
    }
    wrong
}

/// A tenth of the programs on two nodes of two workers each.
pub(crate) fn on_nodes_of_several_workers(program: &Program) -> Vec<String> {
    let directives = &program.directives;
    let mut wrong = Vec::new();
    let fit = !directives.one_worker && !directives.one_node && directives.errors.is_empty();
    if fit && is_of_the_tenth(program) {
        on_nodes_with_workers("2", "2", program, &mut wrong);
    }
    wrong
}

fn on_nodes_with_workers(count: &str, workers: &str, program: &Program, wrong: &mut Vec<String>) {
    let directives = &program.directives;
    let who = format!("{count} nodes with {workers} workers each");
    let nodes = ["--nodes", count, "--workers", workers];
    run(&who, &nodes, program, wrong);
    if !directives.skip_check_heap && !directives.skip_check_nodes {
        let seed = format!("--check-nodes={}", std::env::var("FIFTH_SEED").unwrap_or("1".into()));
        let options = [&nodes[..], &[&seed]].concat();
        run(&format!("{who}, in disorder"), &options, program, wrong);
    }
}

/// A tenth of the programs on three nodes among which ready goals move. `FIFTH_NODES=8` runs all of them, on as many.
pub(crate) fn on_nodes_that_balance(program: &Program) -> Vec<String> {
    let directives = &program.directives;
    let mut wrong = Vec::new();
    let nodes = std::env::var("FIFTH_NODES").ok();
    let chosen = nodes.is_some() || is_of_the_tenth(program);
    let fit = !directives.one_worker && !directives.one_node && !directives.skip_check_nodes;
    if chosen && fit && directives.errors.is_empty() {
        let nodes = nodes.unwrap_or("3".into());
        let options = ["--nodes", &nodes, "--balance"];
        run(&format!("{nodes} nodes that balance"), &options, program, &mut wrong);
    }
    wrong
}

/// Always the same tenth.
fn is_of_the_tenth(program: &Program) -> bool {
    let name = program.path.file_name().unwrap_or_default().to_string_lossy();
    name.bytes().map(u32::from).sum::<u32>() % 10 == 0
}

/// On several nodes that are processes of the job that this command starts.
pub(crate) fn in_a_job(who: &str, command: Command, options: &[&str], program: &Program) -> Vec<String> {
    let Program { directives, .. } = program;
    let mut wrong = Vec::new();
    if directives.errors.is_empty() && !directives.one_worker && !directives.one_node {
        let ran =
            execute::executed(command, options, &program.files(), &directives.arguments, &directives.stdin);
        check(who, ran.map(|(execution, _)| execution), true, program, &mut wrong);
    }
    wrong
}

/// A tenth of the programs on a simulated machine of 9 nodes, as they are written and with goals thrown to any of them.
/// `FIFTH_MACHINE=multipsi:16` runs all of them, on that machine.
pub(crate) fn on_a_simulated_machine(program: &Program) -> Vec<String> {
    let directives = &program.directives;
    let mut wrong = Vec::new();
    let machine = std::env::var("FIFTH_MACHINE").ok();
    let chosen = machine.is_some() || is_of_the_tenth(program);
    let real = directives.one_worker || directives.one_node || directives.real_nodes;
    if !chosen || !directives.errors.is_empty() || real {
        return wrong;
    }
    let machine = machine.unwrap_or("multipsi:9".into());
    run(&machine, &["--simulate", &machine], program, &mut wrong);
    if !directives.skip_check_heap && !directives.skip_check_nodes {
        let seed = std::env::var("FIFTH_SEED").unwrap_or("1".into());
        let options = ["--simulate", &machine, &format!("--check-nodes={seed}")];
        run(&format!("{machine} in disorder"), &options, program, &mut wrong);
    }
    wrong
}

fn disorder() -> String {
    format!("--check-heap={}", std::env::var("FIFTH_SEED").unwrap_or("1".into()))
}

fn run(who: &str, options: &[&str], program: &Program, wrong: &mut Vec<String>) -> Option<Execution> {
    let directives = &program.directives;
    let ran = execute::compiled(options, &program.files(), &directives.arguments, &directives.stdin);
    check(who, ran.map(|(execution, _)| execution), options[1] != "1", program, wrong)
}

/// `several`: workers or nodes.
fn check(
    who: &str,
    ran: Result<Execution, String>,
    several: bool,
    program: &Program,
    wrong: &mut Vec<String>,
) -> Option<Execution> {
    let directives = &program.directives;
    match ran {
        Err(error) => {
            wrong.push(format!("{who}: {error}"));
            None
        }
        Ok(mut execution) => {
            if several && directives.any_order && same_but_for_order(&directives.stdout, &execution.stdout) {
                execution.stdout.clone_from(&directives.stdout);
            }
            compare(who, directives, &execution, wrong);
            Some(execution)
        }
    }
}

/// Whether there are the same lines in any order.
fn same_but_for_order(expected: &[u8], given: &[u8]) -> bool {
    let shapes = |text: &[u8]| {
        let mut shapes: Vec<String> = String::from_utf8_lossy(text).lines().map(shape).collect();
        shapes.sort_unstable();
        shapes
    };
    shapes(expected) == shapes(given)
}

/// A printed line with its variables (`_7`) numbered in the order in which they come. So lines are of the same shape
/// if a variable stands where the other has one, the same one where that is the same, and all else is equal.
pub(crate) fn shape(line: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    let (mut shape, mut rest) = (String::new(), line);
    while let Some(at) = rest.find('_') {
        let digits = rest[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let within_a_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let before = rest[..at].bytes().next_back().or(shape.bytes().next_back());
        let after = rest.as_bytes().get(at + 1 + digits);
        shape.push_str(&rest[..=at]);
        if digits > 0 && !before.as_ref().is_some_and(within_a_name) && !after.is_some_and(within_a_name) {
            let name = &rest[at + 1..at + 1 + digits];
            let number = names.iter().position(|known| *known == name).unwrap_or(names.len());
            if number == names.len() {
                names.push(name);
            }
            shape.push_str(&(number + 1).to_string());
            rest = &rest[at + 1 + digits..];
        } else {
            rest = &rest[at + 1..];
        }
    }
    shape + rest
}

fn compare(who: &str, directives: &Directives, execution: &Execution, wrong: &mut Vec<String>) {
    let (expected, given) = (&directives.stdout, &execution.stdout);
    let same = if directives.unordered { sorted(expected) == sorted(given) } else { expected == given };
    if !same {
        let (given, expected) = (String::from_utf8_lossy(given), String::from_utf8_lossy(expected));
        wrong.push(format!("{who}: standard output {given:?}, expected {expected:?}"));
    }
    let exit = directives.exit.unwrap_or(if directives.errors.is_empty() { 0 } else { 2 });
    if execution.exit != exit {
        let error = execution.stderr.trim_end();
        wrong.push(format!("{who}: exit code {}, expected {exit} ({error})", execution.exit));
    }
    let expected = directives.outcome.unwrap_or(Ending::Success);
    if directives.errors.is_empty() && !execution.ending.agrees(expected) {
        wrong.push(format!("{who}: outcome {:?}, expected {expected:?}", execution.ending));
    }
}

fn sorted(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    lines
}
