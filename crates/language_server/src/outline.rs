//! What one text defines, and where names stand in it.

use crate::text::Text;
use rustc_hash::FxHashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use syntax::program::{Clause, GoalKind, GuardKind, Predicate as Clauses, Program, Term, TermKind};
use syntax::source::{FileId, SourceMap, Span};
use syntax::written::written;
use term::symbol::NIL;
use term::{Atom, AtomTable};

/// Bytes of a text.
pub(crate) type Place = Range<usize>;

/// What a name means.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Symbol {
    /// A predicate: module, name, number of arguments.
    Predicate(String, String, usize),
    /// The name of a term, a message for one, with the number of its arguments.
    Functor(String, usize),
    /// A module.
    Module(String),
}

/// What a name does where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Role {
    /// It stands in a head, or in the declaration of a module.
    Defines,
    /// It is called, or names a module that is called.
    Calls,
    /// A head or guard looks for it.
    Takes,
    /// A body makes it.
    Makes,
}

/// In place of the module of a guard builtin: no text is a module of this name.
pub(crate) const GUARDS: &str = "\0guards";

/// A name at its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Use {
    pub(crate) place: Place,
    pub(crate) symbol: Symbol,
    pub(crate) role: Role,
    /// A term stands in a list: it may be a message.
    pub(crate) in_list: bool,
}

/// A predicate.
#[derive(Debug)]
pub(crate) struct Predicate {
    pub(crate) name: String,
    pub(crate) arity: usize,
    /// Its name in the head of its first clause.
    pub(crate) place: Place,
    /// Its clauses.
    pub(crate) whole: Place,
    /// Its arguments in that head: their places and how they are written.
    pub(crate) arguments: Vec<(Place, String)>,
    /// The comment above it (`%%`).
    pub(crate) comment: Option<String>,
}

/// A module.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) name: String,
    /// Its declaration.
    pub(crate) place: Place,
    pub(crate) comment: Option<String>,
    pub(crate) predicates: Vec<Predicate>,
}

impl Module {
    pub(crate) fn predicate(&self, name: &str, arity: usize) -> Option<&Predicate> {
        self.predicates.iter().find(|predicate| predicate.arity == arity && predicate.name == name)
    }
}

/// What a text defines.
pub(crate) struct Outline {
    pub(crate) path: PathBuf,
    pub(crate) text: Text,
    pub(crate) modules: Vec<Module>,
    /// By place.
    pub(crate) uses: Vec<Use>,
}

impl Outline {
    /// Of a text, and what the compiler reads of it.
    pub(crate) fn new(path: &Path, text: Text, read: Vec<u8>) -> Outline {
        let (atoms, mut sources) = (AtomTable::new(), SourceMap::default());
        let file = sources.add(String::new(), read);
        let (program, _) = syntax::read_program(&sources, &[file], &atoms);
        let mut reader = Reader {
            atoms: &atoms,
            sources: &sources,
            file,
            module: String::new(),
            uses: FxHashSet::default(),
        };
        let modules = reader.modules(&program);
        let mut uses: Vec<Use> = reader.uses.into_iter().collect();
        uses.sort_by(|a, b| {
            let key = |u: &Use| (u.place.start, u.place.end, u.role);
            key(a).cmp(&key(b)).then_with(|| a.symbol.cmp(&b.symbol))
        });
        Outline { path: path.to_path_buf(), text, modules, uses }
    }

    pub(crate) fn module(&self, name: &str) -> Option<&Module> {
        self.modules.iter().find(|module| module.name == name)
    }

    /// The module that this place belongs to.
    pub(crate) fn module_at(&self, offset: usize) -> Option<&Module> {
        let before = self.modules.iter().rev().find(|module| module.place.start <= offset);
        before.or(self.modules.first())
    }

    /// What stands at a place, or ends there.
    pub(crate) fn at(&self, offset: usize) -> Option<&Use> {
        let until = self.uses.partition_point(|u| u.place.start <= offset);
        // Names do not overlap, but one place may have several meanings.
        let near = self.uses[..until].iter().rev().take(8);
        let mut found: Vec<&Use> = near.filter(|u| offset <= u.place.end).collect();
        found.sort_by_key(|u| (std::cmp::Reverse(u.place.start), u.role));
        found.first().copied()
    }
}

struct Reader<'a> {
    atoms: &'a AtomTable,
    sources: &'a SourceMap,
    file: FileId,
    /// The one that is read.
    module: String,
    uses: FxHashSet<Use>,
}

