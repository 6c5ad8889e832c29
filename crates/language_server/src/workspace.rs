//! The texts that there are: those that the editor has open, files, and the library's modules.

use crate::Host;
use crate::check::Awaits;
use crate::outline::{GUARDS, Outline};
use crate::text::Text;
use engine::{Files, Front};
use lsp_types::Uri;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::str::FromStr;
use term::abi::Builtin;

/// Files that are looked at for a name, at most.
const FILES_MAX: usize = 2000;
/// The folder of the library's modules, which no text can have.
const LIBRARY: &str = "library:";

/// A text that the editor has open.
pub(crate) struct Open {
    /// As the client names it.
    pub(crate) uri: Uri,
    /// As the client counts.
    pub(crate) version: i32,
    pub(crate) text: Text,
}

/// All texts. Those of the editor count before files.
pub(crate) struct Workspace<'h> {
    host: &'h dyn Host,
    pub(crate) open: BTreeMap<PathBuf, Open>,
    /// What the client works in.
    pub(crate) folders: Vec<PathBuf>,
    outlines: RefCell<BTreeMap<PathBuf, Rc<Outline>>>,
    pub(crate) language: Language,
}

/// What every program may call.
pub(crate) struct Language {
    pub(crate) builtins: Vec<Builtin>,
    /// Of the library.
    pub(crate) awaits: Awaits,
}

impl Language {
    fn new() -> Language {
        let front = Front::alone();
        let name = |atom| front.atoms.name(atom).into_owned();
        let all = library::predicates().map(|p| ((name(p.module), name(p.name), p.arity as usize), p.awaits));
        Language { builtins: front.builtins().to_vec(), awaits: all.collect() }
    }
}

impl Files for Workspace<'_> {
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        match self.open.get(path) {
            Some(open) => Ok(open.text.raw().to_vec()),
            None if path.is_absolute() => self.host.read(path),
            None => Err(format!("cannot read {}: it is no file", path.display())),
        }
    }
    fn has(&self, path: &Path) -> bool {
        self.open.contains_key(path) || path.is_absolute() && self.host.has(path)
    }
}

