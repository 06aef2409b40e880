//! A gateway before a scripted upstream.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;

use gadgetry_gateway::exchange::ModelRules;
use gadgetry_gateway::upstream::{Target, Upstream as Target_};
use gadgetry_gateway::{Gateway, Settings, server};
use gadgetry_providers::resolve::Api;
use gadgetry_providers::{BaseUrl, HttpConfig};
use tokio::net::TcpListener;

use super::upstream::Upstream;

/// A gateway, and the upstream behind it.
pub(crate) struct World {
    pub(crate) upstream: Upstream,
    pub(crate) address: SocketAddr,
}

impl World {
    /// With these rules.
    pub(crate) async fn with(rules: ModelRules) -> Self {
        let upstream = Upstream::start().await;
        let settings = settings(&upstream.url(), rules);
        Self::serve(upstream, settings).await
    }

    /// With default rules.
    pub(crate) async fn start() -> Self {
        Self::with(ModelRules::default()).await
    }

    /// With these settings.
    pub(crate) async fn serve(upstream: Upstream, settings: Settings) -> Self {
        let address = serve(settings).await;
        Self { upstream, address }
    }

    /// The URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// Serves a gateway on a free port.
pub(crate) async fn serve(settings: Settings) -> SocketAddr {
    let gateway = Gateway::with_secret(settings, [42; 32]);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(server::serve(listener, gateway, pending()));
    address
}

/// Settings with one server.
pub(crate) fn settings(url: &str, rules: ModelRules) -> Settings {
    settings_of(Api::Chat, url, rules)
}

/// Settings with one server of an API.
pub(crate) fn settings_of(api: Api, url: &str, rules: ModelRules) -> Settings {
    let target = Target::Server {
        url: BaseUrl::new(url),
        api,
        key: None,
    };
    let upstream = Target_::new("scripted", target, HttpConfig::new()).expect("a valid URL");
    Settings::default()
        .upstreams(vec![Arc::new(upstream)])
        .rules(rules.into())
}

/// A plain HTTP client.
pub(crate) fn client() -> reqwest::Client {
    let (tls, _) = gadgetry_providers::tls::config();
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy();
    client.build().expect("a client")
}

/// A GET request.
pub(crate) async fn get(url: String) -> reqwest::Result<reqwest::Response> {
    client().get(url).send().await
}
