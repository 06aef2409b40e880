//! The way of one request: send, look at the answer, read it.

use std::collections::VecDeque;
use std::error::Error;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::ModelErrorKind;
use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Response, Url};
use serde_json::Value;

use super::{Http, HttpRequest, header, origin};
use crate::provider::error::ProviderError;
use crate::provider::retry_after::retry_after;
use crate::provider::secret::ApiKey;
use crate::provider::wire::{Decode, is_over};
use crate::provider::{json, sse};

/// How much of the body of an error is read, in bytes.
const ERROR_BODY: usize = 64 << 10;

/// How long the rest of the body of an error may take.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn deltas(
    http: Http,
    request: HttpRequest,
    decoder: Box<dyn Decode>,
) -> BoxStream<'static, Delta> {
    let keys = request.keys.iter();
    let own = http.config.secret_headers.iter().map(|(_, key)| key);
    let exchange = Exchange {
        keys: keys.chain(own).cloned().collect(),
        phase: Phase::Unsent(Box::new(request)),
        decoder,
        ready: VecDeque::new(),
        batch: Vec::new(),
        http,
    };
    stream::unfold(exchange, |mut exchange| async move {
        let delta = exchange.next().await?;
        Some((delta, exchange))
    })
    .boxed()
}

struct Exchange {
    http: Http,
    keys: Vec<ApiKey>,
    phase: Phase,
    decoder: Box<dyn Decode>,
    ready: VecDeque<Delta>,
    /// Empty between two calls.
    batch: Vec<Delta>,
}

enum Phase {
    Unsent(Box<HttpRequest>),
    /// The answer is there; nothing tells yet whether it is a stream or one document.
    Unknown(Response, Vec<u8>),
    Document(Response, Vec<u8>),
    Events(Response, sse::Decoder),
    Over,
}

/// What the body gave.
enum Read {
    Bytes(Bytes),
    End,
    Broken(String),
}

impl Exchange {
    async fn next(&mut self) -> Option<Delta> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Some(delta);
            }
            self.phase = match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Over => return None,
                Phase::Unsent(request) => match send(&self.http, *request).await {
                    Ok(response) => Phase::Unknown(response, Vec::new()),
                    Err(error) => self.fail(error),
                },
                Phase::Unknown(mut response, body) => {
                    let read = read(&mut response, self.http.config.idle_timeout).await;
                    self.unknown(response, body, read)
                }
                Phase::Document(mut response, body) => {
                    let read = read(&mut response, self.http.config.idle_timeout).await;
                    self.document(response, body, read)
                }
                Phase::Events(mut response, events) => {
                    let read = read(&mut response, self.http.config.idle_timeout).await;
                    self.events(response, events, read)
                }
            };
        }
    }

    /// The first byte that is no blank tells a document from a stream: no line of a stream begins with a brace. What
    /// the server calls it does not count, because some call everything `text/plain`.
    fn unknown(&mut self, response: Response, mut body: Vec<u8>, read: Read) -> Phase {
        let size_limit = self.http.config.size_limit;
        let Read::Bytes(bytes) = read else {
            let events = sse::Decoder::with_limit(size_limit);
            return self.events(response, events, read);
        };
        body.extend_from_slice(&bytes);
        let start = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&body);
        match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'{' | b'[' | b'<') => self.document(response, body, Read::Bytes(Bytes::new())),
            // Blanks that keep the connection alive mean nothing to either form.
            None => Phase::Unknown(response, Vec::new()),
            // The mark is three bytes, which may come one by one.
            Some(0xEF) if body.len() < 3 => Phase::Unknown(response, body),
            Some(_) => {
                let events = sse::Decoder::with_limit(size_limit);
                self.events(response, events, Read::Bytes(body.into()))
            }
        }
    }

    fn document(&mut self, response: Response, mut body: Vec<u8>, read: Read) -> Phase {
        match read {
            Read::Bytes(bytes) => {
                body.extend_from_slice(&bytes);
                let limit = self.http.config.size_limit;
                if body.len() > limit {
                    return self.fail(ProviderError::new(
                        ModelErrorKind::Other,
                        format!("the answer has more than {limit} bytes"),
                    ));
                }
                Phase::Document(response, body)
            }
            Read::Broken(why) => self.truncated(why),
            Read::End => {
                let text = String::from_utf8_lossy(&body);
                match json::parse(text.trim_start_matches('\u{FEFF}')) {
                    Ok(body) => self.whole(body),
                    Err(_) => self.fail(ProviderError::foreign(&text)),
                }
            }
        }
    }

    fn whole(&mut self, mut body: Value) -> Phase {
        if self.http.config.raw_frames {
            let mut data = body.clone();
            json::whole_value(&mut data);
            self.batch.push(Delta::Raw { data });
        }
        if body.get("error").is_some_and(|error| !error.is_null())
            && let Some(error) = ProviderError::from_body(&body)
        {
            return self.fail(error);
        }
        json::whole_value(&mut body);
        self.decoder.reply(body, &mut self.batch);
        self.close("the answer is no reply that we know")
    }

    fn events(&mut self, response: Response, mut decoder: sse::Decoder, read: Read) -> Phase {
        let mut events = Vec::new();
        match read {
            Read::Bytes(bytes) => {
                let fed = decoder.feed(&bytes, &mut events);
                if events.iter().any(|event| self.frame(event)) {
                    return self.hand_on();
                }
                if let Err(error) = fed {
                    let error = ProviderError::new(ModelErrorKind::Other, error.to_string());
                    return self.fail(error);
                }
                self.hand_on();
                Phase::Events(response, decoder)
            }
            Read::End => {
                // A last event that was not ended is worth something if it is whole.
                if let Ok(Some(event)) = decoder.finish()
                    && (event.data == "[DONE]" || json::parse(&event.data).is_ok())
                    && self.frame(&event)
                {
                    return self.hand_on();
                }
                self.decoder.end(&mut self.batch);
                self.close("the stream ended before the reply did")
            }
            Read::Broken(why) => {
                // All that matters may have come before.
                self.decoder.end(&mut self.batch);
                self.close(&why)
            }
        }
    }

    /// Reads one frame; whether the reply is over.
    fn frame(&mut self, event: &sse::Event) -> bool {
        let at = self.batch.len();
        let is_known = self.decoder.frame(event, &mut self.batch);
        if !is_known || self.http.config.raw_frames {
            self.batch.insert(at, raw(event));
        }
        is_over(&self.batch)
    }

    fn truncated(&mut self, why: String) -> Phase {
        self.fail(ProviderError::new(ModelErrorKind::Truncated, why))
    }

    /// Ends the reply; if it is not complete, `why` says how it was cut.
    fn close(&mut self, why: &str) -> Phase {
        if is_over(&self.batch) {
            return self.hand_on();
        }
        self.truncated(why.to_owned())
    }

    fn fail(&mut self, error: ProviderError) -> Phase {
        self.batch.push(error.into());
        self.hand_on()
    }

    /// Hands the batch on, without keys.
    fn hand_on(&mut self) -> Phase {
        let keys = &self.keys;
        self.ready.extend(self.batch.drain(..).map(|mut delta| {
            redact(&mut delta, keys);
            delta
        }));
        Phase::Over
    }
}

