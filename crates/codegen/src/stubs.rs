//! Machine code that every image needs and that does not depend on the program, written by hand.
//!
//! ```text
//! registers in a tail function   rdi worker   rsi heap   rdx goals   rcx selector (component with several entries)
//! ```
//! - *thunk*: calls a helper and keeps every general register, so that a call on a cold path costs the hot path
//!   nothing. Callers use Cranelift's `preserve_all` convention (G2). Operands and the answer go through memory:
//!   registers that a cold call prescribes would make the allocator move values about on the hot path.
//! - *leave* routines: where a reduction ends in the scheduler's or a helper's hands.

use std::mem::offset_of;
use term::abi::{Helpers, OPERANDS_MAX, Status, WorkerAbi};

/// `enter`'s frame (F1): after the return address and six registers, `rsp` becomes a multiple of 16.
const FRAME: usize = crate::frame::FRAME_BYTES as usize + 8;

const HELPERS: usize = offset_of!(WorkerAbi, helpers);
/// Where a thunk takes a helper's operands: from the end of the worker's operands, whose beginning the inputs of
/// builtins use (predicates have at most 255 arguments, and builtins' helpers two operands).
pub(crate) const fn operand(index: usize) -> usize {
    offset_of!(WorkerAbi, operands) + 8 * (OPERANDS_MAX - 1 - index)
}
/// Where a thunk leaves a helper's answer.
pub(crate) const ANSWER: usize = operand(0);
const _: () = assert!(term::layout::GOAL_ARITY_MAX + 2 <= OPERANDS_MAX);

/// A helper that generated code calls through a thunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Helper {
    Unify,
    Remember,
    Arith,
    GuardArith,
    Compare,
    Guard,
    Builtin,
    MoveToPriority,
    MoveToNode,
    GrowGoals,
    Pend,
}

impl Helper {
    pub(crate) const ALL: [Helper; 11] = [
        Helper::Unify,
        Helper::Remember,
        Helper::Arith,
        Helper::GuardArith,
        Helper::Compare,
        Helper::Guard,
        Helper::Builtin,
        Helper::MoveToPriority,
        Helper::MoveToNode,
        Helper::GrowGoals,
        Helper::Pend,
    ];

    /// Where its address lies in the worker.
    fn offset(self) -> usize {
        HELPERS
            + match self {
                Helper::Unify => offset_of!(Helpers, unify),
                Helper::Remember => offset_of!(Helpers, remember),
                Helper::Arith => offset_of!(Helpers, arith),
                Helper::GuardArith => offset_of!(Helpers, guard_arith),
                Helper::Compare => offset_of!(Helpers, compare),
                Helper::Guard => offset_of!(Helpers, guard),
                Helper::Builtin => offset_of!(Helpers, builtin),
                Helper::MoveToPriority => offset_of!(Helpers, move_to_priority),
                Helper::MoveToNode => offset_of!(Helpers, move_to_node),
                Helper::GrowGoals => offset_of!(Helpers, grow_goals),
                Helper::Pend => offset_of!(Helpers, pend),
            }
    }

    /// Operands after the worker.
    pub(crate) fn operands(self) -> usize {
        match self {
            Helper::GrowGoals => 0,
            Helper::Remember | Helper::Guard | Helper::MoveToNode => 1,
            Helper::Builtin | Helper::MoveToPriority | Helper::Pend => 2,
            Helper::Unify | Helper::GuardArith | Helper::Compare => 3,
            Helper::Arith => 4,
        }
    }

    /// Whether it answers a word.
    pub(crate) fn answers(self) -> bool {
        matches!(self, Helper::Arith | Helper::GuardArith | Helper::Compare | Helper::Guard)
    }
}

/// Ends of a reduction that leave generated code; tail functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Leave {
    /// Attends to resumed goals and starts the goal on top of the stack; if that is not all, returns `Status::Poll`.
    Poll,
    /// Returns `Status::Native`: the entry of predicates that the runtime implements.
    Native,
    /// Returns `Status::Fail`.
    Fail,
    /// Suspends the goal on top of the stack, then starts the next one.
    Suspend,
}

