//! The node: loads programs and runs goals to an outcome.
//!
//! The loop enters the goal on top of the goal stack; generated code then goes from goal to goal by itself and comes back
//! when something needs attention. Between two reductions (and only there) the worker *attends*: it ends the program if it must,
//! makes resumed goals ready, handles outside events, collects, and switches to the highest priority.

use crate::arith;
use crate::classes::Classes;
use crate::events::Events;
use crate::memory::{at, read, write};
use crate::native::{Native, Outcome};
use crate::outcome::{ErrorKind, ProgramError, RunOutcome};
use crate::print::Names;
use crate::program::{Constant, Enter, Load, Mode, NativeCode, PredicateInfo};
use crate::terms::deref;
use crate::waker::Ticker;
use crate::walk::interrupted;
use crate::worker::{Options, PRIORITY_MAX, Worker};
use std::time::Duration;
use term::Word;
use term::abi::{BOTTOM, Builtin, Place, Position, PredicateId, Status, WorkerAbi};
use term::layout::{GOAL_ARITY_MAX, STORE};
use term::symbol::AtomTable;
use term::word::Tag;

const NO_CODE: &str = "no code is loaded for this goal";

/// Predicates of the runtime's own that helpers make goals of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemGoals {
    pub(crate) at_priority: PredicateId,
    pub(crate) at_node: PredicateId,
    pub(crate) at_position: PredicateId,
    pub(crate) unify: PredicateId,
    pub(crate) mark: PredicateId,
}

/// One node: a program, its terms and goals.
pub struct Node {
    worker: Box<Worker>,
    events: Option<Box<dyn Events>>,
    ticker: Ticker,
    enter: Option<Enter>,
    native_entry: usize,
    entries: Vec<usize>,
    constants: crate::constants::Constants,
    builtins: Vec<(PredicateId, Builtin)>,
}

/// The node could not be made.
#[derive(Debug)]
pub struct NoAddressSpace;

impl std::fmt::Display for NoAddressSpace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the system refuses the address space for heap and goal stack: at least 1 GiB is needed; \
             `ulimit -v` shows what this shell allows (in KiB)"
        )
    }
}

impl Node {
    /// A node that knows these builtins; `atoms` may hold atoms already (of a program that was read).
    pub fn new(options: Options, atoms: AtomTable, natives: Vec<Native>) -> Result<Node, NoAddressSpace> {
        let mut worker = Worker::new(options, atoms, Classes::default()).ok_or(NoAddressSpace)?;
        let mut builtins = Vec::new();
        let bottom = add_native(&mut worker, native("fifth", "bottom", "", |_, _, _| Outcome::Done));
        assert_eq!(bottom, BOTTOM, "the first predicate is the bottom of the goal stack");
        let system =
            |worker: &mut Worker, name, modes, run| add_native(worker, native("fifth", name, modes, run));
        worker.system_goals = SystemGoals {
            at_priority: system(&mut worker, "at_priority", "aiaa", at_priority),
            at_node: system(&mut worker, "at_node", "iaa", at_node),
            at_position: system(&mut worker, "at_position", "aaa", at_position),
            unify: add_native(&mut worker, native("unify_term_dcode", "unify", "aa", unify_goal)),
            mark: system(&mut worker, "mark", "", |worker, _, _| {
                worker.unmark_goals();
                Outcome::Done
            }),
        };
        for native in natives {
            let signature = native.signature.clone();
            builtins.push((add_native(&mut worker, native), signature));
        }
        let module = worker.intern(arith::MODULE);
        for (op, (name, modes)) in arith::GOALS.into_iter().enumerate() {
            let name = worker.intern(name);
            // A node without arithmetic (tests) has no code that calls it either.
            let known = worker.predicates.lookup(module, name, modes.len());
            worker.arithmetic_goals[op] = known.unwrap_or(BOTTOM);
        }
        Ok(Node {
            worker,
            events: None,
            ticker: Ticker::default(),
            enter: None,
            native_entry: 0,
            entries: Vec::new(),
            constants: crate::constants::Constants::default(),
            builtins,
        })
    }
    /// The builtins given to `new`, with their numbers.
    pub fn builtins(&self) -> &[(PredicateId, Builtin)] {
        &self.builtins
    }
    /// The worker: atoms, predicates, terms.
    pub fn worker(&mut self) -> &mut Worker {
        &mut self.worker
    }
    /// The counters so far.
    pub fn statistics(&self) -> crate::statistics::Statistics {
        self.worker.statistics()
    }
    /// Where outside events come from.
    pub fn set_events(&mut self, events: Box<dyn Events>) {
        self.events = Some(events);
    }
    /// How generated code is entered, and the address of the entry that answers [`Status::Native`].
    pub fn set_code(&mut self, enter: Enter, native_entry: usize) {
        self.enter = Some(enter);
        // Each program loaded has such an entry of its own; one of them stands for all.
        let old = std::mem::replace(&mut self.native_entry, native_entry);
        self.entries.iter_mut().filter(|entry| **entry == old).for_each(|entry| *entry = native_entry);
    }
    /// Adds a program. Panics if its numbers do not continue the node's.
    pub fn load(&mut self, load: Load) {
        for info in load.predicates {
            self.worker.predicates.add(info);
        }
        self.entries.resize(self.worker.predicates.len(), self.native_entry);
        for (predicate, address) in load.entries {
            self.entries[predicate.0 as usize] = address;
        }
        self.worker.abi.entries = self.entries.as_ptr();
        for constant in &load.constants {
            self.constants.add(constant);
        }
        self.worker.abi.constants = self.constants.table();
    }
    /// Number of constants loaded so far.
    pub fn constant_count(&self) -> usize {
        self.constants.len()
    }
    /// Makes a ground term of the program text, outside the heap.
    pub fn constant(&mut self, constant: &Constant) -> Word {
        self.constants.make(constant)
    }

