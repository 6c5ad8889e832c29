//! Random KL1 programs, for comparing the interpreter with compiled runs.
//!
//! Every choice is read from bytes; no bytes left means the simplest choice, so shrinking the bytes shrinks the
//! program.
//!
//! Invariants of every program:
//! - It ends: predicates that call each other take fuel, the others go down a finite list and call earlier ones
//!   only.
//! - P2 It is confluent: which clause commits, every value, and whether it succeeds, fails, errs or waits for ever
//!   depend on values, not on the order in which goals run. Clauses of one layer exclude each other, or all test one
//!   integer, or one argument from outside.
//! - P3 It writes at most one line, at the end. (When it fails, a part of the program that nobody waits for may fail
//!   before or after that line: then only the kind of the outcome is comparable.)
//! - P5 Parts of it are tried (`try/2`), and may fail or wait for ever: nothing outside depends on what they bind, and
//!   only whether they succeed is shown.
//! - P4 Values stay small: lists, trees, strings and vectors are used once in a clause, products are reduced.

mod clauses;
mod values;

use std::fmt::Write as _;

/// Choices from bytes.
struct Dice<'b> {
    bytes: std::slice::Iter<'b, u8>,
}

impl Dice<'_> {
    /// A number below `limit` (which is at most 256).
    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.bytes.next().copied().unwrap_or(0)) % limit
    }
    /// True once in `n` times (never when the bytes are used up).
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Types of values; predicates are generated for fixed ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Int,
    /// A list of integers.
    List,
    Atom,
    /// `t` or `n(Tree,Int,Tree)`.
    Tree,
    /// A string that is not empty.
    String,
    /// A vector of integers that is not empty.
    Vector,
    Float,
    /// Any of these but a vector.
    Mixed,
}

const TYPES: [Type; 9] = [
    Type::Int,
    Type::List,
    Type::Atom,
    Type::Tree,
    Type::String,
    Type::Vector,
    Type::Float,
    Type::Int,
    Type::Mixed,
];

/// A predicate that can be called.
#[derive(Clone, Debug)]
struct Signature {
    name: String,
    /// The first argument is fuel.
    fuel: bool,
    /// A traversal written with argument pairs.
    pairs: bool,
    inputs: Vec<Type>,
    outputs: Vec<Type>,
}

/// A clause under construction.
#[derive(Default)]
struct Scope {
    variables: Vec<Variable>,
    goals: Vec<String>,
    made: usize,
    /// Less fuel, for calls; `None`: only traversals can be called, and those that do not come after `name`.
    fuel: Option<String>,
    name: String,
}

struct Variable {
    name: String,
    kind: Type,
    used: bool,
}

impl Scope {
    fn fresh(&mut self) -> String {
        self.made += 1;
        format!("V{}", self.made)
    }
    fn add(&mut self, name: &str, kind: Type) {
        self.variables.push(Variable { name: name.to_string(), kind, used: false });
    }
}

struct Generator<'b> {
    dice: Dice<'b>,
    signatures: Vec<Signature>,
    /// Literals that occur again and again, so that clauses and goals have the same.
    favourites: Vec<&'static str>,
    /// Fixed predicates that the program needs.
    helpers: Vec<&'static str>,
    /// Predicates that are tried (P5).
    parts: Vec<String>,
    text: String,
}

/// The program for these bytes: module `main`; of the library it uses `shoen`.
pub fn program(bytes: &[u8]) -> String {
    let mut generator = Generator {
        dice: Dice { bytes: bytes.iter() },
        signatures: Vec::new(),
        favourites: Vec::new(),
        helpers: Vec::new(),
        parts: Vec::new(),
        text: String::from(":- module main.\n"),
    };
    generator.generate();
    generator.text
}

