//! Spans in memory, and as a tree of lines.

use std::fmt::Write as _;

use gadgetry_otel::Spans;
use opentelemetry::trace::{SpanId, Status, TracerProvider as _};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracer, SdkTracerProvider, SpanData};

/// Keeps spans in memory.
pub(crate) struct Memory {
    provider: SdkTracerProvider,
    exporter: InMemorySpanExporter,
}

impl Memory {
    pub(crate) fn new() -> Self {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder()
            .with_simple_exporter(exporter.clone())
            .build();
        Self { provider, exporter }
    }

    pub(crate) fn tracer(&self) -> SdkTracer {
        self.provider.tracer("test")
    }

    pub(crate) fn hook(&self) -> Spans<SdkTracer> {
        Spans::new(self.tracer())
    }

    /// The spans that have ended.
    pub(crate) fn spans(&self) -> Vec<SpanData> {
        self.exporter.get_finished_spans().unwrap()
    }
}

/// The attribute of a span, as text.
pub(crate) fn attribute(span: &SpanData, name: &str) -> Option<String> {
    let found = span.attributes.iter().find(|it| it.key.as_str() == name);
    found.map(|it| it.value.to_string())
}

/// Spans as lines: the parents before their children, with what failed, links and events.
pub(crate) fn tree(spans: &[SpanData]) -> String {
    let mut lines = String::new();
    let known = |id| spans.iter().any(|span| span.span_context.span_id() == id);
    for root in spans.iter().filter(|span| !known(span.parent_span_id)) {
        add(&mut lines, spans, root, 0);
    }
    lines
}

fn add(lines: &mut String, spans: &[SpanData], span: &SpanData, depth: usize) {
    write!(lines, "{:1$}{2}", "", depth * 2, span.name).unwrap();
    let by_id = |id: SpanId| spans.iter().find(|it| it.span_context.span_id() == id);
    for link in &span.links.links {
        let other = by_id(link.span_context.span_id()).unwrap();
        let id = attribute(other, "gen_ai.tool.call.id").unwrap();
        write!(lines, " <- {id}").unwrap();
    }
    if let Status::Error { description } = &span.status {
        let kind = attribute(span, "error.type").unwrap();
        write!(lines, " failed: {kind}, {description}").unwrap();
    }
    for event in &span.events.events {
        write!(lines, " ({})", event.name).unwrap();
    }
    lines.push('\n');
    let own = span.span_context.span_id();
    let mut children: Vec<_> = spans.iter().filter(|it| it.parent_span_id == own).collect();
    children.sort_by_key(|child| (child.start_time, attribute(child, "gadgetry.call")));
    for child in children {
        assert!(child.start_time >= span.start_time && child.end_time >= child.start_time);
        add(lines, spans, child, depth + 1);
    }
}
