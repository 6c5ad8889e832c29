//! Module `shoen_control`: shoens, for the library's `shoen`, and what of that is native. What they are says
//! `goals::shoen`.
//!
//! | goal                      | what it does                                                                     |
//! |---------------------------|----------------------------------------------------------------------------------|
//! | `new(Kinds,Min,Max,N,Es)` | a new shoen: its number, and the list of what happens in it                      |
//! | `run(N,Goal)`             | its goal: whoever reads the list waits for it by then                            |
//! | `tell(N,What)`            | `abort`, `stop`, `start` or `find_deadlock`: at the next attention               |
//! | `limit(N,Words)`          | what its goals may allocate; beyond that it stops, and reports `resource_low`    |
//! | `add(N,Words)`            | what they may allocate from now on, beside what was left; if they had stopped, they go on |
//! | `statistics(N,S)`         | `[words(W),waiting(G),shoens(C)]`: words allocated, goals that wait, shoens inside |
//! | `alarm(Ms,K,X)`           | X becomes `[]` then, unless `quiet(K)` comes before                              |
//! | `quiet(K)`                | takes an alarm back: the run need not wait for it                                |
//! | `instead(Goal)`           | becomes the goal, when that is known                                             |
//!
//! What nodes say to each other (X20 and X21 of `goals::shoen`), and no program can, is in the runtime's own module:
//!
//! | goal                      | what it says                                                                     |
//! |---------------------------|----------------------------------------------------------------------------------|
//! | `foster(N,..,P,Args)`     | a goal has come from another node, and is taken in                               |
//! | `daemon(N,..,P,Args)`     | the same of a daemon, which nobody counts                                        |
//! | `bind(N,..,At,X,V)`       | a goal has bound a variable of this node at another one, as one that comes here  |
//! | `told(Bit,Ends,Event)`    | something has happened at another node to the shoen of this goal, and ends it or not |
//! | `hello(N,Node)`           | that node has goals of the shoen                                                 |
//! | `done(N,Node,Left)`       | a goal that was sent to that node is counted there, or done; what is left of it  |
//! | `words(N,Node,Words)`     | goals of the shoen have allocated words at that node                             |
//! | `order(N,What)`           | `abort`, `stop` or `start`: said to nodes that have goals of the shoen, or daemons |
//! | `order(N,late)`           | the shoen was aborted before: said to a node that has got daemons of it          |
//! | `lost(N,Node)`            | the shoen's own node counts this one because that node is dead                   |
//! | `lose(Node)`              | that node is dead                                                                |
//!
//! Goals run at priorities from `Min` to `Max`. `Kinds` is `all`, or a list of names of kinds, of which `all` is one:
//! it stands for all but `exit`. Items of `Es` are `exception(Kind,Goal,at(File,Line),New)`, `deadlock(Goals)`,
//! `stopped`, `started`, `resource_low`, and at the end `terminated` or `aborted`.

use super::io::events::{set_alarm, take_alarm_back};
use super::io::streams::find_variable;
use super::{Row, attempt, error, goal, home, integer, list_items, method, wrong};
use crate::goals::shoen::faults::GoalError;
use crate::goals::shoen::fosters::Arrival;
use crate::goals::shoen::state::{KINDS, Shoen, Told, kind_bit};
use crate::reports::outcome::ErrorKind;
use crate::terms::deref;
use crate::worker::native::{Outcome, Run};
use crate::worker::{PRIORITY_MAX, Worker};
use std::sync::Arc;
use std::time::{Duration, Instant};
use term::Word;
use term::abi::{Position, PredicateId};
use term::word::Tag;

/// What a goal becomes that failed in a shoen: module, name and number of arguments.
pub(crate) const INSTEAD: (&str, &str, usize) = ("shoen_control", "instead", 1);

fn kinds(worker: &Worker, word: Word) -> Result<u64, Outcome> {
    let (all, mut bits) = ((1 << (KINDS.len() - 1)) - 1, 0);
    let bit = |worker: &Worker, name: Word| {
        let name = worker.atom_value(name).filter(|&name| name != term::symbol::NIL)?;
        let name = worker.atoms.name(name);
        Some(if &*name == "all" { all } else { kind_bit(&name) })
    };
    if let Some(bits) = bit(worker, word).filter(|&bits| bits != 0) {
        return Ok(bits);
    }
    for item in list_items(worker, 1, word)? {
        let name = super::known(item)?;
        match bit(worker, name) {
            Some(bit) if bit != 0 => bits |= bit,
            _ => return Err(wrong(worker, 1, "a list of kinds of exceptions", name)),
        }
    }
    Ok(bits)
}

