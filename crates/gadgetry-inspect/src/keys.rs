//! Keys in texts, by their form.

mod names;
mod urls;

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

pub(crate) use names::is_secret_name;

/// In place of a key.
pub(crate) const MASK: &str = "***";

/// Beginnings of keys of services, and the length from which a word that begins so is a key.
const PREFIXES: [(&str, usize); 30] = [
    ("AIza", 35),
    ("AKIA", 20),
    ("ASIA", 20),
    ("SG.", 40),
    ("dop_v1_", 40),
    ("eyJ", 40),
    ("gho_", 30),
    ("ghp_", 30),
    ("ghr_", 30),
    ("ghs_", 30),
    ("ghu_", 30),
    ("github_pat_", 40),
    ("glpat-", 20),
    ("gsk_", 30),
    ("hf_", 30),
    ("npm_", 30),
    ("nvapi-", 30),
    ("pplx-", 30),
    ("pypi-", 40),
    ("r8_", 30),
    ("rk_live_", 20),
    ("sk-", 20),
    ("sk_live_", 20),
    ("sk_test_", 20),
    ("tvly-", 20),
    ("whsec_", 30),
    ("xai-", 30),
    ("xapp-", 20),
    ("xox", 20),
    ("ya29.", 30),
];

/// Words before a key.
const SCHEMES: [&str; 2] = ["bearer", "basic"];

/// Characters of a key after a scheme, at least.
const AFTER_SCHEME: usize = 12;

/// Characters of a value without quotes that is assigned to a secret name, at least. Shorter ones may be words.
const ASSIGNED: usize = 6;

/// Characters of a word from which it may be a key in Base64.
const ENCODED: usize = 20;

const PRIVATE_KEY: &str = "PRIVATE KEY-----";

/// Returns a text without what has the form of a key, and without `secrets`: a text without any is returned as it is.
pub(crate) fn without(mut text: String, secrets: &[String]) -> String {
    for secret in secrets {
        if text.contains(secret) {
            text = text.replace(secret, MASK);
        }
    }
    let text = without_private_keys(text);
    let mut ranges = words(&text, secrets);
    assignments(&text, &mut ranges);
    urls::secrets(&text, &mut ranges);
    masked(text, ranges)
}

/// Returns the place in an argument of a command at which a secret begins, which the argument before announces: `-u`, `--password`.
pub(crate) fn argument(before: &str, argument: &str) -> Option<usize> {
    if before.starts_with("--") && !before.contains('=') && is_secret_name(before) {
        return Some(0);
    }
    (urls::USER_OPTIONS.contains(&before)).then(|| urls::password(argument))?
}

/// Finds words that are keys.
fn words(text: &str, secrets: &[String]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut before = 0..0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let length = rest.find(|c: char| !is_of_key(c)).unwrap_or(rest.len());
        if length == 0 {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let word = &rest[..length];
        let (last, gap) = (&text[before.clone()], &text[before.end..at]);
        let is_after_scheme =
            word.len() >= AFTER_SCHEME && SCHEMES.iter().any(|it| last.eq_ignore_ascii_case(it));
        let is_after_option =
            last.starts_with("--") && gap.trim_matches(' ').is_empty() && is_secret_name(last);
        if is_after_scheme || is_after_option || is_encoded(word, secrets) {
            ranges.push(at..at + length);
        } else if let Some(start) = form(word) {
            ranges.push(at + start..at + length);
        }
        before = at..at + length;
        at += length;
    }
    ranges
}

/// Replaces ranges of a text, which may overlap.
fn masked(text: String, mut ranges: Vec<Range<usize>>) -> String {
    if ranges.is_empty() {
        return text;
    }
    ranges.sort_by_key(|it| it.start);
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for range in ranges {
        if range.start >= from {
            out.push_str(&text[from..range.start]);
            out.push_str(MASK);
        }
        from = from.max(range.end);
    }
    out.push_str(&text[from..]);
    out
}

