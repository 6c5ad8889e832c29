//! The virtual world: what a program can reach outside itself.

use super::{Options, Outcome, Report};
use std::collections::BTreeMap;

/// Input, output and files of a run.
pub(super) struct World {
    pub(super) arguments: Vec<Vec<u8>>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) files: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl World {
    pub(super) fn new(options: Options) -> World {
        World { arguments: options.arguments, stdout: Vec::new(), stderr: Vec::new(), files: options.files }
    }

    pub(super) fn report(self, outcome: Outcome, steps: u64) -> Report {
        Report { outcome, stdout: self.stdout, stderr: self.stderr, files: self.files, steps }
    }
}
