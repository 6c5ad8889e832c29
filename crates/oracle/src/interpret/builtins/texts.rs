//! Natives of the library's modules `strings`, `text`, `format` and `number`.

use super::super::scheduler::Machine;
use super::super::terms::{Id, ListEnd, Value};
use super::strings::bytes;
use super::{Native, Step, done, native, type_error};
use num_bigint::BigInt;
use std::rc::Rc;
use syntax::number::{FIXED_DIGITS_MAX, Number, fixed, line_and_column, number, wrong_at};
use syntax::operators::OpTable;
use syntax::template::{Field, Part, parts};
use term::abi::Place;
use term::symbol;

pub(super) fn natives() -> Vec<Native> {
    let rows: [(&str, &str, &str, super::Run); 22] = [
        ("strings", "sub", "iiio", sub),
        ("strings", "find", "iiio", find),
        ("strings", "pieces", "iiiaoo", pieces),
        ("strings", "all", "iio", all),
        ("strings", "trim", "io", |m, a| {
            string_of(m, a, |text| {
                let text: &[u8] = text;
                let blank = |byte: &u8| matches!(byte, 9..=13 | b' ');
                let start = text.iter().position(|byte| !blank(byte)).unwrap_or(text.len());
                let end = text.iter().rposition(|byte| !blank(byte)).map_or(start, |at| at + 1);
                text[start..end].to_vec()
            })
        }),
        ("csv", "some", "iiaoo", rows),
        ("csv", "field", "io", |m, a| string_of(m, a, field)),
        // Each comparison is left to KL1.
        ("lists", "sorted", "io", |m, _| done(m.reply("later", &[]))),
        ("builder", "add", "aao", |m, a| done(m.store.value(Value::List(a[0], a[1])))),
        ("text", "length", "io", |m, a| {
            let Some(text) = bytes(m, a[0]) else { return needs_string() };
            done(m.store.int(String::from_utf8_lossy(&text).chars().count() as i64))
        }),
        ("text", "valid", "io", |m, a| {
            let Some(text) = bytes(m, a[0]) else { return needs_string() };
            let answer = if std::str::from_utf8(&text).is_ok() { "yes" } else { "no" };
            done(m.reply(answer, &[]))
        }),
        ("text", "chars", "io", chars),
        ("text", "characters", "io", characters),
        ("text", "sub", "iiio", text_sub),
        ("text", "upper", "io", |m, a| string_of(m, a, |text| changed(text, str::to_uppercase))),
        ("text", "lower", "io", |m, a| string_of(m, a, |text| changed(text, str::to_lowercase))),
        ("terms_text", "ground", "io", ground),
        ("format", "fill", "iio", fill),
        ("number", "parse", "io", parse),
        ("number", "text", "io", |m, a| match number_text(m, a[0]) {
            Some(text) => done(m.store.string(text.as_bytes())),
            None => type_error("a number is needed"),
        }),
        ("number", "fixed", "iio", |m, a| match (value(m, a[0]), m.index(a[1], FIXED_DIGITS_MAX + 1)) {
            (Some(value), Some(digits)) => done(m.store.string(fixed(&value, digits).as_bytes())),
            _ => type_error("a number and a number of digits are needed"),
        }),
        ("number", "radix", "iio", |m, a| match (integer(m, a[0]), m.index(a[1], 37)) {
            (Some(value), Some(base @ 2..)) => {
                done(m.store.string(value.to_str_radix(base as u32).as_bytes()))
            }
            _ => type_error("an integer and a base are needed"),
        }),
    ];
    rows.into_iter()
        .map(|(module, name, modes, run)| native(module, name, modes, Place::Method, run))
        .collect()
}

fn needs_string() -> Step {
    type_error("a string is needed")
}

fn string_of(machine: &mut Machine, inputs: &[Id], make: impl Fn(&[u8]) -> Vec<u8>) -> Step {
    let Some(text) = bytes(machine, inputs[0]) else { return needs_string() };
    let text = make(&text);
    done(machine.store.string(&text))
}

fn integer(machine: &Machine, id: Id) -> Option<BigInt> {
    machine.store.get(id)?.to_bigint()
}

