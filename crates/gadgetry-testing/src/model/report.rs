//! The complaints of a mock model.

use std::fmt::Write as _;

use gadgetry::{Classified, Fault};

use crate::model::rule::Rule;
use crate::render::indented;

/// Report of what did not happen as the rules of a mock model say. Its text is a report of several lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Mismatch(pub(super) String);

impl Classified for Mismatch {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

/// A request that no rule answers, and why each refused.
pub(super) fn unmatched(
    model: &str,
    number: usize,
    conversation: &str,
    refusals: &[(&Rule, String)],
) -> String {
    // Writing to a string does not fail.
    let mut out = format!("no rule of the mock model {model:?} answers request {number}:\n");
    let _ = writeln!(out, "    {}", indented(conversation, 4));
    for (rule, refusal) in refusals {
        let _ = writeln!(out, "  {} ({}): {refusal}", rule.title(), rule.written_at);
    }
    if refusals.is_empty() {
        out.push_str("  it has no rules\n");
    }
    out
}

/// A request that breaks the rules of a conversation.
pub(super) fn violation(model: &str, number: usize, violations: &str) -> String {
    format!("request {number} to the mock model {model:?} is an invalid conversation: {violations}")
}

/// A rule that answered less than it should have.
pub(super) fn shortfall(rule: &Rule, shortfall: &str) -> String {
    let (title, matcher, place) = (rule.title(), rule.matcher.label(), rule.written_at);
    format!("{title} ({place}) {shortfall}; it waits for: {matcher}\n")
}
