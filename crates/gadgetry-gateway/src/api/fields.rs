//! Fields of a request's body, taken out before the rest is read.

use gadgetry_proto::message::{Message, Role, ToolChoice};
use serde_json::{Map, Value, json};

use crate::exchange::{Choice, Tool};

use super::Refusal;

/// The body of a request while it is read.
pub(super) struct Fields {
    map: Map<String, Value>,
    pub(super) warnings: Vec<String>,
}

impl Fields {
    pub(super) fn new(body: Value) -> Result<Self, Refusal> {
        match body {
            Value::Object(map) => Ok(Self {
                map,
                warnings: Vec::new(),
            }),
            _ => Err(Refusal::new("body", "the body is not a JSON object")),
        }
    }

    /// Returns the rest of the body.
    pub(super) fn rest(self) -> (Value, Vec<String>) {
        (Value::Object(self.map), self.warnings)
    }

    pub(super) fn get(&self, field: &str) -> &Value {
        self.map.get(field).unwrap_or(&Value::Null)
    }

    pub(super) fn get_mut(&mut self, field: &str) -> Option<&mut Value> {
        self.map.get_mut(field)
    }

    /// Takes a field; `null` counts as absent.
    pub(super) fn take(&mut self, field: &str) -> Option<Value> {
        self.map
            .shift_remove(field)
            .filter(|value| !value.is_null())
    }

    pub(super) fn put(&mut self, field: &str, value: Value) {
        self.map.insert(field.to_owned(), value);
    }

    pub(super) fn list(&mut self, field: &str) -> Result<Vec<Value>, Refusal> {
        match self.take(field) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => Ok(items),
            Some(_) => Err(Refusal::new(field, format!("`{field}` is not a list"))),
        }
    }

    pub(super) fn flag(&mut self, field: &str, default: bool) -> Result<bool, Refusal> {
        match self.take(field) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(Refusal::new(
                field,
                format!("`{field}` is neither true nor false"),
            )),
        }
    }

    /// Removes fields that change nothing about the reply.
    pub(super) fn ignore(&mut self, fields: &[&str]) {
        for field in fields {
            self.map.shift_remove(*field);
        }
    }

    /// Removes fields that would change the reply and are not honoured, with a warning for each that is set.
    pub(super) fn warn(&mut self, fields: &[&str]) {
        for field in fields {
            let is_set = self.take(field).is_some_and(|value| match value {
                Value::Bool(flag) => flag,
                Value::Array(items) => !items.is_empty(),
                _ => true,
            });
            if is_set {
                self.warnings.push(format!("{field} is ignored"));
            }
        }
    }
}

/// Returns the choice of `allowed_tools`, as in both APIs of OpenAI: a call is required if its `mode` says so.
pub(super) fn allowed(choice: &Value, names: Vec<String>) -> Choice {
    let kind = if choice["mode"] == "required" {
        ToolChoice::Required
    } else {
        ToolChoice::Auto
    };
    Choice {
        kind,
        allowed: Some(names),
    }
}

/// If all tools of a request run at the provider, informs the model that they are not available: otherwise it may invent their
/// results.
pub(super) fn tell_of_missing(tools: &[Tool], warnings: &[String], messages: &mut Vec<Message>) {
    let missing = warnings.iter().filter_map(|warning| {
        let (name, _) = warning.strip_prefix("the tool ")?.split_once(' ')?;
        Some(name)
    });
    let missing: Vec<&str> = missing.collect();
    if tools.is_empty() && !missing.is_empty() {
        let text = format!(
            "These tools are not available here: {}. Say so, and do not invent their results.",
            missing.join(", ")
        );
        messages.insert(0, Message::text(Role::System, text));
    }
}

/// Returns the schema of a tool's parameters; a tool without a schema has none.
pub(super) fn schema(tool: &Value, field: &str) -> Value {
    let schema = tool.get(field).filter(|it| !it.is_null()).cloned();
    schema.unwrap_or_else(|| json!({"type": "object", "properties": {}}))
}

/// Returns a text field of a value; empty without that field.
pub(super) fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}

/// Returns the description of a tool that takes text, with the grammar of that text.
pub(super) fn with_grammar(tool: &Value) -> String {
    let description = text(tool, "description");
    let format = &tool["format"];
    let grammar = format.get("grammar").unwrap_or(format);
    match (grammar["syntax"].as_str(), grammar["definition"].as_str()) {
        (Some(syntax), Some(definition)) => {
            format!("{description}\n\nIts `input` follows this grammar ({syntax}):\n{definition}")
        }
        _ => description,
    }
}
