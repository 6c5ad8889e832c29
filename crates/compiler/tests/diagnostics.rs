//! What the compiler says about programs that are wrong.

mod common;

use expect_test::{Expect, expect};

fn check(text: &str, expected: Expect) {
    let compiled = common::compile(&format!(":- module main.\n{text}\n"));
    let mut shown = String::new();
    for diagnostic in &compiled.diagnostics {
        let before = &text.as_bytes()[..(diagnostic.span.start as usize).saturating_sub(16).min(text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        shown.push_str(&format!("{line} {}: {}", diagnostic.code, diagnostic.message));
        if let Some(help) = &diagnostic.help {
            shown.push_str(&format!(" [{help}]"));
        }
        shown.push('\n');
    }
    expected.assert_eq(&shown);
}

#[test]
fn a_comma_that_makes_a_goal_of_a_fact() {
    check(
        "p(X) :- q(X),\nr(1).\nq(_).\np(_,_) :- q(2),\nq(1,2).",
        expect![[r#"
            2 undefined-predicate: there is no predicate main:r/1 [if this begins a clause, end the one before it with `.`, not with `,`]
            5 wrong-arity: main:q/2 does not exist, but q/1 does [if this begins a clause, end the one before it with `.`, not with `,`]
        "#]],
    );
}

#[test]
fn names_that_mean_nothing() {
    check(
        "p(X) :- appned(X,[],_), p(X,X), nowhere:p(X), io:outsteram(X).\nappend(_,_,_).",
        expect![[r#"
            1 undefined-predicate: there is no predicate main:appned/3 [did you mean append/3?]
            1 wrong-arity: main:p/2 does not exist, but p/1 does
            1 undefined-module: there is no module nowhere, so no nowhere:p/1 [name the file that has it, too, or put it beside the first as nowhere.kl1]
            1 undefined-predicate: there is no predicate io:outsteram/1 [did you mean io:outstream/1?]
        "#]],
    );
}

#[test]
fn what_beginners_know_from_prolog_has_its_place_here() {
    check(
        "p(X) :- X is 1, write(X), nl, !.",
        expect![[r#"
            1 undefined-predicate: there is no predicate main:is/2 [`X := 1 + Y` computes integers, `X $:= 1.5 * Y` floats]
            1 undefined-predicate: there is no predicate main:write/1 [what is written goes by a stream: `io:outstream([print(X), nl])`]
            1 undefined-predicate: there is no predicate main:nl/0 [what is written goes by a stream: `io:outstream([print(X), nl])`]
            1 undefined-predicate: there is no predicate main:!/0 [there is no cut: a guard chooses the clause for good, `p(X) :- X > 0 | ..`]
        "#]],
    );
}

#[test]
fn what_takes_the_place_of_a_shoen_is_written_down() {
    check(
        "p(X) :- shoen:execute(X,a,b).",
        expect![[r#"
            1 undefined-module: there is no module shoen, so no shoen:execute/3 [of PIMOS it is missing; docs/library.md says how its uses are written]
        "#]],
    );
}

#[test]
fn what_is_nowhere_is_to_be_written() {
    check(
        "p(X) :- reverse(X).",
        expect![[r#"
            1 undefined-predicate: there is no predicate main:reverse/1 [write its clauses, or call that of another module: `module:reverse(..)`]
        "#]],
    );
}

#[test]
fn tests_in_bodies_are_explained() {
    check(
        "p(X) :- integer(X), wait(X).",
        expect![[r#"
            1 undefined-predicate: there is no predicate main:integer/1 [integer/1 is a test: it stands in a guard, before `|` or `->`]
            1 undefined-predicate: there is no predicate main:wait/1 [wait/1 is a test: it stands in a guard, before `|` or `->`]
        "#]],
    );
}

#[test]
fn predicates_of_other_modules_are_suggested() {
    check(
        "p(X) :- outstream(X).",
        expect![[r#"
            1 undefined-predicate: there is no predicate main:outstream/1 [did you mean io:outstream/1?]
        "#]],
    );
}

#[test]
fn guards_that_are_none() {
    check(
        "p(X) :- vectr(X,_) | true.\np(X) :- q(X) | true.\nq(_).",
        expect![[r#"
            1 unknown-guard: vectr/2 is not a guard builtin [did you mean vector/2?]
            2 unknown-guard: q/1 is not a guard builtin
        "#]],
    );
}

#[test]
fn otherwise_in_a_guard_is_told_its_place() {
    check(
        "p(X) :- X = 1 | true.\np(_) :- otherwise | true.",
        expect![[r#"
            2 unknown-guard: otherwise/0 is not a guard builtin [`otherwise.` stands on a line of its own before the clause, in a conditional `; otherwise ; true -> ..`]
        "#]],
    );
}

#[test]
fn clauses_that_never_commit() {
    check(
        "p(X) :- X < a | true.\np(X) :- a = b | q(X).\np(X) :- Y > 1, X = 2 | q(Y).\np(X) :- 1 > 2 | q(X).\np(X) :- X > X | true.\nq(_).",
        expect![[r#"
            1 clause-never-commits: only integers can be compared and computed with
            2 clause-never-commits: two different constants are never equal
            3 clause-never-commits: nothing gives Y a value before this guard
            4 clause-never-commits: this comparison of constants is never true
            5 clause-never-commits: a value is never less than, greater than or different from itself
        "#]],
    );
}

#[test]
fn spellings_of_other_languages_are_explained() {
    check(
        "p(X) :- X == 3 | true.\nq(X) :- X > 1.5 | true.\nr(X) :- 2 =:= X, 1.5 =:= X | true.",
        expect![[r#"
            1 unknown-guard: ==/2 is not a guard builtin [equal terms are written `X = Y`, equal integers `X =:= Y`, equal floats `X $=:= Y`]
            2 clause-never-commits: only integers can be compared and computed with [floats are compared by `$<`, `$=<`, `$>`, `$>=`, `$=:=` and `$=\=`]
            3 clause-never-commits: only integers can be compared and computed with [floats are compared by `$<`, `$=<`, `$>`, `$>=`, `$=:=` and `$=\=`]
        "#]],
    );
}

#[test]
fn a_clause_that_fits_while_one_before_it_waits_is_found() {
    check(
        "p(_,[],V) :- V = none.\np(K,[K=X|_],V) :- V = X.\np(K,[_|L],V) :- p(K,L,V).\n\
         q([stop|_]).\nq([_|S]) :- q(S).\n\
         r([],_).\nr([a|_],X) :- X > 1 | true.\nr([a|_],_).",
        expect![[r#"
            3 shadowed-clause: this clause is chosen whenever the ones before it are not chosen at once [write `otherwise.` before it, or give it a guard that excludes the others]
            5 shadowed-clause: this clause is chosen whenever the ones before it are not chosen at once [write `otherwise.` before it, or give it a guard that excludes the others]
            8 shadowed-clause: this clause is chosen whenever the ones before it are not chosen at once [write `otherwise.` before it, or give it a guard that excludes the others]
        "#]],
    );
}

/// Behind a separator, with tests of its own, or where the one before has nothing more to wait for.
#[test]
fn a_clause_that_fits_later_or_at_once_is_none_of_these() {
    check(
        "p([stop|_]).\notherwise.\np([_|S]) :- p(S).\n\
         q(X,a) :- X > 1 | true.\nq(X,b) :- X =< 1 | true.\n\
         r(X) :- integer(X), X > 1 | true.\nr(X) :- integer(X) | true.\n\
         s([stop|_]).\nalternatively.\ns([_|S]) :- s(S).\n\
         t([A|_],_) :- wait(A) | true.\nt(_,[B|_]) :- wait(B) | true.\n\
         u({_,_}).\nu(V) :- vector(V) | true.",
        expect![[""]],
    );
}

/// An equality waits as a pattern does, wherever it is written.
#[test]
fn a_clause_that_fits_while_an_equality_waits_is_found() {
    check(
        "count([],_,N) :- N = 0.\ncount([X|L],X,N) :- count(L,X,_), N = 1.\ncount([_|L],X,N) :- count(L,X,N).\n\
         find([X|_],Y,R) :- X = Y | R = yes.\nfind([_|L],Y,R) :- find(L,Y,R).\n\
         same(p(X),X,R) :- R = yes.\nsame(p(_),_,R) :- R = no.\n\
         pair({X,X},R) :- R = yes.\npair({_,_},R) :- R = no.\n\
         apart([X|_],Y,R) :- X \\= Y | R = yes.\napart([_|_],Y,R) :- wait(Y) | R = no.",
        expect![[r#"
            3 shadowed-clause: this clause is chosen whenever the ones before it are not chosen at once [write `otherwise.` before it, or give it a guard that excludes the others]
            5 shadowed-clause: this clause is chosen whenever the ones before it are not chosen at once [write `otherwise.` before it, or give it a guard that excludes the others]
            7 shadowed-clause: this clause is chosen whenever the ones before it are not chosen at once [write `otherwise.` before it, or give it a guard that excludes the others]
            9 shadowed-clause: this clause is chosen whenever the ones before it are not chosen at once [write `otherwise.` before it, or give it a guard that excludes the others]
            11 shadowed-clause: this clause is chosen whenever the ones before it are not chosen at once [write `otherwise.` before it, or give it a guard that excludes the others]
        "#]],
    );
}

/// Behind `otherwise`, with the opposite test, with both values there, and where another clause fits at the same time
/// but does not cover the earlier one.
#[test]
fn an_equality_that_nothing_overtakes_is_none_of_these() {
    check(
        "p([X|_],X).\notherwise.\np([_|_],_).\n\
         q([X|_],Y) :- X = Y | true.\nq([X|_],Y) :- X \\= Y | true.\n\
         r(X,Y) :- wait(X), wait(Y), X = Y | true.\nr(X,Y) :- wait(X), wait(Y) | true.\n\
         s([X|_],X,a).\ns([_|_],_,b).\n\
         t(X,Y) :- ( X = a, Y = b ; X = a ) | true.\n\
         u(X,Y) :- Y = X | v(Y).\nv(_).",
        expect![[""]],
    );
}

/// What fits only where an earlier clause fits, though its tests are others.
#[test]
fn clauses_that_are_more_special_than_one_before_are_never_chosen() {
    check(
        "p(t(C),R) :- C \\= x | R = C.\np(t(f(A,_)),R) :- R = A.\np(t(x),R) :- R = y.\n\
         q(X,R) :- integer(X) | R = X.\nq(3,R) :- R = 4.\nq(X,R) :- atom(X) | R = b.\n\
         r(X) :- X > 0 | true.\nr(0).\nr(5).\n\
         s(X,_) :- wait(X) | true.\notherwise.\ns([a|_],b).",
        expect![[r#"
            2 shadowed-clause: this clause is never chosen [put the clause with more conditions first]
            5 shadowed-clause: this clause is never chosen [put the clause with more conditions first]
            9 shadowed-clause: this clause is never chosen [put the clause with more conditions first]
            12 shadowed-clause: this clause is never chosen [put the clause with more conditions first]
        "#]],
    );
}

#[test]
fn clauses_that_are_never_chosen() {
    check(
        "p(a,_).\np(X,_) :- wait(X) | true.\np(a,_).\nq(_).\nq(a).\nr([],X) :- X = 1.\nr(_,X) :- X = 2.",
        expect![[r#"
            3 shadowed-clause: this clause is never chosen
            5 shadowed-clause: this clause is never chosen
            7 shadowed-clause: this clause is chosen whenever the ones before it are not chosen at once [write `otherwise.` before it, or give it a guard that excludes the others]
        "#]],
    );
}

#[test]
fn structures_in_guards_and_reserved_names() {
    check(
        "p(X) :- Y = f(X,_) | q(Y).\nq(_).\nadd(_,_,_).",
        expect![[r#"
            1 structure-in-guard: a guard cannot build a structure [build it in the body]
            3 reserved-name: add/3 is the name of a builtin, too [rename it if the program is to run elsewhere, too]
        "#]],
    );
}
