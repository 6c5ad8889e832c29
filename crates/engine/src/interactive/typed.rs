//! A text that was typed, inside a text that is compiled.

use super::{Said, Tell};
use crate::program::Report;
use crate::render::diagnostics::has_errors;
use std::ops::Range;
use syntax::diagnostic::{Diagnostic, Severity};
use syntax::source::{FileId, SourceMap, Span};

/// See the module comment.
pub(super) struct Typed<'t> {
    pub(super) text: &'t [u8],
    /// Where it is in the compiled text; what is before `skip` is only in the typed one.
    pub(super) place: Range<usize>,
    pub(super) skip: usize,
}

impl Typed<'_> {
    /// Whether a diagnostic is about the typed text, which is in the file `own`.
    pub(super) fn has(&self, span: Span, own: FileId) -> bool {
        span.file == own
            && (self.place.start..=self.place.end).contains(&(span.start as usize))
            && span.end as usize <= self.place.end + 1
    }
    /// Tells diagnostics as those of the typed text where they are in it. True if one is an error.
    pub(super) fn report(
        &self,
        list: &[Diagnostic],
        compiled: &SourceMap,
        own: FileId,
        tell: Tell<'_>,
    ) -> bool {
        let mut map = SourceMap::default();
        let file = map.add("input".into(), self.text.to_vec());
        let shift = |span: Span| {
            let moved = |at: u32| (at as usize - self.place.start + self.skip).min(self.text.len()) as u32;
            self.has(span, own).then(|| Span { file, start: moved(span.start), end: moved(span.end) })
        };
        let (mut typed, mut others) = (Vec::new(), Vec::new());
        for diagnostic in list {
            match shift(diagnostic.span) {
                Some(span) => {
                    let mut diagnostic = Diagnostic { span, ..diagnostic.clone() };
                    diagnostic.related.retain_mut(|(span, _)| shift(*span).map(|to| *span = to).is_some());
                    typed.push(diagnostic);
                }
                None if diagnostic.severity == Severity::Error => others.push(diagnostic.clone()),
                None => {}
            }
        }
        let wrong = has_errors(&typed) || !others.is_empty();
        for (diagnostics, sources) in [(typed, map), (others, compiled.clone())] {
            if !diagnostics.is_empty() {
                tell(Said::Wrong(Report { diagnostics, sources }));
            }
        }
        wrong
    }
}
