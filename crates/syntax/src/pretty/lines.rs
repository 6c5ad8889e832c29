//! Lines as they are written, and the comments behind them.

use super::segments::Gap;

/// Characters of a text without line ends.
pub(super) fn width(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}

/// A line: a token in it may have several.
#[derive(Default)]
struct Line {
    code: Vec<u8>,
    comment: Vec<u8>,
}

/// What has been written.
#[derive(Default)]
pub(super) struct Lines {
    done: Vec<Line>,
    now: Line,
    /// Indentation of the line.
    indent: usize,
    /// Its characters so far.
    column: usize,
}

impl Lines {
    /// Characters of the line, or of its last part where a token has several.
    pub(super) fn column(&self) -> usize {
        self.column
    }

    /// Indentation of the line.
    pub(super) fn indent(&self) -> usize {
        self.indent
    }

    /// Whether nothing but its indentation is on the line.
    pub(super) fn is_fresh(&self) -> bool {
        self.now.code.len() == self.indent && self.now.comment.is_empty()
    }

    pub(super) fn push(&mut self, text: &[u8]) {
        self.now.code.extend_from_slice(text);
        self.column = match text.iter().rposition(|&byte| byte == b'\n') {
            Some(end) => width(&text[end + 1..]),
            None => self.column + width(text),
        };
    }

    /// Begins a line with this indentation; the one before has no blanks at its end.
    pub(super) fn begin(&mut self, indent: usize) {
        if !self.is_fresh() {
            self.done.push(std::mem::take(&mut self.now));
        }
        self.now.code = vec![b' '; indent];
        (self.indent, self.column) = (indent, indent);
    }

    /// One empty line before what comes, unless one is there or nothing was written.
    fn blank(&mut self) {
        if self.done.last().is_some_and(|line| !(line.code.is_empty() && line.comment.is_empty())) {
            self.done.push(Line::default());
        }
    }

    /// A blank line here (at the beginning of a line).
    pub(super) fn blank_above(&mut self, lines: u32) {
        if lines > 1 {
            self.blank();
        }
    }

    /// The comments of a gap within a clause, with the indentation of what follows. Afterwards a line begins if one of
    /// them ends its line.
    pub(super) fn comments(&mut self, gap: &Gap<'_>, indent: usize) {
        for comment in &gap.comments {
            if comment.lines_before > 0 && !self.is_fresh() {
                self.begin(indent);
            }
            if self.is_fresh() {
                self.blank_above(comment.lines_before);
                self.push(comment.text);
            } else if comment.ends_line && !comment.text.contains(&b'\n') {
                self.now.comment = comment.text.to_vec();
            } else {
                let blank: &[u8] = if self.now.code.ends_with(b" ") { b"" } else { b" " };
                self.push(blank);
                self.push(comment.text);
            }
            if comment.ends_line {
                self.begin(indent);
            }
        }
    }

    /// The comments before a clause; the first may stand behind the one before.
    pub(super) fn comments_above(&mut self, gap: &Gap<'_>) {
        let goes_on = gap.comments.first().is_some_and(|comment| comment.lines_before == 0);
        if !goes_on {
            self.begin(0);
        }
        self.comments(gap, 0);
        let ended = gap.comments.last().is_none_or(|comment| comment.ends_line);
        if ended {
            self.begin(0);
            self.blank_above(gap.lines);
        } else {
            self.push(b" ");
        }
    }

    /// The text: comments behind the code of lines that follow each other begin in one column.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.begin(0);
        let end = self.done.iter().rposition(|line| !line.code.is_empty()).map_or(0, |n| n + 1);
        self.done.truncate(end);
        let mut text = vec![];
        for run in self.done.chunk_by(|a, b| !a.comment.is_empty() && !b.comment.is_empty()) {
            let last = |line: &Line| width(line.code.rsplit(|&byte| byte == b'\n').next().unwrap_or(&[]));
            let column = run.iter().map(last).max().unwrap_or(0) + 2;
            for line in run {
                text.extend_from_slice(&line.code);
                if !line.comment.is_empty() {
                    text.resize(text.len() + column - last(line), b' ');
                    text.extend_from_slice(&line.comment);
                }
                text.push(b'\n');
            }
        }
        text
    }
}
