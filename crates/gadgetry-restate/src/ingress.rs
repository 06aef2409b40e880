//! Requests to Restate: its ingress, its admin interface and its workers.

use std::time::Duration;

use gadgetry::serde_json;
use gadgetry_providers::tls;
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::RestateError;
use crate::protocol::{GADGETS, INBOXES, InboxOpening, StoredMessage, WorkerAddress};
use gadgetry::journal::{RunId, RunMessageContent};

/// Maximum time of a request that a worker must not wait for long.
const SHORT: Duration = Duration::from_secs(10);

/// Maximum number of bytes of an answer. Restate's own messages are smaller.
const ANSWER: usize = 64 << 20;

/// A client of one Restate server.
#[derive(Clone, Debug)]
pub(crate) struct Ingress {
    http: reqwest::Client,
    url: Url,
}

impl Ingress {
    /// Makes a client of the server at `url`, which fails if it is invalid.
    pub(crate) fn new(url: &str) -> Result<Self, RestateError> {
        let invalid = |problem: String| RestateError::Url {
            url: url.to_owned(),
            problem,
        };
        let parsed = Url::parse(url).map_err(|error| invalid(error.to_string()))?;
        if parsed.cannot_be_a_base() || !matches!(parsed.scheme(), "http" | "https") {
            return Err(invalid("it must begin with http:// or https://".to_owned()));
        }
        let (tls, _) = tls::config();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(SHORT)
            .tcp_nodelay(true)
            .no_proxy()
            .build()
            .map_err(|error| invalid(words(error)))?;
        Ok(Self { http, url: parsed })
    }

