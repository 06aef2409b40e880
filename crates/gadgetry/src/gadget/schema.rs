//! The JSON Schema of a Rust type, in a form that suits models.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// Returns the schema of the values that serde accepts for a `P`. Every type is written where it is used; only recursive types
/// are references.
pub(super) fn schema_of<P: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings
        .with_transform(RecursiveTransform(tidy))
        .into_generator()
        .into_root_schema_for::<P>();
    // The name of a Rust type is useless to a model.
    schema.remove("title");
    schema.to_value()
}

/// Removes keywords without information, and adds those that make messages clear.
fn tidy(schema: &mut Schema) {
    let numeric = |format: &Value| {
        let name = format.as_str().unwrap_or_default();
        let width = name.trim_start_matches('u').strip_prefix("int");
        matches!(name, "float" | "double")
            || width.is_some_and(|width| width.bytes().all(|byte| byte.is_ascii_digit()))
    };
    // The name of a machine type: JSON Schema says it with a type and bounds, and serde has the last word.
    if schema.get("format").is_some_and(numeric) {
        schema.remove("format");
    }
    // Without it, the message about a parameter too many names no place.
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
        let properties = schema.ensure_object().entry("properties");
        properties.or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    // Absent is what it means.
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
}
