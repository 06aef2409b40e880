use serde_json::{Map, json};

use super::*;

fn check(schema: Value, parameters: &Value, problems: &[&str]) {
    let schema = Schema::new(schema).unwrap();
    let found: Vec<String> = schema
        .validate(parameters)
        .iter()
        .map(Problem::to_string)
        .collect();
    assert_eq!(found, problems, "{parameters} under {schema:?}");
}

fn check_defaults(schema: Value, mut parameters: Value, expected: &Value) {
    let schema = Schema::new(schema).unwrap();
    schema.apply_defaults(&mut parameters);
    assert_eq!(parameters, *expected, "{schema:?}");
}

fn check_broken(schema: Value, message: &str) {
    let error = Schema::new(schema).unwrap_err().to_string();
    assert!(error.starts_with(message), "{error}");
}

#[test]
fn broken_schemas() {
    check_broken(json!(false), "a schema must be a JSON object or `true`");
    check_broken(json!("object"), "a schema must be a JSON object or `true`");
    check_broken(
        json!({ "type": "string" }),
        "parameters are an object, but the schema admits only: string",
    );
    check_broken(
        json!({ "anyOf": [{ "type": "array" }, { "type": "null" }] }),
        "parameters are an object, but the schema admits only: array or null",
    );
    check_broken(
        json!({ "properties": { "a": { "type": "strin" } } }),
        "invalid schema at #/properties/a/type: \"strin\" is not valid",
    );
    check_broken(
        json!({ "properties": { "a": { "pattern": "(" } } }),
        "invalid schema at #",
    );
    check_broken(
        json!({ "properties": { "a": { "pattern": "(?=x)" } } }),
        "invalid schema at #",
    );
    check_broken(
        json!({ "properties": { "a": { "$ref": "https://example.com/x.json" } } }),
        "invalid schema at #",
    );
    check_broken(
        json!({ "properties": { "a": { "$ref": "file:///etc/passwd" } } }),
        "invalid schema at #",
    );
    check_broken(
        json!({ "properties": { "a": { "$ref": "#/$defs/nowhere" } } }),
        "invalid schema at #",
    );
}

#[test]
fn every_schema_that_admits_objects_is_accepted() {
    for schema in [
        json!(true),
        json!({}),
        json!({ "type": ["object", "null"] }),
        json!({ "$ref": "#/$defs/p", "$defs": { "p": { "type": "object" } } }),
        json!({ "$ref": "#" }),
        json!({ "$schema": "http://json-schema.org/draft-07/schema#", "properties": { "t": { "items": [{}] } } }),
    ] {
        Schema::new(schema).unwrap();
    }
}

#[test]
fn dialects() {
    let schema = json!({
        "properties": {
            "s": { "type": "string", "nullable": true },
            "e": { "type": "string", "enum": ["a"], "nullable": true },
            "r": { "$ref": "#/$defs/n", "nullable": true },
            "u": { "oneOf": [{ "type": "string" }, { "type": "integer" }], "nullable": true },
            "t": { "type": "array", "items": [{ "type": "string" }], "additionalItems": { "type": "integer" } },
            "d": { "default": { "type": "string", "nullable": true } },
        },
        "$defs": { "n": { "type": "integer" } },
    });
    let nothing = json!({ "s": null, "e": null, "r": null, "u": null, "t": ["x", 1], "d": 1 });
    check(schema.clone(), &nothing, &[]);
    check(
        schema.clone(),
        &json!({ "e": "b", "r": "x", "u": true, "t": [1, "x"] }),
        &[
            "e: expected one of \"a\", null, got string \"b\"",
            "r: expected integer or null, got string \"x\"",
            "u: expected string or integer or null, got boolean true",
            "t.0: expected string, got number 1",
            "t.1: expected integer, got string \"x\"",
        ],
    );
    assert_eq!(*Schema::new(schema.clone()).unwrap().value(), schema);
}

