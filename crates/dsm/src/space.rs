//! Where the bytes of a node's pages are.

use crate::fault::Mapping;
use crate::frames::Frames;
use crate::{Access, Page, Store};

#[derive(Debug)]
pub(crate) enum Space {
    /// In an array: programs say what they use.
    Frames(Frames),
    /// In mapped memory: page faults say it.
    Mapping(Mapping),
}

impl Space {
    pub(crate) fn page_words(&self) -> usize {
        match self {
            Space::Frames(frames) => frames.page_words(),
            Space::Mapping(mapping) => mapping.page_words(),
        }
    }
}

impl Store for Space {
    fn read(&self, page: Page, into: &mut [u8]) {
        match self {
            Space::Frames(frames) => frames.read(page, into),
            Space::Mapping(mapping) => mapping.read(page, into),
        }
    }
    fn write(&mut self, page: Page, at: usize, bytes: &[u8]) {
        match self {
            Space::Frames(frames) => frames.write(page, at, bytes),
            Space::Mapping(mapping) => mapping.write(page, at, bytes),
        }
    }
    fn access(&mut self, page: Page, access: Access) {
        match self {
            Space::Frames(frames) => frames.access(page, access),
            Space::Mapping(mapping) => mapping.access(page, access),
        }
    }
}
