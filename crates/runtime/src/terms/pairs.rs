//! Pairs of terms that are compared or unified, walked from left to right.
//!
//! The walk starts with a few ranges of cells that lie on the machine's stack: one for each level that is not at its
//! last cell, so that a list of any length takes one. A walk that is deeper, longer, or comes to vectors goes on with
//! a [`Stack`] (L1), which counts and knows circles.

use crate::memory::ranges::{pointer, read};
use crate::reports::outcome::ProgramError;
pub(crate) use crate::terms::state::Pair;
use crate::terms::walk::Stack;
use crate::terms::{cell, deref};
use crate::worker::Worker;
use term::Word;
use term::word::{self, Tag};

/// Levels that are walked without a stack.
const LEVELS: usize = 8;
/// Pairs that are walked without a stack.
const STEPS: usize = 4096;
/// A walk of fewer steps is made again from the top.
const LONG: usize = 256;

impl Pair {
    #[inline(always)]
    pub(crate) fn new(a: Word, b: Word) -> Pair {
        Pair { a, b, from: 0 }
    }
    /// The same terms at their tops.
    #[inline(always)]
    pub(crate) fn deref(self) -> Pair {
        Pair { a: deref(self.a), b: deref(self.b), from: self.from }
    }
    /// Whether there is nothing to look at: see [`Pairs`].
    #[inline(always)]
    fn is_same<const SAME: bool>(self, worker: &Worker) -> bool {
        if self.a == self.b && (SAME || self.a.is_immediate()) {
            return true;
        }
        let objects = self.a.tag() == Tag::Object && self.b.tag() == Tag::Object;
        objects && worker.same_strings(self.a, self.b)
    }
}

/// What a walk gives out: `None` at its end.
pub(crate) type Next = Result<Option<Pair>, Box<ProgramError>>;

/// Cells that lie side by side: those of one term, from an address to another, and at some distance those of the other
/// term.
#[derive(Clone, Copy)]
struct Cells {
    start: usize,
    end: usize,
    distance: usize,
}

impl Cells {
    const NONE: Cells = Cells { start: 0, end: 0, distance: 0 };

    #[inline(always)]
    fn new(a: usize, b: usize, count: usize) -> Cells {
        Cells { start: a, end: a + 8 * count, distance: b.wrapping_sub(a) }
    }
    /// The pairs, the last one first.
    fn backwards(self) -> impl Iterator<Item = Pair> {
        debug_assert!(self.start <= self.end, "cells that end before they begin");
        let addresses = (self.start..self.end).step_by(8).rev();
        addresses.map(move |a| Pair::new(cell(a), cell(a.wrapping_add(self.distance))))
    }
}

/// What a cell with this content holds: that, or the variable that the cell is.
#[inline(always)]
fn value(cell: usize, content: Word) -> Word {
    if content.tag() == Tag::Var { pointer(Tag::Ref, cell) } else { content }
}

/// A walk through pairs of terms. It goes into conses, and into structures whose principal functors are equal; what
/// else there is, it gives out. The same integer, atom or string on both sides is left out; with `SAME`, whatever has
/// the same word on both sides.
pub(crate) struct Pairs<const SAME: bool> {
    /// What comes next.
    next: Cells,
    near: [Cells; LEVELS],
    levels: usize,
    steps_left: usize,
    /// The walk goes on there once it is `far`.
    stack: Stack<Pair>,
    far: bool,
}

/// The arguments of two words, if they are conses, or structures with the same principal functor.
#[inline(always)]
fn arguments(a: Word, b: Word) -> Option<Cells> {
    let tag = a.tag();
    if tag != b.tag() {
        return None;
    }
    if tag == Tag::Struct {
        let (a, b) = (a.address_behind(Tag::Struct), b.address_behind(Tag::Struct));
        let header = read(a);
        let same = header == read(b);
        return same.then(|| Cells::new(a + 8, b + 8, word::header_arity(header)));
    }
    let conses = tag == Tag::Cons;
    conses.then(|| Cells::new(a.address_behind(Tag::Cons), b.address_behind(Tag::Cons), 2))
}

