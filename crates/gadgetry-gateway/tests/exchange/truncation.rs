//! A reply that breaks off anywhere has no call that the whole reply would not have, and pieces do not matter.

use gadgetry_gateway::ClientApi;
use gadgetry_gateway::exchange::ExchangeStep;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::error::{ModelError, ModelErrorKind};

use crate::support::exchanges::{Client, Received, ask, end, feed};

/// A reply with everything in it.
const GOLDEN: &str = "<think>Two calls.</think>\nI look, \\{S}not here.\n{S}weather:w\n{A}city\nParis\n\\{E}\n{E}\nBetween — é€.\n\
    {S}sum:s\n{A}a\n12\n{A}b\n345\n{E}\n{S}sum:t:s\n{A}a\n${s}\n{A}b\n1\n{E}\n\
    <tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>\nAfter.";

fn whole(client: &Client, size: usize) -> Received {
    let mut exchange = client.exchange(ask("Hi"), 1);
    let mut out = Vec::new();
    let progress = feed(&mut exchange, &client.written(GOLDEN), size, &mut out);
    assert_eq!(progress, ExchangeStep::Done);
    Received::of(&out)
}

#[test]
fn pieces_do_not_matter() {
    let client = Client::new(ClientApi::Chat);
    let expected = whole(&client, usize::MAX);
    assert_eq!(expected.calls.len(), 3);
    for size in 1..client.written(GOLDEN).len() {
        assert_eq!(whole(&client, size), expected, "{size}");
    }
}

#[test]
fn nothing_that_was_cut_is_called() {
    let client = Client::new(ClientApi::Chat);
    let golden = client.written(GOLDEN);
    let all = whole(&client, usize::MAX);
    let error = || Delta::Error(ModelError::new(ModelErrorKind::Truncated, "broken off"));
    for at in (0..golden.len()).filter(|at| golden.is_char_boundary(*at)) {
        for reason in [None, Some(StopReason::MaxTokens), Some(StopReason::Stop)] {
            let mut exchange = client.exchange(ask("Hi"), 1);
            let mut out = Vec::new();
            exchange.push(Delta::text(&golden[..at]), &mut out);
            let progress = match &reason {
                None => exchange.push(error(), &mut out),
                Some(reason) => end(&mut exchange, reason.clone(), &mut out),
            };
            let received = Received::of(&out);
            let count = received.calls.len();
            assert_eq!(received.calls[..], all.calls[..count], "{at} {reason:?}");
            // What was cut within a marker, a tag or another form of a call is text: it is no call.
            let shown = whole_text(&client, &received.text);
            assert!(all.text.starts_with(shown), "{at} {reason:?}: {received:?}");
            if reason != Some(StopReason::Stop) {
                assert_eq!(progress, ExchangeStep::Done, "{at} {reason:?}");
            }
        }
    }
}

/// The text without a marker, a tag or a form of a call at its end that has only begun.
fn whole_text<'t>(client: &Client, text: &'t str) -> &'t str {
    let start = client.secrets().markers.start().to_owned();
    let line = text.rfind('\n').map_or(0, |at| at + 1);
    let last = &text[line..];
    let begins = [start.as_str(), "<tool_call>", "<think>"];
    match text.find("<tool_call>") {
        Some(at) => &text[..at],
        None if begins.iter().any(|it| it.starts_with(last)) => &text[..line],
        None => text,
    }
}
