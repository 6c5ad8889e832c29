//! Sessions as whoever embeds the engine uses them: calls, several at the same time, interrupts, output, streams.

use engine::value::Shape;
use engine::{Argument, Failure, Files, Hooks, NotCompiled, Program, Session, Settings, Sink, Texts, Value};
use runtime::outcome::{ErrorKind, RunOutcome};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const TEXT: &str = "
:- module main.
fib(N, R) :- N < 2  | R = N.
fib(N, R) :- N >= 2 | N1 := N - 1, N2 := N - 2, fib(N1, A), fib(N2, B), R := A + B.
same(X, Y) :- true | Y = X.
split([], S, L) :- true | S = [], L = [].
split([X|Xs], S, L) :- X < 10  | S = [X|S1], split(Xs, S1, L).
split([X|Xs], S, L) :- X >= 10 | L = [X|L1], split(Xs, S, L1).
squares([], S) :- true | S = [].
squares([X|Xs], S) :- Y := X * X, S = [Y|S1], squares(Xs, S1).
say(X) :- true | io:outstream([print(X), nl]).
forever(N) :- N1 := N + 1, forever(N1).
fails(a) :- true | true.
waits(X) :- wait(X) | true.
stuck :- true | waits(_).
ends(N) :- true | unix:exit(N).
";

fn program() -> Program {
    compiled(TEXT)
}

fn compiled(text: &str) -> Program {
    let mut files = Texts::default();
    files.add("main.kl1", text);
    let program = Program::compile(&Settings::default(), &["main.kl1".into()], &files);
    program.unwrap_or_else(|error| panic!("{error}"))
}

/// Small enough for hundreds of engines.
fn settings(workers: u32) -> Settings {
    Settings { address_space: Some(16 << 30), ..Settings::with_workers(workers) }
}

fn session(program: &Program) -> Session {
    Session::start(program, &settings(1), Hooks::default()).expect("a session")
}

fn call(session: &Session, name: &str, inputs: &[Value], outputs: usize) -> Result<Vec<Value>, Failure> {
    let inputs = inputs.iter().cloned().map(Argument::In);
    session.call("main", name, inputs.chain((0..outputs).map(|_| Argument::Out))).wait()
}

fn integers(numbers: &[i64]) -> Value {
    Value::list(numbers.iter().map(|&n| Value::integer(n)))
}

/// What a session's standard output was given.
#[derive(Clone, Default)]
struct Taken(Arc<Mutex<Vec<u8>>>);

impl Taken {
    fn sink(&self) -> Sink {
        let taken = self.0.clone();
        Sink::new(move |bytes| {
            taken.lock().expect("nobody panics").extend_from_slice(bytes);
            Ok(())
        })
    }
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("nobody panics")).into_owned()
    }
}

#[test]
fn a_program_and_a_session_may_go_to_any_thread() {
    fn anywhere<T: Send + Sync>() {}
    anywhere::<Program>();
    anywhere::<Session>();
    anywhere::<Value>();
}

#[test]
fn a_call_takes_values_and_gives_values() {
    let session = session(&program());
    assert_eq!(call(&session, "fib", &[Value::integer(15)], 1).expect("it ends well"), [Value::integer(610)]);
    let numbers = integers(&[3, 12, 9, 40]);
    let lists = call(&session, "split", &[numbers], 2).expect("it ends well");
    assert_eq!(lists, [integers(&[3, 9]), integers(&[12, 40])]);
}

