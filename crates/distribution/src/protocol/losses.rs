//! Nodes that die (D7).
//!
//! An import of what was at a dead node stays as it is: a variable that gets no value from there. It may get one here,
//! which is told nobody. A read that the dead node had passed on may be answered yet. Weight that the dead node had, or
//! had given to nodes that gave it back there, is out for ever, so the exports of living nodes that it knew stay.

use super::{Post, Protocol, With};
use crate::store::{ExportId, ImportId, Store};
use fabric::NodeId;

impl Protocol {
    pub(super) fn is_lost(&self, node: NodeId) -> bool {
        self.lost.contains(&node)
    }
}

impl<S: Store, P: Post> With<'_, S, P> {
    /// Somebody looks at an import but does not wait: the store is told, if there is no value yet.
    pub fn peek(&mut self, import: ImportId) {
        match self.protocol.imports.get(import) {
            Some(entry) if self.protocol.is_lost(entry.home) => self.store.unbound(import),
            Some(_) => self.send_read(import, self.depth(import), true),
            None => {}
        }
    }

    /// A node is dead: nothing of it comes any more.
    pub fn lose(&mut self, node: NodeId) {
        if self.protocol.is_lost(node) {
            return;
        }
        self.protocol.lost.push(node);
        let imports = self.protocol.imports.all().filter(|(_, entry)| entry.home == node);
        let imports: Vec<ImportId> = imports.map(|(import, _)| import).collect();
        // Whoever only looks learns that there is no value.
        imports.into_iter().for_each(|import| self.unbound(import));
        let exports: Vec<ExportId> = self.protocol.exports.all().map(|(export, _)| export).collect();
        for export in exports {
            let Some(entry) = self.protocol.exports.get_mut(export) else { continue };
            let before = entry.readers.len();
            entry.readers.retain(|waiting| waiting.reader.node != node);
            if entry.readers.len() < before {
                self.try_free(export);
            }
        }
    }
}
