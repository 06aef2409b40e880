//! Names of providers.

use std::borrow::Cow;

/// Names of providers in other tables and in speech, and ours.
const PROVIDERS: [(&str, &str); 14] = [
    ("aws", "bedrock"),
    ("azure_openai", "azure"),
    ("azure_text", "azure"),
    ("bedrock_converse", "bedrock"),
    ("claude", "anthropic"),
    ("cohere_chat", "cohere"),
    ("fireworks", "fireworks_ai"),
    ("google", "gemini"),
    ("grok", "xai"),
    ("ollama_chat", "ollama"),
    ("together", "together_ai"),
    ("vercel", "vercel_ai_gateway"),
    ("vertex", "vertex_ai"),
    ("vertexai", "vertex_ai"),
];

/// The name of a provider as the registry writes it.
pub(crate) fn provider(name: &str) -> Cow<'static, str> {
    let name = name.trim().to_lowercase();
    let name = name.strip_prefix("text-completion-").unwrap_or(&name);
    if name.starts_with("vertex_ai-") {
        return "vertex_ai".into();
    }
    match PROVIDERS.iter().find(|(other, _)| *other == name) {
        Some((_, ours)) => Cow::Borrowed(ours),
        None => Cow::Owned(name.to_owned()),
    }
}
