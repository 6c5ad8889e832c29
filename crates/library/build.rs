//! Compiles the library's modules as `fifth` would, all together, and writes what `src/lib.rs` includes.

#[path = "src/compile.rs"]
mod compile;

use codegen::{Options, PAGE, Reductions, Workers};
use compile::Compiled;
use std::fmt::{Debug, Write};
use std::path::{Path, PathBuf};
use term::constant::Constant;
use term::symbol::Reserved;

fn main() {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo gives a folder"));
    let folder = root.join("../../library");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .expect("the library is part of the source tree")
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "kl1"))
        .collect();
    paths.sort();
    paths.iter().for_each(|path| println!("cargo:rerun-if-changed={}", path.display()));
    let texts: Vec<(String, String)> = paths.iter().map(|path| named_text(path)).collect();
    let borrowed: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (&name[..], &text[..])).collect();
    let compiled =
        compile::compile(&borrowed).unwrap_or_else(|wrong| panic!("the library is wrong: {wrong}"));
    let mut source = String::new();
    modules(&compiled, &paths, &mut source);
    atoms(&compiled, &mut source);
    predicates(&compiled, &mut source);
    let constants: Vec<String> = compiled.program.constants.iter().map(expression).collect();
    define(&mut source, "const CONSTANT_COUNT: u32", constants.len());
    writeln!(source, "fn made() -> Vec<Constant> {{ vec![{}] }}", constants.join(", ")).expect("memory");
    images(&compiled, &out, &mut source);
    write(&out.join("library.rs"), source.as_bytes());
}

