//! JSON (RFC 8259): text to values of whoever builds them, and terms to text.
//!
//! An object is `object([{Key,Value},..])`, an array a list, a text a string, `true`, `false` and `null` atoms; a
//! number without a fraction and exponent is an integer, any other a float. Nothing recurses on the depth of texts or
//! terms.

use crate::number::{Number, number};
use crate::print::{TermView, View};
use num_bigint::BigInt;
use std::borrow::Cow;
use term::AtomTable;
use term::symbol::NIL;

/// Levels of arrays and objects in a text, at most.
const DEPTH_MAX: usize = 1 << 16;
/// Digits that an `i64` has room for.
const SMALL_DIGITS: usize = 18;

/// Makes values. Each method may refuse, which ends the reading.
pub trait Builder {
    /// What it makes.
    type Value: Copy;
    /// A text.
    fn string(&mut self, bytes: &[u8]) -> Option<Self::Value>;
    /// A key: texts that an object has again and again.
    fn key(&mut self, bytes: &[u8]) -> Option<Self::Value> {
        self.string(bytes)
    }
    /// A number without a fraction.
    fn integer(&mut self, value: i64) -> Option<Self::Value>;
    /// One that is larger.
    fn big(&mut self, value: &BigInt) -> Option<Self::Value>;
    /// Any other number.
    fn float(&mut self, value: f64) -> Option<Self::Value>;
    /// `true`, `false` or `null`.
    fn constant(&mut self, name: &'static str) -> Option<Self::Value>;
    /// An array.
    fn array(&mut self, items: &[Self::Value]) -> Option<Self::Value>;
    /// An object: keys and values in turn.
    fn object(&mut self, items: &[Self::Value]) -> Option<Self::Value>;
}

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The text is wrong there.
    At(usize, &'static str),
    /// The builder has refused.
    Refused,
}

/// Reads a text that is one value.
pub fn read<B: Builder>(text: &[u8], builder: &mut B) -> Result<B::Value, Wrong> {
    let mut reader = Reader { text, at: 0, buffer: Vec::new() };
    // Values of arrays and objects that are open, and where each of these begins.
    let (mut values, mut open) = (Vec::new(), Vec::<(bool, usize)>::new());
    'value: loop {
        reader.skip_blanks();
        let byte = text.get(reader.at).copied();
        let mut value = if let Some(bracket @ (b'{' | b'[')) = byte {
            reader.at += 1;
            reader.skip_blanks();
            let is_object = bracket == b'{';
            if text.get(reader.at) != Some(if is_object { &b'}' } else { &b']' }) {
                if open.len() == DEPTH_MAX {
                    return Err(Wrong::At(reader.at, "there are too many levels"));
                }
                open.push((is_object, values.len()));
                if is_object {
                    values.push(reader.key(builder)?);
                }
                continue 'value;
            }
            reader.at += 1;
            if is_object { builder.object(&[]) } else { builder.array(&[]) }.ok_or(Wrong::Refused)?
        } else {
            reader.simple(builder)?
        };
        loop {
            reader.skip_blanks();
            let Some(&(is_object, start)) = open.last() else {
                let behind = reader.at < text.len();
                return if behind { Err(Wrong::At(reader.at, "nothing follows a value")) } else { Ok(value) };
            };
            values.push(value);
            match text.get(reader.at) {
                Some(b',') => {
                    reader.at += 1;
                    if is_object {
                        reader.skip_blanks();
                        values.push(reader.key(builder)?);
                    }
                    continue 'value;
                }
                Some(b'}') if is_object => value = builder.object(&values[start..]).ok_or(Wrong::Refused)?,
                Some(b']') if !is_object => value = builder.array(&values[start..]).ok_or(Wrong::Refused)?,
                _ => return Err(Wrong::At(reader.at, "a comma or a closing bracket is missing")),
            }
            reader.at += 1;
            values.truncate(start);
            open.pop();
        }
    }
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    buffer: Vec<u8>,
}

