//! Module `shoen_control`.

use super::super::Outcome;
use super::super::scheduler::{Goal, Machine};
use super::super::shoens::{self, Shoen};
use super::super::terms::{Id, Value};
use super::{Native, Step, native, type_error};
use term::abi::Place;

const MODULE: &str = "shoen_control";

/// Kinds of exceptions.
const KINDS: &[&str] = &[
    "all",
    "reduction_failure",
    "unification_failure",
    "argument_type",
    "range",
    "placement",
    "zero_division",
    "undefined_method",
    "undefined_predicate",
    "heap_limit",
    "other",
    "deadlock",
    "raised",
    "node_lost",
    "exit",
];

pub(super) fn natives() -> Vec<Native> {
    vec![
        native("shoen", "raise", "iia", Place::Method, raise),
        native(MODULE, "new", "iiioo", Place::Method, new),
        native(MODULE, "run", "ia", Place::Goal, run),
        native(MODULE, "limit", "ii", Place::Method, |_, _| Step::Done(Vec::new())),
        native(MODULE, "add", "ii", Place::Method, |_, _| Step::Done(Vec::new())),
        native(MODULE, "statistics", "io", Place::Method, statistics),
        native(MODULE, "alarm", "ioo", Place::Goal, alarm),
        native(MODULE, "quiet", "i", Place::Goal, quiet),
        native(MODULE, "tell", "ii", Place::Method, tell),
        native(MODULE, "instead", "i", Place::Goal, instead),
    ]
}

/// What stands for a goal.
enum Wanted {
    Goal(Goal),
    None,
    Waits(Id),
    Wrong(Step),
}

fn new(machine: &mut Machine, inputs: &[Id]) -> Step {
    let ranges = [1, 2].map(|i| match *machine.bound(inputs[i]) {
        Value::Int(priority) => Ok(priority),
        _ => Err(type_error("a priority is an integer")),
    });
    let (min, max) = match ranges {
        [Ok(min), Ok(max)] => (min, max),
        [Err(step), _] | [_, Err(step)] => return step,
    };
    match names(machine, inputs[0]) {
        Ok(_) if min < 0 || max < min || max > term::word::INT_MAX => {
            Step::Error("index out of range: priorities".into())
        }
        Ok(kinds) => {
            if !kinds.iter().all(|kind| KINDS.contains(&kind.as_str())) {
                return type_error("kinds of exceptions");
            }
            let (number, report) = machine.new_shoen(kinds, (min, max));
            Step::Done(vec![machine.store.int(number as i64), report])
        }
        Err(step) => step,
    }
}

fn run(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(number) = number(machine, inputs[0]) else { return Step::Done(Vec::new()) };
    if !machine.begin_shoen(number) {
        return Step::Done(Vec::new());
    }
    let goal = match wanted(machine, inputs[1]) {
        Wanted::Goal(goal) => Some(goal),
        Wanted::None => None,
        Wanted::Waits(_) | Wanted::Wrong(_) => {
            let [module, name] = [MODULE, "instead"].map(|name| machine.atoms.intern(name.as_bytes()));
            let code = machine.predicate_code(module, name, 1);
            Some(Goal { code, arguments: vec![inputs[1]], priority: machine.priority, shoen: number })
        }
    };
    if let Some(goal) = goal {
        machine.push(Goal { shoen: number, ..goal });
    }
    Step::Done(Vec::new())
}

/// The shoen that a number names; `None` if there is none.
fn number(machine: &Machine, number: Id) -> Option<usize> {
    let Value::Int(number) = *machine.bound(number) else { return None };
    usize::try_from(number).ok().filter(|number| (1..machine.shoens.len()).contains(number))
}