    /// Returns a client of another port of the same host.
    pub(crate) fn with_port(&self, port: u16) -> Self {
        let mut url = self.url.clone();
        // It fails for URLs without a host, which this is not.
        let _ = url.set_port(Some(port));
        Self {
            http: self.http.clone(),
            url,
        }
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Returns a request to a path of these segments.
    pub(crate) fn request(&self, method: Method, path: &[&str]) -> RequestBuilder {
        let mut url = self.url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        self.http.request(method, url)
    }

    /// Returns a request to a worker.
    pub(crate) fn to_worker(
        &self,
        method: Method,
        worker: &WorkerAddress,
        what: &str,
        query: &[(&str, &str)],
    ) -> Option<RequestBuilder> {
        let mut url = Url::parse(&worker.url).ok()?;
        url.path_segments_mut()
            .ok()?
            .pop_if_empty()
            .extend(["gadgetry", what]);
        url.query_pairs_mut().extend_pairs(query);
        let request = self.http.request(method, url);
        Some(request.bearer_auth(&worker.token))
    }

    /// Calls a handler of an inbox.
    async fn inbox<T: DeserializeOwned>(
        &self,
        run: &str,
        handler: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, RestateError> {
        let request = self.request(Method::POST, &[INBOXES, run, handler]);
        let request = match body {
            Some(body) => json(request, body)?,
            None => request,
        };
        answer(request.timeout(SHORT)).await
    }

    pub(crate) async fn open_inbox(
        &self,
        run: &RunId,
        opening: &InboxOpening,
    ) -> Result<Vec<StoredMessage>, RestateError> {
        self.inbox(run.as_str(), "open", Some(opening)).await
    }

    pub(crate) async fn messages(
        &self,
        run: &RunId,
        from: u64,
    ) -> Result<Vec<StoredMessage>, RestateError> {
        self.inbox(run.as_str(), "messages", Some(&from)).await
    }

    pub(crate) async fn put(
        &self,
        run: &str,
        message: &RunMessageContent,
    ) -> Result<u64, RestateError> {
        self.inbox(run, "put", Some(message)).await
    }

    /// Begins a call of a gadget, or finds the one with this key. Returns its invocation.
    pub(crate) async fn send_gadget(
        &self,
        key: &str,
        call: &impl Serialize,
    ) -> Result<String, RestateError> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Sent {
            invocation_id: String,
        }
        let request = self.request(Method::POST, &["restate", "send", GADGETS, "call"]);
        let request = json(request, call)?.header("idempotency-key", key);
        let sent: Sent = answer(request.timeout(SHORT)).await?;
        Ok(sent.invocation_id)
    }

    /// Waits for the result of an invocation.
    pub(crate) async fn attach<T: DeserializeOwned>(
        &self,
        invocation: &str,
    ) -> Result<T, RestateError> {
        answer(self.request(Method::GET, &["restate", "attach", invocation])).await
    }

    pub(crate) async fn cancel_gadget(&self, invocation: &str) -> Result<(), RestateError> {
        let request = self.request(Method::POST, &[GADGETS, "cancel"]);
        send(json(request, &invocation)?.timeout(SHORT)).await?;
        Ok(())
    }

    /// Returns the worker that drives a run, if there is one.
    pub(crate) async fn worker_of(&self, run: &str) -> Result<Option<WorkerAddress>, RestateError> {
        self.inbox(run, "place", None::<&()>).await
    }

    /// Informs a worker that there is a message. A worker that does not receive this reads all messages when it takes up
    /// the run.
    pub(crate) async fn wake(&self, worker: &WorkerAddress, run: &str) {
        let Some(request) = self.to_worker(Method::POST, worker, "wake", &[("run", run)]) else {
            return;
        };
        if let Err(error) = request.timeout(Duration::from_secs(2)).send().await {
            tracing::debug!(run, "the worker was not woken: {}", words(error));
        }
    }
}

/// Returns a request with a JSON body.
pub(crate) fn json(
    request: RequestBuilder,
    body: &impl Serialize,
) -> Result<RequestBuilder, RestateError> {
    let body = serde_json::to_vec(body).map_err(|error| RestateError::Answer(error.to_string()))?;
    Ok(request
        .header("content-type", "application/json")
        .body(body))
}

/// Sends a request and reads its answer as JSON.
pub(crate) async fn answer<T: DeserializeOwned>(
    request: RequestBuilder,
) -> Result<T, RestateError> {
    let response = send(request).await?;
    let text = body(response).await?;
    serde_json::from_slice(&text).map_err(|error| RestateError::Answer(error.to_string()))
}

/// Sends a request. Fails if the server refuses it.
pub(crate) async fn send(request: RequestBuilder) -> Result<Response, RestateError> {
    let response = request.send().await;
    let response = response.map_err(unreachable)?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let text = body(response).await?;
    Err(RestateError::Refused {
        code: status.as_u16(),
        message: message(&text),
    })
}

/// Returns the message of an error, which is JSON if it comes from Restate.
fn message(text: &[u8]) -> String {
    let value: Option<serde_json::Value> = serde_json::from_slice(text).ok();
    let message = value
        .as_ref()
        .and_then(|value| value.get("message")?.as_str());
    let message = message.map_or_else(|| String::from_utf8_lossy(text).into_owned(), str::to_owned);
    if message.trim().is_empty() {
        "the server gave no reason".to_owned()
    } else {
        message
    }
}

async fn body(mut response: Response) -> Result<Vec<u8>, RestateError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > ANSWER {
            let too_long = format!("it is longer than {} MiB", ANSWER >> 20);
            return Err(RestateError::Answer(too_long));
        }
    }
    Ok(bytes)
}

fn unreachable(error: reqwest::Error) -> RestateError {
    let url = error.url().map(|url| url.origin().ascii_serialization());
    RestateError::Unreachable {
        url: url.unwrap_or_default(),
        problem: words(error),
    }
}

/// Returns the innermost reason, which says most.
pub(crate) fn words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(error) = source {
        words = error.to_string();
        source = error.source();
    }
    words
}

/// Returns 128 bits that no one can guess, from the randomness that seeds hash maps.
pub(crate) fn random() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    let half = || RandomState::new().hash_one(0);
    format!("{:016x}{:016x}", half(), half())
}
