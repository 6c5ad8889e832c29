//! Shoens as data: which there are, and which of them is told of what.

use term::word;

/// A shoen: what is told of goals that fail in it, and what is left of it.
pub(super) struct Shoen<R> {
    /// The one that it is a goal of, or 0.
    pub(super) parent: usize,
    /// Names of the kinds that it is told of; `all` is all but `exit`.
    pub(super) kinds: Vec<String>,
    /// The lowest and the highest priority of its goals.
    pub(super) range: (i64, i64),
    /// The end of what was told.
    pub(super) report: R,
    /// Goals that are ready or wait, daemons not counted.
    pub(super) goals: usize,
    /// It has its first goal, which counts as one that waits until then.
    pub(super) begun: bool,
    pub(super) aborted: bool,
    pub(super) over: bool,
    /// It was told to stop, and not to start since.
    pub(super) stopped: bool,
    /// Its deadlock was told, and no goal of it was resumed since.
    pub(super) told: bool,
}

/// Adds a shoen that is a goal of another one, or of none (0): its number. It has one goal until it begins.
pub(super) fn add<R: Copy>(
    shoens: &mut Vec<Shoen<R>>,
    parent: usize,
    kinds: Vec<String>,
    range: (i64, i64),
    report: R,
) -> usize {
    let shoen = |parent, kinds, range| Shoen {
        parent,
        kinds,
        range,
        report,
        goals: 1,
        begun: false,
        aborted: false,
        over: false,
        stopped: false,
        told: false,
    };
    if shoens.is_empty() {
        shoens.push(shoen(0, Vec::new(), (0, word::INT_MAX)));
    }
    let (lowest, highest) = shoens[parent].range;
    let range = (range.0.clamp(lowest, highest), range.1.clamp(lowest, highest));
    shoens.push(shoen(parent, kinds, range));
    shoens.len() - 1
}

/// The innermost shoen from this one on that is told of this kind; `None` if there is none.
pub(super) fn listener<R>(shoens: &[Shoen<R>], mut shoen: usize, kind: &str) -> Option<usize> {
    while shoen != 0 {
        let Shoen { kinds, over, parent, .. } = &shoens[shoen];
        let listens = kinds.iter().any(|listed| listed == kind || listed == "all" && kind != "exit");
        if listens && !over {
            return Some(shoen);
        }
        shoen = *parent;
    }
    None
}

/// Whether the goals of a shoen do not run: it was stopped, or one around it.
pub(super) fn is_stopped<R>(shoens: &[Shoen<R>], mut shoen: usize) -> bool {
    while shoen != 0 && !shoens[shoen].stopped {
        shoen = shoens[shoen].parent;
    }
    shoen != 0
}
