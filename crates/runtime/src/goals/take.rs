//! Taking ready goals out of the middle of the goal stack or of a bucket, for workers that get them (`sharing`), and
//! putting some there. P1 to P5 of `stack` hold.

use crate::goals::shoen::is_lane;
use crate::goals::slots::is_empty_slot;
use crate::goals::state::Key;
use crate::memory::ranges::{at, copy, move_words, read, write, write_all};
use crate::worker::Worker;
use std::ops::Range;
use term::Word;
use term::abi::BOTTOM;

impl Worker {
    /// Takes the goals at these addresses of a segment, the lowest first. The records between them move up to what
    /// stays. With `gap`, a gap is left in place of a single goal, if others lie below it (B14 of `gaps`).
    pub(crate) fn take_from_stack(&mut self, index: usize, ranges: &[Range<usize>], gap: bool) -> Vec<Word> {
        let segment = self.goals.segments[index];
        let cut = ranges.last().expect("some are taken").end;
        debug_assert!(
            ranges.windows(2).all(|two| two[0].end <= two[1].start),
            "the lowest first: {ranges:?}"
        );
        debug_assert!(ranges[0].start >= segment.base, "P2: goals of another segment");
        let words = ranges.iter().flat_map(|range| range.clone().step_by(8).map(read)).collect();
        let mut kept: Vec<usize> = Vec::new();
        let mut from = segment.base;
        for range in ranges {
            kept.extend((from..range.start).step_by(8));
            from = range.end;
        }
        if self.goals.marks.contains(&segment.base) {
            kept.remove(0);
        }
        let gap = gap && ranges.len() == 1 && self.has_other_than_gap(segment.base, ranges[0].start);
        let base = cut - 8 * (kept.len() + usize::from(gap));
        debug_assert!(base >= segment.base && base <= cut, "P2: nothing was taken");
        self.move_kept(index, &kept, base);
        if gap {
            write(cut - 8, self.system_goals.gap.goal_word());
        }
        (segment.base - 8..base - 8).step_by(8).for_each(|slot| write(slot, Word::small(0)));
        write(base - 8, BOTTOM.goal_word());
        self.goals.segments[index].base = base;
        self.goals.marks.retain(|&mark| mark < segment.floor || mark >= cut);
        if self.goals.clean < cut {
            self.goals.clean = self.goals.clean.min(segment.floor);
        }
        if index + 1 == self.goals.segments.len() {
            self.close_hole();
        } else if is_lane(segment.priority) && base == self.goals.segments[index + 1].floor {
            // X12 of `shoen`: else the worker would be a holder until it comes down there.
            self.drop_segment(index);
        }
        words
    }
    /// The words at these addresses of a segment move to `base`, and slots among them are followed.
    fn move_kept(&mut self, index: usize, kept: &[usize], base: usize) {
        let words: Vec<Word> = kept.iter().map(|&at| read(at)).collect();
        write_all(base, &words);
        let places = (base..).step_by(8);
        let slots = kept.iter().zip(&words).zip(places).filter(|((_, word), _)| is_empty_slot(**word));
        let moved: Vec<(usize, usize)> = slots.map(|((&from, _), to)| (from, to)).collect();
        let above = self.goals.segments.get(index + 1);
        let top = above.map_or(self.abi.goals as usize, |above| above.floor);
        self.lead_to_slots(base..top, &moved);
    }
    /// A hole below the top segment that is as large as the segment is closed, or the stack would creep upwards.
    fn close_hole(&mut self) {
        let top = self.abi.goals as usize;
        let segment = self.goals.segments.last_mut().expect("the lowest segment stays");
        let (from, floor) = (segment.base - 8, segment.floor);
        debug_assert!(from >= floor && top >= segment.base, "P2: a segment outside its addresses");
        let words = (top - segment.base) / 8 + 1;
        let down = from - floor;
        if down == 0 || down < 8 * words {
            return;
        }
        copy(from, floor, words);
        segment.base -= down;
        self.abi.goals = at(top - down);
        self.move_slots(floor..top - down, from, -(down as isize));
        let moved = self.goals.marks.iter_mut().filter(|mark| **mark >= from);
        moved.for_each(|mark| *mark -= down);
        if self.goals.clean >= from {
            self.goals.clean -= down;
        }
    }
    /// Whether goals lie between these addresses, and the upper one is no gap.
    fn has_other_than_gap(&self, base: usize, end: usize) -> bool {
        end > base && !self.is_gap(end)
    }
    /// Makes goals ready that are older than those which run at their priority: `words` are in the format of the goal
    /// stack. They come above the topmost gap, or to the bottom. Between reductions.
    pub(crate) fn push_older(&mut self, lane: i64, words: &[Word]) {
        if lane != self.abi.priority {
            if let Some(bucket) = self.beside(lane, words.len()) {
                bucket.splice(0..0, words.iter().copied());
            }
            return;
        }
        if !self.has_room(words.len()) {
            return;
        }
        debug_assert!(!self.has_resumed(), "P6 of `resumed_order`: addresses are going to change");
        let (top, base) = (self.abi.goals as usize, self.goals.top_segment().base);
        let mut place = top;
        while place > base && !self.is_gap(place) {
            place = self.below_top(place);
        }
        let bytes = 8 * words.len();
        move_words(place, place + bytes, (top - place) / 8);
        self.move_slots(place + bytes..top + bytes, place, bytes as isize);
        write_all(place, words);
        self.abi.goals = at(top + bytes);
        self.goals.move_up(place, bytes);
    }
    /// Takes the goals in these ranges of a bucket.
    pub(crate) fn take_from_bucket(&mut self, key: Key, ranges: &[Range<usize>]) -> Vec<Word> {
        let bucket = self.goals.buckets.get_mut(&key).expect("there was surplus");
        debug_assert!(
            ranges.windows(2).all(|two| two[0].end <= two[1].start),
            "the lowest first: {ranges:?}"
        );
        let words = ranges.iter().flat_map(|range| bucket[range.clone()].to_vec()).collect();
        for range in ranges.iter().rev() {
            bucket.drain(range.clone());
        }
        // P5 of `stack`.
        if bucket.capacity() > 4 * bucket.len() + 1024 {
            bucket.shrink_to(2 * bucket.len());
        }
        if bucket.is_empty() {
            self.goals.forget_bucket(key);
            self.lose(key.1);
        }
        words
    }
}
