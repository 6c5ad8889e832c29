//! What a code of a diagnostic means: the rows of docs/diagnostics.md.

use crate::output;
use anyhow::bail;
use std::fmt::Write;

/// Its tables of codes have the columns code, severity and meaning.
const TEXT: &str = include_str!("../../../docs/diagnostics.md");

/// A row of a table of codes.
struct Row {
    /// A row may be about several.
    codes: Vec<&'static str>,
    severity: &'static str,
    /// As it is written there.
    meaning: &'static str,
}

/// All rows of tables of codes, in their order.
fn rows() -> Vec<Row> {
    let (mut rows, mut has_codes) = (Vec::new(), false);
    for line in TEXT.lines() {
        if line.starts_with('#') {
            has_codes = false;
        } else if let Some(cells) = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")) {
            let mut cells = cells.splitn(3, " | ");
            let [first, severity, meaning] = [(); 3].map(|()| cells.next().unwrap_or_default());
            has_codes |= first == "code";
            let codes: Vec<_> = first.split('`').skip(1).step_by(2).collect();
            if has_codes && !codes.is_empty() {
                rows.push(Row { codes, severity, meaning });
            }
        }
    }
    rows
}

/// Markdown without what a terminal does not show: escapes of cells, and the addresses of links.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        plain += before;
        rest = match link.split_once("](").and_then(|(shown, link)| Some((shown, link.split_once(')')?.1))) {
            Some((shown, behind)) if !shown.contains(['[', ']']) => {
                plain += shown;
                behind
            }
            _ => {
                plain.push('[');
                link
            }
        };
    }
    (plain + rest).replace("\\|", "|")
}

/// Prints what the code means, or all codes.
pub(crate) fn run(code: Option<&str>) -> anyhow::Result<u8> {
    let rows = rows();
    let Some(code) = code else {
        let mut text = String::new();
        for row in &rows {
            // Writing to a text cannot fail.
            row.codes.iter().for_each(|code| _ = writeln!(text, "{code:<30} {}", row.severity));
        }
        return output::write(&text).map(|()| 0);
    };
    // As it stands in a message, too: `[no-main]`.
    let code = code.trim().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    let Some(row) = rows.iter().find(|row| row.codes.contains(&code.as_str())) else {
        let near = rows.iter().flat_map(|row| &row.codes).find(|known| {
            let words = |text: &str| text.split('-').map(str::to_string).collect::<Vec<_>>();
            code.len() > 2
                && (known.starts_with(&code) || words(known).iter().any(|word| words(&code).contains(word)))
        });
        let meant = near.map_or(String::new(), |near| format!(" (is {near} meant?)"));
        bail!("there is no code {code}{meant}; `fifth explain` lists all codes");
    };
    let text = format!("{} ({})\n\n{}\n", row.codes.join(", "), row.severity, plain(row.meaning));
    output::write(&text).map(|()| 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_of_codes_are_read() {
        let rows = rows();
        assert!(rows.len() > 40 && rows.iter().all(|row| !row.meaning.is_empty()));
        assert!(rows.iter().flat_map(|row| &row.codes).all(|code| !code.contains(' ')));
        for severity in rows.iter().map(|row| row.severity) {
            assert!(["error", "warning", "error, warning"].contains(&severity), "{severity}");
        }
        assert_eq!(rows.iter().filter(|row| row.codes.contains(&"illegal-goal")).count(), 1);
    }

    #[test]
    fn links_and_escapes_are_not_shown() {
        assert_eq!(
            plain(r"a second `\|`. ([Why](tutorial.md#a)) [1,2] end"),
            "a second `|`. (Why) [1,2] end"
        );
        assert_eq!(plain("`[a|T]` ["), "`[a|T]` [");
    }
}
