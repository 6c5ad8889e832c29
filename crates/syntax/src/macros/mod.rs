//! Macro expansion: the tree of a clause to clauses of [`crate::program`].
//!
//! A [`Scope`] is one clause being built: a clause of the text, or a branch of a body conditional. It knows
//! the *current value* of every variable of the text: argument pairs and update goals replace it, every
//! other occurrence reads it.
//!
//! Invariants:
//! - M1 Expansion never fails: what is wrong is reported and replaced by `[]` or left out.
//! - M2 Recursion is limited by [`NESTING_MAX`]; `,`, `;` and list tails are loops.
//! - M3 A value made in a body ([`Scope::made`]) occurs in no head and no guard, so it may become a final
//!   head argument itself.

pub(crate) mod called;
mod conditionals;
mod expressions;
mod goals;
mod grouping;
mod guards;
pub(crate) mod keys;
pub(crate) mod named;
mod terms;

use crate::diagnostic::{Diagnostic, Severity};
use crate::program::{
    Clause, Goal, GoalKind, Guard, NESTING_MAX, Predicate, Separator, Term, TermKind, VarId, Variable,
};
use crate::source::{FileId, Span};
use crate::tree::{NodeId, NodeKind, Tree};
use keys::{Key, Keys};
use rustc_hash::{FxHashMap, FxHashSet};
use term::layout::GOAL_ARITY_MAX;
use term::{Atom, AtomTable};

/// Levels that a text may have: a few fewer than the result (`S <= M` puts `M` into a list).
const LEVELS_MAX: usize = NESTING_MAX - 4;
/// Diagnostics reported for one clause at most.
const REPORTS_MAX: usize = 50;

/// A constant macro of `:- with`.
pub(crate) struct With {
    pub(crate) name: Box<[u8]>,
    pub(crate) term: Term,
}

/// What the clauses of a file share.
pub(crate) struct Context<'a> {
    pub(crate) atoms: &'a AtomTable,
    pub(crate) keys: &'a Keys,
    pub(crate) file: FileId,
    /// The file's.
    pub(crate) text: &'a [u8],
    pub(crate) withs: Vec<With>,
    /// A directive says that macros come from elsewhere: then each unknown one is missing.
    pub(crate) foreign_macros: bool,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// The result of expanding one clause of the text.
pub(crate) struct Expanded {
    pub(crate) name: Atom,
    pub(crate) arity: usize,
    pub(crate) head_span: Span,
    /// One for each branch of guard disjunctions; separators are the caller's.
    pub(crate) clauses: Vec<Clause>,
    pub(crate) auxiliaries: Vec<Predicate>,
}

/// Where in a clause the expansion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Head,
    Guard,
    Body,
}

/// The current value of a variable of the text.
#[derive(Clone, Copy, Debug)]
enum Value {
    Var(VarId),
    With(usize),
}

/// A clause being built.
struct Scope {
    section: Section,
    variables: Vec<Variable>,
    /// Current values, by variable of the tree.
    values: FxHashMap<u32, Value>,
    /// Variables of the tree that got new values here, in order.
    updated: Vec<u32>,
    /// Variables that were made in the body (M3).
    made: FxHashSet<VarId>,
    /// Local state variables after a conditional, which elsewhere forget their updates there.
    forgetful: FxHashMap<u32, Span>,
    guard: Vec<Guard>,
    body: Vec<Goal>,
}

impl Scope {
    fn new() -> Self {
        Scope {
            section: Section::Head,
            variables: vec![],
            values: FxHashMap::default(),
            updated: vec![],
            made: FxHashSet::default(),
            forgetful: FxHashMap::default(),
            guard: vec![],
            body: vec![],
        }
    }
    fn variable(&mut self, name: String, span: Span) -> VarId {
        self.variables.push(Variable { name, span });
        VarId((self.variables.len() - 1) as u32)
    }
    /// A made-up variable.
    fn fresh(&mut self, span: Span) -> VarId {
        let id = self.variable(format!("${}", self.variables.len()), span);
        if self.section == Section::Body {
            self.made.insert(id);
        }
        id
    }
}

