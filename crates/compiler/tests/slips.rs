//! What is said of programs that can run and do not mean what they say, and where nothing is said.

mod common;

use compiler::{almost_messages, looks_for, unused_predicates};
use syntax::source::SourceMap;
use term::AtomTable;

/// Lines and codes of the warnings about numbers, each with the text that is marked.
fn numbers(text: &str) -> Vec<String> {
    let text = format!(":- module main.\n{text}\n");
    let compiled = common::compile(&text);
    let codes = ["term-for-number", "float-as-integer", "integer-as-float"];
    let found = compiled.diagnostics.iter().filter(|d| codes.contains(&d.code));
    found
        .map(|d| {
            let (start, end) = (d.span.start as usize, d.span.end as usize);
            let line = text[..start].matches('\n').count();
            format!("{line} {} {}", d.code, &text[start..end])
        })
        .collect()
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(numbers(text), expected, "{text}");
}

const LEN: &str = "main :- len([a,b],0,N), io:outstream([print(N)]).\nlen([],N,R) :- R = N.\n";

#[test]
fn a_term_that_grows_in_the_place_of_a_number() {
    check(&format!("{LEN}len([_|T],N,R) :- len(T,N+1,R)."), &["3 term-for-number N+1"]);
    check(&format!("{LEN}len([_|T],N,R) :- len(T,1+N,R)."), &["3 term-for-number 1+N"]);
    check(&format!("{LEN}len([X|T],N,R) :- len(T,N+X,R)."), &["3 term-for-number N+X"]);
    let conditional = "len([X|T],N,R) :- ( X = a -> len(T,N-1,R) ; otherwise ; true -> len(T,N,R) ).";
    check(&format!("{LEN}{conditional}"), &["3 term-for-number N-1"]);
}

#[test]
fn a_term_for_an_argument_that_is_computed_with() {
    let down = "down(0,L) :- L = [].\ndown(N,L) :- N > 0 | L = [N|L1], down(N-1,L1).";
    check(down, &["2 term-for-number N-1"]);
    check("main :- p(1+2,_).\np(X,Y) :- Y := X*2.", &["1 term-for-number 1+2"]);
    check(
        "main :- p(3-A,_), A = 2.\np(X,Y) :- q(X,Y).\nq(X,Y) :- X > 0 | Y = 1.\nq(0,Y) :- Y = 0.",
        &["1 term-for-number 3-A"],
    );
    check("main :- X = 1+2, p(X,_).\np(X,Y) :- Y := X*2.", &["1 term-for-number 1+2"]);
    check("main(Y) :- X = 1+2, Y := X*2.", &["1 term-for-number 1+2"]);
    check("main(Y) :- 3*4 = X, Y := X mod 2.", &["1 term-for-number 3*4"]);
    check("main(F) :- p(F*2.0,_).\np(X,Y) :- Y $:= X+1.0.", &["1 term-for-number F*2.0"]);
}

#[test]
fn a_term_for_a_result() {
    check(
        "main :- f(3,X), io:outstream([print(X)]).\nf(0,F) :- F = 1.\nf(N,F) :- N > 0 | f(~(N-1),F1), F = N*F1.",
        &["3 term-for-number N*F1"],
    );
    check("len([],N) :- N = 0.\nlen([_|T],N) :- len(T,N1), N = N1+1.", &["2 term-for-number N1+1"]);
    check("f(N,F) :- ( N > 1 -> f(~(N-1),A), f(~(N-2),B), F = A+B+0 ; N =< 1 -> F = N ).", &[]);
    check("f(N,F) :- ( N > 1 -> f(~(N-1),A), F = N+A ; N =< 1 -> F = 1 ).", &["1 term-for-number N+A"]);
    check("d(x,D) :- D = 1.\nd(A+B,D) :- d(A,DA), d(B,DB), D = DA+DB.", &[]);
    check("d(x,D) :- D = 1.\nd(N*A,D) :- integer(N) | d(A,DA), D = N*DA.", &[]);
    check("k([],L) :- L = 0.\nk([X|T],L) :- X > 0 | k(T,L1), L = X-a, io:outstream([print(L1)]).", &[]);
}

