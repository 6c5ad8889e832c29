//! Integer arithmetic and comparison on tagged words.
//!
//! INT has tag 0, so `a + b`, `a - b`, `a < b`, `a /\ b` are what they are for the numbers. What is not a small
//! integer, or does not fit, is the thunk's (`x86::shortcuts`), which follows references first. In guards there are
//! none: operands were matched before.

use crate::flow::Exits;
use crate::helpers::{FIRST_OPERAND, Helper, operand};
use crate::lower::{Kind, Lower};
use crate::range::Range;
use crate::slots::Bound;
use compiler::ir::{At, Op, Operand, Reg};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::I32, types::I64};
use term::abi::{Cond, IntOp};
use term::word::{INT_MAX, INT_MIN, TAG_BITS, Tag};

/// Two operands that start as small integers on the hot path.
pub(crate) struct Integers {
    pub(crate) a: Value,
    pub(crate) b: Value,
    /// Where the operands are not both small integers, or the result is none.
    pub(crate) slow: Block,
}

impl Lower<'_, '_> {
    /// Whether an operand may be a small integer, or a reference to one.
    fn may_be_small(&self, operand: Operand) -> bool {
        !matches!(self.kind(operand), Some(Kind::Atom | Kind::Pointer))
    }
    pub(crate) fn is_small(&self, operand: Operand) -> bool {
        matches!(self.kind(operand), Some(Kind::Int(_)))
    }

    /// Begins an operation: in the current block both values are integers; all else goes to `slow`. `None`: they never
    /// are, and all goes there.
    fn integers(&mut self, a: Operand, b: Operand, slow: Block) -> Option<Integers> {
        let (x, y) = (self.operand(a), self.operand(b));
        if !self.may_be_small(a) || !self.may_be_small(b) {
            return None;
        }
        let unknown = match (self.is_small(a), self.is_small(b)) {
            (true, true) => None,
            (false, true) => Some(x),
            (true, false) => Some(y),
            (false, false) => Some(self.b.ins().bor(x, y)),
        };
        if let Some(word) = unknown {
            let differs = self.tag_differs(word, Tag::Int);
            self.unless(differs, slow);
        }
        Some(Integers { a: x, b: y, slow })
    }

    /// The operand as a small integer; references are followed, all else goes to `slow`.
    pub(crate) fn integer(&mut self, operand: Operand, slow: Block) -> Value {
        let value = self.operand(operand);
        match operand {
            Operand::Reg(reg) if !self.is_small(operand) => self.tagged(reg, Tag::Int, slow),
            Operand::Atom(_) | Operand::Constant(_) => self.never(slow),
            _ => value,
        }
    }

    /// If a register is a bound reference: follows it and goes to `start`; else to `slow`.
    pub(crate) fn follow_reference(&mut self, reg: Reg, start: Block, slow: Block) {
        let (reference, bound) = (self.cold_block(), self.cold_block());
        let word = self.read_raw(reg);
        let differs = self.tag_differs(word, Tag::Ref);
        self.b.ins().brif(differs, slow, &[], reference, &[]);
        self.enter_block(reference);
        let content = self.load(word, -(Tag::Ref as i64));
        let is_value = self.tag_differs(content, Tag::Var);
        self.b.ins().brif(is_value, bound, &[], slow, &[]);
        self.enter_block(bound);
        self.redefine(reg, content);
        self.b.ins().jump(start, &[]);
    }

    /// The operands as the slow path sees them.
    fn slow_operands(&mut self, a: Operand, b: Operand) -> [Value; 2] {
        [a, b].map(|operand| match operand {
            Operand::Reg(reg) => self.read_raw(reg),
            _ => self.operand(operand),
        })
    }

    /// Emits a computation and what binds a variable to its result, if that is what the operations are: the result of
    /// the hot path is a value, and to bind it needs no test of what it is.
    pub(crate) fn compute_and_bind(&mut self, first: &Op, second: &Op) -> bool {
        let Op::Arith { op, dst, a, b, at } = *first else { return false };
        let bound = match *second {
            Op::Unify { a: Operand::Reg(var), b: Operand::Reg(result), at } if result == dst => {
                Bound { var, at, slot: false }
            }
            Op::Fill { var, value: Operand::Reg(result), at } if result == dst => {
                Bound { var, at, slot: true }
            }
            _ => return false,
        };
        let fits = bound.var != dst && self.kind(Operand::Reg(bound.var)).is_none();
        if fits {
            self.arith((op, a, b), dst, at, Some(bound));
        }
        fits
    }

