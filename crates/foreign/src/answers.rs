//! What the functions of the C face answer, and how they look at what they are given.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `FIFTH_OK`.
pub const OK: c_int = 0;
/// `FIFTH_FAILED`.
pub const FAILED: c_int = -1;

/// `enum fifth_wrong`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
enum Kind {
    Use = 1,
    Text,
    System,
    Undefined,
    Failed,
    Deadlock,
    Exit,
    Unfit,
    Ended,
}

/// What goes wrong, as [`fifth_error`] and its like tell it.
#[derive(Clone, Debug)]
pub struct Wrong {
    kind: Kind,
    status: c_int,
    text: String,
    json: String,
}

impl Wrong {
    fn new(kind: Kind, name: &str, text: String) -> Wrong {
        let json = serde_json::json!({ "kind": name, "text": text }).to_string();
        Wrong { kind, status: 0, text, json }
    }
    /// The system refuses something, or a file is not what it is to be.
    pub fn system(text: String) -> Wrong {
        Wrong::new(Kind::System, "system", text)
    }
    /// The caller does what the header does not allow.
    pub fn misuse(text: impl Into<String>) -> Wrong {
        Wrong::new(Kind::Use, "use", text.into())
    }
}

impl From<&engine::Failure> for Wrong {
    fn from(failure: &engine::Failure) -> Wrong {
        use runtime::outcome::RunOutcome;
        let mut status = 0;
        let kind = match failure {
            engine::Failure::Undefined(_) => Kind::Undefined,
            engine::Failure::Unfit(_) => Kind::Unfit,
            engine::Failure::Poisoned(_) => Kind::Ended,
            engine::Failure::Ended { outcome, .. } => match outcome {
                RunOutcome::Exit(with) => {
                    status = *with;
                    Kind::Exit
                }
                RunOutcome::Deadlock { .. } => Kind::Deadlock,
                RunOutcome::Failed(_) | RunOutcome::Success => Kind::Failed,
            },
        };
        Wrong { kind, status, text: failure.to_string(), json: engine::render::failures::of_call(failure) }
    }
}

impl From<engine::NotCompiled> for Wrong {
    fn from(wrong: engine::NotCompiled) -> Wrong {
        let kind = if let engine::NotCompiled::Wrong(_) = wrong { Kind::Text } else { Kind::System };
        Wrong { kind, status: 0, text: wrong.to_string(), json: engine::render::failures::of_text(&wrong) }
    }
}

impl From<engine::Error> for Wrong {
    fn from(error: engine::Error) -> Wrong {
        Wrong::system(error.to_string())
    }
}

/// What may go wrong in a function.
pub type Result<T> = std::result::Result<T, Wrong>;

/// The last failure of a thread, as C wants it.
#[derive(Default)]
struct Last {
    kind: c_int,
    status: c_int,
    text: CString,
    json: CString,
}

thread_local! {
    static LAST: RefCell<Last> = RefCell::default();
}

/// A text as C wants it: NULs are blanks.
pub fn text_for_c(text: String) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// C2: does something. What goes wrong is kept for [`fifth_error`], and the answer is `otherwise`.
pub fn answer<T>(otherwise: T, f: impl FnOnce() -> Result<T>) -> T {
    let wrong = match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(done)) => return done,
        Ok(Err(wrong)) => wrong,
        Err(_) => Wrong::misuse("a mistake inside the library: see what it wrote to standard error"),
    };
    let last = Last {
        kind: wrong.kind as c_int,
        status: wrong.status,
        text: text_for_c(wrong.text),
        json: text_for_c(wrong.json),
    };
    // A thread that ends has no place for it any more.
    let _ = LAST.try_with(|kept| kept.replace(last));
    otherwise
}

/// Nothing has failed in this thread.
pub(crate) fn forget() {
    let _ = LAST.try_with(RefCell::take);
}

