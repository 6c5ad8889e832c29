//! Multicast to a set of nodes with one acknowledgement for all (JUMP-1's combined acknowledgements).
//!
//! | [`Spread`] | who sends | who acknowledges to whom |
//! |---|---|---|
//! | `Unicast` | the sender, to each | each to the sender |
//! | `Tree` | a node gives each half of the others to the first of that half | a node to the one that told it, when its part and both halves are done |
//! | `Chain` | a node tells the next when its own part is done | the last to the sender |
//! | `Network`, `Levels` | the routers | the nodes that were reached, along the fabric's tree of them ([`fabric::Gather`]) |
//!
//! An acknowledgement along the fabric's tree may come before the collector's own copy: what a collector still
//! expects is a signed count, and it is done when it has its own copy and expects nothing.

use crate::core::Core;
use crate::header::{Header, Kind, NODES_MAX};
use crate::slot::Slot;
use fabric::{Fabric, Gather, Map, Message, NodeId, NodeSet, Priority, Refused};
use std::collections::{BTreeMap, VecDeque};

/// How a multicast goes to its nodes. All mean the same; they differ in what they cost. Where the fabric has no
/// multicast, or cannot do this one ([`Refused::Unsupported`]), the last two are a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// One message after the other.
    Unicast,
    /// Nodes that have it pass it on, to two others each.
    Tree,
    /// Each node passes it on to the next.
    Chain,
    /// The fabric's own multicast.
    Network,
    /// The fabric's own, to a superset of the set: one bit-map for each level of the network's tree. Handlers of
    /// strangers get it, too, and say that it is not for them ([`Verdict::Absent`](crate::Verdict::Absent)).
    Levels,
}

impl Spread {
    /// All of them.
    pub const ALL: [Spread; 5] =
        [Spread::Unicast, Spread::Tree, Spread::Chain, Spread::Network, Spread::Levels];
}

/// What the nodes that a multicast reached have answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Answers {
    /// Nodes that have dealt with it.
    pub done: u32,
    /// Nodes that it was not for.
    pub absent: u32,
}

impl Answers {
    fn add(&mut self, other: Answers) {
        self.done = self.done.saturating_add(other.done);
        self.absent = self.absent.saturating_add(other.absent);
    }
    fn word(self) -> u64 {
        u64::from(self.done) | u64::from(self.absent) << 32
    }
    pub(crate) fn of(word: u64) -> Answers {
        Answers { done: word as u32, absent: (word >> 32) as u32 }
    }
}

/// A multicast that a task has asked for.
pub(crate) struct Multicast {
    pub(crate) spread: Spread,
    pub(crate) set: NodeSet,
    pub(crate) code: u32,
    /// Those of the program, behind the number of the sender.
    pub(crate) words: Vec<u64>,
    pub(crate) payload: Vec<u8>,
    pub(crate) done: Slot<Answers>,
}

/// Whom to tell when a node's part of a multicast is done.
enum Origin {
    /// A task of this node.
    Task(Slot<Answers>),
    /// The node that it came from, and its entry.
    Node(NodeId, u32),
    /// The next of a chain.
    Chain(Box<Link>),
}

/// What a node of a chain passes on.
struct Link {
    /// The sender and its entry.
    sender: (NodeId, u32),
    rest: NodeSet,
    code: u32,
    words: Vec<u64>,
    payload: Vec<u8>,
}

struct Entry {
    origin: Origin,
    /// Parts that are not done: the own one, and those that others acknowledge.
    missing: u32,
    answers: Answers,
    /// Its messages are the network's copies.
    of_network: bool,
}

/// A node's part of a multicast by the network, by sender and the sender's entry.
#[derive(Default)]
struct Gathering {
    /// Parts that are not done, less than 0 while acknowledgements have come and the own copy has not.
    missing: i64,
    /// Where to acknowledge; none: the own copy has not come.
    parent: Option<Option<NodeId>>,
    answers: Answers,
}

/// All numbers of entries are in use: one has to fit into a header's `aux`.
#[derive(Debug)]
pub(crate) struct Full;

/// Multicasts by the network that a node may have under way. They need no credits: this bounds them instead.
const OF_NETWORK_MAX: u32 = 64;

/// A node's multicasts that are under way.
pub(crate) struct Multicasts {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    /// The number of entries that there may be.
    entries_max: u32,
    of_network: u32,
    gatherings: BTreeMap<(NodeId, u32), Gathering>,
    /// Those that have not begun, for want of an entry or of room in the network.
    waiting: VecDeque<Multicast>,
}