    /// `dst` becomes the result, and then the variable is bound to it, if there is one.
    pub(crate) fn arith(
        &mut self,
        (op, a, b): (IntOp, Operand, Operand),
        dst: Reg,
        at: At,
        bind: Option<Bound>,
    ) {
        let b = if unary(op) { Operand::Int(0) } else { b };
        if let Some((result, range)) = self.compute_small(op, a, b) {
            self.define_as(dst, result, Kind::Int(range));
            if let Some(bound) = bind {
                let done = self.next_block();
                self.bind_result(bound, dst, done);
                self.enter_block(done);
            }
            return;
        }
        if let Some(bound) = bind {
            // Not later, on one of two ways.
            self.read(bound.var);
        }
        let slow = self.cold_block();
        let integers = self.integers(a, b, slow);
        let result = integers.and_then(|integers| self.compute(op, a, b, &integers));
        let (known, done) = (self.next_block(), self.next_block());
        let facts = (self.facts.clone(), self.lazy.clone());
        match result {
            Some(result) => {
                self.define(dst, result);
                self.b.ins().jump(known, &[]);
            }
            None => {
                self.b.ins().jump(slow, &[]);
            }
        }
        (self.facts, self.lazy) = facts;
        self.enter_block(slow);
        let [x, y] = self.slow_operands(a, b);
        self.store_state();
        let number = self.b.ins().iconst(I64, op as i64);
        let at = self.position(at);
        let value = self.call_helper(Helper::Arith, &[number, x, y, at]).expect("arithmetic answers");
        self.reload_heap();
        self.reload_goals();
        self.take_followed(&[a, b]);
        self.define(dst, value);
        if let Some(bound) = bind {
            // A REF: there is no value yet.
            let reference = self.cold_block();
            let differs = self.tag_differs(value, Tag::Ref);
            self.b.ins().brif(differs, known, &[], reference, &[]);
            self.enter_block(reference);
            if bound.slot {
                self.store_in_slot(bound.var, value, done);
            }
            let cell = self.read_raw(bound.var);
            self.call_unify(cell, value, bound.at);
            self.b.ins().jump(done, &[]);
            self.enter_block(known);
            self.facts.insert(dst, Kind::Value);
            self.bind_result(bound, dst, done);
            self.facts.remove(&dst);
            self.enter_block(done);
        } else {
            self.b.ins().jump(known, &[]);
            self.enter_block(known);
        }
    }

    /// The thunk of arithmetic leaves its operands as it found them behind references.
    fn take_followed(&mut self, operands: &[Operand]) {
        for (index, &followed) in operands.iter().enumerate() {
            if let Operand::Reg(reg) = followed
                && self.kind(followed).is_none()
            {
                let word = self.worker_field(operand(FIRST_OPERAND + index) as i32);
                self.redefine(reg, word);
            }
        }
    }

    fn bind_result(&mut self, Bound { var, at, slot }: Bound, result: Reg, done: Block) {
        if slot {
            self.fill_or_unify_to(var, Operand::Reg(result), at, done);
        } else {
            self.unify_variable(var, Operand::Reg(result), at, done);
        }
    }

    /// The result of an operation that gives a small integer for all that its operands can be.
    fn compute_small(&mut self, op: IntOp, a: Operand, b: Operand) -> Option<(Value, Range)> {
        let (Some(Kind::Int(in_a)), Some(Kind::Int(in_b))) = (self.kind(a), self.kind(b)) else {
            return None;
        };
        let range = Range::result(op, in_a, in_b)?;
        let value = match (op, a, b) {
            (IntOp::Add, Operand::Int(c), x) | (IntOp::Add, x, Operand::Int(c)) => {
                let x = self.operand(x);
                self.b.ins().iadd_imm_s(x, c << TAG_BITS)
            }
            (IntOp::Sub, x, Operand::Int(c)) if c != INT_MIN => {
                let x = self.operand(x);
                self.b.ins().iadd_imm_s(x, -c << TAG_BITS)
            }
            _ => {
                let (x, y) = (self.operand(a), self.operand(b));
                match op {
                    IntOp::Add => self.b.ins().iadd(x, y),
                    IntOp::Sub => self.b.ins().isub(x, y),
                    IntOp::And => self.b.ins().band(x, y),
                    IntOp::Or => self.b.ins().bor(x, y),
                    IntOp::Xor => self.b.ins().bxor(x, y),
                    _ => self.b.ins().bxor_imm_s(x, -8),
                }
            }
        };
        Some((value, range))
    }

