//! A program's components, compiled (on several threads when there are many) and put together into one blob.

use crate::helpers::{Helper, Leave};
use crate::image::{Code, Image};
use crate::lower::{self, Environment, SPACE_HELPER, SPACE_LEAVE, SPACE_PIECE, Whole};
use crate::options::{Options, Workers};
use crate::pieces::Pieces;
use crate::places::CodePlace;
use crate::processor::{Processor, Start};
use crate::shape;
use compiler::ir::{Component, Program};
use cranelift_codegen::Context;
use cranelift_codegen::FinalizedRelocTarget;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{ExternalName, UserExternalName};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use term::AtomTable;
use term::abi::{Builtin, PredicateId, REGISTERS_MAX};

/// The processor that code is generated for.
type Target = crate::x86::Assembler;

/// Why there is no image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GenerateError {
    /// This processor is none that code can be generated for.
    Processor(String),
    /// A component is too large for the code generator; the predicate is its first entry.
    TooLarge(PredicateId, String),
    /// All code together does not fit in 2 GB.
    ImageTooLarge,
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GenerateError::Processor(why) => write!(f, "no code can be generated for this processor: {why}"),
            GenerateError::TooLarge(predicate, why) => {
                write!(f, "predicate number {} is too large for the code generator: {why}", predicate.0)
            }
            GenerateError::ImageTooLarge => f.write_str("the program's code exceeds 2 GB"),
        }
    }
}

impl std::error::Error for GenerateError {}

/// What [`dump`] shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dump {
    /// Cranelift's intermediate form, before optimisation.
    Clif,
    /// Machine instructions.
    Asm,
}

/// The largest blob: every distance in it fits in 31 bits.
const CODE_MAX: usize = 1 << 31;

fn target(options: &Options) -> Result<OwnedTargetIsa, GenerateError> {
    let problem = |why: &dyn fmt::Display| GenerateError::Processor(why.to_string());
    let mut flags = settings::builder();
    let choices = [
        // The optimiser takes a third more time, and finds little to do in what `lower` made.
        ("opt_level", "none"),
        ("preserve_frame_pointers", "true"),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        ("unwind_info", "false"),
        ("enable_probestack", "false"),
        ("enable_heap_access_spectre_mitigation", "false"),
        ("enable_table_access_spectre_mitigation", "false"),
    ];
    for (name, value) in choices {
        flags.set(name, value).map_err(|error| problem(&error))?;
    }
    let builder =
        cranelift_native::builder_with_options(!options.portable).map_err(|error| problem(&error))?;
    if std::env::consts::ARCH != Target::NAME {
        return Err(problem(&format_args!("only {} is supported", Target::NAME)));
    }
    builder.finish(settings::Flags::new(flags)).map_err(|error| problem(&error))
}

/// The machine code of a piece of a component.
struct Compiled {
    code: Vec<u8>,
    /// How far its entry lies behind its start.
    entry: u32,
    /// The entries that begin here: the predicate, its selector, and where in `code` its goals begin.
    starts: Vec<(PredicateId, u32, Start)>,
    relocations: Vec<Relocation>,
    text: Option<String>,
    /// Places in `code`, if they are wanted.
    places: Vec<CodePlace>,
}

/// "Write the distance to this here."
struct Relocation {
    offset: u32,
    addend: i64,
    name: UserExternalName,
}

/// What is reused from component to component.
struct Compiler<'a> {
    environment: &'a Environment<'a>,
    isa: OwnedTargetIsa,
    context: Context,
    builder: FunctionBuilderContext,
}

impl<'a> Compiler<'a> {
    fn new(environment: &'a Environment<'a>) -> Result<Self, GenerateError> {
        Ok(Compiler {
            environment,
            isa: target(environment.options)?,
            context: Context::new(),
            builder: FunctionBuilderContext::new(),
        })
    }

