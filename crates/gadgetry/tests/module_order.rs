//! Modules name only modules above them in the table of the crate's root, and no files are in a circle.

use gadgetry_order::Order;

/// Arrows that close circles. This list only shrinks.
const CLOSING: &[&str] = &[
    "agent/durable.rs -> agent/run.rs",
    "agent/mod.rs -> agent/builder/mod.rs",
    "agent/mod.rs -> agent/run.rs",
    "agent/run.rs -> agent/typed.rs",
    "approval/binding.rs -> approval/mod.rs",
    "ask/attempt.rs -> ask/mod.rs",
    "ask/retries.rs -> ask/mod.rs",
    "command/exec.rs -> command/mod.rs",
    "command/file.rs -> command/mod.rs",
    "provider/adapter/builder.rs -> provider/adapter/mod.rs",
    "provider/anthropic/mod.rs -> provider/anthropic/request/encode.rs",
    "provider/anthropic/reply/block.rs -> provider/anthropic/mod.rs",
    "provider/http/exchange.rs -> provider/http/mod.rs",
    "provider/http/mod.rs -> provider/http/models.rs",
    "provider/http/proxy.rs -> provider/http/mod.rs",
    "provider/openai/chat/mod.rs -> provider/openai/chat/request/encode.rs",
    "provider/openai/chat/reply/kept.rs -> provider/openai/chat/mod.rs",
    "provider/openai/responses/mod.rs -> provider/openai/responses/request/encode.rs",
    "provider/openai/responses/reply/decode.rs -> provider/openai/responses/mod.rs",
    "provider/resolve/build.rs -> provider/resolve/mod.rs",
    "provider/server/mod.rs -> provider/server/probe.rs",
    "provider/wire_model.rs -> provider/mod.rs",
    "skill/gadget.rs -> skill/mod.rs",
];

#[test]
fn modules_are_in_order() {
    Order::of(env!("CARGO_MANIFEST_DIR"))
        .except(CLOSING)
        .check();
}
