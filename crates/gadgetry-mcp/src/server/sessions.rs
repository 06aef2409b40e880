//! Who sends requests over HTTP, and the sessions that each client has open.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use serde::Deserialize;

use super::listening::{Listening, listens};

/// The header of requests that belong to a session.
const SESSION: &str = "mcp-session-id";

/// The digest of a client's key. Without keys, all clients are one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Client(pub(super) Option<[u8; 32]>);

/// The sessions of all clients, those that were used last at the end.
pub(super) struct Sessions {
    local: Arc<LocalSessionManager>,
    /// Sessions at once of one client.
    limit: usize,
    open: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    next: u64,
    sessions: Vec<Session>,
}

struct Session {
    number: u64,
    client: Client,
    /// `None` until the server has answered the request that opens it.
    id: Option<String>,
    /// Requests whose answers are not complete.
    requests: u32,
    listening: Listening,
}

/// A place of a request among the sessions.
pub(super) enum Place {
    /// It needs no session.
    None,
    /// It uses a session, or opens one.
    In(Using),
    /// Its session is not one of the client.
    Unknown,
    /// The client has too many sessions, and uses all of them.
    Full,
}

/// A request that uses a session, until its answer is complete.
pub(super) struct Using {
    open: Arc<Mutex<Open>>,
    number: u64,
    opens: bool,
    /// The session's event stream, if the request asks for it.
    listening: Option<Listening>,
}

impl Sessions {
    pub(super) fn new(local: Arc<LocalSessionManager>, limit: usize) -> Self {
        let open = Arc::default();
        Self { local, limit, open }
    }

    /// Finds or makes a place for a request. To open one more session than the limit ends the client's session that was idle
    /// for longest.
    pub(super) async fn place(&self, client: Client, head: &Parts, body: &[u8]) -> Place {
        if let Some(id) = head.headers.get(SESSION) {
            let mut open = lock(&self.open);
            let found = open.sessions.iter().position(|it| {
                it.client == client && it.id.as_deref().is_some_and(|it| it.as_bytes() == id)
            });
            let Some(at) = found else {
                return Place::Unknown;
            };
            let mut session = open.sessions.remove(at);
            session.requests += 1;
            let listening = listens(head).then(|| session.listening.clone());
            let number = session.number;
            open.sessions.push(session);
            let mut using = self.using(number, false);
            using.listening = listening;
            return Place::In(using);
        }
        if !opens_session(body) {
            return Place::None;
        }
        let (number, ended) = {
            let live = self.local.sessions.read().await;
            let mut open = lock(&self.open);
            open.sessions
                .retain(|it| it.id.as_deref().is_none_or(|id| live.contains_key(id)));
            let own = open.sessions.iter().filter(|it| it.client == client);
            let mut ended = None;
            if own.count() >= self.limit {
                let is_idle = |it: &Session| it.client == client && it.requests == 0;
                let Some(at) = open.sessions.iter().position(is_idle) else {
                    return Place::Full;
                };
                ended = open.sessions.remove(at).id;
            }
            let number = open.next;
            open.next += 1;
            open.sessions.push(Session {
                number,
                client,
                id: None,
                requests: 1,
                listening: Listening::default(),
            });
            (number, ended)
        };
        let using = self.using(number, true);
        if let Some(id) = ended {
            // An error means that it has ended already.
            let _ = self.local.close_session(&id.into()).await;
        }
        Place::In(using)
    }

    fn using(&self, number: u64, opens: bool) -> Using {
        let open = Arc::clone(&self.open);
        Using {
            open,
            number,
            opens,
            listening: None,
        }
    }
}

impl Using {
    /// Answers the request, and uses the session until the answer's body has ended.
    pub(super) async fn until_end(
        self,
        answer: impl Future<Output = Response> + Send + 'static,
    ) -> Response {
        if !self.opens {
            let answer = match &self.listening {
                Some(listening) => listening.replace(answer).await,
                None => answer.await,
            };
            return self.noted(answer);
        }
        // A client that has gone must not leave a session that is not counted.
        let whole = tokio::spawn(async move { self.noted(answer.await) });
        let failed = |_| StatusCode::INTERNAL_SERVER_ERROR.into_response();
        whole.await.unwrap_or_else(failed)
    }

    /// Notes the session that the answer has opened.
    fn noted(self, answer: Response) -> Response {
        let id = answer.headers().get(SESSION);
        if let Some(id) = id.and_then(|id| id.to_str().ok()) {
            self.session(|session| session.id = Some(id.to_owned()));
        }
        until_end(answer, self)
    }

    fn session(&self, change: impl FnOnce(&mut Session)) {
        let mut open = lock(&self.open);
        let mut sessions = open.sessions.iter_mut();
        if let Some(session) = sessions.find(|it| it.number == self.number) {
            change(session);
        }
    }
}

impl Drop for Using {
    fn drop(&mut self) {
        self.session(|session| session.requests -= 1);
        // What has not opened a session has none.
        let is_left = |it: &Session| it.number != self.number || it.id.is_some();
        lock(&self.open).sessions.retain(is_left);
    }
}

/// Keeps a value until the body of an answer has ended.
pub(super) fn until_end(answer: Response, held: impl Send + 'static) -> Response {
    answer.map(|body| {
        Body::from_stream(body.into_data_stream().inspect(move |_| {
            let _ = &held;
        }))
    })
}

fn lock(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns `true` if a body may open a session. One that has no method counts, so that none does unseen.
fn opens_session(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Message {
        method: String,
    }

    serde_json::from_slice::<Message>(body).map_or(!body.is_empty(), |it| it.method == "initialize")
}
