//! Float arithmetic and comparison inline.
//!
//! Float operations that follow each other in a body are one *run*. On the hot path each operand is taken out of its
//! object once, what one operation gives the next stays in a vector register, and only results that something else
//! reads are put into objects. If an operand is no float, the helper does the whole run, one operation after the
//! other: none of them has an effect.

use crate::flow::Exits;
use crate::intrinsics::at;
use crate::lower::{Environment, Lower, trusted};
use compiler::ir::{Component, End, Op, Operand, Reg};
use compiler::verify::{end_uses, op_uses};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::F64, types::I64};
use term::abi::{PredicateId, SLACK_WORDS};
use term::constant::Constant;
use term::layout::FLOAT;
use term::word::{INT_MAX, TAG_BITS, Tag, object_header};

/// Words of a float with its header.
const FLOAT_WORDS: usize = 2;

/// Operations of a run at most: registers are looked for in lists.
const RUN_MAX: usize = 32;

/// An operation of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FloatOp {
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    Sqrt,
    /// Of a small integer.
    FromInt,
    /// If it fits a small integer.
    ToInt,
}

/// What a register holds in a run.
#[derive(Clone, Copy)]
enum Held {
    Float(Value),
    /// A tagged integer.
    Int(Value),
}

/// What a component's code generation knows of its floats.
#[derive(Default)]
pub(crate) struct Floats {
    /// There are float operations: vector registers live across calls.
    pub(crate) any: bool,
    /// Words that the objects of all of them take.
    pub(crate) words: usize,
    /// How often each register is read.
    reads: Vec<u32>,
}

impl Floats {
    /// Looks through a component for float operations, before code is made of it.
    pub(crate) fn of(env: &Environment<'_>, component: &Component) -> Floats {
        let blocks = &component.blocks;
        let results = blocks.iter().flat_map(|block| &block.ops).filter(|op| env.float_op(op).is_some());
        let count = results.count();
        let guards = blocks.iter().any(|block| env.ends_in_float_guard(&block.end));
        let mut reads = Vec::new();
        if count > 0 {
            reads = vec![0; component.registers as usize];
            let mut visit = |operand| {
                if let Operand::Reg(reg) = operand {
                    reads[reg.0 as usize] += 1;
                }
            };
            for block in blocks {
                block.ops.iter().for_each(|op| op_uses(op, &mut visit));
                end_uses(&block.end, &mut visit);
            }
        }
        Floats { any: count > 0 || guards, words: count * FLOAT_WORDS, reads }
    }
}

impl Environment<'_> {
    fn ends_in_float_guard(&self, end: &End) -> bool {
        matches!(end, End::GuardCall { predicate, .. } if self.float_comparison(*predicate).is_some())
    }
    fn float_op(&self, op: &Op) -> Option<FloatOp> {
        let Op::Builtin { predicate, .. } = op else { return None };
        let builtin = self.builtin(*predicate)?;
        let name = match &*builtin.module {
            "generic" => &*builtin.name,
            "floating_arithmetics" => builtin.name.strip_prefix("floating_point_").unwrap_or(&builtin.name),
            _ => return None,
        };
        Some(match (name, &*builtin.modes) {
            ("add", "iio") => FloatOp::Add,
            ("subtract", "iio") => FloatOp::Sub,
            ("multiply", "iio") => FloatOp::Mul,
            ("divide", "iio") => FloatOp::Div,
            ("minus", "io") => FloatOp::Neg,
            ("sqrt", "io") => FloatOp::Sqrt,
            ("float" | "integer_to_floating_point", "io") => FloatOp::FromInt,
            ("int" | "to_integer", "io") => FloatOp::ToInt,
            _ => return None,
        })
    }
    /// A guard that compares floats.
    fn float_comparison(&self, predicate: PredicateId) -> Option<FloatCC> {
        let builtin = self.builtin(predicate)?;
        let name = match &*builtin.module {
            "generic" => &*builtin.name,
            "guard" => builtin.name.strip_prefix("floating_point_").unwrap_or(&builtin.name),
            _ => return None,
        };
        Some(match (name, &*builtin.modes) {
            ("$<" | "less_than", "ii") => FloatCC::LessThan,
            ("$=<" | "$<=" | "not_greater_than", "ii") => FloatCC::LessThanOrEqual,
            ("$>" | "greater_than", "ii") => FloatCC::GreaterThan,
            ("$>=" | "not_less_than", "ii") => FloatCC::GreaterThanOrEqual,
            ("$=:=" | "equal", "ii") => FloatCC::Equal,
            ("$=\\=" | "not_equal", "ii") => FloatCC::NotEqual,
            _ => return None,
        })
    }
}

