//! A run that borrows a conversation and outlives it.

use gadgetry::{Agent, AgentRun, Conversation};

fn run(agent: &Agent) -> AgentRun<'static> {
    let mut conversation = Conversation::default();
    agent.ask_in(&mut conversation, "Hello")
}

fn main() {
    let _ = run;
}
