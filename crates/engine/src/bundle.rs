//! Programs as bytes: in executables, and between the processes of a job.
//!
//! Whoever reads them is the same build of Fifth, so the numbers of builtins and their atoms are the same; the bundle
//! has the atoms of the program, in order, and they are checked.

use crate::callers::Calls;
use crate::error::Error;
use crate::foreign::Signature;
use crate::machine::{Compiled, Machine};
use crate::settings::Settings;
use compiler::ir;
use serde::{Deserialize, Serialize, Serializer};
use term::Atom;
use term::abi::PredicateId;

/// What code of executables is like: their users say how many workers run it.
pub const EXECUTABLE_CODE: codegen::Options =
    codegen::Options { workers: codegen::Workers::Several, ..codegen::Options::DEFAULT };

/// What the program is stored as. Its texts and code lie in the stored bytes as they are, and are read there in place.
#[derive(Serialize, Deserialize)]
struct Bundle<'a> {
    /// The libraries that give it predicates; first, because they are wanted before the rest.
    libraries: Vec<Signature>,
    /// All atoms of the node that compiled the program, by number.
    #[serde(borrow)]
    atoms: Vec<Bytes<'a>>,
    /// The modules of the library that it uses ([`library::Used::bits`]).
    library: u64,
    /// Number of the first predicate.
    first_predicate: u32,
    predicates: Vec<Predicate<'a>>,
    constants: Vec<Constant<'a>>,
    /// [`Calls`], read only when the program fails.
    calls: Bytes<'a>,
    /// Its code comes last.
    image: Bytes<'a>,
}

/// A program as bytes.
pub struct Stored {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Where the code begins. It runs where it is if that is at a multiple of [`codegen::CODE_ALIGNMENT`] in the file.
    pub code_at: usize,
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
    reads: u64,
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

impl Compiled {
    /// The program as bytes, with what it calls: what an executable stores.
    pub fn to_bytes(&self, machine: &mut Machine, calls: &Calls) -> Result<Stored, Error> {
        let calls = postcard::to_stdvec(calls).map_err(|error| cannot_store(&error))?;
        let bytes = stored(machine, self, &calls)?;
        let code_at = bytes.len() - self.image.code.len();
        Ok(Stored { bytes, code_at })
    }

    /// What [`Compiled::to_bytes`] gave of a program with [`EXECUTABLE_CODE`] and this executable has in its file, for
    /// nodes that have no other atoms than those of their builtins. The code stays there.
    pub fn in_place(
        machine: &mut Machine,
        bytes: &'static [u8],
        file: codegen::OwnFile,
    ) -> Result<Compiled, Error> {
        unbundle(machine, bytes, EXECUTABLE_CODE, |image| codegen::Image::in_place(image, file))
    }
}

/// The names of the libraries that the program in these bytes needs; none if they are damaged.
pub fn libraries_in(bytes: &[u8]) -> Vec<String> {
    let libraries = postcard::take_from_bytes::<Vec<Signature>>(bytes).map(|(libraries, _)| libraries);
    libraries.unwrap_or_default().into_iter().map(|library| library.file).collect()
}

/// What the program in these bytes calls; nothing if they are damaged.
pub fn calls_in(bytes: &[u8]) -> Calls {
    let bundle = postcard::from_bytes::<Bundle<'_>>(bytes).ok();
    bundle.and_then(|bundle| postcard::from_bytes(bundle.calls.0).ok()).unwrap_or_default()
}

fn cannot_store(error: &postcard::Error) -> Error {
    Error::Stored(format!("cannot store the program: {error}"))
}

/// The first process of a job gives the program to the others; without one, the job is over.
pub fn give(machine: &mut Machine, compiled: Option<&Compiled>) -> Result<(), Error> {
    let bytes = match compiled {
        _ if !machine.is_in_job() => return Ok(()),
        Some(compiled) => stored(machine, compiled, &[])?,
        None => Vec::new(),
    };
    machine.have_atoms_in_common();
    machine.broadcast(bytes)?;
    if compiled.is_none() {
        machine.leave_job();
    }
    Ok(())
}

/// What another process gets; `None`: the job is over.
pub fn received(machine: &mut Machine, settings: &Settings) -> Result<Option<Compiled>, Error> {
    let bytes = machine.broadcast(Vec::new())?.unwrap_or_default();
    if bytes.is_empty() {
        machine.leave_job();
        return Ok(None);
    }
    let code = machine.code_options(settings);
    unbundle(machine, &bytes, code, codegen::Image::from_bytes).map(Some).map_err(|error| {
        Error::Job(format!("the first process runs another fifth: its program does not fit: {error}"))
    })
}

/// The bytes of a program.
fn stored(machine: &mut Machine, compiled: &Compiled, calls: &[u8]) -> Result<Vec<u8>, Error> {
    let libraries = machine.libraries.signatures();
    let atoms = machine.atoms();
    let image = compiled.image.to_bytes();
    let bundle = Bundle {
        libraries,
        atoms: (0..atoms.len() as u32).map(|n| Bytes(atoms.text(Atom(n)))).collect(),
        library: compiled.library.bits(),
        first_predicate: compiled.program.predicates.first().map_or(0, |predicate| predicate.id.0),
        predicates: compiled.program.predicates.iter().map(from_predicate).collect(),
        constants: compiled.program.constants.iter().map(from_constant).collect(),
        calls: Bytes(calls),
        image: Bytes(&image),
    };
    postcard::to_stdvec(&bundle).map_err(|error| cannot_store(&error))
}

/// The program in these bytes, whose image `image` makes of its part of them.
fn unbundle<'b>(
    machine: &mut Machine,
    bytes: &'b [u8],
    code: codegen::Options,
    image: impl FnOnce(&'b [u8]) -> Result<codegen::Image, codegen::BadImage>,
) -> Result<Compiled, Error> {
    let wrong = |error: &dyn std::error::Error| Error::Stored(error.to_string());
    let bundle: Bundle<'_> = postcard::from_bytes(bytes).map_err(|error| wrong(&error))?;
    let here = machine.libraries.signatures();
    if bundle.libraries != here {
        let other = bundle.libraries.iter().find(|library| !here.contains(library));
        let other = other.map_or("a library", |library| &*library.file);
        return Err(Error::Settings(format!(
            "{other} has other predicates than the program was compiled with: put that library in its place, or build \
             the program again"
        )));
    }
    for (number, Bytes(text)) in bundle.atoms.iter().enumerate() {
        if machine.atoms().intern(text).0 as usize != number {
            return Err(Error::Stored("its atoms do not fit".into()));
        }
    }
    machine.have_atoms_in_common();
    let image = image(bundle.image.0).map_err(|error| wrong(&error))?;
    let predicates = (bundle.first_predicate..).zip(bundle.predicates).map(to_predicate).collect();
    let constants = bundle.constants.into_iter().map(to_constant).collect();
    let library = library::Used::from_bits(bundle.library)
        .ok_or_else(|| Error::Stored("it has modules that there are not".into()))?;
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
        reads: predicate.reads,
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
        reads: predicate.reads,
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
