//! Where the bytes of pages are, and what the program of a node may do with them.

use crate::Page;

/// What the program may do with a page without telling the protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Access {
    /// Nothing.
    None,
    /// Read it.
    Read,
    /// Read and write it.
    Write,
}

/// The pages of one node. The protocol reads and writes bytes whatever the program may do meanwhile.
///
/// At first the program may [`Write`](Access::Write) the pages whose home is the node, and do nothing with others;
/// all bytes are 0.
pub trait Store {
    /// Copies the bytes of a page.
    fn read(&self, page: Page, into: &mut [u8]);
    /// Overwrites some bytes of a page, from `at` on: whole words.
    fn write(&mut self, page: Page, at: usize, bytes: &[u8]);
    /// From now on the program may do this with the page. When it returns, nothing else is under way.
    fn access(&mut self, page: Page, access: Access);
    /// The same, but by the time of [`Store::settle`]: the program is not at the page meanwhile, or may do with it
    /// what it could do before.
    fn access_later(&mut self, page: Page, access: Access) {
        self.access(page, access);
    }
    /// Does what [`Store::access_later`] has put off. Comes before a message is sent or acknowledged, and before the
    /// program goes on.
    fn settle(&mut self) {}
}