/// The same, with one test of both tags.
#[inline(always)]
fn near_arguments(a: Word, b: Word) -> Option<Cells> {
    let both = |tag: Tag| {
        (a.bits().wrapping_sub(tag as u64) | b.bits().wrapping_sub(tag as u64)) & word::TAG_MASK == 0
    };
    if both(Tag::Cons) {
        return Some(Cells::new(a.address_behind(Tag::Cons), b.address_behind(Tag::Cons), 2));
    }
    if !both(Tag::Struct) {
        return None;
    }
    let (a, b) = (a.address_behind(Tag::Struct), b.address_behind(Tag::Struct));
    let header = read(a);
    let same = header == read(b);
    same.then(|| Cells::new(a + 8, b + 8, word::header_arity(header)))
}

impl<const SAME: bool> Pairs<SAME> {
    #[inline(always)]
    pub(crate) fn new() -> Pairs<SAME> {
        let near = [Cells::NONE; LEVELS];
        Pairs { next: Cells::NONE, near, levels: 0, steps_left: STEPS, stack: Stack::new(), far: false }
    }
    /// A walk that goes on with what another one has left.
    fn resume(left: Vec<Pair>) -> Pairs<SAME> {
        let mut stack = Stack::new();
        stack.extend(left);
        Pairs { stack, far: true, ..Pairs::new() }
    }
    /// What is left of a walk, the next one last, with pairs that were given out before it, the first one first.
    /// `None`: it was short.
    fn into_left(mut self, before: Vec<Pair>) -> Option<Vec<Pair>> {
        if !self.far && self.steps_left > STEPS - LONG {
            return None;
        }
        self.go_far();
        let mut left = self.stack.into_items();
        left.extend(before.into_iter().rev());
        Some(left)
    }
    /// The first pair of a walk through two terms.
    #[inline(always)]
    pub(crate) fn start(&mut self, worker: &Worker, a: Word, b: Word) -> Next {
        let pair = Pair::new(a, b).deref();
        if pair.is_same::<SAME>(worker) {
            return Ok(None);
        }
        let Some(cells) = arguments(pair.a, pair.b) else { return Ok(Some(pair)) };
        self.next = cells;
        self.pop(worker)
    }
    /// The next pair, dereferenced; the error ends the walk. Of a long walk, what was there before is left out.
    #[inline(never)]
    pub(crate) fn pop(&mut self, worker: &Worker) -> Next {
        if self.far {
            return self.pop_far(worker);
        }
        let Cells { start: mut at, mut end, mut distance } = self.next;
        let (mut levels, mut steps_left) = (self.levels, self.steps_left);
        let pair = loop {
            if at == end {
                if levels == 0 {
                    break None;
                }
                levels -= 1;
                Cells { start: at, end, distance } = self.near[levels % LEVELS];
                continue;
            }
            let (content, other) = (read(at), read(at.wrapping_add(distance)));
            at += 8;
            if content == other && content.is_immediate() {
                continue;
            }
            let mut inner = None;
            if !SAME || content != other {
                inner = arguments(content, other);
            }
            if inner.is_none() {
                let cells = (at - 8, at.wrapping_add(distance) - 8);
                let pair = Pair::new(value(cells.0, content), value(cells.1, other)).deref();
                if pair.is_same::<SAME>(worker) {
                    continue;
                }
                inner = arguments(pair.a, pair.b);
                if inner.is_none() {
                    break Some(pair);
                }
            }
            let Some(inner) = inner else { continue };
            if at != end {
                self.near[levels] = Cells { start: at, end, distance };
                levels += 1;
            }
            Cells { start: at, end, distance } = inner;
            steps_left -= 1;
            if levels == LEVELS || steps_left == 0 {
                (self.next, self.levels) = (inner, levels);
                self.go_far();
                return self.pop_far(worker);
            }
        };
        self.next = Cells { start: at, end, distance };
        (self.levels, self.steps_left) = (levels, steps_left);
        Ok(pair)
    }
    #[cold]
    fn pop_far(&mut self, worker: &Worker) -> Next {
        while let Some(pair) = self.stack.pop_unseen(worker)? {
            let pair = pair.deref();
            if pair.is_same::<SAME>(worker) {
                continue;
            }
            match arguments(pair.a, pair.b) {
                Some(cells) => self.stack.extend(cells.backwards()),
                None => return Ok(Some(pair)),
            }
        }
        Ok(None)
    }
    /// Adds a pair, which comes next.
    pub(crate) fn push(&mut self, pair: Pair) {
        self.go_far();
        self.stack.push(pair);
    }
    /// Adds some elements of two vectors, the first ones first, and what comes after: more elements, or once those of
    /// one are at their end, the same vectors from there on if the other one is longer.
    pub(crate) fn push_elements(&mut self, worker: &Worker, vectors: Pair) {
        self.go_far();
        let Pair { a, b, from } = vectors;
        let [length, other] = [a, b].map(|vector| worker.vector_length(vector).expect("two vectors"));
        let common = length.min(other);
        debug_assert!(from <= common, "{from} of {common} elements were compared");
        let piece = from..common.min(next_piece(from));
        if piece.end < common || length != other {
            self.stack.push(Pair { a, b, from: piece.end });
        }
        let elements = worker.vector_part(a, piece.clone()).into_iter().zip(worker.vector_part(b, piece));
        self.stack.extend(elements.map(|(a, b)| Pair::new(a, b)).rev());
    }
    #[cold]
    fn go_far(&mut self) {
        if self.far {
            return;
        }
        self.far = true;
        for level in 0..self.levels {
            self.stack.extend(self.near[level].backwards());
        }
        self.stack.extend(self.next.backwards());
    }
}

