//! The pages of a node as an array of its own: programs say what they use ([`Memory::with`](crate::Memory::with)), so
//! nothing has to be protected.

use crate::{Access, Page, Store, Use, View, WORD};

/// Words of all pages.
#[derive(Debug)]
pub(crate) struct Frames {
    words: Vec<f64>,
    page_words: usize,
}

impl Frames {
    pub(crate) fn new(pages: usize, page_bytes: usize) -> Frames {
        let page_words = page_bytes / WORD;
        Frames { words: vec![0.0; pages * page_words], page_words }
    }
    pub(crate) fn page_words(&self) -> usize {
        self.page_words
    }
    /// The words of these uses, in their order.
    pub(crate) fn views<'a>(&'a mut self, uses: &[Use]) -> Vec<View<'a>> {
        let mut order: Vec<usize> = (0..uses.len()).collect();
        order.sort_by_key(|&number| (uses[number].first, uses[number].words));
        let mut views: Vec<Option<View<'a>>> = uses.iter().map(|_| None).collect();
        let (mut rest, mut at) = (&mut self.words[..], 0);
        for number in order {
            let Use { first, words, writes } = uses[number];
            let skip =
                first.checked_sub(at).unwrap_or_else(|| panic!("{:?} overlaps another use", uses[number]));
            let (view, behind) = std::mem::take(&mut rest)
                .get_mut(skip..)
                .and_then(|rest| rest.split_at_mut_checked(words))
                .unwrap_or_else(|| panic!("{:?} is beyond the end of the memory", uses[number]));
            (rest, at) = (behind, first + words);
            views[number] = Some(if writes { View::Write(view) } else { View::Read(view) });
        }
        views.into_iter().map(|view| view.expect("each use has one")).collect()
    }
}

impl Store for Frames {
    fn read(&self, page: Page, into: &mut [u8]) {
        let words = &self.words[page as usize * self.page_words..][..self.page_words];
        debug_assert_eq!(into.len(), self.page_words * WORD, "a page is read whole");
        into.chunks_exact_mut(WORD).zip(words).for_each(|(bytes, word)| {
            bytes.copy_from_slice(&word.to_bits().to_le_bytes());
        });
    }
    fn write(&mut self, page: Page, at: usize, bytes: &[u8]) {
        let words = &mut self.words[page as usize * self.page_words..][..self.page_words][at / WORD..];
        debug_assert!(
            bytes.len() <= words.len() * WORD && (at | bytes.len()).is_multiple_of(WORD),
            "words of a page"
        );
        bytes.chunks_exact(WORD).zip(words).for_each(|(bytes, word)| {
            *word = f64::from_bits(u64::from_le_bytes(bytes.try_into().expect("8 bytes")));
        });
    }
    fn access(&mut self, _: Page, _: Access) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_the_words_that_were_declared() {
        let mut frames = Frames::new(2, 4 * WORD);
        frames.write(1, WORD, &1.5f64.to_bits().to_le_bytes());
        let mut views = frames.views(&[Use::read(4, 2), Use::write(0, 3), Use::write(7, 1)]);
        assert_eq!(&views[0][..], [0.0, 1.5]);
        views[1][2] = 2.5;
        views[2][0] = 3.5;
        let mut page = [0; 4 * WORD];
        frames.read(0, &mut page);
        assert_eq!(page[2 * WORD..3 * WORD], 2.5f64.to_bits().to_le_bytes());
        assert_eq!(Use::read(3, 2).pages(4), 0..2);
        assert_eq!((Use::read(4, 4).pages(4), Use::read(3, 0).pages(4)), (1..2, 0..0));
    }

    #[test]
    #[should_panic = "overlaps"]
    fn uses_that_overlap_are_refused() {
        Frames::new(1, 4 * WORD).views(&[Use::read(0, 2), Use::write(1, 1)]);
    }

    #[test]
    #[should_panic = "read only"]
    fn what_was_declared_as_read_is_not_written() {
        Frames::new(1, 4 * WORD).views(&[Use::read(0, 2)])[0][0] = 1.0;
    }
}
