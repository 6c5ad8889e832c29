//! Texts of modules to code: what the build script does, and the tests again.

use compiler::ir::Program;
use compiler::{Known, Options};
use runtime::node::Node;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use syntax::diagnostic::{Diagnostic, Severity};
use syntax::source::SourceMap;
use term::Atom;
use term::abi::Builtin;

/// The library with the numbers that it has in every node.
pub(crate) struct Compiled {
    /// Number of the first atom that builtins have not.
    pub(crate) first_atom: u32,
    /// The atoms from there on.
    pub(crate) atoms: Vec<String>,
    /// Number of the first predicate behind the builtins.
    pub(crate) first_predicate: u32,
    pub(crate) program: Program,
    /// The modules, each with the names of those that it calls, natives included.
    pub(crate) needs: Vec<(String, Vec<String>)>,
    builtins: Vec<Builtin>,
}

/// Compiles modules, each with its name; or says what is wrong with them.
pub(crate) fn compile(texts: &[(&str, &str)]) -> Result<Compiled, String> {
    let mut natives = runtime::builtins::natives();
    natives.extend(arrays::natives(false));
    let options = runtime::worker::Options::alone(1);
    let mut node = Node::new(options, Arc::default(), natives).map_err(|error| error.to_string())?;
    let builtins = node.callable();
    let atoms = node.atoms().clone();
    let (first_atom, first_predicate) = (atoms.len() as u32, node.predicates().len() as u32);
    let mut sources = SourceMap::default();
    let mut add =
        |&(name, text): &(&str, &str)| sources.add(format!("library/{name}.kl1"), text.as_bytes().to_vec());
    let files: Vec<_> = texts.iter().map(&mut add).collect();
    let (read, diagnostics) = syntax::read_program(&sources, &files, &atoms);
    right(&diagnostics, &sources)?;
    let known = Known { builtins: &builtins, predicates: &FxHashMap::default(), library: |_| vec![] };
    let options = Options { known, first_predicate, first_constant: 0, roots: None };
    let (program, diagnostics) = compiler::compile(&read, &sources, &atoms, &options);
    right(&diagnostics, &sources)?;
    let name = |atom: Atom| atoms.name(atom).into_owned();
    let needs = texts.iter().map(|(module, _)| {
        let own = read.modules.iter().filter(|other| atoms.text(other.name) == module.as_bytes());
        let own = syntax::program::Program { modules: own.cloned().collect() };
        let called = compiler::modules_needed(&own).into_iter().map(|(called, _)| name(called));
        ((*module).to_string(), called.filter(|called| called != module).collect())
    });
    let needs = needs.collect();
    let reserved = (first_atom..atoms.len() as u32).map(|number| name(Atom(number))).collect();
    Ok(Compiled { first_atom, atoms: reserved, first_predicate, program, needs, builtins })
}

fn right(diagnostics: &[Diagnostic], sources: &SourceMap) -> Result<(), String> {
    let Some(wrong) = diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error) else {
        return Ok(());
    };
    let (file, line) = (sources.file(wrong.span.file), sources.line(wrong.span.file, wrong.span.start));
    Err(format!("{}:{line}: {}", file.name, wrong.message))
}

impl Compiled {
    /// Its code, of one kind.
    pub(crate) fn image(&self, options: &codegen::Options) -> codegen::Image {
        codegen::generate(&self.program, &self.builtins, options)
            .unwrap_or_else(|error| panic!("no code can be made for the library: {error}"))
    }
}
