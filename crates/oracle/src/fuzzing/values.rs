//! Values, expressions and the goals that define them.

use super::{Generator, Scope, Type};

const MODULI: [&str; 4] =
    ["97", "1152921504606846976", "9223372036854775807", "100000000000000000000000000000000000007"];
/// Small ones have 61 bits; the machine's words have 64.
pub(super) const INTEGERS: [&str; 20] = [
    "0",
    "1",
    "2",
    "3",
    "(-1)",
    "7",
    "10",
    "(-5)",
    "255",
    "1152921504606846975",
    "(-1152921504606846976)",
    "1152921504606846976",
    "(-1152921504606846977)",
    "4611686018427387904",
    "9223372036854775807",
    "9223372036854775808",
    "(-9223372036854775808)",
    "(-9223372036854775809)",
    "18446744073709551616",
    "123456789012345678901234567890",
];
const ATOMS: [&str; 5] = ["a", "b", "[]", "'hello world'", "(+)"];
const FLOATS: [&str; 6] = ["0.0", "1.5", "2.0", "-3.25", "1.0e10", "0.1"];
const STRINGS: [&str; 4] = ["\"a\"", "\"hello\"", "\"tab\\tquote\\\"\"", "\"zz\""];

impl Generator<'_> {
    pub(super) fn integer(&mut self) -> &'static str {
        if self.dice.one_in(2) {
            let favourites = self.favourites.clone();
            return self.dice.pick(&favourites);
        }
        self.dice.pick(&INTEGERS)
    }
    pub(super) fn atom(&mut self) -> &'static str {
        self.dice.pick(&ATOMS)
    }
    pub(super) fn string(&mut self) -> &'static str {
        self.dice.pick(&STRINGS)
    }
    pub(super) fn float(&mut self) -> &'static str {
        self.dice.pick(&FLOATS)
    }

    /// A variable of the scope: integers and atoms any, others only if they were not used before (P4).
    pub(super) fn known(&mut self, scope: &mut Scope, kind: Type) -> Option<String> {
        let free = matches!(kind, Type::Int | Type::Atom | Type::Float);
        let found: Vec<usize> = (0..scope.variables.len())
            .filter(|&at| scope.variables[at].kind == kind && (free || !scope.variables[at].used))
            .collect();
        if found.is_empty() {
            return None;
        }
        let variable = &mut scope.variables[found[self.dice.below(found.len())]];
        variable.used = true;
        Some(variable.name.clone())
    }

    /// An argument of this type: a constant, a known variable, or a variable that new goals define.
    pub(super) fn value(&mut self, scope: &mut Scope, kind: Type, depth: usize) -> String {
        match self.dice.below(4) {
            0 => self.constant(scope, kind, depth),
            3 if depth > 0 => self.defined(scope, kind, depth - 1),
            _ => match self.known(scope, kind) {
                Some(name) => name,
                None => self.constant(scope, kind, depth),
            },
        }
    }

    /// A term that is written out; its parts may be any values.
    fn constant(&mut self, scope: &mut Scope, kind: Type, depth: usize) -> String {
        let depth = depth.saturating_sub(1);
        match kind {
            Type::Int => self.integer().to_string(),
            Type::Atom => self.atom().to_string(),
            Type::String => self.string().to_string(),
            Type::Float => self.float().to_string(),
            Type::Mixed => {
                let kind = self.one_of_mixed();
                self.value(scope, kind, depth)
            }
            Type::List => {
                let count = self.dice.below(7);
                let items: Vec<String> = (0..count).map(|_| self.value(scope, Type::Int, depth)).collect();
                if count > 0 && self.dice.one_in(3) {
                    let tail = self.value(scope, Type::List, depth);
                    return format!("[{}|{tail}]", items.join(","));
                }
                format!("[{}]", items.join(","))
            }
            Type::Tree if depth > 0 && self.dice.one_in(2) => {
                let left = self.value(scope, Type::Tree, depth);
                let label = self.value(scope, Type::Int, depth);
                format!("n({left},{label},{})", self.value(scope, Type::Tree, depth))
            }
            Type::Tree => "t".to_string(),
            Type::Vector => {
                let count = 1 + self.dice.below(4);
                let items: Vec<String> = (0..count).map(|_| self.value(scope, Type::Int, depth)).collect();
                format!("{{{}}}", items.join(","))
            }
        }
    }

    fn one_of_mixed(&mut self) -> Type {
        use Type::{Atom, Float, Int, List, String, Tree};
        self.dice.pick(&[Int, Int, Atom, String, Float, List, Tree])
    }

    /// A variable with goals that give it a value.
    pub(super) fn defined(&mut self, scope: &mut Scope, kind: Type, depth: usize) -> String {
        let name = scope.fresh();
        self.define(scope, &name, kind, depth);
        name
    }

    /// Adds goals that give `name` a value.
    pub(super) fn define(&mut self, scope: &mut Scope, name: &str, kind: Type, depth: usize) {
        if depth > 0 && self.dice.below(5) > 2 && self.call(scope, name, kind, depth - 1) {
            return;
        }
        match kind {
            Type::Int => self.define_integer(scope, name, depth),
            Type::Atom | Type::List | Type::Tree if depth > 0 && self.dice.one_in(4) => {
                self.define_by_condition(scope, name, kind, depth)
            }
            Type::List => self.define_list(scope, name, depth),
            Type::Float if depth > 0 => {
                let value = self.float_expression(scope, depth);
                scope.goals.push(format!("{name} $:= {value}"));
            }
            Type::Tree if depth > 0 && self.dice.one_in(3) => self.define_tree(scope, name, depth),
            Type::String if depth > 0 && self.dice.one_in(2) => self.define_string(scope, name, depth),
            Type::Vector if depth > 0 && self.dice.one_in(2) => self.define_vector(scope, name, depth),
            _ => {
                let value = self.constant(scope, kind, depth);
                scope.goals.push(format!("{name} = {value}"));
            }
        }
        scope.add(name, kind);
    }

    fn define_integer(&mut self, scope: &mut Scope, name: &str, depth: usize) {
        let goal = match self.dice.below(if depth == 0 { 3 } else { 12 }) {
            11 => return self.define_by_wide_term(scope, name, depth),
            0 => format!("{name} = {}", self.integer()),
            1 | 2 => format!("{name} := {}", self.expression(scope, depth)),
            3 => return self.define_by_condition(scope, name, Type::Int, depth),
            4 => return self.define_element(scope, name, Type::Vector, depth),
            5 => return self.define_element(scope, name, Type::String, depth),
            6 => {
                let (a, b) =
                    (self.value(scope, Type::Int, depth - 1), self.value(scope, Type::Int, depth - 1));
                format!("{}({a},{b},{name})", self.dice.pick(&["add", "subtract", "and", "exclusive_or"]))
            }
            9 => return self.define_by_messages(scope, name, depth),
            10 => {
                self.helpers.push(COMPARED);
                let kind = self.dice.pick(&[Type::List, Type::Tree, Type::String, Type::Float, Type::Atom]);
                let (a, b) = (self.value(scope, kind, depth - 1), self.value(scope, kind, depth - 1));
                format!("compared({a},{b},{name})")
            }
            7 => {
                self.helpers.push(SUM);
                self.helpers.push(MERGED);
                let (a, b) =
                    (self.value(scope, Type::List, depth - 1), self.value(scope, Type::List, depth - 1));
                format!("merged_sum({a},{b},{name})")
            }
            _ => {
                self.helpers.push(SUM);
                let list = self.value(scope, Type::List, depth - 1);
                format!("sum({list},~({}),{name})", self.expression(scope, 1))
            }
        };
        scope.goals.push(goal);
    }

    /// An element of a vector or list that the clause builds at once: 600 to 5,000 elements.
    fn define_by_wide_term(&mut self, scope: &mut Scope, name: &str, depth: usize) {
        let items = [self.value(scope, Type::Int, depth - 1), self.value(scope, Type::Int, depth - 1)];
        let width = self.dice.pick(&[600, 1_020, 1_030, 3_080, 5_000]);
        let items: Vec<&str> = items.iter().map(String::as_str).cycle().take(width).collect();
        let (items, wide) = (items.join(","), scope.fresh());
        if self.dice.one_in(2) {
            self.helpers.push(LAST);
            scope.goals.push(format!("{wide} = [{items}], last({wide},{name})"));
        } else {
            let at = self.dice.below(width.min(256));
            scope.goals.push(format!("{wide} = {{{items}}}, vector_element({wide},{at},{name})"));
        }
    }

    fn define_list(&mut self, scope: &mut Scope, name: &str, depth: usize) {
        let goal = match self.dice.below(if depth == 0 { 1 } else { 7 }) {
            2 => {
                self.helpers.push(APPEND);
                let (a, b) =
                    (self.value(scope, Type::List, depth - 1), self.value(scope, Type::List, depth - 1));
                format!("append({a},{b},{name})")
            }
            3 => {
                self.helpers.push(COUNT);
                let from = self.value(scope, Type::Int, depth - 1);
                format!("count({},{from},{name})", self.dice.below(12))
            }
            4 => {
                self.helpers.push(TAKE);
                let (range, seed) = (1 + self.dice.below(100), self.dice.below(5));
                let numbers = scope.fresh();
                scope.goals.push(format!("generic:new(random_numbers,{numbers},{range},{seed})"));
                format!("take({},{numbers},{name})", self.dice.below(6))
            }
            6 => {
                self.helpers.push(MAP);
                let list = self.value(scope, Type::List, depth - 1);
                format!("map(predicate#(main:{}/2),{list},{name})", self.dice.pick(&["twice", "parity"]))
            }
            5 => {
                self.helpers.push(super::ELEMENTS);
                let vector = self.value(scope, Type::Vector, depth - 1);
                format!("elements({vector},{name})")
            }
            _ => format!("{name} = {}", self.constant(scope, Type::List, depth)),
        };
        scope.goals.push(goal);
    }

    /// The answer of a process that gets incomplete messages.
    fn define_by_messages(&mut self, scope: &mut Scope, name: &str, depth: usize) {
        self.helpers.push(SERVER);
        let mut messages = Vec::new();
        for _ in 0..1 + self.dice.below(4) {
            messages.push(match self.dice.below(3) {
                0 => "get(_)".to_string(),
                1 => format!("add({})", self.value(scope, Type::Int, depth - 1)),
                _ => {
                    let answer = scope.fresh();
                    scope.add(&answer, Type::Int);
                    format!("get({answer})")
                }
            });
        }
        let state = self.integer();
        scope.goals.push(format!("server([{},get({name})],{state})", messages.join(",")));
    }

    /// A float expression.
    fn float_expression(&mut self, scope: &mut Scope, depth: usize) -> String {
        if depth == 0 {
            return self.value(scope, Type::Float, 0);
        }
        let a = self.float_expression(scope, depth - 1);
        let choice = self.dice.below(8);
        match choice {
            0 => a,
            1 => format!("sqrt({a})"),
            2 => format!("floor({a})"),
            3 => format!("float({})", self.expression(scope, 1)),
            _ => {
                let b = self.float_expression(scope, depth - 1);
                format!("({a} {} {b})", self.dice.pick(&["+", "-", "*", "/"]))
            }
        }
    }

    /// A tree that builtins make of its parts, or of another one.
    fn define_tree(&mut self, scope: &mut Scope, name: &str, depth: usize) {
        let (left, right) =
            (self.value(scope, Type::Tree, depth - 1), self.value(scope, Type::Tree, depth - 1));
        let label = self.value(scope, Type::Int, depth - 1);
        let made = scope.fresh();
        scope.goals.push(format!("functor_table:({made} =.. [n,{left},{label},{right}])"));
        let goal = match self.dice.below(4) {
            0 => format!("{name} = {made}"),
            1 => format!("arg({},{made},{name})", self.dice.pick(&[1, 3])),
            2 => format!("setarg({},{made},_,{left},{name})", self.dice.pick(&[1, 3])),
            _ => format!("setarg(2,{made},{},{name})", self.value(scope, Type::Int, depth - 1)),
        };
        scope.goals.push(goal);
    }

    fn define_string(&mut self, scope: &mut Scope, name: &str, depth: usize) {
        let string = self.value(scope, Type::String, depth - 1);
        if self.dice.one_in(2) {
            let other = self.value(scope, Type::String, depth - 1);
            return scope.goals.push(format!("generic:join({string},{other},{name})"));
        }
        let (index, sized) = self.index(scope, Type::String, &string);
        let byte = scope.fresh();
        let value = self.expression(scope, 1);
        scope.goals.push(format!("{byte} := ({value}) /\\ 127"));
        scope.goals.push(format!("set_string_element({sized},{index},{byte},{name})"));
    }

    fn define_vector(&mut self, scope: &mut Scope, name: &str, depth: usize) {
        if self.dice.one_in(4) {
            return scope.goals.push(format!("new_vector({name},{})", 1 + self.dice.below(5)));
        }
        let vector = self.value(scope, Type::Vector, depth - 1);
        let element = self.value(scope, Type::Int, depth - 1);
        let (index, sized) = self.index(scope, Type::Vector, &vector);
        scope.goals.push(match self.dice.below(3) {
            0 => format!("set_vector_element({sized},{index},{element},{name})"),
            1 => format!("set_vector_element({sized},{index},_,{element},{name})"),
            _ => format!("generic:set_element({sized},{index},{element},{name})"),
        });
    }

    fn define_element(&mut self, scope: &mut Scope, name: &str, kind: Type, depth: usize) {
        let object = self.value(scope, kind, depth - 1);
        let (index, sized) = self.index(scope, kind, &object);
        let builtin = if kind == Type::Vector { "vector_element" } else { "string_element" };
        let builtin = if self.dice.one_in(3) { "generic:element" } else { builtin };
        scope.goals.push(format!("{builtin}({sized},{index},{name})"));
    }

    /// A variable with a valid index of a vector or string, and the object again.
    fn index(&mut self, scope: &mut Scope, kind: Type, object: &str) -> (String, String) {
        let (size, sized, index) = (scope.fresh(), scope.fresh(), scope.fresh());
        scope.goals.push(match kind {
            Type::Vector => format!("vector({object},{size},{sized})"),
            _ => format!("string({object},{size},_,{sized})"),
        });
        let number = self.expression(scope, 1);
        scope.goals.push(format!("{index} := (({number}) mod {size} + {size}) mod {size}"));
        (index, sized)
    }

    /// `( Test -> .. ; otherwise ; true -> .. )`.
    fn define_by_condition(&mut self, scope: &mut Scope, name: &str, kind: Type, depth: usize) {
        let (a, mut b) = (self.expression(scope, 1), self.expression(scope, 1));
        if a == b {
            // A comparison that cannot hold is left out: nothing waits for its operands.
            b = "0".into();
        }
        let compare = self.dice.pick(&["<", "=<", ">", ">=", "=:=", "=\\="]);
        let yes = self.branch(scope, name, kind, depth);
        let no = self.branch(scope, name, kind, depth);
        scope.goals.push(format!("( {a} {compare} {b} -> {yes} ; otherwise ; true -> {no} )"));
    }

    /// The goals of one branch. They may use outer variables; theirs are not seen outside.
    fn branch(&mut self, scope: &mut Scope, name: &str, kind: Type, depth: usize) -> String {
        let outer = std::mem::take(&mut scope.goals);
        let known = scope.variables.len();
        if kind == Type::Int {
            let value = self.expression(scope, depth - 1);
            scope.goals.push(format!("{name} := {value}"));
        } else {
            let value = self.value(scope, kind, depth - 1);
            scope.goals.push(format!("{name} = {value}"));
        }
        scope.variables.truncate(known);
        std::mem::replace(&mut scope.goals, outer).join(", ")
    }

    /// A call of a predicate that has an output of this type. False if there is none.
    pub(super) fn call(&mut self, scope: &mut Scope, name: &str, kind: Type, depth: usize) -> bool {
        let candidates: Vec<usize> = (0..self.signatures.len())
            .filter(|&at| self.signatures[at].outputs.contains(&kind))
            .filter(|&at| {
                let callee = &self.signatures[at];
                scope.fuel.is_some() || (!callee.fuel && callee.name < scope.name)
            })
            .collect();
        if candidates.is_empty() {
            return false;
        }
        let signature = self.signatures[candidates[self.dice.below(candidates.len())]].clone();
        let mut arguments = Vec::new();
        if signature.fuel {
            arguments.extend(scope.fuel.clone());
        }
        for &input in &signature.inputs {
            arguments.push(self.value(scope, input, depth));
        }
        let wanted =
            signature.outputs.iter().position(|&output| output == kind).expect("candidates have one");
        let mut others = Vec::new();
        for (at, &output) in signature.outputs.iter().enumerate() {
            if at == wanted {
                arguments.push(name.to_string());
            } else {
                let other = scope.fresh();
                arguments.push(other.clone());
                others.push((other, output));
            }
        }
        let called = &signature.name;
        let object = format!("predicate#(main:{called}/{})", arguments.len());
        let arguments = arguments.join(",");
        scope.goals.push(match self.dice.below(16) {
            9 => format!("apply({object},{{{arguments}}})"),
            10 => format!("generic:call({object},{arguments})"),
            11 => format!("main:{called}({arguments})"),
            12 => format!("{called}({arguments})@lower_priority"),
            13 => format!("{called}({arguments})@priority({})", self.dice.below(200)),
            14 => format!("{called}({arguments})@lower_priority({})", self.dice.below(10)),
            15 => format!("{called}({arguments})@node(0)"),
            _ => format!("{called}({arguments})"),
        });
        scope.add(name, kind);
        for (other, output) in others {
            scope.add(&other, output);
        }
        true
    }

    /// An integer expression.
    pub(super) fn expression(&mut self, scope: &mut Scope, depth: usize) -> String {
        if depth == 0 {
            return self.value(scope, Type::Int, 0);
        }
        let a = self.expression(scope, depth - 1);
        let choice = self.dice.below(13);
        if choice < 2 {
            return a;
        }
        let b = self.expression(scope, depth - 1);
        let small = 1 + self.dice.below(70);
        match choice {
            2 | 3 => format!("({a}+{b})"),
            4 => format!("({a}-{b})"),
            5 => format!("(({a}*{b}) mod {})", self.dice.pick(&MODULI)),
            6 => format!("({a}/{small})"),
            7 => format!("({a} mod {small})"),
            8 => format!("({a} {} {b})", self.dice.pick(&["/\\", "\\/", "xor"])),
            9 => format!("(({a}<<{small}) mod {})", MODULI[3]),
            10 => format!("({a}>>{small})"),
            11 if self.dice.one_in(8) => format!("({a}/{b})"),
            11 => format!("(-({a}))"),
            _ => format!("( \\({a}))"),
        }
    }
}

