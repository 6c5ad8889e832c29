//! The command. The only crate that prints, exits, or opens files that a user names on the command line.

#![forbid(unsafe_code)]

mod callers;
mod cli;
mod counting;
mod destination;
mod driver;
mod ending;
mod excerpt;
mod explain;
mod front;
mod input;
mod job;
mod laboratory;
mod nodes;
mod number;
mod output;
mod recording;
mod repl;
mod report;
mod section;
mod served;
mod simulated;
mod sources;
mod standalone;
mod timeline;
mod workers;

use clap::{CommandFactory, Parser};
use cli::{Cli, Command, Engine, MessageFormat, Stage};
use driver::{Compiled, Machine};
use front::Front;
use sources::Read;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::ExitCode;
use syntax::diagnostic::{Diagnostic, Severity};
use syntax::program::{Call, GoalKind, TermKind};
use term::AtomTable;

/// Wrong usage, an unreadable file, errors in the program text.
const USAGE: u8 = 2;

#[global_allocator]
static ALLOCATOR: runtime::refused::Allocator = runtime::refused::Allocator;

fn main() -> ExitCode {
    runtime::refused::give_back_large();
    ending::on_panic();
    ending::on_refused_memory();
    allow_descriptors();
    if let Some(result) = standalone::run_own() {
        return finish(result);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return finish(told(&error)),
    };
    let result = match &cli.command {
        Command::Run(options) => run(options),
        Command::Check(options) => check(options),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "fifth", &mut script);
            output::write(&String::from_utf8_lossy(&script)).map(|()| 0)
        }
        Command::Build(options) => build(options),
        Command::Explain { code } => explain::run(code.as_deref()),
        Command::Repl(options) => repl::run(options),
        Command::Lab { command } => laboratory::run(command),
    };
    match (result, cli.command.message_format()) {
        (Err(error), MessageFormat::Json) if is_news(&error) => {
            report::json_error(&error);
            ExitCode::from(USAGE)
        }
        (result, _) => finish(result),
    }
}

/// A program may have as many connections as the system allows it.
fn allow_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where that is refused there are fewer.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

fn finish(result: anyhow::Result<u8>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            if is_news(&error) {
                output::error(&error);
            }
            let gone = error.is::<output::ReaderGone>();
            ExitCode::from(if gone { ending::READER_GONE } else { USAGE })
        }
    }
}

/// Whether this process is to tell an error.
fn is_news(error: &anyhow::Error) -> bool {
    !error.is::<job::Untold>() && !error.is::<output::ReaderGone>()
}

/// Help and version go to standard output; what is wrong with the command line to standard error.
fn told(error: &clap::Error) -> anyhow::Result<u8> {
    if !job::speaks() {
        return Ok(if error.use_stderr() { USAGE } else { 0 });
    }
    if error.use_stderr() && cli::wants_json(std::env::args_os()) {
        report::json_error(&anyhow::anyhow!(cli::message(error)));
        return Ok(USAGE);
    }
    if error.use_stderr() {
        // A closed standard error leaves nobody to tell.
        let _ = error.print();
        let first = std::env::args().nth(1).unwrap_or_default();
        if error.kind() == clap::error::ErrorKind::InvalidSubcommand && first.ends_with(".kl1") {
            output::complain(&format!("To run a program: fifth run {first}"));
        }
        return Ok(USAGE);
    }
    let text = error.render();
    let terminal = std::io::IsTerminal::is_terminal(&std::io::stdout());
    output::write(&if terminal { text.ansi().to_string() } else { text.to_string() }).map(|()| 0)
}