fn names(machine: &Machine, kinds: Id) -> Result<Vec<String>, Step> {
    let (mut rest, mut names) = (kinds, Vec::new());
    loop {
        match machine.store.get(rest) {
            Some(Value::Atom(term::symbol::NIL)) => return Ok(names),
            Some(Value::Atom(name)) if names.is_empty() => {
                return Ok(vec![machine.atoms.name(*name).into_owned()]);
            }
            Some(&Value::List(item, more)) => {
                match machine.store.get(item) {
                    Some(Value::Atom(name)) => names.push(machine.atoms.name(*name).into_owned()),
                    None => return Err(Step::Wait(machine.store.deref(item))),
                    Some(_) => return Err(type_error("kinds of exceptions are atoms")),
                }
                rest = more;
            }
            None => return Err(Step::Wait(machine.store.deref(rest))),
            Some(_) => return Err(type_error("kinds of exceptions are a list")),
        }
    }
}

fn raise(machine: &mut Machine, inputs: &[Id]) -> Step {
    if let Some(variable) = machine.first_variable(inputs[1]) {
        return Step::Wait(variable);
    }
    let raised = machine.atoms.intern(b"raised");
    let term = machine.store.functor(raised, inputs);
    let goal = machine.store.atom(term::symbol::NIL);
    if machine.tell_exception("raised", [term, goal]) {
        return Step::Done(Vec::new());
    }
    machine.finish(Outcome::Error { message: "nobody is told of what is raised".into() });
    Step::Done(Vec::new())
}

fn tell(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(number) = number(machine, inputs[0]) else { return Step::Done(Vec::new()) };
    let &Value::Atom(what) = machine.bound(inputs[1]) else { return type_error("what a shoen is told") };
    match &*machine.atoms.name(what) {
        "abort" => machine.abort(number),
        "stop" => machine.stop(number),
        "start" => machine.start(number),
        // It is found when nothing is ready.
        "find_deadlock" => {}
        _ => return type_error("what a shoen is told"),
    }
    Step::Done(Vec::new())
}

/// Words are not counted.
fn statistics(machine: &mut Machine, inputs: &[Id]) -> Step {
    let [waiting, inside] = number(machine, inputs[0]).map_or([0; 2], |number| machine.shoen_figures(number));
    let figures = [("words", 0), ("waiting", waiting), ("shoens", inside)].map(|(name, figure)| {
        let (name, figure) = (machine.atoms.intern(name.as_bytes()), machine.store.int(figure as i64));
        machine.store.functor(name, &[figure])
    });
    let end = machine.store.atom(term::symbol::NIL);
    Step::Done(vec![machine.store.list(&figures, end)])
}

fn alarm(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Value::Int(wait) = *machine.bound(inputs[0]) else { return type_error("a time is an integer") };
    let Some(at) = wait.checked_mul(1000).and_then(|wait| machine.now.checked_add(wait)) else {
        return Step::Error("index out of range: a time is too large".into());
    };
    let variable = machine.store.variable();
    machine.timers_set += 1;
    machine.timers.insert((at, machine.timers_set), variable);
    let number = machine.store.int(machine.timers_set as i64);
    Step::Done(vec![number, variable])
}

fn quiet(machine: &mut Machine, inputs: &[Id]) -> Step {
    if let Value::Int(number) = *machine.bound(inputs[0]) {
        machine.timers.retain(|(_, set), _| *set as i64 != number);
    }
    Step::Done(Vec::new())
}

fn instead(machine: &mut Machine, inputs: &[Id]) -> Step {
    match wanted(machine, inputs[0]) {
        Wanted::Goal(goal) => {
            machine.become_goal(goal.code, goal.arguments);
            Step::Done(Vec::new())
        }
        Wanted::None => Step::Done(Vec::new()),
        Wanted::Waits(variable) => Step::Wait(variable),
        Wanted::Wrong(step) => step,
    }
}

