//! Tests of builtins through a node, without generated code; and properties of all of them.

use super::natives;
use crate::node::Node;
use crate::reports::outcome::{ErrorKind, RunOutcome};
use crate::worker::native::Outcome;
use crate::worker::{Options, Worker};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::sync::Arc;
use term::Word;
use term::abi::PredicateId;

pub(crate) fn node() -> Node {
    node_with(1)
}
fn node_with(workers: usize) -> Node {
    let options = Options { heap_bytes_max: Some(256 << 20), ..Options::alone(workers) };
    let mut node = Node::new(options, Arc::default(), natives()).expect("address space");
    let outside = super::io::events::Outside::of(node.worker());
    node.set_events(Box::new(outside));
    node
}

/// A worker that knows the builtins and no program.
pub(crate) fn worker() -> &'static mut Worker {
    Box::leak(Box::new(node())).worker()
}

fn predicate(worker: &mut Worker, name: &str, arity: usize) -> PredicateId {
    let (module, name) = name.split_once(':').expect("module:name");
    super::predicates::library(worker, module, name, arity)
}

/// Runs goals of natives in this order.
fn run(node: &mut Node, goals: &[(&str, &[Word])]) -> RunOutcome {
    let ((first, args), rest) = goals.split_first().expect("a goal");
    for (name, args) in rest.iter().rev() {
        let id = predicate(node.worker(), name, args.len());
        node.worker().spawn(id, args);
    }
    let id = predicate(node.worker(), first, args.len());
    node.run_words(id, args)
}

const UNIFY: &str = "unify_term_dcode:unify";

fn text(node: &mut Node, term: Word) -> String {
    let text = crate::terms::print::plain(node.worker(), term).expect("it is finite");
    String::from_utf8(text).expect("ASCII")
}

fn ints(node: &mut Node, values: impl IntoIterator<Item = i64>, tail: Word) -> Word {
    let items: Vec<Word> = values.into_iter().map(Word::small).collect();
    node.worker().list(&items, tail)
}

// ---- merge -----------------------------------------------------------------------------------------

#[test]
fn a_merger_keeps_the_order_of_each_input_and_of_arrival() {
    let mut node = node();
    let [input, out, a, b] = [(); 4].map(|()| node.worker().new_variable());
    let vector = node.worker().vector(&[a, b]);
    let a_late = node.worker().new_variable();
    let (first, second) = (ints(&mut node, [1], a_late), ints(&mut node, [2, 3], Word::NIL));
    let last = ints(&mut node, [4], Word::NIL);
    let goals: &[(&str, &[Word])] = &[
        ("gcmerge:merge", &[input, out]),
        (UNIFY, &[input, vector]),
        (UNIFY, &[a, first]),
        (UNIFY, &[b, second]),
        (UNIFY, &[a_late, last]),
    ];
    assert!(matches!(run(&mut node, goals), RunOutcome::Success));
    assert_eq!(text(&mut node, out), "[1,2,3,4]");
}

#[test]
fn inputs_that_become_vectors_add_inputs_and_empty_ones_close() {
    let mut node = node();
    let out = node.worker().new_variable();
    let (one, two) = (ints(&mut node, [1], Word::NIL), ints(&mut node, [2], Word::NIL));
    let empty = node.worker().vector(&[]);
    let inner = node.worker().vector(&[one, empty]);
    let outer = node.worker().vector(&[inner, Word::NIL, two]);
    assert!(matches!(run(&mut node, &[("gcmerge:merge", &[outer, out])]), RunOutcome::Success));
    assert_eq!(text(&mut node, out), "[1,2]");
}

#[test]
fn a_merger_refuses_what_is_no_stream() {
    let mut node = node();
    let out = node.worker().new_variable();
    let RunOutcome::Failed(error) = run(&mut node, &[("gcmerge:merge", &[Word::small(3), out])]) else {
        panic!("no error");
    };
    assert!(error.message.contains("not the integer 3"), "{}", error.message);
}

