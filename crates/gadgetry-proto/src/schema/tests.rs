//! The conformance vectors of parameters and schemas, and what holds for every text and schema.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;
use serde_json::json;

use crate::limits::Limits;
use crate::schema::GadgetSpec;
use crate::schema::Registry;
use crate::schema::Schema;
use crate::schema::coerce;
use crate::schema::coerce_json;
use crate::schema::invalid_parameters;
use crate::schema::parameters;
use crate::schema::parse_failure;

const VECTORS: &str = include_str!("../../../../corpus/block-vectors.json");

/// Vectors whose outcome the decisions page changes, with the outcome that it asks for.
fn deviation(id: &str) -> Option<Value> {
    Some(match id {
        // `2.50` keeps its digits.
        "C01" => json!({ "params": { "a": 12, "b": -8, "c": "2.50", "d": true, "e": false } }),
        "C02" => json!({ "params": { "zip": "00731" } }),
        "C09" => json!({ "params": { "a": 90_071_992_547_409_931_u64 } }),
        "C21" => json!({ "error": "Invalid array index: 1abc" }),
        "C22" => json!({ "error": "Invalid array index: 00" }),
        "C30" => json!({ "error": "Malformed argument line: !!!ARG:size: large. \
            Write only the name after !!!ARG: and the value on the next line:\n!!!ARG:size\nlarge" }),
        "C34" => json!({ "params": { "__proto__": { "seasoned": "yes" } } }),
        "S19" => json!({ "params": { "a": 4, "z": "q" } }),
        "S17" => json!({ "params": { "a": ["x"] } }),
        _ => return None,
    })
}

/// The first line, and the dotted paths below it.
fn shape(error: &str) -> (&str, BTreeSet<&str>) {
    let (first, rest) = error.split_once('\n').unwrap_or((error, ""));
    let lines = rest.lines().take_while(|line| !line.is_empty());
    let paths = lines.filter_map(|line| line.strip_prefix("  - ")?.split(": ").next());
    (first, paths.collect())
}

fn run(vector: &Value) -> Result<Value, String> {
    let arguments: Vec<(&str, &str)> = vector["input"]["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| {
            (
                pair[0].as_str().unwrap(),
                pair[1].as_str().unwrap_or_default(),
            )
        })
        .collect();
    let schema = vector["input"].get("schema");
    let schema = schema.map(|schema| Schema::new(schema.clone()).unwrap());
    let built = parameters(arguments, schema.as_ref(), "!!!ARG:", &Limits::default());
    let mut built = built.map_err(|error| error.to_string())?;
    if let Some(schema) = schema {
        schema.apply_defaults(&mut built);
        let problems = schema.validate(&built);
        if !problems.is_empty() {
            return Err(invalid_parameters("Cook", &problems));
        }
    }
    Ok(built)
}

#[test]
fn markdown_around_a_name_is_explained() {
    let registry = Registry::new([GadgetSpec {
        name: "Calc".to_owned(),
        ..GadgetSpec::default()
    }]);
    let registry = registry.expect("one gadget");
    for (name, expected) in [
        (
            "Calc**",
            " Write the lines of a block without Markdown or quotes: 'Calc'.",
        ),
        (
            "`calc`",
            " Write the lines of a block without Markdown or quotes: 'calc'.",
        ),
        ("Calk", " Did you mean 'Calc'?"),
        ("**", ""),
    ] {
        let told =
            format!("Error: Gadget '{name}' not found.{expected}\n\nAvailable gadgets: Calc");
        assert_eq!(registry.unknown_gadget(name), told);
    }
}

