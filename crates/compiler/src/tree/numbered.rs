//! A map from small numbers, of which there are many versions: a copy costs nothing, and shares with the original what
//! is equal in both. So a path of tests knows as many things as it has tests, in space and time linear in these.

use std::rc::Rc;

/// Bits of a number that one node looks at.
const BITS: u32 = 4;
const WIDTH: usize = 1 << BITS;

/// A trie by the bits of the numbers, the highest first.
#[derive(Clone, Debug)]
pub(super) struct Numbered<T> {
    root: Option<Rc<Node<T>>>,
    /// Levels of inner nodes above the leaves.
    levels: u32,
}

#[derive(Clone, Debug)]
enum Node<T> {
    Inner([Option<Rc<Node<T>>>; WIDTH]),
    Leaf([Option<T>; WIDTH]),
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered { root: None, levels: 0 }
    }
}

fn place(number: u32, level: u32) -> usize {
    (number >> (level * BITS)) as usize % WIDTH
}

impl<T: Copy + PartialEq> Node<T> {
    fn new(level: u32) -> Node<T> {
        if level == 0 { Node::Leaf([None; WIDTH]) } else { Node::Inner(Default::default()) }
    }
    fn set(&mut self, level: u32, number: u32, value: T) {
        match self {
            Node::Leaf(values) => values[place(number, 0)] = Some(value),
            Node::Inner(nodes) => {
                let node = nodes[place(number, level)].get_or_insert_with(|| Rc::new(Node::new(level - 1)));
                Rc::make_mut(node).set(level - 1, number, value);
            }
        }
    }
    /// The same with what `view` makes of each entry; shared where that is the same.
    fn view(
        self: &Rc<Self>,
        first: u32,
        level: u32,
        view: &mut dyn FnMut(u32, T) -> Option<T>,
    ) -> Option<Rc<Self>> {
        let (node, is_same, is_empty) = match &**self {
            Node::Leaf(values) => {
                let mut viewed = [None; WIDTH];
                for (at, (value, viewed)) in values.iter().zip(&mut viewed).enumerate() {
                    *viewed = value.and_then(|value| view(first + at as u32, value));
                }
                (Node::Leaf(viewed), viewed == *values, viewed.iter().all(Option::is_none))
            }
            Node::Inner(nodes) => {
                let mut viewed: [Option<Rc<Self>>; WIDTH] = Default::default();
                let (mut is_same, mut is_empty) = (true, true);
                for (at, (node, viewed)) in nodes.iter().zip(&mut viewed).enumerate() {
                    let Some(node) = node else { continue };
                    *viewed = node.view(first + ((at as u32) << (level * BITS)), level - 1, view);
                    is_same &= viewed.as_ref().is_some_and(|viewed| Rc::ptr_eq(viewed, node));
                    is_empty &= viewed.is_none();
                }
                (Node::Inner(viewed), is_same, is_empty)
            }
        };
        if is_same {
            return Some(self.clone());
        }
        if is_empty { None } else { Some(Rc::new(node)) }
    }
    /// Whether `holds` says so of each value here and what `other` has for it. Shared parts are not looked at.
    fn every(self: &Rc<Self>, other: Option<&Rc<Self>>, holds: &mut dyn FnMut(T, Option<T>) -> bool) -> bool {
        if other.is_some_and(|other| Rc::ptr_eq(self, other)) {
            return true;
        }
        match &**self {
            Node::Leaf(values) => values.iter().enumerate().all(|(at, value)| {
                let of_other = match other.map(|other| &**other) {
                    Some(Node::Leaf(others)) => others[at],
                    _ => None,
                };
                value.is_none_or(|value| holds(value, of_other))
            }),
            Node::Inner(nodes) => nodes.iter().enumerate().all(|(at, node)| {
                let of_other = match other.map(|other| &**other) {
                    Some(Node::Inner(others)) => others[at].as_ref(),
                    _ => None,
                };
                node.as_ref().is_none_or(|node| node.every(of_other, holds))
            }),
        }
    }
}

