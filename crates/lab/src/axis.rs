//! Axes of charts: from values to places, with round numbers at their ticks.

use crate::report::grouped;

/// From values to places.
pub(crate) struct Axis {
    log: bool,
    /// Values at the axis's ends; their logarithms if it has one.
    least: f64,
    most: f64,
    from: f64,
    to: f64,
    ticks: Vec<f64>,
}

/// Ticks, at most, on an axis of equal factors.
const LOG_TICKS_MAX: usize = 12;

impl Axis {
    /// From zero to a round number above all values, or from round number to round number.
    pub(crate) fn new(values: impl Iterator<Item = f64>, log: bool, from: f64, to: f64) -> Axis {
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        if log { Axis::logarithmic(&values, from, to) } else { Axis::linear(&values, from, to) }
    }

    fn linear(values: &[f64], from: f64, to: f64) -> Axis {
        let most = values.iter().copied().fold(0.0, f64::max);
        let least = values.iter().copied().fold(0.0, f64::min);
        let span = if most > least { most - least } else { 1.0 };
        let power = 10f64.powf((span / 5.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
        let step = step.into_iter().find(|step| step * 5.0 >= span).unwrap_or(10.0 * power);
        let (first, last) = ((least / step).floor(), (most / step).ceil().max((least / step).floor() + 1.0));
        // Products, not sums: no error piles up.
        let ticks = (0..=(last - first) as u32).map(|n| (first + f64::from(n)) * step).collect();
        Axis { log: false, least: first * step, most: last * step, from, to, ticks }
    }

    fn logarithmic(values: &[f64], from: f64, to: f64) -> Axis {
        let values = values.iter().copied().filter(|value| *value > 0.0);
        let (least, most) = values
            .clone()
            .fold((f64::INFINITY, 0.0), |(least, most), value| (value.min(least), value.max(most)));
        let (least, most) = if least <= most { (least, most) } else { (1.0, 10.0) };
        // Machines double: then the ticks are powers of two.
        let is_doubling = values.clone().all(|value| value.log2().fract() == 0.0);
        let base: f64 = if is_doubling { 2.0 } else { 10.0 };
        let exponent = |value: f64| value.ln() / base.ln();
        let first = (exponent(least) + 1e-9).floor() as i32;
        let last = ((exponent(most) - 1e-9).ceil() as i32).max(first + 1);
        let stride = ((last - first) as usize).div_ceil(LOG_TICKS_MAX).max(1);
        let mut ticks: Vec<f64> = (first..=last).step_by(stride).map(|n| base.powi(n)).collect();
        let within = |tick: &f64| (least / base..=most * base).contains(tick);
        if base == 10.0 && last - first <= 2 {
            // Few powers of ten: what is between them helps.
            let between = (first..last).flat_map(|n| [2.0, 5.0].map(|factor| factor * 10f64.powi(n)));
            ticks.extend(between);
            ticks.sort_by(f64::total_cmp);
        }
        ticks.retain(within);
        let (low, high) = (ticks.first().copied().unwrap_or(least), ticks.last().copied().unwrap_or(most));
        Axis { log: true, least: low.min(least).ln(), most: high.max(most).ln(), from, to, ticks }
    }

    /// Where a value is; none: it has no place on an axis of equal factors.
    pub(crate) fn at(&self, value: f64) -> Option<f64> {
        let value = if self.log { (value > 0.0).then(|| value.ln())? } else { value };
        let share = (value - self.least) / (self.most - self.least);
        share.is_finite().then_some(self.from + share * (self.to - self.from))
    }
    /// Where bars begin.
    pub(crate) fn floor(&self) -> f64 {
        if self.log { self.from } else { self.at(0.0).unwrap_or(self.from) }
    }
    pub(crate) fn ticks(&self) -> impl Iterator<Item = f64> {
        self.ticks.iter().copied()
    }
    /// A tick for people.
    pub(crate) fn show(&self, value: f64) -> String {
        let step = match self.ticks[..] {
            [first, second, ..] if !self.log => second - first,
            _ => value,
        };
        let decimals = (-step.abs().max(1e-12).log10() - 1e-9).ceil().clamp(0.0, 9.0);
        grouped(value, decimals as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::Axis;

    fn shown(values: &[f64], log: bool) -> Vec<String> {
        let axis = Axis::new(values.iter().copied(), log, 0.0, 100.0);
        axis.ticks().map(|tick| axis.show(tick)).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(shown(&[0.0, 90.0], false), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(shown(&[0.03, 0.11], false), ["0.00", "0.05", "0.10", "0.15"]);
        assert_eq!(shown(&[], false).first().map(String::as_str), Some("0.0"));
        assert_eq!(shown(&[-4.0, 10.0], false), ["-5", "0", "5", "10"]);
        assert_eq!(shown(&[1.0, 8.0], true), ["1", "2", "4", "8"]);
        assert_eq!(shown(&[3.0, 70.0], true), ["1", "2", "5", "10", "20", "50", "100"]);
        assert_eq!(shown(&[0.3, 5e5], true).last().map(String::as_str), Some("1,000,000"));
    }

    #[test]
    fn places_are_within_the_axis() {
        let axis = Axis::new([1.0, 1024.0].into_iter(), true, 0.0, 100.0);
        assert_eq!(
            [1.0, 32.0, 1024.0].map(|value| axis.at(value).map(f64::round)),
            [0.0, 50.0, 100.0].map(Some)
        );
        assert_eq!((axis.at(0.0), axis.at(-1.0)), (None, None));
        let axis = Axis::new([-5.0, 5.0].into_iter(), false, 100.0, 0.0);
        assert!((0.0..100.0).contains(&axis.floor()));
        for odd in [f64::NAN, f64::INFINITY] {
            assert!(Axis::new([odd, 1.0].into_iter(), false, 0.0, 1.0).at(odd).is_none());
        }
    }
}
