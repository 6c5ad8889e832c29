//! The ends of lists that calls read and make.

use crate::sessions::{OfSession, Open, give_back};
use crate::{END, FAILED, LATE, OK, Result, Wrong, answer, at, at_mut, put, time};
use engine::Failure;
use foreign::Value;
use std::ffi::c_int;
use std::sync::Arc;
use std::time::Duration;

/// A wait for ever is many of these.
const LONG: Duration = Duration::from_secs(60);

/// `fifth_sender`.
pub struct Sender {
    sender: engine::Sender,
    open: Arc<Open>,
}

/// `fifth_receiver`.
pub struct Receiver {
    receiver: engine::Receiver,
    open: Arc<Open>,
}

impl Sender {
    pub(crate) fn given(sender: engine::Sender, open: Arc<Open>) -> *mut Sender {
        Box::into_raw(Box::new(Sender { sender, open }))
    }
    fn send(&self, item: engine::Value, seconds: f64) -> Result<Option<engine::Value>> {
        let (time, mut item) = (time(seconds), item);
        loop {
            let sent = self.sender.send_within(item, time.unwrap_or(LONG));
            let closed = |engine::Closed| Wrong::from(&Failure::Poisoned("the session has ended".into()));
            match sent.map_err(closed)? {
                Some(back) if time.is_none() => item = back,
                back => return Ok(back),
            }
        }
    }
}

impl Receiver {
    pub(crate) fn given(receiver: engine::Receiver, open: Arc<Open>) -> *mut Receiver {
        Box::into_raw(Box::new(Receiver { receiver, open }))
    }
}

/// C3
fn here(open: &Open) -> Result<()> {
    if open.is_here() { Ok(()) } else { Err(crate::forked()) }
}

/// `fifth_send`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_send(sender: *const Sender, item: *mut Value, seconds: f64) -> c_int {
    answer(FAILED, || {
        // SAFETY: C1 - it is NULL or leads to what no other thread uses now, as the header asks.
        let value = unsafe { at_mut(item, "a value") }?.lend();
        let send = || {
            // SAFETY: C1 - it is NULL or leads to what this library made, as the header asks.
            let sender = unsafe { at(sender, "a sender") }?;
            here(&sender.open)?;
            sender.send(value, seconds)
        };
        let sent = send();
        if let Ok(Some(back)) = sent {
            // SAFETY: C1 - it is NULL or leads to what no other thread uses now, as the header asks.
            unsafe { at_mut(item, "a value") }?.restore(back);
            return Ok(LATE);
        }
        // SAFETY: C1 - the caller has given it, whatever the sender is.
        unsafe { foreign::fifth_free(item) };
        sent.map(|_| OK)
    })
}

/// `fifth_sender_close`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_sender_close(sender: *mut Sender) {
    // SAFETY: C1 - the caller gives it back.
    unsafe { give_back(sender) }
}

impl OfSession for Sender {
    fn open(&self) -> &Open {
        &self.open
    }
}

/// `fifth_receive`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_receive(
    receiver: *mut Receiver,
    seconds: f64,
    item: *mut *mut Value,
) -> c_int {
    answer(FAILED, || {
        // SAFETY: C1 - it is NULL or room for one, as the header asks. Where it fails there is NULL.
        unsafe { put(item, std::ptr::null_mut()) }?;
        // SAFETY: C1 - it is NULL or leads to what no other thread uses now, as the header asks.
        let receiver = unsafe { at_mut(receiver, "a receiver") }?;
        here(&receiver.open)?;
        let received = match time(seconds) {
            Some(time) => receiver.receiver.receive_within(time),
            None => Ok(receiver.receiver.receive()),
        };
        match received {
            Err(engine::Late) => Ok(LATE),
            Ok(None) => Ok(END),
            Ok(Some(Err(unfit))) => Err(Wrong::from(&Failure::Unfit(unfit))),
            // SAFETY: C1 - it is NULL or room for one, as the header asks.
            Ok(Some(Ok(value))) => unsafe { put(item, Value::given(value)) }.map(|()| OK),
        }
    })
}

/// `fifth_receiver_close`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_receiver_close(receiver: *mut Receiver) {
    // SAFETY: C1 - the caller gives it back.
    unsafe { give_back(receiver) }
}

impl OfSession for Receiver {
    fn open(&self) -> &Open {
        &self.open
    }
}
