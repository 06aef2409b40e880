//! Gadgets as the tools of an MCP server, and skills as its prompts.
//!
//! A call is executed as in a run of an agent: parameters are checked by the schema, its timeout holds, a cancellation
//! reaches the gadget, a panic is an error, and approvals decide first. Errors are results with `isError`, because clients do
//! not show protocol errors to their models; only an unknown tool is one.
//!
//! ```no_run
//! use gadgetry::{Toolbox, gadget};
//! use gadgetry_mcp::GadgetServer;
//!
//! /// Adds two numbers.
//! #[gadget]
//! fn add(a: f64, b: f64) -> f64 {
//!     a + b
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let mut toolbox = Toolbox::default();
//! toolbox.add(Add)?;
//! GadgetServer::new(toolbox)?.serve_stdio(std::future::pending()).await?;
//! # Ok(())
//! # }
//! ```

mod approval;
mod call;
mod calls;
mod content;
mod handler;
mod http;
mod listening;
mod prompts;
mod question;
mod requests;
mod sessions;
mod stdio;

use std::io;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use gadgetry::approval::{Approvals, Rules};
use gadgetry::{Classified, DynHook, Fault, Hooks, Skills, Toolbox};
use tokio::time::timeout;

use approval::Seals;
use calls::Calls;

pub use http::HttpOptions;

/// Maximum time for calls in flight to end after a cancellation.
const DRAIN: Duration = Duration::from_secs(10);

/// Gadgets, ready to be served to MCP clients. Clones share the limits of calls in flight.
#[derive(Clone)]
pub struct GadgetServer {
    options: Arc<Options>,
    shared: Arc<Shared>,
}

#[derive(Clone)]
struct Options {
    toolbox: Toolbox,
    skills: Skills,
    approvals: Approvals,
    hooks: Hooks,
    name: String,
    instructions: Option<String>,
    output_limit: usize,
    timeout: Duration,
}

struct Shared {
    seals: Seals,
    calls: Calls,
}

impl GadgetServer {
    /// A server for these gadgets.
    ///
    /// Calls of gadgets whose [permission](gadgetry::DynGadget::permission) is to ask need the approval of the client's user, see
    /// [`GadgetServer::approvals`].
    ///
    /// # Errors
    ///
    /// [`ServeError::NoRandomness`] if the system has no source of randomness.
    pub fn new(toolbox: Toolbox) -> Result<Self, ServeError> {
        let options = Options {
            toolbox,
            skills: Skills::new(),
            approvals: Approvals::new(Rules::default()),
            hooks: Hooks::default(),
            name: "gadgetry".to_owned(),
            instructions: None,
            output_limit: 400_000,
            timeout: Duration::from_mins(10),
        };
        let shared = Shared {
            seals: Seals::new().ok_or(ServeError::NoRandomness)?,
            calls: Calls::default(),
        };
        Ok(Self {
            options: Arc::new(options),
            shared: Arc::new(shared),
        })
    }

    /// Adds skills, which clients find as prompts.
    #[must_use]
    pub fn skills(self, skills: Skills) -> Self {
        self.with(|options| options.skills = skills)
    }

    /// Sets the rules that decide about calls. A call that needs approval is put to the client's user (elicitation), and denied
    /// if the client cannot do that. An approver that is set in `approvals` is not used.
    #[must_use]
    pub fn approvals(self, approvals: Approvals) -> Self {
        self.with(|options| options.approvals = approvals)
    }

    /// Adds a hook of all calls: each is a run of one call. A `traceparent` in the `_meta` of a call is a
    /// [`TraceContext`](gadgetry::TraceContext) among the [values](gadgetry::RunContext::get) of that run.
    #[must_use]
    pub fn hook(self, hook: impl DynHook + 'static) -> Self {
        self.with(|options| options.hooks = mem::take(&mut options.hooks).with(hook))
    }

    /// Sets the name that clients read; `gadgetry` by default.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        self.with(|options| options.name = name.into())
    }

    /// Sets what clients read about the server as a whole.
    #[must_use]
    pub fn instructions(self, text: impl Into<String>) -> Self {
        self.with(|options| options.instructions = Some(text.into()))
    }

    /// Sets how many bytes of text a result may have, after which it is cut with a note; 400,000 by default.
    #[must_use]
    pub fn output_limit(self, bytes: usize) -> Self {
        self.with(|options| options.output_limit = bytes)
    }

    /// Sets how long a call may take whose gadget says nothing about that; 10 minutes by default.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with(|options| options.timeout = timeout)
    }

    fn with(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(Arc::make_mut(&mut self.options));
        self
    }

    /// Waits until no call is in flight.
    async fn drain(&self) {
        if timeout(DRAIN, self.shared.calls.drain()).await.is_err() {
            tracing::warn!("not all calls have ended in time");
        }
    }
}

impl std::fmt::Debug for GadgetServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GadgetServer")
            .field("toolbox", &self.options.toolbox)
            .field("skills", &self.options.skills.len())
            .field("approvals", &self.options.approvals)
            .finish_non_exhaustive()
    }
}

/// Error of gadgets that cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The system has no source of randomness, which approvals need.
    #[error("no source of randomness available")]
    NoRandomness,
    /// Other machines could reach the server, and nothing keeps them out.
    #[error(
        "the address is not of this machine alone, so a key is needed; set one, or listen on 127.0.0.1"
    )]
    KeyNeeded,
    /// A key that is empty or cannot be sent.
    #[error("a key must have at least 16 characters, of those that HTTP admits in a header")]
    BadKey,
    /// The listener cannot be used.
    #[error("cannot listen: {0}")]
    Listen(io::Error),
    /// The client does not speak the protocol.
    #[error("the client does not speak MCP: {0}")]
    Client(String),
}

impl From<io::Error> for ServeError {
    fn from(error: io::Error) -> Self {
        Self::Listen(error)
    }
}

impl Classified for ServeError {
    fn fault(&self) -> Fault {
        match self {
            Self::NoRandomness | Self::Listen(_) => Fault::Environment,
            Self::KeyNeeded | Self::BadKey => Fault::Program,
            Self::Client(_) => Fault::Caller,
        }
    }
}
