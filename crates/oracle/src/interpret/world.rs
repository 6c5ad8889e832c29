//! The virtual world: what a program can reach outside itself.
//!
//! Writing takes effect at once: there are no buffers that could be flushed.

use super::terms::Id;
use super::{Options, Outcome, Report};
use std::collections::BTreeMap;

/// Where the bytes of a file are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Medium {
    Stdin,
    Stdout,
    Stderr,
    /// A file of the world, by its path.
    Disk(Vec<u8>),
    /// A string that is read or collected.
    Text(Vec<u8>),
    /// A pipe, by its number.
    Pipe(usize),
}

/// What one stream writes and another reads.
#[derive(Clone, Debug)]
pub(super) struct Pipe {
    bytes: Vec<u8>,
    /// The writer may still write.
    pub(super) open: bool,
    /// Variables of readers that wait.
    pub(super) waiting: Vec<Id>,
}

/// An open file.
#[derive(Clone, Debug)]
pub(super) struct File {
    /// For messages.
    pub(super) name: String,
    pub(super) medium: Medium,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// Writes go to the end.
    append: bool,
    at: usize,
    /// Bytes put back, the next one last.
    back: Vec<u8>,
    lines: i64,
    end: bool,
}

/// Standard input's place in the table of files; output and error follow.
pub(super) const STDIN: usize = 0;
/// Standard error's.
pub(super) const STDERR: usize = 2;

/// Input, output and files of a run.
pub(super) struct World {
    pub(super) arguments: Vec<Vec<u8>>,
    pub(super) stdin: Vec<u8>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) disk: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(super) environment: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(super) umask: i64,
    pub(super) files: Vec<File>,
    pub(super) pipes: Vec<Pipe>,
    /// The working folder, when the program has changed it; ends with a slash.
    folder: Vec<u8>,
}

impl World {
    pub(super) fn new(options: Options) -> World {
        let files = vec![
            File::new("stdin", Medium::Stdin, true, false),
            File::new("stdout", Medium::Stdout, false, true),
            File::new("stderr", Medium::Stderr, false, true),
        ];
        World {
            arguments: options.arguments,
            stdin: options.stdin,
            stdout: Vec::new(),
            stderr: Vec::new(),
            disk: options.files,
            environment: options.environment,
            umask: 0o22,
            files,
            pipes: Vec::new(),
            folder: Vec::new(),
        }
    }

    pub(super) fn report(self, outcome: Outcome, steps: u64) -> Report {
        Report { outcome, stdout: self.stdout, stderr: self.stderr, files: self.disk, steps }
    }

    /// Opens a file with the mode of a request; `None` if it does not exist (and the mode needs it).
    pub(super) fn open(&mut self, path: &[u8], mode: &str) -> Option<usize> {
        let path = &self.resolve(path)[..];
        let exists = self.disk.contains_key(path);
        let (reads, writes) = match mode {
            "read_open" => (true, false),
            "write_open" | "append_open" => (false, true),
            _ => (true, true),
        };
        if reads && !exists || path.is_empty() || !self.has_folder_of(path) {
            return None;
        }
        if mode == "write_open" || !exists {
            self.disk.insert(path.to_vec(), Vec::new());
        }
        let name = String::from_utf8_lossy(path).into_owned();
        let mut file = File::new(&name, Medium::Disk(path.to_vec()), reads, writes);
        file.append = mode == "append_open";
        Some(self.add(file))
    }

    /// A path as the program means it, seen from the first working folder.
    pub(super) fn resolve(&self, path: &[u8]) -> Vec<u8> {
        if path.starts_with(b"/") { path.to_vec() } else { [&self.folder, path].concat() }
    }
    /// Whether there is such a file or folder.
    pub(super) fn exists(&self, path: &[u8]) -> bool {
        let path = self.resolve(path);
        self.disk.contains_key(&path) || self.has_folder_of(&[&path[..], b"/"].concat())
    }
    /// Changes the working folder; false if there is none of that name.
    pub(super) fn enter(&mut self, path: &[u8]) -> bool {
        let path = [&self.resolve(path)[..], b"/"].concat();
        let found = self.has_folder_of(&path);
        if found {
            self.folder = path;
        }
        found
    }
    /// A new pipe: the files of its reader and its writer.
    pub(super) fn open_pipe(&mut self) -> (usize, usize) {
        let number = self.pipes.len();
        self.pipes.push(Pipe { bytes: Vec::new(), open: true, waiting: Vec::new() });
        let reader = self.add(File::new("pipe", Medium::Pipe(number), true, false));
        (reader, self.add(File::new("pipe", Medium::Pipe(number), false, true)))
    }

