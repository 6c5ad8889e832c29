//! Files, streams, and the requests of `klicio`, `unix` and `io`, over the virtual world.
//!
//! The processes are the library's, in KL1; the natives of module `file_io` are those of the runtime, so that both
//! run the same library text. The terms that they exchange are described in the library's modules.

mod read;
mod streams;

pub(super) use read::{in_json, readable};

use super::super::Outcome;
use super::super::scheduler::Machine;
use super::super::terms::{Id, Value};
use super::super::world::{self, File, Medium};
use super::{Native, Step, done, native, type_error};
use syntax::operators::OpTable;
use term::abi::Place;
use term::symbol;

/// A reader or writer of a file.
pub(in super::super) struct Stream {
    /// The file that is read, and the one that is written: mostly the same.
    input: usize,
    output: usize,
    /// Of module `io`: another set of messages.
    simple: bool,
    closed: bool,
    ops: OpTable,
    on_error: Option<i64>,
}

const MODULE: &str = "file_io";

pub(super) fn natives() -> Vec<Native> {
    let mut all = vec![
        native(MODULE, "request", "io", Place::Goal, request),
        native(MODULE, "simple_standard", "io", Place::Goal, simple_standard),
        native("klicio", "default_operator_table", "o", Place::Goal, default_operators),
        native(MODULE, "simple_open", "iio", Place::Goal, simple_open),
        native(MODULE, "cannot_open", "ii", Place::Goal, cannot_open),
    ];
    all.extend(streams::natives());
    all
}

impl Machine<'_> {
    /// A new stream on a file, as a number.
    fn open_stream(&mut self, file: usize, simple: bool) -> Id {
        self.open_two_way_stream(file, file, simple)
    }
    fn open_two_way_stream(&mut self, input: usize, output: usize, simple: bool) -> Id {
        let ops = OpTable::default_table(self.atoms);
        self.streams.push(Stream { input, output, simple, closed: false, ops, on_error: None });
        self.store.int(self.streams.len() as i64 - 1)
    }
    /// A pipe whose writer has not closed it.
    fn is_open_pipe(&self, file: usize) -> bool {
        matches!(self.world.files[file].medium, Medium::Pipe(pipe) if self.world.pipes[pipe].open)
    }
    /// An open pipe that is empty.
    fn starves(&self, file: usize) -> bool {
        self.is_open_pipe(file) && self.world.rest(file).is_empty()
    }
    /// A variable that is bound when a pipe gets bytes or its end.
    fn pipe_variable(&mut self, file: usize) -> Id {
        let variable = self.store.variable();
        if let Medium::Pipe(pipe) = self.world.files[file].medium {
            self.world.pipes[pipe].waiting.push(variable);
        }
        variable
    }
    /// After a write to a file that may be a pipe.
    fn wake_reader(&mut self, file: usize) {
        if let Medium::Pipe(pipe) = self.world.files[file].medium {
            for variable in std::mem::take(&mut self.world.pipes[pipe].waiting) {
                let nil = self.store.atom(symbol::NIL);
                self.unify(variable, nil);
            }
        }
    }
    /// The writer of a file that may be a pipe is closed.
    fn end_pipe(&mut self, file: usize) {
        if let (Medium::Pipe(pipe), true) = (&self.world.files[file].medium, self.world.files[file].writes) {
            self.world.pipes[*pipe].open = false;
            self.wake_reader(file);
        }
    }
    /// A term `name(arguments)`.
    pub(super) fn reply(&mut self, name: &str, arguments: &[Id]) -> Id {
        let name = self.atoms.intern(name.as_bytes());
        self.store.functor(name, arguments)
    }
    fn string_of(&self, id: Id) -> Result<Vec<u8>, Step> {
        match self.store.get(id) {
            Some(Value::String(bytes)) => Ok(bytes.to_vec()),
            Some(_) => Err(type_error("a string is needed")),
            None => Err(Step::Wait(self.store.deref(id))),
        }
    }
    pub(super) fn int_of(&self, id: Id) -> Result<i64, Step> {
        match self.store.get(id) {
            Some(Value::Int(n)) => Ok(*n),
            Some(_) => Err(type_error("an integer is needed")),
            None => Err(Step::Wait(self.store.deref(id))),
        }
    }
}

