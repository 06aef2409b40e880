//! The first text is told with the first piece that contains text: nothing waits for more than it must.

use crate::support::joined::scanner;
use crate::support::naive::{Seen, read};
use crate::support::{cut, generate};
use gadgetry_proto::reply::{Format, ReplyEvent, Scanner};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// The number of the piece with which anything but a diagnostic is told first.
fn first_told(scanner: &mut Scanner, pieces: &[&str]) -> Option<usize> {
    pieces.iter().position(|piece| {
        let mut told = false;
        scanner.push(piece, &mut |event| {
            told |= !matches!(event, ReplyEvent::Diagnostic(_));
        });
        told
    })
}

/// Whether this is text, and begins with the same visible character, whatever follows. That a cap is passed may be
/// told a little later: a header's by what may be an end marker.
fn is_certain(start: &str, format: &Format) -> bool {
    let mut format = format.clone();
    format.limits.attributes += 3;
    format.limits.header += format
        .markers
        .as_ref()
        .map_or(0, |markers| markers.end().len());
    let mut firsts = endings(&format)
        .into_iter()
        .map(|ending| first_visible(&format!("{start}{ending}"), &format));
    let first = firsts.next().flatten();
    first.is_some() && firsts.all(|other| other == first)
}

fn first_visible(text: &str, format: &Format) -> Option<char> {
    read(text, format).iter().find_map(|seen| match seen {
        Seen::Text(text) => text.trim_start().chars().next(),
        Seen::CallStart { .. }
        | Seen::Argument { .. }
        | Seen::Call { .. }
        | Seen::TagStart { .. }
        | Seen::TagContent { .. }
        | Seen::TagEnd { .. }
        | Seen::Tag { .. }
        | Seen::Diagnostic(..) => None,
    })
}

/// Every way in which a shortest block or tag, or an escaped marker, may go on; first of all, not at all.
fn endings(format: &Format) -> BTreeSet<String> {
    let ends = format.reasoning.iter().map(|tag| format!("/{tag}"));
    let tags = format.tags.iter().chain(&format.reasoning).cloned();
    let mut openers: Vec<String> = tags
        .chain(ends)
        .flat_map(|tag| ["", " a=\"b\"", " a='b'"].map(|attribute| format!("<{tag}{attribute}>")))
        .collect();
    if let Some(markers) = &format.markers {
        for name in ["N", ""] {
            openers.push(format!("{}{name}\n{}\n", markers.start(), markers.end()));
        }
        openers.extend([markers.end(), markers.arg()].map(str::to_owned));
    }
    let rests = openers
        .iter()
        .flat_map(|opener| opener.char_indices().map(|(at, _)| opener[at..].to_owned()));
    [String::new()].into_iter().chain(rests).collect()
}

/// The first thing is told with the first piece at which it is certain.
fn check(format: &Format, pieces: &[&str]) -> Result<(), TestCaseError> {
    // Which of several backslashes are part of such a marker, the end of the row tells.
    if (format.markers.as_ref()).is_some_and(|markers| markers.start().starts_with('\\')) {
        return Ok(());
    }
    let first = first_told(&mut scanner(format), pieces);
    let silent = first.unwrap_or(pieces.len());
    let mut start = String::new();
    for piece in &pieces[..silent] {
        start.push_str(piece);
        prop_assert!(
            !is_certain(&start, format),
            "{format:?}\n{start:?} is text whatever follows, and was not told"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn text_is_held_no_longer_than_needed((format, text) in generate::cases(), seed: u64) {
        check(&format, &cut::random(&text, seed))?;
        check(&format, &cut::characters(&text))?;
    }
}

/// Pieces, and the number of the one that brings the first text.
#[test]
fn the_first_text_comes_with_the_first_piece_that_has_text() {
    let table: [(&[&str], usize); 12] = [
        (&["H", "i"], 0),
        (&["Hello, world"], 0),
        (&["", "\n", "  ", "H", "i"], 3),
        (&["\u{e9}"], 0),
        (&["!", "x"], 1),
        (&["!!!GADGET_", "STAR", "x"], 2),
        (&["<", "b>"], 1),
        (&["<thin", "g"], 1),
        (&["Hi !!!GADGET_START:A\n"], 0),
        (&["\\", "a"], 0),
        (&["<think>hm</think>", "H"], 1),
        (&["!!!GADGET_START:A\n!!!GADGET_END\n", "H"], 1),
    ];
    let format = Format {
        markers: Some(gadgetry_proto::block::Markers::default()),
        tags: vec!["think".to_owned()],
        ..Format::default()
    };
    for (pieces, expected) in table {
        let mut scanner = scanner(&format);
        let first = pieces.iter().position(|piece| {
            let mut told = false;
            scanner.push(piece, &mut |event| {
                told |= matches!(event, ReplyEvent::Text(_));
            });
            told
        });
        assert_eq!(first, Some(expected), "{pieces:?}");
    }
}
