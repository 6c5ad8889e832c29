//! One stack frame for all generated code.
//!
//! A reduction only ever leaves by a jump, so a frame of its own for each function would be made and thrown away at
//! every goal. `enter` makes one frame and saves the registers that Rust wants back; [`strip`] takes the code that
//! makes and removes frames out of what Cranelift emits: entries lie behind the prologue, jumps to other functions
//! move to where the epilogue began.
//!
//! ```text
//! prologue   push rbp; mov rbp, rsp; [sub rsp, n]; [mov [rsp+..], saved register]..
//! exit       [mov saved register, [rsp+..]]..; [add rsp, n]; mov rsp, rbp; pop rbp; jmp target
//! ```
//! Invariants:
//! - F1 While generated code runs, `rsp` is where `enter` left it, a multiple of 16, with [`FRAME_BYTES`] above it
//!   that belong to the running function (its spill slots; nothing in them lives longer than a reduction).
//! - F2 A function whose slots need more moves `rsp` down by its own need behind its entry and back at its exits.
//! - F3 Every exit of a function is a jump that Cranelift lists among its call sites, behind exactly the instructions
//!   above.

use crate::processor::Start;
use crate::x86::assembler::TRAP;

/// Bytes of slots that a function may use without asking.
pub(crate) const FRAME_BYTES: u32 = 4096;

const PUSH_RBP: &[u8] = &[0x55, 0x48, 0x89, 0xe5];
const POP_RBP: &[u8] = &[0x48, 0x89, 0xec, 0x5d];
const NOP: [u8; 4] = [0x0f, 0x1f, 0x40, 0x00];
const JUMP_R10: &[u8] = &[0x41, 0xff, 0xe2];

/// What a function's prologue does.
struct Prologue {
    length: usize,
    /// Bytes of its frame.
    size: u32,
    /// The instructions that undo it, without those for `rbp`.
    undo: Vec<u8>,
}

/// Reads `[sub rsp, n]`.
fn frame_size(code: &[u8]) -> Option<(usize, u32)> {
    match *code {
        [0x48, 0x83, 0xec, size, ..] => Some((4, u32::from(size))),
        [0x48, 0x81, 0xec, a, b, c, d, ..] => Some((7, u32::from_le_bytes([a, b, c, d]))),
        _ => None,
    }
}

/// Reads `mov [rsp+offset], register` for a register that functions keep: its length, the offset, and the register.
fn saved_register(code: &[u8]) -> Option<(usize, u32, u8)> {
    let &[rex @ (0x48 | 0x4c), 0x89, mode, 0x24, ..] = code else { return None };
    let register = mode >> 3 & 7 | (rex & 4) << 1;
    let (length, offset) = match (mode & 0xc7, &code[4..]) {
        (0x04, _) => (4, 0),
        (0x44, &[offset, ..]) => (5, u32::from(offset)),
        (0x84, &[a, b, c, d, ..]) => (8, u32::from_le_bytes([a, b, c, d])),
        _ => return None,
    };
    matches!(register, 3 | 12..=15).then_some((length, offset, register))
}

/// The saves are the stores at rising neighbouring offsets up to the frame's end (which is rounded up to 16); a body
/// may begin with a store of its own, but to a lower slot.
fn prologue(code: &[u8]) -> Prologue {
    assert!(code.starts_with(PUSH_RBP), "a tail function begins with its frame");
    let mut at = PUSH_RBP.len();
    let Some((length, size)) = frame_size(&code[at..]) else {
        return Prologue { length: at, size: 0, undo: Vec::new() };
    };
    let subtract = at..at + length;
    at += length;
    let mut saves = Vec::new();
    let mut next = at;
    while let Some((length, offset, register)) = saved_register(&code[next..]) {
        let rising = saves.last().is_none_or(|&(_, last, before)| offset == last + 8 && register > before);
        if !rising {
            break;
        }
        saves.push((next..next + length, offset, register));
        next += length;
    }
    if saves.last().is_some_and(|&(_, last, _)| last + 8 < size - 8) {
        saves.clear();
    }
    let mut undo = Vec::new();
    for (bytes, ..) in &saves {
        let mut load = code[bytes.clone()].to_vec();
        load[1] = 0x8b;
        undo.extend(load);
        at = bytes.end;
    }
    let mut add = code[subtract].to_vec();
    add[2] = 0xc4;
    undo.extend(add);
    Prologue { length: at, size, undo }
}