/// `new(Kinds,Min,Max,N,Es)`.
fn new(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let kinds = attempt!(kinds(worker, inputs[0]));
    let range = (attempt!(integer(worker, 2, inputs[1])), attempt!(integer(worker, 3, inputs[2])));
    if !(0..=PRIORITY_MAX).contains(&range.0) || !(range.0..=PRIORITY_MAX).contains(&range.1) {
        return error(ErrorKind::Range, "a range of priorities begins at 0 or above, and ends above that");
    }
    let (number, report) = worker.new_shoen(Told { kinds, range, depth: 1, around: Box::default() });
    outputs.copy_from_slice(&[Word::small(number), report]);
    Outcome::Done
}

/// X20: true if a shoen is another node's: the goal goes there.
fn goes_home(worker: &mut Worker, name: &str, inputs: &[Word]) -> bool {
    let Ok(number) = integer(worker, 1, inputs[0]) else { return false };
    // X21: what has died with its node is over.
    let Some(node) = worker.other_home(number).filter(|&node| !worker.is_lost(node)) else { return false };
    let predicate = worker.shoen_goal((name, inputs.len()));
    worker.throw(node, predicate, inputs);
    true
}

/// `run(N,Goal)`.
fn run(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let [number, goal] = *inputs else { return Outcome::No };
    if goes_home(worker, "run", inputs) {
        return Outcome::Done;
    }
    let number = attempt!(integer(worker, 1, number));
    let Some(shoen) = worker.begin_shoen(number) else { return Outcome::Done };
    match worker.goal_of(goal) {
        Ok(Some((predicate, args))) => worker.spawn_in(&shoen, predicate, &args),
        Ok(None) => {}
        // It waits there, or is in error.
        Err(_) => worker.spawn_in(&shoen, worker.system_goals.instead, &[goal]),
    }
    worker.begun(&shoen);
    Outcome::Done
}

/// `tell(N,What)`: what is over hears nothing.
fn tell(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    if goes_home(worker, "tell", inputs) {
        return Outcome::Done;
    }
    let number = attempt!(integer(worker, 1, inputs[0]));
    let Some(what) = worker.atom_value(inputs[1]) else {
        return wrong(worker, 2, "what a shoen is told", inputs[1]);
    };
    let shoen = worker.shoen(number);
    match (&*worker.atoms.name(what), shoen) {
        ("find_deadlock", _) => worker.collect_soon(),
        ("abort", Some(shoen)) => worker.abort(&shoen),
        ("stop", Some(shoen)) => worker.stop(&shoen),
        ("start", Some(shoen)) => worker.start(&shoen),
        ("abort" | "stop" | "start", None) => {}
        _ => return wrong(worker, 2, "what a shoen is told", inputs[1]),
    }
    Outcome::Done
}

/// A shoen and a number of words.
fn words(worker: &Worker, inputs: &[Word]) -> Result<(Option<Arc<Shoen>>, u64), Outcome> {
    let number = integer(worker, 1, inputs[0])?;
    let words = u64::try_from(integer(worker, 2, inputs[1])?);
    let words = words.map_err(|_| wrong(worker, 2, "a number of words", inputs[1]))?;
    Ok((worker.shoen(number), words))
}

/// `limit(N,Words)`.
fn limit(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    if goes_home(worker, "limit", inputs) {
        return Outcome::Done;
    }
    if let (Some(shoen), words) = attempt!(words(worker, inputs)) {
        shoen.limit_words(words);
    }
    Outcome::Done
}

/// `add(N,Words)`.
fn add(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    if goes_home(worker, "add", inputs) {
        return Outcome::Done;
    }
    if let (Some(shoen), words) = attempt!(words(worker, inputs)) {
        worker.add_words(&shoen, words);
    }
    Outcome::Done
}

/// `statistics(N,S)`.
fn statistics(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let variable = worker.new_variable();
    if goes_home(worker, "statistics", &[inputs[0], variable]) {
        outputs[0] = variable;
        return Outcome::Done;
    }
    let number = attempt!(integer(worker, 1, inputs[0]));
    let figures = worker.shoen(number).map_or([0; 3], |shoen| shoen.figures());
    let named = |worker: &mut Worker, (name, figure): (&str, i64)| {
        let name = worker.intern(name);
        worker.structure(name, &[Word::small(figure)])
    };
    let figures = ["words", "waiting", "shoens"].into_iter().zip(figures);
    let figures: Vec<Word> = figures.map(|figure| named(worker, figure)).collect();
    outputs[0] = worker.list(&figures, Word::NIL);
    Outcome::Done
}

