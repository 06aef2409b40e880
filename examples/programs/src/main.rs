//! Small programs on gadgetry, to copy from: `cargo run -p gadgetry-programs NAME`.

#![allow(clippy::print_stdout, reason = "programs show what they do")]

mod approvals;
mod chat;
mod durable;
mod gateway;
mod guards;
mod mcp;
mod parser;
mod plan;
mod state;
mod stream;
mod tags;
#[cfg(test)]
mod tests;
mod typed;
mod weather;

/// Error of a program, whatever it is.
type Error = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Error> {
    match std::env::args().nth(1).as_deref() {
        Some("approvals") => approvals::main(),
        Some("chat") => chat::main(),
        Some("durable") => durable::main(),
        Some("gateway") => gateway::main(),
        Some("guards") => guards::main(),
        Some("mcp") => mcp::main(),
        Some("parser") => parser::main(),
        Some("plan") => plan::main(),
        Some("state") => state::main(),
        Some("stream") => stream::main(),
        Some("tags") => tags::main(),
        Some("typed") => typed::main(),
        Some("weather") => weather::main(),
        _ => Err("name a program: approvals, chat, durable, gateway, guards, mcp, parser, plan, state, stream, tags, typed, weather".into()),
    }
}
