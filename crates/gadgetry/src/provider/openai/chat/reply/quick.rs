//! The most common chunk, a few characters of text and nothing else, read without a JSON tree.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The text of a chunk that has nothing but text in the first choice; `None` for any other chunk.
//
// `{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}` has no more than its text. One field more
// that means something, such as a finish reason, fails to parse here, and the decoder reads the whole tree. It would
// give the same deltas for this chunk, at several times the cost.
pub(super) fn text(data: &str) -> Option<Cow<'_, str>> {
    let chunk: Chunk<'_> = serde_json::from_str(data).ok()?;
    let [choice] = chunk.choices;
    choice
        .delta
        .content
        .filter(|_| choice.index.is_none_or(|index| index == 0))
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said<'d> {
    #[serde(borrow)]
    content: Option<Cow<'d, str>>,
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
