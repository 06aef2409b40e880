//! Addresses of servers, as users and environments write them.

use std::net::IpAddr;

use reqwest::Url;

/// The port of Ollama.
const OLLAMA: u16 = 11434;

/// Returns whether both URLs mean the same address: case of the host, default ports and slashes at the end do not count.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let key = |url: &str| {
        let url = Url::parse(url.trim()).ok()?;
        let path = url.path().trim_end_matches('/').to_owned();
        Some((url.origin(), path, url.query().map(str::to_owned)))
    };
    one == other || key(one).is_some_and(|one| key(other) == Some(one))
}

/// The base URL for what `OLLAMA_HOST` says, by Ollama's own rules: without a scheme the port is 11434, with one it is
/// the scheme's; without a host it is this machine.
pub(super) fn ollama(host: &str) -> String {
    let host = host.trim().trim_matches(['"', '\'']).trim();
    let (scheme, rest, port) = match host.split_once("://") {
        Some((scheme, rest)) => (scheme, rest, None),
        None => ("http", host, Some(OLLAMA)),
    };
    let (host_port, path) = rest.split_once('/').unwrap_or((rest, ""));
    // An address of IPv6 alone has colons of its own.
    let bare = host_port.trim_start_matches('[').trim_end_matches(']');
    let (host, port) = match (bare.parse::<IpAddr>(), host_port.rsplit_once(':')) {
        (Err(_), Some((host, text))) => (host, text.parse().ok().or(port)),
        _ => (host_port, port),
    };
    let host = match host.trim_start_matches('[').trim_end_matches(']') {
        // A server listens at these, which mean all addresses; a client connects to this one.
        "" | "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" => "[::1]".to_owned(),
        host if host.contains(':') => format!("[{host}]"),
        host => host.to_owned(),
    };
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    let path = path.trim_end_matches('/');
    let path = match path.strip_suffix("v1") {
        Some(rest) if rest.is_empty() || rest.ends_with('/') => path.to_owned(),
        _ if path.is_empty() => "v1".to_owned(),
        _ => format!("{path}/v1"),
    };
    format!("{scheme}://{host}{port}/{path}")
}

/// The base URL of an Azure resource: its interface like OpenAI's, or, with the date of an older version, that of one
/// deployment. An endpoint that has a path already is taken as it is.
pub(super) fn azure(endpoint: &str, deployment: &str, version: Option<&str>) -> String {
    let endpoint = endpoint.trim();
    let Ok(mut url) = Url::parse(endpoint) else {
        // The error comes with the first use.
        return endpoint.to_owned();
    };
    if url.path() != "/" {
        return endpoint.to_owned();
    }
    let is_date = |it: &&str| it.starts_with(|c: char| c.is_ascii_digit());
    match version.map(str::trim).filter(is_date) {
        Some(version) => {
            if let Ok(mut path) = url.path_segments_mut() {
                path.pop().extend(["openai", "deployments", deployment]);
            }
            url.query_pairs_mut().append_pair("api-version", version);
        }
        None => url.set_path("/openai/v1"),
    }
    url.to_string()
}
