//! Keys in texts, by their form.

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
const AFTER_SCHEME: usize = 16;

const PRIVATE_KEY: &str = "PRIVATE KEY-----";

/// Returns a text without what has the form of a key: a text without any is returned as it is.
pub(crate) fn without(text: String) -> String {
    let text = without_private_keys(text);
    let mut ranges = Vec::new();
    let mut before = "";
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let length = rest.find(|c: char| !is_of_key(c)).unwrap_or(rest.len());
        if length == 0 {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let word = &rest[..length];
        // A word may be a name and a value: `key=sk-…`.
        let value = word
            .rfind('=')
            .filter(|it| it + 1 < word.len())
            .map_or(0, |it| it + 1);
        let value = if value > 0 && word[value..].len() < 8 {
            0
        } else {
            value
        };
        let is_after_scheme =
            word.len() >= AFTER_SCHEME && SCHEMES.iter().any(|it| before.eq_ignore_ascii_case(it));
        if is_after_scheme {
            ranges.push(at..at + length);
        } else if has_form(&word[value..]) {
            ranges.push(at + value..at + length);
        }
        if let Some(password) = password_of_url(&text, at, length) {
            ranges.push(password);
        }
        before = word;
        at += length;
    }
    masked(text, &ranges)
}

fn masked(text: String, ranges: &[std::ops::Range<usize>]) -> String {
    if ranges.is_empty() {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for range in ranges {
        if range.start >= from {
            out.push_str(&text[from..range.start]);
            out.push_str(MASK);
            from = range.end;
        }
    }
    out.push_str(&text[from..]);
    out
}

fn is_of_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.=+/~".contains(c)
}

fn has_form(word: &str) -> bool {
    let known = PREFIXES.iter().find(|(prefix, _)| word.starts_with(prefix));
    known.is_some_and(|(_, length)| {
        word.len() >= *length && word.bytes().any(|it| it.is_ascii_digit())
    })
}

/// The password in `scheme://user:password@host`, if the word at a position is one.
fn password_of_url(text: &str, at: usize, length: usize) -> Option<std::ops::Range<usize>> {
    let before = text[..at].strip_suffix(':')?;
    let user = before
        .rfind(|c: char| !is_of_key(c) || c == '/')
        .map_or(0, |it| it + 1);
    let is_url = before.get(..user)?.ends_with("://");
    (is_url && text[at + length..].starts_with('@')).then_some(at..at + length)
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
        if !before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .contains("-----END")
        {
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
        let check = |text: &str, expected: &str| assert_eq!(without(text.to_owned()), expected);
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
            "Authorization: Bearer ***",
        );
        check(
            "https://user:pa55w0rd@example.com/x",
            "https://user:***@example.com/x",
        );
        check("at 10:30@home, a:b@c", "at 10:30@home, a:b@c");
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
}
