//! Decision trees as indented text, for people. A block that several paths share is shown where it is first reached.

use super::print::Printer;
use crate::ir::{BlockId, Component, End, Program};
use rustc_hash::FxHashSet;
use std::fmt::Write;
use term::AtomTable;

/// The decision trees of all predicates.
pub fn dump_tree(program: &Program, atoms: &AtomTable) -> String {
    let printer = Printer { atoms, out: String::new() };
    let mut out = String::new();
    for component in &program.components {
        for entry in &component.entries {
            let predicate = program.predicates.iter().find(|p| p.id == entry.predicate);
            let name = predicate.map_or(String::new(), |p| {
                format!("{}:{}/{}", atoms.name(p.module), atoms.name(p.name), p.arity)
            });
            let parameters: Vec<String> = entry.parameters.iter().map(|r| format!("r{}", r.0)).collect();
            line(&mut out, 0, format_args!("{name} ({})", parameters.join(", ")));
            tree(component, entry.block, &printer, &mut out);
        }
    }
    out
}

fn line(out: &mut String, depth: usize, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{:1$}{text}", "", 2 * depth).expect("writing to a string cannot fail");
}

/// One predicate, in depth first order with an explicit stack: trees of big predicates are deep.
fn tree(component: &Component, entry: BlockId, printer: &Printer<'_>, out: &mut String) {
    let mut seen = FxHashSet::default();
    let mut work = vec![(1, String::new(), entry)];
    while let Some((depth, label, block)) = work.pop() {
        if !seen.insert(block) {
            line(out, depth, format_args!("{label}b{}, see above", block.0));
            continue;
        }
        line(out, depth, format_args!("{label}b{}", block.0));
        let content = &component.blocks[block.0 as usize];
        for op in &content.ops {
            line(out, depth + 1, format_args!("{}", printer.op(op)));
        }
        let (question, mut branches) = question(&content.end, printer);
        line(out, depth + 1, format_args!("{question}"));
        branches.reverse();
        work.extend(branches.into_iter().map(|(label, block)| (depth + 2, label, block)));
    }
}

/// What an end asks, and where each answer goes.
fn question(end: &End, printer: &Printer<'_>) -> (String, Vec<(String, BlockId)>) {
    let three = |yes: BlockId, no: BlockId, unbound: BlockId| {
        let mut branches = vec![("yes: ".to_string(), yes), ("no: ".to_string(), no)];
        if unbound != no {
            branches.push(("unbound: ".to_string(), unbound));
        }
        branches
    };
    let text = printer.end(end);
    let short = text.split(" yes ").next().unwrap_or(&text).to_string();
    match end {
        End::Match { reg, cases, unbound, default } => {
            let mut branches: Vec<(String, BlockId)> =
                cases.iter().map(|(pattern, to)| (format!("{}: ", printer.pattern(pattern)), *to)).collect();
            branches.push(("default: ".into(), *default));
            if unbound != default {
                branches.push(("unbound: ".into(), *unbound));
            }
            (format!("match r{}", reg.0), branches)
        }
        End::Compare { yes, no, unbound, .. }
        | End::GuardArith { yes, no, unbound, .. }
        | End::GuardCall { yes, no, unbound, .. }
        | End::Lookup { yes, no, unbound, .. } => (short, three(*yes, *no, *unbound)),
        End::TryBind { done, other, .. } => {
            let short = text.split(" done ").next().unwrap_or(&text).to_string();
            (short, vec![("done: ".into(), *done), ("other: ".into(), *other)])
        }
        End::Goto(_)
        | End::Jump { .. }
        | End::Call(_)
        | End::Proceed
        | End::Suspend { .. }
        | End::SuspendOrFail { .. }
        | End::Fail { .. } => (text, Vec::new()),
    }
}
