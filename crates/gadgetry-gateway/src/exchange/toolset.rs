//! The tools of a request, prepared once: names that a block can carry, compiled schemas, their text for the model.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use gadgetry_proto::error::{Classified, Fault};
use gadgetry_proto::limits::Limits;
use gadgetry_proto::schema::{GadgetSpec, RegisteredGadget, Registry, RegistryError};
use gadgetry_validator::pattern_bytes;
use serde_json::{Map, Value};

use super::request::Tool;
use crate::memory::weight;

/// Bytes of a compiled schema for each byte of its JSON, by measurement.
const COMPILED: usize = 8;

/// The tools of a request.
///
/// A client's schemas are used as they are. If a schema has a pattern with a look-ahead, the rest of it is checked, and its tool
/// stays; any other schema that cannot be used to check calls is an error. Defaults are filled in only for required parameters,
/// because models read that those may be omitted; all other defaults are left to the tool.
///
/// ```
/// use gadgetry_gateway::exchange::{Tool, Toolset};
/// use serde_json::json;
/// let tools = Toolset::new(vec![Tool::function("read: file", "", json!({"type": "object"}))])?;
/// assert_eq!(tools.block_name("read: file"), Some("read__file"));
/// # Ok::<(), gadgetry_gateway::exchange::UnusableTool>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Toolset {
    tools: Vec<Tool>,
    /// The name of each in a block.
    block_names: Vec<String>,
    by_name: HashMap<String, usize>,
    by_block_name: HashMap<String, usize>,
    registry: Arc<Registry>,
    /// Tools with a pattern that could not be used.
    unchecked: Vec<String>,
}

/// Error for a tool whose calls cannot be checked, because its schema cannot be used: a mistake of the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the schema of the tool {tool:?} cannot be used to check its calls: {problem}. Send a JSON Schema of an object that refers to \
     nothing outside itself, or leave the tool out"
)]
pub struct UnusableTool {
    tool: String,
    problem: String,
}

impl Classified for UnusableTool {
    fn fault(&self) -> Fault {
        Fault::Caller
    }
}

impl UnusableTool {
    fn new(tool: &str, error: RegistryError) -> Self {
        Self {
            tool: tool.to_owned(),
            problem: match error {
                RegistryError::Schema { error, .. } => error.to_string(),
                // About the name in a block, which the client does not know.
                other => other.to_string(),
            },
        }
    }
}

impl Toolset {
    /// Prepares tools. If two have the same name, the first counts.
    ///
    /// # Errors
    ///
    /// [`UnusableTool`] if the calls of a tool cannot be checked.
    pub fn new(tools: Vec<Tool>) -> Result<Self, UnusableTool> {
        let mut set = Self::default();
        let mut registry = Registry::default();
        let mut taken = HashMap::new();
        for tool in tools {
            let name = tool.full_name();
            if set.by_name.contains_key(&name) {
                continue;
            }
            let block_name = unused(&carried(&name), &mut taken);
            let (gadget, is_checked) =
                compiled(&block_name, &tool).map_err(|error| UnusableTool::new(&name, error))?;
            // The name is valid and unused, so it is always added.
            if registry.insert(gadget).is_err() {
                continue;
            }
            if !is_checked {
                set.unchecked.push(name.clone());
            }
            let at = set.tools.len();
            set.by_name.insert(name, at);
            set.by_block_name.insert(block_name.clone(), at);
            set.block_names.push(block_name);
            set.tools.push(tool);
        }
        set.registry = Arc::new(registry);
        Ok(set)
    }

    /// Estimates the bytes of the compiled tools.
    pub(crate) fn weight(&self) -> usize {
        let of = |tool: &Tool| COMPILED * weight(&tool.schema) + tool.description.len();
        self.tools.iter().map(of).sum()
    }

    /// Returns the tools, in the client's order, with the name of each in a block.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tool)> {
        self.block_names.iter().map(String::as_str).zip(&self.tools)
    }

    /// Returns `true` if there are no tools.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns the name in a block of the tool that the client calls `name`, namespace included.
    pub fn block_name(&self, name: &str) -> Option<&str> {
        let at = *self.by_name.get(name)?;
        Some(&self.block_names[at])
    }

    /// Returns the tool of a block, ignoring the case of its name.
    pub fn tool(&self, block_name: &str) -> Option<&Tool> {
        let name = self.registry.get(block_name)?.name();
        let at = *self.by_block_name.get(name)?;
        Some(&self.tools[at])
    }

    /// Returns the tool that the client calls `name`, with its schema.
    pub(crate) fn registered(&self, name: &str) -> Option<&RegisteredGadget> {
        self.registry.get(self.block_name(name)?)
    }

    /// Returns the schemas by the names in blocks.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Returns the tools with an unusable pattern, so that calls that it forbids are accepted.
    pub fn unchecked(&self) -> &[String] {
        &self.unchecked
    }

    /// Returns the tools for the provider's own interface, for a model that calls them natively.
    pub(crate) fn specs(&self) -> Vec<GadgetSpec> {
        self.iter()
            .map(|(name, tool)| GadgetSpec {
                name: name.to_owned(),
                description: tool.description.clone(),
                parameters: tool.schema.clone(),
                ..GadgetSpec::default()
            })
            .collect()
    }
}

