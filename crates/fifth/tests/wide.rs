//! Clauses that build from one to 60,000 words, with several workers that ask for goals, and predicates of thousands of
//! tests: each ends, with what the interpreter prints.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use support::execute::{self, Ending};
use support::process::Text;

/// Around the words that are free at each poll, around those that one look of another worker leaves, and many.
const WIDTHS: [usize; 6] = [1, 1_025, 3_071, 3_080, 20_000, 60_000];
/// Calls take longer to compile than data.
const CALLS_MAX: usize = 5_000;

/// A loop that only reduces comes first, so that the others ask for goals; then the clause is reduced again and again.
fn program(build: &str, rounds: usize) -> String {
    format!(
        ":- module main.\n\
        main :- true | spin(20000, Go), go({rounds}, Go, 0, S), show(S).\n\
        spin(0, Go) :- true | Go = go.\n\
        spin(N, Go) :- N > 0 | M := N - 1, spin(M, Go).\n\
        go(0, _, S, R) :- true | R = S.\n\
        go(N, go, S, R) :- N > 0 | M := N - 1, build(N, T), use(T, K), S1 := S + K, go(M, go, S1, R).\n\
        use(T, K) :- vector(T, N) | K = N.\n\
        use([X|_], K) :- true | K = X.\n\
        use(N, K) :- integer(N) | K = N.\n\
        show(S) :- wait(S) | builtin:print(S).\n\
        next(A, B) :- wait(A) | B := A + 1.\n\
        build(X, T) :- true | {build}.\n"
    )
}

/// The bodies of one width: a vector, a list, a chain of goals through variables.
fn bodies(width: usize) -> Vec<String> {
    let elements = vec!["X"; width].join(",");
    let mut bodies = vec![format!("T = {{{elements}}}"), format!("T = [{elements}]")];
    if width <= CALLS_MAX {
        let calls: Vec<String> = (0..width).map(|i| format!("next(X{i},X{})", i + 1)).collect();
        bodies.push(format!("X0 = X, {}, T = X{width}", calls.join(",")));
    }
    bodies
}

#[test]
fn clauses_of_any_width_end_with_any_number_of_workers() {
    for width in WIDTHS {
        let rounds = 3 + 20_000 / (width + 300);
        for (number, body) in bodies(width).iter().enumerate() {
            let text = Text::new(&format!("wide{width}-{number}"), program(body, rounds).as_bytes());
            let files = [text.0.clone()];
            let expected = execute::interpreted(&files, &[], b"").expect("it takes few steps");
            assert_eq!(expected.ending, Ending::Success, "{width}: {}", expected.stderr);
            for options in [&["-w1"][..], &["-w2"], &["-w8"], &["-w3", "--check-heap=7"]] {
                let (given, _) = execute::compiled(options, &files, &[], b"")
                    .unwrap_or_else(|error| panic!("body {number} of {width}, {options:?}: {error}"));
                let got = (given.ending, given.stdout);
                assert_eq!(
                    got,
                    (expected.ending, expected.stdout.clone()),
                    "body {number} of {width}, {options:?}"
                );
            }
        }
    }
}

/// `p`, and a goal of it whose list comes cell by cell, each with its value later.
fn tested(predicate: &str, size: usize) -> String {
    format!(
        ":- module main.\n\
        main :- true | cells({size}, L), p(L, A), p({size}, B), p([0|L], C), show(A, B, C).\n\
        cells(0, L) :- true | L = [].\n\
        cells(N, L) :- N > 0 | L = [X|T], M := N - 1, later(N, X), cells(M, T).\n\
        later(N, X) :- wait(N) | X := N + 0.\n\
        show(A, B, C) :- wait(A), wait(B), wait(C) | builtin:print([A,B,C]).\n\
        {predicate}\n\
        otherwise.\n\
        p(_, R) :- true | R = no.\n"
    )
}

/// Predicates of one size: a head of as many variables, one with constants, with tests of each, two heads, as many
/// clauses with tests, arithmetic in a guard, values that are bound at the end.
fn predicates(size: usize) -> Vec<String> {
    let all = |each: &dyn Fn(usize) -> String| (1..=size).map(each).collect::<Vec<_>>().join(",");
    let variables = all(&|i| format!("X{i}"));
    let constants = all(&|i| (size + 1 - i).to_string());
    let others = all(&|i| (size + 1 - i + i / size).to_string());
    let clauses = (1..=size).map(|i| format!("p(X, R) :- integer(X), X =< {i} | R = c{i}.\n"));
    vec![
        format!("p([{variables}], R) :- true | R = [X1,X2,X{size}]."),
        format!("p([{constants}], R) :- true | R = yes."),
        format!("p([{variables}], R) :- {} | R = yes.", all(&|i| format!("X{i} >= 0"))),
        format!("p([{others}], R) :- true | R = other.\np([{constants}], R) :- true | R = yes."),
        clauses.collect(),
        format!("p(X, R) :- {} | R = yes.", all(&|i| format!("X + {i} =\\= 7"))),
        format!("p([{variables}], R) :- X1 > 0 | {}, R = X0.", sums(size)),
    ]
}

/// The sum of variables, as far as they may be arguments of one goal.
fn sums(size: usize) -> String {
    let used = size.min(200);
    let sum = |i: usize| format!("S{i} := S{} + X{i}", i - 1);
    let goals = (1..=used).map(sum).collect::<Vec<_>>().join(",");
    format!("S0 = 0, {goals}, X0 = S{used}")
}

#[test]
fn predicates_of_any_number_of_tests_choose_as_the_interpreter_does() {
    for size in [2, 255, 300, 3_000] {
        for (number, predicate) in predicates(size).iter().enumerate() {
            let text = Text::new(&format!("tests{size}-{number}"), tested(predicate, size).as_bytes());
            let files = [text.0.clone()];
            let expected = execute::interpreted(&files, &[], b"").expect("it takes few steps");
            assert_eq!(expected.ending, Ending::Success, "{number} of {size}: {}", expected.stderr);
            for options in [&["-w1"][..], &["-w3", "--check-heap=7"], &["-w1", "--pieces=40"]] {
                let (given, _) = execute::compiled(options, &files, &[], b"")
                    .unwrap_or_else(|error| panic!("predicate {number} of {size}, {options:?}: {error}"));
                let got = (given.ending, given.stdout);
                assert_eq!(
                    got,
                    (expected.ending, expected.stdout.clone()),
                    "predicate {number} of {size}, {options:?}: {}",
                    given.stderr
                );
            }
        }
    }
}
