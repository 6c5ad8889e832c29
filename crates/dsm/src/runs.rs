//! What of a page has changed: runs of words.

use crate::Malformed;

/// Bytes of a word, the unit in which pages differ.
pub const WORD: usize = 8;
/// Before the words of a run: the number of the first, and how many there are, in two bytes each.
const HEAD: usize = 4;

/// Changed words of a page, those that lie together in one run, by their places.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Runs(Vec<u8>);

impl Runs {
    /// The words of a page that differ from those of its twin: no others, because others may write those.
    pub fn between(twin: &[u8], page: &[u8]) -> Runs {
        assert_eq!(twin.len(), page.len(), "a page and its twin");
        let differs = |word: usize| twin[word * WORD..][..WORD] != page[word * WORD..][..WORD];
        let (words, mut runs, mut word) = (page.len() / WORD, Vec::new(), 0);
        while word < words {
            if !differs(word) {
                word += 1;
                continue;
            }
            let end = (word..words).find(|&word| !differs(word)).unwrap_or(words);
            push(&mut runs, word, &page[word * WORD..end * WORD]);
            word = end;
        }
        Runs(runs)
    }
    /// All words of a page.
    pub fn whole(page: &[u8]) -> Runs {
        let mut runs = Vec::with_capacity(HEAD + page.len());
        push(&mut runs, 0, page);
        Runs(runs)
    }
    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Each run: the place of its first byte, and its bytes.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let (head, behind) = rest.split_at_checked(HEAD)?;
            let (first, words) = (half(head, 0), half(head, 2));
            let (run, behind) = behind.split_at(words * WORD);
            rest = behind;
            Some((first * WORD, run))
        })
    }
    /// Puts them over a page.
    pub fn apply(&self, page: &mut [u8]) {
        self.iter().for_each(|(at, run)| page[at..at + run.len()].copy_from_slice(run));
    }
    /// As they travel.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
    /// What has travelled, for a page of this size in bytes.
    pub fn of_bytes(bytes: &[u8], page_bytes: usize) -> Result<Runs, Malformed> {
        let mut rest = bytes;
        let mut end = 0;
        while !rest.is_empty() {
            let (head, behind) = rest.split_at_checked(HEAD).ok_or(Malformed("a run without a head"))?;
            let (first, words) = (half(head, 0), half(head, 2));
            let right = words > 0 && first >= end && (first + words) * WORD <= page_bytes;
            rest = behind.get(words * WORD..).filter(|_| right).ok_or(Malformed("a run beyond its page"))?;
            end = first + words;
        }
        Ok(Runs(bytes.to_vec()))
    }
}

fn push(runs: &mut Vec<u8>, first: usize, bytes: &[u8]) {
    // Pages have less than 2^16 words (`Options::check`).
    let words = bytes.len() / WORD;
    debug_assert!(words > 0 && bytes.len().is_multiple_of(WORD), "D4: a run of {} bytes", bytes.len());
    debug_assert!(first + words < 1 << 16, "D4: {words} words from {first} on");
    runs.extend((first as u16).to_le_bytes());
    runs.extend((words as u16).to_le_bytes());
    runs.extend_from_slice(bytes);
}

fn half(head: &[u8], at: usize) -> usize {
    u16::from_le_bytes([head[at], head[at + 1]]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn what_differs_is_put_over_another_page_and_nothing_else_is() {
        let (twin, now) = (page(&[1, 2, 3, 4, 5]), page(&[1, 9, 8, 4, 7]));
        let runs = Runs::between(&twin, &now);
        assert_eq!(runs.iter().map(|(at, run)| (at, run.len())).collect::<Vec<_>>(), [(8, 16), (32, 8)]);
        let mut other = page(&[10, 20, 30, 40, 50]);
        runs.apply(&mut other);
        assert_eq!(other, page(&[10, 9, 8, 40, 7]));
        assert!(Runs::between(&now, &now).is_empty());
        Runs::whole(&now).apply(&mut other);
        assert_eq!(other, now);
        assert_eq!(Runs::of_bytes(runs.as_bytes(), 40), Ok(runs));
    }

    #[test]
    fn strange_bytes_are_no_runs() {
        let long = [0, 0, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8];
        assert!(Runs::of_bytes(&long, 8).is_ok());
        let twice: Vec<u8> = [long, long].concat();
        for strange in [&long[..3], &long[..11], &[0, 0, 0, 0], &[1, 0, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8], &twice]
        {
            assert!(Runs::of_bytes(strange, 8).is_err(), "{strange:?}");
        }
    }
}
