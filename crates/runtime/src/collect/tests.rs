//! Property: a collection changes addresses and nothing else. Random heaps are built from operations, with collections
//! in between; a canonical description of everything reachable is the same before and after each.

use crate::memory::classes::Contents;
use crate::memory::ranges::{at, pointer, read, write};
use crate::node::Node;
use crate::terms::deref;
use crate::worker::native::{Native, Outcome, Seat};
use crate::worker::{Options, Root, Worker};
use num_bigint::BigInt;
use proptest::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use term::abi::{BOTTOM, Builtin, Place, PredicateId};
use term::layout::{self, ClassId};
use term::word::{self, Tag, UNBOUND};
use term::{Atom, Word};

/// What is reachable: things are numbered as they are met, references are followed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Description {
    roots: Vec<Field>,
    things: Vec<Thing>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Word(u64),
    Thing(usize),
}

#[derive(Debug, PartialEq, Eq)]
struct Thing {
    tag: Tag,
    fields: Vec<Field>,
}

impl Description {
    pub(crate) fn of(worker: &Worker) -> Description {
        let goals = (worker.goals.start()..worker.abi.goals as usize).step_by(8).map(read);
        let goals = goals.filter(|&word| word != worker.system_goals.mark.goal_word());
        let beside = worker.goals.buckets().flatten().copied();
        let roots: Vec<Word> = worker.roots.words().iter().copied().chain(goals).chain(beside).collect();
        let mut describe = Describe { worker, numbers: FxHashMap::default(), things: Vec::new() };
        let roots = roots.into_iter().map(|word| describe.field(word)).collect();
        let mut things = Vec::new();
        while let Some(&word) = describe.things.get(things.len()) {
            things.push(Thing { tag: word.tag(), fields: describe.fields(word) });
        }
        Description { roots, things }
    }
    /// True if the two differ at most in how many copies of a cons or structure there are: of a variable or an object
    /// there is one.
    pub(crate) fn is_copy_of(&self, original: &Description) -> bool {
        let mut originals = vec![None; self.things.len()];
        let mut copied = vec![false; original.things.len()];
        let mut fields = vec![(&self.roots, &original.roots)];
        while let Some((these, those)) = fields.pop() {
            if these.len() != those.len() {
                return false;
            }
            for (&this, &that) in these.iter().zip(those) {
                let (Field::Thing(this), Field::Thing(that)) = (this, that) else {
                    if this == that {
                        continue;
                    }
                    return false;
                };
                match originals[this] {
                    Some(known) if known == that => continue,
                    Some(_) => return false,
                    None => originals[this] = Some(that),
                }
                let (this, original) = (&self.things[this], &original.things[that]);
                let copied_before = std::mem::replace(&mut copied[that], true);
                if this.tag != original.tag || copied_before && !matches!(this.tag, Tag::Cons | Tag::Struct) {
                    return false;
                }
                fields.push((&this.fields, &original.fields));
            }
        }
        true
    }
}

struct Describe<'a> {
    worker: &'a Worker,
    numbers: FxHashMap<usize, usize>,
    things: Vec<Word>,
}

impl Describe<'_> {
    fn field(&mut self, word: Word) -> Field {
        let word = deref(word);
        if word.is_immediate() {
            return Field::Word(word.bits());
        }
        let next = self.things.len();
        let number =
            *self.numbers.entry(word.address() << 3 | usize::from(word.tag() == Tag::Ref)).or_insert(next);
        if number == next {
            self.things.push(word);
        }
        Field::Thing(number)
    }
    /// The content of a cell or payload word: a VAR word that leads to records is looked at as a record.
    fn slot(&mut self, slot: usize) -> Field {
        let content = read(slot);
        self.field(if content.tag() == Tag::Var { pointer(Tag::Ref, slot) } else { content })
    }
    /// The first of a list's records that counts (F8 of `collect`).
    fn record(&mut self, content: Word) -> Option<Field> {
        let content = crate::collect::first_waiting(content);
        (content != UNBOUND).then(|| self.field(pointer(Tag::Object, content.address())))
    }
    fn fields(&mut self, word: Word) -> Vec<Field> {
        let address = word.address();
        match word.tag() {
            Tag::Ref => self.record(read(address)).into_iter().collect(),
            Tag::Cons => vec![self.slot(address), self.slot(address + 8)],
            _ => {
                let header = read(address);
                let class = word::header_is_object(header).then(|| word::header_class(header));
                let tagged = class.map_or(usize::MAX, |class| self.worker.tagged_words[class.0 as usize]);
                let mut fields = vec![Field::Word(header.bits())];
                for i in 1..=word::header_words(header) {
                    let slot = address + 8 * i;
                    let link = matches!(class, Some(layout::SUSPENSION | layout::HOOK | layout::GENERATOR))
                        && i == 1;
                    if i > tagged {
                        fields.push(Field::Word(read(slot).bits()));
                    } else if link {
                        fields.extend(self.record(read(slot)));
                    } else {
                        fields.push(self.slot(slot));
                    }
                }
                fields
            }
        }
    }
}

