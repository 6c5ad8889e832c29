//! How many workers a node gets: what the option says, else what the environment says, else the usual number.

use clap::Args;
use runtime::worker::WORKERS_MAX;

/// Speaks for all programs that are given no option.
const VARIABLE: &str = "FIFTH_WORKERS";

/// Workers of a node when nobody says how many: one for each processor that the process may use.
fn usual() -> u32 {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    processors.min(WORKERS_MAX) as u32
}

/// The option.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Workers {
    /// Workers that reduce goals at the same time, 1 to 64; without this option FIFTH_WORKERS of the environment says
    /// it, or there is one for each processor (fewer if the system refuses address space or threads for so many).
    /// Answers do not depend on it, but the order of goals that do not wait for each other does.
    #[arg(short = 'w', long = "workers", value_name = "N", value_parser = parse)]
    pub(crate) given: Option<u32>,
}

impl Workers {
    /// Numbers to try until the system has room for so many.
    pub(crate) fn candidates(self) -> anyhow::Result<Vec<u32>> {
        if let Some(number) = self.given {
            return Ok(vec![number]);
        }
        match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            Some(value) => match parse(&value.to_string_lossy()) {
                Ok(number) => Ok(vec![number]),
                Err(wanted) => anyhow::bail!("{VARIABLE} is `{}`: {wanted}", value.to_string_lossy()),
            },
            None => Ok(std::iter::successors(Some(usual()), |&n| (n > 1).then_some(n / 2)).collect()),
        }
    }
}

/// A number of workers.
pub(crate) fn parse(text: &str) -> Result<u32, String> {
    crate::number::within("the number of workers", 1..=WORKERS_MAX as u32)(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_from_1_to_64_workers() {
        assert_eq!((parse("1"), parse("64")), (Ok(1), Ok(64)));
        for wrong in ["", "0", "65", "-1", "4x", "99999999999"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
