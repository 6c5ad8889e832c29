//! The style of program texts, and what it does to every KL1 file here.

use expect_test::{Expect, expect};
use std::path::{Path, PathBuf};
use syntax::dump::dump_program;
use syntax::pretty::{Refusal, WIDTH, pretty};
use syntax::read_program;
use syntax::source::SourceMap;
use term::AtomTable;

fn styled(text: &str) -> String {
    let atoms = AtomTable::new();
    let once = pretty(text.as_bytes(), &atoms).unwrap_or_else(|refusal| panic!("{refusal:?} of {text}"));
    let twice = pretty(&once, &atoms).expect("a text in the style can be read");
    let [once, twice] = [once, twice].map(|text| String::from_utf8(text).expect("it was UTF-8"));
    assert_eq!(once, twice, "the style changes what is in the style");
    once
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&styled(text));
}

/// Every KL1 file of the repository.
fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders: Vec<PathBuf> =
        ["examples", "benches", "library", "tests"].iter().map(|folder| root.join(folder)).collect();
    let mut files = vec![];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "kl1") {
                files.push(path);
            }
        }
    }
    assert!(files.len() > 700, "only {} files", files.len());
    files
}

/// The clauses of a text as `--dump clauses` shows them.
fn clauses(text: &[u8]) -> String {
    let (atoms, mut sources) = (AtomTable::new(), SourceMap::default());
    let file = sources.add("f.kl1".into(), text.to_vec());
    dump_program(&read_program(&sources, &[file], &atoms).0, &atoms)
}

#[test]
fn every_file_keeps_its_clauses_and_stays_as_it_is_the_second_time() {
    let (mut styled, mut longest) = (0, 0);
    for file in files() {
        let text = std::fs::read(&file).expect("it can be read");
        let atoms = AtomTable::new();
        let once = match pretty(&text, &atoms) {
            Ok(once) => once,
            Err(Refusal::Errors(_)) => continue,
            Err(refusal) => panic!("{}: {refusal:?}", file.display()),
        };
        styled += 1;
        let name = file.display();
        assert_eq!(clauses(&text), clauses(&once), "{name}: other clauses");
        let twice = pretty(&once, &atoms).expect("a text in the style can be read");
        let (once, twice) = (String::from_utf8_lossy(&once), String::from_utf8_lossy(&twice));
        for (n, (a, b)) in once.lines().zip(twice.lines()).enumerate() {
            assert_eq!(a, b, "{name}: line {} changes again", n + 1);
        }
        assert_eq!(once, twice, "{name} changes again");
        longest += once
            .lines()
            .filter(|line| line.chars().count() > WIDTH && line.contains(", ") && !line.contains(['%', '"']))
            .count();
    }
    assert!(styled > 650, "only {styled} files have the style");
    assert_eq!(longest, 0, "lines of code without strings that are too long");
}