/// Reads and lowers a program, and reports what is wrong with it. `None` when there are errors. Only a check says what
/// the program does not use: while one is written, much of it is not used yet.
fn compile(
    front: &Front,
    read: &mut Read,
    format: MessageFormat,
    checks: bool,
) -> Option<compiler::ir::Program> {
    let refused = read.diagnostics.iter().any(|d| d.severity == Severity::Error);
    let roots = roots(&front.atoms, read);
    let (program, diagnostics) = front.lower(read, Some(roots.clone()));
    if program.is_some() && !refused {
        let found = sources::almost_messages(read, &front.atoms);
        read.diagnostics.extend(found);
        if checks {
            read.diagnostics.extend(compiler::unused_predicates(&read.program, &front.atoms, &roots));
        }
    }
    // What could not be read is missing: what follows from that is not worth saying.
    let follows =
        |d: &Diagnostic| refused && ["no-main", "undefined-predicate", "wrong-arity"].contains(&d.code);
    read.diagnostics.extend(diagnostics.into_iter().filter(|d| !follows(d)));
    report::refuse_empty(read);
    let errors = report::diagnostics(&read.diagnostics, &read.sources, format);
    if errors { None } else { program }
}

/// What must be compiled: `main:main/0`, and all of the user's predicates if the program looks some up by name while
/// it runs.
fn roots(atoms: &AtomTable, read: &Read) -> Vec<compiler::PredicateKey> {
    let main = atoms.intern(b"main");
    let mut roots = vec![(main, main, 0)];
    let by_name = ["generic", "system_control"].map(|module| atoms.intern(module.as_bytes()));
    let classes = ["module", "predicate"].map(|class| atoms.intern(class.as_bytes()));
    let looks_up = |call: &Call| match call.arguments.first().map(|argument| &argument.kind) {
        Some(TermKind::Atom(class)) if call.module == Some(by_name[0]) => classes.contains(class),
        // `system_control:postmortem` takes a module in any form.
        Some(_) if call.module == Some(by_name[1]) => call.arguments.len() == 3,
        Some(TermKind::Module(_)) => call.module == Some(by_name[0]),
        _ => false,
    };
    let predicates = || read.program.modules.iter().flat_map(|m| m.predicates.iter().map(move |p| (m, p)));
    let mut goals = predicates().flat_map(|(_, p)| &p.clauses).flat_map(|clause| &clause.body);
    if goals.any(|goal| matches!(&goal.kind, GoalKind::Call(call) if looks_up(call))) {
        let users =
            predicates().filter(|(_, p)| !read.sources.file(p.span.file).name.starts_with("library/"));
        roots.extend(users.map(|(module, p)| (module.name, p.name, p.arity)));
    }
    roots
}

/// Reads a program. `code`: the library's modules are wanted as code, not as clauses.
fn read(front: &Front, options: &cli::Sources, code: bool) -> anyhow::Result<Read> {
    sources::read(&options.files, &front.atoms, &front.known_modules(), code && front.has_library)
}

fn run(options: &cli::Run) -> anyhow::Result<u8> {
    if options.end_with_parent {
        // Without that it ends when its work is done.
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    }
    let mut machine = Machine::under_launcher(&options.engine)?;
    let result = run_in(&mut machine, options);
    if machine.job.is_some() {
        // It ends with the machine, and with it all processes.
        let _ = result.as_ref().inspect_err(|error| output::error(error));
    }
    machine.end();
    result
}

fn run_in(machine: &mut Machine, options: &cli::Run) -> anyhow::Result<u8> {
    let (compiled, read) = if machine.follows() {
        (standalone::received(machine, &options.engine)?, None)
    } else {
        let prepared = prepare(machine, options);
        let compiled = prepared.as_ref().ok().and_then(|prepared| prepared.as_ref().ok());
        standalone::give(machine, compiled.map(|(compiled, _)| compiled))?;
        match prepared? {
            Ok((compiled, read)) => (Some(compiled), Some(read)),
            Err(code) => return Ok(code),
        }
    };
    let Some(compiled) = compiled else { return Ok(0) };
    machine.load(&compiled)?;
    runtime::builtins::io::set_arguments(machine.node.worker(), bytes(options.arguments.clone()));
    let atoms = machine.node.worker().atoms.clone();
    let calls = || match &read {
        Some(read) => callers::Calls::of(read, &atoms),
        None => callers::Calls::default(),
    };
    ending::run_main(machine, &options.engine, &sources::inputs(read.as_ref()), &calls)
}

