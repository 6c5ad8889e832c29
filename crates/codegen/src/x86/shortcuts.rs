//! Hand-written beginnings of thunks: what a helper is not needed for. They stand once in an image, so that generated
//! code has the usual case alone at each place, and one block for all others.

use crate::helpers::{ANSWER, FIRST_OPERAND, GENERATOR_BIT, operand};
use crate::x86::assembler::{Assembler, CELL};
use std::mem::offset_of;
use term::abi::{IntOp, PRIVATE_BYTES, WorkerAbi};
use term::word::{TAG_BITS, Tag, UNBOUND};

const _: () = assert!(GENERATOR_BIT.count_ones() == 1 && Tag::Ref as u8 == 1 && UNBOUND.bits() == 7);

impl Assembler {
    /// Unifies `rax` and `rcx`, which are saved like `rdx` (`thunk`), if one is a private variable (C6 of `term::abi`)
    /// and what is left to do is a store: of a value in a variable, perhaps with goals that wait for it
    /// (`WorkerAbi::resumed`), or of a REF in one of two variables. Goes on where the helper is needed.
    pub(crate) fn unify_here(&mut self) {
        let mut helper = Vec::new();
        self.put_field(&[0x48, 0x8b, 0x87], operand(0)); // mov rax, [rdi+a]
        self.put_field(&[0x48, 0x8b, 0x8f], operand(1)); // mov rcx, [rdi+b]
        let again = self.place();
        let reference = self.reference_in_rcx();

        // rcx is a value.
        let value = self.place();
        let other = self.reference_in_rax();
        let two_values = self.jump_ahead(&[0xe9]); // jmp
        self.land(other);
        let bound = self.bound_in_rax();
        helper.extend([two_values, self.unless_private(RAX)]);
        self.put(&[0x48, 0x8b, 0x50, CELL]); // mov rdx, [rax+CELL]
        self.put(&[0x48, 0x83, 0xfa, UNBOUND.bits() as u8]); // cmp rdx, UNBOUND
        let nobody_waits = self.jump_ahead(&[0x0f, 0x84]); // je
        self.put_field(&[0x48, 0x83, 0xbf], offset_of!(WorkerAbi, resumed)); // cmp [rdi+resumed], 0
        self.put(&[0]);
        helper.push(self.jump_ahead(&[0x0f, 0x85])); // jne
        self.put(&[0xf6, 0x42, (-(Tag::Var as i8)) as u8, GENERATOR_BIT]); // test byte [rdx-VAR], GENERATOR_BIT
        helper.push(self.jump_ahead(&[0x0f, 0x85])); // jnz
        self.put(&[0x48, 0x83, 0xea, Tag::Var as u8]); // sub rdx, VAR
        self.put_field(&[0x48, 0x89, 0x97], offset_of!(WorkerAbi, resumed)); // mov [rdi+resumed], rdx
        self.put_field(&[0x48, 0x8b, 0x97], offset_of!(WorkerAbi, goals)); // mov rdx, [rdi+goals]
        self.put_field(&[0x48, 0x89, 0x97], offset_of!(WorkerAbi, resumed_at)); // mov [rdi+resumed_at], rdx
        self.put_field(&[0x48, 0xc7, 0x87], offset_of!(WorkerAbi, limit)); // mov [rdi+limit], 0
        self.put(&[0; 4]);
        self.land(nobody_waits);
        self.put(&[0x48, 0x89, 0x48, CELL]); // mov [rax+CELL], rcx
        let done = self.place();
        self.put(&[0x5a, 0x59, 0x58, 0xc3]); // pop rdx rcx rax; ret
        self.land(bound);
        self.put(&[0x48, 0x8b, 0x40, CELL]); // mov rax, [rax+CELL]
        self.jump_back(&[0xe9], value); // jmp

        self.land(reference);
        let bound = self.bound_in_rcx();
        self.put(&[0x48, 0x83, 0x79, CELL, UNBOUND.bits() as u8]); // cmp [rcx+CELL], UNBOUND
        let waited_for = self.jump_ahead(&[0x0f, 0x85]); // jne
        let variable = self.place();
        helper.extend(self.unify_with_variable(value, done));
        self.land(bound);
        self.put(&[0x48, 0x8b, 0x49, CELL]); // mov rcx, [rcx+CELL]
        self.jump_back(&[0xe9], again); // jmp
        self.land(waited_for);
        helper.push(self.unify_the_other(value, variable));
        helper.into_iter().for_each(|jump| self.land(jump));
    }