/// The value, or the step that has to be taken without it.
macro_rules! attempt {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(step) => return step,
        }
    };
}

/// A list of `op(Name,Type,Priority)`.
fn default_operators(machine: &mut Machine, _: &[Id]) -> Step {
    let mut items = Vec::new();
    for (kind, priority, name) in syntax::operators::default_operators() {
        let (name, kind) =
            (machine.atoms.intern(name.as_bytes()), machine.atoms.intern(kind.name().as_bytes()));
        let parts = [machine.store.atom(name), machine.store.atom(kind), machine.store.int(priority.into())];
        items.push(machine.reply("op", &parts));
    }
    let nil = machine.store.atom(symbol::NIL);
    done(machine.store.list(&items, nil))
}

/// `simple_standard(N,H)`: standard file N as a stream of module `io`.
fn simple_standard(machine: &mut Machine, inputs: &[Id]) -> Step {
    match machine.index(inputs[0], 3) {
        Some(file) => done(machine.open_stream(file, true)),
        None => type_error("the number of a standard file is 0, 1 or 2"),
    }
}

/// `simple_open(Path,Mode,H)`: -1 if it cannot be opened.
fn simple_open(machine: &mut Machine, inputs: &[Id]) -> Step {
    let path = attempt!(machine.string_of(inputs[0]));
    let Value::Atom(mode) = *machine.bound(inputs[1]) else { return type_error("an atom is needed") };
    let mode = machine.atoms.name(mode).into_owned();
    match machine.world.open(&path, &mode) {
        Some(file) => done(machine.open_stream(file, true)),
        None => done(machine.store.int(-1)),
    }
}

/// `cannot_open(Path,Error)`.
fn cannot_open(machine: &mut Machine, inputs: &[Id]) -> Step {
    let path = attempt!(machine.string_of(inputs[0]));
    Step::Error(format!("cannot open {}", String::from_utf8_lossy(&path)))
}

/// Name and arguments of a message.
fn parts(machine: &Machine, message: Id) -> Option<(String, Vec<Id>)> {
    match machine.store.get(message)? {
        Value::Atom(name) => Some((machine.atoms.name(*name).into_owned(), Vec::new())),
        Value::Struct(name, arguments) => Some((machine.atoms.name(*name).into_owned(), arguments.to_vec())),
        _ => None,
    }
}

/// `request(Message,Reply)`.
fn request(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some((name, arguments)) = parts(machine, inputs[0]) else { return type_error("a message is needed") };
    let standard = ["stdin", "stdout", "stderr"].iter().position(|standard| *standard == name);
    match (name.as_str(), &arguments[..]) {
        ("stdin" | "stdout" | "stderr", [answer]) => {
            let handle = machine.open_stream(world::STDIN + standard.unwrap_or_default(), false);
            done(machine.reply("stream", &[handle, *answer]))
        }
        ("stdio", [answer]) => {
            let handle = machine.open_two_way_stream(world::STDIN, world::STDIN + 1, false);
            done(machine.reply("stream", &[handle, *answer]))
        }
        ("pipe", [answer]) => {
            let (input, output) = machine.world.open_pipe();
            let (input, output) = (machine.open_stream(input, false), machine.open_stream(output, false));
            done(machine.reply("pair", &[input, output, *answer]))
        }
        ("read_open" | "write_open" | "append_open" | "update_open", [path, answer]) => {
            let path = attempt!(machine.string_of(*path));
            match machine.world.open(&path, &name) {
                Some(file) => {
                    let handle = machine.open_stream(file, false);
                    done(machine.reply("stream", &[handle, *answer]))
                }
                None if matches!(machine.store.get(*answer), Some(Value::Struct(symbol::NORMAL, _))) => {
                    Step::Error(format!("cannot open {}", String::from_utf8_lossy(&path)))
                }
                None => {
                    let abnormal = machine.store.atom(symbol::ABNORMAL);
                    answered(machine, *answer, abnormal)
                }
            }
        }
        ("string_input", [answer, text]) => {
            let text = attempt!(machine.string_of(*text));
            let file = machine.world.add(File::new("string", Medium::Text(text), true, false));
            let handle = machine.open_stream(file, false);
            done(machine.reply("stream", &[handle, *answer]))
        }
        ("string_output", [answer, text]) => {
            let file = machine.world.add(File::new("string", Medium::Text(Vec::new()), false, true));
            let handle = machine.open_stream(file, false);
            done(machine.reply("collect", &[handle, *answer, *text]))
        }
        _ => system_request(machine, inputs[0], &name, &arguments),
    }
}

