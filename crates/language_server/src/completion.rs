//! What may be written at a place.

use crate::check::Awaits;
use crate::cursor::{Clause, Kind};
use crate::hover::{builtin_signature, signature};
use crate::outline::{Outline, Role, Symbol};
use crate::workspace::Workspace;
use lsp_types::{CompletionItem, CompletionItemKind, CompletionTextEdit, TextEdit};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use term::abi::Place;

/// What stands before the cursor.
struct Before {
    /// What is replaced: the name that the cursor stands in or behind.
    replaced: std::ops::Range<usize>,
    prefix: String,
    /// `m` of `m:`.
    module: Option<String>,
    /// The innermost bracket that is open.
    bracket: Option<u8>,
    /// A guard or body has begun.
    in_clause: bool,
    variables: BTreeSet<String>,
}

/// All that may stand at a place.
pub(crate) fn complete(
    workspace: &Workspace<'_>,
    outline: &Rc<Outline>,
    awaits: &Awaits,
    offset: usize,
) -> Vec<CompletionItem> {
    let before = before(outline, offset);
    let mut items = Items { outline, before: &before, found: BTreeMap::new() };
    if let Some(module) = &before.module {
        items.module(workspace, awaits, module);
        return items.list();
    }
    for name in &before.variables {
        items.add(name.clone(), CompletionItemKind::VARIABLE, None, None, '1');
    }
    if before.bracket == Some(b'[') {
        items.messages(workspace, '2');
        return items.list();
    }
    if before.in_clause && before.bracket != Some(b'{') {
        items.predicates(workspace, awaits);
    }
    items.messages(workspace, '6');
    items.list()
}

fn before(outline: &Outline, offset: usize) -> Before {
    let clause = Clause::around(outline, offset);
    let here = clause.at(offset).map(|token| token.1.clone()).filter(|place| place.start < offset);
    let start = here.as_ref().map_or(offset, |place| place.start);
    // A run of symbols is no name that is being written.
    let prefix = outline.text.part(&(start..offset));
    let is_name = prefix.chars().all(|c| c.is_alphanumeric() || c == '_');
    let (start, prefix) = if is_name { (start, prefix) } else { (offset, String::new()) };
    let earlier = || clause.tokens.iter().filter(|token| token.1.end <= start);
    let mut brackets = Vec::new();
    for (kind, ..) in earlier() {
        match kind {
            Kind::Punctuation(open @ (b'(' | b'[' | b'{')) => brackets.push(*open),
            Kind::Punctuation(b')' | b']' | b'}') => _ = brackets.pop(),
            _ => {}
        }
    }
    let names = clause.tokens.iter().filter(|token| token.0 == Kind::Variable && token.1.start != start);
    Before {
        replaced: start..offset,
        prefix,
        module: module_before(outline, start),
        bracket: brackets.last().copied(),
        in_clause: earlier().any(|token| token.2 == ":-"),
        variables: names.map(|token| token.2.clone()).filter(|name| name != "_").collect(),
    }
}

/// `m` of `m:` right before a place. The text decides: with a point behind it, `:.` is one token.
fn module_before(outline: &Outline, at: usize) -> Option<String> {
    let (name, b':') = outline.text.bytes().get(..at)?.split_last().map(|(colon, name)| (name, *colon))?
    else {
        return None;
    };
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 128;
    let start = name.iter().rposition(|byte| !is_part(byte)).map_or(0, |at| at + 1);
    let name = String::from_utf8_lossy(&name[start..]).into_owned();
    name.starts_with(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_').then_some(name)
}

struct Items<'a> {
    outline: &'a Rc<Outline>,
    before: &'a Before,
    /// By label.
    found: BTreeMap<String, CompletionItem>,
}

