//! What is written here in place of what programs of other languages have: sentences for hints, in one place, because
//! readers and compilers give the same ones.

/// For `if`, `then`, `else`, `?`.
pub const CONDITIONAL: &str = "a conditional is `( X > 0 -> Goals ; otherwise ; true -> Goals )`; or write a clause for \
                               each case: `p(X) :- X > 0 | Goals.`";
/// For `for`, `while`, `repeat`.
pub const LOOP: &str = "a loop is a predicate that calls itself, with a clause for each case: `p([X|Xs]) :- q(X), \
                        p(Xs).` and `p([]).`, or `p(N) :- N > 0 | ..`";
/// For `case`, `switch`, `match`.
pub const CASES: &str = "each case is a clause of its own, `p(red) :- ..` and `p(blue) :- ..`; one behind a line \
                         `otherwise.` is for all others";
/// For `not` and `\+`.
pub const OPPOSITE: &str = "there is no `not`: write the opposite test, as `X =\\= 0` for `X =:= 0`, or a clause for all \
                            others behind a line `otherwise.`";
/// For `fun` and `lambda`.
pub const PREDICATE: &str = "a predicate as a value has a name, `predicate#(main:double/2)`, and clauses elsewhere: \
                             `double(X,Y) :- Y := 2*X.`";
/// For `let` and `var`.
pub const VARIABLE: &str = "a variable begins with a capital letter, and nothing declares it: `X = a` or `X := Y + 1` \
                            gives it its value, once";
/// For `def` and `return`.
pub const RESULT: &str = "a predicate has clauses, and a result is an argument, by habit the last one: \
                          `next(X,Y) :- Y := X + 1.`";
/// For `begin`, `end` and braces.
pub const BODY: &str =
    "the goals of a body stand behind `:-` with `,` between, and `.` ends the clause: `p(X) :- q(X), r(X).`";
/// For `when`.
pub const GUARD: &str = "a guard stands between `:-` and `|`: `p(X) :- X > 0 | q(X).`";
/// For `receive`.
pub const MESSAGES: &str =
    "messages are elements of a list, which is read as it arrives: `p([hello|Ms]) :- q, p(Ms).` and `p([]).`";
/// For `!` as Erlang has it.
pub const SEND: &str =
    "a message goes on a stream: `P = [hello|P1]`, the next one on P1, and `P1 = []` ends it";
/// For `spawn`.
pub const PROCESS: &str = "each goal is a process already: write it as it is, `p(X)`";
/// For `try` and `catch`.
pub const TRY: &str = "`try(Goal,R)` runs a goal; R is `succeeded`, or `failed(Reason)`";
/// For `import`.
pub const MODULES: &str = "nothing is imported: a goal names the module, as in `lists:append(Xs,Ys,Zs)`";
/// For `class` and `struct`.
pub const DATA: &str =
    "nothing is declared: `point(X,Y)` is a structure, and an object is a process that reads messages";
/// For `print` and the like.
pub const OUTPUT: &str = "what is written goes by a stream: `io:outstream([print(X), nl])`";
/// For `read`, `input`.
pub const INPUT: &str =
    "what is read comes by a stream: `io:instream([getl(L)|In])` has the next line of standard input in L";
/// For `and`, `&&`, `or`.
pub const CONDITIONS: &str = "conditions that must all hold are joined by `,`, those of which one is enough by `;`: `(X > 0 ; X < -5), Y > 0`";
/// For `[X*2 || X <- L]` and `[x*2 for x in l]`.
pub const COMPREHENSION: &str = "such a list is made by `lists:map(P,Xs,Ys)` and `lists:filter(P,Xs,Ys)`";
/// For `[1..10]`.
pub const RANGE: &str = "the integers from 1 to 10 are `lists:range(1,10,L)`";
/// For `V[0]`.
pub const ELEMENT: &str =
    "an element of a vector is asked for by `vector_element(V,0,X)`, one of a list by `lists:nth(0,L,R)`";
/// For `++` between texts or lists.
pub const JOIN: &str = "texts are joined by `strings:concat([A,B],C)`, lists by `lists:append(A,B,C)`";
/// For `f"{x}"`.
pub const TEMPLATE: &str = "values are put into a text by `format:to(\"{} of {}\",[X,Y],Text)`";
/// For `X++`.
pub const NEXT: &str = "a variable keeps its value; the next one gets a name of its own: `X1 := X + 1`";
/// For `==`.
pub const EQUALITIES: &str =
    "equal terms are written `X = Y`, equal integers `X =:= Y`, equal floats `X $=:= Y`";
/// For `!=`, `<>` and `\==`.
pub const DIFFERENCES: &str = "different integers are written `X =\\= Y`, different terms `X \\= Y`";
/// For `is`.
pub const COMPUTED: &str = "`X := 1 + Y` computes integers, `X $:= 1.5 * Y` floats";
/// For `div` and `rem`.
pub const DIVISION: &str =
    "integers are divided by `/`, which cuts the fraction off; the remainder is `X mod Y`";
/// For `&`.
pub const BITS: &str = "the bits of both are written `X /\\ Y`, those of either `X \\/ Y`";
/// For `X.name`.
pub const FIELD: &str = "a part is found by a pattern, `p(point(X,Y)) :- ..`, a module's predicate is `module:p(X)`; the \
                         `.` that ends a clause needs a blank or a new line after it";