    /// The same, where `rcx` is a variable that goals wait for: it comes into `rax`. Jumps to `value` with a value in
    /// `rcx`, to `variable` with a variable that nobody waits for, and, by the jump that it answers, to the helper.
    fn unify_the_other(&mut self, value: u32, variable: u32) -> usize {
        self.put(&[0x48, 0x91]); // xchg rax, rcx
        let again = self.place();
        let reference = self.reference_in_rcx();
        self.jump_back(&[0xe9], value); // jmp
        self.land(reference);
        let bound = self.bound_in_rcx();
        self.put(&[0x48, 0x83, 0x79, CELL, UNBOUND.bits() as u8]); // cmp [rcx+CELL], UNBOUND
        self.jump_back(&[0x0f, 0x84], variable); // je
        let both_waited_for = self.jump_ahead(&[0xe9]); // jmp
        self.land(bound);
        self.put(&[0x48, 0x8b, 0x49, CELL]); // mov rcx, [rcx+CELL]
        self.jump_back(&[0xe9], again); // jmp
        both_waited_for
    }

    /// The same, where `rcx` is a variable that nobody waits for: jumps to `value` with one in `rcx` if there is one,
    /// to `done`, and, by the jumps that it answers, to the helper. The later one of two variables gets the REF, unless
    /// only the other one may be written (U3 of the runtime's `unify`).
    fn unify_with_variable(&mut self, value: u32, done: u32) -> [usize; 2] {
        let again = self.place();
        let variable = self.reference_in_rax();
        self.put(&[0x48, 0x91]); // xchg rax, rcx
        self.jump_back(&[0xe9], value); // jmp
        self.land(variable);
        let bound = self.bound_in_rax();
        self.put(&[0x48, 0x39, 0xc1]); // cmp rcx, rax
        self.jump_back(&[0x0f, 0x84], done); // je
        let earlier = self.jump_ahead(&[0x0f, 0x87]); // ja
        let public = self.unless_private(RAX);
        self.put(&[0x48, 0x83, 0x78, CELL, UNBOUND.bits() as u8]); // cmp [rax+CELL], UNBOUND
        let waited_for = self.jump_ahead(&[0x0f, 0x85]); // jne
        self.put(&[0x48, 0x89, 0x48, CELL]); // mov [rax+CELL], rcx
        self.jump_back(&[0xe9], done); // jmp
        self.land(earlier);
        self.land(waited_for);
        let both_public = self.unless_private(RCX);
        self.put(&[0x48, 0x89, 0x41, CELL]); // mov [rcx+CELL], rax
        self.jump_back(&[0xe9], done); // jmp
        self.land(bound);
        self.put(&[0x48, 0x8b, 0x40, CELL]); // mov rax, [rax+CELL]
        self.jump_back(&[0xe9], again); // jmp
        [public, both_public]
    }