    pub(crate) fn guard_arith(&mut self, op: IntOp, dst: Reg, a: Operand, b: Operand, exits: Exits) {
        self.flush();
        let b = if unary(op) { Operand::Int(0) } else { b };
        if let Some((result, range)) = self.compute_small(op, a, b) {
            self.define_as(dst, result, Kind::Int(range));
            let yes = self.edge(exits.yes, &[]);
            self.b.ins().jump(yes, &[]);
            return;
        }
        let slow = self.cold_block();
        let integers = self.integers(a, b, slow);
        let result = integers.and_then(|integers| self.compute(op, a, b, &integers));
        let facts = self.facts.clone();
        match result {
            Some(result) => {
                // Not `Int`: on the other way to `yes` it may be a big integer.
                self.define_as(dst, result, Kind::Value);
                let yes = self.edge(exits.yes, &[]);
                self.b.ins().jump(yes, &[]);
            }
            None => {
                self.b.ins().jump(slow, &[]);
            }
        }
        self.facts = facts;
        self.enter_block(slow);
        let [a, b] = self.slow_operands(a, b);
        self.store_state();
        let number = self.b.ins().iconst(I64, op as i64);
        let value = self.call_helper(Helper::GuardArith, &[number, a, b]).expect("arithmetic answers");
        self.reload_heap();
        // A value is told from the two other answers by its tag: HEADER or REF.
        let no = self.edge(exits.no, &[]);
        if exits.no != exits.unbound {
            let (other, reference) = (self.cold_block(), self.cold_block());
            let differs = self.tag_differs(value, Tag::Ref);
            self.b.ins().brif(differs, other, &[], reference, &[]);
            self.enter_block(reference);
            self.define_wait(exits.wait, value);
            let unbound = self.edge(exits.unbound, &[]);
            self.b.ins().jump(unbound, &[]);
            self.enter_block(other);
        }
        let none = self.has_tag_of(value, 1 << Tag::Ref as u64 | 1 << Tag::Header as u64);
        self.define_as(dst, value, Kind::Value);
        let yes = self.edge(exits.yes, &[]);
        self.b.ins().brif(none, no, &[], yes, &[]);
    }

    /// The result on the hot path (which it may leave for `slow`); `None` if the helper does it always.
    fn compute(&mut self, op: IntOp, a: Operand, b: Operand, integers: &Integers) -> Option<Value> {
        let (x, y, slow) = (integers.a, integers.b, integers.slow);
        Some(match (op, a, b) {
            (IntOp::Add, _, Operand::Int(c)) => self.add_constant(x, c, slow),
            (IntOp::Add, Operand::Int(c), _) => self.add_constant(y, c, slow),
            (IntOp::Sub, _, Operand::Int(c)) if c != INT_MIN => self.add_constant(x, -c, slow),
            (IntOp::Add, ..) => self.add(a, b, integers),
            (IntOp::Sub, ..) => self.subtract(b, integers),
            (IntOp::Neg, ..) => {
                let zero = self.b.ins().iconst(I64, 0);
                let (difference, overflow) = self.b.ins().ssub_overflow(zero, x);
                self.unless(overflow, slow);
                difference
            }
            (IntOp::Mul, ..) => {
                let x = self.b.ins().sshr_imm_u(x, 3);
                let (product, overflow) = self.b.ins().smul_overflow(x, y);
                self.unless(overflow, slow);
                product
            }
            (IntOp::Div | IntOp::Mod, ..) => return self.divide(op, b, integers),
            (IntOp::And, ..) => self.b.ins().band(x, y),
            (IntOp::Or, ..) => self.b.ins().bor(x, y),
            (IntOp::Xor, ..) => self.b.ins().bxor(x, y),
            (IntOp::Not, ..) => self.b.ins().bxor_imm_s(x, -8),
            (IntOp::Shl | IntOp::Shr, ..) => return self.shift(op, b, integers),
        })
    }

    /// Leaves for `slow` if the condition is not zero.
    pub(crate) fn unless(&mut self, condition: Value, slow: Block) {
        let go = self.next_block();
        self.b.ins().brif(condition, slow, &[], go, &[]);
        self.enter_block(go);
    }

