//! Messages to file streams: `serve` and `resume` of module `file_io`.

use super::super::super::Outcome;
use super::super::super::scheduler::Machine;
use super::super::super::terms::{Id, Value};
use super::super::super::world::Medium;
use super::super::{Native, Step, done, native, texts, type_error};
use super::{MODULE, parts, read};
use term::abi::Place;
use term::symbol;

pub(super) fn natives() -> Vec<Native> {
    vec![
        native(MODULE, "serve", "iio", Place::Goal, serve),
        native(MODULE, "resume", "iaaio", Place::Goal, resume),
    ]
}

/// What became of a message.
pub(super) enum Reaction {
    Done,
    /// Try it again when this variable is bound.
    Wait(Id),
    /// A term is to be written when it is ground: the variable found, and a list of what is unseen.
    Ground(Id, Id),
    Unknown,
    Stop(Step),
}

impl From<Step> for Reaction {
    fn from(step: Step) -> Reaction {
        match step {
            Step::Wait(variable) => Reaction::Wait(variable),
            other => Reaction::Stop(other),
        }
    }
}

/// The value, or the reaction without it.
macro_rules! get {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(step) => return Reaction::from(step),
        }
    };
}
pub(super) use get;

/// `serve(S,H,State)`.
fn serve(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(place) = machine.index(inputs[1], machine.streams.len()) else {
        return type_error("no such stream");
    };
    let mut rest = inputs[0];
    loop {
        machine.count_step();
        match machine.store.get(rest) {
            _ if machine.stop.is_some() => return Step::Done(vec![rest]),
            Some(Value::List(message, next)) => {
                let (message, next) = (*message, *next);
                let reaction = react(machine, place, message);
                if let Some(step) = finish(machine, place, message, rest, reaction) {
                    return step;
                }
                rest = next;
            }
            Some(Value::Atom(symbol::NIL)) => return close(machine, place),
            Some(_) => {
                let goal = format!("a stream must be a list of messages, not {}", machine.show(rest));
                return Step::End(Outcome::Failure { goal });
            }
            None => return done(machine.reply("open", &[rest])),
        }
    }
}

/// `resume(V,Work,S,H,State)`.
fn resume(machine: &mut Machine, inputs: &[Id]) -> Step {
    let [seen, work, rest, handle] = *inputs else { return Step::No };
    let Some(place) = machine.index(handle, machine.streams.len()) else {
        return type_error("no such stream");
    };
    let Some(Value::List(message, next)) = machine.store.get(rest).cloned() else { return Step::No };
    let more = machine.store.value(Value::List(seen, work));
    let reaction = write_when_ground(machine, place, message, more);
    match finish(machine, place, message, rest, reaction) {
        Some(step) => step,
        None => done(machine.reply("open", &[next])),
    }
}

/// The state in which a message leaves the stream, unless the next message can come.
fn finish(machine: &mut Machine, place: usize, message: Id, rest: Id, reaction: Reaction) -> Option<Step> {
    Some(match reaction {
        Reaction::Done => return None,
        Reaction::Wait(variable) => done(machine.reply("busy", &[variable, rest])),
        Reaction::Ground(variable, work) => done(machine.reply("ground", &[variable, work, rest])),
        Reaction::Stop(step) => step,
        Reaction::Unknown => {
            let stream = &machine.streams[place];
            let name = &machine.world.files[stream.output].name;
            let text = format!("illegal message {} to the I/O stream for {name}", machine.show(message));
            if stream.simple { Step::End(Outcome::Failure { goal: text }) } else { Step::Error(text) }
        }
    })
}

/// `[]` ends the stream; the result is the text of a stream on a string.
fn close(machine: &mut Machine, place: usize) -> Step {
    let number = machine.streams[place].output;
    machine.end_pipe(number);
    let file = &machine.world.files[number];
    let result = match &file.medium {
        Medium::Text(text) if file.writes => Value::String(text.as_slice().into()),
        _ => Value::Atom(symbol::NIL),
    };
    let result = machine.store.value(result);
    done(machine.reply("closed", &[result]))
}

