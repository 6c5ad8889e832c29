//! Operations that make terms and look into them.

use crate::helpers::Helper;
use crate::lower::{Kind, Lazy, Lower, field};
use compiler::ir::{Operand, Reg, Slot};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use term::abi::OPERANDS_MAX;
use term::layout;
use term::word::{Tag, UNBOUND, Word, functor_header, object_header};

impl Lower<'_, '_> {
    /// Stores a word at the allocation pointer plus `offset` bytes.
    fn store_new(&mut self, value: Value, offset: i64) {
        let base = self.b.use_var(self.heap);
        self.store(value, base, self.heap_offset + offset);
    }
    /// A tagged pointer to the allocation pointer plus `offset` bytes.
    fn new_pointer(&mut self, tag: Tag, offset: i64) -> Value {
        let base = self.b.use_var(self.heap);
        self.b.ins().iadd_imm_s(base, self.heap_offset + offset + tag as i64)
    }

    /// A register becomes a tagged pointer to the allocation pointer plus `offset` bytes.
    fn define_new(&mut self, reg: Reg, tag: Tag, offset: i64) {
        let value = self.new_pointer(tag, offset);
        match tag {
            Tag::Ref => self.define(reg, value),
            _ => self.define_as(reg, value, Kind::Pointer),
        }
        let base = self.b.use_var(self.heap);
        self.young.insert(reg, (base, self.heap_offset + offset + tag as i64));
    }
    /// An operand that is only stored (L4).
    pub(crate) fn stored(&mut self, operand: Operand) -> Value {
        match operand {
            Operand::Reg(reg)
                if self.long
                    && let Some(&(base, offset)) = self.young.get(&reg) =>
            {
                self.b.ins().iadd_imm_s(base, offset)
            }
            _ => self.operand(operand),
        }
    }
    /// An operand that becomes another register at the end of a block (L4).
    pub(crate) fn moved(&mut self, operand: Operand) -> Value {
        let heap = self.b.use_var(self.heap);
        match operand {
            Operand::Reg(reg)
                if let Some(&(base, offset)) = self.young.get(&reg)
                    && base == heap =>
            {
                self.b.ins().iadd_imm_s(base, offset)
            }
            _ => self.operand(operand),
        }
    }

    /// Fills the cells from `offset` on: all values are read before a new variable's register is defined.
    fn fill(&mut self, slots: &[Slot], offset: i64) {
        for (index, slot) in slots.iter().enumerate() {
            let value = match slot {
                Slot::Value(operand) => self.stored(*operand),
                Slot::Fresh(_) => self.word(UNBOUND),
            };
            self.store_new(value, offset + 8 * index as i64);
        }
        for (index, slot) in slots.iter().enumerate() {
            if let Slot::Fresh(reg) = slot {
                self.define_new(*reg, Tag::Ref, offset + 8 * index as i64);
            }
        }
    }

    pub(crate) fn cons(&mut self, dst: Reg, car: Slot, cdr: Slot) {
        self.fill(&[car, cdr], 0);
        self.define_new(dst, Tag::Cons, 0);
        self.heap_offset += 16;
    }

    pub(crate) fn structure(&mut self, dst: Reg, name: term::Atom, args: &[Slot]) {
        let header = self.word(functor_header(name, args.len() as u32));
        self.store_new(header, 0);
        self.fill(args, 8);
        self.define_new(dst, Tag::Struct, 0);
        self.heap_offset += 8 * (1 + args.len() as i64);
    }

    pub(crate) fn variable(&mut self, dst: Reg) {
        let unbound = self.word(UNBOUND);
        self.store_new(unbound, 0);
        self.define_new(dst, Tag::Ref, 0);
        self.heap_offset += 8;
    }

    /// `[STORE header][elements..]`, then the handle (term::layout).
    pub(crate) fn vector(&mut self, dst: Reg, elements: &[Operand]) {
        let header = self.word(object_header(layout::STORE, elements.len()));
        self.store_new(header, 0);
        for (index, &element) in elements.iter().enumerate() {
            let value = self.stored(element);
            self.store_new(value, 8 * (1 + index as i64));
        }
        let store = self.new_pointer(Tag::Object, 0);
        self.heap_offset += 8 * (1 + elements.len() as i64);
        let header = self.word(object_header(layout::VECTOR, layout::HANDLE_SIZE));
        let newest = self.word(Word::small(-1));
        let length = self.word(Word::small(elements.len() as i64));
        self.store_new(header, 0);
        self.store_new(store, 8 * layout::HANDLE_STORE as i64);
        self.store_new(newest, 8 * layout::HANDLE_INDEX as i64);
        self.store_new(length, 8 * layout::HANDLE_VALUE as i64);
        self.define_new(dst, Tag::Object, 0);
        self.heap_offset += 8 * (1 + layout::HANDLE_SIZE as i64);
    }

    /// The content of the cell `offset` bytes from the tagged pointer in `src` (L2).
    pub(crate) fn select(&mut self, dst: Reg, src: Reg, tag: Tag, offset: i64) {
        let base = self.read(src);
        let at = offset - tag as i64;
        let raw = self.load(base, at);
        self.define(dst, raw);
        self.lazy.push(Lazy { reg: dst, raw, base, offset: at + Tag::Ref as i64 });
    }

    pub(crate) fn bind_fresh(&mut self, var: Reg, value: Operand) {
        let value = self.operand(value);
        let var = self.read(var);
        self.store(value, var, -(Tag::Ref as i64));
    }

    pub(crate) fn copy(&mut self, dst: Reg, src: Operand) {
        let kind = self.kind(src);
        let value = self.operand(src);
        match kind {
            Some(kind) => self.define_as(dst, value, kind),
            None => self.define(dst, value),
        }
    }

    /// Notes a variable that blocks a clause: in the worker while there is room, with the helper after that.
    pub(crate) fn pend(&mut self, var: Reg) {
        let value = self.read(var);
        let bytes = self.pending();
        let (room, full, done) = (self.b.create_block(), self.cold_block(), self.b.create_block());
        let end = 8 * OPERANDS_MAX as i64;
        let fits = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, bytes, end);
        self.b.ins().brif(fits, room, &[], full, &[]);
        self.enter_block(room);
        let slot = self.b.ins().iadd(self.worker, bytes);
        self.store(value, slot, i64::from(field!(pending)));
        self.b.ins().jump(done, &[]);
        self.enter_block(full);
        self.call_helper(Helper::Pend, &[value, bytes]);
        self.b.ins().jump(done, &[]);
        self.enter_block(done);
        let next = self.b.ins().iadd_imm_s(bytes, 8);
        self.set_pending(next);
    }
}
