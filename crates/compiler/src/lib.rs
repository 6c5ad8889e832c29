//! Clauses to decision trees to IR.
//!
//! [`compile`] checks a program and turns it into [`ir::Program`]: `program` makes each head and guard a sequence of
//! tests, `tree` merges those of a predicate into one decision tree, `plan` orders bodies and says which predicates
//! become one native function, `emit` writes the bodies. [`verify`] checks the result.
//!
//! Invariants:
//! - K1 A program with an error diagnostic gives no code.
//! - K2 Time and size are linear in the program text.
//! - The order of clauses decides: the first whose passive part succeeds commits.
//!
//! Absent on purpose: Cranelift, heaps, I/O. Types are not inferred across goals.

#![forbid(unsafe_code)]

pub mod ir;

mod emit;
mod plan;
mod program;
mod tree;

pub use ir::{text, verify};
pub use program::check::is_foreign;
pub use program::names::Earlier;
pub use program::slips::messages::{almost_messages, looks_for};
pub use program::slips::unused::unused_predicates;

use emit::body::{self, Surroundings};
use emit::computing::Computing;
use emit::fresh::{self, Bound, Versions};
use ir::{awaits, reads, slots};
use plan::components;
use plan::{Lines, Plan};
use program::constants::Pool;
use program::names::{Index, Names};
use program::passive::{self, Context, Passive};
use program::tables::{Choice, Places};
use program::values::Table;
use program::{check, shadowed, slips, split, structures, tables};
use rustc_hash::FxHashMap;
use syntax::diagnostic::{Diagnostic, Severity};
use syntax::program::{GoalKind, Module, Program, Separator};
use syntax::source::{SourceMap, Span};
use term::abi::{Builtin, Position};
use term::{Atom, AtomTable};
use tree::Candidate;
use tree::code::{Code, Registers};
use tree::facts::Facts;

/// A predicate's full name.
pub type PredicateKey = (Atom, Atom, usize);

/// The predicates that exist already.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// All builtins of the runtime; the one with index `i` is predicate `1 + i`.
    pub builtins: &'a [Builtin],
    /// Predicates compiled earlier.
    pub predicates: &'a FxHashMap<PredicateKey, Earlier>,
    /// What the library has of this name, called by the program or not: modules, and how the predicates are called, as
    /// `append(+Xs,+Ys,-Zs)`. Only asked for what is wrong.
    pub library: fn(&str) -> Vec<(&'static str, &'static str)>,
}

/// How to compile.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// What exists already.
    pub known: Known<'a>,
    /// Number of the first predicate compiled.
    pub first_predicate: u32,
    /// Number of the first constant.
    pub first_constant: u32,
    /// Only what these reach is compiled (all is checked); `None`: everything. A root that does not exist is an error.
    pub roots: Option<Vec<PredicateKey>>,
}

