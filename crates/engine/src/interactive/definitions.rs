//! What has been defined in the REPL: clauses that were typed, in a module of their own, and the modules of files.

use super::MODULE;
use std::ops::Range;
use std::path::PathBuf;

/// Name and arity.
pub(super) type Key = (String, usize);

/// A clause that was typed.
pub(super) struct Clause {
    /// With the separator before it, if there is one.
    pub(super) text: Vec<u8>,
    /// What it asks for before it is chosen: its head and guard, whatever its variables are called.
    pub(super) condition: Vec<Vec<u8>>,
}

/// A file whose modules are there.
pub(super) struct Loaded {
    /// As it was named.
    pub(super) path: PathBuf,
    pub(super) text: Vec<u8>,
    pub(super) modules: Vec<String>,
}

/// The clauses of each predicate, in order of first definition, and files in the order in which they were loaded.
#[derive(Default)]
pub(super) struct Definitions {
    pub(super) predicates: Vec<(Key, Vec<Clause>)>,
    pub(super) files: Vec<Loaded>,
    /// `otherwise.` or `alternatively.`, typed and waiting for its clause.
    pub(super) separator: Option<&'static [u8]>,
    /// The predicate whose clauses are being typed: nothing else was typed in between.
    pub(super) current: Option<Key>,
    /// How many queries there were.
    pub(super) queries: usize,
}

impl Definitions {
    pub(super) fn clauses(&self, key: &Key) -> Option<&[Clause]> {
        self.predicates.iter().find(|(known, _)| known == key).map(|(_, clauses)| clauses.as_slice())
    }
    /// Whether a clause begins a new definition of its predicate: something else was typed since its last one, or what
    /// it asks for has been asked for.
    pub(super) fn is_new(&self, key: &Key, clause: &Clause) -> bool {
        let known = self.clauses(key).unwrap_or_default();
        self.current.as_ref() != Some(key)
            || self.separator.is_none() && known.iter().any(|other| other.condition == clause.condition)
    }
    /// Adds a clause; with `replace` its predicate has no other.
    pub(super) fn add(&mut self, key: Key, clause: Clause, replace: bool) {
        self.current = Some(key.clone());
        match self.predicates.iter_mut().find(|(known, _)| *known == key) {
            Some((_, clauses)) if replace => *clauses = vec![clause],
            Some((_, clauses)) if clauses.last().is_some_and(|last| last.text == clause.text) => {}
            Some((_, clauses)) => clauses.push(clause),
            None => self.predicates.push((key, vec![clause])),
        }
    }
    pub(super) fn listing(&self) -> Vec<u8> {
        let clauses = self.predicates.iter().flat_map(|(_, clauses)| clauses);
        clauses.flat_map(|clause| [&clause.text[..], b"\n"].concat()).collect()
    }
    /// What `:list` shows.
    pub(super) fn shown(&self) -> Vec<u8> {
        let mut shown = self.listing();
        for file in &self.files {
            shown.extend(format!("% {}: module {}\n", file.path.display(), file.modules.join(", ")).bytes());
        }
        shown
    }
    /// The text of the module with one clause more, and where that one is; with `replace`, without the others of its
    /// predicate.
    pub(super) fn with(&self, key: &Key, text: &[u8], replace: bool) -> (Vec<u8>, Range<usize>) {
        let mut module = format!(":- module {MODULE}.\n").into_bytes();
        let mut place = None;
        let put = |module: &mut Vec<u8>, text: &[u8]| {
            let start = module.len();
            module.extend(text);
            module.push(b'\n');
            start..start + text.len()
        };
        for (known, clauses) in &self.predicates {
            for clause in clauses.iter().filter(|_| !(replace && known == key)) {
                put(&mut module, &clause.text);
            }
            if known == key {
                place = Some(put(&mut module, text));
            }
        }
        let place = place.unwrap_or_else(|| put(&mut module, text));
        (module, place)
    }
    /// Where files of modules may be: beside those that were loaded, the last first, and where the command was started.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let loaded = self.files.iter().rev().filter_map(|file| Some(file.path.parent()?.to_path_buf()));
        let mut folders: Vec<PathBuf> = loaded.chain([PathBuf::new()]).collect();
        folders.dedup();
        folders
    }
}