/// `alarm(Ms,K,X)`.
fn alarm(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let Ok(wait) = u64::try_from(attempt!(integer(worker, 1, inputs[0]))) else {
        return wrong(worker, 1, "a time in milliseconds", inputs[0]);
    };
    let Some(at) = Instant::now().checked_add(Duration::from_millis(wait)) else {
        return error(ErrorKind::Range, "a time is too large");
    };
    let variable = worker.new_variable();
    let number = set_alarm(worker, at, variable);
    outputs.copy_from_slice(&[Word::small(number as i64), variable]);
    Outcome::Done
}

/// `quiet(K)`.
fn quiet(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let number = attempt!(integer(worker, 1, inputs[0]));
    take_alarm_back(worker, number as u64);
    Outcome::Done
}

/// `instead(Goal)`.
fn instead(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    match worker.goal_of(inputs[0]) {
        Ok(None) => Outcome::Done,
        Ok(Some((predicate, args))) => {
            worker.spawn(predicate, &args);
            Outcome::Done
        }
        Err(GoalError::Waits(variable)) => Outcome::Wait(variable),
        Err(GoalError::Not) => wrong(worker, 1, "a goal, as module:name(..)", inputs[0]),
        Err(GoalError::Arity) => error(ErrorKind::Range, "the predicate has another number of arguments"),
        Err(GoalError::Undefined) => error(ErrorKind::UndefinedPredicate, "there is no such predicate"),
    }
}

/// `shoen:raise(Tag,Info,Data)`: the goal fails so, once Info has no variables.
fn raise(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let whole = worker.list(&[inputs[1]], Word::NIL);
    if let Some((variable, _)) = attempt!(find_variable(worker, whole, true)) {
        return Outcome::Wait(variable);
    }
    let name = worker.intern("raised");
    let term = worker.structure(name, inputs);
    worker.raise("raised", term);
    let text = worker.term_text(term);
    error(ErrorKind::Other, format!("no shoen around the goal is told of {text}"))
}

/// Those in a vector, if it is one.
fn integers(worker: &Worker, word: Word) -> impl Iterator<Item = i64> {
    let elements = worker.vector_elements(word).unwrap_or_default().into_iter().map(deref);
    elements.filter(|element| element.tag() == Tag::Int).map(Word::as_int)
}

/// What `foster` and `bind` say of a shoen.
fn arrival(worker: &Worker, inputs: &[Word]) -> Result<Arrival, Outcome> {
    let mut numbers = [0; 7];
    for (i, number) in numbers.iter_mut().enumerate() {
        *number = integer(worker, i + 1, inputs[i])?;
    }
    let [number, depth, kinds, low, high, rank, from] = numbers;
    if !is_node(worker, from) {
        return Err(wrong(worker, 7, "the number of another node", inputs[6]));
    }
    let around = integers(worker, inputs[7]).collect();
    let told = Told { kinds: kinds as u64, range: (low, high.max(low)), depth: depth as u32, around };
    Ok(Arrival { number, told, rank, from: from as u32 })
}

/// What `foster` and `daemon` bring.
fn goal_that_came(worker: &Worker, inputs: &[Word]) -> Result<(Arrival, PredicateId, Vec<Word>), Outcome> {
    let arrival = arrival(worker, inputs)?;
    let (predicate, args) = (worker.predicate_value(inputs[8]), worker.vector_elements(inputs[9]));
    let (Some(predicate), Some(args)) = (predicate, args) else {
        return Err(wrong(worker, 9, "a goal of a shoen", inputs[8]));
    };
    if worker.predicates.arity(predicate) != args.len() {
        return Err(wrong(worker, 10, "the arguments of a goal", inputs[9]));
    }
    Ok((arrival, predicate, args))
}

/// `foster(N,Depth,Kinds,Min,Max,Rank,From,Around,P,Args)`.
fn foster(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let (arrival, predicate, args) = attempt!(goal_that_came(worker, inputs));
    worker.take_in(arrival, predicate, &args);
    Outcome::Done
}

/// `daemon(N,Depth,Kinds,Min,Max,Rank,From,Around,P,Args)`.
fn daemon(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let (arrival, predicate, args) = attempt!(goal_that_came(worker, inputs));
    worker.take_in_daemon(arrival, predicate, &args);
    Outcome::Done
}

