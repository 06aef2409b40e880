mod any;
mod reader;

use proptest::prelude::*;
use serde_json::Map;
use serde_json::json;

use self::any::hoist;
use self::any::json_value;
use self::any::key;
use self::any::markers;
use self::any::object;
use self::any::typed_value;
use self::reader::read;
use super::*;

const ANCHORINGS: [Anchoring; 2] = [Anchoring::Anywhere, Anchoring::LineStart];

fn write(
    markers: &Markers,
    anchoring: Anchoring,
    value: &Value,
    schema: Option<&Schema>,
) -> String {
    let mut text = String::new();
    let none: [&str; 0] = [];
    let writer = Writer { markers, anchoring };
    writer
        .write(&mut text, "Cook", None, &none, value, schema)
        .expect("writable");
    text
}

fn round_trip(markers: &Markers, value: &Value, schema: Option<&Schema>) {
    for anchoring in ANCHORINGS {
        let text = write(markers, anchoring, value, schema);
        let (header, got) = read(&text, markers, anchoring, schema);
        assert_eq!(header, "Cook");
        assert_eq!(
            got.to_string(),
            value.to_string(),
            "{anchoring:?} under {schema:?}:\n{text}"
        );
    }
}

fn check(schema: Option<Value>, value: &Value, body: &str) {
    let schema = schema.map(|schema| Schema::new(schema).unwrap());
    let markers = Markers::default();
    let text = write(&markers, Anchoring::Anywhere, value, schema.as_ref());
    assert_eq!(text, format!("!!!GADGET_START:Cook\n{body}!!!GADGET_END\n"));
    round_trip(&markers, value, schema.as_ref());
}

#[test]
fn leaves() {
    check(None, &json!({}), "");
    check(
        None,
        &json!({ "a": 1, "b": true, "c": "x\ny\n", "d": 1.5 }),
        "!!!ARG:a\n1\n!!!ARG:b\ntrue\n!!!ARG:c\nx\ny\n\n!!!ARG:d\n1.5\n",
    );
    check(
        None,
        &json!({ "a/b": { "c~": ["x", { "k": "" }] } }),
        "!!!ARG:a~1b/c~0/0\nx\n!!!ARG:a~1b/c~0/1/k\n\n",
    );
    let zip = json!({ "properties": { "zip": { "type": "string" } } });
    check(Some(zip), &json!({ "zip": "00125" }), "!!!ARG:zip\n00125\n");
    check(
        Some(json!(true)),
        &json!({ "zip": "125" }),
        "!!!ARG:zip\n\"125\"\n",
    );
    check(
        None,
        &json!({ "code": "```json\n{}\n```" }),
        "!!!ARG:code\n```json\n{}\n```\n",
    );
}

#[test]
fn inline_json() {
    let typed = json!({ "properties": {
        "l": { "type": "array" },
        "o": { "type": "object", "properties": { "n": { "type": ["string", "null"] } } },
    } });
    check(
        Some(typed.clone()),
        &json!({ "l": [], "o": {} }),
        "!!!ARG:l\n[]\n!!!ARG:o\n{}\n",
    );
    check(
        Some(typed.clone()),
        &json!({ "l": ["5"], "o": { "n": "null" } }),
        "!!!ARG:l/0\n\"5\"\n!!!ARG:o\n{\"n\":\"null\"}\n",
    );
    check(
        Some(typed.clone()),
        &json!({ "o": { "n": null } }),
        "!!!ARG:o/n\nnull\n",
    );
    check(
        Some(typed.clone()),
        &json!({ "o": { "a b": 1, "n": "x" } }),
        "!!!ARG:o\n{\"a b\":1,\"n\":\"x\"}\n",
    );
    check(
        Some(typed),
        &json!({ "l": ["!!!ARG:x"] }),
        "!!!ARG:l/0\n\"\\u0021!!ARG:x\"\n",
    );
}

#[test]
fn json_bodies() {
    for value in [
        json!({ "a": "42" }),
        json!({ "a": "true" }),
        json!({ "a": null }),
        json!({ "a": [] }),
        json!({ "a": { "b": {} } }),
        json!({ "a": { "0": "x" } }),
        json!({ "": "x" }),
        json!({ "a b": "x" }),
        json!({ "a": "x\r" }),
        json!({ "a": 1e300 }),
    ] {
        check(None, &value, &format!("{value}\n"));
    }
    check(
        None,
        &json!({ "a": "say !!!GADGET_END" }),
        "{\"a\":\"say \\u0021!!GADGET_END\"}\n",
    );
}