fn wanted(machine: &mut Machine, goal: Id) -> Wanted {
    let waits = |machine: &Machine, id: Id| Wanted::Waits(machine.store.deref(id));
    let (module, name, arguments) = match machine.store.get(goal).cloned() {
        None => return waits(machine, goal),
        Some(Value::Atom(name)) if matches!(&*machine.atoms.name(name), "skip" | "true") => {
            return Wanted::None;
        }
        Some(Value::Vector(parts)) if parts.len() == 2 => {
            match (machine.store.get(parts[0]), machine.store.get(parts[1])) {
                (None, _) => return waits(machine, parts[0]),
                (_, None) => return waits(machine, parts[1]),
                (Some(&Value::Predicate(module, name, arity)), Some(Value::Vector(arguments))) => {
                    if arity != arguments.len() {
                        return Wanted::Wrong(Step::Error("arity mismatch".into()));
                    }
                    (module, name, arguments.to_vec())
                }
                _ => return Wanted::Wrong(type_error("a goal")),
            }
        }
        Some(Value::Struct(colon, parts)) if parts.len() == 2 && &*machine.atoms.name(colon) == ":" => {
            match (machine.store.get(parts[0]), machine.store.get(parts[1])) {
                (None, _) => return waits(machine, parts[0]),
                (_, None) => return waits(machine, parts[1]),
                (Some(&Value::Atom(module)), Some(&Value::Atom(name))) => (module, name, Vec::new()),
                (Some(&Value::Atom(module)), Some(Value::Struct(name, arguments))) => {
                    (module, *name, arguments.to_vec())
                }
                _ => return Wanted::Wrong(type_error("a goal")),
            }
        }
        Some(_) => return Wanted::Wrong(type_error("a goal")),
    };
    let code = machine.predicate_code(module, name, arguments.len());
    Wanted::Goal(Goal { code, arguments, priority: machine.priority, shoen: machine.shoen })
}

impl Machine<'_> {
    /// The goals of a shoen, and of those inside, are dropped.
    pub(super) fn abort(&mut self, number: usize) {
        self.shoens[number].aborted = true;
        for inner in number..self.shoens.len() {
            self.shoens[inner].aborted |= self.shoens[self.shoens[inner].parent].aborted;
        }
        let dead: Vec<bool> = self.shoens.iter().map(|shoen| shoen.aborted).collect();
        self.ready.values_mut().for_each(|goals| goals.retain(|goal| !dead[goal.shoen]));
        self.ready.retain(|_, goals| !goals.is_empty());
        self.resumed.retain(|goal| !dead[goal.shoen]);
        self.parked.retain(|goal| !dead[goal.shoen]);
        self.suspended.iter_mut().for_each(|goal| _ = goal.take_if(|goal| dead[goal.shoen]));
    }

    /// The goals of a shoen, and of those inside, do not run until it starts.
    pub(super) fn stop(&mut self, number: usize) {
        if self.shoens[number].over || std::mem::replace(&mut self.shoens[number].stopped, true) {
            return;
        }
        self.tell_event(number, b"stopped");
        for goals in self.ready.values_mut() {
            let shoens = &self.shoens;
            self.parked.extend(goals.extract_if(.., |goal| shoens::is_stopped(shoens, goal.shoen)));
        }
        self.ready.retain(|_, goals| !goals.is_empty());
    }
    /// They run again.
    pub(super) fn start(&mut self, number: usize) {
        if self.shoens[number].over || !std::mem::replace(&mut self.shoens[number].stopped, false) {
            return;
        }
        self.tell_event(number, b"started");
        let shoens = &self.shoens;
        for goal in self.parked.extract_if(.., |goal| !shoens::is_stopped(shoens, goal.shoen)) {
            self.ready.entry(goal.priority).or_default().push(goal);
        }
    }
    fn tell_event(&mut self, number: usize, name: &[u8]) {
        let name = self.atoms.intern(name);
        let event = self.store.atom(name);
        self.tell(number, event);
    }
    /// Goals of a shoen that wait, and shoens inside.
    pub(super) fn shoen_figures(&self, number: usize) -> [usize; 2] {
        let waits = |goal: &&Goal| goal.shoen == number && !self.is_daemon(&goal.code);
        let inside = |inner: &&Shoen<Id>| inner.parent == number && !inner.over;
        let waiting = self.suspended.iter().flatten().filter(waits).count();
        [waiting, self.shoens.iter().filter(inside).count()]
    }
}