impl Reader<'_> {
    fn modules(&mut self, program: &Program) -> Vec<Module> {
        let mut modules = Vec::new();
        for module in &program.modules {
            self.module = self.name(module.name);
            // `module m`: the name stands at the end; a text without a declaration has none.
            let text = self.text(place(module.span));
            if let Some(at) = text.rfind(&self.module).filter(|_| text.starts_with("module")) {
                let start = module.span.start as usize + at;
                let symbol = Symbol::Module(self.module.clone());
                self.add(start..start + self.module.len(), symbol, Role::Defines, false);
            }
            let mut predicates = Vec::new();
            for predicate in &module.predicates {
                predicates.extend(self.predicate(predicate));
                predicate.clauses.iter().for_each(|clause| self.clause(clause));
            }
            let comment = self.comment_above(module.span.start as usize);
            modules.push(Module {
                name: self.module.clone(),
                place: place(module.span),
                comment,
                predicates,
            });
        }
        modules
    }

    /// A predicate, and the places of its name in heads.
    fn predicate(&mut self, predicate: &Clauses) -> Option<Predicate> {
        if predicate.auxiliary {
            return None;
        }
        let name = self.name(predicate.name);
        let symbol = Symbol::Predicate(self.module.clone(), name.clone(), predicate.arity);
        for clause in &predicate.clauses {
            if let Some(written) = written(self.sources, clause.span, predicate.name, self.atoms) {
                self.add(place(written.name), symbol.clone(), Role::Defines, false);
            }
        }
        let (first, last) = (predicate.clauses.first()?, predicate.clauses.last()?);
        let head = written(self.sources, predicate.span, predicate.name, self.atoms)?;
        let arguments = first.head.iter().map(|term| (place(term.span), self.text(place(term.span))));
        Some(Predicate {
            arguments: arguments.collect(),
            arity: predicate.arity,
            place: place(head.name),
            whole: first.span.start as usize..last.span.end as usize,
            comment: self.comment_above(first.span.start as usize),
            name,
        })
    }

    fn clause(&mut self, clause: &Clause) {
        clause.head.iter().for_each(|term| self.term(term, Role::Takes));
        for guard in &clause.guard {
            let terms: Vec<&Term> = match &guard.kind {
                GuardKind::Unify(a, b) => vec![a, b],
                GuardKind::Call(name, terms) => {
                    self.guard(guard.span, *name, terms.len());
                    terms.iter().collect()
                }
                GuardKind::Method(_, inputs, outputs) => inputs.iter().chain(outputs).collect(),
                GuardKind::Compare(..) | GuardKind::Assign(..) => continue,
            };
            terms.into_iter().for_each(|term| self.term(term, Role::Takes));
        }
        for goal in &clause.body {
            match &goal.kind {
                GoalKind::Unify(a, b) => [a, b].into_iter().for_each(|term| self.term(term, Role::Makes)),
                GoalKind::Assign(..) => {}
                GoalKind::Call(call) => {
                    call.arguments.iter().for_each(|term| self.term(term, Role::Makes));
                    let arity = call.arguments.len();
                    self.call(goal.span, call.module, call.name, arity);
                }
            }
        }
    }

    /// A test: a builtin, whatever the module has.
    fn guard(&mut self, span: Span, name: Atom, arity: usize) {
        if let Some(written) = written(self.sources, span, name, self.atoms) {
            let symbol = Symbol::Predicate(GUARDS.into(), self.name(name), arity);
            self.add(place(written.name), symbol, Role::Calls, false);
        }
    }

    fn call(&mut self, span: Span, module: Option<Atom>, name: Atom, arity: usize) {
        let Some(written) = written(self.sources, span, name, self.atoms).filter(|_| span.file == self.file)
        else {
            return;
        };
        let of = module.map_or_else(|| self.module.clone(), |module| self.name(module));
        if let Some(span) = written.module.filter(|_| module.is_some()) {
            self.add(place(span), Symbol::Module(of.clone()), Role::Calls, false);
        }
        self.add(place(written.name), Symbol::Predicate(of, self.name(name), arity), Role::Calls, false);
    }

    fn term(&mut self, term: &Term, role: Role) {
        let mut rest = vec![(term, false)];
        while let Some((term, in_list)) = rest.pop() {
            let lists = matches!(term.kind, TermKind::List(..));
            rest.extend(term.parts().map(|part| (part, lists)));
            let (name, arity) = match &term.kind {
                TermKind::Atom(name) if *name != NIL => (*name, 0),
                TermKind::Struct(name, parts) => (*name, parts.len()),
                TermKind::Predicate(module, name, arity) => {
                    self.predicate_object(term.span, *module, *name, *arity);
                    continue;
                }
                _ => continue,
            };
            if let Some(written) =
                written(self.sources, term.span, name, self.atoms).filter(|w| w.module.is_none())
            {
                self.add(place(written.name), Symbol::Functor(self.name(name), arity), role, in_list);
            }
        }
    }

    /// `predicate#(m:p/n)`: the places of `m` and `p`.
    fn predicate_object(&mut self, span: Span, module: Atom, name: Atom, arity: usize) {
        let text = self.text(place(span));
        let Some(open) = text.find('#').map(|at| at + 1) else { return };
        let inner = Span { start: span.start + open as u32, ..span };
        if let Some(written) = written(self.sources, inner, name, self.atoms) {
            let of = self.name(module);
            if let Some(span) = written.module {
                self.add(place(span), Symbol::Module(of.clone()), Role::Calls, false);
            }
            self.add(place(written.name), Symbol::Predicate(of, self.name(name), arity), Role::Calls, false);
        }
    }

    fn add(&mut self, place: Place, symbol: Symbol, role: Role, in_list: bool) {
        self.uses.insert(Use { place, symbol, role, in_list });
    }

    fn name(&self, atom: Atom) -> String {
        self.atoms.name(atom).into_owned()
    }

    fn text(&self, place: Place) -> String {
        String::from_utf8_lossy(&self.sources.file(self.file).text[place]).into_owned()
    }

    /// The lines right above a place that begin with `%%`, without that; of a module also its `:-` line is passed.
    fn comment_above(&self, offset: usize) -> Option<String> {
        let text = &self.sources.file(self.file).text;
        let line_start = |at: usize| text[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |n| n + 1);
        let mut at = line_start(offset);
        let mut lines = Vec::new();
        while at > 0 {
            let start = line_start(at - 1);
            let line = String::from_utf8_lossy(&text[start..at - 1]);
            let Some(line) = line.trim().strip_prefix("%%") else { break };
            lines.push(line.strip_prefix(' ').unwrap_or(line).to_string());
            at = start;
        }
        lines.reverse();
        let comment = lines.join("\n");
        (!comment.trim().is_empty()).then_some(comment)
    }
}

