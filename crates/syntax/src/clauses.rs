//! Files to a [`Program`]: modules, directives, separators, predicates.
//!
//! Reading never fails: what is wrong is reported and left out, and reading goes on.

use crate::diagnostic::Diagnostic;
use crate::escapes;
use crate::hints;
use crate::lexer::TEXT_MAX;
use crate::macros::keys::{Key, Keys};
use crate::macros::{Context, Expanded, Expander, With, called, named};
use crate::operators::OpTable;
use crate::parser::Parser;
use crate::program::{Module, Predicate, Program, Separator, Term, TermKind};
use crate::source::{FileId, SourceMap, Span};
use crate::tree::{NodeId, NodeKind, Tree};
use rustc_hash::FxHashMap;
use term::symbol::{MAIN, NIL};
use term::{Atom, AtomTable};

/// Reads source files. With an error diagnostic the program is not complete and must not run.
pub fn read_program(sources: &SourceMap, files: &[FileId], atoms: &AtomTable) -> (Program, Vec<Diagnostic>) {
    let ops = OpTable::source_table(atoms);
    let keys = Keys::new(atoms);
    let mut program = Program::default();
    let mut declared = FxHashMap::default();
    let mut diagnostics = vec![];
    for &file in files {
        let context = Context {
            atoms,
            keys: &keys,
            file,
            text: &sources.file(file).text,
            withs: vec![],
            foreign_macros: false,
            diagnostics: vec![],
        };
        let mut reader = Reader { context, declared: &mut declared, modules: vec![], current: None };
        reader.file(&ops);
        program.modules.append(&mut reader.modules);
        diagnostics.append(&mut reader.context.diagnostics);
    }
    diagnostics.sort_by_key(|d| (d.span.file, d.span.start));
    (program, diagnostics)
}

/// Directives of PIMOS that choose which clauses are compiled.
const CONDITIONS: [&[u8]; 17] = [
    b"switch",
    b"case",
    b"default",
    b"end_switch",
    b"if",
    b"ifdef",
    b"ifndef",
    b"if_equal",
    b"if_not_equal",
    b"if_defined",
    b"if_not_defined",
    b"else",
    b"elseif",
    b"end_if",
    b"endif",
    b"define",
    b"undefine",
];
/// Those that define macros.
const MACROS: [&[u8]; 4] = [b"macro_module", b"user_macro", b"old_macro", b"end_old_macro"];

/// A module being read.
struct Current {
    module: Module,
    /// With their auxiliary predicates.
    predicates: Vec<(Predicate, Vec<Predicate>)>,
    index: FxHashMap<(Atom, usize), usize>,
    /// Of the last clause.
    last: Option<usize>,
    separator: Option<(Separator, Span)>,
    daemons: Vec<(Atom, usize, Span)>,
}

struct Reader<'c, 'a> {
    context: Context<'a>,
    declared: &'c mut FxHashMap<Atom, Span>,
    modules: Vec<Module>,
    current: Option<Current>,
}

impl Reader<'_, '_> {
    fn file(&mut self, ops: &OpTable) {
        let text = self.context.text;
        if text.len() > TEXT_MAX {
            let span = Span { file: self.context.file, start: 0, end: 0 };
            let error = Diagnostic::error("text-too-large", span, "a file is limited to 1 GB");
            self.context.diagnostics.push(error.help("divide it into several files"));
            return;
        }
        let mut parser = Parser::new(text, ops);
        loop {
            match parser.term(self.context.atoms) {
                Ok(None) => break,
                Ok(Some(tree)) => {
                    let Context { file, atoms, .. } = self.context;
                    self.context.diagnostics.extend(escapes::warnings(&tree, text, file, atoms));
                    self.item(&tree);
                }
                Err(error) => {
                    let diagnostic = error.diagnostic(self.context.file);
                    self.context.diagnostics.push(diagnostic);
                }
            }
        }
        self.end_module();
    }

