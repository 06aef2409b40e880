//! A `Result` that was not looked at.

use gadgetry::Agent;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let _ = Agent::builder().named("haiku").build();
    Ok(())
}
