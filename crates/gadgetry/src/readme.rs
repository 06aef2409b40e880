//! The programs of `README.md`, as doc tests: there they are without what only a test needs. `tests/examples.rs` holds
//! the two against each other.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let model = gadgetry_testing::MockModel::builder()
//! #     .when(|m| m.last_message_contains("What is the weather"))
//! #     .replies_with_call(gadgetry_testing::call("Weather").id("w").arg("city", "Paris"))
//! #     .when(|m| m.last_message_contains("Result (w): Paris: 21 degrees"))
//! #     .replies_text("It is warm.")
//! #     .build();
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
//! let answer = Agent::builder()
//!     .model(model)               // anything that implements `Model`
//!     .gadget(Weather)
//!     .max_iterations(10)
//!     .ask("What is the weather in Paris?")?
//!     .text()
//!     .await?;
//! # assert_eq!(answer, "It is warm.");
//! # Ok(())
//! # }
//! ```
//!
//! ```no_run
//! # async fn real() -> Result<(), Box<dyn std::error::Error>> {
//! let agent = gadgetry::Agent::builder()
//!     .named("haiku")?            // needs ANTHROPIC_API_KEY; `ollama:llama3.2` needs none
//!     .build()?;
//! println!("{}", agent.ask("What is 2 + 2?").text().await?);
//! # Ok(())
//! # }
//! ```
