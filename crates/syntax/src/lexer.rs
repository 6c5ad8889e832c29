//! Bytes to tokens. The compiler and run-time `gett` use the same lexer.
//!
//! Invariants:
//! - L1 Total: any bytes give tokens; what is wrong becomes an [`TokenKind::Error`] token.
//! - L2 [`scan`] alone decides where tokens end; [`Lexer`] only adds values. So [`TermScanner`], which sees
//!   a text in pieces, and [`Lexer`], which sees all of it, agree.
//! - L3 Every token but `EndOfText` is at least one byte long, so reading tokens ends.
//!
//! Absent on purpose: operators (the parser's), macros such as `#"a"` (compile time only).

use num_bigint::BigInt;
use std::collections::VecDeque;
use term::word::{INT_MAX, INT_MIN};
use term::{Atom, AtomTable};

/// Longest text of a term or file, in bytes: node numbers stay below 2^32.
pub const TEXT_MAX: usize = 1 << 30;

/// A token and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// Kinds of tokens.
#[derive(Clone, Debug, PartialEq)]
pub enum TokenKind {
    /// A name, a run of symbol characters, or a solo character.
    Atom(Atom),
    /// `'..'`.
    QuotedAtom(Atom),
    /// A variable; its name is its text.
    Variable,
    /// An integer that a word holds.
    Int(i64),
    /// A larger one.
    BigInt(Box<BigInt>),
    /// A float.
    Float(f64),
    /// `".."`.
    String(Box<[u8]>),
    /// One of `( ) [ ] { } , |`.
    Punctuation(u8),
    /// `.` before layout or at the end of the text.
    End,
    /// The text is over.
    EndOfText,
    /// Something that is no token.
    Error(LexError),
}

/// What can be wrong with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LexError {
    /// A quote without its partner.
    UnclosedQuote,
    /// `/*` without `*/`.
    UnclosedComment,
    /// `R'..` with R not 0 and not in 2..36.
    Radix,
    /// `R'..` without digits, or with one that is too large for R.
    Digit,
    /// `0'` at the end of the text.
    Character,
    /// An escape whose value is over 255, or `\x` without digits.
    Escape,
}

impl LexError {
    const NAMES: [(LexError, &str); 6] = [
        (LexError::UnclosedQuote, "unclosed_quote"),
        (LexError::UnclosedComment, "unclosed_comment"),
        (LexError::Radix, "radix"),
        (LexError::Digit, "digit"),
        (LexError::Character, "character"),
        (LexError::Escape, "escape"),
    ];
    /// Its name, for programs that look at tokens.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(error, _)| *error == self).map_or("", |(_, name)| name)
    }
    /// From its name.
    pub fn from_name(name: &[u8]) -> Option<LexError> {
        Self::NAMES.iter().find(|(_, known)| known.as_bytes() == name).map(|(error, _)| *error)
    }
}

/// What a token is, without its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Skip,
    Name,
    Variable,
    Symbol,
    Punctuation,
    Quoted,
    String,
    Decimal,
    Radix,
    Character,
    Float,
    End,
    Error(LexError),
}

/// Layout: codes 0 to 32, and 127.
pub(crate) fn is_layout(byte: u8) -> bool {
    byte <= 32 || byte == 127
}

/// Starts a name.
pub(crate) fn is_lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte >= 128
}

/// Continues a name or a variable.
pub(crate) fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 128
}

/// Forms symbol atoms.
pub(crate) fn is_symbol(byte: u8) -> bool {
    matches!(
        byte,
        b'#' | b'$'
            | b'&'
            | b'*'
            | b'+'
            | b'-'
            | b'.'
            | b'/'
            | b':'
            | b'<'
            | b'='
            | b'>'
            | b'?'
            | b'@'
            | b'\\'
            | b'^'
            | b'`'
            | b'~'
    )
}

/// What a character may begin: `layout`, `lower`, `upper`, `digit`, `symbol`, `solo`, `punctuation`, `quote` or
/// `comment`.
pub fn character_class(byte: u8) -> &'static str {
    match byte {
        b'%' => "comment",
        b'\'' | b'"' => "quote",
        b'!' | b';' => "solo",
        b'0'..=b'9' => "digit",
        _ if is_layout(byte) => "layout",
        _ if is_lower(byte) => "lower",
        _ if is_alphanumeric(byte) => "upper",
        _ if is_symbol(byte) => "symbol",
        _ => "punctuation",
    }
}

/// The end of the run of bytes from `start` that satisfy `belongs`.
fn run(text: &[u8], start: usize, belongs: impl Fn(u8) -> bool) -> usize {
    text[start..].iter().position(|&b| !belongs(b)).map_or(text.len(), |n| start + n)
}

