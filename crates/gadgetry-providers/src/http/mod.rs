//! One request, its timeouts, its errors typed, and the deltas of its answer.

mod cause;
mod config;
mod exchange;
pub(super) mod models;
mod proxy;
mod send;
pub(super) mod small;

use gadgetry_proto::error::ModelErrorKind;
use reqwest::Url;

use crate::error::ProviderError;
use crate::request::header;
use crate::tls;

use cause::cause;

pub use config::{HttpConfig, is_secret_header};

/// Sends requests. A clone shares the connections.
///
/// It speaks HTTP/1.1, so that each reply has a connection of its own, follows no redirects, so that a key never
/// reaches another host, and uses rustls with the machine's certificates, whatever the process has installed.
#[derive(Clone, Debug)]
pub struct Http {
    client: reqwest::Client,
    config: HttpConfig,
    /// The proxies that requests may go through.
    proxies: Vec<Url>,
    /// Reason for which no certificate can be trusted.
    untrusting: Option<String>,
}

/// Clients are equal if they send requests the same way.
impl PartialEq for Http {
    fn eq(&self, other: &Self) -> bool {
        self.config == other.config
    }
}

impl Http {
    /// A client.
    ///
    /// # Errors
    ///
    /// If a header or the proxy in the configuration is invalid.
    pub fn new(config: HttpConfig) -> Result<Self, ProviderError> {
        for (name, value) in &config.headers {
            header(name, value)?;
        }
        for (name, value) in &config.secret_headers {
            header(name, value.expose())?;
        }
        let (tls, untrusting) = tls::config();
        let mut client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(config.connect_timeout)
            .tcp_nodelay(true)
            // Another crate may have switched these features of reqwest on.
            .no_gzip()
            .no_deflate()
            .no_brotli()
            .no_zstd()
            .no_proxy();
        let proxies = proxy::of(&config, |name| std::env::var(name).ok())?;
        for proxy in &proxies {
            client = client.proxy(proxy.rule()?);
        }
        let proxies = proxies.into_iter().map(|proxy| proxy.url).collect();
        let client = client
            .build()
            .map_err(|error| ProviderError::new(ModelErrorKind::Transport, cause(&error)))?;
        Ok(Self {
            client,
            config,
            proxies,
            untrusting,
        })
    }
}
