//! Symbols: atoms are numbers, their texts live in one table per node.
//!
//! The first atoms are the same in every table, so that code may name them as constants. A table may be used by many
//! threads: texts are read without a lock, finding or entering one takes a lock for a moment.

use rustc_hash::{FxBuildHasher, FxHashMap};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, RwLock};

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
    RMOP = "rmop", ON_ERROR = "on_error", MAP = "map",
}

/// Texts of atoms (bytes, usually UTF-8), interned. Atoms are never freed.
#[derive(Debug)]
pub struct AtomTable {
    texts: boxcar::Vec<Arc<[u8]>>,
    numbers: RwLock<FxHashMap<Arc<[u8]>, Atom>>,
    bytes: AtomicUsize,
    reserved: OnceLock<Reserved>,
}

/// Atoms that have their numbers before anybody enters them, because code that was made before names them. They cost
/// nothing until they are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Reserved {
    /// Number of the first.
    pub first: u32,
    /// Their texts, one behind the other.
    pub text: &'static str,
    /// Where each ends in `text`.
    pub ends: &'static [u16],
    /// What [`Reserved::places`] made of them.
    pub places: &'static [u16],
}

impl Reserved {
    /// Where these texts are looked for by their hashes: the index of one plus 1 at its place, or at the next that was
    /// free. Panics if there are more than 2^15.
    pub fn places(texts: &[&str]) -> Vec<u16> {
        let mut places = vec![0; (2 * texts.len()).next_power_of_two()];
        for (index, text) in texts.iter().enumerate() {
            let free = Self::way(text.as_bytes(), places.len()).find(|&at| places[at] == 0);
            places[free.expect("half of the places stay free")] =
                u16::try_from(index + 1).expect("at most 2^15 atoms are reserved");
        }
        places
    }
    /// The places at which a text may be, in order. `count` is a power of two.
    fn way(text: &[u8], count: usize) -> impl Iterator<Item = usize> {
        let hash = text.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        (0..count).map(move |step| ((hash >> 32) as usize + step) & (count - 1))
    }
    fn text(&self, index: usize) -> &'static [u8] {
        let start = index.checked_sub(1).map_or(0, |before| usize::from(self.ends[before]));
        &self.text.as_bytes()[start..usize::from(self.ends[index])]
    }
    fn find(&self, text: &[u8]) -> Option<Atom> {
        let places = Self::way(text, self.places.len()).map(|at| usize::from(self.places[at]));
        let index = places.take_while(|&place| place != 0).find(|&place| self.text(place - 1) == text)? - 1;
        Some(Atom(self.first + index as u32))
    }
}

/// Atoms of most tables, at most: the names of all builtins, and those of a small program.
const USUAL: usize = 1 << 10;

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
        let table = AtomTable {
            texts: boxcar::Vec::new(),
            numbers: RwLock::new(FxHashMap::with_capacity_and_hasher(USUAL, FxBuildHasher)),
            bytes: AtomicUsize::new(0),
            reserved: OnceLock::new(),
        };
        for (number, text) in WELL_KNOWN.iter().enumerate() {
            let atom = table.intern(text.as_bytes());
            debug_assert_eq!(atom.0 as usize, number);
        }
        table
    }
    /// The next numbers belong to these atoms. False, and nothing is changed, if the table has not as many atoms as
    /// they come behind, or has reserved others.
    pub fn reserve(&self, reserved: Reserved) -> bool {
        // Whoever enters an atom meanwhile waits.
        let _numbers = base::unpoisoned(self.numbers.write());
        self.len() == reserved.first as usize && self.reserved.set(reserved).is_ok()
    }
    /// The atom with this text, entered if it is new.
    pub fn intern(&self, text: &[u8]) -> Atom {
        if let Some(atom) = self.lookup(text) {
            return atom;
        }
        // A panic while the lock is held leaves the map as it was, so a poisoned lock is as good as any.
        let mut numbers = base::unpoisoned(self.numbers.write());
        if let Some(&atom) = numbers.get(text) {
            return atom;
        }
        let text: Arc<[u8]> = text.into();
        self.bytes.fetch_add(text.len() + ENTRY_BYTES, Relaxed);
        let entered = self.texts.push(text.clone());
        let number = match self.reserved.get() {
            Some(reserved) if entered >= reserved.first as usize => entered + reserved.ends.len(),
            _ => entered,
        };
        let atom = Atom(u32::try_from(number).expect("an atom needs bytes; 2^32 of them exceed memory"));
        numbers.insert(text, atom);
        atom
    }
    /// The atom with this text, if it was entered.
    pub fn lookup(&self, text: &[u8]) -> Option<Atom> {
        let entered = base::unpoisoned(self.numbers.read()).get(text).copied();
        entered.or_else(|| self.reserved.get()?.find(text))
    }
    /// The text of an atom. Panics for an atom of another table.
    pub fn text(&self, atom: Atom) -> &[u8] {
        let number = atom.0 as usize;
        let Some(reserved) = self.reserved.get().filter(|reserved| atom.0 >= reserved.first) else {
            return &self.texts[number];
        };
        let index = number - reserved.first as usize;
        if index < reserved.ends.len() {
            reserved.text(index)
        } else {
            &self.texts[number - reserved.ends.len()]
        }
    }
    /// The text for messages: invalid UTF-8 is replaced.
    pub fn name(&self, atom: Atom) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.text(atom))
    }
    /// Number of atoms, those included that are reserved.
    pub fn len(&self) -> usize {
        self.texts.count() + self.reserved.get().map_or(0, |reserved| reserved.ends.len())
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
    fn reserved_atoms_have_their_numbers_and_others_come_behind() {
        const TEXTS: [&str; 4] = ["one", "", "three", "two"];
        let places: &'static [u16] = Reserved::places(&TEXTS).leak();
        let first = WELL_KNOWN.len() as u32 + 1;
        let reserved = Reserved { first, text: "onethreetwo", ends: &[3, 3, 8, 11], places };
        let table = AtomTable::new();
        assert!(!table.reserve(reserved), "there is an atom less than they need");
        let before = table.intern(b"before");
        assert!(table.reserve(reserved) && !table.reserve(reserved));
        let behind = table.intern(b"behind");
        assert_eq!([before.0, behind.0], [first - 1, first + 4]);
        assert_eq!([&b"one"[..], b"three", b"two"].map(|text| table.intern(text).0 - first), [0, 2, 3]);
        assert_eq!(table.intern(b""), EMPTY, "what was there stays");
        let texts: Vec<&[u8]> = (first - 1..first + 5).map(|number| table.text(Atom(number))).collect();
        assert_eq!(texts, [&b"before"[..], b"one", b"", b"three", b"two", b"behind"]);
        assert_eq!((table.len(), table.lookup(b"four")), (first as usize + 5, None));
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
