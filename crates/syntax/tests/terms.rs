//! Terms back to text, large terms, and random terms read again.

use expect_test::expect_file;
use num_bigint::BigInt;
use proptest::prelude::*;
use std::borrow::Cow;
use syntax::operators::{OpTable, OpType, default_operators};
use syntax::parse_term;
use syntax::print::{Limits, Printer, Progress, TermView, View, print_limited, print_plain, print_readable};
use syntax::tree::{NodeId, NodeKind, Tree};
use syntax::views::{TreeView, WrappedView};
use term::{Atom, AtomTable};

/// `text  ==>  what putt writes  ==>  what print writes` in each line.
#[test]
fn putt() {
    let texts = include_str!("tables/putt.txt").lines().filter_map(|line| line.split("  ==>  ").next());
    let mut lines = String::new();
    for text in texts {
        let atoms = AtomTable::new();
        let ops = OpTable::default_table(&atoms);
        let tree = parse_term(format!("{text} .").as_bytes(), &ops, &atoms).unwrap().unwrap();
        let view = TreeView(&tree);
        let putt = print_readable(&view, &atoms, &ops, view.root());
        let print = print_plain(&view, &atoms, view.root());
        lines += &format!(
            "{text}  ==>  {}  ==>  {}\n",
            String::from_utf8_lossy(&putt),
            String::from_utf8_lossy(&print)
        );
    }
    expect_file!["tables/putt.txt"].assert_eq(&lines);
}

#[test]
fn limited_terms() {
    let atoms = AtomTable::new();
    let ops = OpTable::default_table(&atoms);
    let show = |text: &str| {
        let tree = parse_term(text.as_bytes(), &ops, &atoms).unwrap().unwrap();
        let view = TreeView(&tree);
        print_limited(&view, &atoms, view.root(), Limits { depth: 3, length: 4, bytes: 40 })
    };
    assert_eq!(show("f(g(h(i(j))),[1,2,3,4,5,6])."), "f(g(h(..)),[1,2,3,4,..])");
    assert_eq!(show("f('A b',-1.5,\"s\",1-2)."), "f('A b',-1.5,\"s\",-(1,2))");
    let text = format!("f(\"{}\",{},b).", "s".repeat(300), "a".repeat(30));
    assert_eq!(show(&text), format!("f(\"{}\"....", "s".repeat(200)));
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
    let atoms = AtomTable::new();
    let ops = OpTable::default_table(&atoms);
    let tree = parse_term(b"f(a,[b|X],c).", &ops, &atoms).unwrap().unwrap();
    let view = Waiting(TreeView(&tree), false.into());
    let mut printer = Printer::readable(view.0.root());
    let mut out = vec![];
    assert_eq!(printer.write(&view, &atoms, &ops, &mut out, 2), Progress::Paused);
    assert!(matches!(printer.write(&view, &atoms, &ops, &mut out, 100), Progress::Blocked(_)));
    assert_eq!(out, b"f(a,[b");
    assert!(printer.terms_mut().count() > 0);
    view.1.set(true);
    assert_eq!(printer.write(&view, &atoms, &ops, &mut out, 100), Progress::Done);
    assert_eq!(out, b"f(a,[b|X],c)");
}

#[test]
fn wrapped_terms_show_what_they_stand_for() {
    let atoms = AtomTable::new();
    let ops = OpTable::default_table(&atoms);
    let text = b"functor(f(variable(\"X\"),variable(9),list([integer(1)|atom([])]),vector({string(\"s\")}),functor(+(atom(a),floating_point(1.5))))).";
    let tree = parse_term(text, &ops, &atoms).unwrap().unwrap();
    let inner = TreeView(&tree);
    let view = WrappedView::new(&inner, &atoms);
    let shown = print_readable(&view, &atoms, &ops, inner.root());
    assert_eq!(String::from_utf8_lossy(&shown), "f(X,_9,[1],{\"s\"},a+1.5)");
}

