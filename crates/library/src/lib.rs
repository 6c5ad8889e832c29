//! The library's modules in KL1: their texts, and the code that was made of them when Fifth was built.
//!
//! The build script compiles all modules together, as `fifth` compiles a program, for a node that has the builtins and
//! nothing else: so atoms, predicates and constants of the library have fixed numbers behind those of the builtins, and
//! what a program defines comes behind them. A program that uses no module has none of these numbers. There is an
//! image for each kind of code that a node may ask for, with instructions that all processors have. It lies in pages
//! of the executable that nobody reads before its goals run.
//!
//! Invariants:
//! - B1 A node whose numbers of atoms and predicates differ from those of the build script's does not [`join`].
//! - Code of a module is used with that of all modules that it calls ([`Used::closed`]), by their numbers: what a
//!   program calls its own modules is nothing to it.
//!
//! Absent on purpose: files, and the compiler; who wants other code compiles the texts.

#![forbid(unsafe_code)]

#[cfg(test)]
mod compile;

use codegen::{Options, Pages, Reductions, Workers};
use std::io;
use term::abi::PredicateId;
use term::constant::Constant;
use term::symbol::Reserved;
use term::{Atom, AtomTable};

include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// A module.
struct Module {
    name: &'static str,
    text: &'static str,
    /// Names of the modules that it calls, with blanks between.
    needs: &'static str,
}

/// A predicate in the table of them.
struct Row {
    /// Index of the module whose text has it; of what the compiler made for all of them, the number of modules.
    file: u8,
    module: u32,
    name: u32,
    arity: u8,
    line: u16,
    daemon: bool,
    auxiliary: bool,
    awaits: u64,
    reads: u64,
}

/// Code of one kind.
struct Image {
    /// Makes it executable, and gives its address.
    run: fn() -> io::Result<usize>,
    /// The code; the rest of its last page is traps.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests compare it"))]
    code: &'static [u8],
    /// Where the predicates begin, in the order of their numbers.
    entries: &'static [u32],
}

/// A predicate of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Predicate {
    /// Its number.
    pub id: PredicateId,
    /// Its module.
    pub module: Atom,
    /// Its name.
    pub name: Atom,
    /// Number of arguments.
    pub arity: u32,
    /// The library module whose text has it, by index; `None`: the compiler made it, and nothing calls it by its name.
    pub text: Option<usize>,
    /// Line of its first clause.
    pub line: u32,
    /// Its goals may stay suspended at the end.
    pub daemon: bool,
    /// Made by the compiler.
    pub auxiliary: bool,
    /// The arguments without whose values its goals wait, as the compiler says.
    pub awaits: u64,
    /// The arguments that its goals read, as the compiler says.
    pub reads: u64,
}

/// The text of a library module.
pub fn text(module: &str) -> Option<&'static str> {
    index(module).map(|index| MODULES[index].text)
}

/// The names of the library's modules, in order.
pub fn modules() -> impl Iterator<Item = &'static str> {
    MODULES.iter().map(|module| module.name)
}

/// What comments say of predicates of this name: their modules, and how they are called, as `append(+Xs,+Ys,-Zs)`.
pub fn named(name: &str) -> Vec<(&'static str, &'static str)> {
    let documented = |module: &Module| {
        let first_lines = module.text.lines().filter_map(|line| line.strip_prefix("%% "));
        let calls = first_lines.filter(|line| {
            let arguments = line.strip_prefix(name).and_then(|rest| rest.strip_prefix('('));
            arguments.is_some_and(|rest| rest.starts_with(['+', '-']) && rest.ends_with(')'))
        });
        calls.map(|call| (module.name, call)).collect::<Vec<_>>()
    };
    MODULES.iter().flat_map(documented).collect()
}

fn index(module: &str) -> Option<usize> {
    MODULES.binary_search_by(|known| known.name.cmp(module)).ok()
}

/// Modules that a program uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used(u64);

impl Used {
    /// What [`Used::bits`] gave; `None` for modules that there are not.
    pub fn from_bits(bits: u64) -> Option<Used> {
        (bits.checked_shr(MODULES.len() as u32).unwrap_or(0) == 0).then_some(Used(bits))
    }
    /// A number for these modules.
    pub fn bits(self) -> u64 {
        self.0
    }
    /// Adds a module; false if the library has none of this name.
    pub fn add(&mut self, module: &str) -> bool {
        let found = index(module);
        found.inspect(|index| self.0 |= 1 << index).is_some()
    }
    /// Whether it has the module of this index.
    pub fn has(self, index: usize) -> bool {
        self.0 >> index & 1 == 1
    }
    /// Whether it has none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    fn all(self) -> impl Iterator<Item = &'static Module> {
        MODULES.iter().enumerate().filter(move |(index, _)| self.has(*index)).map(|(_, module)| module)
    }
    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.all().map(|module| module.name)
    }
    /// With all modules that they call.
    pub fn closed(mut self) -> Used {
        loop {
            let before = self.0;
            let needs = self.all().flat_map(|module| module.needs.split_ascii_whitespace());
            // Others are builtins'.
            needs.for_each(|name| _ = self.add(name));
            if self.0 == before {
                return self;
            }
        }
    }
}

/// Gives the library's atoms their numbers in a node that has the builtins and nothing else. False for any other node
/// (B1): it cannot use the code.
pub fn join(atoms: &AtomTable, predicates: usize) -> bool {
    predicates == FIRST_PREDICATE as usize && atoms.reserve(ATOMS)
}

