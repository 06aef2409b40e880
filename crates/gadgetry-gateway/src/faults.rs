//! Errors of upstreams, as clients may read them: the text of the upstream without addresses.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

use gadgetry::proto::delta::Delta;
use gadgetry::proto::error::ModelErrorKind;
use gadgetry::provider::{BaseUrl, ProviderError};

/// Replaces an address.
const HIDDEN: &str = "[address]";

/// The addresses of an upstream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Addresses(Vec<String>);

impl Addresses {
    /// Host and port of a URL, and the host alone.
    pub(crate) fn of(url: &BaseUrl) -> Self {
        let shown = url.shown();
        let authority = shown.split_once("://").map_or("", |(_, rest)| rest);
        let authority = authority.split('/').next().unwrap_or_default();
        let host = match authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|it| it.is_ascii_digit()) => host,
            _ => authority,
        };
        let all = [authority, host].map(str::to_ascii_lowercase);
        Self(all.into_iter().filter(|it| !it.is_empty()).collect())
    }

    /// The text without URLs, IP addresses and the addresses of this upstream.
    pub(crate) fn hidden(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for piece in text.split_inclusive(is_separator) {
            let end = piece.trim_end_matches(is_separator).len();
            let (word, separator) = piece.split_at(end);
            let host = word.trim_matches(|c: char| !is_of_host(c));
            // `::1` begins with colons, and `10.0.0.1:` ends with one.
            let address = word.trim_matches(|c: char| !is_of_host(c) && c != ':');
            if word.contains("://") {
                out.push_str(HIDDEN);
            } else if self.is_known(host) || is_ip(host) {
                out.push_str(&word.replacen(host, HIDDEN, 1));
            } else if is_ip(address) {
                out.push_str(&word.replacen(address, HIDDEN, 1));
            } else {
                out.push_str(&self.parts_hidden(word));
            }
            out.push_str(separator);
        }
        out
    }

    fn is_known(&self, word: &str) -> bool {
        self.0.iter().any(|it| word.eq_ignore_ascii_case(it))
    }

    /// The word without addresses within it, such as in `host:80/v1`.
    fn parts_hidden<'t>(&self, word: &'t str) -> Cow<'t, str> {
        let mut out = Cow::Borrowed(word);
        for address in &self.0 {
            let mut from = 0;
            while let Some(at) = out.get(from..).and_then(|it| find(it, address)) {
                let (at, end) = (from + at, from + at + address.len());
                let before = out[..at].chars().next_back();
                let after = out[end..].chars().next();
                let is_part =
                    |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '-');
                if is_part(before) || is_part(after) {
                    from = end;
                } else {
                    out.to_mut().replace_range(at..end, HIDDEN);
                    from = at + HIDDEN.len();
                }
            }
        }
        out
    }

    /// The error as a client may read it.
    pub(crate) fn public(&self, error: Delta) -> Delta {
        let Delta::Error {
            error,
            code,
            kind,
            retry_after_ms,
        } = error
        else {
            return error;
        };
        let is_of_api = code.as_deref() != Some(ProviderError::NOT_AN_API);
        let (kind, message) = match kind {
            ModelErrorKind::Transport => (kind, "the upstream cannot be reached".to_owned()),
            ModelErrorKind::Truncated => (kind, "the upstream's reply was cut off".to_owned()),
            ModelErrorKind::Authentication => {
                (kind, "the upstream refuses the gateway's key".to_owned())
            }
            _ if is_of_api => (kind, self.hidden(&error)),
            ModelErrorKind::RateLimit => (kind, "the upstream limits requests".to_owned()),
            ModelErrorKind::Overloaded => (kind, "the upstream is overloaded".to_owned()),
            _ => {
                let message = "the upstream's answer is not that of a model's API: who runs the gateway has to check \
                               its address";
                (ModelErrorKind::Other, message.to_owned())
            }
        };
        Delta::Error {
            error: message,
            code: code.map(|code| self.hidden(&code)),
            kind,
            retry_after_ms,
        }
    }
}

/// Where `needle`, in lower case, is in the text in whatever case.
fn find(text: &str, needle: &str) -> Option<usize> {
    let (text, needle) = (text.as_bytes(), needle.as_bytes());
    let mut windows = text.windows(needle.len());
    windows.position(|it| it.eq_ignore_ascii_case(needle))
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || "\"'`<>(){},;|=".contains(c)
}

fn is_of_host(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '[' || c == ']'
}

fn is_ip(word: &str) -> bool {
    let bare = word.trim_start_matches('[').trim_end_matches(']');
    let host = word.split(['/', '?', '#']).next().unwrap_or_default();
    bare.parse::<IpAddr>().is_ok()
        || host.parse::<SocketAddr>().is_ok()
        || host.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use gadgetry::provider::BaseUrl;

    use super::Addresses;

    #[test]
    fn addresses_are_hidden_and_words_stay() {
        let check = |url: &str, text: &str, expected: &str| {
            assert_eq!(
                Addresses::of(&BaseUrl::new(url)).hidden(text),
                expected,
                "{url}"
            );
        };
        let local = "http://127.0.0.1:8080/v1";
        let named = "https://me:secret@Gate.internal:9000/v1?key=secret";
        check(
            local,
            "model 'x' not found, try pulling it first",
            "model 'x' not found, try pulling it first",
        );
        check(
            local,
            "http://127.0.0.1:8080 redirects to http://10.0.0.5/x;",
            "[address] redirects to [address];",
        );
        check(
            local,
            "dial tcp 10.1.2.3:80: refused",
            "dial tcp [address]: refused",
        );
        check(local, "(127.0.0.1:8080)", "([address])");
        check(
            local,
            "no route to [fd00::1]:443.",
            "no route to [address].",
        );
        check(local, "[::1] and ::1", "[address] and [address]");
        check(
            local,
            "max_tokens: 4096, version 1.2.3",
            "max_tokens: 4096, version 1.2.3",
        );
        check(
            named,
            "GATE.internal:9000/v1/chat: no",
            "[address]/v1/chat: no",
        );
        check(named, "host=gate.internal", "host=[address]");
        check(
            named,
            "investigate gate.internals",
            "investigate gate.internals",
        );
        check(
            "http://ollama:11434",
            "ollama is not ollama-like",
            "[address] is not ollama-like",
        );
        check(
            "http://[fd00::1]:80/v1",
            "to [fd00::1]/v1: no",
            "to [address]/v1: no",
        );
    }
}
