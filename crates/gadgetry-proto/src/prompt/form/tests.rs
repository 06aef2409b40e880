use serde_json::{Value, json};

use super::Form;
use crate::schema::Schema;

/// Answers a form of these properties; `Err` is what is wrong with the last answer.
#[track_caller]
fn check(schema: &Value, answers: &[&str], expected: Result<Value, &str>) {
    let mut form = Form::new(Schema::new(schema.clone()).unwrap());
    let mut last = Ok(());
    for answer in answers {
        assert!(form.question().is_some(), "{answer} answers no question");
        last = form.answer(answer);
    }
    match expected {
        Ok(expected) => {
            assert_eq!((last, form.question()), (Ok(()), None), "{answers:?}");
            assert_eq!(form.into_value(), expected, "{answers:?}");
        }
        Err(part) => {
            let error = last.expect_err("the last answer is invalid");
            assert!(error.contains(part), "{error}");
        }
    }
}

/// The same for one required field.
#[track_caller]
fn one(schema: &Value, answer: &str, expected: Result<Value, &str>) {
    let schema = json!({ "properties": { "f": schema }, "required": ["f"] });
    check(&schema, &[answer], expected.map(|it| json!({ "f": it })));
}

#[test]
fn values_of_fields() {
    let number = || json!({ "type": "integer", "minimum": 1, "maximum": 9 });
    one(&number(), " 5 ", Ok(json!(5)));
    one(&number(), "12", Err("must be at most 9, got 12"));
    one(&number(), "1.5", Err("expected integer"));
    one(&number(), "five", Err("expected integer"));
    one(&number(), "", Err("a value is required"));
    one(&json!({ "type": "boolean" }), "Yes", Ok(json!(true)));
    one(
        &json!({ "type": "boolean" }),
        "maybe",
        Err("expected yes or no"),
    );
    let color =
        || json!({ "type": "string", "enum": ["red", "blue"], "enumNames": ["Rot", "Blau"] });
    one(&color(), "blue", Ok(json!("blue")));
    one(&color(), "rot", Ok(json!("red")));
    one(&color(), "green", Err("green"));
    let titled = json!({ "type": "string", "oneOf": [{ "const": "x1", "title": "First" }, { "const": "x2", "title": "Last" }] });
    one(&titled, "first", Ok(json!("x1")));
    one(&json!({ "type": "string" }), "5", Ok(json!("5")));
    one(&json!({ "type": "string" }), "\"\"", Ok(json!("")));
    one(
        &json!({ "type": "string", "maxLength": 2 }),
        "abc",
        Err("abc"),
    );
    one(&json!({}), "5", Ok(json!(5)));
    one(
        &json!({ "type": ["integer", "null"] }),
        "null",
        Ok(Value::Null),
    );
}

#[test]
fn lists_are_one_line() {
    let several = || json!({ "type": "array", "items": { "type": "string", "enum": ["a", "b"] }, "maxItems": 2 });
    one(&several(), "a, B,", Ok(json!(["a", "b"])));
    one(&several(), "[]", Ok(json!([])));
    one(&several(), "a, c", Err("f.1: "));
    one(&several(), "a, b, a", Err("at most 2"));
    one(&several(), "[\"a\"", Err("line 1"));
    let numbers = json!({ "type": "array", "items": { "type": "number" } });
    one(&numbers, "1, 2.5", Ok(json!([1, 2.5])));
    let titled =
        json!({ "type": "array", "items": { "anyOf": [{ "const": "x", "title": "Ex" }] } });
    one(&titled, "ex", Ok(json!(["x"])));
    let objects = || json!({ "type": "array", "items": { "type": "object", "properties": { "a": { "type": "integer" } } } });
    one(&objects(), "[{\"a\": 1}]", Ok(json!([{ "a": 1 }])));
    one(
        &objects(),
        "[{\"a\": \"x\"}]",
        Err("f.0.a: expected integer"),
    );
    one(&objects(), "x", Err("expected array"));
}

#[test]
fn objects_are_asked_for_field_by_field() {
    let schema = json!({
        "$defs": { "place": { "type": "object", "properties": {
            "city": { "type": "string" }, "zip": { "type": "string" }, "in": { "$ref": "#/$defs/place" },
        }, "required": ["city"] } },
        "type": "object",
        "properties": { "at": { "$ref": "#/$defs/place" }, "n": { "type": "integer", "default": 1 } },
        "required": ["n"],
    });
    let schema = &schema;
    check(schema, &["", ""], Ok(json!({})));
    check(schema, &["no", "2"], Ok(json!({ "n": 2 })));
    check(
        schema,
        &["yes", "Oslo", "", "", ""],
        Ok(json!({ "at": { "city": "Oslo" } })),
    );
    check(
        schema,
        &["{\"city\": \"Rome\", \"in\": {\"city\": \"Italy\"}}", "3"],
        Ok(json!({ "at": { "city": "Rome", "in": { "city": "Italy" } }, "n": 3 })),
    );
    check(schema, &["{}"], Err("at.city: "));
    check(schema, &["Oslo"], Err("expected yes, no, or a JSON object"));
    check(schema, &["yes", ""], Err("a value is required"));
    // A place in itself is not unrolled without end.
    check(
        schema,
        &["yes", "Oslo", "", "{\"city\": \"Norway\"}", ""],
        Ok(json!({ "at": { "city": "Oslo", "in": { "city": "Norway" } } })),
    );
}

#[test]
fn parameters_without_properties() {
    check(&json!({}), &[], Ok(json!({})));
    check(&json!({ "type": "object" }), &[], Ok(json!({})));
    let map = json!({ "type": "object", "additionalProperties": { "type": "integer" } });
    check(&map, &["{\"a\": 1}"], Ok(json!({ "a": 1 })));
    check(&map, &["{\"a\": \"x\"}"], Err("a: expected integer"));
    check(&map, &["x"], Err("line 1"));
    check(&map, &["[]"], Err("expected object"));
}

#[test]
fn questions_describe_their_field() {
    let check = |schema: Value, expected: &str| {
        let schema = json!({ "properties": { "age": schema } });
        let form = Form::new(Schema::new(schema).unwrap());
        assert_eq!(form.question().as_deref(), Some(expected));
    };
    check(
        json!({ "type": "integer", "title": "Age", "description": "In\n\u{1b}years", "minimum": 0, "default": 3 }),
        "age (integer; optional; at least 0; default 3): In \\u{1b}years",
    );
    check(
        json!({ "type": "string", "enum": ["r", "b"], "enumNames": ["Red", "b"] }),
        "age (one of r | b; optional; r: Red)",
    );
    check(
        json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
        "age (array of string; optional; at least 1 item; items separated by commas, or JSON)",
    );
    check(
        json!({ "type": "object", "properties": { "a": {} } }),
        "age (object; optional; yes to fill it in, or JSON)",
    );
    check(
        json!({ "type": "array", "items": { "type": "object" } }),
        "age (array of object; optional; as JSON)",
    );
    check(json!({}), "age (any value; optional)");
}
