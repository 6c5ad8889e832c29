//! Small programs with their results.

use super::{Options, Outcome, Report, run};
use syntax::source::SourceMap;
use term::AtomTable;

fn execute(text: &str) -> Report {
    execute_all(&[text], Options::bare(5_000_000))
}

fn execute_all(texts: &[&str], options: Options) -> Report {
    let mut sources = SourceMap::default();
    let files: Vec<_> =
        texts.iter().map(|text| sources.add("test.kl1".into(), text.as_bytes().to_vec())).collect();
    let atoms = AtomTable::new();
    let (program, diagnostics) = syntax::read_program(&sources, &files, &atoms);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    run(&program, &atoms, options)
}

/// Runs the clauses of module main with the library's modules for input and output.
fn execute_with_files(clauses: &str, options: Options) -> Report {
    let main = format!(":- module main.\n{clauses}");
    let texts = [
        main.as_str(),
        include_str!("../../../../library/io.kl1"),
        include_str!("../../../../library/klicio.kl1"),
        include_str!("../../../../library/unix.kl1"),
        include_str!("../../../../library/file_stream.kl1"),
    ];
    execute_all(&texts, options)
}

/// Runs the clauses of module main; they print lines.
fn check(clauses: &str, lines: &[&str]) {
    let report = execute(&format!(":- module main.\n{clauses}"));
    assert_eq!(report.outcome, Outcome::Success, "{clauses}");
    let text = String::from_utf8(report.stdout).expect("ASCII");
    assert_eq!(text.lines().collect::<Vec<_>>(), lines, "{clauses}");
}

fn outcome(clauses: &str) -> Outcome {
    execute(&format!(":- module main.\n{clauses}")).outcome
}

const PRINT: &str = "pr(X,Y) :- wait(X) | builtin:print(X), Y = done.\n";

#[test]
fn lists_are_appended_and_long_ones_need_no_stack() {
    check(
        "main :- app([1,2],[3],Z), builtin:print(Z).
        app([],Y,Z) :- Z = Y.
        app([A|X],Y,Z) :- Z = [A|W], app(X,Y,W).",
        &["[1,2,3]"],
    );
    check(
        "main :- gen(300000,L), gen(300000,M), same(L,M,R), pr(R).
        gen(0,L) :- L = [].
        gen(N,L) :- N > 0 | L = [N|T], N1 := N-1, gen(N1,T).
        same(X,X,R) :- true | R = yes.
        pr(R) :- wait(R) | builtin:print(R).",
        &["yes"],
    );
}

#[test]
fn unifications_come_before_goals_and_resumed_goals_before_the_rest() {
    check(
        "main :- a(X), g(X).
        g(X) :- k, X = 1, l.
        a(X) :- wait(X) | builtin:print(a).
        k :- builtin:print(k).
        l :- builtin:print(l).",
        &["a", "k", "l"],
    );
}

#[test]
fn arithmetic_waits_for_its_operands_and_never_wraps() {
    check(
        &format!("main :- Y := X*X+1, pr(Y,_), X = 4611686018427387904.\n{PRINT}"),
        &["21267647932558653966460912964485513217"],
    );
    check(
        "main :- X := -7/2, Y := -7 mod 2, Z := -5>>1, W := \\(5), builtin:print([X,Y,Z,W]).",
        &["[-3,-1,-3,-6]"],
    );
}

#[test]
fn clauses_are_tried_in_textual_order() {
    check(
        "main :- p(1,1,R), q(1,2,S), builtin:print([R,S]).
        p(1,_,R) :- R = first.
        p(_,1,R) :- R = second.
        q(2,_,R) :- R = first.
        q(_,2,R) :- R = second.",
        &["[first,second]"],
    );
}

#[test]
fn a_goal_waits_for_every_variable_that_blocks_a_clause() {
    check(
        &format!(
            "main :- p(_,B,R), pr(R,_), B = 1.
        p(1,_,R) :- R = left.
        p(_,1,R) :- R = right.\n{PRINT}"
        ),
        &["right"],
    );
}

#[test]
fn otherwise_waits_and_alternatively_does_not() {
    check(
        &format!(
            "main :- p(X,R), pr(R,_), X = b.
        p(a,R) :- R = a.
        otherwise.
        p(_,R) :- R = other.\n{PRINT}"
        ),
        &["other"],
    );
    check(
        &format!(
            "main :- p(_,R), pr(R,_).
        p(a,R) :- R = a.
        alternatively.
        p(_,R) :- R = other.\n{PRINT}"
        ),
        &["other"],
    );
    assert!(matches!(
        outcome(
            "main :- p(_).
        p(a) :- true.
        otherwise.
        p(_) :- true."
        ),
        Outcome::Deadlock { .. }
    ));
}

