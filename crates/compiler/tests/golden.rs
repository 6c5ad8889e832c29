//! IR of small programs, as text: `tests/golden/NAME.kl1` compiles to `NAME.ir`. `UPDATE_EXPECT=1` writes them anew.

mod common;

use std::path::Path;

#[test]
fn programs_compile_to_their_golden_text() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "kl1"));
    names.sort();
    assert!(!names.is_empty());
    for path in names {
        let text = std::fs::read_to_string(&path).unwrap();
        let printed = common::ir(&text);
        expect_test::expect_file![path.with_extension("ir")].assert_eq(&printed);
    }
}

#[test]
fn text_form_round_trips() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "ir") {
            let text = std::fs::read_to_string(&path).unwrap();
            let atoms = term::AtomTable::new();
            let program = compiler::text::parse(&text, &atoms).unwrap();
            assert_eq!(compiler::text::print(&program, &atoms), text, "{}", path.display());
        }
    }
}

#[test]
fn a_structure_of_a_list_that_the_text_gives_is_a_unification() {
    let ir = |goal: &str| {
        common::ir(&format!(":- module m.\np(A,B,C,T) :- integer(A) | {goal}, q(T,A,B,C).\nq(_,_,_,_)."))
    };
    for (built, unified) in [
        ("functor_table:(T =.. [f,A,B|[]])", "T = f(A,B)"),
        ("functor_table:(T =.. [f,A,g(B,C)])", "T = f(A,g(B,C))"),
        ("functor_table:(T =.. ['.',A,B])", "T = [A|B]"),
        ("functor_table:(T =.. [f])", "T = f"),
        ("functor_table:(T =.. [A])", "T = A"),
        ("functor_table:(f(B,C) =.. [f,A,A])", "f(B,C) = f(A,A)"),
    ] {
        assert_eq!(ir(built), ir(unified), "{built}");
    }
    for other in ["[A,B]", "[f,A|B]", "A", "[f(A),B]", "[]"] {
        let ir = ir(&format!("functor_table:(T =.. {other})"));
        assert!(ir.contains("builtin 20("), "{other}: {ir}");
    }
}

#[test]
fn objects_whose_class_the_text_gives_are_made_by_that_class() {
    let ir =
        |goal: &str| common::ir(&format!(":- module m.\np(A,B,T) :- true | {goal}, q(T,A,B).\nq(_,_,_)."));
    for (new, made) in
        [("generic:new(vector,T,A)", "new_vector(T,A)"), ("generic:new(string,T,A,8)", "new_string(T,A,8)")]
    {
        assert_eq!(ir(new), ir(made), "{new}");
    }
    for (new, builtin) in [
        ("generic:new(B,T,A)", 21),
        ("generic:new(list,T,A)", 21),
        ("generic:new(string,T,A,16)", 22),
        ("generic:new(string,T,A,B)", 22),
    ] {
        let ir = ir(new);
        assert!(ir.contains(&format!("builtin {builtin}(")), "{new}: {ir}");
    }
}

/// I6 to I8 of `compiler::ir`.
#[test]
fn slots_that_are_used_wrongly_are_found() {
    let text = include_str!("golden/slots.ir");
    let problems = |text: &str| {
        let program = compiler::text::parse(text, &term::AtomTable::new()).expect("the text is right");
        compiler::verify::verify(&program)
    };
    assert_eq!(problems(text), [""; 0]);
    for (right, wrong) in [
        // Two goals fill it, none does, or one that does not take it there.
        ("push 101(r5, r6, r1)\n  push 100(r4, r6)", "push 101(r5, r6, r1)\n  push 100(r4, r5)"),
        ("push 101(r5, r6, r1)", "push 101(r5, r5, r1)"),
        ("push 100(r4, r6)", "push 100(r6, r4)"),
        // The goal that fills it lies below the one that reads it.
        ("push 101(r5, r6, r1)\n  push 100(r4, r6)", "push 100(r4, r6)\n  push 101(r5, r6, r1)"),
        // Something else looks at the stack, or at the slot.
        ("push 101(r5, r6, r1)\n", "push 101(r5, r6, r1)\n  builtin 1(r4) -> (r7)\n"),
        ("push 101(r5, r6, r1)\n", "push 101(r5, r6, r1)\n  r7 := cons(r5, r5)\n"),
        ("push 101(r5, r6, r1)", "push 101(r5, r6, r1) priority 3"),
        // It may not be filled, or be filled twice, or is unified as if it were a variable.
        ("  fill r1, r0 at 100 line 2\n", ""),
        ("  fill r1, r0 at 100 line 2\n", "  fill r1, r0\n  fill r1, r0\n"),
        ("  fill r1, r0 at 100 line 2\n", "  unify r1, r0\n"),
        // The goal waits with it.
        ("  settle r1\n  suspend", "  suspend"),
        // A variable comes to where a slot is certain.
        ("  r5 := slot\n  r6 := arg", "  r5 := var\n  r6 := arg"),
    ] {
        assert!(text.contains(right), "{right}");
        assert_ne!(problems(&text.replacen(right, wrong, 1)), [""; 0], "{wrong}");
    }
}
