//! A worker without a runtime: helpers in Rust that do the simplest right thing and keep a log.

use codegen::{LoadedCode, Options, generate, load};
use compiler::ir::{At, BlockId, Component, Entry, GoalCall, Operand, Predicate, Program, Reg};
use std::cell::{Cell, RefCell};
use std::marker::PhantomPinned;
use std::sync::atomic::AtomicUsize;

use term::abi::{
    Builtin, GOAL_SLACK_WORDS, Helpers, OPERANDS_MAX, Position, PredicateId, REGISTERS_MAX, SLACK_WORDS,
    SPENT_ARITIES, Two, WorkerAbi, private_place,
};
use term::word::{Tag, UNBOUND, Word};

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// What the next helper that answers a word answers.
    static ANSWER: Cell<Word> = const { Cell::new(Word::small(0)) };
    /// What the last helper that may report an error was told.
    static POSITION: Cell<Position> = const { Cell::new(Position::NONE) };
    /// The weight of pieces, instead of what options say.
    pub(crate) static PIECE_WEIGHT: Cell<Option<u32>> = const { Cell::new(None) };
}

pub(crate) fn say(text: String) {
    LOG.with_borrow_mut(|log| log.push(text));
}
/// The place in the text of all operations in these tests that have one.
pub(crate) const AT: At = At::Line(Position::new(PredicateId(FIRST), 77));
pub(crate) fn position() -> Position {
    POSITION.get()
}
pub(crate) fn answer_with(word: Word) {
    ANSWER.set(word);
}
/// Native predicates of these programs: the goal that ends a run.
pub(crate) const STOP: PredicateId = PredicateId(0);
/// Builtins begin at 1, the programs' predicates here.
pub(crate) const FIRST: u32 = 20;
pub(crate) const HEAP_WORDS: usize = 1 << 21;

pub(crate) struct Machine {
    pub(crate) worker: Box<WorkerAbi>,
    _heap: Vec<u64>,
    pub(crate) goals: Vec<u64>,
    _entries: Vec<usize>,
    _constants: Vec<Word>,
    _registers: Vec<u64>,
    code: LoadedCode,
}

