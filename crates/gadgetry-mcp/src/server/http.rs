//! Streamable HTTP: who may send a request.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use gadgetry::CancellationToken;
use gadgetry_http::{ConnectionLimits, accept, names_this_machine};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::handler::Handler;
use super::requests::Requests;
use super::sessions::{Client, Place, Sessions, until_end};
use super::{DRAIN, GadgetServer, ServeError};

/// Path of the server.
const PATH: &str = "/mcp";

/// Answer to a request that names another host.
const FOREIGN_HOST: &str = "without keys the server answers to this machine only: the request's host must be localhost, \
                            127.0.0.1 or [::1], with or without a port\n";

/// The shortest key.
const KEY_LENGTH: usize = 16;

/// Keys, origins and limits of a server over HTTP.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// Bearer keys of clients. Without any, the server must be on this machine alone, and requests must name it so.
    pub keys: Vec<String>,
    /// Origins whose web pages may use the server, such as `https://example.com`. None by default.
    pub origins: Vec<String>,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Maximum time for the head of a request.
    pub header_timeout: Duration,
    /// Maximum time for the body of a request. A connection whose body does not come has a place until then.
    pub body_timeout: Duration,
    /// Connections at once. One key, or without keys all clients, may have as many requests in flight as are left for others,
    /// the streams that they read included: half of this number if no other key has any. A further request is refused with the
    /// status 429.
    pub connections: usize,
    /// Sessions at once of one key, or without keys of all clients, until revision 2025-11-25. A further session ends the one that
    /// was idle for longest.
    pub sessions: usize,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            origins: Vec::new(),
            body_bytes: 4 << 20,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            connections: 1_024,
            sessions: 256,
        }
    }
}

impl std::fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpOptions")
            .field("keys", &self.keys.len())
            .field("origins", &self.origins)
            .finish_non_exhaustive()
    }
}

impl GadgetServer {
    /// Serves clients over streamable HTTP at the path `/mcp` until `stop`. Calls in flight are then cancelled.
    ///
    /// # Errors
    ///
    /// [`ServeError::KeyNeeded`] if other machines can reach `listener` and there is no key, [`ServeError::BadKey`] for a key that
    /// is too short, and [`ServeError::Listen`] if the listener cannot be used.
    ///
    /// Cancel safety: dropping the future stops accepting and cancels the calls in flight.
    pub async fn serve_http(
        self,
        listener: TcpListener,
        options: HttpOptions,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let ended = CancellationToken::new();
        let _ends_calls = ended.clone().drop_guard();
        let router = self.router(listener.local_addr()?, &options, &ended)?;
        let limits = ConnectionLimits {
            connections: options.connections,
            header_timeout: options.header_timeout,
        };
        let open = accept(listener, router, limits, stop).await;
        // Ends the calls, the sessions, and the streams that clients listen to.
        ended.cancel();
        if !open.drain(DRAIN).await {
            tracing::warn!("not all requests have ended in time");
        }
        self.drain().await;
        Ok(())
    }