/// Returns the name in a form that a block can carry: other characters become `_`.
fn carried(name: &str) -> String {
    let limit = Limits::default().header / 4;
    let is_forbidden = |c: char| c == ':' || c == ',' || c.is_whitespace() || c.is_control();
    let plain: String = name
        .chars()
        .map(|c| if is_forbidden(c) { '_' } else { c })
        .collect();
    let plain = plain.trim_start_matches('!');
    let end = plain.floor_char_boundary(limit);
    match &plain[..end] {
        "" => "tool".to_owned(),
        plain => plain.to_owned(),
    }
}

/// Returns the name, with a number if it is taken, ignoring case.
fn unused(name: &str, taken: &mut HashMap<String, usize>) -> String {
    let mut own = name.to_owned();
    let first = own.to_lowercase();
    // The number after the last one that this name was given.
    let mut number = taken.get(&first).copied().unwrap_or(0);
    while taken.contains_key(&own.to_lowercase()) {
        number += 1;
        own = format!("{name}_{}", number + 1);
    }
    taken.insert(own.to_lowercase(), 0);
    taken.insert(first, number);
    own
}

/// Returns the tool with its schema, and whether all of it is checked. Unusable patterns are left out, and the rest is checked.
fn compiled(name: &str, tool: &Tool) -> Result<(RegisteredGadget, bool), RegistryError> {
    let compile = |parameters: Value| {
        let gadget = Registry::compile(GadgetSpec {
            name: name.to_owned(),
            description: tool.description.clone(),
            parameters,
            ..GadgetSpec::default()
        });
        gadget.map(RegisteredGadget::keep_digits)
    };
    if let Ok(gadget) = compile(without_defaults(&tool.schema, KeptDefaults::Required)) {
        return Ok((gadget, true));
    }
    // A default of the wrong type.
    let schema = without_defaults(&tool.schema, KeptDefaults::None);
    if let Ok(gadget) = compile(schema.clone()) {
        return Ok((gadget, true));
    }
    compile(without_patterns(&schema)).map(|gadget| (gadget, false))
}

/// Returns the schema without unusable patterns, such as those with a look-ahead.
fn without_patterns(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let is_unusable = |pattern: &str| pattern_bytes(pattern).is_none();
            let names = fields.get("patternProperties").and_then(Value::as_object);
            // Without these patterns it is unknown which properties are additional.
            let are_names = names.is_some_and(|it| it.keys().any(|name| is_unusable(name)));
            let kept = fields.iter().filter(|(keyword, value)| match &***keyword {
                "pattern" => !value.as_str().is_some_and(is_unusable),
                "patternProperties" | "additionalProperties" | "unevaluatedProperties" => {
                    !are_names
                }
                _ => true,
            });
            kept.map(|(keyword, value)| (keyword.clone(), without_patterns(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(without_patterns).collect(),
        other => other.clone(),
    }
}

/// Keywords whose value is a schema.
const SCHEMA: [&str; 11] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "not",
    "if",
    "then",
    "else",
];

/// Keywords whose value has a schema for each name.
const BY_NAME: [&str; 5] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
];

/// Keywords whose value is a list of schemas.
const LIST: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];

/// Defaults that stay in a schema.
#[derive(Clone, Copy, PartialEq)]
enum KeptDefaults {
    /// Defaults of required properties.
    Required,
    None,
}