/// Checks a program and compiles it. With an error among the diagnostics the result is empty (K1).
pub fn compile(
    program: &Program,
    sources: &SourceMap,
    atoms: &AtomTable,
    options: &Options<'_>,
) -> (ir::Program, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let first = Names::new(program, options, atoms);
    let built = structures::named_in_the_text(program, &first, atoms);
    let split = split::split(built.as_ref().unwrap_or(program), &first, atoms, &mut diagnostics).or(built);
    let (program, mut names) = match &split {
        Some(other) => (other, Names::new(other, options, atoms)),
        None => (program, first),
    };
    check::names(&names, sources, atoms, &mut diagnostics);
    slips::numbers::check(&names, sources, atoms, &mut diagnostics);
    slips::templates::check(program, atoms, &mut diagnostics);
    missing_roots(program, &names, atoms, options, &mut diagnostics);
    let compiled = names.number(options.roots.as_deref(), options.first_predicate);
    let mut pool = Pool::new(options.first_constant);
    let mut prepared = prepare(&names, sources, atoms, &mut pool, &mut diagnostics);
    diagnostics.sort_by_key(|diagnostic| (diagnostic.span.file, diagnostic.span.start));
    let mut result = ir::Program { first_constant: options.first_constant, ..Default::default() };
    if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        return (result, diagnostics);
    }
    result.predicates = compiled.iter().map(|&index| describe(&names, sources, index)).collect();
    let choices = choices(&names, sources, &mut pool, &compiled, &mut prepared);
    let mut compilation = Compilation { names: &names, sources, atoms, pool, compiled: &compiled };
    let (units, plans) = compilation.units(prepared, &choices);
    let computing = Computing::new(&plans, options.first_predicate + compiled.len() as u32);
    result.components = compilation.components(&units, &plans, &computing);
    for (predicate, component) in computing.predicates(options.known.builtins, atoms, &result.predicates) {
        result.predicates.push(predicate);
        result.components.push(component);
    }
    let earlier = options.known.predicates.values().map(|earlier| (earlier.id, earlier.awaits));
    for (predicate, mask) in awaits::awaits(&result.components, options.known.builtins, earlier) {
        if let Some(at) = predicate.0.checked_sub(options.first_predicate) {
            result.predicates[at as usize].awaits = mask;
        }
    }
    let earlier = options.known.predicates.values().map(|earlier| (earlier.id, earlier.reads));
    for (predicate, mask) in reads::reads(&result.components, earlier) {
        if let Some(at) = predicate.0.checked_sub(options.first_predicate) {
            result.predicates[at as usize].reads = mask;
        }
    }
    slots::give_slots(&mut result.components);
    result.constants = compilation.pool.into_constants();
    debug_assert_eq!(verify::verify(&result), [""; 0], "the code breaks an invariant of the IR");
    (result, diagnostics)
}

/// The modules that calls and constants name, each with the first place: what a driver may have to find and read.
pub fn modules_needed(program: &Program) -> Vec<(Atom, Span)> {
    let mut found = Vec::new();
    let mut seen = rustc_hash::FxHashSet::default();
    let modules = program.modules.iter();
    for clause in modules.flat_map(|module| &module.predicates).flat_map(|predicate| &predicate.clauses) {
        let calls = clause.body.iter().filter_map(|goal| match &goal.kind {
            GoalKind::Call(call) => Some((call.module?, goal.span)),
            _ => None,
        });
        let constants = clause.predicates().map(|(module, _, _, span)| (module, span));
        found.extend(calls.chain(constants).filter(|(module, _)| seen.insert(*module)));
    }
    found
}

fn missing_roots(
    program: &Program,
    names: &Names<'_>,
    atoms: &AtomTable,
    options: &Options<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Some(first) = program.modules.first() else { return };
    for &(module, name, arity) in options.roots.iter().flatten() {
        if names.defined(module, name, arity).is_none() {
            let what = format!("{}:{}/{arity}", atoms.name(module), atoms.name(name));
            let error = Diagnostic::error("no-main", first.span, format!("the program has no {what}"))
                .note(format!("a program starts with the goal {what}"));
            let has_it =
                |other: &&Module| other.predicates.iter().any(|p| (p.name, p.arity) == (name, arity));
            let named = program.modules.iter().find(has_it).map(|other| atoms.name(other.name));
            let module = atoms.name(module);
            diagnostics.push(match named {
                Some(other) => error.help(format!(
                    "module `{other}` has {}/{arity}: name that module `{module}`",
                    atoms.name(name)
                )),
                None => error.help(format!("write its clauses in a module `{module}`")),
            });
        }
    }
}

/// A predicate's passive parts.
struct Prepared {
    table: Table,
    passive: Vec<Passive>,
}

