//! The message that replaces removed turns.

use std::borrow::Cow;

use crate::convo::envelope::guard_envelopes;
use crate::convo::tokens::size;
use crate::message::{Content, Message, Role};

/// The message in place of removed turns.
#[derive(Default)]
pub(super) struct Placeholder {
    /// The summary of the summarised turns.
    pub(super) summary: Option<String>,
    /// Number of turns that are summarised.
    pub(super) summarised: u32,
    /// Number of turns that were removed without a trace.
    pub(super) omitted: u32,
}

impl Placeholder {
    /// Collects the placeholders that earlier compactions have left in `messages`.
    pub(super) fn of(messages: &[Message]) -> Self {
        let placeholders = messages.iter().filter(|message| is_placeholder(message));
        let mut whole = Self::default();
        for part in placeholders.flat_map(|message| &message.content) {
            if let Content::Omission { turns } = part {
                whole.omitted = whole.omitted.saturating_add(*turns);
            } else if let Content::Summary { text, turns } = part {
                whole.summarised = whole.summarised.saturating_add(*turns);
                match &mut whole.summary {
                    Some(summary) => {
                        summary.push_str("\n\n");
                        summary.push_str(text);
                    }
                    None => whole.summary = Some(text.clone()),
                }
            }
        }
        whole
    }

    /// The [`size`] of the message once turns are omitted, which does not depend on how many.
    pub(super) fn size_with_omission(mut self) -> u64 {
        self.omitted = self.omitted.max(1);
        size(&self.into_message())
    }

    pub(super) fn into_message(self) -> Message {
        let turns = self.summarised;
        let summary = self.summary.map(|text| Content::Summary { text, turns });
        let turns = self.omitted;
        let omission = (turns > 0).then_some(Content::Omission { turns });
        Message {
            role: Role::User,
            content: summary.into_iter().chain(omission).collect(),
            raw: None,
        }
    }
}

/// Returns `true` if an earlier compaction has made this message.
pub(super) fn is_placeholder(message: &Message) -> bool {
    let made = |part: &Content| matches!(part, Content::Summary { .. } | Content::Omission { .. });
    !message.content.is_empty() && message.content.iter().all(made)
}

/// Returns the text of a [`Content::Summary`] for the model.
pub(in crate::convo) fn summary_text(text: &str, turns: u32) -> String {
    let text: Cow<'_, str> = guard_envelopes(text);
    format!("[Summary of {turns} earlier turn{}]\n{text}", plural(turns))
}

/// Returns the text of a [`Content::Omission`] for the model.
pub(in crate::convo) fn omission_text(turns: u32) -> String {
    let were = if turns == 1 { "was" } else { "were" };
    format!(
        "[{turns} earlier turn{} {were} left out to fit the context window.]",
        plural(turns)
    )
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}
