//! What code generation knows of a processor besides what Cranelift knows: everything stands behind this trait, in a
//! folder for each processor.

use crate::helpers::Helper;
use crate::options::Workers;
use cranelift_codegen::binemit::Reloc;

/// Where the goals of one predicate begin in a component's code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// Moves between registers that come first.
    pub(crate) moves: Vec<u8>,
    /// Whether the selector must be in its register.
    pub(crate) selects: bool,
    /// Where the code goes on.
    pub(crate) at: u32,
}

/// The code that is being put together, in a processor's instructions.
pub(crate) trait Processor: Default {
    /// Its name, as `std::env::consts::ARCH` has it.
    const NAME: &'static str;
    /// How Cranelift notes a call or jump to another function of the image.
    const CALL: Reloc;
    /// Bytes before the end of such an instruction at which its distance is written.
    const DISTANCE_BYTES: u32;

    /// What was written so far.
    fn code(&mut self) -> &mut Vec<u8>;
    /// Continues where this function's code runs best from; answers the place. The gap traps.
    fn align(&mut self, function: &[u8]) -> u32;
    /// A routine that calls a helper and keeps all registers, the vector registers too if wanted (G2). Answers its
    /// place.
    fn thunk(&mut self, helper: Helper, vectors: bool) -> u32;
    /// The routines that end a reduction, by the numbers of [`Leave`](crate::helpers::Leave).
    fn leaves(&mut self, workers: Workers) -> Vec<u32>;
    /// `extern "C" fn(worker, entry) -> status`: from Rust into generated code. Answers its place.
    fn enter(&mut self) -> u32;
    /// An entry of a component with several: what its code expects of registers. Answers its place, and where the
    /// distance to the component is to be written.
    fn entry(&mut self, moves: &[u8], selector: Option<u32>) -> (u32, u32);
    /// Writes the distance from the place behind an instruction to its target.
    fn write_distance(&mut self, at: u32, distance: i32);

    /// Takes the frame out of a function (F1 to F3 of `frame`). `returns` are the ends of its calls and jumps to
    /// other functions. Answers how far its entry lies behind its start, and by how much the jump that ended at an
    /// offset moved to the front.
    fn strip(code: &mut [u8], returns: impl Iterator<Item = u32>) -> (u32, Vec<(u32, u32)>);
    /// Where the goals of one entry begin: follows the comparisons of the selector that a function begins with. Behind
    /// the last of `comparisons` nothing looks at it any more. What is not as expected is left to run.
    fn start(code: &[u8], entry: u32, selector: u32, comparisons: usize) -> Start;
}