/// Returns the schema without the keyword `default`, except those to keep. A property with that name stays.
fn without_defaults(schema: &Value, keep: KeptDefaults) -> Value {
    let Value::Object(fields) = schema else {
        return schema.clone();
    };
    let required = fields.get("required").and_then(Value::as_array);
    let required: HashSet<&str> = required
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let is_required = |name: &str| keep == KeptDefaults::Required && required.contains(name);
    let each = |fields: &Map<String, Value>| -> Map<String, Value> {
        let each = fields.iter().map(|(name, schema)| {
            let mut stripped = without_defaults(schema, keep);
            if let Some(default) = schema.get("default").filter(|_| is_required(name))
                && let Value::Object(stripped) = &mut stripped
            {
                stripped.insert("default".to_owned(), default.clone());
            }
            (name.clone(), stripped)
        });
        each.collect()
    };
    let mut out = Map::new();
    for (keyword, value) in fields {
        let word = keyword.as_str();
        let value = match value {
            _ if word == "default" => continue,
            Value::Object(fields) if BY_NAME.contains(&word) => Value::Object(each(fields)),
            Value::Array(schemas) if LIST.contains(&word) || word == "items" => schemas
                .iter()
                .map(|it| without_defaults(it, keep))
                .collect(),
            value if SCHEMA.contains(&word) => without_defaults(value, keep),
            value => value.clone(),
        };
        out.insert(keyword.clone(), value);
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{KeptDefaults, Tool, Toolset, without_defaults};

    #[test]
    fn names_that_a_block_cannot_carry_are_mapped() {
        let names = [
            "Read", "read", "a:b", "a b", "a_b", "!!!x", "", "größe", "a.b/c-d",
        ];
        let tools = names.map(|name| Tool::function(name, "", json!({})));
        let set = Toolset::new(tools.to_vec()).expect("the schemas are valid");
        let expected = [
            "Read", "read_2", "a_b", "a_b_2", "a_b_3", "x", "tool", "größe", "a.b/c-d",
        ];
        for (name, block_name) in names.into_iter().zip(expected) {
            assert_eq!(set.block_name(name), Some(block_name));
            let tool = set.tool(block_name).map(|tool| tool.name.as_str());
            assert_eq!(tool, Some(name));
        }
    }

    #[test]
    fn a_schema_that_cannot_be_used_is_an_error() {
        let check = |schema: Value, expected: Option<&str>| {
            let made = Toolset::new(vec![Tool::function("ns: T", "", schema.clone())]);
            let error = made.err().map(|error| error.to_string());
            match expected {
                None => assert_eq!(error, None, "{schema}"),
                Some(words) => {
                    let error = error.unwrap_or_else(|| panic!("it is used: {schema}"));
                    for part in ["\"ns: T\"", words, "leave the tool out"] {
                        assert!(error.contains(part), "{schema}: {error}");
                    }
                }
            }
        };
        check(json!({}), None);
        check(json!({"type": "object"}), None);
        check(
            json!({"properties": {"a": {"type": "integer", "default": "x"}}}),
            None,
        );
        check(
            json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}}),
            None,
        );
        check(json!({"type": 5}), Some("#/type"));
        check(
            json!({"properties": {"a": {"type": 5}}}),
            Some("#/properties/a/type"),
        );
        check(
            json!({"properties": {"a": {"type": "int"}}}),
            Some("#/properties/a/type"),
        );
        check(
            json!({"$ref": "https://example.com/schema.json"}),
            Some("example.com"),
        );
        check(
            json!({"properties": {"a": {"$ref": "#/$defs/none"}}}),
            Some("none"),
        );
        check(
            json!({"properties": {"a": {"$ref": "https://example.com/x"}}}),
            Some("example.com"),
        );
        check(json!({"type": "string"}), Some("admits only"));
        check(Value::Null, Some("must be a JSON object"));
        check(json!([]), Some("must be a JSON object"));
        check(json!("object"), Some("must be a JSON object"));
        // References that double at each level.
        let doubled = (0..40).map(|at| {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            (format!("d{at}"), json!({"anyOf": [next, next]}))
        });
        let mut defs: serde_json::Map<_, _> = doubled.collect();
        defs.insert("d40".to_owned(), json!({}));
        check(
            json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs}),
            Some("too complex"),
        );
    }

    /// One look-ahead, as in the patterns for addresses of mail, was the end of all checks.
    #[test]
    fn without_patterns_the_rest_is_checked() {
        let check = |property: Value, more: Value| {
            let mut schema = json!({
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": property},
                "required": ["a"],
            });
            let fields = schema.as_object_mut().expect("an object");
            fields.extend(more.as_object().cloned().unwrap_or_default());
            let set = Toolset::new(vec![Tool::function("T", "", schema.clone())]).expect("tools");
            assert_eq!(set.unchecked(), ["T"], "{schema}");
            let gadget = set.registered("T").expect("a tool");
            let good = json!({"a": 1, "b": "x", "zz": 1});
            assert_eq!(gadget.check(good.clone()), Ok(good), "{schema}");
            for bad in [json!({"a": "x"}), json!({"b": "x"})] {
                assert!(gadget.check(bad.clone()).is_err(), "{schema} {bad}");
            }
        };
        check(json!({"type": "string", "pattern": "^(?!y)x"}), json!({}));
        check(json!({"items": [{"pattern": r"(x)\1"}]}), json!({}));
        check(
            json!({}),
            json!({"patternProperties": {"^(?=z)": {}}, "additionalProperties": false}),
        );
    }

    #[test]
    fn defaults_go_and_properties_of_that_name_stay() {
        let schema = json!({
            "properties": {"default": {"type": "string", "default": "x"}},
            "items": [{"default": 1}],
            "anyOf": [{"default": 1, "const": {"default": 2}}],
            "default": {},
        });
        let expected = json!({
            "properties": {"default": {"type": "string"}},
            "items": [{}],
            "anyOf": [{"const": {"default": 2}}],
        });
        assert_eq!(without_defaults(&schema, KeptDefaults::Required), expected);
        let schema =
            json!({"properties": {"a": {"default": 1}, "b": {"default": 2}}, "required": ["b"]});
        let expected = json!({"properties": {"a": {}, "b": {"default": 2}}, "required": ["b"]});
        assert_eq!(without_defaults(&schema, KeptDefaults::Required), expected);
    }
}
