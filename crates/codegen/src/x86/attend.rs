//! How generated code makes a resumed goal ready (C8 of `term::abi`), written by hand like all of `stubs`.

use crate::options::Workers;
use crate::x86::assembler::Assembler;
use std::mem::offset_of;
use term::abi::{PRIVATE_BYTES, SPENT_ARITIES, WorkerAbi};
use term::layout::{
    RESUMED, SUSPENSION, SUSPENSION_ARGS, SUSPENSION_NEXT, SUSPENSION_PREDICATE, SUSPENSION_PRIORITY,
};
use term::word::{SIZE_SHIFT, TAG_BITS, Tag, UNBOUND, object_header};

/// The most arguments of a goal that is made ready here: all their places in its record are near its beginning.
const ARGUMENTS_MAX: usize = 11;
const _: () = assert!(8 * (SUSPENSION_ARGS + ARGUMENTS_MAX - 1) < 0x80 && ARGUMENTS_MAX < SPENT_ARITIES);

/// The header of a record without arguments, as an instruction has it: the highest bit is that of an immediate's sign.
const HEADER: i64 = object_header(SUSPENSION, SUSPENSION_ARGS - 1).bits() as i64;

impl Assembler {
    /// Takes the goal in `abi.resumed` onto the goal stack and starts it. If that is not all there is to do, goes on
    /// behind this; then nothing has happened but that the limit may be restored.
    pub(crate) fn attend(&mut self, workers: Workers) {
        let mut refused = self.look_at_record();
        self.put_field(&[0x48, 0x89, 0x87], offset_of!(WorkerAbi, limit)); // mov [rdi+limit], rax
        self.put_field(&[0x4c, 0x8b, 0x97], offset_of!(WorkerAbi, woken)); // mov r10, [rdi+woken]
        self.put(&[0x41, 0x80, 0x3a, 0]); // cmp byte [r10], 0
        refused.push(self.jump_ahead(&[0x0f, 0x85])); // jne
        if workers == Workers::Several {
            self.put_field(&[0x4c, 0x8b, 0x97], offset_of!(WorkerAbi, poked)); // mov r10, [rdi+poked]
            self.put(&[0x41, 0x80, 0x3a, 0]); // cmp byte [r10], 0
            refused.push(self.jump_ahead(&[0x0f, 0x85])); // jne
            self.put_field(&[0x48, 0x83, 0xaf], offset_of!(WorkerAbi, turn_left)); // sub [rdi+turn_left], 1
            self.put(&[1]);
            refused.push(self.jump_ahead(&[0x0f, 0x88])); // js
        }
        self.take_goal();
        refused.into_iter().for_each(|jump| self.land(jump));
    }

