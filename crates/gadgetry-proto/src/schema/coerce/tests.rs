use serde_json::json;

use super::*;

fn check(schema: &Value, text: &str, expected: &Value) {
    let schema = Schema::new(json!({ "properties": { "x": schema } })).unwrap();
    let place = schema.root().property("x");
    assert_eq!(
        coerce(text, Some(&place)),
        *expected,
        "{text:?} under {schema:?}"
    );
}

#[test]
fn without_schema() {
    for (text, expected) in [
        ("true", json!(true)),
        (" false ", json!(false)),
        ("TRUE", json!("TRUE")),
        ("truely", json!("truely")),
        ("0", json!(0)),
        ("-0", json!(0)),
        ("-17", json!(-17)),
        (" 42\t", json!(42)),
        ("3.25", json!(3.25)),
        ("2.5", json!(2.5)),
        ("2.50", json!("2.50")),
        ("-0.5", json!(-0.5)),
        ("18446744073709551615", json!(u64::MAX)),
        ("18446744073709551616", json!("18446744073709551616")),
        ("-9223372036854775809", json!("-9223372036854775809")),
        ("90071992547409931", json!(90_071_992_547_409_931_u64)),
        ("42\n", json!("42\n")),
        ("\n42", json!("\n42")),
        ("4\n2", json!("4\n2")),
        ("", json!("")),
        ("   ", json!("   ")),
        (" text ", json!(" text ")),
    ] {
        assert_eq!(coerce(text, None), expected, "{text:?}");
    }
    let texts = [
        "007", "00", "-", "-.5", ".5", "5.", "1e5", "+5", "1_000", "0x1F", "null", "NaN", "1.2.3",
        "[]", "{}", "\"x\"", "1.", "--1", "٣", "Infinity",
    ];
    for text in texts {
        assert_eq!(coerce(text, None), json!(text), "{text:?}");
    }
    let long = format!("{}.5", "9".repeat(400));
    assert_eq!(coerce(&long, None), json!(long));
}

#[test]
fn text_and_enums_stay() {
    for text in ["42", "true", "null", "[1]", "\"q\"", " x "] {
        check(&json!({ "type": "string" }), text, &json!(text));
        check(&json!({ "enum": ["a", "b"] }), text, &json!(text));
        check(&json!({ "const": "a" }), text, &json!(text));
    }
    check(&json!({ "type": "string" }), "a\n", &json!("a\n"));
    check(&json!({ "enum": ["1", 1] }), "1", &json!("1"));
    check(&json!({ "enum": [1, 2.5] }), "2.5", &json!(2.5));
    check(&json!({ "enum": ["auto", null] }), "null", &json!(null));
}

#[test]
fn numbers() {
    let number = json!({ "type": "number" });
    for (text, expected) in [
        ("1e3", json!(1000.0)),
        ("+4", json!(4)),
        (".75", json!(0.75)),
        ("-.5", json!(-0.5)),
        ("0x1F", json!(31)),
        (" 7 ", json!(7)),
        ("8.854e-12", json!(8.854e-12)),
        (
            "1234567890123456789012.5",
            json!(1.234_567_890_123_456_8e21),
        ),
        ("1e30", json!(1e30)),
    ] {
        check(&number, text, &expected);
    }
    for text in [
        "", "6.", "1_000", "0x", "0x+1", "+-1", "007", "1e", "4\n5", "five", "1e999", "null",
    ] {
        check(&number, text, &json!(text));
    }
    let integer = json!({ "type": "integer" });
    check(&integer, "3.0", &json!(3));
    check(&integer, "1e3", &json!(1000));
    check(&integer, "2.5", &json!(2.5));
    let digits = "123456789012345678901234";
    check(&integer, digits, &json!(digits));
    check(&number, digits, &json!(digits));
    // More than 2^53: the float is another integer.
    for text in ["9007199254740993.0", "9007199254740993e0"] {
        check(&integer, text, &json!(9_007_199_254_740_993_u64));
    }
    check(&integer, "1e18", &json!(1_000_000_000_000_000_000_u64));
    check(&integer, "1e30", &json!(1e30));
    // Not integers, although their floats are.
    for text in ["0.99999999999999999999", "9007199254740993.25", "1e-400"] {
        check(&integer, text, &json!(text));
    }
    let listed = json!({ "const": 5.882e244 });
    check(&listed, "5.882e+244", &json!(5.882e244));
    let small = json!({ "type": "integer", "maximum": 10 });
    check(&small, "42", &json!(42));
}

