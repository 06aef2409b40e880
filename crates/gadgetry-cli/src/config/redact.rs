//! Values as they may be shown: without what could be a key.

use gadgetry::provider::BaseUrl;
use serde_json::{Map, Value};

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
        ("extra-body", Value::Object(fields)) => names_of(fields),
        ("extra-body", Value::String(json)) => match serde_json::from_str(json) {
            Ok(Value::Object(fields)) => names_of(&fields),
            Ok(_) | Err(_) => HIDDEN.into(),
        },
        ("base-url", Value::String(url)) => BaseUrl::new(url.as_str()).shown().into(),
        ("upstream", Value::String(url)) if url.contains("://") => {
            BaseUrl::new(url.as_str()).shown().into()
        }
        _ => value.clone(),
    }
}

fn names_of(fields: &Map<String, Value>) -> Value {
    let fields = fields.keys().map(|name| (name.clone(), HIDDEN.into()));
    Value::Object(fields.collect())
}

/// The table of an MCP server.
pub(crate) fn server(value: &Value) -> Value {
    server_without(value, |_| true)
}

/// The same for consent: a variable such as `PATH` decides what runs, so its value is shown unless its name says that it is
/// a key.
pub(crate) fn server_for_consent(value: &Value) -> Value {
    const WORDS: [&str; 6] = ["auth", "credential", "key", "password", "secret", "token"];
    server_without(value, |name| {
        let name = name.to_ascii_lowercase();
        WORDS.iter().any(|word| name.contains(word))
    })
}

fn server_without(value: &Value, is_hidden: impl Fn(&str) -> bool) -> Value {
    let Value::Object(table) = value else {
        return value.clone();
    };
    let entries = table.iter().map(|(key, value)| {
        let shown = match value.as_object() {
            Some(inner) if SECRET_TABLES.contains(&key.as_str()) => {
                let shown = inner.iter().map(|(name, value)| {
                    let value = if is_hidden(name) {
                        HIDDEN.into()
                    } else {
                        value.clone()
                    };
                    (name.clone(), value)
                });
                Value::Object(shown.collect())
            }
            Some(inner) if key == "oauth" => {
                let shown = inner.iter().map(|(name, value)| {
                    let is_secret = name == "client-secret";
                    let value = if is_secret {
                        HIDDEN.into()
                    } else {
                        value.clone()
                    };
                    (name.clone(), value)
                });
                Value::Object(shown.collect())
            }
            _ if key == "url" => setting("base-url", value),
            _ => value.clone(),
        };
        (key.clone(), shown)
    });
    Value::Object(entries.collect())
}
