//! Numbers of options: what is no number, too small or too large gets the same answer, which has the bounds.

use std::ops::RangeInclusive;

/// A parser of numbers in a range; `what` is the thing that is wrong: "the number of nodes".
pub(crate) fn within(
    what: &'static str,
    range: RangeInclusive<u32>,
) -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("{what} is from {} to {}", range.start(), range.end()))
    }
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn what_is_no_number_of_the_range_is_told_the_range() {
        let parse = within("the number of nodes", 2..=1024);
        assert_eq!((parse("2"), parse("1024")), (Ok(2), Ok(1024)));
        for wrong in ["", "1", "1025", "-1", "4x", "3.5", "99999999999999999999999"] {
            assert_eq!(
                parse(wrong).err().as_deref(),
                Some("the number of nodes is from 2 to 1024"),
                "{wrong}"
            );
        }
    }
}
