//! Helpers of the compiler's tests: source text in, IR or diagnostics out.

use compiler::{Known, Options};
use rustc_hash::FxHashMap;
use syntax::diagnostic::Diagnostic;
use syntax::source::SourceMap;
use term::AtomTable;
use term::abi::{Builtin, Place};

/// Builtins that the tests' programs use (a few of the runtime's).
#[allow(dead_code, reason = "each test file uses some of these")]
pub(crate) fn builtins() -> Vec<Builtin> {
    let table: &[(&str, &str, &str, Place)] = &[
        ("guard", "equal_terms", "aa", Place::Guard),
        ("guard", "vector", "io", Place::Guard),
        ("guard", "vector_element", "iio", Place::Guard),
        ("guard", "string", "ioo", Place::Guard),
        ("guard", "compare", "aao", Place::Guard),
        ("guard", "\\=", "ii", Place::Guard),
        ("integer_arithmetics", "add", "iio", Place::Body),
        ("integer_arithmetics", "subtract", "iio", Place::Body),
        ("integer_arithmetics", "multiply", "iio", Place::Body),
        ("vector", "vector_element", "iio", Place::Body),
        ("vector", "set_vector_element", "iiao", Place::Body),
        ("vector", "set_vector_element", "iioao", Place::Body),
        ("vector", "new_vector", "oi", Place::Body),
        ("merge", "merge", "oa", Place::Body),
        ("generic", "size", "io", Place::Body),
        ("floats", "floating_point_add", "iio", Place::Body),
        ("io", "outstream", "a", Place::Goal),
        ("klicio", "klicio", "a", Place::Goal),
        ("builtin", "print", "a", Place::Goal),
        ("functor_table", "=..", "oi", Place::Method),
        ("generic", "new", "iaa", Place::Body),
        ("generic", "new", "iaaa", Place::Body),
        ("string", "new_string", "oii", Place::Body),
        ("guard", "diff", "ii", Place::Guard),
    ];
    table
        .iter()
        .map(|(module, name, modes, place)| Builtin {
            module: (*module).into(),
            name: (*name).into(),
            modes: (*modes).into(),
            place: *place,
            daemon: false,
        })
        .collect()
}

/// A program compiled without roots.
#[allow(dead_code, reason = "each test file uses some of these")]
pub(crate) struct Compiled {
    pub(crate) program: compiler::ir::Program,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) atoms: AtomTable,
}

/// Compiles a text.
#[allow(dead_code, reason = "each test file uses some of these")]
pub(crate) fn compile(text: &str) -> Compiled {
    let mut sources = SourceMap::default();
    let file = sources.add("test.kl1".into(), text.as_bytes().to_vec());
    let atoms = AtomTable::new();
    let (program, mut diagnostics) = syntax::read_program(&sources, &[file], &atoms);
    let builtins = builtins();
    let earlier = FxHashMap::default();
    let options = Options {
        known: Known { builtins: &builtins, predicates: &earlier, library: |_| vec![] },
        first_predicate: 100,
        first_constant: 0,
        roots: None,
    };
    let (program, more) = compiler::compile(&program, &sources, &atoms, &options);
    diagnostics.extend(more);
    Compiled { program, diagnostics, atoms }
}

/// The IR text of a text, which must be right; the verifier must accept it.
#[allow(dead_code, reason = "each test file uses some of these")]
pub(crate) fn ir(text: &str) -> String {
    let compiled = compile(text);
    assert_eq!(compiled.diagnostics, [], "diagnostics");
    let problems = compiler::verify::verify(&compiled.program);
    let printed = compiler::text::print(&compiled.program, &compiled.atoms);
    assert!(problems.is_empty(), "{problems:#?}\n{printed}");
    printed
}
