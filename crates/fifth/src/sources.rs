//! From file names to a program: reads files, and finds the modules that they call.

use crate::{output, section};
use anyhow::{Context, bail};
use library::Used;
use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use syntax::diagnostic::Diagnostic;
use syntax::program::Program;
use syntax::source::{FileId, SourceMap};
use term::AtomTable;

/// A file above this is refused: it is no program text.
const FILE_BYTES_MAX: u64 = 1 << 26;

/// A program text with all modules that could be found.
pub(crate) struct Read {
    /// Its clauses.
    pub(crate) program: Program,
    /// Its texts.
    pub(crate) sources: SourceMap,
    /// What is wrong with them so far.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The files that the user named.
    pub(crate) given: Vec<FileId>,
    /// All files that were read.
    pub(crate) paths: Vec<PathBuf>,
    /// The library's modules whose code is used; the program has the clauses of others.
    pub(crate) library: Used,
}

impl Read {
    /// A program without code of the library.
    pub(crate) fn of(
        program: Program,
        sources: SourceMap,
        diagnostics: Vec<Diagnostic>,
        given: Vec<FileId>,
        paths: Vec<PathBuf>,
    ) -> Read {
        Read { program, sources, diagnostics, given, paths, library: Used::default() }
    }
}

/// The files that were read, and this executable: what must not be written over.
pub(crate) fn inputs(read: Option<&Read>) -> Vec<PathBuf> {
    let own = PathBuf::from(section::OWN);
    read.map(|read| read.paths.clone()).unwrap_or_default().into_iter().chain([own]).collect()
}

