//! The notations of addresses that an error's text may contain.

use std::net::IpAddr;

use gadgetry_proto::escapes::unescaped;

/// Name endings that occur only in the owner's machine or network.
const INTERNAL: [&str; 19] = [
    "localhost",
    ".cluster.local",
    ".consul",
    ".corp",
    ".docker",
    ".home",
    ".home.arpa",
    ".internal",
    ".intranet",
    ".ipv6-literal.net",
    ".lan",
    ".local",
    ".localdomain",
    ".nomad",
    ".private",
    ".sock",
    ".svc",
    ".tailscale.net",
    ".ts.net",
];

/// Words before a colon and a number that is not a port, such as in `error:404` and `max_tokens:4096`.
const LABELS: [&str; 64] = [
    "allowed",
    "available",
    "batch",
    "byte",
    "bytes",
    "characters",
    "chars",
    "code",
    "col",
    "column",
    "completion",
    "content-length",
    "context",
    "count",
    "ctx",
    "current",
    "dim",
    "dimension",
    "dimensions",
    "errno",
    "error",
    "error-code",
    "expected",
    "found",
    "got",
    "height",
    "http",
    "id",
    "index",
    "input",
    "length",
    "limit",
    "line",
    "max",
    "maximum",
    "maxtokens",
    "message",
    "messages",
    "min",
    "minimum",
    "ms",
    "offset",
    "output",
    "position",
    "predict",
    "prompt",
    "received",
    "remaining",
    "requested",
    "requests",
    "reset",
    "retry-after",
    "seconds",
    "seed",
    "size",
    "status",
    "status-code",
    "step",
    "token",
    "tokens",
    "total",
    "usage",
    "used",
    "width",
];

/// The lowest port of a name without a dot. Smaller numbers are versions and sizes.
const LOWEST_PORT: u32 = 80;

/// Ranges of private IPv4 addresses, each as one number. Not 100.64.0.0/10, whose numbers are times of 2023.
const PRIVATE: [(u32, u32); 5] = [
    (0x0a00_0000, 0x0aff_ffff),
    // The last one is the largest number of 32 bits with a sign.
    (0x7f00_0000, 0x7fff_fffe),
    (0xa9fe_0000, 0xa9fe_ffff),
    (0xac10_0000, 0xac1f_ffff),
    (0xc0a8_0000, 0xc0a8_ffff),
];

/// Returns the text in lower case, without escapes and wide characters, and without characters that could split an address.
pub(super) fn plain(text: &str) -> String {
    let visible = |text: &str, keeps_backslash: bool| -> String {
        let ascii = text.chars().map(narrow);
        ascii
            .filter(|c| c.is_ascii_graphic() || c.is_ascii_whitespace())
            .filter(|c| keeps_backslash || *c != '\\')
            .collect()
    };
    // What splits an escape goes first, and what escapes hid goes last.
    let mut plain = visible(&unescaped(&visible(text, true)), false);
    plain.make_ascii_lowercase();
    for (escape, meaning) in [("u002f", "/"), ("u003a", ":"), ("u002e", ".")] {
        plain = plain.replace(escape, meaning);
    }
    for dot in [
        "[.]", "(.)", "{.}", "<.>", "[dot]", "(dot)", "{dot}", "<dot>",
    ] {
        plain = plain.replace(dot, ".");
    }
    plain
}

/// Returns the ASCII form of a wide character, and of one that looks like a dot or a colon. Other digits become `1`, which is
/// enough to find an address.
fn narrow(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{b7}' | '\u{2024}' | '\u{2027}' | '\u{2219}' | '\u{22c5}' | '\u{3002}' | '\u{30fb}'
        | '\u{a4f8}' | '\u{fe52}' | '\u{ff61}' | '\u{ff65}' => '.',
        '\u{2d0}' | '\u{2236}' | '\u{a789}' | '\u{fe13}' | '\u{fe55}' => ':',
        c if !c.is_ascii() && c.is_numeric() => '1',
        c => c,
    }
}

/// Returns `true` if the text, which is [`plain`], has an address in any notation.
pub(super) fn has_address(text: &str) -> bool {
    text.contains("://")
        || INTERNAL.iter().any(|it| has_name(text, it))
        || text.split(|c: char| !is_of_name(c)).any(|word| {
            let parts: Vec<&str> = word.split(':').collect();
            parts.windows(2).any(|it| is_place(it[0], it[1]))
        })
        || has_named_port(text)
        || has_ip4(text)
        || has_short_ip4(text)
        || has_decimal(text)
        || has_hex(text)
        || has_ip6(text)
}

/// Returns `true` if the text has this name, which no longer name continues.
pub(super) fn has_name(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let after = text.as_bytes().get(at + name.len());
        !after.is_some_and(|it| it.is_ascii_alphanumeric() || *it == b'-')
    })
}

/// Returns `true` if the word is a host with a port.
pub(super) fn is_host_with_port(word: &str) -> bool {
    word.chars().all(is_of_name)
        && word
            .to_ascii_lowercase()
            .split_once(':')
            .is_some_and(|(host, port)| !port.contains(':') && is_place(host, port))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || ".:-_".contains(c)
}

