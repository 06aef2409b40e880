//! Escapes markers in untrusted text.

use std::borrow::Cow;

use memchr::memchr;
use memchr::memmem;

use crate::block::Markers;

/// `text` with a zero-width character inside every marker, so that no parser takes it for a block.
///
/// The character is U+200B after the marker's first character, or another invisible one if a marker itself holds
/// U+200B. A marker that is a single character is replaced. Text without markers is borrowed; doing it twice
/// changes nothing more.
///
/// ```
/// use gadgetry_proto::block::Markers;
/// use gadgetry_proto::convo::escape_markers;
/// let markers = Markers::default();
/// assert_eq!(escape_markers("!!!GADGET_END", &markers), "!\u{200B}!!GADGET_END");
/// assert_eq!(escape_markers("plain!!!", &markers), "plain!!!");
/// ```
pub fn escape_markers<'t>(text: &'t str, markers: &Markers) -> Cow<'t, str> {
    let mut breaks = Vec::new();
    for marker in [markers.start(), markers.end(), markers.arg()] {
        find_breaks(text, marker, &mut breaks);
    }
    if breaks.is_empty() {
        return Cow::Borrowed(text);
    }
    breaks.sort_unstable();
    breaks.dedup();
    let breaker = breaker(markers);
    let mut out = String::with_capacity(text.len() + breaks.len() * breaker.len_utf8());
    let mut done = 0;
    for Break {
        keep_to,
        continue_at,
    } in breaks
    {
        out.push_str(text.get(done..keep_to).unwrap_or_default());
        out.push(breaker);
        done = continue_at;
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

/// The position of the breaker: after `keep_to`; the text continues at `continue_at`.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Break {
    keep_to: usize,
    continue_at: usize,
}

/// Finds every occurrence of `marker`, overlapping ones too.
fn find_breaks(text: &str, marker: &str, breaks: &mut Vec<Break>) {
    let first = marker.chars().next().map_or(1, char::len_utf8);
    let single = first == marker.len();
    // Most texts do not even hold its first byte, and a search is dear to prepare.
    let opener = marker.as_bytes().first().copied().unwrap_or_default();
    let Some(mut from) = memchr(opener, text.as_bytes()) else {
        return;
    };
    let finder = memmem::Finder::new(marker);
    while let Some(at) = finder.find(&text.as_bytes()[from..]) {
        let start = from + at;
        from = start + first;
        let keep_to = if single { start } else { from };
        breaks.push(Break {
            keep_to,
            continue_at: from,
        });
    }
}

/// A character that no marker holds: what is cut by it cannot become a marker.
fn breaker(markers: &Markers) -> char {
    let held = |candidate: char| {
        [markers.start(), markers.end(), markers.arg()]
            .iter()
            .any(|m| m.contains(candidate))
    };
    ['\u{200B}', '\u{2060}', '\u{FEFF}']
        .into_iter()
        .chain('\u{E000}'..='\u{F8FF}')
        .find(|&candidate| !held(candidate))
        .unwrap_or('\u{200B}')
}
