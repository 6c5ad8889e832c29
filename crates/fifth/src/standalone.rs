//! Stand-alone executables: a copy of this executable with the program's code in a section of its own.
//!
//! An executable with a program runs it and is nothing else. The copy is the same build of Fifth, so the numbers of
//! builtins and their atoms are the same; the bundle has the atoms of the program, in order, and they are checked.

use crate::callers::Calls;
use crate::cli::{Engine, Executable};
use crate::destination::Destination;
use crate::driver::{Compiled, Machine};
use crate::{ending, output, section, sources};
use anyhow::{Context, bail};
use clap::Parser;
use compiler::ir;
use serde::{Deserialize, Serialize, Serializer};
use std::io::Write;
use term::Atom;
use term::abi::PredicateId;

/// What code of executables is like: their users say how many workers run it.
pub(crate) const CODE: codegen::Options = codegen::Options {
    reductions: codegen::Reductions::Uncounted,
    workers: codegen::Workers::Several,
    portable: false,
};

/// What the program is stored as. Its texts and code lie in the stored bytes as they are, and are read there in place.
#[derive(Serialize, Deserialize)]
struct Bundle<'a> {
    /// All atoms of the node that compiled the program, by number.
    #[serde(borrow)]
    atoms: Vec<Bytes<'a>>,
    /// The modules of the library that it uses ([`library::Used::bits`]).
    library: u64,
    /// Number of the first predicate.
    first_predicate: u32,
    predicates: Vec<Predicate<'a>>,
    constants: Vec<Constant<'a>>,
    image: Bytes<'a>,
    /// [`Calls`], read only when the program fails.
    calls: Bytes<'a>,
}

/// Bytes that are stored and read as a whole.
#[derive(Serialize, Deserialize)]
struct Bytes<'a>(#[serde(serialize_with = "whole")] &'a [u8]);

fn whole<S: Serializer>(bytes: &&[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(bytes)
}

#[derive(Serialize, Deserialize)]
struct Predicate<'a> {
    module: u32,
    name: u32,
    arity: u32,
    file: &'a str,
    line: u32,
    daemon: bool,
    auxiliary: bool,
    awaits: u64,
}

