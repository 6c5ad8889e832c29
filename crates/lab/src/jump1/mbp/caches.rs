//! The caches of an MBP-light. What is in one is done by hardware; what is not is an interrupt of its software.

use crate::jump1::lines::Line;
use fabric::NodeId;

/// Lines of the net cache, printed.
pub(crate) const NET_LINES: usize = 512;
/// Entries of the ack cache for each level of the tree, printed.
pub(crate) const ACK_ENTRIES: usize = 128;
/// Sources of the ackmap cache, assumed.
pub(crate) const ACKMAP_SOURCES: usize = 64;

/// The sources whose ackmaps are at hand, direct-mapped.
#[derive(Debug)]
pub(super) struct AckmapCache(Vec<Option<NodeId>>);

impl AckmapCache {
    pub(super) fn new() -> AckmapCache {
        AckmapCache(vec![None; ACKMAP_SOURCES])
    }
    /// Whether a source's was there. It is from now on.
    pub(super) fn hit(&mut self, source: NodeId) -> bool {
        self.0[source.0 as usize % ACKMAP_SOURCES].replace(source) == Some(source)
    }
}

/// Acknowledgements that are being gathered, by level: which multicast has an entry.
#[derive(Debug, Default)]
pub(super) struct AckCache(Vec<Vec<Option<(NodeId, Line)>>>);

impl AckCache {
    /// An acknowledgement of a multicast comes at a level. Whether there is an entry for it, or a free one that it
    /// takes.
    pub(super) fn hit(&mut self, level: usize, key: (NodeId, Line)) -> bool {
        if self.0.len() <= level {
            self.0.resize_with(level + 1, || vec![None; ACK_ENTRIES]);
        }
        let entry = &mut self.0[level][key.1.0 as usize % ACK_ENTRIES];
        *entry.get_or_insert(key) == key
    }
    /// A multicast is over: its entries are free.
    pub(super) fn end(&mut self, key: (NodeId, Line)) {
        for level in &mut self.0 {
            let entry = &mut level[key.1.0 as usize % ACK_ENTRIES];
            if *entry == Some(key) {
                *entry = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_entry_is_a_miss() {
        let (mut acks, mut maps) = (AckCache::default(), AckmapCache::new());
        let (one, other) = ((NodeId(1), Line(3)), (NodeId(2), Line(3 + ACK_ENTRIES as u32)));
        assert!(acks.hit(2, one) && acks.hit(2, one) && acks.hit(1, other));
        assert!(!acks.hit(2, other), "the entry is taken at this level");
        acks.end(one);
        assert!(acks.hit(2, other));
        assert!(!maps.hit(NodeId(5)) && maps.hit(NodeId(5)));
        assert!(!maps.hit(NodeId(5 + ACKMAP_SOURCES as u32)) && !maps.hit(NodeId(5)));
    }
}
