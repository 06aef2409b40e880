//! The gadget that reads results which were too long for the conversation.
//!
//! Everything here is a function of the stored text and the request. Mistakes of the model come back as text that
//! begins with `Error:`.

mod character;
mod line;
mod range;
mod request;

use serde_json::{Value, json};

use crate::schema::GadgetSpec;

pub use request::{Pattern, ViewMode, ViewRequest};

/// The gadget's name.
pub const NAME: &str = "GadgetOutputViewer";

/// The description of the gadget for the catalog.
const DESCRIPTION: &str = "Reads a long output of an earlier call. Patterns filter its lines one after the other; the limit \
then takes some of them.";

/// The part of `content` that `request` asks for, at most `max_chars` characters of it, below a line or two that say
/// what is shown and how to continue.
///
/// ```
/// use gadgetry_proto::convo::viewer::{ViewRequest, view};
/// let request = ViewRequest { limit: Some("-1".to_owned()), ..ViewRequest::default() };
/// assert_eq!(view("a\nb", &request, 1_000), "[Mode: line | Showing 1 of 2 lines]\nb");
/// ```
pub fn view(content: &str, request: &ViewRequest, max_chars: usize) -> String {
    let shown = match request.mode {
        ViewMode::Line => line::view(content, request, max_chars),
        ViewMode::Character => character::view(content, request, max_chars),
    };
    shown.unwrap_or_else(|error| format!("Error: {error}"))
}

/// The gadget for the registry. Its parameters are an id and the fields of [`ViewRequest`].
pub fn spec() -> GadgetSpec {
    GadgetSpec {
        name: NAME.to_owned(),
        description: DESCRIPTION.to_owned(),
        parameters: parameters(),
        ..GadgetSpec::default()
    }
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": { "type": "string" },
            "mode": {
                "enum": ["line", "character"],
                "default": "line"
            },
            "patterns": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "regex": {
                            "type": "string",
                            "description": "without look-around"
                        },
                        "include": {
                            "type": "boolean",
                            "default": true,
                            "description": "false removes matching lines"
                        },
                        "before": {
                            "type": "integer",
                            "minimum": 0,
                            "default": 0
                        },
                        "after": {
                            "type": "integer",
                            "minimum": 0,
                            "default": 0
                        },
                    },
                    "required": ["regex"]
                }
            },
            "limit": {
                "type": "string",
                "description": "\"100-\" first, \"-25\" last, \"50-100\""
            },
        },
        "required": ["id"]
    })
}
