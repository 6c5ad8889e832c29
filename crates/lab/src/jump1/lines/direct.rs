//! A node's part of the memory, and a direct-mapped cache of the lines of others.

use super::{Bytes, Held, LINE_BYTES, Line, Store};
use fabric::NodeId;
use std::collections::BTreeMap;

/// A memory, and a cache in which each line has one place.
#[derive(Clone, Hash, Debug)]
pub(crate) struct DirectMapped {
    homes: fn(Line) -> NodeId,
    memory: BTreeMap<Line, Bytes>,
    places: Vec<Option<(Line, Held)>>,
}

impl DirectMapped {
    /// An empty cache of this number of lines (at least 1, or it panics), and the lines of the memory that are not 0.
    pub(crate) fn new(
        lines: usize,
        homes: fn(Line) -> NodeId,
        memory: BTreeMap<Line, Bytes>,
    ) -> DirectMapped {
        assert!(lines >= 1, "a cache has a line at least");
        DirectMapped { homes, memory, places: vec![None; lines] }
    }
    fn place(&mut self, line: Line) -> &mut Option<(Line, Held)> {
        let places = self.places.len();
        &mut self.places[line.0 as usize % places]
    }
}

impl Store for DirectMapped {
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

#[cfg(test)]
mod tests {
    use super::super::Access;
    use super::*;

    #[test]
    fn lines_of_one_place_push_each_other_out() {
        let mut cache = DirectMapped::new(512, |_| NodeId(0), BTreeMap::new());
        let held = |version| Held { bytes: [1; LINE_BYTES], access: Access::Read, version };
        assert_eq!(cache.hold(Line(7), held(0)), None);
        assert_eq!(cache.hold(Line(7), held(1)), None);
        assert_eq!(cache.hold(Line(7 + 512), held(2)), Some((Line(7), held(1))));
        assert_eq!(cache.held(Line(7)), None);
        assert_eq!(cache.forget(Line(7)), None);
        assert_eq!(cache.forget(Line(7 + 512)), Some(held(2)));
    }
}
