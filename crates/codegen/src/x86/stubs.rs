//! Machine code that every image needs and that does not depend on the program, written by hand.
//!
//! ```text
//! registers in a tail function   rdi worker   rsi heap   rdx goals   rcx selector (component with several entries)
//! ```
//! - *thunk*: calls a helper and keeps every general register, so that a call on a cold path costs the hot path
//!   nothing. Callers use Cranelift's `preserve_all` convention (G2). Operands and the answer go through memory:
//!   registers that a cold call prescribes would make the allocator move values about on the hot path.
//!   What is called on the hot path, builtins, gets its operands in registers, by the system's convention: its thunk
//!   only jumps to it.
//! - *leave* routines: where a reduction ends in the scheduler's or a helper's hands.

use crate::helpers::{ANSWER, HELPERS, Helper, Leave, SLOTS, operand};
use crate::options::Workers;
use crate::x86::assembler::{Assembler, CELL};
use std::mem::offset_of;
use term::abi::{Helpers, PRIVATE_BYTES, SPENT_ARITIES, Status, WorkerAbi};
use term::layout::{
    self, SUSPENSION_ARGS, SUSPENSION_BEFORE, SUSPENSION_NEXT, SUSPENSION_PREDICATE, SUSPENSION_PRIORITY,
};
use term::word::{TAG_BITS, Tag, UNBOUND, object_header};

/// `enter`'s frame (F1): after the return address and six registers, `rsp` becomes a multiple of 16.
const FRAME: usize = crate::x86::frame::FRAME_BYTES as usize + 8;

const _: () =
    assert!(UNBOUND.bits() < 0x80 && PRIVATE_BYTES >> TAG_BITS < 1 << 31 && 8 * SPENT_ARITIES <= 128);

impl Assembler {
    fn store_state(&mut self) {
        self.put_field(&[0x48, 0x89, 0xb7], offset_of!(WorkerAbi, heap)); // mov [rdi+heap], rsi
        self.put_field(&[0x48, 0x89, 0x97], offset_of!(WorkerAbi, goals)); // mov [rdi+goals], rdx
    }
    fn load_state(&mut self) {
        self.put_field(&[0x48, 0x8b, 0xb7], offset_of!(WorkerAbi, heap)); // mov rsi, [rdi+heap]
        self.put_field(&[0x48, 0x8b, 0x97], offset_of!(WorkerAbi, goals)); // mov rdx, [rdi+goals]
    }

    /// `fn(worker)`, keeping every general register, and the low halves of vector registers if wanted (G2); operands
    /// and answer pass through memory ([`operand`]). Or just a jump to the helper ([`Helper::in_registers`]).
    pub(crate) fn put_thunk(&mut self, helper: Helper, vectors: bool) -> u32 {
        let start = self.next_line();
        if helper.in_registers() {
            self.put_field(&[0xff, 0xa7], helper.offset()); // jmp [rdi+helper]
            return start;
        }
        self.put(&[0x50, 0x51, 0x52]); // push rax rcx rdx
        match helper {
            Helper::Unify => self.unify_here(),
            Helper::Arith => self.compute_here(),
            _ => {}
        }
        self.put(&[0x56, 0x57]); // push rsi rdi
        self.put(&[0x41, 0x50, 0x41, 0x51, 0x41, 0x52, 0x41, 0x53]); // push r8 r9 r10 r11
        let loads = [[0x48, 0x8b, 0xb7], [0x48, 0x8b, 0x97], [0x48, 0x8b, 0x8f], [0x4c, 0x8b, 0x87]];
        for (index, load) in loads.iter().enumerate().take(helper.operands()) {
            self.put_field(load, operand(index)); // mov rsi|rdx|rcx|r8, [rdi+operand]
        }
        if vectors {
            self.put(&[0x48, 0x83, 0xc4, 0x80]); // add rsp, -128
            self.vectors(0x11); // movsd [rsp+8*i], xmm(i)
        }
        self.put_field(&[0xff, 0x97], helper.offset()); // call [rdi+helper]
        if vectors {
            self.vectors(0x10); // movsd xmm(i), [rsp+8*i]
            self.put(&[0x48, 0x83, 0xec, 0x80]); // sub rsp, -128
        }
        self.put(&[0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58]); // pop r11 r10 r9 r8
        self.put(&[0x5f, 0x5e, 0x5a, 0x59]); // pop rdi rsi rdx rcx
        if helper.answers() {
            self.put_field(&[0x48, 0x89, 0x87], ANSWER); // mov [rdi+answer], rax
        }
        self.put(&[0x58, 0xc3]); // pop rax; ret
        start
    }

