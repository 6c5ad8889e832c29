//! Programs that share memory, written once for all kinds of nodes: matrix multiplication, and the FFT and LU of
//! SPLASH-2 (Woo et al., "The SPLASH-2 Programs", ISCA 1995).

pub mod fft;
pub mod lu;
pub mod matmul;
pub mod owned;

use crate::protocol::{Mode, Options};
use crate::{Memory, Use, WORD};
use fabric::{NodeId, Random};
use std::ops::Range;

/// Bytes of a page of these programs.
pub const PAGE_BYTES: usize = 4096;
/// Words of it.
pub const PAGE_WORDS: usize = PAGE_BYTES / WORD;

/// A node's share of `count` things that lie one after another.
pub fn share(count: usize, node: u32, nodes: u32) -> Range<usize> {
    let at = |node: u32| count * node as usize / nodes as usize;
    at(node)..at(node + 1)
}

/// Options for this number of words: each node is the home of a share of their pages.
pub fn options(words: usize, node: NodeId, nodes: u32, mode: Mode) -> Options {
    let pages = words.div_ceil(PAGE_WORDS);
    let homes = (0..nodes).flat_map(|node| share(pages, node, nodes).map(move |_| NodeId(node))).collect();
    Options { node, nodes, page_bytes: PAGE_BYTES, homes, mode }
}

/// Every node writes all of these words, page by page. That is a race, but all write the same.
async fn fill_all<M: Memory>(memory: &M, first: usize, words: usize, element: impl Fn(usize) -> f64) {
    let end = first + words;
    for start in (first..end).step_by(PAGE_WORDS) {
        let count = PAGE_WORDS.min(end - start);
        let fill = |words: &mut [f64]| (start..).zip(words).for_each(|(place, word)| *word = element(place));
        memory.with(&[Use::write(start, count)], |views| fill(&mut views[0])).await;
        memory.spend(count as u64);
    }
    memory.barrier().await;
}

/// A float from -1 to 1, from a place in an array: the same at all nodes.
pub fn element(place: usize) -> f64 {
    (Random::at(place as u64) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}