#[derive(Serialize, Deserialize)]
enum Constant<'a> {
    Int(i64),
    BigInt(Vec<u8>),
    Float(f64),
    Atom(u32),
    String(#[serde(borrow)] Bytes<'a>),
    List(Vec<Constant<'a>>, Box<Constant<'a>>),
    Struct(u32, Vec<Constant<'a>>),
    Vector(Vec<Constant<'a>>),
    Predicate(u32),
    Module(u32),
    Table(Vec<Constant<'a>>),
}

/// Writes the executable.
pub(crate) fn write(
    machine: &mut Machine,
    compiled: &Compiled,
    calls: &Calls,
    output: Destination,
) -> anyhow::Result<()> {
    let calls = postcard::to_stdvec(calls).context("cannot store the program")?;
    let executable = section::with_program(&stored(machine, compiled, &calls)?)?;
    output.write(0o777, |out| out.write_all(&executable))
}

/// Runs the program in this executable, if there is one, and gives the exit code.
pub(crate) fn run_own() -> Option<anyhow::Result<u8>> {
    section::with_own_program(start)
}

fn start(bytes: &[u8]) -> anyhow::Result<u8> {
    let options = match Executable::try_parse() {
        Ok(options) => options,
        Err(error) => return crate::told(&error),
    };
    anyhow::ensure!(
        options.engine.simulate.is_none(),
        "--simulate needs code that counts reductions, which an executable has not: use `fifth run --simulate`"
    );
    let mut machine = Machine::under_launcher(&options.engine)?;
    let result = start_in(&mut machine, bytes, options);
    if machine.job.is_some() {
        // It ends with the machine, and with it all processes.
        let _ = result.as_ref().inspect_err(|error| output::error(error));
    }
    machine.end();
    result
}

fn start_in(machine: &mut Machine, bytes: &[u8], options: Executable) -> anyhow::Result<u8> {
    let damaged = "the program in this executable is damaged";
    let compiled = unbundle(machine, bytes, CODE).context(damaged)?;
    machine.load(&compiled)?;
    runtime::builtins::io::set_arguments(machine.node.worker(), crate::bytes(options.arguments));
    let calls = || {
        // A damaged bundle was refused above.
        let bundle = postcard::from_bytes::<Bundle<'_>>(bytes).ok();
        bundle.and_then(|bundle| postcard::from_bytes(bundle.calls.0).ok()).unwrap_or_default()
    };
    ending::run_main(machine, &options.engine, &sources::inputs(None), &calls)
}

/// The first process of a job gives the program to the others; without one, the job is over.
pub(crate) fn give(machine: &mut Machine, compiled: Option<&Compiled>) -> anyhow::Result<()> {
    let bytes = match compiled {
        _ if machine.job.is_none() => return Ok(()),
        Some(compiled) => stored(machine, compiled, &[])?,
        None => Vec::new(),
    };
    machine.have_atoms_in_common();
    machine.job.as_mut().map(|job| job.broadcast(bytes)).transpose()?;
    if compiled.is_none() {
        machine.leave_job();
    }
    Ok(())
}

/// What another process gets; `None`: the job is over.
pub(crate) fn received(machine: &mut Machine, engine: &Engine) -> anyhow::Result<Option<Compiled>> {
    let bytes = machine.job.as_mut().map_or(Ok(Vec::new()), |job| job.broadcast(Vec::new()))?;
    if bytes.is_empty() {
        machine.leave_job();
        return Ok(None);
    }
    let code = machine.code_options(engine);
    unbundle(machine, &bytes, code)
        .context("the first process runs another fifth: its program does not fit")
        .map(Some)
}

/// The bytes of a program.
fn stored(machine: &mut Machine, compiled: &Compiled, calls: &[u8]) -> anyhow::Result<Vec<u8>> {
    let atoms = machine.atoms();
    let image = compiled.image.to_bytes();
    let bundle = Bundle {
        atoms: (0..atoms.len() as u32).map(|n| Bytes(atoms.text(Atom(n)))).collect(),
        library: compiled.library.bits(),
        first_predicate: compiled.program.predicates.first().map_or(0, |predicate| predicate.id.0),
        predicates: compiled.program.predicates.iter().map(from_predicate).collect(),
        constants: compiled.program.constants.iter().map(from_constant).collect(),
        image: Bytes(&image),
        calls: Bytes(calls),
    };
    postcard::to_stdvec(&bundle).context("cannot store the program")
}

fn unbundle(machine: &mut Machine, bytes: &[u8], code: codegen::Options) -> anyhow::Result<Compiled> {
    let bundle: Bundle<'_> = postcard::from_bytes(bytes)?;
    for (number, Bytes(text)) in bundle.atoms.iter().enumerate() {
        if machine.atoms().intern(text).0 as usize != number {
            bail!("its atoms do not fit");
        }
    }
    machine.have_atoms_in_common();
    let image = codegen::Image::from_bytes(bundle.image.0)?;
    let predicates = (bundle.first_predicate..).zip(bundle.predicates).map(to_predicate).collect();
    let constants = bundle.constants.into_iter().map(to_constant).collect();
    let library = library::Used::from_bits(bundle.library).context("it has modules that there are not")?;
    let program = ir::Program { predicates, constants, ..Default::default() };
    Ok(Compiled { program, image, library, code })
}

fn from_predicate(predicate: &ir::Predicate) -> Predicate<'_> {
    Predicate {
        module: predicate.module.0,
        name: predicate.name.0,
        arity: predicate.arity,
        file: &predicate.file,
        line: predicate.line,
        daemon: predicate.daemon,
        auxiliary: predicate.auxiliary,
        awaits: predicate.awaits,
    }
}

fn to_predicate((id, predicate): (u32, Predicate<'_>)) -> ir::Predicate {
    ir::Predicate {
        id: PredicateId(id),
        module: Atom(predicate.module),
        name: Atom(predicate.name),
        arity: predicate.arity,
        file: predicate.file.into(),
        line: predicate.line,
        daemon: predicate.daemon,
        auxiliary: predicate.auxiliary,
        awaits: predicate.awaits,
    }
}

fn from_constant(constant: &ir::Constant) -> Constant<'_> {
    fn all(items: &[ir::Constant]) -> Vec<Constant<'_>> {
        items.iter().map(from_constant).collect()
    }
    match constant {
        ir::Constant::Int(value) => Constant::Int(*value),
        ir::Constant::BigInt(value) => Constant::BigInt(value.to_signed_bytes_le()),
        ir::Constant::Float(value) => Constant::Float(*value),
        ir::Constant::Atom(atom) => Constant::Atom(atom.0),
        ir::Constant::String(bytes) => Constant::String(Bytes(bytes)),
        ir::Constant::List(items, tail) => Constant::List(all(items), Box::new(from_constant(tail))),
        ir::Constant::Struct(name, args) => Constant::Struct(name.0, all(args)),
        ir::Constant::Vector(elements) => Constant::Vector(all(elements)),
        ir::Constant::Predicate(id) => Constant::Predicate(id.0),
        ir::Constant::Module(name) => Constant::Module(name.0),
        ir::Constant::Table(words) => Constant::Table(all(words)),
    }
}

fn to_constant(constant: Constant<'_>) -> ir::Constant {
    let all = |items: Vec<Constant<'_>>| items.into_iter().map(to_constant).collect();
    match constant {
        Constant::Int(value) => ir::Constant::Int(value),
        Constant::BigInt(bytes) => ir::Constant::BigInt(num_bigint::BigInt::from_signed_bytes_le(&bytes)),
        Constant::Float(value) => ir::Constant::Float(value),
        Constant::Atom(atom) => ir::Constant::Atom(Atom(atom)),
        Constant::String(bytes) => ir::Constant::String(bytes.0.into()),
        Constant::List(items, tail) => ir::Constant::List(all(items), Box::new(to_constant(*tail))),
        Constant::Struct(name, args) => ir::Constant::Struct(Atom(name), all(args)),
        Constant::Vector(elements) => ir::Constant::Vector(all(elements)),
        Constant::Predicate(id) => ir::Constant::Predicate(PredicateId(id)),
        Constant::Module(name) => ir::Constant::Module(Atom(name)),
        Constant::Table(words) => ir::Constant::Table(words.into_iter().map(to_constant).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_end_at_the_first_argument_without_a_dash() {
        let parse =
            |line: &str| Executable::try_parse_from(["exe"].into_iter().chain(line.split_whitespace()));
        let options = parse("--stats -w 4 --heap-limit 64m in.txt --stats -- -x").expect("well-formed");
        assert!(options.engine.stats && options.engine.heap_limit == Some(64 << 20));
        assert_eq!(options.engine.workers.given, Some(4));
        assert_eq!(options.arguments, ["in.txt", "--stats", "--", "-x"]);
        assert_eq!(parse("-- -x -- y").expect("well-formed").arguments, ["-x", "--", "y"]);
        assert_eq!(parse("- -x").expect("well-formed").arguments, ["-", "-x"]);
        let traced = parse("--trace t.json").expect("well-formed");
        assert_eq!(traced.engine.trace, Some("t.json".into()));
        assert!(parse("-x").is_err() && parse("--heap-limit").is_err() && parse("--workers 0").is_err());
    }
}