#[test]
fn repeated_head_variables_compare_values() {
    assert_eq!(
        outcome("main :- eq(A,A).\neq(X,X)."),
        Outcome::Deadlock { goals: vec!["main:eq(_1,_1)".into()] }
    );
    check(
        &format!(
            "main :- eq(f(A),f(B),R), pr(R,_), A = [1], B = [1].
        eq(X,X,R) :- R = same.
        otherwise.
        eq(_,_,R) :- R = different.\n{PRINT}"
        ),
        &["same"],
    );
}

#[test]
fn top_level_difference_does_not_look_into_terms() {
    check(
        "main :- d(f(1),f(2),A), d(f(1),g(1),B), d(\"a\",\"b\",C), d([],[1],D), builtin:print([A,B,C,D]).
        d(X,Y,R) :- X \\= Y | R = differ.
        otherwise.
        d(_,_,R) :- R = no.",
        &["[no,differ,no,differ]"],
    );
}

#[test]
fn guard_tests_that_cannot_be_computed_fail() {
    check(
        "main :- p(0,A), p(a,B), builtin:print([A,B]).
        p(X,R) :- 1/X > 0 | R = yes.
        otherwise.
        p(_,R) :- R = no.",
        &["[no,no]"],
    );
}

#[test]
fn failures_and_errors_name_what_is_wrong() {
    assert_eq!(outcome("main :- p(3,[a|_]).\np(1,_)."), Outcome::Failure { goal: "main:p(3,[a|_1])".into() });
    assert_eq!(
        outcome("main :- p(f(1)).\np(X) :- X = f(2)."),
        Outcome::Failure { goal: "unify_term_dcode:unify(1,2)".into() }
    );
    assert_eq!(
        outcome("main :- p(0).\np(X) :- Y := 1/X, builtin:print(Y)."),
        Outcome::Error { message: "division by zero".into() }
    );
    assert!(matches!(outcome("main :- p(a).\np(X) :- Y := 1+X, builtin:print(Y)."), Outcome::Error { .. }));
    assert_eq!(outcome("main :- unix:exit(300)."), Outcome::Exit(44));
}

#[test]
fn an_endless_run_stops_at_the_limit() {
    assert_eq!(outcome("main :- p(1).\np(X) :- Y := X+1, p(Y)."), Outcome::StepLimit);
    assert_eq!(outcome("main :- X = [a|X], Y = [a|Y], p(X,Y).\np(X,Y) :- X = Y."), Outcome::StepLimit);
}

#[test]
fn priorities_decide_and_are_inherited() {
    check(
        "main :- low@lower_priority, high.
        low :- builtin:print(low), sub.
        sub :- current_priority(P) | Q := 1152921504606846974-P, builtin:print(Q).
        high :- builtin:print(high).",
        &["high", "low", "1"],
    );
    check(
        "main :- p(P), q.
        p(P) :- a(P)@priority(P), b.
        a(_) :- builtin:print(a).
        b :- builtin:print(b).
        q :- builtin:print(q)."
            .replace("p(P), q.", "p(P), q, P = 5.")
            .as_str(),
        &["b", "q", "a"],
    );
}

#[test]
fn mergers_forward_split_and_close() {
    check(
        "main :- merge({A,B},Out), len(Out,0), A = [1|A1], B = [2,3], A1 = {[4],C}, C = [].
        len([],N) :- builtin:print(N).
        len([_|S],N) :- N1 := N+1, len(S,N1).",
        &["4"],
    );
    assert!(matches!(outcome("main :- merge([1|x],_)."), Outcome::Error { .. }));
}

#[test]
fn predicates_are_called_through_objects() {
    check(
        "main :- P = predicate#(main:add/3), apply(P,{1,2,X}), generic:call(P,X,X,Y), show(Y).
        add(A,B,C) :- C := A+B.
        show(Y) :- wait(Y) | builtin:print(Y)."
            .replace("add", "sum")
            .as_str(),
        &["6"],
    );
}

