//! From the texts that a user names to a program: reads them through the caller's [`Files`], and finds the modules
//! that they call.

use crate::error::Unreadable;
use library::Used;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syntax::diagnostic::Diagnostic;
use syntax::program::{GoalKind, Program};
use syntax::source::{FileId, SourceMap};
use term::{Atom, AtomTable};

/// A text above this is refused: it is no program.
pub const TEXT_BYTES_MAX: u64 = 1 << 26;

/// Where texts come from. Nothing in this crate opens a file in another way.
pub trait Files {
    /// The bytes of a file; at most a few more than [`TEXT_BYTES_MAX`]. The error is a sentence that names the file,
    /// and says what to do if that is not clear.
    fn read(&self, path: &Path) -> Result<Vec<u8>, String>;
    /// Whether there is a file of this name.
    fn has(&self, path: &Path) -> bool;
    /// How messages name a file.
    fn name(&self, path: &Path) -> String {
        path.display().to_string()
    }
    /// Folders where modules are looked for that are called and not there, behind that of the program's first file.
    fn folders(&self) -> Vec<PathBuf> {
        Vec::new()
    }
    /// The bytes of the file that messages name so, if they can be read once more without waiting.
    fn read_again(&self, name: &str) -> Option<Vec<u8>> {
        let path = Path::new(name);
        self.has(path).then(|| self.read(path).ok()).flatten()
    }
}

/// Texts in memory, by their names.
#[derive(Clone, Debug, Default)]
pub struct Texts(BTreeMap<PathBuf, Vec<u8>>);

impl Texts {
    /// Adds a text, or replaces it.
    pub fn add(&mut self, name: impl Into<PathBuf>, text: impl Into<Vec<u8>>) {
        self.0.insert(name.into(), text.into());
    }
}

impl Files for Texts {
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        self.0
            .get(path)
            .cloned()
            .ok_or_else(|| format!("cannot read {}: there is no such text", path.display()))
    }
    fn has(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }
}

/// Texts in memory over the files of the disk: a text hides the file of its name.
#[derive(Clone, Debug)]
pub struct Overlay {
    /// What is in memory.
    pub texts: Texts,
    /// Reads this number of bytes of a file, at most.
    pub read: fn(&Path, u64) -> std::io::Result<Vec<u8>>,
}

impl Files for Overlay {
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        if self.texts.has(path) {
            return self.texts.read(path);
        }
        (self.read)(path, TEXT_BYTES_MAX + 1)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))
    }
    fn has(&self, path: &Path) -> bool {
        self.texts.has(path) || path.is_file()
    }
}

/// A program text with all modules that could be found.
pub struct Read {
    /// Its clauses.
    pub program: Program,
    /// Its texts.
    pub sources: SourceMap,
    /// What is wrong with them so far.
    pub diagnostics: Vec<Diagnostic>,
    /// The files that the user named.
    pub given: Vec<FileId>,
    /// All files that were read.
    pub paths: Vec<PathBuf>,
    /// The library's modules whose code is used; the program has the clauses of others.
    pub library: Used,
}

impl Read {
    /// A program without code of the library.
    pub fn of(
        program: Program,
        sources: SourceMap,
        diagnostics: Vec<Diagnostic>,
        given: Vec<FileId>,
        paths: Vec<PathBuf>,
    ) -> Read {
        Read { program, sources, diagnostics, given, paths, library: Used::default() }
    }
}

/// Where modules are looked for that are called and not there.
pub struct Beside<'f> {
    /// The first folder that has it counts.
    /// Folders.
    pub folders: Vec<PathBuf>,
    /// Where their files come from.
    pub files: &'f dyn Files,
}

/// Reads the files and then, again and again, the modules that are called and not there: from a file beside the first
/// one, or from the library. `code`: the library's code is wanted and not its text.
///
/// The library's modules call each other, whatever modules the program has: one of the same name is the program's own.
pub(crate) fn read(
    paths: &[PathBuf],
    files: &dyn Files,
    atoms: &AtomTable,
    code: bool,
) -> Result<Read, Unreadable> {
    let mut sources = SourceMap::default();
    let mut given = Vec::new();
    for path in paths {
        let text = text_of(files, path)?;
        given.push(sources.add(files.name(path), text));
    }
    let (program, diagnostics) = syntax::read_program(&sources, &given, atoms);
    let mut read = Read::of(program, sources, diagnostics, given, paths.to_vec());
    let folder = paths.first().and_then(|path| path.parent()).map(Path::to_path_buf);
    let beside = Beside { folders: folder.into_iter().chain(files.folders()).collect(), files };
    let called = add_called(&mut read, &beside, atoms)?;
    if code {
        read.library = called.closed();
    } else {
        add_texts(&mut read, called, atoms);
    }
    Ok(read)
}

/// Adds the modules that the program calls and that are not in it, as text: those beside it, and those of the library.
pub fn complete(read: &mut Read, beside: &Beside<'_>, atoms: &AtomTable) -> Result<(), Unreadable> {
    let called = add_called(read, beside, atoms)?;
    add_texts(read, called, atoms);
    Ok(())
}

/// Adds the modules beside the program that it calls and that are not in it. Answers those of the library that it
/// calls.
fn add_called(read: &mut Read, beside: &Beside<'_>, atoms: &AtomTable) -> Result<Used, Unreadable> {
    let mut tried = BTreeSet::new();
    let mut called = Used::default();
    loop {
        let mut needed = compiler::modules_needed(&read.program);
        needed.retain(|(module, _)| tried.insert(*module));
        if needed.is_empty() {
            return Ok(called);
        }
        for (module, _) in needed {
            let name = atoms.name(module).into_owned();
            // What was read a moment ago may have it.
            let is_there = read.program.modules.iter().any(|known| known.name == module);
            if !is_there && !add_beside(read, beside, &name, atoms)? {
                called.add(&name);
            }
        }
    }
}

