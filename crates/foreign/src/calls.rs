//! Calls of functions in C, and the table of functions that they get.

use crate::values::*;
use crate::{FAILED, OK, Result, Wrong, answer, at, at_mut, done, put, take, text};
use engine::foreign::{Arguments, Code, Reply};
use engine::value::Shape;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null;

/// `FIFTH_WAIT(0)`; what follows are the arguments behind it.
const WAIT: c_int = 256;
/// What [`wait_for`] answers.
const WAIT_NOTED: c_int = 255;

/// `fifth_args`.
pub(crate) struct Args<'c, 'a, 't> {
    arguments: &'c mut Arguments<'a, 't>,
    /// Arguments that were looked at, by their number.
    seen: Vec<(usize, Box<Value>)>,
    /// Why it fails.
    failed: Option<String>,
    /// The variable that it waits for.
    awaited: Option<u32>,
}

/// `fifth_function`.
pub(crate) type Function = unsafe extern "C" fn(*mut Args<'_, '_, '_>) -> c_int;

/// What a function in C does as the code of a predicate.
pub(crate) fn code(function: Function) -> Code {
    Box::new(move |arguments| {
        crate::answers::forget();
        let mut args = Args { arguments, seen: Vec::new(), failed: None, awaited: None };
        // SAFETY: C5, C6 - the function is one of a library that was loaded, and gets what it is to get.
        let code = unsafe { function(&mut args) };
        args.reply(code)
    })
}

impl Args<'_, '_, '_> {
    fn reply(self, code: c_int) -> Reply {
        match code {
            OK => Reply::Done,
            FAILED => {
                // An argument that is not what the function asked for comes before what follows from that.
                let last = || if self.arguments.has_wrong() { None } else { crate::answers::last() };
                Reply::Failed(self.failed.clone().or_else(last))
            }
            WAIT_NOTED if let Some(variable) = self.awaited => Reply::WaitFor(variable),
            WAIT.. => Reply::Wait((code - WAIT) as usize),
            other => Reply::Failed(Some(format!(
                "its function returned {other}, which fifth_foreign.h gives no meaning"
            ))),
        }
    }
}

/// What an argument is not.
fn wrong(wrong: engine::foreign::Wrong) -> Wrong {
    Wrong::misuse(wrong.0)
}

/// C6: what a function got.
///
/// # Safety
/// C6.
unsafe fn given<'x, 'c, 'a, 't>(args: *mut Args<'c, 'a, 't>) -> Result<&'x mut Args<'c, 'a, 't>> {
    // SAFETY: C6 - it is NULL, or what a function got that runs now, in this thread.
    unsafe { at_mut(args, "the arguments that the function was given") }
}

unsafe extern "C" fn count(args: *mut Args<'_, '_, '_>) -> usize {
    // SAFETY: C6 - the header asks for it.
    answer(0, || Ok(unsafe { given(args) }?.arguments.len()))
}

unsafe extern "C" fn integer(args: *mut Args<'_, '_, '_>, index: usize, to: *mut i64) -> c_int {
    done(|| {
        // SAFETY: C6 - the header asks for it.
        let found = unsafe { given(args) }?.arguments.integer(index).map_err(wrong)?;
        // SAFETY: C1 - it is NULL or room for one, as the header asks.
        unsafe { put(to, found) }
    })
}

unsafe extern "C" fn float(args: *mut Args<'_, '_, '_>, index: usize, to: *mut f64) -> c_int {
    done(|| {
        // SAFETY: C6 - the header asks for it.
        let found = unsafe { given(args) }?.arguments.float(index).map_err(wrong)?;
        // SAFETY: C1 - it is NULL or room for one, as the header asks.
        unsafe { put(to, found) }
    })
}

unsafe extern "C" fn argument(args: *mut Args<'_, '_, '_>, index: usize) -> *const Value {
    answer(null(), || {
        // SAFETY: C6 - the header asks for it.
        let args = unsafe { given(args) }?;
        if let Some((_, value)) = args.seen.iter().find(|(seen, _)| *seen == index) {
            return Ok(&**value as *const Value);
        }
        let value = Box::new(Value::lent(args.arguments.value(index).map_err(wrong)?));
        let shown = &*value as *const Value;
        args.seen.push((index, value));
        Ok(shown)
    })
}

unsafe extern "C" fn set(args: *mut Args<'_, '_, '_>, index: usize, value: *mut Value) -> c_int {
    done(|| {
        // SAFETY: C1 - the caller has given it, and uses it no more. It is taken, whatever the rest is.
        let value = unsafe { take(value) }?;
        // SAFETY: C6 - the header asks for it.
        unsafe { given(args) }?.arguments.set_value(index, value).map_err(wrong)
    })
}

unsafe extern "C" fn set_integer(args: *mut Args<'_, '_, '_>, index: usize, value: i64) -> c_int {
    // SAFETY: C6 - the header asks for it.
    done(|| unsafe { given(args) }?.arguments.set_integer(index, value).map_err(wrong))
}

