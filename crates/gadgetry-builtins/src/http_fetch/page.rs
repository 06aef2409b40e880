//! Pages as text.

use encoding_rs::{Encoding, UTF_8};
use gadgetry::GadgetError;
use tokio::task::spawn_blocking;

use super::tables;

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

/// Returns whether a media type is text.
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
        let config = html2text::config::plain().allow_width_overflow();
        let page = config.parse_html(text.as_bytes())?;
        if !tables::are_small(&page) {
            return Ok(text);
        }
        config.render_to_string(config.dom_to_render_tree(&page)?, WIDTH)
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

/// Bytes of a name that are compared where a tag may be text.
const SHOWN_NAME: usize = 32;

/// Elements whose content is text for the parser, though not everywhere.
const TEXT: [&str; 9] = [
    "iframe", "noembed", "noframes", "noscript", "script", "style", "textarea", "title", "xmp",
];

/// The levels of elements, at least as many as the parser makes. An end tag counts only if it closes the last open element
/// and certainly is one: not within a comment, an attribute or text.
fn depth(html: &str) -> usize {
    let mut open: Vec<String> = Vec::new();
    // Up to here a tag may be text.
    let mut doubtful = 0;
    let mut at = 0;
    while let Some(found) = html[at..].find('<')
        && open.len() <= DEPTH
    {
        let begin = at + found;
        at = begin + 1;
        let is_certain = begin >= doubtful;
        let tag = &html[at..];
        let (is_end, tag) = tag
            .strip_prefix('/')
            .map_or((false, tag), |tag| (true, tag));
        let is_other = |c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>');
        let is_tag = tag.starts_with(|c: char| c.is_ascii_alphabetic());
        // What may be text is read in small parts, so that the time does not grow with the square.
        let part = if is_tag && is_certain {
            tag.len()
        } else {
            tag.floor_char_boundary(SHOWN_NAME)
        };
        let (name, attributes) = tag.split_at(tag[..part].find(is_other).unwrap_or(part));
        let upto = |text: &str, end: &str| {
            let found = text.find(end).map_or(text.len(), |at| at + end.len());
            html.len() - text.len() + found
        };
        if !is_tag {
            if is_certain && name.starts_with("!--") {
                doubtful = upto(tag, "-->");
            } else if is_certain && (is_end || name.starts_with(['!', '?'])) {
                doubtful = upto(tag, ">");
            }
            continue;
        }
        let name = name.to_ascii_lowercase();
        if is_certain {
            at = html.len() - after_tag(attributes).len();
            if !is_end && TEXT.contains(&name.as_str()) {
                let content = &html[at..];
                let mut ends = content.match_indices("</");
                let end = ends.find(|(at, _)| {
                    let word = content.as_bytes().get(at + 2..at + 2 + name.len());
                    word.is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
                });
                let length = end.map_or(content.len(), |(at, _)| at);
                // The usual script, whose comparisons look like tags.
                if name == "script"
                    && !content[..length].contains("<!--")
                    && open.iter().all(|it| it != "svg" && it != "math")
                {
                    at += length;
                } else {
                    doubtful = at + length;
                }
            }
        }
        if FLAT.contains(&name.as_str()) {
            continue;
        }
        if !is_end {
            open.push(name);
        } else if is_certain && open.last() == Some(&name) {
            open.pop();
        }
    }
    open.len()
}

/// Returns what follows a tag, of which `attributes` is the rest after its name.
fn after_tag(attributes: &str) -> &str {
    let blank = |c: char| c.is_ascii_whitespace();
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|c: char| blank(c) || c == '/');
        if rest.is_empty() || rest.starts_with('>') {
            return rest.strip_prefix('>').unwrap_or(rest);
        }
        // The first character belongs to the name, even `=`.
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let end = rest[first..].find(|c: char| blank(c) || matches!(c, '/' | '>' | '='));
        rest = rest[end.map_or(rest.len(), |end| first + end)..].trim_start_matches(blank);
        let Some(value) = rest.strip_prefix('=') else {
            continue;
        };
        let value = value.trim_start_matches(blank);
        rest = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].split_once(quote).map_or("", |(_, rest)| rest),
            _ => {
                &value[value
                    .find(|c: char| blank(c) || c == '>')
                    .unwrap_or(value.len())..]
            }
        };
    }
}

/// The beginning of a text.
pub(super) fn short(mut text: String) -> String {
    if text.len() > SHORT {
        text.truncate(text.floor_char_boundary(SHORT));
        text.push_str(" …");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_end_tag_hides_the_depth() {
        let check = |piece: &str, expected: bool| {
            let html = piece.repeat(200_000 / piece.len());
            assert_eq!(depth(&html) > DEPTH, expected, "{piece}");
        };
        for deep in [
            "<div>",
            "<div></x>",
            "<div></span>",
            "<DIV></x>",
            "<div\n></p>",
            "<div><!--</div>-->",
            "<div><!-- > </div>-->",
            "<div><!</div>",
            "<div><?</div>",
            "<div></ </div>",
            "<div title=\"</div>\">",
            "<div a\"b=\"></div>\">",
            "<div title = '></div>'>",
            "<div><style></div></style>",
            "<div><textarea></div></textarea>",
            "<div><script></div></script>",
            "<div><script><!--<script></script></div>--></script>",
            "<div><table><tr><td></div>",
            "<b><div></b>",
        ] {
            check(deep, true);
        }
        for flat in [
            "<div></div>",
            "<div =\"></div>",
            "<div ></div >",
            "<DIV></div>",
            "<br>",
            "<p>",
            "<li>",
            "< div>",
            "a < b",
            "<script>if(a<b){}</script>",
            "<script>s='<div>'</script>",
            "<div><!-- x --></div>",
            "<a title='>'></a>",
            "<!doctype html>",
            "<style>a>b{}</style>",
        ] {
            check(flat, false);
        }
        for piece in [
            "<!--",
            "<script>",
            "<style>",
            "<div a=\"",
            "<a b",
            "</",
            "<",
            "<?",
        ] {
            let _ = depth(&piece.repeat(200_000));
        }
    }
}