impl<T: Copy + PartialEq> Numbered<T> {
    pub(super) fn get(&self, number: u32) -> Option<T> {
        if u64::from(number) >> (BITS * (self.levels + 1)) != 0 {
            return None;
        }
        let (mut node, mut level) = (self.root.as_ref()?, self.levels);
        loop {
            match &**node {
                Node::Leaf(values) => return values[place(number, 0)],
                Node::Inner(nodes) => node = nodes[place(number, level)].as_ref()?,
            }
            level -= 1;
        }
    }
    pub(super) fn set(&mut self, number: u32, value: T) {
        while u64::from(number) >> (BITS * (self.levels + 1)) != 0 {
            self.grow();
        }
        let root = self.root.get_or_insert_with(|| Rc::new(Node::new(self.levels)));
        Rc::make_mut(root).set(self.levels, number, value);
    }
    /// One level more.
    fn grow(&mut self) {
        self.levels += 1;
        if let Some(root) = self.root.take() {
            let mut nodes: [Option<Rc<Node<T>>>; WIDTH] = Default::default();
            nodes[0] = Some(root);
            self.root = Some(Rc::new(Node::Inner(nodes)));
        }
    }
    /// The same with what `view` makes of each entry.
    pub(super) fn view(&self, mut view: impl FnMut(u32, T) -> Option<T>) -> Numbered<T> {
        let root = self.root.as_ref().and_then(|root| root.view(0, self.levels, &mut view));
        Numbered { root, levels: self.levels }
    }
    /// Whether `holds` says so of each value and what `other` has under its number. It must say so of equal ones.
    pub(super) fn every(&self, other: &Numbered<T>, mut holds: impl FnMut(T, Option<T>) -> bool) -> bool {
        let Some(root) = &self.root else { return true };
        let mut other = other.clone();
        while other.levels < self.levels {
            other.grow();
        }
        let (mut theirs, mut levels) = (other.root.as_ref(), other.levels);
        // What is behind the numbers that this map can have does not matter.
        while levels > self.levels {
            theirs = match theirs.map(|node| &**node) {
                Some(Node::Inner(nodes)) => nodes[0].as_ref(),
                _ => None,
            };
            levels -= 1;
        }
        root.every(theirs, &mut holds)
    }
}

impl<T: Copy + PartialEq> PartialEq for Numbered<T> {
    fn eq(&self, other: &Numbered<T>) -> bool {
        let equal = |mine, theirs| Some(mine) == theirs;
        self.every(other, equal) && other.every(self, equal)
    }
}

#[cfg(test)]
mod tests {
    use super::Numbered;
    use std::collections::BTreeMap;

    /// Versions of a map and of what it should be.
    fn versions() -> Vec<(Numbered<u32>, BTreeMap<u32, u32>)> {
        let (mut map, mut model) = (Numbered::default(), BTreeMap::new());
        let mut versions = vec![(map.clone(), model.clone())];
        let mut random: u32 = 7;
        for step in 0..300 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = random >> (4 + random % 28);
            map.set(number, step % 5);
            model.insert(number, step % 5);
            if step % 50 == 49 {
                let keep = |number: u32, value| (number & 3 != 0).then_some(value + number % 2);
                map = map.view(keep);
                model = model.into_iter().filter_map(|(n, value)| Some((n, keep(n, value)?))).collect();
            }
            versions.push((map.clone(), model.clone()));
        }
        versions
    }

    #[test]
    fn versions_are_what_was_put_into_them() {
        for (map, model) in versions() {
            let mut found = BTreeMap::new();
            let all = map.view(|number, value| {
                found.insert(number, value);
                Some(value)
            });
            assert_eq!((&found, all == map), (&model, true));
            assert!(model.iter().all(|(&number, &value)| map.get(number) == Some(value)));
            assert!((0..100).all(|number| map.get(number) == model.get(&number).copied()));
            assert_eq!(map.get(u32::MAX), model.get(&u32::MAX).copied());
        }
    }

    #[test]
    fn versions_are_compared_entry_by_entry() {
        let versions = versions();
        for (map, model) in versions.iter().step_by(7) {
            for (other, of_other) in versions.iter().step_by(11) {
                let holds = |mine, theirs: Option<u32>| theirs.is_some_and(|theirs| theirs <= mine);
                let expected = model.iter().all(|(number, &mine)| holds(mine, of_other.get(number).copied()));
                assert_eq!(map.every(other, holds), expected);
                assert_eq!(map == other, model == of_other);
            }
        }
    }
}
