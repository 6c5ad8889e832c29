//! Goals that the runtime reduces: builtins, and predicates without code. Errors of goals.

use crate::coordination::sync::lock;
use crate::goals::slots::is_empty_slot;
use crate::goals::suspend::{RESUMED, goal_arity};
use crate::memory::ranges::{at, pointer, read, write, write_all};
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::terms::print::Names;
use crate::terms::{View, deref};
use crate::worker::Worker;
use crate::worker::native::{Outcome, Record, Seat};
use term::Word;
use term::abi::{Position, PredicateId};
use term::layout::{GOAL_ARITY_MAX, STORE, SUSPENSION_ARGS, SUSPENSION_PREDICATE};
use term::symbol::ABNORMAL;
use term::word::Tag;

/// Requests that could not be done of which a failure tells, at most.
const REFUSED_MAX: usize = 3;

/// Arguments of most builtins, at most.
pub(crate) const FEW_ARGUMENTS: usize = 8;

const NO_CODE: &str = "no code is loaded for this goal";

/// This number of words, at an address, and zeros.
#[inline(always)]
pub(crate) fn few_words(from: usize, words: usize) -> [Word; FEW_ARGUMENTS] {
    let mut few = [Word::small(0); FEW_ARGUMENTS];
    for (i, word) in few.iter_mut().enumerate() {
        if i == words {
            break;
        }
        *word = read(from + 8 * i);
    }
    few
}

/// The first variable among the inputs (a bit each) that are waited for; those that have values are dereferenced.
#[inline(always)]
pub(crate) fn missing<const N: usize>(inputs: &mut [Word; N], mut awaited: u64) -> Option<Word> {
    while awaited != 0 {
        let input = &mut inputs[awaited.trailing_zeros() as usize % N];
        awaited &= awaited - 1;
        if input.tag() == Tag::Ref {
            *input = deref(*input);
            if input.tag() == Tag::Ref {
                return Some(*input);
            }
        }
    }
    None
}

