//! The command. The only crate that prints, exits, or opens files that a user names on the command line.

#![forbid(unsafe_code)]

mod cli;
mod counting;
mod destination;
mod documentation;
mod ending;
mod explain;
mod files;
mod input;
mod job;
mod laboratory;
mod libraries;
mod lsp;
mod nodes;
mod number;
mod observe;
mod output;
mod repl;
mod report;
mod scaffold;
mod section;
mod simulated;
mod standalone;
mod style;
mod testing;
mod workers;

use clap::{CommandFactory, Parser};
use cli::{Cli, Command, MessageFormat, Stage};
use engine::sources::Read;
use engine::{Calls, Compiled, EXECUTABLE_CODE, Error, Front, Machine, Settings, Unreadable, Wanted};
use runtime::node::Rouser;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::ExitCode;

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
        Command::Fmt(options) => style::run(options),
        Command::Test(options) => testing::run(options),
        Command::Doc(options) => documentation::run(options),
        Command::New(options) => scaffold::run(&options.name),
        Command::Explain { code } => explain::run(code.as_deref()),
        Command::Repl(options) => repl::run(options),
        Command::Lab { command } => laboratory::run(command),
        Command::Lsp => lsp::run(),
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
            } else if error.is::<job::Untold>() {
                job::let_the_first_speak();
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
        return if error.use_stderr() { Err(job::Untold.into()) } else { Ok(0) };
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

/// Lowers a program, and reports what is wrong with it. `None` when there are errors.
fn compile(
    front: &Front,
    read: &mut Read,
    format: MessageFormat,
    wanted: Wanted,
) -> Option<compiler::ir::Program> {
    let program = engine::compile(front, read, wanted);
    report::diagnostics(&read.diagnostics, &read.sources, format);
    program
}

/// Reads a program. `code`: the library's modules are wanted as code, not as clauses.
fn read(front: &Front, options: &cli::Sources, code: bool) -> anyhow::Result<Read> {
    if let Some(folder) = options.library.iter().find(|folder| !folder.is_dir()) {
        anyhow::bail!("--library {}: there is no such folder", folder.display());
    }
    let read = engine::read(front, &options.files, &files::With(&options.library), code);
    Ok(read.map_err(|mut unreadable| {
        let Unreadable { path, message } = &mut unreadable;
        let is_first = options.files.first() == Some(path);
        if !is_first && path.extension().is_none_or(|extension| extension != "kl1") {
            *message += "\n  arguments for the program stand behind `--`: `fifth run program.kl1 -- ..`";
        }
        Error::from(unreadable)
    })?)
}

fn run(options: &cli::Run) -> anyhow::Result<u8> {
    if options.end_with_parent {
        // Without that it ends when its work is done.
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    }
    let settings = options.running.settings()?;
    let libraries = libraries::named(&options.sources.foreign)?;
    let mut machine = job::machine(&settings, libraries)?;
    let rouser = ending::interruptible(&mut machine);
    let result = run_in(&mut machine, rouser, &settings, options);
    if machine.is_in_job() {
        // It ends with the machine, and with it all processes.
        let _ = result.as_ref().inspect_err(|error| output::error(error));
    }
    machine.end();
    result
}

fn run_in(
    machine: &mut Machine,
    rouser: Option<Rouser>,
    settings: &Settings,
    options: &cli::Run,
) -> anyhow::Result<u8> {
    let (compiled, read) = if machine.follows() {
        (engine::received(machine, settings)?, None)
    } else {
        let prepared = prepare(machine, settings, options);
        let compiled = prepared.as_ref().ok().and_then(|prepared| prepared.as_ref().ok());
        engine::give(machine, compiled.map(|(compiled, _)| compiled))?;
        match prepared? {
            Ok((compiled, read)) => (Some(compiled), Some(read)),
            Err(code) => return Ok(code),
        }
    };
    let Some(compiled) = compiled else { return Ok(0) };
    machine.load(&compiled)?;
    if options.running.perf_map {
        files::write_perf_map(&machine.perf_map())?;
    }
    machine.node().set_arguments(bytes(options.arguments.clone()));
    let atoms = machine.node().atoms().clone();
    let calls = || match &read {
        Some(read) => Calls::of(read, &atoms),
        None => Calls::default(),
    };
    let inputs = files::inputs(read.as_ref());
    ending::run_main(machine, rouser, &options.running, &inputs, &calls)
}

/// The program as code, with its text; or the exit code if it is not to be run.
fn prepare(
    machine: &mut Machine,
    settings: &Settings,
    options: &cli::Run,
) -> anyhow::Result<Result<(Compiled, Read), u8>> {
    let front = machine.front();
    // The library's code says nothing of where it comes from.
    let code = options.dump.is_none() && !settings.places;
    let mut read = read(&front, &options.sources, code)?;
    if let Some(stage @ (Stage::Tokens | Stage::Clauses)) = options.dump {
        let errors = report::diagnostics(&read.diagnostics, &read.sources, options.sources.message_format);
        output::write(&dump_text(machine, &read, stage))?;
        return Ok(Err(if errors { USAGE } else { 0 }));
    }
    let Some(program) = compile(&front, &mut read, options.sources.message_format, Wanted::Main) else {
        return Ok(Err(USAGE));
    };
    let code = machine.code_options(settings);
    if let Some(stage) = options.dump {
        return output::write(&machine.dump(&program, stage.of_code(), &code)?).map(|()| Err(0));
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
    let front = Front::with(libraries::named(&options.sources.foreign)?);
    let mut read = read(&front, &options.sources, true)?;
    let right = compile(&front, &mut read, options.sources.message_format, Wanted::Check).is_some();
    Ok(if right { 0 } else { USAGE })
}

fn build(options: &cli::Build) -> anyhow::Result<u8> {
    let name = executable(options)?;
    let libraries = libraries::named(&options.sources.foreign)?;
    let mut machine = Machine::with_libraries(&Settings::with_workers(1), libraries.clone())?;
    ending::interruptible(&mut machine);
    let front = machine.front();
    let mut read = read(&front, &options.sources, true)?;
    let Some(program) = compile(&front, &mut read, options.sources.message_format, Wanted::Main) else {
        return Ok(USAGE);
    };
    let output = destination::Destination::new(&name, &files::inputs(Some(&read)))?;
    let compiled = machine.generate(program, &EXECUTABLE_CODE, read.library)?;
    let waker = machine.node().waker();
    // An interrupt must leave neither half an executable nor its parts.
    waker.hold_interrupts();
    let calls = Calls::of(&read, machine.atoms());
    let written = standalone::write(&mut machine, &compiled, &calls, output);
    let interrupted = waker.release_interrupts();
    written?;
    libraries::remind(&libraries, &name);
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
