//! Tests for gadgets and agents: no key, no network, no waiting, and no state that two tests share.
//!
//! | | |
//! |---|---|
//! | [`MockModel`] | answers requests by rules, records them, and complains about what it did not expect |
//! | [`reply`], [`call`] | what it answers: text, calls with ids and dependencies, thoughts, delays, errors, a broken connection |
//! | [`RequestChecker`] | checks every request: each call is answered once, in order, and nothing else is |
//! | [`test_gadget`], [`GadgetTest`] | one gadget by itself, with a context |
//! | [`MockGadget`] | a gadget that does what the test says, and records its calls |
//! | [`EventLog`] | the events of a run, with expectations that fail with the whole log |
//! | [`assert_run!`] | a run in a few lines, compared with the expected ones side by side |
//! | [`replay`] | a saved run, again with the gadgets of today |
//! | [`MockApprover`], [`MockHuman`] | users that answer from a list |
//! | [`conversation`], [`fixtures`] | histories as a run would keep them |
//! | [`split`], [`every_cut`] | ways to cut a text into chunks |
//! | [`paused`], [`elapsed`], [`after`] | virtual time |
//!
//! # A gadget by itself
//!
//! ```
//! use gadgetry::from_fn;
//! use gadgetry::proto::{call::Outcome, schema::GadgetSpec};
//! use gadgetry_testing::{paused, test_gadget};
//! use serde_json::json;
//!
//! let spec = GadgetSpec {
//!     name: "Greet".into(),
//!     parameters: json!({
//!         "type": "object",
//!         "properties": { "whom": { "type": "string", "default": "world" } },
//!     }),
//!     ..GadgetSpec::default()
//! };
//! let greet = from_fn(spec, |p, _| async move {
//!     Outcome::ok(format!("Hello, {}!", p["whom"].as_str().unwrap_or("?")))
//! });
//! let outcome = paused(test_gadget(greet, json!({})));
//! assert_eq!(outcome.expect_result(), "Hello, world!");
//! assert_eq!(outcome.validated_params, Some(json!({ "whom": "world" })));
//! ```
//!
//! # A whole agent
//!
//! The model calls two gadgets, one of which waits for the other, and answers when it has read the results. The clock is
//! paused, so the two seconds that the first gadget takes pass at once, and are seen exactly.
//!
//! ```
//! use std::time::Duration;
//! use gadgetry::Agent;
//! use gadgetry_testing::{EventLog, MockGadget, MockModel, call, elapsed};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // In a test: #[tokio::test(start_paused = true)]
//! let fetch = MockGadget::builder("Fetch").returns("[17, 23]").delay(Duration::from_secs(2)).build();
//! let count = MockGadget::builder("Count").returns("2").build();
//!
//! let model = MockModel::builder()
//!     .when(|m| m.last_message_contains("How many"))
//!     .once()
//!     .replies_with_calls([
//!         call("Fetch").id("users").arg("url", "/api/users"),
//!         call("Count").id("number").after("users").arg("list", "${users}"),
//!     ])
//!     .when(|m| m.has_result("number").last_message_contains("Result (number): 2"))
//!     .once()
//!     .replies_text("There are 2 users.")
//!     .build();
//!
//! let log = EventLog::default();
//! let run = Agent::builder()
//!     .model(model.clone())
//!     .gadget(fetch)
//!     .gadget(count.clone())
//!     .observer(log.clone())
//!     .ask("How many users are there?")?;
//! let (answer, took) = elapsed(run.text()).await;
//!
//! assert_eq!(answer?, "There are 2 users.");
//! assert_eq!(took, Duration::from_secs(2));
//! log.assert_order(["start users", "result users", "start number", "result number"]);
//! assert_eq!(count.call_count(), 1);
//! model.verify();
//! # Ok(())
//! # }
//! ```
//!
//! # When something is wrong
//!
//! A mock model is strict. Here the test expects a word that the agent never says; the report shows the requests, and
//! why each rule refused.
//!
//! ```should_panic
//! use gadgetry::Model;
//! use gadgetry::proto::message::Request;
//! use gadgetry_testing::{MockModel, conversation};
//!
//! let model = MockModel::builder()
//!     .when(|m| m.last_message_contains("weather")).label("forecast").replies_text("Sunny.")
//!     .build();
//! # let request: Request = serde_json::from_value(serde_json::json!({
//! #     "messages": conversation().user("What time is it?").build(), "iteration": 1,
//! # })).unwrap();
//! drop(model.stream(request));
//! model.verify();
//! // the mock model "mock" was called 1 time, not as its rules expect
//! // no rule of the mock model "mock" answers request 1:
//! //     1 user: What time is it?
//! //   rule 1 "forecast" (tests/agent.rs:7:6): the last message contains "weather": it is of the user and reads
//! //     "What time is it?"
//! // rule 1 "forecast" (tests/agent.rs:7:6) never answered; it waits for: the last message contains "weather"
//! ```
//!
//! # Modules
//!
//! A module names only modules above it.
//!
//! | module | what it does |
//! |---|---|
//! | `content`, `render` | the parts of a conversation as lines |
//! | `call`, `cut` | a call as a model writes it; ways to cut a text |
//! | `reply` | an answer of the mock model |
//! | `checker`, `matcher` | checks of requests; conditions of rules |
//! | `model` | [`MockModel`] |
//! | `mock_gadget`, `test_gadget` | a gadget for tests of agents; tests of a gadget |
//! | `answers` | users of tests |
//! | `events`, `story` | [`EventLog`]; a run in a few lines, [`assert_run!`] |
//! | `recorded` | [`replay`] |
//! | `conversation` | histories as a run would keep them |
//! | [`fixtures`] | such histories, of each kind |
//! | `clock` | virtual time |

mod answers;
mod call;
mod checker;
mod clock;
mod content;
mod conversation;
mod cut;
mod events;
pub mod fixtures;
mod matcher;
mod mock_gadget;
mod model;
mod recorded;
mod render;
mod reply;
mod story;
mod test_gadget;

pub use answers::{MockApprover, MockHuman};
pub use call::{MockCall, call};
pub use checker::{RequestChecker, Rule, Violation, Violations};
pub use clock::{after, elapsed, paused};
pub use conversation::{Conversation, conversation};
pub use cut::{Cut, every_cut, every_cut_in_two, split};
pub use events::EventLog;
pub use matcher::{Matcher, any};
pub use mock_gadget::{MockGadget, MockGadgetBuilder, RecordedCall};
pub use model::{Mismatch, MockModel, MockModelBuilder, RuleBuilder, Then};
pub use recorded::{ReplayError, Replayed, replay};
pub use render::render_conversation;
pub use reply::{Reply, reply};
pub use test_gadget::{GadgetTest, TestGadgetResult, test_gadget, test_gadget_batch};
