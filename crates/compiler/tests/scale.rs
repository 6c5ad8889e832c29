//! Time and size stay linear (K2): big generated programs.

mod common;

use compiler::ir::{Block, End};
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
fn differences() {
    grows_linearly(|n| format!("p(X,R) :- X \\= a{n} | R = r{n}."));
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

/// On the way through such a head as many things are known as it has variables: all of them noted for each of its tests
/// would be gigabytes.
#[test]
fn heads_of_many_variables() {
    type Make = fn(usize) -> String;
    let head = |count: usize, part: Make, guard: Make| {
        let parts: Vec<String> = (0..count).map(part).collect();
        let guards: Vec<String> = (0..count).map(guard).collect();
        format!(
            ":- module main.\np([{}],R) :- {} | R = X{}.\np(_,R) :- wait(R) | true.\n",
            parts.join(","),
            guards.join(","),
            count - 1
        )
    };
    let variable = |n: usize| format!("X{n}");
    let kinds: [(usize, Make, Make); 3] = [
        (16_000, variable, |_| "true".into()),
        (8_000, |n| format!("f(X{n},a)"), |_| "true".into()),
        (1_000, variable, |n| format!("X{n} < {n}")),
    ];
    for (count, part, guard) in kinds {
        let (few, many) = (size(&head(count / 10, part, guard)), size(&head(count, part, guard)));
        assert!(many < 12 * few, "{few}, then {many}");
    }
}

/// Where many values are known, small and big integers have no versions of their own: these would be compared, all that
/// is known of each, at each test.
#[test]
fn heads_with_a_comparison_of_each_variable() {
    let comparisons = |count: usize| {
        let of = |each: fn(usize) -> String| (0..count).map(each).collect::<Vec<_>>().join(",");
        let (variables, guards) = (of(|n| format!("X{n}")), of(|n| format!("X{n} < {n}")));
        let blocks = blocks(&format!(":- module main.\np([{variables}],R) :- {guards} | R = yes.\n"));
        blocks.iter().filter(|block| matches!(block.end, End::Compare { .. })).count()
    };
    assert_eq!((comparisons(4), comparisons(3_000)), (8, 3_000));
}

/// What a name may have meant is looked for among all names, but not for each of thousands.
#[test]
fn names_that_mean_nothing() {
    let compiled = common::compile(&clauses(30_000, |n| format!("p{n} :- q{n}x(1), nowhere{n}:p.")));
    assert_eq!(compiled.diagnostics.len(), 60_000);
    let helped = compiled.diagnostics.iter().filter_map(|diagnostic| diagnostic.help.as_ref());
    assert!(helped.filter(|help| help.starts_with("did you mean")).count() < 30_000);
    assert!(compiled.program.components.is_empty());
}

/// Words in tables: the constants that code looks in.
fn table_words(text: &str) -> usize {
    let words = |constant: &compiler::ir::Constant| match constant {
        compiler::ir::Constant::Table(words) => words.len(),
        _ => 0,
    };
    common::compile(text).program.constants.iter().map(words).sum()
}

/// Code of a predicate whose clauses differ in constants does not grow with them, and the table grows as they do.
#[test]
fn clauses_that_differ_in_constants_are_a_table() {
    let kinds: [fn(usize) -> String; 6] = [
        |n| format!("p({n},R) :- R = r{n}."),
        |n| format!("p({n},r{n})."),
        |n| format!("p(k{n},R) :- q({n},\"text {n}\",R1), R := R1 * {n}.\n"),
        |n| format!("p(f({},g({n})),{n},R) :- R = [{n}|R1], q(R1,[a,{n}],R1).", n % 17),
        |n| format!("p({},X,{n},R) :- X > 3 | R = f({n},X).", n / 2),
        |n| if n % 2 == 0 { format!("p({n},R) :- R = r{n}.") } else { format!("p({n},R) :- q({n},R,b).") },
    ];
    for kind in kinds {
        let text = |count| clauses(count, kind) + "q(_,_,_).\n";
        let (few, many) = (text(100), text(3_000));
        assert_eq!(size(&few), size(&many), "{few}");
        let (small, large) = (table_words(&few), table_words(&many));
        assert!(30 * small / 2 < large && large < 2 * 30 * small, "{small}, then {large}: {few}");
    }
}

#[test]
fn tables_as_text_are_read_back() {
    let text = clauses(40, |n| format!("p({n},a{},R) :- R = r{n},\n  q(R).", n % 3)) + "q(_).\n";
    let compiled = common::compile(&text);
    let printed = compiler::text::print(&compiled.program, &compiled.atoms);
    assert!(printed.contains("lookup") && printed.contains(" below "));
    let read = compiler::text::parse(&printed, &compiled.atoms).expect("it was printed just now");
    assert_eq!(compiler::text::print(&read, &compiled.atoms), printed);
    // Rows and nodes are found in the table that they are looked for in.
    for (right, wrong) in [("0, r0 yes", "1, r0 yes"), ("[r", "[r1"), ("table(", "vector(")] {
        let broken = compiler::text::parse(&printed.replacen(right, wrong, 1), &compiled.atoms);
        let problems =
            broken.map_or_else(|problem| vec![problem], |program| compiler::verify::verify(&program));
        assert_ne!(problems, [""; 0], "{wrong}");
    }
}
