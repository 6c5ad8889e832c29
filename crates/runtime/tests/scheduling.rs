//! Order of reductions, suspension, priorities and outcomes, with predicates implemented in Rust.

use runtime::native::{Native, Outcome, Seat};
use runtime::node::{Answer, NativeCode, Node, Term, Terms};
use runtime::outcome::{ErrorKind, RunOutcome};
use runtime::worker::{Collect, Options, PRIORITY_START};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use term::abi::{Builtin, Place, PredicateId};
use term::symbol::{AtomTable, NIL};

const OPTIONS: Options = Options { collect: Collect::Always, check_heap: true, ..Options::alone(1) };

#[derive(Default)]
struct Trace(Vec<i64>);

fn native(name: &'static str, modes: &'static str, run: impl NativeCode) -> Native {
    let signature = Builtin {
        module: "main".into(),
        name: name.into(),
        modes: modes.into(),
        place: Place::Goal,
        daemon: name.starts_with("daemon"),
    };
    Native::new(signature, Seat::Any, false, run)
}

fn find(worker: &mut Terms<'_>, name: &str, arity: usize) -> PredicateId {
    let (module, name) = (worker.intern("main"), worker.intern(name));
    worker.predicates().lookup(module, name, arity).expect("the test defines it")
}

fn note<'t>(worker: &mut Terms<'t>, inputs: &[Term<'t>], _: &mut [Term<'t>]) -> Answer<'t> {
    let number = worker.small(inputs[0]).expect("a number");
    worker.state::<Trace>().0.push(number);
    Outcome::Done
}

/// Runs `main` with the usual predicates: `note(N)` notes N, `wait(X,N)` does so once X is bound, `bind(X,Y)` unifies.
fn run(main: impl NativeCode) -> (RunOutcome, Vec<i64>) {
    let natives = vec![
        native("main", "", main),
        native("note", "a", note),
        native("wait", "ia", |w, inputs, outputs| note(w, &inputs[1..], outputs)),
        native("wait_both", "iia", |w, inputs, outputs| note(w, &inputs[2..], outputs)),
        native("daemon", "i", |_, _, _| Outcome::Done),
        native("bind", "aa", |w, inputs, _| {
            w.unify(inputs[0], inputs[1]);
            Outcome::Done
        }),
        native("never", "a", |_, _, _| Outcome::No),
    ];
    let mut node = Node::new(OPTIONS, Arc::default(), natives).expect("address space");
    let main = find(&mut node.terms(), "main", 0);
    let outcome = node.run(main, Vec::new());
    let trace = std::mem::take(&mut node.terms().state::<Trace>().0);
    (outcome, trace)
}

fn int<'t>(value: i64) -> Term<'t> {
    Term::small(value)
}

#[test]
fn goals_run_last_pushed_first() {
    let (outcome, trace) = run(|w, _, _| {
        let note = find(w, "note", 1);
        for i in 0..4 {
            w.spawn(note, &[int(i)]);
        }
        Outcome::Done
    });
    assert!(matches!(outcome, RunOutcome::Success));
    assert_eq!(trace, [3, 2, 1, 0]);
}

#[test]
fn resumed_goals_run_before_the_rest_in_the_order_they_suspended() {
    let (outcome, trace) = run(|w, _, _| {
        let (x, y) = (w.new_variable(), w.new_variable());
        let (note, wait, bind) = (find(w, "note", 1), find(w, "wait", 2), find(w, "bind", 2));
        w.spawn(note, &[int(9)]);
        w.spawn(bind, &[y, int(0)]);
        w.spawn(bind, &[x, y]);
        for (variable, number) in [(x, 3), (y, 5), (x, 2), (y, 4), (x, 1)] {
            w.spawn(wait, &[variable, int(number)]);
        }
        Outcome::Done
    });
    assert!(matches!(outcome, RunOutcome::Success), "{outcome:?}");
    assert_eq!(trace, [1, 2, 3, 4, 5, 9]);
}

#[test]
fn a_goal_that_waits_for_two_variables_is_resumed_once_for_each_need() {
    let (outcome, trace) = run(|w, _, _| {
        let (x, y) = (w.new_variable(), w.new_variable());
        let (wait, bind) = (find(w, "wait_both", 3), find(w, "bind", 2));
        w.spawn(bind, &[y, Term::NIL]);
        w.spawn(bind, &[x, Term::NIL]);
        w.spawn(wait, &[x, y, int(7)]);
        Outcome::Done
    });
    assert!(matches!(outcome, RunOutcome::Success), "{outcome:?}");
    assert_eq!(trace, [7]);
}