fn give(machine: &mut Machine, variable: Id, value: Value) -> Reaction {
    let value = machine.store.value(value);
    machine.unify(variable, value);
    Reaction::Done
}

fn react(machine: &mut Machine, place: usize, message: Id) -> Reaction {
    let stream = &machine.streams[place];
    let (input, number, simple) = (stream.input, stream.output, stream.simple);
    let reads = machine.world.files[input].reads && !stream.closed;
    let writes = machine.world.files[number].writes && !stream.closed;
    match machine.store.get(message) {
        None => return Reaction::Wait(machine.store.deref(message)),
        Some(Value::Int(_)) if writes => return put_byte(machine, number, message),
        _ => {}
    }
    let Some((name, arguments)) = parts(machine, message) else { return Reaction::Unknown };
    match (name.as_str(), &arguments[..]) {
        ("sync", [answer]) => give(machine, *answer, Value::Int(0)),
        ("putc", [code]) if writes => put_byte(machine, number, *code),
        ("nl", []) if writes => put(machine, number, b"\n"),
        ("print", [term]) if writes && simple => start_writing(machine, place, message, *term),
        ("puts", [text]) if writes && simple => put_string(machine, number, *text),
        ("format", [_, _]) if writes => start_writing(machine, place, message, message),
        ("flush", []) if writes && simple => Reaction::Done,
        ("getc" | "gett" | "getwt" | "fread", _) if reads && machine.starves(input) => {
            Reaction::Wait(machine.pipe_variable(input))
        }
        ("getc", [answer]) if reads => {
            let byte = machine.world.take(input, 1).first().map_or(-1, |byte| i64::from(*byte));
            give(machine, *answer, Value::Int(byte))
        }
        ("getl", [answer]) if reads => get_line(machine, input, *answer),
        _ if simple => Reaction::Unknown,
        ("putt" | "puttq" | "putwt" | "putwtq", [term]) if writes => {
            start_writing(machine, place, message, *term)
        }
        ("fwrite", [text]) if writes => put_string(machine, number, *text),
        ("fwrite", [text, count]) if writes => {
            let bytes = get!(machine.string_of(*text));
            put(machine, number, &bytes);
            give(machine, *count, Value::Int(bytes.len() as i64))
        }
        ("fflush", [answer]) if writes => give(machine, *answer, Value::Int(0)),
        ("gett", [answer]) if reads => read::get_term(machine, place, *answer, false),
        ("getwt", [answer]) if reads => read::get_term(machine, place, *answer, true),
        (_, _) if reads => react_reading(machine, place, &name, &arguments),
        _ => react_any(machine, place, &name, &arguments),
    }
}

/// The next line without its end, or `end_of_file`.
fn get_line(machine: &mut Machine, input: usize, answer: Id) -> Reaction {
    let end = machine.world.rest(input).iter().position(|&byte| byte == b'\n');
    if end.is_none() && machine.is_open_pipe(input) {
        return Reaction::Wait(machine.pipe_variable(input));
    }
    let line = machine.world.take(input, end.map_or(usize::MAX, |at| at + 1));
    if line.is_empty() {
        return give(machine, answer, Value::Atom(symbol::END_OF_FILE));
    }
    let whole = line.strip_suffix(b"\n").map_or(&line[..], |line| line.strip_suffix(b"\r").unwrap_or(line));
    give(machine, answer, Value::String(whole.into()))
}

/// Messages to streams that are read.
fn react_reading(machine: &mut Machine, place: usize, name: &str, arguments: &[Id]) -> Reaction {
    let number = machine.streams[place].input;
    match (name, arguments) {
        ("ungetc", [code]) => {
            let code = get!(machine.int_of(*code));
            if code >= 0 {
                machine.world.files[number].unget(code as u8);
            }
            Reaction::Done
        }
        ("fread", [count, answer]) => {
            let count = get!(machine.int_of(*count));
            let Ok(count) = usize::try_from(count) else {
                return type_error("a count is not negative").into();
            };
            let bytes = machine.world.take(number, count);
            give(machine, *answer, Value::String(bytes.into()))
        }
        ("linecount", [answer]) => {
            let lines = machine.world.files[number].lines();
            give(machine, *answer, Value::Int(lines))
        }
        ("feof", [answer]) => {
            let end = machine.world.files[number].at_end();
            give(machine, *answer, Value::Int(end.into()))
        }
        _ => react_any(machine, place, name, arguments),
    }
}

