//! IR to text.

use super::{CONDS, INT_OPS};
use crate::ir::{
    At, Block, BlockId, Column, Component, Constant, End, GoalCall, Op, Operand, Pattern, Place, Program,
    Reg, Slot,
};
use std::fmt::Write;
use term::abi::{Cond, IntOp, Position};
use term::{Atom, AtomTable};

/// The text of a program.
pub fn print(program: &Program, atoms: &AtomTable) -> String {
    let mut printer = Printer { atoms, out: String::new() };
    printer.line(format_args!("first_constant {}", program.first_constant));
    for (index, constant) in program.constants.iter().enumerate() {
        let text = printer.constant(constant);
        printer.line(format_args!("constant {} {text}", program.first_constant as usize + index));
    }
    for p in &program.predicates {
        let (module, name) = (printer.atom(p.module), printer.atom(p.name));
        let file = bytes(p.file.as_bytes(), '"');
        let daemon = if p.daemon { " daemon" } else { "" };
        let auxiliary = if p.auxiliary { " auxiliary" } else { "" };
        let awaits = if p.awaits == 0 { String::new() } else { format!(" awaits {}", p.awaits) };
        let reads = if p.reads == 0 { String::new() } else { format!(" reads {}", p.reads) };
        let (id, arity, line) = (p.id.0, p.arity, p.line);
        printer.line(format_args!(
            "predicate {id} {module}:{name}/{arity} {file} {line}{daemon}{auxiliary}{awaits}{reads}"
        ));
    }
    for component in &program.components {
        printer.component(component);
    }
    printer.out
}

/// The text of one operation.
pub fn print_op(op: &Op, atoms: &AtomTable) -> String {
    Printer { atoms, out: String::new() }.op(op)
}

pub(super) struct Printer<'p> {
    pub(super) atoms: &'p AtomTable,
    pub(super) out: String,
}

/// Bytes between quotes; what is not plain ASCII is escaped as `\xHH`.
fn bytes(text: &[u8], quote: char) -> String {
    let mut out = String::from(quote);
    for &byte in text {
        if (b' '..=b'~').contains(&byte) && byte != quote as u8 && byte != b'\\' {
            out.push(byte as char);
        } else {
            write!(out, "\\x{byte:02x}").expect("writing to a string cannot fail");
        }
    }
    out.push(quote);
    out
}

fn reg(register: Reg) -> String {
    format!("r{}", register.0)
}

fn block(id: BlockId) -> String {
    format!("b{}", id.0)
}

fn list<T>(items: &[T], show: impl FnMut(&T) -> String) -> String {
    items.iter().map(show).collect::<Vec<_>>().join(", ")
}

fn place(at: At) -> String {
    match at {
        At::Line(at) => position(at),
        At::Row(at, lines) => format!(" at {} below {lines}", column(at)),
    }
}

fn column(column: Column) -> String {
    format!("c{}[{}, {}]", column.table.0, reg(column.row), column.index)
}

/// Nothing if it is not known.
fn position(at: Position) -> String {
    at.predicate().map_or_else(String::new, |predicate| format!(" at {} line {}", predicate.0, at.line()))
}

fn int_op(op: IntOp) -> &'static str {
    INT_OPS.iter().find(|entry| entry.0 == op).map_or("?", |entry| entry.1)
}

fn cond(cond: Cond) -> &'static str {
    CONDS.iter().find(|entry| entry.0 == cond).map_or("?", |entry| entry.1)
}

