//! Escapes of other languages in strings and quoted atoms: here `\u` is only another `u`, as in KLIC.

use crate::diagnostic::Diagnostic;
use crate::lexer::Lexer;
use crate::source::{FileId, Span};
use crate::tree::{NodeKind, Tree};
use term::AtomTable;

/// Warns of each in a term of this text.
pub(crate) fn warnings(tree: &Tree, text: &[u8], file: FileId, atoms: &AtomTable) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = vec![];
    let mut seen = 0;
    let mut starts: Vec<u32> = tree
        .nodes()
        .iter()
        .filter(|node| is_quoted(&node.kind, text, node.start))
        .map(|node| node.start)
        .collect();
    starts.sort_unstable();
    for start in starts.into_iter().map(|start| start as usize) {
        if start < seen {
            continue;
        }
        let mut lexer = Lexer::new(&text[start..]);
        // Strings that stand beside each other are one.
        loop {
            let token = lexer.next(atoms);
            let (from, to) = (start + token.start as usize, start + token.end as usize);
            if !matches!(text.get(from), Some(b'"' | b'\'')) || from < seen {
                break;
            }
            seen = to;
            found.extend(escapes(&text[from..to]).map(|at| warning(text, from + at, file)));
        }
    }
    found
}

fn is_quoted(kind: &NodeKind, text: &[u8], start: u32) -> bool {
    matches!(kind, NodeKind::String(_) | NodeKind::Atom(_) | NodeKind::Struct(..))
        && matches!(text[start as usize], b'"' | b'\'')
}

/// Where they are in a quoted text.
fn escapes(quoted: &[u8]) -> impl Iterator<Item = usize> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let here = at + quoted[at..].iter().position(|&byte| byte == b'\\')?;
            at = here + 2;
            match quoted.get(here + 1)? {
                b'u' | b'U' | b'N' | b'e' | b'E' | b's' | b'd' => return Some(here),
                _ => {}
            }
            if at > quoted.len() {
                return None;
            }
        }
    })
}

fn warning(text: &[u8], at: usize, file: FileId) -> Diagnostic {
    let letter = char::from(text[at + 1]);
    let rest = &text[at + 2..];
    let digits = rest
        .iter()
        .take(if letter == 'U' { 8 } else { 4 })
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    let code =
        std::str::from_utf8(&rest[..digits]).ok().and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let code = code.filter(|_| letter.eq_ignore_ascii_case(&'u')).and_then(char::from_u32);
    let length = if code.is_some() { digits } else { 0 };
    let help = match (letter, code) {
        (_, Some(code)) => {
            let mut bytes = [0; 4];
            let bytes =
                code.encode_utf8(&mut bytes).bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
            match code.is_control() {
                true => format!("write `{bytes}`"),
                false => format!("texts are UTF-8: write `{code}` itself, or its bytes, `{bytes}`"),
            }
        }
        ('e' | 'E', _) => "the escape character is written `\\x1b`".into(),
        _ => "a backslash itself is written twice, `\\\\`; other bytes are written `\\xHH`".into(),
    };
    let span = Span { file, start: at as u32, end: (at + 2 + length) as u32 };
    Diagnostic::warning("unknown-escape", span, format!("`\\{letter}` is no escape in KL1"))
        .label(format!("only a `{letter}`"))
        .help(help)
}
