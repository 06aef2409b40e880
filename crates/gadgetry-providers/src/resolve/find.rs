//! From a name to a place: which provider, which model, which address.

use super::address;
use super::error::ResolveError;
use super::names;
use super::table::{AZURE_VERSIONS, Api, Form, Provider};
use super::{Place, Resolver};
use crate::base_url::BaseUrl;

impl Resolver {
    /// The provider of a name, if it has one, and the place that it means.
    pub(super) fn find(
        &self,
        name: &str,
    ) -> Result<(Option<&'static Provider>, Place), ResolveError> {
        let (chosen, name) = names::chosen_api(name.trim());
        let name = names::expanded(name);
        if name.is_empty() {
            return Err(ResolveError::NoName);
        }
        let split = name.split_once(':');
        let named = split.and_then(|(prefix, model)| Some((names::named(prefix)?, model.trim())));
        if let (Some(_), Some((prefix, model))) = (named, split)
            && let Some(model) = model.trim_start().strip_prefix(':')
        {
            return Err(match model.trim() {
                "" => ResolveError::NoName,
                model => ResolveError::TwoColons {
                    name: name.to_owned(),
                    instead: format!("{}:{model}", prefix.trim()),
                },
            });
        }
        let (provider, model) = match (named, &self.options.base_url) {
            (Some((_, "")), _) => return Err(ResolveError::NoName),
            (Some((provider, model)), _) => (Some(provider), model),
            (None, Some(_)) => (None, name),
            (None, None) => (Some(self.guess(name)?), name),
        };
        let base_url = match (&self.options.base_url, provider) {
            (Some(url), Some(provider)) => self.formed(provider, url.expose(), model),
            (Some(url), None) => url.expose().to_owned(),
            (None, Some(provider)) => self.address(provider, model),
            (None, None) => return Err(self.unknown(name)),
        };
        if let Some(provider) = provider.filter(|_| base_url.is_empty()) {
            let variables = provider.addresses.iter().map(|(name, _)| *name);
            return Err(ResolveError::NoAddress {
                provider: provider.name,
                variables: variables.collect(),
            });
        }
        let place = Place {
            provider: provider.map(|provider| provider.name),
            model: model.to_owned(),
            base_url: BaseUrl::new(base_url),
            api: chosen.unwrap_or(provider.map_or(Api::Chat, |it| it.api)),
            is_chosen: chosen.is_some(),
        };
        Ok((provider, place))
    }

    /// The provider of a name without a prefix.
    fn guess(&self, name: &str) -> Result<&'static Provider, ResolveError> {
        if let Some(provider) = names::of_family(name) {
            return Ok(provider);
        }
        let prefix = name.split_once([':', '/']).map(|(prefix, _)| prefix);
        if let Some((provider, instead)) =
            prefix.and_then(|prefix| Some((prefix, names::replacement(prefix)?)))
        {
            let provider = provider.trim().to_owned();
            return Err(ResolveError::Elsewhere { provider, instead });
        }
        names::named("openai")
            .filter(|openai| self.variable_of_address(openai).is_some())
            .ok_or_else(|| self.unknown(name))
    }

    /// The base URL of a provider for a model; empty if only the user knows it.
    pub(super) fn address(&self, provider: &Provider, model: &str) -> String {
        match self.variable_of_address(provider) {
            Some((_, Form::OllamaHost, host)) => address::ollama(host),
            Some((_, Form::AzureEndpoint, endpoint)) => self.formed(provider, endpoint, model),
            Some((_, Form::BaseUrl, url)) => url.trim().to_owned(),
            None => provider.base_url.to_owned(),
        }
    }

    /// The base URL for an address that the user wrote: an Azure endpoint lacks its path.
    fn formed(&self, provider: &Provider, url: &str, model: &str) -> String {
        let mut forms = provider.addresses.iter();
        if forms.any(|(_, form)| *form == Form::AzureEndpoint) {
            let version = self.first(AZURE_VERSIONS).map(|(_, version)| version);
            return address::azure(url, model, version);
        }
        url.to_owned()
    }

    /// The variable that holds a provider's address, its form, and its value.
    pub(super) fn variable_of_address(
        &self,
        provider: &Provider,
    ) -> Option<(&'static str, Form, &str)> {
        let mut set = provider.addresses.iter().filter_map(|(name, form)| {
            let value = self.variables.get(*name)?;
            Some((*name, *form, value.as_str()))
        });
        set.next()
    }

    /// The first of these variables that is set, and its value.
    pub(super) fn first<'r>(&'r self, names: &[&'static str]) -> Option<(&'static str, &'r str)> {
        let mut set = names
            .iter()
            .filter_map(|name| Some((*name, self.variables.get(*name)?.as_str())));
        set.next()
    }

    fn unknown(&self, name: &str) -> ResolveError {
        ResolveError::Unknown {
            name: name.to_owned(),
            suggestion: names::suggestion(name),
            providers: Self::providers().collect(),
            configured: self.listed_remote(),
        }
    }

    /// The configured providers, as text.
    pub(super) fn listed(&self) -> String {
        let all = self.configured();
        let here = all.iter().filter(|it| it.is_local).map(|it| it.provider);
        let here = here.collect::<Vec<_>>().join(", ");
        format!(
            "{}. Servers on this machine need no key, if one runs: {here}",
            self.listed_remote()
        )
    }

    /// The same without the servers on this machine.
    fn listed_remote(&self) -> String {
        let all = self.configured();
        let remote = all.iter().filter(|it| !it.is_local);
        let remote: Vec<String> = remote
            .map(|it| match it.key {
                Some(key) => format!("{} ({key})", it.provider),
                None => format!("{} (without a key)", it.provider),
            })
            .collect();
        if remote.is_empty() {
            return "Configured: nothing".to_owned();
        }
        format!("Configured: {}", remote.join(", "))
    }
}
