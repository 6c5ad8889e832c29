//! The terms of a node, for other crates: what they do with terms goes through here, and can do no harm.
//!
//! Inside this crate a word is good until the next collection, and whoever holds it knows that (R3 of `worker`, M5 of
//! `ranges`). Outside nobody has a word. There is [`Term`], which is a word that the compiler knows to be good.
//!
//! Invariants:
//! - Q1 A `Term<'t>` comes from a [`Terms<'t>`], which borrows its node, or is lent to a builtin for one call. A node
//!   that is borrowed has no turn, and while a builtin runs nothing is collected (R3 of `worker`). So it is good for
//!   `'t`, and what is to live longer is a [`Root`].
//! - Q2 A term that goes into a heap, or is followed, is an immediate or leads into that heap or the node's constants:
//!   a program may have several nodes side by side. One of another node is a panic ([`Terms::own`]).
//! - Q3 What is made here is what collector and builtins expect: goals have as many arguments as their predicates, and
//!   none is the runtime's own affair; objects are of the classes that have constructors; only the first worker has
//!   terms of other nodes.
//! - Q4 A `Terms` cannot be exchanged for a worker of another node, as a `&mut Worker` could: workers stay where they
//!   are, because generated code, wakers and the team know their addresses.
//! - Q5 The code of another crate's builtin is a value without size, and [`Native::new`] was given one.

use crate::builtins;
use crate::builtins::io::Sink;
use crate::builtins::io::events::{self, Rouser};
use crate::coordination::waker::Waker;
use crate::node::Node;
use crate::node::sources::{Both, MoreEvents};
use crate::reports::outcome::ProgramError;
use crate::reports::statistics::Collection;
use crate::terms::naming::Naming;
use crate::terms::{View, deref};
use crate::worker::native::{Native, Outcome, Seat};
use crate::worker::program::Predicates;
use crate::worker::{Kept, Options, PRIORITY_MAX, Root, Worker};
use num_bigint::BigInt;
use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;
use term::abi::PredicateId;
use term::layout::ClassId;
use term::symbol::{Atom, AtomTable};
use term::word::Tag;
use term::{Word, abi};

/// A term of a node, good for `'t` (Q1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Term<'t> {
    word: Word,
    good: PhantomData<&'t ()>,
}

impl Term<'_> {
    /// The empty list.
    pub const NIL: Term<'static> = Term::of(Word::NIL);

    /// Of a word that is good for as long.
    const fn of(word: Word) -> Self {
        Term { word, good: PhantomData }
    }
    /// A small integer. Panics if it has more than 61 bits.
    pub fn small(value: i64) -> Self {
        Term::of(Word::int(value).expect("a small integer has 61 bits at most"))
    }
    /// The atom with this number.
    pub const fn atom(atom: Atom) -> Self {
        Term::of(Word::atom(atom))
    }
}

/// The terms of a node, while it stands still, or while one of its workers runs a builtin.
pub struct Terms<'t> {
    pub(super) worker: &'t mut Worker,
}

/// What a builtin answers, and what it waits for.
pub type Answer<'t> = Outcome<Term<'t>>;

/// The code of a builtin that another crate has: inputs (modes `i` and `a`, in order), outputs (mode `o`, in order;
/// those that it does not set are 0).
pub trait Code:
    for<'t> Fn(&mut Terms<'t>, &[Term<'t>], &mut [Term<'t>]) -> Answer<'t> + Copy + Send + Sync + 'static
{
}

impl<F> Code for F where
    F: for<'t> Fn(&mut Terms<'t>, &[Term<'t>], &mut [Term<'t>]) -> Answer<'t> + Copy + Send + Sync + 'static
{
}

impl Native {
    /// A builtin with its code, which is a function or closes over nothing. `walks`: it follows a list that it waits
    /// for to the end.
    pub fn new<F: Code>(signature: abi::Builtin, seat: Seat, walks: bool, _: F) -> Native {
        const { assert!(size_of::<F>() == 0, "the code of a builtin closes over nothing") };
        Native { signature, run: call::<F>, process: None, seat, walks }
    }
}