#[test]
fn booleans_and_null() {
    let boolean = json!({ "type": "boolean" });
    check(&boolean, "true", &json!(true));
    for text in ["TRUE", "1", "yes", "", "true\nfalse"] {
        check(&boolean, text, &json!(text));
    }
    for nullable in [
        json!({ "type": "number", "nullable": true }),
        json!({ "type": ["number", "null"] }),
        json!({ "anyOf": [{ "type": "number" }, { "type": "null" }] }),
        json!({ "type": ["string", "null"] }),
    ] {
        check(&nullable, "null", &json!(null));
    }
}

#[test]
fn unions_take_the_most_exact_reading() {
    for types in [json!(["string", "number"]), json!(["number", "string"])] {
        let union = json!({ "type": types });
        for (text, expected) in [
            ("0042", json!("0042")),
            ("42", json!(42)),
            ("1e5", json!("1e5")),
            ("\"42\"", json!("\"42\"")),
            ("4\n", json!("4\n")),
        ] {
            check(&union, text, &expected);
        }
    }
    let version = json!({ "type": ["string", "integer"] });
    check(&version, "3.0", &json!("3.0"));
    let bounded = json!({ "oneOf": [{ "type": "integer", "maximum": 10 }, { "type": "string" }] });
    check(&bounded, "42", &json!("42"));
    check(&bounded, "7", &json!(7));
    let strings = json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] });
    check(&strings, "[\"a\"]", &json!(["a"]));
    check(&strings, "[1]", &json!("[1]"));
    let both =
        json!({ "allOf": [{ "type": ["string", "integer"] }, { "type": ["integer", "null"] }] });
    check(&both, "5", &json!(5));
}

#[test]
fn containers() {
    let list = json!({ "type": "array", "items": { "type": "integer" } });
    check(&list, "[]", &json!([]));
    check(&list, "[1,\n 2]\n", &json!([1, 2]));
    check(&list, "[\"1\", \"x\"]", &json!([1, "x"]));
    check(&list, "{}", &json!("{}"));
    check(&list, "[1", &json!("[1"));
    check(
        &json!({ "type": "object" }),
        "{\"a\":\"1\"}",
        &json!({ "a": "1" }),
    );
    check(
        &json!({ "properties": { "a": { "type": "number" } } }),
        "{\"a\":\"1\"}",
        &json!({ "a": 1 }),
    );
    let deep = "[".repeat(100_000);
    check(&list, &deep, &json!(deep));
}

#[test]
fn white_space_means_nothing_where_no_text_is_admitted() {
    let integer = json!({ "type": "integer" });
    let nullable = json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] });
    for around in ["\n", "\n\n", "\r\n", " \t", "\n \n"] {
        let around = |word: &str| [format!("{word}{around}"), format!("{around}{word}{around}")];
        for text in around("3") {
            for schema in [&integer, &nullable, &json!({ "type": "number" })] {
                check(schema, &text, &json!(3));
            }
            check(&json!({ "const": 3 }), &text, &json!(3));
            check(&json!({ "enum": [3, "auto"] }), &text, &json!(3));
            if !text.contains('\n') {
                continue;
            }
            // The text may be meant as it is.
            check(
                &json!({ "type": ["string", "integer"] }),
                &text,
                &json!(text),
            );
            check(
                &json!({ "anyOf": [{ "enum": [3] }, { "type": "string" }] }),
                &text,
                &json!(text),
            );
        }
        for text in around("1e3") {
            check(&integer, &text, &json!(1000));
        }
        for text in around("true") {
            check(&json!({ "type": "boolean" }), &text, &json!(true));
            check(&json!({ "type": ["boolean", "null"] }), &text, &json!(true));
        }
        for text in around("null") {
            check(&nullable, &text, &Value::Null);
            check(&json!({ "enum": ["a", null] }), &text, &Value::Null);
            if text.contains('\n') {
                let union = json!({ "type": ["string", "null"] });
                check(&union, &text, &json!(text));
            }
        }
        for text in around("fast") {
            check(&json!({ "enum": ["fast", "slow"] }), &text, &json!("fast"));
            check(&json!({ "const": "fast" }), &text, &json!("fast"));
            check(
                &json!({ "anyOf": [{ "const": "fast" }, { "enum": ["slow"] }] }),
                &text,
                &json!("fast"),
            );
            let own = json!({ "enum": ["fast", text] });
            check(&own, &text, &json!(text));
            check(&json!({ "type": "string" }), &text, &json!(text));
            let other = json!({ "anyOf": [{ "const": "fast" }, { "type": "string" }] });
            check(&other, &text, &json!(text));
        }
        for text in around("[1, 2]") {
            check(&json!({ "type": "array" }), &text, &json!([1, 2]));
        }
    }
    // At other places: an item, an element of a tuple, a nested property.
    let schema = Schema::new(json!({ "properties": {
        "list": { "items": { "type": "integer" } },
        "pair": { "prefixItems": [{ "enum": ["a"] }, { "type": "boolean" }] },
        "in": { "properties": { "n": { "type": "number" } } },
    } }));
    let arguments = [
        ("list/0", "1\n"),
        ("pair/0", "a\n"),
        ("pair/1", "true\n"),
        ("in/n", "2\n\n"),
    ];
    let built = crate::schema::parameters(
        arguments,
        Some(&schema.unwrap()),
        "!!!ARG:",
        &crate::limits::Limits::default(),
    );
    let expected = json!({ "list": [1], "pair": ["a", true], "in": { "n": 2 } });
    assert_eq!(built, Ok(expected));
}