impl Lower<'_, '_> {
    /// Emits the run that operations begin with; answers how many operations it is.
    pub(crate) fn float_run(&mut self, ops: &[Op]) -> usize {
        let run: Vec<FloatOp> = ops.iter().map_while(|op| self.env.float_op(op)).take(RUN_MAX).collect();
        // C3: what the objects take is not in any clause's need.
        if run.is_empty() || self.largest_need() > SLACK_WORDS {
            return 0;
        }
        let ops = &ops[..run.len()];
        let mut inside = Vec::new();
        for op in ops {
            op_uses(op, &mut |operand| {
                if let Operand::Reg(reg) = operand {
                    inside.push(reg);
                }
            });
        }
        for &reg in &inside {
            self.read(reg);
        }
        let (slow, done) = (self.cold_block(), self.b.create_block());
        let mut held = Vec::new();
        let mut results = Vec::new();
        for (&op, text) in run.iter().zip(ops) {
            let Op::Builtin { inputs, outputs, .. } = text else { unreachable!("a run has only builtins") };
            let result = self.float_result(op, inputs, &mut held, slow);
            held.push((outputs[0], result));
            results.push((outputs[0], result));
        }
        let mut words = 0;
        for (reg, result) in results {
            let read = self.whole.floats.reads[reg.0 as usize] as usize;
            let value = match result {
                Held::Int(word) => word,
                // Nothing reads it on this way.
                Held::Float(_) if read == inside.iter().filter(|&&other| other == reg).count() => {
                    self.b.ins().iconst(I64, 0)
                }
                Held::Float(value) => {
                    words += FLOAT_WORDS;
                    self.float_object(value, words - FLOAT_WORDS)
                }
            };
            self.redefine(reg, value);
        }
        // The slow path joins with the same offset: the base moves (L1).
        let base = self.b.use_var(self.heap);
        let base = self.offset(base, 8 * words as i64);
        self.b.def_var(self.heap, base);
        self.b.ins().jump(done, &[]);
        self.enter_block(slow);
        for op in ops {
            let Op::Builtin { predicate, inputs, outputs, at } = op else { unreachable!("as above") };
            let values: Vec<_> = inputs.iter().map(|&input| self.raw_operand(input)).collect();
            self.call_builtin(*predicate, &values, *at);
            self.take_outputs(outputs, &[]);
        }
        self.b.ins().jump(done, &[]);
        self.enter_block(done);
        ops.len()
    }
    /// A float's object, this number of words above the allocation pointer.
    fn float_object(&mut self, value: Value, words: usize) -> Value {
        let heap = self.heap_now();
        let header = self.word(object_header(FLOAT, FLOAT_WORDS - 1));
        let offset = 8 * words as i64;
        self.store(header, heap, offset);
        self.store(value, heap, offset + 8);
        self.offset(heap, offset + Tag::Object as i64)
    }
    fn float_result(
        &mut self,
        op: FloatOp,
        inputs: &[Operand],
        held: &mut Vec<(Reg, Held)>,
        slow: Block,
    ) -> Held {
        if op == FloatOp::FromInt {
            let word = match self.held(inputs[0], held) {
                Some(Held::Int(word)) => word,
                // Of a float it is that itself, most often; rare, and the helper's.
                Some(Held::Float(_)) => self.never(slow),
                None => self.integer(inputs[0], slow),
            };
            let number = self.b.ins().sshr_imm_u(word, i64::from(TAG_BITS));
            return Held::Float(self.b.ins().fcvt_from_sint(F64, number));
        }
        let a = self.float_operand(inputs[0], held, slow);
        if let [_, second] = *inputs {
            let b = self.float_operand(second, held, slow);
            return Held::Float(match op {
                FloatOp::Add => self.b.ins().fadd(a, b),
                FloatOp::Sub => self.b.ins().fsub(a, b),
                FloatOp::Mul => self.b.ins().fmul(a, b),
                _ => self.b.ins().fdiv(a, b),
            });
        }
        match op {
            FloatOp::Neg => Held::Float(self.b.ins().fneg(a)),
            FloatOp::Sqrt => Held::Float(self.b.ins().sqrt(a)),
            _ => {
                // Also false for what is not a number.
                let size = self.b.ins().fabs(a);
                let limit = self.b.ins().f64const(INT_MAX as f64);
                let fits = self.b.ins().fcmp(FloatCC::LessThan, size, limit);
                let go = self.next_block();
                self.b.ins().brif(fits, go, &[], slow, &[]);
                self.enter_block(go);
                let number = self.b.ins().fcvt_to_sint_sat(I64, a);
                Held::Int(self.b.ins().ishl_imm_u(number, i64::from(TAG_BITS)))
            }
        }
    }
    fn held(&self, operand: Operand, held: &[(Reg, Held)]) -> Option<Held> {
        let Operand::Reg(reg) = operand else { return None };
        // The newest: a register may get another value.
        held.iter().rev().find(|(other, _)| *other == reg).map(|(_, held)| *held)
    }
    /// The number of a float operand; anything else goes to `slow`.
    fn float_operand(&mut self, operand: Operand, held: &mut Vec<(Reg, Held)>, slow: Block) -> Value {
        match (self.held(operand, held), operand) {
            (Some(Held::Float(value)), _) => value,
            (None, Operand::Reg(reg)) => {
                let object = self.object(reg, object_header(FLOAT, FLOAT_WORDS - 1), slow);
                let value = self.b.ins().load(F64, trusted(), object, at(1) as i32);
                held.push((reg, Held::Float(value)));
                value
            }
            (None, Operand::Constant(id)) if let Some(&Constant::Float(value)) = self.env.constant(id) => {
                self.b.ins().f64const(value)
            }
            _ => {
                self.never(slow);
                self.b.ins().f64const(0.0)
            }
        }
    }
    /// Goes to `slow`, always; answers a word for the code behind, which is never reached.
    pub(crate) fn never(&mut self, slow: Block) -> Value {
        self.b.ins().jump(slow, &[]);
        let never = self.cold_block();
        self.enter_block(never);
        self.b.ins().iconst(I64, 0)
    }

    /// Emits a guard inline if it compares floats; ends the block.
    pub(crate) fn float_guard(&mut self, predicate: PredicateId, inputs: &[Operand], exits: Exits) -> bool {
        let Some(condition) = self.env.float_comparison(predicate) else { return false };
        for &input in inputs {
            if let Operand::Reg(reg) = input {
                self.read(reg);
            }
        }
        let slow = self.cold_block();
        let mut held = Vec::new();
        let a = self.float_operand(inputs[0], &mut held, slow);
        let b = self.float_operand(inputs[1], &mut held, slow);
        let holds = self.b.ins().fcmp(condition, a, b);
        let (yes, no) = (self.edge(exits.yes, &[]), self.edge(exits.no, &[]));
        self.b.ins().brif(holds, yes, &[], no, &[]);
        self.enter_block(slow);
        let values: Vec<_> = inputs.iter().map(|&input| self.raw_operand(input)).collect();
        self.call_guard(predicate, &values, &[], exits);
        true
    }
}