#[test]
fn higher_priority_runs_first_and_pre_empts() {
    let (outcome, trace) = run(|w, _, _| {
        let (note, wait, bind) = (find(w, "note", 1), find(w, "wait", 2), find(w, "bind", 2));
        let x = w.new_variable();
        w.spawn(note, &[int(5)]);
        w.spawn(bind, &[x, Term::NIL]);
        w.spawn_at(PRIORITY_START + 1, wait, &[x, int(4)]);
        for i in 0..3 {
            w.spawn_at(i, note, &[int(i)]);
        }
        w.spawn_at(1, note, &[int(10)]);
        Outcome::Done
    });
    assert!(matches!(outcome, RunOutcome::Success), "{outcome:?}");
    assert_eq!(trace, [4, 5, 2, 10, 1, 0]);
}

#[test]
fn many_priorities_stay_in_order() {
    let (outcome, trace) = run(|w, _, _| {
        let note = find(w, "note", 1);
        for i in 0..20_000 {
            let priority = i * 7919 % 20_000;
            w.spawn_at(priority, note, &[int(priority)]);
        }
        Outcome::Done
    });
    assert!(matches!(outcome, RunOutcome::Success));
    assert!(trace.iter().rev().copied().eq(0..20_000));
}

/// Two workers. One reduces something of little priority that goes on until `last` was reduced; the other one
/// something urgent that goes on as long, with the goal for `last` below it on its stack. So `last` is reduced only
/// if the first worker gets it.
#[test]
fn a_worker_with_lower_priority_gets_urgent_goals_of_others() {
    static LOW_RUNS: AtomicBool = AtomicBool::new(false);
    static LAST_RAN: AtomicBool = AtomicBool::new(false);
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    // As if it computed something: a worker looks after this much allocation.
    fn again(worker: &mut Terms<'_>, name: &str) {
        worker.string(&[0; 100]);
        if BEGIN.elapsed() > Duration::from_secs(100) {
            worker.exit(1);
        }
        let goal = find(worker, name, 0);
        worker.spawn(goal, &[]);
    }
    let natives = vec![
        native("main", "", |w, _, _| {
            let (low, urgent) = (find(w, "low", 0), find(w, "urgent", 0));
            w.spawn_at(10, low, &[]);
            w.spawn(urgent, &[]);
            Outcome::Done
        }),
        native("low", "", |w, _, _| {
            LOW_RUNS.store(true, Relaxed);
            if !LAST_RAN.load(Relaxed) {
                again(w, "low");
            }
            Outcome::Done
        }),
        native("urgent", "", |w, _, _| {
            if LOW_RUNS.load(Relaxed) {
                let last = find(w, "last", 0);
                w.spawn(last, &[]);
                again(w, "waiting");
            } else {
                again(w, "urgent");
            }
            Outcome::Done
        }),
        native("waiting", "", |w, _, _| {
            if !LAST_RAN.load(Relaxed) {
                again(w, "waiting");
            }
            Outcome::Done
        }),
        native("last", "", |_, _, _| {
            LAST_RAN.store(true, Relaxed);
            Outcome::Done
        }),
    ];
    let options = Options { workers: 2, collect: Collect::WhenFull, ..OPTIONS };
    let mut node = Node::new(options, Arc::default(), natives).expect("address space");
    let main = find(&mut node.terms(), "main", 0);
    let outcome = node.run(main, Vec::new());
    assert!(matches!(outcome, RunOutcome::Success), "{outcome:?}");
}

#[test]
fn goals_that_wait_for_ever_are_reported_but_not_daemons() {
    let (outcome, _) = run(|w, _, _| {
        let (daemon, wait) = (find(w, "daemon", 1), find(w, "wait", 2));
        let x = w.new_variable();
        w.spawn(daemon, &[x]);
        w.spawn(wait, &[x, int(1)]);
        Outcome::Done
    });
    let RunOutcome::Deadlock { goals, count: 1 } = outcome else { panic!("{outcome:?}") };
    assert_eq!(
        (goals[0].goal.text.as_str(), &goals[0].waits_for[..]),
        ("main:wait(_1,1)", &["_1".to_owned()][..])
    );
    let (outcome, _) = run(|w, _, _| {
        let daemon = find(w, "daemon", 1);
        let x = w.new_variable();
        w.spawn(daemon, &[x]);
        Outcome::Done
    });
    assert!(matches!(outcome, RunOutcome::Success), "{outcome:?}");
}

#[test]
fn of_goals_that_lead_to_each_other_the_first_ones_are_reported_with_those_that_wait_for_them() {
    let (outcome, _) = run(|w, _, _| {
        let wait = find(w, "wait", 2);
        let (x, y, z) = (w.new_variable(), w.new_variable(), w.new_variable());
        let list = w.list(&[y], z);
        // The goal on X would resume those on Y and Z; two goals on W would resume each other.
        w.spawn(wait, &[z, int(3)]);
        w.spawn(wait, &[x, list]);
        w.spawn(wait, &[y, int(2)]);
        let v = w.new_variable();
        w.spawn(wait, &[v, v]);
        Outcome::Done
    });
    let RunOutcome::Deadlock { goals, count: 4 } = outcome else { panic!("{outcome:?}") };
    let texts: Vec<_> = goals.iter().map(|goal| (goal.goal.text.as_str(), goal.holder)).collect();
    let first = [("main:wait(_1,_1)", None), ("main:wait(_1,[_2|_3])", None)];
    assert_eq!(texts[..2], first);
    let mut others = texts[2..].to_vec();
    others.sort_unstable();
    assert_eq!(others, [("main:wait(_2,2)", Some(1)), ("main:wait(_3,3)", Some(1))]);
}

