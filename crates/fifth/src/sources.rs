//! From file names to a program: reads files, and finds the modules that they call.

use crate::{library, output, section};
use anyhow::{Context, bail};
use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
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
/// one, or from the library. `known` says which modules need no text (builtins, earlier REPL input).
pub(crate) fn read(
    files: &[PathBuf],
    atoms: &AtomTable,
    known: &dyn Fn(&str) -> bool,
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
        given.push(sources.add(path.display().to_string(), text));
    }
    let (program, diagnostics) = syntax::read_program(&sources, &given, atoms);
    let mut read = Read { program, sources, diagnostics, given, paths: files.to_vec() };
    let beside = files.first().and_then(|path| path.parent()).map(Path::to_path_buf);
    complete(&mut read, beside.as_deref(), atoms, known)?;
    Ok(read)
}

/// Adds the modules that the program calls and that are neither in it nor known.
pub(crate) fn complete(
    read: &mut Read,
    beside: Option<&Path>,
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
                if let Some(text) = library::text(&name) {
                    let file = read.sources.add(format!("library/{name}.kl1"), text.as_bytes().to_vec());
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

/// Adds `name.kl1` beside the first file, if it exists and declares the module.
fn add_beside(read: &mut Read, beside: Option<&Path>, name: &str, atoms: &AtomTable) -> anyhow::Result<bool> {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let Some(path) = beside.filter(|_| plain).map(|folder| folder.join(format!("{name}.kl1"))) else {
        return Ok(false);
    };
    let shown = path.display().to_string();
    if !path.is_file() || read.sources.files().iter().any(|file| file.name == shown) {
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

/// The bytes of a text file.
pub(crate) fn text_of(path: &Path) -> anyhow::Result<Vec<u8>> {
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
    Ok(text)
}
