//! Texts, media and facts about calls as content of updates.

use std::borrow::Cow;

use agent_client_protocol_schema::v1::{ContentBlock, ImageContent, TextContent, ToolCallContent};
use gadgetry::proto::event::Approval;
use gadgetry::proto::visible::{visible, visible_line};
use gadgetry::{Media, MediaData, MediaKind};
use serde_json::Value;

/// Bytes of a result that the client is sent. The model reads all of it.
const RESULT: usize = 64 << 10;
/// Characters of a title.
const TITLE: usize = 200;

/// One line of readable length, without control, bidirectional and invisible characters, which could make it look like another one.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let words = words.join(" ");
    let line = visible_line(&words);
    match line.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.into_owned(),
    }
}

/// The parameters of a call that has no changes to show, unless its title has all of them: not every client shows its input, and a
/// title is one line, and cut.
pub(crate) fn parameters(approval: &Approval, title: &str) -> Vec<ToolCallContent> {
    let subject = approval.subject.as_ref().map(|it| &*it.text);
    let mut texts = Vec::new();
    if let Some(subject) = subject.filter(|it| !title.contains(it)) {
        texts.push(visible(subject).into_owned());
    }
    let is_shown = |value: &Value| match value {
        Value::String(text) => Some(&**text) == subject || title.contains(text),
        Value::Number(number) => title.contains(&number.to_string()),
        Value::Null => true,
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    };
    let fields = approval.parameters.as_object();
    if !fields.is_some_and(|it| it.values().all(is_shown)) {
        let json = format!("{:#}", approval.parameters);
        texts.push(visible(&json).into_owned());
    }
    let blocks = texts.iter().map(|text| text_block(fenced(text)));
    blocks.map(content_block).collect()
}

/// Further facts for the user before a call is approved.
pub(crate) fn notes(approval: &Approval) -> Vec<ToolCallContent> {
    let mut lines = approval.notes.clone();
    if let Some(subject) = &approval.subject
        && let Some(folder) = &subject.folder
    {
        lines.push(format!("in {folder}"));
    }
    if let Some(server) = &approval.server {
        lines.push(format!("tool of the MCP server {server}"));
    }
    let text = lines.join("\n");
    let block = (!text.is_empty()).then(|| content_block(text_block(text)));
    block.into_iter().collect()
}

pub(crate) fn text_block(text: String) -> ContentBlock {
    ContentBlock::Text(TextContent::new(text))
}

pub(crate) fn content_block(block: ContentBlock) -> ToolCallContent {
    ToolCallContent::Content(agent_client_protocol_schema::v1::Content::new(block))
}

/// A medium, or its name if the protocol cannot carry it.
pub(crate) fn medium(media: &Media) -> ContentBlock {
    match (&media.kind, &media.data) {
        (MediaKind::Image, MediaData::Base64(data)) => {
            ContentBlock::Image(ImageContent::new(data.clone(), media.mime_type.clone()))
        }
        _ => text_block(media.caption()),
    }
}

pub(crate) fn clipped(text: &str) -> String {
    let end = text.floor_char_boundary(RESULT);
    if end == text.len() {
        return text.to_owned();
    }
    format!("{}\n… {} more bytes", &text[..end], text.len() - end)
}

/// The output of a command, of which each line is shown by `line`, with what is left of invisible characters written out.
pub(crate) fn written(output: &str, line: impl Fn(&str) -> Cow<'_, str>) -> String {
    let lines: Vec<Cow<'_, str>> = output.lines().map(line).collect();
    visible(&lines.join("\n")).into_owned()
}

/// A text that Markdown shows as it is.
pub(crate) fn fenced(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_that_shows_everything() {
        let check = |text: &str, expected: &str| assert_eq!(one_line(text), expected);
        check("ls", "ls");
        check("ls\n\n   \t; rm x", "ls ; rm x");
        check("echo \u{1b}[2J\u{202e}x", "echo \\u{1b}[2J\\u{202e}x");
        check(&"x".repeat(300), &format!("{}…", "x".repeat(200)));
    }
}