#[test]
fn problems_in_words() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": { "type": "string", "minLength": 2 },
            "b": { "type": "object", "properties": { "c": { "type": "number" } }, "required": ["c"] },
            "e": { "enum": ["red", "green"] },
            "n": { "type": "integer", "minimum": 1, "exclusiveMaximum": 10 },
            "l": { "type": "array", "items": { "type": ["number", "null"] }, "minItems": 1, "uniqueItems": true },
        },
        "required": ["b", "a"],
        "additionalProperties": false,
    });
    let long = "x".repeat(100);
    for (parameters, problems) in [
        (json!({ "a": "ok", "b": { "c": 1 } }), &[][..]),
        (
            json!({ "b": { "c": "warm" } }),
            &[
                "a: expected string, but it is missing",
                "b.c: expected number, got string \"warm\"",
            ],
        ),
        (
            json!({ "zz": 1, "l": [1, "2"], "n": 2.5, "e": "blue", "b": {}, "a": 5, "y": 1 }),
            &[
                "a: expected string, got number 5",
                "b.c: expected number, but it is missing",
                "e: expected one of \"red\", \"green\", got string \"blue\"",
                "n: expected integer, got number 2.5",
                "l.1: expected number or null, got string \"2\"",
                "zz: there is no such parameter",
                "y: there is no such parameter",
            ],
        ),
        (
            json!({ "a": "x", "b": null, "n": 10, "l": [] }),
            &[
                "a: must have at least 2 characters, got string \"x\"",
                "b: expected object, got null",
                "n: must be less than 10, got 10",
                "l: must have at least 1 item",
            ],
        ),
        (
            json!({ "a": "ok", "b": { "c": long }, "l": [1, 1] }),
            &[
                &format!("b.c: expected number, got string \"{}…\"", "x".repeat(40)),
                "l: items must differ from each other",
            ],
        ),
    ] {
        check(schema.clone(), &parameters, problems);
    }
    let crowd: Map<String, Value> = (0..20_000).map(|n| (format!("k{n}"), json!(n))).collect();
    let found = Schema::new(schema.clone())
        .unwrap()
        .validate(&Value::Object(crowd));
    assert_eq!(found.len(), 102);
    check(schema, &json!([]), &["root: expected object, got array []"]);
}

#[test]
fn undeclared_keys() {
    let schema = |more: &Value| {
        let mut schema = json!({
            "type": "object",
            "properties": { "name": { "type": "string" }, "n": { "type": "integer" } },
            "required": ["n"],
        });
        let map = schema.as_object_mut().unwrap();
        map.extend(more.as_object().unwrap().clone());
        schema
    };
    let missing = "n: expected integer, but it is missing";
    for (more, parameters, problems) in [
        // Alone they are admitted.
        (json!({}), json!({ "n": 1, "nmae": "x" }), &[][..]),
        (
            json!({}),
            json!({ "zeal": 1, "N": 2, "naame": "x" }),
            &[
                missing,
                "zeal: there is no such parameter",
                "N: there is no such parameter; did you mean 'n'?",
                "naame: there is no such parameter; did you mean 'name'?",
            ],
        ),
        (
            json!({ "additionalProperties": false }),
            json!({ "naame": "x" }),
            &[
                missing,
                "naame: there is no such parameter; did you mean 'name'?",
            ],
        ),
        // What else is declared, nobody knows.
        (
            json!({ "additionalProperties": true }),
            json!({ "naame": "x" }),
            &[missing],
        ),
        (
            json!({ "patternProperties": { "^x": {} } }),
            json!({ "naame": "x" }),
            &[missing],
        ),
        (
            json!({ "anyOf": [{ "properties": { "naame": {} } }] }),
            json!({ "naame": "x" }),
            &[missing],
        ),
    ] {
        check(schema(&more), &parameters, problems);
    }
    check(
        json!({ "required": ["n"] }),
        &json!({ "m": 1 }),
        &["n: it is missing"],
    );
}