    /// The world has the working folder, `/tmp`, and the folders of its files.
    fn has_folder_of(&self, path: &[u8]) -> bool {
        let Some(end) = path.iter().rposition(|byte| *byte == b'/') else { return true };
        let folder = &path[..=end];
        [b"./".as_slice(), b"/tmp/", b"/tmp/./"].contains(&folder)
            || self.disk.keys().any(|other| other.starts_with(folder))
    }

    pub(super) fn add(&mut self, file: File) -> usize {
        self.files.push(file);
        self.files.len() - 1
    }

    fn bytes(&self, number: usize) -> &[u8] {
        match &self.files[number].medium {
            Medium::Stdin => &self.stdin,
            Medium::Stdout => &self.stdout,
            Medium::Stderr => &self.stderr,
            Medium::Disk(path) => self.disk.get(path).map_or(&[], Vec::as_slice),
            Medium::Text(bytes) => bytes,
            Medium::Pipe(pipe) => &self.pipes[*pipe].bytes,
        }
    }

    /// Everything that is still to be read.
    pub(super) fn rest(&self, number: usize) -> Vec<u8> {
        let file = &self.files[number];
        let bytes = self.bytes(number);
        file.back.iter().rev().chain(&bytes[file.at.min(bytes.len())..]).copied().collect()
    }

    /// Takes at most `count` bytes; fewer at the end, which is then seen.
    pub(super) fn take(&mut self, number: usize, count: usize) -> Vec<u8> {
        let mut taken = Vec::new();
        while taken.len() < count {
            let next = self.files[number].back.pop();
            let byte = match next {
                Some(byte) => byte,
                None => {
                    let at = self.files[number].at;
                    let Some(&byte) = self.bytes(number).get(at) else {
                        self.files[number].end = true;
                        break;
                    };
                    self.files[number].at += 1;
                    byte
                }
            };
            taken.push(byte);
        }
        self.files[number].lines += taken.iter().filter(|&&byte| byte == b'\n').count() as i64;
        taken
    }

    pub(super) fn put(&mut self, number: usize, bytes: &[u8]) {
        let file = &mut self.files[number];
        let back = file.back.len();
        file.back.clear();
        let at = file.at.saturating_sub(back);
        match &mut file.medium {
            Medium::Stdin => {}
            Medium::Stdout => self.stdout.extend_from_slice(bytes),
            Medium::Stderr => self.stderr.extend_from_slice(bytes),
            Medium::Text(text) => text.extend_from_slice(bytes),
            Medium::Pipe(pipe) => self.pipes[*pipe].bytes.extend_from_slice(bytes),
            Medium::Disk(path) => {
                let content = self.disk.entry(path.clone()).or_default();
                let at = if file.append { content.len() } else { at };
                let end = at + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[at..end].copy_from_slice(bytes);
                file.at = end;
            }
        }
    }

    /// `fseek`: whether it worked.
    pub(super) fn seek(&mut self, number: usize, offset: i64, whence: i64) -> bool {
        let size = self.bytes(number).len() as i64;
        let file = &mut self.files[number];
        if matches!(file.medium, Medium::Stdout | Medium::Stderr | Medium::Pipe(_)) {
            return false;
        }
        let base = match whence {
            0 => 0,
            1 => file.at as i64 - file.back.len() as i64,
            2 => size,
            _ => return false,
        };
        match base.checked_add(offset).map(usize::try_from) {
            Some(Ok(at)) => {
                file.at = at;
                file.back.clear();
                file.end = false;
                true
            }
            _ => false,
        }
    }
}

impl File {
    pub(super) fn new(name: &str, medium: Medium, reads: bool, writes: bool) -> File {
        File {
            name: name.to_string(),
            medium,
            reads,
            writes,
            append: false,
            at: 0,
            back: Vec::new(),
            lines: 0,
            end: false,
        }
    }
    /// Puts a byte back in front.
    pub(super) fn unget(&mut self, byte: u8) {
        self.back.push(byte);
        self.lines -= i64::from(byte == b'\n');
        self.end = false;
    }
    /// Newlines taken so far.
    pub(super) fn lines(&self) -> i64 {
        self.lines
    }
    /// Whether a read has met the end.
    pub(super) fn at_end(&self) -> bool {
        self.end && self.back.is_empty()
    }
    /// `ftell`.
    pub(super) fn tell(&self) -> i64 {
        self.at as i64 - self.back.len() as i64
    }
}