/// Returns whether a character is one of words that may be keys.
pub(crate) fn is_of_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.=+/~".contains(c)
}

/// The place in a word at which a key begins. A word may be a name and a value, or a path: `key=sk-…`.
fn form(word: &str) -> Option<usize> {
    let digit = word.rfind(|c: char| c.is_ascii_digit())?;
    let parts = word.match_indices(['=', '/', '.', '+', '~']);
    let mut starts = std::iter::once(0).chain(parts.map(|(at, _)| at + 1));
    starts.find(|start| *start <= digit && has_form(&word[*start..]))
}

fn has_form(word: &str) -> bool {
    let known = PREFIXES.iter().find(|(prefix, _)| word.starts_with(prefix));
    known.is_some_and(|(_, length)| word.len() >= *length)
}

/// Returns whether a word is the Base64 of a text with a key.
fn is_encoded(word: &str, secrets: &[String]) -> bool {
    if word.len() < ENCODED {
        return false;
    }
    let word = word.trim_end_matches('=');
    let decoded = STANDARD_NO_PAD.decode(word);
    let decoded = decoded.or_else(|_| URL_SAFE_NO_PAD.decode(word));
    let Some(text) = decoded.ok().and_then(|it| String::from_utf8(it).ok()) else {
        return false;
    };
    if text.contains(|c: char| c.is_control() && !c.is_whitespace()) {
        return false;
    }
    secrets.iter().any(|it| text.contains(it))
        || text.contains(PRIVATE_KEY)
        || text.split(|c| !is_of_key(c)).any(|it| form(it).is_some())
}

/// Finds what is assigned to secret names, in any notation: `API_KEY=…`, `x-api-key: …`, `"token": "…"`, `?access_token=…`.
fn assignments(text: &str, ranges: &mut Vec<Range<usize>>) {
    let is_quote = |c: char| matches!(c, '"' | '\'' | '`' | '\\');
    let mut found = 0;
    for (at, sign) in text.match_indices([':', '=']) {
        if at < found {
            continue;
        }
        let before = text[..at]
            .trim_end_matches([' ', '\t'])
            .trim_end_matches(is_quote);
        let name = before.rfind(|c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c)));
        let name = name.map_or(0, |it| {
            it + before[it..].chars().next().map_or(1, char::len_utf8)
        });
        let name = &before[name..];
        if !is_secret_name(name) {
            continue;
        }
        let rest = &text[at + sign.len()..];
        let value = rest.trim_start_matches([' ', '\t']);
        let inner = value.trim_start_matches(is_quote);
        let is_quoted = inner.len() < value.len();
        // Headers have values with spaces: a scheme and a key, and several cookies.
        let name = name.to_ascii_lowercase();
        let is_line = is_quoted || name.ends_with("authorization") || name.ends_with("cookie");
        let ends = |c: char| {
            is_quote(c)
                || matches!(c, '\n' | '\r')
                || !is_line && (c.is_whitespace() || ",;&<>(){}[]|".contains(c))
        };
        let length = inner.find(ends).unwrap_or(inner.len());
        if length >= if is_quoted { 1 } else { ASSIGNED } {
            let start = text.len() - inner.len();
            found = start + length;
            ranges.push(start..found);
        }
    }
}

