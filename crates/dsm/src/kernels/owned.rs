//! A matrix of [`Lu`] laid out by owner: the blocks of each node lie together, in pages whose home it is. So a block
//! is written at home only, and what another node reads of it is a copy of its page. They lie column by column: blocks
//! of a column are read in the same step, and written no more after it, so a page that another node has a copy of is
//! not written again.

use super::lu::Lu;
use super::{PAGE_BYTES, PAGE_WORDS};
use crate::protocol::{Mode, Options};
use crate::{Memory, Use, View};
use fabric::NodeId;

/// Where each block is.
#[derive(Clone, Debug)]
pub struct ByOwner {
    block_words: usize,
    places: Vec<usize>,
    homes: Vec<NodeId>,
}

impl ByOwner {
    /// The blocks of this matrix, among so many nodes.
    pub fn new(lu: &Lu, nodes: u32) -> ByOwner {
        let (side, block_words) = (lu.n / lu.block, lu.block * lu.block);
        let (mut places, mut homes) = (vec![0; side * side], Vec::new());
        for node in 0..nodes {
            let first = homes.len() * PAGE_WORDS;
            let all = (0..side).flat_map(|j| (0..side).map(move |i| (i, j)));
            let mut words = 0;
            for (i, j) in all.filter(|&(i, j)| lu.owner(i, j, nodes) == node) {
                places[i * side + j] = first + words;
                words += block_words;
            }
            homes.extend(std::iter::repeat_n(NodeId(node), words.div_ceil(PAGE_WORDS)));
        }
        ByOwner { block_words, places, homes }
    }
    /// The homes of its pages.
    pub fn options(&self, node: NodeId, nodes: u32, mode: Mode) -> Options {
        Options { node, nodes, page_bytes: PAGE_BYTES, homes: self.homes.clone().into(), mode }
    }
    /// A memory in which [`Lu::fill`] and [`Lu::factorise`] find their blocks.
    pub fn over<'a, M: Memory>(&'a self, memory: &'a M) -> Over<'a, M> {
        Over { layout: self, memory }
    }
}

/// See [`ByOwner::over`]. Each use is of one block.
#[derive(Debug)]
pub struct Over<'a, M> {
    layout: &'a ByOwner,
    memory: &'a M,
}

impl<M> Over<'_, M> {
    fn placed(&self, uses: &[Use]) -> Vec<Use> {
        let ByOwner { block_words, places, .. } = self.layout;
        let place = |each: &Use| {
            assert_eq!((each.first % block_words, each.words), (0, *block_words), "a use is a block");
            Use { first: places[each.first / block_words], ..*each }
        };
        uses.iter().map(place).collect()
    }
}

impl<M: Memory> Memory for Over<'_, M> {
    fn node(&self) -> u32 {
        self.memory.node()
    }
    fn nodes(&self) -> u32 {
        self.memory.nodes()
    }
    async fn with<R>(&self, uses: &[Use], f: impl FnOnce(&mut [View<'_>]) -> R) -> R {
        self.memory.with(&self.placed(uses), f).await
    }
    async fn expect(&self, uses: &[Use]) {
        self.memory.expect(&self.placed(uses)).await;
    }
    async fn barrier(&self) {
        self.memory.barrier().await;
    }
    async fn lock(&self, lock: u32) {
        self.memory.lock(lock).await;
    }
    async fn unlock(&self, lock: u32) {
        self.memory.unlock(lock).await;
    }
    fn spend(&self, cycles: u64) {
        self.memory.spend(cycles);
    }
}
