//! The host that a request names, and the page that it is from.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};

/// Returns `true` if the host of a request is a name of this machine: `localhost`, an address in 127.0.0.0/8 or `[::1]`, with or without a
/// port. A server without keys answers only then: a web page that has taken over a name by DNS sends that name.
///
/// A request without a host is not from a web page, and one with two hosts, or one that is not exactly of this form, names
/// another machine.
///
/// ```
/// use axum::http::{HeaderMap, HeaderValue, header::HOST};
/// use gadgetry_http::names_this_machine;
///
/// let host = |value: &'static str| HeaderMap::from_iter([(HOST, HeaderValue::from_static(value))]);
/// assert!(names_this_machine(&host("[::1]:8787")));
/// assert!(!names_this_machine(&host("[::1].example.com")));
/// ```
pub fn names_this_machine(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) => true,
        (Some(host), None) => host.to_str().is_ok_and(is_this_machine),
        (Some(_), Some(_)) => false,
    }
}

/// Returns `true` if a browser says that a page of another origin has sent a request, be it another port of this machine. Other
/// programs say nothing.
///
/// ```
/// use axum::http::{HeaderMap, HeaderName, HeaderValue};
/// use gadgetry_http::is_from_another_page;
///
/// let site = |value: &'static str| {
///     HeaderMap::from_iter([(HeaderName::from_static("sec-fetch-site"), HeaderValue::from_static(value))])
/// };
/// assert!(is_from_another_page(&site("cross-site")));
/// assert!(!is_from_another_page(&site("none")));
/// ```
pub fn is_from_another_page(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
    if headers.contains_key(ORIGIN) {
        let own = text(HOST.as_str()).map(|host| format!("http://{host}"));
        if text(ORIGIN.as_str()) != own.as_deref() {
            return true;
        }
    }
    matches!(text("sec-fetch-site"), Some("cross-site" | "same-site"))
}

/// Returns `true` for exactly `name`, or `name:port`.
fn is_this_machine(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[') {
        return inner.split_once(']').is_some_and(|(address, rest)| {
            address.parse() == Ok(Ipv6Addr::LOCALHOST) && is_port(rest)
        });
    }
    let (name, rest) = host.split_at(host.find(':').unwrap_or(host.len()));
    let is_loopback = name.parse().is_ok_and(|it: Ipv4Addr| it.is_loopback());
    (is_loopback || name.eq_ignore_ascii_case("localhost")) && is_port(rest)
}

/// Returns `true` if the text is empty, or a colon and a port.
fn is_port(text: &str) -> bool {
    let Some(digits) = text.strip_prefix(':') else {
        return text.is_empty();
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
    is_number && digits.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use axum::http::header::HOST;
    use axum::http::{HeaderMap, HeaderName, HeaderValue};

    use super::{is_from_another_page, names_this_machine};

    fn check(hosts: &[&[u8]], expected: bool) {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_bytes(host).expect("a header"));
        }
        let shown: Vec<_> = hosts
            .iter()
            .map(|it| it.escape_ascii().to_string())
            .collect();
        assert_eq!(names_this_machine(&headers), expected, "{shown:?}");
    }

    #[test]
    fn only_exact_names_of_this_machine_count() {
        check(&[], true);
        for host in [
            "localhost",
            "LocalHost:8787",
            "127.0.0.1",
            "127.8.9.10:1",
            "127.0.0.1:65535",
            "[::1]",
            "[::1]:9",
        ] {
            check(&[host.as_bytes()], true);
        }
        for host in [
            "",
            ":80",
            "evil.com",
            "localhost.evil.com",
            "127.0.0.1.evil.com",
            "[::1].evil.com",
            "[::1]evil.com:80",
            "[::1",
            "::1",
            "[::1]:",
            "[::2]",
            "[127.0.0.1]",
            "[::ffff:127.0.0.1]",
            "localhost:80@evil.com",
            "localhost:",
            "localhost:80:80",
            "localhost:+80",
            "localhost:65536",
            "localhost:99999999999999999999",
            "user@localhost",
            "localhost/",
            "localhost evil.com",
            "localhost,evil.com",
            "127.1",
            "127.0.0.1.",
            "0.0.0.0",
            "0x7f.0.0.1",
        ] {
            check(&[host.as_bytes()], false);
        }
        check(&[b"localhost\xff"], false);
        check(&[b"localhost", b"evil.com"], false);
        check(&[b"localhost", b"localhost"], false);
    }

    #[test]
    fn pages_of_other_origins_are_known() {
        let check = |headers: &[(&'static str, &'static str)], expected: bool| {
            let named = headers.iter().map(|&(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            });
            let host = (HOST, HeaderValue::from_static("localhost:3000"));
            let sent: HeaderMap = named.chain([host]).collect();
            assert_eq!(is_from_another_page(&sent), expected, "{headers:?}");
        };
        check(&[], false);
        check(&[("origin", "http://localhost:3000")], false);
        check(&[("origin", "http://localhost:3001")], true);
        check(&[("origin", "https://localhost:3000")], true);
        check(&[("origin", "null")], true);
        check(&[("origin", "")], true);
        check(&[("sec-fetch-site", "none")], false);
        check(&[("sec-fetch-site", "same-origin")], false);
        check(&[("sec-fetch-site", "same-site")], true);
        check(&[("sec-fetch-site", "cross-site")], true);
        check(
            &[
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "navigate"),
            ],
            true,
        );
        check(
            &[
                ("sec-fetch-site", "same-origin"),
                ("origin", "http://evil.com"),
            ],
            true,
        );
    }
}
