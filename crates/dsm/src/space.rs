//! Where the bytes of a node's pages are.

use crate::fault::Mapping;
use crate::frames::Frames;
use crate::{Access, Page, Store};
use std::ops::Range;

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
    /// What the program may do with a page.
    pub(crate) fn held(&self, page: Page) -> Access {
        match self {
            Space::Frames(_) => Access::Write,
            Space::Mapping(mapping) => mapping.held(page),
        }
    }
    /// The program may write these pages, of which it might do nothing.
    pub(crate) fn open_pages(&mut self, pages: Range<usize>) {
        match self {
            Space::Frames(_) => {}
            Space::Mapping(mapping) => mapping.open_pages(pages),
        }
    }
    /// The program may do with a page what it may, and has been kept from it.
    pub(crate) fn refresh(&mut self, page: Page) {
        match self {
            Space::Frames(_) => {}
            Space::Mapping(mapping) => mapping.refresh(page),
        }
    }
    /// Why the system has not protected a page, if it has not.
    pub(crate) fn refusal(&self) -> Option<&str> {
        match self {
            Space::Frames(_) => None,
            Space::Mapping(mapping) => mapping.refusal(),
        }
    }
    /// The program may do anything with all pages, whatever is in them: the run has failed.
    pub(crate) fn open(&self) {
        match self {
            Space::Frames(_) => {}
            Space::Mapping(mapping) => mapping.open(),
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
    fn access_later(&mut self, page: Page, access: Access) {
        match self {
            Space::Frames(frames) => frames.access_later(page, access),
            Space::Mapping(mapping) => mapping.access_later(page, access),
        }
    }
    fn settle(&mut self) {
        match self {
            Space::Frames(frames) => frames.settle(),
            Space::Mapping(mapping) => mapping.settle(),
        }
    }
}
