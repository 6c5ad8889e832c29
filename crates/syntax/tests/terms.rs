//! Tokens, trees, and terms back to text.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use std::borrow::Cow;
use syntax::lexer::{Lexer, Scanned, TermScanner, TokenKind};
use syntax::operators::{OpTable, OpType};
use syntax::parse_term;
use syntax::print::{Limits, Printer, Progress, TermView, View, print_limited, print_plain, print_readable};
use syntax::tree::{NodeId, NodeKind, Tree};
use syntax::views::{TreeView, WrappedView};
use term::{Atom, AtomTable};

fn check_tokens(text: &[u8], expected: Expect) {
    let mut atoms = AtomTable::new();
    let mut lexer = Lexer::new(text);
    let mut lines = String::new();
    loop {
        let token = lexer.next(&mut atoms);
        let kind = match &token.kind {
            TokenKind::Atom(atom) => format!("atom {}", atoms.name(*atom)),
            TokenKind::QuotedAtom(atom) => format!("quoted {:?}", atoms.name(*atom)),
            TokenKind::String(bytes) => format!("string {:?}", String::from_utf8_lossy(bytes)),
            TokenKind::Punctuation(byte) => format!("punctuation {}", char::from(*byte)),
            other => format!("{other:?}"),
        };
        lines += &format!("{}..{} {kind}\n", token.start, token.end);
        if token.kind == TokenKind::EndOfText {
            break;
        }
    }
    expected.assert_eq(&lines);
}

