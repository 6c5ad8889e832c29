//! The programs and the command of the laboratory.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use std::path::{Path, PathBuf};
use support::execute;

/// Program, argument, answer, and whether it is small enough for a collection at every reduction.
const PROGRAMS: &[(&str, &str, &str, bool)] = &[
    ("puzzle3d", "tiny", "16\n", true),
    ("triangle", "third", "[133,15945]\n", false),
    ("kl1cmp", "1", "[19016,24358630]\n", false),
];

fn bench(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../benches/{name}.kl1"))
}

#[test]
fn small_programs_give_the_same_compiled_and_interpreted() {
    for &(name, argument, answer, tiny) in PROGRAMS {
        let (files, arguments) = ([bench(name)], [argument.to_string()]);
        let (given, messages) = execute::compiled(&[], &files, &arguments, b"").expect("it starts");
        assert!(messages.is_empty(), "{name}: {messages:?}");
        assert_eq!(String::from_utf8_lossy(&given.stdout), answer, "{name}: {}", given.stderr);
        let given = execute::interpreted(&files, &arguments, b"").expect("it ends");
        assert_eq!(String::from_utf8_lossy(&given.stdout), answer, "{name}, interpreted: {}", given.stderr);
        if tiny {
            let (given, _) =
                execute::compiled(&["--check-heap"], &files, &arguments, b"").expect("it starts");
            assert_eq!(String::from_utf8_lossy(&given.stdout), answer, "{name}, checked: {}", given.stderr);
        }
    }
}

/// Answers that are known from elsewhere: the Soma cube (240 packings, each in 48 positions), and triangle solitaire from hole 5.
#[test]
fn known_answers_are_found() {
    for (name, argument, answer) in [("puzzle3d", "soma", "11520\n"), ("triangle", "5", "[1550,323873]\n")] {
        let (given, _) =
            execute::compiled(&[], &[bench(name)], &[argument.to_string()], b"").expect("it starts");
        assert_eq!(String::from_utf8_lossy(&given.stdout), answer, "{name}: {}", given.stderr);
    }
}
