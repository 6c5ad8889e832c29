//! The files of program texts: what a user names, and standard input.

use crate::{output, section};
use anyhow::{Context, bail};
use engine::sources::{Files, Read, TEXT_BYTES_MAX};
use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Names standard input on the command line.
pub(crate) const DASH: &str = "-";
/// Names it in messages.
const STANDARD_INPUT: &str = "standard input";

/// The files that were read, and this executable: what must not be written over.
pub(crate) fn inputs(read: Option<&Read>) -> Vec<PathBuf> {
    let own = PathBuf::from(section::OWN);
    read.map(|read| read.paths.clone()).unwrap_or_default().into_iter().chain([own]).collect()
}

/// A line of a file or of a library module.
pub(crate) fn line(file: &str, line: u32) -> Option<String> {
    engine::render::endings::file_line(&Disk, file, line)
}

/// Writes the symbol file of this process where `perf` looks for it: nothing that a link leads to.
pub(crate) fn write_perf_map(map: &str) -> anyhow::Result<()> {
    let path = format!("/tmp/perf-{}.map", std::process::id());
    let flags = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    let file = OpenOptions::new().write(true).create(true).truncate(true).custom_flags(flags).open(&path);
    let written = file.and_then(|mut file| file.write_all(map.as_bytes()));
    written.with_context(|| format!("cannot write {path}"))
}

/// Those of the system. `-` is standard input, which is read once, whenever it is wanted.
pub(crate) struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        let text = if path.as_os_str() == DASH { standard_input() } else { read_file(path) };
        text.map_err(|error| output::told(&error))
    }
    fn has(&self, path: &Path) -> bool {
        path.is_file()
    }
    fn name(&self, path: &Path) -> String {
        if path.as_os_str() == DASH { STANDARD_INPUT.into() } else { path.display().to_string() }
    }
    /// Reading a pipe or terminal again would wait for it.
    fn read_again(&self, name: &str) -> Option<Vec<u8>> {
        match name {
            STANDARD_INPUT => standard_input().ok(),
            _ if Path::new(name).is_file() => read_file(Path::new(name)).ok(),
            _ => None,
        }
    }
}

/// The same, with folders where modules are looked for (`--library`).
pub(crate) struct With<'f>(pub(crate) &'f [PathBuf]);

impl Files for With<'_> {
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        Disk.read(path)
    }
    fn has(&self, path: &Path) -> bool {
        Disk.has(path)
    }
    fn name(&self, path: &Path) -> String {
        Disk.name(path)
    }
    fn folders(&self) -> Vec<PathBuf> {
        self.0.to_vec()
    }
    fn read_again(&self, name: &str) -> Option<Vec<u8>> {
        Disk.read_again(name)
    }
}

fn standard_input() -> anyhow::Result<Vec<u8>> {
    static INPUT: OnceLock<Vec<u8>> = OnceLock::new();
    if INPUT.get().is_none() {
        let mut text = Vec::new();
        let input = std::io::stdin().lock();
        let read = input.take(TEXT_BYTES_MAX + 1).read_to_end(&mut text);
        read.with_context(|| format!("cannot read {STANDARD_INPUT}"))?;
        INPUT.get_or_init(|| text);
    }
    Ok(INPUT.get().cloned().unwrap_or_default())
}

fn read_file(path: &Path) -> anyhow::Result<Vec<u8>> {
    let shown = path.display();
    let facts = std::fs::metadata(path).with_context(|| {
        let meant = path.with_extension("kl1");
        let hint = if meant.is_file() { format!(" (is {} meant?)", meant.display()) } else { String::new() };
        format!("cannot read {shown}{hint}")
    })?;
    if facts.is_dir() {
        bail!("cannot read {shown}: it is a folder; name the KL1 files in it");
    }
    // Devices and pipes do not tell their size.
    let mut text = Vec::new();
    let file = std::fs::File::open(path).with_context(|| format!("cannot read {shown}"))?;
    file.take(TEXT_BYTES_MAX + 1).read_to_end(&mut text).with_context(|| format!("cannot read {shown}"))?;
    Ok(text)
}
