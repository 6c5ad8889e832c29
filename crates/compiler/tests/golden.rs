//! IR of small programs, as text: `tests/golden/NAME.kl1` compiles to `NAME.ir`. `UPDATE_EXPECT=1` writes them anew.

mod common;

use std::path::Path;

#[test]
fn programs_compile_to_their_golden_text() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "kl1"));
    names.sort();
    assert!(!names.is_empty());
    for path in names {
        let text = std::fs::read_to_string(&path).unwrap();
        let printed = common::ir(&text);
        expect_test::expect_file![path.with_extension("ir")].assert_eq(&printed);
    }
}

#[test]
fn text_form_round_trips() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "ir") {
            let text = std::fs::read_to_string(&path).unwrap();
            let atoms = term::AtomTable::new();
            let program = compiler::text::parse(&text, &atoms).unwrap();
            assert_eq!(compiler::text::print(&program, &atoms), text, "{}", path.display());
        }
    }
}
