//! Stand-alone executables: a copy of this executable with the program's code in a section of its own.
//!
//! An executable with a program runs it and is nothing else.

use crate::cli::Executable;
use crate::destination::Destination;
use crate::{ending, files, job, libraries, output, section};
use clap::Parser;
use engine::{Calls, Compiled, Error, Machine, OwnFile};
use runtime::node::Rouser;
use std::io::Write;

/// Writes the executable.
pub(crate) fn write(
    machine: &mut Machine,
    compiled: &Compiled,
    calls: &Calls,
    output: Destination,
) -> anyhow::Result<()> {
    let executable = section::with_program(&compiled.to_bytes(machine, calls)?)?;
    output.write(0o777, |out| out.write_all(&executable))
}

/// Runs the program in this executable, if there is one, and gives the exit code.
pub(crate) fn run_own() -> Option<anyhow::Result<u8>> {
    section::own_program().map(|own| own.and_then(|(program, file)| start(program, file)))
}

fn start(bytes: &'static [u8], file: OwnFile) -> anyhow::Result<u8> {
    let options = match Executable::try_parse() {
        Ok(options) => options,
        Err(error) => return crate::told(&error),
    };
    anyhow::ensure!(
        options.running.simulate.is_none(),
        "--simulate needs code that counts reductions, which an executable has not: use `fifth run --simulate`"
    );
    anyhow::ensure!(
        options.running.profile.is_none() && !options.running.perf_map,
        "--profile and --perf-map need code that says where it comes from, which an executable has not: use `fifth run`"
    );
    let settings = options.running.settings()?;
    let libraries = libraries::beside(&engine::libraries_in(bytes))?;
    let mut machine = job::machine(&settings, libraries)?;
    let rouser = ending::interruptible(&mut machine);
    let result = start_in(&mut machine, rouser, (bytes, file), options);
    if machine.is_in_job() {
        // It ends with the machine, and with it all processes.
        let _ = result.as_ref().inspect_err(|error| output::error(error));
    }
    machine.end();
    result
}

fn start_in(
    machine: &mut Machine,
    rouser: Option<Rouser>,
    (bytes, file): (&'static [u8], OwnFile),
    options: Executable,
) -> anyhow::Result<u8> {
    let damaged = "the program in this executable is damaged";
    let compiled = Compiled::in_place(machine, bytes, file).map_err(|error| match error {
        // A library that was exchanged.
        Error::Settings(_) => anyhow::Error::from(error),
        error => anyhow::Error::from(error).context(damaged),
    })?;
    machine.load(&compiled)?;
    machine.node().set_arguments(crate::bytes(options.arguments));
    let calls = || engine::calls_in(bytes);
    ending::run_main(machine, rouser, &options.running, &files::inputs(None), &calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_end_at_the_first_argument_without_a_dash() {
        let parse =
            |line: &str| Executable::try_parse_from(["exe"].into_iter().chain(line.split_whitespace()));
        let options = parse("--stats -w 4 --heap-limit 64m in.txt --stats -- -x").expect("well-formed");
        assert!(options.running.stats && options.running.heap_limit == Some(64 << 20));
        assert_eq!(options.running.workers.given, Some(4));
        assert_eq!(options.arguments, ["in.txt", "--stats", "--", "-x"]);
        assert_eq!(parse("-- -x -- y").expect("well-formed").arguments, ["-x", "--", "y"]);
        assert_eq!(parse("- -x").expect("well-formed").arguments, ["-", "-x"]);
        let traced = parse("--trace t.json").expect("well-formed");
        assert_eq!(traced.running.trace, Some("t.json".into()));
        assert!(parse("-x").is_err() && parse("--heap-limit").is_err() && parse("--workers 0").is_err());
    }
}
