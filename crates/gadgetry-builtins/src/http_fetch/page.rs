//! Pages as text.

use encoding_rs::{Encoding, UTF_8};
use gadgetry::GadgetError;
use tokio::task::spawn_blocking;

/// Columns of text made of HTML.
const WIDTH: usize = 100;

/// Bytes of an error page that the model reads.
const SHORT: usize = 2000;

/// Levels of elements. A deeper page is returned as it is: the time of a conversion grows with the square of its depth.
const DEPTH: usize = 500;

/// Elements that hold nothing, or end without an end tag.
const FLAT: [&str; 26] = [
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta",
    "option", "p", "param", "rp", "rt", "source", "tbody", "td", "th", "thead", "tr", "track",
    "wbr",
];

/// Types of text that are not `text/…`.
const SUBTYPES: [&str; 8] = [
    "json",
    "xml",
    "javascript",
    "ecmascript",
    "yaml",
    "x-yaml",
    "toml",
    "x-ndjson",
];

/// Whether a media type is text.
pub(super) fn is_text(essence: &str) -> bool {
    let (kind, subtype) = essence.split_once('/').unwrap_or((essence, ""));
    kind.is_empty()
        || kind == "text"
        || SUBTYPES.contains(&subtype)
        || subtype.ends_with("+json")
        || subtype.ends_with("+xml")
}

/// The text of a body.
pub(super) async fn text(
    bytes: Vec<u8>,
    kind: &str,
    essence: &str,
    raw: bool,
) -> Result<String, GadgetError> {
    let is_html = matches!(essence, "text/html" | "application/xhtml+xml");
    let text = decoded(&bytes, kind);
    if essence.is_empty() && text.contains('\0') {
        return Err("the answer is not text".into());
    }
    if raw || !is_html || depth(&text) > DEPTH {
        return Ok(text);
    }
    // Large pages take a while. A panic of the converter is an error of this task.
    let converted = spawn_blocking(move || {
        html2text::config::plain()
            .allow_width_overflow()
            .string_from_read(text.as_bytes(), WIDTH)
    })
    .await;
    match converted {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(error)) => Err(GadgetError::new(format_args!(
            "the page could not be converted to text: {error}; set raw to true"
        ))),
        Err(_) => Err("the page could not be converted to text; set raw to true".into()),
    }
}

/// The text of bytes in the encoding that their type names; UTF-8 if it names none.
fn decoded(bytes: &[u8], kind: &str) -> String {
    let mut parameters = kind.split(';').skip(1);
    let charset = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches('"'))
    });
    let encoding = charset.and_then(|charset| Encoding::for_label(charset.as_bytes()));
    encoding.unwrap_or(UTF_8).decode(bytes).0.into_owned()
}

/// Roughly the levels of elements: those that have begun and not ended, at most.
fn depth(html: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for tag in html.split('<').skip(1) {
        let (end, tag) = match tag.strip_prefix('/') {
            Some(tag) => (true, tag),
            None => (false, tag),
        };
        let length = tag.find(|c: char| !c.is_ascii_alphanumeric());
        let name = tag[..length.unwrap_or(tag.len())].to_ascii_lowercase();
        if name.is_empty() || FLAT.contains(&name.as_str()) {
            continue;
        }
        depth = if end {
            depth.saturating_sub(1)
        } else {
            depth + 1
        };
        deepest = deepest.max(depth);
    }
    deepest
}

/// The beginning of a text.
pub(super) fn short(mut text: String) -> String {
    if text.len() > SHORT {
        text.truncate(text.floor_char_boundary(SHORT));
        text.push_str(" …");
    }
    text
}
