//! Human-readable conversations.

use std::fmt::Write as _;

use gadgetry::proto::convo::prompt_text;
use gadgetry::proto::message::Message;

/// The longest message that is shown whole, in characters.
const SHOWN: usize = 600;

/// The messages with their numbers (from 1), roles and texts. Long texts lose their middle.
///
/// ```
/// use gadgetry_testing::{conversation, render_conversation};
/// let messages = conversation().user("Hi").assistant("Hello.\nWhat can I do?").build();
/// let shown = render_conversation(&messages);
/// assert_eq!(shown, "1 user: Hi\n2 assistant: Hello.\n    What can I do?\n");
/// ```
pub fn render_conversation(messages: &[Message]) -> String {
    let mut out = String::new();
    for (number, message) in (1..).zip(messages) {
        let text = prompt_text(message);
        let text = middle_left_out(&text, SHOWN).replace('\n', "\n    ");
        // Writing to a string does not fail.
        let _ = writeln!(out, "{number} {}: {}", message.role.name(), text.trim_end());
    }
    out
}

/// `text`, or its first and last characters with what was left out between them counted.
pub(crate) fn middle_left_out(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most / 2).collect();
    let tail: String = text.chars().skip(length - most / 2).collect();
    let left_out = length - most / 2 * 2;
    format!("{head} [… {left_out} characters …] {tail}")
}

/// `text` with every line but the first moved to the right.
pub(crate) fn indented(text: &str, by: usize) -> String {
    text.trim_end()
        .replace('\n', &format!("\n{}", " ".repeat(by)))
}
