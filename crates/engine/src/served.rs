//! Goals of the library that serve a stream of messages, as their users know them: by the message that they wait with,
//! and by the goals of the text that can have made the stream.

use crate::callers::Site;
use runtime::outcome::GoalText;
use syntax::operators::OpTable;
use syntax::parser::parse_term;
use syntax::tree::{NodeId, NodeKind, Tree};
use term::{AtomTable, symbol};

/// Messages that streams of module `io` take, and whether those of `klicio` and `unix` do, too.
const SIMPLE: [(&str, bool); 8] = [
    ("print", false),
    ("puts", false),
    ("flush", false),
    ("putc", true),
    ("nl", true),
    ("getc", true),
    ("getl", true),
    ("sync", true),
];

/// The message that a waiting goal of the library cannot handle yet.
pub(crate) fn message(goal: &GoalText) -> Option<&str> {
    let stream = match (&*goal.module, &*goal.name) {
        ("file_stream", "busy") => 1,
        ("file_stream", "ground") => 2,
        _ => return None,
    };
    goal.arguments.get(stream)?.first.as_deref()
}

/// How a goal that waits is named.
pub(crate) fn name(goal: &GoalText) -> String {
    message(goal)
        .map_or_else(|| goal.to_string(), |message| format!("a stream whose next message is {message}"))
}

/// Those of the goals of the text that can have made the stream with this message; all, if it can be none of them.
pub(crate) fn narrowed(sites: Vec<Site>, message: &str, atoms: &AtomTable) -> Vec<Site> {
    let ops = OpTable::source_table(atoms);
    let read = |text: &str| parse_term(format!("{text} .").as_bytes(), &ops, atoms).ok().flatten();
    let Some(message) = read(message) else { return sites };
    let fits = |site: &Site| read(&site.text).is_none_or(|call| may_send(&call, &message, atoms));
    let (fitting, others): (Vec<Site>, Vec<Site>) = sites.into_iter().partition(fits);
    if fitting.is_empty() { others } else { fitting }
}

/// Those of the goals of the text that can have become a goal; all, if none can.
pub(crate) fn fitting(sites: Vec<Site>, goal: &GoalText, atoms: &AtomTable) -> Vec<Site> {
    if sites.len() < 2 {
        return sites;
    }
    let ops = OpTable::source_table(atoms);
    let read = |text: &str| parse_term(format!("{text} .").as_bytes(), &ops, atoms).ok().flatten();
    let shown: Option<Vec<Tree>> = goal.arguments.iter().map(|argument| read(&argument.text)).collect();
    let Some(shown) = shown else { return sites };
    let fits = |site: &Site| {
        let Some(text) = read(&site.text) else { return true };
        let Some(written) = call(&text, atoms) else { return true };
        // State variables are more arguments than are written.
        written.len() != shown.len()
            || written.iter().zip(&shown).all(|(&from, to)| may_become((&text, from), (to, to.root()), atoms))
    };
    let (fitting, others): (Vec<Site>, Vec<Site>) = sites.into_iter().partition(fits);
    if fitting.is_empty() { others } else { fitting }
}

/// The arguments of a goal that may have its module before it and its place behind it.
fn call<'t>(tree: &'t Tree, atoms: &AtomTable) -> Option<&'t [NodeId]> {
    let mut at = tree.root();
    loop {
        let NodeKind::Struct(name, parts) = tree.node(at).kind else { return None };
        at = match (atoms.text(name), tree.children(parts)) {
            (b":", &[_, goal]) | (b"@", &[goal, _]) => goal,
            (_, parts) => return Some(parts),
        };
    }
}

/// Whether a call like `io:outstream([print(X), nl])` may be the source of this message.
fn may_send(call: &Tree, message: &Tree, atoms: &AtomTable) -> bool {
    let NodeKind::Struct(_, parts) = call.node(call.root()).kind else { return true };
    let [module, goal] = call.children(parts) else { return true };
    let (NodeKind::Atom(module), NodeKind::Struct(_, arguments)) =
        (&call.node(*module).kind, &call.node(*goal).kind)
    else {
        return true;
    };
    let name = match message.node(message.root()).kind {
        NodeKind::Struct(name, _) | NodeKind::Atom(name) => name,
        // A byte: only `io` does not take it.
        _ => return atoms.text(*module) != b"io",
    };
    let simple = SIMPLE.iter().find(|(simple, _)| simple.as_bytes() == atoms.text(name));
    match atoms.text(*module) {
        b"io" if simple.is_none() => return false,
        b"klicio" | b"unix" => return simple.is_none_or(|(_, of_all)| *of_all),
        b"io" => {}
        _ => return true,
    }
    let Some(&stream) = call.children(*arguments).last() else { return true };
    let NodeKind::List(items) = call.node(stream).kind else { return true };
    let Some((tail, items)) = call.children(items).split_last() else { return true };
    let ends = matches!(call.node(*tail).kind, NodeKind::Atom(symbol::NIL));
    !ends || items.iter().any(|&item| may_become((call, item), (message, message.root()), atoms))
}

