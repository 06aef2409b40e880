//! Sends a request, and checks the status of the answer.

use std::error::Error;
use std::io;
use std::time::{Duration, SystemTime};

use gadgetry_proto::error::ModelErrorKind;
use reqwest::header::{CONTENT_ENCODING, HeaderMap, LOCATION};
use reqwest::{Client, Request, Response, Url};
use tokio::time::Instant;

use super::Http;
use super::cause::cause;
use crate::base_url::origin;
use crate::error::{ProviderError, millis};
use crate::redact::Secrets;
use crate::request::{HttpRequest, header};
use crate::retry_after::retry_after;

/// The maximum number of bytes read of the body of an error.
const ERROR_BODY: usize = 64 << 10;

/// Maximum time to read the rest of the body of an error.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum time after which a request fails on a connection that was already gone: more than a round trip, and less than a
/// model needs for a reply that someone pays for.
const SOON: Duration = Duration::from_secs(5);

/// Sends `request`, and returns the answer if its status is a success.
pub(super) async fn send(
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
    let post = post.headers(request.headers).body(request.body);
    let sent = async { execute(&http.client, post.build()?).await };
    let limit = config.timeouts(&url).header;
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
        return match encoding(&response) {
            None => Ok(response),
            Some(encoding) => Err(ProviderError::new(
                ModelErrorKind::BadRequest,
                format!(
                    "{host} answers with the content encoding {encoding}, although the request allows none; turn off \
                     compression in the server or proxy"
                ),
            )
            .not_an_api()),
        };
    }
    Err(refusal(response, &url, secrets).await)
}

/// Sends `request`, and once more if the server closes the connection soon, before the head of an answer is whole.
///
/// A server closes a connection that was idle for some seconds, and may do so in the moment in which a request is sent on it.
/// llama.cpp waits for 5 seconds, about as long as a gadget runs.
async fn execute(client: &Client, request: Request) -> Result<Response, reqwest::Error> {
    let began = Instant::now();
    let again = request.try_clone();
    let sent = client.execute(request).await;
    match (sent, again) {
        (Err(error), Some(again)) if began.elapsed() < SOON && is_closed_unanswered(&error) => {
            client.execute(again).await
        }
        (sent, _) => sent,
    }
}

/// Returns `true` if the server closed a connection before the head of an answer was whole.
fn is_closed_unanswered(error: &reqwest::Error) -> bool {
    let sources = std::iter::successors(error.source(), |&it| it.source());
    let is_closed = |source: &(dyn Error + 'static)| {
        let hyper = source.downcast_ref::<hyper::Error>();
        let io = source.downcast_ref::<io::Error>();
        hyper.is_some_and(hyper::Error::is_incomplete_message)
            || io.is_some_and(|it| it.kind() == io::ErrorKind::ConnectionReset)
    };
    !error.is_connect() && sources.into_iter().any(is_closed)
}

/// The error that an answer without success reports.
async fn refusal(mut response: Response, url: &Url, secrets: &Secrets) -> ProviderError {
    let status = response.status().as_u16();
    if response.status().is_redirection() {
        let place = response.headers().get(LOCATION);
        let place = place.and_then(|place| url.join(place.to_str().ok()?).ok());
        let place = place.map_or_else(String::new, |place| {
            // Within one host only the path differs.
            let is_same = place.host() == url.host() && place.port() == url.port();
            let path = is_same.then(|| place.path());
            format!(" to {}{}", origin(&place), path.unwrap_or_default())
        });
        let message = format!(
            "{} redirects{place}; a key is not sent on, so set the base URL to where it leads",
            origin(url)
        );
        return ProviderError {
            status: Some(status),
            ..ProviderError::new(ModelErrorKind::BadRequest, message).not_an_api()
        };
    }
    let body = match encoding(&response) {
        None => String::from_utf8_lossy(&error_body(&mut response).await).into_owned(),
        Some(encoding) => format!(
            "the error has the content encoding {encoding}, although the request allows none"
        ),
    };
    let mut error = ProviderError::refused(status, &body, secrets);
    let headers = response.headers();
    error.retry_after_ms = wait(headers, error.kind).or(error.retry_after_ms);
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
    // A server that is overloaded also reports when limits are reset, which is not when it recovers.
    let header = |name: &str| header(name).filter(|_| is_limit || name.contains("retry-after"));
    retry_after(header, SystemTime::now()).map(millis)
}

/// The content encoding of the body; `None` for identity. None is requested, because none can be read.
fn encoding(response: &Response) -> Option<String> {
    let value = response.headers().get(CONTENT_ENCODING)?;
    let value = String::from_utf8_lossy(value.as_bytes());
    let mut codings = value.split(',').map(str::trim);
    let coding = codings.find(|it| !it.is_empty() && !it.eq_ignore_ascii_case("identity"))?;
    Some(coding.chars().take(40).collect())
}

/// The part of the body that arrives in time.
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
