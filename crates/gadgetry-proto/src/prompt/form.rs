//! The parameters of a schema as questions to a user, one for each field.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::prompt::field;
use crate::prompt::flat::{Flat, Resolver, Trail};
use crate::schema::{Schema, coerce, read_json};
use crate::visible::visible;

/// Levels of objects that have a question for each field; deeper ones are one answer, as JSON.
const DEPTH: usize = 4;

/// The parameters that a schema describes, asked for one after the other.
///
/// A field of an object is a question of its own, and a list of scalars is one line. What has no simple form, such as a list
/// of objects, is written as JSON. An answer is read as the text of an argument in a block is, and checked by the schema.
///
/// ```
/// use gadgetry_proto::prompt::Form;
/// use gadgetry_proto::schema::Schema;
/// use serde_json::json;
///
/// let schema = Schema::new(json!({
///     "properties": { "city": { "type": "string" }, "days": { "type": "integer", "maximum": 7 } },
///     "required": ["city"],
/// }))?;
/// let mut form = Form::new(schema);
/// assert_eq!(form.question().as_deref(), Some("city (string; required)"));
/// form.answer("Oslo")?;
/// assert_eq!(form.question().as_deref(), Some("days (integer; optional; at most 7)"));
/// assert_eq!(form.answer("8"), Err("must be at most 7, got 8".to_owned()));
/// form.answer("")?;
/// assert_eq!(form.question(), None);
/// assert_eq!(form.into_value(), json!({ "city": "Oslo" }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Form {
    schema: Schema,
    /// The next one last.
    pending: Vec<Field>,
    /// The answer.
    value: Value,
}

/// The field that one question is about.
#[derive(Clone, Debug)]
struct Field {
    /// The names of the properties that lead to it; empty for all parameters together.
    path: Vec<String>,
    schema: Value,
    is_required: bool,
    trail: Trail,
}

/// The kind of question about a field.
enum FieldKind {
    /// Field by field, if the user wants it.
    Object,
    /// Items on one line.
    List,
    /// A single value.
    Value,
}

impl Form {
    /// The form of a gadget's parameters.
    pub fn new(schema: Schema) -> Self {
        let root = Field {
            path: Vec::new(),
            schema: schema.value().clone(),
            is_required: true,
            trail: vec![("#".to_owned(), String::new())],
        };
        let mut form = Self {
            schema,
            pending: Vec::new(),
            value: Value::Object(Map::new()),
        };
        let (flat, trail) = form.flat(&root);
        if matches!(kind(&root, &flat), FieldKind::Object) {
            form.enter(&root, &flat, &trail);
        } else if says_more(&flat) {
            form.pending.push(root);
        }
        form
    }

    /// The next question, in one line: name, type, limits and description. `None` once everything is answered.
    pub fn question(&self) -> Option<String> {
        let field = self.pending.last()?;
        let (flat, trail) = self.flat(field);
        let name = if field.path.is_empty() {
            "parameters".to_owned()
        } else {
            field.path.join("/")
        };
        let resolver = Resolver::new(self.schema.value());
        let mut facts = vec![resolver.label(&flat, &name, &mut trail.clone())];
        facts.push(if is_optional(field, &flat) {
            "optional".to_owned()
        } else {
            "required".to_owned()
        });
        facts.extend(field::constraints(&flat.keywords));
        facts.extend(match kind(field, &flat) {
            FieldKind::Object => Some("yes to fill it in, or JSON".to_owned()),
            FieldKind::List => Some("items separated by commas, or JSON".to_owned()),
            FieldKind::Value if is_json(&flat) => Some("as JSON".to_owned()),
            FieldKind::Value => None,
        });
        let titles = choices(&flat).into_iter();
        let titles = titles.filter(|it| it.title != it.value);
        facts.extend(titles.map(|it| format!("{}: {}", it.value, it.title)));
        let mut question = format!("{name} ({})", facts.join("; "));
        let description = field::description(&flat.keywords);
        if !description.is_empty() {
            question.push_str(": ");
            question.extend(description.split_whitespace().flat_map(|word| [word, " "]));
        }
        Some(visible(question.trim_end()).into_owned())
    }

