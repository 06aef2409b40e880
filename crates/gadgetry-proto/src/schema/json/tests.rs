use proptest::prelude::*;
use serde_json::json;

use super::*;

fn value(text: &str) -> Result<(Value, String), String> {
    let mut slips = Slips::NONE;
    let json = read(text, &mut slips).map_err(|error| error.to_string())?;
    Ok((json.into_value(), slips.to_string()))
}

#[test]
fn slips_with_one_reading() {
    for (text, expected, slips) in [
        ("{}", json!({}), ""),
        (" [1, -2.50,\n1e3] ", json!([1, "-2.50", "1e3"]), ""),
        (
            "{\"a\": \"x\ny\tz\r\n\"}",
            json!({ "a": "x\ny\tz\r\n" }),
            "raw line breaks or control characters",
        ),
        ("[1, 2,]", json!([1, 2]), "a trailing comma"),
        ("{\"a\": 1,\n}", json!({ "a": 1 }), "a trailing comma"),
        ("[1 /* one */, 2] // end", json!([1, 2]), "a comment"),
        ("# first\n[1, # one\n 2]", json!([1, 2]), "a comment"),
        (
            "{'a': 'say \"hi\"', 'b': 'it\\'s'}",
            json!({ "a": "say \"hi\"", "b": "it's" }),
            "single quotes",
        ),
        ("\"it\\'s\"", json!("it's"), "single quotes"),
        (
            "[True, False, None]",
            json!([true, false, null]),
            "a Python literal",
        ),
        (
            "{'on': True,}",
            json!({ "on": true }),
            "a trailing comma, single quotes, a Python literal",
        ),
        ("\"a // b # c\"", json!("a // b # c"), ""),
        ("\"\\u00e9\\ud83d\\ude00\\/\"", json!("é😀/"), ""),
        ("\"\\u2028\u{2028}\"", json!("\u{2028}\u{2028}"), ""),
        ("\"\"", json!(""), ""),
        ("18446744073709551615", json!(u64::MAX), ""),
        ("-9223372036854775808", json!(i64::MIN), ""),
        // No digit is lost.
        ("18446744073709551616", json!("18446744073709551616"), ""),
        (
            "[-9223372036854775809]",
            json!(["-9223372036854775809"]),
            "",
        ),
    ] {
        assert_eq!(value(text), Ok((expected, slips.to_owned())), "{text}");
    }
}

#[test]
fn ambiguous_and_broken_json_is_rejected_with_its_position() {
    for (text, error) in [
        ("", "line 1, column 1: expected a value, but the text ends"),
        (
            "[1",
            "line 1, column 3: expected `,` or `]`, but the text ends",
        ),
        ("[1 2]", "line 1, column 4: expected `,` or `]`, got `2`"),
        ("[1,,2]", "line 1, column 4: expected a value, got `,`"),
        ("[,]", "line 1, column 2: expected a value, got `,`"),
        ("{,}", "line 1, column 2: expected a key in quotes, got `,`"),
        (
            "{a: 1}",
            "line 1, column 2: expected a key in quotes, got `a`",
        ),
        ("{\"a\" 1}", "line 1, column 6: expected `:`, got `1`"),
        (
            "{\n  \"é\": x1\n}",
            "line 2, column 8: expected a value, got `x1`",
        ),
        ("{} x", "line 1, column 4: expected the end, got `x`"),
        ("'it's'", "line 1, column 5: expected the end, got `s`"),
        ("[\"a]", "line 1, column 2: the string is not closed"),
        ("[1 /* ]", "line 1, column 4: the comment is not closed"),
        (
            "\"\\d\"",
            "line 1, column 2: `\\d` is not an escape; a backslash is written `\\\\`",
        ),
        (
            "\"\\\n\"",
            "line 1, column 2: a backslash is written `\\\\`",
        ),
        ("\"\\ud800\"", "line 1, column 2: half of a surrogate pair"),
        (
            "\"\\ud800\\u0041\"",
            "line 1, column 2: half of a surrogate pair",
        ),
        (
            "\"\\u12g4\"",
            "line 1, column 2: `\\u` is followed by four hexadecimal digits",
        ),
        ("1E400", "line 1, column 1: the number is too large"),
        ("007", "line 1, column 2: expected the end, got `0`"),
        ("1_000", "line 1, column 2: expected the end, got `_`"),
        (
            "1.",
            "line 1, column 3: expected a digit, but the text ends",
        ),
        (".5", "line 1, column 1: expected a value, got `.`"),
        ("NaN", "line 1, column 1: expected a value, got `NaN`"),
        ("nulls", "line 1, column 1: expected a value, got `nulls`"),
        ("TRUE", "line 1, column 1: expected a value, got `TRUE`"),
        (
            "{\"a\": 1, \"b\": 2, \"a\": 3}",
            "line 1, column 18: the key is there twice",
        ),
    ] {
        assert_eq!(value(text), Err(error.to_owned()), "{text}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(
        value(&deep),
        Err("line 1, column 101: more than 100 levels of nesting".to_owned())
    );
    let wide = format!("[{}0]", "0,".repeat(NODES));
    assert!(value(&wide).is_err_and(|error| error.ends_with("more than 100000 values")));
}

/// JSON with every kind of value.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Text that is often almost JSON, and numbers of all forms.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        r#"[\[\]{}",:'\\ \n0-9.eE+nulltrefasNTFu#/*-]{0,24}"#,
        r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?",
    ]
}

/// Returns `true` if the values differ only in numbers that stay text because they would be written with other digits.
fn is_same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::String(written), Value::Number(theirs)) => {
            written.parse().ok() == theirs.as_f64() && *written != theirs.to_string()
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(ours), Value::Object(theirs)) => {
            let mut fields = ours.iter();
            ours.len() == theirs.len()
                && fields.all(|(key, ours)| theirs.get(key).is_some_and(|it| is_same(ours, it)))
        }
        (ours, theirs) => ours == theirs,
    }
}

proptest! {
    #[test]
    fn strict_json_reads_as_serde_reads_it(json in any_json()) {
        for text in [json.to_string(), format!("{json:#}")] {
            prop_assert_eq!(read_strict(&text).map(Json::into_value), Some(json.clone()), "{}", text);
        }
    }

    #[test]
    fn what_the_standard_admits_is_read_as_serde_reads_it(text in any_text()) {
        let ours = value(&text);
        // But for repeated keys, which only serde admits.
        if let Ok(theirs) = serde_json::from_str::<Value>(&text) {
            let repeated = text.matches(':').count() > 1 && ours.is_err();
            let same = ours.as_ref().is_ok_and(|(ours, slips)| slips.is_empty() && is_same(ours, &theirs));
            prop_assert!(same || repeated, "{}: {:?}", text, ours);
            prop_assert!(read_plain_json(&text) == Ok(theirs) || repeated, "{}", text);
        } else if let Ok((_, slips)) = ours {
            prop_assert!(!slips.is_empty(), "{}", text);
        }
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in any::<String>(), cut in 0..40_usize) {
        let _ = value(&text);
        let text = format!("{{'a': [\"{text}\", 1]}}");
        let cut = text.floor_char_boundary(cut.min(text.len()));
        let _ = value(&text[..cut]);
    }
}