/// Finds the end of the token at `start` (a byte of `text`). `Err`: more text is needed to know; look again
/// from the token's start, with this `resume` (bytes before it need no second look). With `ended`, the text
/// is complete and the answer `Ok`.
fn scan(text: &[u8], start: usize, resume: usize, ended: bool) -> Result<(Shape, usize), usize> {
    let whole = |shape: Shape, end: usize| {
        if end == text.len() && !ended { Err(start) } else { Ok((shape, end)) }
    };
    let byte = text[start];
    match byte {
        b'%' => match text[resume.max(start)..].iter().position(|&b| b == b'\n') {
            Some(n) => Ok((Shape::Skip, resume.max(start) + n + 1)),
            None if ended => Ok((Shape::Skip, text.len())),
            None => Err(text.len()),
        },
        b'\'' | b'"' => scan_quoted(text, start, resume, ended),
        b'0'..=b'9' => scan_number(text, start, ended),
        b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' | b'|' => Ok((Shape::Punctuation, start + 1)),
        b'!' | b';' => Ok((Shape::Symbol, start + 1)),
        _ if is_layout(byte) => Ok((Shape::Skip, run(text, start, is_layout))),
        _ if is_lower(byte) => whole(Shape::Name, run(text, start, is_alphanumeric)),
        _ if is_alphanumeric(byte) => whole(Shape::Variable, run(text, start, is_alphanumeric)),
        _ => {
            if text[start..].starts_with(b"/*") {
                return scan_comment(text, start, resume, ended);
            }
            let end = run(text, start, is_symbol);
            if end == text.len() && !ended {
                return Err(start);
            }
            if text[start..end] == *b"." && text.get(end).is_none_or(|&b| is_layout(b)) {
                // The layout character that makes it an end belongs to it.
                return Ok((Shape::End, (end + 1).min(text.len())));
            }
            Ok((Shape::Symbol, end))
        }
    }
}

fn scan_comment(text: &[u8], start: usize, resume: usize, ended: bool) -> Result<(Shape, usize), usize> {
    let from = resume.max(start + 2);
    match text[from..].windows(2).position(|w| w == b"*/") {
        Some(n) => Ok((Shape::Skip, from + n + 2)),
        None if ended => Ok((Shape::Error(LexError::UnclosedComment), text.len())),
        None => Err((text.len() - 1).max(from)),
    }
}

fn scan_quoted(text: &[u8], start: usize, resume: usize, ended: bool) -> Result<(Shape, usize), usize> {
    let quote = text[start];
    let shape = if quote == b'"' { Shape::String } else { Shape::Quoted };
    let mut at = resume.max(start + 1);
    loop {
        let next = text.get(at + 1).copied();
        match text.get(at) {
            None if ended => return Ok((Shape::Error(LexError::UnclosedQuote), text.len())),
            Some(&b) if next.is_none() && !ended && (b == quote || b == b'\\') => return Err(at),
            None => return Err(at),
            Some(&b) if b == quote && next != Some(quote) => return Ok((shape, at + 1)),
            Some(&b) if b == quote || b == b'\\' => at = (at + 2).min(text.len()),
            Some(_) => at += 1,
        }
    }
}

fn scan_number(text: &[u8], start: usize, ended: bool) -> Result<(Shape, usize), usize> {
    let digits = run(text, start, |b| b.is_ascii_digit());
    let at = |i: usize| -> Result<u8, usize> {
        match text.get(i) {
            Some(&b) => Ok(b),
            None if ended => Ok(0),
            None => Err(start),
        }
    };
    let mut end = digits;
    let mut shape = Shape::Decimal;
    if at(digits)? == b'\'' {
        let radix = small_number(&text[start..digits]);
        if radix == Some(0) {
            at(digits + 1)?;
            return match text.get(digits + 1) {
                Some(_) => Ok((Shape::Character, digits + 2)),
                None => Ok((Shape::Error(LexError::Character), digits + 1)),
            };
        }
        let end = run(text, digits + 1, |b| b.is_ascii_alphanumeric());
        at(end)?;
        let shape = match radix {
            Some(2..=36) => Shape::Radix,
            _ => Shape::Error(LexError::Radix),
        };
        return Ok((shape, end));
    }
    if at(digits)? == b'.' && at(digits + 1)?.is_ascii_digit() {
        end = run(text, digits + 1, |b| b.is_ascii_digit());
        shape = Shape::Float;
    }
    if matches!(at(end)?, b'e' | b'E') {
        let sign = usize::from(matches!(at(end + 1)?, b'+' | b'-'));
        if at(end + 1 + sign)?.is_ascii_digit() {
            end = run(text, end + 1 + sign, |b| b.is_ascii_digit());
            at(end)?;
            shape = Shape::Float;
        }
    }
    Ok((shape, end))
}

