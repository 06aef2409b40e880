//! Questions of a server to the user: a form, asked field by field, or an address to open.

use gadgetry::proto::schema::Schema;
use gadgetry::proto::visible::visible;
use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    PrimitiveSchemaDefinition,
};
use serde_json::{Map, Value, json};

use super::in_flight::InFlight;

/// Attempts to enter a valid value of one field.
const ATTEMPTS: usize = 3;

/// Fields of a form.
const FIELDS: usize = 50;

/// Characters of a message of the server.
const MESSAGE_LENGTH: usize = 4_000;

/// The answers that end a form.
const DECLINE: &str = "/decline";
const CANCEL: &str = "/cancel";

/// Asks the user what `server` wants to know.
pub(super) async fn ask(
    calls: &InFlight,
    server: &str,
    request: ElicitRequestParams,
) -> ElicitResult {
    let asked = match request {
        ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } => form(calls, server, &message, &requested_schema).await,
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            let question = format!(
                "{}\nOpen this address to answer: {}\nAnswer yes once that is done, or no.",
                opening(server, &message),
                visible(&url)
            );
            consent(calls, question).await.map(|()| None)
        }
        _ => Err(ElicitationAction::Decline),
    };
    match asked {
        Ok(None) => ElicitResult::new(ElicitationAction::Accept),
        Ok(Some(content)) => {
            ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
        }
        Err(action) => ElicitResult::new(action),
    }
}

/// Where the question is from, because a server could pretend to be another one.
fn opening(server: &str, message: &str) -> String {
    let message: String = message.chars().take(MESSAGE_LENGTH).collect();
    format!("MCP server {server:?}: {}", visible(&message))
}

async fn consent(calls: &InFlight, question: String) -> Result<(), ElicitationAction> {
    let answer = calls.ask(question).await;
    let answer = answer.ok_or(ElicitationAction::Cancel)?;
    match boolean(answer.trim()) {
        Some(true) => Ok(()),
        Some(false) | None if answer.trim() != CANCEL => Err(ElicitationAction::Decline),
        Some(_) | None => Err(ElicitationAction::Cancel),
    }
}

async fn form(
    calls: &InFlight,
    server: &str,
    message: &str,
    schema: &ElicitationSchema,
) -> Result<Option<Map<String, Value>>, ElicitationAction> {
    let opening = opening(server, message);
    if schema.properties.is_empty() {
        consent(calls, format!("{opening}\nAnswer yes or no.")).await?;
        return Ok(Some(Map::new()));
    }
    let mut content = Map::new();
    for (at, field) in fields(schema).into_iter().take(FIELDS).enumerate() {
        let intro = if at == 0 { opening.as_str() } else { "" };
        if let Some(value) = ask_for(calls, intro, &field).await? {
            content.insert(field.name, value);
        }
    }
    Ok(Some(content))
}

/// A field of a form.
struct Field {
    name: String,
    schema: Value,
    is_required: bool,
}

/// The fields in the order that the server wants.
fn fields(form: &ElicitationSchema) -> Vec<Field> {
    let field = |(name, schema): (&String, &PrimitiveSchemaDefinition)| Field {
        name: name.clone(),
        schema: serde_json::to_value(schema).unwrap_or(Value::Bool(true)),
        is_required: form.required.as_ref().is_some_and(|all| all.contains(name)),
    };
    let mut fields: Vec<Field> = form.properties.iter().map(field).collect();
    if let Some(order) = &form.property_order {
        let place = |name: &String| order.iter().position(|it| it == name);
        fields.sort_by_key(|field| place(&field.name).unwrap_or(usize::MAX));
    }
    fields
}

/// The value of a field; `None` if the user leaves out an optional one.
async fn ask_for(
    calls: &InFlight,
    intro: &str,
    field: &Field,
) -> Result<Option<Value>, ElicitationAction> {
    let mut problem = String::new();
    for _ in 0..ATTEMPTS {
        let parts = [intro, &problem, &describe(field)];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        let question = parts.collect::<Vec<_>>().join("\n");
        let answer = calls.ask(question).await.ok_or(ElicitationAction::Cancel)?;
        match answer.trim() {
            DECLINE => return Err(ElicitationAction::Decline),
            CANCEL => return Err(ElicitationAction::Cancel),
            "" => match field.schema.get("default") {
                Some(default) => return Ok(Some(default.clone())),
                None if !field.is_required => return Ok(None),
                None => "A value is required.".clone_into(&mut problem),
            },
            text => match value(field, text) {
                Ok(value) => return Ok(Some(value)),
                Err(why) => problem = why,
            },
        }
    }
    Err(ElicitationAction::Cancel)
}

/// The question: what the field is called, what it means, and what it admits.
fn describe(field: &Field) -> String {
    let text = |key: &str| field.schema.get(key).and_then(Value::as_str);
    let mut admits = vec![match text("type") {
        Some("boolean") => "yes or no".to_owned(),
        Some("array") => "any of these, separated by commas".to_owned(),
        Some(other) => other.to_owned(),
        None => "text".to_owned(),
    }];
    let choices = choices(&field.schema);
    if !choices.is_empty() {
        let shown = choices.iter().map(|choice| {
            if choice.title == choice.value {
                choice.value.clone()
            } else {
                format!("{} ({})", choice.value, choice.title)
            }
        });
        admits.push(shown.collect::<Vec<_>>().join(" | "));
    }
    for key in [
        "format",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
    ] {
        if let Some(limit) = field.schema.get(key) {
            admits.push(format!("{key} {limit}"));
        }
    }
    admits.push(match field.schema.get("default") {
        Some(default) => format!("empty for {default}"),
        None if field.is_required => "required".to_owned(),
        None => "empty to leave it out".to_owned(),
    });
    let name = text("title").unwrap_or(&field.name);
    let meaning = text("description").map_or(String::new(), |it| format!(": {it}"));
    let question = format!(
        "{name}{meaning} [{}]. {DECLINE} or {CANCEL} to give no answer.",
        admits.join("; ")
    );
    visible(&question).into_owned()
}

