//! A set of nodes: an exact bit-map.

use crate::NodeId;

/// A set of nodes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct NodeSet {
    words: Vec<u64>,
}

impl NodeSet {
    /// The empty set.
    pub fn new() -> NodeSet {
        NodeSet::default()
    }
    /// All of so many nodes.
    pub fn all(nodes: u32) -> NodeSet {
        (0..nodes).map(NodeId).collect()
    }
    /// Enters a node.
    pub fn insert(&mut self, node: NodeId) {
        let index = node.0 as usize / 64;
        if index >= self.words.len() {
            self.words.resize(index + 1, 0);
        }
        self.words[index] |= 1 << (node.0 % 64);
    }
    /// Takes a node out; true if it was in.
    pub fn remove(&mut self, node: NodeId) -> bool {
        let was = self.contains(node);
        if was {
            self.words[node.0 as usize / 64] &= !(1 << (node.0 % 64));
        }
        was
    }
    /// Whether a node is in.
    pub fn contains(&self, node: NodeId) -> bool {
        self.words.get(node.0 as usize / 64).is_some_and(|word| word >> (node.0 % 64) & 1 != 0)
    }
    /// How many nodes are in.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }
    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }
    /// The nodes by number.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> {
        self.words.iter().zip(0u32..).flat_map(|(&word, index)| {
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| NodeId(index * 64 + bit))
        })
    }
    /// The two halves of the set: the nodes of lower numbers, and the others.
    pub fn halves(&self) -> [NodeSet; 2] {
        let half = self.len().div_ceil(2);
        [self.iter().take(half).collect(), self.iter().skip(half).collect()]
    }
    /// Writes the set after other bytes: first and last word that are not 0, those between, and how many there are.
    pub fn append_to(&self, bytes: &mut Vec<u8>) {
        let first = self.words.iter().position(|&word| word != 0).unwrap_or(0);
        let last = self.words.iter().rposition(|&word| word != 0).map_or(first, |last| last + 1);
        for word in &self.words[first..last] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend((first as u32).to_le_bytes());
        bytes.extend(((last - first) as u32).to_le_bytes());
    }
    /// Splits what [`NodeSet::append_to`] made into the bytes before it and the set; `None` if it did not make this, of
    /// so many nodes.
    pub fn split(bytes: &[u8], nodes: u32) -> Option<(&[u8], NodeSet)> {
        let (rest, count) = bytes.split_last_chunk::<4>()?;
        let (rest, first) = rest.split_last_chunk::<4>()?;
        let (first, count) = (u32::from_le_bytes(*first) as usize, u32::from_le_bytes(*count) as usize);
        let start = rest.len().checked_sub(count.checked_mul(8)?)?;
        if first + count > nodes.div_ceil(64) as usize {
            return None;
        }
        let mut words = vec![0; first];
        let (payload, set) = rest.split_at(start);
        words.extend(set.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes"))));
        let set = NodeSet { words };
        let right = set.iter().all(|node| node.0 < nodes);
        right.then_some((payload, set))
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> NodeSet {
        let mut set = NodeSet::new();
        nodes.into_iter().for_each(|node| set.insert(node));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_survive_at_the_end_of_bytes() {
        for nodes in [vec![], vec![0], vec![63, 64], vec![5, 700, 701, 1_000], (0..200).collect()] {
            let set: NodeSet = nodes.iter().copied().map(NodeId).collect();
            let mut bytes = b"payload".to_vec();
            set.append_to(&mut bytes);
            let (payload, found) = NodeSet::split(&bytes, 1_002).expect("it was written so");
            assert_eq!(payload, b"payload");
            assert!(found.iter().eq(set.iter()), "{found:?}");
            let [low, high] = set.halves();
            assert!(low.iter().chain(high.iter()).eq(set.iter()));
            assert!(low.len() - high.len() <= 1);
        }
    }

    #[test]
    fn strange_bytes_are_no_set() {
        assert_eq!(NodeSet::split(&[], 64), None);
        assert_eq!(NodeSet::split(&[0; 7], 64), None);
        assert_eq!(NodeSet::split(&[0, 0, 0, 0, 1, 0, 0, 0], 64), None, "a word that is not there");
        assert_eq!(NodeSet::split(&[0xff; 8], 64), None);
        assert_eq!(
            NodeSet::split(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0], 64),
            None,
            "nodes beyond all numbers"
        );
    }
}
