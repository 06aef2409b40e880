//! How a name finds a model.

use std::borrow::Cow;

use crate::models::ModelRegistry;
use crate::models::spec::ModelSpec;

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

/// See [`ModelRegistry::get`]. `name` is in lower case.
pub(super) fn find<'a>(registry: &'a ModelRegistry, name: &str) -> Option<&'a ModelSpec> {
    let mut name = name;
    loop {
        let found = registry.exact(name).or_else(|| fine_tuned(registry, name));
        if found.is_some() {
            return found;
        }
        let Some((prefix, rest)) = name.split_once([':', '/']) else {
            return unique(registry, name, None);
        };
        let provider = provider(prefix);
        if registry.specs().any(|spec| spec.provider == provider) {
            // A provider that the registry knows sells only what is listed; another's price would be a guess.
            let id = format!("{provider}/{rest}");
            let exact = registry.exact(&id);
            let tuned = || fine_tuned(registry, rest).filter(|spec| spec.provider == provider);
            return exact
                .or_else(|| unique(registry, rest, Some(&provider)))
                .or_else(tuned);
        }
        let found = unique(registry, name, None);
        if found.is_some() {
            return found;
        }
        name = rest;
    }
}

/// The only model with this id after its prefixes, of this provider or of any.
fn unique<'a>(
    registry: &'a ModelRegistry,
    bare: &str,
    provider: Option<&str>,
) -> Option<&'a ModelSpec> {
    let mut found = registry.keyed().filter_map(|(key, spec)| {
        let behind = key.strip_suffix(bare)?;
        let whole = behind.is_empty() || behind.ends_with('/');
        (whole && provider.is_none_or(|name| spec.provider == name)).then_some(spec)
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// `ft:gpt-4o-2024-08-06:acme::id` has the price of all that are made of `gpt-4o-2024-08-06`.
fn fine_tuned<'a>(registry: &'a ModelRegistry, name: &str) -> Option<&'a ModelSpec> {
    let made_of = name.strip_prefix("ft:")?;
    let end = made_of.find(':')? + "ft:".len();
    registry.exact(&name[..end])
}
