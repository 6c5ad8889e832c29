//! Random programs: compiling never panics, the verifier accepts the code, and its text form round-trips.

mod common;

use arbtest::arbitrary::{Result, Unstructured};

const VARIABLES: [&str; 6] = ["A", "B", "C", "D", "E", "_"];

fn pick<'t>(u: &mut Unstructured<'_>, from: &[&'t str]) -> Result<&'t str> {
    u.choose(from).copied()
}

fn variable(u: &mut Unstructured<'_>) -> Result<String> {
    pick(u, &VARIABLES).map(Into::into)
}

fn term(u: &mut Unstructured<'_>, depth: u32) -> Result<String> {
    let simple = depth == 0 || u.ratio(1, 2)?;
    if simple {
        return match u.int_in_range(0..=9)? {
            0..=4 => variable(u),
            5 => pick(u, &["0", "1", "-3", "99999999999999999999"]).map(Into::into),
            6..=7 => pick(u, &["a", "b", "[]"]).map(Into::into),
            8 => Ok("\"s\"".into()),
            _ => Ok("1.5".into()),
        };
    }
    let (a, b) = (term(u, depth - 1)?, term(u, depth - 1)?);
    Ok(match u.int_in_range(0..=5)? {
        0 | 1 => format!("[{a}|{b}]"),
        2 => format!("[{a},{b}]"),
        3 => format!("f({a},{b})"),
        4 => format!("g({a})"),
        _ => format!("{{{a},{b}}}"),
    })
}

fn expression(u: &mut Unstructured<'_>, depth: u32) -> Result<String> {
    if depth == 0 || u.ratio(1, 2)? {
        return if u.ratio(2, 3)? { variable(u) } else { pick(u, &["0", "1", "7", "-2"]).map(Into::into) };
    }
    let (a, b) = (expression(u, depth - 1)?, expression(u, depth - 1)?);
    let op = pick(u, &["+", "-", "*", "/", "mod", "/\\", ">>"])?;
    Ok(format!("(({a}) {op} ({b}))"))
}

fn guard(u: &mut Unstructured<'_>) -> Result<String> {
    Ok(match u.int_in_range(0..=7)? {
        0..=2 => {
            let (a, b) = (expression(u, 1)?, expression(u, 1)?);
            format!("{a} {} {b}", pick(u, &["<", ">", "=<", ">=", "=:=", "=\\="])?)
        }
        3 => format!(
            "{}({})",
            pick(u, &["wait", "integer", "atom", "list", "atomic", "vector"])?,
            variable(u)?
        ),
        4 => format!("{} = {}", variable(u)?, term(u, 1)?),
        5 => format!("{} := {}", variable(u)?, expression(u, 2)?),
        6 => format!("{} \\= {}", variable(u)?, term(u, 0)?),
        _ => format!("vector_element({},{},{})", variable(u)?, expression(u, 0)?, term(u, 1)?),
    })
}

fn goal(u: &mut Unstructured<'_>) -> Result<String> {
    Ok(match u.int_in_range(0..=9)? {
        0..=3 => format!("{} = {}", variable(u)?, term(u, 2)?),
        4 => format!("{} := {}", variable(u)?, expression(u, 2)?),
        5 => format!("add({},{},{})", term(u, 0)?, term(u, 0)?, term(u, 0)?),
        6 => {
            let (v, i, old, new, w) = (variable(u)?, variable(u)?, variable(u)?, variable(u)?, variable(u)?);
            format!("set_vector_element({v},{i},{old},{new},{w})")
        }
        7 => {
            let place = pick(u, &["", "@lower_priority", "@priority(A)", "@node(B)"])?;
            format!("q({},{}){place}", term(u, 1)?, term(u, 1)?)
        }
        _ => format!("p({},{},{})", term(u, 1)?, term(u, 1)?, term(u, 1)?),
    })
}

fn clause(u: &mut Unstructured<'_>, name: &str, arity: usize) -> Result<String> {
    let mut text = String::new();
    match u.int_in_range(0..=11)? {
        0 => text.push_str("otherwise.\n"),
        1 => text.push_str("alternatively.\n"),
        _ => {}
    }
    let arguments = (0..arity).map(|_| term(u, 2)).collect::<Result<Vec<_>>>()?;
    let guards = (0..u.int_in_range(0..=3)?).map(|_| guard(u)).collect::<Result<Vec<_>>>()?;
    let goals = (0..u.int_in_range(0..=4)?).map(|_| goal(u)).collect::<Result<Vec<_>>>()?;
    let or_true = |list: Vec<String>| if list.is_empty() { "true".into() } else { list.join(", ") };
    text.push_str(&format!("{name}({}) :- {} | {}.\n", arguments.join(","), or_true(guards), or_true(goals)));
    Ok(text)
}

fn program(u: &mut Unstructured<'_>) -> Result<String> {
    let mut text = String::from(":- module main.\n");
    for (name, arity) in [("p", 3), ("q", 2)] {
        for _ in 0..u.int_in_range(1..=7)? {
            text.push_str(&clause(u, name, arity)?);
        }
    }
    Ok(text)
}

#[test]
fn random_programs_compile_to_code_that_verifies() {
    let mut compiled_well = 0;
    arbtest::arbtest(|u| {
        let text = program(u)?;
        let compiled = common::compile(&text);
        let problems = compiler::verify::verify(&compiled.program);
        let printed = compiler::text::print(&compiled.program, &compiled.atoms);
        assert!(problems.is_empty(), "{problems:#?}\n{text}\n{printed}");
        let again = compiler::text::parse(&printed, &compiled.atoms).expect("printed text parses");
        assert_eq!(compiler::text::print(&again, &compiled.atoms), printed);
        compiled_well += usize::from(!compiled.program.predicates.is_empty());
        Ok(())
    })
    .budget_ms(4_000);
    assert!(compiled_well > 0, "no random program was right");
}
