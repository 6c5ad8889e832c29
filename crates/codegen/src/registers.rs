//! Registers: where their values are, and what is known of them.

use crate::lower::{Kind, Lower, field};
use crate::pieces::{Home, PENDING};
use crate::range::Range;
use compiler::ir::{Operand, Reg};
use cranelift_codegen::ir::{self, InstBuilder, Value, types::I64};
use term::word::{TAG_MASK, Tag, Word};

impl Lower<'_, '_> {
    // ---- homes (E1) ----------------------------------------------------------------------------

    fn get(&mut self, reg: Reg) -> Value {
        match self.pieces.homes[reg.0 as usize] {
            Home::Variable(number) => self.b.use_var(self.variables[number as usize]),
            Home::Area(word) => self.load_from_area(word),
        }
    }
    pub(crate) fn set(&mut self, reg: Reg, value: Value) {
        match self.pieces.homes[reg.0 as usize] {
            Home::Variable(number) => self.b.def_var(self.variables[number as usize], value),
            Home::Area(word) => self.store_in_area(word, value),
        }
    }
    fn load_from_area(&mut self, word: u32) -> Value {
        let area = self.worker_field(field!(registers));
        self.load(area, 8 * i64::from(word))
    }
    fn store_in_area(&mut self, word: u32, value: Value) {
        let area = self.worker_field(field!(registers));
        self.store(value, area, 8 * i64::from(word));
    }
    /// Bytes that `Pend`ed variables take in `WorkerAbi::pending` so far.
    pub(crate) fn pending(&mut self) -> Value {
        if self.pieces.is_cut() { self.load_from_area(PENDING) } else { self.b.use_var(self.pending) }
    }
    pub(crate) fn set_pending(&mut self, bytes: Value) {
        if self.pieces.is_cut() {
            self.store_in_area(PENDING, bytes);
        } else {
            self.b.def_var(self.pending, bytes);
        }
    }

    // ---- values --------------------------------------------------------------------------------

    pub(crate) fn define(&mut self, reg: Reg, value: Value) {
        self.lazy.retain(|lazy| lazy.reg != reg);
        self.facts.remove(&reg);
        self.young.remove(&reg);
        self.set(reg, value);
    }
    /// The variable that a guard waits for.
    pub(crate) fn define_wait(&mut self, reg: Reg, variable: Value) {
        self.facts.remove(&reg);
        self.set(reg, variable);
    }
    /// Like `define`, when only the representation changes (facts stay).
    pub(crate) fn redefine(&mut self, reg: Reg, value: Value) {
        self.young.remove(&reg);
        self.set(reg, value);
    }
    pub(crate) fn define_as(&mut self, reg: Reg, value: Value, kind: Kind) {
        self.define(reg, value);
        self.facts.insert(reg, kind);
    }
    /// The value of a register (I2).
    pub(crate) fn read(&mut self, reg: Reg) -> Value {
        self.force(reg);
        self.get(reg)
    }
    /// The value as it is in the variable: the caller knows that it is not lazy or deals with it.
    pub(crate) fn read_raw(&mut self, reg: Reg) -> Value {
        self.get(reg)
    }
    /// L2: tests a lazily loaded register for "unbound".
    pub(crate) fn force(&mut self, reg: Reg) {
        let Some(index) = self.lazy.iter().position(|lazy| lazy.reg == reg) else { return };
        let lazy = self.lazy.swap_remove(index);
        let (cold, done) = (self.cold_block(), self.next_block());
        let bound = self.tag_differs(lazy.raw, Tag::Var);
        self.b.ins().brif(bound, done, &[], cold, &[]);
        self.enter_block(cold);
        let reference = self.offset(lazy.base, lazy.offset);
        self.redefine(reg, reference);
        self.b.ins().jump(done, &[]);
        self.enter_block(done);
    }
    pub(crate) fn operand(&mut self, operand: Operand) -> Value {
        match operand {
            Operand::Reg(reg) => self.read(reg),
            Operand::Int(value) => self.word(Word::small(value)),
            Operand::Atom(atom) => self.word(Word::atom(atom)),
            Operand::Constant(id) => {
                let constants = self.worker_field(field!(constants));
                self.load(constants, 8 * i64::from(id.0))
            }
        }
    }
    /// What is known of an operand.
    pub(crate) fn kind(&self, operand: Operand) -> Option<Kind> {
        match operand {
            Operand::Reg(reg) => self.facts.get(&reg).copied(),
            Operand::Int(value) => Some(Kind::Int(Range::one(value))),
            Operand::Atom(_) => Some(Kind::Atom),
            // A constant small enough for a word would be an immediate.
            Operand::Constant(_) => Some(Kind::Pointer),
        }
    }
    /// Non-zero iff the word has another tag.
    pub(crate) fn tag_differs(&mut self, word: Value, tag: Tag) -> Value {
        // 32 bits: `lea; test` without a prefix, and no copy.
        let shifted = self.offset(word, -(tag as i64));
        let low = self.b.ins().ireduce(ir::types::I32, shifted);
        self.b.ins().band_imm_s(low, 7)
    }

    /// 1 if the word's tag is one of `tags` (a bit for each), else 0.
    pub(crate) fn has_tag_of(&mut self, word: Value, tags: u64) -> Value {
        let tags = self.b.ins().iconst(I64, tags as i64);
        let tag = self.b.ins().band_imm_s(word, TAG_MASK as i64);
        let bit = self.b.ins().ushr(tags, tag);
        self.b.ins().band_imm_s(bit, 1)
    }
}
