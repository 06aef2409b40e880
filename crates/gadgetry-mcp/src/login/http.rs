//! The requests of a login: no redirects, nothing without TLS but to this machine, and no addresses inside the user's network but
//! those of the server itself.

use std::sync::Arc;
use std::time::Duration;

use axum::http::Response;
use futures_util::StreamExt as _;
use gadgetry_providers::addresses::{PublicAddresses, is_loopback};
use reqwest::{Client, Request, Url};
use rmcp::transport::auth::{AuthError, OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};
use tokio::net::lookup_host;

use crate::http_client::client_builder;

/// Maximum time of a request, and number of bytes of its answer.
const TIMEOUT: Duration = Duration::from_secs(30);
const BODY: usize = 1 << 20;

/// The client for the login to a server at `url`.
pub(super) async fn client(url: &Url) -> Result<Arc<dyn OAuthHttpClient>, AuthError> {
    let host = url.host_str().unwrap_or_default();
    let address = (host.trim_matches(['[', ']']), 0);
    let addresses = lookup_host(address).await.into_iter().flatten();
    // A server in the user's network may have its authorization server at its own address, and at no other one there.
    let allowed = PublicAddresses::and(addresses.map(|address| address.ip()));
    let client = client_builder().timeout(TIMEOUT);
    // A proxy would resolve names itself, so the address could not be checked.
    let client = client.no_proxy().dns_resolver(Arc::new(allowed.clone()));
    let client = client.build();
    let client = client.map_err(|error| AuthError::InternalError(error.to_string()))?;
    Ok(Arc::new(Requests { client, allowed }))
}

/// Returns whether no one else reads what is sent there: over TLS, or on this machine.
pub(super) fn is_private(url: &Url) -> bool {
    match url.scheme() {
        "https" => true,
        "http" => is_loopback(url),
        _ => false,
    }
}

struct Requests {
    client: Client,
    allowed: PublicAddresses,
}

impl OAuthHttpClient for Requests {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let request = Request::try_from(request.request)?;
            check(&self.allowed, request.url())?;
            let response = self.client.execute(request).await?;
            let mut answer = Response::builder().status(response.status());
            for (name, value) in response.headers() {
                answer = answer.header(name, value);
            }
            let mut body = Vec::new();
            let mut pieces = response.bytes_stream();
            while let Some(piece) = pieces.next().await {
                body.extend_from_slice(&piece?);
                if body.len() > BODY {
                    return Err("the answer is larger than 1 MiB".into());
                }
            }
            Ok(answer.body(body)?)
        })
    }
}

/// Fails with the reason if nothing may be sent to a URL.
fn check(allowed: &PublicAddresses, url: &Url) -> Result<(), String> {
    if !is_private(url) {
        let host = url.host_str().unwrap_or_default();
        return Err(format!(
            "{host} is neither on this machine nor used over https"
        ));
    }
    allowed.check(url)
}

#[cfg(test)]
mod tests {
    use gadgetry_providers::addresses::PublicAddresses;

    use super::check;

    #[test]
    fn where_requests_are_sent() {
        let own = ["127.0.0.1".parse().unwrap()];
        let allowed = PublicAddresses::and(own);
        for (url, expected) in [
            ("https://example.com/token", None),
            ("https://1.1.1.1/token", None),
            ("http://127.0.0.1:1/token", None),
            ("https://127.0.0.1:2/token", None),
            ("http://localhost:3/token", None),
            ("http://example.com/token", Some("nor used over https")),
            ("http://1.1.1.1/token", Some("nor used over https")),
            ("ftp://127.0.0.1/token", Some("nor used over https")),
            ("http://127.0.0.2/token", Some("private network")),
            ("https://10.0.0.1/token", Some("private network")),
            ("https://[::1]/token", Some("private network")),
        ] {
            let found = check(&allowed, &url.parse().unwrap());
            match expected {
                None => assert_eq!(found, Ok(()), "{url}"),
                Some(part) => assert!(found.unwrap_err().contains(part), "{url}"),
            }
        }
    }
}