/// The value of decimal digits when it is at most 36.
fn small_number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |n: u32, &d| Some(n * 10 + u32::from(d - b'0')).filter(|&n| n <= 36))
}

/// Digits of one radix (all valid) to a number. Splits in halves, so that a long literal costs no quadratic
/// time.
pub(crate) fn big_number(digits: &[u8], radix: u32) -> BigInt {
    if digits.len() <= 256 {
        return BigInt::parse_bytes(digits, radix).expect("the digits were checked");
    }
    let low = digits.len() / 2;
    let (high_digits, low_digits) = digits.split_at(digits.len() - low);
    let shift = BigInt::from(radix).pow(low as u32);
    big_number(high_digits, radix) * shift + big_number(low_digits, radix)
}

/// An integer token: small when a word holds it.
pub fn integer(value: BigInt) -> TokenKind {
    match i64::try_from(&value) {
        Ok(small) if (INT_MIN..=INT_MAX).contains(&small) => TokenKind::Int(small),
        _ => TokenKind::BigInt(Box::new(value)),
    }
}

/// The integer that digits of a radix stand for, or `None` when there is none or one is too large.
pub(crate) fn radix_integer(digits: &[u8], radix: u32) -> Option<TokenKind> {
    if digits.is_empty() || !digits.iter().all(|&d| char::from(d).is_digit(radix)) {
        return None;
    }
    Some(integer(big_number(digits, radix)))
}

/// The bytes that a quoted text (with its quotes) stands for.
fn unquote(text: &[u8]) -> Result<Vec<u8>, LexError> {
    let quote = text[0];
    let text = &text[1..text.len() - 1];
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        at += 1;
        if byte == quote {
            at += 1;
        }
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let Some(&escape) = text.get(at) else { return Err(LexError::Escape) };
        at += 1;
        match escape {
            b'\n' => {}
            b'\r' if text.get(at) == Some(&b'\n') => at += 1,
            b'0'..=b'7' => {
                let end = run(&text[..text.len().min(at + 2)], at, |b| (b'0'..=b'7').contains(&b));
                let value = text[at - 1..end].iter().fold(0, |n: u32, &d| n * 8 + u32::from(d - b'0'));
                bytes.push(u8::try_from(value).map_err(|_| LexError::Escape)?);
                at = end;
            }
            b'x' => {
                let end = run(text, at, |b| b.is_ascii_hexdigit());
                let digits = std::str::from_utf8(&text[at..end]).expect("hexadecimal digits are ASCII");
                let value = if digits.is_empty() { None } else { Some(digits.trim_start_matches('0')) };
                let value = match value {
                    None => return Err(LexError::Escape),
                    Some("") => 0,
                    Some(digits) => u8::from_str_radix(digits, 16).map_err(|_| LexError::Escape)?,
                };
                bytes.push(value);
                at = end;
            }
            b'a' => bytes.push(7),
            b'b' => bytes.push(8),
            b't' => bytes.push(9),
            b'n' => bytes.push(10),
            b'v' => bytes.push(11),
            b'f' => bytes.push(12),
            b'r' => bytes.push(13),
            other => bytes.push(other),
        }
    }
    Ok(bytes)
}

/// Tokens of a text, with as much lookahead as asked for.
pub struct Lexer<'a> {
    text: &'a [u8],
    position: usize,
    ahead: VecDeque<Token>,
}

impl<'a> Lexer<'a> {
    /// Starts at the beginning. Panics above [`TEXT_MAX`] (callers refuse such texts).
    pub fn new(text: &'a [u8]) -> Self {
        assert!(text.len() <= TEXT_MAX, "callers refuse longer texts");
        Lexer { text, position: 0, ahead: VecDeque::new() }
    }
    /// Gives these tokens and nothing else; their places are in `text`.
    pub(crate) fn of_tokens(text: &'a [u8], tokens: Vec<Token>) -> Self {
        Lexer { text, position: text.len(), ahead: tokens.into() }
    }
    /// The text.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }
    /// The token `n` places ahead; `peek(0)` is what `next` would give.
    pub fn peek(&mut self, n: usize, atoms: &AtomTable) -> &Token {
        while self.ahead.len() <= n {
            let token = self.read(atoms);
            self.ahead.push_back(token);
        }
        &self.ahead[n]
    }
    /// Takes the next token. At the end: `EndOfText`, again and again.
    pub fn next(&mut self, atoms: &AtomTable) -> Token {
        match self.ahead.pop_front() {
            Some(token) => token,
            None => self.read(atoms),
        }
    }
    /// Skips tokens up to and with the next end token.
    pub fn skip_to_end(&mut self) {
        while let Some(token) = self.ahead.pop_front() {
            if token.kind == TokenKind::End {
                return;
            }
        }
        while self.position < self.text.len() {
            let (shape, end) =
                scan(self.text, self.position, 0, true).expect("a complete text needs no more bytes");
            self.position = end;
            if shape == Shape::End {
                return;
            }
        }
    }
    fn read(&mut self, atoms: &AtomTable) -> Token {
        while self.position < self.text.len() {
            let start = self.position;
            let (kind, end) = token_at(self.text, start, atoms);
            self.position = end;
            if let Some(kind) = kind {
                // The layout character that makes it an end belongs to it.
                self.position += usize::from(kind == TokenKind::End && end < self.text.len());
                return Token { kind, start: start as u32, end: end as u32 };
            }
        }
        let end = self.text.len() as u32;
        Token { kind: TokenKind::EndOfText, start: end, end }
    }
}