impl Pairs<false> {
    /// A walk through two terms that may have been begun before, and its first pair.
    pub(crate) fn begin(worker: &mut Worker, a: Word, b: Word) -> (Pairs<false>, Next) {
        let kept = worker.terms.take_comparison([deref(a), deref(b)]);
        let (mut pairs, begins) = match kept {
            Some(left) => (Pairs::resume(left), false),
            None => (Pairs::new(), true),
        };
        let first = if begins { pairs.start(worker, a, b) } else { pairs.pop(worker) };
        (pairs, first)
    }
    /// The walk is to be made again, from these pairs on (L2).
    pub(crate) fn keep(self, worker: &mut Worker, a: Word, b: Word, waiting: Vec<Pair>) {
        if let Some(left) = self.into_left(waiting) {
            worker.terms.keep_comparison([deref(a), deref(b)], left);
        }
    }
}

/// Structures and conses that a guard compares without a stack.
const NEAR_STEPS: usize = if cfg!(miri) { 1 << 8 } else { 1 << 14 };

impl Worker {
    /// Equality of two terms, as [`Worker::equal_terms`] tells it, if a walk of bounded length through their conses and
    /// structures does; `None` if they are larger, or variables or vectors have a say. It keeps nothing but a range
    /// of cells for each level that is not at its last cell.
    #[inline(always)]
    pub(crate) fn equal_near(&mut self, mut a: Word, mut b: Word) -> Option<bool> {
        let (mut top, mut steps_left) = (0, NEAR_STEPS);
        let [mut at, mut end, mut distance] = [0; 3];
        loop {
            let mut inner = near_arguments(a, b);
            if inner.is_none() {
                if a.is_immediate() && b.is_immediate() && a != b {
                    return Some(false);
                }
                match self.near_parts(a, b) {
                    Parts::Equal => {}
                    Parts::Inside => inner = arguments(deref(a), deref(b)),
                    Parts::Differ => return Some(false),
                    Parts::Unknown => return None,
                }
            }
            if let Some(inner) = inner {
                steps_left -= 1;
                if steps_left == 0 {
                    return None;
                }
                if at != end {
                    let place = self.terms.near.get_mut(top..top + 3)?;
                    place.copy_from_slice(&[at, end, distance]);
                    top += 3;
                }
                Cells { start: at, end, distance } = inner;
            }
            (a, b) = loop {
                while at == end {
                    if top == 0 {
                        return Some(true);
                    }
                    top -= 3;
                    [at, end, distance] = *self.terms.near.get(top..)?.first_chunk()?;
                }
                let pair = (read(at), read(at.wrapping_add(distance)));
                at += 8;
                if pair.0 != pair.1 || !pair.0.is_immediate() {
                    break pair;
                }
            };
        }
    }
    /// What two words, or contents of cells, are to each other that [`arguments`] knows nothing of. It is not rare, but
    /// the walk is to keep its registers where it is not called.
    #[cold]
    #[inline(never)]
    fn near_parts(&self, a: Word, b: Word) -> Parts {
        if a.tag() == Tag::Object
            && b.tag() == Tag::Object
            && let Some(equal) = self.equal_newest(a, b)
        {
            return if equal { Parts::Equal } else { Parts::Differ };
        }
        self.other_parts(a, b)
    }
    /// The same for what is no newest string at first sight.
    fn other_parts(&self, a: Word, b: Word) -> Parts {
        let (a, b) = (deref(a), deref(b));
        let (tag, other) = (a.tag(), b.tag());
        let unbound = |tag: Tag| matches!(tag, Tag::Ref | Tag::Var);
        if unbound(tag) || unbound(other) {
            return Parts::Unknown;
        }
        if tag != other {
            return Parts::Differ;
        }
        let equal = match tag {
            Tag::Cons => return Parts::Inside,
            Tag::Struct if arguments(a, b).is_some() => return Parts::Inside,
            Tag::Struct => Some(false),
            Tag::Object => self.equal_tops(a, b),
            _ => Some(a == b),
        };
        match equal {
            Some(true) => Parts::Equal,
            Some(false) => Parts::Differ,
            None => Parts::Unknown,
        }
    }
}