#[test]
fn terms_that_are_meant() {
    // Structures that are built and taken apart.
    check(
        "main :- d(x+1,D), io:outstream([print(D)]).\nd(x,R) :- R = 1.\nd(A+B,R) :- d(A,X), d(B,Y), R = X+Y.\nd(N,R) :- integer(N) | R = 0.",
        &[],
    );
    check(
        "main :- e(3,x,R), io:outstream([print(R)]).\ne(0,E,R) :- R = E.\ne(N,E,R) :- N > 0 | e(~(N-1),E+1,R).",
        &[],
    );
    check(
        "main :- e(3,0,R), io:outstream([print(R)]).\ne(0,E,R) :- R = E.\ne(N,E,R) :- N > 0 | e(~(N-1),E+x,R).",
        &[],
    );
    check("main :- e(3,y,R), v(R).\ne(0,E,R) :- R = E.\ne(N,E,R) :- N > 0 | e(~(N-1),E+N,R).\nv(_).", &[]);
    // Taken apart by another predicate, or in a guard.
    check("p(N,R) :- q(N), p(N+1,R).\np(_,R) :- R = a.\nq(A+B) :- io:outstream([print(A),print(B)]).", &[]);
    check("p(N,R) :- N = A+_ | p(A,R).\notherwise.\np(N,R) :- R = N, p(N+1,_).", &[]);
    // Pairs, names with arities, keys with values.
    check("main :- p(f/2).\np(F/A) :- A > 0 | io:outstream([print(F)]).", &[]);
    check("main :- p([a-1,b-2],c-3).\np(_,X) :- io:outstream([print(X)]).", &[]);
    // One clause does not need a number.
    check("main :- p(1+2).\np(N) :- N > 0 | true.\np(A+B) :- io:outstream([print(A),print(B)]).", &[]);
    check("main :- p(1+2).\np(N) :- N > 0 | true.\notherwise.\np(N) :- io:outstream([print(N)]).", &[]);
    check("main :- p(~(1+2),_).\np(X,Y) :- Y := X*2.", &[]);
}

#[test]
fn a_float_for_an_integer() {
    let sign = "sign(X,S) :- X > 0 | S = yes.\nsign(X,S) :- X =< 0 | S = no.";
    check(&format!("main :- sign(6.0,_).\n{sign}"), &["1 float-as-integer 6.0"]);
    check(&format!("main :- X $:= 1.5*2.0, sign(X,_).\n{sign}"), &["1 float-as-integer X"]);
    check(&format!("main(X) :- X $> 1.0 | sign(X,_).\n{sign}"), &["1 float-as-integer X"]);
    check(&format!("main(X) :- float(X) | sign(X,_).\n{sign}"), &["1 float-as-integer X"]);
    check(&format!("main :- X = 0.5, sign(X,_).\n{sign}"), &["1 float-as-integer X"]);
    check("p(X,Y,Z) :- Y := X+1, Z $:= X+1.0.", &["1 float-as-integer X"]);
    check("p(Y) :- X $:= 2.5, Y := X+1.", &["1 float-as-integer X"]);
    check(&format!("main :- X $:= 1.5, Y := int(X), sign(Y,_).\n{sign}"), &[]);
    check(&format!("main :- sign(6,_), sign(-6,_).\n{sign}"), &[]);
    check("main :- p(1.5).\np(X) :- integer(X) | true.\np(X) :- float(X) | true.", &[]);
    check("main(R) :- p(1.5,R).\np(X,R) :- ( integer(X) -> R = i ; otherwise ; true -> R $:= X ).", &[]);
}

#[test]
fn an_integer_for_a_float() {
    let sign = "sign(X,S) :- X $> 0.0 | S = yes.\nsign(X,S) :- X $=< 0.0 | S = no.";
    check(&format!("main :- sign(3,_).\n{sign}"), &["1 integer-as-float 3"]);
    check(&format!("main(N) :- X := N+1, sign(X,_).\n{sign}"), &["1 integer-as-float X"]);
    check("p(N,Y) :- X := N+1, Y $:= X*2.0.", &["1 integer-as-float X"]);
    check(&format!("main(N) :- X $:= float(N), sign(X,_).\n{sign}"), &[]);
    check("p(N,Y) :- X := N+1, Y $:= float(X)*2.0.", &[]);
    check("p(X) :- X $> 0 | true.", &[]);
}