#[test]
fn problems_of_unions() {
    let schema = json!({ "properties": {
        "u": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
        "s": { "oneOf": [
            { "type": "object", "properties": { "kind": { "const": "circle" }, "r": { "type": "number" } }, "required": ["kind", "r"] },
            { "type": "object", "properties": { "kind": { "const": "square" }, "a": { "type": "number" } }, "required": ["kind", "a"] },
        ] },
        "n": { "type": "string", "nullable": true },
        "d": { "oneOf": [{ "const": "a", "description": "first" }, { "const": "b" }] },
        "o": { "anyOf": [
            { "properties": { "k": { "const": 1 }, "x": {} }, "required": ["k", "x"] },
            { "properties": { "k": { "const": 2 } }, "required": ["k"] },
        ] },
        "untagged": { "anyOf": [
            { "properties": { "k": { "const": 1 } }, "required": ["k"] },
            { "properties": { "x": {} }, "required": ["x"] },
        ] },
    } });
    check(
        schema.clone(),
        &json!({ "u": true, "n": null }),
        &["u: expected string or integer, got boolean true"],
    );
    check(
        schema.clone(),
        &json!({ "s": { "kind": "circle" } }),
        &["s.r: expected number, but it is missing"],
    );
    check(
        schema.clone(),
        &json!({ "s": { "kind": "circle", "r": "x" } }),
        &["s.r: expected number, got string \"x\""],
    );
    check(
        schema,
        &json!({ "s": { "kind": "line" }, "d": "c", "o": {}, "untagged": {} }),
        &[
            "s.kind: expected one of \"circle\", \"square\", got string \"line\"",
            "d: expected one of \"a\", \"b\", got string \"c\"",
            "o.k: expected one of 1, 2, but it is missing",
            "untagged: fits none of the admitted forms of object, got object {}",
        ],
    );
    // The tag chooses the form, though the value is right for another one.
    check(
        json!({ "properties": { "a": { "oneOf": [
            { "properties": { "t": { "const": "x" }, "c": { "type": "integer" } }, "required": ["t", "c"] },
            { "properties": { "t": { "const": "y" }, "c": { "type": "string" } }, "required": ["t", "c"] },
        ] } } }),
        &json!({ "a": { "t": "y", "c": 1 } }),
        &["a.c: expected string, got number 1"],
    );
}

#[test]
fn defaults() {
    let schema = json!({ "properties": {
        "a": { "type": "string", "default": "rye" },
        "o": { "type": "object", "properties": { "x": { "default": 1 } } },
        "l": { "type": "array", "items": { "properties": { "y": { "default": [] } } } },
        "d": { "default": {}, "properties": { "z": { "default": 2 } } },
        "r": { "$ref": "#/$defs/r" },
        "u": { "oneOf": [
            { "properties": { "k": { "const": 1 }, "v": { "default": "one" } }, "required": ["k"] },
            { "properties": { "k": { "const": 2 }, "v": { "default": "two" } }, "required": ["k"] },
        ] },
    }, "$defs": { "r": { "default": true } } });
    check_defaults(
        schema.clone(),
        json!({}),
        &json!({ "a": "rye", "d": { "z": 2 }, "r": true }),
    );
    check_defaults(
        schema,
        json!({ "o": {}, "l": [{}, { "y": 1 }], "a": null, "r": 0, "d": 0, "u": { "k": 2 } }),
        &json!({ "o": { "x": 1 }, "l": [{ "y": [] }, { "y": 1 }], "a": null, "r": 0, "d": 0, "u": { "k": 2, "v": "two" } }),
    );
}

