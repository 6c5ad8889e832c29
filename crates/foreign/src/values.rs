//! Values: terms as data, made and looked at from C.

use crate::{FAILED, OK, Result, Wrong, answer, array, at, done, put, taken, text};
use engine::value::{ARITY_MAX, NODES_MAX, Shape, Term};
use num_bigint::BigInt;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Arc, OnceLock};

/// Bytes of a string at most.
const STRING_BYTES_MAX: usize = 1 << 32;

/// `fifth_value`: a value, or a part of one that somebody has looked at.
#[derive(Debug)]
pub struct Value {
    whole: Arc<engine::Value>,
    /// Which part it is.
    number: u32,
    /// The caller has it, and gives it back. Parts go with what they are parts of.
    owned: bool,
    seen: OnceLock<Seen>,
}

/// What was looked at, and lives as long as its value.
#[derive(Debug)]
enum Seen {
    Parts(Box<[Value]>),
    Digits(Box<str>),
}

impl Value {
    /// One that is the caller's.
    pub fn new(value: engine::Value) -> Value {
        let (number, whole) = (value.term().number(), Arc::new(value));
        Value { whole, number, owned: true, seen: OnceLock::new() }
    }
    /// One that the caller looks at.
    pub(crate) fn lent(value: engine::Value) -> Value {
        let mut value = Value::new(value);
        value.owned = false;
        value
    }
    /// As C gets it.
    pub fn given(value: engine::Value) -> *mut Value {
        Box::into_raw(Box::new(Value::new(value)))
    }
    pub(crate) fn term(&self) -> Term<'_> {
        self.whole.part(self.number).expect("a part has a number of its whole")
    }
    /// A copy.
    pub fn value(&self) -> engine::Value {
        self.term().to_value()
    }
    /// The value itself.
    fn into_value(mut self) -> engine::Value {
        drop_parts(&mut self);
        let whole = std::mem::replace(&mut self.whole, Arc::new(engine::Value::integer(0)));
        Arc::try_unwrap(whole).unwrap_or_else(|whole| engine::Value::clone(&whole))
    }
    /// The value, which may come back.
    pub fn lend(&mut self) -> engine::Value {
        if !self.owned {
            return self.value();
        }
        std::mem::replace(self, Value::new(engine::Value::integer(0))).into_value()
    }
    /// It has come back.
    pub fn restore(&mut self, value: engine::Value) {
        if self.owned {
            *self = Value::new(value);
        }
    }
    fn part(&self, index: usize) -> Option<&Value> {
        let part = |term: Term<'_>| Value {
            whole: self.whole.clone(),
            number: term.number(),
            owned: false,
            seen: OnceLock::new(),
        };
        let parts = || match self.term().shape() {
            Shape::List(items, tail) => items.iter().chain([tail]).map(part).collect(),
            Shape::Vector(parts) | Shape::Structure(_, parts) => parts.iter().map(part).collect(),
            _ => Box::default(),
        };
        match self.seen.get_or_init(|| Seen::Parts(parts())) {
            Seen::Parts(parts) => parts.get(index),
            Seen::Digits(_) => None,
        }
    }
}

/// C4
fn drop_parts(value: &mut Value) {
    let mut left: Vec<Seen> = value.seen.take().into_iter().collect();
    while let Some(seen) = left.pop() {
        if let Seen::Parts(mut parts) = seen {
            left.extend(parts.iter_mut().filter_map(|part| part.seen.take()));
        }
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        drop_parts(self);
    }
}

/// A value that the caller gives: it is the library's now, whatever becomes of it. A part of one is copied.
///
/// # Safety
/// C1.
pub unsafe fn take(value: *mut Value) -> Result<engine::Value> {
    // SAFETY: C1 - it is NULL or leads to what this library made, as the header asks.
    let shown = unsafe { at(value, "a value") }?;
    if !shown.owned {
        return Ok(shown.value());
    }
    // SAFETY: C1 - the caller has given it.
    let value = unsafe { taken(value) }.expect("it is there");
    Ok(value.into_value())
}

/// The same with an array of them. One that is NULL, because it could not be made, is said once: as what failed then.
///
/// # Safety
/// C1.
pub unsafe fn take_all(count: usize, values: *const *mut Value, max: usize) -> Result<Vec<engine::Value>> {
    // SAFETY: C1 - it has as many elements as the caller says, as the header asks.
    let values = unsafe { array(values, count, max, "values") }?;
    // SAFETY: C1 - the caller has given it, and uses it no more. All are taken, before one that is wrong is told.
    let all: Vec<Result<engine::Value>> = values.iter().map(|&value| unsafe { take(value) }).collect();
    let all: Vec<engine::Value> = all.into_iter().collect::<Result<_>>()?;
    // Each has as many nodes as it says, so the sum does not overflow.
    if all.iter().map(engine::Value::count).sum::<usize>() >= NODES_MAX {
        return Err(Wrong::misuse(format!("a value has at most {NODES_MAX} parts")));
    }
    Ok(all)
}

