//! The most common chunk, a few characters of text and nothing else, read without a JSON tree.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::json::is_plain;

/// Reads such chunks, the faster the more they are alike.
#[derive(Debug, Default)]
pub(super) struct Quick {
    /// The last chunk up to its text, and after it.
    head: String,
    tail: String,
}

impl Quick {
    /// The text of a chunk that has nothing but text in the first choice; `None` for any other chunk.
    //
    // The chunks of a reply usually differ in nothing but their text:
    //
    //     {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}
    //     {"choices":[{"index":0,"delta":{"content":" you"},"finish_reason":null}]}
    //
    // So what is between the same head and the same tail is the text, if nothing in it ends the string or is an escape.
    pub(super) fn text<'d>(&mut self, data: &'d str) -> Option<Cow<'d, str>> {
        if !self.head.is_empty()
            && let Some(rest) = data.strip_prefix(&self.head)
            && let Some(text) = rest.strip_suffix(&self.tail)
            && is_plain(text)
        {
            return Some(Cow::Borrowed(text));
        }
        let text = parse(data)?;
        if let Cow::Borrowed(text) = text
            && !text.is_empty()
        {
            // It borrows from `data`.
            let start = text.as_ptr().addr() - data.as_ptr().addr();
            data[..start].clone_into(&mut self.head);
            data[start + text.len()..].clone_into(&mut self.tail);
        }
        Some(text)
    }
}

// `{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}` has no more than its text. One field more
// that means something, such as a finish reason, fails to parse here, and the decoder reads the whole tree. It would
// give the same deltas for this chunk, at several times the cost.
fn parse(data: &str) -> Option<Cow<'_, str>> {
    let chunk: Chunk<'_> = serde_json::from_str(data).ok()?;
    let [choice] = chunk.choices;
    let text = choice.delta.content.map(|text| text.0);
    text.filter(|_| choice.index.is_none_or(|index| index == 0))
}

/// A field of the type `()` may be absent or null; any other value needs the whole tree.
#[derive(Deserialize)]
struct Chunk<'d> {
    #[serde(borrow)]
    choices: [Choice<'d>; 1],
    #[serde(default, rename = "usage")]
    _usage: (),
    #[serde(default, rename = "error")]
    _error: (),
    #[serde(default, rename = "x_groq")]
    _x_groq: (),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice<'d> {
    #[serde(borrow)]
    delta: Said<'d>,
    index: Option<u64>,
    #[serde(default, rename = "logprobs")]
    _logprobs: IgnoredAny,
    #[serde(default, rename = "finish_reason")]
    _finish_reason: (),
    #[serde(default, rename = "native_finish_reason")]
    _native_finish_reason: (),
}

/// serde borrows a `Cow` only where it is a field by itself, not within an `Option`.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'d>(#[serde(borrow)] Cow<'d, str>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said<'d> {
    #[serde(borrow)]
    content: Option<Text<'d>>,
    #[serde(default, rename = "role")]
    _role: IgnoredAny,
    #[serde(default, rename = "tool_calls")]
    _tool_calls: (),
    #[serde(default, rename = "function_call")]
    _function_call: (),
    #[serde(default, rename = "refusal")]
    _refusal: (),
    #[serde(default, rename = "reasoning_content")]
    _reasoning_content: (),
    #[serde(default, rename = "reasoning")]
    _reasoning: (),
}

#[cfg(test)]
mod tests {
    use super::{Quick, parse};

    #[test]
    fn chunks_that_are_alike_read_the_same() {
        let chunk = |text: &str, tail: &str| {
            format!(
                "{{\"id\":\"c\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}{tail}}}]}}"
            )
        };
        let texts = [
            "Hi",
            " you",
            "",
            "\u{e9}\u{1f600}",
            "\\n",
            "\\\"",
            "\\ud83d",
            "a\",\"role\":\"b",
            "\"",
            "\n",
            "\\",
            "{}",
            "\"}}]}",
            "Hi",
        ];
        let tails = [
            "",
            ",\"finish_reason\":null",
            ",\"finish_reason\":\"stop\"",
            ",\"logprobs\":null",
        ];
        let mut quick = Quick::default();
        quick.text(&chunk("a", ""));
        let (head, tail) = (quick.head.clone(), quick.tail.clone());
        assert_eq!(format!("{head}a{tail}"), chunk("a", ""));
        let mut read = 0;
        for tail in tails {
            for text in texts {
                let data = chunk(text, tail);
                let found = quick.text(&data);
                assert_eq!(found, parse(&data), "{data}");
                read += usize::from(found.is_some());
            }
        }
        // Each other chunk needs the whole tree.
        assert_eq!(read, 27);
        assert_eq!(quick.text("{\"usage\":{}}"), None);
        // Head and tail do not share bytes of a chunk.
        assert_eq!(quick.text(&head), None);
    }
}
