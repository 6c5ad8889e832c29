//! Calls of predicates, with any arguments.

use crate::sessions::{OfSession, Open, Session, give_back};
use crate::streams::{Receiver, Sender};
use crate::{FAILED, LATE, OK, Result, Wrong, answer, at, at_mut, done, name, time};
use engine::Argument;
use foreign::{Value, take};
use std::ffi::{c_char, c_int};
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::time::Duration;

/// Arguments of a call at most, as many as a goal has.
pub(crate) const ARGUMENTS_MAX: usize = 255;
/// A wait for ever is many of these.
const LONG: Duration = Duration::from_secs(3600);

/// `fifth_call`.
pub struct Call {
    open: Arc<Open>,
    module: String,
    name: String,
    state: State,
}

enum State {
    /// Its arguments so far.
    Open(Vec<Argument>),
    Begun(engine::Call),
    /// The values of its outputs.
    Done(std::result::Result<Vec<Value>, Wrong>),
}

impl Call {
    fn add(&mut self, argument: Argument) -> Result<()> {
        match &mut self.state {
            State::Open(arguments) if arguments.len() < ARGUMENTS_MAX => {
                arguments.push(argument);
                Ok(())
            }
            State::Open(_) => Err(Wrong::misuse(format!("a call has at most {ARGUMENTS_MAX} arguments"))),
            _ => Err(Wrong::misuse("the call has begun")),
        }
    }
    /// Whether it has ended within a time.
    fn wait(&mut self, seconds: f64) -> Result<bool> {
        self.open.session()?;
        let call = match &mut self.state {
            State::Open(_) => return Err(Wrong::misuse("the call has not begun")),
            State::Begun(call) => call,
            State::Done(Ok(_)) => return Ok(true),
            State::Done(Err(wrong)) => return Err(wrong.clone()),
        };
        let answered = match time(seconds) {
            Some(time) => call.wait_for(time),
            None => loop {
                if let Some(answered) = call.wait_for(LONG) {
                    break Some(answered);
                }
            },
        };
        let Some(answered) = answered else { return Ok(false) };
        let ended = answered.map(|values| values.into_iter().map(Value::new).collect());
        self.state = State::Done(ended.map_err(|failure| Wrong::from(&failure)));
        self.wait(0.0)
    }
}

/// `fifth_call_new`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_call_new(
    session: *const Session,
    module: *const c_char,
    predicate: *const c_char,
) -> *mut Call {
    answer(null_mut(), || {
        // SAFETY: C1 - all of them are NULL or what the header asks for.
        let (session, module, name) = unsafe {
            (
                at(session, "a session")?,
                name(module, "the name of a module")?,
                name(predicate, "a predicate's name")?,
            )
        };
        session.open.session()?;
        let (open, state) = (session.open.clone(), State::Open(Vec::new()));
        Ok(Box::into_raw(Box::new(Call { open, module: module.into(), name: name.into(), state })))
    })
}

/// `fifth_call_in`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_call_in(call: *mut Call, value: *mut Value) -> c_int {
    done(|| {
        // SAFETY: C1 - the caller has given it, and uses it no more. It is taken, whatever the call is.
        let value = unsafe { take(value) }?;
        // SAFETY: C1 - it is NULL or leads to what no other thread uses now, as the header asks.
        unsafe { at_mut(call, "a call") }?.add(Argument::In(value))
    })
}

/// `fifth_call_out`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_call_out(call: *mut Call) -> c_int {
    // SAFETY: C1 - it is NULL or leads to what no other thread uses now, as the header asks.
    done(|| unsafe { at_mut(call, "a call") }?.add(Argument::Out))
}

/// `fifth_call_sender`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_call_sender(call: *mut Call) -> *mut Sender {
    answer(null_mut(), || {
        // SAFETY: C1 - it is NULL or leads to what no other thread uses now, as the header asks.
        let call = unsafe { at_mut(call, "a call") }?;
        let (sender, source) = call.open.session()?.sender();
        call.add(Argument::From(source))?;
        Ok(Sender::given(sender, call.open.clone()))
    })
}

/// `fifth_call_receiver`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_call_receiver(call: *mut Call) -> *mut Receiver {
    answer(null_mut(), || {
        // SAFETY: C1 - it is NULL or leads to what no other thread uses now, as the header asks.
        let call = unsafe { at_mut(call, "a call") }?;
        call.open.session()?;
        let (drain, receiver) = engine::receiver();
        call.add(Argument::To(drain))?;
        Ok(Receiver::given(receiver, call.open.clone()))
    })
}

/// `fifth_call_begin`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_call_begin(call: *mut Call) -> c_int {
    done(|| {
        // SAFETY: C1 - it is NULL or leads to what no other thread uses now, as the header asks.
        let call = unsafe { at_mut(call, "a call") }?;
        let session = call.open.session()?;
        let State::Open(arguments) = &mut call.state else { return Err(Wrong::misuse("the call has begun")) };
        call.state = State::Begun(session.call(&call.module, &call.name, std::mem::take(arguments)));
        Ok(())
    })
}

/// `fifth_call_wait`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_call_wait(call: *mut Call, seconds: f64) -> c_int {
    answer(FAILED, || {
        // SAFETY: C1 - it is NULL or leads to what no other thread uses now, as the header asks.
        let ended = unsafe { at_mut(call, "a call") }?.wait(seconds)?;
        Ok(if ended { OK } else { LATE })
    })
}

/// `fifth_call_value`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_call_value(call: *const Call, index: usize) -> *const Value {
    answer(null(), || {
        // SAFETY: C1 - it is NULL or leads to what this library made, as the header asks.
        let State::Done(ended) = &unsafe { at(call, "a call") }?.state else {
            return Err(Wrong::misuse("the call has not been waited for"));
        };
        let values = ended.as_ref().map_err(Wrong::clone)?;
        let value =
            values.get(index).ok_or_else(|| Wrong::misuse(format!("the call has no output {index}")))?;
        Ok(value as *const Value)
    })
}

/// `fifth_call_interrupt`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_call_interrupt(call: *const Call) -> c_int {
    done(|| {
        // SAFETY: C1 - it is NULL or leads to what no other thread uses now, as the header asks.
        match &unsafe { at(call, "a call") }?.state {
            State::Open(_) => return Err(Wrong::misuse("the call has not begun")),
            State::Begun(call) => call.interrupter().interrupt(),
            State::Done(_) => {}
        }
        Ok(())
    })
}

/// `fifth_call_free`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_call_free(call: *mut Call) {
    // SAFETY: C1 - the caller gives it back.
    unsafe { give_back(call) }
}

impl OfSession for Call {
    fn open(&self) -> &Open {
        &self.open
    }
}
