//! Source text to clauses, and what is said about wrong text.

use expect_test::{Expect, expect};
use syntax::diagnostic::{Diagnostic, Severity};
use syntax::dump::dump_program;
use syntax::read_program;
use syntax::source::SourceMap;
use term::AtomTable;

fn read(text: &str) -> (String, Vec<String>) {
    let mut sources = SourceMap::default();
    let file = sources.add("test.kl1".to_string(), text.as_bytes().to_vec());
    let atoms = AtomTable::new();
    let (program, diagnostics) = read_program(&sources, &[file], &atoms);
    let lines = diagnostics.iter().map(|d| describe(d, &sources)).collect();
    (dump_program(&program, &atoms), lines)
}

fn describe(d: &Diagnostic, sources: &SourceMap) -> String {
    let (line, column) = sources.line_column(d.span.file, d.span.start);
    let text = &sources.file(d.span.file).text[d.span.start as usize..d.span.end as usize];
    let severity = if d.severity == Severity::Error { "error" } else { "warning" };
    let marked = String::from_utf8_lossy(text).replace('\n', "⏎");
    format!("{line}:{column} {severity}[{}] {} ({}) at `{marked}`", d.code, d.message, d.label)
}

/// The clauses of a text (in module m) that is right.
fn check(text: &str, expected: Expect) {
    let (dump, diagnostics) = read(&format!(":- module m.\n{text}"));
    let text = dump + &diagnostics.iter().map(|d| format!("{d}\n")).collect::<String>();
    expected.assert_eq(&text);
}

/// The diagnostics of a text.
fn check_errors(text: &str, expected: Expect) {
    let (_, diagnostics) = read(text);
    expected.assert_eq(&diagnostics.iter().map(|d| format!("{d}\n")).collect::<String>());
}

