//! Texts as they may be shown on a terminal.

/// A text that cannot move a terminal's cursor or change its colours.
pub fn harmless(text: &str) -> String {
    text.replace(|c: char| c.is_control() && c != '\n', "\u{fffd}")
}

/// UTF-8 as it is; any other text with each byte that is not ASCII as `?`. Control characters become `?`, too, and
/// those that would count as ends of lines blanks. Each byte is shown by one byte, so offsets stay what they are.
pub fn displayable(text: &[u8]) -> String {
    let shown = |b: u8| match b {
        b'\n' | b'\t' => b,
        b'\r' | 0x0b | 0x0c => b' ',
        _ if b.is_ascii_control() => b'?',
        _ => b,
    };
    let bytes: Vec<u8> = text.iter().map(|&b| shown(b)).collect();
    match String::from_utf8(bytes) {
        Ok(text) if text.contains(is_hidden) => text
            .chars()
            .map(|c| if is_hidden(c) { "?".repeat(c.len_utf8()) } else { c.to_string() })
            .collect(),
        Ok(text) => text,
        Err(error) => {
            let ascii = |&b: &u8| if b.is_ascii() { b as char } else { '?' };
            error.as_bytes().iter().map(ascii).collect()
        }
    }
}

/// Characters beyond ASCII that control a terminal or end a line.
fn is_hidden(c: char) -> bool {
    !c.is_ascii() && c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}
