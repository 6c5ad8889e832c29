//! Compiles the parser that `cargo xtask grammars` has made.

fn main() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/tree-sitter-kl1/src");
    let files = ["parser.c", "scanner.c"].map(|name| folder.join(name));
    for file in &files {
        println!("cargo:rerun-if-changed={}", file.display());
    }
    // A table of some thousand states: what it is made of is nothing to warn of, and nothing to optimise.
    cc::Build::new().include(&folder).files(&files).warnings(false).opt_level(1).compile("tree_sitter_kl1");
}
