//! The words of a provider in place of a reply.

use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::{Diagnostic, DiagnosticCode};

use crate::json;
use crate::wire::diagnostic;

/// The maximum number of bytes kept of a refusal.
const LIMIT: usize = 4096;

/// Comes before the provider's words in the diagnostic.
const PREFIX: &str = "the provider refused: ";

/// A refusal, as far as it has arrived.
#[derive(Debug, Default)]
pub(super) struct Refusal(Option<String>);

impl Refusal {
    /// Takes more of the words, of which the first [`LIMIT`] bytes are kept.
    pub(super) fn push(&mut self, words: &str) {
        let refusal = self.0.get_or_insert_default();
        if refusal.len() < LIMIT {
            refusal.push_str(words);
        }
    }

    /// Returns whether the provider has refused. No text after it is a part of the reply.
    pub(super) fn has_begun(&self) -> bool {
        self.0.is_some()
    }

    /// The diagnostic that reports it.
    pub(super) fn report(&self) -> Option<Delta> {
        let words = self.0.as_ref()?;
        let message = format!("{PREFIX}{}", json::whole(words));
        Some(diagnostic(DiagnosticCode::Refusal, message))
    }
}

/// The provider's words in a diagnostic that reports a refusal.
pub(super) fn words(reported: &Diagnostic) -> Option<&str> {
    let message = reported.message.as_str();
    (reported.code == DiagnosticCode::Refusal)
        .then(|| message.strip_prefix(PREFIX).unwrap_or(message))
}
