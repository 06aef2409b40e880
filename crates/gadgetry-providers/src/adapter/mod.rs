//! Any client as a [`Model`], from three closures: the input, the call, and the meaning of a chunk.
//!
//! The specification's `createAdapter`. A client that streams needs
//! [`prepare_input`](AdapterBuilder::prepare_input), [`execute_stream`](AdapterBuilder::execute_stream) and
//! [`map_chunk`](AdapterBuilder::map_chunk); one that answers at once has [`execute`](AdapterBuilder::execute) and
//! [`map_output`](AdapterBuilder::map_output) instead. What is left out does not compile.
//!
//! ```
//! use futures_util::stream;
//! use gadgetry::{Agent, CustomBlock, Delta, prompt_text};
//! use gadgetry::provider::adapter::Adapter;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let echo = Adapter::builder("echo")
//!     .prepare_input(|request| {
//!         let last = request.messages.last();
//!         last.map_or_else(String::new, |message| prompt_text(message).into_owned())
//!     })
//!     // In place of a client: it gives pieces of four bytes.
//!     .execute_stream(|prompt: String| {
//!         let chunks: Vec<_> = prompt.as_bytes().chunks(4).map(|c| std::str::from_utf8(c).map(str::to_owned)).collect();
//!         stream::iter(chunks)
//!     })
//!     .map_chunk(|chunk| [Delta::text(chunk)])
//!     .custom_block(CustomBlock::think())
//!     .custom_block(CustomBlock::new("done").suppress())
//!     .build();
//!
//! let answer = Agent::builder().model(echo).ask("<think>easy</think>4<done/>")?.text().await?;
//! assert_eq!(answer, "4");
//! # Ok(())
//! # }
//! ```
//!
//! # Custom blocks and transforms
//!
//! Those of an adapter are added to every agent that uses it, before the agent's own, and are listed in its prompt. A tag or
//! a key that both define is an `AgentError`. Without an agent, [`intercepted`] applies them to one
//! reply.

mod builder;
mod error;
mod intercept;
mod merge;
mod reply;
mod tag_parser;

use std::fmt;
use std::sync::Arc;

use futures_core::stream::BoxStream;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::Request;
use gadgetry_proto::tags::CustomBlock;
use gadgetry_proto::transform::TransformFactory;
use serde_json::{Map, Value};

use crate::model::{Model, ModelInfo};

use merge::deep_merge;

pub use builder::{AdapterBuilder, Complete, NeedsClient, NeedsInput, NeedsMapping, NeedsOutput};
pub use error::AdapterError;
pub use intercept::{intercepted, piped};
pub use tag_parser::{StreamTagParser, TagHandler};

/// A client of the user as a model. Cheap to clone. Made by [`Adapter::builder`]; see the [module](self).
#[derive(Clone)]
pub struct Adapter {
    inner: Arc<Inner>,
}

struct Inner {
    about: About,
    reply: ReplyFn,
}

/// Answers one request.
type ReplyFn = Arc<dyn Fn(&About, Request) -> BoxStream<'static, Delta> + Send + Sync>;

/// An adapter without its closures.
#[derive(Clone, Default)]
struct About {
    metadata: AdapterMetadata,
    info: ModelInfo,
    options: Map<String, Value>,
    custom_blocks: Vec<CustomBlock>,
    transforms: Vec<TransformFactory>,
    requires_end: bool,
}

/// A request with the options of the adapter. It can be used like the [`Request`] in it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AdapterRequest {
    /// The request of the run.
    pub request: Request,
    /// The [defaults](AdapterBuilder::options) of the adapter, with [those of the caller](Adapter::with_options) over
    /// them.
    pub options: Map<String, Value>,
}

impl std::ops::Deref for AdapterRequest {
    type Target = Request;

    fn deref(&self) -> &Request {
        &self.request
    }
}

/// The name, provider and capabilities of an adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdapterMetadata {
    /// The name of the model.
    pub id: String,
    /// The provider that serves it.
    pub provider: Option<String>,
    /// Capabilities, as the application names them.
    pub capabilities: Vec<String>,
}

impl Adapter {
    /// Returns the same client with other options, merged into those it has: objects field by field at every level. Other values,
    /// lists too, replace those of the same name; a `null` removes the field.
    ///
    /// ```
    /// use futures_util::future::ready;
    /// use gadgetry::provider::adapter::Adapter;
    /// use gadgetry::serde_json::{Value, json};
    /// use gadgetry::{Agent, Delta};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = Adapter::builder("client")
    ///     .options(json!({"temperature": 1, "limits": {"tokens": 100, "seconds": 5}}))
    ///     .prepare_input(|request| Value::from(request.options.clone()).to_string())
    ///     .execute(|input| ready(Ok::<_, std::io::Error>(input)))
    ///     .map_output(|output| [Delta::text(output)])
    ///     .build();
    /// let short = client.with_options(json!({"limits": {"tokens": 10}}));
    /// let answer = Agent::builder().model(short).ask("Hi")?.text().await?;
    /// assert_eq!(answer, r#"{"temperature":1,"limits":{"tokens":10,"seconds":5}}"#);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_options(&self, options: Value) -> Self {
        let mut about = self.inner.about.clone();
        if let Value::Object(options) = options {
            deep_merge(&mut about.options, options);
        }
        let reply = Arc::clone(&self.inner.reply);
        Self {
            inner: Arc::new(Inner { about, reply }),
        }
    }

    /// Returns the name, provider and capabilities.
    pub fn metadata(&self) -> &AdapterMetadata {
        &self.inner.about.metadata
    }
}

impl Model for Adapter {
    fn stream(&self, request: Request) -> BoxStream<'static, Delta> {
        (self.inner.reply)(&self.inner.about, request)
    }

    fn name(&self) -> &str {
        &self.inner.about.metadata.id
    }

    fn info(&self) -> ModelInfo {
        self.inner.about.info.clone()
    }

    fn custom_blocks(&self) -> Vec<CustomBlock> {
        self.inner.about.custom_blocks.clone()
    }

    fn transforms(&self) -> Vec<TransformFactory> {
        self.inner.about.transforms.clone()
    }
}

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adapter")
            .field("metadata", &self.inner.about.metadata)
            .finish_non_exhaustive()
    }
}