    fn item(&mut self, tree: &Tree) {
        let root = tree.root();
        match self.structure(tree, root) {
            (Some(Key::Clause), &[directive]) => self.directive(tree, directive),
            (Some(Key::Query), &[_]) => self.unknown_directive(tree, root),
            (Some(Key::Otherwise), []) => self.separator(Separator::Otherwise, self.span(tree, root)),
            (Some(Key::Alternatively), []) => {
                self.separator(Separator::Alternatively, self.span(tree, root));
            }
            (Some(Key::Clause), &[head, rest]) => match self.structure(tree, rest) {
                (Some(Key::Bar), &[guard, body]) => self.clause(tree, head, Some(guard), Some(body)),
                _ => self.clause(tree, head, None, Some(rest)),
            },
            (Some(Key::ImplicitClause), &[_, _]) => {
                let error = Diagnostic::error(
                    "implicit-arguments",
                    self.span(tree, root),
                    "clauses with `-->` (implicit arguments of PIMOS) cannot be used",
                );
                self.context.diagnostics.push(error.label("a PIMOS clause").help(
                    "write `:-`, and pass state with argument pairs: `p(X)-State :- true | q(X)-State.`",
                ));
            }
            _ => self.clause(tree, root, None, None),
        }
    }

    fn clause(&mut self, tree: &Tree, head: NodeId, guard: Option<NodeId>, body: Option<NodeId>) {
        self.need_module(self.span(tree, head));
        let Some(name) = Expander::new(&mut self.context, tree, 0).head_name(head) else { return };
        let current = self.current.as_mut().expect("need_module makes one");
        let known = current.index.get(&name).copied();
        let auxiliaries = known.map_or(0, |index| current.predicates[index].1.len());
        let Some(expanded) = Expander::new(&mut self.context, tree, auxiliaries).clause(head, guard, body)
        else {
            return;
        };
        self.add(expanded, known);
    }

    fn add(&mut self, expanded: Expanded, known: Option<usize>) {
        let Expanded { name, arity, head_span, mut clauses, auxiliaries } = expanded;
        let current = self.current.as_mut().expect("need_module makes one");
        let index = known.unwrap_or(current.predicates.len());
        let separator = current.separator.take();
        if known.is_none() {
            let predicate =
                Predicate { name, arity, span: head_span, auxiliary: false, daemon: false, clauses: vec![] };
            current.predicates.push((predicate, vec![]));
            current.index.insert((name, arity), index);
        } else if current.last != Some(index) {
            let text = self.context.atoms.name(name);
            let message = format!("the clauses of `{text}/{arity}` are not together");
            let mut error = Diagnostic::error("clauses-not-together", head_span, message)
                .label("continues here")
                .help("move the clauses of a predicate together, or rename one group");
            if let Some(last) = current.predicates[index].0.clauses.last() {
                error = error.related(last.span, "the clauses before end here");
            }
            self.context.diagnostics.push(error);
        }
        if let Some((separator, span)) = separator {
            if current.last == Some(index) {
                clauses[0].separator = separator;
            } else {
                self.context.diagnostics.push(idle_separator(span));
            }
        }
        current.last = Some(index);
        let (predicate, owned) = &mut current.predicates[index];
        predicate.clauses.append(&mut clauses);
        owned.extend(auxiliaries);
    }

    fn separator(&mut self, separator: Separator, span: Span) {
        self.need_module(span);
        let current = self.current.as_mut().expect("need_module makes one");
        if let Some((_, earlier)) = current.separator.replace((separator, span)) {
            self.context.diagnostics.push(idle_separator(earlier));
        }
    }

