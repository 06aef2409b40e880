//! What each part of a message counts in an estimate of tokens.

use gadgetry_proto::convo::TokenEstimate;
use gadgetry_proto::message::{Message, Role};
use serde_json::{Value, json};

const FRAME: u64 = 16;
const MEDIUM: u64 = 4_000;

/// A message with this part is worth so many bytes of text. Four of them have as many tokens as one has bytes.
#[track_caller]
fn check(part: &Value, size: u64) {
    let message = json!({ "role": "assistant", "content": [part] });
    let message: Message = serde_json::from_value(message).expect("a message");
    let messages = vec![message; 4];
    let estimate = TokenEstimate::of(&messages);
    assert_eq!(estimate.tokens(), FRAME + size, "{:?}", messages[0]);
    let mut pushed = TokenEstimate::default();
    for message in &messages {
        pushed.pushed(message);
    }
    assert_eq!(pushed, estimate);
}

#[test]
fn every_part_counts_what_a_model_reads_of_it() {
    let picture = |name: Option<&str>| json!({ "kind": "image", "mimeType": "image/png", "data": { "url": "https://a/b.png" }, "name": name });
    let mut named = picture(Some("cat"));
    named["type"] = json!("media");
    let mut unnamed = picture(None);
    unnamed["type"] = json!("media");
    check(&named, MEDIUM + 3);
    check(&unnamed, MEDIUM);
    check(&json!({ "type": "text", "text": "four\u{e4}" }), 6);
    check(&json!({ "type": "reasoning", "text": "not sent again" }), 0);
    let data = json!({ "signature": "abc" });
    check(
        &json!({ "type": "provider_data", "api": "a", "model": "m", "data": data }),
        r#"{"signature":"abc"}"#.len() as u64,
    );
    let attrs = json!({ "page": "x\"y", "n": 12 });
    check(
        &json!({ "type": "custom", "blockId": "block_1", "tag": "cite", "content": "seven..", "attrs": attrs }),
        FRAME + 2 * 4 + (4 + 6) + (1 + 2) + 7,
    );
    let call = json!({
        "type": "gadget_call",
        "gadgetName": "Fetch",
        "invocationId": "users",
        "dependencies": ["a", "bc"],
        "parametersRaw": "0123456789",
        "parameters": {},
        "terminatedBy": "endMarker",
        "span": { "start": 0, "end": 1 },
    });
    check(&call, 2 * FRAME + 5 + (1 + 2 + 5) + 10);
    check(
        &json!({ "type": "tool_use", "toolUseId": "t1", "name": "Bell", "input": { "a": 1 } }),
        2 * FRAME + 2 + 4 + 7,
    );
    check(
        &json!({
            "type": "gadget_result",
            "invocationId": "users",
            "gadgetName": "Fetch",
            "text": "three",
            "isError": false,
            "media": [picture(Some("cat")), picture(None)],
        }),
        FRAME + 5 + 5 + (MEDIUM + 3) + MEDIUM,
    );
    check(
        &json!({ "type": "summary", "text": "brief", "turns": 3 }),
        2 * FRAME + 5,
    );
    check(&json!({ "type": "omission", "turns": 3 }), 4 * FRAME);
}

#[test]
fn a_reply_as_it_was_written_counts_instead_of_its_parts() {
    let mut message = Message::text(Role::Assistant, "x".repeat(1_000));
    message.raw = Some("y".repeat(24));
    assert_eq!(TokenEstimate::of(&vec![message; 4]).tokens(), FRAME + 24);
}

/// A provider's report counts between half and twice the tokens of four bytes each; what is beyond is a fixed addition.
#[test]
fn a_report_changes_the_rate_within_bounds() {
    for (reported, after) in [
        // 1,000 tokens by size; then as many messages again.
        (0, 2_000),
        (500, 1_000),
        (499, 1_000),
        (600, 1_200),
        (1_500, 3_000),
        (2_000, 4_000),
        (5_000, 7_000),
    ] {
        let message = Message::text(Role::User, "x".repeat(4_000 - 16));
        let mut estimate = TokenEstimate::of(std::slice::from_ref(&message));
        estimate.observe(reported);
        estimate.pushed(&message);
        assert_eq!(estimate.tokens(), after, "{reported}");
    }
}
