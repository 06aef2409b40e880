//! The event stream: the standard's rules as a table, on many cuts, and another reader of it as a second opinion.

#![cfg(feature = "http")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests may panic like tests themselves"
)]

use eventsource_stream::Eventsource as _;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use gadgetry_providers::sse::{Decoder, Oversized, SseEvent};

/// What the decoder makes of `bytes` in pieces of at most `size`, and what it had left open.
fn decode(bytes: &[u8], size: usize) -> (Vec<SseEvent>, Option<SseEvent>) {
    let mut decoder = Decoder::new();
    let mut events = Vec::new();
    for piece in bytes.chunks(size) {
        decoder.feed(piece, &mut events).unwrap();
    }
    (events, decoder.finish().unwrap())
}

/// Holds what `bytes` give against `expected`, each as event, data and id, whatever the cuts.
#[track_caller]
fn check(bytes: impl AsRef<[u8]>, expected: &[(&str, &str, &str)]) {
    let bytes = bytes.as_ref();
    for size in [usize::MAX, 1, 2, 3, 7, 16] {
        let (events, _) = decode(bytes, size.min(bytes.len().max(1)));
        let events: Vec<_> = events
            .iter()
            .map(|it| {
                let text = |field: &Option<String>| field.clone().unwrap_or_default();
                (text(&it.event), it.data.clone(), text(&it.id))
            })
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(event, data, id)| ((*event).into(), (*data).into(), (*id).into()))
            .collect();
        assert_eq!(events, expected, "pieces of {size}");
    }
}

#[test]
fn lines_end_in_three_ways() {
    check("data: a\n\ndata: b\n\n", &[("", "a", ""), ("", "b", "")]);
    check(
        "data: a\r\n\r\ndata: b\r\n\r\n",
        &[("", "a", ""), ("", "b", "")],
    );
    check("data: a\r\rdata: b\r\r", &[("", "a", ""), ("", "b", "")]);
    check("data: a\r\ndata: b\n\r\n", &[("", "a\nb", "")]);
    check(
        "data: a\n\r\ndata: b\r\n\n",
        &[("", "a", ""), ("", "b", "")],
    );
}

#[test]
fn fields() {
    check("data:a\n\n", &[("", "a", "")]);
    check("data:  a \n\n", &[("", " a ", "")]);
    check("data\n\n", &[("", "", "")]);
    check("data:\ndata:\n\n", &[("", "\n", "")]);
    check("data: a:b\n\n", &[("", "a:b", "")]);
    check(
        "event: ping\ndata: x\n\ndata: y\n\n",
        &[("ping", "x", ""), ("", "y", "")],
    );
    check("event: ping\n\ndata: y\n\n", &[("", "y", "")]);
    check(
        "id: 1\ndata: x\n\ndata: y\n\nid\ndata: z\n\n",
        &[("", "x", "1"), ("", "y", "1"), ("", "z", "")],
    );
    check("id: a\0b\ndata: x\n\n", &[("", "x", "")]);
    check(": comment\n:\ndata: x\n: more\n\n", &[("", "x", "")]);
    check("Data: x\n data: y\ndatab: z\n\n", &[]);
    check("{\"error\":1}\n\n", &[]);
}

#[test]
fn text_that_is_cut_or_broken() {
    check("\u{FEFF}data: a\n\n\u{FEFF}data: b\n\n", &[("", "a", "")]);
    check("data: a\u{1F600}é\n\n", &[("", "a\u{1F600}é", "")]);
    check(
        b"data: a\xFFb\xF0\x9F\n\ndata: c\n\n",
        &[("", "a\u{FFFD}b\u{FFFD}", ""), ("", "c", "")],
    );
}

#[test]
fn an_open_event_is_kept_for_who_wants_it() {
    let (events, open) = decode(b"data: a\n\ndata: [DONE]", 5);
    assert_eq!((events.len(), open.unwrap().data.as_str()), (1, "[DONE]"));
    assert_eq!(decode(b"data: a\n\n: bye", 5).1, None);
}

#[test]
fn retry_is_a_number() {
    let mut decoder = Decoder::new();
    let mut events = Vec::new();
    for (text, expected) in [
        ("retry: 3000\n", 3000),
        ("retry: soon\n", 3000),
        ("retry:\n", 3000),
    ] {
        decoder.feed(text.as_bytes(), &mut events).unwrap();
        assert_eq!(decoder.retry_ms(), Some(expected), "{text:?}");
    }
}

#[test]
fn what_is_too_long_is_an_error_and_not_memory() {
    let too_long = Err(Oversized { limit: 16 });
    for bytes in [
        "data: 0123456789abcdef",
        "data: 0123456789abcdef\n",
        "data: 01234567\ndata: 012345678\n",
    ] {
        for size in [1, bytes.len()] {
            let mut decoder = Decoder::with_limit(16);
            let mut events = Vec::new();
            let mut fed = decoder.feed(b"data: ok\n\n", &mut events);
            for piece in bytes.as_bytes().chunks(size) {
                fed = fed.and_then(|()| decoder.feed(piece, &mut events));
            }
            assert_eq!(fed, too_long, "{bytes:?} in pieces of {size}");
            assert_eq!(events.len(), 1);
        }
    }
}

/// A small generator: the same cases on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// Pieces of streams. Left out is what the other reader does otherwise than the standard: a CR alone, and what is no
/// UTF-8.
const PIECES: [&str; 20] = [
    "data: ",
    "data:",
    "data",
    "event: ",
    "event:",
    "id: ",
    "retry: ",
    ": ",
    ":",
    "\n",
    "\n\n",
    "\r\n",
    "\r\n\r\n",
    "a",
    "{\"a\": 1}",
    " ",
    "7",
    "\u{1F600}",
    "ping",
    "x:y",
];

#[test]
fn another_reader_agrees() {
    let mut random = Random(4);
    let mut compared = 0;
    for case in 0..4000 {
        let length = random.below(40);
        let text: String = (0..length)
            .map(|_| PIECES[random.below(PIECES.len())])
            .collect();
        let size = 1 + random.below(9);
        let (ours, _) = decode(text.as_bytes(), size);
        let whole = stream::iter([Ok::<_, std::io::Error>(text.as_bytes().to_vec())]);
        let theirs = whole.eventsource().map(|event| event.unwrap());
        let theirs: Vec<_> = theirs.collect().now_or_never().unwrap();
        let theirs: Vec<_> = theirs
            .into_iter()
            .map(|it| (it.event, it.data, it.id))
            .collect();
        let ours: Vec<_> = ours
            .into_iter()
            .map(|it| {
                let event = it.event.unwrap_or_else(|| "message".to_owned());
                (event, it.data, it.id.unwrap_or_default())
            })
            .collect();
        assert_eq!(ours, theirs, "case {case}: {text:?}");
        compared += ours.len();
    }
    assert!(compared > 1000, "only {compared} events were compared");
}

#[test]
fn cuts_change_nothing() {
    let mut random = Random(7);
    for _ in 0..2000 {
        let length = random.below(60);
        let mut bytes = Vec::new();
        for _ in 0..length {
            match random.below(4) {
                0 => bytes.push(b"\r\n\xF0\x9F\xEF\xBB\xBF\xFF"[random.below(8)]),
                _ => bytes.extend(PIECES[random.below(PIECES.len())].as_bytes()),
            }
        }
        let whole = decode(&bytes, bytes.len().max(1));
        for size in [1, 2, 3, 5] {
            assert_eq!(decode(&bytes, size), whole, "{bytes:?} in pieces of {size}");
        }
    }
}
