//! What nodes tell each other about pages and locks, as values and as bytes.

use crate::Runs;
use fabric::Priority;
use std::fmt;

/// The number of a page, the same at all nodes.
pub type Page = u32;

/// A message of the protocol. Of one pair of nodes those that ask (`Fetch`, `Diffs`, `Lock`, `Unlock`) stay in order
/// among each other; so do those that answer (`Pages`, `Done`, `Grant`). `Invalidate` and `Update` go to many, in no
/// order with anything.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// To the home of these pages: what is in them?
    Fetch {
        /// Which: one at least, [`FETCH_MAX`] at most.
        pages: Vec<Page>,
    },
    /// This: the answer to a whole [`Message::Fetch`].
    Pages {
        /// Which, and how many batches of diffs each has got.
        pages: Vec<(Page, u64)>,
        /// All their bytes, page behind page.
        bytes: Vec<u8>,
    },
    /// To the home of these pages: what the sender has changed.
    Diffs {
        /// A number that [`Message::Done`] will bring back.
        batch: u64,
        /// By page.
        diffs: Vec<(Page, Runs)>,
    },
    /// The diffs of this batch are in all copies, or these are gone.
    Done {
        /// Which.
        batch: u64,
    },
    /// Copies older than these versions are no longer good.
    Invalidate {
        /// Pages and their versions.
        pages: Vec<(Page, u64)>,
    },
    /// What has changed since copies older than these versions were made.
    Update {
        /// Pages, their versions, and what is new in these.
        diffs: Vec<(Page, u64, Runs)>,
    },
    /// To a lock's home: the sender wants it.
    Lock {
        /// Which.
        lock: u32,
    },
    /// It has it.
    Grant {
        /// Which.
        lock: u32,
    },
    /// It does not need it any more.
    Unlock {
        /// Which.
        lock: u32,
    },
}

/// Bytes or a message that no node of this program sends, and what is wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a message that no node of this program sends: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

/// The most pages of one [`Message::Fetch`]. With 64 of them what a message costs hardly counts beside its bytes, and
/// the first pages are there while the home reads the next.
pub const FETCH_MAX: usize = 64;

/// How many kinds of messages there are.
pub const KINDS: usize = 9;

/// A message as it travels: its kind, words and bytes.
pub type Letter = (u32, [u64; 2], Vec<u8>);

impl Message {
    /// How urgent it is.
    pub(crate) fn priority(&self) -> Priority {
        if self.answers() { Priority::High } else { Priority::Low }
    }
    /// As it travels: its values take no memory meanwhile.
    pub(crate) fn into_letter(self) -> Letter {
        let kind = self.kind();
        let (words, bytes) = self.write();
        (kind, words, bytes)
    }
    /// A number below [`KINDS`].
    pub fn kind(&self) -> u32 {
        match self {
            Message::Fetch { .. } => 0,
            Message::Pages { .. } => 1,
            Message::Diffs { .. } => 2,
            Message::Done { .. } => 3,
            Message::Invalidate { .. } => 4,
            Message::Update { .. } => 5,
            Message::Lock { .. } => 6,
            Message::Grant { .. } => 7,
            Message::Unlock { .. } => 8,
        }
    }
    /// Whether somebody waits for it who cannot go on without.
    pub fn answers(&self) -> bool {
        matches!(self, Message::Pages { .. } | Message::Done { .. } | Message::Grant { .. })
    }
    /// The message without its kind: two words and bytes.
    pub fn write(self) -> ([u64; 2], Vec<u8>) {
        match self {
            Message::Fetch { pages } => ([u64::from(pages[0]), 0], {
                let mut bytes = Vec::with_capacity((pages.len() - 1) * size_of::<Page>());
                pages[1..].iter().for_each(|page| bytes.extend(page.to_le_bytes()));
                bytes
            }),
            Message::Pages { pages, mut bytes } => ([u64::from(pages[0].0), pages[0].1], {
                for (page, version) in &pages[1..] {
                    bytes.extend(page.to_le_bytes());
                    bytes.extend(version.to_le_bytes());
                }
                bytes
            }),
            Message::Diffs { batch, diffs } => ([batch, 0], {
                let entry = |(_, runs): &(Page, Runs)| 2 * size_of::<u32>() + runs.as_bytes().len();
                let mut bytes = Vec::with_capacity(diffs.iter().map(entry).sum());
                diffs.iter().for_each(|(page, runs)| push(&mut bytes, *page, None, runs.as_bytes()));
                bytes
            }),
            Message::Done { batch } => ([batch, 0], Vec::new()),
            Message::Invalidate { pages } => ([0, 0], {
                let mut bytes = Vec::new();
                pages.iter().for_each(|&(page, version)| push(&mut bytes, page, Some(version), &[]));
                bytes
            }),
            Message::Update { diffs } => ([0, 0], {
                let mut bytes = Vec::new();
                for (page, version, runs) in diffs {
                    push(&mut bytes, page, Some(version), runs.as_bytes());
                }
                bytes
            }),
            Message::Lock { lock } | Message::Grant { lock } | Message::Unlock { lock } => {
                ([u64::from(lock), 0], Vec::new())
            }
        }
    }
    /// What [`Message::write`] made of a message of this kind, with pages of this size in bytes.
    pub fn read(kind: u32, words: &[u64], bytes: &[u8], page_bytes: usize) -> Result<Message, Malformed> {
        let &[first, second] = words else { return Err(Malformed("not two words")) };
        let short = || u32::try_from(first).map_err(|_| Malformed("a number beyond all pages and locks"));
        Ok(match kind {
            0 => {
                let (more, []) = bytes.as_chunks() else { return Err(Malformed("a page that is cut off")) };
                let more = more.iter().map(|page| Page::from_le_bytes(*page));
                Message::Fetch { pages: std::iter::once(short()?).chain(more).collect() }
            }
            1 => {
                let count = (bytes.len() + PAGE_TAIL) / (page_bytes + PAGE_TAIL);
                let (bytes, tail) = bytes.split_at_checked(count * page_bytes).unwrap_or((&[], bytes));
                let (more, []) = tail.as_chunks::<PAGE_TAIL>() else {
                    return Err(Malformed("pages of another size"));
                };
                if count != more.len() + 1 {
                    return Err(Malformed("pages of another size"));
                }
                let mut pages = Vec::with_capacity(count);
                pages.push((short()?, second));
                pages.extend(more.iter().map(|more| {
                    let [a, b, c, d, version @ ..] = *more;
                    (Page::from_le_bytes([a, b, c, d]), u64::from_le_bytes(version))
                }));
                Message::Pages { pages, bytes: bytes.to_vec() }
            }
            2 => Message::Diffs {
                batch: first,
                diffs: {
                    let entries = Entries { rest: bytes, version: false };
                    let runs = |(page, _, runs)| Ok((page, Runs::of_bytes(runs, page_bytes)?));
                    entries.map(|entry| entry.and_then(runs)).collect::<Result<_, _>>()?
                },
            },
            3 => Message::Done { batch: first },
            4 => Message::Invalidate {
                pages: {
                    let entries = Entries { rest: bytes, version: true };
                    entries
                        .map(|entry| entry.map(|(page, version, _)| (page, version)))
                        .collect::<Result<_, _>>()?
                },
            },
            5 => Message::Update {
                diffs: {
                    let entries = Entries { rest: bytes, version: true };
                    let runs = |(page, version, runs)| Ok((page, version, Runs::of_bytes(runs, page_bytes)?));
                    entries.map(|entry| entry.and_then(runs)).collect::<Result<_, _>>()?
                },
            },
            6 => Message::Lock { lock: short()? },
            7 => Message::Grant { lock: short()? },
            8 => Message::Unlock { lock: short()? },
            _ => return Err(Malformed("an unknown kind")),
        })
    }
}

