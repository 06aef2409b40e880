//! Keys in URLs, and what commands that send requests have in their options.

use std::ops::Range;

use super::names::is_secret_name;

/// Characters of a user in a URL without a password from which it is a key.
const USER: usize = 16;

/// Options of curl and others with a user and a password.
pub(super) const USER_OPTIONS: [&str; 4] = ["-u", "-U", "--user", "--proxy-user"];

/// Names of parameters in URLs that hold a secret, in addition to those that are names of secrets anywhere.
const PARAMETERS: [&str; 12] = [
    "auth",
    "code",
    "jwt",
    "key",
    "otp",
    "pass",
    "session",
    "sid",
    "sig",
    "sign",
    "signature",
    "ticket",
];

/// Beginnings of URLs, with or without a scheme, whose path from there on is a secret.
const WEBHOOKS: [&str; 8] = [
    "api.telegram.org/bot",
    "api.telegram.org/file/bot",
    "hooks.slack.com/",
    "hooks.zapier.com/hooks/",
    "maker.ifttt.com/trigger/",
    "outlook.office.com/webhook/",
    "webhook.office.com/",
    "webhook.site/",
];

/// Segments of a path in a URL after which it is a secret.
const SEGMENTS: [&str; 6] = [
    "/hook/",
    "/hooks/",
    "/incoming-webhook/",
    "/webhook/",
    "/webhookb2/",
    "/webhooks/",
];

/// Finds secrets in URLs, and after options for users.
pub(super) fn secrets(text: &str, ranges: &mut Vec<Range<usize>>) {
    users(text, ranges);
    paths(text, ranges);
    parameters(text, ranges);
    options(text, ranges);
}

/// Finds passwords and keys before the hosts of URLs: `scheme://user:password@host`.
fn users(text: &str, ranges: &mut Vec<Range<usize>>) {
    for (at, sign) in text.match_indices("://") {
        let start = at + sign.len();
        let rest = &text[start..];
        let end = rest.find(|c: char| c.is_whitespace() || "/?#\"'`<>\\".contains(c));
        let authority = &rest[..end.unwrap_or(rest.len())];
        let Some((user, _)) = authority.rsplit_once('@') else {
            continue;
        };
        match user.split_once(':') {
            Some((name, password)) if !password.is_empty() => {
                ranges.push(start + name.len() + 1..start + user.len());
            }
            None if user.len() >= USER => ranges.push(start..start + user.len()),
            Some(_) | None => {}
        }
    }
}

/// Finds the paths of webhooks, which are all that a sender needs.
fn paths(text: &str, ranges: &mut Vec<Range<usize>>) {
    for known in WEBHOOKS {
        let mut end = 0;
        for (at, known) in text.match_indices(known) {
            if at >= end {
                end = path(text, at + known.len(), ranges);
            }
        }
    }
    let mut known = 0;
    for (at, sign) in text.match_indices("://") {
        if at < known {
            continue;
        }
        let start = at + sign.len();
        let end = start + length(&text[start..]);
        known = end;
        let url = &text[start..end];
        let found = SEGMENTS
            .iter()
            .filter_map(|it| url.find(it).map(|at| at + it.len()));
        if let Some(at) = found.min() {
            path(text, start + at, ranges);
        }
    }
}

/// Adds what follows in a path, and returns its end.
fn path(text: &str, start: usize, ranges: &mut Vec<Range<usize>>) -> usize {
    let end = start + length(&text[start..]);
    if end > start {
        ranges.push(start..end);
    }
    end
}

/// Bytes up to the end of a path.
fn length(text: &str) -> usize {
    let end = text.find(|c: char| c.is_whitespace() || "?#\"'`<>\\(){}[]|,;".contains(c));
    end.unwrap_or(text.len())
}

/// Finds values of parameters: `?key=…&sig=…`, also where `&` is written for HTML or JSON.
fn parameters(text: &str, ranges: &mut Vec<Range<usize>>) {
    let mut from = 0;
    while let Some(at) = text[from..].find(['?', '&', '#', ';', '6']) {
        let start = from + at + 1;
        from = start;
        let before = &text[..start];
        let begins = match before.as_bytes()[start - 1] {
            b';' => before.ends_with("&amp;"),
            b'6' => before.ends_with("\\u0026"),
            _ => true,
        };
        let rest = &text[start..];
        let length = rest
            .bytes()
            .take(LONGEST)
            .take_while(|byte| is_of_name(*byte))
            .count();
        if !begins || rest.as_bytes().get(length) != Some(&b'=') {
            continue;
        }
        let name = rest[..length].to_ascii_lowercase();
        if !PARAMETERS.contains(&&*name) && !name.ends_with("signature") && !is_secret_name(&name) {
            continue;
        }
        let value = start + length + 1;
        let end = text[value..].find(|c: char| c.is_whitespace() || "&#\"'`<>\\;".contains(c));
        let end = end.map_or(text.len(), |length| value + length);
        if end > value {
            ranges.push(value..end);
            from = end;
        }
    }
}