    fn directive(&mut self, tree: &Tree, id: NodeId) {
        let span = self.span(tree, id);
        match self.structure(tree, id) {
            (Some(Key::Module), &[name]) => self.module(tree, name, span),
            (Some(Key::Colon), &[name, _])
                if matches!(self.structure(tree, name), (Some(Key::Inline), [])) =>
            {
                let error = Diagnostic::error("inline-c", span, "C code cannot be used");
                self.context.diagnostics.push(
                    error
                        .label("inline C")
                        .note("It depends on another implementation's data representation.")
                        .help("use builtins, or the generic methods of strings, vectors and floats"),
                );
            }
            (Some(Key::With), definitions @ &[_, ..]) => {
                for &definition in definitions {
                    self.with(tree, definition);
                }
            }
            (Some(Key::Daemon), &[predicate]) => self.daemon(tree, predicate, span),
            _ => self.unknown_directive(tree, id),
        }
    }

    fn module(&mut self, tree: &Tree, name: NodeId, span: Span) {
        self.end_module();
        let NodeKind::Atom(atom) = tree.node(name).kind else {
            let error =
                Diagnostic::error("illegal-module", self.span(tree, name), "a module's name must be an atom");
            self.context.diagnostics.push(error.label("not an atom").help("write `:- module name.`"));
            return self.start_module(MAIN, span);
        };
        if let Some(&earlier) = self.declared.get(&atom) {
            let text = self.context.atoms.name(atom);
            let error =
                Diagnostic::error("duplicate-module", span, format!("module `{text}` is declared twice"));
            self.context.diagnostics.push(
                error
                    .label("again here")
                    .related(earlier, "first here")
                    .help("give one of them another name"),
            );
        } else {
            self.declared.insert(atom, span);
        }
        self.start_module(atom, span);
    }

    fn start_module(&mut self, name: Atom, span: Span) {
        self.current = Some(Current {
            module: Module { name, span, predicates: vec![] },
            predicates: vec![],
            index: FxHashMap::default(),
            last: None,
            separator: None,
            daemons: vec![],
        });
    }

    /// A clause or separator needs a module: without one, reports that and goes on in a module `main`.
    fn need_module(&mut self, span: Span) {
        if self.current.is_none() {
            let error =
                Diagnostic::error("module-missing", span, "a file must begin with a module declaration");
            self.context.diagnostics.push(
                error
                    .label("no module so far")
                    .help("begin the file with `:- module main.`")
                    .fix("write `:- module main.`", vec![(span.before(), ":- module main.\n\n".into())]),
            );
            self.start_module(MAIN, span);
        }
    }

    fn end_module(&mut self) {
        let Some(mut current) = self.current.take() else { return };
        if let Some((_, span)) = current.separator {
            self.context.diagnostics.push(idle_separator(span));
        }
        for (name, arity, span) in current.daemons {
            match current.index.get(&(name, arity)) {
                Some(&index) => current.predicates[index].0.daemon = true,
                None => {
                    let text = self.context.atoms.name(name);
                    let message = format!("there is no predicate `{text}/{arity}` in this module");
                    let error = Diagnostic::error("undefined-daemon", span, message);
                    self.context.diagnostics.push(error.label("declared a daemon here"));
                }
            }
        }
        let is_own = |name, arity| current.index.contains_key(&(name, arity));
        for (predicate, auxiliaries) in &mut current.predicates {
            let predicates = std::iter::once(predicate).chain(auxiliaries);
            for clause in predicates.flat_map(|predicate| &mut predicate.clauses) {
                named::assign(clause, self.context.keys, self.context.atoms, is_own);
                called::goals(clause, current.module.name, &self.context, is_own);
            }
        }
        for (predicate, auxiliaries) in current.predicates {
            current.module.predicates.push(predicate);
            current.module.predicates.extend(auxiliaries);
        }
        self.modules.push(current.module);
    }

