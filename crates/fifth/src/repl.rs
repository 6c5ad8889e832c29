//! The REPL: entries and commands are read, and what they lead to is printed.

use crate::cli::{self, MessageFormat, Running};
use crate::destination::Destination;
use crate::files::Disk;
use crate::input::{COMMANDS, Input, hint};
use crate::output::{self, complain};
use crate::{documentation, ending, explain, report};
use engine::interactive::{Binding, Interactive, Leave, Said};
use engine::{Settings, shown, timeline};
use std::ffi::OsStr;
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Instant;

const HELP: &str = "\
p(X) :- G | B.     defines a clause (of the module `repl`). Clauses of p/1 that are typed one after the other belong
                   together; typed later, or again, one begins a new definition, which replaces the first
otherwise.         stands before the next clause that is typed; so does alternatively.
?- p(X), q(Y).     runs goals; bindings are printed as they arrive; Ctrl-C ends the query. `?-` may be left out,
                   but p(a). runs only if there is a p/1: otherwise it defines that, as a fact
1+2*3.             prints the value
:def p(a).         adds a clause to what there is of p/1, be it a fact or not
:list              shows the clauses            :clear        forgets everything
:forget p/1        forgets the clauses of p/1   :load FILE    adds the modules of a file, or replaces them
:doc lists:append  what comments say of a predicate, or of a module
:explain CODE      what the code of an error or warning means
:time p(X).        runs a goal and says how many seconds it took
:trace FILE p(X).  runs a goal and writes what each worker did when, as `fifth run --trace` does: for ui.perfetto.dev
:help              this page                    :quit         leaves (so does Ctrl-D)
Modules of files stay modules. Their predicates may be called without the module, those of the last file first. A module
that is not there is looked for in a file of its name beside these files.
On a terminal Tab completes names, the arrow keys edit and recall, Ctrl-R searches, Ctrl-C abandons what is typed.
";

/// Runs the REPL until the end of its input; gives the exit code.
pub(crate) fn run(options: &cli::Repl) -> anyhow::Result<u8> {
    // For `:trace`.
    let settings = Settings { traces: true, ..Running::with(options.workers).settings()? };
    let mut repl = Interactive::start(&settings, Box::new(Disk), Box::new(show))?;
    ending::interruptible(repl.machine());
    ending::answer_questions(repl.machine(), None);
    for path in &options.files {
        repl.load(path, &mut tell)?;
    }
    let mut input = Input::new()?;
    if input.is_terminal() {
        output::line(&format!("Fifth {}. `:help` explains, `:quit` leaves.", env!("CARGO_PKG_VERSION")))?;
    }
    loop {
        input.offer(|| names(&mut repl));
        let Some(entry) = input.next()? else { return Ok(0) };
        let entry = entry.trim_ascii();
        if let Some(command) = entry.strip_prefix(b":").filter(|_| !entry.starts_with(b":-")) {
            if matches!(command.trim_ascii(), b"quit" | b"q" | b"exit") {
                return Ok(0);
            }
            if let Some(code) = left(obey(command.trim_ascii(), &mut repl)?) {
                return Ok(code);
            }
            continue;
        }
        if let Some(code) = left(repl.enter(entry, &mut tell)?) {
            return Ok(code);
        }
    }
}

/// The exit code, if nothing more is to be entered.
fn left(leave: Option<Leave>) -> Option<u8> {
    match leave? {
        Leave::Exit(status) => Some((status & 255) as u8),
        Leave::ReaderGone => Some(ending::READER_GONE),
    }
}

/// Enters a goal, whose point may be left out.
fn enter_goal(goal: &[u8], repl: &mut Interactive) -> anyhow::Result<Option<Leave>> {
    let point: &[u8] = if syntax::lexer::has_end(goal) { b"" } else { b" ." };
    Ok(repl.enter(&[goal, point].concat(), &mut tell)?)
}