/// A suffix of a head or goal.
#[derive(Clone, Copy, Debug)]
enum Suffix {
    /// `-V`: a state variable of the tree.
    State(u32, Span),
    /// `+T`.
    Extra(NodeId),
}

/// A head or goal, taken apart.
struct Form<'t> {
    name: Atom,
    arguments: &'t [NodeId],
    suffixes: Vec<Suffix>,
    span: Span,
}

impl Form<'_> {
    fn arity(&self) -> usize {
        let suffixes = self.suffixes.iter().map(|s| if matches!(s, Suffix::State(..)) { 2 } else { 1 });
        self.arguments.len() + suffixes.sum::<usize>()
    }
}

/// Expansion of one clause of the text.
pub(crate) struct Expander<'c, 'a, 't> {
    context: &'c mut Context<'a>,
    tree: &'t Tree,
    /// The constant macro that a variable of the tree names.
    withs: Vec<Option<usize>>,
    /// State variables of the head.
    head_states: Vec<u32>,
    owner: (Atom, usize),
    auxiliaries: Vec<(usize, Predicate)>,
    auxiliary_count: usize,
    /// Copies of the clause that guard disjunctions may still make.
    copies_left: usize,
    depth: usize,
    reports_from: usize,
}

impl<'c, 'a, 't> Expander<'c, 'a, 't> {
    /// Numbers of auxiliary predicates start at `auxiliary_count`.
    pub(crate) fn new(context: &'c mut Context<'a>, tree: &'t Tree, auxiliary_count: usize) -> Self {
        let withs = tree.variables().iter().map(|v| {
            let name = if *v.name == *b"_" { None } else { Some(&v.name) };
            name.and_then(|name| context.withs.iter().rposition(|w| w.name == *name))
        });
        let withs = withs.collect();
        let reports_from = context.diagnostics.len();
        Expander {
            context,
            tree,
            withs,
            head_states: vec![],
            owner: (term::symbol::NIL, 0),
            auxiliaries: vec![],
            auxiliary_count,
            copies_left: guards::copies_allowed(tree.nodes().len()),
            depth: 0,
            reports_from,
        }
    }

    /// The head of a clause: name, arity and place; `None` when it is no head (reported).
    pub(crate) fn head_name(&mut self, head: NodeId) -> Option<(Atom, usize)> {
        let form = self.head_form(head)?;
        Some((form.name, form.arity()))
    }

    /// Expands `head :- guard | body`; missing parts are `true`. `None` when the head is wrong.
    pub(crate) fn clause(
        mut self,
        head: NodeId,
        guard: Option<NodeId>,
        body: Option<NodeId>,
    ) -> Option<Expanded> {
        let form = self.head_form(head)?;
        let arity = form.arity();
        self.owner = (form.name, arity);
        for suffix in &form.suffixes {
            if let Suffix::State(variable, span) = *suffix {
                if self.head_states.contains(&variable) {
                    let error = Diagnostic::error(
                        "illegal-pair",
                        span,
                        "a head cannot have the same state variable twice",
                    );
                    self.report(error.label("already a state variable of this head"));
                } else {
                    self.head_states.push(variable);
                }
            }
        }
        self.warn_singletons();
        let alternatives = match guard {
            Some(guard) => self.alternatives(guard),
            None => vec![vec![]],
        };
        let root = self.tree.root();
        let mut clauses = vec![];
        for alternative in alternatives {
            let mut scope = Scope::new();
            let (mut arguments, finals) = self.head_arguments(&mut scope, &form);
            scope.section = Section::Guard;
            for goal in alternative {
                self.guard_goal(&mut scope, goal);
            }
            scope.section = Section::Body;
            if let Some(body) = body {
                self.body(&mut scope, body);
            }
            self.finish_states(&mut scope, &finals, &mut arguments);
            clauses.push(Clause {
                span: self.span(root),
                separator: Separator::None,
                variables: scope.variables,
                head: arguments,
                guard: scope.guard,
                body: scope.body,
            });
        }
        self.auxiliaries.sort_by_key(|(number, _)| *number);
        let auxiliaries = self.auxiliaries.into_iter().map(|(_, predicate)| predicate).collect();
        Some(Expanded { name: form.name, arity, head_span: form.span, clauses, auxiliaries })
    }