#[test]
fn vectors_and_strings_are_values() {
    check(
        "main :- new_vector(V,3), set_vector_element(V,1,a,W), set_vector_element(W,1,Old,b,X),
            builtin:print([V,W,X,Old]), new_string(S,\"\",8)."
            .replace(", new_string(S,\"\",8)", "")
            .as_str(),
        &["[{0,0,0},{0,a,0},{0,b,0},a]"],
    );
    check(
        "main :- new_string(S,[104,105],8), set_string_element(S,0,72,T), generic:join(S,T,U),
            generic:split(U,3,A,B), string_element(S,1,E), builtin:print([U,A,B,E]).",
        &["[\"hiHi\",\"hiH\",\"i\",105]"],
    );
}

#[test]
fn standard_order_is_total_and_lexicographic() {
    check("main :- c(1,a,A), c(b,a,B), c(f(1,2),f(1,3),C), c(\"abc\",\"abd\",D), c([1],[1],E), c(99999999999999999999,1,F),
            builtin:print([A,B,C,D,E,F]).
        c(X,Y,R) :- compare(X,Y,S) | R = S.", &["[-1,1,-1,-3,0,1]"]);
}

#[test]
fn floats_compute_and_compare() {
    check(
        "main :- X $:= 1.5*2.0+pow(2.0,3.0), Y := int(X), t(X,R), builtin:print([X,Y,R]).
        t(X,R) :- X $> 10.9 | R = big.
        otherwise.
        t(_,R) :- R = small.",
        &["[11.000000,11,big]"],
    );
}

#[test]
fn random_numbers_appear_when_somebody_looks() {
    check(
        "main :- generic:new(random_numbers,L,100,1), two(L).
        two([A,B|_]) :- builtin:print([A,B]).",
        &["[52,38]"],
    );
}

#[test]
fn conditionals_bind_outside_variables() {
    check(
        "main :- p(5,A), p(-5,B), builtin:print([A,B]).
        p(X,R) :- ( X > 0 -> R = pos ; otherwise ; true -> R = neg ).",
        &["[pos,neg]"],
    );
}

#[test]
fn streams_read_and_write_files_and_terms() {
    let mut options = Options::bare(1_000_000);
    options.stdin = b"foo(X,X). 'b c'\n+1 .\n".to_vec();
    options.files.insert(b"in.txt".to_vec(), b"line\n".to_vec());
    options.arguments.push(b"arg".to_vec());
    let report = execute_with_files(
        "main :- klicio:klicio([stdin(normal([gett(A),gett(B),gett(C)])),read_open(\"in.txt\",normal([getc(D),fread(9,E)])),
            write_open(\"out.txt\",normal(W)),stdout(normal([fwrite(\"got \"),putt([B,C,D,E]),nl]))]), unix:argv(L), write(A,L,W).
        write(foo(X,Y),L,W) :- true | X = same, W = [putt(Y),nl,putt(L),nl].",
        options,
    );
    assert_eq!(report.outcome, Outcome::Success);
    assert_eq!(String::from_utf8_lossy(&report.stdout), "got ['b c'+1,end_of_file,108,\"ine\\n\"]\n");
    assert_eq!(report.files[b"out.txt".as_slice()], b"same\n[\"arg\"]\n");
}

#[test]
fn a_stream_waits_for_what_it_is_to_write() {
    let report = execute_with_files(
        "main :- io:outstream([print(f(X,Y)),nl,print(done)]), Y = [a|Z], X = 1, later(Z).
        later(Z) :- true | Z = [].",
        Options::bare(100_000),
    );
    assert_eq!((report.outcome, report.stdout), (Outcome::Success, b"f(1,[a])\ndone".to_vec()));
    let report = execute_with_files("main :- io:outstream([print(f(_))]).", Options::bare(100_000));
    assert!(matches!(report.outcome, Outcome::Deadlock { .. }), "{:?}", report.outcome);
}

#[test]
fn time_passes_while_goals_are_reduced_and_while_none_is() {
    let clauses =
        "main :- timer:get_time_of_day(T), timer:add(T,time(0,1000),E), poll(E,P), pr(P,_), next(P).
        poll(E,P) :- timer:get_time_of_day(T), timer:compare(T,E,R), polled(R,E,P).
        polled(<,E,P) :- poll(E,P).
        otherwise.
        polled(_,_,P) :- P = polled.
        next(P) :- wait(P) | timer:instantiate_after(time(0,2000),S), work(0,S,W), pr(W,_), last(W).
        work(_,S,W) :- wait(S) | W = worked.
        alternatively.
        work(N,S,W) :- N1 := N+1, work(N1,S,W).
        last(W) :- wait(W) | timer:instantiate_after(time(9,0,0),S), pr(S,_).\n";
    check(&format!("{clauses}{PRINT}"), &["polled", "worked", "[]"]);
}

#[test]
fn timers_of_one_time_are_all_kept() {
    let clauses = "main :- timer:instantiate_after(time(0,10),A), timer:instantiate_after(time(0,10),B),
            again(A,C), pr(B,_), pr(C,_).
        again(A,C) :- wait(A) | timer:instantiate_after(time(0,0),C).\n";
    check(&format!("{clauses}{PRINT}"), &["[]", "[]"]);
}
