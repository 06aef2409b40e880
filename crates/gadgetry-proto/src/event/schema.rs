//! The published JSON Schema of events is that of the types.
//!
//! The types have a schema in tests only, so the product does not carry the code for it. What it carries is the text,
//! [`EVENTS_SCHEMA`](super::EVENTS_SCHEMA).

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::version::Version;
use super::{EVENTS_SCHEMA, EVENTS_VERSION, Event};
use crate::delta::StopReason;
use crate::id::{ApprovalId, BlockId};

impl JsonSchema for Version {
    fn schema_name() -> Cow<'static, str> {
        "Version".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "The version of the format.", "const": EVENTS_VERSION })
    }
}

impl JsonSchema for BlockId {
    fn schema_name() -> Cow<'static, str> {
        "BlockId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The number of a custom block in its run.",
            "type": "string",
            "pattern": "^block_[0-9]+$",
        })
    }
}

impl JsonSchema for ApprovalId {
    fn schema_name() -> Cow<'static, str> {
        "ApprovalId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The id of an approval: the call, and a hash of what is shown about it.",
            "type": "string",
            "pattern": "^[0-9]+-[0-9a-f]{32}$",
        })
    }
}

/// Any text: a reason that only one provider knows is a reason, too.
impl JsonSchema for StopReason {
    fn schema_name() -> Cow<'static, str> {
        "StopReason".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The reason a model stopped. Any other text is the provider's own word.",
            "anyOf": [
                { "enum": [
                    "stop", "max_tokens", "stop_sequence", "tool_use", "next_turn", "content_filter", "error",
                    "unspecified",
                ] },
                { "type": "string" },
            ],
        })
    }
}

/// The schema of the types, as it is published.
fn generated() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<Event>();
    let mut schema = schema.to_value();
    schema["title"] = json!("An event of a gadgetry run");
    // A field that no schema names is a mistake of one of the two.
    schema["unevaluatedProperties"] = json!(false);
    schema
}

/// The schema without its prose: a comment may be worded better without publishing a new schema.
fn without_prose(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(fields) => {
            fields.retain(|name, value| name != "description" || !value.is_string());
            for value in fields.values_mut() {
                *value = without_prose(value.take());
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = without_prose(item.take());
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    schema
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let published: Value = serde_json::from_str(EVENTS_SCHEMA).expect("the schema is JSON");
    let generated = generated();
    if without_prose(published) != without_prose(generated.clone()) {
        let text = serde_json::to_string_pretty(&generated).expect("it is JSON");
        panic!("src/event/schema.json and docs/events.schema.json should be:\n{text}\n");
    }
}

#[test]
fn an_event_of_another_version_is_refused() {
    let check = |version: &str, expected: &str| {
        let event = format!(r#"{{ {version} "seq": 0, "timeMs": 0, "type": "text", "text": "" }}"#);
        let read: Result<Event, _> = serde_json::from_str(&event);
        let error = read.expect_err(version).to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    check(
        r#""v": 2,"#,
        "an event of version 2; this gadgetry reads version 1",
    );
    check("", "missing field `v`");
    check(r#""v": "1","#, "invalid type: string \"1\", expected u32");
}
