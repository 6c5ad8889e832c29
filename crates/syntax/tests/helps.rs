//! What is said about the habits of other languages: the help says what to write.

use syntax::diagnostic::Diagnostic;
use syntax::read_program;
use syntax::source::SourceMap;
use term::AtomTable;

fn diagnostics(clause: &str) -> Vec<Diagnostic> {
    let mut sources = SourceMap::default();
    let file = sources.add("test.kl1".to_string(), format!(":- module m.\n{clause}\n").into_bytes());
    let atoms = AtomTable::new();
    read_program(&sources, &[file], &atoms).1
}

/// Codes and helps; the label where there is no help.
fn told(clause: &str) -> Vec<String> {
    let told = diagnostics(clause).into_iter().filter(|d| d.code != "singleton-variable");
    told.map(|d| format!("{}: {}; {}", d.code, d.label, d.help.unwrap_or_default())).collect()
}

fn check(clause: &str, code: &str, help: &str) {
    let told = told(clause);
    assert_eq!(told.len(), 1, "{clause}: {told:?}");
    assert!(told[0].starts_with(code) && told[0].contains(help), "{clause}: {told:?}");
}

#[test]
fn operations_that_only_other_languages_have() {
    for (expression, help) in [
        ("max(1,2)", "( X >= Y -> Z = X ; X < Y -> Z = Y )"),
        ("min(X,2)", "( X < Y -> Z = X ; X >= Y -> Z = Y )"),
        ("2**3", "int(pow(float(X),float(N)))"),
        ("X^2", "int(pow(float(X),float(N)))"),
        ("7 // 2", "`X / Y`"),
        ("abs(-1)", "( X >= 0 -> Y = X ; X < 0 -> Y := -X )"),
        ("rem(X,2)", "`X mod Y`"),
        ("sqrt(X)", "`int(sqrt(float(X)))`"),
        ("round(X)", "`int(floor(X+0.5))`"),
        ("and(X,1)", "`X /\\ Y`"),
    ] {
        check(&format!("p(X,Y) :- Y := {expression}."), "unknown-expression", help);
        check(&format!("p(X,Y) :- Y := 1 + {expression}."), "unknown-expression", help);
        check(&format!("p(X) :- X > {expression} | q."), "unknown-expression", help);
    }
    for (expression, help) in [
        ("max(X,2.0)", "( X $>= Y -> Z = X ; X $< Y -> Z = Y )"),
        ("abs(X)", "Y $:= -X"),
        ("X**2.0", "`pow(X,Y)`"),
        ("X // 2.0", "`floor(X/Y)`"),
        ("X mod 2.0", "X - Y*floor(X/Y)"),
        ("round(X)", "`floor(X+0.5)`"),
        ("2.0*pi", "3.141592653589793"),
    ] {
        check(&format!("p(X,Y) :- Y $:= {expression}."), "unknown-expression", help);
    }
    check("p(X) :- X := foo(1).", "unknown-expression", "write `=` to unify with a term");
}

#[test]
fn operators_that_group_otherwise() {
    for (expression, code, is, other) in [
        ("3*5 mod 7", "mod-binds-tighter", "3*(5 mod 7)", "(3*5) mod 7"),
        ("X/2 mod 7", "mod-binds-tighter", "X/(2 mod 7)", "(X/2) mod 7"),
        ("1<<X mod 7", "mod-binds-tighter", "1<<(X mod 7)", "(1<<X) mod 7"),
        ("(X+1)*f mod 7", "mod-binds-tighter", "(X+1)*(f mod 7)", "((X+1)*f) mod 7"),
        ("1<<2+1", "shift-binds-tighter", "(1<<2)+1", "1<<(2+1)"),
        ("1+2 >> 3", "shift-binds-tighter", "1+(2>>3)", "(1+2)>>3"),
        ("X-1<<Y", "shift-binds-tighter", "X-(1<<Y)", "(X-1)<<Y"),
        ("1<<2*3", "same-priority", "(1<<2)*3", "1<<(2*3)"),
        ("X /\\ 255 + 1", "same-priority", "(X/\\255)+1", "X/\\(255+1)"),
        ("1 \\/ X /\\ 2", "same-priority", "(1\\/X)/\\2", "1\\/(X/\\2)"),
        ("1 \\/ X xor 2", "same-priority", "(1\\/X) xor 2", "1\\/(X xor 2)"),
    ] {
        let expression = expression.replace('f', "Y");
        let (is, other) = (is.replace('f', "Y"), other.replace('f', "Y"));
        for clause in [
            format!("p(X,Y,Z) :- Z := {expression}."),
            format!("p(X,Y) :- X > {expression} | q(Y)."),
            format!("p(X,Y) :- q(~({expression}),X,Y)."),
        ] {
            check(&clause, code, &format!("this is `{is}`; write `{other}`, or `{is}` if that is meant"));
        }
    }
}

