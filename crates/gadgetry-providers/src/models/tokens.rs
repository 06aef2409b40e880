//! Exact token counts for the vocabularies that OpenAI has published.

use tiktoken_rs::bpe_for_model;

/// Tokens of a text for a model of OpenAI; none for models whose vocabulary is not public. Needs the feature `tokens`.
///
/// It is the text alone: what a provider puts around messages and tools comes on top. What looks like a special token
/// (`<|endoftext|>`) is counted as the text that it is. The first call for a vocabulary unpacks it, which takes tenths of a
/// second.
///
/// For all other models, [`TokenEstimate`](gadgetry_proto::convo::TokenEstimate) learns from what their providers return.
///
/// ```
/// use gadgetry::models::count_tokens;
/// assert_eq!(count_tokens("openai:gpt-4o", "hello world"), Some(2));
/// assert_eq!(count_tokens("claude-sonnet-4-5", "hello world"), None);
/// ```
pub fn count_tokens(model: &str, text: &str) -> Option<usize> {
    let model = model.trim().to_lowercase();
    let model = ["openai", "azure"]
        .iter()
        .find_map(|provider| {
            let rest = model.strip_prefix(provider)?;
            rest.strip_prefix([':', '/'])
        })
        .unwrap_or(&model);
    bpe_for_model(model)
        .ok()
        .map(|vocabulary| vocabulary.count_ordinary(text))
}
