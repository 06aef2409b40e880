//! The parameters of a gadget as an indented list, one line for each pointer that a block may name.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::prompt::field;
use crate::prompt::flat::{Flat, Resolver, Trail};

/// Deeper places are named, not described.
const MAX_DEPTH: usize = 16;

/// The parameters that `schema` (an object's JSON Schema) declares, without a newline at the end; empty if none.
///
/// ```
/// use gadgetry_proto::prompt::parameter_list;
/// let schema = serde_json::json!({
///     "type": "object",
///     "properties": {
///         "city": { "type": "string", "minLength": 1, "description": "City name" },
///         "days": { "type": "integer", "minimum": 1, "maximum": 7, "default": 1 },
///     },
///     "required": ["city", "days"],
/// });
/// assert_eq!(
///     parameter_list(&schema),
///     "- city (string; required; length at least 1): City name\n\
///      - days (integer; optional; 1 to 7; default 1)",
/// );
/// ```
pub fn parameter_list(schema: &Value) -> String {
    let mut list = List {
        resolver: Resolver::new(schema),
        trail: vec![("#".to_owned(), String::new())],
        out: String::new(),
        full: false,
    };
    let root = list.resolver.flatten(schema, "", &mut list.trail);
    list.children(&root, "", 0);
    list.out.truncate(list.out.trim_end_matches('\n').len());
    list.out
}

struct List<'a> {
    resolver: Resolver<'a>,
    trail: Trail,
    out: String,
    full: bool,
}

/// The words in a line's parentheses before the type.
#[derive(Clone, Copy)]
enum Occurrence {
    Required,
    Optional,
    /// Any item of an array, or any value of a map.
    Each(&'static str),
}

impl List<'_> {
    /// The line of `pointer`, and the lines of what it holds.
    fn line(&mut self, schema: &Value, pointer: &str, place: Occurrence, depth: usize) {
        if schema == &Value::Bool(false) || !self.room(depth) {
            return;
        }
        let before = self.trail.len();
        let flat = self.resolver.flatten(schema, pointer, &mut self.trail);
        let label = self.label(&flat, pointer);
        let mut facts = match place {
            Occurrence::Required if !flat.keywords.contains_key("default") => {
                vec![label, "required".to_owned()]
            }
            Occurrence::Required | Occurrence::Optional => {
                // What may be left out need not be null.
                let label = label.strip_suffix(" or null").unwrap_or(&label);
                vec![label.to_owned(), "optional".to_owned()]
            }
            Occurrence::Each(what) => vec![format!("each {what}: {label}")],
        };
        facts.extend(field::constraints(&flat.keywords));
        self.write(pointer, &facts.join("; "), &flat, depth);
        self.children(&flat, pointer, depth + 1);
        self.trail.truncate(before);
    }