    /// `movsd` of each vector register with its place at the top of the stack.
    fn vectors(&mut self, opcode: u8) {
        for register in 0..16u8 {
            self.put(&[0xf2]);
            if register >= 8 {
                self.put(&[0x44]);
            }
            self.put(&[0x0f, opcode, 0x44 | (register & 7) << 3, 0x24, 8 * register]);
        }
    }

    /// Calls a helper that takes the worker alone, and may change what is on the goal stack.
    fn call(&mut self, helper: usize) {
        self.put(&[0x48, 0x89, 0xfb]); // mov rbx, rdi
        self.put_field(&[0xff, 0x97], HELPERS + helper); // call [rdi+helper]
        self.put(&[0x48, 0x89, 0xdf]); // mov rdi, rbx
    }
    /// Calls a helper; goes to the goal on top of the stack if it answers true.
    fn proceed_if(&mut self, helper: usize) {
        self.call(helper);
        self.put(&[0x84, 0xc0, 0x74, 0]); // test al, al; jz over the following
        let after = self.bytes.len();
        self.proceed();
        self.bytes[after - 1] = (self.bytes.len() - after) as u8;
    }
    /// Goes to the goal on top of the stack.
    fn proceed(&mut self) {
        self.load_state();
        self.start_goal();
    }
    /// The same, if heap and goals are in their registers.
    fn start_goal(&mut self) {
        self.put(&[0x48, 0x8b, 0x42, 0xf8]); // mov rax, [rdx-8]
        self.put_field(&[0x48, 0x8b, 0x8f], offset_of!(WorkerAbi, entries)); // mov rcx, [rdi+entries]
        self.put(&[0xff, 0x24, 0x01]); // jmp [rcx+rax]
    }

    /// All tail functions that end a reduction, by number.
    pub(crate) fn put_leaves(&mut self, workers: Workers) -> Vec<u32> {
        let mut leaves = Leave::FIRST.map(|leave| self.leave(leave, workers)).to_vec();
        let suspend = leaves[Leave::Suspend(SPENT_ARITIES).number()];
        for arity in 0..SPENT_ARITIES {
            let one = self.suspend_one(arity, suspend);
            leaves.extend([one, self.suspend(one, suspend)]);
        }
        for arity in 0..SPENT_ARITIES {
            for suspend in [Leave::SuspendOne(arity), Leave::Suspend(arity)] {
                leaves.push(self.settle(arity, leaves[suspend.number()]));
            }
        }
        leaves
    }

    /// Suspends the goal on top of the stack on what is `pending`: in `one` if that is one variable, else in `other`.
    fn suspend(&mut self, one: u32, other: u32) -> u32 {
        let start = self.next_line();
        self.put_field(&[0x48, 0x83, 0xbf], offset_of!(WorkerAbi, pending_count)); // cmp [rdi+pending_count], 1
        self.put(&[1]);
        self.jump_back(&[0x0f, 0x84], one); // je
        self.jump_back(&[0xe9], other); // jmp
        start
    }

