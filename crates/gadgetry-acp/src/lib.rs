//! Agents of gadgetry in editors, by the [Agent Client Protocol](https://agentclientprotocol.com).
//!
//! [`serve`] is the agent's end of a connection, over any pair of streams. The program is the [`Host`]: it makes sessions, and begins a
//! run for each prompt. Everything else is here: messages, updates, permissions, cancellation.
//!
//! | module | what it does |
//! |---|---|
//! | `error` | errors of hosts, as the client reads them |
//! | `lines`, `peer` | messages of the client, a line each; messages to it, and its answers |
//! | `prompt`, `diff` | prompts as content of messages; diffs as texts before and after |
//! | `live`, `terminal` | what is seen of calls that run; commands in terminals of the client |
//! | `blocks` | texts, media and facts about calls as content of updates |
//! | `client` | [`Client`]: the user of a session, as approver and human of its agents, and its editor |
//! | `host` | [`Host`], [`HostSession`], and the plain data that they give |
//! | `offer`, `updates`, `permission` | options and commands, events, approvals in the types of the protocol |
//! | `time` | times as the protocol has them |
//! | `session` | a session: a task, with one run at a time |
//! | `server` | [`serve`]: the connection |
//!
//! ```
//! use std::path::Path;
//!
//! use gadgetry::approval::{Approvals, Rules};
//! use gadgetry::{Agent, Conversation, Finished, ScriptedModel};
//! use gadgetry_acp::{
//!     About, CallDescription, CallKind, Host, HostError, HostSession, Offer, Past, Prompt, SessionEntry, Setup, Turn, serve,
//! };
//!
//! struct Helper;
//!
//! struct Talk {
//!     agent: Agent,
//!     conversation: Conversation,
//!     runs: u32,
//! }
//!
//! impl Host for Helper {
//!     type Session = Talk;
//!
//!     fn about(&self) -> About {
//!         About::new("helper", "1.0.0")
//!     }
//!
//!     async fn log_in(&self, _: &str) -> Result<(), HostError> {
//!         Ok(())
//!     }
//!
//!     async fn create(&self, setup: Setup) -> Result<Talk, HostError> {
//!         let model: ScriptedModel = r#"{"text": "Hello!"}"#.parse().map_err(|_| HostError::Failed("no model".to_owned()))?;
//!         let approvals = Approvals::new(Rules::default()).approver(setup.client.clone());
//!         let agent = Agent::builder().model(model).approvals(approvals).on_human_input(setup.client).build();
//!         let agent = agent.map_err(|error| HostError::Failed(error.to_string()))?;
//!         Ok(Talk { agent, conversation: Conversation::default(), runs: 0 })
//!     }
//!
//!     async fn open(&self, id: &str, _: Setup) -> Result<Talk, HostError> {
//!         Err(HostError::UnknownSession(id.to_owned()))
//!     }
//!
//!     async fn list(&self, _: Option<&Path>, _: usize, _: usize) -> Result<Vec<SessionEntry>, HostError> {
//!         Ok(Vec::new())
//!     }
//! }
//!
//! impl HostSession for Talk {
//!     fn id(&self) -> &str {
//!         "the-only-one"
//!     }
//!
//!     fn offer(&self) -> Offer {
//!         Offer::default()
//!     }
//!
//!     fn describe(&self, gadget: &str, _: Option<&serde_json::Value>) -> CallDescription {
//!         CallDescription::new(CallKind::Other, gadget)
//!     }
//!
//!     fn runs(&self) -> Vec<u32> {
//!         Vec::new()
//!     }
//!
//!     async fn past(&mut self, _: u32) -> Result<Vec<Past>, HostError> {
//!         Ok(Vec::new())
//!     }
//!
//!     async fn prompt(&mut self, prompt: Prompt) -> Result<Turn, HostError> {
//!         self.runs += 1;
//!         let before = std::mem::take(&mut self.conversation);
//!         Ok(Turn::new(self.runs, self.agent.ask_owned(before, prompt.texts())))
//!     }
//!
//!     fn ended(&mut self, finished: &Finished) {
//!         self.conversation = finished.into();
//!     }
//!
//!     async fn set(&mut self, _: &str, _: &str) -> Result<(), HostError> {
//!         Ok(())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), gadgetry_acp::ServeError> {
//! // Here a client that leaves at once; a program takes stdin and stdout.
//! serve(Helper, tokio::io::empty(), tokio::io::sink(), std::future::pending()).await
//! # }
//! ```

mod blocks;
mod client;
mod diff;
mod error;
mod host;
mod lines;
mod live;
mod offer;
mod peer;
mod permission;
mod prompt;
mod server;
mod session;
mod terminal;
mod time;
mod updates;

pub use client::Client;
pub use diff::Change;
pub use error::{HostError, ServeError, TerminalError};
pub use host::{
    About, CallDescription, CallKind, Choice, Host, HostSession, Login, Offer, OptionKind, Past,
    SessionEntry, SessionOption, Setup, SlashCommand, Step, StepProgress, ToolServer,
    ToolTransport, Turn,
};
pub use prompt::Prompt;
pub use server::serve;
