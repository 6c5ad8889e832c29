//! Clauses of the generated predicates: fuelled functions, and traversals of lists.

use super::{Generator, Scope, Signature, Type};
use std::fmt::Write as _;

/// A clause's head arguments and guard, and what they make known.
struct Front {
    arguments: Vec<String>,
    guard: Vec<String>,
    scope: Scope,
    /// The results are constants.
    constant: bool,
}

impl Front {
    fn new(signature: &Signature) -> Front {
        let mut scope = Scope { name: signature.name.clone(), ..Scope::default() };
        let mut arguments = Vec::new();
        for (at, &kind) in signature.inputs.iter().enumerate() {
            let name = format!("A{at}");
            scope.add(&name, kind);
            arguments.push(name);
        }
        Front { arguments, guard: Vec::new(), scope, constant: false }
    }
    /// Replaces an argument by a pattern with these variables.
    fn pattern(&mut self, at: usize, pattern: &str, variables: &[(&str, Type)]) {
        let name = std::mem::replace(&mut self.arguments[at], pattern.to_string());
        self.scope.variables.retain(|variable| variable.name != name);
        for (name, kind) in variables {
            self.scope.add(name, *kind);
        }
    }
}

/// What separates a clause from the one before.
const OTHERWISE: &str = "otherwise.\n";
/// Tests of what a value is from outside.
const OUTSIDES: [&str; 7] = ["integer", "atom", "atomic", "string", "float", "list", "wait"];

