use serde_json::json;

use super::*;

const MARKER: &str = "!!!ARG:";

fn build(arguments: &[(&str, &str)], schema: Option<&Value>) -> Result<Value, String> {
    let schema = schema.map(|schema| Schema::new(schema.clone()).unwrap());
    let arguments = arguments.iter().copied();
    parameters(arguments, schema.as_ref(), MARKER, &Limits::default())
        .map_err(|error| error.to_string())
}

fn check(arguments: &[(&str, &str)], expected: &Value) {
    assert_eq!(
        build(arguments, None).as_ref(),
        Ok(expected),
        "{arguments:?}"
    );
}

fn check_typed(schema: &Value, arguments: &[(&str, &str)], expected: &Value) {
    let built = build(arguments, Some(schema));
    assert_eq!(built.as_ref(), Ok(expected), "{arguments:?} under {schema}");
}

fn check_error(schema: Option<&Value>, arguments: &[(&str, &str)], error: &str) {
    let got = build(arguments, schema).unwrap_err();
    assert_eq!(got.lines().next(), Some(error), "{arguments:?}");
}

#[test]
fn trees() {
    check(&[], &json!({}));
    check(&[(" a ", "1")], &json!({ "a": 1 }));
    check(
        &[("a/0/b", "1"), ("a/0/c", "2"), ("a/1/b", "3")],
        &json!({ "a": [{ "b": 1, "c": 2 }, { "b": 3 }] }),
    );
    check(
        &[("a/0/0", "x"), ("a/0/1", "y"), ("a/1/0", "z")],
        &json!({ "a": [["x", "y"], ["z"]] }),
    );
    check(
        &[("a/b", "x"), ("a/0", "y")],
        &json!({ "a": { "b": "x", "0": "y" } }),
    );
    check(
        &[("a~1b", "x"), ("c~0d", "y"), ("e~2", "z")],
        &json!({ "a/b": "x", "c~d": "y", "e~2": "z" }),
    );
    check(
        &[("a.b", "x"), ("c[0]", "y")],
        &json!({ "a.b": "x", "c[0]": "y" }),
    );
    check(
        &[("a//b", "x"), ("b/", "y")],
        &json!({ "a": { "": { "b": "x" } }, "b": { "": "y" } }),
    );
    check(
        &[("__proto__/x", "y")],
        &json!({ "__proto__": { "x": "y" } }),
    );
    check(&[("año", "1")], &json!({ "año": 1 }));
}

#[test]
fn pointers_that_do_not_form_a_tree_are_refused() {
    for (arguments, error) in [
        (&[("a", "1"), ("a", "2")][..], "Duplicate pointer: a"),
        (&[("a/b", "1"), ("a/b", "2")], "Duplicate pointer: a/b"),
        (&[("a/0", "1"), ("a/0", "2")], "Duplicate pointer: a/0"),
        (&[("a~2", "1"), ("a~02", "2")], "Duplicate pointer: a~02"),
        (&[("a/2", "x")], "Array index gap: expected 0, got 2"),
        (
            &[("a/0", "x"), ("a/2", "x")],
            "Array index gap: expected 1, got 2",
        ),
        (
            &[("a/99999999999999999999999", "x")],
            "Array index gap: expected 0, got 99999999999999999999999",
        ),
        (&[("a/0", "x"), ("a/00", "y")], "Invalid array index: 00"),
        (
            &[("a/0", "x"), ("a/1abc", "y")],
            "Invalid array index: 1abc",
        ),
        (&[("a/-1", "x")], "Invalid array index: -1"),
        (
            &[("a/0", "x"), ("a/name", "y")],
            "Invalid array index: name",
        ),
        (
            &[("a", "1"), ("a/b", "2")],
            "Conflicting pointer: a/b (its parent already has a plain value)",
        ),
        (
            &[("a/b", "1"), ("a", "2")],
            "Conflicting pointer: a (values were already set below it)",
        ),
        (
            &[("a/b", "1"), ("a/b/c/d", "2")],
            "Conflicting pointer: a/b/c/d (its parent already has a plain value)",
        ),
        (
            &[("a", "1"), ("a", "2"), ("b/7", "x")],
            "Duplicate pointer: a",
        ),
    ] {
        check_error(None, arguments, error);
    }
}

