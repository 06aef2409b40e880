//! Calls and results in messages.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "each function picks its own kind of content"
)]

use gadgetry::proto::call::Call;
use gadgetry::proto::message::{Content, Media, Message};

/// The calls of a message, in order.
pub(crate) fn calls(message: &Message) -> impl Iterator<Item = &Call> {
    message.content.iter().filter_map(|content| match content {
        Content::GadgetCall(call) => Some(call.as_ref()),
        _ => None,
    })
}

/// The id and the gadget of each result of a message, in order.
pub(crate) fn results(message: &Message) -> impl Iterator<Item = (&str, &str)> {
    message.content.iter().filter_map(|content| match content {
        Content::GadgetResult {
            invocation_id,
            gadget_name,
            ..
        } => Some((invocation_id.as_str(), gadget_name.as_str())),
        _ => None,
    })
}

/// The media of a message, those of its results included, in order.
pub(crate) fn media(message: &Message) -> impl Iterator<Item = &Media> {
    message.content.iter().flat_map(|content| match content {
        Content::Media(media) => std::slice::from_ref(media),
        Content::GadgetResult { media, .. } => media.as_slice(),
        _ => &[],
    })
}

/// Returns whether a message says nothing, not even in thought.
pub(crate) fn is_blank(message: &Message) -> bool {
    let raw = message.raw.as_deref().unwrap_or_default();
    raw.trim().is_empty()
        && message.content.iter().all(|content| match content {
            Content::Text { text } | Content::Reasoning { text } => text.trim().is_empty(),
            Content::ProviderData(_) => true,
            _ => false,
        })
}