/// Whether two dereferenced terms are equal, if their tops say it.
#[inline(always)]
pub(crate) fn equal_at_top(a: Word, b: Word) -> Option<bool> {
    let (tag, other) = (a.tag(), b.tag());
    if tag == Tag::Ref || other == Tag::Ref {
        return None;
    }
    debug_assert!(![tag, other].contains(&Tag::Var), "W1: a value is no content of an unbound cell");
    if tag != other {
        return Some(false);
    }
    if tag == Tag::Struct {
        return (read(a.address()) != read(b.address())).then_some(false);
    }
    a.is_immediate().then_some(a == b)
}

/// What is known of two terms that a guard compares.
enum Parts {
    Equal,
    Differ,
    /// Behind references they have arguments.
    Inside,
    /// Another walk is to tell.
    Unknown,
}

/// The end of the piece of a string or vector that is compared next: pieces grow, so that strings that differ early
/// are hardly copied, and old versions seldom searched.
pub(crate) fn next_piece(from: usize) -> usize {
    2 * from + 64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;
    use crate::terms::state::NEAR_LEVELS;
    use crate::worker::native::Outcome;

    /// A list of the integers below `length`, each inside as many structures as `depth` says.
    fn nested(worker: &mut Worker, length: i64, depth: usize, last: i64) -> Word {
        let name = worker.intern("f");
        let mut list = Word::NIL;
        for i in (0..length).rev() {
            let mut item = Word::small(if i == length - 1 { last } else { i });
            for _ in 0..depth {
                item = worker.structure(name, &[Word::small(1), item, Word::small(2)]);
            }
            list = worker.cons(item, list);
        }
        list
    }

    #[test]
    fn a_walk_that_goes_far_loses_and_adds_nothing() {
        let worker = worker();
        for (length, depth) in
            [(1, 0), (5, 3), (3, LEVELS - 2), (3, LEVELS), (2, 3 * LEVELS), (3 * STEPS as i64, 2)]
        {
            let terms = [-1, -1, -2].map(|last| nested(worker, length, depth, last));
            assert!(matches!(worker.equal_terms(terms[0], terms[1]), Outcome::Done), "{length} {depth}");
            assert!(matches!(worker.equal_terms(terms[0], terms[2]), Outcome::No), "{length} {depth}");
            assert_eq!(worker.compare_terms(terms[0], terms[2]).ok(), Some(1), "{length} {depth}");
        }
    }

    #[test]
    fn a_near_walk_says_what_the_other_says_or_nothing() {
        let worker = worker();
        let (variable, other) = (worker.new_variable(), worker.new_variable());
        let bound = worker.new_variable();
        worker.unify(bound, Word::small(3));
        let (name, another) = (worker.intern("f"), worker.intern("g"));
        let mut terms =
            vec![Word::small(3), Word::small(4), bound, variable, other, Word::NIL, Word::atom(name)];
        terms.extend([
            worker.string(b"a"),
            worker.string(b"a"),
            worker.string(b"ab"),
            worker.string(&[b'a'; 40]),
            worker.string(b"aaaaaaaab"),
            worker.string(b"aaaaaaaac"),
            worker.string(b"aaaaaaaac"),
        ]);
        terms.extend([1.0, 1.0, 2.0].map(|value| worker.float(value)));
        terms.extend([1i128 << 70, 1 << 70, 1 << 71].map(|value| worker.integer(&value.into())));
        terms.extend([1, 1, 2].map(|last| worker.vector(&[Word::small(last)])));
        for _ in 0..2 {
            let inner = terms.clone();
            for (i, &term) in inner.iter().enumerate().step_by(3) {
                let next = inner[(i + 1) % inner.len()];
                terms.push(worker.structure(name, &[term, next]));
                terms.push(
                    worker.structure(if i % 2 == 0 { name } else { another }, &[term, Word::NIL, term]),
                );
                terms.push(worker.cons(next, term));
                terms.push(worker.cons(next, term));
            }
        }
        let mut told = 0;
        for &a in &terms {
            for &b in &terms {
                let Some(near) = worker.equal_near(a, b) else { continue };
                assert_eq!(near, matches!(worker.equal_terms(a, b), Outcome::Done));
                assert_eq!(!near, matches!(worker.equal_terms(a, b), Outcome::No));
                told += 1;
            }
        }
        assert!(2 * told > terms.len() * terms.len(), "{told}");
    }

    #[test]
    fn a_near_walk_goes_as_far_as_its_levels_and_steps() {
        let worker = worker();
        let most = NEAR_STEPS as i64;
        for (length, depth, told) in [
            (1, NEAR_LEVELS - 1, true),
            (2, NEAR_LEVELS, true),
            (2, NEAR_LEVELS + 1, false),
            (most - 1, 0, true),
            (most + 2, 0, false),
        ] {
            let terms = [-1, -1, -2].map(|last| nested(worker, length, depth, last));
            let expected = if told { [Some(true), Some(false)] } else { [None, None] };
            let found = [1, 2].map(|other| worker.equal_near(terms[0], terms[other]));
            assert_eq!(found, expected, "{length} {depth}");
        }
    }

    #[test]
    fn pairs_come_from_left_to_right() {
        let worker = worker();
        let differing = |worker: &mut Worker, depth: usize, by: i64| {
            let items: Vec<Word> = (0..4).map(|i| nested(worker, 1, depth, i + by)).collect();
            worker.list(&items, Word::NIL)
        };
        for depth in [1, LEVELS, 2 * LEVELS] {
            let (term, other) = (differing(worker, depth, 0), differing(worker, depth, 10));
            let mut pairs = Pairs::<false>::new();
            let mut next = pairs.start(worker, term, other);
            let mut seen = Vec::new();
            while let Some(Pair { a, b, .. }) = next.expect("a short walk") {
                seen.push((a.as_int(), b.as_int()));
                next = pairs.pop(worker);
            }
            assert_eq!(seen, [(0, 10), (1, 11), (2, 12), (3, 13)], "{depth}");
        }
    }
}