/// Whether a term of the text may have become one that is shown. If in doubt it may.
fn may_become((text, from): (&Tree, NodeId), (shown, to): (&Tree, NodeId), atoms: &AtomTable) -> bool {
    let all = |from: &[NodeId], to: &[NodeId]| {
        from.iter().zip(to).all(|(&from, &to)| may_become((text, from), (shown, to), atoms))
    };
    let is_left_out = |name| atoms.text(name) == b"..";
    match (&text.node(from).kind, &shown.node(to).kind) {
        (NodeKind::Var(_), _) => true,
        (_, NodeKind::Atom(name)) if is_left_out(*name) => true,
        // Macros become other terms.
        (NodeKind::Struct(name, _), _) if matches!(atoms.text(*name), b"~" | b"$~" | b"#" | b"`" | b"``") => {
            true
        }
        (NodeKind::Struct(one, from), NodeKind::Struct(other, to)) => {
            let (from, to) = (text.children(*from), shown.children(*to));
            one == other && from.len() == to.len() && all(from, to)
        }
        (NodeKind::List(from), NodeKind::List(to)) => {
            let (from, to) = (text.children(*from), shown.children(*to));
            // A tail of one may stand for items of the other.
            let known = if from.len() == to.len() { from.len() } else { 1 };
            all(&from[..known], &to[..known])
        }
        (NodeKind::Vector(from), NodeKind::Vector(to)) => {
            let (from, to) = (text.children(*from), shown.children(*to));
            from.len() != to.len() || all(from, to)
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::outcome::ArgumentText;

    fn sites(texts: &[&str]) -> Vec<Site> {
        let site = |text: &&str| Site {
            file: String::new(),
            line: 0,
            text: text.to_string(),
            names: vec![],
            placed: false,
            caller: (0, 0, 0),
        };
        texts.iter().map(site).collect()
    }

    #[test]
    fn a_stream_is_known_by_its_next_message() {
        let goal = |module: &str, name: &str, first: [Option<&str>; 3]| GoalText {
            text: format!("{module}:{name}(..)"),
            module: module.into(),
            name: name.into(),
            arguments: first
                .map(|first| ArgumentText { text: "[..]".into(), first: first.map(str::to_string) })
                .into(),
        };
        let busy = |module| goal(module, "busy", [Some("x"), Some("fwrite(_1)"), None]);
        assert_eq!(message(&busy("file_stream")), Some("fwrite(_1)"));
        assert_eq!(name(&busy("file_stream")), "a stream whose next message is fwrite(_1)");
        assert_eq!(message(&goal("file_stream", "ground", [None, None, Some("nl")])), Some("nl"));
        assert_eq!(message(&goal("file_stream", "ground", [None; 3])), None);
        assert_eq!((message(&busy("main")), name(&busy("main"))), (None, "main:busy(..)".into()));
    }

    #[test]
    fn only_goals_that_can_have_sent_the_message_are_named() {
        let atoms = AtomTable::new();
        let all = [
            "io:outstream([print(a), nl])",
            "io:outstream([print(e(X)),nl])",
            "io:outstream([puts(\"x\"), print([Y,Z]), print(~(N+1))])",
            "io:outstream(S)",
            "io:outstream([print(b)|T])",
            "klicio:klicio([stdout(normal(O))])",
        ];
        let left = |message| -> Vec<usize> {
            let left = narrowed(sites(&all), message, &atoms);
            left.iter().filter_map(|site| all.iter().position(|text| *text == site.text)).collect()
        };
        assert_eq!(left("print(e(_1))"), [1, 2, 3, 4]);
        assert_eq!(left("print([1,_1])"), [2, 3, 4]);
        assert_eq!(left("putt(f(_1))"), [5]);
        assert_eq!(left("nl"), [0, 1, 3, 4, 5]);
        // None of these can be it, so the rule does not hold here.
        assert_eq!(narrowed(sites(&all[..1]), "putt(_1)", &atoms).len(), 1);
    }
}
