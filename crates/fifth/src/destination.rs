//! Files that a command writes: whole or not at all, and never over what it reads.

use crate::output::ReaderGone;
use anyhow::{Context, anyhow, bail};
use std::fs::{File, Metadata, Permissions};
use std::io::{BufWriter, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A name that can be written to.
pub(crate) struct Destination {
    /// As it was named.
    name: PathBuf,
    /// The file itself, if that is a link.
    path: PathBuf,
    /// What is written into where it is: a device, a pipe, or the file that standard output or standard error goes
    /// to.
    open: Option<File>,
}

impl Destination {
    /// Finds out whether this file can be written, before anything is made that costs time. `inputs` are the files
    /// that the command reads: they are never written over.
    pub(crate) fn new(path: &Path, inputs: &[PathBuf]) -> anyhow::Result<Destination> {
        Destination::of(path, inputs).with_context(|| format!("cannot write {}", path.display()))
    }

    fn of(path: &Path, inputs: &[PathBuf]) -> anyhow::Result<Destination> {
        let facts = match std::fs::metadata(path) {
            Ok(facts) => facts,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if path.is_symlink() {
                    bail!("it is a symbolic link that leads nowhere");
                }
                check_folder(path)?;
                return Ok(Destination { name: path.to_path_buf(), path: path.to_path_buf(), open: None });
            }
            Err(error) => return Err(error.into()),
        };
        if facts.is_dir() {
            bail!("it is a folder");
        }
        let is_input = |input: &PathBuf| std::fs::metadata(input).is_ok_and(|other| same(&facts, &other));
        if inputs.iter().any(is_input) {
            bail!("this command reads it, too; name another file");
        }
        let kind = facts.file_type();
        if kind.is_char_device() || kind.is_block_device() || kind.is_fifo() || is_standard(&facts) {
            let open = File::options().append(true).open(path)?;
            return Ok(Destination { name: path.to_path_buf(), path: path.to_path_buf(), open: Some(open) });
        }
        if !facts.is_file() {
            bail!("it is no regular file");
        }
        if facts.permissions().readonly() {
            bail!("it is read-only");
        }
        // A link stays one.
        let file = path.canonicalize()?;
        check_folder(&file)?;
        Ok(Destination { name: path.to_path_buf(), path: file, open: None })
    }

    /// Writes the file. It appears under its name when it is complete; until then what was there stays. A pipe without
    /// a reader is [`ReaderGone`].
    pub(crate) fn write(
        self,
        mode: u32,
        write: impl FnOnce(&mut BufWriter<&File>) -> std::io::Result<()>,
    ) -> anyhow::Result<()> {
        let name = self.name.clone();
        self.write_whole(mode, write).with_context(|| format!("cannot write {}", name.display()))
    }

    fn write_whole(
        self,
        mode: u32,
        write: impl FnOnce(&mut BufWriter<&File>) -> std::io::Result<()>,
    ) -> anyhow::Result<()> {
        let fill = |file: &File| {
            let mut out = BufWriter::new(file);
            write(&mut out)?;
            out.flush()
        };
        if let Some(file) = &self.open {
            return match fill(file) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(ReaderGone.into()),
                filled => Ok(filled?),
            };
        }
        let draft = draft(&self.path, Permissions::from_mode(mode))?;
        fill(draft.as_file())?;
        draft.as_file().sync_all()?;
        draft.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }

    /// Whether both write the same file.
    pub(crate) fn is_same(&self, other: &Destination) -> bool {
        self.open.is_none() && other.open.is_none() && self.path == other.path
    }
}

/// The folder of this file.
fn folder(path: &Path) -> anyhow::Result<&Path> {
    if path.file_name().is_none() {
        bail!("it is no file name");
    }
    Ok(path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}

/// Whether files can be made beside this one. None is made: the process may end at any time.
fn check_folder(path: &Path) -> anyhow::Result<()> {
    use rustix::fs::Access;
    let asked = rustix::fs::access(folder(path)?, Access::WRITE_OK | Access::EXEC_OK);
    Ok(asked.map_err(std::io::Error::from)?)
}

/// A new file beside another one. Nobody can know its name, so nobody can have put a link there; it is removed unless
/// it gets the other's name.
fn draft(path: &Path, permissions: Permissions) -> anyhow::Result<tempfile::NamedTempFile> {
    let named =
        tempfile::Builder::new().prefix(".fifth-").permissions(permissions).tempfile_in(folder(path)?);
    named.map_err(|error| {
        let text = error.to_string();
        // The name of the random file is no news to anybody.
        anyhow!("{}", text.split(" at path ").next().unwrap_or(&text))
    })
}

fn same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Whether it is what standard output or standard error goes to.
fn is_standard(facts: &Metadata) -> bool {
    let leads_there = |end: std::os::fd::BorrowedFd| {
        end.try_clone_to_owned().and_then(|end| File::from(end).metadata()).is_ok_and(|end| same(facts, &end))
    };
    leads_there(std::io::stdout().as_fd()) || leads_there(std::io::stderr().as_fd())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interrupt may end the process before anything is written.
    #[test]
    fn asking_whether_a_file_can_be_written_makes_none() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let old = home.path().join("old");
        std::fs::write(&old, "old").expect("it can be written");
        let changed =
            || std::fs::metadata(home.path()).expect("it is there").modified().expect("it has a time");
        let before = changed();
        // The clock of files may be a hundredth of a second behind.
        std::thread::sleep(std::time::Duration::from_millis(50));
        for path in [&old, &home.path().join("new")] {
            assert!(Destination::new(path, &[]).is_ok());
        }
        assert_eq!(changed(), before);
        assert!(Destination::new(&home.path().join("none/new"), &[]).is_err());
    }
}