unsafe extern "C" fn unify(worker: *mut WorkerAbi, a: Word, b: Word, at: Position) {
    POSITION.set(at);
    say(format!("unify {a:?} {b:?}").split('@').next().unwrap_or("").to_string());
    // SAFETY: the words come from the machine's own heap.
    unsafe {
        assert!(!(*worker).heap.is_null());
        let a = deref(a);
        if a.tag() == Tag::Ref {
            *(a.address() as *mut Word) = b;
        }
    }
}
unsafe extern "C" fn remember(_: *mut WorkerAbi, address: usize) {
    assert!(address.is_multiple_of(8));
    say("remember".into());
}
unsafe extern "C" fn arith(_: *mut WorkerAbi, op: u64, a: Word, b: Word, at: Position) -> Word {
    POSITION.set(at);
    say(format!("arith {op} {:?} {:?}", a.tag(), b.tag()));
    ANSWER.get()
}
unsafe extern "C" fn guard_arith(_: *mut WorkerAbi, op: u64, a: Word, b: Word) -> Word {
    say(format!("guard_arith {op} {:?} {:?}", a.tag(), b.tag()));
    ANSWER.get()
}
unsafe extern "C" fn compare(_: *mut WorkerAbi, cond: u64, a: Word, b: Word) -> Word {
    say(format!("compare {cond} {:?} {:?}", a.tag(), b.tag()));
    ANSWER.get()
}
unsafe extern "C" fn equal(_: *mut WorkerAbi, a: Word, b: Word) -> Word {
    say(format!("equal {:?} {:?}", a.tag(), b.tag()));
    ANSWER.get()
}
unsafe extern "C" fn guard(worker: *mut WorkerAbi, predicate: u64) -> Word {
    // SAFETY: the worker is the machine's.
    unsafe {
        say(format!("guard {predicate} {:?}", (*worker).operands[0]));
        (*worker).operands[0] = Word::small(77);
    }
    ANSWER.get()
}
unsafe extern "C" fn builtin(worker: *mut WorkerAbi, predicate: u64, at: Position) {
    POSITION.set(at);
    // SAFETY: as above.
    unsafe {
        say(format!("builtin {predicate} {:?}", (*worker).operands[0].tag()));
        (*worker).operands[0] = Word::small(88);
        (*worker).heap = (*worker).heap.add(2);
    }
}
/// A builtin whose other outputs are 78 and 79, and which takes two words of the heap.
fn answer_in_registers(worker: *mut WorkerAbi, text: String, first: Word) -> Two {
    say(text);
    // SAFETY: the worker is the machine's.
    unsafe {
        (*worker).operands[1] = Word::small(78);
        (*worker).operands[2] = Word::small(79);
        (*worker).heap = (*worker).heap.add(2);
    }
    Two(first, Word::small(77))
}
unsafe extern "C" fn guard_1(worker: *mut WorkerAbi, predicate: u64, a: Word) -> Two {
    answer_in_registers(worker, format!("guard {predicate} {a:?}"), ANSWER.get())
}
unsafe extern "C" fn guard_2(worker: *mut WorkerAbi, predicate: u64, a: Word, b: Word) -> Two {
    answer_in_registers(worker, format!("guard {predicate} {a:?} {b:?}"), ANSWER.get())
}
unsafe extern "C" fn guard_3(worker: *mut WorkerAbi, predicate: u64, a: Word, b: Word, c: Word) -> Two {
    answer_in_registers(worker, format!("guard {predicate} {a:?} {b:?} {c:?}"), ANSWER.get())
}
unsafe extern "C" fn builtin_1(worker: *mut WorkerAbi, predicate: u64, at: Position, a: Word) -> Two {
    POSITION.set(at);
    answer_in_registers(worker, format!("builtin {predicate} {:?}", a.tag()), Word::small(88))
}
unsafe extern "C" fn builtin_2(
    worker: *mut WorkerAbi,
    predicate: u64,
    at: Position,
    a: Word,
    b: Word,
) -> Two {
    POSITION.set(at);
    answer_in_registers(worker, format!("builtin {predicate} {a:?} {b:?}"), Word::small(88))
}
unsafe extern "C" fn builtin_3(
    worker: *mut WorkerAbi,
    predicate: u64,
    at: Position,
    a: Word,
    b: Word,
    c: Word,
) -> Two {
    POSITION.set(at);
    answer_in_registers(worker, format!("builtin {predicate} {a:?} {b:?} {c:?}"), Word::small(88))
}
unsafe extern "C" fn pend(_: *mut WorkerAbi, variable: Word, bytes: usize) {
    say(format!("pend {:?} {}", variable.tag(), bytes / 8));
}
unsafe extern "C" fn native(_: *mut WorkerAbi) -> bool {
    false
}
unsafe extern "C" fn attend(worker: *mut WorkerAbi) -> bool {
    // SAFETY: as above.
    unsafe { std::mem::take(&mut (*worker).resumed) != 0 }
}
unsafe extern "C" fn suspend(worker: *mut WorkerAbi) {
    // SAFETY: as above; the goal on top has one argument in these programs unless it is STOP.
    unsafe {
        say(format!("suspend {} {:?}", (*worker).pending_count, (*worker).pending[0].tag()));
        let goal = (*worker).goals.sub(1).read();
        let arity = ARITIES.with_borrow(|arities| arities[(goal.as_int() as u32 - FIRST) as usize]);
        (*worker).goals = (*worker).goals.sub(1 + arity as usize);
        (*worker).pending_count = 0;
    }
}
unsafe extern "C" fn move_to_priority(_: *mut WorkerAbi, how: u64, value: Word) {
    say(format!("priority {how} {value:?}"));
}
unsafe extern "C" fn move_to_node(worker: *mut WorkerAbi, value: Word) {
    say(format!("node {value:?}"));
    if value == Word::small(-1) {
        // SAFETY: the goal on top has no arguments in the test that says -1.
        unsafe { (*worker).goals = (*worker).goals.sub(1) };
    }
}
unsafe extern "C" fn move_to_place(_: *mut WorkerAbi, node: Word, how: u64, value: Word) {
    say(format!("node {node:?} priority {how} {value:?}"));
}
unsafe extern "C" fn grow_goals(worker: *mut WorkerAbi) {
    say("grow".into());
    // SAFETY: as above; the machine's stack is large enough for every test.
    unsafe { (*worker).goals_limit = usize::MAX };
}

