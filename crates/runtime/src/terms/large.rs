//! Products, quotients and texts of integers of millions of digits.
//!
//! They are computed in pieces, each of which takes a small part of a second. Between two pieces the caller is asked
//! whether to go on: so an interrupt ends them. Pieces are divided at the top only, so that the library's own
//! methods do nearly all of the work.

use num_bigint::{BigInt, BigUint, Sign};
use std::fmt::Write;

/// Bits of the shorter factor of a product that is one piece, and of a digit of what a short divisor divides.
const PRODUCT_BITS: u64 = 1 << 22;
/// Bits of the divisor of a quotient that is one piece: the library takes time with the square of it.
const QUOTIENT_BITS: u64 = 1 << 14;
/// Decimal digits of a text that is one piece.
const TEXT_DIGITS: u32 = 2048;

/// How integers are cut, and whether to go on.
pub(crate) struct Pieces<'a> {
    go_on: &'a dyn Fn() -> bool,
    product_bits: u64,
    quotient_bits: u64,
    text_digits: u32,
}

fn low(value: &BigUint, bits: u64) -> BigUint {
    value & &((BigUint::from(1u32) << bits) - 1u32)
}

/// Long division with digits of `bits` bits, a multiple of 32: `step` divides the rest so far and the next digit behind
/// it. The time of all but `step` grows as the length of `a`.
fn by_digits(
    a: &BigUint,
    bits: u64,
    step: impl Fn(BigUint) -> Option<(BigUint, BigUint)>,
) -> Option<(BigUint, BigUint)> {
    let size = usize::try_from(bits / 32).unwrap_or(usize::MAX);
    let units = a.to_u32_digits();
    let (mut quotient, mut rest) = (vec![0; units.len()], BigUint::ZERO);
    for (into, from) in quotient.chunks_mut(size).zip(units.chunks(size)).rev() {
        let (digit, left) = step((rest << bits) | BigUint::from_slice(from))?;
        for (unit, found) in into.iter_mut().zip(digit.iter_u32_digits()) {
            *unit = found;
        }
        rest = left;
    }
    Some((BigUint::from_slice(&quotient), rest))
}