    /// Runs a goal, and all that follows from it, to the end.
    pub fn run(&mut self, predicate: PredicateId, args: &[Word]) -> RunOutcome {
        self.worker.waker().set_running(true);
        self.worker.spawn(predicate, args);
        let outcome = self.run_goals();
        self.worker.waker().set_running(false);
        self.worker.clear_goals();
        outcome
    }

    fn run_goals(&mut self) -> RunOutcome {
        loop {
            let worker = &mut *self.worker;
            if worker.abi.heap as usize > worker.abi.limit
                && let Some(outcome) = self.attend()
            {
                return outcome;
            }
            let worker = &mut *self.worker;
            let goal = read(worker.abi.goals as usize - 8);
            let predicate = PredicateId::of_goal_word(goal);
            if predicate == BOTTOM {
                if !worker.next_segment()
                    && let Some(outcome) = self.idle()
                {
                    return outcome;
                }
                continue;
            }
            let entry = self.entries.get(predicate.0 as usize).copied();
            let (Some(enter), Some(entry)) = (self.enter, entry.filter(|&entry| entry != self.native_entry))
            else {
                worker.run_top_native();
                continue;
            };
            let abi: *mut WorkerAbi = (&raw mut *self.worker).cast();
            // SAFETY: C1 - the goal's record is on top of the goal stack and `entry` is the address of its predicate's
            // code; `abi` is derived from the whole worker (R1), which nothing else uses meanwhile.
            let status = unsafe { enter(abi, entry) };
            let worker = &mut *self.worker;
            if status == Status::Fail as u64 {
                worker.fail_top(ErrorKind::ReductionFailure, "no clause of this goal can commit");
            }
        }
    }

    /// Something lowered the limit, or the heap is full. `Some` ends the run.
    fn attend(&mut self) -> Option<RunOutcome> {
        self.worker.abi.limit = self.worker.limit;
        self.look_outside();
        let worker = &mut *self.worker;
        worker.push_resumed();
        let need = std::mem::take(&mut worker.abi.need);
        if worker.abi.heap as usize + need * 8 > worker.limit || worker.collection_wanted {
            worker.collection_wanted = false;
            worker.collect(need);
            worker.abi.limit = worker.limit;
        }
        worker.switch_priority();
        if let Some(mut error) = worker.error.take() {
            if matches!(error.kind, ErrorKind::HeapLimit | ErrorKind::Interrupted) && error.goal.is_empty() {
                worker.name_next_goal(&mut error);
            }
            return Some(RunOutcome::Failed(error));
        }
        worker.exit.take().map(RunOutcome::Exit)
    }