    /// Follows the references that the operands of arithmetic are (also in memory), and adds, subtracts or multiplies
    /// if there are small integers behind them and the result is one; goes on where the helper is needed. `rax`, `rcx`
    /// and `rdx` are saved (`thunk`).
    pub(crate) fn compute_here(&mut self) {
        let (first, second) = (operand(FIRST_OPERAND), operand(FIRST_OPERAND + 1));
        self.put_field(&[0x48, 0x8b, 0x87], first); // mov rax, [rdi+a]
        self.follow_rax();
        self.put_field(&[0x48, 0x89, 0x87], first); // mov [rdi+a], rax
        self.put(&[0x48, 0x89, 0xc1]); // mov rcx, rax
        self.put_field(&[0x48, 0x8b, 0x87], second); // mov rax, [rdi+b]
        self.follow_rax();
        self.put_field(&[0x48, 0x89, 0x87], second); // mov [rdi+b], rax
        self.put(&[0x48, 0x91]); // xchg rax, rcx
        self.put(&[0x89, 0xc2, 0x09, 0xca, 0xf6, 0xc2, 7]); // mov edx, eax; or edx, ecx; test dl, 7
        let mut helper = vec![self.jump_ahead(&[0x0f, 0x85])]; // jnz
        self.put_field(&[0x8b, 0x97], operand(0)); // mov edx, [rdi+operation]
        let operations = [
            (IntOp::Add, &[0x48, 0x01, 0xc8][..]), // add rax, rcx
            (IntOp::Sub, &[0x48, 0x29, 0xc8]),     // sub rax, rcx
            // sar rax, TAG_BITS; imul rax, rcx
            (IntOp::Mul, &[0x48, 0xc1, 0xf8, TAG_BITS as u8, 0x48, 0x0f, 0xaf, 0xc1]),
        ];
        for (op, code) in operations {
            self.put(&[0x83, 0xfa, op as u8]); // cmp edx, op
            let other = self.jump_ahead(&[0x0f, 0x85]); // jne
            self.put(code);
            helper.push(self.jump_ahead(&[0x0f, 0x80])); // jo
            self.put_field(&[0x48, 0x89, 0x87], ANSWER); // mov [rdi+answer], rax
            self.put(&[0x5a, 0x59, 0x58, 0xc3]); // pop rdx rcx rax; ret
            self.land(other);
        }
        helper.into_iter().for_each(|jump| self.land(jump));
    }

    /// Follows the REF in `rax`, if it is one, up to a value or an unbound variable.
    fn follow_rax(&mut self) {
        let again = self.place();
        let reference = self.reference_in_rax();
        let value = self.jump_ahead(&[0xe9]); // jmp
        self.land(reference);
        let bound = self.bound_in_rax();
        let unbound = self.jump_ahead(&[0xe9]); // jmp
        self.land(bound);
        self.put(&[0x48, 0x8b, 0x40, CELL]); // mov rax, [rax+CELL]
        self.jump_back(&[0xe9], again); // jmp
        self.land(value);
        self.land(unbound);
    }

    /// A jump that is taken if the register holds a REF.
    fn reference_in_rax(&mut self) -> usize {
        self.put(&[0x8d, 0x50, CELL, 0xf6, 0xc2, 7]); // lea edx, [rax+CELL]; test dl, 7
        self.jump_ahead(&[0x0f, 0x84]) // jz
    }
    fn reference_in_rcx(&mut self) -> usize {
        self.put(&[0x8d, 0x51, CELL, 0xf6, 0xc2, 7]); // lea edx, [rcx+CELL]; test dl, 7
        self.jump_ahead(&[0x0f, 0x84]) // jz
    }

    /// A jump that is taken if the cell that the register leads to holds a value.
    fn bound_in_rax(&mut self) -> usize {
        self.put(&[0x8b, 0x50, CELL, 0xf7, 0xd2, 0xf6, 0xc2, 7]); // mov edx, [rax+CELL]; not edx; test dl, 7
        self.jump_ahead(&[0x0f, 0x85]) // jnz
    }
    fn bound_in_rcx(&mut self) -> usize {
        self.put(&[0x8b, 0x51, CELL, 0xf7, 0xd2, 0xf6, 0xc2, 7]); // mov edx, [rcx+CELL]; not edx; test dl, 7
        self.jump_ahead(&[0x0f, 0x85]) // jnz
    }

    /// A jump that is taken if the REF in a register, moved to `rdx` by these bytes, leads to no private cell.
    fn unless_private(&mut self, to_rdx: [u8; 3]) -> usize {
        self.put(&to_rdx);
        self.put(&[0x48, 0xc1, 0xca, TAG_BITS as u8]); // ror rdx, TAG_BITS
        self.put_field(&[0x48, 0x2b, 0x97], offset_of!(WorkerAbi, private_base)); // sub rdx, [rdi+private_base]
        self.put_field(&[0x48, 0x81, 0xfa], PRIVATE_BYTES >> TAG_BITS); // cmp rdx, end
        self.jump_ahead(&[0x0f, 0x83]) // jae
    }
}

/// `mov rdx, rax`
const RAX: [u8; 3] = [0x48, 0x89, 0xc2];
/// `mov rdx, rcx`
const RCX: [u8; 3] = [0x48, 0x89, 0xca];
