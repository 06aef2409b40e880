//! Servers on this machine.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Url;
use serde_json::Value;

use super::Resolver;
use super::table::PROVIDERS;
use crate::provider::tls;

/// How long a server on this machine may take to answer.
const TIMEOUT: Duration = Duration::from_millis(500);

/// The port of Ollama.
const OLLAMA: u16 = 11434;

/// A model server that runs here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// The name in front of the colon.
    pub provider: &'static str,
    /// Where it is.
    pub base_url: String,
    /// Its models, by the names that it knows them by.
    pub models: Vec<String>,
}

impl Resolver {
    /// The model servers that answer on this machine: Ollama, LM Studio, llama.cpp and vLLM, on their usual ports or
    /// where the environment says. It takes half a second at most.
    ///
    /// What answers there, but not with a list of models, is another server, and is left out.
    ///
    /// Cancel safety: dropping the future closes the connections.
    pub async fn local_servers(&self) -> Vec<LocalServer> {
        let (tls, _) = tls::config();
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIMEOUT)
            .no_proxy()
            .build();
        let Ok(client) = client else {
            return Vec::new();
        };
        let local = PROVIDERS.iter().filter(|provider| provider.is_local());
        let asked = local.map(|provider| {
            let (client, base_url) = (client.clone(), self.address(provider));
            async move {
                let models = models(&client, &base_url).await?;
                Some(LocalServer {
                    provider: provider.name,
                    base_url,
                    models,
                })
            }
        });
        join_all(asked).await.into_iter().flatten().collect()
    }
}

async fn models(client: &reqwest::Client, base_url: &str) -> Option<Vec<String>> {
    let url = format!("{}/models", base_url.trim_end_matches('/'));
    let answer = client.get(url).send().await.ok()?;
    let answer = answer.error_for_status().ok()?.bytes().await.ok()?;
    let answer: Value = serde_json::from_slice(&answer).ok()?;
    let models = match answer.get("data")? {
        Value::Array(models) => models.as_slice(),
        // Ollama without any model.
        Value::Null => &[],
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => return None,
    };
    let names = models.iter().filter_map(|model| model.get("id")?.as_str());
    Some(names.map(str::to_owned).collect())
}

/// The base URL for what `OLLAMA_HOST` says: with or without a scheme, a port, a path.
pub(super) fn ollama(host: &str) -> String {
    let host = host.trim();
    let with_scheme = if host.contains("://") {
        host.to_owned()
    } else {
        format!("http://{host}")
    };
    let Ok(mut url) = Url::parse(&with_scheme) else {
        // The error comes from whoever uses it.
        return with_scheme;
    };
    // The server's own word for all addresses; it is reached at this one.
    if url.host_str() == Some("0.0.0.0") {
        _ = url.set_host(Some("127.0.0.1"));
    }
    if url.port().is_none() && url.scheme() == "http" {
        _ = url.set_port(Some(OLLAMA));
    }
    let path = url.path().trim_end_matches('/');
    if !path.ends_with("/v1") {
        let path = format!("{path}/v1");
        url.set_path(&path);
    }
    url.to_string()
}

/// Whether a server is on this machine.
pub(super) fn is_loopback(base_url: &str) -> bool {
    let url = Url::parse(base_url).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = |ip: std::net::IpAddr| ip.is_loopback();
    host == "localhost" || host.parse().is_ok_and(is_loopback)
}