impl<'a> Pieces<'a> {
    /// `go_on` is asked between pieces; after it has said no, there is no result.
    pub(crate) fn new(go_on: &'a dyn Fn() -> bool) -> Pieces<'a> {
        let (product_bits, quotient_bits) = (PRODUCT_BITS, QUOTIENT_BITS);
        Pieces { go_on, product_bits, quotient_bits, text_digits: TEXT_DIGITS }
    }
    /// a * b.
    pub(crate) fn multiply(&self, a: &BigInt, b: &BigInt) -> Option<BigInt> {
        let sign = a.sign() * b.sign();
        Some(BigInt::from_biguint(sign, self.product(a.magnitude(), b.magnitude())?))
    }
    /// Quotient, towards zero, and remainder, with the sign of `a`; `b` is not zero.
    pub(crate) fn divide(&self, a: &BigInt, b: &BigInt) -> Option<(BigInt, BigInt)> {
        let (quotient, rest) = self.quotient(a.magnitude(), b.magnitude())?;
        let quotient = BigInt::from_biguint(a.sign() * b.sign(), quotient);
        Some((quotient, BigInt::from_biguint(a.sign(), rest)))
    }
    /// The decimal digits, behind a minus if need be.
    pub(crate) fn text(&self, value: &BigInt) -> Option<String> {
        let mut text = String::from(if value.sign() == Sign::Minus { "-" } else { "" });
        let mut powers = vec![BigUint::from(10u32).pow(self.text_digits)];
        // The square of the last one has at least the bits of the value.
        while let Some(last) = powers.last().filter(|last| last.bits() * 2 <= value.bits() + 2) {
            let square = self.product(last, last)?;
            powers.push(square);
        }
        self.digits(value.magnitude(), &powers, false, &mut text)?;
        Some(text)
    }
    /// Appends the digits of a value below the square of the last power: all that there may be, or from the first one
    /// that is not zero.
    fn digits(&self, value: &BigUint, powers: &[BigUint], all: bool, text: &mut String) -> Option<()> {
        let Some((power, less)) = powers.split_last() else {
            let width = if all { self.text_digits as usize } else { 0 };
            let digits = value.to_string();
            return write!(text, "{digits:0>width$}").ok().filter(|()| (self.go_on)());
        };
        if !all && value < power {
            return self.digits(value, less, false, text);
        }
        let (high, rest) = self.quotient(value, power)?;
        self.digits(&high, less, all, text)?;
        self.digits(&rest, less, true, text)
    }
    fn product(&self, a: &BigUint, b: &BigUint) -> Option<BigUint> {
        let (short, long) = if a.bits() <= b.bits() { (a, b) } else { (b, a) };
        let bits = short.bits();
        if bits <= self.product_bits && long.bits() <= 2 * self.product_bits {
            return Some(short * long).filter(|_| (self.go_on)());
        }
        // Words stay whole.
        let half = (long.bits().div_ceil(2)).next_multiple_of(64);
        let (high, rest) = (long >> half, low(long, half));
        if bits <= half {
            let product = self.product(short, &high)? << half;
            return Some(product + self.product(short, &rest)?);
        }
        // Karatsuba's method: three products of halves.
        let (short_high, short_rest) = (short >> half, low(short, half));
        let mut middle = self.product(&(&high + &rest), &(&short_high + &short_rest))?;
        let (upper, lower) = (self.product(&high, &short_high)?, self.product(&rest, &short_rest)?);
        middle -= &upper;
        middle -= &lower;
        Some((((upper << half) + middle) << half) + lower)
    }
    /// Quotient and remainder: by a short divisor digit by digit, otherwise by the method of Burnikel and Ziegler.
    fn quotient(&self, a: &BigUint, b: &BigUint) -> Option<(BigUint, BigUint)> {
        if b.bits() <= self.quotient_bits {
            let bits = self.product_bits.next_multiple_of(32);
            return by_digits(a, bits, |next| Some((&next / b, next % b)).filter(|_| (self.go_on)()));
        }
        let pieces = b.bits().div_ceil(self.quotient_bits).next_power_of_two();
        let bits = b.bits().div_ceil(pieces).next_multiple_of(32) * pieces;
        let shift = bits - b.bits();
        let b = b << shift;
        let (quotient, rest) = by_digits(&(a << shift), bits, |next| self.two_by_one(&next, &b, bits))?;
        Some((quotient, rest >> shift))
    }
    /// The same where `b` has just `bits` bits and `a` is below b * 2^bits.
    fn two_by_one(&self, a: &BigUint, b: &BigUint, bits: u64) -> Option<(BigUint, BigUint)> {
        if bits <= self.quotient_bits || bits % 2 == 1 {
            return Some((a / b, a % b)).filter(|_| (self.go_on)());
        }
        let half = bits / 2;
        let (high, rest) = self.three_by_two(&(a >> half), b, half)?;
        let (digit, rest) = self.three_by_two(&((rest << half) | low(a, half)), b, half)?;
        Some(((high << half) | digit, rest))
    }
    /// The same where `b` has twice as many bits as `bits` says and `a` is below b * 2^bits.
    fn three_by_two(&self, a: &BigUint, b: &BigUint, bits: u64) -> Option<(BigUint, BigUint)> {
        let (high, b_high, b_low) = (a >> bits, b >> bits, low(b, bits));
        let (mut quotient, rest) = if &high >> bits < b_high {
            self.two_by_one(&high, &b_high, bits)?
        } else {
            let most = (BigUint::from(1u32) << bits) - 1u32;
            let rest = high + &b_high - (&b_high << bits);
            (most, rest)
        };
        let mut rest = (rest << bits) | low(a, bits);
        let taken = self.product(&quotient, &b_low)?;
        // The quotient of the upper parts is too large by two at most.
        while rest < taken {
            quotient -= 1u32;
            rest += b;
        }
        Some((quotient, rest - taken))
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Integers of a few words, with long runs of zeros and ones among them.
    fn integer() -> impl Strategy<Value = BigInt> {
        let digit = prop_oneof![Just(0u32), Just(u32::MAX), Just(1 << 31), any::<u32>()];
        let digits = proptest::collection::vec(digit, 0..60);
        (digits, any::<bool>()).prop_map(|(digits, minus)| {
            BigInt::from_slice([Sign::Plus, Sign::Minus][usize::from(minus)], &digits)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn pieces_together_are_what_the_library_computes_at_once(a in integer(), b in integer(), cut in 1u64..200) {
            let pieces = Pieces {
                product_bits: 64 + cut,
                quotient_bits: cut,
                text_digits: 1 + cut as u32 % 20,
                ..Pieces::new(&|| true)
            };
            prop_assert_eq!(pieces.multiply(&a, &b), Some(&a * &b));
            prop_assert_eq!(pieces.text(&a), Some(a.to_string()));
            if b.sign() != Sign::NoSign {
                prop_assert_eq!(pieces.divide(&a, &b), Some((&a / &b, &a % &b)));
            }
        }
    }

    #[test]
    fn a_short_divisor_takes_few_pieces_of_a_long_integer() {
        let value = (BigInt::from(1) << 30_000_000u32) - 1;
        for divisor in [3, 1000, 1_000_000_007] {
            let asked = std::cell::Cell::new(0);
            let go_on = || {
                asked.set(asked.get() + 1);
                asked.get() <= 8
            };
            let divisor = BigInt::from(divisor);
            let expected = (&value / &divisor, &value % &divisor);
            assert_eq!(Pieces::new(&go_on).divide(&value, &divisor), Some(expected));
            assert_eq!(asked.get(), 8);
        }
    }

    #[test]
    fn nothing_large_is_one_piece_and_each_is_asked_for() {
        let value = (BigInt::from(1) << 30_000_000u32) - 1;
        let factor = &value >> 10_000_000u32;
        for run in [
            (|pieces, value, _| pieces.text(value).map(|_| ()))
                as fn(&Pieces<'_>, &BigInt, &BigInt) -> Option<()>,
            |pieces, value, _| pieces.multiply(value, value).map(|_| ()),
            |pieces, value, factor| pieces.divide(value, factor).map(|_| ()),
        ] {
            let asked = std::cell::Cell::new(0);
            let go_on = || {
                asked.set(asked.get() + 1);
                asked.get() < 3
            };
            assert_eq!(run(&Pieces::new(&go_on), &value, &factor), None);
            assert_eq!(asked.get(), 3);
        }
    }
}