#[test]
fn every_kind_of_value_comes_back_as_it_was() {
    let session = session(&program());
    let big = Value::integer(i64::MAX).term().as_integer().map(|n| num_bigint::BigInt::from(n) * 1000);
    let many: Vec<i64> = (0..100_000).collect();
    let deep = (0..100_000).fold(Value::atom("z"), |inside, _| Value::structure("s", [inside]));
    let long = Value::list((0..100_000).map(Value::integer));
    let values = [
        Value::integer(-5),
        Value::integer(i64::MIN),
        Value::integer(big.expect("an integer")),
        Value::float(-0.25),
        Value::atom("an atom"),
        Value::atom("[]"),
        Value::string("bytes\u{0} and é"),
        Value::list([Value::atom("a"), Value::list([])]),
        Value::list_before([Value::integer(1)], Value::atom("end")),
        Value::vector([Value::integer(1), Value::vector([])]),
        Value::structure("f", [Value::string(""), Value::float(1.0)]),
        integers(&many),
        deep,
        long,
    ];
    for value in values {
        let back = call(&session, "same", std::slice::from_ref(&value), 1).expect("it ends well");
        assert!(back == [value.clone()], "{:.200}", format!("{value:?}"));
    }
    let (x, y) = (Value::variable(7), Value::variable(9));
    let back = call(&session, "same", &[Value::vector([x.clone(), y, x])], 1).expect("it ends well");
    let Shape::Vector(parts) = back[0].term().shape() else { panic!("a vector") };
    let numbers: Vec<_> =
        parts.iter().map(|part| if let Shape::Variable(n) = part.shape() { n } else { u32::MAX }).collect();
    assert_eq!(numbers, [0, 1, 0]);
}

#[test]
fn what_goes_wrong_is_a_value_and_the_session_goes_on() {
    let session = session(&program());
    let ended = |name: &str, inputs: &[Value]| match call(&session, name, inputs, 0) {
        Err(Failure::Ended { outcome, text }) => (outcome, text),
        other => panic!("{other:?}"),
    };
    let (outcome, text) = ended("fails", &[Value::atom("b")]);
    assert!(matches!(outcome, RunOutcome::Failed(error) if error.kind == ErrorKind::ReductionFailure));
    assert!(text.contains("main:fails(b)") && text.contains("main.kl1:"), "{text}");
    assert!(text.contains("fails(a) :- true | true."), "the line is quoted: {text}");
    let (outcome, text) = ended("stuck", &[]);
    assert!(
        matches!(outcome, RunOutcome::Deadlock { count: 1, .. }) && text.contains("main:waits("),
        "{text}"
    );
    assert!(matches!(ended("ends", &[Value::integer(3)]).0, RunOutcome::Exit(3)));
    assert!(matches!(call(&session, "fibs", &[], 0), Err(Failure::Undefined(name)) if name == "main:fibs/0"));
    assert_eq!(call(&session, "fib", &[Value::integer(10)], 1).expect("it goes on"), [Value::integer(55)]);
}

#[test]
fn two_engines_run_at_the_same_time_in_two_threads() {
    // Both are in their runs at the same time: each waits for what the other has said.
    let program = compiled(
        ":- module main.\nturn([], S) :- true | S = [].\nturn([X|Xs], S) :- Y := X + 1, S = [Y|T], turn(Xs, T).\n",
    );
    let play = |workers: u32| {
        let session = Session::start(&program, &settings(workers), Hooks::default()).expect("a session");
        let (sender, source) = session.sender();
        let (drain, receiver) = engine::receiver();
        let call = session.call("main", "turn", [Argument::From(source), Argument::To(drain)]);
        (session, sender, receiver, call)
    };
    let (ours, theirs) = (play(1), play(2));
    let (give, taken) = mpsc::channel::<Value>();
    let thread = std::thread::spawn(move || {
        let (session, sender, receiver, call) = theirs;
        for number in taken {
            sender.send(number).expect("it runs");
            let next = receiver.receive().expect("an item").expect("a value");
            if next.term().as_integer() == Some(200) {
                break;
            }
        }
        drop(sender);
        assert!(receiver.receive().is_none());
        call.wait().expect("it ends well");
        drop(session);
    });
    let (session, sender, receiver, call) = ours;
    for number in 0..200 {
        sender.send(Value::integer(number)).expect("it runs");
        let next = receiver.receive().expect("an item").expect("a value");
        assert_eq!(next, Value::integer(number + 1));
        if give.send(Value::integer(number)).is_err() {
            panic!("the other one has ended");
        }
    }
    drop((give, sender));
    assert!(receiver.receive().is_none());
    call.wait().expect("it ends well");
    drop(session);
    thread.join().expect("the other one ended well");
}

