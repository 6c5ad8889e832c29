//! How many nodes a program runs on, each with a heap of its own.

use crate::number;
use clap::{Args, ValueEnum};
use distribution::Crash;
use engine::NODES_MAX;

/// The options.
#[derive(Args, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nodes {
    /// Nodes, 1 to 1024, each with a heap of its own: goals with `@node(0)` to `@node(N-1)` are reduced there. With
    /// more than one, each has as many workers as `--workers` says, one if it says nothing; `--heap-limit` holds for
    /// each, and the first has the terminal, files and timers.
    #[arg(long = "nodes", value_name = "N", default_value_t = 1)]
    #[arg(value_parser = number::within("the number of nodes", 1..=NODES_MAX))]
    pub(crate) count: u32,
    /// Lets ready goals move to nodes that have none, without `@node(any)`. Of predicates that are placed with
    /// `@node(N)` none moves. Answers are the same; of one node it changes nothing. It implies `--structure-ids`. See
    /// docs/balance.md.
    #[arg(long)]
    pub(crate) balance: bool,
    /// Gives structures an identity when they are sent again or have more than 32 words: a node that has a copy does
    /// not read it again. It takes a word of each such reference. `--stats` counts them.
    #[arg(long = "structure-ids")]
    pub(crate) identities: bool,
    /// How nodes share arrays: the memory is the same (`mapped`), or each has copies of its pages, which go by
    /// messages. Without this it is mapped if all nodes are on one host. Answers are the same.
    #[arg(long = "dsm-pages", value_name = "WAY", value_enum)]
    pub(crate) pages: Option<Pages>,
    /// Sends goals to nodes at random (to find bugs in Fifth).
    #[arg(long = "check-nodes", hide = true, value_name = "SEED", require_equals = true)]
    pub(crate) check: Option<u64>,
    /// Lets a node of a simulated machine die: `2@50000` is node 2 when it does something in cycle 50,000 or later (to
    /// find bugs in Fifth).
    #[arg(long, hide = true, value_name = "NODE@CYCLE", require_equals = true, requires = "simulate", value_parser = crash)]
    pub(crate) crash: Option<Crash>,
}

/// A node and a cycle.
fn crash(text: &str) -> Result<Crash, &'static str> {
    let parts =
        text.split_once('@').and_then(|(node, cycle)| Some((node.parse().ok()?, cycle.parse().ok()?)));
    let (node, cycle) = parts.ok_or("write 2@50000: a node, and a cycle")?;
    Ok(Crash { node, cycle })
}

/// How nodes share the pages of arrays.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pages {
    /// They are the same memory.
    Mapped,
    /// Each node has copies, which go by messages.
    Messages,
}

impl Nodes {
    /// No other.
    pub(crate) const ALONE: Nodes =
        Nodes { count: 1, balance: false, identities: false, pages: None, check: None, crash: None };

    /// As the engine wants them.
    pub(crate) fn settings(&self) -> engine::Nodes {
        let pages = self.pages.map(|pages| match pages {
            Pages::Mapped => engine::Pages::Mapped,
            Pages::Messages => engine::Pages::Messages,
        });
        let Nodes { count, balance, identities, check, crash, .. } = *self;
        engine::Nodes { count, balance, identities, pages, check, crash }
    }
}
