//! Builtins whose common case is worth inline code: elements of vectors and strings, names and arguments of structures.
//!
//! The common case is the newest version (or a literal) and an index in range; everything else is the helper's.
//! An index is a tagged word, which is also the byte offset of the element in a vector's store.

use crate::flow::Exits;
use crate::helpers::Helper;
use crate::lower::{Kind, Lower, field, trusted};
use crate::options::Workers;
use crate::range::Range;
use compiler::ir::{At, Operand, Reg};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::I64};
use term::abi::{PredicateId, SLACK_WORDS};
use term::layout::{
    CHANGING, ClassId, HANDLE_INDEX, HANDLE_SIZE, HANDLE_STORE, HANDLE_VALUE, LITERAL, NEWEST, STRING, VECTOR,
};
use term::word::{ARITY_BITS, ARITY_SHIFT, NAME_SHIFT, TAG_BITS, Tag, Word, object_header};

/// Offset of a word of an object from its tagged pointer.
pub(crate) const fn at(word: usize) -> i64 {
    8 * word as i64 - Tag::Object as i64
}
/// Words of a handle with its header.
const HANDLE_WORDS: usize = HANDLE_SIZE + 1;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Intrinsic {
    /// Inputs object and index; outputs the element and, if there are two, the object again.
    Element(ClassId),
    /// Inputs object, index, value; outputs the old element if there are two, and the new object.
    SetElement(ClassId),
    /// Input an object, output its length.
    Length(ClassId),
    /// Input a structure; outputs its name, its arity and, if there are three, the structure again.
    Functor,
    /// Inputs a position and a structure; outputs the argument and, if there are two, the structure again.
    Argument,
}

/// An element of a vector or string, found inline.
struct Element {
    object: Value,
    index: Value,
    store: Value,
    length: Value,
}

impl Lower<'_, '_> {
    fn intrinsic(&self, predicate: PredicateId) -> Option<Intrinsic> {
        let builtin = self.env.builtin(predicate)?;
        Some(match (&*builtin.name, &*builtin.modes) {
            ("vector_element", "iio" | "iioo") => Intrinsic::Element(VECTOR),
            ("string_element", "iio" | "iioo") => Intrinsic::Element(STRING),
            ("set_vector_element", "iiao" | "iioao") => Intrinsic::SetElement(VECTOR),
            ("set_string_element", "iiio") => Intrinsic::SetElement(STRING),
            ("vector", "io") => Intrinsic::Length(VECTOR),
            ("string", "io") => Intrinsic::Length(STRING),
            ("functor", "ioo" | "iooo") => Intrinsic::Functor,
            ("arg", "iio" | "iioo") => Intrinsic::Argument,
            _ => return None,
        })
    }

    /// Emits a body builtin inline if it is one of those.
    pub(crate) fn inline_builtin(
        &mut self,
        predicate: PredicateId,
        inputs: &[Operand],
        outputs: &[Reg],
        at: At,
    ) -> bool {
        let Some(intrinsic) = self.intrinsic(predicate) else { return false };
        let sets = matches!(intrinsic, Intrinsic::SetElement(_));
        if sets && self.largest_need() + HANDLE_WORDS > SLACK_WORDS {
            return false;
        }
        let Some(inputs) = self.in_registers(intrinsic, inputs) else { return false };
        let (slow, done) = (self.cold_block(), self.b.create_block());
        let results = self.inline(intrinsic, &inputs, outputs.len(), slow);
        for (&output, &result) in outputs.iter().zip(&results) {
            self.redefine(output, result);
        }
        self.b.ins().jump(done, &[]);
        self.enter_block(slow);
        let values: Vec<_> = inputs.iter().map(|&input| self.raw_operand(input)).collect();
        self.call_builtin(predicate, &values, at);
        self.take_outputs(outputs, &[]);
        self.b.ins().jump(done, &[]);
        self.enter_block(done);
        true
    }

