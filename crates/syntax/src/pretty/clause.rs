//! One clause, directive or separator.

use super::lines::Lines;
use super::roles::{Role, Roles};
use super::segments::Segment;
use super::{INDENT, WIDTH};
use crate::lexer::{TokenKind, is_alphanumeric, is_symbol};

/// Where a line may be divided before a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Break {
    /// Nowhere here.
    Never,
    /// Behind the `:-` or `|` of a clause.
    Part,
    /// Between goals: whatever does not fit begins a line.
    Goal,
    /// Behind `->`.
    Branch,
    /// Between arguments, elements and adjacent strings.
    Element,
    /// Behind an operator.
    Operand,
    /// Before the `;` and the `)` of a conditional.
    Edge,
}

/// A clause to be written.
struct Writer<'s, 't> {
    segment: &'s Segment<'t>,
    roles: Roles,
    /// A blank stands before a token if no line ends there.
    blank: Vec<bool>,
    breaks: Vec<Break>,
    /// The text has a line break where a line may be divided, or a comment that ends its line.
    is_hard: Vec<bool>,
    /// Characters of all tokens before one, with their blanks.
    before: Vec<usize>,
    /// Line breaks of the text, and tokens of several lines, before a token.
    hard_before: Vec<u32>,
}

/// What is open while a clause is written.
struct Level {
    /// Of goals, arguments and elements.
    indent: usize,
    /// A conditional that is divided: where its `(` is.
    conditional: Option<usize>,
}

/// Writes a segment, from the beginning of a line on.
pub(super) fn write(segment: &Segment<'_>, roles: Roles, lines: &mut Lines) {
    let writer = Writer::new(segment, roles);
    writer.write(lines);
}

impl<'s, 't> Writer<'s, 't> {
    fn new(segment: &'s Segment<'t>, roles: Roles) -> Self {
        let tokens = &segment.tokens;
        let mut writer = Writer {
            segment,
            roles,
            blank: vec![false; tokens.len()],
            breaks: vec![Break::Never; tokens.len()],
            is_hard: vec![false; tokens.len()],
            before: vec![0; tokens.len() + 1],
            hard_before: vec![0; tokens.len() + 1],
        };
        let mut conditionals = vec![];
        for (at, token) in tokens.iter().enumerate() {
            let mut inline = 0;
            if at > 0 {
                writer.blank[at] = writer.has_blank(at);
                writer.breaks[at] = writer.break_before(at, &mut conditionals);
                let is_broken = token.gap.lines > 0 && writer.breaks[at] != Break::Never;
                writer.is_hard[at] = is_broken || token.gap.ends_line();
                inline = token.gap.comments.iter().map(|comment| comment.text.len() + 1).sum();
            }
            let width = token.width.unwrap_or(0) + usize::from(writer.blank[at]) + inline;
            writer.before[at + 1] = writer.before[at] + width;
            let is_hard = writer.is_hard[at] || token.width.is_none();
            writer.hard_before[at + 1] = writer.hard_before[at] + u32::from(is_hard);
        }
        writer
    }

    fn has_blank(&self, at: usize) -> bool {
        let (left, right) = (self.roles.of[at - 1], self.roles.of[at]);
        let (before, token) = (&self.segment.tokens[at - 1], &self.segment.tokens[at]);
        if !token.gap.comments.is_empty()
            || joins(before.kind, before.text, token.text)
            || self.is_joined_by(at)
        {
            return true;
        }
        if left == Role::Operand && before.text == b"-" && is_number(token.kind) {
            return false;
        }
        match (left, right) {
            (Role::Conditional, _) => true,
            (_, Role::Close) => self.roles.of[self.roles.partner[at]] == Role::Conditional,
            (_, Role::Comma | Role::Separator | Role::Bar | Role::End | Role::Postfix) => false,
            (Role::Open | Role::Parenthesis | Role::Separator | Role::Bar, _) => false,
            (_, Role::Neck | Role::Commit | Role::Arrow | Role::Semicolon) => true,
            (_, Role::Infix { blanks }) => blanks,
            (Role::Neck | Role::Commit | Role::Arrow | Role::Semicolon | Role::Comma, _) => true,
            (Role::Infix { blanks }, _) => blanks,
            (Role::Prefix { blank }, _) => blank || token.text == b"(",
            (_, Role::Open) if token.text == b"(" => false,
            _ => true,
        }
    }