fn made(make: impl FnOnce() -> Result<engine::Value>) -> *mut Value {
    answer(null_mut(), || make().map(Value::given))
}

/// `fifth_integer`.
#[unsafe(no_mangle)]
pub extern "C" fn fifth_integer(value: i64) -> *mut Value {
    made(|| Ok(engine::Value::integer(value)))
}

/// `fifth_big`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_big(digits: *const c_char) -> *mut Value {
    made(|| {
        // SAFETY: C1 - it is NULL or a text that ends with a NUL, as the header asks.
        let digits = unsafe { text(digits, "the digits of an integer") }?;
        let value = BigInt::parse_bytes(digits, 10);
        value.map(engine::Value::integer).ok_or_else(|| Wrong::misuse("these digits are no integer"))
    })
}

/// `fifth_float`.
#[unsafe(no_mangle)]
pub extern "C" fn fifth_float(value: f64) -> *mut Value {
    made(|| Ok(engine::Value::float(value)))
}

/// `fifth_atom`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_atom(name: *const c_char) -> *mut Value {
    // SAFETY: C1 - it is NULL or a text that ends with a NUL, as the header asks.
    made(|| Ok(engine::Value::atom(unsafe { text(name, "the name of an atom") }?)))
}

/// `fifth_string`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_string(bytes: *const c_void, size: usize) -> *mut Value {
    made(|| {
        // SAFETY: C1 - it has as many elements as the caller says, as the header asks.
        let bytes = unsafe { array(bytes.cast::<u8>(), size, STRING_BYTES_MAX, "bytes of a string") }?;
        Ok(engine::Value::string(bytes))
    })
}

/// `fifth_variable`.
#[unsafe(no_mangle)]
pub extern "C" fn fifth_variable(number: u32) -> *mut Value {
    made(|| Ok(engine::Value::variable(number)))
}

/// `fifth_list`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_list(count: usize, items: *const *mut Value) -> *mut Value {
    // SAFETY: C1 - the caller has given all of them, and uses them no more.
    made(|| Ok(engine::Value::list(unsafe { take_all(count, items, NODES_MAX) }?)))
}

/// `fifth_vector`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_vector(count: usize, elements: *const *mut Value) -> *mut Value {
    // SAFETY: C1 - the caller has given all of them, and uses them no more.
    made(|| Ok(engine::Value::vector(unsafe { take_all(count, elements, NODES_MAX) }?)))
}

/// `fifth_structure`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_structure(
    name: *const c_char,
    count: usize,
    arguments: *const *mut Value,
) -> *mut Value {
    made(|| {
        // SAFETY: C1 - the caller has given all of them, and uses them no more, whatever the name is.
        let arguments = unsafe { take_all(count, arguments, ARITY_MAX) }?;
        // SAFETY: C1 - it is NULL or a text that ends with a NUL, as the header asks.
        Ok(engine::Value::structure(unsafe { text(name, "the name of a structure") }?, arguments))
    })
}

/// `fifth_copy`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_copy(value: *const Value) -> *mut Value {
    // SAFETY: C1 - it is NULL or leads to what this library made, as the header asks.
    made(|| Ok(unsafe { at(value, "a value") }?.value()))
}

/// `fifth_free`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_free(value: *mut Value) {
    done(|| {
        // SAFETY: C1 - it is NULL, or leads to one.
        if unsafe { value.as_ref() }.is_some_and(|value| value.owned) {
            // SAFETY: C1 - the caller gives it back.
            drop(unsafe { taken(value) });
        }
        Ok(())
    });
}

/// `enum fifth_kind`.
fn kind(shape: Shape<'_>) -> c_int {
    match shape {
        Shape::Integer(_) => 1,
        Shape::Big(_) => 2,
        Shape::Float(_) => 3,
        Shape::Atom(b"[]") | Shape::List(..) => 6,
        Shape::Atom(_) => 4,
        Shape::String(_) => 5,
        Shape::Vector(_) => 7,
        Shape::Structure(..) => 8,
        Shape::Variable(_) => 9,
        Shape::Other(_) => 10,
    }
}

