//! T10: documents and comments read easily: lines of at most [`COLUMNS_MAX`] columns, and no sentence that begins with
//! "Who" (the subject is the thing: "a worker that rests", not "who rests").
//!
//! Lines that cannot be broken are left out: rows of tables, listings, and lines of one word.

/// Columns of a line.
const COLUMNS_MAX: usize = 120;
/// Places whose comments are not yet as they should be. The list only shrinks: a place without findings is a finding.
const NOT_YET: &[&str] = &[
    "crates/distribution/",
    "crates/dsm/",
    "crates/fabric/",
    "crates/fifth/",
    "crates/runtime/src/goals/abroad/",
];

/// What was found in places of [`NOT_YET`].
#[derive(Default)]
pub(crate) struct Prose {
    known: Vec<&'static str>,
}

impl Prose {
    /// A document.
    pub(crate) fn document(&mut self, name: &str, text: &str, findings: &mut Vec<String>) {
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line, line));
        self.look(name, lines, None, findings);
    }
    /// A source file: its comments that stand on lines of their own.
    pub(crate) fn source(&mut self, name: &str, text: &str, findings: &mut Vec<String>) {
        let comments = text.lines().enumerate().filter_map(|(at, line)| {
            let comment = line.trim_start().strip_prefix("//")?;
            Some((at + 1, line, comment.trim_start_matches(['/', '!'])))
        });
        let place = NOT_YET.iter().find(|place| name.starts_with(**place));
        self.look(name, comments, place.copied(), findings);
    }
    /// Lines with their numbers, as they stand and their prose; the place of [`NOT_YET`] that they are in.
    fn look<'t>(
        &mut self,
        name: &str,
        lines: impl Iterator<Item = (usize, &'t str, &'t str)>,
        place: Option<&'static str>,
        findings: &mut Vec<String>,
    ) {
        let mut listing = false;
        for (number, line, prose) in lines {
            let prose = prose.trim_start();
            if prose.starts_with("```") {
                listing = !listing;
            }
            let breaks = !listing && !prose.starts_with('|') && prose.contains(' ');
            let wrong = if breaks && line.chars().count() > COLUMNS_MAX {
                format!("{name}:{number}: more than {COLUMNS_MAX} columns (T10)")
            } else if !listing && begins_with_who(prose) {
                format!("{name}:{number}: a sentence begins with \"Who\": name the thing (T10)")
            } else {
                continue;
            };
            match place {
                Some(place) if self.known.contains(&place) => {}
                Some(place) => self.known.push(place),
                None => findings.push(wrong),
            }
        }
    }
    /// Places that are as they should be by now.
    pub(crate) fn check(&self, findings: &mut Vec<String>) {
        let clean = NOT_YET.iter().filter(|place| !self.known.contains(*place));
        findings.extend(
            clean.map(|place| format!("{place}: its comments are clean: remove it from NOT_YET (T10)")),
        );
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
        let mut prose = Prose::default();
        if name.ends_with(".rs") {
            prose.source(name, text, &mut findings);
        } else {
            prose.document(name, text, &mut findings);
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
