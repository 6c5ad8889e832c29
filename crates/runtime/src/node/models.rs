//! What every order of events of two workers leads to that bind, make goals wait, or update vectors
//! (`cargo xtask loom`): the runtime's own code, with loom's words in place of the heap's (`memory`). Those of the
//! collector are in `collect::models`.
//!
//! Generated code writes with ordinary stores what `ranges::write` writes with release stores; on processors of the
//! x86 family they are the same (M3 of `ranges`), and loom cannot tell.

use crate::memory::ranges::{pointer, read, write};
use crate::node::Node;
use crate::terms::deref;
use crate::worker::all::Shared;
use crate::worker::native::{Native, Outcome, Seat};
use crate::worker::{Options, Worker};
use loom::thread;
use std::sync::Arc;
use term::Word;
use term::abi::{Builtin, Place, PredicateId};
use term::word::{Tag, UNBOUND};

/// The runtime's functions have buffers on the stack that loom's threads have no room for otherwise.
const STACK_WORDS: usize = 1 << 15;

/// The goals that wait in the models: they would be reduced by nobody.
const GOAL: PredicateId =
    PredicateId((1 + crate::goals::runtime_predicates::COUNT + crate::builtins::MESSAGES.len()) as u32);
/// Spawns such a goal.
const GENERATOR: PredicateId = PredicateId(GOAL.0 + 1);

pub(crate) fn small(value: i64) -> Word {
    Word::small(value)
}

/// Two workers, and words for the models to look at.
pub(crate) struct Pair {
    pub(crate) shared: Arc<Shared>,
    variables: Vec<Word>,
}

impl Pair {
    pub(crate) fn new() -> (Node, Pair) {
        Pair::of_nodes(1)
    }
    /// The same of the first of some nodes.
    pub(crate) fn of_nodes(nodes: u32) -> (Node, Pair) {
        let options = Options { heap_bytes_max: Some(1 << 30), nodes, ..Options::alone(2) };
        let natives = vec![
            native("goal", |_, _, _| Outcome::Done),
            native("generator", |worker, inputs, _| {
                worker.spawn(GOAL, inputs);
                Outcome::Done
            }),
        ];
        let mut node = Node::new(options, Arc::default(), natives).expect("address space");
        assert_eq!([0, 1].map(|i| node.builtins()[i].0), [GOAL, GENERATOR]);
        let shared = node.worker().shared.clone();
        (node, Pair { shared, variables: Vec::new() })
    }
    /// Worker `me`, for the thread that is this worker.
    pub(crate) fn with<R>(&self, me: usize, then: impl FnOnce(&mut Worker) -> R) -> R {
        self.shared.crew().with(me, then)
    }
    /// Goals that are ready, or in the mail.
    pub(crate) fn ready(&self) -> usize {
        (0..2).map(|me| self.with(me, ready)).sum()
    }
    /// Whether a worker has found an error that ends the program.
    pub(crate) fn failed(&self) -> [bool; 2] {
        [0, 1].map(|me| self.with(me, |worker| worker.ending.has_failed()))
    }
    pub(crate) fn value(&self, variable: usize) -> Word {
        deref(self.variables[variable])
    }
}

/// Goals that are ready or in the mail of a worker.
fn ready(worker: &mut Worker) -> usize {
    worker.push_resumed();
    let mut mails = 0;
    worker.shared.team.visit_mail(worker.index, |mail| {
        mails += mail.words.iter().filter(|&&word| word == GOAL.goal_word()).count();
    });
    let stack = (worker.goals.start()..worker.abi.goals as usize).step_by(8);
    mails + stack.filter(|&slot| read(slot) == GOAL.goal_word()).count()
}

/// A variable in old space: nobody's own.
pub(crate) fn variable(worker: &mut Worker) -> Word {
    let cell = worker.heap.allocate_overflow(1);
    write(cell, UNBOUND);
    pointer(Tag::Ref, cell)
}