impl Reader<'_> {
    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.text.get(self.at) {
            self.at += 1;
        }
    }
    fn digits(&mut self) -> Result<usize, Wrong> {
        let count = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(Wrong::At(self.at, "a digit is missing")) } else { Ok(count) }
    }
    /// A key and its colon.
    fn key<B: Builder>(&mut self, builder: &mut B) -> Result<B::Value, Wrong> {
        if self.text.get(self.at) != Some(&b'"') {
            return Err(Wrong::At(self.at, "a key in quotes is missing"));
        }
        let key = self.text(builder, B::key)?;
        self.skip_blanks();
        if self.text.get(self.at) != Some(&b':') {
            return Err(Wrong::At(self.at, "a colon is missing"));
        }
        self.at += 1;
        Ok(key)
    }
    fn simple<B: Builder>(&mut self, builder: &mut B) -> Result<B::Value, Wrong> {
        let constants = ["true", "false", "null"];
        match self.text.get(self.at) {
            Some(b'"') => self.text(builder, B::string),
            Some(b'-' | b'0'..=b'9') => self.number(builder),
            None => Err(Wrong::At(self.at, "a value is missing")),
            Some(_) => {
                let rest = &self.text[self.at..];
                let found = constants.into_iter().find(|name| rest.starts_with(name.as_bytes()));
                let name = found.ok_or(Wrong::At(self.at, "this is no value"))?;
                self.at += name.len();
                builder.constant(name).ok_or(Wrong::Refused)
            }
        }
    }
    fn number<B: Builder>(&mut self, builder: &mut B) -> Result<B::Value, Wrong> {
        let start = self.at;
        let negative = self.text[start] == b'-';
        self.at += usize::from(negative);
        let whole = self.at;
        let count = self.digits()?;
        if count > 1 && self.text[whole] == b'0' {
            return Err(Wrong::At(whole, "a number begins with no zero"));
        }
        let mut is_float = false;
        if self.text.get(self.at) == Some(&b'.') {
            (is_float, self.at) = (true, self.at + 1);
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.text.get(self.at) {
            (is_float, self.at) = (true, self.at + 1);
            self.at += usize::from(matches!(self.text.get(self.at), Some(b'+' | b'-')));
            self.digits()?;
        }
        if !is_float && count <= SMALL_DIGITS {
            let digits = self.text[whole..self.at].iter();
            let value = digits.fold(0, |value, byte| 10 * value + i64::from(byte - b'0'));
            return builder.integer(if negative { -value } else { value }).ok_or(Wrong::Refused);
        }
        match number(&self.text[start..self.at]) {
            Ok(Number::Integer(value)) => builder.big(&value).ok_or(Wrong::Refused),
            Ok(Number::Float(value)) if value.is_finite() => builder.float(value).ok_or(Wrong::Refused),
            _ => Err(Wrong::At(start, "this number is too large for a float")),
        }
    }
    /// The text in quotes there.
    fn text<B: Builder>(
        &mut self,
        builder: &mut B,
        make: impl FnOnce(&mut B, &[u8]) -> Option<B::Value>,
    ) -> Result<B::Value, Wrong> {
        let start = self.at + 1;
        let plain = |byte: &&u8| **byte != b'"' && **byte != b'\\' && **byte >= b' ';
        let end = start + self.text[start..].iter().take_while(plain).count();
        if self.text.get(end) == Some(&b'"') {
            self.at = end + 1;
            return make(builder, &self.text[start..end]).ok_or(Wrong::Refused);
        }
        self.buffer.clear();
        self.buffer.extend_from_slice(&self.text[start..end]);
        self.at = end;
        loop {
            match self.text.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(b' '..) => {
                    let count = self.text[self.at..].iter().take_while(plain).count();
                    self.buffer.extend_from_slice(&self.text[self.at..][..count]);
                    self.at += count;
                }
                Some(_) => return Err(Wrong::At(self.at, "a control character stands in a string")),
                None => return Err(Wrong::At(self.at, "a closing quote is missing")),
            }
        }
        self.at += 1;
        make(builder, &self.buffer).ok_or(Wrong::Refused)
    }
    fn escape(&mut self) -> Result<(), Wrong> {
        let start = self.at;
        let wrong = Wrong::At(start, "this is no escape sequence");
        let byte = match self.text.get(start + 1) {
            Some(&byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                self.at += 2;
                let mut code = self.four_digits().ok_or(wrong)?;
                if (0xd800..0xdc00).contains(&code) && self.text[self.at..].starts_with(b"\\u") {
                    self.at += 2;
                    let low = self.four_digits().filter(|low| (0xdc00..0xe000).contains(low)).ok_or(wrong)?;
                    code = 0x1_0000 + ((code - 0xd800) << 10 | (low - 0xdc00));
                }
                let character = char::from_u32(code).ok_or(wrong)?;
                self.buffer.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(wrong),
        };
        self.buffer.push(byte);
        self.at += 2;
        Ok(())
    }
    fn four_digits(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        let digits =
            digits.iter().try_fold(0, |code, &byte| Some(code << 4 | char::from(byte).to_digit(16)?))?;
        self.at += 4;
        Some(digits)
    }
}