impl Items<'_> {
    fn add(
        &mut self,
        name: String,
        kind: CompletionItemKind,
        detail: Option<String>,
        arity: Option<usize>,
        rank: char,
    ) {
        let label = arity.map_or(name.clone(), |arity| format!("{name}/{arity}"));
        if !name.to_lowercase().starts_with(&self.before.prefix.to_lowercase()) || name.is_empty() {
            return;
        }
        let mut written = Vec::new();
        match kind {
            CompletionItemKind::VARIABLE => written = name.clone().into(),
            _ => syntax::format::write_atom(name.as_bytes(), &mut written),
        }
        let mut text = String::from_utf8_lossy(&written).into_owned();
        if kind == CompletionItemKind::MODULE {
            text.push(':');
        }
        let edit = TextEdit::new(self.outline.text.range(&self.before.replaced), text);
        self.found.entry(label.clone()).or_insert_with(|| CompletionItem {
            sort_text: Some(format!("{rank}{label}")),
            label,
            kind: Some(kind),
            detail,
            filter_text: Some(name),
            text_edit: Some(CompletionTextEdit::Edit(edit)),
            ..CompletionItem::default()
        });
    }

    /// The predicates of one module, and builtins that are called through it.
    fn module(&mut self, workspace: &Workspace<'_>, awaits: &Awaits, name: &str) {
        if let Some(home) = workspace.module(name, self.outline) {
            self.of_module(workspace, &home, awaits, name, '1');
        }
        for builtin in workspace.language.builtins.iter().filter(|b| b.module == name) {
            let detail = Some(builtin_signature(builtin));
            let kind = CompletionItemKind::FUNCTION;
            self.add(builtin.name.to_string(), kind, detail, Some(builtin.modes.len()), '2');
        }
    }

    fn of_module(
        &mut self,
        workspace: &Workspace<'_>,
        home: &Outline,
        awaits: &Awaits,
        name: &str,
        rank: char,
    ) {
        let is_library = Workspace::is_library(&home.path);
        let known = if is_library { &workspace.language.awaits } else { awaits };
        for predicate in home.module(name).iter().flat_map(|module| &module.predicates) {
            let key = (name.to_string(), predicate.name.clone(), predicate.arity);
            let detail = Some(signature(predicate, known.get(&key).copied()));
            let kind = CompletionItemKind::FUNCTION;
            self.add(predicate.name.clone(), kind, detail, Some(predicate.arity), rank);
        }
    }

    /// Those of the module here, builtins, and modules.
    fn predicates(&mut self, workspace: &Workspace<'_>, awaits: &Awaits) {
        let outline = self.outline.clone();
        if let Some(module) = outline.module_at(self.before.replaced.start) {
            self.of_module(workspace, &outline, awaits, &module.name, '3');
        }
        let mut modules: BTreeSet<String> = library::modules().map(str::to_string).collect();
        for builtin in &workspace.language.builtins {
            if matches!(builtin.place, Place::Guard | Place::Body) {
                let (detail, arity) = (Some(builtin_signature(builtin)), Some(builtin.modes.len()));
                self.add(builtin.name.to_string(), CompletionItemKind::FUNCTION, detail, arity, '5');
            }
            modules.insert(builtin.module.to_string());
        }
        let beside = workspace.beside(&outline.path);
        modules.extend(beside.iter().flat_map(|text| &text.modules).map(|module| module.name.clone()));
        for module in modules {
            self.add(module, CompletionItemKind::MODULE, None, None, '4');
        }
    }

    /// Terms that heads of these texts look for in lists, and the library's.
    fn messages(&mut self, workspace: &Workspace<'_>, rank: char) {
        let library = library::modules().filter_map(|module| workspace.library(module));
        for text in workspace.beside(&self.outline.path).into_iter().chain(library) {
            for u in text.uses.iter().filter(|u| u.role == Role::Takes && u.in_list) {
                if let Symbol::Functor(name, arity) = &u.symbol {
                    let home =
                        text.module_at(u.place.start).map(|module| format!("a message of {}", module.name));
                    self.add(name.clone(), CompletionItemKind::EVENT, home, Some(*arity), rank);
                }
            }
        }
        for name in engine::builtin_messages() {
            let home = Some("a message to a stream".to_string());
            self.add(name.to_string(), CompletionItemKind::EVENT, home, None, rank);
        }
    }

    fn list(self) -> Vec<CompletionItem> {
        self.found.into_values().collect()
    }
}
