//! What lies behind an address, without any key.

use std::time::Duration;

use reqwest::{Client, Url};
use rustls::crypto::ring;

/// Bytes that are read at most. LiteLLM's table of models has 3 MB.
const LIMIT: usize = 64 << 20;

/// Whether this is an address and no file.
pub(crate) fn is_address(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.starts_with("http://") || lower.starts_with("https://")
}

/// Reads it all within this time. `Err` says what is wrong, without the address.
///
/// A proxy of the environment counts unless `directly`, which is for this machine.
pub(crate) async fn get(url: &str, within: Duration, directly: bool) -> Result<Vec<u8>, String> {
    // An error means that there is one already.
    let _ = ring::default_provider().install_default();
    let url = Url::parse(url).map_err(|error| error.to_string())?;
    let client = Client::builder()
        .timeout(within)
        .user_agent(concat!("gadgetry/", env!("CARGO_PKG_VERSION")));
    let client = if directly { client.no_proxy() } else { client };
    let client = client.build().map_err(words)?;
    let mut answer = client.get(url).send().await.map_err(words)?;
    if !answer.status().is_success() {
        return Err(format!("the server answered {}", answer.status()));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(words)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > LIMIT {
            return Err(format!("more than {} MiB", LIMIT >> 20));
        }
    }
    Ok(bytes)
}

/// The reason at the bottom, which says most.
fn words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(error) = source {
        words = error.to_string();
        source = error.source();
    }
    words
}