/// Makes a goal wait for variables, as generated code would.
pub(crate) fn suspend(worker: &mut Worker, variables: &[Word]) {
    worker.spawn(GOAL, &[variables[0]]);
    worker.abi.pending[..variables.len()].copy_from_slice(variables);
    worker.abi.pending_count = variables.len() as _;
    worker.suspend_top();
}

/// All orders with at most `preemptions` preemptions of what two workers do with some variables. `before` is done by
/// worker 0, `after` when both have ended.
fn model(
    preemptions: usize,
    variables: usize,
    before: fn(&mut Worker, &mut Vec<Word>),
    does: [fn(&mut Worker, &[Word]); 2],
    after: fn(&Pair),
) {
    check(preemptions, move || run(1, variables, before, does, after));
}

/// The same for the first of two nodes.
pub(crate) fn model_of_nodes(
    variables: usize,
    before: fn(&mut Worker, &mut Vec<Word>),
    does: [fn(&mut Worker, &[Word]); 2],
    after: fn(&Pair),
) {
    check(3, move || run(2, variables, before, does, after));
}

/// Runs a model in all orders with at most `preemptions` preemptions.
pub(crate) fn check(preemptions: usize, model: impl Fn() + Clone + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(move || on_large_stack(model.clone()).join().expect("no model panics"));
}

pub(crate) fn on_large_stack(run: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
    thread::Builder::new().stack_size(STACK_WORDS).spawn(run).expect("loom has threads")
}

fn native(name: &'static str, run: crate::worker::native::Run) -> Native {
    let (module, name, modes) = ("main".into(), name.into(), "a".into());
    Native {
        signature: Builtin { module, name, modes, place: Place::Goal, daemon: false },
        run,
        process: None,
        seat: Seat::Any,
        walks: false,
    }
}

fn run(
    nodes: u32,
    variables: usize,
    before: fn(&mut Worker, &mut Vec<Word>),
    does: [fn(&mut Worker, &[Word]); 2],
    after: fn(&Pair),
) {
    let (_node, mut pair) = Pair::of_nodes(nodes);
    let mut words: Vec<Word> = Vec::new();
    pair.with(0, |worker| {
        words.extend((0..variables).map(|_| variable(worker)));
        before(worker, &mut words);
    });
    pair.variables = words;
    let pair = Arc::new(pair);
    let workers = [0, 1].map(|me| {
        let pair = pair.clone();
        on_large_stack(move || pair.with(me, |worker| does[me](worker, &pair.variables)))
    });
    for worker in workers {
        worker.join().expect("no worker panics");
    }
    after(&pair);
}
pub(crate) fn nothing(_: &mut Worker, _: &mut Vec<Word>) {}

#[test]
fn bind_against_bind() {
    let bind = [(|worker, x| worker.unify(x[0], small(1))) as fn(&mut Worker, &[Word]), |worker, x| {
        worker.unify(x[0], small(2))
    }];
    model(3, 1, nothing, bind, |pair| match pair.failed() {
        [false, true] => assert_eq!(pair.value(0), small(1)),
        [true, false] => assert_eq!(pair.value(0), small(2)),
        other => panic!("one of them fails, not {other:?}"),
    });
}

#[test]
fn bind_against_hook() {
    model(
        3,
        1,
        nothing,
        [
            |worker, x| {
                worker.unify(x[0], small(1));
                worker.push_resumed();
            },
            |worker, x| suspend(worker, &x[..1]),
        ],
        |pair| {
            assert_eq!(pair.value(0), small(1));
            assert_eq!(pair.ready(), 1, "the goal runs once");
        },
    );
}

/// H7: worker 0 uses the record of the goal that it resumes again, while the other one looks at the list that led to
/// it, and then takes what it holds.
#[test]
fn hook_and_bind_against_a_record_that_is_used_again() {
    model(
        3,
        2,
        nothing,
        [
            |worker, x| {
                suspend(worker, &x[..1]);
                worker.unify(x[0], small(1));
                worker.push_resumed();
                assert_ne!(worker.abi.spent[1], 0, "it will be, if the goal must wait");
                suspend(worker, &x[1..]);
            },
            |worker, x| {
                suspend(worker, &x[..1]);
                worker.unify(x[1], small(2));
                worker.push_resumed();
            },
        ],
        |pair| {
            assert_eq!([0, 1].map(|variable| pair.value(variable)), [small(1), small(2)]);
            assert_eq!(pair.ready(), 3, "each runs once");
        },
    );
}

