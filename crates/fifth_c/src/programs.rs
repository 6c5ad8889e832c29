//! Compiled programs.

use crate::{Result, Wrong, answer, array, name, taken, text_for_c};
use engine::sources::TEXT_BYTES_MAX;
use engine::{Libraries, Overlay, Settings, Texts};
use std::ffi::{CString, c_char};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

/// Libraries of a program at most.
const LIBRARIES_MAX: usize = 256;

/// `fifth_program`.
pub struct Program {
    pub(crate) program: engine::Program,
    warnings: CString,
}

/// A text of the caller's.
///
/// # Safety
/// C1.
pub(crate) unsafe fn text_of<'a>(text: *const c_char, size: usize) -> Result<&'a [u8]> {
    // SAFETY: C1 - it has as many elements as the caller says, as the header asks. The reader tells one
    // byte too many in the words of the command.
    unsafe { array(text.cast::<u8>(), size, TEXT_BYTES_MAX as usize + 1, "bytes of a program") }
}

fn compiled(path: &str, texts: Texts, libraries: Libraries) -> Result<*mut Program> {
    let (paths, files) = ([PathBuf::from(path)], Overlay { texts, read: base::read_at_most });
    let program = engine::Program::compile_with(&Settings::default(), &paths, &files, libraries)?;
    let warnings = text_for_c(program.report().text(false));
    Ok(Box::into_raw(Box::new(Program { program, warnings })))
}

/// `fifth_compile`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_compile(path: *const c_char) -> *mut Program {
    answer(null_mut(), || {
        // SAFETY: C1 - it is NULL or a text that ends with a NUL, as the header asks.
        let path = unsafe { name(path, "the path of a program") }?;
        compiled(path, Texts::default(), Libraries::default())
    })
}

/// `fifth_compile_text`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_compile_text(
    as_name: *const c_char,
    text: *const c_char,
    size: usize,
) -> *mut Program {
    answer(null_mut(), || {
        // SAFETY: C1 - all of them are NULL or what the header asks for.
        let (path, text) = unsafe { (name(as_name, "the name of a text")?, text_of(text, size)?) };
        let mut texts = Texts::default();
        texts.add(path, text);
        compiled(path, texts, Libraries::default())
    })
}

/// `fifth_compile_with`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_compile_with(
    as_name: *const c_char,
    text: *const c_char,
    size: usize,
    count: usize,
    libraries: *const *const c_char,
) -> *mut Program {
    answer(null_mut(), || {
        // SAFETY: C1 - it is NULL or a text that ends with a NUL, as the header asks.
        let path = unsafe { name(as_name, "the path of a program") }?;
        let mut texts = Texts::default();
        if !text.is_null() {
            // SAFETY: C1 - it has as many bytes as the caller says.
            texts.add(path, unsafe { text_of(text, size) }?);
        }
        // SAFETY: C1 - there are as many as the caller says.
        let named = unsafe { array(libraries, count, LIBRARIES_MAX, "libraries") }?;
        let load = |&path: &*const c_char| {
            // SAFETY: C1 - each is NULL or a text that ends with a NUL.
            let path = unsafe { name(path, "the path of a library") }?;
            foreign::load(Path::new(path)).map_err(Wrong::system)
        };
        let libraries = named.iter().map(load).collect::<Result<Vec<_>>>()?;
        compiled(path, texts, Libraries::new(libraries).map_err(Wrong::system)?)
    })
}

/// `fifth_warnings`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_warnings(program: *const Program) -> *const c_char {
    // SAFETY: C1 - it is NULL or leads to what this library made, as the header asks.
    answer(null(), || Ok(unsafe { crate::at(program, "a program") }?.warnings.as_ptr()))
}

/// `fifth_program_free`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_program_free(program: *mut Program) {
    answer((), || {
        // SAFETY: C1 - the caller gives it back.
        drop(unsafe { taken(program) });
        Ok(())
    });
}
