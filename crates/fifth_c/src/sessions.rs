//! Sessions: programs that stay, each with a thread for its engine.

use crate::calls;
use crate::programs::{Program, text_of};
use crate::{OK, Result, Wrong, answer, array, at, done, name, taken, text, text_for_c};
use base::lock;
use engine::{Argument, Hooks, Settings, Sink};
use foreign::Value;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

/// Bytes of address space of a session, if nobody says how many: hundreds of them fit into a process.
const ADDRESS_SPACE_BYTES: u64 = 64 << 30;
/// Arguments of a program at most.
const ARGUMENTS_MAX: usize = 1 << 20;

/// `fifth_output`.
pub type Output = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> c_int;

/// `fifth_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    workers: u32,
    heap_limit: u64,
    address_space: u64,
    output: Option<Output>,
    errors: Option<Output>,
    argument: *mut c_void,
    argument_count: usize,
    arguments: *const *const c_char,
}

/// A session, until it is ended; the process that has it (C3).
pub(crate) struct Open {
    session: Mutex<Option<Arc<engine::Session>>>,
    process: u32,
}

impl Open {
    pub(crate) fn is_here(&self) -> bool {
        self.process == std::process::id()
    }
    pub(crate) fn session(&self) -> Result<Arc<engine::Session>> {
        if !self.is_here() {
            return Err(crate::forked());
        }
        lock(&self.session).clone().ok_or_else(|| Wrong::misuse("the session has been ended"))
    }
}

/// What belongs to a session.
pub(crate) trait OfSession {
    fn open(&self) -> &Open;
}

/// Takes back what belongs to a session, and drops it; in a child of a fork it is left as it is (C3).
///
/// # Safety
/// C1.
pub(crate) unsafe fn give_back<T: OfSession>(pointer: *mut T) {
    answer((), || {
        // SAFETY: C1 - the caller gives it back.
        match unsafe { taken(pointer) } {
            Some(given) if !given.open().is_here() => std::mem::forget(given),
            given => drop(given),
        }
        Ok(())
    });
}

/// `fifth_session`.
pub struct Session {
    pub(crate) open: Arc<Open>,
}

/// Where output goes.
struct Taker {
    take: Output,
    argument: *mut c_void,
}

// SAFETY: C1 - the header says that the function is called in threads of the session, with this argument.
unsafe impl Send for Taker {}

impl Taker {
    fn take(&self, bytes: &[u8]) -> std::io::Result<()> {
        // SAFETY: C1 - the header says that the function takes these bytes, and this argument.
        match unsafe { (self.take)(self.argument, bytes.as_ptr().cast(), bytes.len()) } {
            OK => Ok(()),
            code => Err(std::io::Error::other(format!("the function that takes output returned {code}"))),
        }
    }
}

fn sink(take: Option<Output>, argument: *mut c_void) -> Option<Sink> {
    let taker = Taker { take: take?, argument };
    Some(Sink::new(move |bytes| taker.take(bytes)))
}

/// What a session is started with.
///
/// # Safety
/// C1.
unsafe fn settings(options: *const Options) -> Result<(Settings, Hooks)> {
    let mut settings = Settings { address_space: Some(ADDRESS_SPACE_BYTES), ..Settings::default() };
    // SAFETY: C1 - NULL, or options that live while the call lasts.
    let Some(options) = (unsafe { options.as_ref() }) else { return Ok((settings, Hooks::default())) };
    settings.workers = (options.workers > 0).then_some(options.workers);
    settings.heap_limit = (options.heap_limit > 0).then_some(options.heap_limit);
    if options.address_space > 0 {
        settings.address_space = Some(options.address_space);
    }
    // SAFETY: C1 - it has as many elements as the caller says, as the header asks.
    let arguments = unsafe { array(options.arguments, options.argument_count, ARGUMENTS_MAX, "arguments") }?;
    let argument = |&argument: &*const c_char| {
        // SAFETY: C1 - it is NULL or a text that ends with a NUL, as the header asks.
        unsafe { text(argument, "an argument of the program") }.map(<[u8]>::to_vec)
    };
    let arguments = arguments.iter().map(argument).collect::<Result<_>>()?;
    let [stdout, stderr] = [options.output, options.errors].map(|take| sink(take, options.argument));
    Ok((settings, Hooks { arguments, stdout, stderr, ..Hooks::default() }))
}

