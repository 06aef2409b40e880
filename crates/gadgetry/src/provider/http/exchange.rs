//! The way of one request: send it, look at the status, read the answer.

use std::error::Error;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_core::stream::BoxStream;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::ModelErrorKind;
use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Response, Url};

use super::{Http, HttpRequest, header, origin};
use crate::provider::answer::Answer;
use crate::provider::error::ProviderError;
use crate::provider::redact::{Redactor, Secrets};
use crate::provider::retry_after::retry_after;
use crate::provider::wire::Decode;

/// How much of the body of an error is read, in bytes.
const ERROR_BODY: usize = 64 << 10;

/// How long a silent connection is polled once more before the reply counts as stalled.
const LAST_LOOK: Duration = Duration::from_millis(10);

/// How long the rest of the body of an error may take.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn deltas(
    http: Http,
    request: HttpRequest,
    decoder: Box<dyn Decode>,
) -> BoxStream<'static, Delta> {
    let own = http.config.secret_headers.iter().map(|(_, key)| key);
    let keys = request.keys.iter().chain(own);
    let secrets = Secrets::of(keys, [&request.url]);
    let exchange = Exchange {
        redactor: Redactor::new(secrets.clone()),
        answer: Answer::new(decoder)
            .raw_frames(http.config.raw_frames)
            .size_limit(http.config.size_limit)
            .secrets(secrets.clone()),
        secrets,
        phase: Phase::Unsent(Box::new(request)),
        http,
    };
    stream::unfold(exchange, |mut exchange| async move {
        let batch = exchange.next().await?;
        Some((stream::iter(batch), exchange))
    })
    .flatten()
    .boxed()
}

struct Exchange {
    http: Http,
    secrets: Secrets,
    redactor: Redactor,
    phase: Phase,
    answer: Answer,
}

enum Phase {
    Unsent(Box<HttpRequest>),
    Answered(Response),
    Over,
}

impl Exchange {
    /// The next deltas, some at a time; `None` when the reply is over.
    async fn next(&mut self) -> Option<Vec<Delta>> {
        let mut batch = Vec::new();
        while batch.is_empty() {
            self.phase = match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Over => return None,
                Phase::Unsent(request) => match send(&self.http, *request, &self.secrets).await {
                    Ok(response) => Phase::Answered(response),
                    Err(error) => {
                        batch.push(error.into());
                        Phase::Over
                    }
                },
                Phase::Answered(mut response) => {
                    match read(&mut response, self.http.config.idle_timeout).await {
                        Ok(Some(bytes)) => self.answer.feed(&bytes, &mut batch),
                        Ok(None) => self.answer.end(None, &mut batch),
                        Err(why) => self.answer.end(Some(&why), &mut batch),
                    }
                    if self.answer.is_over() {
                        // Its end mostly came with it. Once that is read, the connection can be used again.
                        while let Some(Ok(Some(_))) = response.chunk().now_or_never() {}
                        Phase::Over
                    } else {
                        Phase::Answered(response)
                    }
                }
            };
        }
        let mut seen = Vec::with_capacity(batch.len());
        for delta in batch {
            self.redactor.push(delta, &mut seen);
        }
        Some(seen)
    }
}

