//! The pages of a node whose program asks before each access, so nothing is protected and nothing faults: where a page
//! is missing, the program does something else until it has come. It passes the messages on itself.

use crate::fault::Common;
use crate::message::Letter;
use crate::protocol::{Counters, Homes, Mode, Options, Outbox, Post, Protocol};
use crate::{Access, Malformed, Message, Page, Store, Use, WORD};
use fabric::{NodeId, NodeSet, Priority};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes of a page.
const PAGE_BYTES: usize = 4096;
const PAGE_WORDS: usize = PAGE_BYTES / WORD;
/// The number of pages of a node is a multiple of this.
const PAGES_TOGETHER: u32 = 64;
/// Words that no node gives out, at the beginning of its pages; what it gives out begins at a multiple of their number.
const LINE_WORDS: usize = 8;

/// What a node wants to have sent.
#[derive(Debug)]
pub enum Parcel {
    /// To one node, which may be this one.
    One(NodeId, Priority, Letter),
    /// To several others. When all have received it, [`Asked::acknowledged`] is told this number.
    Many(NodeSet, u64, Letter),
}

/// See the module comment. What else the program sends, `T`, may have to wait until it is [shown](Asked::keep).
pub struct Asked<T> {
    protocol: Protocol,
    common: Arc<Common>,
    out: VecDeque<Parcel>,
    outbox: Outbox<T>,
    /// Words of this node's pages that were given out.
    used: usize,
}

struct Env<'a> {
    common: &'a Common,
    out: &'a mut VecDeque<Parcel>,
}

/// The words of a page.
fn words(page: Page) -> std::ops::Range<usize> {
    page as usize * PAGE_WORDS..(page as usize + 1) * PAGE_WORDS
}

impl Store for Env<'_> {
    fn read(&self, page: Page, into: &mut [u8]) {
        debug_assert_eq!(into.len(), PAGE_BYTES, "a page is read whole");
        into.chunks_exact_mut(WORD).zip(words(page)).for_each(|(bytes, word)| {
            bytes.copy_from_slice(&self.common.word(word).load(Relaxed).to_le_bytes());
        });
    }
    fn write(&mut self, page: Page, at: usize, bytes: &[u8]) {
        debug_assert!(
            at + bytes.len() <= PAGE_BYTES && (at | bytes.len()).is_multiple_of(WORD),
            "whole words of a page"
        );
        bytes.chunks_exact(WORD).zip(words(page).skip(at / WORD)).for_each(|(bytes, word)| {
            let word = self.common.word(word);
            word.store(u64::from_le_bytes(bytes.try_into().expect("8 bytes")), Relaxed);
        });
    }
    fn access(&mut self, _: Page, _: Access) {}
}

impl Post for Env<'_> {
    fn post(&mut self, to: NodeId, message: Message) {
        let priority = message.priority();
        self.out.push_back(Parcel::One(to, priority, message.into_letter()));
    }
    fn post_many(&mut self, to: NodeSet, tag: u64, message: Message) {
        self.out.push_back(Parcel::Many(to, tag, message.into_letter()));
    }
}