    fn write(&mut self, subject: &str, facts: &str, flat: &Flat, depth: usize) {
        let indent = "  ".repeat(depth);
        _ = write!(self.out, "{indent}- {subject} ({facts})");
        let description = field::description(&flat.keywords);
        let mut lines = description
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty());
        if let Some(first) = lines.next() {
            _ = write!(self.out, ": {first}");
        }
        self.out.push('\n');
        for line in lines {
            _ = writeln!(self.out, "{indent}  {line}");
        }
    }

    /// Returns `true` if one more line may be written. The last one says that the list is cut.
    fn room(&mut self, depth: usize) -> bool {
        if self.full {
            return false;
        }
        self.full = !self.resolver.burn();
        if self.full {
            let indent = "  ".repeat(depth);
            _ = writeln!(self.out, "{indent}- … (the rest is not listed)");
        }
        !self.full
    }

    fn children(&mut self, flat: &Flat, pointer: &str, depth: usize) {
        if flat.same_as.is_some() || depth > MAX_DEPTH {
            return;
        }
        self.properties(&flat.keywords, pointer, depth);
        self.map_values(&flat.keywords, pointer, depth);
        self.items(&flat.keywords, pointer, depth);
        self.alternatives(flat, pointer, depth);
    }

    fn properties(&mut self, keywords: &Map<String, Value>, pointer: &str, depth: usize) {
        let Some(Value::Object(properties)) = keywords.get("properties") else {
            return;
        };
        let required = keywords.get("required").and_then(Value::as_array);
        for (name, schema) in properties {
            let is_required = required.is_some_and(|names| names.iter().any(|entry| entry == name));
            let place = if is_required {
                Occurrence::Required
            } else {
                Occurrence::Optional
            };
            self.line(schema, &child(pointer, &escape(name)), place, depth);
        }
    }

    fn map_values(&mut self, keywords: &Map<String, Value>, pointer: &str, depth: usize) {
        if let Some(Value::Object(patterns)) = keywords.get("patternProperties") {
            for (pattern, schema) in patterns {
                let key = format!("<key matching {}>", one_line(pattern));
                self.line(
                    schema,
                    &child(pointer, &key),
                    Occurrence::Each("value"),
                    depth,
                );
            }
        }
        let Some(schema) = keywords.get("additionalProperties") else {
            return;
        };
        if !schema.is_object() {
            return;
        }
        let only = !keywords.contains_key("properties");
        if pointer.is_empty() || !only || !field::is_plain(&self.peek(schema, pointer)) {
            self.line(
                schema,
                &child(pointer, "<key>"),
                Occurrence::Each("value"),
                depth,
            );
        }
    }

    fn items(&mut self, keywords: &Map<String, Value>, pointer: &str, depth: usize) {
        let tuple = field::tuple_items(keywords);
        for (index, schema) in tuple.iter().enumerate() {
            let least = keywords.get("minItems").and_then(Value::as_u64);
            let is_required = least.is_none_or(|least| (index as u64) < least);
            let place = if is_required {
                Occurrence::Required
            } else {
                Occurrence::Optional
            };
            self.line(schema, &child(pointer, &index.to_string()), place, depth);
        }
        let rest = if keywords.get("items").is_some_and(Value::is_array) {
            keywords.get("additionalItems")
        } else {
            keywords.get("items")
        };
        let Some(schema) = rest.filter(|schema| schema.is_object()) else {
            return;
        };
        if !tuple.is_empty() {
            let position = child(pointer, &tuple.len().to_string());
            self.line(schema, &position, Occurrence::Each("further item"), depth);
        } else if !field::is_plain(&self.peek(schema, pointer)) {
            self.line(
                schema,
                &child(pointer, "0"),
                Occurrence::Each("item"),
                depth,
            );
        }
    }

    /// Alternatives that say more than their kind, each on a line of its own.
    fn alternatives(&mut self, flat: &Flat, pointer: &str, depth: usize) {
        let known = !field::kinds(&flat.keywords).is_empty();
        for schema in &flat.alternatives {
            let before = self.trail.len();
            let mut option = self.resolver.flatten(schema, pointer, &mut self.trail);
            let silent = field::is_plain(&option)
                || (option.keywords.contains_key("const") && !has_description(&option))
                || (known && option.keywords.keys().all(|key| key == "required"));
            if !silent && self.room(depth) {
                if let (false, Some(kind)) = (says_kind(&option), flat.keywords.get("type")) {
                    option.keywords.insert("type".to_owned(), kind.clone());
                }
                let mut facts = vec![self.label(&option, pointer)];
                facts.extend(field::constraints(&option.keywords));
                self.write("either", &facts.join("; "), &option, depth);
                self.children(&option, pointer, depth + 1);
            }
            self.trail.truncate(before);
        }
    }

    /// Returns the kind of value at `pointer`.
    fn label(&self, flat: &Flat, pointer: &str) -> String {
        self.resolver.label(flat, pointer, &mut self.trail.clone())
    }

    /// Looks at a place without entering it.
    fn peek(&self, schema: &Value, pointer: &str) -> Flat {
        self.resolver
            .flatten(schema, pointer, &mut self.trail.clone())
    }
}

fn says_kind(flat: &Flat) -> bool {
    flat.same_as.is_some()
        || !flat.alternatives.is_empty()
        || !field::kinds(&flat.keywords).is_empty()
        || field::fixed_values(&flat.keywords).is_some()
}

fn has_description(flat: &Flat) -> bool {
    !field::description(&flat.keywords).is_empty()
}

fn child(pointer: &str, segment: &str) -> String {
    if pointer.is_empty() {
        segment.to_owned()
    } else {
        format!("{pointer}/{segment}")
    }
}

/// A name as a segment of a pointer.
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// `text` without what would break a line of the prompt. Backslashes stay as they are, since the model copies them.
fn one_line(text: &str) -> String {
    let escape = |c: char| c.is_control().then(|| c.escape_debug().to_string());
    text.chars()
        .map(|c| escape(c).unwrap_or_else(|| c.to_string()))
        .collect()
}
