//! Other names for variables, predicates, messages and modules.

use crate::cursor::{Meaning, meaning};
use crate::fixes::changes;
use crate::navigate::{connected, uses};
use crate::outline::{Outline, Place, Role, Symbol, Use};
use crate::workspace::Workspace;
use lsp_types::{TextEdit, Uri, WorkspaceEdit};
use std::rc::Rc;
use syntax::lexer::{Lexer, TokenKind};
use term::AtomTable;

/// The place that a new name would stand in, if what stands there can have one.
pub(crate) fn place(
    workspace: &Workspace<'_>,
    outline: &Rc<Outline>,
    offset: usize,
) -> Result<Place, String> {
    match meaning(outline, offset) {
        Some(Meaning::Variable(place, _)) => Ok(place),
        Some(Meaning::Symbol(found)) => {
            allowed(workspace, outline, &found.symbol)?;
            Ok(found.place.clone())
        }
        Some(Meaning::Name(..)) => {
            Err("this is no name that the program gives, or its clause cannot be read".into())
        }
        None => Err("no name stands here".into()),
    }
}

/// The changes that give a new name to what stands at a place.
pub(crate) fn rename(
    workspace: &Workspace<'_>,
    outline: &Rc<Outline>,
    offset: usize,
    name: &str,
) -> Result<WorkspaceEdit, String> {
    place(workspace, outline, offset)?;
    match meaning(outline, offset) {
        Some(Meaning::Variable(place, places)) => {
            if kind_of(name) != Some(true) {
                return Err(format!(
                    "`{name}` is no name of a variable: those begin with a capital letter or `_`"
                ));
            }
            let clause = crate::cursor::Clause::around(outline, offset);
            if name != "_" && outline.text.part(&place) != name && !clause.variable(name).is_empty() {
                return Err(format!("the clause has a variable `{name}` already"));
            }
            if name == "_" && places.len() > 1 {
                return Err("each `_` is a variable of its own, and this one stands in several places".into());
            }
            edits(workspace, places.into_iter().map(|place| (outline.clone(), place)), name)
        }
        Some(Meaning::Symbol(found)) => {
            let name = atom(name)?;
            taken(workspace, outline, &found.symbol, &name)?;
            let all = uses(workspace, outline, &found.symbol);
            edits(workspace, all.into_iter().map(|(outline, place, _)| (outline, place)), &name)
        }
        _ => Err("no name stands here".into()),
    }
}

/// Whether a text is one token: `true` a variable, `false` an atom.
fn kind_of(name: &str) -> Option<bool> {
    let atoms = AtomTable::new();
    let mut lexer = Lexer::new(name.as_bytes());
    let token = lexer.next(&atoms);
    let whole = (token.start, token.end) == (0, name.len() as u32);
    match token.kind {
        TokenKind::Variable if whole => Some(true),
        TokenKind::Atom(_) | TokenKind::QuotedAtom(_) if whole => Some(false),
        _ => None,
    }
}

/// A name as an atom, in quotes if it needs them.
fn atom(name: &str) -> Result<String, String> {
    match kind_of(name) {
        Some(false) => Ok(name.into()),
        Some(true) => {
            Err(format!("`{name}` is a variable: a name begins with a small letter, or stands in quotes"))
        }
        None if name.is_empty() || name.contains(['\n', '\0']) => Err("a name is needed".into()),
        None => {
            let mut quoted = Vec::new();
            syntax::format::write_atom(name.as_bytes(), &mut quoted);
            Ok(String::from_utf8_lossy(&quoted).into_owned())
        }
    }
}

