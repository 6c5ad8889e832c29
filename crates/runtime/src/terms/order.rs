//! Comparing terms without binding anything: equality as guards ask for it, and the standard order.
//!
//! Both work with an explicit stack (L1), so terms may be as deep as memory allows, or infinite.
//! A variable is always waited for, even when it is compared with itself.

use crate::memory::ranges::read;
use crate::reports::outcome::ProgramError;
use crate::terms::pairs::{Pair, Pairs, next_piece};
use crate::terms::{deref, value_at};
use crate::worker::Worker;
use crate::worker::native::Outcome;
use std::cmp::Ordering;
use term::layout::{self, ClassId};
use term::word::{self, Tag};
use term::{Atom, Word};

/// What two subterms that are compared have left to compare.
enum Top {
    Equal,
    /// They differ; the number is what `compare` answers.
    Differ(i64),
    /// Two vectors: their elements in turn.
    Vectors,
    /// One is a variable.
    Wait,
}

impl Pair {
    /// Of two terms of which one is a variable, the first such.
    fn variable(self) -> Word {
        if self.a.tag() == Tag::Ref { self.a } else { self.b }
    }
}

/// The order of kinds of terms.
fn rank(word: Word, class: Option<ClassId>) -> i64 {
    match word.tag() {
        Tag::Int => 0,
        Tag::Atom => 1,
        Tag::Cons => 2,
        Tag::Struct => 3,
        _ if class == Some(layout::BIGINT) => 0,
        _ => 4,
    }
}

fn sign(ordering: Ordering) -> i64 {
    ordering as i64
}

/// What `compare` answers for two strings, from their order and the number of bytes that they have in common.
fn string_order((ordering, same): (Ordering, usize)) -> i64 {
    sign(ordering) * (same as i64 + 1)
}

/// Pairs that are looked at for parts of other nodes behind the first one that is waited for, at most.
pub(crate) const AHEAD: usize = 4096;

/// Structures of more arguments are compared by a walk, which counts its steps.
const NEAR_ARGUMENTS: usize = 64;

