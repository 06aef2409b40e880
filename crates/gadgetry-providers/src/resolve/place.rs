//! Location of a model: its provider, address and API.

use super::address;
use super::table::{Api, PROVIDERS, Provider};
use crate::base_url::BaseUrl;

/// A model at an address, which a name resolves to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The provider; `None` for a base URL with a bare model name.
    pub provider: Option<&'static str>,
    /// The model, by the provider's name for it.
    pub model: String,
    /// The base URL of the provider.
    pub base_url: BaseUrl,
    /// The API that serves the model there.
    pub api: Api,
    /// True if a prefix of the name chose the API.
    pub(super) is_chosen: bool,
}

impl Place {
    /// The name as `provider:model`, or the model's alone.
    pub fn full_name(&self) -> String {
        match self.provider {
            Some(provider) => format!("{provider}:{}", self.model),
            None => self.model.clone(),
        }
    }

    /// Chooses the legacy Completions API, unless a prefix of the name has chosen another one.
    pub(super) fn complete(&mut self) {
        if !self.is_chosen {
            self.api = Api::Completions;
        }
    }

    /// Returns whether this is a server of the user's: on this machine, or at an address that they have given.
    pub(super) fn is_of_user(&self, provider: Option<&Provider>) -> bool {
        // Each user has an address of their own there.
        let is_resource = provider.is_some_and(|it| it.base_url.is_empty());
        let mut remote = PROVIDERS.iter().filter(|it| !it.is_here());
        !is_resource && !remote.any(|it| self.is_official(Some(it)))
    }

    /// Returns whether this is the provider's own address, and not another server.
    pub(super) fn is_official(&self, provider: Option<&Provider>) -> bool {
        provider.is_some_and(|it| address::is_same(self.base_url.expose(), it.base_url))
    }
}