    /// Takes the answer to the [question](Self::question); an empty one leaves an optional field out.
    ///
    /// # Errors
    ///
    /// What is wrong with the answer. The question stays open.
    pub fn answer(&mut self, text: &str) -> Result<(), String> {
        let Some(field) = self.pending.last().cloned() else {
            return Ok(());
        };
        let (flat, trail) = self.flat(&field);
        let text = text.trim();
        if text.is_empty() {
            if !is_optional(&field, &flat) {
                return Err("a value is required".to_owned());
            }
            self.pending.pop();
            return Ok(());
        }
        if matches!(kind(&field, &flat), FieldKind::Object) && !text.starts_with('{') {
            match boolean(text) {
                Some(true) => {
                    self.pending.pop();
                    self.enter(&field, &flat, &trail);
                }
                Some(false) if is_optional(&field, &flat) => drop(self.pending.pop()),
                Some(false) => return Err("a value is required".to_owned()),
                None => return Err("expected yes, no, or a JSON object".to_owned()),
            }
            return Ok(());
        }
        let value = self.read(&field, &flat, text)?;
        let mut whole = self.value.clone();
        put(&mut whole, &field.path, value);
        self.check(&field, &whole)?;
        self.value = whole;
        self.pending.pop();
        Ok(())
    }

    /// The parameters that were answered: an object, without defaults.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// Returns what the schema says about a field.
    fn flat(&self, field: &Field) -> (Flat, Trail) {
        let resolver = Resolver::new(self.schema.value());
        let mut trail = field.trail.clone();
        let pointer = field.path.join("/");
        let flat = resolver.flatten(&field.schema, &pointer, &mut trail);
        (flat, trail)
    }

    /// Asks for the properties of an object, which is there from now on.
    fn enter(&mut self, field: &Field, flat: &Flat, trail: &Trail) {
        put(&mut self.value, &field.path, Value::Object(Map::new()));
        let Some(Value::Object(properties)) = flat.keywords.get("properties") else {
            return;
        };
        let required = flat.keywords.get("required").and_then(Value::as_array);
        let is_required =
            |name: &String| required.is_some_and(|all| all.iter().any(|it| it == name));
        let admitted = properties.iter().filter(|(_, schema)| **schema != false);
        for (name, schema) in admitted.rev() {
            let mut path = field.path.clone();
            path.push(name.clone());
            self.pending.push(Field {
                path,
                schema: schema.clone(),
                is_required: is_required(name),
                trail: trail.clone(),
            });
        }
    }

    /// The value that a text means.
    fn read(&self, field: &Field, flat: &Flat, text: &str) -> Result<Value, String> {
        let place = field
            .path
            .iter()
            .fold(self.schema.root(), |place, name| place.property(name));
        let choices = choices(flat);
        let chosen = |text: &str| {
            let is_meant = |it: &&FieldChoice| {
                it.value.eq_ignore_ascii_case(text) || it.title.eq_ignore_ascii_case(text)
            };
            let choice = choices.iter().find(is_meant);
            choice.map_or_else(|| text.to_owned(), |it| it.value.clone())
        };
        match kind(field, flat) {
            FieldKind::List if !text.starts_with('[') => {
                let items = text.split(',').map(str::trim).enumerate();
                let items = items.filter(|(_, item)| !item.is_empty());
                let items = items.map(|(at, item)| coerce(&chosen(item), Some(&place.item(at))));
                Ok(items.collect())
            }
            FieldKind::List | FieldKind::Object => {
                read_json(text).map_err(|error| error.to_string())
            }
            FieldKind::Value if field.path.is_empty() => {
                read_json(text).map_err(|error| error.to_string())
            }
            FieldKind::Value => match field::kinds(&flat.keywords).as_slice() {
                ["boolean"] => boolean(text)
                    .map(Value::Bool)
                    .ok_or_else(|| "expected yes or no".to_owned()),
                ["string"] if text == "\"\"" => Ok(Value::String(String::new())),
                _ => Ok(coerce(&chosen(text), Some(&place))),
            },
        }
    }

    /// Checks that the schema admits the field in the parameters as far as they are known.
    fn check(&self, field: &Field, whole: &Value) -> Result<(), String> {
        let path = field.path.join(".");
        let below = format!("{path}.");
        let problems = self.schema.validate(whole);
        let problems = problems.into_iter().filter_map(|problem| {
            if problem.pointer == path {
                Some(problem.message)
            } else if path.is_empty() || problem.pointer.starts_with(&below) {
                Some(problem.to_string())
            } else {
                None
            }
        });
        let problems: Vec<String> = problems.collect();
        if problems.is_empty() {
            Ok(())
        } else {
            Err(visible(&problems.join("; ")).into_owned())
        }
    }
}