    /// An atomic term, for `:- with`. (A structure would make terms deeper than their text.)
    pub(crate) fn constant(mut self, id: NodeId) -> Option<Term> {
        let mut scope = Scope::new();
        scope.section = Section::Body;
        let term = self.term(&mut scope, id);
        let compound = matches!(
            term.kind,
            TermKind::Var(_) | TermKind::List(..) | TermKind::Struct(..) | TermKind::Vector(_)
        );
        (!compound).then_some(term)
    }

    /// The head's arguments; the second result: state variables and the places of their final values, to be
    /// filled in.
    fn head_arguments(&mut self, scope: &mut Scope, form: &Form) -> (Vec<Term>, Vec<(u32, usize)>) {
        let mut arguments: Vec<Term> = form.arguments.iter().map(|&id| self.term(scope, id)).collect();
        let mut finals = vec![];
        for suffix in &form.suffixes {
            match *suffix {
                Suffix::State(variable, span) => {
                    arguments.push(self.read(scope, variable, span));
                    finals.push((variable, arguments.len()));
                    arguments.push(Term { span, kind: TermKind::Atom(term::symbol::NIL) });
                }
                Suffix::Extra(id) => arguments.push(self.term(scope, id)),
            }
        }
        (arguments, finals)
    }

    /// Makes the last values of state variables the final arguments at the given places.
    fn finish_states(&mut self, scope: &mut Scope, finals: &[(u32, usize)], arguments: &mut [Term]) {
        let mut taken = FxHashSet::default();
        for &(variable, place) in finals {
            let span = arguments[place].span;
            let value = self.current(scope, variable, span);
            if let TermKind::Var(id) = value.kind
                && scope.made.contains(&id)
                && taken.insert(id)
            {
                arguments[place] = value;
                continue;
            }
            let id = scope.fresh(span);
            arguments[place] = Term { span, kind: TermKind::Var(id) };
            let kind = GoalKind::Unify(Term { span, kind: TermKind::Var(id) }, value);
            scope.body.push(Goal { span, kind });
        }
    }

