//! A conversation as a file in Markdown.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

use gadgetry::proto::call::Parameters;
use gadgetry::proto::message::{Content, Message, Role};
use gadgetry_files as files;
use serde_json::Value;

/// Writes a conversation, with its calls and their results, to a new file, which only its owner can read.
pub(super) fn write(path: &Path, messages: &[Message]) -> io::Result<()> {
    files::create_private(path)?.write_all(markdown(messages).as_bytes())
}

fn markdown(messages: &[Message]) -> String {
    let mut text = String::new();
    for message in messages {
        let parts: Vec<String> = parts(&message.content).collect();
        if parts.is_empty() {
            continue;
        }
        let is_result = |it: &Content| matches!(it, Content::GadgetResult { .. });
        let name = match message.role {
            Role::User if message.content.iter().all(is_result) => "Results",
            Role::System => "System",
            Role::User => "User",
            Role::Assistant => "Model",
            _ => message.role.name(),
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "## {name}\n\n{}\n\n", parts.join("\n\n"));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The parts of a message. Texts next to each other are one.
fn parts(content: &[Content]) -> impl Iterator<Item = String> {
    let texts = content.chunk_by(|one, other| is_text(one) && is_text(other));
    let parts = texts.map(|parts| parts.iter().filter_map(part).collect::<String>());
    let parts = parts.map(|part| part.trim().to_owned());
    parts.filter(|part| !part.is_empty())
}

fn is_text(content: &Content) -> bool {
    matches!(content, Content::Text { .. })
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the others are not what is said or done"
)]
fn part(content: &Content) -> Option<String> {
    let called = |name: &str, id: &str, parameters: &str| {
        let parameters = block("json", parameters);
        format!("**{name}** ({id})\n\n{parameters}")
    };
    Some(match content {
        Content::Text { text } | Content::Summary { text, .. } => text.clone(),
        Content::GadgetCall(call) => {
            let parameters = match &call.parameters {
                Parameters::Parsed(parameters) => pretty(parameters),
                Parameters::Malformed(_) => call.parameters_raw.clone(),
            };
            called(&call.gadget_name, call.invocation_id.as_str(), &parameters)
        }
        Content::ToolUse {
            tool_use_id,
            name,
            input,
        } => called(name, tool_use_id, &pretty(input)),
        Content::GadgetResult {
            invocation_id,
            gadget_name,
            text,
            is_error,
            ..
        } => {
            let failed = if *is_error { ", failed" } else { "" };
            let result = block("text", text);
            format!("**{gadget_name}** ({invocation_id}{failed})\n\n{result}")
        }
        Content::Media(media) => format!("({})", media.name.as_deref().unwrap_or(&media.mime_type)),
        Content::Omission { turns } => format!("({turns} earlier turns were left out)"),
        _ => return None,
    })
}

fn pretty(value: &Value) -> String {
    // Writing a value does not fail.
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// A code block whose fence is longer than any in the text.
fn block(language: &str, text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or_default().max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_and_results_are_in_it() {
        let call = Content::ToolUse {
            tool_use_id: "a".to_owned(),
            name: "Read".to_owned(),
            input: json!({"path": "x"}),
        };
        let result = Content::GadgetResult {
            invocation_id: "a".into(),
            gadget_name: "Read".to_owned(),
            text: "one\n```\ntwo\n".to_owned(),
            is_error: true,
            sticky: false,
            media: Vec::new(),
        };
        let text = |text: &str| Content::Text {
            text: text.to_owned(),
        };
        let message = |role: Role, content: Vec<Content>| {
            let mut message = Message::text(role, "");
            message.content = content;
            message
        };
        let messages = [
            message(Role::User, vec![text("Read x.")]),
            message(Role::Assistant, vec![text("I "), text("read.\n"), call]),
            message(Role::User, vec![result]),
            message(Role::Assistant, vec![text(" ")]),
        ];
        let expected = "## User\n\nRead x.\n\n## Model\n\nI read.\n\n**Read** (a)\n\n```json\n{\n  \"path\": \"x\"\n}\n```\n\n## Results\n\n\
                        **Read** (a, failed)\n\n````text\none\n```\ntwo\n````\n";
        assert_eq!(markdown(&messages), expected);
    }
}