impl Worker {
    /// Runs the goal on top of the stack, which has no generated code: a builtin, or a predicate that was declared
    /// and never loaded.
    pub(crate) fn run_top_native(&mut self) {
        let predicate = PredicateId::of_goal_word(read(self.abi.goals as usize - 8));
        if self.predicates.native(predicate).is_some() {
            self.run_native(predicate);
        } else {
            self.fail_top(ErrorKind::UndefinedPredicate, NO_CODE);
        }
    }
    /// Runs the builtin whose goal is on top of the stack.
    #[inline(always)]
    fn run_native(&mut self, predicate: PredicateId) {
        let arity = self.predicates.arity(predicate);
        let base = self.abi.goals as usize - 8 * (arity + 1);
        debug_assert!(base >= self.goals.start(), "P2: a goal below the bottom of the stack");
        if !self.reduce_few(predicate, base, arity, |worker| worker.abi.goals = at(base)) {
            self.run_other(predicate, base, arity);
        }
    }
    #[cold]
    #[inline(never)]
    fn run_other(&mut self, predicate: PredicateId, base: usize, arity: usize) {
        self.abi.goals = at(base);
        if arity <= FEW_ARGUMENTS {
            self.reduce_sized::<FEW_ARGUMENTS>(predicate, base, arity, |_| ())
        } else {
            self.reduce_sized::<GOAL_ARITY_MAX>(predicate, base, arity, |_| ())
        }
    }
    /// Runs the builtin whose goal waited in this record, which is claimed.
    #[inline(always)]
    pub(crate) fn reduce_record(&mut self, record: usize, predicate: PredicateId) {
        let code = self.predicates.native(predicate).expect("the caller knows that it is a builtin");
        debug_assert!(read(record + 8 * SUSPENSION_PREDICATE) == RESUMED, "H3: nobody has claimed it");
        if let Some(process) = code.process
            && self.is_private(record)
            && process(self, Record(record))
        {
            return;
        }
        self.reduce_its_goal(record, predicate);
    }
    /// The same if it is no process, or one that does not wait again.
    #[inline(never)]
    pub(crate) fn reduce_its_goal(&mut self, record: usize, predicate: PredicateId) {
        let arity = goal_arity(record);
        let args = record + 8 * SUSPENSION_ARGS;
        if !self.reduce_few(predicate, args, arity, |worker| worker.spend(record, arity)) {
            self.reduce_other_record(record, predicate);
        }
    }
    #[cold]
    #[inline(never)]
    fn reduce_other_record(&mut self, record: usize, predicate: PredicateId) {
        let arity = goal_arity(record);
        let args = record + 8 * SUSPENSION_ARGS;
        if arity <= FEW_ARGUMENTS {
            self.reduce_sized::<FEW_ARGUMENTS>(predicate, args, arity, |worker| worker.spend(record, arity));
        } else {
            self.reduce_sized::<GOAL_ARITY_MAX>(predicate, args, arity, |worker| worker.spend(record, arity));
        }
    }
    /// Reduces a goal as most of builtins are: see [`Worker::call_few`]; false for others. Its arguments are at this
    /// address; `taken` is called once they were read.
    #[inline(always)]
    fn reduce_few(
        &mut self,
        predicate: PredicateId,
        from: usize,
        arity: usize,
        taken: impl FnOnce(&mut Worker),
    ) -> bool {
        if arity > FEW_ARGUMENTS || !self.is_plain(predicate) {
            return false;
        }
        let mut args = few_words(from, arity);
        taken(self);
        let waits = self.call_plain(predicate, &mut args, arity, Position::made_by(predicate));
        self.wait_for(waits, predicate, &args[..arity]);
        true
    }
    /// Whether a builtin's outputs come last, and any worker reduces its goals.
    #[inline(always)]
    fn is_plain(&self, predicate: PredicateId) -> bool {
        let code = self.predicates.native(predicate).expect("the caller knows that it is a builtin");
        code.shape.outputs_last && code.seat == Seat::Any
    }
    /// Calls a builtin that has few arguments, all of which are given: `Some` is the variable it waits for.
    #[inline(always)]
    pub(crate) fn call_few(
        &mut self,
        predicate: PredicateId,
        args: &mut [Word; FEW_ARGUMENTS],
        arity: usize,
        position: Position,
    ) -> Option<Word> {
        if self.is_plain(predicate) {
            self.call_plain(predicate, args, arity, position)
        } else {
            self.call::<FEW_ARGUMENTS>(predicate, &args[..arity], position)
        }
    }
    /// The same for one that is plain. The arguments that it waits for are dereferenced in their places.
    #[inline(always)]
    fn call_plain(
        &mut self,
        predicate: PredicateId,
        args: &mut [Word; FEW_ARGUMENTS],
        arity: usize,
        position: Position,
    ) -> Option<Word> {
        let code = self.predicates.native(predicate).expect("the caller knows that it is a builtin");
        let (run, shape) = (code.run, code.shape);
        debug_assert_eq!(shape.inputs + shape.outputs, arity, "H1: a goal has its arguments");
        if let Some(variable) = missing(args, shape.awaited) {
            return Some(variable);
        }
        let (given, made) = args.split_at(shape.inputs.min(FEW_ARGUMENTS));
        let mut outputs = [Word::small(0); FEW_ARGUMENTS];
        let outputs = &mut outputs[..shape.outputs.min(FEW_ARGUMENTS)];
        let outcome = run(self, given, outputs);
        if matches!(outcome, Outcome::Done) {
            for (&argument, &output) in made.iter().zip(&*outputs) {
                self.unify_at(argument, output, position);
            }
            return None;
        }
        self.end_call(outcome, predicate, &args[..arity], position)
    }
    #[inline(always)]
    fn reduce_sized<const N: usize>(
        &mut self,
        predicate: PredicateId,
        from: usize,
        arity: usize,
        taken: impl FnOnce(&mut Worker),
    ) {
        let mut args = [Word::small(0); N];
        for (i, arg) in args[..arity].iter_mut().enumerate() {
            *arg = read(from + 8 * i);
        }
        taken(self);
        let args = &args[..arity];
        let waits = self.call::<N>(predicate, args, Position::made_by(predicate));
        self.wait_for(waits, predicate, args);
    }
    /// A builtin's goal is suspended, if there is a variable that it waits for.
    #[inline(always)]
    fn wait_for(&mut self, variable: Option<Word>, predicate: PredicateId, args: &[Word]) {
        let Some(variable) = variable else { return };
        debug_assert_eq!(self.predicates.arity(predicate), args.len(), "H1: a goal has its arguments");
        let base = self.abi.goals as usize;
        let goal = base + 8 * args.len();
        write_all(base, args);
        write(goal, predicate.goal_word());
        self.abi.goals = at(goal + 8);
        self.abi.pending[0] = variable;
        self.abi.pending_count = 1;
        self.suspend_top();
    }
    /// Calls a builtin with all its arguments; `Some` is the variable it waits for.
    #[inline(always)]
    pub(crate) fn call<const N: usize>(
        &mut self,
        predicate: PredicateId,
        args: &[Word],
        position: Position,
    ) -> Option<Word> {
        let code = self.predicates.native(predicate).expect("the caller knows that it is a builtin");
        let (run, shape, seat) = (code.run, code.shape, code.seat);
        debug_assert_eq!(shape.inputs + shape.outputs, args.len(), "H1: a goal has its arguments");
        debug_assert!(args.len() <= N, "{} arguments where there is room for {N}", args.len());
        let mut inputs = [Word::small(0); N];
        if shape.outputs == 0 {
            inputs[..args.len()].copy_from_slice(args);
        } else {
            let mut given = 0;
            for (i, &arg) in args.iter().enumerate() {
                if i >= 64 || shape.made >> i & 1 == 0 {
                    inputs[given % N] = arg;
                    given += 1;
                }
            }
        }
        if seat != Seat::Any && self.send_to_seat(seat, predicate, args) {
            return None;
        }
        if let Some(variable) = missing(&mut inputs, shape.awaited) {
            return Some(variable);
        }
        let mut outputs = [Word::small(0); N];
        let outcome = run(self, &inputs[..shape.inputs.min(N)], &mut outputs[..shape.outputs.min(N)]);
        if matches!(outcome, Outcome::Done) && shape.outputs != 0 {
            self.unify_outputs(shape.made, args, &outputs, position);
        }
        self.end_call(outcome, predicate, args, position)
    }
    /// What follows from a builtin's answer: `Some` is the variable it waits for.
    #[inline(always)]
    fn end_call(
        &mut self,
        outcome: Outcome,
        predicate: PredicateId,
        args: &[Word],
        position: Position,
    ) -> Option<Word> {
        match outcome {
            Outcome::Done => None,
            Outcome::Wait(variable) => {
                debug_assert!(variable.tag() == Tag::Ref, "N2: a builtin waits for variables");
                Some(variable)
            }
            Outcome::No => {
                let error = ProgramError::new(ErrorKind::ReductionFailure, "the goal fails");
                self.goal_error_at(error, predicate, args, position);
                None
            }
            Outcome::Error(error) => {
                self.builtin_error(error, predicate, args, position);
                None
            }
        }
    }
    /// Whether goals of this seat are reduced by this worker.
    pub(crate) fn has_seat(&self, seat: Seat) -> bool {
        match seat {
            Seat::Any => true,
            Seat::First => self.index == 0 || !self.is_one_of_several_nodes(),
            Seat::Home => self.is_home(),
            // A call in the middle of a reduction notes nothing.
            Seat::Noted => false,
        }
    }
    /// A goal goes where it is reduced: first to this node's first worker. False: that is here.
    pub(crate) fn send_to_seat(&mut self, seat: Seat, predicate: PredicateId, args: &[Word]) -> bool {
        if seat == Seat::Noted {
            self.goals.called = predicate;
            return false;
        }
        if self.has_seat(seat) {
            return false;
        }
        if self.index == 0 {
            self.throw(0, predicate, args);
        } else {
            self.post(0, predicate, args);
        }
        true
    }
    /// `made` says which arguments (a bit each) are outputs.
    #[inline(always)]
    fn unify_outputs(&mut self, mut made: u64, args: &[Word], outputs: &[Word], position: Position) {
        for &output in outputs {
            if made == 0 {
                break;
            }
            self.unify_at(args[made.trailing_zeros() as usize], output, position);
            made &= made - 1;
        }
    }
    /// Runs a goal of a builtin at once if it can; otherwise makes it an ordinary goal.
    pub(crate) fn call_or_spawn(&mut self, predicate: PredicateId, args: &[Word]) {
        if self.predicates.native(predicate).is_none()
            || self.call::<GOAL_ARITY_MAX>(predicate, args, Position::NONE).is_some()
        {
            self.spawn(predicate, args);
        }
    }
    /// A goal of a builtin whose errors name its place in the text.
    pub(crate) fn spawn_at_position(&mut self, position: Position, predicate: PredicateId, args: &[Word]) {
        match self.with_position(position, predicate, args) {
            Some(placed) => self.spawn(self.system_goals.at_position, &placed),
            None => self.spawn(predicate, args),
        }
    }
    /// The same for a goal that waits for this variable.
    pub(crate) fn spawn_waiting_at_position(
        &mut self,
        position: Position,
        predicate: PredicateId,
        args: &[Word],
        variable: Word,
    ) {
        match self.with_position(position, predicate, args) {
            Some(placed) => {
                if !self.hook(self.system_goals.at_position, &placed, variable) {
                    self.spawn(self.system_goals.at_position, &placed);
                }
            }
            None => {
                if !self.hook(predicate, args, variable) {
                    self.spawn(predicate, args);
                }
            }
        }
    }
    /// The arguments of the `at_position` goal for a goal; `None` if its errors need no place.
    #[inline(always)]
    fn with_position(
        &mut self,
        position: Position,
        predicate: PredicateId,
        args: &[Word],
    ) -> Option<[Word; 3]> {
        if position == Position::NONE || self.predicates.get(predicate).daemon {
            return None;
        }
        let goal = self.object(STORE, args);
        Some([position.word(), Word::small(predicate.0.into()), goal])
    }
    /// A goal of a builtin has no result. One that had no room tries again after a major collection, as there may be
    /// garbage (but not if it serves the outside world: it may have done a part).
    pub(crate) fn builtin_error(
        &mut self,
        error: Box<ProgramError>,
        predicate: PredicateId,
        args: &[Word],
        position: Position,
    ) {
        let had_no_room = self.wanted.take_refused() && error.kind == ErrorKind::HeapLimit;
        let home = self.predicates.native(predicate).is_some_and(|code| code.seat == Seat::Home);
        let outside = home || self.predicates.get(predicate).daemon;
        if !had_no_room || outside || self.wanted.is_second_try() {
            return self.goal_error_at(error, predicate, args, position);
        }
        let goal = self.object(STORE, args);
        let predicate = Word::small(predicate.0.into());
        self.spawn(self.system_goals.after_collection, &[position.word(), predicate, goal]);
        self.collect_soon();
    }
    /// Ends the program with an error of a goal that stands there in the text, unless a shoen is told of it.
    pub(crate) fn goal_error_at(
        &mut self,
        error: Box<ProgramError>,
        predicate: PredicateId,
        args: &[Word],
        position: Position,
    ) {
        if let Some(error) = self.note_fault(error, predicate, args, position) {
            self.goal_error_outside(error, predicate, args, position);
        }
    }
    /// Ends the program with such an error.
    #[cold]
    pub(crate) fn goal_error_outside(
        &mut self,
        mut error: Box<ProgramError>,
        predicate: PredicateId,
        args: &[Word],
        position: Position,
    ) {
        if error.goal.is_empty() {
            if matches!(error.kind, ErrorKind::ReductionFailure | ErrorKind::UnificationFailure)
                && args.iter().any(|&argument| self.is_refusal(argument))
            {
                let refused = lock(&self.shared.refused);
                error = refused.iter().fold(error, |error, why| error.detail(why.as_str()));
            }
            error.goal = self.goal_text(&mut Names::default(), predicate, args);
            (error.file, error.line) = self.place(predicate, position);
            let owner = position.predicate().filter(|&owner| owner != predicate);
            error.within = owner.map(|owner| self.predicate_text(self.as_called(owner))).unwrap_or_default();
        }
        self.end_with(error);
    }
    /// The builtin that the library calls of one that goes on for it.
    pub(crate) fn as_called(&self, predicate: PredicateId) -> PredicateId {
        if predicate != self.system_goals.stream {
            return predicate;
        }
        let info = self.predicates.get(predicate);
        let serve = self.atoms.intern(b"serve");
        self.predicates.lookup(info.module, serve, info.arity as usize).unwrap_or(predicate)
    }
    /// Whether a term answers a request that could not be done.
    fn is_refusal(&self, term: Word) -> bool {
        matches!(self.view(term), View::Atom(ABNORMAL) | View::Struct(ABNORMAL, _))
    }
    /// A request could not be done: a program that did not think of that is told why when it fails.
    pub(crate) fn note_refused(&self, why: String) {
        let mut refused = lock(&self.shared.refused);
        if refused.len() == REFUSED_MAX {
            refused.pop_front();
        }
        refused.push_back(why);
    }
    /// `module:name/arity`; of what the compiler made the predicate in whose clauses it stands.
    fn predicate_text(&self, predicate: PredicateId) -> String {
        let info = self.predicates.get(predicate);
        let name = self.atoms.name(info.name);
        match name.rsplit_once('$').filter(|_| info.auxiliary) {
            Some((owner, _)) => format!("{}:{owner}", self.atoms.name(info.module)),
            None => format!("{}:{name}/{}", self.atoms.name(info.module), info.arity),
        }
    }
    /// Ends the program before the next reduction.
    pub(crate) fn end_with(&mut self, error: Box<ProgramError>) {
        if error.kind == ErrorKind::Interrupted && !self.shared.is_ending() {
            // A goal of an aborted shoen has given up.
            return self.abi.want_attention();
        }
        self.ending.fail(error);
        self.abi.want_attention();
    }
    /// Puts the goal that is next, if it is one of the program's, into an error that is no goal's fault.
    pub(crate) fn name_next_goal(&self, error: &mut ProgramError) {
        let of_program = |(predicate, _): &(PredicateId, _)| self.predicates.native(*predicate).is_none();
        let next =
            Some(self.top_goal()).filter(of_program).or_else(|| self.best_in_buckets().filter(of_program));
        if let Some((predicate, args)) = next {
            error.goal = self.goal_text(&mut Names::default(), predicate, &args);
            (error.file, error.line) = self.place(predicate, Position::NONE);
        }
    }
    /// File and line of a position, or of a predicate's first clause if there is none.
    pub(crate) fn place(&self, predicate: PredicateId, position: Position) -> (String, u32) {
        match position.predicate() {
            Some(owner) => (self.predicates.get(owner).file.to_string(), position.line()),
            None => {
                let info = self.predicates.get(predicate);
                (info.file.to_string(), info.line)
            }
        }
    }
    fn best_in_buckets(&self) -> Option<(PredicateId, Vec<Word>)> {
        let (_, bucket) = self.goals.buckets.last_key_value()?;
        let (goal, words) = bucket.split_last()?;
        let predicate = PredicateId::of_goal_word(*goal);
        Some((predicate, words[words.len() - self.predicates.arity(predicate)..].to_vec()))
    }
    fn top_goal(&self) -> (PredicateId, Vec<Word>) {
        let mut top = self.abi.goals as usize - 8;
        // P4 of `stack`: a collection may have left a mark on it; and there may be gaps.
        while self.is_runtimes_own(PredicateId::of_goal_word(read(top))) {
            top -= 8;
        }
        let predicate = PredicateId::of_goal_word(read(top));
        let start = top - 8 * self.predicates.arity(predicate);
        // What is a slot, or leads to one, is a variable to whoever reads an error.
        let argument = |at: usize| match read(at) {
            word if is_empty_slot(word) => pointer(Tag::Ref, at),
            word if word.tag() == Tag::Header => pointer(Tag::Ref, word.address()),
            word => word,
        };
        (predicate, (start..top).step_by(8).map(argument).collect())
    }
    /// The goal on top of the stack ends the program.
    pub(crate) fn fail_top(&mut self, kind: ErrorKind, message: &str) {
        if self.in_shoen() {
            let goal = self.pop_goal();
            let (&predicate, args) = goal.split_last().expect("a goal has its predicate");
            let predicate = PredicateId::of_goal_word(predicate);
            let error = ProgramError::new(kind, message);
            return self.goal_error_at(error, predicate, args, Position::NONE);
        }
        let (predicate, args) = self.top_goal();
        self.goal_error_at(ProgramError::new(kind, message), predicate, &args, Position::NONE);
    }
}