/// `bind(N,Depth,Kinds,Min,Max,Rank,From,Around,At,X,V)`.
fn bind(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let arrival = attempt!(arrival(worker, inputs));
    let at = Position::of_word(Word::small(attempt!(integer(worker, 9, inputs[8]))));
    let known = at.predicate().is_none_or(|predicate| (predicate.0 as usize) < worker.predicates.len());
    if !known {
        return wrong(worker, 9, "a place in the program", inputs[8]);
    }
    worker.take_in_binding(arrival, at, inputs[9], inputs[10]);
    Outcome::Done
}

/// Whether there is another node of this number.
fn is_node(worker: &Worker, node: i64) -> bool {
    (0..worker.options.nodes.into()).contains(&node) && node != i64::from(worker.options.node)
}

/// `told(Bit,Ends,Event)`.
fn told(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let (bit, ends) = (attempt!(integer(worker, 1, inputs[0])), attempt!(integer(worker, 2, inputs[1])));
    if worker.hear(bit as u64, ends != 0, inputs[2]) {
        return Outcome::Done;
    }
    let event = worker.term_text(inputs[2]);
    error(ErrorKind::Other, format!("no shoen around the goal is told of {event}"))
}

/// `hello(N,Node)`.
fn hello(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let (number, node) = (attempt!(integer(worker, 1, inputs[0])), attempt!(integer(worker, 2, inputs[1])));
    if is_node(worker, node) {
        worker.greet(number, node as u32);
    }
    Outcome::Done
}

/// `done(N,Node,Left)`: Left is a vector, if it is not empty: words that were allocated there and not told, and nodes
/// where daemons are left.
fn done(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let (number, node) = (attempt!(integer(worker, 1, inputs[0])), attempt!(integer(worker, 2, inputs[1])));
    let nodes = i64::from(worker.options.nodes);
    let mut left = integers(worker, inputs[2]);
    let words = left.next().map_or(0, |words| words.max(0) as u64);
    let left: Vec<u32> = left.filter(|left| (0..nodes).contains(left)).map(|left| left as u32).collect();
    if is_node(worker, node) {
        worker.is_done(number, node as u32, words, &left);
    }
    Outcome::Done
}

/// `words(N,Node,Words)`.
fn told_words(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let (number, node) = (attempt!(integer(worker, 1, inputs[0])), attempt!(integer(worker, 2, inputs[1])));
    let words = attempt!(integer(worker, 3, inputs[2]));
    if is_node(worker, node) && worker.other_home(number).is_none() {
        worker.hear_of_words(number, node as u32, words.max(0) as u64);
    }
    Outcome::Done
}

/// `lost(N,Node)`.
fn lost(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let (number, node) = (attempt!(integer(worker, 1, inputs[0])), attempt!(integer(worker, 2, inputs[1])));
    if is_node(worker, node) && worker.other_home(number).is_some() {
        worker.hear_of_loss(number, node as u32);
    }
    Outcome::Done
}

/// `lose(Node)`.
fn lose(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let node = attempt!(integer(worker, 1, inputs[0]));
    if is_node(worker, node) {
        worker.lose_node(node as u32);
    }
    Outcome::Done
}

/// What nodes say to each other, with modes.
pub(crate) const MESSAGES: [(&str, &str, Run); 10] = [
    ("foster", "iiiiiiiiii", foster),
    ("daemon", "iiiiiiiiii", daemon),
    ("bind", "iiiiiiiiiaa", bind),
    ("told", "iii", told),
    ("hello", "ii", hello),
    ("done", "iii", done),
    ("words", "iii", told_words),
    ("order", "ii", order),
    ("lost", "ii", lost),
    ("lose", "i", lose),
];

/// `order(N,What)`.
fn order(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let number = attempt!(integer(worker, 1, inputs[0]));
    if let Some(what) = worker.atom_value(inputs[1]) {
        let what = worker.atoms.name(what).into_owned();
        worker.obey(number, &what);
        if &*what == "abort" {
            if worker.is_home() {
                super::io::close_deserted(worker);
            }
            worker.has_obeyed(number);
        }
    }
    Outcome::Done
}

pub(super) const NATIVES: &[Row] = &[
    method("shoen", "raise", "iia", raise),
    method("shoen_control", "new", "iiioo", new),
    goal("shoen_control", "run", "ia", run),
    method("shoen_control", "limit", "ii", limit),
    method("shoen_control", "add", "ii", add),
    method("shoen_control", "statistics", "io", statistics),
    home(goal("shoen_control", "alarm", "ioo", alarm)),
    home(goal("shoen_control", "quiet", "i", quiet)),
    method("shoen_control", "tell", "ii", tell),
    goal("shoen_control", "instead", "i", instead),
];