/// The token at a byte of a complete text, which is no layout, and its end; of a comment there is none.
pub(crate) fn token_at(text: &[u8], start: usize, atoms: &AtomTable) -> (Option<TokenKind>, usize) {
    let (shape, end) = scan(text, start, 0, true).expect("a complete text needs no more bytes");
    let kind = (shape != Shape::Skip).then(|| value(shape, &text[start..end], atoms));
    (kind, if shape == Shape::End { start + 1 } else { end })
}

/// A token from its shape and text.
fn value(shape: Shape, text: &[u8], atoms: &AtomTable) -> TokenKind {
    match shape {
        Shape::Skip => unreachable!("skipped by the caller"),
        Shape::Name | Shape::Symbol => TokenKind::Atom(atoms.intern(text)),
        Shape::Variable => TokenKind::Variable,
        Shape::Punctuation => TokenKind::Punctuation(text[0]),
        Shape::Quoted => match unquote(text) {
            Ok(bytes) => TokenKind::QuotedAtom(atoms.intern(&bytes)),
            Err(error) => TokenKind::Error(error),
        },
        Shape::String => match unquote(text) {
            Ok(bytes) => TokenKind::String(bytes.into()),
            Err(error) => TokenKind::Error(error),
        },
        Shape::Decimal => {
            match std::str::from_utf8(text).ok().and_then(|digits| digits.parse::<i64>().ok()) {
                Some(small) if small <= INT_MAX => TokenKind::Int(small),
                _ => integer(big_number(text, 10)),
            }
        }
        Shape::Radix => {
            let mark = text.iter().position(|&b| b == b'\'').expect("a radix literal contains a quote");
            let radix = small_number(&text[..mark]).expect("the scanner checked the radix");
            radix_integer(&text[mark + 1..], radix).unwrap_or(TokenKind::Error(LexError::Digit))
        }
        Shape::Character => TokenKind::Int(i64::from(text[text.len() - 1])),
        Shape::Float => TokenKind::Float(
            std::str::from_utf8(text)
                .expect("a float literal is ASCII")
                .parse()
                .expect("Rust reads every float literal of KL1"),
        ),
        Shape::End => TokenKind::End,
        Shape::Error(error) => TokenKind::Error(error),
    }
}

/// Whether the text of a term has its end token; without, the input ended before.
pub fn has_end(text: &[u8]) -> bool {
    matches!(TermScanner::new().scan(&[text, b"\n"].concat(), false), Scanned::Term(_))
}

/// Finds the ends of terms in a text that arrives in pieces.
#[derive(Clone, Debug, Default)]
pub struct TermScanner {
    position: usize,
    resume: usize,
    seen: bool,
}

/// What a [`TermScanner`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scanned {
    /// This number of bytes is one term with its end token (or the rest of the text, when it lacks one).
    Term(usize),
    /// The end has not arrived yet.
    NeedMore,
    /// Only layout and comments are left.
    EndOfInput,
}

impl TermScanner {
    /// A scanner for the next term.
    pub fn new() -> Self {
        Self::default()
    }
    /// Looks at all bytes of the term so far (`text` only grows between calls); `ended`: no more will come.
    /// After [`Scanned::Term`], remove those bytes and start with a new scanner.
    pub fn scan(&mut self, text: &[u8], ended: bool) -> Scanned {
        while self.position < text.len() {
            match scan(text, self.position, self.resume, ended) {
                Err(resume) => {
                    self.resume = resume;
                    return Scanned::NeedMore;
                }
                Ok((Shape::End, end)) => return Scanned::Term(end),
                Ok((shape, end)) => {
                    self.position = end;
                    self.resume = 0;
                    self.seen |= shape != Shape::Skip;
                }
            }
        }
        match (ended, self.seen) {
            (false, _) => Scanned::NeedMore,
            (true, true) => Scanned::Term(text.len()),
            (true, false) => Scanned::EndOfInput,
        }
    }
}