#[test]
fn vectors() {
    let file: Value = serde_json::from_str(VECTORS).unwrap();
    let lists = file
        .as_object()
        .unwrap()
        .values()
        .filter_map(Value::as_array);
    let mut seen = 0;
    for vector in lists.flatten() {
        if !["params", "schema"]
            .map(Value::from)
            .contains(&vector["area"])
        {
            continue;
        }
        seen += 1;
        let id = vector["id"].as_str().unwrap();
        let expect = deviation(id);
        assert_eq!(
            expect.is_some(),
            vector["recommend"] == "diverge" || ["C01", "C02", "S19"].contains(&id),
            "{id}"
        );
        let expect = expect.as_ref().unwrap_or(&vector["expect"]);
        match run(vector) {
            Ok(built) => assert_eq!(built, expect["params"], "{id}"),
            Err(error) => {
                let expected = expect["error"]
                    .as_str()
                    .unwrap_or_else(|| panic!("{id}: {error}"));
                assert_eq!(shape(&error), shape(expected), "{id}");
            }
        }
    }
    assert!(seen >= 25, "only {seen} vectors");
}

#[test]
fn answers_to_the_model() {
    let schema =
        Schema::new(json!({ "required": ["a"], "properties": { "a": { "type": "string" } } }))
            .unwrap();
    assert_eq!(
        invalid_parameters("Cook", &schema.validate(&json!({}))),
        "Error: Invalid parameters for 'Cook':\n  - a: expected string, but it is missing"
    );
    let error = parameters([("a b", "")], None, "!!!ARG:", &Limits::default()).unwrap_err();
    assert_eq!(
        parse_failure("Cook", error),
        "Error: Failed to parse parameters for 'Cook':\n  Malformed argument line: !!!ARG:a b. Write only the name \
         after !!!ARG: and the value on the next line:\n  !!!ARG:a\n  b"
    );
}

#[test]
fn defaults_must_fit() {
    let check = |schema: Value, error: Option<&str>| {
        let spec = GadgetSpec {
            name: "Cook".to_owned(),
            parameters: schema,
            ..GadgetSpec::default()
        };
        let found = Registry::new([spec]).err().map(|error| error.to_string());
        assert_eq!(found.as_deref(), error);
    };
    let whole = json!({ "type": "integer", "minimum": 1 });
    let with = |default: Value| {
        let mut schema = whole.clone();
        schema["default"] = default;
        schema
    };
    // What else is missing is no concern of the defaults.
    check(
        json!({ "properties": { "n": with(json!(2)), "m": whole }, "required": ["m"] }),
        None,
    );
    check(
        json!({ "properties": { "m": whole, "n": with(json!(0)) }, "required": ["m"] }),
        Some(
            "gadget 'Cook': the default of parameter 'n' does not fit: n: must be at least 1, got 0",
        ),
    );
    check(
        json!({ "properties": { "n": with(json!(null)) } }),
        Some(
            "gadget 'Cook': the default of parameter 'n' does not fit: \
             n: expected integer, got null",
        ),
    );
    // Below, by reference, and as a whole.
    let oven = |default: Value| {
        json!({
            "properties": { "oven": { "$ref": "#/$defs/Oven" } },
            "$defs": { "Oven": { "type": "object", "properties": { "racks": with(default) } } },
        })
    };
    check(oven(json!(1)), None);
    check(
        oven(json!("x")),
        Some(
            "gadget 'Cook': the default of parameter 'oven.racks' does not fit: \
             oven.racks: expected integer, got string \"x\"",
        ),
    );
    let whole_oven = |racks: Value| {
        json!({ "properties": { "oven": {
            "type": "object",
            "default": {},
            "properties": { "racks": racks },
            "required": ["racks"],
        } } })
    };
    check(whole_oven(with(json!(1))), None);
    check(
        whole_oven(whole.clone()),
        Some(
            "gadget 'Cook': the default of parameter 'oven' does not fit: \
             oven.racks: expected integer, but it is missing",
        ),
    );
    // What a condition asks for depends on the call.
    check(
        json!({
            "properties": { "kind": { "type": "string" }, "n": with(json!(1)) },
            "required": ["kind"],
            "if": { "properties": { "kind": { "const": "big" } } },
            "then": { "properties": { "n": { "minimum": 10 } } },
        }),
        None,
    );
    // A schema that refers to itself ends.
    check(
        json!({ "$ref": "#/$defs/T", "$defs": { "T": { "type": "object", "properties": {
            "l": { "$ref": "#/$defs/T" }, "r": { "$ref": "#/$defs/T" }, "n": with(json!(1)),
        } } } }),
        None,
    );
}