const SUM: &str = "\
sum([],A,R) :- true | R = A.
sum([X|Xs],A,R) :- true | B := A+X, sum(Xs,B,R).
";
const MERGED: &str = "merged_sum(A,B,R) :- true | merge({A,B},S), sum(S,0,R).\n";
const LAST: &str = "\
last([X],R) :- true | R = X.
last([_,X|Xs],R) :- true | last([X|Xs],R).
";
const APPEND: &str = "\
append([],Y,Z) :- true | Z = Y.
append([A|X],Y,Z) :- true | Z = [A|W], append(X,Y,W).
";
const COUNT: &str = "\
count(0,_,L) :- true | L = [].
count(N,X,L) :- N > 0 | L = [X|T], N1 := N-1, X1 := X+N, count(N1,X1,T).
";
const TAKE: &str = "\
take(0,_,L) :- true | L = [].
take(N,[X|Xs],L) :- N > 0 | L = [X|T], N1 := N-1, take(N1,Xs,T).
";
const COMPARED: &str = "\
compared(X,Y,R) :- compare(X,Y,C) | R = C.
";
const MAP: &str = "\
map(_,[],L) :- true | L = [].
map(P,[X|Xs],L) :- true | L = [Y|Ys], map(P,Xs,Ys), apply(P,{X,Y}).
twice(X,Y) :- true | Y := X+X.
parity(X,Y) :- X /\\ 1 =:= 0 | Y = 0.
parity(X,Y) :- X /\\ 1 =:= 1 | Y = 1.
";
const SERVER: &str = "\
server([],_) :- true | true.
server([add(N)|Ms],S) :- true | S1 := S+N, server(Ms,S1).
server([get(V)|Ms],S) :- wait(S) | V = S, server(Ms,S).
";
