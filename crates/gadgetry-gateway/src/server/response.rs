//! Answers of the service other than replies.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::Value;

use crate::api::{ClientApi, Failure};

/// Puts the id of a request into the headers of its answer.
pub(super) fn put_id(headers: &mut HeaderMap, id: &str) {
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert("x-request-id", id.clone());
        headers.insert("request-id", id);
    }
}

/// Returns an answer with a JSON body.
pub fn json_response(status: StatusCode, body: &Value) -> Response {
    json_text(status, body.to_string())
}

/// Returns an answer with a body of JSON text.
pub(super) fn json_text(status: StatusCode, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Returns the answer to a request that has no reply: the status, body and headers that clients of `api` understand.
pub fn failed(api: ClientApi, failure: &Failure) -> Response {
    let status = StatusCode::from_u16(failure.status(api)).unwrap_or(StatusCode::BAD_GATEWAY);
    let mut response = json_response(status, &failure.body(api));
    let headers = response.headers_mut();
    if !failure.is_transient() {
        // The SDKs repeat requests after some statuses, and some after all.
        headers.insert("x-should-retry", HeaderValue::from_static("false"));
    }
    if let Some(ms) = failure.retry_after_ms() {
        headers.insert(header::RETRY_AFTER, ms.div_ceil(1000).into());
        headers.insert("retry-after-ms", ms.into());
    }
    response
}