#[test]
fn fifty_engines_come_and_go() {
    let program = program();
    for round in 0..50 {
        let session =
            Session::start(&program, &settings(1 + round % 2), Hooks::default()).expect("a session");
        let value = call(&session, "fib", &[Value::integer(12)], 1).expect("it ends well");
        assert_eq!(value, [Value::integer(144)]);
    }
}

#[test]
fn many_engines_live_in_one_process() {
    let program = program();
    let sessions: Vec<Session> = (0..64).map(|_| session(&program)).collect();
    for session in &sessions {
        assert_eq!(
            call(session, "fib", &[Value::integer(7)], 1).expect("it ends well"),
            [Value::integer(13)]
        );
    }
}

#[test]
fn an_interrupt_ends_a_call_that_runs_and_one_that_waits() {
    for workers in [1, 2] {
        let session = Session::start(&program(), &settings(workers), Hooks::default()).expect("a session");
        let (sender, source) = session.sender();
        let busy = session.call("main", "forever", [Argument::In(Value::integer(0))]);
        let waiting = session.call("main", "squares", [Argument::From(source), Argument::Out]);
        for mut call in [busy, waiting] {
            // The call may not have begun yet.
            let outcome = loop {
                session.interrupt();
                match call.wait_for(Duration::from_millis(20)) {
                    Some(Err(Failure::Ended { outcome, .. })) => break outcome,
                    Some(other) => panic!("{other:?}"),
                    None => {}
                }
            };
            let RunOutcome::Failed(error) = outcome else { panic!("{outcome:?}") };
            assert_eq!(error.kind, ErrorKind::Interrupted);
        }
        // Nothing runs.
        session.interrupt();
        // Nobody reads it any more.
        sender.send(Value::integer(1)).expect("the session lives");
        assert_eq!(
            call(&session, "fib", &[Value::integer(10)], 1).expect("it goes on"),
            [Value::integer(55)]
        );
    }
}

#[test]
fn a_session_that_is_dropped_ends_its_call() {
    let session = session(&program());
    let call = session.call("main", "forever", [Argument::In(Value::integer(0))]);
    let next = session.call("main", "forever", [Argument::In(Value::integer(0))]);
    drop(session);
    assert!(call.wait().is_err() && next.wait().is_err());
}

#[test]
fn output_goes_to_a_function() {
    let (out, err) = (Taken::default(), Taken::default());
    let hooks = Hooks { stdout: Some(out.sink()), stderr: Some(err.sink()), ..Hooks::default() };
    let session = Session::start(&program(), &settings(1), hooks).expect("a session");
    let long = Value::string("x".repeat(200_000));
    for value in [Value::structure("f", [Value::integer(1)]), long] {
        call(&session, "say", &[value], 0).expect("it ends well");
    }
    assert!(out.text().starts_with("f(1)\n\"xxx") && out.text().len() > 200_000, "{:.100}", out.text());
    assert_eq!(err.text(), "");
}