/// Something like a schema, as sloppy authors write them.
fn sloppy_schema() -> impl Strategy<Value = Value> {
    let keyword = prop::sample::select(vec![
        "type",
        "enum",
        "const",
        "properties",
        "items",
        "prefixItems",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "nullable",
        "additionalProperties",
        "patternProperties",
        "minimum",
        "maxLength",
        "required",
        "default",
        "not",
        "$defs",
        "x",
    ]);
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-3..3_i64).prop_map(Value::from),
        prop::sample::select(vec![
            "string", "number", "integer", "boolean", "array", "object", "null", "#", "#/x", "^x",
            "("
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keyword.clone(), inner), 0..5).prop_map(|pairs| pairs
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[-+0-9.eExX\\[\\]{}\",: \\n]{0,12}",
        prop::sample::select(vec![
            "true",
            "null",
            "[1,\"2\"]",
            "{\"x\":{\"x\":1}}",
            "\"x\"",
            "-0",
            "1e400"
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn any_text_and_schema_are_handled_without_a_panic(schema in sloppy_schema(), text in text(), pointer in "[x0-2~/ :-]{0,8}") {
        let _ = Schema::new(schema.clone());
        if let Ok(schema) = Schema::new(json!({ "properties": { "x": schema.clone() }, "x": schema })) {
            let _ = coerce(&text, Some(&schema.root().property("x")));
            let _ = coerce(&text, Some(&schema.root()));
            let _ = coerce_json(json!({ "x": text, "y": { "x": [text] } }), Some(&schema));
            let arguments = [(pointer.as_str(), text.as_str()), ("x/0", "1"), ("x/x", "2")];
            for count in 0..3 {
                let arguments = arguments.iter().copied().take(count);
                if let Ok(mut built) = parameters(arguments, Some(&schema), "!!!ARG:", &Limits::default()) {
                    schema.apply_defaults(&mut built);
                    prop_assert_eq!(schema.validate(&built), schema.validate(&built));
                }
            }
        }
    }

    #[test]
    fn any_pointers_without_a_schema(pointers in prop::collection::vec("[ab0-2~/-]{1,6}", 0..6)) {
        let arguments = pointers.iter().map(|pointer| (pointer.as_str(), "v"));
        if let Ok(built) = parameters(arguments, None, "!!!ARG:", &Limits::default()) {
            for pointer in &pointers {
                let mut here = &built;
                for key in crate::schema::pointer::segments(pointer) {
                    here = match here.as_array() {
                        Some(items) => &items[key.parse::<usize>().unwrap()],
                        None => &here[key.as_ref()],
                    };
                }
                prop_assert_eq!(here, "v");
            }
        }
    }
}

/// Numbers without a schema, in an argument and inside JSON, have the digits that were written.
#[test]
fn no_number_becomes_another_one() {
    let count = 1_000_000;
    let mut state = 0x5eed_u64;
    let mut random = move |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let check = |text: &str| {
        let written = |value: &Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        // A vector has `-0` as 0.
        let expected = if text == "-0" { "0" } else { text };
        assert_eq!(written(&coerce(text, None)), expected);
        // More than a float holds is an error, which is no other number either.
        if let Ok(json) = crate::schema::read_json(text) {
            assert_eq!(written(&json), text);
        }
    };
    for text in [
        "0",
        "-0",
        "-0.0",
        "0.1000",
        "1.0",
        "1e400",
        "-1e400",
        "1e-400",
        "1e5",
        "1E+5",
        "5e-324",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775809",
        "12345678901234567890123",
        "9007199254740993.0",
        "0.1234567890123456789",
    ] {
        check(text);
    }
    let mut text = String::new();
    for _ in 0..count {
        text.clear();
        if random(2) == 0 {
            text.push('-');
        }
        let digits = |text: &mut String, count: u64, random: &mut dyn FnMut(u64) -> u64| {
            for _ in 0..count {
                text.push(char::from(b'0' + u8::try_from(random(10)).unwrap()));
            }
        };
        if random(4) == 0 {
            text.push('0');
        } else {
            text.push(char::from(b'1' + u8::try_from(random(9)).unwrap()));
            let more = random(24);
            digits(&mut text, more, &mut random);
        }
        if random(3) > 0 {
            text.push('.');
            let more = 1 + random(20);
            digits(&mut text, more, &mut random);
        }
        if random(5) == 0 {
            text.push_str(["e", "E", "e+", "e-"][usize::try_from(random(4)).unwrap()]);
            let more = 1 + random(3);
            digits(&mut text, more, &mut random);
        }
        check(&text);
    }
}

/// An integer beyond 64 bits never becomes another one, in whatever form the call has it.
#[test]
fn no_integer_is_rounded_where_only_numbers_are_admitted() {
    const LOST: &str = "cannot be kept, since numbers have at most 64 bits";
    for (schema, text, lost) in [
        (
            json!({ "type": "integer" }),
            "12345678901234567890123",
            true,
        ),
        (json!({ "type": "number" }), "12345678901234567890123", true),
        (
            json!({ "type": "number" }),
            "-12345678901234567890123",
            true,
        ),
        (json!({ "type": "number" }), "18446744073709551616", true),
        (json!({ "type": "number" }), "-9223372036854775809", true),
        (
            json!({ "type": ["integer", "null"] }),
            "18446744073709551616",
            true,
        ),
        (
            json!({ "type": ["number", "boolean"] }),
            "18446744073709551616",
            true,
        ),
        (
            json!({ "type": "integer" }),
            "12345678901234567890123.0",
            true,
        ),
        (
            json!({ "type": "integer", "minimum": 1 }),
            "18446744073709551616",
            true,
        ),
        (json!({ "type": "number" }), "18446744073709551615", false),
        (json!({ "type": "number" }), "-9223372036854775808", false),
        (json!({ "type": "integer" }), "18446744073709551615", false),
        (
            json!({ "type": "number" }),
            "0.12345678901234567890123",
            false,
        ),
        (
            json!({ "type": "number" }),
            "12345678901234567890123.5",
            false,
        ),
        (
            json!({ "type": "string" }),
            "12345678901234567890123",
            false,
        ),
        (
            json!({ "type": ["string", "integer"] }),
            "12345678901234567890123",
            false,
        ),
        (
            json!({ "type": ["string", "number"] }),
            "12345678901234567890123",
            false,
        ),
        (json!({}), "12345678901234567890123", false),
    ] {
        let properties = json!({ "n": schema, "list": { "type": "array", "items": schema } });
        let schema = Schema::new(json!({ "properties": properties })).unwrap();
        let limits = Limits::default();
        let argument = parameters([("n", text)], Some(&schema), "!!!ARG:", &limits);
        let items = parameters(
            [("list", &*format!("[{text}]"))],
            Some(&schema),
            "!!!ARG:",
            &limits,
        );
        let body = format!("{{\"n\": {text}, \"list\": [\"{text}\"]}}");
        let json =
            crate::schema::json_parameters(&body, Some(&schema), &limits).map(Option::unwrap);
        let native = Ok(coerce_json(
            crate::schema::read_json(&body).unwrap(),
            Some(&schema),
        ));
        for (form, read) in [
            ("argument", argument),
            ("items", items),
            ("JSON", json),
            ("native", native),
        ] {
            let problem = match read {
                Err(error) => error.to_string(),
                Ok(value) => schema
                    .validate(&value)
                    .first()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
            };
            assert_eq!(
                problem.contains(LOST),
                lost,
                "{text} under {schema:?} as {form}: {problem}"
            );
            assert!(
                lost || problem.is_empty(),
                "{text} under {schema:?} as {form}: {problem}"
            );
        }
    }
    let schema = Schema::new(json!({ "properties": { "n": { "type": "integer" } } })).unwrap();
    let long = "9".repeat(100_000);
    let error = parameters(
        [("n", &*long)],
        Some(&schema),
        "!!!ARG:",
        &Limits::default(),
    );
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("has to admit a string") && error.len() < 300,
        "{error}"
    );
}
