//! Code actions: what a diagnostic's fix changes.

use crate::check::Checked;
use crate::outline::Outline;
use lsp_types::{CodeAction, CodeActionKind, Range, TextEdit, Uri, WorkspaceEdit};

/// The changes that mend what is wrong in a range.
pub(crate) fn actions(checked: &Checked, outline: &Outline, uri: &Uri, range: Range) -> Vec<CodeAction> {
    let touches = |other: &Range| other.start <= range.end && range.start <= other.end;
    let fixes = checked.fixes.iter().filter(|fix| touches(&fix.diagnostic.range));
    let action = fixes.map(|fix| {
        let edits = fix.edits.iter();
        let edits =
            edits.map(|(place, text)| TextEdit::new(outline.text.range(place), text.clone())).collect();
        CodeAction {
            title: fix.title.clone(),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![fix.diagnostic.clone()]),
            edit: Some(changes([(uri.clone(), edits)])),
            is_preferred: Some(true),
            ..CodeAction::default()
        }
    });
    action.collect()
}

/// Edits of several texts.
pub(crate) fn changes(edits: impl IntoIterator<Item = (Uri, Vec<TextEdit>)>) -> WorkspaceEdit {
    WorkspaceEdit { changes: Some(edits.into_iter().collect()), ..WorkspaceEdit::default() }
}