fn place(span: Span) -> Place {
    span.start as usize..span.end as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(text: &str) -> Outline {
        Outline::new(Path::new("t.kl1"), Text::new(text.into()), text.into())
    }

    const STACK: &str = "\
%% Stacks.
:- module stack.

%% create(+S)
%%
%% Serves S.
create(S) :- serve(S, []).
serve([push(X)|S], L) :- serve(S, [X|L]).
serve([pop(X)|S], [Y|L]) :- X = Y, other:log(pop(Y)), ( L = [] -> io:outstream([nl]) ; L = [_|_] -> true ), serve(S, L).
serve([], _) :- true.
run(P) :- P = predicate#(stack:serve/2).
count(S)-N :- N += 1, count(S)-N.
";

    #[test]
    fn predicates_modules_and_comments_are_found() {
        let outline = outline(STACK);
        let module = outline.module("stack").expect("it is there");
        assert_eq!(module.comment.as_deref(), Some("Stacks."));
        let names: Vec<_> = module.predicates.iter().map(|p| format!("{}/{}", p.name, p.arity)).collect();
        assert_eq!(names, ["create/1", "serve/2", "run/1", "count/3"]);
        let create = module.predicate("create", 1).expect("it is there");
        assert_eq!(create.comment.as_deref(), Some("create(+S)\n\nServes S."));
        assert_eq!(create.arguments[0].1, "S");
        assert_eq!(&STACK[module.predicates[1].whole.clone()][..5], "serve");
        assert_eq!(outline.module_at(0).map(|m| &m.name[..]), Some("stack"));
    }

    #[test]
    fn every_name_has_its_places() {
        let outline = outline(STACK);
        let uses = |symbol: Symbol| {
            let found = outline.uses.iter().filter(|u| u.symbol == symbol);
            found.map(|u| (u.place.start, u.role)).collect::<Vec<_>>()
        };
        let predicate = |m: &str, p: &str, n| Symbol::Predicate(m.into(), p.into(), n);
        use Role::*;
        let roles = |symbol| uses(symbol).into_iter().map(|u| u.1).collect::<Vec<_>>();
        let serve = [Calls, Defines, Calls, Defines, Calls, Defines, Calls];
        assert_eq!(roles(predicate("stack", "serve", 2)), serve);
        assert_eq!(uses(predicate("other", "log", 1)).len(), 1);
        assert_eq!(uses(predicate("io", "outstream", 1)).len(), 1);
        assert_eq!(
            uses(Symbol::Module("stack".into())).iter().map(|u| u.1).collect::<Vec<_>>(),
            [Defines, Calls]
        );
        let pop = uses(Symbol::Functor("pop".into(), 1));
        assert_eq!(pop.iter().map(|u| u.1).collect::<Vec<_>>(), [Takes, Makes]);
        assert_eq!(uses(predicate("stack", "count", 3)).len(), 2);
        for u in &outline.uses {
            let name = match &u.symbol {
                Symbol::Predicate(_, name, _) | Symbol::Functor(name, _) | Symbol::Module(name) => name,
            };
            assert_eq!(&STACK[u.place.clone()], name);
            assert_eq!(outline.at(u.place.start).map(|found| &found.place), Some(&u.place));
        }
    }

    #[test]
    fn a_text_with_errors_has_what_can_be_read() {
        let outline = outline("p(X) :- q(.\nr(Y) :- s(Y).\n:- module m.\n:- module ('a b').\nt :- (((.");
        let names: Vec<_> = outline.modules.iter().map(|m| (m.name.clone(), m.predicates.len())).collect();
        assert_eq!(names, [("main".to_string(), 1), ("m".to_string(), 0), ("a b".to_string(), 0)]);
    }
}