#[test]
fn a_long_input_needs_no_stack() {
    let mut node = node();
    let out = node.worker().new_variable();
    let input = ints(&mut node, 0..300_000, Word::NIL);
    // Collections move both.
    let roots = [input, out].map(|word| node.worker().root(word));
    assert!(matches!(run(&mut node, &[("gcmerge:merge", &[input, out])]), RunOutcome::Success));
    let [input, out] = roots.map(|root| node.worker().take_root(root));
    assert!(matches!(node.worker().compare_terms(input, out), Ok(0)));
}

#[test]
fn a_merger_that_feeds_itself_meets_the_heap_limit() {
    let mut node = node();
    let open = node.worker().new_variable();
    let input = ints(&mut node, [1], open);
    let keep = node.worker().root(input);
    let RunOutcome::Failed(error) = run(&mut node, &[("gcmerge:merge", &[input, open])]) else {
        panic!("no end")
    };
    assert_eq!(error.kind, ErrorKind::HeapLimit);
    node.worker().take_root(keep);
}

#[test]
fn builtins_that_were_resumed_are_reduced_at_once_and_what_they_resume_comes_next() {
    let mut node = node();
    let [a, b, inner, out] = [(); 4].map(|()| node.worker().new_variable());
    let first = node.worker().vector(&[a]);
    let second = node.worker().vector(&[inner, b]);
    let worker = node.worker();
    let merge = predicate(worker, "gcmerge:merge", 2);
    worker.call_or_spawn(merge, &[first, inner]);
    worker.call_or_spawn(merge, &[second, out]);
    for (input, message) in [(a, 1), (b, 2)] {
        let tail = worker.new_variable();
        let messages = worker.cons(Word::small(message), tail);
        worker.unify(input, messages);
    }
    let goals = worker.abi.goals;
    assert!(worker.attend_to_resumed() && worker.abi.goals == goals && !worker.has_resumed());
    // What came by way of `inner` was sent before, and arrives before.
    assert!(text(&mut node, out).starts_with("[1,2|"));
}

#[test]
fn of_several_workers_each_reduces_builtins_at_once_too_and_puts_off_whom_they_resume() {
    for (below, order) in [(false, [3, 2, 1]), (true, [2, 3, 1])] {
        let mut node = node_with(2);
        let worker = node.worker();
        // The next one counts as compiled.
        let reader = PredicateId(worker.system_goals.merge.0 + 1);
        (worker.abi.first_compiled, worker.abi.more_wanted) = (reader.goal_word(), false);
        if below {
            worker.goals.go_the_other_way();
        }
        let [input, out, tail] = [(); 3].map(|()| worker.new_variable());
        let merge = predicate(worker, "gcmerge:merge", 2);
        worker.call_or_spawn(merge, &[input, out]);
        let spawn = |worker: &mut Worker, number| {
            let args = vec![Word::small(number); worker.predicates.arity(reader)];
            worker.spawn(reader, &args);
        };
        spawn(worker, 3);
        (worker.abi.pending[0], worker.abi.pending_count) = (out, 1);
        worker.suspend_top();
        spawn(worker, 1);
        // A goal sends a message, and makes a goal.
        let messages = worker.cons(Word::small(0), tail);
        worker.unify(input, messages);
        spawn(worker, 2);
        assert!(worker.attend_to_resumed() && !worker.has_resumed());
        assert_eq!(order.map(|_| worker.pop_goal()[0].as_int()), order);
    }
}

// ---- random numbers --------------------------------------------------------------------------------

#[test]
fn random_numbers_come_when_they_are_asked_for() {
    let mut node = node();
    let class = Word::atom(node.worker().intern("random_numbers"));
    let [list, a, b, rest] = [(); 4].map(|()| node.worker().new_variable());
    let pattern = node.worker().list(&[a, b], rest);
    let goals: &[(&str, &[Word])] =
        &[("generic:new", &[class, list, Word::small(100), Word::small(1)]), (UNIFY, &[list, pattern])];
    assert!(matches!(run(&mut node, goals), RunOutcome::Success));
    assert_eq!((node.worker().small(a), node.worker().small(b)), (Some(52), Some(38)));
}

