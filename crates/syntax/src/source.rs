//! Source files and places in them.

/// Index into a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A range of bytes of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A text with its name.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// As the user gave it, for messages.
    pub name: String,
    /// The bytes (KL1 text is bytes; UTF-8 is usual, not required).
    pub text: Vec<u8>,
    line_starts: Vec<u32>,
}

impl SourceFile {
    /// The bytes of a line (from 1), without its end. Panics for a line that is not there.
    pub fn line_range(&self, line: u32) -> std::ops::Range<usize> {
        let start = self.line_starts[line as usize - 1] as usize;
        let next = self.line_starts.get(line as usize).map_or(self.text.len() + 1, |&next| next as usize);
        start..next - 1
    }
}

/// All texts of a compilation.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl Span {
    /// The empty place at its beginning.
    pub fn before(self) -> Span {
        Span { end: self.start, ..self }
    }
    /// The empty place at its end.
    pub fn after(self) -> Span {
        Span { start: self.end, ..self }
    }
}

impl SourceMap {
    /// Adds a text. Panics beyond 4 GB (callers refuse such files first).
    pub fn add(&mut self, name: String, text: Vec<u8>) -> FileId {
        assert!(u32::try_from(text.len()).is_ok(), "source files are smaller than 4 GB");
        let mut line_starts = vec![0];
        line_starts.extend(text.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i as u32 + 1));
        let id = FileId(self.files.len() as u32);
        self.files.push(SourceFile { name, text, line_starts });
        id
    }
    /// A file. Panics for an id of another map.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }
    /// All files.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }
    /// The line (from 1) of a place.
    pub fn line(&self, file: FileId, offset: u32) -> u32 {
        self.file(file).line_starts.partition_point(|&start| start <= offset) as u32
    }
    /// Line and column (both from 1; the column counts characters) of a place.
    pub fn line_column(&self, file: FileId, offset: u32) -> (u32, u32) {
        let line = self.line(file, offset);
        let file = self.file(file);
        let start = file.line_starts[line as usize - 1] as usize;
        let end = (offset as usize).min(file.text.len());
        (line, String::from_utf8_lossy(&file.text[start..end.max(start)]).chars().count() as u32 + 1)
    }
}
