//! Kinds of exceptions.

use crate::reports::outcome::ErrorKind;

/// Kinds of exceptions by name: bit N of a shoen's kinds is the N-th. `all` is all but the last.
pub(crate) const KINDS: [&str; 14] = [
    "reduction_failure",
    "unification_failure",
    "argument_type",
    "range",
    "placement",
    "zero_division",
    "undefined_method",
    "undefined_predicate",
    "heap_limit",
    "other",
    "deadlock",
    "raised",
    "node_lost",
    "exit",
];

/// The bit of a kind of exceptions.
pub(crate) fn kind_bit(name: &str) -> u64 {
    KINDS.iter().position(|kind| *kind == name).map_or(0, |place| 1 << place)
}

/// The name of a kind of errors; `None` for what no shoen is told of.
pub(crate) fn name(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::ReductionFailure => "reduction_failure",
        ErrorKind::UnificationFailure => "unification_failure",
        ErrorKind::ArgumentType => "argument_type",
        ErrorKind::Range => "range",
        ErrorKind::Placement => "placement",
        ErrorKind::ZeroDivision => "zero_division",
        ErrorKind::UndefinedMethod => "undefined_method",
        ErrorKind::UndefinedPredicate => "undefined_predicate",
        ErrorKind::HeapLimit => "heap_limit",
        ErrorKind::Other => "other",
        ErrorKind::Interrupted | ErrorKind::ReaderGone => return None,
    })
}
