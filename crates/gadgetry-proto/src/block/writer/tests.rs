use proptest::prelude::*;
use serde_json::Map;
use serde_json::json;

use super::*;
use crate::spec::json_parameters;

/// A naive reader of one whole block: the header, and the parameters.
fn read(
    text: &str,
    markers: &Markers,
    anchoring: Anchoring,
    schema: Option<&Schema>,
) -> (String, Value) {
    let text = text.strip_prefix(markers.start()).expect("a start marker");
    let (header, body) = text.split_once('\n').expect("a header line");
    let mut pieces: Vec<&str> = Vec::new();
    let mut rest = body;
    loop {
        let (start, marker) = next_marker(rest, markers, anchoring).expect("a marker");
        pieces.push(&rest[..start]);
        let line = rest[start..].trim_start_matches([' ', '\t']);
        rest = &line[marker.len()..];
        if marker == markers.end() {
            break;
        }
        assert_eq!(marker, markers.arg());
    }
    assert_eq!(rest, "\n", "behind the end marker");
    let limits = Limits::default();
    if let [body] = pieces.as_slice() {
        let empty = body.trim().is_empty();
        let whole = json_parameters(body, schema, &limits)
            .expect("no limit")
            .filter(|_| !empty);
        return (header.to_owned(), whole.unwrap_or_else(|| json!({})));
    }
    assert_eq!(pieces[0], "", "before the first argument");
    let arguments: Vec<(&str, String)> = pieces[1..]
        .iter()
        .map(|piece| {
            let (pointer, value) = piece.split_once('\n').expect("an argument line");
            let value = value
                .strip_suffix('\n')
                .expect("a newline behind the value");
            let value = value.strip_suffix('\r').unwrap_or(value);
            (pointer, unescape(value, markers, anchoring))
        })
        .collect();
    let arguments = arguments
        .iter()
        .map(|(pointer, value)| (*pointer, value.as_str()));
    let built = parameters(arguments, schema, markers.arg(), &limits);
    (header.to_owned(), built.expect("good arguments"))
}

fn next_marker<'a>(
    text: &str,
    markers: &'a Markers,
    anchoring: Anchoring,
) -> Option<(usize, &'a str)> {
    let each = [markers.start(), markers.end(), markers.arg()];
    if anchoring == Anchoring::Anywhere {
        return each
            .iter()
            .filter_map(|marker| Some((text.find(marker)?, *marker)))
            .min();
    }
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let inner = line.trim_start_matches([' ', '\t']);
        if let Some(marker) = each.iter().find(|marker| inner.starts_with(**marker)) {
            return Some((at, *marker));
        }
        at += line.len();
    }
    None
}

fn unescape(value: &str, markers: &Markers, anchoring: Anchoring) -> String {
    if anchoring == Anchoring::Anywhere {
        return value.to_owned();
    }
    let lines = value.split('\n').map(|line| {
        let inner = line.trim_start_matches([' ', '\t']);
        let bare = inner.trim_start_matches('\\');
        let each = [markers.start(), markers.end(), markers.arg()];
        if bare.len() < inner.len() && each.iter().any(|marker| bare.starts_with(marker)) {
            format!("{}{}", &line[..line.len() - inner.len()], &inner[1..])
        } else {
            line.to_owned()
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

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
    for name in ["", "a:b", "a\nb", " a", "a\r"] {
        check(name, None, &[], Err(WriteError::Name(name.to_owned())));
    }
    for id in ["", "a:b", "a,b", "a ", "a\nb"] {
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
fn what_cannot_be_written() {
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

/// Text that looks like something else.
fn text() -> impl Strategy<Value = String> {
    let nasty = prop::sample::select(vec![
        "!!!ARG:",
        "!!!GADGET_END",
        "!!!GADGET_START:X",
        "!!!",
        "<<<END:",
        "@p",
        "\\",
        "\n",
        "\r",
        "\r\n",
        " ",
        "\t",
        "```",
        "```json",
        "42",
        "-0",
        "0042",
        "1e5",
        ".5",
        "true",
        "null",
        "[1]",
        "{}",
        "\"",
        "\"q\"",
        "x",
        "ñ",
        "😀",
        "\u{0}",
        "\u{a0}",
        "\u{2028}",
        "/",
        "~",
        ":",
        "a",
    ]);
    prop_oneof![
        2 => prop::collection::vec(nasty, 0..4).prop_map(|parts| parts.concat()),
        1 => "[a-z]{0,6}",
        1 => any::<String>(),
    ]
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-z_]{1,4}", 1 => "-?[0-9]{1,2}", 1 => text()]
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-20..20_i64).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-20..20_i32).prop_map(|whole| Value::from(f64::from(whole))),
    ]
    .prop_filter("a number", Value::is_number)
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        3 => text().prop_map(Value::from),
        2 => number(),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..4).prop_map(object),
        ]
    })
}