    fn router(
        &self,
        address: SocketAddr,
        options: &HttpOptions,
        ended: &CancellationToken,
    ) -> Result<Router, ServeError> {
        if options.keys.is_empty() && !address.ip().is_loopback() {
            return Err(ServeError::KeyNeeded);
        }
        let is_usable = |key: &String| {
            key.len() >= KEY_LENGTH && key.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if !options.keys.iter().all(is_usable) {
            return Err(ServeError::BadKey);
        }
        let config = StreamableHttpServerConfig::default()
            .with_allowed_origins(options.origins.clone())
            .enforce_origin_validation()
            .with_max_request_body_bytes(options.body_bytes)
            .with_cancellation_token(ended.clone())
            // `admit` decides about hosts, before anything of a request is read.
            .disable_allowed_hosts();
        let sessions = Arc::new(LocalSessionManager::default());
        let (server, token) = (self.clone(), ended.clone());
        let service = StreamableHttpService::new(
            move || Ok(Handler::new(server.clone(), token.clone())),
            Arc::clone(&sessions),
            config,
        );
        let admission = Arc::new(Admission {
            keys: options
                .keys
                .iter()
                .map(|key| digest(key.as_bytes()))
                .collect(),
            requests: Requests::new(options.connections),
            sessions: Sessions::new(sessions, options.sessions),
            body_bytes: options.body_bytes,
            body_timeout: options.body_timeout,
        });
        let router = Router::new().nest_service(PATH, service);
        Ok(router.layer(from_fn_with_state(admission, admit)))
    }
}

/// Requests that are admitted.
struct Admission {
    keys: Vec<[u8; 32]>,
    requests: Arc<Requests>,
    sessions: Sessions,
    body_bytes: usize,
    body_timeout: Duration,
}

fn digest(key: &[u8]) -> [u8; 32] {
    Sha256::digest(key).into()
}

async fn admit(State(admission): State<Arc<Admission>>, request: Request, next: Next) -> Response {
    // A web page that has taken over a name by DNS names it. With keys it would need one.
    if admission.keys.is_empty() && !names_this_machine(request.headers()) {
        return (StatusCode::FORBIDDEN, FOREIGN_HOST).into_response();
    }
    let Some(client) = client(&admission.keys, request.headers()) else {
        let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
        return (
            StatusCode::UNAUTHORIZED,
            challenge,
            "a valid key is needed\n",
        )
            .into_response();
    };
    // Before the body is read: a slow one has a connection as well.
    match admission.requests.place(client) {
        Ok(place) => until_end(answer(&admission, client, request, next).await, place),
        Err(own) => {
            let whose = client.0.map_or("", |_| " of this key");
            let words = format!(
                "{own} requests{whose} are in flight, event streams included, and no more are admitted now: \
                 end some of them, or repeat this one later\n"
            );
            let again = [(header::RETRY_AFTER, "1")];
            (StatusCode::TOO_MANY_REQUESTS, again, words).into_response()
        }
    }
}

/// Answers an admitted request.
async fn answer(admission: &Admission, client: Client, request: Request, next: Next) -> Response {
    let (mut head, body) = match whole(admission, request).await {
        Ok(whole) => whole,
        Err(refused) => return refused,
    };
    head.extensions.insert(client);
    let place = admission.sessions.place(client, &head, &body).await;
    let request = Request::from_parts(head, Body::from(body));
    match place {
        Place::None => next.run(request).await,
        Place::In(using) => using.until_end(next.run(request)).await,
        Place::Unknown => (StatusCode::NOT_FOUND, "unknown session\n").into_response(),
        Place::Full => {
            let again = [(header::RETRY_AFTER, "60")];
            let words = "too many sessions\n";
            (StatusCode::SERVICE_UNAVAILABLE, again, words).into_response()
        }
    }
}

/// Reads the body of a request, within a time and a number of bytes.
async fn whole(admission: &Admission, request: Request) -> Result<(Parts, Bytes), Response> {
    let (head, body) = request.into_parts();
    let limit = admission.body_bytes;
    let Ok(read) = timeout(admission.body_timeout, to_bytes(body, limit)).await else {
        let words = "the body did not arrive in time\n";
        return Err((StatusCode::REQUEST_TIMEOUT, words).into_response());
    };
    let body = read.map_err(|_| {
        let words = format!("the body has more than {limit} bytes, or did not arrive whole\n");
        (StatusCode::PAYLOAD_TOO_LARGE, words).into_response()
    })?;
    Ok((head, body))
}

/// Returns the client with the key of a request; `None` without one of the keys. All are compared, so the time says nothing.
fn client(keys: &[[u8; 32]], headers: &HeaderMap) -> Option<Client> {
    if keys.is_empty() {
        return Some(Client::default());
    }
    let sent = headers.get(header::AUTHORIZATION).and_then(|it| {
        let (scheme, key) = it.as_bytes().split_at_checked(7)?;
        let is_bearer = scheme.eq_ignore_ascii_case(b"bearer ");
        is_bearer.then(|| digest(key.trim_ascii()))
    })?;
    let has_key = keys
        .iter()
        .fold(false, |found, key| found | bool::from(key.ct_eq(&sent)));
    has_key.then_some(Client(Some(sent)))
}