/// Behind the bytes of pages, for each but the first: its number and its version.
pub(crate) const PAGE_TAIL: usize = size_of::<Page>() + size_of::<u64>();

fn push(bytes: &mut Vec<u8>, page: Page, version: Option<u64>, runs: &[u8]) {
    bytes.extend(page.to_le_bytes());
    bytes.extend((runs.len() as u32).to_le_bytes());
    version.into_iter().for_each(|version| bytes.extend(version.to_le_bytes()));
    bytes.extend_from_slice(runs);
}

/// What [`push`] wrote.
struct Entries<'a> {
    rest: &'a [u8],
    version: bool,
}

impl<'a> Entries<'a> {
    fn entry(&mut self) -> Option<(Page, u64, &'a [u8])> {
        let (page, rest) = self.rest.split_first_chunk::<4>()?;
        let (length, mut rest) = rest.split_first_chunk::<4>()?;
        let mut version = 0;
        if self.version {
            let (bytes, behind) = rest.split_first_chunk::<8>()?;
            (version, rest) = (u64::from_le_bytes(*bytes), behind);
        }
        let (runs, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        self.rest = rest;
        Some((u32::from_le_bytes(*page), version, runs))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<(Page, u64, &'a [u8]), Malformed>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let entry = self.entry();
        if entry.is_none() {
            self.rest = &[];
        }
        Some(entry.ok_or(Malformed("an entry that is cut off")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_and_cut_ones_are_none() {
        let runs = Runs::between(&[0; 16], &[1; 16]);
        let all = [
            Message::Fetch { pages: vec![7, 1, u32::MAX] },
            Message::Pages { pages: vec![(7, 1 << 40), (9, 2), (8, u64::MAX)], bytes: vec![3; 48] },
            Message::Diffs { batch: 5, diffs: vec![(1, runs.clone()), (u32::MAX, Runs::default())] },
            Message::Done { batch: 9 },
            Message::Invalidate { pages: vec![(1, 2), (3, u64::MAX)] },
            Message::Update { diffs: vec![(1, 2, runs.clone()), (3, 4, runs)] },
            Message::Lock { lock: 1 },
            Message::Grant { lock: 2 },
            Message::Unlock { lock: 3 },
        ];
        assert_eq!(all.len(), KINDS);
        for (kind, message) in (0..).zip(all) {
            let (words, bytes) = message.clone().write();
            assert_eq!((message.kind(), Message::read(kind, &words, &bytes, 16)), (kind, Ok(message)));
            if !bytes.is_empty() {
                assert!(Message::read(kind, &words, &bytes[..bytes.len() - 1], 16).is_err());
            }
            assert!(Message::read(kind, &words[..1], &bytes, 16).is_err());
        }
        assert!(Message::read(KINDS as u32, &[0, 0], &[], 16).is_err());
        assert!(Message::read(0, &[1 << 32, 0], &[], 16).is_err());
    }
}
