//! Libraries in files.

use crate::calls::{API, Api, Function, code};
use engine::foreign::{Library, PREDICATES_MAX, Predicate};
use std::ffi::{CStr, c_char};
use std::path::Path;
use std::sync::atomic::{AtomicPtr, Ordering};

/// `FIFTH_FOREIGN_ABI`: it changes when a library that was compiled before would be misunderstood.
const ABI: u32 = 1;
/// `FIFTH_SERIAL`.
const SERIAL: u32 = 1;
/// The name of the table.
const SYMBOL: &str = "fifth_library";

/// `fifth_predicate`.
#[repr(C)]
struct Row {
    name: *const c_char,
    modes: *const c_char,
    function: Option<Function>,
}

/// `struct fifth_library`: what a library says of itself.
#[repr(C)]
struct Table {
    abi: u32,
    flags: u32,
    module: *const c_char,
    count: usize,
    predicates: *const Row,
    /// Where the library wants the address of the functions.
    api: *mut *mut Api,
}

/// Loads a library, which stays loaded. Its predicates are named in messages as `path` names it. An error is a text
/// that names the file and says what to do.
pub fn load(path: &Path) -> Result<Library, String> {
    let shown = path.display();
    // Without a slash the system would look elsewhere.
    let whole = path.canonicalize().map_err(|error| format!("cannot load {shown}: {error}"))?;
    // SAFETY: C5 - what the library does when it is loaded is its own; who names it trusts it.
    let library = unsafe { libloading::Library::new(&whole) };
    let library = library.map_err(|error| format!("cannot load {shown}: {}", told(&error)))?;
    // SAFETY: C5 - what has this name is such a table.
    let table = unsafe { library.get::<*const Table>(SYMBOL.as_bytes()) }.map(|symbol| *symbol);
    let table = table.ok().filter(|table| !table.is_null()).ok_or_else(|| {
        format!(
            "{shown} has no predicates for KL1: it lacks the symbol {SYMBOL}, which FIFTH_LIBRARY of fifth_foreign.h \
             defines"
        )
    })?;
    // C5: nothing of it is unloaded.
    std::mem::forget(library);
    // SAFETY: C5 - whatever the ABI, the table begins with its number.
    let abi = unsafe { table.cast::<u32>().read() };
    if abi != ABI {
        return Err(format!(
            "{shown} was compiled for ABI {abi} of fifth_foreign.h, and this Fifth has {ABI}: compile it again with \
             the header of this Fifth"
        ));
    }
    // SAFETY: C5 - its layout is that of this ABI.
    let table = unsafe { &*table };
    if table.flags & !SERIAL != 0 {
        return Err(format!("{shown} has flags that fifth_foreign.h does not have: {:#x}", table.flags));
    }
    // SAFETY: C5 - the library has a place for it.
    unsafe { give_functions(table.api) }.map_err(|wrong| format!("{shown} {wrong}"))?;
    // SAFETY: C5 - these are texts and predicates of the library.
    let (module, predicates) = unsafe { (name(table.module), predicates(table)) };
    let wrong = |wrong: String| format!("{shown}: {wrong}");
    let module = module.map_err(|what| wrong(format!("the name of its module {what}")))?;
    let predicates = predicates.map_err(wrong)?;
    Ok(Library { path: path.to_path_buf(), module, serial: table.flags & SERIAL != 0, predicates })
}

/// What the system says.
fn told(error: &libloading::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

/// The library gets its functions.
///
/// # Safety
/// C5.
unsafe fn give_functions(place: *mut *mut Api) -> Result<(), &'static str> {
    if place.is_null() {
        return Err("has no place for the functions of fifth_foreign.h: define its table with FIFTH_LIBRARY");
    }
    // SAFETY: C5 - it is a variable of the library, which nobody else writes.
    let place = unsafe { AtomicPtr::from_ptr(place) };
    let api = (&raw const API).cast_mut();
    let before = place.load(Ordering::Acquire);
    if !before.is_null() && before != api {
        return Err("is used by another Fifth in this process: give it to one of them");
    }
    place.store(api, Ordering::Release);
    Ok(())
}

/// A text of the library.
///
/// # Safety
/// C5.
unsafe fn name(text: *const c_char) -> Result<String, &'static str> {
    if text.is_null() {
        return Err("is NULL");
    }
    // SAFETY: C5 - a text ends with a NUL.
    unsafe { CStr::from_ptr(text) }.to_str().map(String::from).map_err(|_| "is not UTF-8")
}

/// The predicates of a table.
///
/// # Safety
/// C5.
unsafe fn predicates(table: &Table) -> Result<Vec<Predicate>, String> {
    if table.count > PREDICATES_MAX || table.count > 0 && table.predicates.is_null() {
        return Err(format!("its table says that it has {} predicates, and has no such", table.count));
    }
    (0..table.count)
        .map(|at| {
            // SAFETY: C5 - there are as many as the table says.
            let row = unsafe { &*table.predicates.add(at) };
            // SAFETY: C5 - these are texts of the library.
            let (name, modes) = unsafe { (name(row.name), name(row.modes)) };
            let number = at + 1;
            let name = name.map_err(|what| format!("the name of its predicate {number} {what}"))?;
            let modes = modes.map_err(|what| format!("the modes of its predicate {name} {what}"))?;
            let function = row
                .function
                .ok_or_else(|| format!("its predicate {name}/{} has no function", modes.len()))?;
            Ok(Predicate { name, modes, code: code(function) })
        })
        .collect()
}
