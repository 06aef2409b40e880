//! Errors of upstreams in the form for clients: the text of the upstream without addresses.

mod notations;

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::{ModelError, ModelErrorKind};
use gadgetry_providers::{BaseUrl, ProviderError};

use notations::{has_address, has_name, is_host_with_port, plain};

/// Replaces an address.
const HIDDEN: &str = "[address]";

/// Replaces a text that may still contain an address.
const WORDS: &str =
    "the upstream's words about the error are not shown, because they have an address";

/// The addresses of an upstream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Addresses(Vec<String>);

impl Addresses {
    /// Extracts the host with the port of a URL, and the host alone.
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

    /// Returns the text without URLs, IP addresses and the addresses of this upstream. If an address cannot be removed reliably,
    /// the whole text is replaced.
    pub(crate) fn hidden(&self, text: &str) -> String {
        let out = self.cut_out(text);
        if self.may_have_address(&out) {
            return WORDS.to_owned();
        }
        out
    }

    /// Returns `true` if the text may contain an address in any form. False positives are acceptable, because the full text is in
    /// the upstream's log.
    fn may_have_address(&self, text: &str) -> bool {
        let plain = plain(text);
        let bytes = plain.as_bytes();
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let has_port = self.ports().any(|port| {
            plain.match_indices(port).any(|(at, _)| {
                let before = plain[..at].trim_end_matches([' ', '=', '"', '\'', '(', '[']);
                !is_digit(at + port.len()) && before.ends_with(':')
            })
        });
        // What an address was cut out of continues.
        let mut after = plain.split("[address]:").skip(1);
        has_port
            || after.any(|it| it.starts_with(|c: char| c.is_ascii_digit()))
            || self
                .0
                .iter()
                .any(|it| it.contains(['.', ':']) && has_name(&plain, it))
            || has_address(&plain)
    }

