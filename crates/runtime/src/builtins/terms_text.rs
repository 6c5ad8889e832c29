//! Natives of module `terms_text`: tokens from character codes, terms from tokens, character codes from terms.
//!
//! The library's modules `scanner`, `parser`, `unparser` and `klic_reader` are made of them. `docs/library.md` says
//! what tokens and operator tables look like as terms. Lexer, parser and printer are those of `syntax`.
//!
//! Invariant: the codes of a term that has not come completely are read once; [`Scan`] keeps them between calls.

use super::io::{Table, read, requests::reply, streams};
use super::{
    Row, attempt, ensure_readable, error, goal, home, integer, known, list_items, out_of_range, wrong,
};
use crate::reports::outcome::ErrorKind;
use crate::terms::View;
use crate::terms::print;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use syntax::format::{Escapes, float_readable, write_atom, write_string};
use syntax::lexer::{self, LexError, Lexer, Scanned, TermScanner, Token, TokenKind};
use syntax::operators::{OpTable, OpType, PRIORITY_MAX};
use term::Word;
use term::layout::FLOAT;
use term::symbol::{ABNORMAL, END_OF_FILE, NIL, NORMAL};

/// Codes that are looked at in one piece: what lies behind a term's end is read at most this far.
const PIECE: usize = 256;

// ---- codes to tokens -------------------------------------------------------------------------------

/// A term whose end has not come.
#[derive(Debug, Default)]
struct Scan {
    text: Vec<u8>,
    scanner: TermScanner,
}

/// The unfinished scans of a worker.
#[derive(Default)]
struct Scans(Table<Scan>);

/// `scan(In,H,State)`: State becomes `tokens(Tokens,Rest)`, or `more(V,In,H)`: to be called again with these when V
/// is bound. H is 0 for a new term.
fn scan(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let handle = attempt!(integer(worker, 2, inputs[1]));
    let place = handle.checked_sub(1).and_then(|place| usize::try_from(place).ok());
    let scans = &mut worker.state::<Scans>().0;
    let mut state = place.and_then(|place| scans.get_mut(place)).map(std::mem::take).unwrap_or_default();
    let before = state.text.len();
    // The rest of the list after each code of this call.
    let mut rests = vec![inputs[0]];
    let (blocked, found) = loop {
        attempt!(worker.may_go_on(state.text.capacity() + rests.capacity() * size_of::<Word>()));
        let stop = attempt!(read_piece(worker, &mut state.text, &mut rests));
        let ended = matches!(stop, Stop::End);
        match (state.scanner.scan(&state.text, ended), stop) {
            (Scanned::Term(count), _) => break (None, Some(count)),
            (_, Stop::Blocked(variable)) => break (Some(variable), None),
            (Scanned::NeedMore, Stop::Full) => {}
            (_, _) => break (None, None),
        }
    };
    let last = rests.last().copied().unwrap_or(inputs[0]);
    let scans = &mut worker.state::<Scans>().0;
    if let Some(variable) = blocked {
        let place = match place.and_then(|place| Some((place, scans.get_mut(place)?))) {
            Some((place, slot)) => {
                *slot = state;
                place
            }
            None => scans.add(state),
        };
        outputs[0] = reply(worker, "more", &[variable, last, Word::small(place as i64 + 1)]);
        return Outcome::Done;
    }
    if let Some(place) = place {
        scans.remove(place);
    }
    let count = found.unwrap_or(state.text.len());
    let rest = rests.get(count.saturating_sub(before)).copied().unwrap_or(last);
    attempt!(ensure_readable(worker, count));
    let tokens = tokens(worker, &state.text[..count]);
    outputs[0] = reply(worker, "tokens", &[tokens, rest]);
    Outcome::Done
}

/// Why no more codes were read.
enum Stop {
    /// Enough for now.
    Full,
    /// The list ended.
    End,
    /// This variable is to be bound first.
    Blocked(Word),
}

