//! What of a program text is shown with a diagnostic: its lines, and of a long line only the surroundings of what is
//! marked.

use crate::shown::{displayable, harmless};
use ariadne::{Cache, Source};
use rustc_hash::FxHashMap;
use std::ops::Range;
use syntax::source::{FileId, SourceMap, Span};

/// Bytes of a line that is shown whole.
const LINE_BYTES_MAX: usize = 240;
/// Bytes of a longer line that are shown before and behind each end of a marked place.
const CONTEXT_BYTES: usize = 60;
/// Stands for what is left out.
const ELLIPSIS: &str = " .. ";

/// The texts of a program as they are shown.
pub(crate) struct Excerpts<'a> {
    sources: &'a SourceMap,
    /// Files whose marked lines were shown whole so far.
    whole: FxHashMap<FileId, Source<String>>,
}

/// The texts that one diagnostic marks.
pub(crate) struct Marked<'e, 'a> {
    excerpts: &'e Excerpts<'a>,
    /// The marked places; the diagnostic's own is the first.
    spans: Vec<Span>,
    /// Files with long lines that are marked.
    cut: FxHashMap<FileId, Excerpt>,
}

/// A text with the same numbers of lines, in which only the marked lines are filled.
struct Excerpt {
    source: Source<String>,
    /// Places of the file, in order, and where they begin in the excerpt.
    pieces: Vec<(Range<usize>, usize)>,
}

impl<'a> Excerpts<'a> {
    pub(crate) fn new(sources: &'a SourceMap) -> Excerpts<'a> {
        Excerpts { sources, whole: FxHashMap::default() }
    }
    /// The texts of a diagnostic that marks these places.
    pub(crate) fn marking(&mut self, spans: &[Span]) -> Marked<'_, 'a> {
        let mut cut = FxHashMap::default();
        for span in spans {
            let file = span.file;
            let here: Vec<Span> = spans.iter().copied().filter(|other| other.file == file).collect();
            if here.iter().any(|&span| self.marks_long_line(span)) {
                cut.entry(file).or_insert_with(|| self.excerpt(file, &here));
            } else {
                let text = &self.sources.file(file).text;
                self.whole.entry(file).or_insert_with(|| Source::from(displayable(text)));
            }
        }
        Marked { excerpts: self, spans: spans.to_vec(), cut }
    }
    fn marks_long_line(&self, span: Span) -> bool {
        let file = self.sources.file(span.file);
        ends(span).iter().any(|&at| file.line_range(self.sources.line(span.file, at)).len() > LINE_BYTES_MAX)
    }
    fn excerpt(&self, id: FileId, spans: &[Span]) -> Excerpt {
        let file = self.sources.file(id);
        let mut places: Vec<u32> = spans.iter().flat_map(|&span| ends(span)).collect();
        places.sort_unstable();
        let mut kept: Vec<Range<usize>> = Vec::new();
        for at in places {
            let line = file.line_range(self.sources.line(id, at));
            let piece = around(&file.text, line, at as usize);
            match kept.last_mut() {
                Some(last) if piece.start <= last.end => last.end = last.end.max(piece.end),
                _ => kept.push(piece),
            }
        }
        let (mut shown, mut pieces, mut line) = (String::new(), Vec::new(), 1);
        for piece in kept {
            let of = self.sources.line(id, piece.start as u32);
            let whole = file.line_range(of);
            if of > line {
                shown.extend(std::iter::repeat_n('\n', (of - line) as usize));
                line = of;
            }
            if piece.start > whole.start {
                shown.push_str(ELLIPSIS);
            }
            pieces.push((piece.clone(), shown.len()));
            shown.push_str(&displayable(&file.text[piece.clone()]));
            if piece.end < whole.end {
                shown.push_str(ELLIPSIS);
            }
        }
        Excerpt { source: Source::from(shown), pieces }
    }
}

/// The first and the last byte of a place.
fn ends(span: Span) -> [u32; 2] {
    [span.start, span.end.saturating_sub(1).max(span.start)]
}

/// The bytes of a line that are shown for a place in it.
fn around(text: &[u8], line: Range<usize>, at: usize) -> Range<usize> {
    if line.len() <= LINE_BYTES_MAX {
        return line;
    }
    let inside = |at: usize| at.clamp(line.start, line.end);
    let (mut start, mut end) =
        (inside(at.saturating_sub(CONTEXT_BYTES)), inside(at.saturating_add(CONTEXT_BYTES)));
    // Characters stay whole.
    let continues = |at: usize| text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    while start > line.start && continues(start) {
        start -= 1;
    }
    while end < line.end && continues(end) {
        end += 1;
    }
    start..end
}

impl Marked<'_, '_> {
    /// Where the bytes of a place are in the text that is shown: characters of it.
    pub(crate) fn place(&self, span: Span) -> (FileId, Range<usize>) {
        let source = self.source(span.file);
        let text = source.text();
        let start = text.floor_char_boundary(self.shown_at(span.file, span.start as usize));
        let end = text.ceil_char_boundary(self.shown_at(span.file, span.end as usize));
        let character = |at: usize| {
            let (line, _, column) = source.get_byte_line(at).expect("it was clamped to the text");
            let line_text = source.get_line_text(line).expect("lines are whole characters");
            line.offset() + line_text[..column.min(line_text.len())].chars().count()
        };
        (span.file, character(start)..character(end.max(start)))
    }
    /// What was written about these places, with the names of their files: [`NAME`] stands for each.
    pub(crate) fn named(&self, written: &str) -> String {
        let mut parts = written.split(NAME);
        let mut text = parts.next().unwrap_or_default().to_string();
        for part in parts {
            // The number of the file, and line and column in what is shown of it.
            let (header, rest) = part.split_once(' ').unwrap_or((part, ""));
            let file = header.split(':').next().and_then(|number| number.parse().ok()).map(FileId);
            let span = file.and_then(|file| self.spans.iter().find(|span| span.file == file));
            text += &span.map_or_else(String::new, |&span| self.name(span));
            text += " ";
            text += rest;
        }
        text
    }
    /// File, line and column of a place's first character.
    fn name(&self, span: Span) -> String {
        let (line, column) = self.excerpts.sources.line_column(span.file, span.start);
        format!("{}:{line}:{column}", harmless(&self.excerpts.sources.file(span.file).name))
    }
    fn source(&self, file: FileId) -> &Source<String> {
        self.cut.get(&file).map_or_else(|| &self.excerpts.whole[&file], |excerpt| &excerpt.source)
    }
    fn shown_at(&self, file: FileId, at: usize) -> usize {
        let Some(excerpt) = self.cut.get(&file) else {
            return at.min(self.source(file).text().len());
        };
        let found = excerpt.pieces.iter().rev().find(|(piece, _)| piece.start <= at);
        found.map_or(0, |(piece, shown)| shown + at.min(piece.end) - piece.start)
    }
}

/// Stands for the name of a file in what ariadne writes, which counts columns in the text that it is given. No text
/// that is shown has it.
const NAME: char = '\u{1}';

impl Cache<FileId> for &Marked<'_, '_> {
    type Storage = String;

    fn fetch(&mut self, file: &FileId) -> Result<&Source<String>, impl std::fmt::Debug> {
        Ok::<_, std::convert::Infallible>(self.source(*file))
    }
    fn display<'i>(&self, file: &'i FileId) -> Option<impl std::fmt::Display + 'i> {
        Some(format!("{NAME}{}", file.0))
    }
}
