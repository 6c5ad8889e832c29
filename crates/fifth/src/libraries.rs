//! Libraries that give predicates to programs (`--with`).

use crate::{job, output};
use anyhow::Context;
use engine::Libraries;
use std::path::{Path, PathBuf};

/// Those that a command line names. Under a launcher each process loads them.
pub(crate) fn named(paths: &[PathBuf]) -> anyhow::Result<Libraries> {
    loaded(paths).map_err(job::refusal)
}

fn loaded(paths: &[PathBuf]) -> Result<Libraries, String> {
    let libraries = paths.iter().map(|path| foreign::load(path));
    Libraries::new(libraries.collect::<Result<_, _>>()?)
}

/// Those that the program of this executable needs: they lie beside it.
pub(crate) fn beside(names: &[String]) -> anyhow::Result<Libraries> {
    if names.is_empty() {
        return Ok(Libraries::default());
    }
    let own = std::env::current_exe().context("cannot find the folder of this executable")?;
    let folder = own.parent().unwrap_or(Path::new("."));
    let paths: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
    let told = |text| job::refusal(format!("{text}\n  its libraries lie beside this executable"));
    loaded(&paths).map_err(told)
}

/// Says which libraries an executable that was written will not find.
pub(crate) fn remind(libraries: &Libraries, executable: &Path) {
    let folder = |path: &Path| path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_path_buf));
    let here = folder(executable);
    for path in libraries.paths() {
        let beside = executable.with_file_name(path.file_name().unwrap_or_default());
        if folder(path) != here && !beside.exists() {
            output::complain(&format!("note: {} needs {} beside it", executable.display(), path.display()));
        }
    }
}