    /// Suspends the goal on top of the stack on the first variable in `pending`. (In a register it would cost more:
    /// the allocator knows no cold jumps, and moves values about on the hot path.) If its cell is private and no other
    /// goal waits for it, makes the record (`term::layout`) here, of one that is spent if there is one; else goes on in
    /// `other`.
    fn suspend_one(&mut self, arity: usize, other: u32) -> u32 {
        let start = self.next_line();
        self.put_field(&[0x48, 0x8b, 0x87], offset_of!(WorkerAbi, pending)); // mov rax, [rdi+pending]
        self.put(&[0x48, 0x83, 0x78, CELL, UNBOUND.bits() as u8]); // cmp [rax+CELL], UNBOUND
        let has_goals = self.jump_ahead(&[0x0f, 0x85]); // jne
        self.put(&[0x48, 0x89, 0xc1, 0x48, 0xc1, 0xc9, TAG_BITS as u8]); // mov rcx, rax; ror rcx, TAG_BITS
        self.put_field(&[0x48, 0x2b, 0x8f], offset_of!(WorkerAbi, private_base)); // sub rcx, [rdi+private_base]
        self.put_field(&[0x48, 0x81, 0xf9], PRIVATE_BYTES >> TAG_BITS); // cmp rcx, end
        let shared = self.jump_ahead(&[0x0f, 0x83]); // jae

        let newest = offset_of!(WorkerAbi, spent) + 8 * arity;
        self.put_field(&[0x4c, 0x8b, 0x87], newest); // mov r8, [rdi+spent]
        self.put(&[0x4d, 0x85, 0xc0]); // test r8, r8
        let none = self.jump_ahead(&[0x0f, 0x84]); // jz
        self.put_field(&[0x49, 0x8b, 0x88], 8 * SUSPENSION_NEXT); // mov rcx, [r8+next]
        self.put_field(&[0x48, 0x89, 0x8f], newest); // mov [rdi+spent], rcx
        self.put_field(&[0x48, 0xff, 0x87], offset_of!(WorkerAbi, reused)); // inc [rdi+reused]
        let filled = self.bytes.len() as u32;
        self.fill_record(arity);
        self.start_goal();

        self.land(none);
        self.fresh_record(arity);
        self.jump_back(&[0xe9], filled); // jmp

        self.land(has_goals);
        self.land(shared);
        self.put_field(&[0x48, 0xc7, 0x87], offset_of!(WorkerAbi, pending_count)); // mov [rdi+pending_count], 1
        self.put(&1u32.to_le_bytes());
        self.jump_back(&[0xe9], other); // jmp
        start
    }

    /// Makes variables of the slots that the goal on top of the stack leads to, and goes on in `suspend`.
    fn settle(&mut self, arity: usize, suspend: u32) -> u32 {
        let start = self.next_line();
        self.put_field(&[0x48, 0x8b, 0x8f], SLOTS); // mov rcx, [rdi+SLOTS]
        let again = self.bytes.len();
        self.put(&[0x48, 0x0f, 0xbc, 0xc1]); // bsf rax, rcx
        self.put(&[0x4c, 0x8d, 0x44, 0xc2, (-8 * (arity as i32 + 1)) as u8]); // lea r8, [rdx+8*rax-n]
        self.put(&[0x4d, 0x8b, 0x08]); // mov r9, [r8]
        // mov eax, r9d; and eax, 7; cmp eax, HEADER
        self.put(&[0x44, 0x89, 0xc8, 0x83, 0xe0, 7, 0x83, 0xf8, Tag::Header as u8]);
        self.put(&[0x75, 0]); // jne over the following
        let after = self.bytes.len();
        self.put(&[0x48, 0xc7, 0x06]); // mov [rsi], UNBOUND
        self.put(&(UNBOUND.bits() as u32).to_le_bytes());
        self.put(&[0x48, 0x8d, 0x46, Tag::Ref as u8]); // lea rax, [rsi+REF]
        self.put(&[0x49, 0x89, 0x41, (-(Tag::Header as i8)) as u8]); // mov [r9-HEADER], rax
        self.put(&[0x49, 0x89, 0x00]); // mov [r8], rax
        self.put(&[0x48, 0x83, 0xc6, 8]); // add rsi, 8
        self.bytes[after - 1] = (self.bytes.len() - after) as u8;
        self.put(&[0x48, 0x8d, 0x41, 0xff, 0x48, 0x21, 0xc1, 0x75, 0]); // lea rax, [rcx-1]; and rcx, rax; jnz again
        let end = self.bytes.len();
        self.bytes[end - 1] = (again as i64 - end as i64) as u8;
        self.jump_back(&[0xe9], suspend); // jmp
        start
    }