impl Default for Multicasts {
    fn default() -> Multicasts {
        Multicasts::of_at_most(NODES_MAX)
    }
}

impl Multicasts {
    fn of_at_most(entries_max: u32) -> Multicasts {
        Multicasts {
            entries: Vec::new(),
            free: Vec::new(),
            entries_max,
            of_network: 0,
            gatherings: BTreeMap::new(),
            waiting: VecDeque::new(),
        }
    }
    pub(crate) fn any_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
    /// The number that the next entry gets.
    fn next(&self) -> Result<u32, Full> {
        let next = self.free.last().copied().unwrap_or(self.entries.len() as u32);
        if next < self.entries_max { Ok(next) } else { Err(Full) }
    }
    /// A new one with so many parts.
    fn enter(&mut self, origin: Origin, missing: u32, of_network: bool) -> Result<u32, Full> {
        let index = self.next()?;
        self.of_network += u32::from(of_network);
        let entry = Some(Entry { origin, missing, answers: Answers::default(), of_network });
        if self.free.pop().is_some() {
            self.entries[index as usize] = entry;
        } else {
            self.entries.push(entry);
        }
        Ok(index)
    }
    /// A part is done; the origin and all answers if it was the last one. `None` also if there is no such entry.
    fn done(&mut self, index: u32, answers: Answers) -> Option<(Origin, Answers)> {
        let place = self.entries.get_mut(index as usize)?;
        let entry = place.as_mut()?;
        entry.answers.add(answers);
        entry.missing -= 1;
        if entry.missing > 0 {
            return None;
        }
        self.free.push(index);
        let entry = place.take()?;
        self.of_network -= u32::from(entry.of_network);
        Some((entry.origin, entry.answers))
    }
    /// Changes what is known of a multicast by the network; where to acknowledge, and all answers, if it is done.
    fn gather(
        &mut self,
        key: (NodeId, u32),
        change: impl FnOnce(&mut Gathering),
    ) -> Option<(Option<NodeId>, Answers)> {
        let gathering = self.gatherings.entry(key).or_default();
        change(gathering);
        let parent = gathering.parent.filter(|_| gathering.missing == 0)?;
        let answers = self.gatherings.remove(&key)?.answers;
        Some((parent, answers))
    }
}

/// The nodes that get the halves of a set, with what they are to pass on.
fn halves(set: &NodeSet) -> Vec<(NodeId, NodeSet)> {
    let first = |mut half: NodeSet| {
        let first = half.iter().next()?;
        half.remove(first);
        Some((first, half))
    };
    set.halves().into_iter().filter_map(first).collect()
}

/// What a program sends by a multicast: the handler, the sender's number and words, bytes.
type Content<'a> = (u32, &'a [u64], &'a [u8]);

fn message(kind: Kind, entry: u32, (code, words, payload): Content<'_>) -> Message {
    let mut message = Header::new(kind, code, entry).message(Priority::Low, words);
    message.payload = payload.to_vec();
    message
}

fn to_part(entry: u32, rest: &NodeSet, content: Content<'_>) -> Message {
    let mut message = message(Kind::Multicast, entry, content);
    rest.append_to(&mut message.payload);
    message
}

fn to_link(entry: u32, rest: &NodeSet, answers: Answers, content: Content<'_>) -> Message {
    let mut message = message(Kind::Chain, entry, content);
    rest.append_to(&mut message.payload);
    message.payload.extend(answers.word().to_le_bytes());
    message
}

