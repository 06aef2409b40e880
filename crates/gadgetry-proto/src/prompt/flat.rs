//! One place of a schema with its `$ref`s followed, its `allOf` parts merged and its null alternative noted.

use std::cell::Cell;

use serde_json::{Map, Value};

/// Follows references inside one schema document.
///
/// A document may be written by a stranger (an MCP server), so work is metered: when the fuel is gone, references
/// and parts are no longer followed.
pub(super) struct Resolver<'a> {
    root: &'a Value,
    fuel: Cell<u32>,
}

/// References inside references are followed to this depth.
const MAX_REFERENCES: usize = 64;

/// References that are being expanded, outermost first, each with the pointer where that began.
pub(super) type Trail = Vec<(String, String)>;

/// A place of the schema, ready to be described.
#[derive(Clone, Debug, Default)]
pub(super) struct Flat {
    /// The keywords that apply here.
    pub(super) keywords: Map<String, Value>,
    /// Whether `null` is also allowed.
    pub(super) nullable: bool,
    /// The pointer at which a reference that would expand forever was first expanded.
    pub(super) same_as: Option<String>,
    /// The alternatives that `anyOf` or `oneOf` leaves, without `null`; never just one.
    pub(super) alternatives: Vec<Value>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        let fuel = Cell::new(4_000);
        Self { root, fuel }
    }

    /// Takes one unit of work; false if no work is left.
    pub(super) fn burn(&self) -> bool {
        let left = self.fuel.get();
        self.fuel.set(left.saturating_sub(1));
        left > 0
    }

    /// The keywords at `schema`, which describes `pointer`. References entered here stay on the trail.
    pub(super) fn flatten(&self, schema: &Value, pointer: &str, trail: &mut Trail) -> Flat {
        let mut flat = Flat::default();
        self.merge(&mut flat, schema, pointer, trail);
        // A single alternative to null does not form a choice; it may itself contain one.
        while let Some(options) = take_alternatives(&mut flat) {
            match <[Value; 1]>::try_from(options) {
                Ok([only]) => self.merge(&mut flat, &only, pointer, trail),
                Err(options) => {
                    flat.alternatives = options;
                    break;
                }
            }
        }
        note_null(&mut flat);
        flat
    }

    fn merge(&self, flat: &mut Flat, schema: &Value, pointer: &str, trail: &mut Trail) {
        let Value::Object(keywords) = schema else {
            return;
        };
        if !self.burn() {
            return;
        }
        for (key, value) in keywords {
            if !matches!(key.as_str(), "$ref" | "allOf" | "$defs" | "definitions") {
                combine(&mut flat.keywords, key, value);
            }
        }
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
            if let Some((_, begun)) = trail.iter().find(|(entered, _)| entered == reference) {
                flat.same_as = Some(begun.clone());
            } else if trail.len() >= MAX_REFERENCES {
                return;
            } else if let Some(target) = self.lookup(reference) {
                trail.push((reference.to_owned(), pointer.to_owned()));
                self.merge(flat, target, pointer, trail);
            }
        }
        for part in keywords
            .get("allOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            self.merge(flat, part, pointer, trail);
        }
    }

    fn lookup(&self, reference: &str) -> Option<&'a Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }
}

/// Adds a keyword. The outer schema speaks first; properties and required names add up.
fn combine(keywords: &mut Map<String, Value>, key: &str, value: &Value) {
    match (keywords.get_mut(key), value) {
        (None, _) => {
            keywords.insert(key.to_owned(), value.clone());
        }
        (Some(Value::Object(present)), Value::Object(more)) if key == "properties" => {
            for (name, schema) in more {
                present.entry(name).or_insert_with(|| schema.clone());
            }
        }
        (Some(Value::Array(present)), Value::Array(more)) if key == "required" => {
            present.extend(more.iter().cloned());
        }
        (Some(_), _) => {}
    }
}

/// Removes `anyOf` or `oneOf` and gives what it holds apart from `null`; none if there is neither, or nothing is left.
fn take_alternatives(flat: &mut Flat) -> Option<Vec<Value>> {
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(mut options)) = flat.keywords.shift_remove(key) else {
            continue;
        };
        let all = options.len();
        options.retain(|option| !is_null(option));
        flat.nullable |= options.len() < all;
        if !options.is_empty() {
            return Some(options);
        }
    }
    None
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
        || schema.get("const").is_some_and(Value::is_null)
        || schema
            .get("enum")
            .and_then(Value::as_array)
            .is_some_and(|values| !values.is_empty() && values.iter().all(Value::is_null))
}

/// Moves `null` out of `type` and `enum`, and reads `nullable`.
fn note_null(flat: &mut Flat) {
    flat.nullable |= flat.keywords.get("nullable") == Some(&Value::Bool(true));
    if let Some(Value::Array(kinds)) = flat.keywords.get_mut("type") {
        let all = kinds.len();
        kinds.retain(|kind| kind != "null");
        flat.nullable |= kinds.len() < all;
    }
    if let Some(Value::Array(values)) = flat.keywords.get_mut("enum") {
        let all = values.len();
        values.retain(|value| !value.is_null());
        flat.nullable |= values.len() < all;
    }
}
