//! Natives of the library's module `json`.

use super::super::scheduler::Machine;
use super::super::terms::{Id, Value};
use super::strings::bytes;
use super::{Native, Step, done, native, type_error};
use num_bigint::BigInt;
use syntax::json::{Builder, Wrong, read};
use syntax::json_stream::Cutter;
use syntax::number::line_and_column;
use term::abi::Place;
use term::symbol;

pub(super) fn natives() -> Vec<Native> {
    vec![
        native("json", "cut", "iioo", Place::Method, cut),
        native("json", "parse", "io", Place::Method, |m, a| match read_at(m, a[0], (1, 1)) {
            Ok(Ok((value, _))) => done(m.reply("normal", &[value])),
            Ok(Err(reply)) => done(reply),
            Err(step) => step,
        }),
        native("json", "part", "iiio", Place::Method, part),
        native("json", "written", "io", Place::Method, |m, a| match super::io::in_json(m, a[0]) {
            Some(text) => {
                let text = m.store.string(&text);
                done(m.reply("text", &[text]))
            }
            None if has_variable(m, a[0]) => done(m.reply("waits", &[])),
            None => type_error("a value of JSON is needed"),
        }),
    ]
}

fn has_variable(machine: &mut Machine, term: Id) -> bool {
    let mut rest = vec![term];
    while let Some(term) = rest.pop() {
        machine.count_step();
        match machine.store.get(term) {
            Some(value) if machine.stop.is_none() => rest.extend(value.parts()),
            Some(_) => return false,
            None => return true,
        }
    }
    false
}

impl Builder for &mut Machine<'_> {
    type Value = Id;
    fn string(&mut self, bytes: &[u8]) -> Option<Id> {
        Some(self.store.string(bytes))
    }
    fn integer(&mut self, value: i64) -> Option<Id> {
        Some(self.store.int(value))
    }
    fn big(&mut self, value: &BigInt) -> Option<Id> {
        Some(self.store.value(Value::integer(value.clone())))
    }
    fn float(&mut self, value: f64) -> Option<Id> {
        Some(self.store.value(Value::Float(value)))
    }
    fn constant(&mut self, name: &'static str) -> Option<Id> {
        Some(self.reply(name, &[]))
    }
    fn array(&mut self, items: &[Id]) -> Option<Id> {
        let nil = self.store.atom(symbol::NIL);
        Some(self.store.list(items, nil))
    }
    fn object(&mut self, items: &[Id]) -> Option<Id> {
        let pairs: Vec<Id> =
            items.chunks_exact(2).map(|pair| self.store.value(Value::Vector(pair.into()))).collect();
        let pairs = self.array(&pairs)?;
        Some(self.reply("object", &[pairs]))
    }
}

type Point = (usize, usize);

/// The value of a text that begins there, and where it ends; else `abnormal(syntax(..))`.
fn read_at(mut machine: &mut Machine, text: Id, begin: Point) -> Result<Result<(Id, Point), Id>, Step> {
    let Some(text) = bytes(machine, text) else { return Err(type_error("a string is needed")) };
    let place = |at| {
        let (line, column) = line_and_column(&text, at);
        (begin.0 + line - 1, if line == 1 { begin.1 + column - 1 } else { column })
    };
    match read(&text, &mut machine) {
        Ok(value) => Ok(Ok((value, place(text.len())))),
        Err(Wrong::At(at, why)) => {
            let (line, column) = place(at);
            let place = [line, column].map(|number| machine.store.int(number as i64));
            let why = machine.store.string(why.as_bytes());
            let reason = machine.reply("syntax", &[place[0], place[1], why]);
            Ok(Err(machine.reply("abnormal", &[reason])))
        }
        Err(Wrong::Refused) => Err(Step::Error("nothing is refused here".into())),
    }
}

fn natural(machine: &Machine, number: Id) -> Option<usize> {
    match machine.store.get(number)? {
        Value::Int(value) => Some((*value).max(0) as usize),
        _ => None,
    }
}

fn part(machine: &mut Machine, inputs: &[Id]) -> Step {
    let [Some(line), Some(column)] = [inputs[1], inputs[2]].map(|number| natural(machine, number)) else {
        return type_error("an integer is needed");
    };
    match read_at(machine, inputs[0], (line, column)) {
        Ok(Ok((value, (line, column)))) => {
            let place = [line, column].map(|number| machine.store.int(number as i64));
            done(machine.reply("part", &[value, place[0], place[1]]))
        }
        Ok(Err(reply)) => done(reply),
        Err(step) => step,
    }
}

fn cut(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(text) = bytes(machine, inputs[0]) else { return type_error("a string is needed") };
    let Some(state) = natural(machine, inputs[1]) else { return type_error("an integer is needed") };
    let mut cutter = Cutter::from_number(state as u64);
    let (mut parts, mut from) = (Vec::new(), 0);
    for end in cutter.ends(&text).into_iter().chain([text.len()]) {
        parts.push(machine.store.string(&text[from..end]));
        from = end;
    }
    let nil = machine.store.atom(symbol::NIL);
    let parts = machine.store.list(&parts, nil);
    let state = machine.store.int(cutter.number() as i64);
    Step::Done(vec![parts, state])
}