    fn add_constant(&mut self, x: Value, constant: i64, slow: Block) -> Value {
        let sum = self.b.ins().iadd_imm_s(x, constant << 3);
        if constant != 0 {
            self.unless_moved(x, sum, constant > 0, slow);
        }
        sum
    }
    /// Leaves for `slow` if `result`, which is `x` and something that is known to be negative or not, is beyond `x`:
    /// cheaper than the overflow flag, which Cranelift takes through a register.
    fn unless_moved(&mut self, x: Value, result: Value, up: bool, slow: Block) {
        let wrong = if up { IntCC::SignedLessThan } else { IntCC::SignedGreaterThan };
        let overflow = self.b.ins().icmp(wrong, result, x);
        self.unless(overflow, slow);
    }
    /// Whether to add the operand is to go up (or to stay), if that is known.
    fn goes_up(&self, operand: Operand) -> Option<bool> {
        match self.kind(operand) {
            Some(Kind::Int(range)) => range.is_up(),
            _ => None,
        }
    }
    fn add(&mut self, a: Operand, b: Operand, &Integers { a: x, b: y, slow }: &Integers) -> Value {
        let other = self.goes_up(b).map(|up| (x, up)).or_else(|| self.goes_up(a).map(|up| (y, up)));
        if let Some((other, up)) = other {
            let sum = self.b.ins().iadd(x, y);
            self.unless_moved(other, sum, up, slow);
            return sum;
        }
        let (sum, overflow) = self.b.ins().sadd_overflow(x, y);
        self.unless(overflow, slow);
        sum
    }
    fn subtract(&mut self, b: Operand, &Integers { a: x, b: y, slow }: &Integers) -> Value {
        if let Some(up) = self.goes_up(b) {
            let difference = self.b.ins().isub(x, y);
            self.unless_moved(x, difference, !up, slow);
            return difference;
        }
        let (difference, overflow) = self.b.ins().ssub_overflow(x, y);
        self.unless(overflow, slow);
        difference
    }