pub(crate) struct Builder {
    pub(crate) node: Node,
    pool: Vec<Root>,
    pub(crate) goal: [PredicateId; 3],
    /// A predicate that awaits its only argument.
    #[cfg_attr(models, expect(dead_code, reason = "no model has such goals"))]
    pub(crate) awaiting: PredicateId,
    cell_class: ClassId,
}

impl Builder {
    fn new() -> Builder {
        Builder::with(1, None)
    }
    pub(crate) fn with(workers: usize, heap_bytes_max: Option<usize>) -> Builder {
        let native = |name: &'static str, modes: &'static str, daemon| Native {
            signature: Builtin {
                module: "main".into(),
                name: name.into(),
                modes: modes.into(),
                place: Place::Goal,
                daemon,
            },
            run: |_, _, _| Outcome::Done,
            process: None,
            seat: Seat::Any,
            walks: false,
        };
        let natives = vec![
            native("one", "a", false),
            native("three", "aaa", false),
            native("daemon", "a", true),
            native("awaiting", "i", false),
        ];
        let options = Options { heap_bytes_max, check_heap: true, ..Options::alone(workers) };
        let mut node = Node::new(options, Arc::default(), natives).expect("address space");
        let goal = [0, 1, 2].map(|i| node.builtins()[i].0);
        let awaiting = node.builtins()[3].0;
        let cell_class = node.add_class("cell", Contents::Tagged);
        let mut builder = Builder { node, pool: Vec::new(), goal, awaiting, cell_class };
        builder.add(Word::NIL);
        builder
    }
    fn add(&mut self, word: Word) {
        let root = self.node.worker().root(word);
        self.pool.push(root);
    }
    fn get(&mut self, index: u16) -> Word {
        let root = &self.pool[index as usize % self.pool.len()];
        self.node.worker().root_word(root)
    }
    /// A cell's content: a value, or a new variable, which is added too.
    fn cell(&mut self, slot: usize, choice: u16) {
        if choice.is_multiple_of(3) {
            write(slot, UNBOUND);
            self.add(pointer(Tag::Ref, slot));
        } else {
            let word = self.get(choice);
            write(slot, word);
        }
    }
    fn unbound(&mut self, index: u16) -> Option<Word> {
        (0..self.pool.len() as u16)
            .map(|i| self.get(index.wrapping_add(i)))
            .map(deref)
            .find(|w| w.tag() == Tag::Ref)
    }
    /// A cons with cells that `a` and `b` choose.
    fn cons_of(&mut self, a: u16, b: u16) -> Word {
        let address = self.node.worker().allocate(2);
        write(address, Word::NIL);
        write(address + 8, Word::NIL);
        self.cell(address, a);
        self.cell(address + 8, b);
        pointer(Tag::Cons, address)
    }
    /// The same for a structure.
    fn structure_of(&mut self, arity: usize, a: u16, b: u16) -> Word {
        let address = self.node.worker().allocate(1 + arity);
        write(address, word::functor_header(Atom(9), arity as u32));
        (1..=arity).for_each(|i| write(address + 8 * i, Word::NIL));
        for i in 1..=arity {
            self.cell(address + 8 * i, a.wrapping_mul(i as u16).wrapping_add(b));
        }
        pointer(Tag::Struct, address)
    }
    fn apply(&mut self, (op, a, b, c): (u8, u16, u16, u16)) {
        let (wa, wb, wc) = (self.get(a), self.get(b), self.get(c));
        let worker = self.node.worker();
        let new = match op {
            0 => worker.new_variable(),
            1..=4 => self.cons_of(a, b),
            5 | 6 => self.structure_of(usize::from(c % 5) + 1, a, b),
            7 => worker.float(f64::from(a) / 7.0),
            8 => worker.integer(&(BigInt::from(a) << (64 + u32::from(b % 300)))),
            9 => worker.string(&vec![a as u8; usize::from(b % 40)]),
            10 => worker.vector(&[wa, wb, wc]),
            11 => worker.vector(&vec![wa; 1100 + usize::from(b)]),
            12 => worker.object(self.cell_class, &[wa, wb]),
            13..=15 => return self.suspend(op, a, b, c),
            16 | 17 => {
                if let Some(variable) = self.unbound(a) {
                    let worker = self.node.worker();
                    worker.unify(variable, wb);
                    worker.push_resumed();
                }
                return;
            }
            18 => {
                let goal = self.goal[1];
                return worker.spawn(goal, &[wa, wb, wc]);
            }
            19 => {
                let goal = self.goal[0];
                return worker.spawn_at(i64::from(b % 3), goal, &[wa]);
            }
            20 => {
                let length = worker.vector_length(wa).unwrap_or(0);
                if length == 0 {
                    return;
                }
                worker.vector_update(wa, usize::from(b) % length, wc).expect("room")
            }
            21 => {
                if worker.class_of(wa) == Some(self.cell_class) {
                    worker.set_object_word(wa, usize::from(b) % 2, wc);
                }
                return;
            }
            22 => {
                let variable = worker.new_variable();
                let goal = self.goal[0];
                worker.set_generator(variable, goal, &[wa]);
                variable
            }
            23..=25 if self.pool.len() > 1 => {
                let root = self.pool.swap_remove(a as usize % self.pool.len());
                self.node.worker().take_root(root);
                return;
            }
            26 => {
                let string = worker.string(b"a string of some length");
                worker.string_update(string, usize::from(a) % 20, b as u8).expect("room")
            }
            27 => return (0..a % 4).for_each(|_| self.pop()),
            _ => return self.collect(a.is_multiple_of(4)),
        };
        self.add(new);
    }
    /// Takes the goal on top of the stack away, and the marks above it.
    fn pop(&mut self) {
        let worker = self.node.worker();
        loop {
            let top = worker.abi.goals as usize - 8;
            let goal = PredicateId::of_goal_word(read(top));
            if goal == BOTTOM {
                return;
            }
            worker.abi.goals = at(top - 8 * worker.predicates.arity(goal));
            if goal != worker.system_goals.mark {
                return;
            }
            worker.unmark_goals();
        }
    }
    fn suspend(&mut self, op: u8, a: u16, b: u16, c: u16) {
        let variables: Vec<Word> = [a, b, c].into_iter().filter_map(|i| self.unbound(i)).collect();
        if variables.is_empty() {
            return;
        }
        let count = variables.len().min(usize::from(op - 12));
        let goal = self.goal[usize::from(c) % 3];
        let args = [self.get(a), self.get(b), self.get(c)];
        let worker = self.node.worker();
        let arity = worker.predicates.arity(goal);
        worker.spawn(goal, &args[..arity]);
        worker.abi.pending[..count].copy_from_slice(&variables[..count]);
        worker.abi.pending_count = count;
        worker.suspend_top();
    }
    fn collect(&mut self, major: bool) {
        let worker = self.node.worker();
        worker.push_resumed();
        let before = Description::of(worker);
        let waiting = worker.waiting_goals().count();
        if major {
            worker.wanted.be_major();
        }
        self.node.collect(0);
        let worker = self.node.worker();
        assert_eq!(before, Description::of(worker));
        assert_eq!(waiting, worker.waiting_goals().count());
    }
}