/// Calls the code of a builtin that another crate has.
fn call<F: Code>(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    // SAFETY: Q5 - a value without size is read from any aligned address, and there may be any number of a `Copy` type.
    let code: F = unsafe { std::ptr::dangling::<F>().read() };
    // SAFETY: Q1 - a `Term` is a `Word` (`repr(transparent)`), and these are good until the call returns.
    let inputs = unsafe { std::slice::from_raw_parts(inputs.as_ptr().cast::<Term<'_>>(), inputs.len()) };
    // SAFETY: Q1 - as above; nobody else has the slice meanwhile, and what is in it are values (small integers, at
    // first).
    let made =
        unsafe { std::slice::from_raw_parts_mut(outputs.as_mut_ptr().cast::<Term<'_>>(), outputs.len()) };
    let this: *const Worker = worker;
    let mut terms = Terms { worker };
    let answer = code(&mut terms, inputs, made);
    assert!(std::ptr::eq(terms.worker, this), "a builtin leaves the terms that it was lent");
    made.iter().for_each(|&term| _ = terms.own(term));
    match answer {
        Outcome::Done => Outcome::Done,
        Outcome::No => Outcome::No,
        Outcome::Error(error) => Outcome::Error(error),
        Outcome::Wait(variable) => {
            let variable = terms.own(variable);
            assert!(variable.tag() == Tag::Ref, "a builtin waits for variables only");
            Outcome::Wait(variable)
        }
    }
}

/// What it has of the node, beside terms.
impl<'t> Terms<'t> {
    pub(crate) fn new(worker: &'t mut Worker) -> Terms<'t> {
        Terms { worker }
    }
    /// Texts of atoms.
    pub fn atoms(&self) -> &Arc<AtomTable> {
        &self.worker.atoms
    }
    /// All predicates.
    pub fn predicates(&self) -> &Arc<Predicates> {
        &self.worker.predicates
    }
    /// In the code of a builtin of [`Seat::Noted`]: which predicate it is called for.
    pub fn called(&self) -> PredicateId {
        self.worker.goals.called
    }
    /// What the node was made with.
    pub fn options(&self) -> &Options {
        &self.worker.options
    }
    /// The atom with this text.
    pub fn intern(&mut self, text: &str) -> Atom {
        self.worker.intern(text)
    }
    /// Whether `words` more words may be allocated at once; the error says why not. Builtins ask before they make an
    /// object whose size a program chooses. Nobody else is promised the same room.
    pub fn ensure(&mut self, words: usize) -> Result<(), Box<ProgramError>> {
        self.worker.ensure(words)
    }
    /// The heap limit, in bytes.
    pub fn heap_limit(&self) -> usize {
        self.worker.heap_limit()
    }
    /// Bytes that are left until the heap limit is reached.
    pub fn room(&self) -> usize {
        self.worker.room()
    }
    /// Whether the first worker has goals that are ready.
    pub fn has_ready(&self) -> bool {
        self.worker.has_ready()
    }
    /// Bytes of the heap, and of what is kept beside it, that are in use.
    pub fn bytes_in_use(&self) -> usize {
        self.worker.bytes_in_use()
    }
    /// Whether a long stretch of a builtin that keeps this number of bytes outside the heap may go on.
    pub fn may_go_on(&self, bytes: usize) -> Result<(), Box<ProgramError>> {
        self.worker.may_go_on(bytes)
    }
    /// Makes the next collection a major one, and soon.
    pub fn collect_soon(&mut self) {
        self.worker.collect_soon();
    }
    /// Counts bytes that a builtin is going to keep outside the heap; it asks [`Terms::ensure`] first.
    pub fn keep(&self, bytes: usize) -> Kept {
        self.worker.keep(bytes)
    }
    /// Asks the program to end with this exit status: no further goal is reduced.
    pub fn exit(&mut self, status: i32) {
        self.worker.exit(status);
    }
    /// The program is in error, and ends.
    pub fn end_with(&mut self, error: Box<ProgramError>) {
        self.worker.end_with(error);
    }
    /// The state of a group of builtins (one value per type and worker), made when it is first asked for.
    pub fn state<T: Any + Default + Send>(&mut self) -> &mut T {
        self.worker.state()
    }
    /// Writes out everything that the program has written and is buffered, waiting as long as it takes.
    pub fn flush(&mut self) -> Result<(), Box<ProgramError>> {
        builtins::io::flush(self.worker)
    }
    /// The word of a term that is this node's (Q2).
    #[inline]
    pub(super) fn own(&self, term: Term<'t>) -> Word {
        let word = term.word;
        assert!(word.is_immediate() || self.worker.owns(word.address()), "a term of another node");
        word
    }
    /// Of a word that this worker has made or found just now.
    #[inline]
    pub(super) fn term(&self, word: Word) -> Term<'t> {
        Term::of(word)
    }
    fn words(&self, terms: &[Term<'t>]) -> Vec<Word> {
        terms.iter().map(|&term| self.own(term)).collect()
    }
}

/// What keeps terms, and what goals do with them.
impl<'t> Terms<'t> {
    /// Keeps a term alive until [`Terms::take_root`].
    /// Whoever keeps one waits for something outside, so the scheduler looks at its events soon.
    pub fn root(&mut self, term: Term<'t>) -> Root {
        let word = self.own(term);
        self.worker.root(word)
    }
    /// The term of a root.
    pub fn root_term(&self, root: &Root) -> Term<'t> {
        self.term(self.worker.root_word(root))
    }
    /// Replaces the term of a root.
    pub fn set_root(&mut self, root: &Root, term: Term<'t>) {
        let word = self.own(term);
        self.worker.set_root(root, word);
    }
    /// The term of a root, which ends.
    pub fn take_root(&mut self, root: Root) -> Term<'t> {
        let word = self.worker.take_root(root);
        self.term(word)
    }
    /// Makes two terms equal, as `A = B` in a body does that belongs to no shoen.
    pub fn unify(&mut self, a: Term<'t>, b: Term<'t>) {
        let (a, b) = (self.own(a), self.own(b));
        self.worker.outside(|worker| worker.unify(a, b));
    }
    /// Makes a goal of the running priority ready. False if there is no such predicate with this number of arguments
    /// that a program may call.
    pub fn spawn(&mut self, predicate: PredicateId, args: &[Term<'t>]) -> bool {
        self.spawn_at(self.worker.priority(), predicate, args)
    }
    /// The same for a goal of another priority. It belongs to no shoen.
    pub fn spawn_at(&mut self, priority: i64, predicate: PredicateId, args: &[Term<'t>]) -> bool {
        let may = self.worker.may_be_called(predicate, args.len());
        if may {
            let args = self.words(args);
            self.worker.spawn_at_lane(priority.clamp(0, PRIORITY_MAX), predicate, &args);
        }
        may
    }
    /// Goals of this predicate are reduced here: the program has placed one.
    pub fn place_here(&mut self, predicate: PredicateId) {
        self.worker.place_here(predicate);
    }
    /// Whether goals of a predicate are the runtime's own affair: they hold what is no term.
    pub fn is_inner_predicate(&self, predicate: PredicateId) -> bool {
        self.worker.is_inner_predicate(predicate)
    }
}

/// What makes terms.
impl<'t> Terms<'t> {
    /// An integer of any size.
    pub fn integer(&mut self, value: &BigInt) -> Term<'t> {
        let word = self.worker.integer(value);
        self.term(word)
    }
    /// An integer that may exceed a word's 61 bits.
    pub fn int(&mut self, value: i64) -> Term<'t> {
        let word = self.worker.int(value);
        self.term(word)
    }
    /// A float.
    pub fn float(&mut self, value: f64) -> Term<'t> {
        let word = self.worker.float(value);
        self.term(word)
    }
    /// `[car|cdr]`.
    pub fn cons(&mut self, car: Term<'t>, cdr: Term<'t>) -> Term<'t> {
        let (car, cdr) = (self.own(car), self.own(cdr));
        let word = self.worker.cons(car, cdr);
        self.term(word)
    }
    /// A list of `items` that ends with `tail`.
    pub fn list(&mut self, items: &[Term<'t>], tail: Term<'t>) -> Term<'t> {
        items.iter().rev().fold(tail, |tail, &item| self.cons(item, tail))
    }
    /// A structure (a cons for `'.'/2`, an atom without arguments). Panics if it has more than
    /// [`STRUCT_ARITY_MAX`](term::word::STRUCT_ARITY_MAX) arguments.
    pub fn structure(&mut self, name: Atom, args: &[Term<'t>]) -> Term<'t> {
        assert!(args.len() <= term::word::STRUCT_ARITY_MAX as usize, "a structure of too many arguments");
        let args = self.words(args);
        let word = self.worker.structure(name, &args);
        self.term(word)
    }
    /// A new variable.
    pub fn new_variable(&mut self) -> Term<'t> {
        let word = self.worker.new_variable();
        self.term(word)
    }
    /// A vector.
    pub fn vector(&mut self, elements: &[Term<'t>]) -> Term<'t> {
        let elements = self.words(elements);
        let word = self.worker.vector(&elements);
        self.term(word)
    }
    /// A string.
    pub fn string(&mut self, bytes: &[u8]) -> Term<'t> {
        let word = self.worker.string(bytes);
        self.term(word)
    }
    /// A predicate object.
    pub fn predicate_object(&mut self, predicate: PredicateId) -> Term<'t> {
        let word = self.worker.predicate_object(predicate);
        self.term(word)
    }
    /// A module object.
    pub fn module_object(&mut self, name: Atom) -> Term<'t> {
        let word = self.worker.module_object(name);
        self.term(word)
    }
}

/// What reads terms.
impl<'t> Terms<'t> {
    /// Follows references: a value, or an unbound variable.
    #[inline]
    pub fn deref(&self, term: Term<'t>) -> Term<'t> {
        self.term(deref(self.own(term)))
    }
    /// What a term is.
    #[inline]
    pub fn view(&self, term: Term<'t>) -> View<Term<'t>> {
        match self.worker.view(self.own(term)) {
            View::Unbound(variable) => View::Unbound(self.term(variable)),
            View::Int(value) => View::Int(value),
            View::Atom(atom) => View::Atom(atom),
            View::Cons(car, cdr) => View::Cons(self.term(car), self.term(cdr)),
            View::Struct(name, arity) => View::Struct(name, arity),
            View::Object(class) => View::Object(class),
        }
    }
    /// Whether a term is an unbound variable.
    pub fn is_variable(&self, term: Term<'t>) -> bool {
        self.deref(term).word.tag() == Tag::Ref
    }
    /// The class of an object; `None` for anything else.
    pub fn class_of(&self, term: Term<'t>) -> Option<ClassId> {
        self.worker.class_of(self.own(term))
    }
    /// Argument `index` (from 0) of a structure or cons. Panics if it has none such.
    pub fn arg(&self, term: Term<'t>, index: usize) -> Term<'t> {
        self.term(self.worker.arg(self.own(term), index))
    }
    /// The value of an integer term of any size; `None` for anything else.
    pub fn big(&self, term: Term<'t>) -> Option<BigInt> {
        self.worker.big(self.own(term))
    }
    /// The value of an integer term if it fits an `i64`.
    pub fn small(&self, term: Term<'t>) -> Option<i64> {
        self.worker.small(self.own(term))
    }
    /// The value of a float; `None` for anything else.
    pub fn float_value(&self, term: Term<'t>) -> Option<f64> {
        self.worker.float_value(self.own(term))
    }
    /// The predicate of a predicate object.
    pub fn predicate_value(&self, term: Term<'t>) -> Option<PredicateId> {
        self.worker.predicate_value(self.own(term))
    }
    /// The name in a module object.
    pub fn module_value(&self, term: Term<'t>) -> Option<Atom> {
        self.worker.module_value(self.own(term))
    }
    /// Number of elements of a vector; `None` for anything else.
    pub fn vector_length(&self, term: Term<'t>) -> Option<usize> {
        self.worker.vector_length(self.own(term))
    }
    /// Element `index` of a vector, in whatever version. Panics if it is not a vector or has no such element.
    pub fn vector_element(&self, term: Term<'t>, index: usize) -> Term<'t> {
        self.term(self.worker.vector_element(self.own(term), index))
    }
    /// All elements of a vector; `None` for anything else.
    pub fn vector_elements(&self, term: Term<'t>) -> Option<Vec<Term<'t>>> {
        let elements = self.worker.vector_elements(self.own(term))?;
        Some(elements.into_iter().map(|word| self.term(word)).collect())
    }
    /// Number of bytes of a string; `None` for anything else.
    pub fn string_length(&self, term: Term<'t>) -> Option<usize> {
        self.worker.string_length(self.own(term))
    }
    /// All bytes of a string; `None` for anything else.
    pub fn string_bytes(&self, term: Term<'t>) -> Option<Vec<u8>> {
        self.worker.string_bytes(self.own(term))
    }
    /// A term as text, cut off when it is deep or long.
    pub fn term_text(&self, term: Term<'t>) -> String {
        self.worker.term_text(self.own(term))
    }
    /// The same, as bytes. A variable has the name that it had in texts before, as long as it has no value; others get
    /// names of their own.
    pub fn named_text(&mut self, naming: &mut Naming, term: Term<'t>) -> Vec<u8> {
        let word = self.own(term);
        naming.text(self.worker, word)
    }
    /// Keeps nothing any more that was named.
    pub fn end_naming(&mut self, naming: Naming) {
        naming.end(self.worker);
    }
}

/// What builtins say of their arguments.
impl<'t> Terms<'t> {
    /// What an argument is, which has a value from here on: it waits for that. Another worker may give it one at any
    /// time, so a builtin that asks twice what it is may get two answers.
    pub fn known(&self, term: Term<'t>) -> Result<Term<'t>, Answer<'t>> {
        let term = self.deref(term);
        if term.word.tag() == Tag::Ref { Err(Outcome::Wait(term)) } else { Ok(term) }
    }
    /// Argument `position` (from 1) is not what it must be; an unbound one is waited for.
    pub fn wrong(&self, position: usize, expected: &str, got: Term<'t>) -> Answer<'t> {
        self.answer(builtins::wrong(self.worker, position, expected, self.own(got)))
    }
    /// A term in a few words, for messages.
    pub fn describe(&self, term: Term<'t>) -> String {
        builtins::describe(self.worker, self.own(term))
    }
    /// A small integer in a range.
    pub fn index(&self, position: usize, term: Term<'t>, below: usize) -> Result<usize, Answer<'t>> {
        builtins::index(self.worker, position, self.own(term), below).map_err(|outcome| self.answer(outcome))
    }
    /// An integer argument of 64 bits.
    pub fn integer_of(&self, position: usize, term: Term<'t>) -> Result<i64, Answer<'t>> {
        builtins::integer(self.worker, position, self.own(term)).map_err(|outcome| self.answer(outcome))
    }
    /// The elements of a list that is complete so far as needed; waits for an unbound tail.
    pub fn list_items(&self, position: usize, term: Term<'t>) -> Result<Vec<Term<'t>>, Answer<'t>> {
        let items = builtins::list_items(self.worker, position, self.own(term));
        let items = items.map_err(|outcome| self.answer(outcome))?;
        Ok(items.into_iter().map(|word| self.term(word)).collect())
    }
    fn answer(&self, outcome: Outcome) -> Answer<'t> {
        match outcome {
            Outcome::Done => Outcome::Done,
            Outcome::No => Outcome::No,
            Outcome::Error(error) => Outcome::Error(error),
            Outcome::Wait(variable) => Outcome::Wait(self.term(variable)),
        }
    }
}

/// What a node has beside terms, at its first worker.
impl Node {
    /// Texts of atoms.
    pub fn atoms(&self) -> &Arc<AtomTable> {
        &self.shared.atoms
    }
    /// All predicates.
    pub fn predicates(&mut self) -> &Arc<Predicates> {
        &self.worker().predicates
    }
    /// What it was made with.
    pub fn options(&mut self) -> &Options {
        &self.worker().options
    }
    /// A handle with which signals and other threads make it look outside soon.
    pub fn waker(&mut self) -> Waker {
        self.worker().waker()
    }
    /// From now on each collection is noted.
    pub fn note_collections(&mut self) {
        self.worker().note_collections();
    }
    /// The collections noted so far.
    pub fn collections(&mut self) -> &[Collection] {
        self.worker().collections()
    }
    /// The program's arguments, for `unix:argv`: not its name, not the runtime's options.
    pub fn set_arguments(&mut self, arguments: Vec<Vec<u8>>) {
        builtins::io::set_arguments(self.worker(), arguments);
    }
    /// Writes out everything that is buffered, waiting as long as it takes. For the end of a run and before anything
    /// else is written to the terminal.
    pub fn flush(&mut self) -> Result<(), Box<ProgramError>> {
        builtins::io::flush(self.worker())
    }
    /// The goal that a program wants to be run after its failure or deadlock; given once. Whoever runs the node runs
    /// it, and ends with the status of the failure, unless that goal asks to exit with another.
    pub fn take_postmortem(&mut self) -> Option<(PredicateId, Vec<Root>)> {
        builtins::take_postmortem(self.worker())
    }
    /// Input, output, timers and signals come to this node from now on: it is the first of a program.
    pub fn open_outside(&mut self) {
        let outside = events::Outside::of(self.worker());
        self.set_events(Box::new(outside));
    }
    /// The same with a further source of events.
    pub fn open_outside_and(&mut self, more: Box<dyn MoreEvents>) {
        let outside = events::Outside::of(self.worker());
        self.set_events(Box::new(Both::new(outside, more)));
    }
    /// Ends the rest of the first worker that waits for events; may be used from any thread. It is used behind a
    /// [`Waker`].
    pub fn rouser(&mut self) -> std::io::Result<Rouser> {
        events::rouser(self.worker())
    }
    /// Where the program's output goes from now on; `None`: to the descriptor of the process.
    pub fn set_output(&mut self, stdout: Option<Sink>, stderr: Option<Sink>) {
        builtins::io::set_output(self.worker(), stdout, stderr);
    }
    /// Interrupts end the runs of these nodes from now on, and SIGQUIT makes each of them say what waits
    /// ([`Node::report_to`]); a second interrupt half a second later, or one between runs, ends the process at once
    /// with exit code 130 (unless [interrupts are held](Waker::hold_interrupts)). Answers what ends the first node's
    /// rest, as [`Node::rouser`] would: of that there is one.
    pub fn end_on_interrupt<'n>(
        nodes: impl Iterator<Item = &'n mut Node>,
    ) -> std::io::Result<Option<Rouser>> {
        let mut workers: Vec<_> = nodes.map(Node::worker).collect();
        events::end_on_interrupt(&mut workers)
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::worker::Options;
    use term::abi::{Builtin, Place};

    fn node(natives: Vec<Native>) -> Node {
        let all = crate::builtins::natives().into_iter().chain(natives).collect();
        Node::new(Options::alone(1), Arc::default(), all).expect("address space")
    }

    #[test]
    #[should_panic(expected = "a term of another node")]
    fn a_term_of_another_node_is_refused() {
        let (mut here, mut there) = (node(Vec::new()), node(Vec::new()));
        let (mut here, mut there) = (here.terms(), there.terms());
        let (variable, other) = (here.new_variable(), there.new_variable());
        here.unify(variable, other);
    }

    #[test]
    fn no_goal_is_made_that_the_collector_would_misread() {
        let mut node = node(Vec::new());
        let merge = node.worker().system_goals.merge;
        let unknown = PredicateId(node.predicates().len() as u32);
        let mut terms = node.terms();
        for (predicate, arity) in [(unknown, 0), (merge, 2), (abi::BOTTOM, 0)] {
            assert!(!terms.spawn(predicate, &vec![Term::NIL; arity]), "{predicate:?}");
        }
    }

    #[test]
    #[should_panic(expected = "a builtin waits for variables only")]
    fn a_builtin_of_another_crate_waits_for_variables() {
        let signature = Builtin {
            module: "main".into(),
            name: "main".into(),
            modes: "".into(),
            place: Place::Goal,
            daemon: false,
        };
        fn waits<'t>(_: &mut Terms<'t>, _: &[Term<'t>], _: &mut [Term<'t>]) -> Answer<'t> {
            Outcome::Wait(Term::small(1))
        }
        let mut node = node(vec![Native::new(signature, Seat::Any, false, waits)]);
        let [name] = ["main"].map(|text| node.atoms().intern(text.as_bytes()));
        let main = node.predicates().lookup(name, name, 0).expect("it was given");
        node.run(main, Vec::new());
    }

    #[test]
    #[should_panic(expected = "between its runs")]
    fn a_node_that_runs_is_not_changed() {
        let mut node = node(Vec::new());
        node.begin(None);
        node.give(|| 1);
    }
}
