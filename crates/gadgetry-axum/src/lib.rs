//! Agents on the web, as handlers and routers of axum.
//!
//! | module | what it does |
//! |---|---|
//! | `chat` | the messages that a client sends, as a conversation and a question |
//! | `ui` | [`UiMessages`]: events as the parts of the AI SDK's UI message stream |
//! | `runs` | [`Runs`]: handles of runs by id; approvals and cancellation over HTTP |
//! | `sse` | [`Sse`]: a run as the body of a response |
//! | `reply` | a run as the reply of a model |
//! | `endpoint` | [`OpenAi`]: agents as an OpenAI-compatible endpoint |
//! | `local` | [`for_this_machine`]: refuses what pages of others send |
//! | `guide` | documents whose code is compiled |
//!
//! ```no_run
//! use axum::extract::State;
//! use axum::response::{IntoResponse, Response};
//! use axum::{Router, routing::post};
//! use gadgetry::Agent;
//! use gadgetry_axum::{OpenAi, Runs, Sse, UiRequest};
//!
//! async fn chat(State((agent, runs)): State<(Agent, Runs)>, body: String) -> Response {
//!     let Ok(request) = body.parse::<UiRequest>() else {
//!         return axum::http::StatusCode::BAD_REQUEST.into_response();
//!     };
//!     // A client that leaves drops the body, and with it the run, its model call and its gadgets.
//!     let run = agent.ask_owned(request.conversation(), request.question());
//!     match Sse::ui_messages(run).listed_in(&runs, request.id()) {
//!         Ok(stream) => stream.into_response(),
//!         Err(_) => axum::http::StatusCode::CONFLICT.into_response(),
//!     }
//! }
//!
//! fn app(agent: Agent) -> Router {
//!     let runs = Runs::default();
//!     let endpoint = OpenAi::new().agent("support", agent.clone()).router();
//!     Router::new()
//!         .route("/api/chat", post(chat))
//!         .with_state((agent, runs.clone()))
//!         .nest("/api/runs", runs.router())
//!         .merge(endpoint)
//! }
//! ```
//!
//! The routes check no keys: a layer of the application decides who may ask, read and approve. Without users, on one machine, it is
//! [`for_this_machine`].

mod chat;
mod endpoint;
#[cfg(doctest)]
mod guide;
mod local;
mod reply;
mod runs;
mod sse;
mod ui;

pub use chat::{InvalidRequest, UiRequest};
pub use endpoint::OpenAi;
pub use local::for_this_machine;
pub use runs::{ListedRun, RunExists, Runs};
pub use sse::Sse;
pub use ui::UiMessages;
