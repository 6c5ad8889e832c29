//! Symbols: atoms are numbers, their texts live in one table per node.
//!
//! The first atoms are the same in every table, so that code may name them as constants. A table may be used by many
//! threads: texts are read without a lock, finding or entering one takes a lock for a moment.

use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

/// An atom: an index into an [`AtomTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Atom(pub u32);

macro_rules! well_known {
    ($($name:ident = $text:literal),* $(,)?) => {
        well_known!(@ 0u32; $($name = $text),*);
        const WELL_KNOWN: &[&str] = &[$($text),*];
    };
    (@ $n:expr; $name:ident = $text:literal $(, $rest:ident = $rest_text:literal)*) => {
        #[doc = concat!("The atom `", $text, "`.")]
        pub const $name: Atom = Atom($n);
        well_known!(@ $n + 1; $($rest = $rest_text),*);
    };
    (@ $n:expr;) => {};
}

well_known! {
    NIL = "[]", DOT = ".", COMMA = ",", BAR = "|", MINUS = "-", PLUS = "+", TRUE = "true",
    MAIN = "main", NORMAL = "normal", ABNORMAL = "abnormal", BRACES = "{}", SHARP = "#",
    END_OF_FILE = "end_of_file", SEMICOLON = ";", EXCLAMATION = "!", EMPTY = "",
    OPEN = "open", GETC = "getc", PUTC = "putc", NEWLINE = "nl", FWRITE = "fwrite", PUTS = "puts", ANY = "any",
    SYNC = "sync", STATUS = "status", PUTT = "putt", PUTTQ = "puttq", PUTWT = "putwt", PUTWTQ = "putwtq",
    PRINT = "print", FLUSH = "flush", FFLUSH = "fflush", UNGETC = "ungetc", FREAD = "fread", GETT = "gett", GETWT = "getwt",
    LINECOUNT = "linecount", FEOF = "feof", FSEEK = "fseek", FTELL = "ftell", FCLOSE = "fclose", ADDOP = "addop",
    RMOP = "rmop", ON_ERROR = "on_error",
}

/// Texts of atoms (bytes, usually UTF-8), interned. Atoms are never freed.
#[derive(Debug)]
pub struct AtomTable {
    texts: boxcar::Vec<Arc<[u8]>>,
    numbers: RwLock<FxHashMap<Arc<[u8]>, Atom>>,
    bytes: AtomicUsize,
}

/// Bytes of an entry besides its text: the counters and lengths of the shared text, two pointers to it, the number.
const ENTRY_BYTES: usize = 72;

impl Default for AtomTable {
    fn default() -> Self {
        Self::new()
    }
}

impl AtomTable {
    /// A table that holds the well-known atoms only.
    pub fn new() -> Self {
        let table =
            AtomTable { texts: boxcar::Vec::new(), numbers: RwLock::default(), bytes: AtomicUsize::new(0) };
        for (number, text) in WELL_KNOWN.iter().enumerate() {
            let atom = table.intern(text.as_bytes());
            debug_assert_eq!(atom.0 as usize, number);
        }
        table
    }
    /// The atom with this text, entered if it is new.
    pub fn intern(&self, text: &[u8]) -> Atom {
        if let Some(atom) = self.lookup(text) {
            return atom;
        }
        // A panic while the lock is held leaves the map as it was, so a poisoned lock is as good as any.
        let mut numbers = self.numbers.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(&atom) = numbers.get(text) {
            return atom;
        }
        let text: Arc<[u8]> = text.into();
        self.bytes.fetch_add(text.len() + ENTRY_BYTES, Relaxed);
        let number = self.texts.push(text.clone());
        let atom = Atom(u32::try_from(number).expect("an atom needs bytes; 2^32 of them exceed memory"));
        numbers.insert(text, atom);
        atom
    }
    /// The atom with this text, if it was entered.
    pub fn lookup(&self, text: &[u8]) -> Option<Atom> {
        self.numbers.read().unwrap_or_else(PoisonError::into_inner).get(text).copied()
    }
    /// The text of an atom. Panics for an atom of another table.
    pub fn text(&self, atom: Atom) -> &[u8] {
        &self.texts[atom.0 as usize]
    }
    /// The text for messages: invalid UTF-8 is replaced.
    pub fn name(&self, atom: Atom) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.text(atom))
    }
    /// Number of atoms.
    pub fn len(&self) -> usize {
        self.texts.count()
    }
    /// Bytes that the table takes, about.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }
    /// Never true: the well-known atoms are always there.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_atoms_have_their_texts() {
        let table = AtomTable::new();
        assert_eq!(table.text(NIL), b"[]");
        assert_eq!(table.text(MAIN), b"main");
        assert_eq!(table.text(EMPTY), b"");
        assert_eq!(table.intern(b"true"), TRUE);
        let new = table.intern(b"new");
        assert_eq!(table.lookup(b"new"), Some(new));
        assert_eq!(table.intern(b"new"), new);
    }

    #[test]
    fn threads_agree_on_atoms() {
        const COUNT: usize = if cfg!(miri) { 50 } else { 1000 };
        let table = AtomTable::new();
        let atoms = std::thread::scope(|scope| {
            let enter = || (0..COUNT).map(|n| table.intern(format!("a{n}").as_bytes())).collect::<Vec<_>>();
            let threads = [scope.spawn(enter), scope.spawn(enter), scope.spawn(enter)];
            threads.map(|thread| thread.join().expect("the thread ends"))
        });
        assert!(atoms.iter().all(|list| *list == atoms[0]));
        assert!(atoms[0].iter().enumerate().all(|(n, &atom)| table.text(atom) == format!("a{n}").as_bytes()));
        assert_eq!(table.len(), WELL_KNOWN.len() + COUNT);
    }
}