#[test]
fn a_function_that_takes_no_output_is_an_error_of_the_program() {
    for panics in [false, true] {
        let sink = Sink::new(move |_| {
            if panics { panic!("it was asked to") } else { Err(std::io::ErrorKind::StorageFull.into()) }
        });
        let hooks = Hooks { stdout: Some(sink), ..Hooks::default() };
        let session = Session::start(&program(), &settings(1), hooks).expect("a session");
        match call(&session, "say", &[Value::integer(1)], 0) {
            Err(Failure::Ended { text, .. }) => assert!(text.contains("cannot write to stdout"), "{text}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(call(&session, "fib", &[Value::integer(2)], 1).expect("it goes on"), [Value::integer(1)]);
    }
}

#[test]
fn no_signal_handler_is_changed() {
    // What the process does with each signal, as the system says it: the ignored and the caught ones.
    let handlers = || {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
        let lines = status.lines().filter(|line| line.starts_with("SigIgn") || line.starts_with("SigCgt"));
        lines.map(str::to_string).collect::<Vec<_>>()
    };
    let before = handlers();
    let session = session(&program());
    call(&session, "say", &[Value::atom("hello")], 0).expect("it ends well");
    assert_eq!(handlers(), before);
    drop(session);
    assert_eq!(handlers(), before);
}

#[test]
fn modules_are_defined_while_a_session_lives() {
    let session = session(&program());
    let text = ":- module later.\ntwice(X, Y) :- true | main:same(X, Z), Y := Z + Z.\n";
    session.define("later.kl1", text).expect("it is right");
    let twice =
        |name: &str| session.call("later", name, [Argument::In(Value::integer(4)), Argument::Out]).wait();
    assert_eq!(twice("twice").expect("it ends well"), [Value::integer(8)]);
    session
        .define("later.kl1", ":- module later.\ntwice(X, Y) :- true | Y := 3 * X.\n")
        .expect("it is right");
    assert_eq!(twice("twice").expect("it ends well"), [Value::integer(12)]);
    match session.define("wrong.kl1", ":- module wrong.\np(X) :- q(X).\n") {
        Err(NotCompiled::Wrong(report)) => {
            let codes: Vec<_> = report.diagnostics().iter().map(|diagnostic| diagnostic.code).collect();
            assert_eq!(codes, ["undefined-predicate"], "{}", report.text(false));
        }
        other => panic!("{:?}", other.map(|_| ())),
    }
    let library = ":- module bags.\np(X) :- true | bag:create([put(1), get_all(X)]).\n";
    session.define("bags.kl1", library).expect("the library is there");
    let bag = session.call("bags", "p", [Argument::Out]).wait().expect("it ends well");
    assert_eq!(bag[0].term().as_list().map(|list| list.len()), Some(1));
}

#[test]
fn a_program_that_is_wrong_is_a_report() {
    let mut files = Texts::default();
    files.add("a.kl1", ":- module main.\nmain :- b:p(X), c(X).\n");
    files.add("b.kl1", ":- module b.\np(X) :- true | X = 1.\n");
    let compile = |name: &str| Program::compile(&Settings::default(), &[name.into()], &files);
    match compile("a.kl1").err() {
        Some(NotCompiled::Wrong(report)) => {
            assert!(report.text(false).contains("undefined-predicate") && report.json().starts_with('{'));
            assert_eq!(report.sources().files().len(), 2, "the module beside it was read");
        }
        other => panic!("{other:?}"),
    }
    let unreadable = compile("c.kl1").err().expect("there is none");
    assert_eq!(unreadable.to_string(), "cannot read c.kl1: there is no such text");
    assert!(!files.has("c.kl1".as_ref()));
}

#[test]
fn items_are_sent_and_received_while_a_call_runs() {
    for workers in [1, 3] {
        let session = Session::start(&program(), &settings(workers), Hooks::default()).expect("a session");
        let (sender, source) = session.sender();
        let (drain, receiver) = engine::receiver();
        // They may come before the call.
        sender.send(Value::integer(1)).expect("the session lives");
        let call = session.call("main", "squares", [Argument::From(source), Argument::To(drain)]);
        assert_eq!(receiver.receive(), Some(Ok(Value::integer(1))));
        for number in 2..1000 {
            sender.send(Value::integer(number)).expect("it runs");
            assert_eq!(receiver.receive(), Some(Ok(Value::integer(number * number))));
        }
        for number in 0..10_000 {
            sender.send(Value::integer(number)).expect("it runs");
        }
        drop(sender);
        let rest: Vec<_> = std::iter::from_fn(|| receiver.receive()).collect();
        assert_eq!(rest.len(), 10_000);
        assert_eq!(call.wait().expect("it ends well"), []);
    }
}

#[test]
fn a_snapshot_has_the_goals_that_wait() {
    let session = session(&program());
    assert_eq!(session.snapshot().count, 0);
    let (sender, source) = session.sender();
    let call = session.call("main", "squares", [Argument::From(source), Argument::Out]);
    // It may not have begun yet.
    let waiting = loop {
        let waiting = session.snapshot();
        if waiting.count > 0 {
            break waiting;
        }
        std::thread::yield_now();
    };
    assert_eq!(waiting.count, 1);
    assert!(waiting.goals[0].outside[0].contains("the next item sent"), "{:?}", waiting.goals);
    drop(sender);
    assert_eq!(call.wait().expect("it ends well"), [Value::list([])]);
}

/// A program that never rests hands over what it makes when somebody waits for it.
#[test]
fn a_list_is_read_while_the_program_goes_on_reducing() {
    let mut files = Texts::default();
    let text = ":- module main.\n\
        from(20000, R) :- true | from(20000, R).\n\
        otherwise.\n\
        from(N, R) :- true | R = [N|R1], N1 := N + 1, from(N1, R1).\n";
    files.add("main.kl1", text);
    for workers in [1, 2] {
        let program =
            Program::compile(&settings(workers), &["main.kl1".into()], &files).expect("it is right");
        let session = Session::start(&program, &settings(workers), Hooks::default()).expect("a session");
        let (drain, received) = engine::receiver();
        let arguments = [Argument::In(Value::integer(0)), Argument::To(drain)];
        let call = session.call("main", "from", arguments);
        for number in 0..20_000 {
            let item = received.receive().expect("there is no end").expect("it is small");
            assert_eq!(item, Value::integer(number));
        }
        session.interrupt();
        let Err(Failure::Ended { outcome: RunOutcome::Failed(error), .. }) = call.wait() else {
            panic!("it was interrupted")
        };
        assert_eq!(error.kind, ErrorKind::Interrupted);
        assert!(received.receive().is_none());
    }
}

/// A call that has filled the heap leaves a session that goes on.
#[test]
fn a_heap_that_was_full_is_empty_for_the_next_call() {
    let mut files = Texts::default();
    let text = ":- module main.\n\
        upto(0, R) :- true | R = [].\n\
        upto(N, R) :- N > 0 | R = [N|R1], N1 := N - 1, upto(N1, R1).\n";
    files.add("main.kl1", text);
    let settings = Settings { heap_limit: Some(16 << 20), ..settings(1) };
    let program = Program::compile(&settings, &["main.kl1".into()], &files).expect("it is right");
    let session = Session::start(&program, &settings, Hooks::default()).expect("a session");
    let upto = |count: i64| {
        session.call("main", "upto", [Argument::In(Value::integer(count)), Argument::Out]).wait()
    };
    for _ in 0..3 {
        let Err(Failure::Ended { outcome: RunOutcome::Failed(error), .. }) = upto(10_000_000) else {
            panic!("the heap is too small")
        };
        assert_eq!(error.kind, ErrorKind::HeapLimit);
        assert_eq!(upto(2).expect("there is room"), [Value::list([2, 1].map(Value::integer))]);
    }
}

/// What is made from the leaves up is what is made from values, and is taken apart the same way.
#[test]
fn a_builder_makes_what_values_are_made_of_and_fold_takes_it_apart() {
    let mut builder = engine::Builder::default();
    let (one, text, end) = (builder.integer(1), builder.string("text"), builder.list(&[]));
    let pair = builder.structure("pair", &[one, text]);
    let list = builder.list(&[pair, one, end]);
    builder.vector(&[list, pair]);
    let made = builder.finish();
    let pair = || Value::structure("pair", [Value::integer(1), Value::string("text")]);
    let list = Value::list([pair(), Value::integer(1), Value::atom("[]")]);
    assert_eq!(made, Value::vector([list, pair()]));
    let nodes = made.fold(|_, parts: &[&usize]| Ok::<_, ()>(1 + parts.iter().copied().sum::<usize>()));
    // Of the list its end counts, too.
    assert_eq!(nodes, Ok(1 + (1 + 3 + 1 + 1 + 1) + 3));
}