thread_local! {
    static ARITIES: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

/// Follows references.
pub(crate) unsafe fn deref(mut word: Word) -> Word {
    while word.tag() == Tag::Ref {
        // SAFETY: the caller's words come from a live machine.
        let content = unsafe { *(word.address() as *const Word) };
        if content.tag() == Tag::Var {
            break;
        }
        word = content;
    }
    word
}

pub(crate) fn builtins() -> Vec<Builtin> {
    let builtin = |name: &'static str, modes: &'static str, place| Builtin {
        module: "builtin".into(),
        name: name.into(),
        modes: modes.into(),
        place,
        daemon: false,
    };
    use term::abi::Place::{Body, Guard};
    vec![
        builtin("vector_element", "iio", Guard),
        builtin("set_vector_element", "iioao", Body),
        builtin("strange", "io", Body),
        builtin("vector", "io", Guard),
        builtin("string_element", "iio", Guard),
        builtin("vector_element", "iio", Body),
        builtin("set_vector_element", "iiao", Body),
        builtin("equal_terms", "aa", Guard),
        builtin("two_inputs", "iaooo", Guard),
        builtin("three_inputs", "iia", Guard),
        builtin("two_inputs", "iio", Body),
        builtin("three_inputs", "oiiaoo", Body),
        builtin("four_inputs", "iiiio", Body),
    ]
}

/// What a runtime has in its place.
const HELPERS: Helpers = Helpers {
    unify,
    remember,
    arith,
    guard_arith,
    compare,
    equal,
    guard,
    guard_1,
    guard_2,
    guard_3,
    builtin,
    builtin_1,
    builtin_2,
    builtin_3,
    attend,
    native,
    suspend,
    move_to_priority,
    move_to_node,
    move_to_place,
    grow_goals,
    pend,
};

impl Machine {
    pub(crate) fn new(components: Vec<Component>, options: &Options) -> Machine {
        let mut arities: Vec<_> = components
            .iter()
            .flat_map(|c| &c.entries)
            .map(|e| (e.predicate, e.parameters.len() as u32))
            .collect();
        arities.sort();
        ARITIES.set(arities.iter().map(|entry| entry.1).collect());
        LOG.take();
        POSITION.set(Position::NONE);
        let program = program(components);
        let piece_weight = PIECE_WEIGHT.get().unwrap_or(options.piece_weight);
        let image = generate(&program, &builtins(), &Options { piece_weight, ..*options })
            .expect("these programs are small");
        let placed = Options { piece_weight, places: true, ..*options };
        let placed = generate(&program, &builtins(), &placed).expect("these programs are small");
        // Code is the same whether its places are wanted or not.
        assert!(placed.code == image.code && image.places.is_empty() && !placed.places.is_empty());
        assert!(placed.places.is_sorted_by_key(|place| place.offset));
        assert!(placed.places.iter().all(|place| (place.offset as usize) < image.code.len()));
        let image = codegen::Image::from_bytes(&image.to_bytes()).expect("made just now");
        let code = load(&image).expect("memory for code");
        let mut entries = vec![code.native_entry(); FIRST as usize + arities.len()];
        for (id, address) in code.entries() {
            entries[id.0 as usize] = address;
            assert_eq!(code.entry_address(id), Some(address));
        }
        let mut heap = vec![0x5555u64; HEAP_WORDS];
        let mut goals = vec![0u64; 1 << 16];
        let base = heap.as_mut_ptr();
        let constants = vec![Word::small(111), Word::NIL];
        let mut registers = vec![0x5555u64; REGISTERS_MAX];
        let worker = Box::new(WorkerAbi {
            limit: AtomicUsize::new(base as usize + 8 * (HEAP_WORDS - SLACK_WORDS)),
            goals_limit: goals.as_ptr() as usize + 8 * (goals.len() - GOAL_SLACK_WORDS),
            entries: entries.as_ptr(),
            constants: constants.as_ptr(),
            private_base: private_place(base as usize + Tag::Ref as usize),
            heap: base.cast(),
            goals: goals.as_mut_ptr().cast(),
            resumed: 0,
            resumed_at: 0,
            suspensions: 0,
            reused: 0,
            spent: [0; SPENT_ARITIES],
            need: 0,
            reductions: 0,
            reductions_limit: u64::MAX,
            priority: 0,
            pending_count: 0,
            pending: [Word::small(0); OPERANDS_MAX],
            operands: [Word::small(0); OPERANDS_MAX],
            helpers: HELPERS,
            more_wanted: false,
            limit_after: 0,
            woken: std::ptr::null(),
            poked: std::ptr::null(),
            turn_left: 0,
            made_ready: 0,
            first_compiled: PredicateId(FIRST).goal_word(),
            registers: registers.as_mut_ptr().cast(),
            pinned: PhantomPinned,
        });
        Machine {
            worker,
            _heap: heap,
            goals,
            _entries: entries,
            _constants: constants,
            _registers: registers,
            code,
        }
    }

    pub(crate) fn push(&mut self, predicate: u32, arguments: &[Word]) {
        for &word in arguments.iter().chain([&PredicateId(predicate).goal_word()]) {
            // SAFETY: tests push a few words only.
            unsafe {
                *self.worker.goals = word;
                self.worker.goals = self.worker.goals.add(1);
            }
        }
    }
    /// Words from the allocation pointer on.
    pub(crate) fn build(&mut self, words: &[Word]) -> usize {
        let at = self.worker.heap as usize;
        for &word in words {
            // SAFETY: tests build a few words only.
            unsafe {
                *self.worker.heap = word;
                self.worker.heap = self.worker.heap.add(1);
            }
        }
        at
    }
    pub(crate) fn variable(&mut self) -> Word {
        pointer(Tag::Ref, self.build(&[UNBOUND]))
    }
    pub(crate) fn list(&mut self, items: &[i64]) -> Word {
        let mut list = Word::NIL;
        for &item in items.iter().rev() {
            list = pointer(Tag::Cons, self.build(&[Word::small(item), list]));
        }
        list
    }
    /// Runs what is on the goal stack; the status.
    pub(crate) fn run(&mut self) -> u64 {
        // SAFETY: the goal stack is not empty.
        let goal = unsafe { self.worker.goals.sub(1).read() };
        let entry = self._entries[goal.as_int() as usize];
        let enter = self.code.enter();
        // SAFETY: the worker is as the ABI wants it: see `new`.
        unsafe { enter(&mut *self.worker, entry) }
    }
    /// Pushes STOP below the goal and runs it to the end.
    pub(crate) fn solve(&mut self, predicate: u32, arguments: &[Word]) -> u64 {
        self.push(STOP.0, &[]);
        self.push(predicate, arguments);
        self.run()
    }
    pub(crate) fn log(&self) -> Vec<String> {
        LOG.take()
    }
    /// Words on the goal stack.
    pub(crate) fn depth(&self) -> usize {
        (self.worker.goals as usize - self.goals.as_ptr() as usize) / 8
    }
    pub(crate) fn value(&self, word: Word) -> Word {
        // SAFETY: the word comes from this machine.
        unsafe { deref(word) }
    }
    pub(crate) fn words(&self, word: Word, count: usize) -> Vec<Word> {
        // SAFETY: the word leads to that many words of this machine's heap.
        (0..count).map(|index| unsafe { *(word.address() as *const Word).add(index) }).collect()
    }
    /// Changes the word so far behind what a word leads to.
    pub(crate) fn set_word(&mut self, word: Word, index: usize, value: Word) {
        // SAFETY: it leads to more words of this machine's heap.
        unsafe { *(word.address() as *mut Word).add(index) = value }
    }
    pub(crate) fn items(&self, list: Word) -> Vec<i64> {
        let mut items = Vec::new();
        let mut list = self.value(list);
        while list.tag() == Tag::Cons {
            let cell = self.words(list, 2);
            items.push(self.value(cell[0]).as_int());
            list = self.value(cell[1]);
        }
        assert_eq!(list, Word::NIL);
        items
    }
}

/// The word of these bits: of a payload, or of a word that was read as a number.
pub(crate) fn bits(bits: u64) -> Word {
    // SAFETY: W5 of `word` - tests follow words of a machine's heap only.
    unsafe { Word::from_bits(bits) }
}
/// The word that leads to what a test has built there.
pub(crate) fn pointer(tag: Tag, address: usize) -> Word {
    // SAFETY: W5 of `word` - tests give what they have built in a machine's heap, which lives as long as it is used.
    unsafe { Word::pointer(tag, address) }
}

pub(crate) fn program(components: Vec<Component>) -> Program {
    let predicates = components.iter().flat_map(|c| &c.entries).map(|entry| Predicate {
        id: entry.predicate,
        module: term::symbol::MAIN,
        name: term::symbol::MAIN,
        arity: entry.parameters.len() as u32,
        file: String::new(),
        line: 1,
        daemon: false,
        auxiliary: false,
        awaits: 0,
        reads: 0,
    });
    Program { first_constant: 0, constants: Vec::new(), predicates: predicates.collect(), components }
}

pub(crate) const fn r(number: u32) -> Reg {
    Reg(number)
}
pub(crate) const fn v(number: u32) -> Operand {
    Operand::Reg(Reg(number))
}
pub(crate) const fn block(number: u32) -> BlockId {
    BlockId(number)
}
pub(crate) fn goal(predicate: u32, arguments: &[Operand]) -> GoalCall {
    GoalCall { predicate: PredicateId(predicate), arguments: arguments.to_vec() }
}
pub(crate) fn entry(predicate: u32, arity: u32, start: u32) -> Entry {
    Entry {
        predicate: PredicateId(predicate),
        parameters: (0..arity).map(Reg).collect(),
        block: BlockId(start),
    }
}