    /// The same for guards; ends the block.
    pub(crate) fn inline_guard(
        &mut self,
        predicate: PredicateId,
        inputs: &[Operand],
        outputs: &[Reg],
        exits: Exits,
    ) -> bool {
        let Some(intrinsic) = self.intrinsic(predicate) else { return false };
        let Some(inputs) = self.in_registers(intrinsic, inputs) else { return false };
        if matches!(intrinsic, Intrinsic::SetElement(_)) {
            return false;
        }
        let slow = self.cold_block();
        let results = self.inline(intrinsic, &inputs, outputs.len(), slow);
        let facts = self.facts.clone();
        for (&output, &result) in outputs.iter().zip(&results) {
            self.define(output, result);
        }
        self.facts.extend(self.kind_of_output(predicate).map(|kind| (outputs[0], kind)));
        let yes = self.edge(exits.yes, &[]);
        self.b.ins().jump(yes, &[]);
        self.facts = facts;
        self.enter_block(slow);
        let values: Vec<_> = inputs.iter().map(|&input| self.raw_operand(input)).collect();
        self.call_guard(predicate, &values, outputs, exits);
        true
    }

    /// What a guard's first output is known to be. (A goal in a body may have to wait for its input: then it is a
    /// variable.)
    pub(crate) fn kind_of_output(&self, guard: PredicateId) -> Option<Kind> {
        match self.intrinsic(guard)? {
            Intrinsic::Element(STRING) => Some(Kind::Int(Range::BYTE)),
            Intrinsic::Length(_) => Some(Kind::Int(Range::NATURAL)),
            _ => None,
        }
    }

    /// The term looked at must be in a register (a constant vector is not worth the code); no register is lazy
    /// afterwards.
    fn in_registers(&mut self, intrinsic: Intrinsic, inputs: &[Operand]) -> Option<Vec<Operand>> {
        let term = usize::from(intrinsic == Intrinsic::Argument);
        let Some(Operand::Reg(_)) = inputs.get(term) else { return None };
        for &input in inputs {
            if let Operand::Reg(reg) = input {
                self.read(reg);
            }
        }
        Some(inputs.to_vec())
    }
    pub(crate) fn raw_operand(&mut self, operand: Operand) -> Value {
        match operand {
            Operand::Reg(reg) => self.read_raw(reg),
            other => self.operand(other),
        }
    }
    /// The most words that any reduction of this component builds itself, and those of all floats.
    pub(crate) fn largest_need(&self) -> usize {
        self.whole.largest_need + self.whole.floats.words
    }