#[test]
fn hook_against_hook() {
    model(
        3,
        1,
        nothing,
        [|worker, x| suspend(worker, &x[..1]), |worker, x| suspend(worker, &x[..1])],
        |pair| {
            assert_eq!(pair.ready(), 0);
            pair.with(1, |worker| worker.unify(pair.variables[0], small(1)));
            assert_eq!(pair.ready(), 2, "both are on the list");
        },
    );
}

#[test]
fn a_goal_that_waits_for_two_is_resumed_once() {
    model(
        3,
        2,
        |worker, x| suspend(worker, x),
        [
            |worker, x| {
                worker.unify(x[0], small(1));
                worker.push_resumed();
            },
            |worker, x| {
                worker.unify(x[1], small(2));
                worker.push_resumed();
            },
        ],
        |pair| assert_eq!(pair.ready(), 1),
    );
}

#[test]
fn a_goal_hooks_on_two_while_both_are_bound() {
    model(
        3,
        2,
        nothing,
        [
            |worker, x| {
                worker.unify(x[1], small(1));
                worker.unify(x[0], small(2));
                worker.push_resumed();
            },
            |worker, x| suspend(worker, x),
        ],
        |pair| assert_eq!(pair.ready(), 1),
    );
}

#[test]
fn aliases_make_no_circle() {
    model(
        3,
        3,
        nothing,
        [
            |worker, x| {
                worker.unify(x[0], x[1]);
                worker.unify(x[2], x[0]);
            },
            |worker, x| worker.unify(x[1], x[2]),
        ],
        |pair| {
            let [a, b, c] = [0, 1, 2].map(|variable| pair.value(variable));
            assert!(a == b && b == c && a.tag() == Tag::Ref, "one variable");
            assert_eq!(read(a.address()), UNBOUND);
        },
    );
}

#[test]
fn alias_against_bind_resumes_the_goal() {
    model(
        3,
        2,
        |worker, x| suspend(worker, &x[1..]),
        [
            |worker, x| {
                worker.unify(x[0], x[1]);
                worker.push_resumed();
            },
            |worker, x| {
                worker.unify(x[0], small(1));
                worker.push_resumed();
            },
        ],
        |pair| {
            assert_eq!([pair.value(0), pair.value(1)], [small(1); 2]);
            assert_eq!(pair.ready(), 1);
            assert_eq!(pair.failed(), [false; 2]);
        },
    );
}

/// W2, W3: worker 0 binds a variable of its own with a plain store and publishes it; the other one got it in a list.
#[test]
fn publish_against_bind() {
    model(
        3,
        1,
        nothing,
        [
            |worker, x| {
                let private = worker.new_variable();
                assert!(worker.is_private(private.address()));
                let list = worker.cons(private, private);
                worker.unify(x[0], list);
                worker.unify(private, small(1));
                worker.publish();
            },
            |worker, x| {
                let list = deref(x[0]);
                if list.tag() == Tag::Cons {
                    worker.unify(read(list.address()), small(2));
                }
            },
        ],
        |pair| {
            let list = pair.value(0);
            assert_eq!(deref(read(list.address())), small(1), "its owner bound it");
            assert!(!pair.failed()[0]);
            // What was seen private was sent to the owner, whose mail fails.
            let mut mails = 0;
            pair.with(0, |worker| worker.shared.team.visit_mail(0, |_| mails += 1));
            assert!(mails == 0 || !pair.failed()[1]);
        },
    );
}

