//! Texts as the protocol sees them: lines, and columns that count UTF-16 code units.

use lsp_types::{Position, Range, TextDocumentContentChangeEvent};
use std::ops::Range as Bytes;

/// A text with its lines. The compiler reads it without the byte order mark that it may begin with (E2).
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    raw: Vec<u8>,
    /// Bytes of the mark.
    mark: usize,
    /// Where lines begin. They end with a line feed, a carriage return, or both.
    starts: Vec<usize>,
}

impl Text {
    pub(crate) fn new(raw: Vec<u8>) -> Text {
        let mark = if raw.starts_with("\u{feff}".as_bytes()) { "\u{feff}".len() } else { 0 };
        let mut starts = vec![0];
        for (at, byte) in raw.iter().enumerate() {
            if *byte == b'\n' || *byte == b'\r' && raw.get(at + 1) != Some(&b'\n') {
                starts.push(at + 1);
            }
        }
        Text { raw, mark, starts }
    }

    pub(crate) fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// The bytes that the compiler counts.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.raw[self.mark..]
    }

    /// A part of it, with replacements for what is no UTF-8. Places beyond the text are its end.
    pub(crate) fn part(&self, place: &Bytes<usize>) -> String {
        let bytes = self.bytes();
        let end = place.end.min(bytes.len());
        String::from_utf8_lossy(&bytes[place.start.min(end)..end]).into_owned()
    }

    pub(crate) fn position(&self, offset: usize) -> Position {
        let at = (offset + self.mark).min(self.raw.len());
        let line = self.starts.partition_point(|&start| start <= at) - 1;
        let before = String::from_utf8_lossy(&self.raw[self.starts[line]..at]);
        Position::new(line as u32, before.encode_utf16().count() as u32)
    }

    pub(crate) fn range(&self, place: &Bytes<usize>) -> Range {
        Range::new(self.position(place.start), self.position(place.end))
    }

    /// The place of a position; beyond a line its end, beyond the text the end of that.
    pub(crate) fn offset(&self, position: Position) -> usize {
        self.raw_offset(position).saturating_sub(self.mark)
    }

    fn raw_offset(&self, position: Position) -> usize {
        let Some(&start) = self.starts.get(position.line as usize) else { return self.raw.len() };
        let mut end = self.starts.get(position.line as usize + 1).copied().unwrap_or(self.raw.len());
        while end > start && matches!(self.raw[end - 1], b'\n' | b'\r') {
            end -= 1;
        }
        let (mut at, mut left) = (start, position.character as usize);
        for chunk in self.raw[start..end].utf8_chunks() {
            for c in chunk.valid().chars() {
                if left < c.len_utf16() {
                    return at;
                }
                left -= c.len_utf16();
                at += c.len_utf8();
            }
            if !chunk.invalid().is_empty() {
                if left == 0 {
                    return at;
                }
                left -= 1;
                at += chunk.invalid().len();
            }
        }
        at
    }

    /// Changes the text as the client says.
    pub(crate) fn change(&mut self, change: TextDocumentContentChangeEvent) {
        let mut raw = std::mem::take(&mut self.raw);
        match change.range {
            None => raw = change.text.into_bytes(),
            Some(range) => {
                self.raw = raw;
                let (a, b) = (self.raw_offset(range.start), self.raw_offset(range.end));
                raw = std::mem::take(&mut self.raw);
                raw.splice(a.min(b)..a.max(b), change.text.into_bytes());
            }
        }
        *self = Text::new(raw);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_utf16_code_units() {
        let text = Text::new("a\u{e9}\u{1d54f}b\r\nc\rd\n".into());
        let at = |line, character| text.offset(Position::new(line, character));
        assert_eq!([at(0, 0), at(0, 1), at(0, 2), at(0, 4), at(0, 5)], [0, 1, 3, 7, 8]);
        // Within a pair: before it. Beyond a line: its end. Beyond the text: its end.
        assert_eq!([at(0, 3), at(0, 99), at(1, 1), at(2, 0), at(3, 0), at(9, 9)], [3, 8, 11, 12, 14, 14]);
        for offset in [0, 1, 3, 7, 8, 10, 11, 12, 13, 14] {
            assert_eq!(text.offset(text.position(offset)), offset);
        }
        assert_eq!(text.position(8), Position::new(0, 5));
        assert_eq!(text.position(1000), Position::new(3, 0));
    }

    #[test]
    fn the_compiler_does_not_see_a_byte_order_mark() {
        let text = Text::new("\u{feff}ab\nc".into());
        assert_eq!((text.bytes(), text.position(1)), (&b"ab\nc"[..], Position::new(0, 2)));
        assert_eq!([text.offset(Position::new(0, 0)), text.offset(Position::new(0, 2))], [0, 1]);
        assert_eq!(text.offset(Position::new(1, 1)), 4);
        let bytes = Text::new(b"a\xff\xfeb".to_vec());
        assert_eq!((bytes.position(3), bytes.offset(Position::new(0, 3))), (Position::new(0, 3), 3));
    }

    #[test]
    fn changes_of_any_place_are_made() {
        let change = |text: &mut Text, range: Option<[u32; 4]>, new: &str| {
            let range = range.map(|[a, b, c, d]| Range::new(Position::new(a, b), Position::new(c, d)));
            text.change(TextDocumentContentChangeEvent { range, range_length: None, text: new.into() });
            String::from_utf8(text.raw().to_vec()).expect("texts of clients are UTF-8")
        };
        let mut text = Text::new("ab\n\u{1d54f}c".into());
        assert_eq!(change(&mut text, Some([0, 1, 1, 2]), "-"), "a-c");
        assert_eq!(change(&mut text, Some([7, 7, 0, 1]), "x"), "ax");
        assert_eq!(change(&mut text, Some([0, u32::MAX, u32::MAX, 0]), "\n"), "ax\n");
        assert_eq!(change(&mut text, None, "\u{e9}"), "\u{e9}");
        assert_eq!(change(&mut text, Some([0, 0, 0, 0]), ""), "\u{e9}");
    }
}
