//! Comparison of the calls of a reply with the expected ones: the rules of BFCL's check of syntax trees.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A call that a reply has made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Made {
    pub(super) name: String,
    /// Parameters of the call, or why it cannot be executed.
    pub(super) parameters: Result<Value, String>,
}

/// A call that is expected.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expected {
    pub(super) name: String,
    /// For each parameter the values that are right. `null` and `""` mean that it may be left out.
    pub(super) values: BTreeMap<String, Vec<Value>>,
}

/// The verdict on a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are the columns of a table"
)]
pub(super) struct Verdict {
    /// A call was made.
    pub(super) called: bool,
    /// All that were made can be executed.
    pub(super) valid: bool,
    /// The tools are those that are expected, and no others.
    pub(super) tool: bool,
    /// Everything is right. Where no call is expected, none was made.
    pub(super) right: bool,
}

/// Compares the calls with those that are expected, in any order. `schemas` are those of the tools.
pub(super) fn score(
    expected: &[Expected],
    made: &[Made],
    schemas: &BTreeMap<String, Value>,
) -> Verdict {
    let names = |all: &mut dyn Iterator<Item = &str>| {
        let mut names: Vec<String> = all.map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let called = !made.is_empty();
    let is_tool = names(&mut made.iter().map(|it| it.name.as_str()))
        == names(&mut expected.iter().map(|it| it.name.as_str()));
    let valid = called && made.iter().all(|it| it.parameters.is_ok());
    let mut open: Vec<&Expected> = expected.iter().collect();
    let is_matched = |call: &Made| {
        let found = open.iter().position(|it| is_right(it, call, schemas));
        found.map(|at| open.swap_remove(at)).is_some()
    };
    let right = made.len() == expected.len() && made.iter().all(is_matched);
    Verdict {
        called,
        valid,
        tool: called && is_tool,
        right,
    }
}

fn is_right(expected: &Expected, made: &Made, schemas: &BTreeMap<String, Value>) -> bool {
    let Ok(Value::Object(parameters)) = &made.parameters else {
        return false;
    };
    let schema = schemas.get(&made.name).unwrap_or(&Value::Null);
    let is_expected = |(name, value): (&String, &Value)| {
        let options = expected.values.get(name);
        options.is_some_and(|it| fits_one(value, it, &schema["properties"][name]))
    };
    made.name == expected.name
        && parameters.iter().all(is_expected)
        && are_complete(parameters, &expected.values)
}

fn are_complete(parameters: &Map<String, Value>, values: &BTreeMap<String, Vec<Value>>) -> bool {
    let mut all = values.iter();
    all.all(|(name, options)| parameters.contains_key(name) || options.iter().any(is_absence))
}

/// Returns whether the parameter may be left out.
fn is_absence(option: &Value) -> bool {
    option.is_null() || option == ""
}

fn fits_one(value: &Value, options: &[Value], schema: &Value) -> bool {
    // An integer of which the model has written decimals is another value to this leaderboard.
    let is_integer = schema["type"] == "integer";
    let has_kind = !is_integer || !value.is_f64();
    let has_items = !value.is_array()
        || schema["items"]["type"] != "number"
        || options.iter().any(|it| are_numbers_of(value, it));
    has_kind && has_items && options.iter().any(|option| fits(value, option))
}

/// Returns whether the items are decimals, or of the type that those of the answer have.
fn are_numbers_of(value: &Value, answer: &Value) -> bool {
    let items = |it: &Value| it.as_array().cloned().unwrap_or_default();
    let of_answer = items(answer).first().is_some_and(|it| !it.is_f64());
    items(value).iter().all(|it| it.is_f64() || of_answer)
}

/// Returns whether a value is the expected one.
///
/// A text counts without case, blanks and punctuation; in an object that is expected, each key has a list of values.
fn fits(value: &Value, option: &Value) -> bool {
    match (value, option) {
        (Value::String(one), Value::String(other)) => plain(one) == plain(other),
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| fits(one, other))
        }
        (Value::Object(one), Value::Object(other)) => one == other || are_fields(one, other),
        _ => value == option,
    }
}

