//! T10: documents and comments read easily: lines of at most [`COLUMNS_MAX`] columns, and no sentence that begins with
//! "Who" (the subject is the thing: "a worker that rests", not "who rests").
//!
//! Lines that cannot be broken are left out: rows of tables, listings, and lines of one word.

/// Columns of a line.
const COLUMNS_MAX: usize = 120;
/// What is to be mended in a document.
pub(crate) fn document(name: &str, text: &str, findings: &mut Vec<String>) {
    look(name, text.lines().enumerate().map(|(at, line)| (at + 1, line, line)), findings);
}

/// The same of a source file: its comments that stand on lines of their own.
pub(crate) fn source(name: &str, text: &str, findings: &mut Vec<String>) {
    let comments = text.lines().enumerate().filter_map(|(at, line)| {
        let comment = line.trim_start().strip_prefix("//")?;
        Some((at + 1, line, comment.trim_start_matches(['/', '!'])))
    });
    look(name, comments, findings);
}

/// Lines with their numbers, as they stand and their prose.
fn look<'t>(name: &str, lines: impl Iterator<Item = (usize, &'t str, &'t str)>, findings: &mut Vec<String>) {
    let mut listing = false;
    for (number, line, prose) in lines {
        let prose = prose.trim_start();
        if prose.starts_with("```") {
            listing = !listing;
        }
        let breaks = !listing && !prose.starts_with('|') && prose.contains(' ');
        if breaks && line.chars().count() > COLUMNS_MAX {
            findings.push(format!("{name}:{number}: more than {COLUMNS_MAX} columns (T10)"));
        } else if !listing && begins_with_who(prose) {
            findings.push(format!("{name}:{number}: a sentence begins with \"Who\": name the thing (T10)"));
        }
    }
}

/// Whether a sentence of the line begins with "Who" and is no question.
fn begins_with_who(prose: &str) -> bool {
    let text = prose.trim_start_matches(['-', '*', '|', ' ', '#']);
    (text.starts_with("Who ") || text.contains(". Who ")) && !text.contains('?')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(name: &str, text: &str) -> usize {
        let mut findings = Vec::new();
        if name.ends_with(".rs") {
            source(name, text, &mut findings);
        } else {
            document(name, text, &mut findings);
        }
        findings.len()
    }

    #[test]
    fn long_lines_are_found_where_they_can_be_broken() {
        let long = "word ".repeat(25);
        assert_eq!(findings("a.md", &long), 1);
        assert_eq!(findings("a.md", &format!("| {long}")), 0);
        assert_eq!(findings("a.md", &format!("```text\n{long}\n```\n{long}")), 1);
        assert_eq!(findings("a.md", &"x".repeat(130)), 0);
        assert_eq!(findings("a.rs", &format!("    /// {long}\nlet a = \"{long}\";")), 1);
        assert_eq!(findings("a.rs", &format!("    let a = 1; // {long}")), 0);
    }

    #[test]
    fn a_sentence_that_begins_with_who_is_found_unless_it_asks() {
        assert_eq!(findings("a.rs", "/// Who rests asks."), 1);
        assert_eq!(findings("a.rs", "// It is full. Who comes waits."), 1);
        assert_eq!(findings("a.md", "- Who asks?\n- A worker who asks\n- Whoever"), 0);
    }
}
