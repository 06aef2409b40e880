//! Small answers: one JSON document, within limits of time and size.

use std::time::Duration;

use reqwest::{Method, StatusCode, Url};
use serde_json::Value;

use super::Http;
use crate::request::header;

/// Bytes of an answer. The longest are lists of a gateway's models.
const LIMIT: usize = 4 << 20;

/// A question with a small answer.
#[derive(Clone, Debug)]
pub(crate) struct Small<'q> {
    pub(crate) method: Method,
    pub(crate) url: Url,
    /// Sent as a bearer token, unless the URL holds a user name or password, which need that header.
    pub(crate) key: Option<&'q str>,
    pub(crate) body: Option<Value>,
    pub(crate) timeout: Duration,
}

impl Http {
    /// The status of an answer, and its body if that is JSON; `None` if there is no answer in time, or too much of one.
    pub(crate) async fn small(&self, question: Small<'_>) -> Option<(StatusCode, Value)> {
        let timeout = question.timeout;
        tokio::time::timeout(timeout, self.small_in_time(question))
            .await
            .ok()?
    }

    async fn small_in_time(&self, question: Small<'_>) -> Option<(StatusCode, Value)> {
        let url = question.url;
        let has_user = !url.username().is_empty() || url.password().is_some();
        let mut request = self.client.request(question.method, url);
        for (name, value) in &self.config.headers {
            let (name, value) = header(name, value).ok()?;
            request = request.header(name, value);
        }
        for (name, value) in &self.config.secret_headers {
            let (name, mut value) = header(name, value.expose()).ok()?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        if let Some(key) = question.key.filter(|_| !has_user) {
            request = request.bearer_auth(key);
        }
        if let Some(body) = question.body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let mut answer = request.send().await.ok()?;
        let status = answer.status();
        let mut bytes = Vec::new();
        while let Some(piece) = answer.chunk().await.ok()? {
            if bytes.len() + piece.len() > LIMIT {
                return None;
            }
            bytes.extend_from_slice(&piece);
        }
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Some((status, body))
    }
}
