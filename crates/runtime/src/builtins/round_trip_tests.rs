//! What `putt` writes is the same by both printers, and `gett` reads it back as the same term; so it does what `print`
//! writes of terms that need neither quotes nor digits that `print` leaves out.

use super::io::read::build;
use super::tests::node;
use crate::terms::append::Style;
use crate::terms::print::{plain, readable};
use crate::worker::Worker;
use crate::worker::native::Outcome;
use syntax::operators::{OpTable, default_operators};
use term::Word;

const TERMS: usize = if cfg!(miri) { 200 } else { 100_000 };
/// Nothing is collected here: each of so many nodes gets a part.
const NODES: usize = 10;
const DEPTH_MAX: usize = 5;

/// Random terms.
struct Terms<'w> {
    worker: &'w mut Worker,
    state: u64,
    names: Vec<&'static str>,
    /// Numbers and names that `print` shows as they are.
    plain: bool,
}

const OTHERS: [&str; 14] =
    ["a", "foo", "it's", "A b", "[]", "{}", ".", "!", "", "a\\b", "\n", "素数", "`", "/*"];

impl Terms<'_> {
    fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 16) as usize % bound
    }
    fn name(&mut self) -> term::Atom {
        let at = self.below(self.names.len());
        self.worker.intern(self.names[at])
    }
    fn leaf(&mut self) -> Word {
        let kinds = if self.plain { 6 } else { 10 };
        match self.below(kinds) {
            0..=2 => Word::atom(self.name()),
            3..=5 => Word::small(self.below(20) as i64 - 10),
            6 => {
                let above = self.below(1 << 40) as i64;
                self.worker.int(i64::MIN + above)
            }
            7 => {
                let value = (self.below(2001) as f64 - 1000.0) / [1.0, 8.0, 7.0, 1e-30][self.below(4)];
                self.worker.float(value)
            }
            8 => self.worker.vector(&[]),
            _ => {
                let bytes: Vec<u8> = (0..self.below(5)).map(|_| self.below(256) as u8).collect();
                self.worker.string(&bytes)
            }
        }
    }
    fn term(&mut self, depth: usize) -> Word {
        if depth == 0 || self.below(4) == 0 {
            return self.leaf();
        }
        let count = [1, 1, 1, 2, 2, 2, 2, 3][self.below(8)];
        let parts: Vec<Word> = (0..count).map(|_| self.term(depth - 1)).collect();
        match self.below(8) {
            0 => self.worker.vector(&parts),
            1 => self.worker.list(&parts, Word::NIL),
            2 => {
                let tail = self.leaf();
                self.worker.list(&parts, tail)
            }
            _ => match self.name() {
                // That is a list.
                term::symbol::DOT if parts.len() == 2 => self.worker.cons(parts[0], parts[1]),
                name => self.worker.structure(name, &parts),
            },
        }
    }
}

fn names(plain: bool) -> Vec<&'static str> {
    let operators = default_operators().map(|(_, _, name)| name);
    // `print` has no quotes.
    let shown = |name: &&str| !plain || syntax::format::is_bare_atom(name.as_bytes());
    operators.chain(OTHERS).filter(shown).collect()
}

/// Calls `check` with random terms, each part of them with another worker.
fn for_terms(plain: bool, mut check: impl FnMut(&mut Worker, &OpTable, Word)) {
    for part in 1..=NODES {
        let mut node = node();
        let worker = node.worker();
        let ops = OpTable::default_table(&worker.atoms);
        let state = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(part as u64);
        for at in 0..TERMS / NODES {
            let mut terms = Terms { worker, state: state ^ (at as u64 + 1), names: names(plain), plain };
            // The first numbers of similar seeds are similar.
            for _ in 0..8 {
                terms.below(2);
            }
            let term = terms.term(DEPTH_MAX);
            check(worker, &ops, term);
        }
    }
}

fn reads_back(worker: &mut Worker, ops: &OpTable, text: &[u8], term: Word) {
    let shown = String::from_utf8_lossy(text);
    let mut whole = text.to_vec();
    whole.extend(b" .");
    let tree = syntax::parse_term(&whole, ops, &worker.atoms);
    let tree = tree.unwrap_or_else(|error| panic!("{shown}: {error:?}")).expect("a term");
    let again = build(worker, &tree, false);
    let written = readable(worker, ops, again).expect("it is finite");
    assert!(
        matches!(worker.equal_terms(term, again), Outcome::Done),
        "{shown} is read back as {}",
        String::from_utf8_lossy(&written)
    );
}

#[test]
fn gett_reads_what_both_printers_of_putt_write() {
    let mut appended = 0;
    for_terms(false, |worker, ops, term| {
        let text = readable(worker, ops, term).expect("it is finite");
        let mut out = Vec::new();
        if worker.append_term(term, Style::Readable(ops), 1 << 20, &mut out) {
            appended += 1;
            assert_eq!(out, text, "{}", String::from_utf8_lossy(&text));
        }
        reads_back(worker, ops, &text, term);
    });
    assert!(appended > TERMS / 100, "{appended} terms were appended");
}

#[test]
fn gett_reads_what_both_printers_of_print_write() {
    for_terms(true, |worker, ops, term| {
        let text = plain(worker, term).expect("it is finite");
        let mut out = Vec::new();
        assert!(worker.append_term(term, Style::Plain, 1 << 20, &mut out));
        assert_eq!(out, text, "{}", String::from_utf8_lossy(&text));
        reads_back(worker, ops, &text, term);
    });
}