/// The passive parts of all predicates; those of predicates that are not compiled only for their diagnostics.
fn prepare(
    names: &Names<'_>,
    sources: &SourceMap,
    atoms: &AtomTable,
    pool: &mut Pool,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Option<Prepared>> {
    let mut scratch = Pool::new(0);
    let mut all = Vec::with_capacity(names.predicates.len());
    for (at, (_, predicate)) in names.predicates.iter().enumerate() {
        let wanted = names.is_compiled(Index(at as u32));
        let mut table = Table::default();
        let pool = if wanted { &mut *pool } else { &mut scratch };
        let mut context = Context { names, sources, pool, atoms, diagnostics };
        let passive: Vec<Passive> = predicate
            .clauses
            .iter()
            .map(|clause| passive::passive(&mut context, clause, &mut table))
            .collect();
        shadowed::shadowed(names, atoms, predicate, &table, &passive, diagnostics);
        all.push(wanted.then_some(Prepared { table, passive }));
    }
    all
}

/// What the decision tree of each compiled predicate chooses from.
fn choices(
    names: &Names<'_>,
    sources: &SourceMap,
    pool: &mut Pool,
    compiled: &[Index],
    prepared: &mut [Option<Prepared>],
) -> Vec<Vec<Choice>> {
    let mut choices = |&index: &Index| {
        let Prepared { table, passive } =
            prepared[index.0 as usize].as_mut().expect("compiled ones are prepared");
        let places = Places { sources, predicate: names.id(index) };
        tables::choices(names, pool, names.predicates[index.0 as usize].1, passive, table, &places)
    };
    compiled.iter().map(&mut choices).collect()
}

fn describe(names: &Names<'_>, sources: &SourceMap, index: Index) -> ir::Predicate {
    let (module, predicate) = names.predicates[index.0 as usize];
    ir::Predicate {
        id: names.id(index),
        module: module.name,
        name: predicate.name,
        arity: predicate.arity as u32,
        file: sources.file(predicate.span.file).name.clone(),
        line: sources.line(predicate.span.file, predicate.span.start),
        daemon: predicate.daemon,
        auxiliary: predicate.auxiliary,
        awaits: 0,
        reads: 0,
    }
}

/// A predicate ready for code generation.
struct Unit {
    table: Table,
    candidates: Vec<Candidate>,
    /// A measure of its code's size.
    steps: usize,
}

struct Compilation<'c, 'a> {
    names: &'c Names<'a>,
    sources: &'c SourceMap,
    atoms: &'c AtomTable,
    pool: Pool,
    compiled: &'c [Index],
}

impl<'a> Compilation<'_, 'a> {
    fn units(
        &mut self,
        mut prepared: Vec<Option<Prepared>>,
        choices: &'a [Vec<Choice>],
    ) -> (Vec<Unit>, Vec<Vec<Plan<'a>>>) {
        let mut units = Vec::new();
        let mut plans = Vec::new();
        for (&index, choices) in self.compiled.iter().zip(choices) {
            let prepared = prepared[index.0 as usize].take().expect("compiled predicates are prepared");
            let (unit, bodies) = self.unit(index, prepared, choices);
            units.push(unit);
            plans.push(bodies);
        }
        (units, plans)
    }
    fn components(
        &mut self,
        units: &[Unit],
        plans: &[Vec<Plan<'a>>],
        computing: &Computing,
    ) -> Vec<ir::Component> {
        let sizes: Vec<usize> = units.iter().map(|unit| unit.steps).collect();
        let groups = components::group(self.names, self.compiled, plans, &sizes);
        let described = (self.compiled.iter().zip(units).zip(plans))
            .map(|((&index, unit), plans)| (index, &unit.table, &plans[..]));
        let bound = Bound::new(described);
        let program = Whole { units, plans, bound, computing };
        groups.iter().map(|group| self.component(group, &program)).collect()
    }
    fn unit(&mut self, index: Index, prepared: Prepared, choices: &'a [Choice]) -> (Unit, Vec<Plan<'a>>) {
        let (module, predicate) = self.names.predicates[index.0 as usize];
        let (mut candidates, mut plans) = (Vec::new(), Vec::new());
        let mut passives: Vec<Option<Passive>> = prepared.passive.into_iter().map(Some).collect();
        let mut steps = 0;
        let mut groups = predicate.clauses.iter().scan(0, |group, clause| {
            *group += u32::from(clause.separator == Separator::Otherwise);
            Some(*group)
        });
        let mut seen = 0;
        for choice in choices {
            let (number, clause, passive, lines) = match choice {
                Choice::Clause(number) => {
                    let passive = passives[*number].take().expect("a clause is chosen once");
                    (*number, &predicate.clauses[*number], passive, None)
                }
                Choice::Rows(rows) => (rows.first, &rows.clause, rows.passive.clone(), rows.lines),
            };
            let group = groups.nth(number - seen).expect("choices are in the order of their clauses");
            seen = number + 1;
            // What a macro took from another file would need that file's name too.
            let position = |span: Span| match span.file == predicate.span.file {
                true => Position::new(self.names.id(index), self.sources.line(span.file, span.start)),
                false => Position::NONE,
            };
            let (known, shared) = (&passive.variables, lines.is_some());
            let mut plan = plan::plan(self.names, self.atoms, module.name, clause, known, position, shared);
            if let Some((table, row, column, line)) = lines {
                plan.lines = Some(Lines { table, row, index: column, line });
                plan.values.insert(row);
            }
            steps += passive.tests.len() + plan.steps.len() + 2 * plan.goals.len() + 2;
            candidates.push(Candidate {
                passive,
                group,
                body_values: plan.values.clone(),
                body_integers: plan.integers.clone(),
            });
            plans.push(plan);
        }
        (Unit { table: prepared.table, candidates, steps }, plans)
    }
    fn component(&mut self, group: &[usize], program: &Whole<'_, 'a>) -> ir::Component {
        let mut code = Code::default();
        let mut versions = Versions::default();
        let mut numbers = FxHashMap::default();
        for &at in group {
            let index = self.compiled[at];
            numbers.insert(index, at);
            let arity = self.names.predicates[index.0 as usize].1.arity;
            let most = fresh::versions_max(program.units[at].steps);
            versions.add(index, arity, most, &mut code);
        }
        let mut component = ir::Component { entries: Vec::new(), registers: 0, blocks: Vec::new() };
        for &at in group {
            let index = self.compiled[at];
            component.entries.push(ir::Entry {
                predicate: self.names.id(index),
                parameters: versions.parameters(index).unwrap_or_default().to_vec(),
                block: versions.block(index, &[], &mut code),
            });
        }
        let mut work: Vec<_> = group.iter().rev().map(|&at| (self.compiled[at], Vec::new())).collect();
        while let Some((index, fresh)) = work.pop() {
            self.version(numbers[&index], &fresh, program, &mut versions, &mut code);
            work.append(&mut versions.work);
        }
        (component.registers, component.blocks) = code.finish();
        component
    }
    /// One version of a predicate.
    fn version(
        &mut self,
        at: usize,
        fresh: &[u32],
        program: &Whole<'_, 'a>,
        versions: &mut Versions,
        code: &mut Code,
    ) {
        let (index, unit) = (self.compiled[at], &program.units[at]);
        let block = versions.block(index, fresh, code);
        let parameters = versions.parameters(index).unwrap_or_default();
        let goal = ir::GoalCall {
            predicate: self.names.id(index),
            arguments: parameters.iter().map(|&register| ir::Operand::Reg(register)).collect(),
        };
        let poll = ir::Op::Poll { goal: goal.clone(), need: 0 };
        let around = Surroundings {
            names: self.names,
            pool: &mut self.pool,
            versions,
            bound: &program.bound,
            computing: program.computing,
            fresh: fresh.iter().filter_map(|&position| unit.table.parameter(position)).collect(),
        };
        let mut bodies = Bodies { around, table: &unit.table, plans: &program.plans[at], need: 0 };
        tree::build(&unit.table, &unit.candidates, goal, fresh, (block, poll), code, &mut bodies);
        let most = bodies.need;
        if let Some(ir::Op::Poll { need, .. }) = code.block_mut(block).ops.first_mut() {
            *need = most;
        }
    }
}

/// All predicates to be compiled, and what is known of the whole program.
struct Whole<'w, 'a> {
    units: &'w [Unit],
    plans: &'w [Vec<Plan<'a>>],
    bound: Bound,
    computing: &'w Computing,
}

/// The bodies of one predicate.
struct Bodies<'b, 's, 'a> {
    around: Surroundings<'s, 'a>,
    table: &'b Table,
    plans: &'b [Plan<'a>],
    need: u32,
}

impl tree::Bodies for Bodies<'_, '_, '_> {
    fn body(
        &mut self,
        clause: usize,
        facts: &Facts,
        code: &mut Code,
        registers: &mut Registers,
    ) -> (Vec<ir::Op>, ir::End) {
        let body = body::emit(&mut self.around, self.table, &self.plans[clause], facts, code, registers);
        self.need = self.need.max(body.need);
        (body.ops, body.end)
    }
}
