//! Clauses that build from one to 60,000 words, with several workers that ask for goals: each ends, with what the
//! interpreter prints.

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
