//! Templates: text with places for values, as `{}`, `{:>8}` or `{:.3}`.
//!
//! A place is `{:` alignment, `0`, width, `.` precision and base `}`; each of these may be missing. `{{` and `}}` stand
//! for a brace.

/// A part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Text as it stands.
    Text(&'a [u8]),
    /// The place of the next value.
    Field(Field),
}

/// How a value is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// Where it stands in its width; without it, numbers stand right, other values left.
    pub align: Option<Align>,
    /// Numbers are filled with zeros behind their sign.
    pub zeros: bool,
    /// Characters that it takes at least.
    pub width: usize,
    /// Digits behind a number's point; of another value, characters at most.
    pub precision: Option<usize>,
    /// The base of an integer, if it is not 10.
    pub base: Option<u32>,
}

/// Where a value stands in its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// `<`
    Left,
    /// `>`
    Right,
    /// `^`
    Middle,
}

/// Widths and precisions have this many digits at most.
const DIGITS_MAX: usize = 4;

/// The parts of a template; the error is the offset of what is no part of one, or its length if a brace is open.
pub fn parts(template: &[u8]) -> Result<Vec<Part<'_>>, usize> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(&byte) = template.get(at) {
        let doubled = template.get(at + 1) == Some(&byte);
        match byte {
            b'{' | b'}' if doubled => {
                parts.push(Part::Text(&template[start..=at]));
                at += 2;
                start = at;
            }
            b'{' => {
                parts.push(Part::Text(&template[start..at]));
                let (field, end) = field(template, at + 1)?;
                parts.push(Part::Field(field));
                at = end;
                start = at;
            }
            b'}' => return Err(at),
            _ => at += 1,
        }
    }
    parts.push(Part::Text(&template[start..]));
    Ok(parts)
}

/// A field behind its brace, and where it ends.
fn field(template: &[u8], mut at: usize) -> Result<(Field, usize), usize> {
    let mut field = Field::default();
    if template.get(at) == Some(&b':') {
        at += 1;
        field.align = match template.get(at) {
            Some(b'<') => Some(Align::Left),
            Some(b'>') => Some(Align::Right),
            Some(b'^') => Some(Align::Middle),
            _ => None,
        };
        at += usize::from(field.align.is_some());
        field.zeros = template.get(at) == Some(&b'0');
        let width = number(template, &mut at)?;
        field.width = width.unwrap_or(0);
        if template.get(at) == Some(&b'.') {
            at += 1;
            field.precision = Some(number(template, &mut at)?.ok_or(at)?);
        }
        field.base = match template.get(at) {
            Some(b'x') => Some(16),
            Some(b'o') => Some(8),
            Some(b'b') => Some(2),
            _ => None,
        };
        at += usize::from(field.base.is_some());
    }
    if template.get(at) == Some(&b'}') { Ok((field, at + 1)) } else { Err(at) }
}

fn number(template: &[u8], at: &mut usize) -> Result<Option<usize>, usize> {
    let digits = template[*at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits > DIGITS_MAX {
        return Err(*at + DIGITS_MAX);
    }
    let value = template[*at..][..digits].iter().fold(0, |value, byte| 10 * value + usize::from(byte - b'0'));
    *at += digits;
    Ok((digits > 0).then_some(value))
}

impl Field {
    /// Appends a value's text, filled up to the width.
    pub fn write(&self, text: &[u8], is_number: bool, out: &mut Vec<u8>) {
        let shown = match self.precision {
            Some(most) if !is_number => first_characters(text, most),
            _ => text,
        };
        let missing = self.width.saturating_sub(characters(shown));
        let fill = |count: usize, byte: u8, out: &mut Vec<u8>| out.resize(out.len() + count, byte);
        if is_number && self.zeros && self.align.is_none() {
            let (sign, digits) = shown.split_at(usize::from(shown.starts_with(b"-")));
            out.extend_from_slice(sign);
            fill(missing, b'0', out);
            out.extend_from_slice(digits);
            return;
        }
        let before = match self.align.unwrap_or(if is_number { Align::Right } else { Align::Left }) {
            Align::Left => 0,
            Align::Right => missing,
            Align::Middle => missing / 2,
        };
        fill(before, b' ', out);
        out.extend_from_slice(shown);
        fill(missing - before, b' ', out);
    }
}

/// The number of characters: a part that is no UTF-8 is one.
pub fn characters(text: &[u8]) -> usize {
    text.utf8_chunks()
        .map(|chunk| chunk.valid().chars().count() + usize::from(!chunk.invalid().is_empty()))
        .sum()
}

fn first_characters(text: &[u8], most: usize) -> &[u8] {
    let mut lengths = text.utf8_chunks().flat_map(|chunk| {
        let invalid = chunk.invalid().len();
        chunk.valid().chars().map(char::len_utf8).chain((invalid > 0).then_some(invalid))
    });
    &text[..lengths.by_ref().take(most).sum()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(template: &str, value: &str, is_number: bool) -> String {
        let mut out = Vec::new();
        for part in parts(template.as_bytes()).expect("a template") {
            match part {
                Part::Text(text) => out.extend_from_slice(text),
                Part::Field(field) => field.write(value.as_bytes(), is_number, &mut out),
            }
        }
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn values_stand_where_templates_say() {
        for (template, value, number, expected) in [
            ("a{}b", "x", false, "axb"),
            ("{{{}}}", "x", false, "{x}"),
            ("[{:4}]", "x", false, "[x   ]"),
            ("[{:4}]", "12", true, "[  12]"),
            ("[{:<4}]", "12", true, "[12  ]"),
            ("[{:>4}]", "x", false, "[   x]"),
            ("[{:^4}]", "x", false, "[ x  ]"),
            ("[{:05}]", "-12", true, "[-0012]"),
            ("[{:05}]", "x", false, "[x    ]"),
            ("[{:.2}]", "äöü", false, "[äö]"),
            ("[{:4}]", "äö", false, "[äö  ]"),
            ("[{:1}]", "123", true, "[123]"),
        ] {
            assert_eq!(written(template, value, number), expected, "{template}");
        }
    }

    #[test]
    fn what_is_no_template_is_refused_where_it_is_wrong() {
        for (template, at) in [
            ("{", 1),
            ("a}", 1),
            ("{x}", 1),
            ("{:", 2),
            ("{:y}", 2),
            ("{:.}", 3),
            ("{:99999}", 6),
            ("{:>>}", 3),
        ] {
            assert_eq!(parts(template.as_bytes()), Err(at), "{template}");
        }
    }

    #[test]
    fn bases_and_precisions_are_read() {
        let field = |text: &str| match parts(text.as_bytes()).expect("a template")[..] {
            [Part::Text(b""), Part::Field(field), Part::Text(b"")] => field,
            _ => panic!("not one field"),
        };
        assert_eq!(field("{:08x}"), Field { zeros: true, width: 8, base: Some(16), ..Field::default() });
        assert_eq!(
            field("{:^9.3}"),
            Field { align: Some(Align::Middle), width: 9, precision: Some(3), ..Field::default() }
        );
    }
}