// ---- streams ---------------------------------------------------------------------------------------

/// Serves messages on a stream and gives the last state.
fn serve(node: &mut Node, handle: Word, messages: Word) -> Word {
    let state = node.worker().new_variable();
    let outcome = run(node, &[("file_io:serve", &[messages, handle, state])]);
    assert!(matches!(outcome, RunOutcome::Success), "{outcome:?}");
    state
}

fn structure(node: &mut Node, name: &str, args: &[Word]) -> Word {
    let name = node.worker().intern(name);
    node.worker().structure(name, args)
}

fn request(node: &mut Node, name: &str, args: &[Word]) -> Word {
    let message = structure(node, name, args);
    let reply = node.worker().new_variable();
    let outcome = run(node, &[("file_io:request", &[message, reply])]);
    assert!(matches!(outcome, RunOutcome::Success), "{outcome:?}");
    reply
}

#[test]
fn a_stream_that_waits_serves_what_comes_and_has_a_state_when_it_cannot_go_on() {
    let mut node = node();
    let [answer, collected, messages] = [(); 3].map(|()| node.worker().new_variable());
    let reply = request(&mut node, "string_output", &[answer, collected]);
    let handle = node.worker().arg(reply, 0);
    let put = structure(&mut node, "putc", &[Word::small(b'a'.into())]);
    let list = node.worker().list(&[put], messages);
    let state = node.worker().new_variable();
    let serves = predicate(node.worker(), "file_io:serve", 3);
    node.worker().call_or_spawn(serves, &[list, handle, state]);
    assert!(text(&mut node, state).starts_with('_'));
    let [code, rest] = [(); 2].map(|()| node.worker().new_variable());
    let late = structure(&mut node, "putc", &[code]);
    let worker = node.worker();
    let list = worker.list(&[put, put, late], rest);
    worker.unify(messages, list);
    let goals = worker.abi.goals;
    assert!(worker.attend_to_resumed() && worker.abi.goals == goals);
    assert!(text(&mut node, state).starts_with("busy("));
    node.worker().unify(code, Word::small(b'b'.into()));
    let rest_of_list = node.worker().arg(state, 1);
    node.worker().unify(rest, Word::NIL);
    let state = serve(&mut node, handle, rest_of_list);
    assert_eq!(text(&mut node, state), "closed(\"aaab\")");
}

#[test]
fn terms_are_read_piece_by_piece_from_a_pipe() {
    let mut node = node();
    let answer = node.worker().new_variable();
    let reply = request(&mut node, "pipe", &[answer]);
    let (input, output) = (node.worker().arg(reply, 0), node.worker().arg(reply, 1));
    let [first, second, end] = [(); 3].map(|()| node.worker().new_variable());
    let gets = [first, second, end].map(|term| structure(&mut node, "gett", &[term]));
    let messages = node.worker().list(&gets, Word::NIL);
    let write = |node: &mut Node, bytes: &[u8], tail: Word| {
        let string = node.worker().string(bytes);
        let (write, flush) = (structure(node, "fwrite", &[string]), node.worker().new_variable());
        let flush = structure(node, "fflush", &[flush]);
        let messages = node.worker().list(&[write, flush], tail);
        serve(node, output, messages)
    };
    let tail = node.worker().new_variable();
    write(&mut node, b"f(X,'a.", tail);
    let state = serve(&mut node, input, messages);
    assert!(text(&mut node, state).starts_with("busy("));
    let tail = node.worker().new_variable();
    write(&mut node, b"b'). [1|", tail);
    let rest = node.worker().arg(state, 1);
    let state = serve(&mut node, input, rest);
    assert!(text(&mut node, state).starts_with("busy("));
    assert_eq!(text(&mut node, first), "f(_1,a.b)");
    write(&mut node, b"T].", Word::NIL);
    let rest = node.worker().arg(state, 1);
    let state = serve(&mut node, input, rest);
    assert_eq!(text(&mut node, state), "closed([])");
    assert_eq!(text(&mut node, second), "[1|_1]");
    assert_eq!(text(&mut node, end), "end_of_file");
}