#[test]
fn tokens_of_each_kind() {
    check_tokens(
        b"foo fooBar_1 X _y + =.. ! ; 12 16'fF 0'c 0'' 0'\\ 1.5 2.0e-3 1e10 1E+2 1.e 'a''b\\n' \"\\101\\x42\\q\" a.b .% c\n /* c */ +/* {}.",
        expect![[r#"
            0..3 atom foo
            4..12 atom fooBar_1
            13..14 Variable
            15..17 Variable
            18..19 atom +
            20..23 atom =..
            24..25 atom !
            26..27 atom ;
            28..30 Int(12)
            31..36 Int(255)
            37..40 Int(99)
            41..44 Int(39)
            45..48 Int(92)
            49..52 Float(1.5)
            53..59 Float(0.002)
            60..64 Float(10000000000.0)
            65..69 Float(100.0)
            70..71 Int(1)
            71..72 atom .
            72..73 atom e
            74..82 quoted "a'b\n"
            83..95 string "ABq"
            96..97 atom a
            97..98 atom .
            98..99 atom b
            100..101 atom .
            114..117 atom +/*
            118..119 punctuation {
            119..120 punctuation }
            120..121 End
            121..121 EndOfText
        "#]],
    );
    check_tokens(
        b"12345678901234567890 1152921504606846975 1152921504606846976 37'1 2'12 0'",
        expect![[r#"
            0..20 BigInt(12345678901234567890)
            21..40 Int(1152921504606846975)
            41..60 BigInt(1152921504606846976)
            61..65 Error(Radix)
            66..70 Error(Digit)
            71..73 Error(Character)
            73..73 EndOfText
        "#]],
    );
    check_tokens(
        b"'\\400' \"\\x\" 'line\nbreak' \"con\\\ntinued\" /* open",
        expect![[r#"
        0..6 Error(Escape)
        7..11 Error(Escape)
        12..24 quoted "line\nbreak"
        25..38 string "continued"
        39..46 Error(UnclosedComment)
        46..46 EndOfText
    "#]],
    );
}

/// Reads a term and shows it in canonical form.
fn canonical(text: &str) -> String {
    let mut atoms = AtomTable::new();
    let ops = OpTable::default_table(&mut atoms);
    match parse_term(text.as_bytes(), &ops, &mut atoms) {
        Ok(None) => "nothing".to_string(),
        Ok(Some(tree)) => {
            let view = TreeView(&tree);
            String::from_utf8_lossy(&print_plain(&view, &atoms, view.root())).into_owned()
        }
        Err(error) => format!("{}..{} {} ({})", error.start, error.end, error.message, error.label),
    }
}

#[test]
fn trees() {
    let texts = [
        "M:G@p.",
        "p(X)-A+B@node(N).",
        "X = Y@p.",
        "A mod B mod C.",
        "A*B mod C.",
        "1-2-3.",
        "1 - -1.",
        "- 3.",
        "-(3).",
        "- (3).",
        "- -1.",
        "-a.",
        "- - a.",
        "f(:-).",
        "f((a:-b)).",
        "f(a:-b).",
        "[x:-y].",
        "(:-).",
        "[- | T].",
        "(,).",
        "f((|)).",
        "','(a,b).",
        "(a,b|c;d->e).",
        "X++.",
        "&x <<= y.",
        "[].",
        "[](x).",
        "{}.",
        "{a,{}}.",
        "[a,b|T].",
        "[a|[b|[]]].",
        "'.'(a,b).",
        "\"ab\" \"cd\".",
        "f().",
        "X(a).",
        "module#m.",
        ":- module m.",
        "#\"a\".",
        "16#\"7f\".",
        "predicate#(m:p/2).",
        "\\+ a = b.",
        "~ - a.",
        "- = x.",
        "\\(X).",
        "spy.",
        "",
        "a.b",
        "a b.",
        "f(a.",
        "[a|b,c].",
        "{a",
        "(a,b",
        ").",
        "2 ** 3 ** 4.",
        "a:b:c.",
        "- (1)^2.",
        "-1^2.",
        "a= \\+b.",
        "[a,b|c|d].",
        "p :- a , .",
    ];
    let lines: String = texts.iter().map(|text| format!("{text}  ==>  {}\n", canonical(text))).collect();
    expect![[r#"
        M:G@p.  ==>  :(M,@(G,p))
        p(X)-A+B@node(N).  ==>  @(+(-(p(X),A),B),node(N))
        X = Y@p.  ==>  5..6 `@` cannot stand here without parentheses (operators of priority 700 cannot follow each other like this)
        A mod B mod C.  ==>  8..11 `mod` cannot stand here without parentheses (operators of priority 300 cannot follow each other like this)
        A*B mod C.  ==>  *(A,mod(B,C))
        1-2-3.  ==>  -(-(1,2),3)
        1 - -1.  ==>  -(1,-1)
        - 3.  ==>  -3
        -(3).  ==>  -(3)
        - (3).  ==>  -(3)
        - -1.  ==>  -(-1)
        -a.  ==>  -(a)
        - - a.  ==>  2..3 `-` cannot stand here without parentheses (operator of priority 500; at most 499 fits here)
        f(:-).  ==>  f(:-)
        f((a:-b)).  ==>  f(:-(a,b))
        f(a:-b).  ==>  3..5 `:-` cannot stand here without parentheses (operator of priority 1200; at most 999 fits here)
        [x:-y].  ==>  2..4 `:-` cannot stand here without parentheses (operator of priority 1200; at most 999 fits here)
        (:-).  ==>  :-
        [- | T].  ==>  [-|T]
        (,).  ==>  ,
        f((|)).  ==>  f(|)
        ','(a,b).  ==>  ,(a,b)
        (a,b|c;d->e).  ==>  |(,(a,b),;(c,->(d,e)))
        X++.  ==>  1..4 an operator or the end of the clause (`.`) is expected (`++.` cannot follow a complete term)
        &x <<= y.  ==>  <<=(&(x),y)
        [].  ==>  []
        [](x).  ==>  [](x)
        {}.  ==>  {}
        {a,{}}.  ==>  {a,{}}
        [a,b|T].  ==>  [a,b|T]
        [a|[b|[]]].  ==>  [a,b]
        '.'(a,b).  ==>  [a|b]
        "ab" "cd".  ==>  "abcd"
        f().  ==>  0..3 an argument list cannot be empty (no arguments)
        X(a).  ==>  0..1 a variable cannot be used as a functor (not a functor name)
        module#m.  ==>  #(module,m)
        :- module m.  ==>  :-(module(m))
        #"a".  ==>  #("a")
        16#"7f".  ==>  #(16,"7f")
        predicate#(m:p/2).  ==>  #(predicate,:(m,/(p,2)))
        \+ a = b.  ==>  \+(=(a,b))
        ~ - a.  ==>  2..3 `-` cannot stand here without parentheses (operator of priority 500; at most 300 fits here)
        - = x.  ==>  =(-,x)
        \(X).  ==>  \(X)
        spy.  ==>  spy
          ==>  nothing
        a.b  ==>  1..2 an operator or the end of the clause (`.`) is expected (`.` cannot follow a complete term)
        a b.  ==>  2..3 an operator or the end of the clause (`.`) is expected (`b` cannot follow a complete term)
        f(a.  ==>  3..4 an operator, `,` or `)` is expected (the clause ends here)
        [a|b,c].  ==>  4..5 an operator or `]` is expected (`,` cannot follow a complete term)
        {a  ==>  2..2 an operator, `,` or `}` is expected (the text ends here)
        (a,b  ==>  4..4 an operator or `)` is expected (the text ends here)
        ).  ==>  0..1 a term is expected (`)` cannot start a term)
        2 ** 3 ** 4.  ==>  **(2,**(3,4))
        a:b:c.  ==>  :(a,:(b,c))
        - (1)^2.  ==>  -(^(1,2))
        -1^2.  ==>  ^(-1,2)
        a= \+b.  ==>  3..5 `\+` cannot stand here without parentheses (operator of priority 900; at most 699 fits here)
        [a,b|c|d].  ==>  6..7 an operator or `]` is expected (`|` cannot follow a complete term)
        p :- a , .  ==>  9..10 a term is expected (the clause ends here)
    "#]].assert_eq(&lines);
}

#[test]
fn putt() {
    let texts = [
        "(a:-b,c|d;e->f)",
        "2 mod 3",
        "\\+a",
        "1-(2-3)",
        "1-2-3",
        "1- -1",
        "-(-(1))",
        "a++",
        "f((:-))",
        "f((a:-b))",
        "f((','))",
        "[]",
        "!",
        "'.'",
        "'hello world'",
        "'it''s'",
        "\"a\\\"\\n\\001\\\\\"",
        "1.5",
        "1e30",
        "{a,b}",
        "[a,b|c]",
        "f(+,'X',[-])",
        "-(1^2)",
        "- a",
        "-(a,b)",
        "-(-1)",
        "a=b",
        "a= (\\+b)",
        "module#m",
        "[(a,b),c]",
        "module(-1)",
        "module(+(1,2,3))",
        "X=f(Y,_)",
        "(a,b)",
        "((a,b),c)",
        "\\+ (a,b)",
        "#\"c\"",
        "1 - (-1)",
        "(a->b;c)",
        "{}",
        "'{}'",
        "a:b:c@d",
        "(a:b):c",
        "-(-a)",
        "f(;)",
        "spy[a]",
        "(a=b)=c",
        "f(;,'|',{})",
        "2**3**4",
    ];
    let mut lines = String::new();
    for text in texts {
        let mut atoms = AtomTable::new();
        let ops = OpTable::default_table(&mut atoms);
        let tree = parse_term(format!("{text} .").as_bytes(), &ops, &mut atoms).unwrap().unwrap();
        let view = TreeView(&tree);
        let putt = print_readable(&view, &atoms, &ops, view.root());
        let print = print_plain(&view, &atoms, view.root());
        lines += &format!(
            "{text}  ==>  {}  ==>  {}\n",
            String::from_utf8_lossy(&putt),
            String::from_utf8_lossy(&print)
        );
    }
    expect![[r#"
        (a:-b,c|d;e->f)  ==>  a:-b,c|d;e->f  ==>  :-(a,|(,(b,c),;(d,->(e,f))))
        2 mod 3  ==>  2 mod 3  ==>  mod(2,3)
        \+a  ==>  \+a  ==>  \+(a)
        1-(2-3)  ==>  1-(2-3)  ==>  -(1,-(2,3))
        1-2-3  ==>  1-2-3  ==>  -(-(1,2),3)
        1- -1  ==>  1- -1  ==>  -(1,-1)
        -(-(1))  ==>  - (-1)  ==>  -(-(1))
        a++  ==>  a++  ==>  ++(a)
        f((:-))  ==>  f((:-))  ==>  f(:-)
        f((a:-b))  ==>  f((a:-b))  ==>  f(:-(a,b))
        f((','))  ==>  f((','))  ==>  f(,)
        []  ==>  []  ==>  []
        !  ==>  !  ==>  !
        '.'  ==>  '.'  ==>  .
        'hello world'  ==>  'hello world'  ==>  hello world
        'it''s'  ==>  'it''s'  ==>  it's
        "a\"\n\001\\"  ==>  "a\"\n\001\\"  ==>  "a\"\012\001\\"
        1.5  ==>  1.5  ==>  1.500000
        1e30  ==>  1.0e+30  ==>  1000000000000000019884624838656.000000
        {a,b}  ==>  {a,b}  ==>  {a,b}
        [a,b|c]  ==>  [a,b|c]  ==>  [a,b|c]
        f(+,'X',[-])  ==>  f((+),'X',[(-)])  ==>  f(+,X,[-])
        -(1^2)  ==>  -(1^2)  ==>  -(^(1,2))
        - a  ==>  -a  ==>  -(a)
        -(a,b)  ==>  a-b  ==>  -(a,b)
        -(-1)  ==>  - -1  ==>  -(-1)
        a=b  ==>  a=b  ==>  =(a,b)
        a= (\+b)  ==>  a=(\+b)  ==>  =(a,\+(b))
        module#m  ==>  (module)#m  ==>  #(module,m)
        [(a,b),c]  ==>  [(a,b),c]  ==>  [,(a,b),c]
        module(-1)  ==>  module(-1)  ==>  module(-1)
        module(+(1,2,3))  ==>  module(+(1,2,3))  ==>  module(+(1,2,3))
        X=f(Y,_)  ==>  X=f(Y,_)  ==>  =(X,f(Y,_))
        (a,b)  ==>  a,b  ==>  ,(a,b)
        ((a,b),c)  ==>  (a,b),c  ==>  ,(,(a,b),c)
        \+ (a,b)  ==>  \+ (a,b)  ==>  \+(,(a,b))
        #"c"  ==>  #"c"  ==>  #("c")
        1 - (-1)  ==>  1- -1  ==>  -(1,-1)
        (a->b;c)  ==>  a->b;c  ==>  ;(->(a,b),c)
        {}  ==>  {}  ==>  {}
        '{}'  ==>  '{}'  ==>  {}
        a:b:c@d  ==>  a:b:c@d  ==>  :(a,:(b,@(c,d)))
        (a:b):c  ==>  (a:b):c  ==>  :(:(a,b),c)
        -(-a)  ==>  - (-a)  ==>  -(-(a))
        f(;)  ==>  f((;))  ==>  f(;)
        spy[a]  ==>  spy [a]  ==>  spy([a])
        (a=b)=c  ==>  (a=b)=c  ==>  =(=(a,b),c)
        f(;,'|',{})  ==>  f((;),('|'),{})  ==>  f(;,|,{})
        2**3**4  ==>  2**3**4  ==>  **(2,**(3,4))
    "#]]
    .assert_eq(&lines);
}

#[test]
fn limited_terms() {
    let mut atoms = AtomTable::new();
    let ops = OpTable::default_table(&mut atoms);
    let mut show = |text: &str| {
        let tree = parse_term(text.as_bytes(), &ops, &mut atoms).unwrap().unwrap();
        let view = TreeView(&tree);
        print_limited(&view, &atoms, view.root(), Limits { depth: 3, length: 4 })
    };
    assert_eq!(show("f(g(h(i(j))),[1,2,3,4,5,6])."), "f(g(h(..)),[1,2,3,4|..])");
    assert_eq!(show("{1,2,3,4,5}."), "{1,2,3,4,..}");
    assert_eq!(show("[1,2,3,4|X]."), "[1,2,3,4|X]");
}

#[test]
fn printing_stops_at_variables_and_when_the_buffer_is_full() {
    struct Waiting<'t>(TreeView<'t>, std::cell::Cell<bool>);
    impl TermView for Waiting<'_> {
        type Term = syntax::views::TreeTerm;
        fn view(&self, term: Self::Term) -> View<'_> {
            match self.0.view(term) {
                View::Variable(_) if !self.1.get() => View::Wait,
                view => view,
            }
        }
        fn argument(&self, term: Self::Term, index: usize) -> Self::Term {
            self.0.argument(term, index)
        }
    }
    let mut atoms = AtomTable::new();
    let ops = OpTable::default_table(&mut atoms);
    let tree = parse_term(b"f(a,[b|X],c).", &ops, &mut atoms).unwrap().unwrap();
    let view = Waiting(TreeView(&tree), false.into());
    let mut printer = Printer::readable(view.0.root());
    let mut out = vec![];
    assert_eq!(printer.write(&view, &atoms, &ops, &mut out, 2), Progress::Full);
    assert!(matches!(printer.write(&view, &atoms, &ops, &mut out, 100), Progress::Blocked(_)));
    assert_eq!(out, b"f(a,[b");
    assert!(printer.terms_mut().count() > 0);
    view.1.set(true);
    assert_eq!(printer.write(&view, &atoms, &ops, &mut out, 100), Progress::Done);
    assert_eq!(out, b"f(a,[b|X],c)");
}

#[test]
fn wrapped_terms_show_what_they_stand_for() {
    let mut atoms = AtomTable::new();
    let ops = OpTable::default_table(&mut atoms);
    let text = b"functor(f(variable(\"X\"),list([integer(1)|atom([])]),vector({string(\"s\")}),functor(+(atom(a),floating_point(1.5))))).";
    let tree = parse_term(text, &ops, &mut atoms).unwrap().unwrap();
    let inner = TreeView(&tree);
    let view = WrappedView::new(&inner, &atoms);
    let shown = print_readable(&view, &atoms, &ops, inner.root());
    assert_eq!(String::from_utf8_lossy(&shown), "f(X,[1],{\"s\"},a+1.5)");
}

/// How much of the text must have arrived until the end of its first term is known, and where that is.
fn first_end(text: &[u8]) -> (usize, Scanned) {
    let mut scanner = TermScanner::new();
    for arrived in 0..=text.len() {
        match scanner.scan(&text[..arrived], false) {
            Scanned::NeedMore => {}
            found => return (arrived, found),
        }
    }
    (text.len(), scanner.scan(text, true))
}

#[test]
fn the_end_of_a_term_is_found_as_soon_as_it_arrives() {
    let cases: &[(&[u8], (usize, Scanned))] = &[
        (b"foo.\nbar.\n", (5, Scanned::Term(5))),
        (b"f(0'. , 'a. ', \"b. \"\"\"). x", (25, Scanned::Term(25))),
        (b"1.5. ", (5, Scanned::Term(5))),
        (b"a /* . */ % . \n.\n", (17, Scanned::Term(17))),
        (b"a.%\n.\n", (6, Scanned::Term(6))),
        (b"foo.", (4, Scanned::Term(4))),
        (b"foo", (3, Scanned::Term(3))),
        (b" % nothing. \n", (13, Scanned::EndOfInput)),
        (b"'open. ", (7, Scanned::Term(7))),
    ];
    for (text, found) in cases {
        assert_eq!(first_end(text), *found, "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn errors_of_gett_are_reported_with_their_place() {
    let mut atoms = AtomTable::new();
    let ops = OpTable::default_table(&mut atoms);
    let text = b"\nf(a,\n  b c, % comment\n d).";
    let error = parse_term(text, &ops, &mut atoms).unwrap_err();
    let report = error.report(text, 22);
    expect![[r#"
        {SYNTAX ERROR: in lines 21-23}
        ** an operator, `,` or `)` is expected **
        f(a,
          b
        ** here **
        c, % comment
         d).
    "#]]
    .assert_eq(&String::from_utf8_lossy(&report));
}

#[test]
fn operators_can_be_changed() {
    let mut atoms = AtomTable::new();
    let mut ops = OpTable::default_table(&mut atoms);
    let likes = atoms.intern(b"likes");
    assert!(parse_term(b"a likes b.", &ops, &mut atoms).is_err());
    assert!(ops.add(likes, OpType::Xfx, 700));
    assert!(!ops.add(likes, OpType::Xfx, 1201));
    let tree = parse_term(b"a likes b.", &ops, &mut atoms).unwrap().unwrap();
    let view = TreeView(&tree);
    assert_eq!(print_readable(&view, &atoms, &ops, view.root()), b"a likes b");
    ops.remove(likes, OpType::Xfx);
    assert_eq!(print_readable(&view, &atoms, &ops, view.root()), b"likes(a,b)");
}

#[test]
fn deep_and_long_terms() {
    const N: usize = 1_000_000;
    let mut atoms = AtomTable::new();
    let ops = OpTable::default_table(&mut atoms);
    let repeat = |open: &str, middle: &str, close: &str| {
        format!("{}{middle}{}.", open.repeat(N), close.repeat(N)).into_bytes()
    };
    let texts = [
        repeat("(", "a", ")"),
        repeat("f(", "a", ")"),
        repeat("[", "", "]"),
        repeat("[a|", "[]", "]"),
        repeat("{", "", "}"),
        repeat("a,", "a", ""),
        repeat("a-", "a", ""),
        repeat("\\+ ", "a", ""),
        repeat("", "a", "++"),
        format!("[{}a].", "a,".repeat(N)).into_bytes(),
    ];
    for text in &texts {
        let Ok(tree) = parse_term(text, &ops, &mut atoms) else {
            assert!(text.ends_with(b"++."), "`xf` does not chain; everything else can be read");
            continue;
        };
        let tree = tree.expect("a term");
        let view = TreeView(&tree);
        let readable = print_readable(&view, &atoms, &ops, view.root());
        assert!(readable.len() <= text.len() + 1);
        print_plain(&view, &atoms, view.root());
    }
    // Unclosed: an error, not an overflow.
    assert!(parse_term("f(".repeat(N).as_bytes(), &ops, &mut atoms).is_err());
}

/// A term of the test's own.
#[derive(Clone, Debug, PartialEq)]
enum T {
    Int(i64),
    Float(f64),
    Atom(String),
    String(Vec<u8>),
    Var(String),
    Cons(Box<[T; 2]>),
    Struct(String, Vec<T>),
    Vector(Vec<T>),
}

struct Terms<'a>(&'a AtomTable);

impl<'a> TermView for &'a Terms<'a> {
    type Term = &'a T;
    fn view(&self, term: &'a T) -> View<'_> {
        let atom = |name: &String| self.0.lookup(name.as_bytes()).expect("entered");
        match term {
            T::Int(value) => View::Int(*value),
            T::Float(value) => View::Float(*value),
            T::Atom(name) => View::Atom(atom(name)),
            T::String(bytes) => View::String(Cow::Borrowed(bytes)),
            T::Var(name) => View::Variable(name.clone()),
            T::Cons(_) => View::Cons,
            T::Struct(name, arguments) => View::Struct(atom(name), arguments.len()),
            T::Vector(items) => View::Vector(items.len()),
        }
    }
    fn argument(&self, term: &'a T, index: usize) -> &'a T {
        match term {
            T::Cons(parts) => &parts[index],
            T::Struct(_, items) | T::Vector(items) => &items[index],
            _ => unreachable!(),
        }
    }
}

fn enter(term: &T, atoms: &mut AtomTable) {
    match term {
        T::Atom(name) => {
            atoms.intern(name.as_bytes());
        }
        T::Cons(parts) => parts.iter().for_each(|t| enter(t, atoms)),
        T::Struct(name, items) => {
            atoms.intern(name.as_bytes());
            items.iter().for_each(|t| enter(t, atoms));
        }
        T::Vector(items) => items.iter().for_each(|t| enter(t, atoms)),
        _ => {}
    }
}

fn convert(tree: &Tree, id: NodeId, atoms: &AtomTable) -> T {
    let name = |atom: Atom| atoms.name(atom).into_owned();
    let all = |range| tree.children(range).iter().map(|&id| convert(tree, id, atoms));
    match &tree.node(id).kind {
        NodeKind::Var(v) => T::Var(String::from_utf8_lossy(&tree.variables()[*v as usize].name).into_owned()),
        NodeKind::Int(value) => T::Int(*value),
        NodeKind::Float(value) => T::Float(*value),
        NodeKind::Atom(atom) => T::Atom(name(*atom)),
        NodeKind::String(bytes) => T::String(bytes.to_vec()),
        NodeKind::List(range) => {
            all(*range).rev().reduce(|tail, item| T::Cons(Box::new([item, tail]))).expect("not empty")
        }
        NodeKind::Struct(atom, range) => T::Struct(name(*atom), all(*range).collect()),
        NodeKind::Vector(range) => T::Vector(all(*range).collect()),
        NodeKind::BigInt(_) => unreachable!("not generated"),
    }
}

const NAMES: &[&str] = &[
    "a", "foo", "-", "+", "mod", "module", "#", "~", "\\+", ":-", ",", "|", ";", "->", ":", "@", "=", "++",
    "--", "&", "^", "**", "spy", "Quoted", "a b", "[]", "{}", ".", "!", "", "`", "*", "/*", "xor", "$~",
    "likes", "very", "indeed",
];

fn term() -> impl Strategy<Value = T> {
    let name = prop::sample::select(NAMES).prop_map(str::to_string);
    let leaf = prop_oneof![
        (-20i64..20).prop_map(T::Int),
        (-400i32..400).prop_map(|n| T::Float(f64::from(n) / 8.0)),
        name.clone().prop_map(T::Atom),
        prop::collection::vec(any::<u8>(), 0..4).prop_map(T::String),
        prop::sample::select(&["X", "_y", "Zed"][..]).prop_map(|v| T::Var(v.to_string())),
    ];
    leaf.prop_recursive(6, 60, 3, move |inner| {
        let arguments = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            4 => (name.clone(), arguments).prop_map(structure),
            1 => prop::collection::vec(inner.clone(), 0..3).prop_map(T::Vector),
            1 => (inner.clone(), inner).prop_map(|(a, b)| T::Cons(Box::new([a, b]))),
        ]
    })
}

/// `'.'(a,b)` is a list cell; `-(1)` does not read back (see `print`).
fn structure((name, mut arguments): (String, Vec<T>)) -> T {
    match (&*name, arguments.len()) {
        (".", 2) => {
            let tail = arguments.pop().unwrap();
            T::Cons(Box::new([arguments.pop().unwrap(), tail]))
        }
        ("-", 1) if matches!(arguments[0], T::Int(0..) | T::Float(_)) => arguments.pop().unwrap(),
        _ => T::Struct(name, arguments),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]
    #[test]
    fn what_putt_writes_reads_back(term in term()) {
        let mut atoms = AtomTable::new();
        let mut ops = OpTable::default_table(&mut atoms);
        ops.add(atoms.intern(b"likes"), OpType::Yfx, 300);
        ops.add(atoms.intern(b"very"), OpType::Fy, 300);
        ops.add(atoms.intern(b"indeed"), OpType::Yf, 400);
        enter(&term, &mut atoms);
        let terms = Terms(&atoms);
        let mut text = print_readable(&&terms, &atoms, &ops, &term);
        let shown = String::from_utf8_lossy(&text).into_owned();
        text.extend(b" .");
        let mut reading = atoms.clone();
        let tree = parse_term(&text, &ops, &mut reading);
        prop_assert!(tree.is_ok(), "{shown}: {tree:?}");
        let tree = tree.unwrap().unwrap();
        prop_assert_eq!(convert(&tree, tree.root(), &reading), term, "{}", shown);
    }
}
