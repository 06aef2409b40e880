//! Who may send a request, and how many at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;

use crate::Failure;
use crate::settings::Settings;

const MINUTE: Duration = Duration::from_mins(1);

/// Counts requests in flight.
#[derive(Debug)]
pub(super) struct Admission(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    limit: usize,
    in_flight: usize,
    clients: HashMap<String, Client>,
}

/// What is counted for one key.
#[derive(Debug)]
struct Client {
    in_flight: usize,
    /// When the current minute began.
    since: Instant,
    /// Requests within it.
    begun: u32,
}

/// A place that a request has until it is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    state: Arc<Mutex<State>>,
    client: String,
}

impl Admission {
    pub(super) fn new(settings: &Settings) -> Self {
        let state = State {
            limit: settings.limits.requests,
            ..State::default()
        };
        Self(Arc::new(Mutex::new(state)))
    }

    pub(super) fn replace(&self, settings: &Settings) {
        lock(&self.0).limit = settings.limits.requests;
    }

    /// How many requests are in flight.
    pub(super) fn in_flight(&self) -> usize {
        lock(&self.0).in_flight
    }

    /// Admits a request of the client with the key at `key`, if there is one.
    pub(super) fn admit(&self, settings: &Settings, key: Option<usize>) -> Result<Permit, Failure> {
        let key = key.and_then(|at| settings.keys.get(at));
        let mut guard = lock(&self.0);
        let state = &mut *guard;
        if state.in_flight >= state.limit {
            return Err(Failure::Busy {
                what: "at its limit of requests in flight",
            });
        }
        let name = key.map_or("", |key| &key.name);
        let now = Instant::now();
        let client = state.clients.entry(name.to_owned()).or_insert(Client {
            in_flight: 0,
            since: now,
            begun: 0,
        });
        if let Some(key) = key {
            if key
                .max_concurrent
                .is_some_and(|limit| client.in_flight >= limit)
            {
                return Err(Failure::Limited {
                    what: "the key has as many requests in flight as it may have",
                    retry_after_ms: 1_000,
                });
            }
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
        }
        client.begun += 1;
        client.in_flight += 1;
        state.in_flight += 1;
        Ok(Permit {
            state: Arc::clone(&self.0),
            client: name.to_owned(),
        })
    }
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

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The place in `settings.keys` of the client's key; `None` if none is needed.
pub(super) fn authenticate(
    settings: &Settings,
    headers: &HeaderMap,
) -> Result<Option<usize>, Failure> {
    if settings.keys.is_empty() {
        return if is_local(headers) {
            Ok(None)
        } else {
            Err(Failure::Unauthorized)
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

/// Whether a request without a key names this machine as its host: a web page that has taken over a name by DNS does not.
fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get("host").and_then(|it| it.to_str().ok()) else {
        return true;
    };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name
            .parse::<std::net::IpAddr>()
            .is_ok_and(|it| it.is_loopback())
}