/// Runs a goal, and writes what the workers did meanwhile to a file. `what` is the file's name, a blank, the goal.
fn trace(what: &[u8], repl: &mut Interactive) -> anyhow::Result<Option<Leave>> {
    let Some(blank) = what.iter().position(u8::is_ascii_whitespace) else {
        complain("error: :trace needs a file and a goal, as in `:trace run.json p(X).`");
        return Ok(None);
    };
    let (file, goal) = (&what[..blank], what[blank..].trim_ascii());
    let written = match Destination::new(Path::new(OsStr::from_bytes(file)), &[]) {
        Ok(written) => written,
        Err(error) => {
            output::error(&error);
            return Ok(None);
        }
    };
    // What was before is not of this goal.
    repl.machine().node().take_trace();
    let left = enter_goal(goal, repl)?;
    let tracks: Vec<_> = repl.machine().node().take_trace().into_iter().collect();
    if let Err(error) = written.write(0o666, |out| timeline::write(&tracks, true, out)) {
        output::error(&error);
    }
    Ok(left)
}

/// Runs a goal, and says how long that took.
fn time(goal: &[u8], repl: &mut Interactive) -> anyhow::Result<Option<Leave>> {
    let started = Instant::now();
    let left = enter_goal(goal, repl)?;
    complain(&format!("{:.3} s", started.elapsed().as_secs_f64()));
    Ok(left)
}

/// Prints a binding when it arrives.
fn show(binding: Binding<'_>) -> std::io::Result<()> {
    let before = binding.name.map_or(String::new(), |name| format!("{name} = "));
    output::bytes(&[before.as_bytes(), binding.value, b"\n"].concat()).map_err(|error| {
        let gone = error.is::<output::ReaderGone>();
        if gone { ErrorKind::BrokenPipe.into() } else { std::io::Error::other(output::told(&error)) }
    })
}

/// Prints what is said about an entry.
fn tell(said: Said) {
    match said {
        Said::Wrong(wrong) => _ = report::diagnostics(wrong.list(), wrong.sources(), MessageFormat::Human),
        Said::Note(note) => complain(&note),
        Said::Missing(name) => {
            complain(&format!("error: there is no predicate {name}/0; {}", hint(&name)));
        }
        // A closed standard error leaves nobody to tell.
        Said::Ended { text, .. } => _ = std::io::stderr().write_all(text.as_bytes()),
    }
}

/// What may be completed: commands, and all that has a name.
fn names(repl: &mut Interactive) -> Vec<String> {
    let mut names: Vec<String> = COMMANDS.map(|command| format!(":{command}")).into();
    names.extend(repl.names());
    names.sort_unstable();
    names
}

fn obey(command: &[u8], repl: &mut Interactive) -> anyhow::Result<Option<Leave>> {
    let split = command.iter().position(|byte| *byte == b' ').unwrap_or(command.len());
    let (name, rest) = (&command[..split], command[split..].trim_ascii());
    let what = String::from_utf8_lossy(rest).into_owned();
    match name {
        b"help" | b"h" => output::write(HELP)?,
        b"list" => output::bytes(&repl.listing())?,
        b"clear" => repl.clear(),
        b"forget" if !what.is_empty() => {
            if !repl.forget(&what) {
                complain(&format!("error: there is no {what}; :list shows what there is"));
            }
        }
        b"load" if !what.is_empty() => {
            if let Err(error) = repl.load(Path::new(&what), &mut tell) {
                output::error(&error.into());
            }
        }
        b"def" if !what.is_empty() => repl.add(rest, &mut tell)?,
        b"doc" if !what.is_empty() => match documentation::of_name(&what, &repl.texts()) {
            Some(text) => output::write(&text)?,
            None => complain(&format!("error: no comment of the form `%% ..` is about {what}")),
        },
        b"explain" => {
            if let Err(error) = explain::run(Some(&what).filter(|code| !code.is_empty()).map(String::as_str))
            {
                output::error(&error);
            }
        }
        b"time" if !what.is_empty() => return time(rest, repl),
        b"trace" => return trace(rest, repl),
        b"doc" => complain("error: :doc needs a name, as in `:doc lists:append`"),
        b"time" => complain("error: :time needs a goal, as in `:time p(X).`"),
        b"load" => complain("error: :load needs a file"),
        b"forget" => complain("error: :forget needs a predicate, as in `:forget p/1`"),
        b"def" => complain("error: :def needs a clause, as in `:def p(a).`"),
        _ => {
            let name = String::from_utf8_lossy(name);
            complain(&format!("error: there is no command :{}; :help lists them", shown::harmless(&name)));
        }
    }
    Ok(None)
}
