//! Natives of the library's module `json`.

use super::super::scheduler::Machine;
use super::super::terms::{Id, Value};
use super::strings::bytes;
use super::{Native, Step, done, native, type_error};
use num_bigint::BigInt;
use syntax::json::{Builder, Wrong, read};
use syntax::number::line_and_column;
use term::abi::Place;
use term::symbol;

pub(super) fn natives() -> Vec<Native> {
    vec![
        native("json", "parse", "io", Place::Method, parse),
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

fn parse(mut machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(text) = bytes(machine, inputs[0]) else { return type_error("a string is needed") };
    let answer = match read(&text, &mut machine) {
        Ok(value) => machine.reply("normal", &[value]),
        Err(Wrong::At(at, why)) => {
            let (line, column) = line_and_column(&text, at);
            let place = [line, column].map(|number| machine.store.int(number as i64));
            let why = machine.store.string(why.as_bytes());
            let reason = machine.reply("syntax", &[place[0], place[1], why]);
            machine.reply("abnormal", &[reason])
        }
        Err(Wrong::Refused) => return Step::Error("nothing is refused here".into()),
    };
    done(answer)
}
