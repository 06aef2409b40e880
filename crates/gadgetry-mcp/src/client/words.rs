//! Messages for errors of the protocol's library: without the types that it is made of, and without URLs, which may have keys.

use std::error::Error;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::login::words_of;

/// Describes the error of a handshake.
pub(super) fn of_handshake(error: &ClientInitializeError) -> String {
    if let ClientInitializeError::LegacyFallbackFailed { fallback, .. } = error {
        return of_handshake(fallback);
    }
    if let ClientInitializeError::TransportError { error, .. } = error {
        return of_transport(error);
    }
    error.to_string()
}

/// Describes the error of a request.
pub(super) fn of_request(error: &ServiceError) -> String {
    if let ServiceError::TransportSend(error) = error {
        return of_transport(error);
    }
    error.to_string()
}

fn of_transport(error: &DynamicTransportError) -> String {
    let error = error.error.as_ref();
    let http = error.downcast_ref::<StreamableHttpError<reqwest::Error>>();
    match http {
        Some(StreamableHttpError::Client(error)) => of_http(error),
        Some(StreamableHttpError::Auth(error)) => words_of(error),
        Some(StreamableHttpError::UnexpectedContentType(kind)) => format!(
            "the answer is {} and no MCP; check the address",
            kind.as_deref().unwrap_or("of an unknown type")
        ),
        Some(other) => other.to_string(),
        None => error.to_string(),
    }
}

fn of_http(error: &reqwest::Error) -> String {
    let what = if error.is_timeout() {
        "no answer in time"
    } else if error.is_connect() {
        "cannot connect"
    } else {
        "the request failed"
    };
    // The outermost text has the URL; the innermost says what the system has said.
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    while let Some(deeper) = cause.and_then(Error::source) {
        cause = Some(deeper);
    }
    match cause {
        Some(cause) => format!("{what}: {cause}"),
        None => what.to_owned(),
    }
}
