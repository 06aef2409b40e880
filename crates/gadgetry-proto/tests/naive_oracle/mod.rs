//! Every sentence of `docs/reply-format.md` as a row, and the vectors of the two references: first the oracle itself, then
//! the scanner, cut everywhere, against the oracle.

#![allow(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test stops at what it did not expect, and names only what it is about"
)]

mod block;
mod near_miss;
mod prose;
mod tags;
mod vectors;
mod whole;

use std::fmt::Write as _;
use std::ops::Range;

use crate::support::cut;
use crate::support::joined::{Joiner, Told, is_what, scan, scanner};
use crate::support::naive::{Seen, read};
use gadgetry_proto::block::{Anchoring, Markers};
use gadgetry_proto::error::Span;
use gadgetry_proto::limits::Limits;
use gadgetry_proto::reply::{BlockParser, Format, ScannerState, TagParser};

/// What the rule is, the format, the reply, and what is seen in it.
type Row<'a> = (&'a str, Format, &'a str, &'a [&'a str]);

#[track_caller]
fn check(rows: &[Row<'_>]) {
    let mut wrong = String::new();
    for (rule, format, text, expected) in rows {
        let seen = read(text, format);
        let shown: Vec<String> = seen.iter().map(|seen| show(seen, text)).collect();
        if shown != *expected {
            let _ = write!(
                wrong,
                "\n{rule}\n  in       {text:?}\n  expected {expected:#?}\n  seen     {shown:#?}\n"
            );
        } else if let Err(how) = scanner_agrees(format, text, &seen) {
            let _ = write!(wrong, "\n{rule}\n  in       {text:?}\n  {how}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The scanner, and the parser that is half of it, see the same however the reply is cut.
fn scanner_agrees(format: &Format, text: &str, seen: &[Seen]) -> Result<(), String> {
    if TagParser::new(&format.tags, Limits::default()).is_err() {
        return Ok(()); // It refuses what the oracle ignores.
    }
    let whole = [vec![text], cut::characters(text)];
    for pieces in whole.into_iter().chain(cut::in_two(text)) {
        for (reader, told) in [
            ("the scanner", Some(scan(&pieces, format))),
            ("a saved scanner", Some(scan_saved(&pieces, format))),
            ("the parser of blocks", parse_blocks(&pieces, format)),
            ("the parser of tags", parse_tags(&pieces, format)),
        ] {
            let Some(told) = told else { continue };
            // Only the scanner reports deltas of an argument that its block never completes.
            let is_seen = |told: &&Told| !matches!(told, Told::Unfinished { .. });
            let told: Vec<&Told> = told.iter().filter(is_seen).collect();
            let mut pairs = told.iter().zip(seen);
            if told.len() != seen.len() || !pairs.all(|(told, seen)| is_what(told, seen, format)) {
                return Err(format!(
                    "{reader} read {told:#?}\n  in the pieces {pieces:?}"
                ));
            }
        }
    }
    Ok(())
}

/// Saved and restored after each piece.
fn scan_saved(pieces: &[&str], format: &Format) -> Vec<Told> {
    let mut joiner = Joiner::default();
    let mut reader = scanner(format);
    for piece in pieces {
        reader.push(piece, &mut |event| joiner.hear(event));
        let state: ScannerState = reader.state().clone();
        reader = scanner(format);
        reader.restore(state);
    }
    reader.finish(&mut |event| joiner.hear(event));
    joiner.told
}

/// `None` if the format has more than blocks.
fn parse_blocks(pieces: &[&str], format: &Format) -> Option<Vec<Told>> {
    let markers = format.markers.clone()?;
    if !format.tags.is_empty() || !format.reasoning.is_empty() {
        return None;
    }
    let mut joiner = Joiner::default();
    let mut parser = BlockParser::new(markers, format.anchoring, format.limits.clone());
    for piece in pieces {
        parser.push(piece, &mut |event| joiner.hear(event));
    }
    parser.finish(&mut |event| joiner.hear(event));
    Some(joiner.told)
}

/// `None` if the reply may have more than tags.
fn parse_tags(pieces: &[&str], format: &Format) -> Option<Vec<Told>> {
    let markers = format.markers.iter();
    let mut markers = markers.flat_map(|it| [it.start(), it.end(), it.arg()]);
    let has_lead = |marker: &str| pieces.iter().any(|piece| piece.contains(&marker[..1]));
    if !format.reasoning.is_empty() || markers.any(has_lead) {
        return None;
    }
    let mut joiner = Joiner::default();
    let mut parser = TagParser::new(&format.tags, format.limits.clone()).ok()?;
    for piece in pieces {
        parser.push(piece, &mut |event| joiner.hear(event));
    }
    parser.finish(&mut |event| joiner.hear(event));
    Some(joiner.told)
}

/// One line for one thing that was seen. A diagnostic shows the text that it is about.
fn show(seen: &Seen, text: &str) -> String {
    match seen {
        Seen::Text(text) => format!("text {text:?}"),
        Seen::CallStart {
            name,
            id,
            dependencies,
        } => {
            let mut line = format!("start {name:?} id {id:?}");
            if !dependencies.is_empty() {
                let _ = write!(line, " after {}", dependencies.join(","));
            }
            line
        }
        Seen::Argument { id, pointer, value } => format!("arg {id} {pointer}={value:?}"),
        Seen::Call {
            id,
            arguments,
            terminated_by,
            ..
        } => match arguments {
            Err(()) => format!("call {id} malformed, {terminated_by:?}"),
            Ok(pairs) => {
                let pairs: Vec<String> = pairs
                    .iter()
                    .map(|(pointer, value)| format!("{pointer}={value:?}"))
                    .collect();
                format!("call {id} ({}), {terminated_by:?}", pairs.join(" "))
            }
        },
        Seen::TagStart { block, tag, attrs } => {
            let mut line = format!("open {block} {tag}");
            for (name, value) in attrs {
                let _ = write!(line, " {name}={value:?}");
            }
            line
        }
        Seen::TagContent { block, content } => format!("content {block} {content:?}"),
        Seen::TagEnd { block, reason, .. } => format!("end {block} {reason:?}"),
        Seen::Tag {
            block,
            content,
            self_closing,
            ..
        } => {
            format!(
                "block {block} {content:?}{}",
                if *self_closing { " self-closing" } else { "" }
            )
        }
        Seen::Diagnostic(code, span) => {
            format!("{code:?} {:?}", &text[range(*span)])
        }
    }
}

fn range(span: Span) -> Range<usize> {
    usize::try_from(span.start).unwrap()..usize::try_from(span.end).unwrap()
}

// Formats

fn anywhere() -> Format {
    Format {
        markers: Some(Markers::default()),
        ..Format::default()
    }
}

fn line_start() -> Format {
    Format {
        anchoring: Anchoring::LineStart,
        ..anywhere()
    }
}

fn tags(tags: &[&str]) -> Format {
    Format {
        tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
        ..anywhere()
    }
}

fn reasoning(names: &[&str], open: bool) -> Format {
    Format {
        reasoning: names.iter().map(|&name| name.to_owned()).collect(),
        reasoning_open: open,
        ..tags(&["t"])
    }
}

fn spelled(start: &str, end: &str, arg: &str) -> Format {
    Format {
        markers: Some(Markers::new(start, end, arg).unwrap()),
        ..anywhere()
    }
}

fn limited(mut format: Format, set: impl FnOnce(&mut Limits)) -> Format {
    set(&mut format.limits);
    format
}