    /// Moves the goal on top of the stack to the record at `r8`, which then hangs at the variable in `rax`.
    fn fill_record(&mut self, arity: usize) {
        self.put_field(&[0x49, 0xc7, 0x80], 8 * SUSPENSION_NEXT); // mov [r8+next], UNBOUND
        self.put(&(UNBOUND.bits() as u32).to_le_bytes());
        for index in 0..=arity {
            let place = if index == arity { SUSPENSION_PREDICATE } else { SUSPENSION_ARGS + index };
            self.put(&[0x48, 0x8b, 0x4a, (8 * (index as i32 - arity as i32 - 1)) as u8]); // mov rcx, [rdx-n]
            self.put_field(&[0x49, 0x89, 0x88], 8 * place); // mov [r8+place], rcx
        }
        self.put_field(&[0x48, 0x81, 0xea], 8 * (arity + 1)); // sub rdx, n
        self.put_field(&[0x48, 0x8b, 0x8f], offset_of!(WorkerAbi, priority)); // mov rcx, [rdi+priority]
        self.put(&[0x48, 0xc1, 0xe1, TAG_BITS as u8]); // shl rcx, TAG_BITS
        self.put_field(&[0x49, 0x89, 0x88], 8 * SUSPENSION_PRIORITY); // mov [r8+priority], rcx
        self.put(&[0x49, 0x83, 0xc0, Tag::Var as u8]); // add r8, VAR
        self.put(&[0x4c, 0x89, 0x40, CELL]); // mov [rax+CELL], r8
    }

    /// A new record at `r8`.
    fn fresh_record(&mut self, arity: usize) {
        let words = SUSPENSION_ARGS + arity;
        self.put(&[0x49, 0x89, 0xf0]); // mov r8, rsi
        self.put(&[0x48, 0xb9]); // mov rcx, header
        self.put(&object_header(layout::SUSPENSION, words - 1).bits().to_le_bytes());
        self.put(&[0x49, 0x89, 0x08]); // mov [r8], rcx
        self.put_field(&[0x48, 0x8b, 0x8f], offset_of!(WorkerAbi, suspensions)); // mov rcx, [rdi+suspensions]
        self.put_field(&[0x49, 0x89, 0x88], 8 * SUSPENSION_BEFORE); // mov [r8+before], rcx
        self.put_field(&[0x4c, 0x89, 0x87], offset_of!(WorkerAbi, suspensions)); // mov [rdi+suspensions], r8
        self.put_field(&[0x48, 0x81, 0xc6], 8 * words); // add rsi, n
    }

    /// A tail function that ends a reduction.
    fn leave(&mut self, leave: Leave, workers: Workers) -> u32 {
        let start = self.next_line();
        if leave == Leave::Poll {
            self.attend(workers);
        }
        self.store_state();
        let status = match leave {
            Leave::Poll => {
                self.proceed_if(offset_of!(Helpers, attend));
                Status::Poll
            }
            Leave::Native => {
                self.proceed_if(offset_of!(Helpers, native));
                Status::Native
            }
            Leave::Fail => Status::Fail,
            Leave::Suspend(_) | Leave::SuspendOne(_) | Leave::Settle(_) | Leave::SettleOne(_) => {
                self.call(offset_of!(Helpers, suspend));
                self.proceed();
                return start;
            }
        };
        self.put(&[0xb8]); // mov eax, status
        self.put(&(status as u32).to_le_bytes());
        self.put_field(&[0x48, 0x81, 0xc4], FRAME); // add rsp, FRAME
        self.put(&[0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5b, 0x5d, 0xc3]); // pop r15-r12 rbx rbp; ret
        start
    }

    /// `extern "C" fn(worker, entry) -> status`: from Rust into generated code. Its end is in the leave routines.
    pub(crate) fn put_enter(&mut self) -> u32 {
        let start = self.next_line();
        self.put(&[0x55, 0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57]); // push rbp rbx r12-r15
        self.put_field(&[0x48, 0x81, 0xec], FRAME); // sub rsp, FRAME
        self.put(&[0x48, 0x89, 0xf0]); // mov rax, rsi
        self.load_state();
        self.put(&[0xff, 0xe0]); // jmp rax
        start
    }

    /// An entry of a component with several: what its code expects of registers. Answers its start and where the
    /// distance to the component is to be written.
    pub(crate) fn put_entry(&mut self, moves: &[u8], selector: Option<u32>) -> (u32, u32) {
        let start = self.bytes.len() as u32;
        self.put(moves);
        if let Some(selector) = selector {
            self.put(&[0xb9]); // mov ecx, selector
            self.put(&selector.to_le_bytes());
        }
        self.put(&[0xe9, 0, 0, 0, 0]); // jmp component
        (start, self.bytes.len() as u32 - 4)
    }
}