fn read_piece(worker: &Worker, text: &mut Vec<u8>, rests: &mut Vec<Word>) -> Result<Stop, Outcome> {
    let mut rest = *rests.last().expect("it begins with the whole list");
    for _ in 0..PIECE {
        let (code, next) = match worker.view(rest) {
            View::Cons(code, next) => (code, next),
            View::Atom(NIL) => return Ok(Stop::End),
            View::Unbound(variable) => return Ok(Stop::Blocked(variable)),
            _ => return Err(wrong(worker, 1, "a list of character codes", rest)),
        };
        if let View::Unbound(variable) = worker.view(code) {
            return Ok(Stop::Blocked(variable));
        }
        text.push(character(worker, code)?);
        rests.push(next);
        rest = next;
    }
    Ok(Stop::Full)
}

fn character(worker: &Worker, code: Word) -> Result<u8, Outcome> {
    let code = integer(worker, 1, code)?;
    u8::try_from(code).map_err(|_| out_of_range(1, "a character code (0 to 255)", code))
}

/// The tokens of a text, the last one `end` or `end_of_file`.
fn tokens(worker: &mut Worker, text: &[u8]) -> Word {
    let mut lexer = Lexer::new(text);
    let mut items = Vec::new();
    let mut last_end = None;
    loop {
        let token = lexer.next(&worker.atoms);
        let glued = last_end == Some(token.start);
        last_end = Some(token.end);
        let last = matches!(token.kind, TokenKind::End | TokenKind::EndOfText);
        let name = &text[token.start as usize..token.end as usize];
        items.push(token_term(worker, token.kind, name, glued));
        if last {
            return worker.list(&items, Word::NIL);
        }
    }
}

/// A token as a term; `glued`: nothing stands between it and the token before.
fn token_term(worker: &mut Worker, kind: TokenKind, text: &[u8], glued: bool) -> Word {
    let (name, value) = match kind {
        TokenKind::Atom(atom) => ("atom", Word::atom(atom)),
        TokenKind::QuotedAtom(atom) => ("quoted_atom", Word::atom(atom)),
        TokenKind::Variable => ("variable", worker.string(text)),
        TokenKind::Int(value) => ("integer", worker.int(value)),
        TokenKind::BigInt(value) => ("integer", worker.integer(&value)),
        TokenKind::Float(value) => ("floating_point", worker.float(value)),
        TokenKind::String(bytes) => ("string", worker.string(&bytes)),
        TokenKind::Punctuation(b'(') if !glued => return Word::atom(worker.intern(" (")),
        TokenKind::Punctuation(byte) => return Word::atom(worker.atoms.intern(&[byte])),
        TokenKind::End => return Word::atom(worker.intern("end")),
        TokenKind::EndOfText => return Word::atom(END_OF_FILE),
        TokenKind::Error(error) => ("error", Word::atom(worker.intern(error.name()))),
    };
    reply(worker, name, &[value])
}

/// `chartype(C,Class)`.
fn chartype(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let byte = attempt!(character(worker, inputs[0]));
    outputs[0] = Word::atom(worker.intern(lexer::character_class(byte)));
    Outcome::Done
}

// ---- tokens to terms -------------------------------------------------------------------------------

/// Appends a token (and a blank before it, unless `(` shall make the token before a functor) to `text`.
fn write_token(worker: &Worker, term: Word, text: &mut Vec<u8>) -> Result<Token, Outcome> {
    let view = worker.view(term);
    if !matches!(view, View::Atom(name) if worker.atoms.text(name) == b"(") {
        text.push(b' ');
    }
    let start = text.len();
    let kind = match view {
        View::Atom(END_OF_FILE) => Some(TokenKind::EndOfText),
        View::Atom(name) => simple_token(worker.atoms.text(name), text),
        View::Struct(name, 1) => {
            let value = worker.arg(term, 0);
            if let View::Unbound(variable) = worker.view(value) {
                return Err(Outcome::Wait(variable));
            }
            valued_token(worker, worker.atoms.text(name), value, text)
        }
        View::Unbound(variable) => return Err(Outcome::Wait(variable)),
        _ => None,
    };
    let Some(kind) = kind else {
        return Err(error(ErrorKind::ArgumentType, format!("{} is no token", worker.term_text(term))));
    };
    // Places fit: the parser refuses texts over `TEXT_MAX`.
    Ok(Token { kind, start: start as u32, end: text.len() as u32 })
}

