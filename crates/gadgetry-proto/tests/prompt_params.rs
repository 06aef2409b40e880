//! The list of parameters: one line for each pointer that a block may name.

use gadgetry_proto::prompt::parameter_list;
use serde_json::{Value, json};

#[track_caller]
fn check(properties: &Value, expected: &str) {
    let schema = json!({ "type": "object", "properties": properties, "required": ["r"] });
    assert_eq!(parameter_list(&schema), expected.trim_matches('\n'));
}

#[test]
fn scalars_and_bounds() {
    check(
        &json!({
            "r": { "type": "integer", "minimum": 1, "maximum": 7 },
            "min": { "type": "number", "minimum": -0.5 },
            "max": { "type": "number", "maximum": 3 },
            "open": { "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 },
            "step": { "type": "integer", "multipleOf": 5 },
            "text": { "type": "string", "minLength": 2, "maxLength": 9, "pattern": "^a; b$" },
            "code": { "type": "string", "minLength": 4, "maxLength": 4 },
            "mail": { "type": "string", "format": "email", "description": "Where to\n  write" },
            "flag": { "type": "boolean", "default": false },
            "any": {},
            "none": false,
            "title": { "type": "string", "title": "A title" },
            "eg": { "type": "string", "examples": ["a", "b c", "x|y", "cut"] },
        }),
        r#"
- r (integer; required; 1 to 7)
- min (number; optional; at least -0.5)
- max (number; optional; at most 3)
- open (number; optional; more than 0; less than 1)
- step (integer; optional; multiple of 5)
- text (string; optional; length 2 to 9; matches ^a; b$)
- code (string; optional; length exactly 4)
- mail (string; optional; format email): Where to
  write
- flag (boolean; optional; default false)
- any (any value; optional)
- title (string; optional): A title
- eg (string; optional; such as a | b c | "x|y")
"#,
    );
}

#[test]
fn values_null_and_defaults() {
    check(
        &json!({
            "r": { "type": "string", "default": "so it is optional" },
            "unit": { "enum": ["m", "ft", "", "a \"b\""] },
            "kind": { "const": "file" },
            "level": { "type": "integer", "enum": [1, 2, null] },
            "one": { "enum": ["x"] },
            "nick": { "type": ["string", "null"], "default": null },
            "open": { "type": "string", "nullable": true },
            "maybe": { "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "null" }], "description": "Or not" },
            "list": { "type": "array", "items": { "type": "string" }, "default": ["a"] },
        }),
        r#"
- r (string; optional; default so it is optional)
- unit (one of m | ft | "" | "a \"b\""; optional)
- kind (always file; optional)
- level (one of 1 | 2; optional)
- one (always x; optional)
- nick (string; optional; default null)
- open (string; optional)
- maybe (integer; optional; at least 1): Or not
- list (array of string; optional; default ["a"])
"#,
    );
}

#[test]
fn objects_arrays_maps_and_tuples() {
    check(
        &json!({
            "r": {
                "type": "object",
                "description": "User to create",
                "properties": {
                    "name": { "type": "string", "description": "Full name" },
                    "a/b~c": { "type": "string" },
                },
                "required": ["name"],
            },
            "rows": {
                "type": "array", "minItems": 1, "maxItems": 5, "uniqueItems": true,
                "items": { "type": "object", "properties": { "x": { "type": "integer" } }, "required": ["x"] },
            },
            "grid": { "type": "array", "items": { "type": "array", "items": { "type": "number" } } },
            "tags": { "type": "array", "items": { "enum": ["red", "blue"] } },
            "labels": { "type": "object", "additionalProperties": { "type": "string" } },
            "people": {
                "type": "object", "propertyNames": { "pattern": "^[a-z]+$" }, "minProperties": 1,
                "additionalProperties": { "type": "object", "properties": { "age": { "type": "integer" } } },
            },
            "env": { "type": "object", "patternProperties": { "^X_": { "type": "string" } } },
            "free": { "type": "object" },
            "pair": { "type": "array", "prefixItems": [{ "type": "string" }, { "type": "integer" }], "minItems": 1 },
            "old": { "type": "array", "items": [{ "type": "string" }], "additionalItems": { "type": "integer" } },
        }),
        r"
- r (object; required): User to create
  - r/name (string; required): Full name
  - r/a~1b~0c (string; optional)
- rows (array of object; optional; 1 to 5 items; no item twice)
  - rows/0 (each item: object)
    - rows/0/x (integer; required)
- grid (array of array; optional)
  - grid/0 (each item: array of number)
- tags (array; optional)
  - tags/0 (each item: one of red | blue)
- labels (map of string; optional)
- people (map of object; optional; at least 1 entry; keys: matches ^[a-z]+$)
  - people/<key> (each value: object)
    - people/<key>/age (integer; optional)
- env (object; optional)
  - env/<key matching ^X_> (each value: string)
- free (object; optional)
- pair (tuple; optional; at least 1 item)
  - pair/0 (string; required)
  - pair/1 (integer; optional)
- old (tuple; optional)
  - old/0 (string; required)
  - old/1 (each further item: integer)
",
    );
}

#[test]
fn unions() {
    check(
        &json!({
            "r": { "oneOf": [{ "type": "string" }, { "type": "integer" }] },
            "shade": {
                "oneOf": [
                    { "const": "dark", "description": "Night" },
                    { "const": "light" },
                    { "type": "null" },
                ],
            },
            "shape": {
                "description": "What to draw",
                "anyOf": [
                    {
                        "type": "object", "description": "A circle",
                        "properties": { "kind": { "const": "circle" }, "r": { "type": "number" } },
                        "required": ["kind", "r"],
                    },
                    { "type": "string", "pattern": "^#" },
                    { "type": "boolean" },
                ],
            },
        }),
        r"
- r (string or integer; required)
- shade (one of dark | light; optional)
  - either (always dark): Night
- shape (object or string or boolean; optional): What to draw
  - either (object): A circle
    - shape/kind (always circle; required)
    - shape/r (number; required)
  - either (string; matches ^#)
",
    );
}

#[test]
fn unions_that_only_narrow_and_unions_at_the_top() {
    check(
        &json!({
            "r": {
                "type": "object",
                "properties": { "a": {}, "b": {} },
                "anyOf": [{ "required": ["a"] }, { "required": ["b"] }],
            },
            "size": { "type": "integer", "anyOf": [{ "maximum": 3 }, { "minimum": 9 }] },
        }),
        r"
- r (object; required)
  - r/a (any value; optional)
  - r/b (any value; optional)
- size (integer; optional)
  - either (integer; at most 3)
  - either (integer; at least 9)
",
    );
    let schema = json!({
        "oneOf": [
            { "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] },
            { "type": "object", "description": "Remote", "properties": { "url": { "type": "string" } } },
        ],
    });
    let expected = r"
- either (object)
  - path (string; required)
- either (object): Remote
  - url (string; optional)
";
    assert_eq!(parameter_list(&schema), expected.trim_matches('\n'));
}

#[test]
fn references_all_of_and_cycles() {
    let schema = json!({
        "$ref": "#/$defs/Params",
        "$defs": {
            "Params": {
                "type": "object",
                "properties": {
                    "tree": { "$ref": "#/$defs/Node", "description": "The tree" },
                    "again": { "allOf": [{ "$ref": "#/$defs/Leaf" }, { "required": ["v"] }] },
                    "self": { "$ref": "#" },
                    "gone": { "$ref": "#/$defs/Nowhere" },
                },
                "required": ["tree"],
            },
            "Node": {
                "type": "object",
                "description": "A node",
                "properties": {
                    "value": { "$ref": "#/$defs/Leaf" },
                    "children": { "type": "array", "items": { "$ref": "#/$defs/Node" } },
                    "parent": { "anyOf": [{ "$ref": "#/$defs/Node" }, { "type": "null" }] },
                },
            },
            "Leaf": { "type": "object", "properties": { "v": { "type": "integer" } } },
        },
    });
    let expected = r"
- tree (object; required): The tree
  - tree/value (object; optional)
    - tree/value/v (integer; optional)
  - tree/children (array; optional)
    - tree/children/0 (each item: same as tree)
  - tree/parent (same as tree; optional)
- again (object; optional)
  - again/v (integer; required)
- self (object like all parameters together; optional)
- gone (any value; optional)
";
    assert_eq!(parameter_list(&schema), expected.trim_matches('\n'));
}

#[test]
fn a_hostile_schema_stays_short() {
    let mut defs = serde_json::Map::new();
    for level in 0..40 {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        let both = json!({
            "type": "object",
            "properties": { "a": next, "b": next },
            "anyOf": [next, { "allOf": [next, next] }, { "oneOf": [next, next] }],
        });
        defs.insert(format!("d{level}"), both);
    }
    let list = parameter_list(&json!({ "$ref": "#/$defs/d0", "$defs": defs }));
    assert!(list.len() < 400_000, "{}", list.len());
    let cyclic = json!({
        "properties": { "x": { "$ref": "#/$defs/A" } },
        "$defs": {
            "A": { "anyOf": [{ "$ref": "#/$defs/B" }, { "$ref": "#/$defs/A" }] },
            "B": { "anyOf": [{ "$ref": "#/$defs/A" }, { "$ref": "#/$defs/B" }, { "type": "string" }] },
        },
    });
    assert_eq!(
        parameter_list(&cyclic),
        "- x (same as x or string or same as x; optional)\n  - either (same as x or string)\n    - either (same as x)\n    \
         - either (same as x)\n  - either (same as x)"
    );
}
