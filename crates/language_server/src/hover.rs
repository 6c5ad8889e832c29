//! What is known of a name: its comment, what its arguments wait for.

use crate::check::{Awaits, Key};
use crate::cursor::{Meaning, meaning};
use crate::outline::{Outline, Place, Predicate, Role, Symbol};
use crate::workspace::Workspace;
use lsp_types::{InlayHint, InlayHintKind, InlayHintLabel, InlayHintTooltip};
use std::rc::Rc;
use term::abi::Builtin;

/// What stands at a place, in Markdown.
pub(crate) fn hover(
    workspace: &Workspace<'_>,
    outline: &Rc<Outline>,
    awaits: &Awaits,
    offset: usize,
) -> Option<(Place, String)> {
    match meaning(outline, offset)? {
        Meaning::Symbol(found) => {
            let text = match &found.symbol {
                Symbol::Predicate(module, name, arity) => {
                    predicate(workspace, outline, awaits, &(module.clone(), name.clone(), *arity))
                }
                Symbol::Module(name) => module(workspace, outline, name),
                Symbol::Functor(..) => functor(outline, &found.symbol),
            };
            text.map(|text| (found.place.clone(), text))
        }
        Meaning::Variable(place, places) => {
            let name = outline.text.part(&place);
            let count = places.len();
            let times = if count == 1 { "once".into() } else { format!("{count} times") };
            Some((place, format!("variable `{name}`, {times} in this clause")))
        }
        Meaning::Name(..) => None,
    }
}

fn predicate(workspace: &Workspace<'_>, from: &Rc<Outline>, awaits: &Awaits, key: &Key) -> Option<String> {
    let (module, name, arity) = key;
    let home = workspace.module(module, from);
    if let Some(home) = home
        && let Some(predicate) = home.module(module).and_then(|module| module.predicate(name, *arity))
    {
        let is_library = Workspace::is_library(&home.path);
        let known = if is_library { &workspace.language.awaits } else { awaits };
        let awaits = known.get(key).copied();
        let mut text = format!("```kl1\n{module}:{}\n```\n", signature(predicate, awaits));
        text += &waits(predicate, awaits);
        if let Some(comment) = &predicate.comment {
            text += &format!("\n---\n{comment}\n");
        }
        return Some(text);
    }
    builtin(workspace, key)
}

/// Which of its arguments a goal waits for, in a sentence.
fn waits(predicate: &Predicate, awaits: Option<u64>) -> String {
    let Some(awaits) = awaits else { return String::new() };
    let names: Vec<String> = (predicate.arguments.iter().enumerate().take(64))
        .filter(|(at, _)| awaits >> at & 1 == 1)
        .map(|(at, (_, text))| match is_variable(text) {
            true => format!("`{text}`"),
            false => format!("argument {}", at + 1),
        })
        .collect();
    match &names[..] {
        [] if predicate.arity == 0 => String::new(),
        [] => "waits for no argument\n".into(),
        [one] => format!("waits for {one}\n"),
        [first @ .., last] => format!("waits for {} and {last}\n", first.join(", ")),
    }
}

fn is_variable(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase() || c == '_') && !text.contains(char::is_whitespace)
}

/// `p(+X,Y)`: `+` stands before what its goals wait for.
pub(crate) fn signature(predicate: &Predicate, awaits: Option<u64>) -> String {
    let mut name = Vec::new();
    syntax::format::write_atom(predicate.name.as_bytes(), &mut name);
    let name = String::from_utf8_lossy(&name).into_owned();
    if predicate.arity == 0 {
        return name;
    }
    let arguments = predicate.arguments.iter().enumerate().map(|(at, (_, text))| {
        let waits = awaits.is_some_and(|awaits| at < 64 && awaits >> at & 1 == 1);
        let shown = if is_variable(text) { text.clone() } else { format!("A{}", at + 1) };
        if waits { format!("+{shown}") } else { shown }
    });
    format!("{name}({})", arguments.collect::<Vec<_>>().join(","))
}

fn builtin(workspace: &Workspace<'_>, (module, name, arity): &Key) -> Option<String> {
    let same = |b: &&Builtin| b.name == name[..] && b.modes.len() == *arity;
    // A goal without a module is one of the text's own, or a builtin of any.
    let all = || workspace.language.builtins.iter().filter(same);
    let found = all().find(|b| b.module == module[..]).or_else(|| all().next())?;
    Some(format!("```kl1\n{}\n```\na builtin of module `{}`", builtin_signature(found), found.module))
}

/// `p(+,-,?)`: waited for, answered, neither.
pub(crate) fn builtin_signature(builtin: &Builtin) -> String {
    let modes = builtin.modes.chars().map(|mode| match mode {
        'i' => "+",
        'o' => "-",
        _ => "?",
    });
    match builtin.modes.is_empty() {
        true => builtin.name.to_string(),
        false => format!("{}({})", builtin.name, modes.collect::<Vec<_>>().join(",")),
    }
}

fn module(workspace: &Workspace<'_>, from: &Rc<Outline>, name: &str) -> Option<String> {
    let Some(home) = workspace.module(name, from) else {
        let known = workspace.language.builtins.iter().any(|builtin| builtin.module == name);
        return known.then(|| format!("module `{name}` of builtins"));
    };
    let module = home.module(name)?;
    let place = if Workspace::is_library(&home.path) { " of the library" } else { "" };
    let mut text = format!("module `{name}`{place}, {} predicates\n", module.predicates.len());
    if let Some(comment) = &module.comment {
        text += &format!("\n---\n{comment}\n");
    }
    Some(text)
}

fn functor(outline: &Outline, symbol: &Symbol) -> Option<String> {
    let count = |role| {
        let same = outline.uses.iter().filter(|u| u.symbol == *symbol && u.role == role);
        same.map(|u| u.place.start).collect::<std::collections::BTreeSet<_>>().len()
    };
    let (takes, makes) = (count(Role::Takes), count(Role::Makes));
    Some(format!("`{}`: taken in {takes} places of this text, made in {makes}", symbol.shown()))
}

/// `+` before each argument of a predicate's first head that its goals wait for.
pub(crate) fn inlay_hints(outline: &Outline, awaits: &Awaits, within: &Place) -> Vec<InlayHint> {
    let mut hints = Vec::new();
    for module in &outline.modules {
        let near =
            module.predicates.iter().filter(|p| p.place.start < within.end && within.start < p.whole.end);
        for predicate in near {
            let key = (module.name.clone(), predicate.name.clone(), predicate.arity);
            let Some(awaits) = awaits.get(&key) else { continue };
            for (at, (place, _)) in predicate.arguments.iter().enumerate().take(64) {
                let is_here = within.start <= place.start && place.start <= within.end;
                if awaits >> at & 1 == 0 || !is_here {
                    continue;
                }
                let tooltip =
                    format!("a goal of {}/{} waits for argument {}", predicate.name, predicate.arity, at + 1);
                hints.push(InlayHint {
                    position: outline.text.position(place.start),
                    label: InlayHintLabel::String("+".into()),
                    kind: Some(InlayHintKind::PARAMETER),
                    text_edits: None,
                    tooltip: Some(InlayHintTooltip::String(tooltip)),
                    padding_left: None,
                    padding_right: None,
                    data: None,
                });
            }
        }
    }
    hints
}
