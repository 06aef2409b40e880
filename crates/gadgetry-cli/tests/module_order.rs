//! Modules name only modules above them in the table of the crate's root, and no files are in a circle.

use gadgetry_order::Order;

/// Arrows that close circles. This list only shrinks.
const CLOSING: &[&str] = &[
    "chat/state.rs -> chat/editor.rs",
    "chat/state.rs -> chat/state/dialog.rs",
    "chat/state.rs -> chat/state/run.rs",
    "commands/agent.rs -> commands/continued.rs",
    "commands/batch.rs -> commands/mod.rs",
    "commands/gadget.rs -> commands/gadget/info.rs",
    "commands/gadget.rs -> commands/gadget/run.rs",
    "commands/mcp.rs -> commands/mcp/import.rs",
    "commands/mcp.rs -> commands/mcp/list.rs",
    "commands/mcp.rs -> commands/mcp/login.rs",
    "commands/mcp.rs -> commands/mcp/serve.rs",
    "commands/mcp.rs -> commands/mcp/test.rs",
    "commands/mcp.rs -> commands/mcp/trust.rs",
    "commands/sessions.rs -> commands/sessions/show.rs",
    "commands/sessions/list.rs -> commands/sessions/show.rs",
    "commands/write.rs -> commands/mod.rs",
    "config/file.rs -> config/models.rs",
    "sessions/asker.rs -> sessions/mod.rs",
];

/// Modules that name modules below them. This list only shrinks.
const UPWARD: &[&str] = &[];

#[test]
fn modules_are_in_order() {
    Order::of(env!("CARGO_MANIFEST_DIR"))
        .except(CLOSING)
        .except_upward(UPWARD)
        .check();
}
