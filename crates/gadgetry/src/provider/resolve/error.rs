//! Why a name leads to no model.

use crate::provider::error::ProviderError;

/// Why a name leads to no model. It never holds a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// There is no name, or none behind the colon.
    #[error("no model is named; write it as provider:model, such as ollama:llama3")]
    NoName,
    /// Nobody knows who serves it.
    #[error(
        "no provider is known for the model {name:?}; write it as provider:model, or give a base URL. {configured}"
    )]
    Unknown {
        /// As asked for.
        name: String,
        /// What is configured.
        configured: String,
    },
    /// The provider wants a key.
    #[error("no key for {provider}: set {}. {configured}", variables.join(" or "))]
    NoKey {
        /// The provider.
        provider: &'static str,
        /// Where the key is looked for.
        variables: &'static [&'static str],
        /// What is configured.
        configured: String,
    },
    /// What was set cannot be used, such as a base URL that is none.
    #[error(transparent)]
    Settings(#[from] ProviderError),
}
