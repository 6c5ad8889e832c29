//! What nodes tell each other of goals to be had, and of collections: nothing about terms, so the protocol does not see
//! it. A notice is one word: `kind (8 bits) | small (24) | number (32)`, from the lowest bit on.

use crate::wire::message::{Malformed, TABLES};

/// What nodes tell each other of rounds (see `rounds`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Round {
    /// From the leader: collect everything, and hold back.
    Begins,
    /// To the leader: everything was collected.
    Done,
    /// From the leader: go on.
    Over,
}

impl Round {
    const ALL: [Round; 3] = [Round::Begins, Round::Done, Round::Over];
}

/// See the module comment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Notice {
    /// Of rounds in which all nodes collect everything.
    Collect(Round),
    /// The sender has nothing to do.
    Hungry,
    /// What became of a goal that the receiver has given away.
    Gained {
        /// Its predicate.
        predicate: u32,
        /// It took long, compared with the messages for it.
        much: bool,
    },
    /// The sender has goals that any node may reduce.
    Offer,
}

const COLLECT: u64 = 0;
const HUNGRY: u64 = 1;
const GAINED: u64 = 2;
const OFFER: u64 = 3;
/// Names of the kinds, in the order of their numbers.
pub(crate) const NAMES: [&str; 4] = ["collect", "hungry", "gained", "offer"];

impl Notice {
    /// Its word.
    pub(crate) fn word(self) -> u64 {
        let word =
            |kind: u64, small: u32, number: u32| kind | u64::from(small) << 8 | u64::from(number) << 32;
        match self {
            Notice::Collect(round) => word(COLLECT, round as u32, 0),
            Notice::Hungry => word(HUNGRY, 0, 0),
            Notice::Gained { predicate, much } => word(GAINED, much.into(), predicate),
            Notice::Offer => word(OFFER, 0, 0),
        }
    }
    /// Index into [`KINDS`](crate::KINDS), where notices come behind messages about terms.
    pub(crate) fn kind(self) -> usize {
        TABLES + (self.word() as u8) as usize
    }
    /// The notice of these words.
    pub(crate) fn read(words: &[u64]) -> Result<Notice, Malformed> {
        let &[word] = words else { return Err(Malformed("a notice that is not one word")) };
        let (small, number) = ((word >> 8) as u32 & 0xff_ffff, (word >> 32) as u32);
        Ok(match word & 0xff {
            COLLECT if number == 0 => {
                let round = Round::ALL.get(small as usize).ok_or(Malformed("an unknown step of a round"))?;
                Notice::Collect(*round)
            }
            HUNGRY if small == 0 && number == 0 => Notice::Hungry,
            GAINED if small <= 1 => Notice::Gained { predicate: number, much: small == 1 },
            OFFER if small == 0 && number == 0 => Notice::Offer,
            _ => return Err(Malformed("an unknown notice")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::Random;

    #[test]
    fn notices_survive_the_way_through_a_word() {
        let mut all: Vec<Notice> = Round::ALL.map(Notice::Collect).into();
        all.extend([Notice::Hungry, Notice::Offer]);
        for number in [0, 7, u32::MAX] {
            all.extend([false, true].map(|much| Notice::Gained { predicate: number, much }));
        }
        for notice in &all {
            assert_eq!(Notice::read(&[notice.word()]), Ok(*notice));
        }
        let kinds: std::collections::BTreeSet<usize> = all.iter().map(|notice| notice.kind()).collect();
        assert!(kinds.into_iter().eq(TABLES..crate::KINDS.len()));
    }

    #[test]
    fn other_words_are_errors_or_notices_of_just_these() {
        let mut random = Random::new(1);
        for _ in 0..100_000 {
            let part = |random: &mut Random, most: u32| u64::from(random.below(most));
            let (kind, small) = (part(&mut random, 8), part(&mut random, 6));
            let word = kind | small << 8 | part(&mut random, 8) << 32;
            if let Ok(notice) = Notice::read(&[word]) {
                assert_eq!(notice.word(), word);
            }
        }
        assert!(Notice::read(&[]).is_err() && Notice::read(&[0, 0]).is_err());
        assert!(Notice::read(&[HUNGRY | 1 << 32]).is_err());
    }
}
