//! Lists the library's modules, so that they are part of the executable.

use std::path::Path;

fn main() {
    let library =
        Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../library");
    println!("cargo:rerun-if-changed={}", library.display());
    let mut modules: Vec<_> = std::fs::read_dir(&library)
        .expect("the library is part of the source tree")
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "kl1"))
        .collect();
    modules.sort();
    let mut table = String::from("pub(crate) const MODULES: &[(&str, &str)] = &[\n");
    for path in modules {
        println!("cargo:rerun-if-changed={}", path.display());
        let name = path.file_stem().expect("it has an extension").to_string_lossy().into_owned();
        let path = path.canonicalize().expect("it was just listed");
        table.push_str(&format!("    ({name:?}, include_str!({:?})),\n", path.display().to_string()));
    }
    table.push_str("];\n");
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("library.rs"), table)
        .expect("cargo gives a folder that can be written");
}