/// The program as code, with its text; or the exit code if it is not to be run.
fn prepare(machine: &mut Machine, options: &cli::Run) -> anyhow::Result<Result<(Compiled, Read), u8>> {
    let front = machine.front();
    let mut read = read(&front, &options.sources, options.dump.is_none())?;
    if let Some(stage @ (Stage::Tokens | Stage::Clauses)) = options.dump {
        let errors = report::diagnostics(&read.diagnostics, &read.sources, options.sources.message_format);
        output::write(&dump_text(machine, &read, stage))?;
        return Ok(Err(if errors { USAGE } else { 0 }));
    }
    let Some(program) = compile(&front, &mut read, options.sources.message_format, false) else {
        return Ok(Err(USAGE));
    };
    let code = machine.code_options(&options.engine);
    if let Some(stage) = options.dump {
        return output::write(&machine.dump(&program, stage, &code)?).map(|()| Err(0));
    }
    Ok(Ok((machine.generate(program, &code, read.library)?, read)))
}

fn dump_text(machine: &mut Machine, read: &Read, stage: Stage) -> String {
    match stage {
        Stage::Tokens => {
            let text = &read.sources.file(read.given[0]).text;
            tokens(text, machine.atoms())
        }
        _ => syntax::dump::dump_program(&read.program, machine.atoms()),
    }
}

fn check(options: &cli::Check) -> anyhow::Result<u8> {
    let front = Front::alone();
    let mut read = read(&front, &options.sources, true)?;
    let right = compile(&front, &mut read, options.sources.message_format, true).is_some();
    Ok(if right { 0 } else { USAGE })
}

fn build(options: &cli::Build) -> anyhow::Result<u8> {
    let name = executable(options)?;
    let mut machine = Machine::new(&Engine::PLAIN)?;
    let front = machine.front();
    let mut read = read(&front, &options.sources, true)?;
    let Some(program) = compile(&front, &mut read, options.sources.message_format, false) else {
        return Ok(USAGE);
    };
    let output = destination::Destination::new(&name, &sources::inputs(Some(&read)))?;
    let compiled = machine.generate(program, &standalone::CODE, read.library)?;
    let waker = machine.node.worker().waker();
    // An interrupt must leave neither half an executable nor its parts.
    waker.hold_interrupts();
    let calls = callers::Calls::of(&read, machine.atoms());
    let written = standalone::write(&mut machine, &compiled, &calls, output);
    let interrupted = waker.release_interrupts();
    written?;
    Ok(if interrupted { ending::INTERRUPTED } else { 0 })
}

/// The name of the executable: that of the first file without its ending, unless another was given. What may be written
/// over without being asked for is an executable that was built before.
fn executable(options: &cli::Build) -> anyhow::Result<PathBuf> {
    if let Some(name) = &options.output {
        return Ok(name.clone());
    }
    let Some(first) =
        options.sources.files.first().filter(|file| file.extension().is_some_and(|e| e == "kl1"))
    else {
        anyhow::bail!("the executable has no name: say it with `-o EXECUTABLE`");
    };
    let name = first.with_extension("");
    if name.symlink_metadata().is_ok() && !section::is_executable_with_program(&name) {
        let shown = name.display();
        anyhow::bail!(
            "{shown} is there, and is no executable that Fifth has built: name another with `-o EXECUTABLE`"
        );
    }
    Ok(name)
}

/// Arguments as the program sees them.
fn bytes(arguments: Vec<OsString>) -> Vec<Vec<u8>> {
    arguments.into_iter().map(OsString::into_vec).collect()
}

/// One token a line, with its place.
fn tokens(text: &[u8], atoms: &term::AtomTable) -> String {
    let mut lexer = syntax::lexer::Lexer::new(text);
    let mut lines = String::new();
    loop {
        let token = lexer.next(atoms);
        let shown = match &token.kind {
            syntax::lexer::TokenKind::EndOfText => return lines,
            syntax::lexer::TokenKind::Error(error) => format!("error: {error:?}"),
            _ => String::from_utf8_lossy(&text[token.start as usize..token.end as usize]).into_owned(),
        };
        lines.push_str(&format!("{}..{}\t{shown}\n", token.start, token.end));
    }
}