fn value(machine: &Machine, id: Id) -> Option<Number> {
    match machine.store.get(id)? {
        Value::Float(value) => Some(Number::Float(*value)),
        other => other.to_bigint().map(Number::Integer),
    }
}

/// With the fewest digits that tell it.
fn number_text(machine: &Machine, id: Id) -> Option<String> {
    Some(match value(machine, id)? {
        Number::Integer(value) => value.to_string(),
        Number::Float(value) => syntax::format::float_shortest(value),
    })
}

/// An index, which may lie outside.
fn place(machine: &Machine, id: Id, length: usize) -> Option<usize> {
    match machine.bound(id) {
        Value::Int(index) => Some((*index).clamp(0, length as i64) as usize),
        Value::Big(index) => Some(if **index < BigInt::ZERO { 0 } else { length }),
        _ => None,
    }
}

fn sub(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(text) = bytes(machine, inputs[0]) else { return needs_string() };
    let (Some(from), Some(to)) =
        (place(machine, inputs[1], text.len()), place(machine, inputs[2], text.len()))
    else {
        return type_error("indices are integers");
    };
    done(machine.store.string(text.get(from..to).unwrap_or_default()))
}

fn find(machine: &mut Machine, inputs: &[Id]) -> Step {
    let (Some(text), Some(part)) = (bytes(machine, inputs[0]), bytes(machine, inputs[1])) else {
        return needs_string();
    };
    let Some(from) = place(machine, inputs[2], usize::MAX >> 1) else {
        return type_error("an index is an integer");
    };
    let starts = from..(text.len() + 1).saturating_sub(part.len());
    let found = starts.into_iter().find(|&at| text[at..].starts_with(&part));
    let answer = match found {
        Some(at) => {
            let at = machine.store.int(at as i64);
            machine.reply("normal", &[at])
        }
        None => {
            let absent = machine.reply("absent", &[]);
            machine.reply("abnormal", &[absent])
        }
    };
    done(answer)
}

fn field(text: &[u8]) -> Vec<u8> {
    if !text.iter().any(|byte| b",\"\n\r".contains(byte)) {
        return text.to_vec();
    }
    let text = String::from_utf8_lossy(text).replace('"', "\"\"");
    format!("\"{text}\"").into_bytes()
}

/// All rows of a table at once, byte by byte.
fn rows(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(text) = bytes(machine, inputs[0]) else { return needs_string() };
    let (mut at, mut rows, mut row) = (0, Vec::new(), Vec::new());
    let mut wrong = None;
    while at < text.len() || !row.is_empty() {
        let mut field = Vec::new();
        if text.get(at) == Some(&b'"') {
            let quote = at;
            at += 1;
            loop {
                match (text.get(at), text.get(at + 1)) {
                    (Some(b'"'), Some(b'"')) => {
                        field.push(b'"');
                        at += 2;
                    }
                    (Some(b'"'), _) => break,
                    (Some(&byte), _) => {
                        field.push(byte);
                        at += 1;
                    }
                    (None, _) => {
                        wrong = Some((quote, "the quote is not closed"));
                        break;
                    }
                }
            }
            at += 1;
            let ends =
                [&b","[..], b"\n", b"\r\n"].iter().any(|end| text[at.min(text.len())..].starts_with(end));
            if wrong.is_none() && at < text.len() && !ends {
                wrong = Some((at, "behind a quote stands a comma or the end of the row"));
            }
            if wrong.is_some() {
                break;
            }
        } else {
            while let Some(&byte) = text.get(at).filter(|byte| !b",\n".contains(byte)) {
                field.push(byte);
                at += 1;
            }
            if text.get(at) != Some(&b',') && field.last() == Some(&b'\r') {
                field.pop();
            }
        }
        row.push(machine.store.string(&field));
        at += usize::from(text.get(at) == Some(&b'\r'));
        let comma = text.get(at) == Some(&b',');
        at += 1;
        if !comma {
            rows.push(std::mem::take(&mut row));
        }
    }
    let nil = machine.store.atom(symbol::NIL);
    let rows: Vec<Id> = rows.iter().map(|row| machine.store.list(row, nil)).collect();
    let list = machine.store.list(&rows, inputs[2]);
    let end = match wrong {
        None => machine.reply("end", &[]),
        Some((at, why)) => {
            let parts = [machine.store.int(at as i64), machine.store.string(why.as_bytes())];
            machine.reply("wrong", &parts)
        }
    };
    Step::Done(vec![list, end])
}

