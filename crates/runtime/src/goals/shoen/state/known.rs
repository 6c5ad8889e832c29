//! The lanes that one worker knows: X11 of the module `shoen`.

use super::Lane;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Places of lanes: a power of two.
const PLACES: usize = 64;

/// A lane, as a worker knows it.
#[derive(Debug)]
pub(crate) struct Here {
    number: i64,
    pub(crate) lane: Arc<Lane>,
    /// Segments, buckets and other places in which this worker has ready goals of it.
    pub(crate) places: usize,
}

/// Lanes by their numbers. Those that are made one after the other have different places, so that a message that
/// crosses lanes is found without a hash of anything.
#[derive(Debug)]
pub(crate) struct Known {
    places: [Option<Here>; PLACES],
    /// Those with whose places it is another one that has ready goals.
    others: FxHashMap<i64, Here>,
}

impl Default for Known {
    fn default() -> Known {
        Known { places: [const { None }; PLACES], others: FxHashMap::default() }
    }
}

impl Known {
    #[inline(always)]
    fn place(number: i64) -> usize {
        number as usize % PLACES
    }
    /// What is known of a lane.
    #[inline(always)]
    pub(crate) fn get(&self, number: i64) -> Option<&Here> {
        match &self.places[Known::place(number)] {
            Some(here) if here.number == number => Some(here),
            _ => self.others.get(&number),
        }
    }
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, number: i64) -> Option<&mut Here> {
        match &mut self.places[Known::place(number)] {
            Some(here) if here.number == number => Some(here),
            _ => Known::other(&mut self.others, number),
        }
    }
    #[cold]
    fn other(others: &mut FxHashMap<i64, Here>, number: i64) -> Option<&mut Here> {
        others.get_mut(&number)
    }
    /// A lane that is not known yet. One without ready goals that has its place is forgotten.
    #[cold]
    pub(crate) fn insert(&mut self, number: i64, lane: Arc<Lane>) -> &mut Here {
        debug_assert!(self.get(number).is_none(), "X11: a lane is known twice");
        let here = Here { number, lane, places: 0 };
        let place = &mut self.places[Known::place(number)];
        if place.as_ref().is_none_or(|other| other.places == 0) {
            return place.insert(here);
        }
        if self.others.len() >= PLACES {
            self.others.retain(|_, other| other.places > 0);
        }
        self.others.entry(number).insert_entry(here).into_mut()
    }
    /// Lanes that this worker has ready goals of, and perhaps others.
    pub(crate) fn all(&self) -> impl Iterator<Item = (i64, &Here)> {
        self.places.iter().flatten().chain(self.others.values()).map(|here| (here.number, here))
    }
}