unsafe extern "C" fn set_float(args: *mut Args<'_, '_, '_>, index: usize, value: f64) -> c_int {
    // SAFETY: C6 - the header asks for it.
    done(|| unsafe { given(args) }?.arguments.set_float(index, value).map_err(wrong))
}

unsafe extern "C" fn set_same(args: *mut Args<'_, '_, '_>, index: usize, input: usize) -> c_int {
    // SAFETY: C6 - the header asks for it.
    done(|| unsafe { given(args) }?.arguments.set_same(index, input).map_err(wrong))
}

unsafe extern "C" fn wait_for(args: *mut Args<'_, '_, '_>, variable: *const Value) -> c_int {
    answer(FAILED, || {
        // SAFETY: C6 and C1 - the header asks for it.
        let (args, value) = unsafe { (given(args)?, at(variable, "a variable")?) };
        let Shape::Variable(number) = value.term().shape() else {
            return Err(Wrong::misuse("this value is not a variable"));
        };
        args.awaited = Some(number);
        Ok(WAIT_NOTED)
    })
}

unsafe extern "C" fn fail(args: *mut Args<'_, '_, '_>, why: *const c_char) -> c_int {
    answer(FAILED, || {
        // SAFETY: C6 and C1 - the header asks for it.
        let (args, why) = unsafe { (given(args)?, text(why, "the reason of a failure")?) };
        args.failed = Some(String::from_utf8_lossy(why).into_owned());
        Ok(FAILED)
    })
}

/// `fifth_api`: members are added at its end only, and then `size` tells whether they are there.
#[repr(C)]
pub(crate) struct Api {
    size: usize,
    error: extern "C" fn() -> *const c_char,
    integer: extern "C" fn(i64) -> *mut Value,
    big: unsafe extern "C" fn(*const c_char) -> *mut Value,
    float: extern "C" fn(f64) -> *mut Value,
    atom: unsafe extern "C" fn(*const c_char) -> *mut Value,
    string: unsafe extern "C" fn(*const c_void, usize) -> *mut Value,
    variable: extern "C" fn(u32) -> *mut Value,
    list: unsafe extern "C" fn(usize, *const *mut Value) -> *mut Value,
    vector: unsafe extern "C" fn(usize, *const *mut Value) -> *mut Value,
    structure: unsafe extern "C" fn(*const c_char, usize, *const *mut Value) -> *mut Value,
    copy: unsafe extern "C" fn(*const Value) -> *mut Value,
    free: unsafe extern "C" fn(*mut Value),
    kind_of: unsafe extern "C" fn(*const Value) -> c_int,
    get_integer: unsafe extern "C" fn(*const Value, *mut i64) -> c_int,
    get_float: unsafe extern "C" fn(*const Value, *mut f64) -> c_int,
    get_variable: unsafe extern "C" fn(*const Value, *mut u32) -> c_int,
    text: unsafe extern "C" fn(*const Value, *mut usize) -> *const c_char,
    size_of: unsafe extern "C" fn(*const Value) -> usize,
    part: unsafe extern "C" fn(*const Value, usize) -> *const Value,
    equal: unsafe extern "C" fn(*const Value, *const Value) -> c_int,
    args_count: unsafe extern "C" fn(*mut Args<'_, '_, '_>) -> usize,
    arg_integer: unsafe extern "C" fn(*mut Args<'_, '_, '_>, usize, *mut i64) -> c_int,
    arg_float: unsafe extern "C" fn(*mut Args<'_, '_, '_>, usize, *mut f64) -> c_int,
    arg: unsafe extern "C" fn(*mut Args<'_, '_, '_>, usize) -> *const Value,
    set: unsafe extern "C" fn(*mut Args<'_, '_, '_>, usize, *mut Value) -> c_int,
    set_integer: unsafe extern "C" fn(*mut Args<'_, '_, '_>, usize, i64) -> c_int,
    set_float: unsafe extern "C" fn(*mut Args<'_, '_, '_>, usize, f64) -> c_int,
    set_same: unsafe extern "C" fn(*mut Args<'_, '_, '_>, usize, usize) -> c_int,
    wait_for: unsafe extern "C" fn(*mut Args<'_, '_, '_>, *const Value) -> c_int,
    fail: unsafe extern "C" fn(*mut Args<'_, '_, '_>, *const c_char) -> c_int,
}

/// What each library gets.
pub(crate) static API: Api = Api {
    size: size_of::<Api>(),
    error: crate::fifth_error,
    integer: fifth_integer,
    big: fifth_big,
    float: fifth_float,
    atom: fifth_atom,
    string: fifth_string,
    variable: fifth_variable,
    list: fifth_list,
    vector: fifth_vector,
    structure: fifth_structure,
    copy: fifth_copy,
    free: fifth_free,
    kind_of: fifth_kind_of,
    get_integer: fifth_get_integer,
    get_float: fifth_get_float,
    get_variable: fifth_get_variable,
    text: fifth_text,
    size_of: fifth_size,
    part: fifth_part,
    equal: fifth_equal,
    args_count: count,
    arg_integer: integer,
    arg_float: float,
    arg: argument,
    set,
    set_integer,
    set_float,
    set_same,
    wait_for,
    fail,
};
