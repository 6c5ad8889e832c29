//! Whether a variable is an import or marked, found in the records that wait for it.

use crate::goals::abroad::argument;
use crate::goals::suspend::record_class;
use crate::memory::ranges::read;
use crate::terms::deref;
use crate::worker::Worker;
use term::Word;
use term::abi::PredicateId;
use term::layout::{self, SUSPENSION_NEXT, SUSPENSION_PREDICATE};
use term::word::{Tag, UNBOUND};

/// What other nodes know of an unbound variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It stands for this import.
    Import(u32),
    /// It has a marker of this export: the newest.
    Export(u32),
    /// Nothing.
    Nowhere,
}

/// The number in the newest record of this predicate in a list of records.
pub(super) fn number_in(mut list: Word, predicate: PredicateId) -> Option<u32> {
    while list.tag() == Tag::Var && list != UNBOUND {
        let record = list.address();
        let own = record_class(record) != layout::HOOK;
        if own && read(record + 8 * SUSPENSION_PREDICATE) == predicate.goal_word() {
            return Some(argument(record, 1).as_int() as u32);
        }
        list = read(record + 8 * SUSPENSION_NEXT);
    }
    None
}

impl Worker {
    /// The export of the newest marker of a variable.
    pub(crate) fn marker_of(&self, variable: Word) -> Option<u32> {
        self.outward_record(deref(variable), self.system_goals.exported)
    }
    /// The import that an unbound variable stands for.
    pub(crate) fn import_of(&self, variable: Word) -> Option<u32> {
        self.outward_record(deref(variable), self.system_goals.external)
    }
    fn outward_record(&self, variable: Word, predicate: PredicateId) -> Option<u32> {
        if variable.tag() != Tag::Ref {
            return None;
        }
        loop {
            let content = read(variable.address());
            let found = number_in(content, predicate);
            // The records may be another goal's once a worker has bound the variable.
            if read(variable.address()) == content {
                return found;
            }
        }
    }
    /// Which of both; an import that is marked, too, is an import.
    #[inline]
    pub(crate) fn known_abroad(&self, variable: Word) -> Known {
        let variable = deref(variable);
        if variable.tag() != Tag::Ref || read(variable.address()) == UNBOUND {
            return Known::Nowhere;
        }
        match self.import_of(variable) {
            Some(import) => Known::Import(import),
            None => self.marker_of(variable).map_or(Known::Nowhere, Known::Export),
        }
    }
    /// Whether a variable is an import or marked.
    pub(crate) fn is_abroad(&self, variable: Word) -> bool {
        self.options.nodes > 1 && self.known_abroad(variable) != Known::Nowhere
    }
}