/// U3: of two private variables that goals wait for, the earlier one is bound; others get them after that.
#[test]
fn private_aliases_against_bind() {
    model(
        3,
        2,
        nothing,
        [
            |worker, x| {
                let (earlier, later) = (worker.new_variable(), worker.new_variable());
                let list = worker.cons(earlier, later);
                suspend(worker, &[later]);
                worker.unify(earlier, later);
                assert!(!worker.has_resumed(), "it waits on");
                worker.unify(x[0], list);
                worker.publish();
                worker.unify(later, x[1]);
                worker.push_resumed();
            },
            |worker, x| {
                let list = deref(x[0]);
                if list.tag() == Tag::Cons {
                    worker.unify(read(list.address()), x[1]);
                    worker.unify(x[1], read(list.address() + 8));
                    worker.push_resumed();
                }
                worker.unify(x[1], small(1));
                worker.push_resumed();
            },
        ],
        |pair| {
            let list = pair.value(0);
            let [earlier, later] = [0, 8].map(|offset| deref(read(list.address() + offset)));
            let mut mails = 0;
            pair.with(0, |worker| worker.shared.team.visit_mail(0, |_| mails += 1));
            // What was seen private was sent to the owner, whose mail is not opened here.
            if mails == 0 {
                assert_eq!([earlier, later, pair.value(1)], [small(1); 3]);
            }
            assert_eq!(pair.failed(), [false; 2]);
        },
    );
}

/// H5: a goal that waits for a shared variable may be taken before its worker publishes.
#[test]
fn a_goal_is_taken_with_what_it_holds() {
    model(
        3,
        1,
        nothing,
        [
            |worker, x| {
                let private = worker.new_variable();
                let list = worker.cons(private, Word::NIL);
                worker.spawn(GOAL, &[list]);
                worker.abi.pending[0] = x[0];
                worker.abi.pending_count = 1;
                worker.suspend_top();
                worker.unify(private, small(5));
            },
            |worker, x| {
                worker.unify(x[0], small(1));
                worker.push_resumed();
                let top = worker.abi.goals as usize;
                if read(top - 8) == GOAL.goal_word() {
                    // Whatever has been written so far is seen: loom checks it.
                    let list = read(top - 16);
                    deref(read(list.address()));
                }
            },
        ],
        |pair| assert_eq!(pair.ready(), 1),
    );
}

#[test]
fn a_generator_runs_once() {
    model(
        3,
        0,
        |worker, x| {
            x.push(variable(worker));
            worker.set_generator(x[0], GENERATOR, &[x[0]]);
        },
        [|worker, x| worker.unify(x[0], small(1)), |worker, x| suspend(worker, &x[..1])],
        |pair| {
            assert_eq!(pair.failed(), [false; 2]);
            assert_eq!(pair.value(0), small(1));
            assert_eq!(pair.ready(), 2, "the goal of the generator, and the one that wanted to wait");
        },
    );
}

/// A vector that is nobody's own.
fn vector(worker: &mut Worker, x: &mut Vec<Word>) {
    x.push(worker.vector(&[small(10), small(20)]));
    worker.publish();
}

/// V1: one of the two updates in place, the other one gets a copy.
#[test]
fn update_against_update() {
    model(
        2,
        0,
        vector,
        [
            |worker, x| {
                let new = worker.vector_update(x[0], 0, small(11)).expect("room");
                assert_eq!(worker.vector_elements(new).expect("a vector"), [small(11), small(20)]);
            },
            |worker, x| {
                let new = worker.vector_update(x[0], 1, small(22)).expect("room");
                assert_eq!(worker.vector_elements(new).expect("a vector"), [small(10), small(22)]);
            },
        ],
        |pair| {
            pair.with(0, |worker| {
                assert_eq!(
                    worker.vector_elements(pair.variables[0]).expect("a vector"),
                    [small(10), small(20)]
                );
            })
        },
    );
}

/// V2: a reader sees one version.
#[test]
fn update_against_read() {
    model(
        2,
        0,
        vector,
        [
            |worker, x| {
                worker.vector_update(x[0], 0, small(11)).expect("room");
            },
            |worker, x| assert_eq!(worker.vector_element(x[0], 0), small(10)),
        ],
        |_| (),
    );
}
