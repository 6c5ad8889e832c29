//! The caches of an MBP-light. What is in one is done by hardware; what is not is an interrupt of its software.

use dsm::lines::{Bytes, Held, LINE_BYTES, Line, Store};
use fabric::NodeId;
use std::collections::BTreeMap;

/// Lines of the net cache, printed.
pub(crate) const NET_LINES: usize = 512;
/// Entries of the ack cache for each level of the tree, printed.
pub(crate) const ACK_ENTRIES: usize = 128;
/// Sources of the ackmap cache, assumed.
pub(crate) const ACKMAP_SOURCES: usize = 64;

/// A cluster's part of the memory, and its net cache: the lines of others that it has, direct-mapped.
#[derive(Debug)]
pub(super) struct NetCache {
    homes: fn(Line) -> NodeId,
    memory: BTreeMap<Line, Bytes>,
    places: Vec<Option<(Line, Held)>>,
}

impl NetCache {
    pub(super) fn new(homes: fn(Line) -> NodeId, memory: BTreeMap<Line, Bytes>) -> NetCache {
        NetCache { homes, memory, places: vec![None; NET_LINES] }
    }
    fn place(&mut self, line: Line) -> &mut Option<(Line, Held)> {
        &mut self.places[line.0 as usize % NET_LINES]
    }
}

impl Store for NetCache {
    fn home(&self, line: Line) -> NodeId {
        (self.homes)(line)
    }
    fn memory(&mut self, line: Line) -> &mut Bytes {
        self.memory.entry(line).or_insert([0; LINE_BYTES])
    }
    fn held(&mut self, line: Line) -> Option<&mut Held> {
        self.place(line).as_mut().filter(|held| held.0 == line).map(|held| &mut held.1)
    }
    fn hold(&mut self, line: Line, held: Held) -> Option<(Line, Held)> {
        self.place(line).replace((line, held)).filter(|before| before.0 != line)
    }
    fn forget(&mut self, line: Line) -> Option<Held> {
        self.held(line)?;
        self.place(line).take().map(|held| held.1)
    }
}

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
    use dsm::lines::Access;

    #[test]
    fn lines_of_one_place_push_each_other_out() {
        let mut cache = NetCache::new(|_| NodeId(0), BTreeMap::new());
        let held = |version| Held { bytes: [1; LINE_BYTES], access: Access::Read, version };
        assert_eq!(cache.hold(Line(7), held(0)), None);
        assert_eq!(cache.hold(Line(7), held(1)), None);
        assert_eq!(cache.hold(Line(7 + NET_LINES as u32), held(2)), Some((Line(7), held(1))));
        assert_eq!(cache.held(Line(7)), None);
        assert_eq!(cache.forget(Line(7)), None);
        assert_eq!(cache.forget(Line(7 + NET_LINES as u32)), Some(held(2)));
    }

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
