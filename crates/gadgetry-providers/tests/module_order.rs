//! Modules name only modules above them in the table of the crate's root, and no files are in a circle.

use gadgetry_order::Order;

/// Arrows that close circles. This list only shrinks.
const CLOSING: &[&str] = &[
    "adapter/builder.rs -> adapter/mod.rs",
    "anthropic/mod.rs -> anthropic/request/encode.rs",
    "anthropic/reply/block.rs -> anthropic/mod.rs",
    "http/exchange.rs -> http/mod.rs",
    "http/mod.rs -> http/models.rs",
    "http/proxy.rs -> http/mod.rs",
    "openai/chat/mod.rs -> openai/chat/request/encode.rs",
    "openai/chat/reply/kept.rs -> openai/chat/mod.rs",
    "openai/responses/mod.rs -> openai/responses/request/encode.rs",
    "openai/responses/reply/decode.rs -> openai/responses/mod.rs",
    "resolve/build.rs -> resolve/mod.rs",
    "server/mod.rs -> server/probe.rs",
];

#[test]
fn modules_are_in_order() {
    Order::of(env!("CARGO_MANIFEST_DIR"))
        .except(CLOSING)
        .check();
}