#[test]
fn circles_and_crowds_end() {
    let circle = json!({ "anyOf": [{ "$ref": "#" }, { "type": "object", "properties": { "a": { "$ref": "#" } } }] });
    let schema = Schema::new(circle).unwrap();
    let mut place = schema.root();
    for _ in 0..200 {
        place = place.property("a");
    }
    let many: Vec<Value> = (0..20)
        .map(|index| json!({ "required": [format!("k{index}")] }))
        .collect();
    let crowd = json!({ "allOf": [{ "anyOf": many }, { "anyOf": many }, { "anyOf": many }], "properties": { "x": { "type": "string" } } });
    let schema = Schema::new(crowd).unwrap();
    assert_eq!(
        crate::schema::coerce("5", Some(&schema.root().property("x"))),
        json!("5")
    );
}

/// Schemas that others wrote to use up a stack, a memory or a day.
#[test]
fn hostile_schemas_end() {
    let chain = |links: usize, link: &dyn Fn(&str) -> Value| {
        let mut schema = json!({ "type": "object", "$ref": "#/$defs/d0", "$defs": {} });
        for index in 0..links {
            schema["$defs"][format!("d{index}")] = link(&format!("#/$defs/d{}", index + 1));
        }
        schema["$defs"][format!("d{links}")] = json!({});
        schema
    };
    let twice = |to: &str| json!({ "allOf": [{ "$ref": to }, { "$ref": to }] });
    let nested = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({ "not": inner }));
    let all: Vec<Value> = (0..14)
        .map(|n| json!({ "$ref": format!("#/$defs/d{n}") }))
        .collect();
    let everyone: Map<String, Value> = (0..14)
        .map(|n| (format!("d{n}"), json!({ "allOf": all })))
        .collect();
    let own = json!({ "properties": { "n": { "$ref": "#", "default": {} } } });
    let wide: Map<String, Value> = (0..9)
        .map(|n| (format!("p{n}"), json!({ "$ref": "#", "default": {} })))
        .collect();
    let refused = |schema: Value| {
        assert_eq!(Schema::new(schema).unwrap_err(), SchemaError::TooMuch);
    };
    refused(chain(30, &twice));
    refused(chain(20_000, &|to| json!({ "$ref": to })));
    refused(nested(300));
    refused(
        json!({ "properties": { "x": chain(0, &twice), "y": { "$ref": "#/$defs/d0" } },
        "$defs": chain(30, &twice)["$defs"] }),
    );
    let named = |to: &str| {
        let next = to.trim_start_matches("#/$defs/d").parse::<usize>().unwrap();
        json!({ "$anchor": format!("a{}", next - 1),
            "allOf": [{ "$ref": format!("#a{next}") }, { "$dynamicRef": format!("#a{next}") }] })
    };
    refused(chain(30, &named));
    refused(json!({ "$ref": "#/$defs/d0", "$defs": everyone }));
    for (schema, parameters) in [
        (own.clone(), json!({})),
        (own, json!({ "n": { "n": {} } })),
        (json!({ "properties": wide }), json!({})),
        (
            json!({ "properties": wide, "if": { "required": ["x"] } }),
            json!({ "p1": {} }),
        ),
        (
            chain(15, &|to| json!({ "allOf": [{ "$ref": to }] })),
            json!({}),
        ),
    ] {
        if let Ok(schema) = Schema::new(schema) {
            schema.wrong_default();
            schema.complete(&mut parameters.clone());
        }
    }
}

/// An ordinary recursive schema: `Expr` holds an `Expr` in several forms.
fn expressions() -> Schema {
    let form = |kind: &str| {
        json!({ "type": "object", "properties": { "arg": { "$ref": "#/$defs/Expr" }, "kind": { "const": kind } },
            "required": ["kind", "arg"] })
    };
    Schema::new(json!({
        "type": "object",
        "properties": { "list": { "type": "array", "items": { "$ref": "#/$defs/Expr" } } },
        "$defs": { "Expr": { "oneOf": [form("a"), form("b"), { "type": "integer" }] } },
    }))
    .unwrap()
}