struct Choice {
    value: String,
    title: String,
}

fn choices(schema: &Value) -> Vec<Choice> {
    let schema = schema.get("items").unwrap_or(schema);
    let texts = |key: &str| {
        let values = schema.get(key).and_then(Value::as_array);
        let values = values.into_iter().flatten();
        values.filter_map(Value::as_str).map(str::to_owned)
    };
    let titled = ["oneOf", "anyOf"].into_iter();
    let titled = titled.filter_map(|key| schema.get(key)?.as_array());
    let titled = titled.flatten().filter_map(|choice| {
        Some(Choice {
            value: choice.get("const")?.as_str()?.to_owned(),
            title: choice.get("title")?.as_str()?.to_owned(),
        })
    });
    let mut names = texts("enumNames");
    let plain = texts("enum").map(|value| Choice {
        title: names.next().unwrap_or_else(|| value.clone()),
        value,
    });
    plain.chain(titled).collect()
}

/// What the user typed as a value that the schema of the field admits, or what is wrong with it.
fn value(field: &Field, typed: &str) -> Result<Value, String> {
    let choices = choices(&field.schema);
    let chosen = |text: &str| {
        let is_meant = |choice: &&Choice| {
            choice.value.eq_ignore_ascii_case(text) || choice.title.eq_ignore_ascii_case(text)
        };
        let choice = choices.iter().find(is_meant);
        choice.map_or_else(|| text.to_owned(), |choice| choice.value.clone())
    };
    let value = match field.schema.get("type").and_then(Value::as_str) {
        Some("boolean") => Value::Bool(boolean(typed).ok_or("Answer yes or no.")?),
        Some("integer" | "number") => {
            let number = serde_json::from_str(typed).ok().filter(Value::is_number);
            number.ok_or("Answer with a number.")?
        }
        Some("array") => typed
            .split(',')
            .map(|item| Value::String(chosen(item.trim())))
            .collect(),
        _ => Value::String(chosen(typed)),
    };
    let whole = json!({ "type": "object", "properties": { &field.name: &field.schema } });
    // A schema that cannot be compiled checks nothing: the server does.
    let Ok(schema) = Schema::new(whole) else {
        return Ok(value);
    };
    let problems = schema.validate(&json!({ &field.name: &value }));
    if problems.is_empty() {
        return Ok(value);
    }
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Err(format!("Not valid: {}", problems.join("; ")))
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "y" | "true" | "ok" => Some(true),
        "no" | "n" | "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Field, describe, value};
    use serde_json::{Value, json};

    #[test]
    fn values_of_fields() {
        let check = |schema: Value, typed: &str, expected: Result<Value, &str>| {
            let field = Field {
                name: "f".to_owned(),
                schema,
                is_required: true,
            };
            let found = value(&field, typed);
            match expected {
                Ok(expected) => assert_eq!(found, Ok(expected), "{typed}"),
                Err(part) => assert!(
                    found.as_ref().is_err_and(|it| it.contains(part)),
                    "{found:?}"
                ),
            }
        };
        let number = json!({ "type": "integer", "minimum": 1, "maximum": 9 });
        check(number.clone(), "5", Ok(json!(5)));
        check(number.clone(), "12", Err("Not valid"));
        check(number.clone(), "1.5", Err("Not valid"));
        check(number, "five", Err("number"));
        check(json!({ "type": "boolean" }), "Yes", Ok(json!(true)));
        check(json!({ "type": "boolean" }), "maybe", Err("yes or no"));
        let color =
            json!({ "type": "string", "enum": ["red", "blue"], "enumNames": ["Rot", "Blau"] });
        check(color.clone(), "blue", Ok(json!("blue")));
        check(color.clone(), "rot", Ok(json!("red")));
        check(color, "green", Err("Not valid"));
        let several = json!({ "type": "array", "items": { "type": "string", "enum": ["a", "b"] }, "maxItems": 2 });
        check(several.clone(), "a, B", Ok(json!(["a", "b"])));
        check(several, "a, c", Err("Not valid"));
        let titled = json!({ "type": "string", "oneOf": [{ "const": "x1", "title": "First" }] });
        check(titled, "first", Ok(json!("x1")));
        check(
            json!({ "type": "string", "maxLength": 2 }),
            "abc",
            Err("Not valid"),
        );
        check(json!({}), "5", Ok(json!("5")));
    }

    #[test]
    fn what_a_question_says() {
        let field = Field {
            name: "age".to_owned(),
            schema: json!({ "type": "integer", "title": "Age\u{1b}", "description": "In years", "minimum": 0 }),
            is_required: false,
        };
        assert_eq!(
            describe(&field),
            "Age\\u{1b}: In years [integer; minimum 0; empty to leave it out]. /decline or /cancel to give no answer."
        );
    }
}