/// A file that cannot be read.
#[derive(Debug)]
pub(crate) struct Unreadable {
    /// As it was named.
    pub(crate) path: PathBuf,
    /// What is wrong, and what to do.
    pub(crate) message: String,
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Unreadable {}

/// Reads the files and then, again and again, the modules that are called and not there: from a file beside the first
/// one, or from the library. `known` says which modules need no text (builtins, earlier REPL input); `code`, that the
/// library's code is wanted and not its text.
pub(crate) fn read(
    files: &[PathBuf],
    atoms: &AtomTable,
    known: &dyn Fn(&str) -> bool,
    code: bool,
) -> anyhow::Result<Read> {
    let mut sources = SourceMap::default();
    let mut given = Vec::new();
    for (i, path) in files.iter().enumerate() {
        let text = text_of(path).map_err(|error| {
            let mut message = output::told(&error);
            if i > 0 && path.extension().is_none_or(|extension| extension != "kl1") {
                message += "\n  arguments for the program stand behind `--`: `fifth run program.kl1 -- ..`";
            }
            Unreadable { path: path.clone(), message }
        })?;
        given.push(sources.add(name_of(path), text));
    }
    let (program, diagnostics) = syntax::read_program(&sources, &given, atoms);
    let mut read = Read::of(program, sources, diagnostics, given, files.to_vec());
    let beside = files.first().and_then(|path| path.parent()).map(Path::to_path_buf);
    if !(code && use_library(&mut read, beside.as_slice(), atoms)?) {
        complete(&mut read, beside.as_slice(), atoms, known)?;
    }
    Ok(read)
}

/// Adds the modules that the program calls and that are not in it: those beside it as text, those of the library as
/// code. False if that is not possible, because the program has a module itself that the library would call.
fn use_library(read: &mut Read, beside: &[PathBuf], atoms: &AtomTable) -> anyhow::Result<bool> {
    let mut tried = BTreeSet::new();
    let mut used = Used::default();
    loop {
        let called = compiler::modules_needed(&read.program);
        let called = called.into_iter().map(|(module, _)| atoms.name(module).into_owned());
        let called: Vec<String> = called.chain(used.needs().map(String::from)).collect();
        let has = |read: &Read, name: &str| {
            let atom = atoms.lookup(name.as_bytes());
            read.program.modules.iter().any(|module| Some(module.name) == atom)
        };
        let before = tried.len();
        for name in called {
            if tried.contains(&name) {
                continue;
            }
            if !has(read, &name) && !add_beside(read, beside, &name, atoms)? {
                used.add(&name);
            }
            tried.insert(name);
        }
        if tried.len() == before {
            let possible = !used.needs().any(|name| has(read, name));
            if possible {
                read.library = used;
            }
            return Ok(possible);
        }
    }
}

/// The clauses of modules of the library.
pub(crate) fn of_library(used: Used, atoms: &AtomTable) -> (Program, SourceMap) {
    let mut sources = SourceMap::default();
    let files: Vec<FileId> = used.names().filter_map(|name| add_text(&mut sources, name)).collect();
    let (program, _) = syntax::read_program(&sources, &files, atoms);
    (program, sources)
}

/// Warnings of messages that are mistyped. What the library takes is read only where something looks like it.
pub(crate) fn almost_messages(read: &Read, atoms: &AtomTable) -> Vec<Diagnostic> {
    let mut library = None;
    compiler::almost_messages(&read.program, atoms, &mut |name, arity| {
        let library = library.get_or_insert_with(|| {
            let mut sources = SourceMap::default();
            let files: Vec<FileId> =
                library::modules().filter_map(|module| add_text(&mut sources, module)).collect();
            syntax::read_program(&sources, &files, atoms).0
        });
        compiler::looks_for(library, name, arity) || runtime::builtins::io::is_message(atoms.text(name))
    })
}

/// Adds the text of a library module, if there is one of this name.
fn add_text(sources: &mut SourceMap, module: &str) -> Option<FileId> {
    let text = library::text(module)?;
    Some(sources.add(format!("library/{module}.kl1"), text.as_bytes().to_vec()))
}

/// Adds the modules that the program calls and that are neither in it nor known, as text.
pub(crate) fn complete(
    read: &mut Read,
    beside: &[PathBuf],
    atoms: &AtomTable,
    known: &dyn Fn(&str) -> bool,
) -> anyhow::Result<()> {
    let mut tried = BTreeSet::new();
    loop {
        let present: BTreeSet<_> = read.program.modules.iter().map(|module| module.name).collect();
        let missing: Vec<String> = compiler::modules_needed(&read.program)
            .into_iter()
            .filter(|(module, _)| !present.contains(module))
            .map(|(module, _)| atoms.name(module).into_owned())
            .filter(|name| tried.insert(name.clone()))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        for name in missing {
            if !add_beside(read, beside, &name, atoms)? {
                if let Some(file) = add_text(&mut read.sources, &name) {
                    let (program, diagnostics) = syntax::read_program(&read.sources, &[file], atoms);
                    read.program.modules.extend(program.modules);
                    read.diagnostics.extend(diagnostics);
                } else if known(&name) {
                    continue;
                }
            }
        }
    }
}

/// Adds `name.kl1` of the first of these folders that has it, if it declares the module.
fn add_beside(read: &mut Read, beside: &[PathBuf], name: &str, atoms: &AtomTable) -> anyhow::Result<bool> {
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return Ok(false);
    }
    let paths = beside.iter().map(|folder| folder.join(format!("{name}.kl1")));
    for path in paths.filter(|path| path.is_file()) {
        if add_module(read, path, name, atoms)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds a file that declares the module, unless it is there.
fn add_module(read: &mut Read, path: PathBuf, name: &str, atoms: &AtomTable) -> anyhow::Result<bool> {
    let shown = path.display().to_string();
    if read.sources.files().iter().any(|file| file.name == shown) {
        return Ok(false);
    }
    let text =
        text_of(&path).map_err(|error| Unreadable { path: path.clone(), message: output::told(&error) })?;
    let file = read.sources.add(shown, text);
    let (program, diagnostics) = syntax::read_program(&read.sources, &[file], atoms);
    if !program.modules.iter().any(|module| *atoms.text(module.name) == *name.as_bytes()) {
        return Ok(false);
    }
    read.program.modules.extend(program.modules);
    read.diagnostics.extend(diagnostics);
    read.paths.push(path);
    Ok(true)
}

/// Names standard input on the command line.
const DASH: &str = "-";
/// Names it in messages.
const STANDARD_INPUT: &str = "standard input";

/// How messages name a file.
fn name_of(path: &Path) -> String {
    if path.as_os_str() == DASH { STANDARD_INPUT.into() } else { path.display().to_string() }
}

/// The bytes of a file that messages name so, if they can be read once more: reading a pipe or terminal again would
/// wait for it.
pub(crate) fn text_again(name: &str) -> Option<Vec<u8>> {
    match name {
        STANDARD_INPUT => text_of(Path::new(DASH)).ok(),
        _ if Path::new(name).is_file() => text_of(Path::new(name)).ok(),
        _ => None,
    }
}

/// The bytes of a text file; of standard input, which is read once, whenever they are wanted.
pub(crate) fn text_of(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path.as_os_str() != DASH {
        return checked(read_file(path)?, &path.display().to_string());
    }
    static INPUT: OnceLock<Vec<u8>> = OnceLock::new();
    if INPUT.get().is_none() {
        let mut text = Vec::new();
        let input = std::io::stdin().lock();
        let read = input.take(FILE_BYTES_MAX + 1).read_to_end(&mut text);
        read.with_context(|| format!("cannot read {STANDARD_INPUT}"))?;
        INPUT.get_or_init(|| text);
    }
    checked(INPUT.get().cloned().unwrap_or_default(), STANDARD_INPUT)
}

fn read_file(path: &Path) -> anyhow::Result<Vec<u8>> {
    let shown = path.display();
    let facts = std::fs::metadata(path).with_context(|| {
        let meant = path.with_extension("kl1");
        let hint = if meant.is_file() { format!(" (is {} meant?)", meant.display()) } else { String::new() };
        format!("cannot read {shown}{hint}")
    })?;
    if facts.is_dir() {
        bail!("cannot read {shown}: it is a folder; name the KL1 files in it");
    }
    // Devices and pipes do not tell their size.
    let mut text = Vec::new();
    let file = std::fs::File::open(path).with_context(|| format!("cannot read {shown}"))?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut text).with_context(|| format!("cannot read {shown}"))?;
    Ok(text)
}

/// The bytes of a text as the compiler reads them, if they may be one.
fn checked(mut text: Vec<u8>, shown: &str) -> anyhow::Result<Vec<u8>> {
    if text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") {
        bail!("cannot read {shown}: it is UTF-16; save it as UTF-8");
    }
    if text.contains(&0) {
        bail!("cannot read {shown}: it holds zero bytes, so it is no program text");
    }
    if text.len() as u64 > FILE_BYTES_MAX {
        bail!("cannot read {shown}: a program text has at most {} MiB", FILE_BYTES_MAX >> 20);
    }
    // Some editors begin UTF-8 files with a byte order mark.
    if text.starts_with("\u{feff}".as_bytes()) {
        text.drain(.."\u{feff}".len());
    }
    // The first line of a script tells the system how to run it: to the compiler it is a comment.
    if text.starts_with(b"#!") {
        text[0] = b'%';
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is made of a program, with files beside it.
    fn read_with(program: &str, beside: &[(&str, &str)], code: bool) -> (Read, AtomTable) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("it can be written");
            path
        };
        beside.iter().for_each(|(name, text)| drop(file(name, text)));
        let atoms = AtomTable::new();
        let read = read(&[file("main.kl1", program)], &atoms, &|_| false, code);
        (read.expect("it can be read"), atoms)
    }

    fn modules((read, atoms): &(Read, AtomTable)) -> (Vec<String>, Vec<&'static str>) {
        let here = read.program.modules.iter().map(|module| atoms.name(module.name).into_owned()).collect();
        (here, read.library.names().collect())
    }

    const BAG: &str = ":- module main.\nmain :- bag:create([put(1)]).\n";

    #[test]
    fn modules_of_the_library_are_used_as_code_with_those_that_they_call() {
        let called = vec!["bag", "sorted_bag", "splay_tree"];
        assert_eq!(modules(&read_with(BAG, &[], true)), (vec!["main".to_string()], called.clone()));
        let text = modules(&read_with(BAG, &[], false));
        assert_eq!((text.0.len(), text.1), (4, vec![]));
        let plain = ":- module main.\nmain :- true.\n";
        assert_eq!(modules(&read_with(plain, &[], true)), (vec!["main".to_string()], vec![]));
        let (program, _) = of_library(read_with(BAG, &[], true).0.library, &AtomTable::new());
        assert_eq!(program.modules.len(), called.len());
    }

    #[test]
    fn a_module_of_the_program_is_called_by_the_library() {
        let own = ":- module sorted_bag.\ncreate(_) :- true | true.\n";
        let expected = (["main", "sorted_bag", "bag"].map(String::from).to_vec(), vec![]);
        assert_eq!(modules(&read_with(&format!("{BAG}{own}"), &[], true)), expected);
        let beside = modules(&read_with(BAG, &[("sorted_bag.kl1", own)], true));
        assert_eq!((beside.0.len(), beside.1), (3, vec![]));
        // Another one, which `bag` does not call, is nothing to it.
        let other = format!("{BAG}:- module queue.\ncreate(_) :- true | true.\n");
        assert_eq!(modules(&read_with(&other, &[], true)).1, ["bag", "sorted_bag", "splay_tree"]);
    }
}
