//! Where pages have their homes, and what a node knows of each page.

use super::{Copy, Place};
use crate::Page;
use crate::protocol::home::Home;
use fabric::NodeId;
use std::ops::Range;
use std::sync::Arc;

/// Pages whose places are made at once.
const CHUNK: usize = 256;

/// The home of each page.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Homes {
    /// That of each page. A node knows something of all pages from the beginning.
    Table(Arc<[NodeId]>),
    /// Dealt in equal blocks, those of the first node first. A node has room for those only that it has to do with, so
    /// there may be many.
    Blocks {
        /// How many nodes.
        nodes: u32,
        /// How many pages in all.
        pages: u32,
    },
    /// All at one node. There may be many, as with blocks.
    One {
        /// This one.
        node: NodeId,
        /// How many pages.
        pages: u32,
    },
}

impl Homes {
    /// How many pages there are.
    pub fn len(&self) -> usize {
        match self {
            Homes::Table(homes) => homes.len(),
            Homes::Blocks { pages, .. } | Homes::One { pages, .. } => *pages as usize,
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// That of a page. A page that is none is a mistake of the caller's: panics.
    pub fn of(&self, page: Page) -> NodeId {
        match self {
            Homes::Table(homes) => homes[page as usize],
            Homes::Blocks { nodes, pages } => {
                assert!(page < *pages, "page {page} of {pages}");
                NodeId((u64::from(page) * u64::from(*nodes) / u64::from(*pages)) as u32)
            }
            Homes::One { node, pages } => {
                assert!(page < *pages, "page {page} of {pages}");
                *node
            }
        }
    }
    /// The pages that have their home at a node, in order: ranges that do not touch.
    pub(crate) fn at(&self, node: NodeId) -> Vec<Range<usize>> {
        let one = |pages: Range<usize>| if pages.is_empty() { Vec::new() } else { vec![pages] };
        match self {
            Homes::Table(homes) => {
                let mut ranges: Vec<Range<usize>> = Vec::new();
                for (page, _) in homes.iter().enumerate().filter(|&(_, &home)| home == node) {
                    match ranges.last_mut() {
                        Some(last) if last.end == page => last.end += 1,
                        _ => ranges.push(page..page + 1),
                    }
                }
                ranges
            }
            Homes::Blocks { nodes, pages } => {
                let first = |node: u32| {
                    let first = (u64::from(node) * u64::from(*pages)).div_ceil(u64::from(*nodes));
                    first.min(u64::from(*pages)) as usize
                };
                one(first(node.0)..first(node.0 + 1))
            }
            Homes::One { node: home, pages } => one(0..if *home == node { *pages as usize } else { 0 }),
        }
    }
    /// Bytes that a node needs at least to know of a page, before anybody has touched it.
    pub(crate) fn bytes_a_page(&self) -> usize {
        match self {
            Homes::Table(_) => size_of::<Place>() + size_of::<NodeId>() + 1,
            Homes::Blocks { .. } | Homes::One { .. } => 1,
        }
    }
    /// The node with the highest number that has pages.
    pub(super) fn last(&self) -> Option<NodeId> {
        match self {
            Homes::Table(homes) => homes.iter().max().copied(),
            Homes::Blocks { nodes, .. } => nodes.checked_sub(1).map(NodeId),
            Homes::One { node, .. } => Some(*node),
        }
    }
}

impl From<Vec<NodeId>> for Homes {
    fn from(homes: Vec<NodeId>) -> Homes {
        Homes::Table(homes.into())
    }
}

impl FromIterator<NodeId> for Homes {
    fn from_iter<I: IntoIterator<Item = NodeId>>(homes: I) -> Homes {
        Homes::Table(homes.into_iter().collect())
    }
}

/// What a node knows of each page.
#[derive(Clone, Hash, Debug)]
pub(super) struct Places {
    node: NodeId,
    homes: Homes,
    chunks: Vec<Option<Box<[Place]>>>,
}

impl Places {
    pub(super) fn new(node: NodeId, homes: &Homes) -> Places {
        let chunks = vec![None; homes.len().div_ceil(CHUNK)];
        let mut places = Places { node, homes: homes.clone(), chunks };
        if matches!(homes, Homes::Table(_)) {
            (0..places.chunks.len()).for_each(|chunk| _ = places.chunk(chunk));
        }
        places
    }
    fn chunk(&mut self, number: usize) -> &mut [Place] {
        let (node, homes) = (self.node, &self.homes);
        let make = || {
            let pages = number * CHUNK..homes.len().min((number + 1) * CHUNK);
            let place = |page| match homes.of(page as Page) == node {
                true => Place::Here(Home::default()),
                false => Place::Away(Copy::default()),
            };
            pages.map(place).collect()
        };
        self.chunks[number].get_or_insert_with(make)
    }
    /// A page that there is.
    pub(super) fn at(&mut self, page: Page) -> &mut Place {
        &mut self.chunk(page as usize / CHUNK)[page as usize % CHUNK]
    }
    /// A page of which somebody has told.
    pub(super) fn get(&mut self, page: Page) -> Option<&mut Place> {
        ((page as usize) < self.homes.len()).then(|| self.at(page))
    }
    /// What is known of a page, if there is room for it already.
    pub(super) fn seen(&self, page: Page) -> Option<&Place> {
        self.chunks.get(page as usize / CHUNK)?.as_ref()?.get(page as usize % CHUNK)
    }
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Place> {
        self.chunks.iter().flatten().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_of_a_node_are_those_whose_home_it_is() {
        let table: Vec<NodeId> = [2, 0, 0, 1, 2, 2, 0].map(NodeId).into();
        let mut all = vec![Homes::from(table)];
        for pages in 0..30 {
            all.extend((1..8).map(|nodes| Homes::Blocks { nodes, pages }));
            all.extend((0..8).map(|node| Homes::One { node: NodeId(node), pages }));
        }
        for homes in all {
            for node in (0..8).map(NodeId) {
                let here = |&page: &usize| homes.of(page as Page) == node;
                let wanted: Vec<usize> = (0..homes.len()).filter(here).collect();
                let ranges = homes.at(node);
                assert!(ranges.iter().all(|range| !range.is_empty()), "{homes:?}");
                assert_eq!(ranges.into_iter().flatten().collect::<Vec<_>>(), wanted, "{homes:?}, {node:?}");
            }
        }
    }
}