/// Returns `true` if parameters are more than an object without properties.
fn says_more(flat: &Flat) -> bool {
    let map = ["additionalProperties", "patternProperties"].into_iter();
    let mut map = map.filter_map(|key| flat.keywords.get(key));
    !flat.alternatives.is_empty() || map.any(Value::is_object)
}

fn is_optional(field: &Field, flat: &Flat) -> bool {
    !field.is_required || flat.keywords.contains_key("default")
}

fn kind(field: &Field, flat: &Flat) -> FieldKind {
    if flat.same_as.is_some() || !flat.alternatives.is_empty() {
        return FieldKind::Value;
    }
    let has_properties = flat.keywords.get("properties").is_some_and(|it| {
        let properties = it.as_object();
        properties.is_some_and(|properties| !properties.is_empty())
    });
    match field::kinds(&flat.keywords).as_slice() {
        ["object"] if has_properties && field.path.len() < DEPTH => FieldKind::Object,
        [] if has_properties && field.path.is_empty() => FieldKind::Object,
        ["array"] if is_of_scalars(&flat.keywords) => FieldKind::List,
        _ => FieldKind::Value,
    }
}

/// Returns `true` if the items of a list are scalars by the letter.
fn is_of_scalars(keywords: &Map<String, Value>) -> bool {
    let items = keywords.get("items").and_then(Value::as_object);
    items.is_some_and(|items| {
        let is_scalar = matches!(
            field::kinds(items).as_slice(),
            ["string" | "integer" | "number" | "boolean"]
        );
        is_scalar || !titled(items).is_empty()
    })
}

/// Returns `true` if only JSON can be an answer.
fn is_json(flat: &Flat) -> bool {
    let kinds = field::kinds(&flat.keywords);
    flat.same_as.is_some()
        || (!kinds.is_empty() && kinds.iter().all(|it| matches!(*it, "object" | "array")))
}

/// A value that can be chosen.
struct FieldChoice {
    value: String,
    title: String,
}

/// The texts that a field, or an item of it, can be, with their titles.
fn choices(flat: &Flat) -> Vec<FieldChoice> {
    let items = flat.keywords.get("items").and_then(Value::as_object);
    let keywords = items.unwrap_or(&flat.keywords);
    let texts = |key: &str| {
        let values = keywords.get(key).and_then(Value::as_array);
        let values = values.into_iter().flatten();
        values.filter_map(Value::as_str).map(str::to_owned)
    };
    let mut names = texts("enumNames");
    let plain = texts("enum").map(|value| FieldChoice {
        title: names.next().unwrap_or_else(|| value.clone()),
        value,
    });
    let mut all: Vec<FieldChoice> = plain.collect();
    all.extend(titled(keywords));
    all.extend(flat.alternatives.iter().filter_map(choice));
    all
}

/// Choices as alternatives, each with a title.
fn titled(keywords: &Map<String, Value>) -> Vec<FieldChoice> {
    let all = ["oneOf", "anyOf"].into_iter();
    let all = all.filter_map(|key| keywords.get(key)?.as_array());
    all.flatten().filter_map(choice).collect()
}

fn choice(schema: &Value) -> Option<FieldChoice> {
    let value = schema.get("const")?.as_str()?.to_owned();
    let title = schema.get("title").and_then(Value::as_str);
    Some(FieldChoice {
        title: title.unwrap_or(&value).to_owned(),
        value,
    })
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "y" | "true" | "ok" => Some(true),
        "no" | "n" | "false" => Some(false),
        _ => None,
    }
}

/// Puts a value where a path leads, through objects.
fn put(whole: &mut Value, path: &[String], value: Value) {
    let Some((name, rest)) = path.split_first() else {
        *whole = value;
        return;
    };
    if let Value::Object(object) = whole {
        let inner = object.entry(name.clone()).or_insert(Value::Null);
        if !rest.is_empty() && !inner.is_object() {
            *inner = Value::Object(Map::new());
        }
        put(inner, rest, value);
    }
}
