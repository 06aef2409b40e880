//! The listener on this machine to which the browser brings the answer.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use gadgetry_http::{ConnectionLimits, accept};
use reqwest::Url;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::error::LoginError;

const PATH: &str = "/callback";

/// Maximum time for the browser to read the last page.
const DRAIN: Duration = Duration::from_secs(10);

/// A browser opens connections that it does not use.
const LIMITS: ConnectionLimits = ConnectionLimits {
    connections: 32,
    header_timeout: Duration::from_secs(10),
};

/// Listens until it is dropped.
pub(super) struct Redirect {
    listener: TcpListener,
    url: String,
}

/// Answer that the browser has brought. It waits for [`Answer::reply`].
pub(super) struct Answer {
    url: Url,
    reply: oneshot::Sender<bool>,
    /// Dropping it ends the server.
    _stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

/// The login that is in progress.
#[derive(Clone)]
struct Waiting {
    base: Url,
    state: String,
    found: mpsc::Sender<(Url, oneshot::Sender<bool>)>,
}

impl Redirect {
    /// Listens on a free port of 127.0.0.1.
    pub(super) async fn listen() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}{PATH}", listener.local_addr()?);
        Ok(Self { listener, url })
    }

    /// Returns the address that the browser is sent to.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Waits for the request that knows the state. Others are answered, and change nothing.
    ///
    /// Cancel safety: dropping the future ends the server.
    pub(super) async fn answer(self, state: String) -> Result<Answer, LoginError> {
        let base = Url::parse(&self.url).map_err(|error| LoginError::Url(error.to_string()))?;
        let (found, mut finds) = mpsc::channel(1);
        let router = Router::new().fallback(callback);
        let router = router.with_state(Waiting { base, state, found });
        let (stop, stopped) = oneshot::channel::<()>();
        let server = tokio::spawn(async move {
            let stop = async { drop(stopped.await) };
            let open = accept(self.listener, router, LIMITS, stop).await;
            open.drain(DRAIN).await;
        });
        let found = finds.recv().await;
        let (url, reply) =
            found.ok_or_else(|| LoginError::Listen(io::ErrorKind::ConnectionAborted.into()))?;
        Ok(Answer {
            url,
            reply,
            _stop: stop,
            server,
        })
    }
}

impl Answer {
    /// Returns the whole URL that the browser has requested.
    pub(super) fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Returns the message of the authorization server in place of a code.
    pub(super) fn refusal(&self) -> Option<LoginError> {
        let error = of(&self.url, "error")?;
        let words = match of(&self.url, "error_description") {
            Some(description) => format!("{description} ({error})"),
            None => error,
        };
        Some(LoginError::refused(&words))
    }

    /// Says in the browser whether it was enough.
    pub(super) async fn reply(self, is_done: bool) {
        let Self {
            reply,
            _stop: stop,
            server,
            ..
        } = self;
        // The browser may be gone.
        let _ = reply.send(is_done);
        drop(stop);
        let _ = server.await;
    }
}

fn of(url: &Url, name: &str) -> Option<String> {
    let mut pairs = url.query_pairs();
    pairs
        .find(|(other, _)| other == name)
        .map(|(_, value)| value.into_owned())
}

async fn callback(State(waiting): State<Waiting>, method: Method, uri: Uri) -> Response {
    let mut url = waiting.base.clone();
    url.set_query(uri.query());
    // Any page that the browser shows may send a request here.
    let is_answer = method == Method::GET
        && uri.path() == PATH
        && of(&url, "state").as_deref() == Some(&waiting.state);
    let (reply, replied) = oneshot::channel();
    if !is_answer || waiting.found.try_send((url, reply)).is_err() {
        return page(
            StatusCode::NOT_FOUND,
            "This is not the answer to a login.\n",
        );
    }
    match replied.await {
        Ok(true) => page(
            StatusCode::OK,
            "You are logged in. You can close this page.\n",
        ),
        Ok(false) | Err(_) => page(
            StatusCode::BAD_REQUEST,
            "The login has failed; the terminal says why. You can close this page.\n",
        ),
    }
}

fn page(status: StatusCode, text: &'static str) -> Response {
    let headers = [
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONNECTION, "close"),
    ];
    (status, headers, text).into_response()
}