/// Returns `true` for the parts of `db.example:5432` and `vllm-0:8000`, but not for those of `qwen2.5:7b`, `llama3:405b`, `12:30`,
/// `gpt-4:1` and `error:404`.
fn is_place(host: &str, port: &str) -> bool {
    let rest = port.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &port[..port.len() - rest.len()];
    let Ok(number) = digits.parse::<u32>() else {
        return false;
    };
    if !(2..=5).contains(&digits.len()) || digits.starts_with('0') {
        return false;
    }
    let has_letter = host.bytes().any(|it| it.is_ascii_alphabetic());
    if host.contains('.') && has_letter {
        let is_tag = rest.starts_with(|c: char| c.is_ascii_alphanumeric());
        return digits.len() >= 4 || !is_tag;
    }
    let is_whole = rest.trim_matches(['.', '-', '_']).is_empty();
    if !has_letter {
        // `127.1:8000`
        return is_whole && host.contains('.') && digits.len() >= 4;
    }
    let label = host.rsplit('_').next().unwrap_or_default();
    is_whole && host.len() > 1 && number >= LOWEST_PORT && !LABELS.contains(&label)
}

/// Returns `true` if the text contains the word `port` and its number. The host is then often next to it.
fn has_named_port(text: &str) -> bool {
    text.match_indices("port").any(|(at, word)| {
        let is_word = !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
        let after = &text[at + word.len()..];
        let number = after.trim_start_matches([' ', '=', ':', '"', '\'', '(', '[']);
        let rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
        is_word && number.len() < after.len() && (2..=5).contains(&(number.len() - rest.len()))
    })
}

/// Returns `true` if the text contains four numbers separated by dots, also with blanks, or short ones by hyphens, as in the names of
/// cloud machines.
fn has_ip4(text: &str) -> bool {
    let joined = joined(text);
    [('.', usize::MAX), ('-', 3)]
        .into_iter()
        .any(|(sign, digits)| {
            let mut runs = joined.split(|c: char| !(c.is_ascii_digit() || c == sign));
            runs.any(|run| {
                let numbers: Vec<&str> = run.split(sign).collect();
                let is_number = |number: &&str| (1..=digits).contains(&number.len());
                numbers.windows(4).any(|it| it.iter().all(is_number))
            })
        })
}

/// Returns the text without the blanks between a digit and a dot.
fn joined(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_whitespace()) {
        out.push_str(&rest[..at]);
        let after = rest[at..].trim_ascii_start();
        let is_digit = |c: char| c.is_ascii_digit();
        let is_split = (out.ends_with('.') && after.starts_with(is_digit))
            || (out.ends_with(is_digit) && after.starts_with('.'));
        if !is_split {
            out.push(' ');
        }
        rest = after;
    }
    out + rest
}

/// Returns `true` if the text contains the usual short forms of this machine's address. Of other networks they are also
/// decimals and versions, such as in `CUDA 10.1`.
fn has_short_ip4(text: &str) -> bool {
    let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || ".-_".contains(c)));
    words.any(|word| ["127.1", "127.0.1"].contains(&word.trim_end_matches('.')))
}

/// Returns `true` if the text contains a private IPv4 address as one decimal number, which is not an amount.
fn has_decimal(text: &str) -> bool {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || ".-_".contains(c)));
    let mut words = words.filter(|word| !word.is_empty()).peekable();
    while let Some(word) = words.next() {
        let word = word.trim_end_matches('.');
        let is_number =
            (9..=10).contains(&word.len()) && word.bytes().all(|it| it.is_ascii_digit());
        let is_amount = |next: &&str| {
            ["byte", "char", "token"]
                .iter()
                .any(|unit| next.starts_with(unit))
        };
        if is_number
            && let Ok(number) = word.parse::<u32>()
            && PRIVATE
                .iter()
                .any(|(from, to)| (*from..=*to).contains(&number))
            && !words.peek().is_some_and(is_amount)
        {
            return true;
        }
    }
    false
}

/// Returns `true` if the text contains an IPv4 address as one hexadecimal number, or with a hexadecimal part.
fn has_hex(text: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    text.match_indices("0x").any(|(at, sign)| {
        let rest = &text[at + sign.len()..];
        let after = rest.trim_start_matches(|c: char| c.is_ascii_hexdigit());
        let digits = rest.len() - after.len();
        let is_before = |it: &str| it.starts_with(is_digit);
        let is_part = after.strip_prefix('.').is_some_and(is_before)
            || (text[..at].strip_suffix('.')).is_some_and(|it| it.ends_with(is_digit));
        (7..=8).contains(&digits) || (digits > 0 && is_part)
    })
}

/// Returns `true` if the text contains an address with colons that is not part of a word such as `std::vec`.
fn has_ip6(text: &str) -> bool {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || ":.".contains(c)));
    words.into_iter().any(|word| {
        let word = word.trim_end_matches('.');
        let colons = word.bytes().filter(|it| *it == b':').count();
        colons >= 2
            && [word, word.trim_end_matches(':')]
                .iter()
                .any(|it| it.parse::<IpAddr>().is_ok())
    })
}
