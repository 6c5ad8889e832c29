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

/// Bytes of an integer that a word holds, at most: its digits and sign.
pub const INTEGER_BYTES_MAX: usize = 20;

/// An integer in decimal.
pub fn write_integer(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0; INTEGER_BYTES_MAX];
    let (mut rest, mut at) = (value.unsigned_abs(), INTEGER_BYTES_MAX);
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    out.extend_from_slice(&digits[at..]);
}

/// How the bytes of strings are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escapes {
    /// `\n`, other control characters in octal, the rest as it is (`putt`).
    Control,
    /// Everything but printable ASCII in octal (`print`).
    NonAscii,
}

/// Are all bytes of a string written as they are?
pub fn is_plain_string(bytes: &[u8], escapes: Escapes) -> bool {
    let ascii = escapes == Escapes::NonAscii;
    !bytes.iter().any(|&byte| byte < 32 || matches!(byte, b'"' | b'\\') || ascii && byte >= 127)
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

/// Significant digits of C's `%1.16g`.
const DIGITS: i32 = 16;

/// As `print` writes it: C's `%f`, six decimals; where that loses the number, [the shortest](float_shortest).
pub fn float_fixed(value: f64) -> String {
    if is_lost_by_fixed(value) {
        return float_shortest(value);
    }
    special(value).unwrap_or_else(|| format!("{value:.6}"))
}

/// True if C's `%f` shows hardly a digit of it, or more digits than it has: not 0 and below 1e-4, or 1e16 and above.
pub fn is_lost_by_fixed(value: f64) -> bool {
    let size = value.abs();
    size.is_finite() && size != 0.0 && !(1e-4..1e16).contains(&size)
}

/// As `putt` writes it: C's `%1.16g`, with `.0` where there is no point, if that reads back as the same number; else
/// the shortest digits that do. It is not always the shortest: 0.585204 has the 16 digits 0.5852039999999999, which
/// KLIC writes.
pub fn float_readable(value: f64) -> String {
    if let Some(text) = special(value) {
        return text;
    }
    let short = general(&format!("{value:.*e}", (DIGITS - 1) as usize));
    if short.parse() == Ok(value) { short } else { float_shortest(value) }
}

/// The shortest digits that read back as the same number, laid out as [`float_readable`] does.
pub fn float_shortest(value: f64) -> String {
    special(value).unwrap_or_else(|| general(&format!("{value:e}")))
}

/// Digits as C's `%g` lays them out, from `{:e}`: without an exponent for -4 to 15.
fn general(scientific: &str) -> String {
    let (mantissa, exponent) = scientific.split_once('e').expect("`{:e}` writes an exponent");
    let exponent: i32 = exponent.parse().expect("`{:e}` writes a decimal exponent");
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |mantissa| ("-", mantissa));
    let digits = mantissa.replace('.', "");
    let digits = digits.trim_end_matches('0');
    let with_point = |whole: &str, decimals: &str| {
        format!("{sign}{whole}.{}", if decimals.is_empty() { "0" } else { decimals })
    };
    match exponent {
        -4..=-1 => with_point("0", &format!("{}{digits}", "0".repeat(-exponent as usize - 1))),
        0..DIGITS => {
            let digits = format!("{digits:0<width$}", width = exponent as usize + 1);
            let (whole, decimals) = digits.split_at(exponent as usize + 1);
            with_point(whole, decimals)
        }
        _ => {
            let (whole, decimals) = if digits.is_empty() { ("0", "") } else { digits.split_at(1) };
            let mark = if exponent < 0 { '-' } else { '+' };
            format!("{}e{mark}{:02}", with_point(whole, decimals), exponent.abs())
        }
    }
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
            (0.0, "0.0"),
            (-120.0, "-120.0"),
            (5e-324, "4.940656458412465e-324"),
        ];
        for (value, text) in cases {
            assert_eq!(float_readable(value), text);
        }
        for (value, text) in [
            (-2.5, "-2.500000"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
            (0.0, "0.000000"),
            (-0.0, "-0.000000"),
            (0.0001, "0.000100"),
            (0.00001, "1.0e-05"),
            (-1e-10, "-1.0e-10"),
            (9.999999999999998e15, "9999999999999998.000000"),
            (1e16, "1.0e+16"),
        ] {
            assert_eq!(float_fixed(value), text);
        }
    }

    #[test]
    fn floats_that_16_digits_do_not_tell_get_the_digits_that_do() {
        let cases = [
            (0.1 + 0.2, "0.30000000000000004"),
            (1e15 + 0.1, "1000000000000000.1"),
            (-1.1 * 1.1, "-1.2100000000000002"),
            (0.1 * 0.1 * 0.1, "0.0010000000000000002"),
            (f64::MAX, "1.7976931348623157e+308"),
            (2f64.powi(60) + 256.0, "1.1529215046068472e+18"),
        ];
        for (value, text) in cases {
            assert_eq!(float_readable(value), text);
            assert_eq!(text.parse(), Ok(value));
        }
    }

    #[test]
    fn the_shortest_digits_are_fewer_than_klics_where_fewer_tell_the_number() {
        for (value, text, klic) in [
            (0.585204, "0.585204", "0.5852039999999999"),
            (-0.62572, "-0.62572", "-0.6257200000000001"),
            (0.1, "0.1", "0.1"),
            (1.0 / 3.0, "0.3333333333333333", "0.3333333333333333"),
            (5e-324, "5.0e-324", "4.940656458412465e-324"),
            (f64::NEG_INFINITY, "-inf", "-inf"),
        ] {
            assert_eq!((float_shortest(value), float_readable(value)), (text.into(), klic.into()));
        }
        assert_eq!(float_fixed(5e-324), "5.0e-324");
    }

    #[test]
    fn a_million_random_floats_read_back() {
        use crate::lexer::{Lexer, TokenKind};
        const CASES: usize = if cfg!(miri) { 100 } else { 1_000_000 };
        let atoms = term::AtomTable::new();
        let mut bits = 0x9e37_79b9_7f4a_7c15u64;
        for _ in 0..CASES {
            // Xorshift: all patterns but 0, each once.
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            let value = f64::from_bits(bits);
            if !value.is_finite() {
                continue;
            }
            let text = float_readable(value);
            assert_eq!(text.parse::<f64>().map(f64::to_bits), Ok(bits), "{text}");
            let shortest = float_shortest(value);
            assert_eq!(shortest.parse::<f64>().map(f64::to_bits), Ok(bits), "{shortest}");
            // With a digit less it would be another number.
            let mantissa = shortest.split('e').next().unwrap_or_default().replace(['-', '.'], "");
            let digits = mantissa.trim_start_matches('0').trim_end_matches('0').len();
            if let Some(fewer) = digits.checked_sub(2) {
                assert_ne!(format!("{value:.fewer$e}").parse(), Ok(value), "{shortest}");
            }
            let unsigned = text.trim_start_matches('-');
            let TokenKind::Float(read) = Lexer::new(unsigned.as_bytes()).next(&atoms).kind else {
                panic!("{unsigned} is no float")
            };
            assert_eq!(read.to_bits(), value.abs().to_bits(), "{text}");
        }
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
    fn integers_are_written_in_decimal() {
        for value in [0, 7, -7, 10, -120, i64::MAX, i64::MIN] {
            let mut out = vec![];
            write_integer(value, &mut out);
            assert_eq!(out, value.to_string().as_bytes());
            assert!(out.len() <= INTEGER_BYTES_MAX);
        }
    }

    #[test]
    fn a_string_is_plain_if_it_is_written_as_it_is() {
        for escapes in [Escapes::Control, Escapes::NonAscii] {
            for byte in 0..=255 {
                let mut out = vec![];
                write_string(&[b'a', byte], escapes, &mut out);
                assert_eq!(is_plain_string(&[b'a', byte], escapes), out == [b'"', b'a', byte, b'"']);
            }
        }
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
