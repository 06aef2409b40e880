//! Estimates the tokens of a conversation.

use std::io;

use serde::{Deserialize, Serialize};

use crate::message::{Content, Media, Message};

/// Bytes of text for a token, before anything better is known.
const BYTES_PER_TOKEN: u64 = 4;

/// Bytes of text that frame a message, and each part of one.
const FRAME: u64 = 16;

/// A picture or a page costs models about a thousand tokens, however many bytes it has.
const MEDIUM: u64 = 1_000 * BYTES_PER_TOKEN;

/// An estimate of the tokens of a conversation, without looking at what was counted before.
///
/// A token is four bytes of UTF-8 text, until a provider has reported the tokens of a request: from then on it is what
/// the request says, within half and twice as much. What a provider counts beyond that (tools, images) is a fixed
/// addition.
///
/// ```
/// use gadgetry_proto::convo::TokenEstimate;
/// use gadgetry_proto::message::{Message, Role};
/// let mut estimate = TokenEstimate::of(&[Message::text(Role::User, "x".repeat(3_984))]);
/// assert_eq!(estimate.tokens(), 1_000);
/// estimate.observe(1_500);
/// assert_eq!(estimate.tokens(), 1_500);
/// estimate.pushed(&Message::text(Role::Assistant, "x".repeat(1_984)));
/// assert_eq!(estimate.tokens(), 2_250);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenEstimate {
    /// The size of all messages, by [`size`].
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed: Option<Observed>,
}

/// The tokens that a provider counted for messages of this size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Observed {
    size: u64,
    tokens: u64,
}

impl TokenEstimate {
    /// The estimate for a conversation without a provider's report.
    pub fn of(messages: &[Message]) -> Self {
        Self {
            size: total_size(messages),
            observed: None,
        }
    }

    /// The tokens of the whole conversation.
    pub fn tokens(&self) -> u64 {
        self.tokens_of(self.size)
    }

    /// A message was added.
    pub fn pushed(&mut self, message: &Message) {
        self.size = self.size.saturating_add(size(message));
    }

    /// The conversation was changed otherwise. The provider's report still applies.
    pub fn recount(&mut self, messages: &[Message]) {
        self.size = total_size(messages);
    }

    /// A provider has counted a request with the conversation as it is now; 0 means that it has not.
    ///
    /// Call it before the reply is added.
    pub fn observe(&mut self, input_tokens: u64) {
        if input_tokens > 0 {
            let size = self.size;
            self.observed = Some(Observed {
                size,
                tokens: input_tokens,
            });
        }
    }

    /// The tokens of a conversation of this size. A larger one never has fewer.
    pub(super) fn tokens_of(&self, size: u64) -> u64 {
        let (tokens, bytes) = self.rate();
        scale(size, tokens, bytes).saturating_add(self.fixed())
    }

    /// Tokens that do not come from the size: what a provider counts beyond twice the usual rate.
    fn fixed(&self) -> u64 {
        let (tokens, bytes) = self.rate();
        self.observed.map_or(0, |observed| {
            let explained = scale(observed.size, tokens, bytes);
            observed.tokens.saturating_sub(explained)
        })
    }

    /// The largest size of a conversation with at most this many tokens.
    pub(super) fn size_within(&self, tokens: u64) -> u64 {
        self.size_of(tokens.saturating_sub(self.fixed()))
    }

    /// The size of text with this many tokens.
    pub(super) fn size_of(&self, tokens: u64) -> u64 {
        let (per, bytes) = self.rate();
        let size = u128::from(tokens) * u128::from(bytes) / u128::from(per.max(1));
        u64::try_from(size).unwrap_or(u64::MAX)
    }

    /// The number of tokens for a number of bytes.
    fn rate(&self) -> (u64, u64) {
        match self.observed {
            None => (1, BYTES_PER_TOKEN),
            Some(Observed { size, tokens }) if tokens >= size.div_ceil(BYTES_PER_TOKEN / 2) => {
                (2, BYTES_PER_TOKEN)
            }
            Some(Observed { size, tokens }) if tokens <= size / (BYTES_PER_TOKEN * 2) => {
                (1, BYTES_PER_TOKEN * 2)
            }
            Some(Observed { size, tokens }) => (tokens, size),
        }
    }
}

/// `size * tokens / bytes`, rounded up.
fn scale(size: u64, tokens: u64, bytes: u64) -> u64 {
    let scaled = (u128::from(size) * u128::from(tokens)).div_ceil(u128::from(bytes.max(1)));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// The sum of the [`size`]s.
pub(super) fn total_size(messages: &[Message]) -> u64 {
    messages.iter().map(size).sum()
}

/// Bytes of text that a message is worth to a model.
pub(super) fn size(message: &Message) -> u64 {
    let sent = match &message.raw {
        Some(raw) => length(raw),
        None => message.content.iter().map(part_size).sum(),
    };
    FRAME + sent
}

fn part_size(part: &Content) -> u64 {
    match part {
        Content::Text { text } => length(text),
        // It is not sent again.
        Content::Reasoning { .. } => 0,
        Content::ProviderData(data) => json_length(&data.data),
        Content::Custom(block) => {
            let attrs: u64 = block
                .attrs
                .iter()
                .map(|(name, value)| length(name) + json_length(value))
                .sum();
            FRAME + 2 * length(&block.tag) + attrs + length(&block.content)
        }
        Content::GadgetCall(call) => {
            let ids = call.dependencies.iter().chain([&call.invocation_id]);
            let ids: u64 = ids.map(|id| length(id.as_str())).sum();
            2 * FRAME + length(&call.gadget_name) + ids + length(&call.parameters_raw)
        }
        Content::ToolUse {
            tool_use_id,
            name,
            input,
        } => 2 * FRAME + length(tool_use_id) + length(name) + json_length(input),
        Content::GadgetResult {
            invocation_id,
            text,
            media,
            ..
        } => {
            let media: u64 = media.iter().map(medium_size).sum();
            FRAME + length(invocation_id.as_str()) + length(text) + media
        }
        Content::Media(medium) => medium_size(medium),
        Content::Summary { text, .. } => 2 * FRAME + length(text),
        Content::Omission { .. } => 4 * FRAME,
    }
}

fn medium_size(medium: &Media) -> u64 {
    MEDIUM + medium.name.as_deref().map_or(0, length)
}

fn length(text: &str) -> u64 {
    text.len() as u64
}

/// Returns the length of the value as JSON, without writing it.
fn json_length(value: &serde_json::Value) -> u64 {
    let mut count = Count(0);
    // Neither can fail: the value is JSON, and counting always succeeds.
    _ = serde_json::to_writer(&mut count, value);
    count.0
}

struct Count(u64);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size of a text is found from its tokens by the same rate as the tokens from its size.
    #[test]
    fn sizes_and_tokens_follow_one_rate() {
        for (observed, size) in [
            (None, 2_000),
            (Some((4_000, 800)), 2_500),
            (Some((4_000, 1_999)), 1_000),
            (Some((4_000, 3_000)), 1_000),
            (Some((4_000, 100)), 4_000),
        ] {
            let estimate = TokenEstimate {
                size: 4_000,
                observed: observed.map(|(size, tokens)| Observed { size, tokens }),
            };
            assert_eq!(estimate.size_of(500), size, "{observed:?}");
        }
    }
}
