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

/// Bytes of slots that a function may use without asking.
pub(crate) const FRAME_BYTES: u32 = 4096;

const PUSH_RBP: &[u8] = &[0x55, 0x48, 0x89, 0xe5];
const POP_RBP: &[u8] = &[0x48, 0x89, 0xec, 0x5d];
const NOP: [u8; 4] = [0x0f, 0x1f, 0x40, 0x00];
const JUMP_R10: &[u8] = &[0x41, 0xff, 0xe2];
const TRAP: u8 = 0xcc;

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
