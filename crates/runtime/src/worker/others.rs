//! A worker among others, and a node among others: which cells it shares, and what it sends them.

use crate::coordination::team::{Mail, When};
use crate::worker::Worker;
use term::Word;
use term::abi::PredicateId;

impl Worker {
    /// Whether the program has other nodes.
    pub(crate) fn is_one_of_several_nodes(&self) -> bool {
        self.options.nodes > 1
    }
    /// True if each turn ends after a number of reductions (`Node::turn_within`), as those of simulated nodes do.
    pub(crate) fn is_metered(&self) -> bool {
        self.abi.reductions_limit != u64::MAX
    }
    /// True if the node has no other worker.
    #[inline(always)]
    pub(crate) fn is_single(&self) -> bool {
        self.shared.team.len() == 1
    }
    /// True if no other worker can be in the way: there is none, or all others rest (B5 of `give`).
    #[inline(always)]
    pub(crate) fn is_alone(&self) -> bool {
        self.visibility.is_solo() || self.is_single()
    }
    /// W2: true if only this worker writes the cell.
    #[inline(always)]
    pub(crate) fn is_private(&self, cell: usize) -> bool {
        self.abi.is_private(cell)
    }
    /// The other worker to which a cell is private.
    pub(crate) fn owner(&self, cell: usize) -> Option<usize> {
        let owner =
            self.heap.nursery_of(cell).filter(|&owner| owner != self.index && !self.visibility.is_solo())?;
        (cell >= self.shared.private_base(owner)).then_some(owner)
    }
    /// Sends a goal to another worker.
    pub(crate) fn post(&mut self, to: usize, predicate: PredicateId, args: &[Word]) {
        self.post_at(self.abi.priority, to, predicate, args);
    }
    /// The same with a priority.
    pub(crate) fn post_at(&mut self, priority: i64, to: usize, predicate: PredicateId, args: &[Word]) {
        debug_assert!(to != self.index, "B5: a worker posts to others");
        debug_assert_eq!(self.predicates.arity(predicate), args.len(), "H1: a goal has its arguments");
        let mut words = args.to_vec();
        words.push(predicate.goal_word());
        self.count_mail(to);
        self.end_solo();
        let mail = self.mail(priority, words);
        self.shared.team.post(to, mail);
    }
    /// Goals for another worker. They are under way from now on (X12 of `shoen`), until it says that they are there.
    pub(crate) fn mail(&mut self, priority: i64, words: Vec<Word>) -> Mail {
        self.lanes.send_off(&self.shared.shoens, priority);
        let rank = self.lanes.rank_of(&self.shared.shoens, priority);
        Mail { priority, rank, when: When::Next, gift: 0, giver: None, words }
    }
    /// B5. (Generated code that runs may know that a cell is private: so what is private stays so until the next
    /// attention.)
    pub(crate) fn end_solo(&mut self) {
        if self.visibility.end_solo() {
            self.shared.team.end_solo(self.index);
            self.abi.want_attention();
        }
    }
}
