//! The requests of a login: no redirects, and no addresses inside the user's network.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::http::Response;
use futures_util::StreamExt as _;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Request, Url};
use rmcp::transport::auth::{
    AuthError, OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest,
};
use tokio::net::lookup_host;

use crate::client::client_builder;

/// How long a request may take, and bytes of its answer.
const TIMEOUT: Duration = Duration::from_secs(30);
const BODY: usize = 1 << 20;

/// The client for the login to a server at `url`.
pub(super) async fn client(url: &Url) -> Result<Arc<dyn OAuthHttpClient>, AuthError> {
    let host = url.host_str().unwrap_or_default();
    let address = (host.trim_matches(['[', ']']), 0);
    let mut addresses = lookup_host(address).await.into_iter().flatten();
    // What a server in the user's network names may be there as well.
    let inside = addresses.any(|address| !is_public(address.ip()));
    let names = Arc::new(Names { inside });
    let client = client_builder().timeout(TIMEOUT).dns_resolver(names);
    let client = client.build();
    let client = client.map_err(|error| AuthError::InternalError(error.to_string()))?;
    Ok(Arc::new(Requests { client, inside }))
}

struct Requests {
    client: Client,
    /// Whether addresses inside the network are reached.
    inside: bool,
}

impl OAuthHttpClient for Requests {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let request = Request::try_from(request.request)?;
            let host = request.url().host_str().unwrap_or_default();
            if let Ok(address) = host.trim_matches(['[', ']']).parse()
                && !is_allowed(address, self.inside)
            {
                return Err(refused(host));
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

/// Looks names up, without addresses inside the network.
struct Names {
    inside: bool,
}

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let inside = self.inside;
        Box::pin(async move {
            let found = lookup_host((name.as_str(), 0)).await?;
            let allowed = found.filter(|it| is_allowed(it.ip(), inside));
            let allowed: Vec<SocketAddr> = allowed.collect();
            if allowed.is_empty() {
                return Err(refused(name.as_str()));
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

fn refused(host: &str) -> OAuthHttpClientError {
    let words = format!("{host} is not a public address, unlike the server");
    Box::new(io::Error::other(words))
}

fn is_allowed(address: IpAddr, inside: bool) -> bool {
    inside || is_public(address)
}

/// Whether a host is this machine.
pub(super) fn is_this_machine(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|it| it.is_loopback())
}

/// Whether an address is one of the internet, as far as its ranges say.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(it) => {
            let [a, b, ..] = it.octets();
            let is_shared = a == 100 && (64..128).contains(&b);
            !(it.is_private()
                || it.is_loopback()
                || it.is_link_local()
                || it.is_unspecified()
                || it.is_broadcast()
                || it.is_multicast()
                || is_shared
                || a == 0
                || a >= 240)
        }
        IpAddr::V6(it) => {
            !(it.is_loopback()
                || it.is_unspecified()
                || it.is_unique_local()
                || it.is_unicast_link_local()
                || it.is_multicast())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{is_public, is_this_machine};

    #[test]
    fn addresses_and_hosts() {
        for (address, expected) in [
            ("93.184.216.34", true),
            ("2606:2800:220:1::1", true),
            ("127.0.0.1", false),
            ("10.1.2.3", false),
            ("192.168.0.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("0.0.0.0", false),
            ("::1", false),
            ("::ffff:10.0.0.1", false),
            ("fd00::1", false),
            ("fe80::1", false),
        ] {
            let parsed = address.parse().unwrap();
            assert_eq!(is_public(parsed), expected, "{address}");
        }
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