fn chains(count: usize, levels: usize, end: &Value) -> Value {
    let one = (0..levels).fold(
        end.clone(),
        |arg, n| json!({ "arg": arg, "kind": if n % 2 == 0 { "a" } else { "b" } }),
    );
    json!({ "list": vec![one; count] })
}

#[test]
fn recursive_schemas_take_steps_in_proportion_to_the_value() {
    let schema = expressions();
    let steps = |count: usize| {
        let mut value = chains(count, 50, &json!(1));
        let root = schema.root();
        let before = root.walk.left();
        assert!(root.fits(&value));
        let read = crate::schema::coerce(&value["list"].to_string(), Some(&root.property("list")));
        assert_eq!(read, value["list"]);
        assert_eq!(schema.complete(&mut value), []);
        before - root.walk.left()
    };
    let (few, many) = (steps(20), steps(80));
    assert!(few < 50_000 && many < 5 * few, "{few} {many}");
    assert_eq!(
        cost::of(&schema.compiled.core, &chains(20, 50, &json!(1))),
        cost::Cost::High
    );
    let wrong = schema.validate(&chains(20, 50, &json!("x")));
    let words: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    assert_eq!(
        words,
        ["root: does not fit, and is nested too deeply to say where"]
    );
    let wrong = schema.validate(&chains(1, 3, &json!("x")));
    assert!(
        wrong.iter().all(|it| it.pointer.starts_with("list.0")),
        "{wrong:?}"
    );
}

#[test]
fn a_value_that_takes_too_much_is_refused_in_words() {
    // Each level is checked by each of forty parts, and there is no recursion in which anything is remembered.
    let parts: Vec<Value> = (0..40)
        .map(|n| json!({ "minProperties": n / 40 }))
        .collect();
    let inner = json!({ "allOf": vec![json!({ "allOf": parts }); 40] });
    let schema = json!({ "properties": { "a": { "items": { "allOf": vec![inner; 40] } } } });
    let schema = Schema::new(schema).unwrap();
    check_problems(&schema, &json!({ "a": [{}] }), &[]);
    let many: Vec<Value> = vec![json!({}); 1000];
    check_problems(
        &schema,
        &json!({ "a": many }),
        &["root: too much for its schema to be checked; write it with fewer levels, or less of it"],
    );
}

/// There is no clock here: a pattern that is matched all the same makes this take minutes.
#[test]
fn a_text_that_takes_a_pattern_too_long_is_refused() {
    const SLOW: &str = "[a-z]{10000}[0-9]";
    let check = |schema: Value, value: &Value, problems: &[&str]| {
        check_problems(&Schema::new(schema).unwrap(), value, problems);
    };
    let refused =
        &["root: too much for its schema to be checked; write it with fewer levels, or less of it"];
    let property = |pattern: &str| json!({ "properties": { "a": { "pattern": pattern } } });
    let text = |length: usize| json!({ "a": "a".repeat(length) });
    check(property(SLOW), &text(100_000), refused);
    check(property("^\\w+$"), &text(1_000_000), &[]);
    check(property("^[a-z]{1,255}$"), &text(255), &[]);
    let referred = json!({ "$ref": "#/$defs/t" });
    let referring = json!({ "allOf": [referred, referred], "$defs": { "t": property(SLOW) } });
    check(referring, &text(100_000), refused);
    let key = json!({ "a".repeat(100_000): 1 });
    check(
        json!({ "propertyNames": { "pattern": SLOW } }),
        &key,
        refused,
    );
    check(
        json!({ "patternProperties": { SLOW: { "minimum": 2 } } }),
        &key,
        refused,
    );
    check(json!({ "propertyNames": { "pattern": "^a+$" } }), &key, &[]);
}

fn check_problems(schema: &Schema, parameters: &Value, problems: &[&str]) {
    let found = schema.validate(parameters);
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, problems);
}
