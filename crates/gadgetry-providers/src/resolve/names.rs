//! From a name to a provider and its model, and back.

use gadgetry_proto::schema::closest;

use super::table::{Api, FAMILIES, PROVIDERS, Provider, REPLACEMENTS, Rule, SHORTCUTS};
use crate::models::{ModelSpec, names};

/// The provider of this name or alias.
pub(super) fn named(name: &str) -> Option<&'static Provider> {
    let name = name.trim();
    PROVIDERS.iter().find(|provider| provider.is_called(name))
}

/// The API that a prefix of the name chooses, and the name without it: `responses:gpt-5.6`, `chat:openai:gpt-5.6`,
/// `completions:llama.cpp:gemma`.
pub(super) fn chosen_api(name: &str) -> (Option<Api>, &str) {
    let split = name.split_once(':');
    let chosen = split.and_then(|(prefix, rest)| {
        let api = match prefix.trim().to_ascii_lowercase().as_str() {
            "responses" => Api::Responses,
            "chat" => Api::Chat,
            "completions" => Api::Completions,
            _ => return None,
        };
        Some((Some(api), rest.trim()))
    });
    chosen.unwrap_or((None, name))
}

/// The full name of a shortcut; any other name as it is.
pub(super) fn expanded(name: &str) -> &str {
    let mut shortcuts = SHORTCUTS.iter();
    let shortcut = shortcuts.find(|(short, _)| name.eq_ignore_ascii_case(short));
    shortcut.map_or(name, |(_, full)| full)
}

/// The provider of a model family: `claude-…` is Anthropic's.
pub(super) fn of_family(name: &str) -> Option<&'static Provider> {
    let lower = name.to_ascii_lowercase();
    let is_of = |family: &str| {
        let rest = lower.strip_prefix(family);
        rest.is_some_and(|rest| {
            family.ends_with(['-', ':']) || rest.is_empty() || rest.starts_with('-')
        })
    };
    // Open weights, which OpenAI itself does not serve.
    let is_open = lower.starts_with("gpt-oss");
    let mut families = FAMILIES.iter();
    let family = families.find(|(family, _)| !is_open && is_of(family));
    family.and_then(|(_, provider)| named(provider))
}

/// Returns the replacement for a provider whose interface is not implemented.
pub(super) fn replacement(prefix: &str) -> Option<&'static str> {
    let prefix = prefix.trim();
    let is_meant = |names: &[&str]| names.iter().any(|it| it.eq_ignore_ascii_case(prefix));
    let mut all = REPLACEMENTS.iter();
    all.find(|(names, _)| is_meant(names))
        .map(|(_, instead)| *instead)
}

/// The name that was probably meant by an unknown one.
pub(super) fn suggestion(name: &str) -> Option<String> {
    let prefixes = || {
        let all = PROVIDERS.iter();
        all.flat_map(|it| it.aliases.iter().copied().chain([it.name]))
    };
    if let Some((prefix, model)) = name.split_once(['/', ':']) {
        let (prefix, model) = (prefix.trim(), model.trim().trim_start_matches(':'));
        // The part before the colon of `llama3:8b` is a model.
        let is_word = prefix.chars().all(char::is_alphabetic);
        let slip = || named(closest(prefix, prefixes()).first().filter(|_| is_word)?);
        let near = named(prefix).or_else(slip)?;
        return (!model.is_empty()).then(|| format!("{}:{model}", near.name));
    }
    let shortcuts = SHORTCUTS.iter().map(|(short, _)| *short);
    closest(name, shortcuts).first().map(|it| (*it).to_owned())
}

/// The name under which a model of the registry is found; `None` if no provider here serves it.
pub(super) fn of_spec(spec: &ModelSpec) -> Option<String> {
    let mut providers = PROVIDERS.iter();
    // A user's own address has models with names of the user's own.
    let provider = providers.find(|it| it.catalog == spec.provider && !it.base_url.is_empty())?;
    let prefixed = spec.id.split_once('/');
    let model = prefixed.filter(|(prefix, _)| names::provider(prefix) == spec.provider);
    let model = match model {
        Some((_, model)) => model,
        None if provider.bare_ids => &spec.id,
        None => return None,
    };
    Some(format!("{}:{model}", provider.name))
}

impl Rule {
    /// Returns whether the rule holds for OpenAI's model of this name.
    pub(super) fn holds(&self, model: &str) -> bool {
        let lower = model.to_ascii_lowercase();
        let name = lower.rsplit('/').next().unwrap_or(&lower);
        let name = name.strip_prefix("ft:").unwrap_or(name);
        let is_listed = self.names.iter().any(|beginning| {
            let rest = name.strip_prefix(beginning);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
        });
        (is_listed || gpt_version(name).is_some_and(|version| version >= self.gpt_from))
            && !self.but.iter().any(|part| name.contains(part))
    }
}

/// The version of a `gpt-5.4-mini`; `None` of what has none, or one like `4o`.
fn gpt_version(name: &str) -> Option<(u32, u32)> {
    let version = name.strip_prefix("gpt-")?.split(['-', ':']).next()?;
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}
