//! What programs call outside KL1: foreign predicates, here of closures, and functions of whoever embeds the engine.

use engine::foreign::{Arguments, Library, Predicate, Reply};
use engine::functions::{Answer, exception};
use engine::{Argument, Failure, Functions, Hooks, Libraries, Program, Session, Settings, Texts, Value};
use std::sync::{Arc, Mutex, mpsc};

fn settings(workers: u32) -> Settings {
    Settings { address_space: Some(16 << 30), ..Settings::with_workers(workers) }
}

fn compiled(text: &str, libraries: Libraries) -> Program {
    let mut files = Texts::default();
    files.add("main.kl1", text);
    let program = Program::compile_with(&Settings::default(), &["main.kl1".into()], &files, libraries);
    program.unwrap_or_else(|error| panic!("{error}"))
}

fn call(session: &Session, name: &str, inputs: &[Value]) -> Result<Value, Failure> {
    let inputs = inputs.iter().cloned().map(Argument::In);
    let values = session.call("main", name, inputs.chain([Argument::Out])).wait();
    values.map(|values| values.into_iter().next().expect("one output"))
}

fn library(module: &str, predicates: Vec<Predicate>) -> Library {
    Library { path: format!("lib{module}.so").into(), module: module.into(), serial: false, predicates }
}

fn predicate(
    name: &str,
    modes: &str,
    code: impl Fn(&mut Arguments<'_, '_>) -> Reply + Send + Sync + 'static,
) -> Predicate {
    Predicate { name: name.into(), modes: modes.into(), code: Box::new(code) }
}

#[test]
fn predicates_of_libraries_come_behind_the_librarys_and_before_the_programs() {
    let add = predicate("add", "iio", |arguments| {
        let sum = arguments.integer(0).and_then(|a| Ok(a + arguments.integer(1)?));
        match sum.and_then(|sum| arguments.set_integer(2, sum)) {
            Ok(()) => Reply::Done,
            Err(_) => Reply::Failed(None),
        }
    });
    let twice = predicate("twice", "go", |arguments| {
        let value = arguments.value(0).expect("a value");
        arguments.set_value(1, Value::list([value.clone(), value])).expect("an output");
        Reply::Done
    });
    let libraries = Libraries::new(vec![library("one", vec![add]), library("two", vec![twice])]);
    // With the library's code, without it, and with what is defined later.
    for text in [
        ":- module main. go(X, R) :- true | one:add(X, 1, Y), two:twice(f(Y,Z), R), Z = X.",
        ":- module main. go(X, R) :- true | lists:append([X], [1], L), sum(L, Y), two:twice(f(Y,X), R).
         sum([A,B], S) :- true | one:add(A, B, S).",
    ] {
        let program = compiled(text, libraries.clone().expect("they are right"));
        for workers in [1, 3] {
            let session = Session::start(&program, &settings(workers), Hooks::default()).expect("a session");
            let part = || Value::structure("f", [Value::integer(42), Value::integer(41)]);
            let expected = Value::list([part(), part()]);
            assert_eq!(call(&session, "go", &[Value::integer(41)]).expect("it ends well"), expected);
            let more = ":- module more. go(X, R) :- true | one:add(X, X, R).";
            session.define("more.kl1", more).unwrap_or_else(|error| panic!("{error}"));
            let values = session.call("more", "go", [Argument::In(Value::integer(4)), Argument::Out]).wait();
            assert_eq!(values.expect("it ends well"), [Value::integer(8)]);
            let Err(Failure::Ended { text, .. }) = call(&session, "go", &[Value::atom("a")]) else {
                panic!("it fails");
            };
            assert!(text.contains("not the atom a") && text.contains("one:add("), "{text}");
        }
    }
}

/// Answers in a thread of its own.
struct Later(Mutex<mpsc::Sender<(Vec<u8>, Value, Answer)>>);

impl Functions for Later {
    fn begin(&self, function: Vec<u8>, arguments: Value, answer: Answer) {
        self.0.lock().expect("nobody panics").send((function, arguments, answer)).expect("it is there");
    }
}

const ASKS: &str = "
:- module main.
ask(F, A, R) :- true | python:call(F, A, R).
two(A, B, R) :- true | python:call(f, [A], X), python:call(f, [B], Y), R = {X,Y}.
";

#[test]
fn functions_answer_from_any_thread_and_in_any_order() {
    let program = compiled(ASKS, Libraries::default());
    for workers in [1, 3] {
        let (asks, asked) = mpsc::channel();
        let functions = Some(Arc::new(Later(Mutex::new(asks))) as Arc<dyn Functions>);
        let session = Session::start(&program, &settings(workers), Hooks { functions, ..Hooks::default() });
        let session = session.expect("a session");
        let server = std::thread::spawn(move || {
            let mut later = Vec::new();
            for (function, arguments, answer) in asked {
                match &function[..] {
                    b"f" => later.push((arguments, answer)),
                    b"raises" => answer.give(Err(exception("Error", "why"))),
                    b"drops" => drop(answer),
                    _ => answer.give(Ok(arguments)),
                }
                if later.len() == 2 {
                    later.drain(..).rev().for_each(|(arguments, answer)| answer.give(Ok(arguments)));
                }
            }
        });
        let normal = |n: i64| Value::structure("normal", [Value::list([Value::integer(n)])]);
        for _ in 0..20 {
            let both = call(&session, "two", &[Value::integer(1), Value::integer(2)]).expect("it ends well");
            assert_eq!(both, Value::vector([normal(1), normal(2)]));
        }
        let ask = |name: &str| {
            call(&session, "ask", &[Value::atom(name), Value::list([Value::integer(3)])]).expect("it ends")
        };
        assert_eq!(ask("same"), normal(3));
        assert_eq!(ask("raises"), Value::structure("abnormal", [exception("Error", "why")]));
        let left = exception("RuntimeError", "the call was left without an answer");
        assert_eq!(ask("drops"), Value::structure("abnormal", [left]));
        // One that nobody answers ends with its run, and its answer is nothing to the next.
        let mut waits = session.call(
            "main",
            "ask",
            [Value::atom("f"), Value::list([Value::integer(1)])]
                .map(Argument::In)
                .into_iter()
                .chain([Argument::Out]),
        );
        assert!(waits.wait_for(std::time::Duration::from_millis(50)).is_none());
        waits.interrupter().interrupt();
        assert!(waits.wait().is_err());
        // The late answer comes now.
        call(&session, "ask", &[Value::atom("f"), Value::list([Value::integer(5)])])
            .expect("both are answered");
        assert_eq!(ask("same"), normal(3));
        drop(session);
        server.join().expect("it ends when nobody asks");
    }
}

#[test]
fn without_functions_a_call_of_one_is_an_error() {
    let program = compiled(ASKS, Libraries::default());
    let session = Session::start(&program, &settings(1), Hooks::default()).expect("a session");
    let Err(Failure::Ended { text, .. }) = call(&session, "ask", &[Value::atom("f"), Value::list([])]) else {
        panic!("it fails");
    };
    assert!(text.contains("there is no Python here") && text.contains("python:call(f,[],"), "{text}");
    let Err(Failure::Ended { text, .. }) = call(&session, "ask", &[Value::integer(1), Value::list([])])
    else {
        panic!("it fails");
    };
    assert!(text.contains("argument 1 must be a name, not the integer 1"), "{text}");
}