    /// Whether an infix operator beside the gap before a token would join its neighbour on either side: then it has
    /// blanks on both.
    fn is_joined_by(&self, at: usize) -> bool {
        let tokens = &self.segment.tokens;
        let touches = |at: usize| {
            tokens.get(at).is_some_and(|token| joins(tokens[at - 1].kind, tokens[at - 1].text, token.text))
        };
        let is_infix = |at: usize| matches!(self.roles.of[at], Role::Infix { .. });
        (is_infix(at) && touches(at + 1)) || (is_infix(at - 1) && at > 1 && touches(at - 1))
    }

    fn break_before(&self, at: usize, conditionals: &mut Vec<usize>) -> Break {
        let (left, right) = (self.roles.of[at - 1], self.roles.of[at]);
        if left == Role::Conditional {
            conditionals.push(self.roles.partner[at - 1]);
        }
        let is_string = |at: usize| matches!(self.segment.tokens[at].kind, TokenKind::String(_));
        let in_conditional = conditionals.last().is_some_and(|&close| {
            let inside = self.roles.depth[at] == self.roles.depth[close] + 1;
            at < close && inside
        });
        if conditionals.last() == Some(&at) {
            conditionals.pop();
            return Break::Edge;
        }
        match (left, right) {
            (_, Role::Semicolon) if in_conditional => Break::Edge,
            (Role::Neck | Role::Commit, _) => Break::Part,
            (Role::Comma, _) => Break::Goal,
            (Role::Arrow, _) => {
                if in_conditional {
                    Break::Branch
                } else {
                    Break::Goal
                }
            }
            (Role::Semicolon, _) => {
                if in_conditional {
                    Break::Never
                } else {
                    Break::Goal
                }
            }
            (Role::Separator, _) => Break::Element,
            (Role::Infix { blanks: true }, _) => Break::Operand,
            _ if is_string(at - 1) && is_string(at) => Break::Element,
            _ => Break::Never,
        }
    }

    /// Characters of tokens, from the first without its blank up to another, on one line.
    fn width(&self, from: usize, to: usize) -> usize {
        self.before[to] - self.before[from] - usize::from(self.blank[from])
    }

    /// Whether tokens of a range behind its first begin lines in the text, or have several.
    fn is_divided(&self, from: usize, to: usize) -> bool {
        let first = u32::from(self.segment.tokens[from].width.is_none());
        self.hard_before[to] - self.hard_before[from + 1] + first > 0
    }

    /// Twice the number of brackets around the gap before a token; one more behind an operator.
    fn level(&self, at: usize) -> u32 {
        let depth = self.roles.depth[at] + u32::from(self.roles.of[at] == Role::Close);
        2 * depth + u32::from(self.breaks[at] == Break::Operand)
    }

    /// Characters from a token to the next place at this level or outside where a line may be divided, or where one
    /// is.
    fn reach(&self, from: usize, level: u32) -> usize {
        let tokens = &self.segment.tokens;
        let mut to = from + 1;
        while to < tokens.len() && self.width(from, to) <= WIDTH {
            let may = self.breaks[to] != Break::Never && self.level(to) <= level;
            if may || self.is_hard[to] || tokens[to - 1].width.is_none() {
                break;
            }
            to += 1;
        }
        self.width(from, to)
    }

    fn write(&self, lines: &mut Lines) {
        let end = self.segment.tokens.len();
        let column = lines.column();
        if !self.is_divided(0, end) && column + self.width(0, end) <= WIDTH {
            for at in 0..end {
                if at > 0 {
                    lines.comments(&self.segment.tokens[at].gap, 0);
                }
                self.put(at, self.blank[at], lines);
            }
            return;
        }
        let parts = self.parts(end);
        let mut levels = vec![Level { indent: INDENT, conditional: None }];
        for at in 0..end {
            if self.roles.of[at] == Role::Close && levels.len() > 1 {
                let level = levels.pop().expect("there is more than one");
                self.token(at, &parts, &level, lines);
            } else {
                let level = levels.last().expect("the clause itself is open");
                self.token(at, &parts, level, lines);
            }
            match self.roles.of[at] {
                Role::Conditional if self.is_conditional_divided(at, lines.column()) => {
                    let column = lines.column() - 1;
                    levels.push(Level { indent: column + INDENT, conditional: Some(column) });
                }
                Role::Open | Role::Parenthesis | Role::Conditional => {
                    levels.push(Level { indent: lines.indent() + INDENT, conditional: None });
                }
                _ => {}
            }
        }
    }