/// The answer is known at once.
fn answered(machine: &mut Machine, answer: Id, value: Id) -> Step {
    machine.unify(answer, value);
    done(machine.reply("done", &[]))
}

/// Requests that are not about streams.
fn system_request(machine: &mut Machine, message: Id, name: &str, arguments: &[Id]) -> Step {
    let (answer, result) = match (name, arguments) {
        ("sync", [answer]) => (*answer, machine.store.int(0)),
        ("unlink", [path, answer]) => {
            let path = attempt!(machine.string_of(*path));
            let path = machine.world.resolve(&path);
            let removed = machine.world.disk.remove(&path).is_some();
            (*answer, machine.store.int(if removed { 0 } else { -1 }))
        }
        ("access", [path, _, answer]) | ("chmod", [path, _, answer]) => {
            let path = attempt!(machine.string_of(*path));
            let found = machine.world.exists(&path);
            (*answer, machine.store.int(if found { 0 } else { -1 }))
        }
        ("cd", [path, answer]) => {
            let path = attempt!(machine.string_of(*path));
            let moved = machine.world.enter(&path);
            (*answer, machine.store.int(if moved { 0 } else { -1 }))
        }
        ("getenv", [variable, answer]) => {
            let variable = attempt!(machine.string_of(*variable));
            let value = match machine.world.environment.get(&variable).cloned() {
                Some(value) => machine.store.string(&value),
                None => machine.store.int(0),
            };
            (*answer, value)
        }
        ("putenv", [setting, answer]) => {
            let setting = attempt!(machine.string_of(*setting));
            let at = setting.iter().position(|&byte| byte == b'=');
            if let Some(at) = at {
                machine.world.environment.insert(setting[..at].to_vec(), setting[at + 1..].to_vec());
            }
            (*answer, machine.store.int(if at.is_some() { 0 } else { -1 }))
        }
        ("umask", [answer]) => (*answer, machine.store.int(machine.world.umask)),
        ("umask", [answer, new]) => {
            let new = attempt!(machine.int_of(*new));
            let old = std::mem::replace(&mut machine.world.umask, new & 0o777);
            (*answer, machine.store.int(old))
        }
        ("mktemp", [template, answer]) => {
            let mut path = attempt!(machine.string_of(*template));
            path.extend_from_slice(format!("{:06}", machine.world.disk.len()).as_bytes());
            machine.world.disk.entry(path.clone()).or_default();
            (*answer, machine.store.string(&path))
        }
        (
            "signal_stream" | "connect" | "connect2" | "bind" | "system" | "kill" | "fork"
            | "fork_with_pipes",
            _,
        ) => return Step::End(Outcome::Unsupported { what: format!("unix request {name}") }),
        _ => {
            let goal = format!("{} is no request that this stream understands", machine.show(message));
            return Step::End(Outcome::Failure { goal });
        }
    };
    answered(machine, answer, result)
}