fn object(pairs: Vec<(String, Value)>) -> Value {
    Value::Object(pairs.into_iter().collect::<Map<_, _>>())
}

/// A schema, and a value that it admits.
fn typed_value() -> impl Strategy<Value = (Value, Value)> {
    let fixed = |schema: Value| move |value: Value| (schema.clone(), value);
    let leaf = prop_oneof![
        3 => text().prop_map(Value::from).prop_map(fixed(json!({ "type": "string" }))),
        2 => number().prop_map(fixed(json!({ "type": "number" }))),
        2 => any::<i64>().prop_map(Value::from).prop_map(fixed(json!({ "type": "integer" }))),
        1 => any::<bool>().prop_map(Value::from).prop_map(fixed(json!({ "type": "boolean" }))),
        1 => Just((json!({ "type": "null" }), Value::Null)),
        1 => Just((json!({ "type": "string", "nullable": true }), Value::Null)),
        1 => text().prop_map(Value::from).prop_map(fixed(json!({ "type": ["string", "null", "integer"] }))),
        1 => number().prop_map(fixed(json!({ "type": ["number", "string", "array"] }))),
        1 => json_value().prop_map(fixed(json!({}))),
        1 => json_value().prop_map(|value| (json!({ "const": value }), value)),
        1 => (json_value(), json_value()).prop_map(|(a, b)| (json!({ "enum": [a, b] }), a)),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let pairs = || prop::collection::vec(inner.clone(), 1..4);
        let fields = || prop::collection::vec((key(), inner.clone()), 1..4);
        let map = |fields: Vec<(String, (Value, Value))>| -> (Vec<Value>, Value, Value) {
            let properties = object(fields.iter().map(|(k, (s, _))| (k.clone(), s.clone())).collect());
            let schemas = fields.iter().map(|(_, (schema, _))| schema.clone()).collect();
            let value = object(fields.into_iter().map(|(k, (_, v))| (k, v)).collect());
            (schemas, properties, value)
        };
        prop_oneof![
            2 => (fields(), any::<bool>()).prop_map(move |(fields, typed)| {
                let (_, properties, value) = map(fields);
                let mut schema = json!({ "properties": properties });
                if typed {
                    schema["type"] = json!("object");
                    schema["additionalProperties"] = json!(false);
                }
                (schema, value)
            }),
            1 => fields().prop_map(move |fields| {
                let (schemas, _, value) = map(fields);
                (json!({ "type": "object", "additionalProperties": { "anyOf": schemas } }), value)
            }),
            1 => pairs().prop_map(|pairs| {
                let (schemas, values): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
                (json!({ "type": "array", "items": { "anyOf": schemas } }), Value::from(values))
            }),
            1 => pairs().prop_map(|pairs| {
                let (schemas, values): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
                (json!({ "type": "array", "prefixItems": schemas, "items": false }), Value::from(values))
            }),
            1 => pairs().prop_map(|pairs| {
                let (schemas, mut values): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
                (json!({ "anyOf": schemas }), values.swap_remove(0))
            }),
            1 => inner.clone().prop_map(|(schema, value)| (json!({ "allOf": [schema, {}] }), value)),
            1 => inner.clone().prop_map(|(schema, value)| (json!({ "oneOf": [{ "not": {} }, schema] }), value)),
            1 => inner.clone().prop_map(|(schema, value)| (json!({ "hoist": schema }), value)),
        ]
    })
}

/// Moves every schema below `hoist` into `$defs` and refers to it.
fn hoist(schema: Value, definitions: &mut Map<String, Value>) -> Value {
    match schema {
        Value::Object(mut map) if map.contains_key("hoist") => {
            let inner = hoist(map.shift_remove("hoist").unwrap_or_default(), definitions);
            let name = format!("d{}", definitions.len());
            let reference = json!({ "$ref": format!("#/$defs/{name}") });
            definitions.insert(name, inner);
            reference
        }
        Value::Object(map) => map
            .into_iter()
            .map(|(k, v)| (k, hoist(v, definitions)))
            .collect(),
        Value::Array(items) => items
            .into_iter()
            .map(|item| hoist(item, definitions))
            .collect(),
        other => other,
    }
}

fn markers() -> impl Strategy<Value = Markers> {
    prop_oneof![
        Just(Markers::default()),
        Just(Markers::new("<<<START:", "<<<END:", "@p").unwrap()),
        any::<u64>().prop_map(Markers::nonce),
    ]
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
