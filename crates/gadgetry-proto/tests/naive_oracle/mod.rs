//! The oracle itself: every sentence of `docs/reply-format.md` as a row, and the vectors of the two references.

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

use crate::support::naive::{Seen, read};
use gadgetry_proto::block::{Anchoring, Markers};
use gadgetry_proto::error::Span;
use gadgetry_proto::limits::Limits;
use gadgetry_proto::reply::Format;

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
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
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
