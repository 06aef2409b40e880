//! A gadget that takes digits gets each number as it was written, in whatever form the model calls it.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use gadgetry_proto::call::{Digits, Parameters};
use gadgetry_proto::schema::{GadgetSpec, Registry};
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::dialect_invariants::{Row, rows};
use crate::dialect_numbers::{call, call_in};

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(rows);

/// What the schema says about the number, and how the number is written. A number that does not fit stays text.
const PLACES: [(&str, &str); 7] = [
    (r#"{"type": "number"}"#, "{}"),
    (r#"{"type": "integer"}"#, "{}"),
    ("{}", "{}"),
    (r#"{"type": ["number", "string"]}"#, "{}"),
    (r#"{"type": ["integer", "null"]}"#, "{}"),
    (
        r#"{"type": "array", "items": {"type": "number"}}"#,
        "[1, {}]",
    ),
    (
        r#"{"type": "object", "properties": {"a/b": {"type": "array", "items": {"type": "integer"}}}}"#,
        r#"{"a/b": [{}, 0.5]}"#,
    ),
];

static REGISTRIES: LazyLock<Vec<Arc<Registry>>> = LazyLock::new(|| {
    let places = PLACES.iter().map(|(place, ..)| {
        let place: Value = serde_json::from_str(place).expect("a schema");
        let calc = GadgetSpec {
            parameters: json!({"properties": {"text": {"type": "string"}, "n": place}}),
            ..GadgetSpec::new("Calc", "")
        };
        let calc = Registry::compile(calc).expect("a valid gadget");
        let mut registry = Registry::default();
        registry
            .insert(calc.keep_digits())
            .expect("it is the only one");
        Arc::new(registry)
    });
    places.collect()
});

/// The number without an exponent and without zeros that mean nothing: the obvious way to compare two.
fn plain(written: &str) -> String {
    let (sign, rest) = match written.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", written),
    };
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let exponent: i64 = exponent.parse().expect("an exponent");
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let shift = usize::try_from(exponent.unsigned_abs()).expect("a small exponent");
    let zeros = "0".repeat(shift);
    let digits = if exponent < 0 {
        format!("{zeros}{whole}{part}")
    } else {
        format!("{whole}{part}{zeros}")
    };
    let point = if exponent < 0 {
        whole.len()
    } else {
        whole.len() + shift
    };
    let (whole, part) = digits.split_at(point);
    let (whole, part) = (whole.trim_start_matches('0'), part.trim_end_matches('0'));
    let sign = if whole.is_empty() && part.is_empty() {
        ""
    } else {
        sign
    };
    format!("{sign}{whole}.{part}")
}

/// What is written for the parameter `n`, which may be the text of the number.
fn arrived(
    parameters: &Parameters,
    digits: &Digits,
    item: Option<usize>,
) -> Result<String, String> {
    let value = match parameters {
        Parameters::Parsed(value) => value,
        Parameters::Malformed(problem) => return Err(problem.clone()),
    };
    let json = digits.json(value);
    let fields: BTreeMap<&str, &RawValue> = serde_json::from_str(&json).expect("JSON");
    let mut number = fields["n"].get();
    if let Some(item) = item {
        let at = number.find('[').expect("an array") + 1;
        let items = number[at..].trim_end_matches([']', '}']);
        number = items.split(',').nth(item).expect("an item");
    }
    Ok(number.trim_matches('"').to_owned())
}

fn check(number: &str, form: usize) {
    for ((_, around), registry) in PLACES.iter().zip(&*REGISTRIES) {
        // The place in an array.
        let item = around
            .find('[')
            .map(|_| usize::from(around.ends_with("{}]")));
        let written = around.replace("{}", number);
        let text = call(&format!("!!!ARG:text\nx\n!!!ARG:n\n{written}"), registry);
        let body = call(&format!("{{\"text\": \"x\", \"n\": {written}}}"), registry);
        let row = &ROWS[form % ROWS.len()];
        let found = call_in(row, &written, registry).expect("a call");
        let all = [
            ("arguments", arrived(&text.parameters, &text.digits, item)),
            ("JSON", arrived(&body.parameters, &body.digits, item)),
            (&*row.form, arrived(&found.parameters, &found.digits, item)),
        ];
        for (form, arrived) in all {
            let arrived = arrived.map(|it| plain(&it));
            assert_eq!(
                arrived,
                Ok(plain(number)),
                "{number} in {written} as {form}"
            );
        }
    }
}

fn number() -> impl Strategy<Value = String> {
    let digits = || "[1-9][0-9]{0,40}";
    let fraction = prop_oneof![Just(String::new()), "\\.[0-9]{1,30}"];
    let whole = prop_oneof![1 => Just("0".to_owned()), 4 => digits()];
    let exponent = prop_oneof![
        3 => Just(String::new()),
        1 => ("[eE]", -340..=260_i32).prop_map(|(e, power)| format!("{e}{power}")),
    ];
    let sign = prop_oneof![Just(""), Just("-")];
    (sign, whole, fraction, exponent)
        .prop_map(|(sign, whole, fraction, exponent)| format!("{sign}{whole}{fraction}{exponent}"))
}

// Each case is 17 to 21 numbers. A million of them: `PROPTEST_CASES=60000 cargo test --release -p gadgetry-proto --test tests -- digits`.
proptest! {
    #[test]
    fn numbers_arrive_as_they_were_written(number in number(), form: usize) {
        check(&number, form);
    }
}

#[test]
fn known_numbers_arrive_as_they_were_written() {
    for number in [
        "0",
        "-0",
        "1.0",
        "1E5",
        "0.1000000000000000055",
        "9007199254740993",
        "9007199254740993.25",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775809",
        "123456789012345678901234567890",
        "1e-400",
        "0.99999999999999999999",
        "4503599627370496.1",
        "9007199254740993.0",
        "9007199254740993e0",
        "100000000000000000000.5",
        "5e-324",
        "3.141592653589793238",
    ] {
        for form in 0..ROWS.len() {
            check(number, form);
        }
    }
}

/// The digits belong to a number in its place: not to another one that was put there.
#[test]
fn a_number_that_has_changed_is_written_as_it_is() {
    let check = |written: &str, now: &Value, expected: &str| {
        let value: Value = serde_json::from_str(written).expect("JSON");
        assert_eq!(
            Digits::of(written, &value).expect("JSON").json(now),
            expected,
            "{written}"
        );
    };
    let long = r#"{"a":[0.1000000000000000055,{"b":18446744073709551616}]}"#;
    check(long, &serde_json::from_str(long).expect("JSON"), long);
    check(
        long,
        &json!({"a": [0.2, {"b": 1}]}),
        r#"{"a":[0.2,{"b":1}]}"#,
    );
    check(long, &json!({"a": ["x"]}), r#"{"a":["x"]}"#);
    check(long, &json!({"a": 0.1}), r#"{"a":0.1}"#);
    check(long, &json!({"c": [0.1]}), r#"{"c":[0.1]}"#);
}

/// Without the wish for digits, nothing is kept, and an integer is never another one.
#[test]
fn other_gadgets_have_no_digits() {
    let calc = GadgetSpec {
        parameters: json!({"properties": {"n": {"type": "number"}}}),
        ..GadgetSpec::new("Calc", "")
    };
    let registry = Arc::new(Registry::new([calc]).expect("the name is valid"));
    let near = call("!!!ARG:n\n0.1000000000000000055", &registry);
    assert_eq!(near.parameters, Parameters::Parsed(json!({"n": 0.1})));
    assert!(near.digits.is_empty());
    let large = call("!!!ARG:n\n18446744073709551616", &registry);
    assert!(matches!(large.parameters, Parameters::Malformed(_)));
}

/// Where only integers are meant, a number that is none stays text, which the schema refuses, however near its float is to one.
#[test]
fn an_integer_is_never_another_one() {
    let calc = GadgetSpec {
        parameters: json!({"properties": {"n": {"type": "integer"}}}),
        ..GadgetSpec::new("Calc", "")
    };
    let kept = Registry::compile(calc.clone()).expect("a valid gadget");
    let mut keeping = Registry::default();
    keeping
        .insert(kept.keep_digits())
        .expect("it is the only one");
    let registries = [Registry::new([calc]).expect("the name is valid"), keeping];
    let registries = registries.map(Arc::new);
    let check = |written: &str, expected: Value| {
        for registry in &registries {
            let forms = [
                format!("!!!ARG:n\n{written}"),
                format!("{{\"n\": {written}}}"),
            ];
            for form in forms {
                let arrived = &call(&form, registry).parameters;
                let Parameters::Parsed(arrived) = arrived else {
                    panic!("{form}: {arrived:?}");
                };
                // A JSON body has `3.0` as it is, which is an integer as well.
                let number = arrived["n"].as_f64().filter(|it| it.fract() == 0.0);
                let is_same = arrived["n"] == expected
                    || expected.as_i64().is_some_and(|it| it < 1 << 53)
                        && number == expected.as_f64();
                assert!(is_same, "{form}: {arrived}");
            }
        }
    };
    check("3.0", json!(3));
    check("-0.0", json!(0));
    check("2e3", json!(2000));
    check("9007199254740993.0", json!(9_007_199_254_740_993_i64));
    check("9007199254740993e0", json!(9_007_199_254_740_993_i64));
    check("900719925474099.30e1", json!(9_007_199_254_740_993_i64));
    check("1.8446744073709551615e19", json!(u64::MAX));
    for none in [
        "0.99999999999999999999",
        "4503599627370496.1",
        "1e-400",
        "100000000000000000000.5",
    ] {
        check(none, json!(none));
    }
}