#[test]
fn malformed_lines() {
    let check = |pointer: &str, text: &str, name: &str, value: &str| {
        let error = parameters([(pointer, text)], None, MARKER, &Limits::default());
        let expected = ParseError::MalformedArgumentLine {
            line: format!("{MARKER}{pointer}"),
            marker: MARKER.to_owned(),
            name: name.to_owned(),
            value: value.to_owned(),
        };
        assert_eq!(error, Err(expected), "{pointer:?}");
    };
    check("x 5", "", "x", "5");
    check("size: large", "", "size", "large");
    check("size : very large", "", "size", "very large");
    check("size = large", "", "size", "large");
    check("size:\tlarge", "ignored", "size", "large");
    check("", "some text\nmore", "name", "some text");
    check("", "", "name", "value");
    let long = format!("content {}", "x".repeat(2000));
    let error = build(&[(&long, "")], None).unwrap_err();
    assert!(
        error.starts_with("Malformed argument line: !!!ARG:content xxx"),
        "{error}"
    );
    assert!(error.len() < 500, "{error}");
}

// The patterns of keys need a validator.
#[cfg(feature = "engine")]
#[test]
fn the_schema_decides_what_a_container_is() {
    let map = json!({ "properties": { "m": { "type": "object", "additionalProperties": { "type": "string" } } } });
    check_typed(
        &map,
        &[("m/0", "7"), ("m/2024", "8")],
        &json!({ "m": { "0": "7", "2024": "8" } }),
    );
    let list = json!({ "properties": { "l": { "type": "array" } } });
    check_error(Some(&list), &[("l/name", "x")], "Invalid array index: name");
    check_typed(&list, &[("l/0", "x")], &json!({ "l": ["x"] }));
    let tuple = json!({ "properties": { "t": { "type": "array", "items": [{ "type": "string" }, { "type": "number" }] } } });
    check_typed(
        &tuple,
        &[("t/0", "7"), ("t/1", "7")],
        &json!({ "t": ["7", 7] }),
    );
    let tree = json!({
        "properties": { "t": { "$ref": "#/$defs/t" } },
        "$defs": { "t": { "type": "object", "properties": {
            "id": { "type": "string" },
            "kids": { "type": "array", "items": { "$ref": "#/$defs/t" } },
        } } },
    });
    check_typed(
        &tree,
        &[("t/id", "1"), ("t/kids/0/id", "2")],
        &json!({ "t": { "id": "1", "kids": [{ "id": "2" }] } }),
    );
    let kinds = json!({ "properties": { "s": { "oneOf": [
        { "type": "object", "properties": { "kind": { "const": "a" }, "v": { "type": "string" } } },
        { "type": "object", "properties": { "kind": { "const": "b" }, "w": { "type": "number" } } },
    ] } } });
    check_typed(
        &kinds,
        &[("s/kind", "a"), ("s/v", "5"), ("s/w", "5")],
        &json!({ "s": { "kind": "a", "v": "5", "w": 5 } }),
    );
    let named = json!({ "patternProperties": { "^s_": { "type": "string" } }, "additionalProperties": { "type": "boolean" } });
    check_typed(
        &named,
        &[("s_x", "1"), ("y", "true"), ("z", "1")],
        &json!({ "s_x": "1", "y": true, "z": "1" }),
    );
}

#[test]
fn inline_json_is_a_leaf() {
    let schema = json!({ "properties": { "o": { "type": "object" }, "l": { "type": "array" } } });
    check_typed(
        &schema,
        &[("o", "{}"), ("l", "[1, {\"a\": []}]")],
        &json!({ "o": {}, "l": [1, { "a": [] }] }),
    );
    for (arguments, error) in [
        (
            [("o", "{}"), ("o/a", "1")],
            "Conflicting pointer: o/a (its parent already has a plain value)",
        ),
        ([("l", "[]"), ("l", "[]")], "Duplicate pointer: l"),
        (
            [("l/0", "1"), ("l", "[]")],
            "Conflicting pointer: l (values were already set below it)",
        ),
    ] {
        check_error(Some(&schema), &arguments, error);
    }
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    check_error(
        Some(&schema),
        &[("l", &deep)],
        "Limit exceeded: a parameter may have at most 64 levels of nesting",
    );
}

#[test]
fn limits() {
    let limits = Limits {
        pointer: 8,
        value: 4,
        depth: 3,
        ..Limits::default()
    };
    let check = |pointer: &str, text: &str, expected: Option<(Limit, usize)>| {
        let error = parameters([(pointer, text)], None, MARKER, &limits).err();
        let exceeded =
            expected.map(|(what, limit)| ParseError::Limit(LimitExceeded { what, limit }));
        assert_eq!(error, exceeded, "{pointer} {text}");
    };
    check("12345678", "1234", None);
    check("123456789", "1234", Some((Limit::Pointer, 8)));
    check("a", "12345", Some((Limit::Value, 4)));
    check("a/b/c", "1", None);
    check("a/b/c/d", "1", Some((Limit::Depth, 3)));
}

