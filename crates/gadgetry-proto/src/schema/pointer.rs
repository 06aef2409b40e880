//! Argument pointers: RFC 6901 without the leading `/`.

use std::borrow::Cow;

/// The decoded segments of a pointer.
///
/// ```
/// use gadgetry_proto::schema::pointer::segments;
/// let decoded: Vec<_> = segments("a~1b/m~0n/0").collect();
/// assert_eq!(decoded, ["a/b", "m~n", "0"]);
/// ```
pub fn segments(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').map(decode)
}

/// Decodes one segment: `~1` is `/` and `~0` is `~`. Any other `~` is literal.
pub fn decode(segment: &str) -> Cow<'_, str> {
    if !segment.contains('~') {
        return Cow::Borrowed(segment);
    }
    let mut text = String::with_capacity(segment.len());
    let mut rest = segment;
    while let Some(at) = rest.find('~') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.as_bytes().first() {
            Some(b'0') => {
                text.push('~');
                rest = &rest[1..];
            }
            Some(b'1') => {
                text.push('/');
                rest = &rest[1..];
            }
            Some(_) | None => text.push('~'),
        }
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Encodes one key as a segment; the inverse of [`decode`].
pub fn encode(key: &str) -> Cow<'_, str> {
    if key.contains(['~', '/']) {
        Cow::Owned(key.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(key)
    }
}

/// Returns `true` if a segment is a well-formed array index: `0`, or digits without a leading zero.
pub fn is_index(segment: &str) -> bool {
    segment == "0" || (!segment.starts_with('0') && is_digits(segment))
}

/// Returns `true` if a segment is meant as an array index, well formed or not: `007` and `-1` are, too.
pub fn looks_like_index(segment: &str) -> bool {
    is_digits(segment.strip_prefix('-').unwrap_or(segment))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: &str, key: &str) {
        assert_eq!(decode(written), key, "decode {written}");
        assert_eq!(decode(&encode(key)), key, "encode {key}");
    }

    #[test]
    fn escapes() {
        for (written, key) in [
            ("", ""),
            ("plain", "plain"),
            ("a~1b", "a/b"),
            ("~01", "~1"),
            ("~00~11", "~0/1"),
            ("~", "~"),
            ("a~2", "a~2"),
            ("~~1", "~/"),
            ("ñ~1ñ", "ñ/ñ"),
        ] {
            check(written, key);
        }
    }

    #[test]
    fn indices() {
        for segment in ["0", "7", "10", "99999999999999999999999"] {
            assert!(is_index(segment) && looks_like_index(segment), "{segment}");
        }
        for segment in ["00", "07", "-1", "-0"] {
            assert!(!is_index(segment) && looks_like_index(segment), "{segment}");
        }
        for segment in ["", "-", "1x", "+1", "1.0", " 1", "٣"] {
            assert!(
                !is_index(segment) && !looks_like_index(segment),
                "{segment}"
            );
        }
    }
}