#[test]
fn goals_in_a_circle_hold_what_the_next_one_waits_for() {
    let (outcome, _) = run(|w, _, _| {
        let wait = find(w, "wait", 2);
        let (x, y, z) = (w.new_variable(), w.new_variable(), w.new_variable());
        w.spawn(wait, &[x, y]);
        w.spawn(wait, &[y, z]);
        w.spawn(wait, &[z, x]);
        Outcome::Done
    });
    let RunOutcome::Deadlock { goals, count: 3 } = outcome else { panic!("{outcome:?}") };
    // Whichever is the first one: it waits for the last.
    let holders: Vec<_> = goals.iter().map(|goal| goal.holder).collect();
    assert_eq!(holders, [Some(2), Some(0), Some(1)], "{goals:?}");
}

#[test]
fn failures_name_their_goals() {
    let (outcome, _) = run(|w, _, _| {
        let never = find(w, "never", 1);
        let f = w.intern("f");
        let term = w.structure(f, &[int(1), Term::atom(NIL)]);
        w.spawn(never, &[term]);
        Outcome::Done
    });
    let RunOutcome::Failed(error) = outcome else { panic!("{outcome:?}") };
    assert_eq!((error.kind, error.goal.text.as_str()), (ErrorKind::ReductionFailure, "main:never(f(1,[]))"));
    let (outcome, _) = run(|w, _, _| {
        let f = w.intern("f");
        let (x, string) = (w.new_variable(), w.string(b"abc"));
        let a = w.structure(f, &[int(1), x, string]);
        let other = w.string(b"abd");
        let b = w.structure(f, &[x, int(1), other]);
        w.unify(a, b);
        Outcome::Done
    });
    let RunOutcome::Failed(error) = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.kind, ErrorKind::UnificationFailure);
    assert_eq!(error.goal.text, "unify_term_dcode:unify(f(1,1,\"abc\"),f(1,1,\"abd\"))");
    assert_eq!(error.details, ["they differ where one has \"abc\" and the other \"abd\""]);
}

#[test]
fn exit_ends_the_run() {
    let (outcome, trace) = run(|w, _, _| {
        let note = find(w, "note", 1);
        w.spawn(note, &[int(1)]);
        w.exit(42);
        Outcome::Done
    });
    assert!(matches!(outcome, RunOutcome::Exit(42)));
    assert!(trace.is_empty());
}

#[test]
fn sixty_four_nodes_of_one_process_share_atoms_and_run_at_the_same_time() {
    const NODES: u32 = 64;
    let atoms = Arc::<AtomTable>::default();
    let natives = || {
        let mut natives = runtime::builtins::natives();
        natives.push(native("pair", "iia", |w, inputs, _| {
            let atom = w.intern("an atom that all nodes make");
            let pair = inputs[..2].iter().map(|&n| w.small(n).expect("a number")).collect::<Vec<_>>();
            w.state::<Trace>().0.extend(pair);
            w.unify(inputs[2], Term::atom(atom));
            Outcome::Done
        }));
        natives.push(native("main", "", |w, _, _| {
            let [me, total, atom] = [(); 3].map(|()| w.new_variable());
            let (module, name) = (w.intern("builtin"), w.intern("current_node"));
            let current_node = w.predicates().lookup(module, name, 2).expect("a builtin");
            let pair = find(w, "pair", 3);
            w.spawn(pair, &[me, total, atom]);
            w.spawn(current_node, &[me, total]);
            Outcome::Done
        }));
        natives
    };
    let nodes = (0..NODES).map(|node| {
        let options = Options { node, nodes: NODES, share: NODES, ..Options::alone(1) };
        Node::new(options, atoms.clone(), natives()).expect("address space")
    });
    let mut nodes: Vec<Node> = nodes.collect();
    std::thread::scope(|scope| {
        for node in &mut nodes {
            scope.spawn(|| {
                let main = find(&mut node.terms(), "main", 0);
                assert!(matches!(node.run(main, Vec::new()), RunOutcome::Success));
            });
        }
    });
    for (number, node) in (0..).zip(&mut nodes) {
        assert_eq!(node.terms().state::<Trace>().0, [number, NODES.into()]);
    }
    assert!(atoms.lookup(b"an atom that all nodes make").is_some());
}