fn without_private_keys(text: String) -> String {
    if !text.contains(PRIVATE_KEY) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(PRIVATE_KEY) {
        let (before, after) = rest.split_at(at + PRIVATE_KEY.len());
        out.push_str(before);
        rest = after;
        // The line that ends a key has the same words.
        if before.rfind("-----END") <= before.rfind("-----BEGIN") {
            out.push_str(MASK);
            rest = &rest[rest.find("-----END").unwrap_or(rest.len())..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_their_form() {
        let check =
            |text: &str, expected: &str| assert_eq!(without(text.to_owned(), &[]), expected);
        let key = "0123456789abcdef0123456789abcdef0123456789";
        check(
            "a plain text, with sk-words and ghp_ alone",
            "a plain text, with sk-words and ghp_ alone",
        );
        check(&format!("use sk-ant-{key}."), "use ***");
        check(&format!("KEY=ghp_{key}\nnext"), "KEY=***\nnext");
        check(
            &format!("\"é{key}\" sk-{key}é"),
            &format!("\"é{key}\" ***é"),
        );
        check(
            &format!("Authorization: Bearer {key}"),
            "Authorization: ***",
        );
        check(
            "https://user:pa55w0rd@example.com/x",
            "https://user:***@example.com/x",
        );
        check("at 10:30@home, a:b@c", "at 10:30@home, a:b@c");
        check("redis://:pa$s%40@h/0", "redis://:***@h/0");
        check(
            "https://u:p@q@h git clone https://0123456789abcdef0@h ssh://git@h",
            "https://u:***@h git clone https://***@h ssh://git@h",
        );
        check(&format!("KEY=sk-{key}== /v1/sk-{key}/x"), "KEY=*** /v1/***");
        check(
            "-----END CERTIFICATE-----\\n-----BEGIN PRIVATE KEY-----\\nMII\\n-----END PRIVATE KEY-----",
            "-----END CERTIFICATE-----\\n-----BEGIN PRIVATE KEY-----***-----END PRIVATE KEY-----",
        );
        check(
            "c2stMDEyMzQ1Njc4OWFiY2RlZmdoMDEyMw== aGVsbG8gd29ybGQsIGhlbGxv",
            "*** aGVsbG8gd29ybGQsIGhlbGxv",
        );
        check(
            "Authorization: Basic dXNlcjpwYXNz\nnext",
            "Authorization: ***\nnext",
        );
        check(
            "login --password correct-horse --verbose yes",
            "login --password *** --verbose yes",
        );
        check(
            "-----BEGIN RSA PRIVATE KEY-----\nMII\nabc\n-----END RSA PRIVATE KEY-----\nafter",
            "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----\nafter",
        );
        check(
            "-----BEGIN PRIVATE KEY-----\ncut off",
            "-----BEGIN PRIVATE KEY-----***",
        );
        check(
            "no key in skills/sk-learn-contrib-extra-long-name",
            "no key in skills/sk-learn-contrib-extra-long-name",
        );
    }

    #[test]
    fn values_of_secret_names_are_found() {
        let check =
            |text: &str, expected: &str| assert_eq!(without(text.to_owned(), &[]), expected);
        check(
            "DB_PASSWORD=hunter2 NAME=value-1",
            "DB_PASSWORD=*** NAME=value-1",
        );
        check(
            "export AWS_SECRET_ACCESS_KEY=\"a b\"",
            "export AWS_SECRET_ACCESS_KEY=\"***\"",
        );
        check(
            "x-api-key: abcdef0\r\nCookie: a=b; c=d\r\n",
            "x-api-key: ***\r\nCookie: ***\r\n",
        );
        check("/?api_key=abcdef0&x=1", "/?api_key=***&x=1");
        check(
            r#"{\"client_secret\": \"x\", \"max_tokens\": 512}"#,
            r#"{\"client_secret\": \"***\", \"max_tokens\": 512}"#,
        );
        check(
            r#""password": {"type": "string"}"#,
            r#""password": {"type": "string"}"#,
        );
        check("é password : abcdefé", "é password : ***");
        check(
            "primary_key: identity, keyboard = qwertyuiop",
            "primary_key: identity, keyboard = qwertyuiop",
        );
        check("token=", "token=");
    }

    /// A model may write what takes long.
    #[test]
    fn long_texts_take_linear_time() {
        for piece in [
            "://",
            "token=",
            "cookie: ",
            "token=\"",
            "a:",
            "=",
            "-----END PRIVATE KEY-----",
            "/sk-",
            "\\",
            "hooks.slack.com/",
            "/hooks/",
            "?key=",
            " -u a:",
            " -u '",
        ] {
            without(piece.repeat(20_000), &[]);
        }
    }
}