/// What failed last in this thread.
pub(crate) fn last() -> Option<String> {
    let told = |last: &RefCell<Last>| {
        let last = last.borrow();
        (last.kind != 0).then(|| last.text.to_string_lossy().into_owned())
    };
    LAST.try_with(told).ok().flatten()
}

/// [`answer`] for functions that tell whether they did it.
pub fn done(f: impl FnOnce() -> Result<()>) -> c_int {
    answer(FAILED, || f().map(|()| OK))
}

/// `fifth_error`.
#[unsafe(no_mangle)]
pub extern "C" fn fifth_error() -> *const c_char {
    LAST.with(|last| last.borrow().text.as_ptr())
}

/// `fifth_error_json`.
#[unsafe(no_mangle)]
pub extern "C" fn fifth_error_json() -> *const c_char {
    LAST.with(|last| last.borrow().json.as_ptr())
}

/// `fifth_error_kind`.
#[unsafe(no_mangle)]
pub extern "C" fn fifth_error_kind() -> c_int {
    LAST.with(|last| last.borrow().kind)
}

/// `fifth_error_status`.
#[unsafe(no_mangle)]
pub extern "C" fn fifth_error_status() -> c_int {
    LAST.with(|last| last.borrow().status)
}

/// What a pointer leads to; `what` names it if it is NULL.
///
/// # Safety
/// C1.
pub unsafe fn at<'a, T>(pointer: *const T, what: &str) -> Result<&'a T> {
    // SAFETY: C1 - it is NULL, or leads to one.
    unsafe { pointer.as_ref() }.ok_or_else(|| Wrong::misuse(format!("NULL, and not {what}")))
}

/// The same, to be changed: one thread at a time has it.
///
/// # Safety
/// C1.
pub unsafe fn at_mut<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T> {
    // SAFETY: C1 - it is NULL, or leads to one that no other thread uses now.
    unsafe { pointer.as_mut() }.ok_or_else(|| Wrong::misuse(format!("NULL, and not {what}")))
}

/// Stores an answer where the caller wants it.
///
/// # Safety
/// C1.
pub unsafe fn put<T>(place: *mut T, value: T) -> Result<()> {
    if place.is_null() {
        return Err(Wrong::misuse("NULL, and not a place for the answer"));
    }
    // SAFETY: C1 - it is room for one.
    unsafe { place.write(value) };
    Ok(())
}

/// Takes back what was made.
///
/// # Safety
/// C1.
pub unsafe fn taken<T>(pointer: *mut T) -> Option<Box<T>> {
    // SAFETY: C1 - it came from `Box::into_raw`, and nobody uses it any more.
    (!pointer.is_null()).then(|| unsafe { Box::from_raw(pointer) })
}

/// A text that ends with a NUL.
///
/// # Safety
/// C1.
pub unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a [u8]> {
    // SAFETY: C1 - it is NULL or leads to what this library made, as the header asks.
    unsafe { at(text, what) }?;
    // SAFETY: C1 - a text has a NUL at its end.
    Ok(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// The same, of a name or path.
///
/// # Safety
/// C1.
pub unsafe fn name<'a>(name: *const c_char, what: &str) -> Result<&'a str> {
    // SAFETY: C1 - it is NULL or a text that ends with a NUL, as the header asks.
    let bytes = unsafe { text(name, what) }?;
    std::str::from_utf8(bytes).map_err(|_| Wrong::misuse(format!("{what} is not UTF-8")))
}

/// An array; NULL is one without elements. `max`: how many it may have.
///
/// # Safety
/// C1.
pub unsafe fn array<'a, T>(first: *const T, count: usize, max: usize, what: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if count > max {
        return Err(Wrong::misuse(format!("{count} {what}: at most {max} go")));
    }
    // SAFETY: C1 - it is NULL or leads to what this library made, as the header asks.
    unsafe { at(first, &format!("{count} {what}")) }?;
    // SAFETY: C1 - there are as many as the caller says.
    Ok(unsafe { std::slice::from_raw_parts(first, count) })
}