fn are_fields(value: &Map<String, Value>, options: &Map<String, Value>) -> bool {
    let all = options.iter();
    let all: Option<BTreeMap<&String, &Vec<Value>>> =
        all.map(|(key, it)| Some((key, it.as_array()?))).collect();
    let Some(all) = all else {
        return false;
    };
    let is_expected = |(key, value): (&String, &Value)| {
        all.get(key)
            .is_some_and(|options| options.iter().any(|option| fits(value, option)))
    };
    let is_complete = |(key, options): (&&String, &&Vec<Value>)| {
        value.contains_key(*key) || options.iter().any(is_absence)
    };
    value.iter().all(is_expected) && all.iter().all(is_complete)
}

/// A text without what does not count.
fn plain(text: &str) -> String {
    let counts = |c: &char| !matches!(c, ' ' | ',' | '.' | '/' | '-' | '_' | '*' | '^');
    let kept: String = text.chars().filter(counts).collect();
    kept.to_lowercase().replace('\'', "\"")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn expected(calls: &Value) -> Vec<Expected> {
        let of = |call: &Value| {
            let (name, values) = call.as_object()?.iter().next()?;
            Some(Expected {
                name: name.clone(),
                values: serde_json::from_value(values.clone()).ok()?,
            })
        };
        let calls = calls.as_array().expect("a list");
        calls.iter().map(|it| of(it).expect("a call")).collect()
    }

    /// The verdict as a word: `-` no call, then one letter for each column that is true.
    #[track_caller]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "rows are easier to read without references"
    )]
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a text is an error, and anything else parameters"
    )]
    fn check(schema: Value, right: Value, made: Value, word: &str) {
        let schemas = ["a", "b"].map(|it| (it.to_owned(), json!({ "properties": schema })));
        let of = |call: &Value| Made {
            name: call[0].as_str().expect("a name").to_owned(),
            parameters: match &call[1] {
                Value::String(error) => Err(error.clone()),
                parameters => Ok(parameters.clone()),
            },
        };
        let made: Vec<Made> = made.as_array().expect("calls").iter().map(of).collect();
        let verdict = score(&expected(&right), &made, &schemas.into());
        let columns = [
            (verdict.called, 'c'),
            (verdict.valid, 'v'),
            (verdict.tool, 't'),
            (verdict.right, 'r'),
        ];
        let found: String = columns
            .iter()
            .map(|(is, letter)| if *is { *letter } else { '-' })
            .collect();
        assert_eq!(found, word, "{right} {made:?}");
    }

    #[test]
    fn calls_and_tools() {
        let n = json!({ "n": { "type": "integer" } });
        let check = |right: Value, made: Value, word| check(n.clone(), right, made, word);
        let five = json!([{ "a": { "n": [5] } }]);
        check(five.clone(), json!([]), "----");
        check(five.clone(), json!([["a", { "n": 5 }]]), "cvtr");
        check(five.clone(), json!([["a", { "n": 6 }]]), "cvt-");
        check(five.clone(), json!([["b", { "n": 5 }]]), "cv--");
        check(five.clone(), json!([["a", "no number"]]), "c-t-");
        check(
            five.clone(),
            json!([["a", { "n": 5 }], ["a", { "n": 5 }]]),
            "cvt-",
        );
        check(five.clone(), json!([["a", { "n": 5 }], ["b", {}]]), "cv--");
        // Nothing is to be called.
        check(json!([]), json!([]), "---r");
        check(json!([]), json!([["a", { "n": 5 }]]), "cv--");
        // Any order, each once.
        let both = json!([{ "a": { "n": [1] } }, { "a": { "n": [2] } }]);
        check(
            both.clone(),
            json!([["a", { "n": 2 }], ["a", { "n": 1 }]]),
            "cvtr",
        );
        check(
            both.clone(),
            json!([["a", { "n": 1 }], ["a", { "n": 1 }]]),
            "cvt-",
        );
        check(both.clone(), json!([["a", { "n": 1 }]]), "cvt-");
        check(both, json!([["a", { "n": 1 }], ["a", "cut"]]), "c-t-");
        check(
            json!([{ "a": { "n": [1] } }, { "b": {} }]),
            json!([["b", {}], ["a", { "n": 1 }]]),
            "cvtr",
        );
    }

    #[test]
    fn values_are_compared_by_their_declared_types() {
        let schema = json!({
            "n": { "type": "integer" }, "d": { "type": "number" }, "t": { "type": "string" },
            "w": { "type": "array", "items": { "type": "string" } }, "x": { "type": "array", "items": { "type": "number" } },
            "o": { "type": "object" }, "l": { "type": "array", "items": { "type": "object" } },
        });
        let check = |right: Value, made: Value, is_right: bool| {
            let word = if is_right { "cvtr" } else { "cvt-" };
            check(
                schema.clone(),
                json!([{ "a": right }]),
                json!([["a", made]]),
                word,
            );
        };
        check(json!({ "n": [5] }), json!({ "n": 5.0 }), false);
        check(json!({ "n": [5] }), json!({ "n": true }), false);
        check(json!({ "n": [5] }), json!({}), false);
        check(json!({ "n": [5, ""] }), json!({}), true);
        check(json!({ "n": [5, null] }), json!({}), true);
        check(json!({ "n": [5] }), json!({ "n": 5, "t": "x" }), false);
        check(json!({ "n": [5, 6] }), json!({ "n": 6 }), true);
        check(json!({ "d": [5.0] }), json!({ "d": 5 }), true);
        check(json!({ "d": [0.5] }), json!({ "d": "0.5" }), false);
        check(
            json!({ "t": ["New York, NY"] }),
            json!({ "t": "new york ny" }),
            true,
        );
        check(json!({ "t": ["it's"] }), json!({ "t": "it\"s" }), true);
        check(json!({ "t": ["Rome"] }), json!({ "t": "Paris" }), false);
        check(
            json!({ "w": [["a b", "c"]] }),
            json!({ "w": ["A-B", "c"] }),
            true,
        );
        check(
            json!({ "w": [["a", "c"]] }),
            json!({ "w": ["c", "a"] }),
            false,
        );
        check(json!({ "w": [["a"]] }), json!({ "w": "a" }), false);
        check(json!({ "w": [["a"]] }), json!({ "w": [1] }), false);
        check(
            json!({ "x": [[1.5, 2.0]] }),
            json!({ "x": [1.5, 2.0] }),
            true,
        );
        check(
            json!({ "x": [[1.5, 2.0]] }),
            json!({ "x": [1.5, 2] }),
            false,
        );
        check(json!({ "x": [[1, 2]] }), json!({ "x": [1, 2] }), true);
        let thing = json!({ "o": [{ "k": ["v"], "p": [1, null] }] });
        check(thing.clone(), json!({ "o": { "k": "V" } }), true);
        check(thing.clone(), json!({ "o": { "k": "v", "p": 1 } }), true);
        check(thing.clone(), json!({ "o": { "k": "v", "q": 1 } }), false);
        check(thing, json!({ "o": {} }), false);
        let nested = json!({ "o": [{ "k": [{ "m": ["x", "y"] }] }] });
        check(nested.clone(), json!({ "o": { "k": { "m": "Y" } } }), true);
        check(nested, json!({ "o": { "k": { "m": "z" } } }), false);
        let list = json!({ "l": [[{ "k": [1] }, { "k": [2, 3] }]] });
        check(list.clone(), json!({ "l": [{ "k": 1 }, { "k": 3 }] }), true);
        check(list, json!({ "l": [{ "k": 1 }] }), false);
    }
}
