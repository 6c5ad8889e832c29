//! Text to IR.

use super::{CONDS, INT_OPS};
use crate::ir::{
    At, Block, BlockId, Column, Component, Constant, ConstantId, End, Entry, GoalCall, Op, Operand, Pattern,
    Place, Predicate, Program, Reg, Slot,
};
use num_bigint::BigInt;
use term::abi::{Cond, IntOp, Position, PredicateId};
use term::{Atom, AtomTable};

/// Constants nest at most so deep.
const NESTING_MAX: u32 = 1_000;

/// The program that a text describes, or what is wrong with it (`line 3: ...`).
pub fn parse(text: &str, atoms: &AtomTable) -> Result<Program, String> {
    let mut parser = Parser { text: text.as_bytes(), at: 0, atoms, depth: 0 };
    parser.program().map_err(|message| {
        let line = parser.text[..parser.at].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line}: {message}")
    })
}

struct Parser<'p> {
    text: &'p [u8],
    at: usize,
    atoms: &'p AtomTable,
    depth: u32,
}

type Parsed<T> = Result<T, String>;

impl<'p> Parser<'p> {
    fn space(&mut self) {
        while self.text.get(self.at).is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }
    fn peek(&mut self) -> u8 {
        self.space();
        self.text.get(self.at).copied().unwrap_or(0)
    }
    /// Consumes punctuation if it is next.
    fn takes(&mut self, wanted: &str) -> bool {
        self.space();
        let found = self.text[self.at..].starts_with(wanted.as_bytes());
        if found {
            self.at += wanted.len();
        }
        found
    }
    fn expect(&mut self, wanted: &str) -> Parsed<()> {
        if self.takes(wanted) { Ok(()) } else { Err(format!("expected `{wanted}`")) }
    }
    fn word(&mut self) -> &'p str {
        self.space();
        let start = self.at;
        while self.text.get(self.at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            self.at += 1;
        }
        std::str::from_utf8(&self.text[start..self.at]).expect("ASCII is UTF-8")
    }
    fn next_word(&mut self) -> &'p str {
        let at = self.at;
        let word = self.word();
        self.at = at;
        word
    }
    /// Consumes a word if it is next.
    fn takes_word(&mut self, wanted: &str) -> bool {
        let found = self.next_word() == wanted;
        if found {
            self.word();
        }
        found
    }
    fn expect_word(&mut self, wanted: &str) -> Parsed<()> {
        if self.takes_word(wanted) { Ok(()) } else { Err(format!("expected `{wanted}`")) }
    }
    fn number<T: std::str::FromStr>(&mut self) -> Parsed<T> {
        self.space();
        let start = self.at;
        if self.text.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        self.word();
        let text = std::str::from_utf8(&self.text[start..self.at]).expect("ASCII is UTF-8");
        text.parse().map_err(|_| format!("`{text}` is not a fitting number"))
    }
    fn prefixed(&mut self, prefix: char) -> Parsed<u32> {
        let word = self.word();
        let number = word.strip_prefix(prefix).and_then(|digits| digits.parse().ok());
        number.ok_or_else(|| format!("expected `{prefix}` and a number, found `{word}`"))
    }
    fn reg(&mut self) -> Parsed<Reg> {
        self.prefixed('r').map(Reg)
    }
    fn block(&mut self) -> Parsed<BlockId> {
        self.prefixed('b').map(BlockId)
    }
    fn bytes(&mut self, quote: &str) -> Parsed<Vec<u8>> {
        self.expect(quote)?;
        let mut out = Vec::new();
        loop {
            match self.text.get(self.at) {
                None => return Err("a quoted text does not end".into()),
                Some(byte) if *byte == quote.as_bytes()[0] => break,
                Some(b'\\') => {
                    let digits = self.text.get(self.at + 2..self.at + 4).unwrap_or_default();
                    let value = std::str::from_utf8(digits).ok().and_then(|d| u8::from_str_radix(d, 16).ok());
                    out.push(value.ok_or("expected \\xHH")?);
                    self.at += 4;
                }
                Some(byte) => {
                    out.push(*byte);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        Ok(out)
    }
    fn atom(&mut self) -> Parsed<Atom> {
        let text = self.bytes("'")?;
        Ok(self.atoms.intern(&text))
    }
    /// `(item, item)`.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.expect("(")?;
        let mut items = Vec::new();
        while !self.takes(")") {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }
    fn operand(&mut self) -> Parsed<Operand> {
        match self.peek() {
            b'\'' => self.atom().map(Operand::Atom),
            b'r' => self.reg().map(Operand::Reg),
            b'c' => self.constant_number().map(Operand::Constant),
            _ => self.number().map(Operand::Int),
        }
    }
    fn pair(&mut self) -> Parsed<(Operand, Operand)> {
        let a = self.operand()?;
        self.expect(",")?;
        Ok((a, self.operand()?))
    }
    fn constant(&mut self) -> Parsed<Constant> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return Err("the constant is nested too deeply".into());
        }
        let constant = self.constant_inner();
        self.depth -= 1;
        constant
    }
    fn constant_inner(&mut self) -> Parsed<Constant> {
        match self.peek() {
            b'\'' => return self.atom().map(Constant::Atom),
            b'"' => return Ok(Constant::String(self.bytes("\"")?.into())),
            b'-' | b'0'..=b'9' => return self.number().map(Constant::Int),
            _ => {}
        }
        Ok(match self.word() {
            "big" => Constant::BigInt(self.number::<BigInt>()?),
            "float" => {
                let bits = self.word();
                let bits = bits.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
                Constant::Float(f64::from_bits(bits.ok_or("expected the bits of a float")?))
            }
            "list" => {
                self.expect("(")?;
                let mut items = vec![self.constant()?];
                while self.takes(",") {
                    items.push(self.constant()?);
                }
                self.expect("|")?;
                let tail = self.constant()?;
                self.expect(")")?;
                Constant::List(items, Box::new(tail))
            }
            "struct" => {
                let name = self.atom()?;
                Constant::Struct(name, self.list(Self::constant)?)
            }
            "vector" => Constant::Vector(self.list(Self::constant)?),
            "table" => Constant::Table(self.list(Self::constant)?.into()),
            "predicate" => Constant::Predicate(PredicateId(self.number()?)),
            "module" => Constant::Module(self.atom()?),
            other => return Err(format!("`{other}` begins no constant")),
        })
    }
    fn program(&mut self) -> Parsed<Program> {
        self.expect_word("first_constant")?;
        let mut program = Program { first_constant: self.number()?, ..Program::default() };
        while self.takes_word("constant") {
            let number: usize = self.number()?;
            if number != program.first_constant as usize + program.constants.len() {
                return Err("constants are numbered in order".into());
            }
            program.constants.push(self.constant()?);
        }
        while self.takes_word("predicate") {
            program.predicates.push(self.predicate()?);
        }
        while self.takes_word("component") {
            program.components.push(self.component()?);
        }
        if self.peek() != 0 {
            return Err("expected `component`".into());
        }
        Ok(program)
    }
    fn predicate(&mut self) -> Parsed<Predicate> {
        let id = PredicateId(self.number()?);
        let module = self.atom()?;
        self.expect(":")?;
        let name = self.atom()?;
        self.expect("/")?;
        let arity = self.number()?;
        let file = String::from_utf8_lossy(&self.bytes("\"")?).into_owned();
        let line = self.number()?;
        let daemon = self.takes_word("daemon");
        let auxiliary = self.takes_word("auxiliary");
        let awaits = if self.takes_word("awaits") { self.number()? } else { 0 };
        let reads = if self.takes_word("reads") { self.number()? } else { 0 };
        Ok(Predicate { id, module, name, arity, file, line, daemon, auxiliary, awaits, reads })
    }
    fn component(&mut self) -> Parsed<Component> {
        let mut component = Component { entries: Vec::new(), registers: self.number()?, blocks: Vec::new() };
        while self.takes_word("entry") {
            let predicate = PredicateId(self.number()?);
            let parameters = self.list(Self::reg)?;
            component.entries.push(Entry { predicate, parameters, block: self.block()? });
        }
        while self.next_word().starts_with('b') {
            let label = self.block()?;
            if label.0 as usize != component.blocks.len() {
                return Err("blocks are numbered in order".into());
            }
            self.expect(":")?;
            component.blocks.push(self.block_body()?);
        }
        Ok(component)
    }
    fn block_body(&mut self) -> Parsed<Block> {
        let mut ops = Vec::new();
        loop {
            if let Some(op) = self.op()? {
                ops.push(op);
                continue;
            }
            return Ok(Block { ops, end: self.end()? });
        }
    }
    fn goal(&mut self) -> Parsed<GoalCall> {
        let predicate = PredicateId(self.number()?);
        Ok(GoalCall { predicate, arguments: self.list(Self::operand)? })
    }
    fn slot(&mut self) -> Parsed<Slot> {
        if self.takes_word("fresh") {
            return self.reg().map(Slot::Fresh);
        }
        self.operand().map(Slot::Value)
    }
    fn int_op(word: &str) -> Option<IntOp> {
        INT_OPS.iter().find(|entry| entry.1 == word).map(|entry| entry.0)
    }
    /// An operation, or `None` if an end is next.
    fn op(&mut self) -> Parsed<Option<Op>> {
        let word = self.next_word();
        if word.starts_with('r') && word.len() > 1 && word[1..].bytes().all(|byte| byte.is_ascii_digit()) {
            return self.assignment().map(Some);
        }
        let known = ["poll", "unify", "bind", "fill", "put", "settle", "builtin", "push", "pend"];
        if !known.contains(&word) {
            return Ok(None);
        }
        self.word();
        Ok(Some(match word {
            "poll" => {
                let goal = self.goal()?;
                self.expect_word("need")?;
                Op::Poll { goal, need: self.number()? }
            }
            "unify" => {
                let (a, b) = self.pair()?;
                Op::Unify { a, b, at: self.position()? }
            }
            "bind" => {
                let var = self.reg()?;
                self.expect(",")?;
                Op::BindFresh { var, value: self.operand()? }
            }
            "fill" => {
                let var = self.reg()?;
                self.expect(",")?;
                Op::Fill { var, value: self.operand()?, at: self.position()? }
            }
            "put" => {
                let slot = self.reg()?;
                self.expect(",")?;
                Op::Put { slot, value: self.operand()? }
            }
            "settle" => Op::Settle { var: self.reg()? },
            "builtin" => {
                let goal = self.goal()?;
                self.expect("->")?;
                let outputs = self.list(Self::reg)?;
                let at = self.position()?;
                Op::Builtin { predicate: goal.predicate, inputs: goal.arguments, outputs, at }
            }
            "push" => Op::Push { goal: self.goal()?, places: self.places()? },
            _ => Op::Pend { var: self.reg()? },
        }))
    }
    fn position(&mut self) -> Parsed<At> {
        if !self.takes_word("at") {
            return Ok(At::Line(Position::NONE));
        }
        if self.peek() == b'c' {
            let column = self.column()?;
            self.expect_word("below")?;
            return Ok(At::Row(column, self.number()?));
        }
        let predicate = PredicateId(self.number()?);
        self.expect_word("line")?;
        Ok(At::Line(Position::new(predicate, self.number()?)))
    }
    fn constant_number(&mut self) -> Parsed<ConstantId> {
        self.prefixed('c').map(ConstantId)
    }
    fn column(&mut self) -> Parsed<Column> {
        let table = self.constant_number()?;
        self.expect("[")?;
        let row = self.reg()?;
        self.expect(",")?;
        let index = self.number()?;
        self.expect("]")?;
        Ok(Column { table, row, index })
    }
    fn places(&mut self) -> Parsed<Vec<Place>> {
        let mut places = Vec::new();
        loop {
            if self.takes_word("priority") {
                places.push(Place::Priority(self.operand()?));
            } else if self.takes_word("lower") {
                places.push(Place::Lower(self.operand()?));
            } else if self.takes_word("node") {
                places.push(Place::Node(self.operand()?));
            } else {
                return Ok(places);
            }
        }
    }
    fn assignment(&mut self) -> Parsed<Op> {
        let dst = self.reg()?;
        self.expect(":=")?;
        let word = self.next_word();
        if let Some(op) = Self::int_op(word) {
            self.word();
            let (a, b) = self.pair()?;
            return Ok(Op::Arith { op, dst, a, b, at: self.position()? });
        }
        let known = ["car", "cdr", "arg", "cons", "struct", "var", "slot", "vector"];
        if !known.contains(&word) {
            let before = self.at;
            let src = self.operand()?;
            if !matches!(src, Operand::Constant(_)) || self.peek() != b'[' {
                return Ok(Op::Move { dst, src });
            }
            self.at = before;
            return Ok(Op::Column { dst, column: self.column()? });
        }
        self.word();
        Ok(match word {
            "car" => Op::Car { dst, src: self.reg()? },
            "cdr" => Op::Cdr { dst, src: self.reg()? },
            "arg" => Op::Arg { dst, src: self.reg()?, index: self.number()? },
            "cons" => {
                let slots = self.list(Self::slot)?;
                let [car, cdr] = slots[..] else { return Err("a cons has two slots".into()) };
                Op::Cons { dst, car, cdr }
            }
            "struct" => {
                let name = self.atom()?;
                Op::Struct { dst, name, args: self.list(Self::slot)? }
            }
            "var" => Op::Var { dst },
            "slot" => Op::Slot { dst },
            _ => Op::Vector { dst, elements: self.list(Self::operand)? },
        })
    }
    fn pattern(&mut self) -> Parsed<Pattern> {
        match self.peek() {
            b'\'' => {
                let atom = self.atom()?;
                return Ok(if self.takes("/") {
                    Pattern::Struct(atom, self.number()?)
                } else {
                    Pattern::Atom(atom)
                });
            }
            b'-' | b'0'..=b'9' => return self.number().map(Pattern::Int),
            _ => {}
        }
        Ok(match self.word() {
            "int" => Pattern::AnyInt,
            "atom" => Pattern::AnyAtom,
            "cons" => Pattern::Cons,
            "struct" => Pattern::AnyStruct,
            "object" if self.peek().is_ascii_digit() => Pattern::Object(self.number()?),
            "object" => Pattern::AnyObject,
            other => return Err(format!("`{other}` is no pattern")),
        })
    }
    fn exits(&mut self) -> Parsed<(BlockId, BlockId, BlockId, Reg)> {
        self.expect_word("yes")?;
        let yes = self.block()?;
        self.expect_word("no")?;
        let no = self.block()?;
        self.expect_word("unbound")?;
        let unbound = self.block()?;
        self.expect_word("wait")?;
        Ok((yes, no, unbound, self.reg()?))
    }
    fn end(&mut self) -> Parsed<End> {
        Ok(match self.word() {
            "match" => self.match_end()?,
            "compare" => {
                let word = self.word();
                let cond: Option<Cond> = CONDS.iter().find(|entry| entry.1 == word).map(|entry| entry.0);
                let cond = cond.ok_or_else(|| format!("`{word}` is no comparison"))?;
                let (a, b) = self.pair()?;
                let (yes, no, unbound, wait) = self.exits()?;
                End::Compare { cond, a, b, yes, no, unbound, wait }
            }
            "guard" if self.peek() == b'r' => {
                let dst = self.reg()?;
                self.expect(":=")?;
                let word = self.word();
                let op = Self::int_op(word).ok_or_else(|| format!("`{word}` is no operation"))?;
                let (a, b) = self.pair()?;
                let (yes, no, unbound, wait) = self.exits()?;
                End::GuardArith { op, dst, a, b, yes, no, unbound, wait }
            }
            "guard" => {
                let goal = self.goal()?;
                self.expect("->")?;
                let outputs = self.list(Self::reg)?;
                let (yes, no, unbound, wait) = self.exits()?;
                let (predicate, inputs) = (goal.predicate, goal.arguments);
                End::GuardCall { predicate, inputs, outputs, yes, no, unbound, wait }
            }
            "lookup" => {
                let next = self.reg()?;
                self.expect(":=")?;
                let table = self.constant_number()?;
                let (node, key) = self.pair()?;
                let Operand::Reg(key) = key else { return Err("a key is in a register".into()) };
                self.expect_word("yes")?;
                let yes = self.block()?;
                self.expect_word("no")?;
                let no = self.block()?;
                self.expect_word("unbound")?;
                End::Lookup { table, node, key, next, yes, no, unbound: self.block()? }
            }
            "try_bind" => {
                let var = self.reg()?;
                self.expect(",")?;
                let value = self.operand()?;
                self.expect_word("done")?;
                let done = self.block()?;
                self.expect_word("other")?;
                End::TryBind { var, value, done, other: self.block()? }
            }
            "goto" => End::Goto(self.block()?),
            "jump" => {
                let block = self.block()?;
                let moves = self.list(|parser| {
                    let dst = parser.reg()?;
                    parser.expect(":=")?;
                    Ok((dst, parser.operand()?))
                })?;
                End::Jump { block, moves }
            }
            "call" => End::Call(self.goal()?),
            "proceed" => End::Proceed,
            "suspend" => {
                let goal = self.goal()?;
                self.expect_word("on")?;
                End::Suspend { goal, on: self.list(Self::reg)? }
            }
            "suspend_or_fail" => End::SuspendOrFail { goal: self.goal()? },
            "fail" => End::Fail { goal: self.goal()? },
            other => return Err(format!("`{other}` is neither an operation nor an end")),
        })
    }
    fn match_end(&mut self) -> Parsed<End> {
        let reg = self.reg()?;
        self.expect("{")?;
        let mut cases = Vec::new();
        while !self.takes("}") {
            if !cases.is_empty() {
                self.expect(",")?;
            }
            let pattern = self.pattern()?;
            self.expect("->")?;
            cases.push((pattern, self.block()?));
        }
        self.expect_word("unbound")?;
        let unbound = self.block()?;
        self.expect_word("default")?;
        Ok(End::Match { reg, cases, unbound, default: self.block()? })
    }
}
