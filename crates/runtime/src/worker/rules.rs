//! Rules of the load balance that a run may do without, to measure what each is worth (`cargo xtask bench --ablate`).
//!
//! Those that keep a program right (B2, B6), or without which nothing moves (B1, B4, B8), are not among them.

use std::str::FromStr;

/// One of them. The names are those of the modules' comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Rule {
    /// Looks that find nothing are left out ever more often.
    Looks,
    /// B5: a worker is alone while others rest.
    Solo,
    /// B10: sums of what is not known yet go to the worker that computes it.
    Sums,
    /// B11: low priorities give way to high ones.
    Yields,
    /// B12: a goal that nobody tries is given.
    Overdue,
    /// B13: sharing is off where it does not pay.
    Trial,
    /// B14: what lies below a gift runs behind it.
    Gaps,
    /// P8: what lies below has its turn.
    Turns,
    /// P9: resumed goals go below and on top in turn; without it, below.
    Both,
}

impl Rule {
    /// All of them, and their names.
    pub const ALL: [(Rule, &str); 9] = [
        (Rule::Looks, "looks"),
        (Rule::Solo, "solo"),
        (Rule::Sums, "sums"),
        (Rule::Yields, "yields"),
        (Rule::Overdue, "overdue"),
        (Rule::Trial, "trial"),
        (Rule::Gaps, "gaps"),
        (Rule::Turns, "turns"),
        (Rule::Both, "both"),
    ];
}

/// A set of rules that a run does without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Without(u16);

impl Without {
    /// None: every rule holds.
    pub const NONE: Without = Without(0);
    /// Whether this rule does not hold.
    #[inline(always)]
    pub(crate) fn has(self, rule: Rule) -> bool {
        self.0 & 1 << rule as u8 != 0
    }
}

/// Names with commas between them.
impl FromStr for Without {
    type Err = String;
    fn from_str(names: &str) -> Result<Without, String> {
        let one = |name: &str| {
            let rule = Rule::ALL.iter().find(|(_, known)| *known == name);
            rule.map(|&(rule, _)| 1 << rule as u8).ok_or_else(|| {
                let all: Vec<_> = Rule::ALL.iter().map(|&(_, name)| name).collect();
                format!("there is no rule `{name}`; there are {}", all.join(", "))
            })
        };
        names.split(',').try_fold(0, |set, name| Ok(set | one(name)?)).map(Without)
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;

    #[test]
    fn rules_are_left_out_by_name() {
        let without: Without = "sums,both".parse().expect("these are names");
        let left_out: Vec<_> =
            Rule::ALL.iter().filter(|&&(rule, _)| without.has(rule)).map(|&(_, name)| name).collect();
        assert_eq!(left_out, ["sums", "both"]);
        assert!(Rule::ALL.iter().all(|&(rule, _)| !Without::NONE.has(rule)));
        assert!("sums,nothing".parse::<Without>().is_err_and(|error| error.contains("`nothing`")));
    }
}
