//! The estimate of tokens.

use gadgetry_proto::convo::TokenEstimate;
use gadgetry_proto::id::BlockId;
use gadgetry_proto::media::{Media, MediaData, MediaKind};
use gadgetry_proto::message::{Attributes, Content, CustomContentBlock, Message, Role};
use serde_json::json;

use super::words::{call, result};

#[track_caller]
fn check(content: Content, expected: u64) {
    let messages = [Message::new(Role::User, vec![content])];
    let tokens = TokenEstimate::of(&messages).tokens();
    assert_eq!(tokens, expected, "{messages:?}");
}

#[test]
fn four_bytes_are_a_token() {
    let text = |text: &str| Content::Text {
        text: text.to_owned(),
    };
    assert_eq!(TokenEstimate::of(&[]).tokens(), 0);
    check(text(""), 4);
    check(text("a"), 5);
    check(text("abcde"), 6);
    check(text(&"語".repeat(8)), 10);
    check(
        Content::Reasoning {
            text: "not sent again".to_owned(),
        },
        4,
    );
    check(result("ab", "12"), 9);
    check(call("save"), 14);
    check(
        Content::ToolUse {
            tool_use_id: "t".to_owned(),
            name: "Load".to_owned(),
            input: json!({ "path": "x" }),
        },
        17,
    );
    check(
        Content::Custom(CustomContentBlock {
            block_id: BlockId(1),
            tag: "note".to_owned(),
            content: "1234".to_owned(),
            attrs: Attributes::from_iter([("a".to_owned(), json!("x"))]),
            self_closing: false,
        }),
        12,
    );
    // However many bytes a picture has.
    check(
        Content::Media(Media {
            kind: MediaKind::Image,
            mime_type: "image/png".to_owned(),
            data: MediaData::Base64("AAAA".repeat(100_000)),
            name: None,
        }),
        1_004,
    );
    let raw = Message::text(Role::Assistant, "never sent").raw("1234".to_owned());
    assert_eq!(TokenEstimate::of(&[raw]).tokens(), 5);
}

#[test]
fn counts_of_the_provider_replace_the_estimate() {
    // Of a conversation that seems to have 1000 tokens, what a provider says, and what another such half adds then.
    for (observed, same, more) in [
        (0, 1_000, 1_500),
        (1_000, 1_000, 1_500),
        (800, 800, 1_200),
        (1_999, 1_999, 2_999),
        // The rest has other reasons.
        (2_000, 2_000, 3_000),
        (5_000, 5_000, 6_000),
        (500, 500, 750),
        // So little is no measure.
        (100, 500, 750),
        (u64::MAX, u64::MAX, u64::MAX),
    ] {
        let half = Message::text(Role::User, "x".repeat(1_984));
        let mut estimate = TokenEstimate::of(&[half.clone(), half.clone()]);
        estimate.observe(observed);
        assert_eq!(estimate.tokens(), same, "{observed}");
        let saved = serde_json::to_value(estimate).unwrap();
        estimate = serde_json::from_value(saved).unwrap();
        estimate.pushed(&half);
        assert_eq!(estimate.tokens(), more, "{observed}");
        estimate.recount(&[half.clone(), half]);
        assert_eq!(estimate.tokens(), same, "{observed}");
        estimate.observe(0);
        assert_eq!(estimate.tokens(), same, "{observed}");
    }
    let mut empty = TokenEstimate::default();
    empty.observe(300);
    assert_eq!(empty.tokens(), 300);
}
