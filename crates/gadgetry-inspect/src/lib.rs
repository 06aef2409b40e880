//! Runs of gadgetry in a browser: timeline, graph of dependencies, messages, costs.
//!
//! An [`Inspector`] is a list of runs, and a page on this machine that shows them. As a [`Hook`](gadgetry::Hook) of agents it shows their runs
//! while they are in progress:
//!
//! ```no_run
//! use gadgetry::{Agent, ScriptedModel};
//! use gadgetry_inspect::Inspector;
//! use tokio::net::TcpListener;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let inspector = Inspector::new();
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! println!("{}", inspector.url(listener.local_addr()?));
//! tokio::spawn(inspector.clone().serve(listener, std::future::pending()));
//!
//! let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
//! let agent = Agent::builder().model(model).hook(inspector).build()?;
//! agent.ask("What is 2 + 2?").await?;
//! # Ok(())
//! # }
//! ```
//!
//! A [`Recording`] is one run: read from a log, or made by a [`Recorder`]. [`html()`] makes one file of recordings that opens without a server,
//! and [`perfetto()`] a trace for <https://ui.perfetto.dev>.
//!
//! ```
//! use gadgetry::{Agent, ScriptedModel};
//! use gadgetry_inspect::{Recorder, Redaction, html};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
//! let mut recorder = Recorder::default();
//! Agent::builder().model(model).ask("What is 2 + 2?")?.observe(&mut recorder).await?;
//! let page = html(&[recorder.finish()], &Redaction::from_env());
//! assert!(page.contains("What is 2 + 2?"));
//! # Ok(())
//! # }
//! ```
//!
//! # Modules, in the order in which they depend on each other
//!
//! | module | what it has |
//! |---|---|
//! | `keys` | keys in texts, by their form |
//! | `record` | records of a run as lines of JSON, within limits |
//! | `recording` | [`Recording`]: the records of one run |
//! | `recorder` | [`Recorder`], which makes them of events, requests and replies |
//! | `read` | recordings from logs and files of events |
//! | `redact` | [`Redaction`]: keys removed from values |
//! | `assets` | files of the page |
//! | `html` | [`html()`] |
//! | `perfetto` | [`perfetto()`] |
//! | `token` | the secret in the address of a page |
//! | `inspector` | [`Inspector`]: the list of runs |
//! | `live` | the inspector as a hook of agents |
//! | `exchange` | [`LiveExchange`]: requests to a gateway as runs |
//! | `admission` | which requests are answered |
//! | `server` | the answers |
//! | `guide` | documents whose code is compiled |

mod admission;
mod assets;
mod exchange;
#[cfg(doctest)]
mod guide;
mod html;
mod inspector;
mod keys;
mod live;
mod perfetto;
mod read;
mod record;
mod recorder;
mod recording;
mod redact;
mod server;
mod token;

pub use exchange::LiveExchange;
pub use html::html;
pub use inspector::{Inspector, RunEntry};
pub use perfetto::perfetto;
pub use recorder::Recorder;
pub use recording::Recording;
pub use redact::Redaction;