    /// Nothing is ready. `Some` ends the run: also when events may come, if no goal is left that could use them.
    fn idle(&mut self) -> Option<RunOutcome> {
        if let Some(events) = &self.events
            && events.has_pending(&self.worker)
            && self.worker.waiting_goals().next().is_some()
        {
            self.poll_events(None);
            return None;
        }
        Some(self.worker.perpetual_suspension().unwrap_or(RunOutcome::Success))
    }

    /// Polls the events if somebody woke the worker (whoever starts waiting for an event wakes it too), and keeps ticking while
    /// some may come.
    #[inline(always)]
    fn look_outside(&mut self) {
        if self.worker.woken() {
            self.handle_outside();
        }
    }

    #[cold]
    fn handle_outside(&mut self) {
        if self.worker.waker().take_interrupt() {
            self.worker.error.get_or_insert_with(interrupted);
            return;
        }
        let Some(events) = &self.events else { return };
        let pending = events.has_pending(&self.worker);
        self.ticker.set(pending, &self.worker.waker());
        if pending {
            self.poll_events(Some(Duration::ZERO));
        }
    }

    fn poll_events(&mut self, timeout: Option<Duration>) {
        if let Some(mut events) = self.events.take() {
            events.poll(&mut self.worker, timeout);
            self.events = Some(events);
        }
    }
}

/// The priority that `@priority` (kind 0) or `@lower_priority` (kind 1) means.
pub(crate) fn target_priority(current: i64, kind: u64, amount: i64) -> i64 {
    let priority = if kind == 0 { amount } else { current.saturating_sub(amount) };
    priority.clamp(0, PRIORITY_MAX)
}

fn native(module: &str, name: &str, modes: &str, run: crate::native::Run) -> Native {
    let (module, name, modes) = (module.to_owned(), name.to_owned(), modes.to_owned());
    Native { signature: Builtin { module, name, modes, place: Place::Goal, daemon: false }, run }
}

fn add_native(worker: &mut Worker, native: Native) -> PredicateId {
    let Native { signature, run } = native;
    let mode = |letter| match letter {
        b'i' => Mode::Input,
        b'o' => Mode::Output,
        _ => Mode::Any,
    };
    let modes: Box<[Mode]> = signature.modes.bytes().map(mode).collect();
    let info = PredicateInfo {
        module: worker.intern(&signature.module),
        name: worker.intern(&signature.name),
        arity: modes.len() as u32,
        file: "".into(),
        line: 0,
        daemon: signature.daemon,
        auxiliary: false,
        native: Some(NativeCode { run, modes, place: signature.place }),
    };
    worker.predicates.add(info)
}

fn stored_goal(worker: &Worker, predicate: Word, goal: Word) -> (PredicateId, Vec<Word>) {
    let args = (0..worker.object_size(goal)).map(|i| worker.object_word(goal, i)).collect();
    (PredicateId::of_goal_word(predicate), args)
}

impl Worker {
    /// Attention in the usual case, without leaving generated code: goals were resumed, and nothing else is wanted. Otherwise false:
    /// [`Node::attend`] is to look.
    #[inline(always)]
    pub(crate) fn attend_to_resumed(&mut self) -> bool {
        self.abi.limit = self.limit;
        // K2: after the limit was restored.
        let other = self.is_woken()
            || self.abi.heap as usize > self.limit
            || self.abi.need != 0
            || self.collection_wanted
            || self.error.is_some()
            || self.exit.is_some()
            || self.wants_other_priority();
        if other || !self.has_resumed() {
            self.abi.limit = 0;
            return false;
        }
        self.push_one_resumed() || self.push_resumed()
    }
    /// The goal inside an `at_priority`, `at_node` or `at_position` goal.
    pub(crate) fn placed_goal(
        &self,
        predicate: PredicateId,
        args: &[Word],
    ) -> Option<(PredicateId, Vec<Word>)> {
        let system = &self.system_goals;
        match *args {
            [_, _, predicate_word, goal] if predicate == system.at_priority => {
                Some(stored_goal(self, deref(predicate_word), deref(goal)))
            }
            [_, predicate_word, goal] if predicate == system.at_node || predicate == system.at_position => {
                Some(stored_goal(self, deref(predicate_word), deref(goal)))
            }
            _ => None,
        }
    }
}

