//! The requests of a login: no redirects, and no addresses inside the user's network.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Response;
use futures_util::StreamExt as _;
use gadgetry::provider::addresses::PublicAddresses;
use reqwest::{Client, Request, Url};
use rmcp::transport::auth::{AuthError, OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};
use tokio::net::lookup_host;

use crate::client::client_builder;

/// How long a request may take, and bytes of its answer.
const TIMEOUT: Duration = Duration::from_secs(30);
const BODY: usize = 1 << 20;

/// The client for the login to a server at `url`.
pub(super) async fn client(url: &Url) -> Result<Arc<dyn OAuthHttpClient>, AuthError> {
    let public = PublicAddresses::and([]);
    let host = url.host_str().unwrap_or_default();
    let address = (host.trim_matches(['[', ']']), 0);
    let mut addresses = lookup_host(address).await.into_iter().flatten();
    // What a server in the user's network names may be there as well.
    let is_inside = addresses.any(|address| !public.allow(address.ip()));
    let allowed = (!is_inside).then_some(public);
    let mut client = client_builder().timeout(TIMEOUT);
    if let Some(allowed) = &allowed {
        // A proxy would resolve names itself, so the address could not be checked.
        client = client.no_proxy().dns_resolver(Arc::new(allowed.clone()));
    }
    let client = client.build();
    let client = client.map_err(|error| AuthError::InternalError(error.to_string()))?;
    Ok(Arc::new(Requests { client, allowed }))
}

struct Requests {
    client: Client,
    /// `None` if all addresses may be used.
    allowed: Option<PublicAddresses>,
}

impl OAuthHttpClient for Requests {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let request = Request::try_from(request.request)?;
            if let Some(allowed) = &self.allowed {
                allowed.check(request.url())?;
            }
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

/// Whether a host is this machine.
pub(super) fn is_this_machine(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|it| it.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::is_this_machine;

    #[test]
    fn hosts_of_this_machine() {
        for (host, expected) in [
            ("localhost", true),
            ("127.0.0.2", true),
            ("[::1]", true),
            ("localhost.example", false),
            ("10.0.0.1", false),
        ] {
            assert_eq!(is_this_machine(host), expected, "{host}");
        }
    }
}