    /// Returns the ports of this upstream.
    fn ports(&self) -> impl Iterator<Item = &str> {
        let ports = self.0.iter().filter_map(|it| it.rsplit_once(':'));
        let ports = ports.map(|(_, port)| port);
        ports.filter(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()))
    }

    fn cut_out(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for piece in text.split_inclusive(is_separator) {
            let end = piece.trim_end_matches(is_separator).len();
            let (word, separator) = piece.split_at(end);
            let host = word.trim_matches(|c: char| !is_of_host(c));
            // `::1` begins with colons, and `10.0.0.1:` ends with one.
            let address = word.trim_matches(|c: char| !is_of_host(c) && c != ':');
            // As in `vllm-0:8000/v1/chat`.
            let place = host.split(['/', '?', '#']).next().unwrap_or_default();
            if word.contains("://") {
                out.push_str(HIDDEN);
            } else if self.is_known(host) || is_ip(host) {
                out.push_str(&word.replacen(host, HIDDEN, 1));
            } else if is_ip(address) {
                out.push_str(&word.replacen(address, HIDDEN, 1));
            } else if is_host_with_port(place) {
                out.push_str(&word.replacen(place, HIDDEN, 1));
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

    /// Removes addresses within a word, such as in `host:80/v1`.
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

    /// Returns the error in the form for clients.
    pub(crate) fn public(&self, error: Delta) -> Delta {
        let Delta::Error(error) = error else {
            return error;
        };
        let is_of_api = error.code.as_deref() != Some(ProviderError::NOT_AN_API);
        let kind = error.kind;
        let (kind, message) = match kind {
            ModelErrorKind::Transport if !is_of_api => {
                (kind, "the upstream's answer is not valid JSON".to_owned())
            }
            ModelErrorKind::Transport => (kind, "the upstream cannot be reached".to_owned()),
            ModelErrorKind::Truncated => (kind, "the upstream's reply was cut off".to_owned()),
            ModelErrorKind::Authentication => {
                (kind, "the upstream refuses the gateway's key".to_owned())
            }
            _ if is_of_api => (kind, self.hidden(&error.message)),
            ModelErrorKind::RateLimit => (kind, "the upstream limits requests".to_owned()),
            ModelErrorKind::Overloaded => (kind, "the upstream is overloaded".to_owned()),
            _ => {
                let message = "the upstream's answer is not that of a model's API: who runs the gateway has to check \
                               its address";
                (ModelErrorKind::Other, message.to_owned())
            }
        };
        // The id of the request is for who runs the gateway, who has it in the log.
        let mut public = ModelError::new(kind, message);
        public.status = error.status;
        public.code = error.code.filter(|code| self.hidden(code) == *code);
        public.retry_after_ms = error.retry_after_ms;
        public.overflow = error.overflow;
        public.into()
    }
}

/// Returns the position of `needle`, which is in lower case, in the text, ignoring case.
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
    use gadgetry_providers::BaseUrl;

    use super::{Addresses, Delta, ModelError, ModelErrorKind, ProviderError};

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

    #[test]
    fn an_upstream_that_answers_is_never_said_to_be_out_of_reach() {
        let check = |code: Option<&str>, expected: &str| {
            let mut error = ModelError::new(ModelErrorKind::Transport, "at 10.0.0.5");
            error.code = code.map(str::to_owned);
            let public = Addresses::default().public(error.into());
            let Delta::Error(public) = public else {
                panic!("{public:?} is no error");
            };
            assert_eq!(public.message, expected);
        };
        check(None, "the upstream cannot be reached");
        let sent = Some(ProviderError::NOT_AN_API);
        check(sent, "the upstream's answer is not valid JSON");
    }

    #[test]
    fn an_address_in_any_form_is_not_shown() {
        let upstream = Addresses::of(&BaseUrl::new("http://127.0.0.1:8123/v1"));
        let named = Addresses::of(&BaseUrl::new("http://gate.example:8123/v1"));
        for text in [
            "[10.0.0.5:8000] refused",
            "tcp:10.0.0.5:443 refused",
            "user@10.0.0.5 refused",
            "10.0.0.5:8000:timeout",
            "a10.0.0.5",
            "//10.0.0.5:80/x",
            r"http:\/\/10.0.0.5\/x",
            "10.0.0.5_x",
            "http%3A%2F%2F10.0.0.5",
            "10.0.0\u{200b}.5",
            "10.0.0.5-10.0.0.9",
            "1\\0.0.0.5",
            "fe80::1%eth0 is down",
            "peer fe80::1: down",
            "[::ffff:10.0.0.5]:80",
            "localhost:8123",
            "port 8123 is closed",
            "2130706433:8123",
            "0x7f000001:8123",
            "k-127.0.0.1:8123",
            "127.0.0.1:81230",
            "gate.example:81230",
            "0127.0.0.1:81230",
            "db.internal is down",
            "db.example:5432 is down",
            "no route to node7.svc",
            "xgate.example:8123",
            "127&#46;0&#46;0&#46;1 refused",
            "127&#x2E;0&period;0&amp;#46;1 refused",
            "127.0.0.1&#58;8123",
            "127.0.0.1&colon;8123",
            "127\\u002e0\\u002e0\\u002e1",
            "\u{ff11}\u{ff12}\u{ff17}.0.0.1",
            "\u{ff4c}ocalhost refused",
            "127\u{3002}0\u{ff0e}0\u{ff61}1:8123",
            "\u{1d7d9}27.0.0.1",
            "ip-127-0-0-1 refused",
            "127[.]0[.]0[.]1 refused",
            "0x7f000001 refused",
            "db.corp refused",
            "dial tcp gate-0:8000: connect refused",
            "Gate_backend:8000/v1/chat timed out",
            "[gate17:8000] is down",
            "upstream=user@gate:80",
            "cannot connect to db.prod port 8000",
            "{\"host\":\"gate17\",\"port\":8000}",
            "gate.example:4000x",
            "0x7f00001 refused",
            "0x7f.0.0.1 refused",
            "0x7f.1 refused",
            "0x7f.0x0.0x0.0x1",
            "127.0x0.0.1",
            "127.1 refused",
            "127.1:8000 refused",
            "to 127.0.1.",
            "127[dot]0[dot]0[dot]1",
            "127(dot)0(dot)0(dot)1",
            "127{.}0{.}0{.}1",
            "127 .0 .0 .1",
            "127. 0. 0. 1",
            "127 . 0\n. 0 . 1",
            "127\u{2024}0\u{2024}0\u{2024}1",
            "127\u{b7}0\u{a4f8}0\u{fe52}1",
            "gate-0\u{a789}8000",
            "connect 2130706433 failed",
            "connect 2130706433.",
            "gate17.ts.net down",
            "gate17.consul down",
            "gate17.docker down",
            "gate17.home down",
            "unix:/run/gate17.sock",
        ] {
            for addresses in [&upstream, &named] {
                let shown = addresses.hidden(text);
                let rest = shown.replace(super::HIDDEN, "").replace(super::WORDS, "");
                for part in [
                    "0.0", "0&", "127", "7f", "2130", "8123", "fe80", "gate", "local", "db.", "svc",
                ] {
                    assert!(!rest.contains(part), "{text} -> {shown}");
                }
            }
        }
        // What is no address is for the client.
        for text in [
            "maximum context length is 8123 tokens",
            "std::vec and c10::Error in version 1.2.3",
            "messages.0.content: expected a string",
            "invalid: temperature must be <= 2.0",
            "R&D: 1 & 2 &lt; 3; &#8364;5 for 10 m\u{b2}",
            "gpt-4o-2024-08-06 and claude-3-5-haiku-20241022 at 0x7ffe12345678",
            "at 12:30:45 the limit of 1,000.50 was reached",
            "model 'llama3:8b' not found, nor qwen2.5:7b, llama3.1:405b, qwen2.5-coder:32b-instruct-q4_K_M and solar:10.7b",
            "anthropic.claude-3-5-sonnet-20241022-v2:0 and gpt-4:1 are unknown, ft:gpt-4o-mini:org::9aBcD too",
            "error:404, line 12:5, ratio 16:9, code:500, max_tokens:4096, n_ctx:8192, Retry-After:120",
            "2024-08-06T12:30:45Z, 2024-08-06 12:30:45+02:00, GMT-05:00, reset at 1735689600",
            "CUDA 10.1, version 12.4 took 10.5 s. 2 of 3. 4 of 5",
            "seed must be at most 2147483647, not 4294967295; 170000000 bytes or 3232235521 tokens",
            "these models support 8123 tokens, and transport 80 images",
            "error code: 0x5. 1 of 2.0x, 0xdead and 0xdeadbeef01",
            "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in \
             the completion).",
        ] {
            assert_eq!(upstream.hidden(text), text);
        }
    }
}
