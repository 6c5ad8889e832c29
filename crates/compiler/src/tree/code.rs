//! A component under construction.

use crate::ir::{Block, BlockId, End, Op, Operand, Reg};
use crate::program::values::{Atomic, Origin, Table, ValueId};

/// Blocks and registers of one component.
#[derive(Debug, Default)]
pub(crate) struct Code {
    blocks: Vec<Option<Block>>,
    registers: u32,
}

impl Code {
    pub(crate) fn register(&mut self) -> Reg {
        self.registers += 1;
        Reg(self.registers - 1)
    }
    /// A block to be filled later.
    pub(crate) fn block(&mut self) -> BlockId {
        self.blocks.push(None);
        BlockId(self.blocks.len() as u32 - 1)
    }
    pub(crate) fn fill(&mut self, block: BlockId, ops: Vec<Op>, end: End) {
        let slot = &mut self.blocks[block.0 as usize];
        debug_assert!(slot.is_none(), "a block is filled once");
        *slot = Some(Block { ops, end });
    }
    pub(crate) fn block_mut(&mut self, block: BlockId) -> &mut Block {
        self.blocks[block.0 as usize].as_mut().expect("entry blocks are filled before they are patched")
    }
    pub(crate) fn block_count(&self) -> usize {
        self.blocks.len()
    }
    /// The registers' number and the blocks. Panics if one was forgotten.
    pub(crate) fn finish(self) -> (u32, Vec<Block>) {
        let blocks =
            self.blocks.into_iter().map(|block| block.expect("every block made is filled")).collect();
        (self.registers, blocks)
    }
}

/// Registers of a predicate's values.
#[derive(Debug)]
pub(crate) struct Registers(Vec<Option<Reg>>);

impl Registers {
    pub(crate) fn new(values: usize) -> Registers {
        Registers(vec![None; values])
    }
    pub(crate) fn set(&mut self, value: ValueId, register: Reg) {
        self.0[value.0 as usize] = Some(register);
    }
    /// The register of a value that has been loaded.
    pub(crate) fn known(&self, value: ValueId) -> Reg {
        self.0[value.0 as usize].expect("a value that was looked at has a register")
    }
    /// The register that holds the value where it is loaded.
    pub(crate) fn of(&mut self, value: ValueId, code: &mut Code) -> Reg {
        *self.0[value.0 as usize].get_or_insert_with(|| code.register())
    }
    pub(crate) fn operand(&mut self, atomic: Atomic, code: &mut Code) -> Operand {
        match atomic {
            Atomic::Value(value) => Operand::Reg(self.of(value, code)),
            Atomic::Int(int) => Operand::Int(int),
            Atomic::Atom(atom) => Operand::Atom(atom),
            Atomic::Constant(id) => Operand::Constant(id),
            Atomic::Column { .. } => unreachable!("bodies load what a table says of a row"),
        }
    }
    /// The operation that loads a part of a value that is in its register.
    pub(crate) fn load(&mut self, value: ValueId, table: &Table, code: &mut Code) -> Op {
        let dst = self.of(value, code);
        match *table.origin(value) {
            Origin::Car(parent) => Op::Car { dst, src: self.of(parent, code) },
            Origin::Cdr(parent) => Op::Cdr { dst, src: self.of(parent, code) },
            Origin::Argument(parent, index) => Op::Arg { dst, src: self.of(parent, code), index },
            Origin::Parameter(_) | Origin::Arith(..) | Origin::Output(..) => {
                unreachable!("parameters are loaded at the entry, computed values by their tests")
            }
        }
    }
}