/// `at_priority(Kind, Amount, Predicate, Arguments)`.
fn at_priority(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let [kind, amount, predicate, goal] = *inputs else { unreachable!("four inputs") };
    if amount.tag() != Tag::Int {
        return Outcome::Error(ProgramError::new(ErrorKind::ArgumentType, "a priority must be an integer"));
    }
    let (predicate, args) = stored_goal(worker, predicate, goal);
    let priority = target_priority(worker.abi.priority, kind.as_int() as u64, amount.as_int());
    worker.spawn_at(priority, predicate, &args);
    Outcome::Done
}

/// `at_node(Node, Predicate, Arguments)`.
fn at_node(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let [node, predicate, goal] = *inputs else { unreachable!("three inputs") };
    if node.tag() != Tag::Int {
        return Outcome::Error(ProgramError::new(ErrorKind::ArgumentType, "a node must be an integer"));
    }
    let (predicate, args) = stored_goal(worker, predicate, goal);
    worker.spawn(predicate, &args);
    Outcome::Done
}

/// `at_position(Position, Predicate, Arguments)`: a builtin's goal that knows where it stands in the text.
fn at_position(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let [position, predicate, goal] = *inputs else { unreachable!("three inputs") };
    let (predicate, args) = stored_goal(worker, predicate, goal);
    let waits = worker.call::<GOAL_ARITY_MAX>(predicate, &args, Position::of_word(position));
    waits.map_or(Outcome::Done, Outcome::Wait)
}

fn unify_goal(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    worker.unify(inputs[0], inputs[1]);
    Outcome::Done
}

// ---- goals of builtins -----------------------------------------------------------------------------

impl Worker {
    /// Runs the goal on top of the stack, which has no generated code: a builtin, or a predicate that was declared and never
    /// loaded.
    fn run_top_native(&mut self) {
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
    fn call<const N: usize>(
        &mut self,
        predicate: PredicateId,
        args: &[Word],
        position: Position,
    ) -> Option<Word> {
        let code = self.predicates.native(predicate).expect("the caller knows that it is a builtin");
        let run = code.run;
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
        match run(self, &inputs[..input_count], &mut outputs[..output_count]) {
            Outcome::Done => {
                if output_count > 0 {
                    self.unify_outputs(predicate, args, &outputs, position);
                }
                None
            }
            Outcome::Wait(variable) => Some(variable),
            Outcome::No => {
                let error = ProgramError::new(ErrorKind::ReductionFailure, "the goal fails");
                self.goal_error_at(error, predicate, args, position);
                None
            }
            Outcome::Error(error) => {
                self.goal_error_at(error, predicate, args, position);
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
        self.error.get_or_insert(error);
        self.abi.limit = 0;
    }
    /// Puts the goal that is next, if it is one of the program's, into an error that is no goal's fault.
    fn name_next_goal(&self, error: &mut ProgramError) {
        let (predicate, args) = self.top_goal();
        if self.predicates.native(predicate).is_none() {
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
    fn top_goal(&self) -> (PredicateId, Vec<Word>) {
        let top = self.abi.goals as usize - 8;
        let predicate = PredicateId::of_goal_word(read(top));
        let arity = self.predicates.arity(predicate);
        (predicate, (0..arity).map(|i| read(top - 8 * (arity - i))).collect())
    }
    /// The goal on top of the stack ends the program.
    fn fail_top(&mut self, kind: ErrorKind, message: &str) {
        let (predicate, args) = self.top_goal();
        self.goal_error_at(ProgramError::new(kind, message), predicate, &args, Position::NONE);
    }
}