    /// How a component is cut.
    fn pieces<'p>(&self, component: &'p Component) -> Result<Pieces<'p>, GenerateError> {
        let pieces = Pieces::of(component, self.environment.options.piece_weight as usize);
        match pieces.area() {
            words if words > REGISTERS_MAX => {
                Err(GenerateError::TooLarge(first(component), format!("it has {words} registers")))
            }
            _ => Ok(pieces),
        }
    }

    /// Makes a piece's function in `self.context`.
    fn lower(&mut self, whole: &mut Whole<'_>, piece: usize) {
        // A large function leaves large tables of the register allocator behind, which are cleared again and again.
        self.context = Context::new();
        lower::piece(
            self.environment,
            whole,
            piece,
            &mut self.context.func,
            &mut self.builder,
            self.isa.frontend_config(),
        );
    }

    /// The code of a component's pieces.
    fn compile(&mut self, component: &Component, text: bool) -> Result<Vec<Compiled>, GenerateError> {
        let pieces = self.pieces(component)?;
        let mut whole = Whole::new(self.environment, &pieces);
        (0..pieces.all.len()).map(|piece| self.compile_piece(&mut whole, piece, text)).collect()
    }

    fn compile_piece(
        &mut self,
        whole: &mut Whole<'_>,
        number: usize,
        text: bool,
    ) -> Result<Compiled, GenerateError> {
        self.lower(whole, number);
        self.context.set_disasm(text);
        let (component, piece) = (&*whole.pieces.component, &whole.pieces.all[number]);
        let result = self.context.compile(&*self.isa, &mut ControlPlane::default());
        result.map_err(|error| GenerateError::TooLarge(first(component), format!("{:?}", error.inner)))?;
        let compiled = self.context.compiled_code().expect("it was compiled just now");
        let mut code = compiled.buffer.data().to_vec();
        let (entry, moved) = Target::strip(&mut code, compiled.buffer.call_sites().map(|site| site.ret_addr));
        let names = self.context.func.params.user_named_funcs();
        let relocations = compiled.buffer.relocs().iter().map(|reloc| {
            assert!(reloc.kind == Target::CALL, "generated code refers only to itself, by distance");
            let FinalizedRelocTarget::ExternalName(ExternalName::User(name)) = reloc.target else {
                unreachable!("generated code names only functions of the image");
            };
            let found = moved.binary_search_by_key(&(reloc.offset + Target::DISTANCE_BYTES), |moved| moved.0);
            let shift = found.map_or(0, |index| moved[index].1);
            let name = names[name].clone();
            Relocation { offset: reloc.offset - shift, addend: reloc.addend, name }
        });
        let comparisons = shape::comparisons(component, piece, &whole.pieces.predecessors);
        let starts = piece.entries.iter().zip(comparisons).map(|(&index, count)| {
            let start = Target::start(&code, entry, index as u32, count);
            (component.entries[index].predicate, index as u32, start)
        });
        let starts = starts.collect();
        let text = compiled.vcode.clone();
        let places = whole.places.as_ref().map_or(Vec::new(), |places| {
            let first = places.position(places.at(piece.blocks[0], 0)).map(|position| (0, position));
            let ranges = compiled.buffer.get_srclocs_sorted().iter();
            let known = ranges.filter_map(|range| Some((range.start, places.position(range.loc)?)));
            first.into_iter().chain(known).map(|(offset, position)| CodePlace { offset, position }).collect()
        });
        Ok(Compiled { relocations: relocations.collect(), starts, code, entry, text, places })
    }
}

/// The predicate that stands for a component in messages.
fn first(component: &Component) -> PredicateId {
    component.entries.first().map_or(PredicateId(0), |entry| entry.predicate)
}

/// Blocks of IR below which another thread costs more than it saves.
const BLOCKS_PER_THREAD: usize = 64;
/// More threads find too little to do.
const THREADS_MAX: usize = 4;

/// Compiles all components to their pieces; the order of the results is the program's.
fn compile_all(
    environment: &Environment<'_>,
    program: &Program,
) -> Result<Vec<Vec<Compiled>>, GenerateError> {
    let blocks: usize = program.components.iter().map(|component| component.blocks.len()).sum();
    let wanted = (blocks / BLOCKS_PER_THREAD).min(THREADS_MAX);
    // The system needs a while to say how many processors there are.
    let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let threads = if wanted > 1 { wanted.min(cores()) } else { 1 };
    // The largest first, so that no thread is left alone with it at the end.
    let mut order: Vec<usize> = (0..program.components.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(program.components[index].blocks.len()));
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Vec<Compiled>)>, GenerateError> {
        let mut compiler = Compiler::new(environment)?;
        let mut done = Vec::new();
        loop {
            // Relaxed: the counter hands out numbers; results are passed by joining.
            let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) else { return Ok(done) };
            done.push((index, compiler.compile(&program.components[index], false)?));
        }
    };
    let mut all = std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = work()?;
        for helper in helpers {
            match helper.join() {
                Ok(more) => all.extend(more?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(all)
    })?;
    all.sort_unstable_by_key(|&(index, _)| index);
    Ok(all.into_iter().map(|(_, compiled)| compiled).collect())
}

/// The blob while it is put together.
struct Linker {
    out: Target,
    helpers: Vec<u32>,
    leaves: Vec<u32>,
    /// By predicate number.
    entries: Vec<(PredicateId, u32)>,
    /// Where a distance is to be written, to a function and a place in its code.
    pending: Vec<(u32, usize, u32)>,
}

impl Linker {
    fn new(workers: Workers) -> Linker {
        let mut out = Target::default();
        // Behind them those for components with floats (G2).
        let helpers =
            [false, true].into_iter().flat_map(|vectors| Helper::ALL.map(|helper| (helper, vectors)));
        let helpers = helpers.map(|(helper, vectors)| out.thunk(helper, vectors)).collect();
        let leaves = out.leaves(workers);
        Linker { out, helpers, leaves, entries: Vec::new(), pending: Vec::new() }
    }