/// Number of the first predicate behind the library's.
pub const END: u32 = FIRST_PREDICATE + PREDICATES.len() as u32;

/// All predicates, by rising number.
pub fn predicates() -> impl Iterator<Item = Predicate> {
    (FIRST_PREDICATE..).zip(&PREDICATES).map(|(id, row)| Predicate {
        id: PredicateId(id),
        module: Atom(row.module),
        name: Atom(row.name),
        arity: row.arity.into(),
        text: Some(row.file.into()).filter(|&file| file < MODULES.len()),
        line: row.line.into(),
        daemon: row.daemon,
        auxiliary: row.auxiliary,
        awaits: row.awaits,
        reads: row.reads,
    })
}

/// How many constants there are; the first has number 0.
pub const CONSTANTS: u32 = CONSTANT_COUNT;

/// The constants that the code refers to.
pub fn constants() -> Vec<Constant> {
    made()
}

/// The code that goes with a program's of this kind.
fn image(options: &Options) -> &'static Image {
    let reductions = match options.reductions {
        Reductions::Uncounted => 0,
        Reductions::Counted => 1,
        Reductions::Metered => 2,
    };
    let workers = match options.workers {
        Workers::One => 0,
        Workers::Several => 1,
    };
    &IMAGES[NUMBERS[2 * reductions + workers]]
}

/// Makes the code that goes with a program's of this kind executable. Answers the address of each predicate's entry, by
/// rising number.
pub fn run(options: &Options) -> io::Result<impl Iterator<Item = usize>> {
    let image = image(options);
    let base = (image.run)()?;
    Ok(image.entries.iter().map(move |&entry| base + entry as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled() -> compile::Compiled {
        let texts: Vec<_> = MODULES.iter().map(|module| (module.name, module.text)).collect();
        compile::compile(&texts).expect("the library is right")
    }

    #[test]
    fn modules_are_sorted_and_declare_their_names() {
        assert!(MODULES.is_sorted_by_key(|module| module.name));
        for module in &MODULES {
            assert!(
                module.text.contains(&format!(":- module {}.", module.name)),
                "library/{}.kl1",
                module.name
            );
        }
    }

    #[test]
    fn the_code_is_what_the_compiler_makes_of_the_texts() {
        let compiled = compiled();
        for reductions in [Reductions::Uncounted, Reductions::Counted, Reductions::Metered] {
            for workers in [Workers::One, Workers::Several] {
                let options = Options { reductions, workers, portable: true, ..Options::DEFAULT };
                let (made, image) = (compiled.image(&options), image(&options));
                let offsets = made.entries.iter().map(|entry| entry.1);
                assert!(offsets.eq(image.entries.iter().copied()), "{options:?}");
                assert!(made.code[..] == image.code[..], "{options:?}");
                let base = (image.run)().expect("the system allows it");
                assert_eq!(base, image.code.as_ptr() as usize);
                let entries: Vec<usize> = run(&options).expect("the system allows it").collect();
                assert!(entries.iter().zip(image.entries).all(|(at, &entry)| at - base == entry as usize));
            }
        }
    }

    #[test]
    fn its_numbers_are_those_that_the_compiler_gives() {
        let compiled = compiled();
        assert_eq!(compiled.first_predicate, FIRST_PREDICATE);
        let atoms = AtomTable::new();
        while atoms.len() < compiled.first_atom as usize {
            atoms.intern(format!("atom {}", atoms.len()).as_bytes());
        }
        assert!(!join(&atoms, FIRST_PREDICATE as usize + 1) && join(&atoms, FIRST_PREDICATE as usize));
        for (number, text) in (compiled.first_atom..).zip(&compiled.atoms) {
            assert_eq!(atoms.intern(text.as_bytes()), Atom(number));
        }
        for (module, (name, needs)) in MODULES.iter().zip(&compiled.needs) {
            assert_eq!((module.name, module.needs), (&name[..], &needs.join(" ")[..]));
        }
        assert_eq!(constants(), compiled.program.constants);
        assert_eq!(CONSTANTS as usize, compiled.program.constants.len());
        assert_eq!(END, FIRST_PREDICATE + compiled.program.predicates.len() as u32);
        for (here, made) in predicates().zip(&compiled.program.predicates) {
            assert_eq!(
                (here.id, here.module, here.name, here.arity),
                (made.id, made.module, made.name, made.arity)
            );
            assert_eq!((here.line, here.daemon, here.auxiliary), (made.line, made.daemon, made.auxiliary));
            assert_eq!((here.awaits, here.reads), (made.awaits, made.reads));
            let file =
                here.text.map_or(String::new(), |index| format!("library/{}.kl1", MODULES[index].name));
            assert_eq!(file, made.file);
        }
    }

    #[test]
    fn used_modules_are_a_set() {
        let mut used = Used::default();
        assert!(used.is_empty() && !used.add("main") && used.is_empty());
        assert!(used.add("queue") && used.add("io") && used.add("io"));
        assert!(used.names().eq(["io", "queue"]));
        assert!(used.closed().names().any(|name| name == "file_stream"));
        assert_eq!(used.closed().closed(), used.closed());
        assert_eq!(Used::from_bits(used.bits()), Some(used));
        assert_eq!(Used::from_bits(1 << MODULES.len()), None);
        assert_eq!(Used::from_bits(u64::MAX), None);
    }
}
