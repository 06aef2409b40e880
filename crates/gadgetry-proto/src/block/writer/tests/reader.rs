//! A reader of blocks so plain that it is plainly right.

use serde_json::Value;
use serde_json::json;

use crate::block::Anchoring;
use crate::block::Markers;
use crate::limits::Limits;
use crate::schema::Schema;
use crate::schema::json_parameters;
use crate::schema::parameters;

/// Reads one whole block: the header, and the parameters.
pub(super) fn read(
    text: &str,
    markers: &Markers,
    anchoring: Anchoring,
    schema: Option<&Schema>,
) -> (String, Value) {
    let text = text.strip_prefix(markers.start()).expect("a start marker");
    let (header, body) = text.split_once('\n').expect("a header line");
    let mut pieces: Vec<&str> = Vec::new();
    let mut rest = body;
    loop {
        let (start, marker) = next_marker(rest, markers, anchoring).expect("a marker");
        pieces.push(&rest[..start]);
        let line = rest[start..].trim_start_matches([' ', '\t']);
        rest = &line[marker.len()..];
        if marker == markers.end() {
            break;
        }
        assert_eq!(marker, markers.arg());
    }
    assert_eq!(rest, "\n", "behind the end marker");
    let limits = Limits::default();
    if let [body] = pieces.as_slice() {
        let empty = body.trim().is_empty();
        let whole = json_parameters(body, schema, &limits)
            .expect("no limit")
            .filter(|_| !empty);
        return (header.to_owned(), whole.unwrap_or_else(|| json!({})));
    }
    assert_eq!(pieces[0], "", "before the first argument");
    let arguments: Vec<(&str, String)> = pieces[1..]
        .iter()
        .map(|piece| {
            let (pointer, value) = piece.split_once('\n').expect("an argument line");
            let value = value
                .strip_suffix('\n')
                .expect("a newline behind the value");
            let value = value.strip_suffix('\r').unwrap_or(value);
            (pointer, unescape(value, markers, anchoring))
        })
        .collect();
    let arguments = arguments
        .iter()
        .map(|(pointer, value)| (*pointer, value.as_str()));
    let built = parameters(arguments, schema, markers.arg(), &limits);
    (header.to_owned(), built.expect("good arguments"))
}

fn next_marker<'a>(
    text: &str,
    markers: &'a Markers,
    anchoring: Anchoring,
) -> Option<(usize, &'a str)> {
    let each = [markers.start(), markers.end(), markers.arg()];
    if anchoring == Anchoring::Anywhere {
        return each
            .iter()
            .filter_map(|marker| Some((text.find(marker)?, *marker)))
            .min();
    }
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let inner = line.trim_start_matches([' ', '\t']);
        if let Some(marker) = each.iter().find(|marker| inner.starts_with(**marker)) {
            return Some((at, *marker));
        }
        at += line.len();
    }
    None
}

fn unescape(value: &str, markers: &Markers, anchoring: Anchoring) -> String {
    if anchoring == Anchoring::Anywhere {
        return value.to_owned();
    }
    let lines = value.split('\n').map(|line| {
        let inner = line.trim_start_matches([' ', '\t']);
        let bare = inner.trim_start_matches('\\');
        let each = [markers.start(), markers.end(), markers.arg()];
        if bare.len() < inner.len() && each.iter().any(|marker| bare.starts_with(marker)) {
            format!("{}{}", &line[..line.len() - inner.len()], &inner[1..])
        } else {
            line.to_owned()
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}