/// All parts at once.
fn pieces(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(text) = bytes(machine, inputs[0]) else { return needs_string() };
    let Value::Int(from) = *machine.bound(inputs[2]) else { return type_error("an index is an integer") };
    let mut rest = text.get(from as usize..).unwrap_or_default();
    let mut found: Vec<Vec<u8>> = Vec::new();
    match machine.bound(inputs[1]).clone() {
        Value::Atom(how) if machine.atoms.text(how) == b"words" => {
            let words = rest.split(|byte| matches!(byte, 9..=13 | b' '));
            found.extend(words.filter(|word| !word.is_empty()).map(<[u8]>::to_vec));
        }
        Value::Atom(_) => {
            for line in rest.split_inclusive(|&byte| byte == b'\n') {
                let line = match line.strip_suffix(b"\n") {
                    Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
                    None => line,
                };
                found.push(line.to_vec());
            }
        }
        Value::String(separator) if !separator.is_empty() => {
            while let Some(at) = rest.windows(separator.len()).position(|part| *part == *separator) {
                found.push(rest[..at].to_vec());
                rest = &rest[at + separator.len()..];
            }
            found.push(rest.to_vec());
        }
        Value::String(_) => return Step::Error("a separator has one byte at least".into()),
        _ => return needs_string(),
    }
    let found: Vec<Id> = found.iter().map(|part| machine.store.string(part)).collect();
    let list = machine.store.list(&found, inputs[3]);
    Step::Done(vec![list, machine.store.int(-1)])
}

/// The elements of a list that is complete.
fn items(machine: &Machine, list: Id) -> Result<Vec<Id>, Step> {
    match machine.store.items(list) {
        (items, ListEnd::Nil) => Ok(items),
        (_, ListEnd::Unbound(tail)) => Err(Step::Wait(tail)),
        _ => Err(type_error("a list is needed")),
    }
}

fn all(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(separator) = bytes(machine, inputs[1]) else { return needs_string() };
    let items = match items(machine, inputs[0]) {
        Ok(items) => items,
        Err(step) => return step,
    };
    let mut texts: Vec<Rc<[u8]>> = Vec::new();
    for item in items {
        match (machine.store.get(item), bytes(machine, item)) {
            (None, _) => return Step::Wait(machine.store.deref(item)),
            (_, Some(text)) => texts.push(text),
            _ => return needs_string(),
        }
    }
    let text = texts.join(&separator[..]);
    done(machine.store.string(&text))
}

fn chars(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(text) = bytes(machine, inputs[0]) else { return needs_string() };
    let text = String::from_utf8_lossy(&text).into_owned();
    let codes: Vec<Id> = text.chars().map(|c| machine.store.int(i64::from(u32::from(c)))).collect();
    let nil = machine.store.atom(symbol::NIL);
    done(machine.store.list(&codes, nil))
}

fn characters(machine: &mut Machine, inputs: &[Id]) -> Step {
    let items = match items(machine, inputs[0]) {
        Ok(items) => items,
        Err(step) => return step,
    };
    let mut text = String::new();
    for item in items {
        let code = match machine.store.get(item) {
            None => return Step::Wait(machine.store.deref(item)),
            Some(Value::Int(code)) => u32::try_from(*code).ok().and_then(char::from_u32),
            Some(_) => None,
        };
        match code {
            Some(code) => text.push(code),
            None => return type_error("a character has another code"),
        }
    }
    done(machine.store.string(text.as_bytes()))
}