/// Whether the user's texts decide what a symbol is called.
fn allowed(workspace: &Workspace<'_>, outline: &Rc<Outline>, symbol: &Symbol) -> Result<(), String> {
    let shown = symbol.shown();
    if Workspace::is_library(&outline.path) {
        return Err("the library's texts are what they are".into());
    }
    match symbol {
        Symbol::Predicate(module, name, arity) => {
            let home = workspace.module(module, outline);
            if home.as_ref().is_some_and(|home| Workspace::is_library(&home.path)) {
                return Err(format!("{shown} is the library's"));
            }
            let defined = home.and_then(|home| home.module(module)?.predicate(name, *arity).map(|_| ()));
            let is_main = (&module[..], &name[..], *arity) == ("main", "main", 0);
            match defined {
                Some(()) if is_main => Err("a program begins with main:main/0".into()),
                Some(()) => Ok(()),
                None => Err(format!("{shown} is a builtin, or is not defined")),
            }
        }
        Symbol::Module(name) if name == "main" => Err("a program begins with main:main/0".into()),
        Symbol::Module(name) => match workspace.module(name, outline) {
            Some(home) if home.path.file_stem().is_some_and(|stem| stem.to_str() == Some(name)) => {
                Err(format!("the module {name} is found by the name of its file: rename that, too"))
            }
            Some(home) if !Workspace::is_library(&home.path) => Ok(()),
            _ => Err(format!("{name} is the library's or a builtin module, or is not defined")),
        },
        Symbol::Functor(name, _) => {
            let used = library_used(workspace, outline);
            let takes = |module: &&str| {
                let text = workspace.library(module);
                let takes = |u: &Use| u.symbol == *symbol && u.role == Role::Takes && u.in_list;
                text.is_some_and(|text| text.uses.iter().any(takes))
            };
            match used.names().find(takes) {
                Some(module) => Err(format!("{shown} may be a message of the library's module {module}")),
                None if !used.is_empty() && engine::is_builtin_message(name.as_bytes()) => {
                    Err(format!("{shown} may be a message to a builtin stream"))
                }
                None => Ok(()),
            }
        }
    }
}

/// The library's modules that the texts around this one call.
fn library_used(workspace: &Workspace<'_>, outline: &Rc<Outline>) -> library::Used {
    let mut used = library::Used::default();
    for text in connected(workspace, outline) {
        for u in &text.uses {
            if let Symbol::Module(name) = &u.symbol
                && workspace.module(name, &text).is_some_and(|home| Workspace::is_library(&home.path))
            {
                used.add(name);
            }
        }
    }
    used.closed()
}

/// Refuses a name that something else has.
fn taken(
    workspace: &Workspace<'_>,
    outline: &Rc<Outline>,
    symbol: &Symbol,
    name: &str,
) -> Result<(), String> {
    let bare = name.strip_prefix('\'').and_then(|name| name.strip_suffix('\'')).unwrap_or(name);
    let other = match symbol {
        Symbol::Predicate(module, old, arity) if old != bare => {
            Symbol::Predicate(module.clone(), bare.into(), *arity)
        }
        Symbol::Module(old) if old != bare => Symbol::Module(bare.into()),
        Symbol::Functor(old, arity) if old != bare => Symbol::Functor(bare.into(), *arity),
        _ => return Ok(()),
    };
    let is_known = match &other {
        Symbol::Module(name) => workspace.module(name, outline).is_some(),
        _ => !uses(workspace, outline, &other).is_empty(),
    };
    if is_known { Err(format!("there is {} already", other.shown())) } else { Ok(()) }
}

/// Edits of texts that may be changed.
fn edits(
    workspace: &Workspace<'_>,
    places: impl Iterator<Item = (Rc<Outline>, Place)>,
    name: &str,
) -> Result<WorkspaceEdit, String> {
    let mut all: Vec<(Uri, Vec<TextEdit>)> = Vec::new();
    for (outline, place) in places {
        let uri = workspace.uri(&outline.path).ok_or("a text has no name that an editor knows")?;
        let edit = TextEdit::new(outline.text.range(&place), name.to_string());
        match all.iter_mut().find(|(known, _)| *known == uri) {
            Some((_, edits)) => edits.push(edit),
            None => all.push((uri, vec![edit])),
        }
    }
    Ok(changes(all))
}
