//! Token counts as attributes.

use gadgetry::proto::usage::Usage;
use opentelemetry::KeyValue;
use opentelemetry::trace::Span;

use crate::names;

/// Adds the counts that are known.
pub(crate) fn set(span: &mut impl Span, usage: &Usage) {
    for (name, count) in [
        (names::INPUT_TOKENS, usage.input_tokens),
        (names::OUTPUT_TOKENS, usage.output_tokens),
        (names::CACHE_READ_TOKENS, usage.cached_input_tokens),
        (names::CACHE_WRITE_TOKENS, usage.cache_creation_tokens),
        (names::REASONING_TOKENS, usage.reasoning_tokens),
    ] {
        if count > 0 {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            span.set_attribute(KeyValue::new(name, count));
        }
    }
    if usage.estimated {
        span.set_attribute(KeyValue::new(names::ESTIMATED, true));
    }
}
