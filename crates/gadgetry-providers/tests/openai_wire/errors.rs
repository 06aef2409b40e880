//! What refusals mean, and how long they ask to wait.

use std::time::{Duration, UNIX_EPOCH};

use gadgetry_proto::error::ModelErrorKind::{self, *};
use gadgetry_providers::ProviderError;
use gadgetry_providers::retry_after::retry_after;

use super::show::{check, sse};

#[test]
fn refusals() {
    let openai = |code: &str, message: &str| {
        format!(
            r#"{{"error":{{"message":"{message}","type":"invalid_request_error","param":null,"code":"{code}"}}}}"#
        )
    };
    let anthropic = |kind: &str, message: &str| {
        format!(
            r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"r"}}"#
        )
    };
    let detail = |message: &str| format!(r#"{{"detail":"{message}"}}"#);
    let table: &[(u16, String, ModelErrorKind, &str)] = &[
        (401, openai("invalid_api_key", "Incorrect API key provided"), Authentication, "Incorrect API key provided; check the key, and what it may use (HTTP 401)"),
        (403, anthropic("permission_error", "No."), Authentication, "No. check the key, and what it may use (HTTP 403, request r)"),
        (401, String::new(), Authentication, "the provider answered with status 401 and no message; check the key, and what it may use (HTTP 401)"),
        (404, r#"{"error":"model 'x' not found"}"#.into(), BadRequest, "model 'x' not found; check the name of the model, and the base URL (HTTP 404)"),
        (404, "404 page not found\n".into(), BadRequest, "404 page not found; check the name of the model, and the base URL (HTTP 404)"),
        (429, openai("rate_limit_exceeded", "slow down"), RateLimit, "slow down (HTTP 429)"),
        (429, openai("insufficient_quota", "You exceeded your current quota"), Other, "You exceeded your current quota (HTTP 429)"),
        (429, "busy".into(), RateLimit, "busy (HTTP 429)"),
        (402, detail("pay"), Other, "pay (HTTP 402)"),
        (500, "{}".into(), Overloaded, "{} (HTTP 500)"),
        (502, "<html><body>Bad gateway</body></html>".into(), Overloaded, "the answer is a web page, not an API's (HTTP 502)"),
        (503, detail("loading"), Overloaded, "loading (HTTP 503)"),
        (504, String::new(), Overloaded, "the provider answered with status 504 and no message (HTTP 504)"),
        (529, anthropic("overloaded_error", "Overloaded"), Overloaded, "Overloaded (HTTP 529, request r)"),
        (400, openai("context_length_exceeded", "too long"), ContextOverflow, "too long (HTTP 400)"),
        (400, anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), ContextOverflow, "prompt is too long: 210000 tokens > 200000 maximum (HTTP 400, request r)"),
        (400, r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000","code":400}"#.into(), ContextOverflow, "This model's maximum context length is 4096 tokens. However, you requested 5000 (HTTP 400)"),
        (400, r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}"#.into(), ContextOverflow, "the request exceeds the available context size, try increasing it (HTTP 400)"),
        (400, r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":1531,"n_ctx":1024}}"#.into(), ContextOverflow, "the request exceeds the available context size (1531 tokens, and the context has 1024) (HTTP 400)"),
        (400, r#"{"error":{"code":400,"message":"request (1531 tokens) exceeds the available context size (1024 tokens)","type":"exceed_context_size_error","n_prompt_tokens":1531,"n_ctx":1024}}"#.into(), ContextOverflow, "request (1531 tokens) exceeds the available context size (1024 tokens) (HTTP 400)"),
        (400, detail("You passed 4097 input tokens. However, the model's context length is only 4096 tokens."), ContextOverflow, "You passed 4097 input tokens. However, the model's context length is only 4096 tokens. (HTTP 400)"),
        (400, detail("The decoder prompt (length 5) is longer than the maximum model length of 4."), ContextOverflow, "The decoder prompt (length 5) is longer than the maximum model length of 4. (HTTP 400)"),
        (413, detail("Please reduce the length of the messages or completion."), ContextOverflow, "Please reduce the length of the messages or completion. (HTTP 413)"),
        (400, r#"[{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8).","status":"INVALID_ARGUMENT"}}]"#.into(), ContextOverflow, "The input token count (9) exceeds the maximum number of tokens allowed (8). (HTTP 400)"),
        // A status alone says nothing, nor does a limit of something else.
        (413, detail("body too large"), BadRequest, "body too large (HTTP 413)"),
        (413, anthropic("request_too_large", "Request exceeds the maximum size"), BadRequest, "Request exceeds the maximum size (HTTP 413, request r)"),
        (400, openai("invalid_value", "max_tokens is too large: 100000. This model supports at most 4096 completion tokens"), BadRequest, "max_tokens is too large: 100000. This model supports at most 4096 completion tokens (HTTP 400)"),
        (400, openai("", "'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens"), BadRequest, "'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens (HTTP 400)"),
        (429, openai("rate_limit_exceeded", "Too many tokens; maximum context length is 8"), RateLimit, "Too many tokens; maximum context length is 8 (HTTP 429)"),
        (400, openai("content_policy_violation", "no"), ContentFilter, "no (HTTP 400)"),
        (422, r#"{"detail":[{"loc":["body","messages"],"msg":"field required"}]}"#.into(), BadRequest, r#"[{"loc":["body","messages"],"msg":"field required"}] (HTTP 422)"#),
        (400, r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"bad tool"}}}"#.into(), BadRequest, "Provider returned error: bad tool (HTTP 400)"),
    ];
    for (status, body, kind, shown) in table {
        let error = ProviderError::from_response(*status, body);
        assert_eq!(
            (error.kind, error.to_string().as_str()),
            (*kind, *shown),
            "{status} {body}"
        );
        assert_eq!(error.status, Some(*status));
    }
}

#[test]
fn codes_are_kept() {
    let body = r#"{"error":{"message":"m","type":"t","code":null}}"#;
    assert_eq!(
        ProviderError::from_response(400, body).code.as_deref(),
        Some("t")
    );
    let body = r#"{"error":{"message":"m","type":"t","code":"c"}}"#;
    assert_eq!(
        ProviderError::from_response(400, body).code.as_deref(),
        Some("c")
    );
    let long = "x".repeat(5000);
    assert_eq!(
        ProviderError::from_response(400, &long)
            .message
            .chars()
            .count(),
        1001
    );
}

#[test]
fn errors_in_a_stream() {
    let text = r#"{"choices":[{"delta":{"content":"x"}}]}"#;
    let table = [
        (
            r#"{"error":{"message":"m","type":"server_error","code":null}}"#,
            "Overloaded: m",
        ),
        (
            r#"{"error":{"message":"m","type":"rate_limit_error"}}"#,
            "RateLimit: m",
        ),
        (
            r#"{"error":{"message":"m","code":429}}"#,
            "RateLimit: m (HTTP 429)",
        ),
        (
            r#"{"error":{"message":"m","code":"context_length_exceeded"}}"#,
            "ContextOverflow: m",
        ),
        (r#"{"error":"m"}"#, "Other: m"),
        (r#"{"error":{}}"#, "Other: {}"),
        (
            r#"{"object":"error","message":"m","type":"BadRequestError","code":400}"#,
            "BadRequest: m (HTTP 400)",
        ),
        (r#"{"detail":"m"}"#, "Other: m"),
        (
            r#"{"choices":[{"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"m"}}]}"#,
            "Overloaded: m (HTTP 502)",
        ),
        (
            r#"{"choices":[],"error":{"code":502,"message":"m"}}"#,
            "Overloaded: m (HTTP 502)",
        ),
        (
            "{malformed json: <<<chaos>>>",
            "Transport: the provider sent a frame that is not JSON: {malformed json: <<<chaos>>>",
        ),
    ];
    for (frame, error) in table {
        check(
            frame,
            sse(&[text, frame, text, "[DONE]"]),
            &format!("start | text x | error {error}"),
        );
    }
    let named = format!("data: {text}\n\nevent: error\ndata: {{\"message\":\"m\"}}\n\n");
    check("named", named, "start | text x | error Other: m");
}

#[test]
fn answers_that_are_no_stream() {
    let table = [
        (
            r#"{"error":{"message":"m","type":"rate_limit_error"}}"#,
            "RateLimit: m",
        ),
        (
            r#"[{"error":{"message":"m","code":503}}]"#,
            "Overloaded: m (HTTP 503)",
        ),
        (r#"{"detail":"m"}"#, "Other: m"),
        (
            "{malformed json: <<<chaos>>>",
            "Transport: the answer is neither an event stream nor JSON: {malformed json: <<<chaos>>>",
        ),
        (
            "<!DOCTYPE html><html>hello</html>",
            "BadRequest: the answer is a web page, not an API's; check the base URL",
        ),
        ("", "Truncated: the stream ended before the reply did"),
        ("\n\n", "Truncated: the stream ended before the reply did"),
        (
            "hello",
            "BadRequest: the answer is not an API's; check the base URL. It begins: hello",
        ),
        (
            ": keep-alive\n\n",
            "Truncated: the stream ended before the reply did",
        ),
    ];
    for (body, error) in table {
        check(body, body, &format!("error {error}"));
    }
    let cut = r#"{"choices":[{"message":{"content":"x"#;
    check(
        "cut",
        cut,
        &format!("error Transport: the answer is neither an event stream nor JSON: {cut}"),
    );
    let strange = r#"{"hello":"you"}"#;
    check(
        "strange",
        strange,
        &format!(
            "error BadRequest: the answer is JSON, but not a reply; check the base URL. It begins: {strange}"
        ),
    );
}

/// Longer than anything can be waited for, in seconds.
const FOREVER: f64 = 18_446_744_073_709_551_616.0;

/// Names and values.
type Headers = &'static [(&'static str, &'static str)];

#[test]
fn waits() {
    // 1994-11-06T08:49:30Z.
    let now = UNIX_EPOCH + Duration::from_secs(784_111_770);
    let table: &[(Headers, Option<f64>)] = &[
        (&[], None),
        (&[("retry-after", "7")], Some(7.0)),
        (&[("retry-after", " 0.5 ")], Some(0.5)),
        (&[("retry-after", "0")], Some(0.0)),
        (&[("retry-after", "-1")], None),
        (&[("retry-after", "soon")], None),
        (&[("retry-after", "1e300")], Some(FOREVER)),
        (&[("retry-after", "1e400")], Some(FOREVER)),
        (&[("retry-after", "inf")], Some(FOREVER)),
        (&[("retry-after", "18446744073709551616")], Some(FOREVER)),
        (&[("retry-after", "1e18")], Some(1e18)),
        (&[("retry-after", "-inf")], None),
        (&[("llm_provider-retry-after", "2")], Some(2.0)),
        (
            &[("retry-after", "3"), ("llm_provider-retry-after", "2")],
            Some(3.0),
        ),
        (&[("retry-after", "NaN")], None),
        (
            &[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")],
            Some(7.0),
        ),
        (
            &[("retry-after", "Sat, 05 Nov 1994 08:49:37 GMT")],
            Some(0.0),
        ),
        (
            &[("retry-after", "Wed, 01 Mar 1995 00:00:00 GMT")],
            Some(9_904_230.0),
        ),
        (&[("retry-after", "Sun, 99 Nov 1994 08:49:37 GMT")], None),
        // The older forms of RFC 9110.
        (
            &[("retry-after", "Sunday, 06-Nov-94 08:49:37 GMT")],
            Some(7.0),
        ),
        (&[("retry-after", "Sun Nov  6 08:49:37 1994")], Some(7.0)),
        (&[("retry-after", "1994-11-06T08:50:31.9Z")], Some(61.0)),
        (
            &[("retry-after", "1995-03-01T01:00:00Z")],
            Some(9_907_830.0),
        ),
        (&[("retry-after", "1969-12-31T23:59:59Z")], Some(0.0)),
        (&[("retry-after", "1994-11-31T08:49:37Z")], None),
        (&[("retry-after", "1994-11-06T08:49:37:00Z")], None),
        (&[("retry-after", "1994-11-06T8:49:37Z")], None),
        (
            &[("retry-after-ms", "1500"), ("retry-after", "2")],
            Some(1.5),
        ),
        (&[("x-ratelimit-reset-requests", "1s")], Some(1.0)),
        // It may be of a limit that is not used up.
        (&[("x-ratelimit-reset-tokens", "6m0s")], None),
        (
            &[
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-tokens", "2m59.56s"),
            ],
            Some(179.56),
        ),
        (&[("x-ratelimit-reset-tokens", "20ms")], Some(0.02)),
        (
            &[
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-tokens", "1d1h"),
            ],
            Some(90_000.0),
        ),
        (&[("x-ratelimit-reset-tokens", "7x")], None),
        (&[("x-ratelimit-reset-tokens", "7")], Some(7.0)),
        (&[("x-ratelimit-reset", "784111772")], Some(2.0)),
        (&[("x-ratelimit-reset", "784111772000")], Some(2.0)),
        (
            &[("anthropic-ratelimit-tokens-reset", "1994-11-06T08:49:37Z")],
            Some(7.0),
        ),
        (
            &[
                ("x-ratelimit-reset-requests", "1s"),
                ("x-ratelimit-reset-tokens", "3s"),
            ],
            Some(3.0),
        ),
        (
            &[
                ("x-ratelimit-remaining-requests", "0"),
                ("x-ratelimit-reset-requests", "1s"),
                ("x-ratelimit-remaining-tokens", "9"),
                ("x-ratelimit-reset-tokens", "3s"),
            ],
            Some(1.0),
        ),
        (
            &[
                ("x-ratelimit-remaining-tokens", "9"),
                ("x-ratelimit-reset-tokens", "3s"),
            ],
            None,
        ),
    ];
    for (headers, expected) in table {
        let header = |name: &str| headers.iter().find(|it| it.0 == name).map(|it| it.1);
        let wait = retry_after(header, now).map(|it| it.as_secs_f64());
        assert_eq!(wait, *expected, "{headers:?}");
    }
}
