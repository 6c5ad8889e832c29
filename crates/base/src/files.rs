//! Reading files.

use std::fs::File;
use std::io::{Read, Result};
use std::path::Path;

/// The first bytes of a file, at most this number.
pub fn read_at_most(path: &Path, bytes: u64) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(bytes).read_to_end(&mut text)?;
    Ok(text)
}
