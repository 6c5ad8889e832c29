//! Numbers of the wrong sort, and terms in the place of numbers.
//!
//! An argument *needs* an integer if in every clause it is an integer, or a variable that is compared or computed with
//! as one, or that goes to an argument that needs one (the least such set); floats likewise.

use super::arguments::{Begins, Facts, Whole};
use super::variables::{is_expression, variable};
use crate::program::names::Names;
use syntax::diagnostic::Diagnostic;
use syntax::program::{GoalKind, Term, TermKind};
use syntax::source::{SourceMap, Span};
use term::AtomTable;

/// Texts that are longer are not shown.
const SHOWN_MAX: usize = 40;

/// Reports what can only fail, or is never what is meant.
pub(crate) fn check(
    names: &Names<'_>,
    sources: &SourceMap,
    atoms: &AtomTable,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let whole = Whole::new(names, sources, atoms);
    let integers = whole.needed(|term, uses| match &term.kind {
        TermKind::Int(_) | TermKind::BigInt(_) => true,
        TermKind::Var(v) => uses[v.0 as usize].integer.is_some(),
        _ => false,
    });
    let floats = whole.needed(|term, uses| match &term.kind {
        TermKind::Float(_) => true,
        TermKind::Var(v) => uses[v.0 as usize].float.is_some(),
        _ => false,
    });
    for facts in &whole.clauses {
        whole.within(facts, diagnostics);
        for &(callee, arguments) in &facts.calls {
            for (number, argument) in arguments.iter().enumerate() {
                let place = whole.firsts[callee] + number;
                let needs = [integers[place], floats[place]];
                whole.argument(facts, (callee, number), argument, needs, diagnostics);
            }
        }
    }
    whole.growing_terms(&integers, &floats, diagnostics);
    whole.growing_results(diagnostics);
}

