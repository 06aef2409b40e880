//! Spans of the requests that a gateway passes on.

use std::fmt;

use gadgetry::TraceContext;
use gadgetry::proto::usage::Usage;
use opentelemetry::trace::{Span, SpanKind, TraceContextExt as _, Tracer};
use opentelemetry::{Context, KeyValue};

use crate::call::fail;
use crate::{context, names, usage};

/// The spans of a client's request to a gateway: the request itself and, below it, the model call.
///
/// ```
/// use gadgetry::TraceContext;
/// use gadgetry_otel::RequestSpans;
/// use opentelemetry::global;
///
/// let client: Option<TraceContext> = None; // its `traceparent`, if it has sent one
/// let spans = RequestSpans::begin(&global::tracer("gateway"), "/chat/completions", "qwen3:4b", client.as_ref());
/// let to_the_model = spans.context();
/// # let _ = to_the_model;
/// spans.end(&gadgetry_otel::RequestEnd { status: Some(200), ..Default::default() });
/// ```
pub struct RequestSpans<S: Span> {
    request: S,
    chat: S,
}

/// The result of a request to a gateway, for [`RequestSpans::end`]. Without a field, its default.
///
/// ```
/// let end = gadgetry_otel::RequestEnd { status: Some(429), ..Default::default() };
/// assert_eq!(end.calls, 0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestEnd<'r> {
    /// The HTTP status; `None` for a client that has disconnected.
    pub status: Option<u16>,
    /// The server that had the request last.
    pub upstream: Option<&'r str>,
    /// Tokens of all model calls for the request.
    pub usage: Usage,
    /// Tool calls in the answer.
    pub calls: u64,
    /// Requests in which the model corrected its calls.
    pub repairs: u64,
    /// Seconds to the first part of the answer.
    pub first_part: Option<f64>,
}

impl<S: Span> RequestSpans<S> {
    /// Begins the spans, below the client's span if it has sent one. `route` is the path of the endpoint, such as `/chat/completions`.
    pub fn begin<T: Tracer<Span = S>>(
        tracer: &T,
        route: &'static str,
        model: &str,
        client: Option<&TraceContext>,
    ) -> Self {
        let parent = client.map_or_else(Context::new, context::received);
        let (provider, model) = names::provider_and_model(model);
        let request = tracer
            .span_builder(format!("POST {route}"))
            .with_kind(SpanKind::Server)
            .with_attributes([
                KeyValue::new(names::HTTP_METHOD, "POST"),
                KeyValue::new(names::HTTP_ROUTE, route),
            ])
            .start_with_context(tracer, &parent);
        let parent = Context::new().with_remote_span_context(request.span_context().clone());
        let chat = tracer
            .span_builder(format!("chat {model}"))
            .with_kind(SpanKind::Client)
            .with_attributes([
                KeyValue::new(names::OPERATION, "chat"),
                KeyValue::new(names::PROVIDER, provider),
                KeyValue::new(names::REQUEST_MODEL, model.to_owned()),
            ])
            .start_with_context(tracer, &parent);
        Self { request, chat }
    }

    /// Returns the context of the model call, to be sent with it.
    pub fn context(&self) -> Option<TraceContext> {
        context::sent(self.chat.span_context())
    }

    /// Ends the spans.
    pub fn end(mut self, end: &RequestEnd<'_>) {
        let chat = &mut self.chat;
        usage::set(chat, &end.usage);
        if let Some(seconds) = end.first_part {
            chat.set_attribute(KeyValue::new(names::TIME_TO_FIRST_CHUNK, seconds));
        }
        if let Some(upstream) = end.upstream {
            chat.set_attribute(KeyValue::new(names::UPSTREAM, upstream.to_owned()));
        }
        for (name, count) in [(names::CALLS, end.calls), (names::REPAIRS, end.repairs)] {
            if count > 0 {
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                chat.set_attribute(KeyValue::new(name, count));
            }
        }
        if let Some(status) = end.status {
            let status = KeyValue::new(names::HTTP_STATUS, i64::from(status));
            self.request.set_attribute(status);
        }
        let error = match end.status {
            None => Some("disconnected".to_owned()),
            Some(status @ 400..) => Some(status.to_string()),
            Some(_) => None,
        };
        if let Some(error) = error {
            fail(&mut self.chat, &error, None);
            // A mistake of the client is not an error of the server.
            if end.status.is_none_or(|status| status >= 500) {
                fail(&mut self.request, &error, None);
            }
        }
        self.chat.end();
        self.request.end();
    }
}

impl<S: Span> fmt::Debug for RequestSpans<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestSpans").finish_non_exhaustive()
    }
}