    fn head_form(&mut self, head: NodeId) -> Option<Form<'t>> {
        let form = self.form(head, "illegal-head")?;
        use Key::*;
        let reserved = match self.key(form.name) {
            Some(Comma | Semicolon | Bar | Arrow | Colon | Pragma) => true,
            Some(Unify | IntAssign | FloatAssign | Send | Push | Update) => form.arguments.len() == 2,
            Some(AddUpdate | SubUpdate | MulUpdate | DivUpdate) => form.arguments.len() == 2,
            Some(Sharp | IntExpression | FloatExpression) => true,
            _ => false,
        };
        if reserved && !form.arguments.is_empty() {
            let help = if self.key(form.name) == Some(Comma) {
                "a clause ends with `.`: a `,` stands between the goals of a body"
            } else if self.key(form.name) == Some(Arrow) {
                "a clause is `Head :- Guard | Body.`; `->` stands in conditionals: `( Guard -> Body ; otherwise ; \
                 true -> Body )`"
            } else {
                "a clause is `Head :- Guard | Body.`, a head `name(arguments)`; or does the clause before this not end with `.`?"
            };
            let name = self.context.atoms.name(form.name).into_owned();
            let error = Diagnostic::error(
                "illegal-head",
                form.span,
                format!("a clause cannot define `{name}`/{}", form.arguments.len()),
            );
            self.report(error.label("not a head").help(help));
            return None;
        }
        if form.arity() > GOAL_ARITY_MAX {
            self.too_many_arguments(form.span, form.arity());
            return None;
        }
        Some(form)
    }

    /// Takes `name(args)-V+T` apart; wrong ones are reported with `code`.
    fn form(&mut self, id: NodeId, code: &'static str) -> Option<Form<'t>> {
        let span = self.span(id);
        let mut suffixes = vec![];
        let mut at = id;
        loop {
            let (name, arguments) = match &self.tree.node(at).kind {
                NodeKind::Atom(name) => (*name, &[][..]),
                NodeKind::Struct(name, range) => (*name, self.tree.children(*range)),
                _ => {
                    self.illegal_form(code, at);
                    return None;
                }
            };
            let (base, suffix) = match (self.key(name), arguments) {
                (Some(Key::Minus), &[base, state]) => match self.tree.node(state).kind {
                    NodeKind::Var(variable) => (base, Suffix::State(variable, self.span(state))),
                    _ => {
                        let error = Diagnostic::error(
                            "illegal-pair",
                            self.span(state),
                            "`-` after a goal needs a state variable",
                        );
                        self.report(
                            error
                                .label("not a variable")
                                .help("to pass the two values themselves write `+Old+New`"),
                        );
                        return None;
                    }
                },
                (Some(Key::Plus), &[base, extra]) => (base, Suffix::Extra(extra)),
                _ => {
                    suffixes.reverse();
                    return Some(Form { name, arguments, suffixes, span });
                }
            };
            suffixes.push(suffix);
            at = base;
        }
    }

    fn illegal_form(&mut self, code: &'static str, id: NodeId) {
        let (what, help) = match code {
            "illegal-head" => ("a head must be a name with or without arguments", "write `name(arguments)`"),
            "illegal-guard" => ("a guard goal must be a builtin test", "see the list of guard goals"),
            _ => (
                "a body goal must be a call, a unification or an assignment",
                "to call a predicate object write `apply(P,{..})`",
            ),
        };
        let label = match self.tree.node(id).kind {
            NodeKind::Var(_) => "a variable",
            NodeKind::Int(_) | NodeKind::BigInt(_) | NodeKind::Float(_) => "a number",
            NodeKind::String(_) => "a string",
            NodeKind::List(_) => "a list",
            NodeKind::Vector(_) => "a vector",
            NodeKind::Atom(_) | NodeKind::Struct(..) => "not a goal",
        };
        let span = self.span(id);
        self.report(Diagnostic::error(code, span, what).label(label).help(help));
    }

    fn too_many_arguments(&mut self, span: Span, count: usize) {
        let message = format!("{count} arguments are too many");
        let error = Diagnostic::error("too-many-arguments", span, message);
        self.report(error.label(format!("at most {GOAL_ARITY_MAX}")).help("group arguments in a vector"));
    }

    fn warn_singletons(&mut self) {
        for (index, variable) in self.tree.variables().iter().enumerate() {
            let known = self.withs[index].is_some() || self.head_states.contains(&(index as u32));
            if variable.occurrences == 1 && variable.name[0] != b'_' && !known {
                let name = String::from_utf8_lossy(&variable.name).into_owned();
                let span = self.place(variable.start, variable.end);
                let warning = Diagnostic::warning(
                    "singleton-variable",
                    span,
                    format!("variable `{name}` occurs only once"),
                );
                self.report(
                    warning
                        .label("no other occurrence in this clause")
                        .help(format!("write `_` or `_{name}` if that is meant"))
                        .fix(format!("name it `_{name}`"), vec![(span.before(), "_".into())]),
                );
            }
        }
    }

    fn key(&self, atom: Atom) -> Option<Key> {
        self.context.keys.get(atom)
    }

    /// The key of a node that is an atom.
    fn atom_key(&self, id: NodeId) -> Option<Key> {
        match self.tree.node(id).kind {
            NodeKind::Atom(atom) => self.key(atom),
            _ => None,
        }
    }

    /// The key and arguments of a node that is a structure (or an atom: no arguments).
    fn structure(&self, id: NodeId) -> (Option<Key>, &'t [NodeId]) {
        match self.tree.node(id).kind {
            NodeKind::Atom(atom) => (self.key(atom), &[]),
            NodeKind::Struct(name, range) => (self.key(name), self.tree.children(range)),
            _ => (None, &[]),
        }
    }

    fn place(&self, start: u32, end: u32) -> Span {
        Span { file: self.context.file, start, end }
    }

    fn span(&self, id: NodeId) -> Span {
        let node = self.tree.node(id);
        self.place(node.start, node.end)
    }

    /// Enters one level of nesting; `false` (reported) when there are too many.
    fn enter(&mut self, id: NodeId) -> bool {
        if self.depth >= LEVELS_MAX {
            let span = self.span(id);
            let error = Diagnostic::error("nesting-too-deep", span, "this is nested too deeply");
            self.report(
                error
                    .label(format!("more than {LEVELS_MAX} levels"))
                    .help("give inner parts a name: `X = ..` before, or a predicate of their own"),
            );
            return false;
        }
        self.depth += 1;
        true
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Reports once: copies of a clause (guard disjunctions) report nothing twice.
    fn report(&mut self, diagnostic: Diagnostic) {
        let reported = &self.context.diagnostics[self.reports_from..];
        let full = reported.len() >= REPORTS_MAX && diagnostic.severity == Severity::Warning
            || reported.len() >= 2 * REPORTS_MAX;
        if !full && !reported.contains(&diagnostic) {
            self.context.diagnostics.push(diagnostic);
        }
    }

    /// The current value of a variable, without remarks.
    fn current(&mut self, scope: &mut Scope, variable: u32, span: Span) -> Term {
        let value = match scope.values.get(&variable) {
            Some(&value) => value,
            None => {
                let value = match self.withs[variable as usize] {
                    Some(with) => Value::With(with),
                    None => {
                        let v = &self.tree.variables()[variable as usize];
                        let first = self.place(v.start, v.end);
                        Value::Var(scope.variable(String::from_utf8_lossy(&v.name).into_owned(), first))
                    }
                };
                scope.values.insert(variable, value);
                value
            }
        };
        match value {
            Value::Var(id) => Term { span, kind: TermKind::Var(id) },
            Value::With(with) => Term { span, kind: self.context.withs[with].term.kind.clone() },
        }
    }

    /// An occurrence of a variable.
    fn read(&mut self, scope: &mut Scope, variable: u32, span: Span) -> Term {
        if let Some(conditional) = scope.forgetful.remove(&variable) {
            let name = String::from_utf8_lossy(&self.tree.variables()[variable as usize].name).into_owned();
            let warning = Diagnostic::warning(
                "state-variable-in-conditional",
                span,
                format!("local state variable `{name}` keeps its updates after a conditional"),
            );
            self.report(
                warning
                    .label("has its last value here")
                    .related(conditional, "after this conditional")
                    .note("KLIC gives it its first value again here.")
                    .help("make it a state variable of the head, or use another variable"),
            );
        }
        self.current(scope, variable, span)
    }

    /// A new current value for a variable.
    fn update(&mut self, scope: &mut Scope, variable: u32, span: Span) -> Term {
        let id = scope.fresh(span);
        scope.values.insert(variable, Value::Var(id));
        scope.forgetful.remove(&variable);
        if !scope.updated.contains(&variable) {
            scope.updated.push(variable);
        }
        Term { span, kind: TermKind::Var(id) }
    }
}
