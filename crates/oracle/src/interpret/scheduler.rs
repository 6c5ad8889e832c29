//! The machine: ready goals by priority, suspended goals, and the loop that reduces them.
//!
//! Invariants:
//! - M1 A suspended goal is in `suspended` until its first variable is bound; then it is in `resumed`, and after the
//!   running reduction on top of the ready goals of its priority.
//! - Goals change hands only between reductions, so a priority takes effect at the next reduction.

use super::builtins::{self, Native, Step};
use super::guards::Choice;
use super::shoens::{self, Shoen};
use super::terms::{Cell, Id, Store, SuspensionId, Value};
use super::world::World;
use super::{Options, Outcome, Report, Schedule, error_kind};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use syntax::program::{Predicate, Program};
use term::{Atom, AtomTable, symbol, word};

/// The priority of `main:main`.
const FIRST_PRIORITY: i64 = word::INT_MAX - 1;

/// What a goal runs.
#[derive(Clone)]
pub(super) enum Code {
    /// A predicate of the program, by its index.
    Predicate(usize),
    /// A builtin.
    Native(Rc<Native>),
    /// A call that the oracle cannot resolve, or that is wrong whatever its arguments are: ends the run when it is
    /// reached.
    Wrong(Rc<str>, Outcome),
    /// Waits for a priority or node number, then becomes the inner goal.
    Placed(Place, Box<Code>),
}

/// How a number in a pragma is meant. It is the goal's first argument.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Priority,
    Lower,
    Node,
}

/// A goal.
#[derive(Clone)]
pub(super) struct Goal {
    pub(super) code: Code,
    pub(super) arguments: Vec<Id>,
    pub(super) priority: i64,
    /// The shoen that it belongs to; 0 is none.
    pub(super) shoen: usize,
}

/// A predicate with its module.
pub(super) struct Entry<'p> {
    pub(super) module: Atom,
    pub(super) predicate: &'p Predicate,
}

/// A run.
pub(super) struct Machine<'p> {
    pub(super) store: Store,
    pub(super) atoms: &'p AtomTable,
    pub(super) world: World,
    pub(super) entries: Vec<Entry<'p>>,
    pub(super) predicates: HashMap<(Atom, Atom, usize), usize>,
    pub(super) natives: builtins::Table,
    /// The priority of the running goal.
    pub(super) priority: i64,
    /// The shoen of the running goal.
    pub(super) shoen: usize,
    /// By number; the first stands for none.
    pub(super) shoens: Vec<Shoen<Id>>,
    pub(super) ready: BTreeMap<i64, Vec<Goal>>,
    /// Ready goals of shoens that are stopped.
    pub(super) parked: Vec<Goal>,
    pub(super) suspended: Vec<Option<Goal>>,
    /// Goals for the front, in the order they are to run.
    pub(super) resumed: Vec<Goal>,
    /// By the number in their handle.
    pub(super) mergers: Vec<builtins::Merger>,
    pub(super) streams: Vec<builtins::io::Stream>,
    /// Variables that get `[]` at a time (microseconds); timers of one time in the order in which they were set.
    pub(super) timers: BTreeMap<(i64, u64), Id>,
    pub(super) timers_set: u64,
    /// The time in microseconds.
    pub(super) now: i64,
    /// What runs after a failure or deadlock.
    pub(super) postmortem: Option<(Code, Vec<Id>)>,
    /// Set when the run ends.
    pub(super) stop: Option<Outcome>,
    pub(super) steps: u64,
    pub(super) schedule: Schedule,
    step_limit: u64,
}

