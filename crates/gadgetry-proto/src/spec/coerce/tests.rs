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
        ("2.50", json!(2.5)),
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
    for text in ["42", "true", "null", "[1]", "\"q\"", " x ", "a\n"] {
        check(&json!({ "type": "string" }), text, &json!(text));
        check(&json!({ "enum": ["a", "b"] }), text, &json!(text));
        check(&json!({ "const": "a" }), text, &json!(text));
    }
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
            "123456789012345678901234",
            json!(1.234_567_890_123_456_8e23),
        ),
    ] {
        check(&number, text, &expected);
    }
    for text in [
        "", "6.", "1_000", "0x", "0x+1", "+-1", "007", "1e", "4\n", "five", "1e999", "null",
    ] {
        check(&number, text, &json!(text));
    }
    let integer = json!({ "type": "integer" });
    check(&integer, "3.0", &json!(3));
    check(&integer, "1e3", &json!(1000));
    check(&integer, "2.5", &json!(2.5));
    let digits = "123456789012345678901234";
    check(&integer, digits, &json!(digits));
    let small = json!({ "type": "integer", "maximum": 10 });
    check(&small, "42", &json!(42));
}

#[test]
fn booleans_and_null() {
    let boolean = json!({ "type": "boolean" });
    check(&boolean, "true", &json!(true));
    for text in ["True", "1", "yes", "", "true\n"] {
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
    let value = json!({ "n": "4", "b": "true", "s": 4, "u": "4", "l": ["1", "x", true], "z": "5" });
    let expected = json!({ "n": 4, "b": true, "s": 4, "u": "4", "l": [1, "x", true], "z": "5" });
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