/// Adds these modules of the library, and all that they call, as text. Where the program has a module of the same name,
/// the library's gets another one, which no text can mean by accident.
fn add_texts(read: &mut Read, called: Used, atoms: &AtomTable) {
    let own: BTreeSet<Atom> = read.program.modules.iter().map(|module| module.name).collect();
    let inside = |module: Atom| {
        let name = atoms.text(module);
        let is_library = std::str::from_utf8(name).ok().and_then(library::text).is_some();
        if is_library && own.contains(&module) { atoms.intern(&[b"library:", name].concat()) } else { module }
    };
    for name in called.closed().names() {
        let Some(file) = add_text(&mut read.sources, name) else { continue };
        let (mut program, diagnostics) = syntax::read_program(&read.sources, &[file], atoms);
        for module in &mut program.modules {
            module.name = inside(module.name);
            let clauses = module.predicates.iter_mut().flat_map(|predicate| &mut predicate.clauses);
            for goal in clauses.flat_map(|clause| &mut clause.body) {
                if let GoalKind::Call(call) = &mut goal.kind {
                    call.module = call.module.map(inside);
                }
            }
        }
        read.program.modules.extend(program.modules);
        read.diagnostics.extend(diagnostics);
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
    compiler::almost_messages(&read.program, &read.sources, atoms, &mut |name, arity| {
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

/// Adds `name.kl1` of the first of these folders that has it, if it declares the module.
fn add_beside(
    read: &mut Read,
    beside: &Beside<'_>,
    name: &str,
    atoms: &AtomTable,
) -> Result<bool, Unreadable> {
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return Ok(false);
    }
    let paths = beside.folders.iter().map(|folder| folder.join(format!("{name}.kl1")));
    for path in paths.filter(|path| beside.files.has(path)) {
        if add_module(read, beside.files, path, name, atoms)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds a file that declares the module, unless it is there.
fn add_module(
    read: &mut Read,
    files: &dyn Files,
    path: PathBuf,
    name: &str,
    atoms: &AtomTable,
) -> Result<bool, Unreadable> {
    let shown = files.name(&path);
    if read.sources.files().iter().any(|file| file.name == shown) {
        return Ok(false);
    }
    let text = text_of(files, &path)?;
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

/// The text of a file, as the compiler reads it.
pub fn text_of(files: &dyn Files, path: &Path) -> Result<Vec<u8>, Unreadable> {
    let text = files.read(path).and_then(|text| checked(text, &files.name(path)));
    text.map_err(|message| Unreadable { path: path.to_path_buf(), message })
}

/// The bytes of a text as the compiler reads them, if they may be one.
fn checked(mut text: Vec<u8>, shown: &str) -> Result<Vec<u8>, String> {
    if text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") {
        return Err(format!("cannot read {shown}: it is UTF-16; save it as UTF-8"));
    }
    if text.contains(&0) {
        return Err(format!("cannot read {shown}: it holds zero bytes, so it is no program text"));
    }
    if text.len() as u64 > TEXT_BYTES_MAX {
        return Err(format!("cannot read {shown}: a program text has at most {} MiB", TEXT_BYTES_MAX >> 20));
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
        let mut files = Texts::default();
        beside.iter().for_each(|&(name, text)| files.add(name, text));
        files.add("main.kl1", program);
        let atoms = AtomTable::new();
        let read = read(&["main.kl1".into()], &files, &atoms, code);
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

    /// A folder of modules beside a program.
    struct With(Texts);

    impl Files for With {
        fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
            self.0.read(path)
        }
        fn has(&self, path: &Path) -> bool {
            self.0.has(path)
        }
        fn folders(&self) -> Vec<PathBuf> {
            vec!["more".into()]
        }
    }

    #[test]
    fn modules_of_further_folders_come_behind_those_beside_the_program() {
        let mut texts = Texts::default();
        texts.add("main.kl1", ":- module main.\nmain :- one:p, two:p.\n");
        texts.add("one.kl1", ":- module one.\np.\n");
        texts.add("more/one.kl1", ":- module one.\nq.\n");
        texts.add("more/two.kl1", ":- module two.\np.\n");
        let atoms = AtomTable::new();
        let read = read(&["main.kl1".into()], &With(texts), &atoms, true).expect("it can be read");
        let paths: Vec<_> = read.paths.iter().map(|path| path.display().to_string()).collect();
        assert_eq!(paths, ["main.kl1", "one.kl1", "more/two.kl1"]);
    }

    #[test]
    fn the_library_calls_its_own_modules_whatever_the_program_has() {
        let own = ":- module sorted_bag.\ncreate(_) :- true | true.\n";
        let all = vec!["bag", "sorted_bag", "splay_tree"];
        let with_own = format!("{BAG}{own}");
        let expected = (["main", "sorted_bag"].map(String::from).to_vec(), all.clone());
        assert_eq!(modules(&read_with(&with_own, &[], true)), expected);
        let text = modules(&read_with(&with_own, &[], false)).0;
        assert_eq!(text, ["main", "sorted_bag", "bag", "library:sorted_bag", "splay_tree"]);
        // Nobody but the library calls it: a file of that name is none of the program's.
        let beside = modules(&read_with(BAG, &[("sorted_bag.kl1", own)], true));
        assert_eq!(beside, (vec!["main".to_string()], all.clone()));
        let called = format!("{BAG}p :- sorted_bag:create(1).\n");
        let beside = modules(&read_with(&called, &[("sorted_bag.kl1", own)], true));
        assert_eq!(beside, (["main", "sorted_bag"].map(String::from).to_vec(), all));
    }
}
