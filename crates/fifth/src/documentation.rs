//! `fifth doc`: what documentation comments say, as Markdown and as a page.

use crate::cli::{self, MessageFormat};
use crate::destination::Destination;
use crate::files::Disk;
use crate::{USAGE, output, report};
use anyhow::anyhow;
use engine::sources::{Files, text_of};
use pulldown_cmark::{Event, Parser, html};
use std::io::Write;
use syntax::documentation::{Documented, documentation, markdown, table};
use syntax::source::SourceMap;
use term::AtomTable;

/// How the page looks.
const STYLE: &str = "body{max-width:50em;margin:2em auto;padding:0 1em;font-family:sans-serif;line-height:1.5}\
    pre{background:#f4f4f4;padding:.7em;overflow-x:auto}h2{margin-top:2em}";

/// What is above a table that is written anew, and below it.
const MARK: &str = "<!-- fifth doc ";
const END: &str = "<!-- end -->";

/// Prints the documentation of files, or writes it as a page; gives the exit code.
pub(crate) fn run(options: &cli::Doc) -> anyhow::Result<u8> {
    let (atoms, mut sources) = (AtomTable::new(), SourceMap::default());
    let (mut all, mut wrong) = (vec![], vec![]);
    for path in &options.files {
        let text = text_of(&Disk, path).map_err(engine::Error::from)?;
        let file = sources.add(Disk.name(path), text);
        let (found, mut warnings) = documentation(&sources, file, &atoms);
        all.extend(found);
        wrong.append(&mut warnings);
    }
    report::diagnostics(&wrong, &sources, MessageFormat::Human);
    let text = markdown(&all);
    match (&options.html, &options.update) {
        (None, None) => output::write(&text)?,
        (None, Some(path)) => {
            let before = std::fs::read_to_string(path);
            let before = before.map_err(|error| anyhow!("cannot read {}: {error}", path.display()))?;
            let after = with_tables(&before, &all).map_err(|why| anyhow!("{}: {why}", path.display()))?;
            if after != before {
                Destination::new(path, &options.files)?
                    .write(0o666, |out| out.write_all(after.as_bytes()))?;
            }
        }
        (Some(path), _) => {
            let title: Vec<&str> = all.iter().map(|one| one.module.as_str()).collect();
            let page = page(&title.join(", "), &text);
            Destination::new(path, &options.files)?.write(0o666, |out| out.write_all(page.as_bytes()))?;
        }
    }
    Ok(if wrong.is_empty() { 0 } else { USAGE })
}

/// A text with what is between its marks written anew.
fn with_tables(text: &str, all: &[Documented]) -> Result<String, String> {
    let (mut rest, mut made) = (text, String::new());
    while let Some(at) = rest.find(MARK) {
        let behind = &rest[at + MARK.len()..];
        let (name, behind) = behind.split_once(" -->\n").ok_or("a mark is no line of its own")?;
        let module = all.iter().find(|one| one.module == name);
        let module =
            module.ok_or_else(|| format!("there is a mark for module {name}, and no file has it"))?;
        let end = behind.find(END).ok_or_else(|| format!("no line {END} is behind the mark for {name}"))?;
        made += &rest[..at];
        made += &format!("{MARK}{name} -->\n{}", table(module));
        rest = &behind[end..];
    }
    if made.is_empty() {
        return Err(format!("it has no mark, as {MARK}MODULE -->"));
    }
    Ok(made + rest)
}

/// Markdown as a page of its own. HTML in it is text.
fn page(title: &str, text: &str) -> String {
    let as_text = |event| match event {
        Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
        event => event,
    };
    let (mut head, mut body) = (String::new(), String::new());
    html::push_html(&mut head, std::iter::once(Event::Text(title.into())));
    html::push_html(&mut body, Parser::new(text).map(as_text));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{head}</title>\n\
         <style>{STYLE}</style>\n{body}</html>\n"
    )
}

/// What is known of a module, of a predicate of one (`lists:append`), or of predicates of any (`append`).
pub(crate) fn of_name(name: &str, texts: &[(String, Vec<u8>)]) -> Option<String> {
    let (module, name) = match name.split_once(':') {
        Some((module, name)) => (Some(module), name),
        None => (None, name),
    };
    let name = name.split('/').next().unwrap_or_default();
    let mut found = String::new();
    let (atoms, mut sources) = (AtomTable::new(), SourceMap::default());
    for (file, text) in texts {
        let file = sources.add(file.clone(), text.clone());
        for mut documented in documentation(&sources, file, &atoms).0 {
            if module.is_none() && documented.module == name {
                found += &markdown(&[documented]);
                continue;
            }
            documented.predicates.retain(|entry| entry.name == name);
            if module.is_none_or(|module| module == documented.module) {
                found += &entries(&documented);
            }
        }
    }
    (!found.is_empty()).then_some(found)
}

fn entries(documented: &Documented) -> String {
    let shown = |entry: &syntax::documentation::Entry| {
        format!("{}:{}\n\n{}\n", documented.module, entry.signature, entry.about)
    };
    documented.predicates.iter().map(shown).collect()
}