impl Generator<'_> {
    /// A predicate with fuel: without fuel constant results, else clauses that may call anything with less of it.
    pub(super) fn function(&mut self, signature: &Signature) {
        let mut front = Front::new(signature);
        front.guard.push("F =< 0".into());
        self.clause(signature, front, "", 0);
        let fronts = self.fronts(signature);
        for (number, (separator, mut front)) in fronts.into_iter().enumerate() {
            let separator = if number == 0 { OTHERWISE } else { separator };
            if front.constant {
                front.scope.variables.clear();
                self.clause(signature, front, separator, 0);
                continue;
            }
            front.scope.goals.push("F1 := F-1".into());
            front.scope.fuel = Some("F1".into());
            self.clause(signature, front, separator, 2);
        }
    }

    /// Fronts that exclude each other, are ordered by `otherwise`, or test one integer only (P2).
    fn fronts(&mut self, signature: &Signature) -> Vec<(&'static str, Front)> {
        let at = self.dice.below(signature.inputs.len());
        let mut fronts = match self.dice.below(5) {
            0 => vec![],
            1 if signature.inputs.iter().filter(|&&kind| kind == Type::Int).count() > 1 => {
                self.two_integers(signature)
            }
            3 => self.layers(signature),
            4 => self.literals(signature),
            _ => self.dispatch(signature, at),
        };
        // Without the last clause the predicate may fail.
        if fronts.is_empty() || !self.dice.one_in(24) {
            let separator = if fronts.is_empty() { "" } else { OTHERWISE };
            fronts.push((separator, Front::new(signature)));
        }
        fronts
    }

    /// Clauses by the form of one argument.
    fn dispatch(&mut self, signature: &Signature, at: usize) -> Vec<(&'static str, Front)> {
        use Type::{Int, List, Tree};
        let patterns: Vec<(String, Vec<(&str, Type)>)> = match signature.inputs[at] {
            Int if self.dice.one_in(4) => return self.rows(signature, at),
            Int => return self.integer_tests(signature, at),
            List if self.dice.one_in(2) => vec![
                ("[]".into(), vec![]),
                ("[X]".into(), vec![("X", Int)]),
                ("[X,Y|Z]".into(), vec![("X", Int), ("Y", Int), ("Z", List)]),
            ],
            List => vec![("[X|Y]".into(), vec![("X", Int), ("Y", List)]), ("[]".into(), vec![])],
            Tree if self.dice.one_in(2) => vec![
                ("n(t,X,Y)".into(), vec![("X", Int), ("Y", Tree)]),
                ("n(n(W,X,Y),Z,t)".into(), vec![("W", Tree), ("X", Int), ("Y", Tree), ("Z", Int)]),
                ("n(n(W,X,Y),Z,n(_,_,_))".into(), vec![("W", Tree), ("X", Int), ("Y", Tree), ("Z", Int)]),
            ],
            Tree => {
                vec![("t".into(), vec![]), ("n(X,Y,Z)".into(), vec![("X", Tree), ("Y", Int), ("Z", Tree)])]
            }
            Type::Atom => {
                let first = self.dice.below(3);
                ["a", "b", "[]"][first..].iter().map(|atom| (atom.to_string(), vec![])).collect()
            }
            Type::String => vec![(self.string().to_string(), vec![])],
            Type::Mixed => return self.outsides(signature, at),
            Type::Vector | Type::Float => return self.layers(signature),
        };
        let mut fronts = Vec::new();
        for (pattern, variables) in patterns {
            let mut front = Front::new(signature);
            front.pattern(at, &pattern, &variables);
            fronts.push(("", front));
        }
        fronts
    }

    /// Many clauses that differ in constants, of a few kinds: a table.
    fn rows(&mut self, signature: &Signature, at: usize) -> Vec<(&'static str, Front)> {
        let second = signature.inputs.iter().position(|&kind| kind == Type::Atom);
        let mut fronts = Vec::new();
        for number in -8..40 {
            let mut front = Front::new(signature);
            let key = if self.dice.one_in(8) { self.integer().to_string() } else { number.to_string() };
            front.pattern(at, &key, &[]);
            if let Some(second) = second {
                let atom = self.dice.pick(&["a", "b", "[]"]);
                front.pattern(second, atom, &[]);
            }
            front.constant = true;
            fronts.push(("", front));
        }
        fronts
    }

    /// Overlapping tests of one integer: textual order decides, at the moment it is bound.
    fn integer_tests(&mut self, signature: &Signature, at: usize) -> Vec<(&'static str, Front)> {
        let mut fronts = Vec::new();
        for _ in 0..1 + self.dice.below(3) {
            let mut front = Front::new(signature);
            if self.dice.one_in(3) {
                let constant = self.integer();
                front.pattern(at, constant, &[]);
            } else {
                let test = self.integer_test(&front.arguments[at].clone());
                front.guard.push(test);
            }
            fronts.push(("", front));
        }
        fronts
    }

    /// Overlapping tests of what an argument is from outside: textual order decides, at the moment it is bound.
    fn outsides(&mut self, signature: &Signature, at: usize) -> Vec<(&'static str, Front)> {
        let mut fronts = Vec::new();
        // Many of them become a table.
        let (count, kinds) = if self.dice.one_in(6) { (40, 4) } else { (2 + self.dice.below(5), 9) };
        for number in 0..count {
            let mut front = Front::new(signature);
            let name = front.arguments[at].clone();
            let test = match self.dice.below(kinds) {
                0 => Err(self.integer()),
                1 => Err(self.atom()),
                2 if kinds == 4 => Err(self.dice.pick(&["p", "q", "r", "s", "4", "5", "6", "8"])),
                2 => Err(self.string()),
                3 if kinds == 4 => Err(self.dice.pick(&["11", "12", "13", "14", "u", "v", "w", "z"])),
                3 => Err(self.float()),
                4 => Err(self.dice.pick(&["[_|_]", "n(_,_,_)", "_"])),
                5 => Ok(format!("{name} \\= {}", self.integer())),
                6 => Ok(format!("{name} \\= {}", self.atom())),
                7 => Ok(self.integer_test(&name)),
                _ => Ok(format!("{}({name})", self.dice.pick(&OUTSIDES))),
            };
            match test {
                Ok(guard) => front.guard.push(guard),
                Err(pattern) => front.pattern(at, pattern, &[]),
            }
            front.constant = count == 40;
            fronts.push((if number > 0 && self.dice.one_in(8) { OTHERWISE } else { "" }, front));
        }
        fronts
    }

    /// Literals in heads and tests of integers, several in a clause, each clause in a layer of its own.
    fn literals(&mut self, signature: &Signature) -> Vec<(&'static str, Front)> {
        let mut fronts = Vec::new();
        for number in 0..2 + self.dice.below(4) {
            let mut front = Front::new(signature);
            for (at, &kind) in signature.inputs.iter().enumerate() {
                let name = front.arguments[at].clone();
                match (kind, self.dice.below(5)) {
                    (Type::Int | Type::Mixed, 0 | 1) => {
                        let literal = self.integer();
                        front.pattern(at, literal, &[]);
                    }
                    (Type::Int | Type::Mixed, 2) => {
                        let test = self.integer_test(&name).replace('G', &format!("G{at}"));
                        front.guard.push(test);
                    }
                    (Type::List, 0) => {
                        let pattern = format!("[{}|X{at}]", self.integer());
                        front.pattern(at, &pattern, &[(&format!("X{at}"), Type::List)]);
                    }
                    (Type::List, 1) => front.guard.push(format!("{name} = [_,{}|_]", self.integer())),
                    (Type::Tree, 0) => {
                        let pattern = format!("n(_,{},X{at})", self.integer());
                        front.pattern(at, &pattern, &[(&format!("X{at}"), Type::Tree)]);
                    }
                    (Type::Vector, 0) => front.guard.push(format!("{name} = {{{},_}}", self.integer())),
                    _ => {}
                }
            }
            fronts.push((if number == 0 { "" } else { OTHERWISE }, front));
        }
        fronts
    }

    fn integer_test(&mut self, name: &str) -> String {
        let compare = self.dice.pick(&["<", "=<", ">", ">=", "=:=", "=\\="]);
        let constant = self.integer();
        match self.dice.below(6) {
            0 | 1 => format!("{name} {compare} {constant}"),
            2 => format!("{name} mod 3 =:= {}", self.dice.below(3)),
            3 => format!("{name}*{name}-{constant} {compare} {name}+{name}"),
            4 => format!("G := {name} xor {constant}, G {compare} 5"),
            _ => format!("( {name} {compare} {constant} ; {name} =:= 2 )"),
        }
    }

    /// Equal integers in the head, or a comparison of two.
    fn two_integers(&mut self, signature: &Signature) -> Vec<(&'static str, Front)> {
        let integers: Vec<usize> =
            (0..signature.inputs.len()).filter(|&at| signature.inputs[at] == Type::Int).collect();
        let (first, second) = (integers[0], integers[1]);
        let mut equal = Front::new(signature);
        equal.pattern(second, &format!("A{first}"), &[]);
        let mut less = Front::new(signature);
        less.guard.push(format!("A{first} < A{second}"));
        if self.dice.one_in(2) {
            less.guard.insert(0, format!("wait(A{second})"));
        }
        vec![("", equal), (OTHERWISE, less)]
    }

    /// Any guards, each clause in a layer of its own.
    fn layers(&mut self, signature: &Signature) -> Vec<(&'static str, Front)> {
        let mut fronts = Vec::new();
        for number in 0..1 + self.dice.below(3) {
            let mut front = Front::new(signature);
            for _ in 0..1 + self.dice.below(2) {
                let at = self.dice.below(signature.inputs.len());
                let test = self.test(signature, at);
                front.guard.push(test);
            }
            fronts.push((if number == 0 { "" } else { OTHERWISE }, front));
        }
        fronts
    }

    fn test(&mut self, signature: &Signature, at: usize) -> String {
        let name = format!("A{at}");
        let other = self.dice.below(signature.inputs.len());
        let choice = self.dice.below(5);
        match (signature.inputs[at], choice) {
            // Terms of any types can be compared; vectors only when complete, so they are left out.
            (Type::Vector, _) => {
                let number = self.integer();
                format!("vector({name},N{at}), N{at} > 1, vector_element({name},1,E{at}), E{at} < {number}")
            }
            (Type::Float, 0 | 1) => {
                format!(
                    "{name} {} {}",
                    self.dice.pick(&["$<", "$>=", "$=:="]),
                    self.dice.pick(&["0.0", "1.5", "100.0"])
                )
            }
            (_, 2) if signature.inputs[other] != Type::Vector => {
                format!("{name} {} A{other}", self.dice.pick(&["@<", "@>="]))
            }
            (_, 3) if signature.inputs[other] != Type::Vector => format!("{name} \\= A{other}"),
            (kind, 4) if signature.inputs[other] == kind => format!("{name} = A{other}"),
            (Type::Int, _) => self.integer_test(&name).replace('G', &format!("G{at}")),
            (Type::Mixed, _) => format!("{}({name})", self.dice.pick(&OUTSIDES)),
            (Type::String, _) => {
                format!("string({name},N{at},_), N{at} > 1, string_element({name},0,E{at}), E{at} > 100")
            }
            (Type::Float, _) => format!("float({name})"),
            (Type::Atom, _) => format!("{name} = {}", self.atom()),
            (Type::List, 0) => format!("list({name})"),
            (Type::List, _) => format!("{name} = [H{at}|_], H{at} > 3"),
            (Type::Tree, 0) => format!("atom({name})"),
            (Type::Tree, _) => format!("functor({name},_,3), arg(2,{name},E{at}), E{at} >= 0"),
        }
    }

    /// A predicate that goes down its first argument, a list.
    pub(super) fn traversal(&mut self, signature: &Signature) {
        let stream = signature.outputs[0] == Type::List;
        let mut end = Front::new(signature);
        end.pattern(0, "[]", &[]);
        self.clause(signature, end, "", 1);
        for number in 0..1 + self.dice.below(2) {
            let mut front = Front::new(signature);
            front.pattern(0, "[X|Xs]", &[("X", Type::Int)]);
            if number == 0 && self.dice.one_in(2) {
                let test = self.integer_test("X");
                front.guard.push(test);
            }
            self.step(signature, front, if number == 0 { "" } else { OTHERWISE }, stream);
        }
        // With a test on the first of the clauses for cells another one must follow.
        let mut last = Front::new(signature);
        last.pattern(0, "[X|Xs]", &[("X", Type::Int)]);
        self.step(signature, last, OTHERWISE, stream);
    }

    /// A traversal that threads a state through argument pairs: it returns the last state.
    pub(super) fn pairs(&mut self, name: &str) {
        let test = self.integer_test("X");
        let mut updates = Vec::new();
        for _ in 0..3 {
            let constant = self.integer();
            updates.push(match self.dice.below(5) {
                0 => format!("S += {constant}"),
                1 => "S -= X".to_string(),
                2 => format!("S += X*{constant}"),
                3 => format!("S <== {constant}"),
                _ => format!("( S > X -> S += X ; otherwise ; true -> S -= {constant}, S += S )"),
            });
        }
        let _ = writeln!(
            self.text,
            "{name}([])-S :- true | true.\n{name}([X|Xs])-S :- {test} | {}, {name}(Xs)-S, {}.\n\
             {OTHERWISE}{name}([X|Xs])-S :- true | {}, {name}(Xs)-S.",
            updates[0], updates[1], updates[2]
        );
    }

    /// One clause for a cell: a result item when it makes a stream, and the recursive call with new accumulators.
    fn step(&mut self, signature: &Signature, mut front: Front, separator: &str, stream: bool) {
        let scope = &mut front.scope;
        let mut arguments = vec!["Xs".to_string()];
        for &kind in &signature.inputs[1..] {
            arguments.push(match kind {
                Type::Int => {
                    let name = scope.fresh();
                    let value = self.expression(scope, 2);
                    scope.goals.push(format!("{name} := {value}"));
                    name
                }
                kind => self.known(scope, kind).unwrap_or_else(|| self.value(scope, kind, 0)),
            });
        }
        let result = if stream && !self.dice.one_in(4) {
            let item = self.defined(scope, Type::Int, 1);
            scope.goals.push(format!("R0 = [{item}|Rest]"));
            "Rest".to_string()
        } else {
            "R0".to_string()
        };
        arguments.push(result);
        scope.goals.push(format!("{}({})", signature.name, arguments.join(",")));
        self.finish(signature, front, separator);
    }

    /// A clause whose body defines the outputs.
    fn clause(&mut self, signature: &Signature, mut front: Front, separator: &str, depth: usize) {
        for (at, &kind) in signature.outputs.iter().enumerate() {
            self.define(&mut front.scope, &format!("R{at}"), kind, depth);
        }
        self.finish(signature, front, separator);
    }

    fn finish(&mut self, signature: &Signature, mut front: Front, separator: &str) {
        self.shuffle(&mut front.scope.goals);
        let fuel = signature.fuel.then(|| "F".to_string());
        let outputs = (0..signature.outputs.len()).map(|at| format!("R{at}"));
        let arguments: Vec<String> = fuel.into_iter().chain(front.arguments).chain(outputs).collect();
        let guard = if front.guard.is_empty() { "true".to_string() } else { front.guard.join(", ") };
        let _ = writeln!(
            self.text,
            "{separator}{}({}) :- {guard} | {}.",
            signature.name,
            arguments.join(","),
            front.scope.goals.join(", ")
        );
    }
}