#[test]
fn putt_waits_for_each_variable_and_looks_at_nothing_twice() {
    let mut node = node();
    let [answer, collected, x, y] = [(); 4].map(|()| node.worker().new_variable());
    let reply = request(&mut node, "string_output", &[answer, collected]);
    let handle = node.worker().arg(reply, 0);
    let many = ints(&mut node, 0..1000, Word::NIL);
    let vector = node.worker().vector(&[y, Word::small(7)]);
    let term = structure(&mut node, "f", &[many, x, vector]);
    let message = structure(&mut node, "putt", &[term]);
    let messages = node.worker().list(&[message], Word::NIL);
    let state = serve(&mut node, handle, messages);
    let work = node.worker().arg(state, 1);
    // What is left is the vector, not the list that was seen.
    assert_eq!(text(&mut node, work), "[{_1,7}]");
    let mut state = state;
    for value in [5, 6] {
        let variable = node.worker().arg(state, 0);
        node.worker().unify(variable, Word::small(value));
        let args = [0, 1, 2].map(|i| node.worker().arg(state, i));
        let next = node.worker().new_variable();
        let args = [args[0], args[1], args[2], handle, next];
        assert!(matches!(run(&mut node, &[("file_io:resume", &args)]), RunOutcome::Success));
        state = next;
    }
    assert_eq!(text(&mut node, state), "open([])");
    let state = serve(&mut node, handle, Word::NIL);
    let written = node.worker().arg(state, 0);
    let written = node.worker().string_bytes(written).expect("a string");
    assert!(written.ends_with(b"998,999],5,{6,7})"), "{}", String::from_utf8_lossy(&written));
}

#[test]
fn an_unknown_message_is_named() {
    let mut node = node();
    let [answer, collected, state] = [(); 3].map(|()| node.worker().new_variable());
    let reply = request(&mut node, "string_output", &[answer, collected]);
    let handle = node.worker().arg(reply, 0);
    let message = structure(&mut node, "getc", &[answer]);
    let messages = node.worker().list(&[message], Word::NIL);
    let RunOutcome::Failed(error) = run(&mut node, &[("file_io:serve", &[messages, handle, state])]) else {
        panic!("no error");
    };
    assert!(error.message.contains("getc("), "{}", error.message);
}

#[test]
fn commands_run_beside_the_program_and_timers_fire() {
    let mut node = node();
    let [status, tick, sum] = [(); 3].map(|()| node.worker().new_variable());
    let command = node.worker().string(b"exit 3");
    request(&mut node, "system", &[command, status]);
    let time = structure(&mut node, "time", &[Word::small(0), Word::small(1000)]);
    let goals: &[(&str, &[Word])] = &[
        ("timer:instantiate_after", &[time, tick]),
        ("integer_arithmetics:add", &[status, Word::small(1), sum]),
        ("timer:instantiate_at", &[tick, sum]),
    ];
    // The last one waits for the tick, which is no time; before that, the command ends or not.
    let RunOutcome::Failed(error) = run(&mut node, goals) else { panic!("no error") };
    assert!(error.message.contains("a time is"), "{}", error.message);
    assert!(matches!(run(&mut node, &goals[1..2]), RunOutcome::Success));
    assert_eq!((node.worker().small(status), node.worker().small(sum)), (Some(768), Some(769)));
}

// ---- properties ------------------------------------------------------------------------------------

/// The value of a body builtin of integer arithmetic; `None` if it is an error.
fn arithmetic(worker: &mut Worker, name: &str, a: Word, b: Word) -> Option<num_bigint::BigInt> {
    let id = predicate(worker, &format!("integer_arithmetics:{name}"), 3);
    let run = worker.predicates.native(id).expect("a native").run;
    let mut out = [Word::NIL];
    match run(worker, &[a, b], &mut out) {
        Outcome::Done => worker.big(out[0]),
        _ => None,
    }
}