impl<'p> Machine<'p> {
    pub(super) fn new(program: &'p Program, atoms: &'p AtomTable, options: Options) -> Machine<'p> {
        let mut entries = Vec::new();
        let mut predicates = HashMap::new();
        for module in &program.modules {
            for predicate in &module.predicates {
                predicates.insert((module.name, predicate.name, predicate.arity), entries.len());
                entries.push(Entry { module: module.name, predicate });
            }
        }
        let natives = builtins::Table::new(atoms);
        let (step_limit, schedule) = (options.step_limit, options.schedule);
        Machine {
            store: Store::default(),
            world: World::new(options),
            atoms,
            entries,
            predicates,
            natives,
            priority: FIRST_PRIORITY,
            shoen: 0,
            shoens: Vec::new(),
            ready: BTreeMap::new(),
            parked: Vec::new(),
            suspended: Vec::new(),
            resumed: Vec::new(),
            mergers: Vec::new(),
            streams: Vec::new(),
            timers: BTreeMap::new(),
            timers_set: 0,
            now: 0,
            postmortem: None,
            stop: None,
            steps: 0,
            schedule,
            step_limit,
        }
    }

    /// Runs to the end.
    pub(super) fn run(mut self) -> Report {
        let code = self.predicate_code(symbol::MAIN, symbol::MAIN, 0);
        self.push(Goal { code, arguments: Vec::new(), priority: FIRST_PRIORITY, shoen: 0 });
        self.run_ready();
        let outcome = self.stop.take().expect("the loop ends when it is set");
        let failed =
            matches!(outcome, Outcome::Failure { .. } | Outcome::Error { .. } | Outcome::Deadlock { .. });
        if failed && let Some((code, arguments)) = self.postmortem.take() {
            self.ready.clear();
            self.resumed.clear();
            self.parked.clear();
            self.timers.clear();
            self.shoens.clear();
            self.push(Goal { code, arguments, priority: FIRST_PRIORITY, shoen: 0 });
            self.run_ready();
        }
        self.world.report(outcome, self.steps)
    }

    /// Reduces until the run ends.
    fn run_ready(&mut self) {
        while self.stop.is_none() {
            let Some(goal) = self.next() else {
                self.shoen = 0;
                if !builtins::timer::advance(self) && !self.tell_of_deadlock() {
                    self.stop = Some(self.end());
                }
                self.push_resumed();
                self.end_shoens();
                continue;
            };
            self.count_step();
            self.reduce(goal);
            self.push_resumed();
            self.shoen = 0;
            builtins::timer::tick(self);
            self.push_resumed();
            self.end_shoens();
        }
    }

    /// Counts work; beyond the limit the run ends.
    pub(super) fn count_step(&mut self) {
        self.steps += 1;
        if self.steps > self.step_limit && self.stop.is_none() {
            self.stop = Some(Outcome::StepLimit);
        }
    }

    /// Ends the run, unless it has ended for another reason.
    pub(super) fn finish(&mut self, outcome: Outcome) {
        self.stop.get_or_insert(outcome);
    }

    /// The program is in error.
    pub(super) fn error(&mut self, message: impl Into<String>) {
        let message = message.into();
        self.fault(error_kind(&message), Outcome::Error { message });
    }

    /// A builtin of the running goal ends the run, unless it has failed and somebody listens.
    pub(super) fn end_by(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Failure { .. } | Outcome::Error { .. } => self.fault("other", outcome),
            outcome => self.finish(outcome),
        }
    }

    /// The running goal has failed: whoever listens is told, or the run ends so.
    pub(super) fn fault(&mut self, kind: &str, outcome: Outcome) {
        let place = self.store.atom(symbol::NIL);
        let name = self.atoms.intern(kind.as_bytes());
        let name = self.store.atom(name);
        if !self.tell_exception(kind, [name, place]) {
            self.finish(outcome);
        }
    }

    /// Tells the innermost shoen around the running goal that listens to this kind; the goal becomes another one when
    /// that is known. False if nobody listens.
    pub(super) fn tell_exception(&mut self, kind: &str, [name, goal]: [Id; 2]) -> bool {
        let Some(listener) = shoens::listener(&self.shoens, self.shoen, kind) else { return false };
        let new = self.store.variable();
        let nil = self.store.atom(symbol::NIL);
        let none = self.store.int(0);
        let [at, exception] = [&b"at"[..], b"exception"].map(|name| self.atoms.intern(name));
        let place = self.store.functor(at, &[nil, none]);
        let event = self.store.functor(exception, &[name, goal, place, new]);
        let [module, instead] = [&b"shoen_control"[..], b"instead"].map(|name| self.atoms.intern(name));
        let code = self.predicate_code(module, instead, 1);
        let (priority, shoen) = (self.priority, self.shoen);
        self.suspend(Goal { code, arguments: vec![new], priority, shoen }, vec![new]);
        self.tell(listener, event);
        true
    }

    /// What is told of a shoen gets one more item.
    pub(super) fn tell(&mut self, shoen: usize, event: Id) {
        let rest = self.store.variable();
        let report = std::mem::replace(&mut self.shoens[shoen].report, rest);
        let events = self.store.list(&[event], rest);
        self.unify(report, events);
    }

    /// Tells what has come to its end, from the inside.
    fn end_shoens(&mut self) {
        for number in (1..self.shoens.len()).rev() {
            let shoen = &self.shoens[number];
            let inside = |inner: &Shoen<Id>| inner.parent == number && !inner.over;
            let left = !shoen.aborted && shoen.goals > 0 || self.shoens[number..].iter().any(inside);
            if shoen.over || left {
                continue;
            }
            let name = self.atoms.intern(if shoen.aborted { b"aborted" } else { b"terminated" });
            let [event, end] = [name, symbol::NIL].map(|name| self.store.atom(name));
            let events = self.store.list(&[event], end);
            self.shoens[number].over = true;
            let report = self.shoens[number].report;
            self.shoen = self.shoens[number].parent;
            self.unify(report, events);
            self.push_resumed();
        }
    }

    /// Nothing is ready: the innermost shoens with goals that wait are told, unless they were. False if there are none.
    fn tell_of_deadlock(&mut self) -> bool {
        let mut stuck: BTreeMap<usize, Vec<Goal>> = BTreeMap::new();
        for goal in self.suspended.iter().flatten() {
            if !self.is_daemon(&goal.code)
                && let Some(shoen) = shoens::listener(&self.shoens, goal.shoen, "deadlock")
            {
                stuck.entry(shoen).or_default().push(goal.clone());
            }
        }
        let mut around = vec![false; self.shoens.len()];
        for &shoen in stuck.keys().filter(|&&shoen| !self.shoens[shoen].told) {
            let mut outer = self.shoens[shoen].parent;
            while outer != 0 {
                around[outer] = true;
                outer = self.shoens[outer].parent;
            }
        }
        let mut told = false;
        for (shoen, goals) in stuck {
            if around[shoen] || std::mem::replace(&mut self.shoens[shoen].told, true) {
                continue;
            }
            let goals: Vec<Id> = goals.iter().map(|goal| self.goal_term(goal)).collect();
            let end = self.store.atom(symbol::NIL);
            let goals = self.store.list(&goals, end);
            let name = self.atoms.intern(b"deadlock");
            let event = self.store.functor(name, &[goals]);
            self.tell(shoen, event);
            told = true;
        }
        told
    }

    /// `module:name(..)`.
    fn goal_term(&mut self, goal: &Goal) -> Id {
        let (module, name, arguments) = match &goal.code {
            Code::Predicate(index) => {
                let entry = &self.entries[*index];
                (entry.module, entry.predicate.name, goal.arguments.clone())
            }
            Code::Native(native) => {
                let [module, name] =
                    [native.module, &native.name].map(|name| self.atoms.intern(name.as_bytes()));
                (module, name, goal.arguments.clone())
            }
            Code::Placed(_, inner) => {
                let inner =
                    Goal { code: (**inner).clone(), arguments: goal.arguments[1..].to_vec(), ..*goal };
                return self.goal_term(&inner);
            }
            Code::Wrong(..) => (symbol::NIL, symbol::NIL, Vec::new()),
        };
        let goal = self.store.functor(name, &arguments);
        let module = self.store.atom(module);
        let colon = self.atoms.intern(b":");
        self.store.functor(colon, &[module, goal])
    }

    fn count_goal(&mut self, goal: &Goal, change: isize) {
        if goal.shoen != 0 && !self.is_daemon(&goal.code) {
            let shoen = &mut self.shoens[goal.shoen];
            shoen.goals = shoen.goals.wrapping_add_signed(change);
        }
    }

    /// A new shoen: its number, and what is told of it.
    pub(super) fn new_shoen(&mut self, kinds: Vec<String>, range: (i64, i64)) -> (usize, Id) {
        let report = self.store.variable();
        (shoens::add(&mut self.shoens, self.shoen, kinds, range, report), report)
    }

    /// True once, unless the shoen was aborted: it gets its goal.
    pub(super) fn begin_shoen(&mut self, number: usize) -> bool {
        let shoen = &mut self.shoens[number];
        let begins = !std::mem::replace(&mut shoen.begun, true);
        shoen.goals -= usize::from(begins);
        begins && !shoen.aborted
    }

    fn is_dead(&self, shoen: usize) -> bool {
        self.shoens.get(shoen).is_some_and(|shoen| shoen.aborted)
    }

    /// The code of a predicate or goal builtin.
    pub(super) fn predicate_code(&mut self, module: Atom, name: Atom, arity: usize) -> Code {
        if let Some(&index) = self.predicates.get(&(module, name, arity)) {
            return Code::Predicate(index);
        }
        if let Some(native) = self.natives.named(module, name, arity) {
            return Code::Native(native);
        }
        let what = format!("{}:{}/{arity}", self.atoms.name(module), self.atoms.name(name));
        if self.natives.is_generic(module) {
            let message = format!("undefined method {}/{arity}", self.atoms.name(name));
            return Code::Wrong(what.as_str().into(), Outcome::Error { message });
        }
        Code::Wrong(what.as_str().into(), Outcome::Unsupported { what: format!("no predicate {what}") })
    }

    /// Puts a goal on top of the ready goals of its priority.
    pub(super) fn push(&mut self, mut goal: Goal) {
        if self.is_dead(goal.shoen) {
            return;
        }
        if let Some(shoen) = self.shoens.get(goal.shoen) {
            goal.priority = goal.priority.clamp(shoen.range.0, shoen.range.1);
        }
        self.count_goal(&goal, 1);
        if !self.shoens.is_empty() && shoens::is_stopped(&self.shoens, goal.shoen) {
            return self.parked.push(goal);
        }
        self.ready.entry(goal.priority).or_default().push(goal);
    }

    fn next(&mut self) -> Option<Goal> {
        let goal = self.next_ready()?;
        self.count_goal(&goal, -1);
        Some(goal)
    }

    fn next_ready(&mut self) -> Option<Goal> {
        if let Schedule::Shuffled(state) = self.schedule {
            return self.next_of_any(state);
        }
        let mut highest = self.ready.last_entry()?;
        let goal = highest.get_mut().pop();
        if highest.get().is_empty() {
            highest.remove();
        }
        goal
    }

    fn next_of_any(&mut self, state: u64) -> Option<Goal> {
        // Knuth's linear congruence; its high bits decide.
        let state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.schedule = Schedule::Shuffled(state);
        let count = self.ready.values().map(Vec::len).sum::<usize>().max(1);
        let mut at = (state >> 33) as usize % count;
        for goals in self.ready.values_mut() {
            if at < goals.len() {
                return Some(goals.swap_remove(at));
            }
            at -= goals.len();
        }
        None
    }

    /// M1: resumed goals come before everything that was pushed.
    fn push_resumed(&mut self) {
        while let Some(goal) = self.resumed.pop() {
            self.push(goal);
        }
    }

    fn reduce(&mut self, goal: Goal) {
        (self.priority, self.shoen) = (goal.priority, goal.shoen);
        match &goal.code {
            Code::Predicate(index) => match self.choose(*index, &goal.arguments) {
                Choice::Commit(clause, environment) => {
                    self.commit(self.entries[*index].module, clause, environment)
                }
                Choice::Suspend(variables) => self.suspend(goal, variables),
                Choice::Fail => self.fail(&goal),
            },
            Code::Native(native) => {
                let native = native.clone();
                match self.run_native(&native, &goal.arguments) {
                    Step::Done(outputs) => self.give_outputs(&native, &goal.arguments, &outputs),
                    Step::Wait(variable) => self.suspend(goal, vec![variable]),
                    Step::No => self.fail(&goal),
                    Step::Error(message) => self.error(message),
                    Step::End(outcome) => self.end_by(outcome),
                }
            }
            Code::Wrong(_, outcome @ Outcome::Error { message }) => {
                self.fault(error_kind(message), outcome.clone())
            }
            Code::Wrong(_, outcome) => self.finish(outcome.clone()),
            Code::Placed(place, _) => self.reduce_placed(*place, goal),
        }
    }

    fn reduce_placed(&mut self, place: Place, mut goal: Goal) {
        let number = goal.arguments[0];
        match self.place_priority(place, number) {
            Ok(priority) => {
                let Code::Placed(_, inner) = goal.code else { unreachable!("the caller matched it") };
                goal.arguments.remove(0);
                self.push(Goal { code: *inner, arguments: goal.arguments, priority, shoen: goal.shoen });
            }
            Err(Step::Wait(variable)) => self.suspend(goal, vec![variable]),
            Err(_) => self.fault("placement", Outcome::Error { message: "a pragma needs an integer".into() }),
        }
    }

    /// The priority that a pragma gives, seen from the running goal.
    pub(super) fn place_priority(&self, place: Place, number: Id) -> Result<i64, Step> {
        let Some(value) = self.store.get(number) else { return Err(Step::Wait(self.store.deref(number))) };
        if matches!((place, value), (Place::Node, Value::Atom(symbol::ANY))) {
            return Ok(self.priority);
        }
        let Some(number) = value.to_bigint() else { return Err(Step::No) };
        let limit = |n: num_bigint::BigInt| i64::try_from(n.clamp(0.into(), word::INT_MAX.into()));
        let priority = match place {
            Place::Priority => limit(number),
            Place::Lower => limit(self.priority - number),
            Place::Node => Ok(self.priority),
        };
        Ok(priority.expect("clamped to the range of a word"))
    }

    /// The goal waits for any of these variables; a generator among them makes its value instead.
    pub(super) fn suspend(&mut self, goal: Goal, variables: Vec<Id>) {
        let mut generated = false;
        for &variable in &variables {
            generated |= builtins::random::force(self, variable);
        }
        if generated {
            self.push(goal);
            return;
        }
        let suspension = SuspensionId(self.suspended.len());
        for variable in variables {
            self.store.hook(variable, suspension);
        }
        self.count_goal(&goal, 1);
        self.suspended.push(Some(goal));
    }

    /// M1: the waiters of a variable that was just bound.
    pub(super) fn resume(&mut self, waiters: Vec<SuspensionId>) {
        for waiter in waiters {
            let Some(goal) = self.suspended[waiter.0].take() else { continue };
            self.count_goal(&goal, -1);
            if let Some(shoen) = self.shoens.get_mut(goal.shoen) {
                shoen.told = false;
            }
            self.resumed.push(goal);
        }
    }

    /// Reduction failure.
    pub(super) fn fail(&mut self, goal: &Goal) {
        let shown = self.show_goal(goal);
        if self.shoen == 0 {
            return self.finish(Outcome::Failure { goal: shown });
        }
        let term = self.goal_term(goal);
        let name = self.atoms.intern(b"reduction_failure");
        let name = self.store.atom(name);
        if !self.tell_exception("reduction_failure", [name, term]) {
            self.finish(Outcome::Failure { goal: shown });
        }
    }

    /// Outputs of a builtin that ran as a goal go to the goal's arguments.
    fn give_outputs(&mut self, native: &Native, arguments: &[Id], outputs: &[Id]) {
        let places = arguments.iter().zip(native.modes.bytes()).filter(|(_, mode)| *mode == b'o');
        for ((&argument, _), &output) in places.zip(outputs) {
            self.unify(argument, output);
        }
    }

    /// Nothing is ready: success, or perpetual suspension.
    fn end(&mut self) -> Outcome {
        let waiting: Vec<Goal> = std::mem::take(&mut self.suspended).into_iter().flatten().collect();
        let goals: Vec<String> = waiting
            .iter()
            .filter(|goal| !self.is_daemon(&goal.code))
            .map(|goal| self.show_goal(goal))
            .collect();
        if goals.is_empty() { Outcome::Success } else { Outcome::Deadlock { goals } }
    }

    pub(super) fn is_daemon(&self, code: &Code) -> bool {
        match code {
            Code::Predicate(index) => self.entries[*index].predicate.daemon,
            Code::Native(native) => native.daemon,
            Code::Placed(_, inner) => self.is_daemon(inner),
            Code::Wrong(..) => false,
        }
    }

    /// The first variable in a term.
    pub(super) fn first_variable(&mut self, term: Id) -> Option<Id> {
        let mut rest = vec![term];
        while let Some(term) = rest.pop() {
            self.count_step();
            if self.stop.is_some() {
                break;
            }
            match self.store.get(term) {
                Some(value) => rest.extend(value.parts().into_iter().rev()),
                None => return Some(self.store.deref(term)),
            }
        }
        None
    }

    /// Whether a cell has no value (generators included).
    pub(super) fn is_unbound(&self, id: Id) -> bool {
        !matches!(self.store.cell(self.store.deref(id)), Cell::Value(_))
    }
}
