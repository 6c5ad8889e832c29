//! LU factorisation without pivoting, SPLASH-2's with contiguous blocks: a matrix of n x n floats in square blocks,
//! which lie row by row, and each block by its own rows. A grid of nodes owns them in turn; three barriers a step.

use super::{PAGE_WORDS, element, fill_all};
use crate::{Memory, Use, View};

/// A matrix and its blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lu {
    /// Rows and columns: a multiple of `block`.
    pub n: usize,
    /// Rows and columns of a block.
    pub block: usize,
}

impl Lu {
    /// Words of the matrix.
    pub fn words(&self) -> usize {
        self.n * self.n
    }
    /// Blocks in a row.
    fn blocks(&self) -> usize {
        self.n / self.block
    }
    fn place(&self, i: usize, j: usize) -> usize {
        (i * self.blocks() + j) * self.block * self.block
    }
    fn read(&self, i: usize, j: usize) -> Use {
        Use::read(self.place(i, j), self.block * self.block)
    }
    fn write(&self, i: usize, j: usize) -> Use {
        Use::write(self.place(i, j), self.block * self.block)
    }
    /// Whose block it is.
    pub fn owner(&self, i: usize, j: usize, nodes: u32) -> u32 {
        let (rows, columns) = grid(nodes);
        (j as u32 % columns) + (i as u32 % rows) * columns
    }
    /// The element of the matrix to factorise: large on the diagonal, so that no pivot is small.
    fn element(&self, place: usize) -> f64 {
        let (within, block) = (place % (self.block * self.block), place / (self.block * self.block));
        let diagonal =
            block / self.blocks() == block % self.blocks() && within / self.block == within % self.block;
        element(place) + if diagonal { self.n as f64 } else { 0.0 }
    }
    /// Every node calls it: fills the blocks that it owns.
    pub async fn fill<M: Memory>(&self, memory: &M) {
        for (i, j) in self.own(memory, 0..self.blocks(), 0..self.blocks()) {
            let at = self.place(i, j);
            let fill = |words: &mut [f64]| {
                (at..).zip(words).for_each(|(place, word)| *word = self.element(place));
            };
            memory.with(&[self.write(i, j)], |views| fill(&mut views[0])).await;
        }
        memory.barrier().await;
    }
    /// Every node calls it: each fills the whole matrix.
    pub async fn fill_all<M: Memory>(&self, memory: &M) {
        fill_all(memory, 0, self.words(), |place| self.element(place)).await;
    }
    fn own<M: Memory>(
        &self,
        memory: &M,
        rows: std::ops::Range<usize>,
        columns: std::ops::Range<usize>,
    ) -> Vec<(usize, usize)> {
        let all = rows.flat_map(|i| columns.clone().map(move |j| (i, j)));
        all.filter(|&(i, j)| self.owner(i, j, memory.nodes()) == memory.node()).collect()
    }
    /// Every node calls it: factorises what [`Lu::fill`] has made.
    pub async fn factorise<M: Memory>(&self, memory: &M) {
        for number in 0..self.phases() {
            self.phase(memory, number).await;
            memory.barrier().await;
        }
    }
    /// Stretches of a factorisation without a barrier: three for each block of the diagonal.
    pub fn phases(&self) -> usize {
        3 * self.blocks()
    }
    /// A node's part of one of them. A number that is too large does nothing.
    pub async fn phase<M: Memory>(&self, memory: &M, number: usize) {
        let (k, blocks, size) = (number / 3, self.blocks(), self.block);
        if k >= blocks {
            return;
        }
        match number % 3 {
            0 => {
                for (i, j) in self.own(memory, k..k + 1, k..k + 1) {
                    memory.with(&[self.write(i, j)], |views| diagonal(&mut views[0], size)).await;
                    memory.spend(self.cube() * 2 / 3);
                }
            }
            1 => {
                for (i, _) in self.own(memory, k + 1..blocks, k..k + 1) {
                    self.by_diagonal(memory, k, (i, k), divide).await;
                }
                for (_, j) in self.own(memory, k..k + 1, k + 1..blocks) {
                    self.by_diagonal(memory, k, (k, j), modify).await;
                }
            }
            _ => {
                memory.expect(&self.edges(memory, k)).await;
                for (i, j) in self.own(memory, k + 1..blocks, k + 1..blocks) {
                    let uses = [self.read(i, k), self.read(k, j), self.write(i, j)];
                    memory
                        .with(&uses, |views| {
                            let [left, above, block] = views else { unreachable!("three uses") };
                            subtract(block, left, above, size);
                        })
                        .await;
                    memory.spend(2 * self.cube());
                }
            }
        }
    }
    /// What the node reads of the `k`th column and row to change its blocks behind them.
    fn edges<M: Memory>(&self, memory: &M, k: usize) -> Vec<Use> {
        let behind = || k + 1..self.blocks();
        let is_own = |i, j| self.owner(i, j, memory.nodes()) == memory.node();
        let left = behind().filter(|&i| behind().any(|j| is_own(i, j))).map(|i| self.read(i, k));
        let above = behind().filter(|&j| behind().any(|i| is_own(i, j))).map(|j| self.read(k, j));
        left.chain(above).collect()
    }
    fn cube(&self) -> u64 {
        (self.block * self.block * self.block) as u64
    }
    /// Changes a block by the `k`th one of the diagonal.
    async fn by_diagonal<M: Memory>(
        &self,
        memory: &M,
        k: usize,
        (i, j): (usize, usize),
        change: fn(&mut [f64], &[f64], usize),
    ) {
        let uses = [self.read(k, k), self.write(i, j)];
        memory
            .with(&uses, |views| {
                let [diagonal, block] = views else { unreachable!("two uses") };
                change(block, diagonal, self.block);
            })
            .await;
        memory.spend(self.cube());
    }
    /// The node reads the whole matrix, row by row of elements.
    pub async fn matrix<M: Memory>(&self, memory: &M) -> Vec<f64> {
        let all = (0..self.blocks()).flat_map(|i| (0..self.blocks()).map(move |j| self.read(i, j)));
        let all: Vec<Use> = all.collect();
        let join =
            |views: &mut [View<'_>]| views.iter().flat_map(|view| view.iter().copied()).collect::<Vec<_>>();
        let blocks = memory.with(&all, join).await;
        self.rows(&blocks)
    }
    fn rows(&self, blocks: &[f64]) -> Vec<f64> {
        let at = |row: usize, column: usize| {
            self.place(row / self.block, column / self.block)
                + row % self.block * self.block
                + column % self.block
        };
        (0..self.words()).map(|place| blocks[at(place / self.n, place % self.n)]).collect()
    }
    /// What was factorised, row by row of elements.
    pub fn original(&self) -> Vec<f64> {
        self.rows(&(0..self.words()).map(|place| self.element(place)).collect::<Vec<_>>())
    }
    /// Pages of the matrix.
    pub fn pages(&self) -> usize {
        self.words().div_ceil(PAGE_WORDS)
    }
}

/// SPLASH-2's: as square as it can be, rather more columns than rows.
fn grid(nodes: u32) -> (u32, u32) {
    let rows = (1..=nodes.isqrt()).rev().find(|&rows| nodes.is_multiple_of(rows)).unwrap_or(1);
    (rows, nodes / rows)
}

/// A block on the diagonal: L under it (with ones on it), U on and above it.
fn diagonal(a: &mut [f64], n: usize) {
    for k in 0..n {
        for i in k + 1..n {
            a[i * n + k] /= a[k * n + k];
            for j in k + 1..n {
                a[i * n + j] -= a[i * n + k] * a[k * n + j];
            }
        }
    }
}

/// A block under the diagonal: `a` becomes X where X U = a.
fn divide(a: &mut [f64], diagonal: &[f64], n: usize) {
    for row in a.chunks_exact_mut(n) {
        for k in 0..n {
            row[k] /= diagonal[k * n + k];
            for j in k + 1..n {
                row[j] -= row[k] * diagonal[k * n + j];
            }
        }
    }
}

/// A block right of the diagonal: `a` becomes X where L X = a.
fn modify(a: &mut [f64], diagonal: &[f64], n: usize) {
    for k in 0..n {
        for i in k + 1..n {
            for j in 0..n {
                a[i * n + j] -= diagonal[i * n + k] * a[k * n + j];
            }
        }
    }
}

/// A block of the rest: `a` loses the product.
fn subtract(a: &mut [f64], left: &[f64], above: &[f64], n: usize) {
    for (row, left) in a.chunks_exact_mut(n).zip(left.chunks_exact(n)) {
        for (left, above) in left.iter().zip(above.chunks_exact(n)) {
            row.iter_mut().zip(above).for_each(|(a, above)| *a -= left * above);
        }
    }
}

/// The largest element of the difference between an n x n matrix and the product of its factors, beside n.
pub fn residual(original: &[f64], factors: &[f64], n: usize) -> f64 {
    let mut greatest = 0.0;
    let mut product = vec![0.0; n];
    for (i, original) in original.chunks_exact(n).enumerate() {
        product.fill(0.0);
        for k in 0..=i {
            let left = if k == i { 1.0 } else { factors[i * n + k] };
            // Below its diagonal the second factor is nothing.
            let above = &factors[k * n + k..(k + 1) * n];
            product[k..].iter_mut().zip(above).for_each(|(sum, above)| *sum += left * above);
        }
        greatest =
            original.iter().zip(&product).map(|(one, other)| (one - other).abs()).fold(greatest, f64::max);
    }
    greatest / n as f64
}

#[cfg(test)]
mod tests {
    use super::grid;

    #[test]
    fn the_grids_are_those_of_the_suite() {
        let grids = [(1, 1), (1, 2), (1, 3), (2, 2), (1, 5), (2, 3), (1, 7), (2, 4), (3, 3)];
        (1..).zip(grids).for_each(|(nodes, wanted)| assert_eq!(grid(nodes), wanted, "{nodes}"));
    }
}
