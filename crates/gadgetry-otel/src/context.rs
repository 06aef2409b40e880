//! Contexts of spans as other programs send and receive them.

use gadgetry::TraceContext;
use opentelemetry::Context;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};

/// The context of a span, to be sent; `None` for a span outside of any trace.
pub(crate) fn sent(span: &SpanContext) -> Option<TraceContext> {
    let trace_id = u128::from_be_bytes(span.trace_id().to_bytes());
    let span_id = u64::from_be_bytes(span.span_id().to_bytes());
    let trace = TraceContext::new(trace_id, span_id, span.is_sampled())?;
    Some(trace.state(&span.trace_state().header()))
}

/// The context of a span of another program, as a parent.
pub(crate) fn received(trace: &TraceContext) -> Context {
    let state = trace.tracestate().unwrap_or_default();
    let flags = TraceFlags::default().with_sampled(trace.is_sampled());
    Context::new().with_remote_span_context(SpanContext::new(
        TraceId::from_bytes(trace.trace_id().to_be_bytes()),
        SpanId::from_bytes(trace.span_id().to_be_bytes()),
        flags,
        true,
        state.parse::<TraceState>().unwrap_or_default(),
    ))
}
