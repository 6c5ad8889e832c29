//! Where pages have their homes, and what a node knows of each page.

use super::{Copy, Place};
use crate::Page;
use crate::protocol::home::Home;
use fabric::NodeId;
use std::sync::Arc;

/// Pages whose places are made at once.
const CHUNK: usize = 256;

/// The home of each page.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Homes {
    /// That of each page. A node knows something of all pages from the beginning.
    Table(Arc<[NodeId]>),
    /// As many pages at each node, those of the first node first. A node has room for those only that it has to do
    /// with, so there may be many.
    Blocks {
        /// How many nodes.
        nodes: u32,
        /// How many pages at each.
        pages: u32,
    },
}

impl Homes {
    /// How many pages there are.
    pub fn len(&self) -> usize {
        match self {
            Homes::Table(homes) => homes.len(),
            Homes::Blocks { nodes, pages } => *nodes as usize * *pages as usize,
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
            Homes::Blocks { pages, .. } => {
                assert!((page as usize) < self.len(), "page {page} of {}", self.len());
                NodeId(page / pages)
            }
        }
    }
    /// Those of all pages.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> {
        (0..self.len()).map(|page| self.of(page as Page))
    }
    /// The node with the highest number that has pages.
    pub(super) fn last(&self) -> Option<NodeId> {
        match self {
            Homes::Table(homes) => homes.iter().max().copied(),
            Homes::Blocks { nodes, .. } => nodes.checked_sub(1).map(NodeId),
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
