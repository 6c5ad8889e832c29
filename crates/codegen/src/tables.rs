//! Look-ups in tables of clauses (`term::table`).

use crate::lower::{Kind, Lower, field};
use compiler::ir::{BlockId, Column, ConstantId, Operand, Reg};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types::I64};
use term::table::{HASH_BITS, MULTIPLIER};
use term::word::TAG_BITS;

/// A slot is a key and what comes next.
const SLOT_SHIFT: i64 = 4;

impl Lower<'_, '_> {
    /// The address of a table.
    fn table(&mut self, table: ConstantId) -> Value {
        let constants = self.worker_field(field!(constants));
        self.load(constants, 8 * i64::from(table.0))
    }

    /// A word of a row.
    pub(crate) fn load_column(&mut self, column: Column) -> Value {
        let (table, row) = (self.table(column.table), self.read(column.row));
        let address = self.b.ins().iadd(table, row);
        self.load(address, 8 * i64::from(column.index))
    }

    pub(crate) fn column(&mut self, dst: Reg, column: Column) {
        let word = self.load_column(column);
        self.define_as(dst, word, Kind::Value);
    }

    /// Ends the block: to `yes` with what the node says of the key, to `no`, or to `unbound`.
    pub(crate) fn lookup(
        &mut self,
        table: ConstantId,
        node: Operand,
        (key, next): (Reg, Reg),
        [yes, no, unbound]: [BlockId; 3],
    ) {
        self.flush();
        let start = self.b.create_block();
        self.b.ins().jump(start, &[]);
        self.b.switch_to_block(start);
        let word = self.read_raw(key);
        if self.kind(Operand::Reg(key)).is_none() {
            let other = self.cold_block();
            self.follow(key, word, start, unbound, other, |_, _| {});
            self.enter_block(other);
        }
        self.b.seal_block(start);
        let no = self.edge(no, &[]);
        let (node, table) = (self.operand(node), self.table(table));
        let node = self.b.ins().iadd(table, node);
        let shift = self.load(node, 0);
        let shift = self.b.ins().ushr_imm_u(shift, i64::from(TAG_BITS));
        let product = self.b.ins().imul_imm_s(word, MULTIPLIER as i64);
        let product = self.b.ins().ushr_imm_u(product, i64::from(u64::BITS - HASH_BITS));
        let home = self.b.ins().ushr(product, shift);
        let distance = self.b.ins().ishl_imm_u(home, SLOT_SHIFT);
        let first = self.b.ins().iadd(node, distance);

        let (probe, used, found, other) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block(), self.cold_block());
        let slot = self.b.append_block_param(probe, I64);
        self.b.ins().jump(probe, &[first.into()]);
        self.b.switch_to_block(probe);
        let there = self.load(slot, 16);
        self.b.ins().brif(there, used, &[], no, &[]);
        self.enter_block(used);
        let known = self.load(slot, 8);
        let equal = self.b.ins().icmp(IntCC::Equal, known, word);
        self.b.ins().brif(equal, found, &[], other, &[]);
        self.enter_block(other);
        let following = self.b.ins().iadd_imm_s(slot, 1 << SLOT_SHIFT);
        self.b.ins().jump(probe, &[following.into()]);
        self.b.seal_block(probe);
        self.enter_block(found);
        self.define_as(next, there, Kind::INT);
        let yes = self.edge(yes, &[]);
        self.b.ins().jump(yes, &[]);
    }
}