    /// The limit to restore is in `rax`, the record in `r8`, its goal word in `rcx`, and 8 times the number of its
    /// arguments in `r9`, if nothing else is wanted. Answers jumps of all other cases.
    fn look_at_record(&mut self) -> Vec<usize> {
        let mut refused = Vec::new();
        self.put_field(&[0x4c, 0x8b, 0x87], offset_of!(WorkerAbi, resumed)); // mov r8, [rdi+resumed]
        self.put(&[0x4d, 0x85, 0xc0]); // test r8, r8
        refused.push(self.jump_ahead(&[0x0f, 0x84])); // jz
        self.put_field(&[0x48, 0x8b, 0x87], offset_of!(WorkerAbi, limit_after)); // mov rax, [rdi+limit_after]
        self.put(&[0x48, 0x39, 0xc6]); // cmp rsi, rax
        refused.push(self.jump_ahead(&[0x0f, 0x87])); // ja

        // A builtin, or a goal that was resumed before: that word is negative.
        self.put_field(&[0x49, 0x8b, 0x88], 8 * SUSPENSION_PREDICATE); // mov rcx, [r8+predicate]
        self.put_field(&[0x48, 0x3b, 0x8f], offset_of!(WorkerAbi, first_compiled)); // cmp rcx, [rdi+first_compiled]
        refused.push(self.jump_ahead(&[0x0f, 0x8c])); // jl

        // Anything but the size is then in the highest bits: the classes of records differ in their lowest bits.
        self.put(&[0x49, 0xb9]); // mov r9, -HEADER
        self.put(&HEADER.wrapping_neg().to_le_bytes());
        self.put(&[0x4d, 0x03, 0x08]); // add r9, [r8]
        self.put(&[0x49, 0xc1, 0xc9, SIZE_SHIFT as u8 - 3]); // ror r9, SIZE_SHIFT - 3
        self.put(&[0x49, 0x83, 0xf9, 8 * ARGUMENTS_MAX as u8]); // cmp r9, 8 * ARGUMENTS_MAX
        refused.push(self.jump_ahead(&[0x0f, 0x87])); // ja

        self.put_field(&[0x4c, 0x8b, 0x97], offset_of!(WorkerAbi, priority)); // mov r10, [rdi+priority]
        self.put(&[0x49, 0xc1, 0xe2, TAG_BITS as u8]); // shl r10, TAG_BITS
        self.put_field(&[0x4d, 0x3b, 0x90], 8 * SUSPENSION_PRIORITY); // cmp r10, [r8+priority]
        refused.push(self.jump_ahead(&[0x0f, 0x85])); // jne
        self.put_field(&[0x49, 0x83, 0xb8], 8 * SUSPENSION_NEXT); // cmp [r8+next], UNBOUND
        self.put(&[UNBOUND.bits() as u8]);
        refused.push(self.jump_ahead(&[0x0f, 0x85])); // jne
        self.put_field(&[0x48, 0x3b, 0x97], offset_of!(WorkerAbi, goals_limit)); // cmp rdx, [rdi+goals_limit]
        refused.push(self.jump_ahead(&[0x0f, 0x87])); // ja
        self.put(&[0x4d, 0x8d, 0x50, Tag::Ref as u8]); // lea r10, [r8+REF]
        self.put(&[0x49, 0xc1, 0xca, TAG_BITS as u8]); // ror r10, TAG_BITS
        self.put_field(&[0x4c, 0x2b, 0x97], offset_of!(WorkerAbi, private_base)); // sub r10, [rdi+private_base]
        self.put_field(&[0x49, 0x81, 0xfa], PRIVATE_BYTES >> TAG_BITS); // cmp r10, end
        refused.push(self.jump_ahead(&[0x0f, 0x83])); // jae
        refused
    }

    /// Takes the goal from that record, which is spent, and starts it.
    fn take_goal(&mut self) {
        self.put_field(&[0x48, 0xc7, 0x87], offset_of!(WorkerAbi, resumed)); // mov [rdi+resumed], 0
        self.put(&[0; 4]);
        self.put_field(&[0x48, 0xff, 0x87], offset_of!(WorkerAbi, made_ready)); // inc [rdi+made_ready]
        self.put_field(&[0x49, 0xc7, 0x80], 8 * SUSPENSION_PREDICATE); // mov [r8+predicate], RESUMED
        self.put(&(RESUMED.bits() as u32).to_le_bytes());
        self.put_field(&[0x4a, 0x8b, 0x84, 0x0f], offset_of!(WorkerAbi, spent)); // mov rax, [rdi+r9+spent]
        self.put_field(&[0x49, 0x89, 0x80], 8 * SUSPENSION_NEXT); // mov [r8+next], rax
        self.put_field(&[0x4e, 0x89, 0x84, 0x0f], offset_of!(WorkerAbi, spent)); // mov [rdi+r9+spent], r8
        // 8 bytes of code for each argument.
        let end = self.jump_ahead(&[0x4c, 0x8d, 0x15]); // lea r10, [rip+end]
        self.put(&[0x4d, 0x29, 0xca, 0x41, 0xff, 0xe2]); // sub r10, r9; jmp r10
        let moves = self.bytes.len();
        for index in (0..ARGUMENTS_MAX).rev() {
            self.put(&[0x49, 0x8b, 0x40, 8 * (SUSPENSION_ARGS + index) as u8]); // mov rax, [r8+argument]
            self.put(&[0x48, 0x89, 0x42, 8 * index as u8]); // mov [rdx+n], rax
        }
        debug_assert_eq!(self.bytes.len() - moves, 8 * ARGUMENTS_MAX);
        self.land(end);
        self.put(&[0x4a, 0x89, 0x0c, 0x0a]); // mov [rdx+r9], rcx
        self.put(&[0x4a, 0x8d, 0x54, 0x0a, 8]); // lea rdx, [rdx+r9+8]
        self.put_field(&[0x48, 0x8b, 0x87], offset_of!(WorkerAbi, entries)); // mov rax, [rdi+entries]
        self.put(&[0xff, 0x24, 0x08]); // jmp [rax+rcx]
    }
}
