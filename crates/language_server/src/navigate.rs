//! Definitions and references.

use crate::cursor::{Meaning, meaning};
use crate::outline::{Outline, Place, Role, Symbol};
use crate::workspace::Workspace;
use lsp_types::Location;
use std::path::PathBuf;
use std::rc::Rc;

/// A place in a text.
pub(crate) type Found = (Rc<Outline>, Place);

/// Where that is defined which stands at a place.
pub(crate) fn definition(workspace: &Workspace<'_>, outline: &Rc<Outline>, offset: usize) -> Vec<Found> {
    match meaning(outline, offset) {
        Some(Meaning::Variable(_, places)) => {
            places.into_iter().take(1).map(|p| (outline.clone(), p)).collect()
        }
        Some(Meaning::Symbol(found)) => defined(workspace, outline, &found.symbol),
        // The clause cannot be read: any predicate of this name is an answer.
        Some(Meaning::Name(name)) => {
            let here = outline.modules.iter().flat_map(|module| &module.predicates);
            here.filter(|p| p.name == name).map(|p| (outline.clone(), p.place.clone())).collect()
        }
        None => Vec::new(),
    }
}

fn defined(workspace: &Workspace<'_>, from: &Rc<Outline>, symbol: &Symbol) -> Vec<Found> {
    match symbol {
        Symbol::Predicate(module, name, arity) => {
            let Some(outline) = workspace.module(module, from) else { return Vec::new() };
            let predicate = outline.module(module).and_then(|module| module.predicate(name, *arity));
            predicate.map(|p| p.place.clone()).map(|place| (outline, place)).into_iter().collect()
        }
        Symbol::Module(name) => {
            let Some(outline) = workspace.module(name, from) else { return Vec::new() };
            let place = outline.module(name).map(|module| module.place.clone());
            place.map(|place| (outline, place)).into_iter().collect()
        }
        // Heads that take it: in this text, else beside it, else in the library.
        Symbol::Functor(..) => {
            let taken = |outline: Rc<Outline>| {
                let heads = outline.uses.iter().filter(|u| u.symbol == *symbol && u.role == Role::Takes);
                heads.map(|u| (outline.clone(), u.place.clone())).collect::<Vec<_>>()
            };
            let own = taken(from.clone());
            let beside = || workspace.beside(&from.path).into_iter().flat_map(taken).collect::<Vec<_>>();
            let library =
                || library::modules().filter_map(|m| workspace.library(m)).flat_map(taken).collect();
            Some(own)
                .filter(|found| !found.is_empty())
                .unwrap_or_else(|| Some(beside()).filter(|found| !found.is_empty()).unwrap_or_else(library))
        }
    }
}

/// Where that stands which stands at a place; `definitions`: also where it is defined.
pub(crate) fn references(
    workspace: &Workspace<'_>,
    outline: &Rc<Outline>,
    offset: usize,
    definitions: bool,
) -> Vec<Found> {
    match meaning(outline, offset) {
        Some(Meaning::Variable(_, places)) => places.into_iter().map(|p| (outline.clone(), p)).collect(),
        Some(Meaning::Symbol(found)) => {
            let all = uses(workspace, outline, &found.symbol);
            let wanted = all.into_iter().filter(|(_, _, role)| definitions || *role != Role::Defines);
            wanted.map(|(outline, place, _)| (outline, place)).collect()
        }
        _ => Vec::new(),
    }
}

/// All places of a symbol: in the text that defines it and in those beside that, or beside this one.
pub(crate) fn uses(
    workspace: &Workspace<'_>,
    from: &Rc<Outline>,
    symbol: &Symbol,
) -> Vec<(Rc<Outline>, Place, Role)> {
    let module = match symbol {
        Symbol::Predicate(module, ..) | Symbol::Module(module) => Some(module),
        Symbol::Functor(..) => None,
    };
    let home = module.and_then(|module| workspace.module(module, from));
    let around = home.as_ref().filter(|home| !Workspace::is_library(&home.path)).unwrap_or(from);
    let mut texts = match symbol {
        Symbol::Functor(..) => connected(workspace, from),
        _ => workspace.beside(&around.path),
    };
    texts.extend(home.iter().filter(|home| Workspace::is_library(&home.path)).cloned());
    if let Some(module) = module {
        // A text that has a module of this name means its own.
        let home = home.as_ref().map(|home| home.path.clone());
        texts.retain(|text| Some(&text.path) == home.as_ref() || text.module(module).is_none());
    }
    let mut found = Vec::new();
    for text in texts {
        let same = text.uses.iter().filter(|u| u.symbol == *symbol);
        let mut places: Vec<(Place, Role)> = same.map(|u| (u.place.clone(), u.role)).collect();
        places.dedup_by(|a, b| a.0 == b.0);
        found.extend(places.into_iter().map(|(place, role)| (text.clone(), place, role)));
    }
    found
}

/// The texts beside this one that it is connected with by calls of modules, itself first.
pub(crate) fn connected(workspace: &Workspace<'_>, from: &Rc<Outline>) -> Vec<Rc<Outline>> {
    let texts = workspace.beside(&from.path);
    let called = |text: &Rc<Outline>| {
        let mut names: Vec<&String> = (text.uses.iter())
            .filter_map(|u| match &u.symbol {
                Symbol::Module(name) if u.role == Role::Calls => Some(name),
                _ => None,
            })
            .collect();
        names.sort();
        names.dedup();
        names
            .into_iter()
            .filter_map(|name| Some(workspace.module(name, text)?.path.clone()))
            .collect::<Vec<_>>()
    };
    let calls: Vec<Vec<PathBuf>> = texts.iter().map(called).collect();
    let mut found = vec![from.path.clone()];
    let mut at = 0;
    while let Some(path) = found.get(at).cloned() {
        for (text, calls) in texts.iter().zip(&calls) {
            let joins = calls.contains(&path) || text.path == path;
            let more = if text.path == path { &calls[..] } else { std::slice::from_ref(&text.path) };
            let new = more.iter().filter(|_| joins && !Workspace::is_library(&text.path));
            for path in new {
                if !found.contains(path) && texts.iter().any(|text| text.path == *path) {
                    found.push(path.clone());
                }
            }
        }
        at += 1;
    }
    texts.into_iter().filter(|text| found.contains(&text.path)).collect()
}

/// As the protocol has it; places that no editor can show are left out.
pub(crate) fn locations(workspace: &Workspace<'_>, found: Vec<Found>) -> Vec<Location> {
    let located = found.into_iter().filter_map(|(outline, place)| {
        Some(Location { uri: workspace.uri(&outline.path)?, range: outline.text.range(&place) })
    });
    located.collect()
}
