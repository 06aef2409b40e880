//! Reading with the scanner, and what it is held against.

use std::hint::black_box;

use gadgetry_proto::block::Markers;
use gadgetry_proto::limits::Limits;
use gadgetry_proto::reply::{Format, ReplyEvent, Scanner};
use memchr::memmem::Finder;

use super::MIB;

/// A scanner for gadgets and two tags, with caps that the texts do not reach.
pub fn scanner() -> Scanner {
    let limits = Limits {
        value: 64 * MIB,
        block: 64 * MIB,
        tag_content: 64 * MIB,
        ..Limits::default()
    };
    let format = Format {
        markers: Some(Markers::default()),
        tags: vec!["think".to_owned(), "citation".to_owned()],
        limits,
        ..Format::default()
    };
    Scanner::new(&format).expect("names are names")
}

/// Looks at an event as a consumer would; returns how much text it brought.
#[inline]
pub fn consume(event: ReplyEvent<'_>) -> usize {
    match event {
        ReplyEvent::Text(delta)
        | ReplyEvent::Argument { delta, .. }
        | ReplyEvent::TagDelta { delta, .. } => black_box(delta).len(),
        other @ (ReplyEvent::CallStart(_)
        | ReplyEvent::Call(_)
        | ReplyEvent::TagStart { .. }
        | ReplyEvent::TagEnd { .. }
        | ReplyEvent::Tag { .. }
        | ReplyEvent::Diagnostic(_)) => {
            black_box(other);
            0
        }
    }
}

/// Reads more of a reply; returns how much text was streamed.
pub fn push<'a>(scanner: &mut Scanner, chunks: impl IntoIterator<Item = &'a str>) -> usize {
    let mut seen = 0;
    for chunk in chunks {
        scanner.push(chunk, &mut |event| seen += consume(event));
    }
    seen
}

/// Reads one reply; returns how much text was streamed.
pub fn read<'a>(scanner: &mut Scanner, chunks: impl IntoIterator<Item = &'a str>) -> usize {
    let mut seen = push(scanner, chunks);
    scanner.finish(&mut |event| seen += consume(event));
    seen
}

/// Reads one reply and every call's parameters; returns the number of calls.
pub fn read_calls<'a>(scanner: &mut Scanner, chunks: impl IntoIterator<Item = &'a str>) -> usize {
    let mut calls = 0;
    let mut events = |event: ReplyEvent<'_>| {
        if let ReplyEvent::Call(call) = event {
            calls += usize::from(black_box(call.parameters(None)).is_ok());
        }
    };
    for chunk in chunks {
        scanner.push(chunk, &mut events);
    }
    scanner.finish(&mut events);
    calls
}

/// The search that a scanner cannot do without.
pub fn start_marker() -> Finder<'static> {
    Finder::new("!!!GADGET_START:")
}

/// Only the search.
pub fn search(finder: &Finder<'_>, chunks: &[&str]) {
    for chunk in chunks {
        black_box(finder.find(chunk.as_bytes()));
    }
}

/// The search, and a copy behind what was copied before: what whoever keeps the text must do at least.
pub fn search_and_copy(finder: &Finder<'_>, chunks: &[&str], copy: &mut Vec<u8>) {
    for chunk in chunks {
        black_box(finder.find(chunk.as_bytes()));
        copy.extend_from_slice(chunk.as_bytes());
    }
    black_box(copy);
}