fn simple_token(name: &[u8], text: &mut Vec<u8>) -> Option<TokenKind> {
    let byte = match name {
        b"end" => b'.',
        b" (" => b'(',
        [byte @ (b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' | b'|')] => *byte,
        _ => return None,
    };
    text.push(byte);
    Some(if byte == b'.' { TokenKind::End } else { TokenKind::Punctuation(byte) })
}

fn valued_token(worker: &Worker, name: &[u8], value: Word, text: &mut Vec<u8>) -> Option<TokenKind> {
    Some(match name {
        b"atom" | b"quoted_atom" => {
            let atom = worker.atom_value(value)?;
            write_atom(worker.atoms.text(atom), text);
            if name == b"atom" { TokenKind::Atom(atom) } else { TokenKind::QuotedAtom(atom) }
        }
        b"variable" => {
            text.extend(worker.string_bytes(value)?);
            TokenKind::Variable
        }
        b"integer" => {
            let number = worker.big(value)?;
            text.extend(number.to_string().bytes());
            lexer::integer(number)
        }
        b"floating_point" => {
            let View::Object(FLOAT) = worker.view(value) else { return None };
            let number = worker.float_value(value)?;
            text.extend(float_readable(number).bytes());
            TokenKind::Float(number)
        }
        b"string" => {
            let bytes = worker.string_bytes(value)?;
            write_string(&bytes, Escapes::Control, text);
            TokenKind::String(bytes.into())
        }
        b"error" => {
            let name = worker.atoms.text(worker.atom_value(value)?);
            text.extend(name);
            TokenKind::Error(LexError::from_name(name)?)
        }
        _ => return None,
    })
}

/// What an operator table may be, for messages.
const TABLE: &str =
    "an operator table: a list of op(Name,Type,Priority), or ops(Prefix,Infix,Postfix) of such lists";

/// An operator table from a list of `op(Name,Type,Priority)`, or from KLIC's `ops(Prefix,Infix,Postfix)` with such a
/// list of each kind. The first entry for a name and a kind counts; priority 0 means no operator.
fn operators(worker: &Worker, term: Word) -> Result<OpTable, Outcome> {
    let mut table = OpTable::default();
    match worker.view(term) {
        View::Struct(name, 3) if worker.atoms.text(name) == b"ops" => {
            use OpType::{Fx, Fy, Xf, Xfx, Xfy, Yf, Yfx};
            let kinds: [&[OpType]; 3] = [&[Fx, Fy], &[Xfx, Xfy, Yfx], &[Xf, Yf]];
            for (index, kinds) in kinds.into_iter().enumerate() {
                add_operators(worker, known(worker.arg(term, index))?, kinds, &mut table)?;
            }
        }
        View::Cons(..) | View::Atom(NIL) => add_operators(worker, term, &OpType::ALL, &mut table)?,
        _ => return Err(wrong(worker, 2, TABLE, term)),
    }
    Ok(table)
}

/// Adds the entries of a list, which are of these kinds.
fn add_operators(worker: &Worker, list: Word, kinds: &[OpType], table: &mut OpTable) -> Result<(), Outcome> {
    for entry in list_items(worker, 2, list)?.into_iter().rev() {
        let entry = known(entry)?;
        match worker.view(entry) {
            View::Struct(name, 3) if worker.atoms.text(name) == b"op" => {}
            _ => return Err(wrong(worker, 2, TABLE, entry)),
        }
        let [op, kind, priority] = [0, 1, 2].map(|index| worker.arg(entry, index));
        let (op, kind) = (known(op)?, known(kind)?);
        let Some(op) = worker.atom_value(op) else { return Err(wrong(worker, 2, "an atom", op)) };
        let named = worker.atom_value(kind).and_then(|name| OpType::from_name(worker.atoms.text(name)));
        let Some(named) = named.filter(|kind| kinds.contains(kind)) else {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            return Err(wrong(worker, 2, &format!("one of {} here", names.join(", ")), kind));
        };
        let priority = integer(worker, 2, priority)?;
        match u16::try_from(priority) {
            Ok(0) => table.remove(op, named),
            Ok(priority) if priority <= PRIORITY_MAX => {
                table.add(op, named, priority);
            }
            _ => return Err(out_of_range(2, &format!("a priority of 0 to {PRIORITY_MAX}"), priority)),
        }
    }
    Ok(())
}

/// `parse(Tokens,Ops,Wrapped,R)`: R becomes `normal(T)`, or `abnormal(Message,Before,After)` with the tokens before
/// and after the place.
fn parse(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let items = attempt!(list_items(worker, 1, inputs[0]));
    if let Some((variable, _)) = attempt!(streams::find_elsewhere(worker, inputs[0], true)) {
        return Outcome::Wait(variable);
    }
    let ops = attempt!(operators(worker, inputs[1]));
    let wrapped = attempt!(integer(worker, 3, inputs[2])) != 0;
    attempt!(ensure_readable(worker, items.len()));
    let mut text = Vec::new();
    let mut tokens = Vec::with_capacity(items.len());
    for item in &items {
        tokens.push(attempt!(write_token(worker, *item, &mut text)));
    }
    let starts: Vec<u32> = tokens.iter().map(|token| token.start).collect();
    outputs[0] = match syntax::parse_tokens(&text, tokens, &ops, &worker.atoms) {
        Ok(Some(tree)) => {
            let term = read::build(worker, &tree, wrapped);
            worker.structure(NORMAL, &[term])
        }
        Ok(None) => worker.structure(NORMAL, &[Word::atom(END_OF_FILE)]),
        Err(error) => {
            let at = starts.partition_point(|&start| start < error.start);
            let message = worker.string(error.message.as_bytes());
            let before = worker.list(&items[..at], Word::NIL);
            let after = worker.list(&items[at..], Word::NIL);
            worker.structure(ABNORMAL, &[message, before, after])
        }
    };
    Outcome::Done
}

/// `report(Message,Before,After,Done)`: says on standard error what is wrong with a term.
fn report(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let mut message = b"{SYNTAX ERROR}\n** ".to_vec();
    message.extend(attempt!(super::bytes(worker, 1, inputs[0])));
    message.extend(b" **\n");
    for (position, tokens) in [(2, inputs[1]), (3, inputs[2])] {
        let mut text = Vec::new();
        for token in attempt!(list_items(worker, position, tokens)) {
            attempt!(write_token(worker, token, &mut text));
        }
        message.extend(text.trim_ascii());
        message.extend(if position == 2 { &b"\n** here **\n"[..] } else { b"\n" });
    }
    if let Err(error) = super::io::print_error(worker, &message) {
        return Outcome::Error(error.program_error());
    }
    outputs[0] = Word::NIL;
    Outcome::Done
}

// ---- terms to codes --------------------------------------------------------------------------------

/// `ground(Work,State)`: State becomes `done` when the terms of the list Work have no variables, or `wait(V,Rest)`:
/// when V is bound, `[V|Rest]` is what is still to be looked at.
fn ground(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    outputs[0] = match attempt!(streams::find_variable(worker, inputs[0], true)) {
        Some((variable, rest)) => reply(worker, "wait", &[variable, rest]),
        None => Word::atom(worker.intern("done")),
    };
    Outcome::Done
}

/// `codes(T,Ops,Wrapped,Rest,Out)`: Out becomes the codes of T as `putt` (or `putwt`) writes it, then Rest.
fn codes(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    if let Some((variable, _)) = attempt!(streams::find_elsewhere(worker, inputs[0], true)) {
        return Outcome::Wait(variable);
    }
    let ops = attempt!(operators(worker, inputs[1]));
    let wrapped = attempt!(integer(worker, 3, inputs[2])) != 0;
    let text = attempt!(match wrapped {
        true => print::wrapped(worker, &ops, inputs[0]),
        false => print::readable(worker, &ops, inputs[0]),
    });
    attempt!(worker.ensure(2 * text.len()));
    outputs[0] = text.iter().rev().fold(inputs[3], |list, &byte| worker.cons(Word::small(byte.into()), list));
    Outcome::Done
}

const MODULE: &str = "terms_text";

pub(super) const NATIVES: &[Row] = &[
    home(goal(MODULE, "scan", "iio", scan)),
    home(goal(MODULE, "parse", "iiio", parse)),
    home(goal(MODULE, "report", "iiio", report)),
    goal(MODULE, "ground", "io", ground),
    home(goal(MODULE, "codes", "iiiao", codes)),
    goal("scanner", "chartype", "io", chartype),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;

    fn code_list(worker: &mut Worker, text: &[u8], tail: Word) -> Word {
        text.iter().rev().fold(tail, |list, &byte| worker.cons(Word::small(byte.into()), list))
    }

    fn scanned(worker: &mut Worker, codes: Word, handle: Word) -> Word {
        let mut out = [Word::NIL];
        assert!(matches!(scan(worker, &[codes, handle], &mut out), Outcome::Done));
        out[0]
    }

    #[test]
    fn a_term_that_comes_code_by_code_has_the_same_tokens() {
        let worker = worker();
        let text = b"f( 'b c',X) +- (0'a|\"s\"). rest";
        let whole = code_list(worker, text, Word::NIL);
        let all = scanned(worker, whole, Word::small(0));
        let expected = worker.term_text(worker.arg(all, 0));
        let mut handle = Word::small(0);
        let mut given = 0;
        let last = loop {
            let tail = worker.new_variable();
            let codes = code_list(worker, &text[given..given + 1], tail);
            given += 1;
            let state = scanned(worker, codes, handle);
            if matches!(worker.view(state), View::Struct(_, 2)) {
                break state;
            }
            assert_eq!(worker.arg(state, 0), tail);
            handle = worker.arg(state, 2);
        };
        assert_eq!(worker.term_text(worker.arg(last, 0)), expected);
        assert_eq!(&text[given..], b"rest");
        let scans = worker.state::<Scans>();
        assert!(scans.0.get_mut(0).is_none(), "a finished scan is forgotten");
    }

    #[test]
    fn every_text_up_to_its_end_gives_tokens_that_parse_like_the_text() {
        let worker = worker();
        let ops = OpTable::default_table(&worker.atoms);
        let mut out = [Word::NIL];
        assert!(matches!(read::default_operators(worker, &[], &mut out), Outcome::Done));
        let table = out[0];
        let texts: [&[u8]; 6] = [
            b"- 1 + -a. ",
            b"'-' 1. ",
            b"f(X,_,_Y,X) :- [a,b|T], {}, []('A b'). ",
            b"- (1,2)*g(\"a\" \"b\", 1.5e3, 123456789012345678901234567890). ",
            b"f(a. ",
            b"p :- \"x",
        ];
        for text in texts {
            let codes = code_list(worker, text, Word::NIL);
            let state = scanned(worker, codes, Word::small(0));
            let tokens = worker.arg(state, 0);
            assert!(matches!(parse(worker, &[tokens, table, Word::small(0)], &mut out), Outcome::Done));
            let got = worker.arg(out[0], 0);
            match syntax::parse_term(text, &ops, &worker.atoms) {
                Ok(tree) => {
                    let tree = tree.expect("the texts are not empty");
                    let expected = read::build(worker, &tree, false);
                    let [got, expected] =
                        [got, expected].map(|term| print::plain(worker, term).expect("it is finite"));
                    assert_eq!(got, expected);
                }
                Err(error) => assert_eq!(worker.string_bytes(got), Some(error.message.clone().into_bytes())),
            }
        }
    }

    #[test]
    fn what_is_no_token_or_code_is_an_error() {
        let worker = worker();
        let mut out = [Word::NIL];
        let bad = worker.list(&[Word::small(1)], Word::NIL);
        let inputs = [bad, Word::NIL, Word::small(0)];
        assert!(matches!(parse(worker, &inputs, &mut out), Outcome::Error(_)));
        assert!(matches!(parse(worker, &[Word::NIL, bad, Word::small(0)], &mut out), Outcome::Error(_)));
        let large = worker.list(&[Word::small(256)], Word::NIL);
        assert!(matches!(scan(worker, &[large, Word::small(0)], &mut out), Outcome::Error(_)));
        let least = worker.int(i64::MIN);
        assert!(matches!(scan(worker, &[Word::NIL, least], &mut out), Outcome::Done));
        assert!(matches!(chartype(worker, &[Word::small(-1)], &mut out), Outcome::Error(_)));
    }
}
