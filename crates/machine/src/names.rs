//! Names of objects, good at every node: where they are is looked up. (J-Machine: `enter` and `xlate`; its compilers'
//! global objects.)
//!
//! A name's home is the node that made it, and always knows which node has the object now. Others send to the node
//! that had it last as far as they know, at first the home; a node that gets a message for an object that it does not
//! have passes it to the home.

use fabric::NodeId;
use std::collections::BTreeMap;

/// The name of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name {
    /// The node that made it.
    pub home: NodeId,
    /// Which of the names of its home it is.
    pub index: u32,
}

impl Name {
    /// The name as a word of a message.
    pub fn word(self) -> u64 {
        u64::from(self.home.0) << 32 | u64::from(self.index)
    }
    /// The name that a word stands for.
    pub fn of(word: u64) -> Name {
        Name { home: NodeId((word >> 32) as u32), index: word as u32 }
    }
}

/// What an object that moves has to bring to its next node, beside its state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passport {
    /// The value under which it was known where it comes from.
    pub value: u64,
    /// How often it has moved: news of its moves may overtake each other on the way to its home.
    pub moves: u64,
}

/// Entries of the cache of places.
const CACHE: usize = 64;

/// What a node knows of names.
#[derive(Debug)]
pub(crate) struct Names {
    node: NodeId,
    /// How many it has made.
    made: u32,
    /// Objects that are here: the values under which the program knows them.
    here: BTreeMap<Name, Passport>,
    /// Where objects are whose home this is, if they are not here.
    away: BTreeMap<Name, (NodeId, u64)>,
    /// Where others were last.
    cache: Vec<Option<(Name, NodeId)>>,
}

impl Names {
    pub(crate) fn new(node: NodeId) -> Names {
        Names { node, made: 0, here: BTreeMap::new(), away: BTreeMap::new(), cache: vec![None; CACHE] }
    }
    pub(crate) fn enter(&mut self, value: u64) -> Name {
        let name = Name { home: self.node, index: self.made };
        self.made = self.made.checked_add(1).expect("a node makes less than 2^32 names");
        self.here.insert(name, Passport { value, moves: 0 });
        name
    }
    /// False if this node would have made it and has not.
    pub(crate) fn may_exist(&self, name: Name) -> bool {
        name.home != self.node || name.index < self.made
    }
    pub(crate) fn translate(&self, name: Name) -> Option<u64> {
        self.here.get(&name).map(|passport| passport.value)
    }
    /// The object is here from now on. The answer is whom to tell.
    pub(crate) fn adopt(&mut self, name: Name, passport: Passport) -> Option<NodeId> {
        self.here.insert(name, passport);
        self.away.remove(&name);
        (name.home != self.node).then_some(name.home)
    }
    /// The object goes to another node.
    pub(crate) fn leave(&mut self, name: Name, to: NodeId) -> Option<Passport> {
        let Passport { value, moves } = self.here.remove(&name)?;
        let moves = moves + 1;
        self.moved(name, to, moves);
        Some(Passport { value, moves })
    }
    /// Somebody says where the object is now.
    pub(crate) fn moved(&mut self, name: Name, to: NodeId, moves: u64) {
        if self.here.contains_key(&name) {
            return;
        }
        if name.home == self.node {
            let known = self.away.entry(name).or_insert((to, moves));
            if moves > known.1 {
                *known = (to, moves);
            }
        } else if to != self.node {
            self.cache[slot(name)] = Some((name, to));
        }
    }
    /// Where to send what is for the object.
    pub(crate) fn place(&self, name: Name) -> NodeId {
        if self.here.contains_key(&name) {
            return self.node;
        }
        if name.home == self.node {
            return self.away.get(&name).map_or(self.node, |&(place, _)| place);
        }
        self.cache[slot(name)].filter(|&(cached, _)| cached == name).map_or(name.home, |(_, place)| place)
    }
}

fn slot(name: Name) -> usize {
    (name.home.0.wrapping_mul(31) ^ name.index) as usize % CACHE
}
