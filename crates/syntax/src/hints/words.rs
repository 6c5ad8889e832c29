//! Words and signs of other languages, by where they stand: before the wrong place, or at it.

use super::Slip;
use crate::habits::*;
use crate::lexer::{Token, TokenKind};

/// Where a word begins something.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Wherever it stands.
    Anywhere,
    /// Not right before `(`: there it may be a predicate, and the blank is wrong.
    Uncalled,
    /// At the beginning of a line.
    First,
}

/// Words that begin something: what follows them is no operator, and so it is wrong.
const BEGINNINGS: &[(Place, &[&[u8]], &str)] = &[
    (Place::Anywhere, &[b"if", b"unless"], CONDITIONAL),
    (Place::Anywhere, &[b"while", b"until", b"for", b"foreach"], LOOP),
    (Place::Anywhere, &[b"case", b"switch"], CASES),
    (Place::Uncalled, &[b"match"], CASES),
    (Place::Anywhere, &[b"not"], OPPOSITE),
    (Place::Anywhere, &[b"fun", b"lambda"], PREDICATE),
    (Place::Uncalled, &[b"let", b"var", b"val", b"const", b"local"], VARIABLE),
    (Place::Anywhere, &[b"return"], RESULT),
    (Place::First, &[b"def", b"func", b"function", b"fn", b"proc", b"procedure"], RESULT),
    (Place::Anywhere, &[b"begin"], BODY),
    (Place::Uncalled, &[b"receive"], MESSAGES),
    (Place::Uncalled, &[b"try"], TRY),
    (Place::First, &[b"import", b"from", b"package", b"use", b"using", b"require", b"include"], MODULES),
    (Place::First, &[b"class", b"struct", b"type", b"data", b"record"], DATA),
    (Place::Anywhere, &[b"print", b"println", b"printf", b"echo"], OUTPUT),
    (Place::Uncalled, &[b"spawn"], PROCESS),
    (Place::Uncalled, &[b"when", b"where"], GUARD),
];

/// Words that go on with what one of those began, and what they mean where none did.
const CONTINUATIONS: &[(&[&[u8]], &str)] = &[
    (&[b"then", b"else", b"elseif", b"elsif", b"elif", b"endif", b"end_if", b"if", b"?", b"do"], CONDITIONAL),
    (&[b"end"], BODY),
    (&[b"catch", b"except", b"finally"], TRY),
    (&[b"of", b"in", b"with", b"after", b"{", b"->"], ""),
];

/// Words and signs with one meaning.
const SIGNS: &[(&[&[u8]], &str)] = &[
    (&[b"when"], GUARD),
    (&[b"and", b"or", b"&&"], CONDITIONS),
    (&[b".."], RANGE),
    (&[b"==="], EQUALITIES),
    (&[b"=/=", b"!==", b"/==", b"~="], DIFFERENCES),
    (&[b"div", b"rem", b"quot"], DIVISION),
    (&[b"&", b"|||", b"&&&"], BITS),
    (&[b"<-"], BODY),
];

/// So many tokens before the wrong one are asked for what began.
const LOOKED_BACK: usize = 64;

impl Slip<'_> {
    /// A word or sign of another language, and what is written in its place.
    pub(super) fn foreign_word(&self) -> Option<String> {
        let (last, wrong) = (self.last()?, self.wrong());
        let touches = last.end as usize == self.start;
        let follows_variable = last.kind == TokenKind::Variable;
        let help = match (self.of(last), wrong) {
            // `!X` and `X != Y` begin alike.
            (b"!", [first, ..]) if touches && (first.is_ascii_alphabetic() || *first == b'(') => OPPOSITE,
            (b"|", b"|") if touches && self.is_in_list() => COMPREHENSION,
            (b"|", b"|") if touches => CONDITIONS,
            (_, b"for") if self.is_in_list() => COMPREHENSION,
            (b"\\", _) if wrong.first().is_some_and(u8::is_ascii_uppercase) => PREDICATE,
            (_, b"<-") if self.is_in_list() => COMPREHENSION,
            (_, [b'.', ..]) if touches && self.is_field() => FIELD,
            (b"++", _) if !matches!(wrong, b"" | b".") => JOIN,
            (_, b"!") if follows_variable && !self.text[self.end..].starts_with(b"=") => SEND,
            (before, b"[") if touches && (follows_variable || before == b"]") => ELEMENT,
            (b"f" | b"r" | b"b", [b'"' | b'\'', ..]) if touches => TEMPLATE,
            _ => match self.begun(last, wrong == b"(") {
                Some(help) => help,
                None => self.continuation()?,
            },
        };
        Some(help.into())
    }

    /// What a word begins elsewhere.
    fn begun(&self, token: &Token, called: bool) -> Option<&'static str> {
        let TokenKind::Atom(_) = token.kind else { return None };
        let (place, _, help) = BEGINNINGS.iter().find(|(_, words, _)| words.contains(&self.of(token)))?;
        let is_there = match place {
            Place::Anywhere => true,
            Place::Uncalled => !called,
            Place::First => self.begins_line(token.start as usize),
        };
        is_there.then_some(*help)
    }

    /// `V.name`, `fmt.Println`: a variable or name, a point, a letter.
    fn is_field(&self) -> bool {
        let is_name =
            self.last().is_some_and(|last| matches!(last.kind, TokenKind::Variable | TokenKind::Atom(_)));
        is_name && self.text.get(self.end).is_some_and(u8::is_ascii_alphabetic)
    }

    fn continuation(&self) -> Option<&'static str> {
        let wrong = self.wrong();
        let find = |table: &[(&[&[u8]], &'static str)]| {
            table.iter().find(|(words, _)| words.contains(&wrong)).map(|(_, help)| *help)
        };
        if let Some(help) = find(SIGNS) {
            return Some(help);
        }
        let alone = find(CONTINUATIONS)?;
        let begun = self.before.iter().rev().take(LOOKED_BACK).find_map(|token| self.begun(token, false));
        let braces = wrong == b"{" && self.last().is_some_and(|last| self.of(last) == b")");
        begun.or_else(|| braces.then_some(BODY)).or((!alone.is_empty()).then_some(alone))
    }

    /// Is the wrong place inside `[`?
    fn is_in_list(&self) -> bool {
        let mut depth = 0;
        for token in self.before.iter().rev().take(LOOKED_BACK) {
            match token.kind {
                TokenKind::Punctuation(b')' | b']' | b'}') => depth += 1,
                TokenKind::Punctuation(b'(' | b'[' | b'{') if depth > 0 => depth -= 1,
                TokenKind::Punctuation(b'[') => return true,
                TokenKind::Punctuation(b'(' | b'{') => return false,
                _ => {}
            }
        }
        false
    }
}
