//! Bodies of requests: read within limits of time and size, before a request has a slot among those in flight.

use axum::extract::Request;
use axum::http::header;
use futures_util::StreamExt as _;
use gadgetry_providers::json;
use serde_json::Value;

use super::Gateway;
use crate::api::{Failure, Refusal};
use crate::memory::most_values;
use crate::settings::Settings;

/// Maximum number of JSON values in a body. Each takes about a hundred bytes, however short its text is.
const VALUES: usize = 1_000_000;

/// Reads the body of a request of the client with the key at `key`.
pub(super) async fn read(
    gateway: &Gateway,
    settings: &Settings,
    key: Option<usize>,
    request: Request,
) -> Result<Value, Failure> {
    let kind = request.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|it| it.to_str().ok()).unwrap_or_default();
    // A web page can send other types to this machine without a preflight request.
    if !kind
        .trim_start()
        .to_ascii_lowercase()
        .starts_with("application/json")
    {
        let message = "the content type must be application/json";
        return Err(Refusal::new("content-type", message).into());
    }
    let limit = settings.limits.body_bytes;
    let timeout = settings.limits.body_timeout;
    let mut arriving = gateway.0.admission.arriving(settings, key);
    let mut bytes = Vec::new();
    let reading = async {
        let mut pieces = request.into_body().into_data_stream();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| Failure::NotJson(error.to_string()))?;
            if bytes.len() + piece.len() > limit {
                return Err(Failure::TooLarge { limit });
            }
            arriving.grow(piece.len())?;
            bytes.extend_from_slice(&piece);
        }
        Ok(())
    };
    match tokio::time::timeout(timeout, reading).await {
        Err(_) => {
            return Err(Failure::Slow {
                seconds: timeout.as_secs(),
            });
        }
        Ok(read) => read?,
    }
    json_document(&bytes)
}

/// Reads a body as JSON, with at most a million values, those in the arguments of calls included.
///
/// # Errors
///
/// [`Failure::NotJson`]; [`Failure::Refused`] for more values.
pub fn json_document(bytes: &[u8]) -> Result<Value, Failure> {
    let text = std::str::from_utf8(bytes).map_err(|error| Failure::NotJson(error.to_string()))?;
    if values(text) > VALUES {
        let message = format!("the body has more than {VALUES} JSON values");
        return Err(Refusal::new("body", message).into());
    }
    let body = json::parse_request(text).map_err(|error| Failure::NotJson(error.to_string()))?;
    if values(text) + in_arguments(&body) > VALUES {
        let message = format!(
            "the body has more than {VALUES} JSON values, with those in the arguments of calls"
        );
        return Err(Refusal::new("body", message).into());
    }
    Ok(body)
}

/// Returns the number of values in a JSON text, or slightly more.
fn values(text: &str) -> usize {
    let mut count = 1;
    let mut is_text = false;
    let mut is_escaped = false;
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' if !is_text => count += 1,
            _ => {}
        }
    }
    count
}

/// Returns the number of values in texts that are later read as JSON, or more.
fn in_arguments(body: &Value) -> usize {
    match body {
        Value::Array(items) => items.iter().map(in_arguments).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| match value {
                Value::String(text) if name == "arguments" => most_values(text),
                value => in_arguments(value),
            })
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{in_arguments, values};

    #[test]
    fn values_in_arguments_are_counted() {
        let call = json!({"function": {"arguments": "[1,2]", "name": "a,b"}});
        let twice = json!({"arguments": r#""[1,2,3]""#});
        let body = json!({"messages": [{"content": "[,,,", "tool_calls": [call, twice]}]});
        assert_eq!(in_arguments(&body), 3 + 4);
    }

    #[test]
    fn values_are_counted_outside_of_texts() {
        let check = |text: &str, expected: usize| assert_eq!(values(text), expected, "{text}");
        check("1", 1);
        check("[1,2,3]", 4);
        check(r#"{"a": [{}, "x,[{"]}"#, 5);
        check(r#"["\\", "\"[[", 1]"#, 4);
    }
}
