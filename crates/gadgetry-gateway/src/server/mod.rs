//! The service: routes, keys, limits, and the replies as they stream.

mod admission;
mod answer;
mod body;
mod constraint;
mod endpoints;
mod ids;
mod items;
mod job;
mod listen;
mod metrics;
mod probe;
mod prompt_log;
mod reply;
mod response;
mod stream;
mod watch;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};

use crate::api::{Refusal, budget};
use crate::exchange::{ClientRequest, HeldCalls, MarkerStyle, Secrets, Tool, Toolset};
use crate::memory::{Memory, Owner};
use crate::settings::Settings;
use crate::trace::{RequestTracer, RequestWatcher};
use admission::Admission;
use constraint::Constraints;
use ids::{Ids, keyed, random};
use items::Items;
use metrics::Metrics;

pub use body::json_document;
pub use listen::serve;
pub use response::{failed, json_response};
pub use stream::event_stream;

/// Maximum bytes of the compiled lists of tools that are kept.
const TOOLSETS: usize = 256 << 20;

/// Bytes of a compiled pattern for each byte of its size, with its reverse automaton and its caches.
const PATTERN: usize = 4;

/// Maximum bytes of the results of probes.
const NATIVE: usize = 1 << 20;

/// A gateway: its settings, and the data that it keeps between requests. A clone is the same gateway.
#[derive(Clone, Debug)]
pub struct Gateway(Arc<GatewayState>);

#[derive(Debug)]
struct GatewayState {
    settings: RwLock<Arc<Settings>>,
    admission: Admission,
    metrics: Metrics,
    held: Arc<HeldCalls>,
    items: Items,
    toolsets: Mutex<Memory<[u8; 32], Arc<Toolset>>>,
    constraints: Constraints,
    /// Results of probes for native calls, by upstream and model. Clients choose the names of models, so this is limited, too.
    native: Mutex<Memory<String, bool>>,
    /// Secret that markers are derived from.
    secret: [u8; 32],
    ids: Ids,
    tracer: Chosen<dyn RequestTracer>,
    watcher: Chosen<dyn RequestWatcher>,
    is_draining: AtomicBool,
}

impl Gateway {
    /// Makes a gateway with a new random secret: its markers and ids differ from those of any other.
    ///
    /// # Panics
    ///
    /// If the system has no random numbers.
    pub fn new(settings: Settings) -> Self {
        Self::with_secret(settings, random())
    }

    /// Makes a gateway with a given secret. Gateways with the same secret write the same prompts, so that the upstream's prompt
    /// cache stays valid after a restart. Ids are still random.
    ///
    /// # Panics
    ///
    /// If the system has no random numbers.
    pub fn with_secret(settings: Settings, secret: [u8; 32]) -> Self {
        Self(Arc::new(GatewayState {
            admission: Admission::new(&settings),
            settings: RwLock::new(Arc::new(settings)),
            metrics: Metrics::default(),
            held: Arc::default(),
            items: Items::default(),
            toolsets: Mutex::new(Memory::new(TOOLSETS)),
            constraints: Constraints::default(),
            native: Mutex::new(Memory::new(NATIVE)),
            secret,
            ids: Ids::new(),
            tracer: Chosen::default(),
            watcher: Chosen::default(),
            is_draining: AtomicBool::new(false),
        }))
    }

    /// Replaces the settings. Requests in flight keep the old ones.
    pub fn replace(&self, settings: Settings) {
        self.0.admission.replace(&settings);
        let mut current = self
            .0
            .settings
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(settings);
    }

    /// Traces all requests with `tracer`. A later tracer does not replace it.
    ///
    /// Without a tracer, a client's `traceparent` and `tracestate` are passed on unchanged.
    pub fn trace(&self, tracer: impl RequestTracer + 'static) {
        let _ = self.0.tracer.0.set(Box::new(tracer));
    }

    /// Watches the content of all requests with `watcher`. A later watcher does not replace it.
    pub fn watch(&self, watcher: impl RequestWatcher + 'static) {
        let _ = self.0.watcher.0.set(Box::new(watcher));
    }

    /// Stops admitting requests.
    pub fn drain(&self) {
        self.0.is_draining.store(true, Ordering::Release);
    }

    fn is_draining(&self) -> bool {
        self.0.is_draining.load(Ordering::Acquire)
    }

    fn settings(&self) -> Arc<Settings> {
        Arc::clone(
            &self
                .0
                .settings
                .read()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Returns the compiled tools of a request.
    fn toolset(
        &self,
        owner: Owner,
        tools: &[Tool],
        fingerprint: [u8; 32],
    ) -> Result<Arc<Toolset>, Refusal> {
        if tools.is_empty() {
            return Ok(Arc::default());
        }
        let lock = || {
            self.0
                .toolsets
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(known) = lock().get(owner, fingerprint) {
            return Ok(Arc::clone(known));
        }
        let patterns = budget::patterns(tools)?;
        let made = Arc::new(
            Toolset::new(tools.to_vec())
                .map_err(|error| Refusal::new("tools", error.to_string()))?,
        );
        lock().keep(
            owner,
            fingerprint,
            Arc::clone(&made),
            made.weight() + PATTERN * patterns,
        );
        Ok(made)
    }

    /// Returns the secrets of the prompts of one conversation. They are derived from the parts of its requests that stay the
    /// same: everything before the first reply. So the prompt of a turn begins with that of the turn before, and other
    /// conversations reveal nothing about them.
    fn secrets(
        &self,
        style: MarkerStyle,
        owner: Owner,
        request: &ClientRequest,
        tools: [u8; 32],
    ) -> Secrets {
        let mut hash = Sha256::new();
        for part in [owner.bytes().as_slice(), &tools, request.model.as_bytes()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        for message in request.beginning() {
            // Writing to a hash does not fail, and messages are JSON.
            let _ = serde_json::to_writer(HashWriter(&mut hash), message);
            hash.update([0]);
        }
        let seed = keyed(&self.0.secret, "markers", &hash.finalize());
        let mut number = [0; 8];
        number.copy_from_slice(&seed[..8]);
        Secrets::new(style, u64::from_le_bytes(number))
    }

    /// Returns an id that no one can guess.
    fn id(&self) -> u128 {
        self.0.ids.next()
    }
}

/// The program's observer of requests, if it has one.
struct Chosen<T: ?Sized>(OnceLock<Box<T>>);

impl<T: ?Sized> Default for Chosen<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T: ?Sized> fmt::Debug for Chosen<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Chosen")
            .field(&self.0.get().is_some())
            .finish()
    }
}

/// A writer into a hash.
struct HashWriter<'h>(&'h mut Sha256);

impl std::io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns the fingerprint of a list of tools.
fn fingerprint(tools: &[Tool]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for tool in tools {
        let schema = tool.schema.to_string();
        let is_text = tool.kind == crate::exchange::ToolKind::Text;
        let flags = [u8::from(is_text)];
        let namespace = tool.namespace.as_deref().unwrap_or_default();
        for part in [
            namespace.as_bytes(),
            tool.name.as_bytes(),
            tool.description.as_bytes(),
            schema.as_bytes(),
            &flags,
        ] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    hash.finalize().into()
}

/// Returns the seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| it.as_secs())
}
