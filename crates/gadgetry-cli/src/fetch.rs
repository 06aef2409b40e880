//! Fetches a URL, without any key.

use std::time::Duration;

use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Url};
use rustls::crypto::ring;

/// Bytes that are read at most. LiteLLM's table of models has 3 MB.
const LIMIT: usize = 64 << 20;

/// Returns whether this is an address and no file.
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
        .referer(false)
        .redirect(Policy::custom(within_host))
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
            return Err(format!("larger than {} MiB", LIMIT >> 20));
        }
    }
    Ok(bytes)
}

/// Redirects that are followed.
const REDIRECTS: usize = 5;

/// Follows a redirect only where it stays on the host that the user named, as safely as before.
fn within_host(attempt: Attempt<'_>) -> Action {
    let Some(from) = attempt.previous().last() else {
        return attempt.stop();
    };
    let to = attempt.url();
    let stays = from.host_str() == to.host_str();
    let is_as_safe = to.scheme() == from.scheme() || to.scheme() == "https";
    if stays && is_as_safe && attempt.previous().len() <= REDIRECTS {
        return attempt.follow();
    }
    let to = to.origin().ascii_serialization();
    let message = format!("it redirects to {to}; if you trust that host, pass its URL");
    attempt.error(message)
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