async fn send(
    http: &Http,
    mut request: HttpRequest,
    secrets: &Secrets,
) -> Result<Response, ProviderError> {
    let transport = |message| ProviderError::new(ModelErrorKind::Transport, message);
    let host = origin(&request.url);
    if let Some(why) = &http.untrusting
        && request.url.scheme() == "https"
    {
        return Err(transport(format!(
            "cannot verify {host}: this machine has no certificates to trust ({why})"
        )));
    }
    let config = &http.config;
    for (name, value) in &config.headers {
        let (name, value) = header(name, value)?;
        request.headers.insert(name, value);
    }
    for (name, value) in &config.secret_headers {
        request = request.secret(name, value)?;
    }
    let url = request.url.clone();
    let post = http.client.post(request.url);
    let sent = post.headers(request.headers).body(request.body).send();
    let limit = config.header_timeout;
    let response = match tokio::time::timeout(limit, sent).await {
        Err(_) => Err(transport(format!("{host} has not answered for {limit:?}"))),
        Ok(Err(error)) if error.is_connect() && error.is_timeout() => Err(transport(format!(
            "no connection to {host} within {:?}",
            config.connect_timeout
        ))),
        Ok(Err(error)) if error.is_connect() => Err(transport(format!(
            "no connection to {host}: {}; is the server running, and the base URL right?",
            cause(&error.without_url())
        ))),
        Ok(Err(error)) => Err(transport(format!(
            "the request to {host} failed: {}",
            cause(&error.without_url())
        ))),
        Ok(Ok(response)) => Ok(response),
    }?;
    if response.status().is_success() {
        return Ok(response);
    }
    Err(refusal(response, &url, secrets).await)
}

/// More of the body, or nothing at its end, or why it broke off.
async fn read(response: &mut Response, limit: Duration) -> Result<Option<Bytes>, String> {
    let mut more = tokio::time::timeout(limit, response.chunk()).await;
    if more.is_err() {
        // On a machine that is overloaded or was suspended the timer can fire before the connection's task has run:
        // bytes that already wait in the socket are no silence.
        more = tokio::time::timeout(LAST_LOOK, response.chunk()).await;
    }
    match more {
        Err(_) => Err(format!("the reply stalled: no data for {limit:?}")),
        Ok(Err(error)) => {
            let why = cause(&error.without_url());
            Err(format!("the reply was cut off: {why}"))
        }
        Ok(Ok(bytes)) => Ok(bytes),
    }
}

/// What an answer with another status than success says.
async fn refusal(mut response: Response, url: &Url, secrets: &Secrets) -> ProviderError {
    let status = response.status().as_u16();
    if response.status().is_redirection() {
        let place = response.headers().get(LOCATION);
        let place = place.and_then(|place| url.join(place.to_str().ok()?).ok());
        let place = place.map_or_else(String::new, |place| format!(" to {}", origin(&place)));
        let message = format!(
            "{} redirects{place}; a key is not sent on, so set the base URL to where it leads",
            origin(url)
        );
        return ProviderError {
            status: Some(status),
            ..ProviderError::new(ModelErrorKind::BadRequest, message)
        };
    }
    let body = error_body(&mut response).await;
    let mut error = ProviderError::refused(status, &String::from_utf8_lossy(&body), secrets);
    let headers = response.headers();
    error.retry_after_ms = wait(headers, error.kind);
    error.request_id = ["x-request-id", "request-id", "x-amzn-requestid"]
        .iter()
        .find_map(|name| headers.get(*name)?.to_str().ok())
        .map(str::to_owned)
        .or(error.request_id);
    error
}

fn wait(headers: &HeaderMap, kind: ModelErrorKind) -> Option<u64> {
    let header = |name: &str| headers.get(name)?.to_str().ok();
    let is_limit = kind == ModelErrorKind::RateLimit;
    // A server that is overloaded also tells when limits start anew, which is not when it will be well.
    let header = |name: &str| header(name).filter(|_| is_limit || name.starts_with("retry-after"));
    let wait = retry_after(header, SystemTime::now())?;
    u64::try_from(wait.as_millis()).ok()
}

/// The body as far as it comes in time.
async fn error_body(response: &mut Response) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(bytes)) = response.chunk().await {
            body.extend_from_slice(&bytes);
            if body.len() >= ERROR_BODY {
                body.truncate(ERROR_BODY);
                break;
            }
        }
    };
    _ = tokio::time::timeout(ERROR_BODY_TIMEOUT, read).await;
    body
}

/// The innermost cause of an error. What stands around it names the layers of a library, not what happened.
pub(super) fn cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
