//! Error for a name that resolves to no model.

use gadgetry_proto::error::{Classified, Fault};

use crate::error::ProviderError;

/// Error for a name that resolves to no model. It never holds a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The name is empty, or nothing follows the colon.
    #[error("no model is named; write it as provider:model, such as ollama:llama3")]
    NoName,
    /// Two colons follow the provider.
    #[error("two colons in {name}: write {instead}")]
    TwoColons {
        /// The name, unmodified.
        name: String,
        /// The same name with one colon.
        instead: String,
    },
    /// The name means no known provider.
    #[error(
        "no provider is known for the model {name:?}{}; write it as provider:model, or give a base URL. Providers: {}. \
         {configured}",
        suggestion.as_ref().map(|it| format!(" (did you mean {it}?)")).unwrap_or_default(),
        providers.join(", ")
    )]
    Unknown {
        /// Name, as the caller gave it.
        name: String,
        /// A name that was probably meant.
        suggestion: Option<String>,
        /// The providers that are known.
        providers: Vec<&'static str>,
        /// Configured providers, as text.
        configured: String,
    },
    /// The provider is known, but its interface is not implemented.
    #[error("{provider} has an interface of its own: {instead}")]
    Elsewhere {
        /// The provider, as given.
        provider: String,
        /// Replacement for the provider.
        instead: &'static str,
    },
    /// The provider has an address for each user, and it is not set.
    #[error("no address for {provider}: set {}, or give a base URL", variables.join(" or "))]
    NoAddress {
        /// The provider.
        provider: &'static str,
        /// Variables that may hold the address.
        variables: Vec<&'static str>,
    },
    /// The provider requires a key.
    #[error("no key for {provider}: set {}. {configured}", variables.join(" or "))]
    NoKey {
        /// The provider.
        provider: &'static str,
        /// Variables that may hold the key.
        variables: &'static [&'static str],
        /// Configured providers, as text.
        configured: String,
    },
    /// The variable that was named for the key is not set, or empty.
    #[error("no key: the environment variable {variable} is not set")]
    NoVariable {
        /// The variable.
        variable: String,
    },
    /// A setting is invalid, such as the base URL.
    #[error(transparent)]
    Settings(#[from] ProviderError),
}

impl Classified for ResolveError {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}