/// The bytes of each character: what is no UTF-8 is as long as what `from_utf8_lossy` replaces.
fn character_bytes(text: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let size = match std::str::from_utf8(&rest[..rest.len().min(4)]) {
            Ok(valid) => valid.chars().next().map_or(1, char::len_utf8),
            Err(error) if error.valid_up_to() > 0 => {
                let valid = std::str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or_default();
                valid.chars().next().map_or(1, char::len_utf8)
            }
            Err(error) => error.error_len().unwrap_or(rest.len()),
        };
        let (character, behind) = rest.split_at(size);
        found.push(character);
        rest = behind;
    }
    found
}

fn text_sub(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(text) = bytes(machine, inputs[0]) else { return needs_string() };
    let characters = character_bytes(&text);
    let count = characters.len();
    let (Some(from), Some(to)) = (place(machine, inputs[1], count), place(machine, inputs[2], count)) else {
        return type_error("indices are integers");
    };
    done(machine.store.string(&characters.get(from..to).unwrap_or_default().concat()))
}

/// What is UTF-8 is changed, other bytes stay.
fn changed(text: &[u8], change: fn(&str) -> String) -> Vec<u8> {
    let mut out = Vec::new();
    for chunk in text.utf8_chunks() {
        out.extend(change(chunk.valid()).into_bytes());
        out.extend(chunk.invalid());
    }
    out
}

/// The first variable of a list of terms: `wait(V,All)`, or `done`.
fn ground(machine: &mut Machine, inputs: &[Id]) -> Step {
    done(match machine.first_variable(inputs[0]) {
        Some(variable) => machine.reply("wait", &[variable, inputs[0]]),
        None => machine.reply("done", &[]),
    })
}

fn fill(machine: &mut Machine, inputs: &[Id]) -> Step {
    match filled(machine, inputs[0], inputs[1]) {
        Ok(text) => done(machine.store.string(&text)),
        Err(step) => step,
    }
}

/// A template with the values of a list in its places.
pub(super) fn filled(machine: &mut Machine, template: Id, args: Id) -> Result<Vec<u8>, Step> {
    let template = bytes(machine, template).ok_or_else(needs_string)?;
    let Ok(parts) = parts(&template) else { return Err(Step::Error("this is no template".into())) };
    let args = items(machine, args)?;
    let fields = parts.iter().filter(|part| matches!(part, Part::Field(_))).count();
    if fields != args.len() {
        return Err(Step::Error("a template has as many places as there are values".into()));
    }
    let (mut out, mut args) = (Vec::new(), args.into_iter());
    for part in parts {
        match part {
            Part::Text(text) => out.extend(text),
            Part::Field(field) => {
                let arg = args.next().expect("there are as many");
                let Some((text, is_number)) = shown(machine, &field, arg) else {
                    return Err(type_error("only integers have a base"));
                };
                field.write(&text, is_number, &mut out);
            }
        }
    }
    Ok(out)
}

fn shown(machine: &mut Machine, field: &Field, arg: Id) -> Option<(Vec<u8>, bool)> {
    if let Some(base) = field.base {
        return Some((integer(machine, arg)?.to_str_radix(base).into_bytes(), true));
    }
    if let Some(value) = value(machine, arg) {
        let text = match field.precision {
            Some(digits) => fixed(&value, digits),
            None => number_text(machine, arg)?,
        };
        return Some((text.into_bytes(), true));
    }
    let text = match machine.bound(arg) {
        Value::String(text) => text.to_vec(),
        Value::Atom(atom) => machine.atoms.text(*atom).to_vec(),
        _ => super::io::readable(machine, &OpTable::default_table(machine.atoms), arg, false),
    };
    Some((text, false))
}

/// `number:parse(S,R)`.
fn parse(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(text) = bytes(machine, inputs[0]) else { return needs_string() };
    let answer = match number(&text) {
        Ok(value) => {
            let value = machine.store.value(match value {
                Number::Float(value) => Value::Float(value),
                Number::Integer(value) => Value::integer(value),
            });
            machine.reply("normal", &[value])
        }
        Err(at) => {
            let (line, column) = line_and_column(&text, at);
            let place = [line, column].map(|number| machine.store.int(number as i64));
            let why = machine.store.string(wrong_at(&text, at).as_bytes());
            let reason = machine.reply("syntax", &[place[0], place[1], why]);
            machine.reply("abnormal", &[reason])
        }
    };
    done(answer)
}
