//! Numbers as people write them into files and forms: a sign, decimal digits, a fraction, an exponent.

use crate::lexer::big_number;
use num_bigint::BigInt;

/// A number that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// Only digits, perhaps with a sign.
    Integer(BigInt),
    /// With a point or an exponent; the nearest float, which is infinite for those beyond all floats.
    Float(f64),
}

/// Reads a text that is a number, perhaps with blanks around it; the error is the offset of the first byte that is no
/// part of one (the text's length if more of it is missing).
pub fn number(text: &[u8]) -> Result<Number, usize> {
    let blanks = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let start = blanks(text);
    let sign = matches!(text.get(start), Some(b'+' | b'-'));
    let whole = start + usize::from(sign);
    let mut end = digits(text, whole)?;
    let integer = end;
    if text.get(end) == Some(&b'.') {
        end = digits(text, end + 1)?;
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        end = digits(text, end + 1 + usize::from(matches!(text.get(end + 1), Some(b'+' | b'-'))))?;
    }
    let rest = end + blanks(&text[end..]);
    if rest < text.len() {
        return Err(rest);
    }
    if end == integer {
        let value = big_number(&text[whole..end], 10);
        return Ok(Number::Integer(if text[start] == b'-' { -value } else { value }));
    }
    let float = std::str::from_utf8(&text[start..end]).ok().and_then(|text| text.parse().ok());
    float.map(Number::Float).ok_or(start)
}

/// The most digits behind a point that [`fixed`] may be asked for.
pub const FIXED_DIGITS_MAX: usize = 9999;

/// A number with this many digits behind its point, none if it is an integer without; the nearest such number, of two
/// that are equally near the one whose last digit is even.
pub fn fixed(number: &Number, digits: usize) -> String {
    match number {
        Number::Integer(value) if digits == 0 => value.to_string(),
        Number::Integer(value) => format!("{value}.{}", "0".repeat(digits)),
        Number::Float(value) if value.is_finite() => format!("{value:.digits$}"),
        Number::Float(value) => crate::format::float_readable(*value),
    }
}

/// The end of the digits there, of which there is one at least.
fn digits(text: &[u8], start: usize) -> Result<usize, usize> {
    let count = text.iter().skip(start).take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 { Err(start.min(text.len())) } else { Ok(start + count) }
}

/// What is wrong there with a text that is no number.
pub fn wrong_at(text: &[u8], at: usize) -> &'static str {
    if at == text.len() { "a digit is missing" } else { "this is no part of a number" }
}

/// Line and column of an offset, both from 1; columns count bytes.
pub fn line_and_column(text: &[u8], at: usize) -> (usize, usize) {
    let before = &text[..at.min(text.len())];
    let line = before.iter().filter(|&&byte| byte == b'\n').count();
    (line + 1, before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_and_what_is_none_says_where() {
        let integer = |value: i64| Ok(Number::Integer(value.into()));
        assert_eq!([number(b"12"), number(b" -7\n"), number(b"+0")], [integer(12), integer(-7), integer(0)]);
        assert_eq!(number(b"1.5"), Ok(Number::Float(1.5)));
        assert_eq!(number(b"-2e3"), Ok(Number::Float(-2000.0)));
        assert_eq!(number(b"1e999"), Ok(Number::Float(f64::INFINITY)));
        let big: BigInt = BigInt::from(10).pow(300);
        assert_eq!(number(big.to_string().as_bytes()), Ok(Number::Integer(big)));
        let wrong: [(&[u8], usize); 10] = [
            (b"", 0),
            (b"x", 0),
            (b"-", 1),
            (b"1.", 2),
            (b".5", 0),
            (b"1e", 2),
            (b"12 3", 3),
            (b"1\n2", 2),
            (b"inf", 0),
            (b"0x1f", 1),
        ];
        for (text, at) in wrong {
            assert_eq!(number(text), Err(at), "{}", String::from_utf8_lossy(text));
        }
        assert_eq!(line_and_column(b"1\n2", 2), (2, 1));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_number_or_wrong_within_the_text(text in "[-+0-9.eE \n\u{e9}x]{0,12}") {
            if let Err(at) = number(text.as_bytes()) {
                prop_assert!(at <= text.len());
            }
        }
        #[test]
        fn floats_come_back(value in any::<f64>().prop_filter("finite", |value| value.is_finite())) {
            prop_assert_eq!(number(format!("{value:e}").as_bytes()), Ok(Number::Float(value)));
        }
    }
}
