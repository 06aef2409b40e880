//! Servers that run on this machine, or whose addresses the environment gives.

use std::time::Duration;

use futures_util::future::join_all;

use super::table::{Api, Form, PROVIDERS, Provider};
use super::{Resolver, address};
use crate::base_url::BaseUrl;
use crate::http::{Http, HttpConfig, models};

/// Timeout for the answer of a server. A closed port refuses at once.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A model server that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundServer {
    /// The provider's name, as before the colon.
    pub provider: &'static str,
    /// The base URL of its API.
    pub base_url: BaseUrl,
    /// Models, by the server's names.
    pub models: Vec<String>,
    /// The environment variable for its key, if it requires one.
    pub needs_key: Option<&'static str>,
}

impl Resolver {
    /// Finds the model servers that run on this machine, or whose addresses the environment gives, within two seconds.
    ///
    /// Ollama, LM Studio, llama.cpp, vLLM and others are looked for on their usual ports, or at the address in the
    /// environment; the servers of other providers only at such an address: `OPENAI_BASE_URL`. A server that neither lists
    /// models nor refuses the key is another kind of server, and is left out.
    ///
    /// Cancel safety: dropping the future closes the connections.
    pub async fn find_servers(&self) -> Vec<FoundServer> {
        self.find_servers_within(TIMEOUT).await
    }

    /// [`find_servers`](Self::find_servers) with another timeout for each server.
    pub async fn find_servers_within(&self, timeout: Duration) -> Vec<FoundServer> {
        let Ok(http) = Http::new(HttpConfig::new()) else {
            return Vec::new();
        };
        let mut servers: Vec<(&Provider, String)> = Vec::new();
        let is_looked_for = |provider: &&Provider| {
            let variable = self.variable_of_address(provider);
            let has_address = variable.is_some_and(|(_, form, _)| form == Form::BaseUrl);
            provider.is_here() || (has_address && provider.api == Api::Chat)
        };
        for provider in PROVIDERS.iter().filter(is_looked_for) {
            let base_url = self.address(provider, "");
            // Several have the same usual port.
            if !servers
                .iter()
                .any(|(_, other)| address::is_same(other, &base_url))
            {
                servers.push((provider, base_url));
            }
        }
        let probes = servers.into_iter().map(|(provider, base_url)| {
            let key = self.first(provider.keys).map(|(_, key)| key.trim());
            let http = &http;
            async move {
                let found = models::of(http, &base_url, key, timeout).await?;
                let variable = provider.keys.first().copied();
                Some(FoundServer {
                    provider: provider.name,
                    base_url: BaseUrl::new(base_url),
                    needs_key: variable.filter(|_| found.is_none()),
                    models: found.unwrap_or_default(),
                })
            }
        });
        join_all(probes).await.into_iter().flatten().collect()
    }
}
