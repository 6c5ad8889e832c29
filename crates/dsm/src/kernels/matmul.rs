//! Matrix multiplication: C = A B, of n x n floats that lie row by row. A node makes a band of rows of C.

use super::{PAGE_WORDS, element, fill_all, share};
use crate::{Memory, Use};

/// Rows that a node makes at a time.
const ROWS: usize = 8;

/// Where the matrices are: each begins with a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Matmul {
    /// Rows and columns.
    pub n: usize,
}

impl Matmul {
    /// Where A (0), B (1) and C (2) are: each takes `n`^2 words.
    pub fn matrix(&self, number: usize) -> usize {
        number * (self.n * self.n).next_multiple_of(PAGE_WORDS)
    }
    /// Words of all matrices.
    pub fn words(&self) -> usize {
        self.matrix(3)
    }
    /// Every node calls it: fills A and B, multiplies, and gives the node's rows of C.
    pub async fn run<M: Memory>(&self, memory: &M) -> Vec<f64> {
        self.fill(memory).await;
        self.multiply(memory).await;
        memory.barrier().await;
        self.rows(memory).await
    }
    /// Every node calls it: fills its rows of A and B.
    pub async fn fill<M: Memory>(&self, memory: &M) {
        let (n, band) = (self.n, share(self.n, memory.node(), memory.nodes()));
        for matrix in [0, 1].map(|number| self.matrix(number)) {
            let own = matrix + band.start * n;
            let fill = |at: usize, words: &mut [f64]| {
                (at..).zip(words).for_each(|(place, word)| *word = element(place));
            };
            memory.with(&[Use::write(own, band.len() * n)], |views| fill(own, &mut views[0])).await;
        }
        memory.barrier().await;
    }
    /// Every node calls it: each fills all of A and B.
    pub async fn fill_all<M: Memory>(&self, memory: &M) {
        fill_all(memory, 0, self.matrix(2), element).await;
    }
    /// The node's rows of C, as they are in the memory.
    pub async fn rows<M: Memory>(&self, memory: &M) -> Vec<f64> {
        let band = share(self.n, memory.node(), memory.nodes());
        let own = Use::read(self.matrix(2) + band.start * self.n, band.len() * self.n);
        memory.with(&[own], |views| views[0].to_vec()).await
    }
    /// A node's rows of C, without a barrier.
    pub async fn multiply<M: Memory>(&self, memory: &M) {
        let (n, a, b, c) = (self.n, self.matrix(0), self.matrix(1), self.matrix(2));
        let band = share(n, memory.node(), memory.nodes());
        for first in band.clone().step_by(ROWS) {
            let rows = ROWS.min(band.end - first);
            let (own, words) = (first * n, rows * n);
            let uses = [Use::read(a + own, words), Use::read(b, n * n), Use::write(c + own, words)];
            memory
                .with(&uses, |views| {
                    let [a, b, c] = views else { unreachable!("three uses") };
                    multiply(a, b, c, n);
                })
                .await;
            memory.spend(2 * (words * n) as u64);
        }
    }
}

/// Rows of C from rows of A and all of B.
fn multiply(a: &[f64], b: &[f64], c: &mut [f64], n: usize) {
    c.fill(0.0);
    for (a, c) in a.chunks_exact(n).zip(c.chunks_exact_mut(n)) {
        for (a, b) in a.iter().zip(b.chunks_exact(n)) {
            c.iter_mut().zip(b).for_each(|(c, b)| *c += a * b);
        }
    }
}

/// What all nodes together give, without any.
pub fn sequential(n: usize) -> Vec<f64> {
    let plan = Matmul { n };
    let matrix = |number| (0..n * n).map(|place| element(plan.matrix(number) + place)).collect::<Vec<_>>();
    let mut c = vec![0.0; n * n];
    multiply(&matrix(0), &matrix(1), &mut c, n);
    c
}