/// Messages to streams of both directions.
fn react_any(machine: &mut Machine, place: usize, name: &str, arguments: &[Id]) -> Reaction {
    let stream = &machine.streams[place];
    let number = if machine.world.files[stream.input].reads { stream.input } else { stream.output };
    match (name, arguments) {
        ("fseek", [offset, whence, answer]) => {
            let (offset, whence) = (get!(machine.int_of(*offset)), get!(machine.int_of(*whence)));
            let done = machine.world.seek(number, offset, whence);
            give(machine, *answer, Value::Int(if done { 0 } else { -1 }))
        }
        ("ftell", [answer]) => {
            let at = machine.world.files[number].tell();
            give(machine, *answer, Value::Int(at))
        }
        ("fclose", [answer]) => {
            machine.streams[place].closed = true;
            give(machine, *answer, Value::Int(0))
        }
        ("addop", [op, kind, priority]) => read::add_operator(machine, place, [*op, *kind, *priority]),
        ("rmop", [op, kind]) => read::remove_operator(machine, place, *op, *kind),
        ("on_error", [status]) => {
            machine.streams[place].on_error = Some(get!(machine.int_of(*status)));
            Reaction::Done
        }
        _ => Reaction::Unknown,
    }
}

fn put(machine: &mut Machine, number: usize, bytes: &[u8]) -> Reaction {
    machine.world.put(number, bytes);
    machine.wake_reader(number);
    Reaction::Done
}

/// The low 8 bits count.
fn put_byte(machine: &mut Machine, number: usize, code: Id) -> Reaction {
    let code = get!(machine.int_of(code));
    put(machine, number, &[code as u8])
}

fn put_string(machine: &mut Machine, number: usize, text: Id) -> Reaction {
    let bytes = get!(machine.string_of(text));
    put(machine, number, &bytes)
}

fn start_writing(machine: &mut Machine, place: usize, message: Id, term: Id) -> Reaction {
    let nil = machine.store.atom(symbol::NIL);
    let work = machine.store.value(Value::List(term, nil));
    write_when_ground(machine, place, message, work)
}

/// Writes the message's term once the terms of the list `work` hold no variable.
fn write_when_ground(machine: &mut Machine, place: usize, message: Id, work: Id) -> Reaction {
    let Some((name, arguments)) = parts(machine, message) else { return Reaction::Unknown };
    if let Some((variable, work)) = find_variable(machine, work, name != "print") {
        return Reaction::Ground(variable, work);
    }
    let term = arguments[0];
    let text = match name.as_str() {
        "print" => machine.print(term),
        "format" => get!(texts::filled(machine, term, arguments[1])),
        name => read::unparse(machine, place, term, name.starts_with("putw")),
    };
    let number = machine.streams[place].output;
    put(machine, number, &text)
}

/// The first unbound variable in the terms of a list, and the list of what was not looked at yet.
fn find_variable(machine: &mut Machine, work: Id, into_vectors: bool) -> Option<(Id, Id)> {
    let (mut stack, _) = machine.store.items(work);
    stack.reverse();
    while let Some(term) = stack.pop() {
        machine.count_step();
        match machine.store.get(term) {
            _ if machine.stop.is_some() => return None,
            None => {
                let nil = machine.store.atom(symbol::NIL);
                stack.reverse();
                let work = machine.store.list(&stack, nil);
                return Some((machine.store.deref(term), work));
            }
            Some(Value::List(car, cdr)) => stack.extend([*cdr, *car]),
            Some(Value::Struct(_, arguments)) => stack.extend(arguments.iter().rev()),
            Some(Value::Vector(elements)) if into_vectors => stack.extend(elements.iter().rev()),
            Some(_) => {}
        }
    }
    None
}
