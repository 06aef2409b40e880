//! Facts in a provider's error about a conversation that is too long: its tokens, and the window of the model.

use gadgetry_proto::error::Overflow;
use serde_json::Value;

/// The words before the window, in the messages of providers and servers.
const WINDOW: [&str; 10] = [
    "context length is only ",
    "context length is ",
    "context length of ",
    "prompt length is ",
    "model length of ",
    "context size (",
    "context size is ",
    "context window of ",
    "tokens allowed (",
    " > ",
];

/// The words before the tokens of the request.
const PROMPT: [&str; 9] = [
    "resulted in ",
    "you passed ",
    "request (",
    "prompt (length ",
    "token count (",
    "is too long: ",
    "context limit: ",
    "request contains ",
    "prompt contains ",
];

/// The facts in the error object `inner`, or else in its `message`.
pub(super) fn facts(inner: &Value, message: &str) -> Option<Overflow> {
    let field = |name| inner.get(name).and_then(Value::as_u64);
    let message = message.to_ascii_lowercase();
    let facts = Overflow {
        prompt_tokens: field("n_prompt_tokens")
            .or_else(|| after(&message, &PROMPT))
            .or_else(|| in_messages(&message)),
        context_window: field("n_ctx").or_else(|| after(&message, &WINDOW)),
    };
    (facts != Overflow::default()).then_some(facts)
}

/// The number that follows the first of these words that a number follows.
fn after(message: &str, words: &[&str]) -> Option<u64> {
    let mut found = words.iter().flat_map(|word| {
        let matches = message.match_indices(word);
        matches.filter_map(|(at, word)| number(&message[at + word.len()..]))
    });
    found.next()
}

/// `(4000 in the messages, …`: the part of a request that is not reserved for the reply.
fn in_messages(message: &str) -> Option<u64> {
    let (before, _) = message.split_once(" in the messages")?;
    number(&before[before.rfind(|c: char| !c.is_ascii_digit() && c != ',')? + 1..])
}

/// The number at the start of a text, which may have commas between its digits.
fn number(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != ',');
    let digits: String = text[..end.unwrap_or(text.len())]
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages are those of the providers.
    #[test]
    fn what_providers_say() {
        for (message, prompt_tokens, context_window) in [
            (
                "request (1121 tokens) exceeds the available context size (1024 tokens), try increasing it",
                Some(1121),
                Some(1024),
            ),
            (
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 10000 tokens. \
                 Please reduce the length of the messages.",
                Some(10_000),
                Some(8192),
            ),
            (
                "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the \
                 messages, 1000 in the completion).",
                Some(4000),
                Some(4096),
            ),
            (
                "You passed 4097 input tokens and requested 100 output tokens. However, the model's context length is \
                 only 4096 tokens.",
                Some(4097),
                Some(4096),
            ),
            (
                "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
                Some(5000),
                Some(4096),
            ),
            (
                "prompt is too long: 208,310 tokens > 200,000 maximum",
                Some(208_310),
                Some(200_000),
            ),
            (
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
                Some(188_240),
                Some(200_000),
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                Some(1_200_000),
                Some(1_048_576),
            ),
            (
                "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
                Some(537_812),
                Some(131_072),
            ),
            (
                "the request exceeds the available context size, try increasing it",
                None,
                None,
            ),
            (
                "99999999999999999999999 tokens > 99999999999999999999999",
                None,
                None,
            ),
        ] {
            let found = facts(&Value::Null, message).unwrap_or_default();
            let expected = Overflow {
                prompt_tokens,
                context_window,
            };
            assert_eq!(found, expected, "{message}");
        }
    }

    #[test]
    fn fields_come_first() {
        let error = serde_json::json!({ "n_prompt_tokens": 1531, "n_ctx": 1024 });
        let found = facts(&error, "request (1 tokens)");
        let expected = Overflow {
            prompt_tokens: Some(1531),
            context_window: Some(1024),
        };
        assert_eq!(found, Some(expected));
    }
}
