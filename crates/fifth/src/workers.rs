//! How many workers a node gets: what the option says, else what the environment says, else the usual number.

use clap::Args;
use runtime::worker::WORKERS_MAX;

/// Speaks for all programs that are given no option.
const VARIABLE: &str = "FIFTH_WORKERS";

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
    /// The number that the option says, else that of the environment, which counts for a node that is `alone`.
    pub(crate) fn number(self, alone: bool) -> anyhow::Result<Option<u32>> {
        if self.given.is_some() || !alone {
            return Ok(self.given);
        }
        let Some(value) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let value = value.to_string_lossy();
        parse(&value).map(Some).map_err(|wanted| anyhow::anyhow!("{VARIABLE} is `{value}`: {wanted}"))
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