#[test]
fn a_clause_that_fits_is_a_line_and_a_longer_one_is_divided_before_its_body() {
    check(
        r#":-module(  main ).
p( X,Y ):-X>0|q(X ,Y),r.
q(X,Y):-X =< 1,Y:=X*2+ -1|
  true.



otherwise. q(_,_).
long_head(Alpha,Beta,Gamma,Delta):-first_goal(Alpha,Beta,X1),second_goal(X1,Gamma,X2),third_goal(X2,Delta),fourth."#,
        expect![[r#"
            :- module(main).
            p(X,Y) :- X > 0 | q(X,Y), r.
            q(X,Y) :- X =< 1, Y := X * 2 + -1 |
                true.

            otherwise.
            q(_,_).
            long_head(Alpha,Beta,Gamma,Delta) :-
                first_goal(Alpha,Beta,X1), second_goal(X1,Gamma,X2), third_goal(X2,Delta), fourth.
        "#]],
    );
}

#[test]
fn line_breaks_between_goals_and_elements_stay() {
    check(
        r#"p :- a,
  b, c,


  d.
q :- io:outstream([print(a),nl,
print( b ),nl
]).
r(X) :-
  X > 0,
 X < 9 |
 true.
s(X) :- X = "a"
  "b"."#,
        expect![[r#"
            p :-
                a,
                b, c,

                d.
            q :-
                io:outstream([print(a),nl,
                    print(b),nl]).
            r(X) :-
                X > 0,
                X < 9 |
                true.
            s(X) :-
                X = "a"
                    "b".
        "#]],
    );
}

#[test]
fn arguments_of_long_goals_are_filled() {
    check(
        r#"p :- q([first_element(1),second_element(2),third_element(3),fourth_element(4),fifth_element(5),sixth_element(6)],{a,b}), X = f(g(aaaaaaaaaaaaaaaaaaaaaaaaaaaa,bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb,ccccccccccccccccccccccccccccc),Y)."#,
        expect![[r#"
            p :-
                q([first_element(1),second_element(2),third_element(3),fourth_element(4),fifth_element(5),
                    sixth_element(6)],{a,b}),
                X = f(g(aaaaaaaaaaaaaaaaaaaaaaaaaaaa,bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb,
                    ccccccccccccccccccccccccccccc),Y).
        "#]],
    );
}

#[test]
fn conditionals_are_a_line_or_have_a_line_for_each_branch() {
    check(
        r#"p(X) :- (X>0->q(X);X<0->r(X);otherwise->s),t.
p(X) :- ( X > 0 ->
 q(X), r ; X =< 0 -> s ).
p(X) :- (X > 100000 -> this_is_a_goal(X,1), and_another_one(X,2) ; X =< 100000 -> (X > 5 -> a_goal(X) ; X =< 5 -> another_goal(X), and_one_more(X), and_a_last_one(X,X)))."#,
        expect![[r#"
            p(X) :- ( X > 0 -> q(X) ; X < 0 -> r(X) ; otherwise -> s ), t.
            p(X) :-
                ( X > 0 ->
                    q(X), r
                ; X =< 0 -> s
                ).
            p(X) :-
                ( X > 100000 -> this_is_a_goal(X,1), and_another_one(X,2)
                ; X =< 100000 ->
                    ( X > 5 -> a_goal(X) ; X =< 5 -> another_goal(X), and_one_more(X), and_a_last_one(X,X) )
                ).
        "#]],
    );
}

#[test]
fn comments_stay_where_they_are() {
    check(
        r#"#!/usr/bin/env -S fifth run
% top


%% doc
:- module main. % the module

   % above
p(X,    % first
 Y) :- % the body
  % a goal
  q(X), % behind
  r(Y,X), /* in line */ s, t. % end
/* several
   lines */
q(_) /* c */ :- true.
% last

"#,
        expect![[r#"
            #!/usr/bin/env -S fifth run
            % top

            %% doc
            :- module main.  % the module

            % above
            p(X,       % first
                Y) :-  % the body
                % a goal
                q(X),                        % behind
                r(Y,X), /* in line */ s, t.  % end
            /* several
               lines */
            q(_) /* c */ :- true.
            % last
        "#]],
    );
}

#[test]
fn operators_keep_their_meaning() {
    check(
        r#"p(X,Y) :- Z := X- -1,Y := - X,W := X - (Y+1)*2,V = a-b-C,U = - (1),T = -(1),S = (a:-b),
R = [a|B],Q = {},P = #"a",O := ~(X mod 2),N = 'a b'(c),M = - (- a), L = (a,b;c), K = 0'a-0''-16'ff, m:p(X)@node(1), \+a, I = (\+b), H $:= X*1.5e3, G = [](a), F = (- ) ."#,
        expect![[r#"
            p(X,Y) :-
                Z := X - -1, Y := -X, W := X - (Y+1) * 2, V = a-b-C, U = - (1), T = -(1), S = (a :- b),
                R = [a|B], Q = {}, P = #"a", O := ~(X mod 2), N = 'a b'(c), M = - (-a), L = ( a, b ; c ),
                K = 0'a-0''-16'ff, m:p(X)@node(1), \+a, I = (\+b), H $:= X * 1.5e3, G = [](a), F = (-).
        "#]],
    );
    check(
        "p(X)-State :- q(X)-State, r+A+B.\n:- with((A = 1,\nB = \"x\")).\n",
        expect![[r#"
        p(X)-State :- q(X)-State, r+A+B.
        :- with((A = 1,
            B = "x")).
    "#]],
    );
}

#[test]
fn a_text_that_cannot_be_read_is_refused() {
    let atoms = AtomTable::new();
    let refused = pretty(b":- module main.\np :- q(.\nq.\n", &atoms);
    assert!(matches!(&refused, Err(Refusal::Errors(errors)) if errors.len() == 1), "{refused:?}");
    assert_eq!(pretty(b"", &atoms), Ok(vec![]));
    assert_eq!(pretty(b"\n% only a comment", &atoms), Ok(b"% only a comment\n".to_vec()));
}

#[test]
fn terms_may_nest_deeply() {
    let deep = 50_000;
    let text = format!("p({}x{}).", "f([".repeat(deep), "])".repeat(deep));
    let atoms = AtomTable::new();
    assert!(pretty(text.as_bytes(), &atoms).is_ok());
    let sum = format!("p(X) :- X := {}1.", "(1+".repeat(deep));
    let sum = sum.replacen("1.", &format!("1{}.", ")".repeat(deep)), 1);
    assert!(pretty(sum.as_bytes(), &atoms).is_ok());
}
