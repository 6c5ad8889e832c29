//! Prints what is wrong: with a program text, or with the command.

use crate::cli::MessageFormat;
use crate::output;
use engine::render::diagnostics::{as_json, error_as_json, for_people, has_errors};
use std::io::{IsTerminal, Write};
use syntax::diagnostic::Diagnostic;
use syntax::source::SourceMap;

/// Prints diagnostics to standard error, in the order of the text, with a closing count. True if one is an error.
pub(crate) fn diagnostics(list: &[Diagnostic], sources: &SourceMap, format: MessageFormat) -> bool {
    let text = match format {
        MessageFormat::Human => {
            let colored = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            for_people(list, sources, colored)
        }
        MessageFormat::Json => as_json(list, sources),
    };
    // A closed standard error leaves nobody to tell.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
    has_errors(list)
}

/// What keeps the command from its work and is in no program text, for editors.
pub(crate) fn json_error(error: &anyhow::Error) {
    output::complain(&error_as_json(error.downcast_ref::<engine::Error>(), &output::told(error)));
}
