//! Finds a model by its name.

use crate::models::ModelRegistry;
use crate::models::names::provider;
use crate::models::spec::ModelSpec;

impl ModelRegistry {
    /// Finds the model that a name means, whatever its case:
    ///
    /// - the one with this id, or else with this alias;
    /// - with a provider in front (`openai:gpt-4o`, `groq/llama-guard-3-8b`): that provider's, and no other's;
    /// - without one, or with one of which no model is known: the only one with this name after its prefixes. If several
    ///   providers have it, none is meant, because their prices are not the same.
    pub fn get(&self, name: &str) -> Option<&ModelSpec> {
        let name = name.trim().to_lowercase();
        match self.aliases.get(&name) {
            Some(id) if self.exact(&name).is_none() => find(self, id),
            _ => find(self, &name),
        }
    }
}

/// See [`ModelRegistry::get`]. `name` is in lower case.
fn find<'a>(registry: &'a ModelRegistry, name: &str) -> Option<&'a ModelSpec> {
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
        if registry
            .entries()
            .values()
            .any(|it| it.provider() == provider)
        {
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
    let mut found = registry.entries().iter().filter_map(|(key, entry)| {
        let prefix = key.strip_suffix(bare)?;
        let whole = prefix.is_empty() || prefix.ends_with('/');
        (whole && provider.is_none_or(|name| entry.provider() == name)).then_some(entry)
    });
    let first = found.next()?;
    found.next().is_none().then(|| first.spec())
}

/// `ft:gpt-4o-2024-08-06:acme::id` has the price of all that are made of `gpt-4o-2024-08-06`.
fn fine_tuned<'a>(registry: &'a ModelRegistry, name: &str) -> Option<&'a ModelSpec> {
    let made_of = name.strip_prefix("ft:")?;
    let end = made_of.find(':')? + "ft:".len();
    registry.exact(&name[..end])
}