    /// The quotient of two tagged words is the number itself, the remainder is tagged.
    fn divide(&mut self, op: IntOp, b: Operand, integers: &Integers) -> Option<Value> {
        let (x, y, slow) = (integers.a, integers.b, integers.slow);
        if let Operand::Int(divisor) = b {
            return match divisor {
                0 | -1 => None,
                1.. if divisor & (divisor - 1) == 0 => Some(self.divide_by_power(op, x, divisor)),
                _ => Some(self.divide_by_constant(op, x, divisor)),
            };
        }
        let (narrow, wide, done) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.append_block_param(done, I64);
        // Division of 32-bit words is several times faster on many processors.
        let both = self.b.ins().bor(x, y);
        let high = self.b.ins().ushr_imm_u(both, 32);
        self.b.ins().brif(high, wide, &[], narrow, &[]);
        self.enter_block(narrow);
        let zero = self.b.ins().icmp_imm_s(IntCC::Equal, y, 0);
        self.unless(zero, slow);
        let (x32, y32) = (self.b.ins().ireduce(I32, x), self.b.ins().ireduce(I32, y));
        let result = if op == IntOp::Div { self.b.ins().udiv(x32, y32) } else { self.b.ins().urem(x32, y32) };
        let result = self.b.ins().uextend(I64, result);
        self.b.ins().jump(done, &[result.into()]);
        self.enter_block(wide);
        // 0 and -8 are the tagged divisors that need care: after adding 8 both are below 9.
        let moved = self.b.ins().iadd_imm_s(y, 8);
        let special = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, moved, 9);
        self.unless(special, slow);
        let result = if op == IntOp::Div { self.b.ins().sdiv(x, y) } else { self.b.ins().srem(x, y) };
        self.b.ins().jump(done, &[result.into()]);
        self.enter_block(done);
        let result = self.b.block_params(done)[0];
        Some(if op == IntOp::Div { self.b.ins().ishl_imm_u(result, 3) } else { result })
    }

    /// By 2^k, rounding to zero: a negative dividend is moved up first.
    fn divide_by_power(&mut self, op: IntOp, x: Value, divisor: i64) -> Value {
        let sign = self.b.ins().sshr_imm_u(x, 63);
        let below = (divisor << 3) - 8;
        let bias = self.b.ins().band_imm_s(sign, below);
        let biased = self.b.ins().iadd(x, bias);
        let multiple = self.b.ins().band_imm_s(biased, -(divisor << 3));
        if op == IntOp::Mod {
            return self.b.ins().isub(x, multiple);
        }
        self.b.ins().sshr_imm_u(multiple, i64::from(divisor.trailing_zeros()))
    }

    /// By any constant but 0, 1 and -1, with a multiplication: a division takes several times as long.
    ///
    /// With d the tagged divisor without its sign, 2^(k-1) < d <= 2^k, p = 63 + k and M = floor(2^p / d) + 1, the
    /// product M * d is greater than 2^p, but by at most 2^k. So for all x from -2^63 to 2^63 - 1, x * M / 2^p differs
    /// from x / d by less than what is left to the next integer, and the quotient is its floor, plus 1 for negative x
    /// (Granlund and Montgomery, "Division by invariant integers using multiplication", 1994). M has 64 bits of which
    /// the highest is set: as a signed number it is M - 2^64, for which x is added again.
    fn divide_by_constant(&mut self, op: IntOp, x: Value, divisor: i64) -> Value {
        let d = divisor.unsigned_abs() << TAG_BITS;
        let k = 64 - (d - 1).leading_zeros();
        let factor = ((1u128 << (63 + k)) / u128::from(d) + 1) as u64;
        let factor = self.b.ins().iconst(I64, factor as i64);
        let high = self.b.ins().smulhi(x, factor);
        let high = self.b.ins().iadd(high, x);
        let floor = self.b.ins().sshr_imm_u(high, i64::from(k) - 1);
        let negative = self.b.ins().ushr_imm_u(x, 63);
        let quotient = self.b.ins().iadd(floor, negative);
        if op == IntOp::Mod {
            let d = self.b.ins().iconst(I64, d as i64);
            let multiple = self.b.ins().imul(quotient, d);
            return self.b.ins().isub(x, multiple);
        }
        let quotient = if divisor < 0 { self.b.ins().ineg(quotient) } else { quotient };
        self.b.ins().ishl_imm_u(quotient, i64::from(TAG_BITS))
    }

    /// Counts from 0 to 60; what loses bits, and other counts, are the helper's.
    fn shift(&mut self, op: IntOp, b: Operand, integers: &Integers) -> Option<Value> {
        let (x, y, slow) = (integers.a, integers.b, integers.slow);
        match b {
            Operand::Int(count) if !(0..=60).contains(&count) => return None,
            Operand::Int(_) => {}
            _ => {
                let large = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, y, 60 << 3);
                self.unless(large, slow);
            }
        }
        let count = self.b.ins().ushr_imm_u(y, 3);
        if op == IntOp::Shr {
            let shifted = self.b.ins().sshr(x, count);
            return Some(self.b.ins().band_imm_s(shifted, -8));
        }
        let shifted = self.b.ins().ishl(x, count);
        let back = self.b.ins().sshr(shifted, count);
        let lost = self.b.ins().icmp(IntCC::NotEqual, back, x);
        self.unless(lost, slow);
        Some(shifted)
    }

    pub(crate) fn compare(&mut self, cond: Cond, a: Operand, b: Operand, exits: Exits) {
        self.flush();
        let slow = self.cold_block();
        let integers = self.integers(a, b, slow);
        if let (Some(Kind::Int(in_a)), Some(Kind::Int(in_b)), Some(integers)) =
            (self.kind(a), self.kind(b), &integers)
        {
            let facts = |ranges: (Range, Range)| {
                let facts = [(a, ranges.0), (b, ranges.1)].into_iter();
                let facts = facts.filter_map(|(operand, range)| match operand {
                    Operand::Reg(reg) => Some((reg, Kind::Int(range))),
                    _ => None,
                });
                facts.collect::<Vec<_>>()
            };
            let yes = self.edge(exits.yes, &facts(Range::where_holds(cond, in_a, in_b)));
            let no = self.edge(exits.no, &facts(Range::where_not(cond, in_a, in_b)));
            let holds = self.b.ins().icmp(signed(cond), integers.a, integers.b);
            self.b.ins().brif(holds, yes, &[], no, &[]);
            return;
        }
        let (yes, no) = (self.edge(exits.yes, &[]), self.edge(exits.no, &[]));
        match integers {
            Some(integers) => {
                let holds = self.b.ins().icmp(signed(cond), integers.a, integers.b);
                self.b.ins().brif(holds, yes, &[], no, &[]);
            }
            None => {
                self.b.ins().jump(slow, &[]);
            }
        }
        self.enter_block(slow);
        let [a, b] = self.slow_operands(a, b);
        let number = self.b.ins().iconst(I64, cond as i64);
        let answer = self.call_helper(Helper::Compare, &[number, a, b]).expect("comparison answers");
        self.choose_exit(answer, exits);
    }
}

/// The comparison of two tagged integers.
pub(crate) fn signed(cond: Cond) -> IntCC {
    match cond {
        Cond::Lt => IntCC::SignedLessThan,
        Cond::Le => IntCC::SignedLessThanOrEqual,
        Cond::Gt => IntCC::SignedGreaterThan,
        Cond::Ge => IntCC::SignedGreaterThanOrEqual,
        Cond::Eq => IntCC::Equal,
        Cond::Ne => IntCC::NotEqual,
    }
}

fn unary(op: IntOp) -> bool {
    matches!(op, IntOp::Neg | IntOp::Not)
}

const _: () = assert!(INT_MAX < i64::MAX >> 2 && INT_MIN > i64::MIN >> 2);