#[test]
fn json_body() {
    let check = |body: &str, expected: Option<Value>| {
        assert_eq!(
            json_parameters(body, None, &Limits::default()),
            Ok(expected),
            "{body}"
        );
    };
    check(" {\"a\": \"1\"}\n", Some(json!({ "a": "1" })));
    check("{'a': 1,}", Some(json!({ "a": 1 })));
    check("[1]", None);
    check("", None);
    for (body, error) in [
        (
            "{\"a\": 1} x",
            "The JSON body cannot be read: line 1, column 10: expected the end, got `x`",
        ),
        (
            "{\n  \"a\": 1E400\n}",
            "The JSON body cannot be read: line 2, column 8: the number is too large",
        ),
        (
            "{\"a\": 1, \"a\": 2}",
            "The JSON body cannot be read: line 1, column 10: the key is there twice",
        ),
    ] {
        let read = json_parameters(body, None, &Limits::default());
        assert_eq!(
            read.map_err(|error| error.to_string()),
            Err(error.to_owned())
        );
    }
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(64), "]".repeat(64));
    assert!(json_parameters(&deep, None, &Limits::default()).is_err());
}

#[test]
fn errors_name_the_position_of_broken_json() {
    let schema = Schema::new(json!({ "properties": {
        "a": { "type": "array" }, "o": { "type": "object" }, "s": { "type": ["string", "array"] },
    } }))
    .unwrap();
    let read = |pointer, text| {
        let built = parameters([(pointer, text)], Some(&schema), MARKER, &Limits::default());
        built.map_err(|error| error.to_string())
    };
    assert_eq!(
        read("a", "[1,\n 2 3]"),
        Err(
            "The JSON value of a cannot be read: line 2, column 4: expected `,` or `]`, got `3`"
                .to_owned()
        )
    );
    assert_eq!(
        read("o", "{a: 1}"),
        Err("The JSON value of o cannot be read: line 1, column 2: expected a key in quotes, got `a`".to_owned())
    );
    // Validation says what is wrong with these.
    for (pointer, text) in [("a", "{}"), ("a", "x, y"), ("s", "[1 2]"), ("o", "x")] {
        assert_eq!(read(pointer, text), Ok(json!({ pointer: text })));
    }
}

#[test]
fn a_leading_slash() {
    for (pointer, right) in [
        ("/x", "!!!ARG:x"),
        ("/a/b", "!!!ARG:a/b"),
        ("/", "!!!ARG:name"),
    ] {
        let error = parameters([(pointer, "1")], None, MARKER, &Limits::default()).unwrap_err();
        let expected = format!(
            "Malformed argument line: {MARKER}{pointer}. A name has no leading slash; write {right}"
        );
        assert_eq!(error.to_string(), expected);
    }
}

/// What has such a name could be written and not read again.
#[test]
fn reserved_names() {
    let name = "$serde_json::private::RawValue";
    for (pointer, text) in [
        (name, "1"),
        (&*format!("a/{name}"), "1"),
        (&*format!("{name}/a"), "1"),
    ] {
        let error = parameters([(pointer, text)], None, MARKER, &Limits::default()).unwrap_err();
        let expected = format!("Reserved name: {pointer}. Write another name");
        assert_eq!(error.to_string(), expected);
    }
    let json = format!(r#"{{"{name}": "1"}}"#);
    let typed = Schema::new(json!({ "properties": { "a": { "type": "object" } } })).unwrap();
    let error = parameters([("a", &*json)], Some(&typed), MARKER, &Limits::default()).unwrap_err();
    assert!(error.to_string().contains("the key is reserved"), "{error}");
    // Without a type it is a text.
    let read = parameters([("a", &*json)], None, MARKER, &Limits::default());
    assert_eq!(read, Ok(json!({ "a": json })));
}

#[test]
fn ten_thousand_arguments_are_read_in_linear_time() {
    let schema =
        Schema::new(json!({ "properties": { "a": { "items": { "type": "string" } } } })).unwrap();
    let pointers: Vec<String> = (0..10_000).map(|index| format!("a/{index}")).collect();
    let keys: Vec<String> = (0..10_000).map(|index| format!("o/k{index}")).collect();
    let arguments = pointers
        .iter()
        .chain(&keys)
        .map(|pointer| (pointer.as_str(), "1"));
    for schema in [None, Some(&schema)] {
        let built = parameters(arguments.clone(), schema, MARKER, &Limits::default()).unwrap();
        assert_eq!(built["a"].as_array().map(Vec::len), Some(10_000));
        assert_eq!(built["o"].as_object().map(Map::len), Some(10_000));
    }
}