impl Core {
    /// A task asks for one.
    pub(crate) fn multicast<F: Fabric>(&mut self, fabric: &mut F, multicast: Multicast) {
        self.multicasts.waiting.push_back(multicast);
        self.begin_multicasts(fabric);
    }
    /// Begins those that wait, as far as it can; true if one has begun.
    pub(crate) fn begin_multicasts<F: Fabric>(&mut self, fabric: &mut F) -> bool {
        let mut any = false;
        while let Some(mut multicast) = self.multicasts.waiting.pop_front() {
            let by_network = match multicast.spread {
                Spread::Network | Spread::Levels => self.begin_in_network(fabric, &multicast),
                _ => Err(Refusal::Unsupported),
            };
            let begun = match by_network {
                Err(Refusal::Unsupported) => self.begin_by_messages(fabric, &mut multicast),
                Err(Refusal::NotNow) => Err(Full),
                Ok(()) => Ok(()),
            };
            if let Err(Full) = begun {
                self.multicasts.waiting.push_front(multicast);
                return any;
            }
            any = true;
        }
        any
    }
    fn begin_in_network<F: Fabric>(&mut self, fabric: &mut F, multicast: &Multicast) -> Result<(), Refusal> {
        let Multicast { spread, set, code, words, payload, done } = multicast;
        let entry = self.multicasts.next().map_err(|Full| Refusal::NotNow)?;
        if self.multicasts.of_network >= OF_NETWORK_MAX {
            return Err(Refusal::NotNow);
        }
        let map = match spread {
            Spread::Levels => Map::Levels(set.clone()),
            _ => Map::Exact(set.clone()),
        };
        let message = message(Kind::Copy, entry, (*code, words, payload));
        let words = message.words().len();
        let reached = match fabric.send_many(&map, message) {
            Ok(reached) => reached,
            Err(Refused::Busy(_)) => return Err(Refusal::NotNow),
            Err(Refused::Unsupported(_)) => return Err(Refusal::Unsupported),
        };
        if reached == 0 {
            _ = done.fill(Answers::default());
            return Ok(());
        }
        self.multicasts.enter(Origin::Task(done.clone()), 1, true).map_err(|Full| Refusal::NotNow)?;
        self.counters.sent += u64::from(reached);
        self.spend_on_words(fabric, Kind::Copy, words, payload.len());
        Ok(())
    }
    fn begin_by_messages<F: Fabric>(
        &mut self,
        fabric: &mut F,
        multicast: &mut Multicast,
    ) -> Result<(), Full> {
        let Multicast { spread, set, code, words, payload, done } = multicast;
        self.multicasts.next()?;
        let mine = set.remove(self.node);
        let content = (*code, &words[..], &payload[..]);
        let parts: Vec<(NodeId, NodeSet)> = match spread {
            Spread::Unicast => set.iter().map(|node| (node, NodeSet::new())).collect(),
            Spread::Chain => {
                let first = set.iter().next();
                first.iter().for_each(|first| _ = set.remove(*first));
                first.into_iter().map(|first| (first, set.clone())).collect()
            }
            _ => halves(set),
        };
        let entry = self.multicasts.enter(Origin::Task(done.clone()), parts.len() as u32 + 1, false)?;
        for (to, rest) in parts {
            let message = match spread {
                Spread::Chain => to_link(entry, &rest, Answers::default(), content),
                _ => to_part(entry, &rest, content),
            };
            self.post(fabric, to, message);
        }
        if mine {
            // As if it had come from elsewhere, with nobody to pass it on to.
            self.post(fabric, self.node, to_part(entry, &NodeSet::new(), content));
        } else {
            self.part_done(fabric, entry, Answers::default());
        }
        Ok(())
    }
    /// A node's part of a tree has come: gives the halves of the set theirs. Returns the entry for the own part.
    pub(crate) fn pass_on<F: Fabric>(
        &mut self,
        fabric: &mut F,
        (from, entry): (NodeId, u32),
        set: &NodeSet,
        content: Content<'_>,
    ) -> Result<u32, Full> {
        let halves = halves(set);
        let origin = Origin::Node(from, entry);
        let entry = self.multicasts.enter(origin, halves.len() as u32 + 1, false)?;
        for (to, rest) in halves {
            self.post(fabric, to, to_part(entry, &rest, content));
        }
        Ok(entry)
    }
    /// A chain has come to this node, from the entry of its sender, with the answers so far. Returns the entry for
    /// the own part.
    pub(crate) fn enter_chain(
        &mut self,
        sender: (NodeId, u32),
        rest: NodeSet,
        answers: Answers,
        (code, words, payload): Content<'_>,
    ) -> Result<u32, Full> {
        let link = Link { sender, rest, code, words: words.to_vec(), payload: payload.to_vec() };
        let entry = self.multicasts.enter(Origin::Chain(Box::new(link)), 2, false)?;
        self.multicasts.done(entry, answers);
        Ok(entry)
    }
    /// A part of a multicast is done. False if there is no such entry.
    pub(crate) fn part_done<F: Fabric>(&mut self, fabric: &mut F, entry: u32, answers: Answers) {
        let Some((origin, answers)) = self.multicasts.done(entry, answers) else { return };
        match origin {
            Origin::Task(done) => _ = done.fill(answers),
            Origin::Node(node, entry) => {
                self.tell(fabric, node, Kind::Acknowledge, entry, &[answers.word()]);
            }
            Origin::Chain(link) => {
                let Link { sender: (sender, entry), mut rest, code, words, payload } = *link;
                let Some(next) = rest.iter().next() else {
                    let words = [answers.word()];
                    return self.by_board(|core| core.tell(fabric, sender, Kind::Acknowledge, entry, &words));
                };
                rest.remove(next);
                let link = to_link(entry, &rest, answers, (code, &words, &payload));
                self.by_board(|core| core.post(fabric, next, link));
            }
        }
    }
    /// The own copy of a multicast by the network has come.
    pub(crate) fn copy_came<F: Fabric>(&mut self, fabric: &mut F, key: (NodeId, u32), place: Gather) {
        self.gathered(fabric, key, |gathering| {
            gathering.missing += i64::from(place.children) + 1;
            gathering.parent = Some(place.parent);
        });
    }
    /// A part of a multicast by the network is done.
    pub(crate) fn copy_done<F: Fabric>(&mut self, fabric: &mut F, key: (NodeId, u32), answers: Answers) {
        self.gathered(fabric, key, |gathering| {
            gathering.missing -= 1;
            gathering.answers.add(answers);
        });
    }
    /// `Kind::Gathered` of that entry: a child of a multicast by the network is done. False if no machine would have
    /// sent it.
    pub(crate) fn part_gathered<F: Fabric>(&mut self, fabric: &mut F, entry: u32, words: &[u64]) -> bool {
        let &[_, sender, answers] = words else { return false };
        if sender >= u64::from(self.nodes) {
            return false;
        }
        self.copy_done(fabric, (NodeId(sender as u32), entry), Answers::of(answers));
        true
    }
    fn gathered<F: Fabric>(
        &mut self,
        fabric: &mut F,
        (sender, entry): (NodeId, u32),
        change: impl FnOnce(&mut Gathering),
    ) {
        match self.multicasts.gather((sender, entry), change) {
            None => {}
            Some((None, answers)) => {
                self.tell(fabric, sender, Kind::Acknowledge, entry, &[answers.word()]);
            }
            Some((Some(parent), answers)) => {
                self.tell(fabric, parent, Kind::Gathered, entry, &[sender.0.into(), answers.word()]);
            }
        }
    }
}