impl<T> Asked<T> {
    /// Zeros, as many words at each node, of about `bytes` bytes in all: the same number at all nodes. An error if the
    /// system refuses the address space.
    pub fn new(node: NodeId, nodes: u32, bytes: u64) -> io::Result<Asked<T>> {
        let pages = (bytes / PAGE_BYTES as u64 / u64::from(nodes)).min(u64::from(u32::MAX / nodes)) as u32;
        // Whole pages of the memory, which are larger.
        let pages = pages / PAGES_TOGETHER * PAGES_TOGETHER;
        let homes = Homes::Blocks { nodes, pages: pages * nodes };
        let common = Common::new(homes.len() * PAGE_BYTES)?;
        let options = Options { node, nodes, page_bytes: PAGE_BYTES, homes, mode: Mode::Invalidate };
        let protocol = Protocol::new(options);
        let (common, out, outbox) = (Arc::new(common), VecDeque::new(), Outbox::default());
        Ok(Asked { protocol, common, out, outbox, used: LINE_WORDS })
    }
    /// All nodes begin again: each has what it wrote on its own pages, and nothing else. What was given out before is
    /// never given out again.
    pub fn begin(&mut self) {
        self.protocol = Protocol::new(self.protocol.options().clone());
        self.out.clear();
        self.outbox = Outbox::default();
    }
    /// The words. Those of which [`Asked::may`] has said nothing since the last message came are anything.
    pub fn common(&self) -> &Arc<Common> {
        &self.common
    }
    fn ask<R>(&mut self, f: impl FnOnce(&mut Protocol, &mut Outbox<T>, &mut Env<'_>) -> R) -> R {
        let mut env = Env { common: &self.common, out: &mut self.out };
        f(&mut self.protocol, &mut self.outbox, &mut env)
    }
    /// Gives out `words` words of this node's pages, which are 0. An error of the kind `OutOfMemory` if the system has
    /// no memory for them, or none are left.
    pub fn allocate(&mut self, words: usize) -> io::Result<usize> {
        let full = || io::Error::from(io::ErrorKind::OutOfMemory);
        let options = self.protocol.options();
        let own = self.common.words() / options.nodes as usize;
        let size = words.max(1).checked_next_multiple_of(LINE_WORDS).ok_or_else(full)?;
        let end = self.used.checked_add(size).filter(|&end| end <= own).ok_or_else(full)?;
        let first = options.node.0 as usize * own + self.used;
        debug_assert!(first.is_multiple_of(LINE_WORDS) && self.used >= LINE_WORDS, "word {first}");
        self.common.reserve(first, size)?;
        self.used = end;
        Ok(first)
    }
    /// False if these words were not given out, as far as this node knows: those of others may have been.
    pub fn may_be_given_out(&self, first: usize, words: usize) -> bool {
        let options = self.protocol.options();
        let own = self.common.words() / options.nodes as usize;
        let (node, begin) = (first / own, first % own);
        let end = if node == options.node.0 as usize { self.used } else { own };
        node < options.nodes as usize
            && begin >= LINE_WORDS
            && begin.checked_add(words).is_some_and(|last| last <= end)
    }
    /// Whether the program may read, or read and write, all these words now. If not: a page that is being fetched; ask
    /// again when it [has come](Asked::receive).
    pub fn may(&mut self, uses: &[Use]) -> Result<(), Page> {
        self.ask(|protocol, _, env| {
            let mut missing = None;
            for each in uses {
                for page in each.pages(PAGE_WORDS) {
                    if !protocol.look(page, each.writes, env) {
                        missing.get_or_insert(page);
                    }
                }
            }
            protocol.fetch(env);
            missing.map_or(Ok(()), Err)
        })
    }
    /// A message has come, of this kind, with these words and bytes: the pages that are there now and were not.
    pub fn receive(
        &mut self,
        from: NodeId,
        kind: u32,
        words: &[u64],
        bytes: &[u8],
    ) -> Result<Vec<Page>, Malformed> {
        let message = Message::read(kind, words, bytes, PAGE_BYTES)?;
        let mut pages = match &message {
            Message::Pages { pages, .. } => pages.iter().map(|&(page, _)| page).collect(),
            _ => Vec::new(),
        };
        self.ask(|protocol, outbox, env| {
            protocol.receive(from, message, env)?;
            outbox.go_on(protocol, env);
            Ok(())
        })?;
        pages.retain(|&page| !self.protocol.is_fetching(page));
        Ok(pages)
    }
    /// Those that [`Parcel::Many`] was for have it.
    pub fn acknowledged(&mut self, tag: u64) {
        self.ask(|protocol, outbox, env| {
            protocol.acknowledged(tag, env);
            outbox.go_on(protocol, env);
        });
    }
    /// What the node wants to have sent next.
    pub fn next_parcel(&mut self) -> Option<Parcel> {
        self.out.pop_front()
    }
    /// Whether something else that is to be sent now would have to be kept.
    pub fn must_keep(&self, shows: bool) -> bool {
        self.outbox.must_put(shows, &self.protocol)
    }
    /// Keeps something that is to be sent, until what the program wrote before is seen by whoever gets it, if it
    /// `shows` something. All come back in order.
    pub fn keep(&mut self, item: T, shows: bool) {
        self.ask(|protocol, outbox, env| outbox.put(item, shows, protocol, env));
    }
    /// The next of these that is to be sent.
    pub fn next_kept(&mut self) -> Option<T> {
        self.outbox.take_free()
    }
    /// Something has come that another node has [kept](Asked::keep): from now on the program reads what that node had
    /// written before.
    pub fn heard(&mut self) {
        self.ask(|protocol, _, env| protocol.acquire(env));
    }
    /// What the node has done.
    pub fn counters(&self) -> Counters {
        self.protocol.counters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Node = Asked<u32>;

    /// Delivers everything, and says what was kept and may leave.
    fn deliver(nodes: &mut [Node; 2]) -> Vec<u32> {
        let mut kept = Vec::new();
        let mut any = true;
        while std::mem::take(&mut any) {
            for from in 0..2 {
                while let Some(parcel) = nodes[from].next_parcel() {
                    any = true;
                    let sender = NodeId(from as u32);
                    match parcel {
                        Parcel::One(to, _, (kind, words, bytes)) => {
                            nodes[to.0 as usize].receive(sender, kind, &words, &bytes).expect("it was sent");
                        }
                        Parcel::Many(to, tag, (kind, words, bytes)) => {
                            for to in to.iter() {
                                let node = &mut nodes[to.0 as usize];
                                node.receive(sender, kind, &words, &bytes).expect("it was sent");
                            }
                            nodes[from].acknowledged(tag);
                        }
                    }
                }
                kept.extend(std::iter::from_fn(|| nodes[from].next_kept()));
            }
        }
        kept
    }

    #[test]
    fn what_a_node_gives_out_is_its_own_to_write() {
        for node in 0..3 {
            let mut node = Node::new(NodeId(node), 3, 10 << 20).expect("address space");
            let all = node.common().words() / 3 - LINE_WORDS;
            for words in [1, 1000, all - 1008] {
                let first = node.allocate(words).expect("there is room");
                assert_eq!(node.may(&[Use::write(first, words)]), Ok(()));
                let told = [
                    (first, words),
                    (first, words + LINE_WORDS),
                    (first / (all + LINE_WORDS) * (all + LINE_WORDS), 1),
                ];
                assert_eq!(
                    told.map(|(first, words)| node.may_be_given_out(first, words)),
                    [true, false, false]
                );
            }
            assert!(!node.may_be_given_out(3 * (all + LINE_WORDS), 1));
            assert!(node.allocate(1).is_err() && node.next_parcel().is_none());
        }
    }

    #[test]
    fn what_one_node_wrote_another_reads_when_it_has_heard_of_it() {
        let mut nodes = [0, 1].map(|node| Node::new(NodeId(node), 2, 1 << 20).expect("address space"));
        let first = nodes[1].allocate(1000).expect("there is room");
        assert_eq!(nodes[1].common().words(), 2 * first - LINE_WORDS * 2);
        let word = |node: &Node, number: usize| node.common().word(first + number).load(Relaxed);
        // Node 0 has a copy, and writes another word of it.
        assert!(nodes[0].may(&[Use::write(first, 1000)]).is_err());
        assert_eq!(deliver(&mut nodes), []);
        assert_eq!(nodes[0].may(&[Use::write(first, 1000)]), Ok(()));
        nodes[0].common().word(first).store(7, Relaxed);
        assert_eq!(nodes[1].may(&[Use::write(first + 1, 1)]), Ok(()));
        nodes[1].common().word(first + 1).store(8, Relaxed);
        for node in &mut nodes {
            assert!(!node.must_keep(false) && node.must_keep(true));
            node.keep(1, true);
            assert!(node.must_keep(false) && node.next_kept().is_none());
            node.keep(2, false);
        }
        assert_eq!(deliver(&mut nodes), [1, 2, 1, 2]);
        nodes.iter_mut().for_each(Node::heard);
        assert!(nodes[0].may(&[Use::read(first, 2)]).is_err(), "its copy was old");
        deliver(&mut nodes);
        for node in &mut nodes {
            assert_eq!(node.may(&[Use::read(first, 2)]), Ok(()));
            assert_eq!((word(node, 0), word(node, 1)), (7, 8));
            assert!(!node.must_keep(true));
        }
        assert_eq!(nodes[0].counters().misses, 3);
        let error = nodes[0].allocate(1 << 20).expect_err("more than there is");
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
        assert!(nodes[0].receive(NodeId(1), 99, &[], &[]).is_err());
    }
}