#[test]
fn deep_and_long_terms() {
    const N: usize = if cfg!(miri) { 100 } else { 1_000_000 };
    let atoms = AtomTable::new();
    let ops = OpTable::default_table(&atoms);
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
        let Ok(tree) = parse_term(text, &ops, &atoms) else {
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
    assert!(parse_term("f(".repeat(N).as_bytes(), &ops, &atoms).is_err());
}

/// A term of the test's own.
#[derive(Clone, Debug, PartialEq)]
enum T {
    Int(i64),
    BigInt(BigInt),
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
            T::BigInt(value) => View::BigInt(value.to_string()),
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

fn enter(term: &T, atoms: &AtomTable) {
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
        NodeKind::BigInt(value) => T::BigInt((**value).clone()),
    }
}

/// Names that are no operators, and some that only this test's table makes operators.
const OTHERS: &[&str] = &[
    "a", "foo", ",", "|", "Quoted", "a b", "[]", "{}", ".", "!", "", "`", "/*", "likes", "very", "indeed",
    "all", "<>", "#<", "it's",
];

/// The default operators, and more: words and symbols that are of two or three kinds.
fn operators(atoms: &AtomTable) -> OpTable {
    let mut ops = OpTable::default_table(atoms);
    for (name, kind, priority) in [
        ("likes", OpType::Yfx, 300),
        ("very", OpType::Fy, 300),
        ("indeed", OpType::Yf, 400),
        ("all", OpType::Fy, 600),
        ("all", OpType::Xfy, 400),
        ("all", OpType::Xf, 250),
        ("<>", OpType::Fx, 150),
        ("<>", OpType::Yf, 350),
        ("#<", OpType::Xfx, 1100),
        ("#<", OpType::Yf, 1050),
        ("it's", OpType::Fy, 90),
    ] {
        ops.add(atoms.intern(name.as_bytes()), kind, priority);
    }
    ops
}

fn term() -> impl Strategy<Value = T> {
    const B: i128 = 1 << 64;
    let defaults: Vec<&str> = default_operators().map(|(_, _, name)| name).collect();
    let name = prop_oneof![
        8 => prop::sample::select(defaults).prop_map(str::to_string),
        4 => prop::sample::select(OTHERS).prop_map(str::to_string),
        1 => any::<String>(),
    ];
    let leaf = prop_oneof![
        4 => (-20i64..20).prop_map(T::Int),
        1 => (-(1i64 << 60)..1 << 60).prop_map(T::Int),
        1 => (any::<i64>(), any::<bool>()).prop_map(|(n, up)| T::BigInt(BigInt::from(n) + if up { B } else { -B })),
        1 => (-400i32..400).prop_map(|n| T::Float(f64::from(n) / 8.0)),
        1 => any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |f| f.is_finite()).prop_map(T::Float),
        4 => name.clone().prop_map(T::Atom),
        1 => prop::collection::vec(any::<u8>(), 0..4).prop_map(T::String),
        1 => prop::sample::select(&["X", "_y", "Zed"][..]).prop_map(|v| T::Var(v.to_string())),
    ];
    leaf.prop_recursive(6, 60, 3, move |inner| {
        let few = prop::collection::vec(inner.clone(), 1..3);
        let arguments = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            4 => (name.clone(), few).prop_map(structure),
            2 => (name.clone(), arguments).prop_map(structure),
            1 => prop::collection::vec(inner.clone(), 0..3).prop_map(T::Vector),
            1 => (inner.clone(), inner).prop_map(|(a, b)| T::Cons(Box::new([a, b]))),
        ]
    })
}

/// `'.'(a,b)` is a list cell.
fn structure((name, mut arguments): (String, Vec<T>)) -> T {
    match (&*name, arguments.len()) {
        (".", 2) => {
            let tail = arguments.pop().unwrap();
            T::Cons(Box::new([arguments.pop().unwrap(), tail]))
        }
        _ => T::Struct(name, arguments),
    }
}

/// `what putt writes`, if it reads back as the term.
fn round_trip(term: &T, atoms: &AtomTable, ops: &OpTable) -> Result<String, String> {
    enter(term, atoms);
    let terms = Terms(atoms);
    let mut text = print_readable(&&terms, atoms, ops, term);
    let shown = String::from_utf8_lossy(&text).into_owned();
    text.extend(b" .");
    let tree = parse_term(&text, ops, atoms).map_err(|error| format!("{shown}: {error:?}"))?;
    let tree = tree.expect("a term");
    let read = convert(&tree, tree.root(), atoms);
    if read == *term { Ok(shown) } else { Err(format!("{shown}: {term:?} is read back as {read:?}")) }
}

const CASES: u32 = if cfg!(miri) { 100 } else { 100_000 };

proptest! {
    #![proptest_config(ProptestConfig {
        cases: CASES,
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn what_putt_writes_reads_back(term in term()) {
        let atoms = AtomTable::new();
        let result = round_trip(&term, &atoms, &operators(&atoms));
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }
}

/// All small terms: an operator of each sort within one of each sort, beside what may stand there.
#[test]
fn what_putt_writes_of_small_terms_reads_back() {
    let atoms = AtomTable::new();
    let ops = operators(&atoms);
    // One name for all that are the same to the printer.
    let mut sorts = std::collections::BTreeMap::new();
    for name in default_operators().map(|(_, _, name)| name).chain(OTHERS.iter().copied()) {
        let atom = atoms.intern(name.as_bytes());
        let sort = [ops.prefix(atom), ops.infix(atom), ops.postfix(atom)]
            .map(|op| op.map(|op| (op.priority, op.right)));
        let first =
            name.bytes().next().map(|byte| (byte.is_ascii_alphanumeric(), byte.is_ascii_punctuation()));
        sorts.entry((sort, first)).or_insert(name);
    }
    let names: Vec<&str> = sorts.into_values().chain([",", "|", "/*", "", "."]).collect();
    let mut leaves = vec![T::Int(1), T::Int(-1), T::Float(0.5), T::Float(-0.0), T::String(b"s".to_vec())];
    leaves.extend(["a", "-", "mod", "module", "++", "\\+", "all"].map(|name| T::Atom(name.to_string())));
    let mut inner = leaves.clone();
    inner.extend(names.iter().map(|name| T::Atom(name.to_string())));
    for name in &names {
        let make = |arguments: Vec<T>| structure((name.to_string(), arguments));
        for leaf in &leaves {
            inner.push(make(vec![leaf.clone()]));
            inner.push(make(vec![leaf.clone(), T::Int(1)]));
            inner.push(make(vec![T::Int(-1), leaf.clone()]));
        }
        inner.push(make(vec![T::Int(1), T::Int(2), T::Int(3)]));
    }
    let step = if cfg!(miri) { 997 } else { 1 };
    let mut wrong = vec![];
    for (name, term) in names.iter().flat_map(|name| inner.iter().map(move |term| (name, term))).step_by(step)
    {
        let make = |arguments: Vec<T>| structure((name.to_string(), arguments));
        let one = || T::Int(1);
        for outer in
            [make(vec![term.clone()]), make(vec![term.clone(), one()]), make(vec![one(), term.clone()])]
        {
            wrong.extend(round_trip(&outer, &atoms, &ops).err());
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}
