//! Admission of requests: keys, and limits on those in flight.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;

use gadgetry_http::names_this_machine;

use crate::api::Failure;
use crate::memory::Owner;
use crate::settings::{ClientKey, Settings};

const MINUTE: Duration = Duration::from_mins(1);

/// Maximum number of bodies of the largest size that arrive at the same time.
const BODIES: usize = 16;

/// Counts requests in flight.
#[derive(Debug)]
pub(super) struct Admission(Arc<Mutex<AdmissionState>>);

#[derive(Debug, Default)]
struct AdmissionState {
    limit: usize,
    in_flight: usize,
    /// Bytes of bodies that are arriving.
    arriving: usize,
    /// Counts by the keys' hashes, because names may occur twice.
    clients: HashMap<Owner, ClientCounts>,
}

/// Counts for one key.
#[derive(Debug)]
struct ClientCounts {
    in_flight: usize,
    /// Bytes of bodies that are arriving.
    arriving: usize,
    /// Beginning of the current minute.
    since: Instant,
    /// Requests in the current minute.
    begun: u32,
}

impl ClientCounts {
    fn new() -> Self {
        Self {
            in_flight: 0,
            arriving: 0,
            since: Instant::now(),
            begun: 0,
        }
    }
}

/// The slot of a request, until it is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    state: Arc<Mutex<AdmissionState>>,
    client: Owner,
}

/// The bytes of a body that is arriving, until it is dropped.
#[derive(Debug)]
pub(super) struct ArrivingBody {
    state: Arc<Mutex<AdmissionState>>,
    client: Owner,
    bytes: usize,
    /// Limit on the bytes of all bodies.
    limit: usize,
}

impl ArrivingBody {
    /// Counts more bytes of the body. A client can fill half of the limit for all, so that others can still send.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), Failure> {
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        let client = state
            .clients
            .entry(self.client)
            .or_insert_with(ClientCounts::new);
        if state.arriving + bytes > self.limit || client.arriving + bytes > self.limit / 2 {
            return Err(Failure::Busy {
                what: "at its limit of bytes that are arriving",
            });
        }
        state.arriving += bytes;
        client.arriving += bytes;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for ArrivingBody {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        state.arriving -= self.bytes;
        if let Some(client) = state.clients.get_mut(&self.client) {
            client.arriving -= self.bytes;
        }
    }
}

impl Admission {
    pub(super) fn new(settings: &Settings) -> Self {
        let state = AdmissionState {
            limit: settings.limits.requests,
            ..AdmissionState::default()
        };
        Self(Arc::new(Mutex::new(state)))
    }

    pub(super) fn replace(&self, settings: &Settings) {
        lock(&self.0).limit = settings.limits.requests;
    }

    /// Returns the number of requests in flight.
    pub(super) fn in_flight(&self) -> usize {
        lock(&self.0).in_flight
    }

    /// Counts the body of a request before the request is admitted: a slow body occupies no slot.
    pub(super) fn arriving(&self, settings: &Settings, key: Option<usize>) -> ArrivingBody {
        ArrivingBody {
            state: Arc::clone(&self.0),
            client: client_of(settings, key),
            bytes: 0,
            limit: settings.limits.body_bytes.saturating_mul(BODIES),
        }
    }

    /// Checks whether a request of the client with the key at `key` would be admitted now.
    pub(super) fn check(&self, settings: &Settings, key: Option<usize>) -> Result<(), Failure> {
        lock(&self.0).check(settings, key)
    }

    /// Admits a request of the client with the key at `key`, if there is one.
    pub(super) fn admit(&self, settings: &Settings, key: Option<usize>) -> Result<Permit, Failure> {
        let mut state = lock(&self.0);
        state.check(settings, key)?;
        let name = client_of(settings, key);
        let client = state.clients.entry(name).or_insert_with(ClientCounts::new);
        client.begun += 1;
        client.in_flight += 1;
        state.in_flight += 1;
        Ok(Permit {
            state: Arc::clone(&self.0),
            client: name,
        })
    }
}

impl AdmissionState {
    fn check(&mut self, settings: &Settings, key: Option<usize>) -> Result<(), Failure> {
        if self.in_flight >= self.limit {
            return Err(Failure::Busy {
                what: "at its limit of requests in flight",
            });
        }
        let name = client_of(settings, key);
        let Some(key) = key.and_then(|at| settings.keys.get(at)) else {
            return Ok(());
        };
        let client = self.clients.entry(name).or_insert_with(ClientCounts::new);
        if key
            .max_concurrent
            .is_some_and(|limit| client.in_flight >= limit)
        {
            return Err(Failure::Limited {
                what: "the key has as many requests in flight as it may have",
                retry_after_ms: 1_000,
            });
        }
        let now = Instant::now();
        let passed = now.duration_since(client.since);
        if passed >= MINUTE {
            client.since = now;
            client.begun = 0;
        }
        if key.per_minute.is_some_and(|limit| client.begun >= limit) {
            let wait = MINUTE.saturating_sub(passed).as_millis();
            return Err(Failure::Limited {
                what: "the key has begun as many requests in this minute as it may",
                retry_after_ms: u64::try_from(wait).unwrap_or(u64::MAX),
            });
        }
        Ok(())
    }
}

/// Returns the client that a request is counted for.
fn client_of(settings: &Settings, key: Option<usize>) -> Owner {
    let key = key.and_then(|at| settings.keys.get(at));
    key.map_or_else(|| Owner::of("no key", &[]), ClientKey::owner)
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        state.in_flight -= 1;
        if let Some(client) = state.clients.get_mut(&self.client) {
            client.in_flight -= 1;
        }
    }
}

fn lock(state: &Mutex<AdmissionState>) -> std::sync::MutexGuard<'_, AdmissionState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the index of the client's key in `settings.keys`; `None` if no key is needed.
pub(super) fn authenticate(
    settings: &Settings,
    headers: &HeaderMap,
) -> Result<Option<usize>, Failure> {
    if settings.keys.is_empty() {
        // A web page that has taken over a name by DNS does not name this machine.
        return if names_this_machine(headers) {
            Ok(None)
        } else {
            Err(Failure::ForeignHost)
        };
    }
    let bearer = headers.get("authorization").and_then(|it| {
        let (scheme, key) = it.as_bytes().split_at_checked(7)?;
        scheme
            .eq_ignore_ascii_case(b"bearer ")
            .then(|| key.trim_ascii())
    });
    let sent = ["x-api-key", "api-key"].into_iter();
    let sent = sent
        .filter_map(|name| headers.get(name))
        .map(|it| it.as_bytes().trim_ascii());
    let found = bearer
        .into_iter()
        .chain(sent)
        .find_map(|key| settings.key(key));
    found.map(Some).ok_or(Failure::Unauthorized)
}
