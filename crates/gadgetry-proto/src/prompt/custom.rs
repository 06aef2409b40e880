//! The listing of custom blocks, and its place in the conversation.

use crate::message::{Content, Message, Role};
use crate::tags::BlockConfig;

/// The listing of all blocks that have a description or instructions; none if no block has.
///
/// ```
/// use gadgetry_proto::prompt::custom_block_listing;
/// use gadgetry_proto::tags::CustomBlock;
/// let done = CustomBlock::new("done").description("Signals task completion.").instructions("Write it last.");
/// let listing = custom_block_listing([done.config()]);
/// assert_eq!(
///     listing.as_deref(),
///     Some(
///         "You can use the following XML tags in your output:\n\
///          - <done>: Signals task completion.\n  Write it last."
///     ),
/// );
/// ```
pub fn custom_block_listing<'a>(
    blocks: impl IntoIterator<Item = &'a BlockConfig>,
) -> Option<String> {
    let entries: Vec<String> = blocks.into_iter().filter_map(entry).collect();
    if entries.is_empty() {
        return None;
    }
    Some(format!(
        "You can use the following XML tags in your output:\n{}",
        entries.join("\n")
    ))
}

fn entry(block: &BlockConfig) -> Option<String> {
    let fields = [&block.description, &block.instructions];
    let said: Vec<&str> = fields
        .into_iter()
        .flatten()
        .map(String::as_str)
        .filter(|text| !text.is_empty())
        .collect();
    if said.is_empty() {
        return None;
    }
    let lines: Vec<&str> = said.iter().flat_map(|text| text.lines()).collect();
    Some(format!("- <{}>: {}", block.xml_tag(), lines.join("\n  ")))
}

/// Appends `text` to the last system message as one more text part, or inserts one at the front if
/// there is no system message. Empty text changes nothing.
pub fn append_to_system(messages: &mut Vec<Message>, text: &str) {
    if text.is_empty() {
        return;
    }
    match messages
        .iter_mut()
        .rfind(|message| message.role == Role::System)
    {
        Some(last) => last.content.push(Content::Text {
            text: text.to_owned(),
        }),
        None => messages.insert(0, Message::text(Role::System, text)),
    }
}
