//! OpenTelemetry traces of gadgetry's agents: a span for each run, model call and gadget.
//!
//! ```text
//! invoke_agent clerk                    the run
//! ├─ chat claude-haiku-4-5              a reply
//! │  ├─ execute_tool Fetch              a gadget that the reply calls; it may outlast the reply
//! │  └─ execute_tool Merge              linked to `Fetch`, on which it depends
//! │     └─ invoke_agent summariser      a subagent of that gadget
//! └─ chat claude-haiku-4-5
//! ```
//!
//! [`Spans`] is a hook: it makes spans from the events of runs, with the names of the
//! [conventions for generative AI](https://github.com/open-telemetry/semantic-conventions-genai), and gives them to a tracer of yours.
//!
//! ```
//! use gadgetry::{Agent, ScriptedModel};
//! use gadgetry_otel::Spans;
//! use opentelemetry::trace::TracerProvider as _;
//! use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let exporter = InMemorySpanExporter::default(); // yours sends them
//! let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
//!
//! let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
//! let agent = Agent::builder().model(model).hook(Spans::new(provider.tracer("shop"))).build()?;
//! agent.ask("What is 2 + 2?").await?;
//!
//! let spans = exporter.get_finished_spans()?;
//! let names: Vec<_> = spans.iter().map(|span| &*span.name).collect();
//! assert_eq!(names, ["chat script", "invoke_agent"]);
//! # Ok(())
//! # }
//! ```
//!
//! A program without OpenTelemetry of its own takes [`Exporter`], which reads the variables `OTEL_…` and sends spans as OTLP over HTTP.
//! The spans of a saved run are made by [`Spans::replay`].
//!
//! A run is below the [`TraceContext`](gadgetry::TraceContext) among its values (`agent.ask("…")?.with(trace)`), or else below the span that
//! is current where it begins, as of the request that it answers. Models and MCP servers receive the span of the reply or call in `traceparent`. What a model reads and writes, and the
//! messages of errors, are only in spans that [`Spans::content`] asks for.
//!
//! # Modules, in the order in which they depend on each other
//!
//! | module | what it has |
//! |---|---|
//! | [`names`] | the names of attributes |
//! | `usage`, `context` | token counts as attributes; contexts as other programs send and receive them |
//! | `content` | messages in the form of the conventions |
//! | `call` | the span of a gadget |
//! | `run` | the spans of one run |
//! | `tree` | the spans of a run and its subagents |
//! | `spans` | [`Spans`], for all runs |
//! | `requests` | [`RequestSpans`], of a gateway |
//! | `delivery` | the way of spans to a collector |
//! | `export` | [`Exporter`] |
//! | `guide` | documents whose code is compiled |

mod call;
mod content;
mod context;
mod delivery;
mod export;
#[cfg(doctest)]
mod guide;
pub mod names;
mod requests;
mod run;
mod spans;
mod tree;
mod usage;

pub use export::{Exporter, ExporterError};
/// The tracer of an [`Exporter`], and its spans.
pub use opentelemetry_sdk::trace::{SdkTracer, Span as SdkSpan};
pub use requests::{RequestEnd, RequestSpans};
pub use spans::{Replay, Spans};