fn operations() -> impl Strategy<Value = Vec<(u8, u16, u16, u16)>> {
    proptest::collection::vec((0u8..29, 0u16..500, 0u16..500, 0u16..500), 1..300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 3 } else { 1000 }, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..Default::default() })]
    #[test]
    fn collections_keep_the_graph(operations in operations()) {
        let mut builder = Builder::new();
        for operation in operations {
            builder.apply(operation);
        }
        for major in [false, false, true, false] {
            builder.collect(major);
        }
    }
}

#[test]
fn words_of_freed_large_objects_are_not_remembered() {
    let mut builder = Builder::new();
    let worker = builder.node.worker();
    let vector = worker.vector(&[Word::NIL; 2000]);
    let root = worker.root(vector);
    let item = worker.float(1.0);
    let vector = worker.vector_update(vector, 1000, item).expect("room");
    let slot = worker.object_word(vector, 0).address() + 8 * 1001;
    assert_eq!(worker.heap.remembered, [slot]);
    worker.take_root(root);
    builder.node.collect(0);
    let mut worker = builder.node.worker();
    assert_eq!(worker.heap.spaces.old_bytes(), 0);
    assert_eq!(worker.heap.remembered, []);
    // The object lives: its words are remembered until what they lead to is old.
    let vector = worker.vector(&[item; 2000]);
    let item = worker.float(2.0);
    let vector = worker.vector_update(vector, 1000, item).expect("room");
    let root = worker.root(vector);
    // The first of these two keeps young what survives once.
    for remembered in [true, false] {
        builder.node.collect(0);
        worker = builder.node.worker();
        assert_eq!(!worker.heap.remembered.is_empty(), remembered);
    }
    let vector = worker.take_root(root);
    assert_eq!(worker.float_value(worker.vector_element(vector, 1000)), Some(2.0));
}

