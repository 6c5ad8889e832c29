//! What the command prints, word for word. `TRYCMD=overwrite` writes down what it prints now.

#[test]
fn commands_print_what_is_written_down() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd").case("tests/cmd/*.toml");
}