impl Generator<'_> {
    fn generate(&mut self) {
        self.favourites = (0..3).map(|_| self.dice.pick(&values::INTEGERS)).collect();
        // Signatures first, so that every predicate can call every other.
        for number in 0..1 + self.dice.below(4) {
            let inputs = self.types(3);
            let outputs = self.types(2);
            self.signatures.push(Signature {
                name: format!("f{number}"),
                fuel: true,
                pairs: false,
                inputs,
                outputs,
            });
        }
        for number in 0..self.dice.below(4) {
            let mut inputs = vec![Type::List];
            let pairs = self.dice.one_in(4);
            inputs.extend(if pairs { vec![Type::Int] } else { self.types(2) });
            let outputs = vec![if pairs { Type::Int } else { self.dice.pick(&[Type::Int, Type::List]) }];
            self.signatures.push(Signature {
                name: format!("g{number}"),
                fuel: false,
                pairs,
                inputs,
                outputs,
            });
        }
        self.main();
        for signature in self.signatures.clone() {
            if signature.fuel {
                self.function(&signature);
            } else if signature.pairs {
                self.pairs(&signature.name);
            } else {
                self.traversal(&signature);
            }
        }
        self.text.push_str(SHOW);
        let mut helpers = std::mem::take(&mut self.helpers);
        helpers.sort_unstable();
        helpers.dedup();
        self.text.extend(helpers);
        self.text.extend(std::mem::take(&mut self.parts));
    }

    fn types(&mut self, most: usize) -> Vec<Type> {
        (0..1 + self.dice.below(most)).map(|_| self.dice.pick(&TYPES)).collect()
    }

    /// `main`: some calls, and the goal that shows all results.
    fn main(&mut self) {
        let mut scope = Scope { fuel: Some((2 + self.dice.below(4)).to_string()), ..Scope::default() };
        let mut results = Vec::new();
        for _ in 0..1 + self.dice.below(5) {
            let at = self.dice.below(self.signatures.len() + 1);
            let wanted = match self.signatures.get(at) {
                Some(signature) => signature.outputs[0],
                None => self.dice.pick(&TYPES),
            };
            let name = scope.fresh();
            if !self.call(&mut scope, &name, wanted, 2) {
                self.define(&mut scope, &name, wanted, 2);
            }
            results.push(self.printable(&mut scope, wanted, &name));
        }
        if self.dice.one_in(16) {
            self.lost_goal(&mut scope);
        }
        while results.len() < 8 && self.dice.one_in(3) {
            results.push(self.tried(&mut scope, 1));
        }
        scope.goals.push(format!("ground([{}],Done), show(Done,[{}])", results.join(","), results.join(",")));
        self.shuffle(&mut scope.goals);
        let _ = writeln!(self.text, "main :- true | {}.", scope.goals.join(",\n    "));
    }

    /// Vectors are shown as lists: `ground` does not look into them.
    fn printable(&mut self, scope: &mut Scope, kind: Type, name: &str) -> String {
        if kind != Type::Vector {
            return name.to_string();
        }
        self.helpers.push(ELEMENTS);
        let list = scope.fresh();
        scope.goals.push(format!("elements({name},{list})"));
        list
    }

    /// P5: a part that is tried, with parts of its own at most so deep: the variable that says whether it succeeds.
    fn tried(&mut self, scope: &mut Scope, depth: usize) -> String {
        let mut part = Scope { fuel: Some((1 + self.dice.below(3)).to_string()), ..Scope::default() };
        for _ in 0..1 + self.dice.below(2) {
            let at = self.dice.below(self.signatures.len());
            let wanted = self.signatures[at].outputs[0];
            let name = part.fresh();
            if !self.call(&mut part, &name, wanted, 1) {
                self.define(&mut part, &name, wanted, 1);
            }
        }
        if self.dice.one_in(4) {
            self.lost_goal(&mut part);
        }
        if self.dice.one_in(3) {
            part.goals.push("wrong(1)".to_string());
        }
        if depth > 0 && self.dice.one_in(3) {
            let inner = self.tried(&mut part, depth - 1);
            if self.dice.one_in(2) {
                part.goals.push(format!("succeeds({inner})"));
            }
        }
        self.shuffle(&mut part.goals);
        self.helpers.push(OUTCOME);
        let name = format!("t{}", self.parts.len());
        self.parts.push(format!("{name} :- true | {}.\n", part.goals.join(", ")));
        let [result, outcome] = [(); 2].map(|()| scope.fresh());
        scope.goals.push(format!("try({name},{result})"));
        scope.goals.push(format!("outcome({result},{outcome})"));
        outcome
    }

    /// A call that gets a variable nobody binds.
    fn lost_goal(&mut self, scope: &mut Scope) {
        let at = self.dice.below(self.signatures.len());
        let signature = self.signatures[at].clone();
        let mut arguments: Vec<String> = signature.fuel.then(|| "3".to_string()).into_iter().collect();
        arguments.extend(vec!["_".to_string(); signature.inputs.len() + signature.outputs.len()]);
        scope.goals.push(format!("{}({})", signature.name, arguments.join(",")));
    }

    fn shuffle(&mut self, goals: &mut [String]) {
        for at in (1..goals.len()).rev() {
            // The simplest choice leaves the goal where it is.
            let other = at - self.dice.below(at + 1);
            goals.swap(at, other);
        }
    }
}