/// Reads the text of an argument, and lists its slips.
fn slips(schema: &Value, text: &str) -> (Value, String) {
    let schema = Schema::new(json!({ "properties": { "x": schema } })).unwrap();
    let mut slips = Slips::NONE;
    let place = schema.root().property("x");
    let value = coerce_noting(text, Some(&place), &mut slips, false);
    (value, slips.to_string())
}

#[test]
fn slips_are_read_where_they_have_one_reading() {
    let list = json!({ "type": "array", "items": { "type": "string" } });
    let numbers = json!({ "type": "array", "items": { "type": "integer" } });
    let object = json!({ "type": "object", "properties": {
        "name": { "type": "string" }, "tags": list, "on": { "type": "boolean" },
    } });
    let mode = json!({ "enum": ["high", "low", 3] });
    let integer = json!({ "type": "integer" });
    let boolean = json!({ "type": ["boolean", "null"] });
    let lenient = [
        (&list, "[\"a\",\n]", json!(["a"]), "a trailing comma"),
        (
            &list,
            "['a', 'b'] # two",
            json!(["a", "b"]),
            "a comment, single quotes",
        ),
        (
            &list,
            "[\"a\nb\"]",
            json!(["a\nb"]),
            "raw line breaks or control characters",
        ),
        (&list, "red", json!(["red"]), "one value for an array"),
        (
            &list,
            "red wine\n",
            json!(["red wine"]),
            "one value for an array",
        ),
        (&list, "\"a, b\"", json!(["a, b"]), "one value for an array"),
        (&list, "42", json!(["42"]), "one value for an array"),
        (&numbers, "42\n", json!([42]), "one value for an array"),
        (
            &list,
            "[1, true]",
            json!(["1", "true"]),
            "a number or boolean for text",
        ),
        (
            &object,
            "{'name': 1.10, 'tags': \"x\", 'on': True}",
            json!({ "name": "1.10", "tags": ["x"], "on": true }),
            "single quotes, a Python literal, one value for an array, a number or boolean for text",
        ),
        (
            &object,
            "{\"tags\": \"[\\\"a\\\"]\"}",
            json!({ "tags": ["a"] }),
            "quotes around the value",
        ),
        (
            &object,
            "{\"tags\": 5}",
            json!({ "tags": ["5"] }),
            "one value for an array, a number or boolean for text",
        ),
        (&mode, "\"high\"", json!("high"), "quotes around the value"),
        (&mode, " 'low'\n", json!("low"), "quotes around the value"),
        (&mode, "\"3\"", json!(3), "quotes around the value"),
        (&integer, "\"5\"", json!(5), "quotes around the value"),
        (&boolean, "True", json!(true), "a Python literal"),
        (&boolean, "None\n", Value::Null, "a Python literal"),
    ];
    for (schema, text, expected, names) in lenient {
        assert_eq!(
            slips(schema, text),
            (expected, names.to_owned()),
            "{text:?}"
        );
    }
    // Several readings, or none.
    let texts = json!({ "type": ["string", "array"] });
    let lists = json!({ "type": "array", "items": { "type": "array" } });
    let few = json!({ "type": "array", "minItems": 2 });
    for (schema, text) in [
        (&list, "red, green"),
        (&list, "red\ngreen"),
        (&list, "- red"),
        (&list, ""),
        (&list, "null"),
        (&list, "[\"a\""),
        (&numbers, "red"),
        (&numbers, "1 2"),
        (&lists, "5"),
        (&few, "5"),
        (&texts, "['a']"),
        (&texts, "[1,]"),
        (&mode, "HIGH"),
        (&mode, "`high`"),
        (&mode, "\"highest\""),
        (&boolean, "\"yes\""),
        (&integer, "True"),
        (
            &json!({ "anyOf": [{ "enum": ["a"] }, { "type": "string" }] }),
            "\"a\"",
        ),
        (&json!({}), "[1,]"),
    ] {
        assert_eq!(
            slips(schema, text),
            (json!(text), String::new()),
            "{text:?}"
        );
    }
}