impl Worker {
    /// Equality of two terms, as a guard sees it: `No` as soon as parts differ, even behind variables; else the first
    /// variable is waited for.
    pub(crate) fn equal_terms(&mut self, a: Word, b: Word) -> Outcome {
        self.are_equal(a, b).unwrap_or_else(Outcome::Error)
    }
    fn are_equal(&mut self, a: Word, b: Word) -> Result<Outcome, Box<ProgramError>> {
        let (mut waiting, mut ahead) = (Vec::new(), AHEAD);
        let (mut pairs, mut next) = Pairs::begin(self, a, b);
        while let Some(pair) = next? {
            match self.compare_tops(pair.a, pair.b) {
                Top::Equal => {}
                Top::Differ(_) => return Ok(Outcome::No),
                Top::Wait => {
                    waiting.push(pair);
                    self.meet(pair, &mut ahead);
                }
                Top::Vectors if self.vector_length(pair.a) != self.vector_length(pair.b) => {
                    return Ok(Outcome::No);
                }
                Top::Vectors => pairs.push_elements(self, pair),
            }
            next = pairs.pop(self);
        }
        let Some(&first) = waiting.first() else { return Ok(Outcome::Done) };
        pairs.keep(self, a, b, waiting);
        Ok(Outcome::Wait(first.variable()))
    }
    /// The standard order: negative, zero or positive as `a` is before, equal to or after `b`; for strings the
    /// position (from 1) of the first difference, for vectors that differ in length only the longer one's length
    /// and 1. `Err` is a variable to wait for, or an error.
    #[inline(always)]
    pub(crate) fn compare_terms(&mut self, a: Word, b: Word) -> Result<i64, Outcome> {
        match self.compare_near(a, b) {
            Some(order) => Ok(order),
            None => self.compare_far(a, b),
        }
    }
    /// The same if integers, atoms or strings tell it: both terms, or arguments of theirs, as those of most keys.
    #[inline(always)]
    fn compare_near(&self, a: Word, b: Word) -> Option<i64> {
        let (a, b) = (deref(a), deref(b));
        if a.tag() != Tag::Struct || b.tag() != Tag::Struct {
            return self.compare_simple(a, b);
        }
        let (a, b) = (a.address(), b.address());
        let header = read(a);
        let arity = word::header_arity(header);
        if header != read(b) || arity > NEAR_ARGUMENTS {
            return None;
        }
        for i in 1..=arity {
            let order = self.compare_simple(value_at(a + 8 * i), value_at(b + 8 * i))?;
            if order != 0 {
                return Some(order);
            }
        }
        Some(0)
    }
    #[inline(always)]
    fn compare_simple(&self, a: Word, b: Word) -> Option<i64> {
        match (a.tag(), b.tag()) {
            (Tag::Int, Tag::Int) => Some(sign(a.as_int().cmp(&b.as_int()))),
            (Tag::Atom, Tag::Atom) => Some(sign(self.compare_atoms(a.as_atom(), b.as_atom()))),
            (Tag::Object, Tag::Object) => self.compare_near_strings(a, b),
            _ => None,
        }
    }
    #[inline(never)]
    fn compare_near_strings(&self, a: Word, b: Word) -> Option<i64> {
        let string = |word: Word| word::header_class(read(word.address())) == layout::STRING;
        if !string(a) || !string(b) {
            return None;
        }
        self.compare_newest(a, b).map(string_order)
    }
    #[inline(never)]
    fn compare_far(&mut self, a: Word, b: Word) -> Result<i64, Outcome> {
        let (mut waiting, mut ahead) = (Vec::new(), AHEAD);
        let (mut pairs, mut next) = Pairs::begin(self, a, b);
        while let Some(pair) = next? {
            let top = self.compare_tops(pair.a, pair.b);
            let differs = match top {
                Top::Differ(order) => Some(order),
                Top::Vectors => self.compare_lengths(pair),
                Top::Equal | Top::Wait => None,
            };
            match (top, differs) {
                (_, Some(order)) if waiting.is_empty() => return Ok(order),
                (_, Some(_)) | (Top::Wait, _) => {
                    waiting.push(pair);
                    self.meet(pair, &mut ahead);
                }
                (Top::Vectors, None) => pairs.push_elements(self, pair),
                _ => {}
            }
            if !waiting.is_empty() {
                // What is behind is looked at for parts of other nodes only, unless it has no say.
                ahead = if self.is_one_of_several_nodes() { ahead.saturating_sub(1) } else { 0 };
                if ahead == 0 || differs.is_some() {
                    break;
                }
            }
            next = pairs.pop(self);
        }
        let Some(&first) = waiting.first() else { return Ok(0) };
        pairs.keep(self, a, b, waiting);
        Err(Outcome::Wait(first.variable()))
    }
    /// A walk has come to a pair that waits: whoever makes it may have to fetch one of both from another node.
    fn meet(&mut self, pair: Pair, ahead: &mut usize) {
        if *ahead > 0 && self.is_one_of_several_nodes() {
            *ahead -= 1;
            self.terms.met.extend([pair.a, pair.b].into_iter().filter(|word| word.tag() == Tag::Ref));
        }
    }
    /// The order of two vectors once all elements that both have are known to be equal.
    fn compare_lengths(&self, vectors: Pair) -> Option<i64> {
        let (a, b) = (self.vector_length(vectors.a)?, self.vector_length(vectors.b)?);
        let decides = a != b && vectors.from == a.min(b);
        // The size of the answer is KLIC's.
        decides.then(|| sign(a.cmp(&b)) * (a.max(b) as i64 + 1))
    }
    /// Two dereferenced words, not structures with the same principal functor.
    #[inline(always)]
    fn compare_tops(&self, a: Word, b: Word) -> Top {
        match (a.tag(), b.tag()) {
            _ if a == b && a.is_immediate() => Top::Equal,
            (Tag::Ref, _) | (_, Tag::Ref) => Top::Wait,
            (Tag::Int, Tag::Int) => self.ordered(a.as_int().cmp(&b.as_int())),
            (Tag::Atom, Tag::Atom) => self.ordered(self.compare_atoms(a.as_atom(), b.as_atom())),
            (Tag::Struct, Tag::Struct) => {
                let (header, other) = (read(a.address()), read(b.address()));
                let arities = word::header_arity(header).cmp(&word::header_arity(other));
                let names = self.compare_atoms(word::header_name(header), word::header_name(other));
                self.ordered(names.then(arities))
            }
            _ => self.compare_others(a, b),
        }
    }
    /// Whether two dereferenced words are equal that are not structures with the same principal functor; `None` if a
    /// variable or the elements of vectors have to tell.
    pub(crate) fn equal_tops(&self, a: Word, b: Word) -> Option<bool> {
        match self.compare_tops(a, b) {
            Top::Equal => Some(true),
            Top::Differ(_) => Some(false),
            Top::Wait | Top::Vectors => None,
        }
    }
    /// Two words that are not of one kind, or objects.
    #[inline(never)]
    fn compare_others(&self, a: Word, b: Word) -> Top {
        let (class_a, class_b) = (self.class_of(a), self.class_of(b));
        let (rank_a, rank_b) = (rank(a, class_a), rank(b, class_b));
        if rank_a != rank_b {
            return self.ordered(rank_a.cmp(&rank_b));
        }
        if rank_a == 0 {
            return self.ordered(self.big(a).cmp(&self.big(b)));
        }
        let (class_a, class_b) = (class_a.expect("an object"), class_b.expect("an object"));
        if class_a != class_b {
            return self.ordered(class_a.0.cmp(&class_b.0));
        }
        self.compare_objects(a, b, class_a)
    }
    fn ordered(&self, ordering: Ordering) -> Top {
        if ordering.is_eq() { Top::Equal } else { Top::Differ(sign(ordering)) }
    }
    fn compare_atoms(&self, a: Atom, b: Atom) -> Ordering {
        if a == b { Ordering::Equal } else { self.atoms.text(a).cmp(self.atoms.text(b)) }
    }
    /// The order of two strings by their bytes, and how many bytes they have in common at the start; `None` if one is
    /// no string.
    pub(crate) fn compare_strings(&self, a: Word, b: Word) -> Option<(Ordering, usize)> {
        let (length_a, length_b) = (self.string_length(a)?, self.string_length(b)?);
        if let Some(found) = self.compare_newest(a, b) {
            return Some(found);
        }
        let length = length_a.min(length_b);
        let mut same = 0;
        while same < length {
            let piece = same..length.min(next_piece(same));
            let (part_a, part_b) = (self.string_part(a, piece.clone()), self.string_part(b, piece.clone()));
            if part_a != part_b {
                let more = part_a.iter().zip(&part_b).take_while(|(a, b)| a == b).count();
                return Some((part_a[more].cmp(&part_b[more]), same + more));
            }
            same = piece.end;
        }
        Some((length_a.cmp(&length_b), length))
    }
    /// Two objects of one class.
    fn compare_objects(&self, a: Word, b: Word, class: ClassId) -> Top {
        match class {
            layout::STRING => match string_order(self.compare_strings(a, b).expect("two strings")) {
                0 => Top::Equal,
                order => Top::Differ(order),
            },
            layout::VECTOR => Top::Vectors,
            layout::FLOAT => {
                let (a, b) = (self.float_value(a).expect("a float"), self.float_value(b).expect("a float"));
                // Not-a-number has no place in the order of floats; `total_cmp` gives it one.
                self.ordered(a.partial_cmp(&b).unwrap_or_else(|| a.total_cmp(&b)))
            }
            layout::PREDICATE | layout::MODULE => {
                let key = |w: Word| (self.predicate_value(w), self.module_value(w));
                self.ordered(key(a).cmp(&key(b)))
            }
            _ => self.ordered(a.address().cmp(&b.address())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;

    #[test]
    fn strings_are_ordered_by_their_bytes_and_then_by_length() {
        let worker = worker();
        let texts: [&[u8]; 9] = [
            b"",
            b"\0",
            b"a",
            b"a\0",
            b"a\xff",
            b"abcdefgh",
            b"abcdefghi",
            b"abcdefgi",
            b"abcdefgh\0\0\0\0\0\0\0\0",
        ];
        for a in texts {
            for b in texts {
                let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
                let (string, other) = (worker.string(a), worker.string(b));
                assert_eq!(worker.compare_strings(string, other), Some((a.cmp(b), same)), "{a:?} {b:?}");
                let equal = matches!(worker.equal_terms(string, other), Outcome::Done);
                assert_eq!(equal, a == b, "{a:?} {b:?}");
            }
        }
    }

    /// A comparison that was made before goes on where it waited, and says what one from the top says.
    #[test]
    fn a_walk_that_goes_on_says_what_one_from_the_top_says() {
        const LENGTH: i64 = 3000;
        let name = |outcome: &Outcome| match outcome {
            Outcome::Done => "yes".to_string(),
            Outcome::No => "no".to_string(),
            Outcome::Wait(variable) => format!("{variable:?}"),
            _ => "an error".to_string(),
        };
        for (forwards, wrong) in [(true, None), (false, None), (true, Some(7)), (false, Some(7))] {
            let worker = worker();
            let f = worker.intern("f");
            let mut variables = Vec::new();
            let (mut a, mut b) = (Word::NIL, Word::NIL);
            for number in (0..LENGTH).rev() {
                let part = worker.structure(f, &[Word::small(number)]);
                let open = if number % 100 == 0 { worker.new_variable() } else { part };
                if number % 100 == 0 {
                    variables.push((open, if wrong == Some(number / 100) { Word::NIL } else { part }));
                }
                (a, b) = (worker.structure(f, &[a, open]), worker.structure(f, &[b, part]));
            }
            if forwards {
                variables.reverse();
            }
            let mut went_on = 0;
            for step in 0..=variables.len() {
                let begun = worker.terms.has_comparison([a, b]);
                went_on += usize::from(begun);
                let outcome = worker.equal_terms(a, b);
                let order = worker.compare_terms(a, b);
                let kept = std::mem::take(&mut worker.terms);
                assert_eq!(name(&outcome), name(&worker.equal_terms(a, b)), "{forwards} {wrong:?} {step}");
                worker.terms.forget_walks();
                match (order, worker.compare_terms(a, b)) {
                    (Ok(order), Ok(other)) => assert_eq!(order, other),
                    (Err(order), Err(other)) => assert_eq!(name(&order), name(&other)),
                    (order, other) => panic!("{:?} {:?}", order.ok(), other.ok()),
                }
                worker.terms = kept;
                if let Some(&(variable, value)) = variables.get(step) {
                    worker.unify(variable, value);
                }
            }
            assert!(went_on > 5, "{forwards} {wrong:?}: {went_on}");
            worker.terms.forget_walks();
            assert!(!worker.terms.has_comparison([a, b]));
        }
    }

    #[test]
    fn the_order_is_the_same_with_and_without_a_walk() {
        let worker = worker();
        let (key, other) = (worker.intern("key"), worker.intern("other"));
        let bound = worker.new_variable();
        worker.unify(bound, Word::small(7));
        let mut terms =
            vec![Word::small(-3), Word::small(7), bound, Word::NIL, Word::atom(key), Word::atom(other)];
        terms.extend([&b"abc"[..], b"abc", b"abd", b"ab", b""].map(|text| worker.string(text)));
        terms.extend([1.5, 2.5].map(|value| worker.float(value)));
        terms.push(worker.integer(&(1i128 << 70).into()));
        let old = worker.string(b"abcd");
        terms.push(worker.string_update(old, 1, b'x').expect("there is room"));
        terms.push(old);
        terms.push(worker.vector(&[Word::small(1)]));
        terms.push(worker.new_variable());
        for (i, &term) in terms.clone().iter().enumerate() {
            let next = terms[(i + 1) % terms.len()];
            terms.push(worker.structure(key, &[Word::small(1), term]));
            terms.push(worker.structure(other, &[term, next]));
            terms.push(worker.cons(term, next));
        }
        let many = vec![Word::small(1); NEAR_ARGUMENTS + 1];
        terms.extend([0, 0, 1].map(|less| worker.structure(key, &many[less..])));
        let mut near = 0;
        for &a in &terms {
            for &b in &terms {
                if let Some(order) = worker.compare_near(a, b) {
                    assert_eq!(
                        worker.compare_far(a, b).ok(),
                        Some(order),
                        "{} {}",
                        worker.term_text(a),
                        worker.term_text(b)
                    );
                    near += 1;
                }
            }
        }
        assert!(near > terms.len(), "{near}");
    }
}