/// A module's name and text.
fn named_text(path: &Path) -> (String, String) {
    let name = path.file_stem().expect("it has an extension").to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(text.contains(&format!(":- module {name}.")), "{}: does not declare {name}", path.display());
    (name, text)
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn define(source: &mut String, what: &str, value: impl Debug) {
    writeln!(source, "{what} = {value:?};").expect("memory");
}

fn modules(compiled: &Compiled, paths: &[PathBuf], source: &mut String) {
    assert!(paths.len() <= 64, "`Used` has a bit for each module");
    writeln!(source, "static MODULES: [Module; {}] = [", paths.len()).expect("memory");
    for ((name, needs), path) in compiled.needs.iter().zip(paths) {
        let path = path.canonicalize().expect("it was just listed");
        let (path, needs) = (path.display().to_string(), needs.join(" "));
        writeln!(source, "    Module {{ name: {name:?}, text: include_str!({path:?}), needs: {needs:?} }},")
            .expect("memory");
    }
    source.push_str("];\n");
}

fn atoms(compiled: &Compiled, source: &mut String) {
    let atoms: Vec<&str> = compiled.atoms.iter().map(|text| &text[..]).collect();
    let end = |end: &mut usize, text: &&str| {
        *end += text.len();
        Some(u16::try_from(*end).expect("the library's atoms take less than 64 KB"))
    };
    let ends: Vec<u16> = atoms.iter().scan(0, end).collect();
    let (first, text, places) = (compiled.first_atom, atoms.concat(), Reserved::places(&atoms));
    writeln!(
        source,
        "static ATOMS: Reserved = Reserved {{ first: {first}, text: {text:?}, ends: &{ends:?}, places: &{places:?} }};"
    )
    .expect("memory");
}

fn predicates(compiled: &Compiled, source: &mut String) {
    define(source, "const FIRST_PREDICATE: u32", compiled.first_predicate);
    writeln!(source, "static PREDICATES: [Row; {}] = [", compiled.program.predicates.len()).expect("memory");
    for predicate in &compiled.program.predicates {
        let name = predicate.file.strip_prefix("library/").and_then(|file| file.strip_suffix(".kl1"));
        let place = |name| compiled.needs.iter().position(|(module, _)| module == name);
        let module = name.map_or(compiled.needs.len(), |name| place(name).expect("it was listed"));
        let (of, name, arity, line) = (predicate.module.0, predicate.name.0, predicate.arity, predicate.line);
        let (daemon, auxiliary) = (predicate.daemon, predicate.auxiliary);
        let (awaits, reads) = (predicate.awaits, predicate.reads);
        writeln!(
            source,
            "    Row {{ file: {module}, module: {of}, name: {name}, arity: {arity}, line: {line}, daemon: {daemon}, \
             auxiliary: {auxiliary}, awaits: {awaits}, reads: {reads} }},"
        )
        .expect("memory");
    }
    source.push_str("];\n");
}

/// What makes a constant.
fn expression(constant: &Constant) -> String {
    let all = |items: &[Constant]| items.iter().map(expression).collect::<Vec<_>>().join(", ");
    match constant {
        Constant::Int(value) => format!("Constant::Int({value})"),
        Constant::BigInt(value) => {
            let bytes = value.to_signed_bytes_le();
            format!("Constant::BigInt(num_bigint::BigInt::from_signed_bytes_le(&{bytes:?}))")
        }
        Constant::Float(value) => format!("Constant::Float(f64::from_bits({}))", value.to_bits()),
        Constant::Atom(atom) => format!("Constant::Atom(Atom({}))", atom.0),
        Constant::String(bytes) => format!("Constant::String(Box::new({bytes:?}))"),
        Constant::List(items, tail) => {
            format!("Constant::List(vec![{}], Box::new({}))", all(items), expression(tail))
        }
        Constant::Struct(name, items) => format!("Constant::Struct(Atom({}), vec![{}])", name.0, all(items)),
        Constant::Vector(items) => format!("Constant::Vector(vec![{}])", all(items)),
        Constant::Predicate(id) => format!("Constant::Predicate(PredicateId({}))", id.0),
        Constant::Module(name) => format!("Constant::Module(Atom({}))", name.0),
        Constant::Table(words) => format!("Constant::Table([{}].into())", all(words)),
    }
}

/// An image for each kind of code; those that are equal are there once.
fn images(compiled: &Compiled, out: &Path, source: &mut String) {
    let mut different: Vec<(Vec<u8>, Vec<u32>)> = Vec::new();
    let mut numbers = Vec::new();
    for reductions in [Reductions::Uncounted, Reductions::Counted, Reductions::Metered] {
        for workers in [Workers::One, Workers::Several] {
            let image = compiled.image(&Options { reductions, workers, portable: true, ..Options::DEFAULT });
            let entries: Vec<u32> = image.entries.iter().map(|&(_, offset)| offset).collect();
            assert_eq!(entries.len(), compiled.program.predicates.len(), "each predicate has an entry");
            let found = (image.code.to_vec(), entries);
            let known = different.iter().position(|other| *other == found);
            numbers.push(known.unwrap_or(different.len()));
            if known.is_none() {
                different.push(found);
            }
        }
    }
    define(source, "const NUMBERS: [usize; 6]", &numbers);
    let mut list = String::new();
    for (number, (code, entries)) in different.iter_mut().enumerate() {
        let bytes = code.len();
        // Traps.
        code.resize(code.len().next_multiple_of(PAGE), 0xcc);
        let (file, pages) = (out.join(format!("code{number}")), code.len());
        write(&file, code);
        let file = file.display().to_string();
        writeln!(source, "static CODE{number}: Pages<{pages}> = Pages(*include_bytes!({file:?}));")
            .expect("memory");
        writeln!(source, "static ENTRIES{number}: [u32; {}] = {entries:?};", entries.len()).expect("memory");
        let run = format!("|| CODE{number}.make_executable()");
        let code = format!("CODE{number}.0.split_at({bytes}).0");
        write!(list, "Image {{ run: {run}, code: {code}, entries: &ENTRIES{number} }}, ").expect("memory");
    }
    writeln!(source, "static IMAGES: [Image; {}] = [{list}];", different.len()).expect("memory");
}