impl Printer<'_> {
    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        writeln!(self.out, "{text}").expect("writing to a string cannot fail");
    }
    fn atom(&self, atom: Atom) -> String {
        bytes(self.atoms.text(atom), '\'')
    }
    fn constant(&self, constant: &Constant) -> String {
        let all = |items: &[Constant]| list(items, |item| self.constant(item));
        match constant {
            Constant::Int(value) => value.to_string(),
            Constant::BigInt(value) => format!("big {value}"),
            Constant::Float(value) => format!("float {:#x}", value.to_bits()),
            Constant::Atom(atom) => self.atom(*atom),
            Constant::String(text) => bytes(text, '"'),
            Constant::List(items, tail) => format!("list({} | {})", all(items), self.constant(tail)),
            Constant::Struct(name, arguments) => format!("struct {}({})", self.atom(*name), all(arguments)),
            Constant::Vector(elements) => format!("vector({})", all(elements)),
            Constant::Predicate(id) => format!("predicate {}", id.0),
            Constant::Table(words) => format!("table({})", all(words)),
            Constant::Module(name) => format!("module {}", self.atom(*name)),
        }
    }
    fn component(&mut self, component: &Component) {
        self.line(format_args!("component {}", component.registers));
        for entry in &component.entries {
            let parameters = list(&entry.parameters, |r| reg(*r));
            self.line(format_args!("entry {} ({parameters}) b{}", entry.predicate.0, entry.block.0));
        }
        for (index, Block { ops, end }) in component.blocks.iter().enumerate() {
            self.line(format_args!("b{index}:"));
            for op in ops {
                let text = self.op(op);
                self.line(format_args!("  {text}"));
            }
            let text = self.end(end);
            self.line(format_args!("  {text}"));
        }
    }
    fn operand(&self, operand: &Operand) -> String {
        match operand {
            Operand::Reg(register) => reg(*register),
            Operand::Int(value) => value.to_string(),
            Operand::Atom(atom) => self.atom(*atom),
            Operand::Constant(id) => format!("c{}", id.0),
        }
    }
    fn operands(&self, operands: &[Operand]) -> String {
        list(operands, |operand| self.operand(operand))
    }
    fn slot(&self, slot: &Slot) -> String {
        match slot {
            Slot::Value(operand) => self.operand(operand),
            Slot::Fresh(register) => format!("fresh {}", reg(*register)),
        }
    }
    fn goal(&self, goal: &GoalCall) -> String {
        format!("{}({})", goal.predicate.0, self.operands(&goal.arguments))
    }
    pub(super) fn op(&self, op: &Op) -> String {
        let set = |dst: &Reg, value: String| format!("{} := {value}", reg(*dst));
        match op {
            Op::Poll { goal, need } => format!("poll {} need {need}", self.goal(goal)),
            Op::Move { dst, src } => set(dst, self.operand(src)),
            Op::Car { dst, src } => set(dst, format!("car {}", reg(*src))),
            Op::Cdr { dst, src } => set(dst, format!("cdr {}", reg(*src))),
            Op::Arg { dst, src, index } => set(dst, format!("arg {} {index}", reg(*src))),
            Op::Column { dst, column: from } => set(dst, column(*from)),
            Op::Cons { dst, car, cdr } => set(dst, format!("cons({}, {})", self.slot(car), self.slot(cdr))),
            Op::Struct { dst, name, args } => {
                set(dst, format!("struct {}({})", self.atom(*name), list(args, |slot| self.slot(slot))))
            }
            Op::Var { dst } => set(dst, "var".into()),
            Op::Slot { dst } => set(dst, "slot".into()),
            Op::Vector { dst, elements } => set(dst, format!("vector({})", self.operands(elements))),
            Op::Unify { a, b, at } => {
                format!("unify {}, {}{}", self.operand(a), self.operand(b), place(*at))
            }
            Op::BindFresh { var, value } => format!("bind {}, {}", reg(*var), self.operand(value)),
            Op::Fill { var, value, at } => {
                format!("fill {}, {}{}", reg(*var), self.operand(value), place(*at))
            }
            Op::Put { slot, value } => format!("put {}, {}", reg(*slot), self.operand(value)),
            Op::Settle { var } => format!("settle {}", reg(*var)),
            Op::Arith { op, dst, a, b, at } => {
                let (a, b) = (self.operand(a), self.operand(b));
                set(dst, format!("{} {a}, {b}{}", int_op(*op), place(*at)))
            }
            Op::Builtin { predicate, inputs, outputs, at } => {
                let (inputs, outputs) = (self.operands(inputs), list(outputs, |r| reg(*r)));
                format!("builtin {}({inputs}) -> ({outputs}){}", predicate.0, place(*at))
            }
            Op::Push { goal, places } => {
                let mut text = format!("push {}", self.goal(goal));
                for place in places {
                    let (word, operand) = match place {
                        Place::Priority(operand) => ("priority", operand),
                        Place::Lower(operand) => ("lower", operand),
                        Place::Node(operand) => ("node", operand),
                    };
                    text.push_str(&format!(" {word} {}", self.operand(operand)));
                }
                text
            }
            Op::Pend { var } => format!("pend {}", reg(*var)),
        }
    }
    pub(super) fn pattern(&self, pattern: &Pattern) -> String {
        match pattern {
            Pattern::AnyInt => "int".into(),
            Pattern::Int(value) => value.to_string(),
            Pattern::AnyAtom => "atom".into(),
            Pattern::Atom(atom) => self.atom(*atom),
            Pattern::Cons => "cons".into(),
            Pattern::AnyStruct => "struct".into(),
            Pattern::Struct(name, arity) => format!("{}/{arity}", self.atom(*name)),
            Pattern::AnyObject => "object".into(),
            Pattern::Object(class) => format!("object {class}"),
        }
    }
    fn exits(yes: &BlockId, no: &BlockId, unbound: &BlockId, wait: &Reg) -> String {
        format!("yes {} no {} unbound {} wait {}", block(*yes), block(*no), block(*unbound), reg(*wait))
    }
    pub(super) fn end(&self, end: &End) -> String {
        match end {
            End::Match { reg: register, cases, unbound, default } => {
                let cases =
                    list(cases, |(pattern, to)| format!("{} -> {}", self.pattern(pattern), block(*to)));
                let (unbound, default) = (block(*unbound), block(*default));
                format!("match {} {{ {cases} }} unbound {unbound} default {default}", reg(*register))
            }
            End::Compare { cond: c, a, b, yes, no, unbound, wait } => {
                let exits = Self::exits(yes, no, unbound, wait);
                format!("compare {} {}, {} {exits}", cond(*c), self.operand(a), self.operand(b))
            }
            End::GuardArith { op, dst, a, b, yes, no, unbound, wait } => {
                let exits = Self::exits(yes, no, unbound, wait);
                let (a, b) = (self.operand(a), self.operand(b));
                format!("guard {} := {} {a}, {b} {exits}", reg(*dst), int_op(*op))
            }
            End::GuardCall { predicate, inputs, outputs, yes, no, unbound, wait } => {
                let exits = Self::exits(yes, no, unbound, wait);
                let outputs = list(outputs, |r| reg(*r));
                format!("guard {}({}) -> ({outputs}) {exits}", predicate.0, self.operands(inputs))
            }
            End::Lookup { table, node, key, next, yes, no, unbound } => {
                let (node, key) = (self.operand(node), reg(*key));
                let found = format!("{} := c{} {node}, {key}", reg(*next), table.0);
                format!("lookup {found} yes {} no {} unbound {}", block(*yes), block(*no), block(*unbound))
            }
            End::TryBind { var, value, done, other } => {
                let (var, value) = (reg(*var), self.operand(value));
                format!("try_bind {var}, {value} done {} other {}", block(*done), block(*other))
            }
            End::Goto(to) => format!("goto {}", block(*to)),
            End::Jump { block: to, moves } => {
                let moves = list(moves, |(dst, src)| format!("{} := {}", reg(*dst), self.operand(src)));
                format!("jump {} ({moves})", block(*to))
            }
            End::Call(goal) => format!("call {}", self.goal(goal)),
            End::Proceed => "proceed".into(),
            End::Suspend { goal, on } => {
                format!("suspend {} on ({})", self.goal(goal), list(on, |r| reg(*r)))
            }
            End::SuspendOrFail { goal } => format!("suspend_or_fail {}", self.goal(goal)),
            End::Fail { goal } => format!("fail {}", self.goal(goal)),
        }
    }
}
