//! Where a report comes from: enough to make it again, and to know whether it must be made again.

use crate::{Config, Scale};
use serde::{Deserialize, Serialize};

/// Where a report comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The command that measured.
    pub command: String,
    /// Fifth's version.
    pub version: String,
    /// The commit of its source, `+` if that was changed.
    pub commit: String,
    /// A hash of the executable.
    pub executable: String,
    /// What compiled it.
    pub compiler: String,
    /// The machine that measured.
    pub host: String,
    /// When the experiment ended, in UTC.
    pub date: String,
    /// How much was measured: scale, runs, workers, nodes.
    pub size: String,
    /// Seeds; empty: those of the experiment.
    pub seed: String,
    /// Inputs that were set, and their values; empty: the experiment's own.
    pub set: String,
}

/// How sizes of runs at small scale begin.
const SMALL: &str = "scale small";

/// How much a run measures.
pub fn size(config: &Config) -> String {
    let Config { workers, nodes, runs, scale } = config;
    let scale = if *scale == Scale::Full { "scale full" } else { SMALL };
    format!("{scale}, runs {runs}, workers {workers:?}, nodes {nodes:?}")
}

impl Provenance {
    /// Whether it ran at small scale.
    pub fn is_small(&self) -> bool {
        self.size.starts_with(SMALL)
    }
    /// Whether a report of this origin need not be made again by a command of the other: the same program was asked for
    /// the same.
    pub fn stands_for(&self, other: &Provenance) -> bool {
        let key = |one: &Provenance| {
            [&one.version, &one.commit, &one.executable, &one.host, &one.size, &one.seed, &one.set]
                .map(String::clone)
        };
        key(self) == key(other)
    }
    /// What is known, by name.
    pub fn facts(&self) -> Vec<(&'static str, &str)> {
        let facts = [
            ("command", &self.command),
            ("version", &self.version),
            ("commit", &self.commit),
            ("executable", &self.executable),
            ("compiler", &self.compiler),
            ("host", &self.host),
            ("date", &self.date),
            ("size", &self.size),
            ("seed", &self.seed),
            ("set", &self.set),
        ];
        facts
            .into_iter()
            .filter(|(_, fact)| !fact.is_empty())
            .map(|(name, fact)| (name, fact.as_str()))
            .collect()
    }
}

/// A day and time in UTC, from seconds since 1970 began.
pub fn date(seconds: u64) -> String {
    // Days are counted from the first of March of the year 0, so that a leap day is a year's last.
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC", year + 400 * era)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (951_868_800, "2000-03-01 00:00:00 UTC"),
            (1_735_689_599, "2024-12-31 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(date(seconds), text);
        }
    }

    #[test]
    fn a_size_says_its_scale() {
        for (scale, is_small) in [(Scale::Small, true), (Scale::Full, false)] {
            let config = Config { workers: vec![1], nodes: vec![2], runs: 3, scale };
            let from = Provenance { size: size(&config), ..Provenance::default() };
            assert_eq!(from.is_small(), is_small, "{}", from.size);
            assert!(from.size.ends_with(", runs 3, workers [1], nodes [2]"), "{}", from.size);
        }
    }

    #[test]
    fn only_the_same_program_asked_for_the_same_stands_for_another() {
        let one = Provenance { commit: "abc".into(), date: "today".into(), ..Provenance::default() };
        assert!(one.stands_for(&Provenance {
            date: "yesterday".into(),
            command: "other".into(),
            ..one.clone()
        }));
        for other in [
            Provenance { commit: "abc+".into(), ..one.clone() },
            Provenance { seed: "2".into(), ..one.clone() },
            Provenance { set: "buffer-flits=2".into(), ..one.clone() },
            Provenance { size: "small".into(), ..one.clone() },
            Provenance { executable: "other".into(), ..one.clone() },
        ] {
            assert!(!one.stands_for(&other), "{other:?}");
        }
    }
}
