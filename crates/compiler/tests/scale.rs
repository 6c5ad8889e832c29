//! Time and size stay linear (K2): big generated programs.

mod common;

use compiler::ir::Block;
use std::fmt::Write;

fn blocks(text: &str) -> Vec<Block> {
    let compiled = common::compile(text);
    let errors = compiled.diagnostics.iter().filter(|d| d.severity == syntax::diagnostic::Severity::Error);
    assert_eq!(errors.count(), 0);
    assert_eq!(compiler::verify::verify(&compiled.program), [""; 0]);
    compiled.program.components.into_iter().flat_map(|component| component.blocks).collect()
}

/// Blocks and operations.
fn size(text: &str) -> usize {
    blocks(text).iter().map(|block| 1 + block.ops.len()).sum()
}

fn clauses(count: usize, clause: impl Fn(usize) -> String) -> String {
    let mut text = String::from(":- module main.\n");
    for number in 0..count {
        writeln!(text, "{}", clause(number)).unwrap();
    }
    text
}

/// Size of a predicate of 300 and one of 3,000 clauses of a kind.
fn grows_linearly(clause: impl Fn(usize) -> String) {
    let (few, many) = (clauses(300, &clause), clauses(3_000, &clause));
    for measure in [|text: &str| blocks(text).len(), size] {
        let (small, large) = (measure(&few), measure(&many));
        assert!(large < 15 * small, "{small}, then {large}");
    }
    assert!(blocks(&many).len() < 40 * 3_000 && size(&many) < 60 * 3_000);
}

#[test]
fn distinct_constants() {
    grows_linearly(|n| format!("p({n},R) :- R = r{n}."));
}

#[test]
fn comparisons() {
    grows_linearly(|n| format!("p(X,R) :- X < {n} | R = r{n}."));
}

#[test]
fn constants_and_wildcards_by_turns() {
    grows_linearly(|n| {
        if n % 2 == 0 { format!("p({n},_,R) :- R = r{n}.") } else { format!("p(_,f({n}),R) :- R = r{n}.") }
    });
}

#[test]
fn constants_among_comparisons() {
    grows_linearly(|n| {
        if n % 3 == 0 { format!("p({n},R) :- R = r{n}.") } else { format!("p(X,R) :- X > {n} | R = r{n}.") }
    });
}

#[test]
fn different_arguments() {
    grows_linearly(|n| {
        let mut arguments = ["_"; 8].map(String::from);
        arguments[n % 8] = format!("a{n}");
        arguments[n / 8 % 8] = format!("b{n}");
        format!("p({}).", arguments.join(","))
    });
}

#[test]
fn structures_with_constants_inside() {
    grows_linearly(|n| format!("p(f({},g({n},X)),R) :- X > {n} | R = r{n}.", n % 17));
}

#[test]
fn otherwise_between_all() {
    grows_linearly(|n| format!("p(X,Y,R) :- X > {n}, Y = a{n} | R = r{n}.\notherwise."));
}

/// Each clause waits for a variable of its own: there are as many sets of those as subsets of the clauses.
#[test]
fn clauses_that_wait_for_different_variables() {
    grows_linearly(|n| format!("p(V,R) :- vector_element(V,{n},E), E = 1 | R = r{n}."));
}

#[test]
fn many_predicates() {
    let predicate = |n: usize| {
        format!(
            "p{n}([],R) :- R = [].\np{n}([X|Xs],R) :- X < {n} | R = [X|R1], p{n}(Xs,R1).\n\
             p{n}([X|Xs],R) :- X >= {n} | Y := X + 1, q{n}(Y,Xs,R).\nq{n}(_,Xs,R) :- p{n}(Xs,R)."
        )
    };
    let (small, large) = (size(&clauses(200, predicate)), size(&clauses(2_000, predicate)));
    assert!(large < 12 * small, "{small}, then {large}");
}

#[test]
fn a_long_body() {
    let body = |count: usize| {
        let goals: Vec<String> = (0..count).map(|n| format!("X{n} = [{n}|X{}]", n + 1)).collect();
        format!(":- module main.\np(X0) :- {}, q(X0,X{count}).\nq(_,_).\n", goals.join(", "))
    };
    assert_eq!(blocks(&body(100)).len(), blocks(&body(3_000)).len());
}

#[test]
fn clauses_that_build_more_than_the_slack() {
    let items: Vec<String> = (0..900).map(|n| format!("f(X,{n})")).collect();
    let list = items.join(",");
    let text = format!(
        ":- module main.\np(0,_,L) :- L = [].\np(N,X,L) :- N > 0 | M := N - 1, L = [{list}|T], add(M,Y,Z), q(Z,Y), p(M,X,T).\n\
         q(_,_).\nr(X,L) :- L = [{list}], q(X,L).\n"
    );
    assert!(blocks(&text).len() > 10);
}