#[test]
fn a_slot_that_is_written_often_is_remembered_once() {
    let mut builder = Builder::new();
    let mut worker = builder.node.worker();
    let mut vector = worker.vector(&[Word::NIL; 2000]);
    for _ in 0..20 {
        for _ in 0..3 {
            let variable = worker.new_variable();
            vector = worker.vector_update(vector, 1000, variable).expect("room");
        }
        let root = worker.root(vector);
        builder.node.collect(0);
        worker = builder.node.worker();
        vector = worker.take_root(root);
        // One word of the store, and perhaps those of the handle.
        assert!(worker.heap.remembered.len() < 4, "{}", worker.heap.remembered.len());
    }
}

#[test]
fn distant_versions_that_are_read_get_a_store() {
    let mut builder = Builder::new();
    let mut worker = builder.node.worker();
    let numbers = |from: i64| (from..from + 2000).map(Word::small).collect::<Vec<_>>();
    let oldest = worker.vector(&numbers(0));
    let (mut newest, mut middle) = (oldest, oldest);
    for i in 0..2000 {
        if i == 1000 {
            middle = newest;
        }
        newest = worker.vector_update(newest, i, Word::small(i as i64 + 7)).expect("room");
    }
    let roots = [oldest, middle, newest].map(|vector| worker.root(vector));
    for round in 0..3 {
        for root in &roots {
            let vector = worker.root_word(root);
            worker.settle(vector);
        }
        if round == 1 {
            worker.wanted.be_major();
        }
        builder.node.collect(0);
        worker = builder.node.worker();
    }
    let [oldest, middle, newest] = roots.map(|root| worker.take_root(root));
    assert_eq!(worker.vector_elements(oldest), Some(numbers(0)));
    let half = [&numbers(7)[..1000], &numbers(0)[1000..]].concat();
    assert_eq!(worker.vector_elements(middle), Some(half));
    assert_eq!(worker.vector_elements(newest), Some(numbers(7)));
    for version in [oldest, middle, newest] {
        assert_eq!(worker.object_word(version, 1), Word::small(-1), "it has a store");
    }
}

#[test]
fn builtins_may_fill_the_nursery_and_go_on_in_old_space() {
    let mut builder = Builder::new();
    let mut worker = builder.node.worker();
    let before = worker.float(0.5);
    worker.abi.heap = at(worker.heap.nursery_end() - 8);
    let cons = worker.cons(before, Word::NIL);
    assert!(!worker.heap.is_young(cons.address()));
    let variable = worker.new_variable();
    assert!(worker.heap.is_young(variable.address()));
    // The rest of the nursery was never written: the collector must not look at it.
    let root = worker.root(cons);
    for _ in 0..3 {
        builder.node.collect(0);
        worker = builder.node.worker();
    }
    let cons = worker.take_root(root);
    assert_eq!(worker.float_value(worker.arg(cons, 0)), Some(0.5));
}

#[test]
fn the_heap_limit_is_an_error_with_figures() {
    let mut builder = Builder::with(1, Some(4 << 20));
    let mut worker = builder.node.worker();
    worker.options.check_heap = false;
    let mut list = worker.root(Word::NIL);
    while !worker.ending.has_failed() {
        let tail = worker.take_root(list);
        let item = worker.new_variable();
        let tail = worker.cons(item, tail);
        list = worker.root(tail);
        if worker.abi.heap as usize > worker.attention.limit() {
            builder.node.collect(0);
            worker = builder.node.worker();
        }
        assert!(worker.heap.spaces.old_bytes() < 64 << 20);
    }
    let message = worker.ending.take_error().expect("the loop ended").message;
    assert!(message.starts_with("the heap limit of 4 MiB is reached: "), "{message}");
    assert!(worker.ensure(1 << 40).is_err() && worker.ensure(1).is_err());
}