    fn write_distance(&mut self, at: u32, target: u32, addend: i64) {
        let distance = i64::from(target) - i64::from(at) + addend;
        let distance = i32::try_from(distance).expect("the blob is smaller than 2 GB");
        self.out.write_distance(at, distance);
    }

    /// `pieces`: where those of the component begin that names it.
    fn target(&self, name: &UserExternalName, pieces: &[u32]) -> u32 {
        match name.namespace {
            SPACE_HELPER => self.helpers[name.index as usize],
            SPACE_LEAVE => self.leaves[name.index as usize],
            SPACE_PIECE => pieces[name.index as usize],
            _ => {
                let found = self.entries.binary_search_by_key(&name.index, |entry| entry.0.0);
                self.entries[found.expect("only predicates of the program are called by distance")].1
            }
        }
    }

    fn link(mut self, components: &[Vec<Compiled>]) -> Result<Image, GenerateError> {
        let direct = |start: &Start| start.moves.is_empty() && !start.selects;
        let functions = || components.iter().flatten();
        for (index, compiled) in functions().enumerate() {
            for (predicate, selector, start) in compiled.starts.iter().filter(|start| !direct(&start.2)) {
                let selector = start.selects.then_some(*selector);
                let (stub, patch) = self.out.entry(&start.moves, selector);
                self.entries.push((*predicate, stub));
                self.pending.push((patch, index, start.at));
            }
        }
        let enter = self.out.enter();
        let mut bases = Vec::new();
        for compiled in functions() {
            if self.out.code().len() + compiled.code.len() + 128 > CODE_MAX {
                return Err(GenerateError::ImageTooLarge);
            }
            let base = self.out.align(&compiled.code);
            self.out.code().extend_from_slice(&compiled.code);
            bases.push(base);
            let starts = compiled.starts.iter().filter(|start| direct(&start.2));
            self.entries.extend(starts.map(|(predicate, _, start)| (*predicate, base + start.at)));
        }
        self.entries.sort_unstable();
        for (at, function, start) in std::mem::take(&mut self.pending) {
            self.write_distance(at, bases[function] + start, -4);
        }
        let starts = bases;
        let mut bases = starts.as_slice();
        for pieces in components {
            let (here, others) = bases.split_at(pieces.len());
            bases = others;
            let entries: Vec<u32> = pieces.iter().zip(here).map(|(piece, base)| base + piece.entry).collect();
            for (compiled, base) in pieces.iter().zip(here) {
                for relocation in &compiled.relocations {
                    let target = self.target(&relocation.name, &entries);
                    self.write_distance(base + relocation.offset, target, relocation.addend);
                }
            }
        }
        let native_entry = self.leaves[Leave::Native.number()];
        let places = functions().zip(&starts).flat_map(|(compiled, base)| {
            compiled.places.iter().map(move |place| CodePlace { offset: base + place.offset, ..*place })
        });
        let places = places.collect();
        Ok(Image {
            code: Code::Own(std::mem::take(self.out.code())),
            entries: self.entries,
            native_entry,
            enter,
            places,
        })
    }
}

/// Native code for a program (or an increment of one). `known` are the runtime's builtins: the first has predicate
/// number 1.
pub fn generate(program: &Program, known: &[Builtin], options: &Options) -> Result<Image, GenerateError> {
    let environment = Environment::new(program, known, options);
    let compiled = compile_all(&environment, program)?;
    Linker::new(options.workers).link(&compiled)
}

/// The code of a program as text, component by component.
pub fn dump(
    program: &Program,
    known: &[Builtin],
    atoms: &AtomTable,
    options: &Options,
    what: Dump,
) -> Result<String, GenerateError> {
    let name = |id: PredicateId| {
        program.predicates.iter().find(|predicate| predicate.id == id).map_or_else(
            || format!("predicate {}", id.0),
            |p| format!("{}:{}/{}", atoms.name(p.module), atoms.name(p.name), p.arity),
        )
    };
    let environment = Environment::new(program, known, options);
    let mut compiler = Compiler::new(&environment)?;
    let mut text = String::new();
    for component in &program.components {
        let names: Vec<_> = component.entries.iter().map(|entry| name(entry.predicate)).collect();
        text.push_str(&format!("; {}\n", names.join(", ")));
        match what {
            Dump::Clif => {
                let pieces = compiler.pieces(component)?;
                let mut whole = Whole::new(&environment, &pieces);
                for piece in 0..pieces.all.len() {
                    compiler.lower(&mut whole, piece);
                    text.push_str(&compiler.context.func.display().to_string());
                }
            }
            Dump::Asm => {
                for piece in compiler.compile(component, true)? {
                    text.push_str(piece.text.as_deref().unwrap_or_default());
                }
            }
        }
        text.push('\n');
    }
    Ok(text)
}
