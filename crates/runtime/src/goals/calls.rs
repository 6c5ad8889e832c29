//! Goals that the runtime reduces: builtins, and predicates without code. Errors of goals.

use crate::memory::ranges::{at, read, write};
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::terms::deref;
use crate::terms::print::Names;
use crate::worker::Worker;
use crate::worker::native::{Outcome, Seat};
use crate::worker::program::Mode;
use term::Word;
use term::abi::{Position, PredicateId};
use term::layout::{GOAL_ARITY_MAX, STORE};
use term::word::Tag;

const NO_CODE: &str = "no code is loaded for this goal";

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
    fn run_native(&mut self, predicate: PredicateId) {
        let arity = self.predicates.arity(predicate);
        if arity <= 8 {
            self.run_sized::<8>(predicate, arity)
        } else {
            self.run_sized::<GOAL_ARITY_MAX>(predicate, arity)
        }
    }
    #[inline(always)]
    fn run_sized<const N: usize>(&mut self, predicate: PredicateId, arity: usize) {
        let top = self.abi.goals as usize;
        let base = top - 8 * (arity + 1);
        let mut args = [Word(0); N];
        for (i, arg) in args[..arity].iter_mut().enumerate() {
            *arg = read(base + 8 * i);
        }
        let args = &args[..arity];
        self.abi.goals = at(base);
        if let Some(variable) = self.call::<N>(predicate, args, Position::NONE) {
            for (i, &arg) in args.iter().enumerate() {
                write(base + 8 * i, arg);
            }
            write(top - 8, predicate.goal_word());
            self.abi.goals = at(top);
            self.abi.pending[0] = variable;
            self.abi.pending_count = 1;
            self.suspend_top();
        }
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
        let run = code.run;
        if code.seat != Seat::Any && self.send_to_seat(code.seat, predicate, args) {
            return None;
        }
        let code = self.predicates.native(predicate).expect("as above");
        if code.shape.outputs == 0 {
            return self.call_without_outputs::<N>(predicate, args, position);
        }
        let mut inputs = [Word(0); N];
        let (mut input_count, mut output_count) = (0, 0);
        for (&arg, &mode) in args.iter().zip(&code.modes) {
            if mode == Mode::Output {
                output_count += 1;
                continue;
            }
            let mut word = arg;
            if mode == Mode::Input {
                word = deref(word);
                if word.tag() == Tag::Ref {
                    return Some(word);
                }
            }
            inputs[input_count] = word;
            input_count += 1;
        }
        let mut outputs = [Word(0); N];
        let outcome = run(self, &inputs[..input_count], &mut outputs[..output_count]);
        if matches!(outcome, Outcome::Done) {
            self.unify_outputs(predicate, args, &outputs, position);
        }
        self.end_call(outcome, predicate, args, position)
    }
    /// Whether goals of this seat are reduced by this worker.
    pub(crate) fn has_seat(&self, seat: Seat) -> bool {
        match seat {
            Seat::Any => true,
            Seat::First => self.index == 0 || !self.is_one_of_several_nodes(),
            Seat::Home => self.is_home(),
        }
    }
    /// A goal goes where it is reduced: first to this node's first worker. False: that is here.
    fn send_to_seat(&mut self, seat: Seat, predicate: PredicateId, args: &[Word]) -> bool {
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
    /// The same for a builtin all of whose arguments are inputs.
    #[inline(always)]
    fn call_without_outputs<const N: usize>(
        &mut self,
        predicate: PredicateId,
        args: &[Word],
        position: Position,
    ) -> Option<Word> {
        let code = self.predicates.native(predicate).expect("the caller knows that it is a builtin");
        let (run, mut awaited) = (code.run, code.shape.awaited);
        let mut inputs = [Word(0); N];
        inputs[..args.len()].copy_from_slice(args);
        while awaited != 0 {
            let input = &mut inputs[awaited.trailing_zeros() as usize % N];
            awaited &= awaited - 1;
            *input = deref(*input);
            if input.tag() == Tag::Ref {
                return Some(*input);
            }
        }
        let outcome = run(self, &inputs[..args.len()], &mut []);
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
            Outcome::Wait(variable) => Some(variable),
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
    fn unify_outputs(&mut self, predicate: PredicateId, args: &[Word], outputs: &[Word], position: Position) {
        let mut next = 0;
        for (i, &arg) in args.iter().enumerate() {
            let code = self.predicates.native(predicate).expect("a builtin");
            if code.modes[i] == Mode::Output {
                self.unify_at(arg, outputs[next], position);
                next += 1;
            }
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
        if position == Position::NONE || self.predicates.get(predicate).daemon {
            return self.spawn(predicate, args);
        }
        let goal = self.object(STORE, args);
        let predicate = Word::small(predicate.0.into());
        self.spawn(self.system_goals.at_position, &[position.word(), predicate, goal]);
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
    /// Ends the program with an error of a goal that stands there in the text.
    pub(crate) fn goal_error_at(
        &mut self,
        mut error: Box<ProgramError>,
        predicate: PredicateId,
        args: &[Word],
        position: Position,
    ) {
        if error.goal.is_empty() {
            error.goal = self.goal_text(&mut Names::default(), predicate, args);
            (error.file, error.line) = self.place(predicate, position);
        }
        self.end_with(error);
    }
    /// Ends the program before the next reduction.
    pub(crate) fn end_with(&mut self, error: Box<ProgramError>) {
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
        // P4 of `stack`: a collection may have left a mark on it.
        if read(top) == self.system_goals.mark.goal_word() {
            top -= 8;
        }
        let predicate = PredicateId::of_goal_word(read(top));
        let arity = self.predicates.arity(predicate);
        (predicate, (0..arity).map(|i| read(top - 8 * (arity - i))).collect())
    }
    /// The goal on top of the stack ends the program.
    pub(crate) fn fail_top(&mut self, kind: ErrorKind, message: &str) {
        let (predicate, args) = self.top_goal();
        self.goal_error_at(ProgramError::new(kind, message), predicate, &args, Position::NONE);
    }
}
