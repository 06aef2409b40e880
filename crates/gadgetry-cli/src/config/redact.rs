//! Values as they may be shown: without what could be a key.

use gadgetry::provider::BaseUrl;
use serde_json::Value;

/// In place of what could be a key.
const HIDDEN: &str = "***";
/// Tables of MCP servers whose values could be keys.
const SECRET_TABLES: [&str; 2] = ["env", "headers"];

/// The value of a key.
pub(crate) fn setting(key: &str, value: &Value) -> Value {
    match (key, value) {
        ("header", Value::Array(items)) => items.iter().map(|it| setting(key, it)).collect(),
        ("header", Value::String(header)) => {
            let name = header.split(':').next().unwrap_or_default();
            format!("{name}: {HIDDEN}").into()
        }
        ("extra-body", _) => HIDDEN.into(),
        ("base-url", Value::String(url)) => BaseUrl::new(url.as_str()).shown().into(),
        ("upstream", Value::String(url)) if url.contains("://") => {
            BaseUrl::new(url.as_str()).shown().into()
        }
        _ => value.clone(),
    }
}

/// The table of an MCP server.
pub(crate) fn server(value: &Value) -> Value {
    let Value::Object(table) = value else {
        return value.clone();
    };
    let entries = table.iter().map(|(key, value)| {
        let shown = match value.as_object() {
            Some(inner) if SECRET_TABLES.contains(&key.as_str()) => {
                let hidden = inner.keys().map(|name| (name.clone(), HIDDEN.into()));
                Value::Object(hidden.collect())
            }
            _ if key == "url" => setting("base-url", value),
            _ => value.clone(),
        };
        (key.clone(), shown)
    });
    Value::Object(entries.collect())
}