/// Integers of every size, many of them beside the limits of words.
fn any_integer() -> impl Strategy<Value = num_bigint::BigInt> {
    let big = proptest::collection::vec(any::<u32>(), 0..6)
        .prop_map(|digits| num_bigint::BigInt::from_slice(num_bigint::Sign::Plus, &digits));
    let edge = (-3i64..4, prop_oneof![Just(0u32), Just(60), Just(61), Just(63), Just(64), Just(128)])
        .prop_map(|(near, bits)| (num_bigint::BigInt::from(1) << bits) + near);
    (prop_oneof![big, edge, any::<i64>().prop_map(Into::into)], any::<bool>())
        .prop_map(|(value, negative)| if negative { -value } else { value })
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// Arithmetic is that of the integers, whatever words can hold.
    #[test]
    fn arithmetic_is_that_of_the_integers(a in any_integer(), b in any_integer(), shift in 0i64..200) {
        let mut node = node();
        let worker = node.worker();
        let (x, y) = (worker.integer(&a), worker.integer(&b));
        prop_assert_eq!(worker.big(x), Some(a.clone()));
        let zero = b == num_bigint::BigInt::ZERO;
        prop_assert_eq!(arithmetic(worker, "add", x, y), Some(&a + &b));
        prop_assert_eq!(arithmetic(worker, "subtract", x, y), Some(&a - &b));
        prop_assert_eq!(arithmetic(worker, "multiply", x, y), Some(&a * &b));
        prop_assert_eq!(arithmetic(worker, "divide", x, y), (!zero).then(|| &a / &b));
        prop_assert_eq!(arithmetic(worker, "modulo", x, y), (!zero).then(|| &a % &b));
        prop_assert_eq!(arithmetic(worker, "and", x, y), Some(&a & &b));
        prop_assert_eq!(arithmetic(worker, "or", x, y), Some(&a | &b));
        prop_assert_eq!(arithmetic(worker, "exclusive_or", x, y), Some(&a ^ &b));
        let count = Word::small(shift);
        prop_assert_eq!(arithmetic(worker, "shift_left", x, count), Some(&a << shift));
        prop_assert_eq!(arithmetic(worker, "shift_right", x, count), Some(&a >> shift));
        prop_assert_eq!(worker.compare_terms(x, y).expect("ground").signum(), a.cmp(&b) as i64);
    }

    /// Every version of a vector keeps its elements, whichever versions are updated.
    #[test]
    fn vector_versions_are_values(
        length in 1usize..200,
        updates in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0i64..100), 0..60),
    ) {
        let mut node = node();
        let worker = node.worker();
        let zeros = vec![Word::small(0); length];
        let mut versions = vec![(worker.vector(&zeros), vec![0i64; length])];
        for (version, index, value) in updates {
            let (vector, model) = version.get(&versions).clone();
            let index = index.index(length);
            let (mut out, mut model) = ([Word::NIL; 2], model);
            let inputs = [vector, Word::small(index as i64), Word::small(value)];
            prop_assert!(matches!(super::vectors::exchange_element(worker, &inputs, &mut out), Outcome::Done));
            prop_assert_eq!(out[0], Word::small(model[index]));
            model[index] = value;
            versions.push((out[1], model));
        }
        for (vector, model) in versions.clone() {
            for (other, numbers) in &versions {
                let order = worker.compare_terms(vector, *other);
                prop_assert!(matches!(order, Ok(order) if order.signum() == model.cmp(numbers) as i64));
                let equal = matches!(worker.equal_terms(vector, *other), Outcome::Done);
                prop_assert_eq!(equal, model == *numbers);
            }
            let elements = worker.vector_elements(vector).expect("a vector");
            let elements: Vec<i64> = elements.into_iter().map(Word::as_int).collect();
            prop_assert_eq!(elements, model);
        }
    }

    /// The same for strings; splitting and joining give back the string.
    #[test]
    fn string_versions_are_values(
        bytes in proptest::collection::vec(any::<u8>(), 1..400),
        updates in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 0..40),
        at in any::<prop::sample::Index>(),
    ) {
        let mut node = node();
        let worker = node.worker();
        let mut versions = vec![(worker.string(&bytes), bytes.clone())];
        for (version, index, value) in updates {
            let (string, mut model) = version.get(&versions).clone();
            let index = index.index(bytes.len());
            let mut out = [Word::NIL];
            let inputs = [string, Word::small(index as i64), Word::small(value.into())];
            prop_assert!(matches!(super::strings::set_element(worker, &inputs, &mut out), Outcome::Done));
            model[index] = value;
            versions.push((out[0], model));
        }
        for (string, model) in versions.clone() {
            for (other, bytes) in &versions {
                let same = model.iter().zip(bytes).take_while(|(a, b)| a == b).count();
                let order = worker.compare_strings(string, *other);
                prop_assert_eq!(order, Some((model.cmp(bytes), same)));
            }
            prop_assert_eq!(worker.string_bytes(string).expect("a string"), model.clone());
            let at = at.index(bytes.len() + 1);
            let mut parts = [Word::NIL; 2];
            let inputs = [string, Word::small(at as i64)];
            prop_assert!(matches!(super::strings::split(worker, &inputs, &mut parts), Outcome::Done));
            let mut whole = [Word::NIL];
            prop_assert!(matches!(super::strings::join(worker, &parts, &mut whole), Outcome::Done));
            prop_assert_eq!(worker.string_bytes(whole[0]).expect("a string"), model);
        }
    }

    /// N1: no builtin panics, whatever it is given.
    #[test]
    fn no_builtin_panics(picks in proptest::collection::vec(any::<prop::sample::Index>(), 8), seed in prop_oneof![-300i64..300, Just(i64::MIN), Just(i64::MAX), Just(1 << 40)]) {
        let mut node = node();
        let worker = node.worker();
        for native in natives() {
            // Fresh ones: a builtin may have made a term of the last ones infinite.
            let terms = sample_terms(worker, seed);
            if native.signature.module == "file_io" && native.signature.name == "connected" {
                continue;
            }
            let outputs = native.signature.modes.bytes().filter(|&mode| mode == b'o').count();
            let mut picks = picks.iter().cycle();
            let inputs: Vec<Word> = (native.signature.modes.bytes())
                .filter(|&mode| mode != b'o')
                .map(|mode| {
                    let term = *picks.next().expect("a cycle").get(&terms);
                    let unbound = matches!(worker.view(term), crate::terms::View::Unbound(_));
                    if mode == b'a' || !unbound { worker.deref(term) } else { Word::small(1) }
                })
                .collect();
            let mut outputs = vec![Word::NIL; outputs];
            if let Outcome::Error(error) = (native.run)(worker, &inputs, &mut outputs) {
                prop_assert!(!error.message.is_empty());
                prop_assert!(error.kind != ErrorKind::HeapLimit || native.signature.modes.len() >= 2);
            }
        }
    }
}

/// One term of every kind, and awkward ones.
fn sample_terms(worker: &mut Worker, seed: i64) -> Vec<Word> {
    let variable = worker.new_variable();
    let big = worker.integer(&(num_bigint::BigInt::from(seed) << 70u32));
    let (float, nan) = (worker.float(seed as f64), worker.float(f64::NAN));
    let (string, empty) = (worker.string(b"abc"), worker.string(b""));
    let vector = worker.vector(&[variable, Word::small(2)]);
    let list = worker.list(&[Word::small(65), variable], Word::NIL);
    let open = worker.list(&[Word::small(65)], variable);
    let name = worker.intern("putt");
    let structure = worker.structure(name, &[list]);
    let id = predicate(worker, "builtin:idle", 0);
    let (object, module) = (worker.predicate_object(id), worker.module_object(name));
    let small = worker.int(seed);
    vec![
        variable,
        big,
        float,
        nan,
        string,
        empty,
        vector,
        list,
        open,
        structure,
        object,
        module,
        small,
        Word::small(0),
        Word::small(1),
        Word::small(-1),
        Word::NIL,
        Word::atom(name),
    ]
}