impl Whole<'_> {
    /// What a clause does with its own variables.
    fn within(&self, facts: &Facts, diagnostics: &mut Vec<Diagnostic>) {
        for (uses, variable) in facts.uses.iter().zip(&facts.clause.variables) {
            let computed = uses.integer.or(uses.float);
            if let (Some(term), Some(computed)) = (uses.term, computed) {
                diagnostics
                    .push(self.term_for_number(term).related(computed, "its value is computed with here"));
                continue;
            }
            let shown = |what: &str| match variable.name.starts_with('$') {
                true => format!("this is {what}"),
                false => format!("`{}` is {what}", variable.name),
            };
            match (uses.integer, uses.float, uses.made_integer, uses.made_float) {
                (Some(place), _, _, Some(made)) => diagnostics.push(
                    float_as_integer(place, shown("a float, and is computed with as an integer"))
                        .related(made, "it becomes a float here"),
                ),
                (_, Some(place), Some(made), _) => diagnostics.push(
                    integer_as_float(place, shown("an integer, and is computed with as a float"))
                        .help(format!("`float({})` in an expression is the float", or_x(&variable.name)))
                        .related(made, "it becomes an integer here"),
                ),
                (Some(place), Some(other), _, _) => diagnostics.push(
                    float_as_integer(place, shown("computed with as an integer and as a float"))
                        .related(other, "as a float here"),
                ),
                _ => {}
            }
        }
    }

    /// An argument of a goal, where the callee needs an integer or a float.
    fn argument(
        &self,
        facts: &Facts,
        (callee, number): (usize, usize),
        argument: &Term,
        needs: [bool; 2],
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let [integer, float] = needs;
        if !integer && !float {
            return;
        }
        let uses = variable(argument).map(|variable| facts.uses[variable.0 as usize]).unwrap_or_default();
        let span = argument.span;
        let diagnostic = match &argument.kind {
            TermKind::Struct(..) if is_expression(argument, self.atoms) => self.term_for_number(span),
            TermKind::Var(_) if uses.integer.or(uses.float).is_none() && uses.term.is_some() => {
                self.term_for_number(uses.term.unwrap_or(span))
            }
            TermKind::Float(_) if integer => {
                float_as_integer(span, "a float stands where an integer is needed".into())
            }
            TermKind::Var(_)
                if integer && uses.integer.is_none() && uses.made_float.or(uses.float).is_some() =>
            {
                float_as_integer(span, "a float goes where an integer is needed".into())
            }
            TermKind::Int(value) if float => {
                integer_as_float(span, "an integer stands where a float is needed".into())
                    .help(format!("write `{value}.0`"))
                    .fix(format!("write `{value}.0`"), vec![(span, format!("{value}.0"))])
            }
            TermKind::Var(_)
                if float && uses.float.is_none() && uses.made_integer.or(uses.integer).is_some() =>
            {
                integer_as_float(span, "an integer goes where a float is needed".into())
                    .help("write `F $:= float(N)` before, and F here")
            }
            _ => return,
        };
        let what = if integer { "an integer" } else { "a float" };
        let predicate = self.predicates[callee];
        let note = match predicate.auxiliary {
            true => format!("all branches of the conditional compare it or compute with it as {what}"),
            false => format!(
                "all clauses of {}/{} compare argument {} or compute with it as {what}",
                self.atoms.name(predicate.name),
                predicate.arity,
                number + 1
            ),
        };
        diagnostics.push(diagnostic.note(note));
    }

    fn term_for_number(&self, span: Span) -> Diagnostic {
        let file = &self.sources.file(span.file).text;
        let text = String::from_utf8_lossy(&file[span.start as usize..span.end as usize]).into_owned();
        let short = text.len() <= SHOWN_MAX && !text.contains('\n');
        let help = match short {
            true => format!("`~({text})` stands for its value; or compute it before, with `:=`"),
            false => "`~(..)` around it stands for its value; or compute it before, with `:=`".into(),
        };
        Diagnostic::warning("term-for-number", span, "this is a term, not its value")
            .label("nothing computes it")
            .help(help)
            .fix("write `~(..)` around it", vec![(span.before(), "~(".into()), (span.after(), ")".into())])
    }

    /// `count(L,N+1)` for `count([_|L],N)`: a term that grows, where no clause wants one.
    fn growing_terms(&self, integers: &[bool], floats: &[bool], diagnostics: &mut Vec<Diagnostic>) {
        let taken = self.taken_apart();
        let begins = self.begins();
        for facts in &self.clauses {
            let owner = self.owners[facts.predicate];
            for &(callee, arguments) in facts.calls.iter().filter(|(callee, _)| *callee == owner) {
                for (number, argument) in arguments.iter().enumerate() {
                    let place = self.firsts[callee] + number;
                    let Begins { numbers, others } = begins.get(&place).copied().unwrap_or_default();
                    if integers[place] || floats[place] || taken[place] || others {
                        continue;
                    }
                    if self.grows(facts, callee, number, argument, numbers) {
                        diagnostics.push(self.term_for_number(argument.span).note(format!(
                            "no clause of {}/{} takes argument {} apart",
                            self.atoms.name(self.predicates[callee].name),
                            self.predicates[callee].arity,
                            number + 1
                        )));
                    }
                }
            }
        }
    }

    /// Is it an operation on what the head has in the same place? With a constant; or with other variables, if it
    /// begins with a number.
    fn grows(&self, facts: &Facts, callee: usize, number: usize, argument: &Term, numbers: bool) -> bool {
        let TermKind::Struct(_, parts) = &argument.kind else { return false };
        let [a, b] = &parts[..] else { return false };
        if !is_expression(argument, self.atoms) {
            return false;
        }
        let is_state = |term: &Term| {
            let Some(variable) = variable(term) else { return false };
            match callee == facts.predicate {
                true => matches!(facts.clause.head[number].kind, TermKind::Var(v) if v == variable),
                // A conditional has the variables of its clause under their names.
                false => {
                    let name = &facts.clause.variables[variable.0 as usize].name;
                    self.places(facts, name).contains(&(self.firsts[callee] + number))
                }
            }
        };
        let other = match (is_state(a), is_state(b)) {
            (true, false) => b,
            (false, true) => a,
            _ => return false,
        };
        match other.kind {
            TermKind::Int(_) | TermKind::BigInt(_) | TermKind::Float(_) => true,
            TermKind::Var(_) => numbers,
            _ => false,
        }
    }

    /// `F = N*F1` where F1 is the result of a recursive goal, N is compared or computed with, and another clause gives
    /// an integer in that place. (The rules of a derivative, which look alike, do not count.)
    fn growing_results(&self, diagnostics: &mut Vec<Diagnostic>) {
        let mut integers = rustc_hash::FxHashSet::default();
        for facts in &self.clauses {
            let made = facts
                .uses
                .iter()
                .zip(&facts.clause.variables)
                .filter(|(uses, _)| uses.made_integer.is_some());
            integers.extend(made.flat_map(|(_, variable)| self.places(facts, &variable.name)).copied());
        }
        for facts in self.clauses.iter().filter(|facts| !facts.calls.is_empty()) {
            for goal in &facts.clause.body {
                let GoalKind::Unify(a, b) = &goal.kind else { continue };
                let (Some(result), term) = (match variable(a) {
                    Some(result) => (Some(result), b),
                    None => (variable(b), a),
                }) else {
                    continue;
                };
                let uses = facts.uses[result.0 as usize];
                if !is_expression(term, self.atoms) || uses.integer.or(uses.float).is_some() {
                    continue;
                }
                let name = &facts.clause.variables[result.0 as usize].name;
                let mut places = self.places(facts, name).iter().filter(|&place| integers.contains(place));
                if places.any(|&place| self.adds_up(facts, place, term)) {
                    diagnostics
                        .push(self.term_for_number(term.span).note("another clause gives a number here"));
                }
            }
        }
    }

    /// Is a term made of nothing but what recursive goals give in a place, and of numbers, at least one of each?
    fn adds_up(&self, facts: &Facts, place: usize, term: &Term) -> bool {
        let owner = self.owners[facts.predicate];
        let at = place - self.firsts[owner];
        let results: Vec<_> = (facts.calls.iter().filter(|(callee, _)| *callee == owner))
            .filter_map(|(_, arguments)| variable(&arguments[at]))
            .collect();
        let (mut number, mut result) = (false, false);
        let mut rest = vec![term];
        while let Some(term) = rest.pop() {
            match &term.kind {
                TermKind::Int(_) | TermKind::BigInt(_) => number = true,
                TermKind::Var(variable) if results.contains(variable) => result = true,
                TermKind::Var(variable) if facts.uses[variable.0 as usize].counts => number = true,
                TermKind::Struct(..) if is_expression(term, self.atoms) => rest.extend(term.parts()),
                _ => return false,
            }
        }
        number && result
    }
}

fn or_x(name: &str) -> &str {
    if name.starts_with('$') { "X" } else { name }
}

fn float_as_integer(span: Span, message: String) -> Diagnostic {
    Diagnostic::warning("float-as-integer", span, message).label("never an integer").help(
        "floats are computed by `$:=` and compared by `$<` and the like; `int(F)` in an expression is the integer",
    )
}

fn integer_as_float(span: Span, message: String) -> Diagnostic {
    Diagnostic::warning("integer-as-float", span, message).label("never a float")
}