/// Why the network does not take a multicast.
enum Refusal {
    NotNow,
    Unsupported,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> Origin {
        Origin::Task(Slot::new())
    }

    #[test]
    fn numbers_of_entries_fit_into_headers() {
        let mut multicasts = Multicasts::of_at_most(3);
        let entries: Vec<u32> =
            (0..3).map(|_| multicasts.enter(task(), 1, false).expect("there is one")).collect();
        assert_eq!(entries, [0, 1, 2]);
        assert!(multicasts.enter(task(), 1, false).is_err());
        assert!(multicasts.done(1, Answers::default()).is_some());
        assert_eq!(multicasts.enter(task(), 1, false).expect("one is free"), 1);
        assert!(multicasts.next().is_err());
        assert_eq!(Multicasts::default().entries_max, NODES_MAX);
    }

    /// Whatever comes first, the node acknowledges once, when all has come.
    #[test]
    fn acknowledgements_may_come_before_the_copy() {
        let key = (NodeId(4), 7);
        let one = |gathering: &mut Gathering| {
            gathering.missing -= 1;
            gathering.answers.add(Answers { done: 1, absent: 0 });
        };
        let copy = |gathering: &mut Gathering| {
            gathering.missing += 3;
            gathering.parent = Some(Some(NodeId(9)));
        };
        // The copy may be the first of the four or the last but one: its own part is done after it.
        for copy_at in 0..3 {
            let mut multicasts = Multicasts::default();
            for event in 0..4 {
                let found =
                    if event == copy_at { multicasts.gather(key, copy) } else { multicasts.gather(key, one) };
                let expected = (event == 3).then_some((Some(NodeId(9)), Answers { done: 3, absent: 0 }));
                assert_eq!(found, expected, "{copy_at}, {event}");
            }
            assert!(multicasts.gatherings.is_empty());
        }
    }
}