/// Shows a term when it is complete.
const SHOW: &str = "\
show(ok,X) :- true | builtin:print(X).
ground(X,R) :- integer(X) | R = ok.
ground(X,R) :- atom(X) | R = ok.
ground(X,R) :- string(X,_,_) | R = ok.
ground(X,R) :- float(X) | R = ok.
ground([A|B],R) :- true | ground(A,Q), ground_more(Q,B,R).
ground(n(A,B,C),R) :- true | ground([A,B,C],R).
ground_more(ok,X,R) :- true | ground(X,R).
";

/// What became of a part.
const OUTCOME: &str = "\
outcome(succeeded,X) :- true | X = succeeded.
outcome(failed(_),X) :- true | X = failed.
succeeds(succeeded).
wrong(0).
";

const ELEMENTS: &str = "\
elements(V,L) :- vector(V,N) | elements(V,0,N,L).
elements(V,I,N,L) :- I < N, vector_element(V,I,E) | L = [E|T], J := I+1, elements(V,J,N,T).
elements(V,I,N,L) :- I >= N | L = [].
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpret::{Options, Outcome, Report, Schedule, run};
    use syntax::source::SourceMap;
    use term::AtomTable;

    const STEPS_MAX: u64 = 2_000_000;

    fn execute(text: &str, schedule: Schedule) -> Report {
        let mut sources = SourceMap::default();
        let library = include_str!("../../../../library/shoen.kl1");
        let files = [("fuzz.kl1", text), ("library/shoen.kl1", library)]
            .map(|(name, text)| sources.add(name.into(), text.as_bytes().to_vec()));
        let atoms = AtomTable::new();
        let (program, diagnostics) = syntax::read_program(&sources, &files, &atoms);
        let errors: Vec<_> =
            diagnostics.iter().filter(|d| d.severity == syntax::diagnostic::Severity::Error).collect();
        assert!(errors.is_empty(), "{errors:?}\n{text}");
        let report = run(&program, &atoms, Options { schedule, ..Options::bare(STEPS_MAX) });
        assert!(report.outcome.exit_status().is_some(), "{:?}\n{text}", report.outcome);
        report
    }

    /// What P2 promises to be the same for every order.
    fn essence(report: &Report) -> (&'static str, &[u8]) {
        match &report.outcome {
            Outcome::Success => ("success", &report.stdout),
            Outcome::Deadlock { .. } => ("deadlock", &report.stdout),
            Outcome::Failure { .. } | Outcome::Error { .. } => ("failure", b""),
            other => panic!("the oracle gives up: {other:?}"),
        }
    }

    fn bytes(seed: u64) -> Vec<u8> {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        };
        (0..400).map(|_| next()).collect()
    }

    #[test]
    fn no_bytes_give_the_simplest_program() {
        let report = execute(&program(&[]), Schedule::Textual);
        assert_eq!((report.outcome, report.stdout.as_slice()), (Outcome::Success, &b"[0]\n"[..]));
    }

    #[test]
    fn programs_end_alike_in_every_order() {
        let mut successes = 0;
        let mut distinct = std::collections::BTreeSet::new();
        for seed in 0..150 {
            let text = program(&bytes(seed));
            let textual = execute(&text, Schedule::Textual);
            let expected = essence(&textual);
            for order in 0..3 {
                let shuffled = execute(&text, Schedule::Shuffled(order));
                assert_eq!(essence(&shuffled), expected, "seed {seed}, order {order}\n{text}");
            }
            successes += usize::from(expected.0 == "success");
            distinct.insert(expected.1.to_vec());
        }
        assert!(successes > 100, "only {successes} of 150 programs succeed");
        assert!(distinct.len() > 80, "only {} different results", distinct.len());
    }
}
