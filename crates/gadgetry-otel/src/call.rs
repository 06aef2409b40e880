//! The span of a gadget: from its start to its answer.

use std::time::SystemTime;

use gadgetry::proto::event::CallAnswer;
use gadgetry::proto::id::{CallId, InvocationId};
use gadgetry::serde_json::Value;
use opentelemetry::trace::{Link, Span, SpanContext, SpanKind, Status, Tracer};
use opentelemetry::{Context, KeyValue};

use crate::names;

/// A call that the model has written.
pub(crate) struct CallSpan<S> {
    /// The reply that wrote it.
    reply: Context,
    dependencies: Vec<InvocationId>,
    arguments: Option<String>,
    /// The span, from the start of the gadget on.
    span: Option<S>,
}

/// Facts in a span of a call from its beginning.
pub(crate) struct Identity<'a> {
    pub(crate) call: CallId,
    pub(crate) id: &'a InvocationId,
    pub(crate) name: &'a str,
}

impl<S: Span> CallSpan<S> {
    pub(crate) fn after(dependencies: Vec<InvocationId>, reply: Context) -> Self {
        Self {
            reply,
            dependencies,
            arguments: None,
            span: None,
        }
    }

    /// The context of the span, once the gadget has started.
    pub(crate) fn context(&self) -> Option<SpanContext> {
        Some(self.span.as_ref()?.span_context().clone())
    }

    /// Keeps the parameters as content of the span.
    pub(crate) fn arguments(&mut self, parameters: &Value) {
        self.arguments = Some(parameters.to_string());
    }

    /// Begins the span, with links to the calls that it depends on, and returns its context.
    pub(crate) fn begin<T: Tracer<Span = S>>(
        &mut self,
        tracer: &T,
        identity: &Identity<'_>,
        spans: impl Fn(&InvocationId) -> Option<SpanContext>,
        at: SystemTime,
    ) -> SpanContext {
        let links = self.dependencies.iter().filter_map(spans);
        let links = links.map(Link::with_context).collect();
        let mut attributes = vec![
            KeyValue::new(names::OPERATION, "execute_tool"),
            KeyValue::new(names::TOOL_NAME, identity.name.to_owned()),
            KeyValue::new(names::TOOL_CALL_ID, identity.id.as_str().to_owned()),
            KeyValue::new(names::TOOL_TYPE, "function"),
            KeyValue::new(names::CALL, i64::from(identity.call.0)),
        ];
        let arguments = self.arguments.take();
        attributes.extend(arguments.map(|it| KeyValue::new(names::TOOL_ARGUMENTS, it)));
        let span = tracer
            .span_builder(format!("execute_tool {}", identity.name))
            .with_kind(SpanKind::Internal)
            .with_start_time(at)
            .with_attributes(attributes)
            .with_links(links)
            .start_with_context(tracer, &self.reply);
        let context = span.span_context().clone();
        self.span = Some(span);
        context
    }

    /// The span, if the gadget has started and its call is not answered.
    pub(crate) fn span(&mut self) -> Option<&mut S> {
        self.span.as_mut()
    }
}

/// Ends the span of a call with its answer.
pub(crate) fn answered<S: Span>(
    span: &mut S,
    answer: &CallAnswer,
    cost: f64,
    content: bool,
    at: SystemTime,
) {
    if cost > 0.0 {
        span.set_attribute(KeyValue::new(names::COST, cost));
    }
    let (CallAnswer::Result(text) | CallAnswer::Error(text)) = answer;
    if content {
        span.set_attribute(KeyValue::new(names::TOOL_RESULT, text.clone()));
    }
    if matches!(answer, CallAnswer::Error(_)) {
        fail(span, "gadget_error", content.then_some(text.as_str()));
    }
    span.end_with_timestamp(at);
}

/// Marks a span as failed. The message is for those who want content.
pub(crate) fn fail(span: &mut impl Span, kind: &str, message: Option<&str>) {
    span.set_attribute(KeyValue::new(names::ERROR_TYPE, kind.to_owned()));
    let message = message.unwrap_or(kind).to_owned();
    span.set_status(Status::error(message));
}
