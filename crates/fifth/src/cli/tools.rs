//! The command line of what helps to write programs: the style of texts, and tests.

use crate::number;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Fmt {
    /// Writes nothing, and prints the names of files that are not in the style.
    #[arg(long)]
    pub(crate) check: bool,
    /// KL1 files, which are written over; `-` is standard input, whose text goes to standard output.
    #[arg(required = true, value_name = "FILE.kl1")]
    pub(crate) files: Vec<PathBuf>,
}

pub(crate) const FMT_HELP: &str = "\
A clause is a line where it fits into 100 characters; else its body stands below, indented. Line breaks between goals and \
between elements stay, and so do comments. A text with syntax errors stays as it is.

Exit codes:
    0    all files are in the style
    1    with --check: some are not, and are named
    2    a file cannot be read or written, or has syntax errors

Examples:
    fifth fmt *.kl1
    fifth fmt --check src/*.kl1
    fifth fmt - < old.kl1 > new.kl1";

#[derive(Args, Debug)]
pub(crate) struct Test {
    /// KL1 files; without any, those of this folder and of its folder `tests`.
    #[arg(value_name = "FILE.kl1")]
    pub(crate) files: Vec<PathBuf>,
    /// Only tests whose name has this in it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Workers reduce one after the other, in an order from this seed.
    #[arg(long, value_name = "SEED")]
    pub(crate) schedule: Option<u64>,
    /// A test that takes longer fails, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    #[arg(value_parser = number::within("the number of seconds", 1..=86400))]
    pub(crate) timeout: u32,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t = TestFormat::Human)]
    pub(crate) format: TestFormat,
    /// Runs the test of this number of the only file, and writes its verdict there.
    #[arg(long, hide = true, num_args = 2, value_names = ["N", "FILE"])]
    pub(crate) alone: Option<Vec<String>>,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TestFormat {
    /// A line a test, and what failed.
    Human,
    /// One JSON object a line.
    Json,
    /// XML as JUnit writes it, for build servers.
    Junit,
}

pub(crate) const TEST_HELP: &str = "\
Tests are:
    test_NAME(R)           a predicate of a module: it passes with R = ok. failed(T) fails, and T is shown
    %% ?- goal. %= X = 3   an example in a documentation comment: the goal must end, with these values
    % stdout: TEXT         a line of what the program main:main must print; % exit: N is its exit code

Each runs in a process and a node of its own. A test fails if it ends with an error, if goals of it wait for ever, or \
if it takes too long; the others run.

Exit codes:
    0    all tests passed
    1    a test failed
    2    wrong usage, a file cannot be read or has errors, or there is no test

Examples:
    fifth test
    fifth test queue.kl1 --filter empty
    fifth test --format junit > report.xml";

pub(crate) const DOC_HELP: &str = "\
A comment of lines that begin with `%%` belongs to the module or predicate below it:

    %% put(+K,+V,+M,-M1)
    %% M1 is M with V for K.
    %%
    %%     ?- map:new(M), map:put(a,1,M,M1), map:get(a,0,M1,V). %= V = 1

The first line may name the arguments: `+` is read, `-` is bound. A sentence follows, and behind an empty line whatever \
Markdown says more. `fifth test` runs the examples.

Exit codes:
    0    printed
    2    a file cannot be read or written, or a comment is about another predicate

Examples:
    fifth doc main.kl1
    fifth doc --html library.html *.kl1";

#[derive(Args, Debug)]
pub(crate) struct Doc {
    /// Writes a page to this file instead.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,
    /// Writes a table of each module into a text in Markdown, between `<!-- fifth doc MODULE -->` and `<!-- end -->`.
    #[arg(long, value_name = "FILE.md", conflicts_with = "html")]
    pub(crate) update: Option<PathBuf>,
    /// KL1 files.
    #[arg(required = true, value_name = "FILE.kl1")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct New {
    /// The name of the folder: a lower-case letter, then lower-case letters, digits and `_`.
    pub(crate) name: String,
}

pub(crate) const NEW_HELP: &str = "\
Example:
    fifth new counter && cd counter && fifth test";