/// Characters of the name of a parameter, at most.
const LONGEST: usize = 64;

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Finds passwords after options for users: `-u user:password`.
fn options(text: &str, ranges: &mut Vec<Range<usize>>) {
    let is_space = |c: char| c == ' ' || c == '\t' || c == '=';
    for option in USER_OPTIONS {
        for (at, option) in text.match_indices(option) {
            let begins = text[..at].ends_with(|c: char| c.is_whitespace() || "\"'`".contains(c));
            let after = &text[at + option.len()..];
            let value = after.trim_start_matches(is_space);
            let is_apart = value.len() < after.len() || option.len() == 2;
            if !(begins || at == 0) || !is_apart {
                continue;
            }
            let quoted = value.trim_start_matches(['"', '\'', '\\']);
            let quote = value[..value.len() - quoted.len()].chars().last();
            let end = match quote {
                Some(quote) => quoted.find([quote, '\\', '\n']),
                None => quoted.find(|c: char| c.is_whitespace() || "\"'`;|&<>\\".contains(c)),
            };
            let argument = &quoted[..end.unwrap_or(quoted.len())];
            if let Some(password) = password(argument) {
                let start = text.len() - quoted.len();
                ranges.push(start + password..start + argument.len());
            }
        }
    }
}

/// The place of the password after a user's name. Two numbers are ids.
pub(super) fn password(argument: &str) -> Option<usize> {
    let (user, password) = argument.split_once(':')?;
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_secret = !(password.is_empty() || is_number(user) && is_number(password));
    (is_secret && !password.starts_with("//")).then_some(user.len() + 1)
}

#[cfg(test)]
mod tests {
    use crate::keys::without;

    fn check(text: &str, expected: &str) {
        assert_eq!(without(text.to_owned(), &[]), expected);
    }

    #[test]
    fn passwords_of_commands_are_found() {
        check("curl -u ada:pw https://h/x", "curl -u ada:*** https://h/x");
        check("curl -uada:pw https://h/x", "curl -uada:*** https://h/x");
        check("curl --user=ada:p;w x", "curl --user=ada:***;w x");
        check("curl --user 'ada:a b' x", "curl --user 'ada:***' x");
        check("curl --proxy-user \"a:b c\"", "curl --proxy-user \"a:***\"");
        check(
            r#"{\"run\": \"curl -u ada:pw\"}"#,
            r#"{\"run\": \"curl -u ada:***\"}"#,
        );
        check("docker run -u 1000:1000 x", "docker run -u 1000:1000 x");
        check("git push -u origin a:b", "git push -u origin a:b");
        check("sort -u http://h/", "sort -u http://h/");
        check("a-u b:c", "a-u b:c");
    }

    #[test]
    fn paths_of_webhooks_are_found() {
        check(
            "see https://hooks.slack.com/services/T0/B0/x9, then",
            "see https://hooks.slack.com/***, then",
        );
        check("hooks.slack.com/workflows/a/b", "hooks.slack.com/***");
        check(
            "\"https://discord.com/api/v10/webhooks/1/ab-c?wait=true\"",
            "\"https://discord.com/api/v10/webhooks/***?wait=true\"",
        );
        check(
            "https://x.webhook.office.com/webhookb2/a@b",
            "https://x.webhook.office.com/***",
        );
        check(
            "https://api.telegram.org/bot1:a/getMe",
            "https://api.telegram.org/bot***",
        );
        check(
            "https://chat.example.com/hooks/abc def",
            "https://chat.example.com/hooks/*** def",
        );
        check(
            "the file .git/hooks/pre-commit",
            "the file .git/hooks/pre-commit",
        );
        check(
            "https://example.com/webhooks",
            "https://example.com/webhooks",
        );
    }

    #[test]
    fn short_secrets_in_urls_are_found() {
        check("https://h/?key=ab1", "https://h/?key=***");
        check(
            "https://h/a?x=1&sig=a%2Bb&y=2#z",
            "https://h/a?x=1&sig=***&y=2#z",
        );
        check(
            "https://h/?token=7 https://h/#access_token=8",
            "https://h/?token=*** https://h/#access_token=***",
        );
        check(
            "https://h/?X-Amz-Signature=9&X-Amz-Date=1",
            "https://h/?X-Amz-Signature=***&X-Amz-Date=1",
        );
        check("<a href='/?a=1&amp;key=2'>", "<a href='/?a=1&amp;key=***'>");
        check(r#""/?a=1\u0026sig=2""#, r#""/?a=1\u0026sig=***""#);
        check("/?keyword=a&monkey=b&key=", "/?keyword=a&monkey=b&key=");
        check("key=1 and sig=2 in a text", "key=1 and sig=2 in a text");
    }
}
