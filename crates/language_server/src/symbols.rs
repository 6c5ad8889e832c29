//! Lists of what is defined: of one text as a tree, of all as a list.

use crate::outline::{Outline, Predicate};
use crate::workspace::Workspace;
use lsp_types::{DocumentSymbol, Location, OneOf, SymbolKind, WorkspaceSymbol};

/// Answers of a search, at most.
const FOUND_MAX: usize = 500;

/// The modules of a text with their predicates.
pub(crate) fn of_text(outline: &Outline) -> Vec<DocumentSymbol> {
    let modules = outline.modules.iter().map(|module| {
        let predicates = module.predicates.iter().map(|predicate| {
            let name = format!("{}/{}", predicate.name, predicate.arity);
            symbol(outline, name, SymbolKind::FUNCTION, (&predicate.whole, &predicate.place), None)
        });
        let end = module.predicates.iter().map(|predicate| predicate.whole.end).max();
        let whole = module.place.start..end.unwrap_or(0).max(module.place.end);
        let name = if module.name.is_empty() { "''".into() } else { module.name.clone() };
        symbol(outline, name, SymbolKind::MODULE, (&whole, &module.place), Some(predicates.collect()))
    });
    modules.collect()
}

#[expect(deprecated, reason = "a field that the protocol has given up must be written")]
fn symbol(
    outline: &Outline,
    name: String,
    kind: SymbolKind,
    (whole, name_place): (&std::ops::Range<usize>, &std::ops::Range<usize>),
    children: Option<Vec<DocumentSymbol>>,
) -> DocumentSymbol {
    DocumentSymbol {
        name,
        detail: None,
        kind,
        tags: None,
        deprecated: None,
        range: outline.text.range(whole),
        selection_range: outline.text.range(name_place),
        children,
    }
}

/// Predicates and modules whose names have the letters of a query in their order.
pub(crate) fn search(workspace: &Workspace<'_>, query: &str) -> Vec<WorkspaceSymbol> {
    let mut found = Vec::new();
    for outline in workspace.all() {
        let Some(uri) = workspace.uri(&outline.path) else { continue };
        let mut add = |name: String, kind, place, container: Option<&str>| {
            if found.len() < FOUND_MAX && has_letters(&name, query) {
                let location = Location { uri: uri.clone(), range: outline.text.range(place) };
                found.push(WorkspaceSymbol {
                    name,
                    kind,
                    tags: None,
                    container_name: container.map(str::to_string),
                    location: OneOf::Left(location),
                    data: None,
                });
            }
        };
        for module in &outline.modules {
            add(module.name.clone(), SymbolKind::MODULE, &module.place, None);
            for Predicate { name, arity, place, .. } in &module.predicates {
                add(format!("{name}/{arity}"), SymbolKind::FUNCTION, place, Some(&module.name));
            }
        }
    }
    found
}

fn has_letters(name: &str, query: &str) -> bool {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    query.chars().flat_map(char::to_lowercase).all(|wanted| letters.any(|letter| letter == wanted))
}
