//! The service: routes, keys, limits, and the replies as they stream.

mod admission;
mod endpoints;
mod items;
mod listen;
mod metrics;
mod probe;
mod prompt_log;
mod reply;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;

use crate::exchange::{HeldCalls, MarkerStyle, Secrets, Tool, Toolset};
use crate::settings::Settings;
use admission::Admission;
use items::Items;
use metrics::Metrics;

pub use listen::serve;

/// Lists of tools that are kept compiled.
const TOOLSETS: usize = 256;

/// A gateway: its settings, and what it remembers between requests. A clone is the same gateway.
#[derive(Clone, Debug)]
pub struct Gateway(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: RwLock<Arc<Settings>>,
    admission: Admission,
    metrics: Metrics,
    held: Arc<HeldCalls>,
    items: Items,
    toolsets: Mutex<HashMap<[u8; 32], Arc<Toolset>>>,
    /// Whether a model calls tools natively, by upstream and model.
    native: Mutex<HashMap<(String, String), bool>>,
    secret: u64,
    /// Counts exchanges, mixed with the secret into numbers that do not repeat.
    exchanges: AtomicU64,
    is_draining: AtomicBool,
}

impl Gateway {
    /// A gateway with a new random secret: markers and ids differ from those of any other.
    pub fn new(settings: Settings) -> Self {
        Self::with_secret(settings, random())
    }

    /// A gateway with a given secret. Gateways that share one write the same prompts, so that the upstream's prompt cache
    /// is of use after a restart.
    pub fn with_secret(settings: Settings, secret: u64) -> Self {
        Self(Arc::new(Inner {
            admission: Admission::new(&settings),
            settings: RwLock::new(Arc::new(settings)),
            metrics: Metrics::default(),
            held: Arc::default(),
            items: Items::default(),
            toolsets: Mutex::default(),
            native: Mutex::default(),
            secret,
            exchanges: AtomicU64::new(random()),
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

    /// The service, to be mounted into another one.
    pub fn router(&self) -> Router {
        endpoints::router(self.clone())
    }

    /// No more requests are admitted.
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

    /// The compiled tools of a request.
    fn toolset(&self, tools: &[Tool]) -> Arc<Toolset> {
        if tools.is_empty() {
            return Arc::default();
        }
        let key = fingerprint(tools);
        let lock = || {
            self.0
                .toolsets
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(known) = lock().get(&key) {
            return Arc::clone(known);
        }
        let made = Arc::new(Toolset::new(tools.to_vec()));
        let mut all = lock();
        if all.len() >= TOOLSETS {
            // Which one goes does not matter: it is made again if it is needed.
            let some = all.keys().next().copied();
            some.map(|key| all.remove(&key));
        }
        all.insert(key, Arc::clone(&made));
        made
    }

    /// The secrets of the prompts of one client.
    fn secrets(&self, style: MarkerStyle, client: &str) -> Secrets {
        use sha2::{Digest as _, Sha256};
        let hash = Sha256::new()
            .chain_update(self.0.secret.to_le_bytes())
            .chain_update(client);
        let hash: [u8; 32] = hash.finalize().into();
        let mut seed = [0; 8];
        seed.copy_from_slice(&hash[..8]);
        Secrets::new(style, u64::from_le_bytes(seed))
    }

    /// A number that no other exchange has.
    fn next_exchange(&self) -> u64 {
        self.0
            .exchanges
            .fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)
    }
}

/// What a list of tools is known by.
fn fingerprint(tools: &[Tool]) -> [u8; 32] {
    use sha2::{Digest as _, Sha256};
    let mut hash = Sha256::new();
    for tool in tools {
        let schema = tool.schema.to_string();
        let is_text = tool.kind == crate::exchange::ToolKind::Text;
        let flags = [u8::from(is_text), u8::from(tool.is_eager)];
        let name = tool.full_name();
        for part in [
            name.as_bytes(),
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

/// Random, by the keys that the standard library gives each hash map.
fn random() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(SystemTime::now())
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| it.as_secs())
}
