//! The HTTP client of all requests.

use gadgetry_providers::tls;
use reqwest::redirect::Policy;

/// Begins a client that follows no redirect, so that a key reaches no other host.
pub(crate) fn client_builder() -> reqwest::ClientBuilder {
    let (tls, _) = tls::config();
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(Policy::none())
        .referer(false)
        .user_agent(concat!("gadgetry/", env!("CARGO_PKG_VERSION")))
}