#[test]
fn operators_that_group_as_elsewhere_or_as_the_text_says() {
    for expression in [
        "(3*5) mod 7",
        "3*(5 mod 7)",
        "( 3 * 5 ) mod 7",
        "3 mod 5 * 7",
        "3 + 5 mod 7",
        "*(3,5 mod 7)",
        "3 * mod(5,7)",
        "(1<<2)+1",
        "( 1 << 2 ) + 1",
        "1<<(2+1)",
        "((1<<2))+1",
        "+(1<<2,1)",
        "1*2<<3",
        "1<<2<<3",
        "1+2*3-4/5",
        "X/\\Y>>3",
        "X/\\Y\\/1",
        "1+X/\\Y",
        "(X/\\Y)+1",
        "- X mod 3",
    ] {
        for clause in
            [format!("p(X,Y,Z) :- Z := {expression}."), format!("p(X,Y) :- X > {expression} | q(Y).")]
        {
            assert_eq!(told(&clause), [""; 0], "{clause}");
        }
    }
    // A term computes nothing.
    assert_eq!(told("p(X) :- X = f(3*5 mod 7,1<<2+1)."), [""; 0]);
}

#[test]
fn macros_and_directives_of_pimos() {
    for text in [
        "pimos_tag#task",
        "fep#normal",
        "exception_code#deadlock",
        "shell_tag#tos",
        "ascii#\"a\"",
        "shoen#f(1)",
    ] {
        check(&format!("p(X) :- X = {text}."), "unsupported-macro", "");
        check(&format!("p({text})."), "unsupported-macro", "");
    }
    for text in ["p#q", "key#up", "a#\"s\"", "X#b", "2#foo", "64#ff", "`(pimos_tag#task)", "module#tag"] {
        assert_eq!(told(&format!("p(X) :- q({text},X).")), [""; 0], "{text}");
    }
    for (text, help) in
        [("16#ff", "`16'ff`"), ("16#FF", "`16#\"FF\"`"), ("8#17", "`8'17`"), ("2#101", "`2'101`")]
    {
        check(&format!("p(X) :- q({text},X)."), "illegal-literal", help);
    }
    for text in
        ["switch(a)", "case(b,c)", "default", "else", "end_switch", "if_equal(a,b)", "end_if", "define(a,1)"]
    {
        check(&format!("p.\n:- {text}."), "unsupported-directive", "one branch");
    }
    check("p.\n:- macro_module(m).", "unsupported-directive", "`:- with((");
    check("p.\n:- user_macro m.", "syntax-error", "`:- with((");
    check("p.\n:- include(\"file.h\").", "unknown-directive", "a module of their own");
    check("p.\n:- public p/0.", "unknown-directive", "");
}

#[test]
fn escapes_of_other_languages() {
    for (text, help) in [
        (r#""\u00e9""#, r"`é` itself, or its bytes, `\xc3\xa9`"),
        (r#""a" "\U0001F600""#, r"`\xf0\x9f\x98\x80`"),
        (r#""\u0007""#, r"write `\x07`"),
        (r#""\u12""#, r"\x12"),
        (r#""\uXY""#, r"`\\`"),
        (r#"'\e[0m'"#, r"`\x1b`"),
        (r#""\d+""#, r"`\\`"),
    ] {
        check(&format!("p(X) :- X = {text}."), "unknown-escape", help);
        check(&format!("p(f([{text}])) :- q."), "unknown-escape", help);
    }
    for text in [r#""\\u00e9""#, r#""\q\'\"\?\a\x41\101""#, r#"'\\e'"#, "\"é\""] {
        assert_eq!(told(&format!("p(X) :- X = {text}.")), [""; 0], "{text}");
    }
}
