//! Requests that are answered: those of the page itself, on this machine.

use axum::extract::{Request, State};
use axum::http::header::ORIGIN;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use gadgetry_http::{is_from_another_page, names_this_machine};

use crate::inspector::Inspector;

/// Nothing runs, and nothing is loaded, but the files of the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

/// Answers requests of the page, and adds what a browser must not do with the answers.
pub(crate) async fn admit(
    State(inspector): State<Inspector>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match refusal(&inspector, &request) {
        Some((status, words)) => (status, words).into_response(),
        None => next.run(request).await,
    };
    for (name, value) in HEADERS {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

fn refusal(inspector: &Inspector, request: &Request) -> Option<(StatusCode, &'static str)> {
    let headers = request.headers();
    // A web page that has taken over a name by DNS names it.
    if !names_this_machine(headers) {
        let words = "the request's host must be localhost, 127.0.0.1 or [::1]\n";
        return Some((StatusCode::FORBIDDEN, words));
    }
    if is_foreign(headers) {
        return Some((StatusCode::FORBIDDEN, "the request is from another page\n"));
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Some((StatusCode::METHOD_NOT_ALLOWED, "only GET\n"));
    }
    let token = request.uri().path().split('/').nth(1).unwrap_or_default();
    (!inspector.0.token.is(token)).then_some((StatusCode::NOT_FOUND, "not found\n"))
}

/// Returns whether a page of another origin has sent a request. A link that a user follows is admitted.
fn is_foreign(headers: &HeaderMap) -> bool {
    let mode = headers.get("sec-fetch-mode").map(HeaderValue::as_bytes);
    let is_link = mode == Some(b"navigate") && !headers.contains_key(ORIGIN);
    is_from_another_page(headers) && !is_link
}