fn read(text: &str) -> (syntax::program::Program, SourceMap, AtomTable) {
    let mut sources = SourceMap::default();
    let file = sources.add("test.kl1".into(), format!(":- module main.\n{text}\n").into_bytes());
    let atoms = AtomTable::new();
    let (program, diagnostics) = syntax::read_program(&sources, &[file], &atoms);
    assert!(
        diagnostics.iter().all(|d| d.severity == syntax::diagnostic::Severity::Warning),
        "{diagnostics:?}"
    );
    (program, sources, atoms)
}

/// The helps of messages that are almost taken; the library takes `putc/1`.
fn messages(text: &str) -> Vec<String> {
    let (program, sources, atoms) = read(text);
    let (library, _, own) = read("out([putc(_)|S]) :- out(S).");
    let found = almost_messages(&program, &sources, &atoms, &mut |name, arity| {
        own.lookup(atoms.text(name)).is_some_and(|name| looks_for(&library, name, arity))
    });
    found.into_iter().map(|d| format!("{} [{}]", d.message, d.help.unwrap_or_default())).collect()
}

const SERVER: &str = "main :- counter(S,0), send(S).\ncounter([],_).\ncounter([add(N)|S],C) :- C1 := C+N, counter(S,C1).\n\
                      counter([value(V)|S],C) :- V = C, counter(S,C).\ncounter([put(X,Y)|S],C) :- Y = X, counter(S,C).\n\
                      counter([clear|S],_) :- counter(S,0).\n";

#[test]
fn messages_that_are_mistyped() {
    for (sent, near) in [
        ("ad(5)", "add/1"),
        ("addd(5)", "add/1"),
        ("asd(5)", "add/1"),
        ("dad(5)", "add/1"),
        ("daa(5)", ""),
        ("vlaue(_)", "value/1"),
        ("add(5,6)", "add/1"),
        ("put(5)", "put/2"),
        ("cleer", "clear/0"),
        ("clear(1)", "clear/0"),
        ("get(5)", ""),
        ("putc(5)", ""),
        ("value2(5)", ""),
        ("add(5)", ""),
    ] {
        let found = messages(&format!("{SERVER}send(S) :- S = [add(1),{sent}]."));
        match near {
            "" => assert!(found.is_empty(), "{sent}: {found:?}"),
            _ => assert!(
                found.len() == 1 && found[0].contains(&format!("did you mean {near}?")),
                "{sent}: {found:?}"
            ),
        }
    }
    // What a guard or another head looks for is a message of another process, or data.
    assert!(messages(&format!("{SERVER}send(S) :- S = [ad(1)].\np(ad(_)).")).is_empty());
    assert!(messages(&format!("{SERVER}send(S) :- S = [ad(1)].\np(X) :- X = ad(_) | true.")).is_empty());
    // In a goal's argument and in a pair of updates, too.
    assert_eq!(messages(&format!("{SERVER}send(S) :- counter([ad(1)|S],0).")).len(), 1);
    assert_eq!(messages(&format!("{SERVER}send(S) :- send-S.\nsend-S :- S <= ad(1).")).len(), 1);
}

#[test]
fn predicates_that_nothing_calls() {
    let unused = |text: &str| -> Vec<String> {
        let (program, _, atoms) = read(text);
        let [main, other] = ["main", "named"].map(|name| atoms.intern(name.as_bytes()));
        let roots = vec![(main, main, 0), (main, other, 0)];
        unused_predicates(&program, &atoms, &roots).into_iter().map(|d| d.message).collect()
    };
    assert_eq!(unused("main :- p.\np.\nq."), ["nothing calls main:q/0"]);
    assert_eq!(unused("main :- p.\np.\nq :- q, r.\nr :- p."), ["nothing calls main:q/0"]);
    assert_eq!(
        unused("main.\nr :- s.\nq(1) :- t.\ns :- r.\nt :- ( true -> q(1) ; true -> true )."),
        ["nothing calls main:r/0", "nothing calls main:q/1"]
    );
    assert_eq!(
        unused("main :- ( true -> p ; true -> q ).\np :- ( true -> p ; true -> s ).\nq :- main:r.\nr.\ns."),
        [""; 0]
    );
    assert_eq!(unused("main :- generic:call(predicate#(main:p/1),1).\np(_)."), [""; 0]);
    assert_eq!(unused("main.\nnamed :- p.\np."), [""; 0]);
    // Of a module without `main` nothing is known.
    assert_eq!(unused("p."), [""; 0]);
}