#[test]
fn markers_at_line_starts_get_a_backslash() {
    let markers = Markers::default();
    let check = |value: &str, written: &str| {
        let value = json!({ "a": value });
        let text = write(&markers, Anchoring::LineStart, &value, None);
        assert_eq!(
            text,
            format!("!!!GADGET_START:Cook\n!!!ARG:a\n{written}\n!!!GADGET_END\n")
        );
        round_trip(&markers, &value, None);
    };
    check("!!!GADGET_END", "\\!!!GADGET_END");
    check("x\n \t!!!ARG:b\ny", "x\n \t\\!!!ARG:b\ny");
    check("\\\\!!!GADGET_START:", "\\\\\\!!!GADGET_START:");
    check("in !!!ARG: line", "in !!!ARG: line");
    check("\\n", "\\n");
}

#[test]
fn headers() {
    let markers = Markers::default();
    let writer = Writer {
        markers: &markers,
        anchoring: Anchoring::Anywhere,
    };
    let check = |name: &str,
                 id: Option<&str>,
                 dependencies: &[&str],
                 expected: Result<&str, WriteError>| {
        let mut text = "before".to_owned();
        let result = writer.write(&mut text, name, id, dependencies, &json!({}), None);
        match expected {
            Ok(header) => assert_eq!(
                text,
                format!("before\n!!!GADGET_START:{header}\n!!!GADGET_END\n")
            ),
            Err(error) => assert_eq!((result, text.as_str()), (Err(error), "before")),
        }
    };
    check("math.add", None, &[], Ok("math.add"));
    check("A", Some("b"), &["c", "d"], Ok("A:b:c,d"));
    check("A", None, &["c"], Ok("A::c"));
    let repeated = WriteError::RepeatedDependency("c".to_owned());
    check("A", None, &["c", "d", "c"], Err(repeated));
    for name in ["", "a:b", "a\nb", " a", "a\r", "a\0b", "a\u{1b}b"] {
        check(name, None, &[], Err(WriteError::Name(name.to_owned())));
    }
    for id in ["", "a:b", "a,b", "a ", "a\nb", "a\u{7f}b"] {
        check("A", Some(id), &[], Err(WriteError::Id(id.to_owned())));
        check("A", Some("b"), &[id], Err(WriteError::Id(id.to_owned())));
    }
    check("A!!!GADGET_END", None, &[], Err(WriteError::HeaderMarker));
    check(
        &"A".repeat(1025),
        None,
        &[],
        Err(WriteError::LongHeader { limit: 1024 }),
    );
}

#[test]
fn calls_that_cannot_be_written_are_errors() {
    let check = |markers: &Markers, value: &Value, error: WriteError| {
        let none: [&str; 0] = [];
        let mut text = String::new();
        let writer = Writer {
            markers,
            anchoring: Anchoring::Anywhere,
        };
        assert_eq!(
            writer.write(&mut text, "A", None, &none, value, None),
            Err(error)
        );
    };
    check(&Markers::default(), &json!([]), WriteError::NotAnObject);
    let deep = (0..64).fold(json!("42"), |inner, _| json!({ "a": inner }));
    round_trip(&Markers::default(), &deep, None);
    check(
        &Markers::default(),
        &json!({ "a": deep }),
        WriteError::TooDeep { limit: 64 },
    );
    let braces = Markers::new("{", "}", "@").unwrap();
    check(&braces, &json!({ "a": null }), WriteError::Marker);
    round_trip(&braces, &json!({ "a": "x" }), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_object_without_a_schema(pairs in prop::collection::vec((key(), json_value()), 0..5), markers in markers()) {
        round_trip(&markers, &object(pairs), None);
    }

    #[test]
    fn any_object_under_any_schema_that_admits_it(
        fields in prop::collection::vec((key(), typed_value()), 0..4),
        markers in markers(),
    ) {
        let mut definitions = Map::new();
        let properties = object(fields.iter().map(|(k, (schema, _))| (k.clone(), schema.clone())).collect());
        let properties = hoist(properties, &mut definitions);
        let value = object(fields.into_iter().map(|(k, (_, value))| (k, value)).collect());
        let schema = Schema::new(json!({ "properties": properties, "$defs": definitions })).unwrap();
        prop_assume!(schema.validate(&value).is_empty());
        round_trip(&markers, &value, Some(&schema));
    }
}
