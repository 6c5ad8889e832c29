//! Module `format`: templates that are filled with values. The rest of the module is KL1 (`library/format.kl1`).

use super::io::streams;
use super::{Row, attempt, bytes, error, known, list_items, method, numbers, wrong};
use crate::reports::outcome::ErrorKind;
use crate::terms::{View, print};
use crate::worker::Worker;
use crate::worker::native::Outcome;
use syntax::number::{Number, fixed};
use syntax::operators::OpTable;
use syntax::template::{Field, Part, parts};
use term::Word;

/// `fill(Template,Args,S)`: the arguments are ground.
fn fill(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let text = attempt!(filled(worker, inputs[0], inputs[1]));
    attempt!(worker.ensure_young(text.len() / 8 + 8));
    outputs[0] = worker.string(&text);
    Outcome::Done
}

/// A template with the values of a list, which are ground, in its places.
pub(super) fn filled(worker: &mut Worker, template: Word, args: Word) -> Result<Vec<u8>, Outcome> {
    let template = bytes(worker, 1, template)?;
    let parts = parts(&template).map_err(|at| {
        let text = String::from_utf8_lossy(&template);
        error(ErrorKind::Range, format!("argument 1 is no template: byte {at} of {text:?} is wrong"))
    })?;
    let args = list_items(worker, 2, args)?;
    let places = parts.iter().filter(|part| matches!(part, Part::Field(_))).count();
    if places != args.len() {
        let message = format!("the template has {places} places, and argument 2 {} values", args.len());
        return Err(error(ErrorKind::Range, message));
    }
    let (mut args, mut text) = (args.into_iter(), Vec::new());
    for part in parts {
        match part {
            Part::Text(part) => text.extend_from_slice(part),
            Part::Field(field) => {
                let arg = known(args.next().unwrap_or(Word::NIL))?;
                append(worker, &field, arg, &mut text)?;
                worker.may_go_on(text.capacity())?;
            }
        }
    }
    Ok(text)
}

fn append(worker: &mut Worker, field: &Field, arg: Word, out: &mut Vec<u8>) -> Result<(), Outcome> {
    let mut text = Vec::new();
    let is_number = if let Some(base) = field.base {
        let value =
            worker.big(arg).ok_or_else(|| wrong(worker, 2, "integers where a base is asked for", arg))?;
        text.extend_from_slice(value.to_str_radix(base).as_bytes());
        true
    } else if let (Some(digits), Ok(value)) = (field.precision, numbers::value(worker, 2, arg)) {
        let value: Number = value;
        text.extend_from_slice(fixed(&value, digits).as_bytes());
        true
    } else if numbers::append_number(worker, arg, &mut text)? {
        true
    } else {
        append_other(worker, arg, &mut text)?;
        false
    };
    field.write(&text, is_number, out);
    Ok(())
}

/// Strings and atoms as they are, other terms as `putt` writes them.
fn append_other(worker: &mut Worker, arg: Word, text: &mut Vec<u8>) -> Result<(), Outcome> {
    if let View::Atom(atom) = worker.view(arg) {
        text.extend_from_slice(worker.atoms.text(atom));
    } else if let Some(bytes) = worker.string_bytes(arg) {
        *text = bytes;
    } else {
        if let Some((variable, _)) = streams::find_elsewhere(worker, arg, true)? {
            return Err(Outcome::Wait(variable));
        }
        *text = print::readable(worker, &OpTable::default_table(&worker.atoms), arg)?;
    }
    Ok(())
}

pub(super) const NATIVES: &[Row] = &[method("format", "fill", "iio", fill)];
