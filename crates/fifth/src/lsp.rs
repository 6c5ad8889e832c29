//! `fifth lsp`: what editors ask, on standard input and output.

use crate::files::Disk;
use engine::Files;
use language_server::Host;
use std::path::{Path, PathBuf};

/// Entries of folders that are looked at for one question, at most.
const ENTRIES_MAX: usize = 50_000;

/// Talks to an editor until it leaves. The exit code is 0 if the editor shut the server down before.
pub(crate) fn run() -> anyhow::Result<u8> {
    std::panic::set_hook(Box::new(|info| {
        use std::io::Write;
        // The server goes on; editors keep what it writes here in a log.
        let _ = writeln!(std::io::stderr().lock(), "fifth: internal error: {info}");
    }));
    let input = std::io::BufReader::new(std::io::stdin());
    match language_server::serve(&Process, input, std::io::stdout().lock()) {
        Ok(asked) => Ok(u8::from(!asked)),
        // Nobody is there to tell.
        Err(_) => Ok(1),
    }
}

/// This process as the server sees it.
struct Process;

impl Files for Process {
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        Disk.read(path)
    }
    fn has(&self, path: &Path) -> bool {
        Disk.has(path)
    }
}

impl Host for Process {
    fn texts_in(&self, folder: &Path, deep: bool) -> Vec<PathBuf> {
        let (mut found, mut folders, mut left) = (Vec::new(), vec![folder.to_path_buf()], ENTRIES_MAX);
        while let Some(folder) = folders.pop() {
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                let Some(rest) = left.checked_sub(1) else { return found };
                left = rest;
                let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
                // Links are not followed, so no circle is.
                let Ok(kind) = entry.file_type() else { continue };
                let path = entry.path();
                if kind.is_file() && path.extension().is_some_and(|extension| extension == "kl1") {
                    found.push(path);
                } else if kind.is_dir() && deep && !hidden {
                    folders.push(path);
                }
            }
        }
        found.sort();
        found
    }

    fn library_file(&self, module: &str, text: &str) -> Option<PathBuf> {
        let folder = cache()?.join("fifth").join("library");
        let path = folder.join(module).with_extension("kl1");
        if std::fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
            return Some(path);
        }
        std::fs::create_dir_all(&folder).ok()?;
        // Another server may write the same.
        let new = tempfile::NamedTempFile::new_in(&folder).ok()?;
        std::fs::write(new.path(), text).ok()?;
        new.persist(&path).ok()?;
        Some(path)
    }
}

/// Where this user's programs keep what can be made again.
fn cache() -> Option<PathBuf> {
    let named = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")))
}
