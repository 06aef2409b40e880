//! The program of `README.md`, as a doc test. `tests/examples.rs` compares the two.
//!
//! ```no_run
//! use gadgetry::{Agent, gadget};
//!
//! /// Get the weather for a city.
//! #[gadget(timeout = "10s")]
//! async fn weather(
//!     /// City name, like "Paris"
//!     city: String,
//! ) -> Result<String, std::io::Error> {
//!     Ok(format!("{city}: 21 degrees"))
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let agent = Agent::builder()
//!         .named("ollama:llama3.2")? // or "haiku", with ANTHROPIC_API_KEY; 29 providers have names
//!         .gadget(Weather)
//!         .build()?;
//!     println!("{}", agent.ask("What is the weather in Paris?").text().await?);
//!     Ok(())
//! }
//! ```