    /// The tokens of a divided clause that begin lines: the body, and the guard if it has no place beside the head.
    fn parts(&self, end: usize) -> [Option<usize>; 2] {
        let behind = |role: Role| (0..end).find(|&at| self.roles.of[at] == role).map(|at| at + 1);
        let (neck, body) = (behind(Role::Neck), behind(Role::Commit));
        let (Some(guard), Some(body)) = (neck, body) else { return [neck, None] };
        let fits = !self.is_divided(guard - 1, body) && self.width(0, body) <= WIDTH;
        [Some(guard).filter(|_| !fits), Some(body)]
    }

    /// A token, at the beginning of a line if one has to begin.
    fn token(&self, at: usize, parts: &[Option<usize>; 2], level: &Level, lines: &mut Lines) {
        if at == 0 {
            return self.put(at, false, lines);
        }
        let gap = &self.segment.tokens[at].gap;
        let indent = match (self.breaks[at], level.conditional) {
            (Break::Edge, Some(column)) => column,
            (Break::Operand | Break::Element, _)
                if self.roles.depth[at] == 0 || level.conditional.is_some() =>
            {
                level.indent + INDENT
            }
            _ => level.indent,
        };
        let begins = match self.breaks[at] {
            Break::Never => false,
            Break::Part => parts.contains(&Some(at)),
            Break::Edge => level.conditional.is_some(),
            _ => self.is_hard[at] || self.has_to_begin(at, indent, lines.column()),
        };
        if gap.comments.is_empty() {
            if begins {
                lines.begin(indent);
                lines.blank_above(gap.lines);
            }
            return self.put(at, self.blank[at], lines);
        }
        let first_ends = gap.comments[0].lines_before == 0 && gap.comments[0].ends_line;
        if begins && !first_ends && gap.comments.iter().all(|comment| comment.lines_before == 0) {
            lines.begin(indent);
        }
        lines.comments(gap, indent);
        if begins && gap.lines > 0 {
            lines.begin(indent);
            lines.blank_above(gap.lines);
        }
        self.put(at, true, lines);
    }

    fn put(&self, at: usize, blank: bool, lines: &mut Lines) {
        if blank && !lines.is_fresh() {
            lines.push(b" ");
        }
        lines.push(self.segment.tokens[at].text);
    }

    /// Whether what follows has no place on a line that has come to this column.
    fn has_to_begin(&self, at: usize, indent: usize, column: usize) -> bool {
        let column = column + usize::from(self.blank[at]);
        if column <= indent {
            return false;
        }
        if self.breaks[at] == Break::Branch {
            return column + self.branch(at) > WIDTH;
        }
        if self.starts_divided_conditional(at) {
            return true;
        }
        let item = self.reach(at, self.level(at));
        if column + item <= WIDTH {
            return false;
        }
        let chunk = self.reach(at, u32::MAX);
        self.breaks[at] == Break::Goal
            || indent + item <= WIDTH
            || (column + chunk > WIDTH && indent + chunk < column + chunk)
    }

    /// Characters of a branch; more than a line has if it is divided.
    fn branch(&self, from: usize) -> usize {
        let depth = self.roles.depth[from];
        let is_end = |to: usize| {
            self.breaks[to] == Break::Edge
                && self.roles.depth[to] + u32::from(self.roles.of[to] == Role::Close) == depth
        };
        let mut to = from + 1;
        while !is_end(to) && self.width(from, to) <= WIDTH {
            to += 1;
        }
        if self.is_divided(from, to) { WIDTH + 1 } else { self.width(from, to) }
    }

    fn starts_divided_conditional(&self, at: usize) -> bool {
        self.roles.of[at] == Role::Conditional && self.is_divided(at, self.roles.partner[at] + 1)
    }

    /// Whether a conditional that begins before this column has to be divided.
    fn is_conditional_divided(&self, at: usize, column: usize) -> bool {
        let close = self.roles.partner[at];
        let behind = self.reach(close, 2 * self.roles.depth[close]);
        self.is_divided(at, close + 1) || column - 1 + self.width(at, close) + behind > WIDTH
    }
}

/// Whether two tokens would be read as others without a blank between them.
fn joins(kind: &TokenKind, left: &[u8], right: &[u8]) -> bool {
    let (Some(&last), Some(&first)) = (left.last(), right.first()) else { return false };
    let is_quote = |byte: u8| matches!(byte, b'\'' | b'"');
    (is_alphanumeric(last) && is_alphanumeric(first))
        || (is_symbol(last) && is_symbol(first))
        || (is_quote(last) && last == first)
        || (is_number(kind) && matches!(first, b'\'' | b'.') && right != b".")
}

fn is_number(kind: &TokenKind) -> bool {
    matches!(kind, TokenKind::Int(_) | TokenKind::BigInt(_) | TokenKind::Float(_))
}