async fn send(http: &Http, mut request: HttpRequest) -> Result<Response, ProviderError> {
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
            sources(&error.without_url())
        ))),
        Ok(Err(error)) => Err(transport(format!(
            "the request to {host} failed: {}",
            sources(&error.without_url())
        ))),
        Ok(Ok(response)) => Ok(response),
    }?;
    if response.status().is_success() {
        return Ok(response);
    }
    Err(refusal(response, &url).await)
}

async fn read(response: &mut Response, limit: Duration) -> Read {
    match tokio::time::timeout(limit, response.chunk()).await {
        Err(_) => Read::Broken(format!("the reply stalled: nothing came for {limit:?}")),
        Ok(Err(error)) => {
            let why = sources(&error.without_url());
            Read::Broken(format!("the reply was cut off: {why}"))
        }
        Ok(Ok(Some(bytes))) => Read::Bytes(bytes),
        Ok(Ok(None)) => Read::End,
    }
}

/// Takes keys out of what a provider may have repeated: its errors and its frames.
fn redact(delta: &mut Delta, keys: &[ApiKey]) {
    let clean = |text: &mut String| {
        for key in keys {
            if let std::borrow::Cow::Owned(clean) = key.redact(text) {
                *text = clean;
            }
        }
    };
    if let Delta::Error { error, code, .. } = delta {
        clean(error);
        code.iter_mut().for_each(clean);
    } else if let Delta::Raw { data } = delta {
        each_string(data, &clean);
    }
}

fn each_string(value: &mut Value, change: &impl Fn(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_string(item, change)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| each_string(field, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A frame as it came.
fn raw(event: &sse::Event) -> Delta {
    let mut data = json::parse(&event.data).unwrap_or_else(|_| Value::String(event.data.clone()));
    json::whole_value(&mut data);
    Delta::Raw { data }
}

/// What an answer with another status than success says.
async fn refusal(mut response: Response, url: &Url) -> ProviderError {
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
    let mut error = ProviderError::from_response(status, &String::from_utf8_lossy(&body));
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

/// An error with all its causes, each once.
pub(super) fn sources(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let part = source.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        next = source.source();
    }
    text
}