#[test]
fn plain_clauses() {
    check(
        "app([],Y,Z) :- true | Z = Y.
         app([A|X],Y,Z) :- true | Z = [A|Z1], app(X,Y,Z1).
         len([],N) :- N = 0.
         otherwise.
         len(_,N) :- integer(N), N > 3 | N := 1 + 2*N, m:len(X,X)@node(3).
         fact. fact(1,-2,1.5,\"s\",{a,B,B}).",
        expect![[r#"
            :- module m.
            % app/3
            app([],Y,Z) :- true | Z = Y.
            app([A|X],Y,Z) :- true | Z = [A|Z1], app(X,Y,Z1).
            % len/2
            len([],N) :- true | N = 0.
            otherwise.
            len(_0,N) :- integer(N), N > 3 | N := +(1,*(2,N)), m:len(X,X)@node(3).
            % fact/0
            fact :- true | true.
            % fact/5
            fact(1,-2,1.5,"s",{a,B,B}) :- true | true.
            6:42 warning[assigned-to-itself] a variable cannot get a new value from its old one (the same variable on both sides) at `N := 1 + 2*N`
        "#]],
    );
}

#[test]
fn argument_pairs_and_updates() {
    check(
        "count([])     -N :- true.
         count([a|Xs]) -N :- true | N += 1, count(Xs)-N.
         otherwise.
         count([_|Xs]) -N :- true | count(Xs)-N.
         main :- true | count([a,b,a])+0+R, builtin:print(R).
         send-S+T :- true | S <= hello(T), S <= bye, x(S) => T, p(T).
         local(Z) :- A = 1, A += 4, Z = A.
         set-S :- true | S <== f(S), generic:m(S)-S.
         guard-N :- N += 1, N > 3 | true.
         none-N :- true | true.",
        expect![[r#"
            :- module m.
            % count/3
            count([],N,$1) :- true | $1 = N.
            count([a|Xs],N,$3) :- true | $2 := +(N,1), count(Xs,$2,$3).
            otherwise.
            count([_0|Xs],N,$3) :- true | count(Xs,N,$3).
            % main/0
            main :- true | count([a,b,a],0,R), builtin:print(R).
            % send/3
            send(S,$3,T) :- true | S = [hello(T)|$2], $2 = [bye|$3], $4 = [x($3)|T], p($4).
            % local/1
            local(Z) :- true | A = 1, $2 := +(A,4), Z = $2.
            % set/2
            set(S,$2) :- true | $1 = f(S), generic:m($1,$1,$2).
            % guard/2
            guard(N,$2) :- $1 := +(N,1), $1 > 3 | $2 = $1.
            % none/2
            none(N,$1) :- true | $1 = N.
        "#]],
    );
}

#[test]
fn conditionals() {
    check(
        "p(X,R) :- true | (X > 0, (X < 5 ; X > 10) -> R = in ; otherwise ; true -> R = out).
         q(X)-N :- true | (X = a -> N += 1, (N > 3 -> N *= 2 ; N =< 3 -> true) ; X = b -> true), N -= 1.
         local(Z) :- A=1, A+=4, (A>3 -> A*=2 ; A=<3 -> true), Z=A.",
        expect![[r#"
            :- module m.
            % p/2
            p(X,R) :- true | p/2$0(X,R).
            % p/2$0/2 auxiliary
            p/2$0(X,R) :- X > 0, X < 5 | R = in.
            p/2$0(X,R) :- X > 0, X > 10 | R = in.
            otherwise.
            p/2$0(X,R) :- true | R = out.
            % q/3
            q(X,N,$3) :- true | q/3$0(X,N,$2), $3 := -($2,1).
            % q/3$0/3 auxiliary
            q/3$0(X,N,$3) :- X = a | $2 := +(N,1), q/3$1($2,$3).
            q/3$0(X,N,$2) :- X = b | $2 = N.
            % q/3$1/2 auxiliary
            q/3$1(N,$1) :- N > 3 | $1 := *(N,2).
            q/3$1(N,$1) :- N =< 3 | $1 = N.
            % local/1
            local(Z) :- true | A = 1, $2 := +(A,4), local/1$0($2,$3), Z = $3.
            % local/1$0/2 auxiliary
            local/1$0(A,$1) :- A > 3 | $1 := *(A,2).
            local/1$0(A,$1) :- A =< 3 | $1 = A.
            4:65 warning[state-variable-in-conditional] local state variable `A` keeps its updates after a conditional (has its last value here) at `A`
        "#]],
    );
}

#[test]
fn literals_and_expressions() {
    check(
        ":- with((Size = 10, Name = \"x\")).
         p(#\"a\", c#\"\\n\", key#lf, key#cr, key#up, 16#\"fF\", string#\"txt\", a#b).
         q(~(N-1),N,X) :- true | X = f(~(N*2), $~(1 + sin(N))), r(predicate#(m:p/2), module#m).
         quote(`(#(\"x\")), ``(~(1+2)), `(#(~(1)))).
         w(Size,X) :- X > Size | r(Name,Size).
         e(X,Y) :- X := - Y + +(Y) - \\(Y) /\\ int(Y), Y $:= X.
         g(X,Y) :- X @< Y, X \\= Y, X $< 1.5, less_than(X,Y), add(X,1,Y), generic:element(X,Y):Z:_ | add(X,Y,Z), floating_point_add(X,Y,Z), generic:new(merge,X,Y).",
        expect![[r#"
            :- module m.
            % p/8
            p(97,10,10,13,#(key,up),255,"txt",#(a,b)) :- true | true.
            % q/3
            q($1,N,X) :- $1 := -(N,1) | $3 := *(N,2), $4 := float:add(1.0,float:sin(N)), X = f($3,$4), r(predicate#(m:p/2),module#m).
            % quote/3
            quote(#("x"),~(+(1,2)),#($0)) :- $0 := 1 | true.
            % w/2
            w(10,X) :- X > 10 | r("x",10).
            % e/2
            e(X,Y) :- true | X := /\(-(+(neg(Y),+(0,Y)),\(Y)),float:int(Y)), Y := float:plus(X).
            % g/2
            g(X,Y) :- compare(X,Y,$2), $2 < 0, diff(X,Y), generic:less_than(X,1.5), X < Y, Y := +(X,1), generic:element(X,Y):Z:_4 | Z := +(X,Y), Z := float:add(X,Y), generic:new(merge,X,Y).
        "#]],
    );
}

#[test]
fn structure_errors() {
    check_errors(
        "p :- true.
:- module m.
p(X) :- true | X.
X :- true | true.
p(X) :- foo(X) | X < 3, (a -> b ; c).
q. p(1).
otherwise.
r :- a | b | c.
:- public p/1.
:- inline:\"int x;\".
a --> b.
r :- inline:\"x\" | p(X)-0, q@foo, (X = 1)@node(1), M:p(X).
s(Y) :- Y = 3, 3 + 4, generic:x(Y)@node(1).
p(Abc) :- true | q(_Abd), X := foo, Y := foo + X.
t(X)-X-X.
:- module m.
alternatively.",
        expect![[r#"
            1:1 error[module-missing] a file must begin with a module declaration (no module so far) at `p`
            3:16 error[illegal-goal] a body goal must be a call, a unification or an assignment (a variable) at `X`
            4:1 error[illegal-head] a head must be a name with or without arguments (a variable) at `X`
            5:18 error[illegal-goal] a comparison cannot be a body goal (only guards can test) at `X < 3`
            5:35 error[illegal-conditional] this is not a branch of a conditional (`Guard -> Goals` is expected) at `c`
            6:4 error[clauses-not-together] the clauses of `p/1` are not together (continues here) at `p(1)`
            7:1 warning[trailing-separator] no clauses of one predicate on both sides of this separator (has no effect) at `otherwise`
            8:10 error[illegal-goal] a clause has only one commit bar `|` (another one) at `b | c`
            9:4 warning[unknown-directive] this directive has no effect (ignored) at `public p/1`
            10:4 error[inline-c] C code cannot be used (inline C) at `inline:"int x;"`
            11:1 error[implicit-arguments] clauses with `-->` (implicit arguments of PIMOS) cannot be used (a PIMOS clause) at `a --> b`
            12:6 error[inline-c] C code cannot be used (inline C) at `inline:"x"`
            12:24 error[illegal-pair] `-` after a goal needs a state variable (not a variable) at `0`
            12:29 error[illegal-pragma] there is no such pragma (unknown pragma) at `foo`
            12:42 error[illegal-pragma] this goal cannot have a pragma (only calls of predicates can) at `node(1)`
            12:51 warning[singleton-variable] variable `M` occurs only once (no other occurrence in this clause) at `M`
            12:51 error[illegal-goal] the module of a call must be an atom (not an atom) at `M`
            13:16 error[illegal-goal] a body goal must be a call, a unification or an assignment (a number) at `3`
            13:36 warning[pragma-on-method] a pragma of a generic method has no effect (ignored) at `node(1)`
            14:1 error[clauses-not-together] the clauses of `p/1` are not together (continues here) at `p(Abc)`
            14:3 warning[singleton-variable] variable `Abc` occurs only once (no other occurrence in this clause) at `Abc`
            14:32 warning[unknown-expression] this is no integer expression (the term itself is used as the value) at `foo`
            14:37 warning[singleton-variable] variable `Y` occurs only once (no other occurrence in this clause) at `Y`
            14:42 error[unknown-expression] this is no integer (cannot be computed with) at `foo`
            15:8 error[illegal-pair] a head cannot have the same state variable twice (already a state variable of this head) at `X`
            16:4 error[duplicate-module] module `m` is declared twice (again here) at `module m`
            17:1 warning[trailing-separator] no clauses of one predicate on both sides of this separator (has no effect) at `alternatively`
        "#]],
    );
}

#[test]
fn syntax_errors() {
    check_errors(
        ":- module m.
p(a b).
p(a, [b|c,d]).
X = Y@p.
p :- a mod b mod c.
p() :- true.
p(X) :- true | q(X)
q(X) :- true | foo.
p(\"\\400\", 37'a).
p :- f(a:-b).
p :- X(a).
p(a)).
p :- (a.
good.
p :- \"abc.
",
        expect![[r#"
            2:5 error[syntax-error] an operator, `,` or `)` is expected (`b` cannot follow a complete term) at `b`
            3:10 error[syntax-error] an operator or `]` is expected (`,` cannot follow a complete term) at `,`
            4:6 error[operator-priority] `@` cannot stand here without parentheses (operators of priority 700 cannot follow each other like this) at `@`
            5:14 error[operator-priority] `mod` cannot stand here without parentheses (operators of priority 300 cannot follow each other like this) at `mod`
            6:1 error[syntax-error] an argument list cannot be empty (no arguments) at `p()`
            8:1 error[syntax-error] an operator or the end of the clause (`.`) is expected (`q` cannot follow a complete term) at `q`
            9:3 error[illegal-escape] an escape in this text has no value (octal and hexadecimal escapes stand for 0 to 255) at `"\400"`
            10:9 error[operator-priority] `:-` cannot stand here without parentheses (operator of priority 1200; at most 999 fits here) at `:-`
            11:6 error[syntax-error] a variable cannot be used as a functor (not a functor name) at `X`
            12:5 error[syntax-error] an operator or the end of the clause (`.`) is expected (`)` cannot follow a complete term) at `)`
            13:8 error[syntax-error] an operator or `)` is expected (the clause ends here) at `.`
            15:6 error[unclosed-quote] a quote is not closed (opens here, and nothing closes it) at `"`
        "#]],
    );
}

#[test]
fn directives_and_separators() {
    check(
        ":- daemon serve/1.
         serve([]) :- true.
         alternatively.
         serve([_|S]) :- true | serve(S)@lower_priority@node(N), builtin#apply(P,{N}), p(P).
         :- mode p(+).
         p(X) :- (X = 1 ; X = 2), atom(X) | true.
         otherwise.
         p(_) :- X = f(Y), arg(1,X,Y), `(X) = Y | true.",
        expect![[r#"
            :- module m.
            % serve/1 daemon
            serve([]) :- true | true.
            alternatively.
            serve([_0|S]) :- true | serve(S)@lower_priority(1)@node(N), apply(P,{N}), p(P).
            % p/1
            p(X) :- X = 1, atom(X) | true.
            p(X) :- X = 2, atom(X) | true.
            otherwise.
            p(_0) :- X = f(Y), arg(1,X,Y), X = Y | true.
            6:13 warning[unknown-directive] this directive has no effect (ignored) at `mode p(+)`
        "#]],
    );
}

#[test]
fn limits() {
    let deep = format!("p({}a{}).", "f(".repeat(300), ")".repeat(300));
    let deep_expression = format!("p(X,Y) :- true | Y := X{}.", "+X".repeat(300));
    let conjunction = format!("p :- true{}.", ",true".repeat(3000));
    let list = format!("p({}[]{}).", "[a|".repeat(3000), "]".repeat(3000));
    let disjunction = format!("p(X) :- {} true | true.", "(X = 1 ; X = 2), ".repeat(11));
    let arguments = format!("p(0{}).", ",0".repeat(255));
    let conditionals = format!("p(X) :- {}true{}.", "(X > 0 -> ".repeat(300), ")".repeat(300));
    for (text, code) in [
        (deep, "nesting-too-deep"),
        (deep_expression, "nesting-too-deep"),
        (conditionals, "nesting-too-deep"),
        (disjunction, "too-many-alternatives"),
        (arguments, "too-many-arguments"),
        (conjunction, ""),
        (list, ""),
    ] {
        let (_, diagnostics) = read(&format!(":- module m.\n{text}"));
        match code {
            "" => assert!(diagnostics.is_empty(), "{diagnostics:?}"),
            _ => assert!(
                diagnostics.iter().all(|d| d.contains(code)) && !diagnostics.is_empty(),
                "{diagnostics:?}"
            ),
        }
    }
}

#[test]
fn more_errors() {
    check_errors(
        ":- module m.
:- with((X = f(1), y = 3)).
:- with(A = 1).
:- with((A = 1)).
:- daemon nothing/3.
:- daemon foo.
otherwise.
p(A) :- X <= 3, 4 <= X, S => X | S = A.
p(X) :- X = #\"ab\", X = 40#\"1\", X = 2#\"3\", X = predicate#foo, X = module#m | true.
p(X) :- true | ( X > 1 ; otherwise ), ( otherwise ).
p(X) :- (otherwise ; X = 1 -> true ; alternatively) .
p(X) :- true | q(X)@node(f), q(X)@node(1)@node(2), X := min(X,1), X $:= \"a\" + 1.
p(X) :- q:r(X), (X -> Y), X@Y, generic:m | X:y, 1:y(X), [X].
foo, bar.
X :- Y.
p(1)+2.
a = b :- true.
",
        expect![[r#"
            2:10 error[illegal-with] this does not define a constant (`Name = Constant` is expected) at `X = f(1)`
            2:20 error[illegal-with] this does not define a constant (`Name = Constant` is expected) at `y = 3`
            5:4 error[undefined-daemon] there is no predicate `nothing/3` in this module (declared a daemon here) at `daemon nothing/3`
            6:4 error[illegal-daemon] a daemon must be given as `name/arity` (not `name/arity`) at `daemon foo`
            7:1 warning[trailing-separator] no clauses of one predicate on both sides of this separator (has no effect) at `otherwise`
            8:9 warning[send-in-guard] `<=` sends a message on a stream (compares nothing) at `X <= 3`
            8:17 warning[send-in-guard] `<=` sends a message on a stream (compares nothing) at `4 <= X`
            8:17 error[illegal-update] an update goal needs a variable here (not a variable) at `4`
            8:25 warning[send-in-guard] `=>` sends a message on a stream (compares nothing) at `S => X`
            9:14 error[illegal-literal] `#` and `c#` need a string of exactly one byte (2 bytes) at `"ab"`
            9:24 error[illegal-literal] this is not a number of that radix (a radix of 2 to 36 and digits smaller than it are needed) at `40#"1"`
            9:36 error[illegal-literal] this is not a number of that radix (a radix of 2 to 36 and digits smaller than it are needed) at `2#"3"`
            9:57 error[illegal-literal] a predicate constant must be `predicate#(module:name/arity)` (not `module:name/arity`) at `foo`
            9:66 error[illegal-literal] a module constant can only stand in a body (in a head or guard) at `module#m`
            10:18 error[illegal-conditional] this is not a branch of a conditional (`Guard -> Goals` is expected) at `X > 1`
            10:26 warning[trailing-separator] no branches on both sides of this separator (has no effect) at `otherwise`
            11:10 warning[trailing-separator] no branches on both sides of this separator (has no effect) at `otherwise`
            11:38 warning[trailing-separator] no branches on both sides of this separator (has no effect) at `alternatively`
            12:26 error[illegal-pragma] a pragma's argument must be an integer of 61 bits or a variable (neither) at `f`
            12:43 error[illegal-pragma] a goal cannot have this pragma twice (the second one) at `node(2)`
            12:52 warning[assigned-to-itself] a variable cannot get a new value from its old one (the same variable on both sides) at `X := min(X,1)`
            12:57 warning[unknown-expression] this is no integer expression (the term itself is used as the value) at `min(X,1)`
            12:73 error[unknown-expression] this is no float (cannot be computed with) at `"a"`
            13:9 error[illegal-guard] a predicate cannot be called in a guard (guards have builtin tests only) at `q:r(X)`
            13:18 error[illegal-guard] this cannot stand in a guard (not a test) at `X -> Y`
            13:27 error[illegal-guard] this cannot stand in a guard (not a test) at `X@Y`
            13:32 error[illegal-guard] a method needs an object (no argument) at `generic:m`
            13:44 error[illegal-goal] the module of a call must be an atom (not an atom) at `X`
            13:49 error[illegal-goal] the module of a call must be an atom (not an atom) at `1`
            13:57 error[illegal-goal] a body goal must be a call, a unification or an assignment (a list) at `[X]`
            14:1 error[illegal-head] a clause cannot define `,`/2 (not a head) at `foo, bar`
            15:1 error[illegal-head] a head must be a name with or without arguments (a variable) at `X`
            17:1 error[illegal-head] a clause cannot define `=`/2 (not a head) at `a = b`
        "#]],
    );
}
