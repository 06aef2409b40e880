//! The events of a run, from their JSON Schema.

use std::fmt::Write as _;

use serde_json::Value;

use super::cells::cell;

const HEAD: &str = "\
# Events

For programs that read what a run does: the events of `gadgetry agent --events jsonl`, of logs that are replayed, of `Sse::events`, and of the libraries for Python and TypeScript. Each is one JSON object. The
[JSON Schema](../events.schema.json) is what this page is made of, by `cargo xtask reference`; `gadgetry events --schema` prints it. The events of `gadgetry parse` are [others](../cli.md#events).

## Every event
";

/// Returns the page.
pub(super) fn page(schema: &Value) -> String {
    let mut page = HEAD.to_owned();
    fields(schema, &mut page);
    page.push_str("| `type` | text | yes | The kind of the event, below. |\n\n## Kinds\n");
    for kind in schema["oneOf"].as_array().into_iter().flatten() {
        let name = kind["properties"]["type"]["const"]
            .as_str()
            .unwrap_or_default();
        section(name, kind, &mut page);
    }
    page.push_str("\n## Types\n");
    for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
        section(name, definition, &mut page);
    }
    page
}

fn section(name: &str, schema: &Value, page: &mut String) {
    // Writing to a string does not fail.
    let _ = writeln!(page, "\n### {name}\n");
    let _ = writeln!(
        page,
        "{}",
        cell(schema["description"].as_str().unwrap_or_default())
    );
    if let Some(other) = schema["$ref"].as_str() {
        let _ = writeln!(page, "\nIt has the fields of {}.", linked(other));
    }
    fields(schema, page);
    let choices = schema["oneOf"].as_array();
    let choices = choices.filter(|all| all.iter().any(|it| !it["const"].is_null()));
    if let Some(choices) = choices {
        page.push_str("\n| value | meaning |\n|---|---|\n");
        for choice in choices {
            let value = choice["const"].as_str().unwrap_or_default();
            let meaning = cell(choice["description"].as_str().unwrap_or_default());
            let _ = writeln!(page, "| `{value}` | {meaning} |");
        }
    } else if schema["properties"].is_null() && schema["$ref"].is_null() {
        let _ = writeln!(page, "\nIn JSON: {}.", kind(schema));
    }
}

/// The fields of an object as a table.
fn fields(schema: &Value, page: &mut String) {
    let properties = schema["properties"].as_object();
    let own = properties
        .into_iter()
        .flatten()
        .filter(|(name, _)| *name != "type");
    let own: Vec<(&String, &Value)> = own.collect();
    if own.is_empty() {
        return;
    }
    page.push_str("\n| field | type | always | meaning |\n|---|---|---|---|\n");
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, field) in own {
        let always = if required.contains(&name.as_str()) {
            "yes"
        } else {
            ""
        };
        let meaning = cell(field["description"].as_str().unwrap_or_default());
        let _ = writeln!(
            page,
            "| `{name}` | {} | {always} | {meaning} |",
            kind(field)
        );
    }
}

/// The type of a value as text.
fn kind(schema: &Value) -> String {
    if let Some(other) = schema["$ref"].as_str() {
        return linked(other);
    }
    if !schema["const"].is_null() {
        return format!("`{}`", schema["const"]);
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(all) = schema[choice].as_array() {
            return all.iter().map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        let values = values
            .iter()
            .map(|it| format!("`{}`", it.as_str().unwrap_or_default()));
        return values.collect::<Vec<_>>().join(", ");
    }
    let several = schema["type"].as_array().into_iter().flatten();
    let names = several.chain([&schema["type"]]).filter_map(Value::as_str);
    let names = names.map(|name| match name {
        "array" => format!("list of {}", kind(&schema["items"])),
        "string" => "text".to_owned(),
        "object" => match schema["properties"].as_object() {
            Some(fields) => {
                let names = fields.keys().map(|it| format!("`{it}`"));
                format!("object with {}", names.collect::<Vec<_>>().join(", "))
            }
            None => "object".to_owned(),
        },
        other => other.to_owned(),
    });
    let names: Vec<String> = names.collect();
    if names.is_empty() {
        "any JSON".to_owned()
    } else {
        names.join(" or ")
    }
}

fn linked(reference: &str) -> String {
    let name = reference.rsplit('/').next().unwrap_or_default();
    format!("[{name}](#{})", name.to_lowercase())
}