/// How far a term was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<T> {
    /// To its end.
    Done,
    /// There is more to write.
    Paused,
    /// This part is no value of JSON.
    Wrong(T),
}

enum Work<T> {
    Value(T),
    /// The rest of a list of values, and whether it is the whole list.
    Items(T, bool),
    /// The same of pairs.
    Pairs(T, bool),
}

/// Writes a ground term, piece by piece.
pub struct Writer<T> {
    work: Vec<Work<T>>,
}

impl<T: Copy> Writer<T> {
    /// It writes this term.
    pub fn new(term: T) -> Writer<T> {
        Writer { work: vec![Work::Value(term)] }
    }
    /// Bytes that it keeps.
    pub fn bytes(&self) -> usize {
        self.work.capacity() * size_of::<Work<T>>()
    }
    /// Appends what is left, until `out` has `enough` bytes.
    pub fn write<V: TermView<Term = T>>(
        &mut self,
        terms: &V,
        atoms: &AtomTable,
        out: &mut Vec<u8>,
        enough: usize,
    ) -> Progress<T> {
        while let Some(work) = self.work.pop() {
            let part = match work {
                Work::Value(part) | Work::Items(part, _) | Work::Pairs(part, _) => part,
            };
            let written = match work {
                Work::Value(part) => self.value(terms, atoms, part, out),
                Work::Items(rest, first) => self.items(terms, rest, first, out),
                Work::Pairs(rest, first) => self.pairs(terms, rest, first, out),
            };
            if written.is_none() {
                return Progress::Wrong(part);
            }
            if out.len() >= enough {
                return Progress::Paused;
            }
        }
        Progress::Done
    }
    fn value<V: TermView<Term = T>>(
        &mut self,
        terms: &V,
        atoms: &AtomTable,
        term: T,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        match terms.view(term) {
            View::Int(value) => crate::format::write_integer(value, out),
            View::BigInt(digits) => out.extend_from_slice(digits.as_bytes()),
            View::Float(value) if value.is_finite() => {
                out.extend_from_slice(crate::format::float_shortest(value).as_bytes());
            }
            View::String(text) => string(&text, out),
            View::Cons | View::Atom(NIL) => {
                out.push(b'[');
                self.work.push(Work::Items(term, true));
            }
            View::Atom(atom) if matches!(atoms.text(atom), b"true" | b"false" | b"null") => {
                out.extend_from_slice(atoms.text(atom));
            }
            View::Struct(name, 1) if atoms.text(name) == b"object" => {
                out.push(b'{');
                self.work.push(Work::Pairs(terms.argument(term, 0), true));
            }
            _ => return None,
        }
        Some(())
    }
    fn items<V: TermView<Term = T>>(
        &mut self,
        terms: &V,
        rest: T,
        first: bool,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        match terms.view(rest) {
            View::Atom(NIL) => out.push(b']'),
            View::Cons => {
                out.extend_from_slice(if first { b"" } else { b"," });
                self.work.push(Work::Items(terms.argument(rest, 1), false));
                self.work.push(Work::Value(terms.argument(rest, 0)));
            }
            _ => return None,
        }
        Some(())
    }
    fn pairs<V: TermView<Term = T>>(
        &mut self,
        terms: &V,
        rest: T,
        first: bool,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        match terms.view(rest) {
            View::Atom(NIL) => out.push(b'}'),
            View::Cons => {
                let pair = terms.argument(rest, 0);
                let View::Vector(2) = terms.view(pair) else { return None };
                let View::String(key) = terms.view(terms.argument(pair, 0)) else { return None };
                out.extend_from_slice(if first { b"" } else { b"," });
                string(&key, out);
                out.push(b':');
                self.work.push(Work::Pairs(terms.argument(rest, 1), false));
                self.work.push(Work::Value(terms.argument(pair, 1)));
            }
            _ => return None,
        }
        Some(())
    }
}

