//! Fields of frames.

use gadgetry_proto::delta::ContentMetadata;
use serde_json::{Map, Value};

use crate::json;

/// The text in a field.
pub(super) fn text<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value.get(field)?.as_str()
}

/// A text without halves of characters.
pub(super) fn whole(text: &str) -> String {
    json::whole(text).into_owned()
}

/// Metadata under a name of Anthropic's own.
pub(super) fn extension(name: &str, mut value: Value) -> ContentMetadata {
    json::whole_value(&mut value);
    ContentMetadata {
        extensions: Map::from_iter([(name.to_owned(), value)]),
        ..ContentMetadata::default()
    }
}
