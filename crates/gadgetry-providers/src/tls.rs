//! TLS: rustls with `ring` and the machine's certificates, independent of what the process has installed.

use std::sync::{Arc, LazyLock};

use rustls::{ClientConfig, RootCertStore};

/// The configuration, and the reason if it trusts no certificate.
pub fn config() -> (ClientConfig, Option<String>) {
    /// Reading the machine's certificates takes a while, so it is done once.
    static CONFIG: LazyLock<Result<ClientConfig, String>> = LazyLock::new(trusting);
    match &*CONFIG {
        Ok(config) => (config.clone(), None),
        Err(why) => (distrusting(), Some(why.clone())),
    }
}

fn trusting() -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = rustls_platform_verifier::Verifier::new(Arc::clone(&provider))
        .map_err(|error| error.to_string())?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let config = config
        .dangerous() // the name of every verifier that is not a list of roots; this one is the system's
        .with_custom_certificate_verifier(Arc::new(verifier));
    Ok(config.with_no_client_auth())
}

/// Enough for plain HTTP, which needs no certificate.
#[expect(
    clippy::expect_used,
    reason = "the versions of TLS are those that ring was compiled with"
)]
fn distrusting() -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring knows TLS 1.2 and 1.3")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth()
}