/// Takes the frame out of a function. `returns` are the ends of its calls and jumps to other functions. Answers how
/// far its entry lies behind its start, and by how much the jump that ended at an offset moved to the front.
pub(crate) fn strip(code: &mut [u8], returns: impl Iterator<Item = u32>) -> (u32, Vec<(u32, u32)>) {
    let prologue = prologue(code);
    let small = prologue.size <= FRAME_BYTES;
    let mut moved = Vec::new();
    for end in returns {
        let end = end as usize;
        let length = if code[..end].ends_with(JUMP_R10) {
            JUMP_R10.len()
        } else if code[end - 5] == 0xe9 {
            5
        } else {
            assert!(code[end - 5] == 0xe8, "calls and jumps name their targets (F3)");
            continue;
        };
        let epilogue = end - length - POP_RBP.len();
        let start = epilogue - prologue.undo.len();
        assert!(code[epilogue..].starts_with(POP_RBP), "F3");
        assert!(code[start..epilogue] == prologue.undo, "F3");
        if small {
            code.copy_within(end - length..end, start);
            code[start + length..end].fill(TRAP);
            moved.push((end as u32, (end - length - start) as u32));
        } else {
            code[epilogue..epilogue + NOP.len()].copy_from_slice(&NOP);
        }
    }
    // F2: a large frame is still made, but not `rbp`.
    let entry = if small { prologue.length } else { PUSH_RBP.len() };
    (entry as u32, moved)
}

/// Follows the comparisons of the selector that a function begins with, for one selector: behind the last of
/// `comparisons` nothing looks at it any more. What is not as expected is left to run.
pub(crate) fn start(code: &[u8], entry: u32, selector: u32, comparisons: usize) -> Start {
    let mut start = Start { moves: Vec::new(), selects: comparisons > 0, at: entry };
    let (mut at, mut left) = (entry as usize, comparisons);
    while left > 0 {
        if let Some(length) = move_between_registers(&code[at..]) {
            start.moves.extend(&code[at..at + length]);
            at += length;
        } else if let Some((length, equal)) = compare_selector(&code[at..], selector)
            && let Some((branch, if_equal, distance)) = branch(&code[at + length..])
        {
            at += length + branch;
            if equal == if_equal {
                at = (at as i64 + i64::from(distance)) as usize;
            }
            left -= 1;
        } else {
            return Start { moves: Vec::new(), ..start };
        }
    }
    Start { selects: false, at: at as u32, ..start }
}

/// Reads `mov register, register`, neither of them the selector's.
fn move_between_registers(code: &[u8]) -> Option<usize> {
    let &[rex @ 0x48..=0x4f, 0x89 | 0x8b, mode @ 0xc0..=0xff, ..] = code else { return None };
    let selector = |field: u8, extension: u8| field & 7 == 1 && rex & extension == 0;
    (!selector(mode >> 3, 4) && !selector(mode, 1)).then_some(3)
}

/// Reads `test rcx, rcx` and `cmp rcx, n`: the length, and whether the selector is what it is compared with.
fn compare_selector(code: &[u8], selector: u32) -> Option<(usize, bool)> {
    match *code {
        [0x48, 0x85, 0xc9, ..] => Some((3, selector == 0)),
        [0x48, 0x83, 0xf9, n @ 0..0x80, ..] => Some((4, selector == u32::from(n))),
        [0x48, 0x81, 0xf9, a, b, c, d, ..] => Some((7, selector == u32::from_le_bytes([a, b, c, d]))),
        _ => None,
    }
}

/// Reads `jz` and `jnz`: the length, whether it jumps if equal, and how far behind its end.
fn branch(code: &[u8]) -> Option<(usize, bool, i32)> {
    match *code {
        [opcode @ (0x74 | 0x75), distance, ..] => Some((2, opcode == 0x74, i32::from(distance as i8))),
        [0x0f, opcode @ (0x84 | 0x85), a, b, c, d, ..] => {
            Some((6, opcode == 0x84, i32::from_le_bytes([a, b, c, d])))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `mov rsi, r11`; `cmp rcx, 1`; `jz +9`; `test rcx, rcx`; `jz +100`; others.
    const CODE: &[u8] = &[
        0x90, 0x4c, 0x89, 0xde, 0x48, 0x83, 0xf9, 0x01, 0x74, 0x09, 0x48, 0x85, 0xc9, 0x0f, 0x84, 100, 0, 0,
        0, 0x90,
    ];

    #[test]
    fn each_selector_leads_to_its_code() {
        let moves = vec![0x4c, 0x89, 0xde];
        let to = |at| Start { moves: moves.clone(), selects: false, at };
        assert_eq!(start(CODE, 1, 1, 1), to(19));
        assert_eq!(start(CODE, 1, 0, 2), to(119));
        assert_eq!(start(CODE, 1, 2, 2), to(19));
        assert_eq!(start(CODE, 4, 1, 1), Start { moves: Vec::new(), selects: false, at: 19 });
        assert_eq!(start(CODE, 4, 0, 0), Start { moves: Vec::new(), selects: false, at: 4 });
    }

    #[test]
    fn what_is_not_known_is_left_to_run() {
        let whole = Start { moves: Vec::new(), selects: true, at: 0 };
        assert_eq!(start(CODE, 0, 1, 1), whole, "nop");
        assert_eq!(start(&[0x48, 0x89, 0xce, 0x48, 0x85, 0xc9], 0, 1, 1), whole, "mov rsi, rcx");
        assert_eq!(start(&[0x48, 0x85, 0xc9, 0x75], 0, 1, 1), whole, "cut off");
    }
}
