//! x86-64: routines written by hand, and what is taken out of the code that Cranelift makes for it.
//!
//! For: everything that knows instructions and registers.
//! It may know: the ABI, layouts of records, the helpers.
//! It never: looks at IR.

mod assembler;
mod attend;
mod frame;
mod loops;
mod shortcuts;
mod stubs;

use crate::helpers::Helper;
use crate::options::Workers;
use crate::processor::{Processor, Start};
pub(crate) use assembler::Assembler;
use cranelift_codegen::binemit::Reloc;

impl Processor for Assembler {
    const NAME: &'static str = "x86_64";
    const CALL: Reloc = Reloc::X86CallPCRel4;
    const DISTANCE_BYTES: u32 = 4;

    fn code(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
    fn align(&mut self, function: &[u8]) -> u32 {
        self.next_line();
        self.bytes.resize(self.bytes.len() + loops::shift(function), assembler::TRAP);
        self.place()
    }
    fn thunk(&mut self, helper: Helper, vectors: bool) -> u32 {
        self.put_thunk(helper, vectors)
    }
    fn leaves(&mut self, workers: Workers) -> Vec<u32> {
        self.put_leaves(workers)
    }
    fn enter(&mut self) -> u32 {
        self.put_enter()
    }
    fn entry(&mut self, moves: &[u8], selector: Option<u32>) -> (u32, u32) {
        self.put_entry(moves, selector)
    }
    fn write_distance(&mut self, at: u32, distance: i32) {
        self.bytes[at as usize..at as usize + 4].copy_from_slice(&distance.to_le_bytes());
    }
    fn strip(code: &mut [u8], returns: impl Iterator<Item = u32>) -> (u32, Vec<(u32, u32)>) {
        frame::strip(code, returns)
    }
    fn start(code: &[u8], entry: u32, selector: u32, comparisons: usize) -> Start {
        frame::start(code, entry, selector, comparisons)
    }
}
