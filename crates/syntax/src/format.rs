//! Atoms, strings and floats as text.

use crate::lexer::{is_alphanumeric, is_layout, is_lower, is_symbol};

/// May an atom be written without quotes?
pub fn is_bare_atom(text: &[u8]) -> bool {
    match text {
        b"[]" | b"!" | b";" => true,
        [first, rest @ ..] if is_lower(*first) => rest.iter().all(|&b| is_alphanumeric(b)),
        b"" | b"." => false,
        _ => text.iter().all(|&b| is_symbol(b)) && !text.starts_with(b"/*"),
    }
}

/// An atom, in quotes where it needs them.
pub fn write_atom(text: &[u8], out: &mut Vec<u8>) {
    if is_bare_atom(text) {
        return out.extend_from_slice(text);
    }
    out.push(b'\'');
    for &byte in text {
        if matches!(byte, b'\'' | b'\\') {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'\'');
}

/// How the bytes of strings are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escapes {
    /// `\n`, other control characters in octal, the rest as it is (`putt`).
    Control,
    /// Everything but printable ASCII in octal (`print`).
    NonAscii,
}

/// A string in double quotes.
pub fn write_string(bytes: &[u8], escapes: Escapes, out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b'\n' if escapes == Escapes::Control => out.extend(b"\\n"),
            _ if byte < 32 || byte >= 127 && escapes == Escapes::NonAscii => {
                out.extend([b'\\', b'0' + (byte >> 6), b'0' + (byte >> 3 & 7), b'0' + (byte & 7)]);
            }
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// C's `%f`: six decimals.
pub fn float_fixed(value: f64) -> String {
    special(value).unwrap_or_else(|| format!("{value:.6}"))
}

/// C's `%1.16g`, with `.0` where there is no point.
pub fn float_shortest(value: f64) -> String {
    const DIGITS: i32 = 16;
    if let Some(text) = special(value) {
        return text;
    }
    let scientific = format!("{value:.*e}", (DIGITS - 1) as usize);
    let (mantissa, exponent) = scientific.split_once('e').expect("`{:e}` writes an exponent");
    let exponent: i32 = exponent.parse().expect("`{:e}` writes a decimal exponent");
    let trim = |digits: &str| {
        let trimmed = digits.trim_end_matches('0');
        if trimmed.ends_with('.') { format!("{trimmed}0") } else { trimmed.to_string() }
    };
    if (-4..DIGITS).contains(&exponent) {
        let decimals = (DIGITS - 1 - exponent) as usize;
        let fixed = format!("{value:.decimals$}");
        return if fixed.contains('.') { trim(&fixed) } else { fixed + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim(mantissa), exponent.abs())
}

fn special(value: f64) -> Option<String> {
    let text = match (value.is_nan(), value.is_infinite()) {
        (true, _) => "nan",
        (_, true) => "inf",
        _ => return None,
    };
    Some(if value.is_sign_negative() { format!("-{text}") } else { text.to_string() })
}

/// The class of a byte at the edge of a token: two tokens of one class need a blank between them.
pub(crate) fn edge_class(byte: u8) -> u8 {
    match byte {
        _ if is_layout(byte) => b' ',
        _ if is_alphanumeric(byte) => b'a',
        _ if is_symbol(byte) => b'+',
        _ => byte,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_c_does() {
        let cases = [
            (1.5, "1.5"),
            (2.0, "2.0"),
            (1e30, "1.0e+30"),
            (1.25e-7, "1.25e-07"),
            (0.1, "0.1"),
            (0.0001, "0.0001"),
            (0.00001, "1.0e-05"),
            (1e15, "1000000000000000.0"),
            (1e16, "1.0e+16"),
            (1.0 / 3.0, "0.3333333333333333"),
            (-0.0, "-0.0"),
            (f64::INFINITY, "inf"),
            (-f64::NAN, "-nan"),
            (9.999999999999998e15, "9999999999999998.0"),
        ];
        for (value, text) in cases {
            assert_eq!(float_shortest(value), text);
        }
        assert_eq!(float_fixed(-2.5), "-2.500000");
        assert_eq!(float_fixed(f64::NEG_INFINITY), "-inf");
    }

    #[test]
    fn atoms_are_quoted_when_they_must() {
        for text in ["foo", "fooBar_1", "[]", "!", ";", "+", "=..", "é"] {
            assert!(is_bare_atom(text.as_bytes()), "{text}");
        }
        for text in ["", "Foo", "_a", "1", ".", "{}", ",", "|", "a b", "/*", "a+", "[", "%"] {
            assert!(!is_bare_atom(text.as_bytes()), "{text}");
        }
        let mut out = vec![];
        write_atom(b"it's \\", &mut out);
        assert_eq!(out, b"'it''s \\\\'");
    }

    #[test]
    fn strings_are_escaped() {
        let mut out = vec![];
        write_string(b"a\"\\\n\x01\xe9\x7f", Escapes::Control, &mut out);
        assert_eq!(out, b"\"a\\\"\\\\\\n\\001\xe9\x7f\"");
        out.clear();
        write_string(b"a\n\xe9\x7f", Escapes::NonAscii, &mut out);
        assert_eq!(out, b"\"a\\012\\351\\177\"");
    }
}