/// Looks at a value.
///
/// # Safety
/// C1.
unsafe fn told<T>(value: *const Value, without: T, tell: impl FnOnce(&'static Value) -> Result<T>) -> T {
    // SAFETY: C1 - it is NULL or leads to what this library made, as the header asks. What is told of it
    // is good as long as it is.
    answer(without, || tell(unsafe { at(value, "a value") }?))
}

/// `fifth_kind_of`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_kind_of(value: *const Value) -> c_int {
    // SAFETY: C1 - the caller passes what the header asks for, which is all that `told` asks for.
    unsafe { told(value, 0, |value| Ok(kind(value.term().shape()))) }
}

fn not(what: &str) -> Wrong {
    Wrong::misuse(format!("this value is not {what}"))
}

/// `fifth_get_integer`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_get_integer(value: *const Value, integer: *mut i64) -> c_int {
    let get = |value: &Value| {
        let found = value.term().as_integer().ok_or_else(|| not("an integer of 64 bits"))?;
        // SAFETY: C1 - it is NULL or room for one, as the header asks.
        unsafe { put(integer, found) }.map(|()| OK)
    };
    // SAFETY: C1 - the caller passes what the header asks for, which is all that `told` asks for.
    unsafe { told(value, FAILED, get) }
}

/// `fifth_get_float`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_get_float(value: *const Value, float: *mut f64) -> c_int {
    let get = |value: &Value| {
        let Shape::Float(found) = value.term().shape() else { return Err(not("a float")) };
        // SAFETY: C1 - it is NULL or room for one, as the header asks.
        unsafe { put(float, found) }.map(|()| OK)
    };
    // SAFETY: C1 - the caller passes what the header asks for, which is all that `told` asks for.
    unsafe { told(value, FAILED, get) }
}

/// `fifth_get_variable`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_get_variable(value: *const Value, number: *mut u32) -> c_int {
    let get = |value: &Value| {
        let Shape::Variable(found) = value.term().shape() else { return Err(not("a variable")) };
        // SAFETY: C1 - it is NULL or room for one, as the header asks.
        unsafe { put(number, found) }.map(|()| OK)
    };
    // SAFETY: C1 - the caller passes what the header asks for, which is all that `told` asks for.
    unsafe { told(value, FAILED, get) }
}

/// `fifth_text`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_text(value: *const Value, size: *mut usize) -> *const c_char {
    let get = |value: &'static Value| {
        let bytes = match value.term().shape() {
            Shape::Atom(bytes) | Shape::String(bytes) | Shape::Structure(bytes, _) | Shape::Other(bytes) => {
                bytes
            }
            Shape::Big(big) => match value.seen.get_or_init(|| Seen::Digits(big.to_string().into())) {
                Seen::Digits(digits) => digits.as_bytes(),
                Seen::Parts(_) => &[],
            },
            _ => return Err(not("a text: an atom, a string, a structure or a big integer")),
        };
        // SAFETY: C1 - it is NULL or room for one, as the header asks.
        unsafe { put(size, bytes.len()) }?;
        Ok(bytes.as_ptr().cast::<c_char>())
    };
    // SAFETY: C1 - the caller passes what the header asks for, which is all that `told` asks for.
    unsafe { told(value, null(), get) }
}

/// `fifth_size`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_size(value: *const Value) -> usize {
    let get = |value: &Value| match value.term().shape() {
        Shape::List(parts, _) | Shape::Vector(parts) | Shape::Structure(_, parts) => Ok(parts.len()),
        _ => Ok(0),
    };
    // SAFETY: C1 - the caller passes what the header asks for, which is all that `told` asks for.
    unsafe { told(value, 0, get) }
}

/// `fifth_part`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_part(value: *const Value, index: usize) -> *const Value {
    let get = |value: &'static Value| {
        // Digits of a big integer are no parts, and are kept in the same place.
        let part = if let Shape::Big(_) = value.term().shape() { None } else { value.part(index) };
        part.map(|part| part as *const Value)
            .ok_or_else(|| Wrong::misuse(format!("there is no part {index}")))
    };
    // SAFETY: C1 - the caller passes what the header asks for, which is all that `told` asks for.
    unsafe { told(value, null(), get) }
}

/// `fifth_equal`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_equal(one: *const Value, other: *const Value) -> c_int {
    let get = |one: &Value| {
        // SAFETY: C1 - it is NULL or leads to what this library made, as the header asks.
        let other = unsafe { at(other, "a value") }?;
        Ok(c_int::from(one.term() == other.term()))
    };
    // SAFETY: C1 - the caller passes what the header asks for, which is all that `told` asks for.
    unsafe { told(one, FAILED, get) }
}
