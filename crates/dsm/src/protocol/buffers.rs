//! Buffers of one page each, for twins and comparisons. A new one is memory that the system has to clear first, which
//! takes longer than to copy the page.

use super::Options;
use crate::{Page, Store};
use std::hash::{Hash, Hasher};

/// The most bytes that are kept.
const KEPT_BYTES: usize = 16 << 20;

/// Those that nobody uses. They change nothing of what a node does, so states that differ here only are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffers(Vec<Box<[u8]>>);

impl Hash for Buffers {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Buffers {
    /// The bytes of a page.
    pub(super) fn copy(&mut self, options: &Options, page: Page, env: &impl Store) -> Box<[u8]> {
        let new = || vec![0; options.page_bytes].into_boxed_slice();
        let mut bytes = self.0.pop().unwrap_or_else(new);
        debug_assert_eq!(bytes.len(), options.page_bytes, "D4: a buffer of pages of another size");
        env.read(page, &mut bytes);
        bytes
    }
    /// The bytes are no longer needed.
    pub(super) fn give_back(&mut self, buffer: Box<[u8]>) {
        if (self.0.len() + 1) * buffer.len() <= KEPT_BYTES {
            self.0.push(buffer);
        }
    }
}