impl Leave {
    pub(crate) const ALL: [Leave; 4] = [Leave::Poll, Leave::Native, Leave::Fail, Leave::Suspend];
}

/// Machine code being written.
#[derive(Default)]
pub(crate) struct Assembler {
    pub(crate) bytes: Vec<u8>,
}

impl Assembler {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
    /// An instruction that ends in a displacement from the worker.
    fn put_field(&mut self, opcode: &[u8], offset: usize) {
        self.put(opcode);
        self.put(&(offset as u32).to_le_bytes());
    }
    /// Continues at the beginning of a cache line; the gap traps. (At multiples of 16, how fast a loop was depended
    /// by 7 % on where it happened to lie.)
    pub(crate) fn align(&mut self) -> u32 {
        while !self.bytes.len().is_multiple_of(64) {
            self.bytes.push(0xcc);
        }
        self.bytes.len() as u32
    }
    fn store_state(&mut self) {
        self.put_field(&[0x48, 0x89, 0xb7], offset_of!(WorkerAbi, heap)); // mov [rdi+heap], rsi
        self.put_field(&[0x48, 0x89, 0x97], offset_of!(WorkerAbi, goals)); // mov [rdi+goals], rdx
    }
    fn load_state(&mut self) {
        self.put_field(&[0x48, 0x8b, 0xb7], offset_of!(WorkerAbi, heap)); // mov rsi, [rdi+heap]
        self.put_field(&[0x48, 0x8b, 0x97], offset_of!(WorkerAbi, goals)); // mov rdx, [rdi+goals]
    }

    /// `fn(worker)`, keeping every general register, and the low halves of vector registers if wanted (G2); operands
    /// and answer pass through memory ([`operand`]).
    pub(crate) fn thunk(&mut self, helper: Helper, vectors: bool) -> u32 {
        let start = self.align();
        self.put(&[0x50, 0x51, 0x52, 0x56, 0x57]); // push rax rcx rdx rsi rdi
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
    /// Goes to the goal on top of the stack.
    fn proceed(&mut self) {
        self.load_state();
        self.put(&[0x48, 0x8b, 0x42, 0xf8]); // mov rax, [rdx-8]
        self.put_field(&[0x48, 0x8b, 0x8f], offset_of!(WorkerAbi, entries)); // mov rcx, [rdi+entries]
        self.put(&[0xff, 0x24, 0x01]); // jmp [rcx+rax]
    }

    /// A tail function that ends a reduction.
    pub(crate) fn leave(&mut self, leave: Leave) -> u32 {
        let start = self.align();
        self.store_state();
        let status = match leave {
            Leave::Poll => {
                self.call(offset_of!(Helpers, attend));
                self.put(&[0x84, 0xc0, 0x74, 0]); // test al, al; jz over the following
                let after = self.bytes.len();
                self.proceed();
                self.bytes[after - 1] = (self.bytes.len() - after) as u8;
                Status::Poll
            }
            Leave::Native => Status::Native,
            Leave::Fail => Status::Fail,
            Leave::Suspend => {
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
    pub(crate) fn enter(&mut self) -> u32 {
        let start = self.align();
        self.put(&[0x55, 0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57]); // push rbp rbx r12-r15
        self.put_field(&[0x48, 0x81, 0xec], FRAME); // sub rsp, FRAME
        self.put(&[0x48, 0x89, 0xf0]); // mov rax, rsi
        self.load_state();
        self.put(&[0xff, 0xe0]); // jmp rax
        start
    }

    /// An entry of a component with several: what its code expects of registers. Answers its start and where the
    /// distance to the component is to be written.
    pub(crate) fn entry(&mut self, moves: &[u8], selector: Option<u32>) -> (u32, u32) {
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