#[test]
fn a_schema_of_arrays_in_arrays_ends() {
    let schema = Schema::new(json!({
        "properties": { "y": { "$ref": "#/$defs/L" } },
        "$defs": { "L": { "type": "array", "items": { "$ref": "#/$defs/L" } } },
    }))
    .unwrap();
    let place = schema.root().property("y");
    assert_eq!(coerce("5", Some(&place)), json!("5"));
    assert_eq!(
        coerce_json(json!({ "y": 5 }), Some(&schema)),
        json!({ "y": 5 })
    );
}

#[test]
fn integers_keep_every_digit() {
    const LONG: &str = "123456789012345678901234567890";
    let body = format!("{{\"n\": {LONG}, \"l\": [{LONG}], \"s\": {LONG}, \"f\": {LONG}}}");
    let schema = Schema::new(json!({ "properties": {
        "n": { "type": "integer" },
        "l": { "type": "array", "items": { "type": "integer" } },
        "s": { "type": "string" },
        "f": { "type": "number" },
    } }))
    .unwrap();
    let limits = crate::limits::Limits::default();
    let read = |schema| crate::schema::json_parameters(&body, schema, &limits).unwrap();
    let expected = json!({ "n": LONG, "l": [LONG], "s": LONG, "f": LONG });
    assert_eq!(read(Some(&schema)), Some(expected.clone()));
    assert_eq!(read(None), Some(expected));
}

#[test]
fn untyped() {
    for schema in [json!({}), json!(true), json!({ "description": "x" })] {
        check(&schema, "42", &json!(42));
        check(&schema, "\"42\"", &json!("42"));
        check(&schema, "\"a\\nb\"", &json!("a\nb"));
        check(&schema, "\"a\" or \"b\"", &json!("\"a\" or \"b\""));
        check(&schema, "[1]", &json!("[1]"));
        check(&schema, "null", &json!("null"));
    }
}

#[test]
fn json_bodies_keep_their_types() {
    let schema = Schema::new(json!({
        "properties": {
            "n": { "type": "number" },
            "b": { "type": ["boolean", "null"] },
            "s": { "type": "string" },
            "u": { "type": ["string", "number"] },
            "l": { "type": "array", "items": { "type": "integer" } },
        },
    }));
    let value =
        json!({ "n": "4", "b": "true", "s": 1.5, "u": "4", "l": ["1", "x", true], "z": "5" });
    let expected = json!({ "n": 4, "b": true, "s": 1.5, "u": "4", "l": [1, "x", true], "z": "5" });
    assert_eq!(coerce_json(value.clone(), Some(&schema.unwrap())), expected);
    assert_eq!(coerce_json(value.clone(), None), value);
}

#[test]
fn an_alternative_that_says_nothing_admits_strings() {
    let schema = json!({ "properties": { "x": { "anyOf": [
        { "properties": { "a": { "type": "number" } }, "required": ["a"] },
        { "properties": { "b": { "type": "number" } }, "required": ["b"] },
    ] } } });
    let schema = Schema::new(schema).unwrap();
    let value = json!({ "x": { "a": 1, "b": "5" } });
    assert!(schema.validate(&value).is_empty());
    assert_eq!(coerce_json(value.clone(), Some(&schema)), value);
    let place = schema.root().property("x").property("b");
    assert_eq!(coerce("5", Some(&place)), json!(5));
}
