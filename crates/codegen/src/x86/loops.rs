//! Where a function lies so that its short loops do: one that lies in two cache lines in place of one takes up to
//! twice as long, because the processor gets its instructions from one line in a cycle.

use crate::x86::assembler::LINE;
use std::ops::Range;

/// Constants in a function's code are aligned to this.
const STEP: usize = 16;
/// A longer loop does enough for this not to matter.
const LINES_MAX: usize = 4;

/// The distance from the beginning of a cache line at which the function's short loops lie in the fewest lines.
pub(super) fn shift(function: &[u8]) -> usize {
    let loops: Vec<_> = loops(function).collect();
    let cost = |&shift: &usize| loops.iter().map(|range| cost(range, shift)).sum::<usize>();
    (0..LINE).step_by(STEP).min_by_key(cost).unwrap_or(0)
}

/// What a loop costs more than it must: the shorter it is, the more a further line is.
fn cost(range: &Range<usize>, shift: usize) -> usize {
    let (start, end) = (range.start + shift, range.end + shift);
    let (lines, least) = (end.div_ceil(LINE) - start / LINE, range.len().div_ceil(LINE));
    (lines - least) * LINES_MAX / least
}

/// From where `jcc` and `jmp` with distances of 32 bits lead back to, to their ends. What only looks like one is
/// a loop, too: all that comes of it is a gap.
fn loops(code: &[u8]) -> impl Iterator<Item = Range<usize>> {
    code.windows(5).enumerate().filter_map(|(at, bytes)| {
        let &[opcode, a, b, c, d] = bytes else { return None };
        let jumps = match opcode {
            0x80..=0x8f => at > 0 && code[at - 1] == 0x0f,
            _ => opcode == 0xe9,
        };
        if jumps { back(at + 5, [a, b, c, d]) } else { None }
    })
}

/// The loop that ends in a jump over this distance, if it is a short one.
fn back(end: usize, distance: [u8; 4]) -> Option<Range<usize>> {
    let length = usize::try_from(-i64::from(i32::from_le_bytes(distance))).ok()?;
    let start = end.checked_sub(length)?;
    (1..=LINES_MAX * LINE).contains(&length).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code of these bytes that jumps back over `length` bytes at its end.
    fn code(before: usize, length: u8) -> Vec<u8> {
        let mut code = vec![0x90; before + usize::from(length) - 6];
        code.extend([0x0f, 0x8d, length.wrapping_neg(), 0xff, 0xff, 0xff]);
        code
    }

    #[test]
    fn a_short_loop_lies_in_one_line() {
        for before in 0..200 {
            let shift = shift(&code(before, 26));
            assert!(shift.is_multiple_of(STEP) && (before + shift) % LINE + 26 <= LINE, "{before} {shift}");
        }
    }

    #[test]
    fn the_shorter_of_two_loops_counts_more() {
        // The first one fits where it is, the second one does not.
        let mut two = code(20, 100);
        two.extend(code(0, 26));
        let first = loops(&two).next().expect("a loop");
        assert_eq!((cost(&first, 0), loops(&two).count()), (0, 2));
        let shift = shift(&two);
        assert!((120 + shift) % LINE + 26 <= LINE, "{shift}");
    }

    #[test]
    fn without_short_loops_it_begins_with_the_line() {
        assert_eq!(shift(&[]), 0);
        assert_eq!(shift(&[0x90; 300]), 0);
        // A way on, and a way back over much.
        assert_eq!(shift(&[0x0f, 0x8d, 1, 0, 0, 0, 0xe9, 0, 0xf0, 0xff, 0xff]), 0);
    }
}
