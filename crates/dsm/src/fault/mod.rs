//! Page faults: a program reads and writes shared memory as if it were its own.
//!
//! Each node has a view of its pages whose protections are its own ([`mapping`]). A touch that is not allowed raises
//! SIGSEGV, or SIGBUS where the system leaves page faults to the process ([`user`]); the handler makes the thread that
//! touched drive its node until the page is there ([`engine`]), and returns: the touch is made again. Nodes of one
//! host may also have the same memory ([`Real::direct`]): then nothing faults, and no page travels.
//!
//! - D8 The handler runs on a stack of its own, in the middle of code of the program that reads or writes the view,
//!   and nowhere else: so what it locks and allocates is not in use by the same thread. The protocol touches the
//!   alias only.
//! - D12 The action that was there before is stored before the handler is installed, and is never freed. A handler is
//!   a function of the kind that its action's flags say.
//! - D13 A thread's gate lives until its `Faults` is dropped.
//! - D9 What is no touch of this thread's own view goes to the handler that was there before.
//! - D11 A page that the system does not protect ends the run with an error, as a failure elsewhere does. The touch
//!   cannot be undone: all pages are opened, and the program goes on with whatever is there until its next step.

mod attached;
mod common;
mod engine;
mod mapping;
mod run;
mod stray;
mod turns;
mod user;

pub use attached::{Attached, Attempt, Lost, Region, Stats, Word};
pub use common::Common;
pub(crate) use mapping::Mapping;
pub use run::{Ended, Mechanism, NODES_MAX, Real, check, run};

use engine::Gate;
use std::cell::Cell;
use std::io;
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Bytes of the handler's stack: it runs the protocol.
const STACK: usize = 512 << 10;
/// Of the error code of a page fault (Intel, volume 3, 4.7): it was a write.
const WRITE: libc::greg_t = 2;

/// What the handler knows of a thread.
#[derive(Clone, Copy)]
struct Place {
    node: u32,
    gate: *const dyn Gate,
    start: usize,
    bytes: usize,
    page_bytes: usize,
}

thread_local! {
    static PLACE: Cell<Option<Place>> = const { Cell::new(None) };
}

/// Of both signals, the handler that was there before; a `sigaction`, made once and never freed.
static BEFORE: [(libc::c_int, AtomicPtr<libc::sigaction>); 2] =
    [(libc::SIGSEGV, AtomicPtr::new(null_mut())), (libc::SIGBUS, AtomicPtr::new(null_mut()))];

/// While it lives, faults of this thread in the view are served.
pub(crate) struct Faults {
    stack: Vec<u8>,
    before: libc::stack_t,
}

impl Faults {
    /// D13.
    fn new(gate: &dyn Gate, node: u32) -> io::Result<Faults> {
        debug_assert!(PLACE.get().is_none(), "D13: a thread has one gate");
        install()?;
        let mut stack = vec![0u8; STACK];
        let new = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: STACK };
        let mut before = libc::stack_t { ss_sp: null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        // SAFETY: D8: the stack lives until `drop` gives back the one before.
        if unsafe { libc::sigaltstack(&new, &mut before) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let (words, page_words) = gate.view();
        // SAFETY: D13: the same pointer, for longer than the reference is known to live.
        let gate: *const dyn Gate = unsafe { std::mem::transmute::<&dyn Gate, &'static dyn Gate>(gate) };
        let page_bytes = page_words * crate::WORD;
        PLACE.set(Some(Place { node, gate, start: words.start(), bytes: words.bytes(), page_bytes }));
        Ok(Faults { stack, before })
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        PLACE.set(None);
        // SAFETY: D8 - it is the stack that was there before on this thread.
        unsafe { libc::sigaltstack(&self.before, null_mut()) };
        self.stack.clear();
    }
}

/// Installs the handler once in a process, for both signals.
fn install() -> io::Result<()> {
    static ONCE: Once = Once::new();
    let mut failed = None;
    ONCE.call_once(|| failed = BEFORE.iter().find_map(|(signal, before)| install_for(*signal, before).err()));
    failed.map_or(Ok(()), Err)
}

fn install_for(signal: libc::c_int, place: &AtomicPtr<libc::sigaction>) -> io::Result<()> {
    // SAFETY: D12 - all-zero is a valid `sigaction`.
    let (mut action, mut before): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_fault as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: D8; the set is this action's own. What was there is read first, because the handler needs it at once.
    unsafe {
        libc::sigemptyset(&mut action.sa_mask);
        if libc::sigaction(signal, std::ptr::null(), &mut before) == 0 {
            place.store(Box::into_raw(Box::new(before)), Ordering::Release);
            if libc::sigaction(signal, &action, null_mut()) == 0 {
                return Ok(());
            }
        }
    }
    Err(io::Error::last_os_error())
}

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system gives both (SA_SIGINFO); D8.
    let (address, error) = unsafe {
        let context = &*context.cast::<libc::ucontext_t>();
        ((*info).si_addr() as usize, context.uc_mcontext.gregs[libc::REG_ERR as usize])
    };
    let own = PLACE.get();
    let place = own.filter(|place| address.wrapping_sub(place.start) < place.bytes);
    let Some(place) = place else {
        let stray = || {
            let say = |own: Place| {
                stray::say(own.node, address, error & WRITE != 0, own.start..own.start + own.bytes);
            };
            own.into_iter().for_each(say);
        };
        return pass_on(signal, info, context, stray);
    };
    let page = ((address - place.start) / place.page_bytes) as u32;
    // SAFETY: D13 - the gate lives; errno is this thread's, and the program must not see it changed.
    unsafe {
        let errno = *libc::__errno_location();
        (*place.gate).fault(page, error & WRITE != 0);
        *libc::__errno_location() = errno;
    }
}

/// D9. `last` comes before the end of the process, if nobody has asked for this signal.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void, last: impl FnOnce()) {
    let before = BEFORE.iter().find(|(known, _)| *known == signal).map(|(_, before)| before);
    let Some(before) = before.map(|before| before.load(Ordering::Acquire)) else { return };
    // SAFETY: D12 - the default is restored, and the touch that comes again ends the process.
    unsafe {
        let action = (*before).sa_sigaction;
        if action == libc::SIG_DFL || action == libc::SIG_IGN {
            last();
            libc::signal(signal, libc::SIG_DFL);
        } else if (*before).sa_flags & libc::SA_SIGINFO != 0 {
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                std::mem::transmute(action);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(libc::c_int) = std::mem::transmute(action);
            handler(signal);
        }
    }
}