    /// `Name = Term`, or several joined by `,`.
    fn with(&mut self, tree: &Tree, id: NodeId) {
        let mut rest = vec![id];
        while let Some(id) = rest.pop() {
            match self.structure(tree, id) {
                (Some(Key::Comma), &[left, right]) => rest.extend([right, left]),
                (Some(Key::Unify), &[name, value]) => {
                    let variable = match tree.node(name).kind {
                        NodeKind::Var(v) => Some(tree.variables()[v as usize].name.clone()),
                        _ => None,
                    };
                    let term: Option<Term> = Expander::new(&mut self.context, tree, 0).constant(value);
                    if variable.is_none() || term.is_none() {
                        self.illegal_with(self.span(tree, id));
                    }
                    if let Some(name) = variable {
                        let nil = Term { span: self.span(tree, value), kind: TermKind::Atom(NIL) };
                        self.context.withs.push(With { name, term: term.unwrap_or(nil) });
                    }
                }
                _ => self.illegal_with(self.span(tree, id)),
            }
        }
    }

    fn illegal_with(&mut self, span: Span) {
        let error = Diagnostic::error("illegal-with", span, "this does not define a constant");
        self.context.diagnostics.push(
            error
                .label("`Name = Constant` is expected")
                .help("write `:- with((Name1 = Constant1, Name2 = Constant2)).`"),
        );
    }

    fn daemon(&mut self, tree: &Tree, id: NodeId, span: Span) {
        let declared = match self.structure(tree, id) {
            (Some(Key::Divide), &[name, arity]) => match (&tree.node(name).kind, &tree.node(arity).kind) {
                (NodeKind::Atom(name), NodeKind::Int(arity)) => {
                    usize::try_from(*arity).ok().map(|a| (*name, a))
                }
                _ => None,
            },
            _ => None,
        };
        self.need_module(span);
        match (declared, &mut self.current) {
            (Some((name, arity)), Some(current)) => current.daemons.push((name, arity, span)),
            _ => {
                let error =
                    Diagnostic::error("illegal-daemon", span, "a daemon must be given as `name/arity`");
                self.context.diagnostics.push(error.label("not `name/arity`"));
            }
        }
    }

    fn unknown_directive(&mut self, tree: &Tree, id: NodeId) {
        let name = match tree.node(id).kind {
            NodeKind::Atom(name) | NodeKind::Struct(name, _) => self.context.atoms.text(name),
            _ => b"",
        };
        self.context.foreign_macros |= MACROS.contains(&name) || name == b"with_macro";
        let span = self.span(tree, id);
        let refused = |message: &str| Diagnostic::error("unsupported-directive", span, message);
        let diagnostic = if CONDITIONS.contains(&name) {
            refused("conditional compilation (of PIMOS) is not supported")
                .label("all branches would be compiled")
                .help("keep the clauses of one branch, or make a module of each and name its file when you compile")
        } else if MACROS.contains(&name) {
            refused("a program cannot define macros").label("a directive of PIMOS").help(hints::NO_MACROS)
        } else if name == b"include" {
            Diagnostic::warning("unknown-directive", span, "`include` has no effect")
                .label("this file is not read")
                .help("clauses of another file are a module of their own, named on the command line")
        } else {
            let note = "Every predicate is visible in other modules; operators and macros are fixed.";
            let warning = Diagnostic::warning("unknown-directive", span, "this directive has no effect");
            warning.label("ignored").note(note)
        };
        self.context.diagnostics.push(diagnostic);
    }

    fn structure<'t>(&self, tree: &'t Tree, id: NodeId) -> (Option<Key>, &'t [NodeId]) {
        match tree.node(id).kind {
            NodeKind::Atom(atom) => (self.context.keys.get(atom), &[]),
            NodeKind::Struct(name, range) => (self.context.keys.get(name), tree.children(range)),
            _ => (None, &[]),
        }
    }

    fn span(&self, tree: &Tree, id: NodeId) -> Span {
        let node = tree.node(id);
        Span { file: self.context.file, start: node.start, end: node.end }
    }
}

fn idle_separator(span: Span) -> Diagnostic {
    Diagnostic::warning(
        "trailing-separator",
        span,
        "no clauses of one predicate on both sides of this separator",
    )
    .label("has no effect")
    .help("`otherwise.` and `alternatively.` stand between two clauses of a predicate")
}