impl<'h> Workspace<'h> {
    pub(crate) fn new(host: &'h dyn Host) -> Workspace<'h> {
        let outlines = RefCell::default();
        Workspace { host, open: BTreeMap::new(), folders: Vec::new(), outlines, language: Language::new() }
    }

    /// What a text defines; `None` if it cannot be read.
    pub(crate) fn outline(&self, path: &Path) -> Option<Rc<Outline>> {
        let raw = match path.strip_prefix(LIBRARY) {
            Ok(module) => library::text(module.to_str()?)?.as_bytes().to_vec(),
            Err(_) => self.read(path).ok()?,
        };
        if let Some(known) = self.outlines.borrow().get(path).filter(|known| known.text.raw() == raw) {
            return Some(known.clone());
        }
        let read = engine::sources::text_of(&Raw(&raw), path).ok()?;
        let outline = Rc::new(Outline::new(path, Text::new(raw), read));
        self.outlines.borrow_mut().insert(path.to_path_buf(), outline.clone());
        Some(outline)
    }

    /// Forgets what texts define that may have changed.
    pub(crate) fn forget(&self) {
        self.outlines
            .borrow_mut()
            .retain(|path, _| path.starts_with(LIBRARY) || self.open.contains_key(path));
    }

    /// The texts in the folder of this one, itself first.
    pub(crate) fn beside(&self, path: &Path) -> Vec<Rc<Outline>> {
        let folder = path.parent().filter(|folder| folder.is_absolute());
        let files = folder.map(|folder| self.host.texts_in(folder, false)).unwrap_or_default();
        let open = self.open.keys().filter(|open| folder.is_some() && open.parent() == folder);
        let mut paths: Vec<PathBuf> = files.into_iter().chain(open.cloned()).collect();
        paths.sort();
        paths.dedup();
        paths.retain(|other| other != path);
        let all = std::iter::once(path.to_path_buf()).chain(paths.into_iter().take(FILES_MAX));
        all.filter_map(|path| self.outline(&path)).collect()
    }

    /// The texts that are open, and those in the client's folders.
    pub(crate) fn all(&self) -> Vec<Rc<Outline>> {
        let files = self.folders.iter().flat_map(|folder| self.host.texts_in(folder, true));
        let mut paths: Vec<PathBuf> = self.open.keys().cloned().chain(files.take(FILES_MAX)).collect();
        paths.sort();
        paths.dedup();
        paths.iter().filter_map(|path| self.outline(path)).collect()
    }

    /// The text that has a module, as a text that calls it sees it.
    pub(crate) fn module(&self, name: &str, from: &Outline) -> Option<Rc<Outline>> {
        if name == GUARDS {
            return None;
        }
        if from.module(name).is_some() {
            return self.outline(&from.path);
        }
        let has_it = |outline: &Rc<Outline>| outline.module(name).is_some();
        let own = from.path.parent().map(|folder| folder.join(format!("{name}.kl1")));
        let own = own.filter(|path| self.has(path)).and_then(|path| self.outline(&path)).filter(has_it);
        let is_library = from.path.starts_with(LIBRARY) || library::text(name).is_some();
        let beside = || if is_library { None } else { self.beside(&from.path).into_iter().find(has_it) };
        own.or_else(beside).or_else(|| self.library(name))
    }

    /// A module of the library.
    pub(crate) fn library(&self, name: &str) -> Option<Rc<Outline>> {
        library::text(name)?;
        self.outline(&Path::new(LIBRARY).join(name))
    }

    /// Whether nobody may change this text.
    pub(crate) fn is_library(path: &Path) -> bool {
        path.starts_with(LIBRARY)
    }

    /// How the client finds a text.
    pub(crate) fn uri(&self, path: &Path) -> Option<Uri> {
        if let Some(open) = self.open.get(path) {
            return Some(open.uri.clone());
        }
        match path.strip_prefix(LIBRARY) {
            Ok(module) => {
                let module = module.to_str()?;
                uri_of(&self.host.library_file(module, library::text(module)?)?)
            }
            Err(_) => uri_of(path),
        }
    }
}

/// The bytes of one text.
struct Raw<'a>(&'a [u8]);

impl Files for Raw<'_> {
    fn read(&self, _: &Path) -> Result<Vec<u8>, String> {
        Ok(self.0.to_vec())
    }
    fn has(&self, _: &Path) -> bool {
        true
    }
}

/// The path of a file; another text is known by its whole name.
pub(crate) fn path_of(uri: &Uri) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let text = uri.as_str();
    let encoded = text.strip_prefix("file://").and_then(|rest| rest.strip_prefix("localhost").or(Some(rest)));
    let Some(encoded) = encoded.filter(|rest| rest.starts_with('/')) else { return text.into() };
    let encoded = encoded.split(['?', '#']).next().unwrap_or_default().as_bytes();
    let digit = |at: usize| encoded.get(at).and_then(|&byte| char::from(byte).to_digit(16));
    let (mut bytes, mut at) = (Vec::new(), 0);
    while at < encoded.len() {
        match (encoded[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                bytes.push(byte);
                at += 1;
            }
        }
    }
    std::ffi::OsString::from_vec(bytes).into()
}

/// The name of a file.
fn uri_of(path: &Path) -> Option<Uri> {
    use std::os::unix::ffi::OsStrExt;
    let mut text = String::from("file://");
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                text.push(byte.into())
            }
            _ => text += &format!("%{byte:02X}"),
        }
    }
    Uri::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_come_back() {
        for path in ["/a/b c.kl1", "/\u{e9}/100%/x#y?.kl1", "/plain"] {
            let uri = uri_of(Path::new(path)).expect("any path has a name");
            assert_eq!(path_of(&uri), Path::new(path), "{}", uri.as_str());
        }
        let path = |text: &str| path_of(&Uri::from_str(text).expect("it is one"));
        assert_eq!(path("untitled:Untitled-1"), Path::new("untitled:Untitled-1"));
        assert_eq!(path("file://localhost/a%20b"), Path::new("/a b"));
        assert_eq!(path("file://elsewhere/a"), Path::new("file://elsewhere/a"));
    }
}
