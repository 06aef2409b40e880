//! The event stream, encoded and decoded.

use gadgetry_providers::sse::{Decoder, SseEvent};
use proptest::prelude::*;

fn line() -> impl Strategy<Value = Option<String>> {
    proptest::option::of("[a-z :{}\"é漢🦀]{1,8}[a-z]")
}

proptest! {
    #[test]
    fn events_are_decoded_again(
        events in proptest::collection::vec((line(), "[a-z\n :é🦀\"]{0,12}"), 0..6),
        size in 1_usize..9,
    ) {
        let events: Vec<SseEvent> = events
            .into_iter()
            .map(|(event, data)| SseEvent { event, data, id: None })
            .collect();
        let mut stream = String::new();
        for event in &events {
            event.encode(&mut stream);
        }
        let mut decoder = Decoder::new();
        let mut read = Vec::new();
        for piece in stream.as_bytes().chunks(size) {
            decoder.feed(piece, &mut read).unwrap();
        }
        // A name of blanks at its start loses one of them, as every field of the format.
        let trimmed = events.iter().map(|event| SseEvent {
            event: event.event.clone(),
            ..event.clone()
        });
        prop_assert_eq!(read, trimmed.collect::<Vec<_>>());
        prop_assert_eq!(decoder.finish().unwrap(), None);
    }
}