/// Starts one.
///
/// # Safety
/// C1.
unsafe fn start(program: *const Program, options: *const Options) -> Result<engine::Session> {
    // SAFETY: C1 - all of them are NULL or what the header asks for.
    let (program, (settings, hooks)) = unsafe { (at(program, "a program")?, settings(options)?) };
    Ok(engine::Session::start(&program.program, &settings, hooks)?)
}

/// `fifth_start`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_start(program: *const Program, options: *const Options) -> *mut Session {
    answer(null_mut(), || {
        // SAFETY: C1 - the caller passes what the header asks for, which is all that `start` asks for.
        let session = Mutex::new(Some(Arc::new(unsafe { start(program, options) }?)));
        let open = Arc::new(Open { session, process: std::process::id() });
        Ok(Box::into_raw(Box::new(Session { open })))
    })
}

/// `fifth_end`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_end(session: *mut Session) {
    answer((), || {
        // SAFETY: C1 - the caller gives it back.
        let Some(session) = (unsafe { taken(session) }) else { return Ok(()) };
        if session.open.is_here() {
            let ended = lock(&session.open.session).take();
            drop(ended);
        } else {
            // C3
            std::mem::forget(session);
        }
        Ok(())
    });
}

/// `fifth_run`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_run(program: *const Program, options: *const Options) -> c_int {
    done(|| {
        // SAFETY: C1 - the caller passes what the header asks for, which is all that `start` asks for.
        let session = unsafe { start(program, options) }?;
        session.call("main", "main", []).wait().map(|_| ()).map_err(|failure| Wrong::from(&failure))
    })
}

/// `fifth_define`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_define(
    session: *const Session,
    as_name: *const c_char,
    text: *const c_char,
    size: usize,
) -> c_int {
    done(|| {
        // SAFETY: C1 - all of them are NULL or what the header asks for.
        let (session, path, text) = unsafe {
            (at(session, "a session")?, name(as_name, "the name of a text")?, text_of(text, size)?)
        };
        let text = std::str::from_utf8(text);
        let text = text.map_err(|_| Wrong::misuse("the text of a definition is not UTF-8"))?;
        session.open.session()?.define(path, text)?;
        Ok(())
    })
}

/// `fifth_interrupt`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_interrupt(session: *const Session) -> c_int {
    done(|| {
        // SAFETY: C1 - it is NULL or leads to what this library made, as the header asks.
        unsafe { at(session, "a session") }?.open.session()?.interrupt();
        Ok(())
    })
}

/// `fifth_waiting`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_waiting(session: *const Session) -> *mut c_char {
    answer(null_mut(), || {
        // SAFETY: C1 - it is NULL or leads to what this library made, as the header asks.
        let waiting = unsafe { at(session, "a session") }?.open.session()?.snapshot();
        Ok(text_for_c(engine::render::failures::waiting(&waiting)).into_raw())
    })
}

/// `fifth_text_free`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_text_free(text: *mut c_char) {
    answer((), || {
        if !text.is_null() {
            // SAFETY: C1 - it came from `CString::into_raw`, and the caller gives it back.
            drop(unsafe { CString::from_raw(text) });
        }
        Ok(())
    });
}

/// `fifth_ask`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_ask(
    session: *const Session,
    module: *const c_char,
    predicate: *const c_char,
    count: usize,
    inputs: *const *mut Value,
) -> *mut Value {
    answer(null_mut(), || {
        // SAFETY: C1 - the caller has given all of them, and uses them no more. They are taken, whatever else is wrong.
        let inputs = unsafe { foreign::take_all(count, inputs, calls::ARGUMENTS_MAX - 1) }?;
        // SAFETY: C1 - all of them are NULL or what the header asks for.
        let (session, module, predicate) = unsafe {
            (
                at(session, "a session")?,
                name(module, "the name of a module")?,
                name(predicate, "a predicate's name")?,
            )
        };
        let arguments = inputs.into_iter().map(Argument::In).chain([Argument::Out]);
        let call = session.open.session()?.call(module, predicate, arguments);
        let values = call.wait().map_err(|failure| Wrong::from(&failure))?;
        Ok(Value::given(values.into_iter().next().expect("one output has one value")))
    })
}