/// What one worker is about to make is no room for another, whether it has been made or not.
#[test]
fn two_workers_are_not_promised_the_same_room() {
    const WORDS: usize = 60_000;
    let mut builder = Builder::with(2, Some(8 * WORDS * 3 / 2));
    let shared = builder.node.worker().shared.clone();
    let has_room = |worker: usize, words: usize| {
        shared.crew().with(worker, |worker| {
            worker.options.check_heap = false;
            worker.ensure(words).is_ok()
        })
    };
    assert!(has_room(0, WORDS) && !has_room(1, WORDS) && has_room(1, WORDS / 4));
    shared.crew().with(0, |worker| worker.vector_of_zeros(WORDS - 10));
    assert!(!has_room(1, WORDS) && !has_room(0, WORDS) && has_room(1, WORDS / 4));
    // A promise that is not kept ends with the next one.
    assert!(
        has_room(1, 1)
            && has_room(0, WORDS / 4)
            && !has_room(1, WORDS / 3)
            && has_room(0, 1)
            && has_room(1, WORDS / 3)
    );
    builder.node.collect(0);
    assert!(has_room(0, WORDS) && !has_room(1, WORDS));
}

/// Words of nursery that the lists of the following tests fill many times over.
const LONG: i64 = if cfg!(miri) { 2_000 } else { 10_000_000 };

#[test]
fn a_long_list_survives_and_is_contiguous() {
    let mut builder = Builder::new();
    builder.node.worker().options.check_heap = false;
    let mut worker = builder.node.worker();
    let mut list = Word::NIL;
    for i in 0..LONG {
        list = worker.cons(Word::small(i), list);
        if worker.abi.heap as usize > worker.attention.limit() {
            let root = worker.root(list);
            builder.node.collect(0);
            worker = builder.node.worker();
            list = worker.take_root(root);
        }
    }
    let root = worker.root(list);
    worker.wanted.be_major();
    builder.node.collect(0);
    worker = builder.node.worker();
    list = worker.take_root(root);
    let (mut expected, mut breaks) = (LONG, 0);
    while list.tag() == Tag::Cons {
        expected -= 1;
        assert_eq!(read(list.address()), Word::small(expected));
        let next = read(list.address() + 8);
        breaks += usize::from(next.address() != list.address() + 16);
        list = next;
    }
    assert_eq!((expected, list), (0, Word::NIL));
    assert!(breaks <= LONG as usize * 16 / crate::memory::tuning::BLOCK_BYTES + 2, "{breaks} breaks");
}

/// Where nothing but builtins and helpers allocates, the heap pointer never passes the limit of such a nursery.
#[test]
fn the_largest_nursery_is_collected_when_it_is_full() {
    let mut builder = Builder::with(1, None);
    let worker = builder.node.worker();
    let largest = crate::memory::tuning::NURSERY_RANGE;
    worker.empty_nursery(largest, largest);
    worker.abi.heap = at(worker.heap.nursery_end() - 16);
    let last = worker.cons(Word::NIL, Word::NIL);
    assert!(worker.heap.nursery_of(last.address()).is_some() && !worker.wanted.is_soon());
    let next = worker.cons(Word::NIL, Word::NIL);
    assert!(worker.heap.nursery_of(next.address()).is_none() && worker.wanted.is_soon());
}

#[test]
fn a_deep_term_is_collected_unified_and_compared_without_recursion() {
    let mut builder = Builder::new();
    builder.node.worker().options.check_heap = false;
    let mut worker = builder.node.worker();
    let mut terms = [Word::NIL; 2];
    // Two terms, and each is walked through three times.
    for _ in 0..LONG / 2 {
        for term in &mut terms {
            *term = worker.structure(Atom(3), &[*term]);
        }
    }
    let roots = terms.map(|term| worker.root(term));
    builder.node.collect(0);
    builder.node.collect(0);
    worker = builder.node.worker();
    let [a, b] = roots.map(|root| worker.take_root(root));
    assert!(matches!(worker.equal_terms(a, b), crate::worker::native::Outcome::Done));
    assert!(matches!(worker.compare_terms(a, b), Ok(0)));
    worker.unify(a, b);
    assert!(!worker.ending.has_failed());
}