    fn inline(
        &mut self,
        intrinsic: Intrinsic,
        inputs: &[Operand],
        outputs: usize,
        slow: Block,
    ) -> Vec<Value> {
        match intrinsic {
            Intrinsic::Length(class) => {
                let object = self.handle(inputs[0], class, slow);
                let version = self.newest(object, slow);
                let length = self.load(object, at(HANDLE_VALUE));
                self.still(object, version, slow);
                vec![length]
            }
            Intrinsic::Element(class) => {
                let object = self.handle(inputs[0], class, slow);
                let index = self.integer(inputs[1], slow);
                let version = self.newest(object, slow);
                let element = self.element(object, index, Some(version), slow);
                let value =
                    if class == VECTOR { self.vector_slot(&element).1 } else { self.string_slot(&element).1 };
                self.still(object, version, slow);
                if outputs == 2 { vec![value, element.object] } else { vec![value] }
            }
            Intrinsic::SetElement(class) => self.set_element(inputs, class, outputs, slow),
            Intrinsic::Functor => {
                let (structure, header) = self.structure_and_header(inputs[0], slow);
                let name = self.b.ins().ishl_imm_u(header, 1);
                let name = self.b.ins().ushr_imm_u(name, i64::from(NAME_SHIFT) + 1);
                let name = self.b.ins().ishl_imm_u(name, i64::from(TAG_BITS));
                let name = self.b.ins().iadd_imm_s(name, Tag::Atom as i64);
                let arity = self.arity(header);
                if outputs == 3 { vec![name, arity, structure] } else { vec![name, arity] }
            }
            Intrinsic::Argument => {
                let position = self.integer(inputs[0], slow);
                let (structure, header) = self.structure_and_header(inputs[1], slow);
                let arity = self.arity(header);
                let before = self.b.ins().iadd_imm_s(position, -(Word::small(1).bits() as i64));
                let outside = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, before, arity);
                self.unless(outside, slow);
                // A tagged position is the argument's offset, too.
                let slot = self.b.ins().iadd(structure, position);
                let value = self.cell(slot, Tag::Struct);
                if outputs == 2 { vec![value, structure] } else { vec![value] }
            }
        }
    }

    /// The operand as a vector or string.
    fn handle(&mut self, operand: Operand, class: ClassId, slow: Block) -> Value {
        let Operand::Reg(reg) = operand else { return self.operand(operand) };
        self.object(reg, object_header(class, HANDLE_SIZE), slow)
    }
    /// The register as an object with this header; references are followed, all else goes to `slow`.
    pub(crate) fn object(&mut self, reg: Reg, header: Word, slow: Block) -> Value {
        let object = self.tagged(reg, Tag::Object, slow);
        let found = self.load(object, at(0));
        let same = self.is_word(found, header);
        let go = self.next_block();
        self.b.ins().brif(same, go, &[], slow, &[]);
        self.enter_block(go);
        object
    }
    /// The operand as a structure, and its header; references are followed, all else goes to `slow`.
    fn structure_and_header(&mut self, operand: Operand, slow: Block) -> (Value, Value) {
        let structure = match operand {
            Operand::Reg(reg) => self.tagged(reg, Tag::Struct, slow),
            other => self.operand(other),
        };
        (structure, self.load(structure, -(Tag::Struct as i64)))
    }
    /// The register as a word with this tag; references are followed, all else goes to `slow`.
    pub(crate) fn tagged(&mut self, reg: Reg, tag: Tag, slow: Block) -> Value {
        if self.kind(Operand::Reg(reg)).is_some() {
            let word = self.read_raw(reg);
            let differs = self.tag_differs(word, tag);
            self.unless(differs, slow);
            return word;
        }
        let (start, follow, go) = (self.b.create_block(), self.cold_block(), self.b.create_block());
        self.b.ins().jump(start, &[]);
        self.b.switch_to_block(start);
        let word = self.read_raw(reg);
        let differs = self.tag_differs(word, tag);
        self.b.ins().brif(differs, follow, &[], go, &[]);
        self.enter_block(follow);
        self.follow_reference(reg, start, slow);
        self.b.seal_block(start);
        self.enter_block(go);
        word
    }
    /// A structure's arity, tagged.
    fn arity(&mut self, header: Value) -> Value {
        let arity = self.b.ins().ushr_imm_u(header, i64::from(ARITY_SHIFT - TAG_BITS));
        self.b.ins().band_imm_s(arity, ((1 << ARITY_BITS) - 1) << TAG_BITS)
    }
    /// What the cell holds at an address with this tag: a value, or the variable that it is.
    fn cell(&mut self, address: Value, tag: Tag) -> Value {
        let (variable, done) = (self.cold_block(), self.b.create_block());
        self.b.append_block_param(done, I64);
        let content = self.load(address, -(tag as i64));
        let bound = self.tag_differs(content, Tag::Var);
        self.b.ins().brif(bound, done, &[content.into()], variable, &[]);
        self.enter_block(variable);
        let reference = self.offset(address, Tag::Ref as i64 - tag as i64);
        self.b.ins().jump(done, &[reference.into()]);
        self.enter_block(done);
        self.b.block_params(done)[0]
    }

    /// The version word of the newest version or a literal; others go to `slow`.
    fn newest(&mut self, object: Value, slow: Block) -> Value {
        let version = self.load(object, at(HANDLE_INDEX));
        // NEWEST and LITERAL are the two greatest words.
        let other = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, version, LITERAL.bits() as i64);
        self.unless(other, slow);
        version
    }
    /// What was loaded since `version` belongs to it; otherwise another worker has changed it: to `slow`.
    fn still(&mut self, object: Value, version: Value, slow: Block) {
        if self.env.options.workers == Workers::Several {
            let now = self.load_again(object, at(HANDLE_INDEX));
            let differs = self.b.ins().icmp(IntCC::NotEqual, now, version);
            self.unless(differs, slow);
        }
    }

    /// An element of the newest version, or a literal, if the index is inside. `version`: the one that was seen, where
    /// others may change it.
    fn element(&mut self, object: Value, index: Value, version: Option<Value>, slow: Block) -> Element {
        let length = self.load(object, at(HANDLE_VALUE));
        let store = self.load(object, at(HANDLE_STORE));
        if let Some(version) = version {
            // The length of another version would let the index go anywhere.
            self.still(object, version, slow);
        }
        let outside = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, length);
        self.unless(outside, slow);
        Element { object, index, store, length }
    }

    /// A vector element's address (minus `at(1)`) and value.
    fn vector_slot(&mut self, element: &Element) -> (Value, Value) {
        let slot = self.b.ins().iadd(element.store, element.index);
        let value = self.load(slot, at(1));
        (slot, value)
    }

    /// A byte's address (minus `at(1)`) and value.
    fn string_slot(&mut self, element: &Element) -> (Value, Value) {
        let number = self.b.ins().ushr_imm_u(element.index, 3);
        let slot = self.b.ins().iadd(element.store, number);
        let byte = self.b.ins().uload8(I64, trusted(), slot, at(1) as i32);
        (slot, self.b.ins().ishl_imm_u(byte, 3))
    }

    /// In place: the old handle becomes a difference, a new one leads to the store. Only for a private handle (C6)
    /// and with room for the new one, which the clause's need does not count. Other workers may read the old one
    /// meanwhile: so the order of the stores matters (V2 of the runtime's `versions`).
    fn set_element(&mut self, inputs: &[Operand], class: ClassId, outputs: usize, slow: Block) -> Vec<Value> {
        let code = if class == STRING { Some(self.character(inputs[2], slow)) } else { None };
        let object = self.handle(inputs[0], class, slow);
        let index = self.integer(inputs[1], slow);
        // V1 of the runtime's `vectors`: nobody else changes it.
        self.unless_public(object, Tag::Object, slow);
        let version = self.load(object, at(HANDLE_INDEX));
        let other = self.b.ins().icmp_imm_s(IntCC::NotEqual, version, NEWEST.bits() as i64);
        self.unless(other, slow);
        let element = self.element(object, index, None, slow);
        let heap = self.heap_now();
        let limit = self.worker_field(field!(limit));
        let full = self.b.ins().icmp(IntCC::UnsignedGreaterThan, heap, limit);
        self.unless(full, slow);

        let header = self.word(object_header(class, HANDLE_SIZE));
        let newest = self.word(NEWEST);
        let words = [header, element.store, newest, element.length];
        for (index, word) in words.into_iter().enumerate() {
            self.store(word, heap, 8 * index as i64);
        }
        let new = self.b.ins().iadd_imm_s(heap, Tag::Object as i64);
        // The slow path joins with the same offset: the base moves (L1).
        let base = self.b.use_var(self.heap);
        let base = self.b.ins().iadd_imm_s(base, 8 * HANDLE_WORDS as i64);
        self.b.def_var(self.heap, base);

        let (slot, previous) =
            if class == STRING { self.string_slot(&element) } else { self.vector_slot(&element) };
        if self.env.options.workers == Workers::Several {
            let changing = self.word(CHANGING);
            self.store(changing, element.object, at(HANDLE_INDEX));
        }
        self.store(new, element.object, at(HANDLE_STORE));
        self.store(previous, element.object, at(HANDLE_VALUE));
        self.store(element.index, element.object, at(HANDLE_INDEX));
        if let Some(code) = code {
            let byte = self.b.ins().ushr_imm_u(code, 3);
            self.b.ins().istore8(trusted(), byte, slot, at(1) as i32);
            return vec![new];
        }
        let value = self.raw_operand(inputs[2]);
        self.store(value, slot, at(1));
        if !matches!(self.kind(inputs[2]), Some(Kind::Int(_) | Kind::Atom)) {
            self.remember_element(slot, value);
        }
        if outputs == 2 { vec![previous, new] } else { vec![new] }
    }

    /// The operand as a tagged character code; all else goes to `slow`.
    fn character(&mut self, operand: Operand, slow: Block) -> Value {
        let code = self.integer(operand, slow);
        let large = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, code, Word::small(255).bits() as i64);
        self.unless(large, slow);
        code
    }

    /// The write barrier of a store: an integer needs none, most often, and no other value in the nursery.
    fn remember_element(&mut self, slot: Value, value: Value) {
        let (other, far, done) = (self.cold_block(), self.cold_block(), self.b.create_block());
        let differs = self.tag_differs(value, Tag::Int);
        self.b.ins().brif(differs, other, &[], done, &[]);
        self.enter_block(other);
        self.unless_public(slot, Tag::Object, far);
        self.b.ins().jump(done, &[]);
        self.enter_block(far);
        let cell = self.b.ins().iadd_imm_s(slot, at(1));
        self.call_helper(Helper::Remember, &[cell]);
        self.b.ins().jump(done, &[]);
        self.enter_block(done);
    }
}