/// In quotes; what is no UTF-8 is U+FFFD.
fn string(text: &[u8], out: &mut Vec<u8>) {
    let text: Cow<'_, str> = String::from_utf8_lossy(text);
    let mut rest = text.as_bytes();
    out.push(b'"');
    loop {
        let plain = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..b' ')).count();
        out.extend_from_slice(&rest[..plain]);
        let Some(&byte) = rest.get(plain) else { break };
        rest = &rest[plain + 1..];
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values as texts.
    #[derive(Default)]
    struct Texts(Vec<String>);

    impl Texts {
        fn add(&mut self, text: String) -> Option<usize> {
            self.0.push(text);
            Some(self.0.len() - 1)
        }
        fn all(&self, items: &[usize]) -> String {
            items.iter().map(|&item| &self.0[item][..]).collect::<Vec<_>>().join(" ")
        }
    }

    impl Builder for Texts {
        type Value = usize;
        fn string(&mut self, bytes: &[u8]) -> Option<usize> {
            self.add(format!("{:?}", String::from_utf8_lossy(bytes)))
        }
        fn integer(&mut self, value: i64) -> Option<usize> {
            self.add(value.to_string())
        }
        fn big(&mut self, value: &BigInt) -> Option<usize> {
            self.add(format!("big {value}"))
        }
        fn float(&mut self, value: f64) -> Option<usize> {
            self.add(format!("{value:?}"))
        }
        fn constant(&mut self, name: &'static str) -> Option<usize> {
            self.add(name.to_string())
        }
        fn array(&mut self, items: &[usize]) -> Option<usize> {
            let items = self.all(items);
            self.add(format!("[{items}]"))
        }
        fn object(&mut self, items: &[usize]) -> Option<usize> {
            let items = self.all(items);
            self.add(format!("({items})"))
        }
    }

    fn value(text: &str) -> Result<String, Wrong> {
        let mut texts = Texts::default();
        read(text.as_bytes(), &mut texts).map(|value| texts.0[value].clone())
    }

    #[test]
    fn values_of_each_kind_are_read() {
        for (text, expected) in [
            (" 1 ", "1"),
            ("-0", "0"),
            ("-12", "-12"),
            ("1000000000000000000000", "big 1000000000000000000000"),
            ("1.5e3", "1500.0"),
            ("1e2", "100.0"),
            ("\"a\\n\\u00e4\\ud83d\\ude00\\/\"", "\"a\\nä😀/\""),
            ("[]", "[]"),
            ("{ }", "()"),
            ("[1, [2], {\"a\": null, \"b\": [true,false]}]", "[1 [2] (\"a\" null \"b\" [true false])]"),
        ] {
            assert_eq!(value(text).as_deref(), Ok(expected), "{text}");
        }
        let deep = "[".repeat(5000) + &"]".repeat(5000);
        assert_eq!(value(&deep).expect("it is right"), deep);
    }

    #[test]
    fn what_is_wrong_is_told_where_it_is() {
        for (text, at) in [
            ("", 0),
            (" ", 1),
            ("[1", 2),
            ("[1,]", 3),
            ("[1 2]", 3),
            ("{1:2}", 1),
            ("{\"a\" 1}", 5),
            ("{\"a\":1,}", 7),
            ("tru", 0),
            ("1 2", 2),
            ("01", 0),
            ("1.", 2),
            ("-", 1),
            ("1e", 2),
            ("\"a", 2),
            ("\"\\x\"", 1),
            ("\"\\ud83dx\"", 1),
            ("\"\\ude00\"", 1),
            ("\"a\nb\"", 2),
            ("1e999", 0),
            ("[}", 1),
            ("{]", 1),
            ("\"\\u12\"", 1),
        ] {
            assert!(
                matches!(value(text), Err(Wrong::At(found, _)) if found == at),
                "{text:?} {:?}",
                value(text)
            );
        }
        let deep = "[".repeat(DEPTH_MAX + 1);
        assert!(matches!(value(&deep), Err(Wrong::At(..))));
    }

    #[test]
    fn no_text_is_the_end_of_the_reader() {
        arbtest::arbtest(|bytes| {
            let pieces: [&[u8]; 16] = [
                b"[", b"]", b"{", b"}", b",", b":", b"\"", b"\\", b"u00", b"1", b"-", b".", b"e", b"null",
                b" ", b"\xff",
            ];
            let choices: Vec<u8> = bytes.arbitrary()?;
            let text: Vec<u8> =
                choices.iter().flat_map(|&choice| pieces[usize::from(choice % 16)]).copied().collect();
            let _ = read(&text, &mut Texts::default());
            let ends = crate::json_stream::Cutter::from_number(bytes.arbitrary()?).ends(&text);
            assert!(ends.is_sorted() && ends.iter().all(|&end| end <= text.len()));
            Ok(())
        });
    }
}
