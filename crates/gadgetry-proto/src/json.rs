//! JSON texts: values of them, without what `serde_json` makes of keys of its own; their string literals, replaced without reading
//! the rest; and how deep a value may be nested in them.
//!
//! A saved run has each long text once, and references to it elsewhere. To find and replace them in the text takes one
//! pass with few allocations; a tree of values would take one for every value.

use std::borrow::Cow;
use std::fmt;

use memchr::{memchr, memchr2};
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::limits::JSON_DEPTH;

/// The beginning of keys that mean something to `serde_json`.
///
/// An object with such a key is read by it as another value: `{"$serde_json::private::RawValue": "[1, 2]"}` as `[1, 2]`, whatever limits
/// the text was within, and as an error if its text is not JSON, so that what has it can be written and not read.
pub const RESERVED: &str = "$serde_json::private::";

/// Reads JSON of others as `serde_json` does, but for [reserved](RESERVED) keys, which are errors.
///
/// # Errors
///
/// If the text is not JSON, has more than 127 levels, or has such a key.
///
/// ```
/// use gadgetry_proto::json::read_value;
/// use serde_json::json;
///
/// assert_eq!(read_value(r#"{"a": [1, null]}"#)?, json!({"a": [1, null]}));
/// assert!(read_value(r#"{"$serde_json::private::RawValue": "1"}"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn read_value(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).map(|Literal(value)| value)
}

/// Reads JSON as [`read_value`] does, except that an object at one of these keys stays text, as a string, if it has a number with digits
/// that no value keeps. So the reader of a call has the text of its arguments, with all digits.
///
/// # Errors
///
/// Those of [`read_value`].
///
/// ```
/// use gadgetry_proto::json::read_value_with_texts;
/// use serde_json::json;
///
/// let read = read_value_with_texts(r#"{"input": {"id": 12345678901234567890123}, "n": {"id": 1}}"#, &["input"])?;
/// assert_eq!(read, json!({"input": r#"{"id": 12345678901234567890123}"#, "n": {"id": 1}}));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn read_value_with_texts(text: &str, keys: &[&str]) -> serde_json::Result<Value> {
    if !has_long_number(text) {
        return read_value(text);
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = WithTexts(keys).deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Reads a value with the texts at these keys.
#[derive(Clone, Copy)]
struct WithTexts<'k>(&'k [&'k str]);

impl<'de> DeserializeSeed<'de> for WithTexts<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(LiteralVisitor(self.0))
    }
}

/// The value at a key whose object may stay text.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let written = <&RawValue>::deserialize(deserializer)?.get();
        if written.starts_with('{') && has_long_number(written) {
            // A reserved key is an error here as well.
            read_value(written).map_err(D::Error::custom)?;
            return Ok(Value::from(written));
        }
        read_value(written).map_err(D::Error::custom)
    }
}

/// A value that is what was written.
struct Literal(Value);

impl<'de> Deserialize<'de> for Literal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LiteralVisitor(&[])).map(Self)
    }
}

/// With the keys whose objects may stay text.
struct LiteralVisitor<'k>(&'k [&'k str]);

impl<'de> Visitor<'de> for LiteralVisitor<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(WithTexts(self.0))? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            if key == NUMBER {
                // With the feature `arbitrary_precision` of `serde_json`, each number comes so.
                let digits: String = fields.next_value()?;
                let number = digits.parse().map_err(A::Error::custom)?;
                return Ok(Value::Number(number));
            }
            if key.starts_with(RESERVED) {
                return Err(A::Error::custom("a key of the JSON is reserved"));
            }
            let value = if self.0.contains(&key.as_str()) {
                fields.next_value_seed(Text)?
            } else {
                fields.next_value_seed(WithTexts(self.0))?
            };
            values.insert(key, value);
        }
        Ok(Value::Object(values))
    }
}

/// The key of a number that `serde_json` has not read.
const NUMBER: &str = "$serde_json::private::Number";

/// Returns `true` if a text may have a number that loses digits: one with many, or an exponent after a digit.
pub(crate) fn has_long_number(text: &str) -> bool {
    let mut count = 0;
    let mut bytes = text.bytes();
    bytes.any(|byte| match byte {
        b'0'..=b'9' => {
            count += 1;
            count > SHORT
        }
        b'.' => false,
        b'e' | b'E' => count > 0,
        _ => {
            count = 0;
            false
        }
    })
}

/// Digits of a number that a machine number keeps in any case.
const SHORT: usize = 15;

/// Levels of arrays and objects.
pub(crate) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// A value that a model wrote, as JSON text if it is nested too deep to be kept as a value.
pub(crate) fn bounded(value: Value) -> Value {
    if depth(&value) > JSON_DEPTH {
        return Value::String(serde_json::to_string(&value).unwrap_or_default());
    }
    value
}

/// Replaces string literals of a JSON text, keys included: `replace` gets each with its quotes and escapes, as it is
/// written, and returns another literal, or `None` to leave it.
///
/// The text must be JSON. In any other text, what looks like a literal is one; the last may lack its closing quote.
///
/// # Errors
///
/// The first error of `replace`.
///
/// ```
/// use gadgetry_proto::json::replace_strings;
///
/// let json = r#"{"name": "Ann \"A.\" Lee", "age": 41}"#;
/// let hidden = replace_strings(json, |literal| {
///     Ok::<_, ()>(literal.starts_with("\"Ann").then(|| "\"***\"".to_owned()))
/// });
/// assert_eq!(hidden.unwrap(), r#"{"name": "***", "age": 41}"#);
/// ```
pub fn replace_strings<'j, E>(
    json: &'j str,
    mut replace: impl FnMut(&'j str) -> Result<Option<String>, E>,
) -> Result<Cow<'j, str>, E> {
    let mut replaced = String::new();
    // What is before it is in `replaced`.
    let mut copied = 0;
    let mut at = 0;
    while let Some(before) = memchr(b'"', &json.as_bytes()[at..]) {
        let start = at + before;
        at = end(json.as_bytes(), start);
        if let Some(literal) = replace(&json[start..at])? {
            replaced.push_str(&json[copied..start]);
            replaced.push_str(&literal);
            copied = at;
        }
    }
    if copied == 0 {
        return Ok(Cow::Borrowed(json));
    }
    replaced.push_str(&json[copied..]);
    Ok(Cow::Owned(replaced))
}

/// The end of the literal that begins at `start`.
fn end(json: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = json.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if json[at] == b'"' {
            return at + 1;
        }
        // The character after a backslash is part of it; `\u0041` continues with digits, which end nothing.
        at += 2;
    }
    json.len()
}

/// The text of a string literal; `None` if it is not one.
///
/// ```
/// use gadgetry_proto::json::literal_text;
/// assert_eq!(literal_text(r#""a\nb""#).as_deref(), Some("a\nb"));
/// assert_eq!(literal_text("1"), None);
/// ```
pub fn literal_text(literal: &str) -> Option<Cow<'_, str>> {
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    if memchr2(b'"', b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str(literal).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Changes the texts of a document in its tree.
    fn slow(value: &mut Value, change: &impl Fn(&str) -> Option<String>) {
        let changed = |text: &str| change(text).unwrap_or_else(|| text.to_owned());
        match value {
            Value::String(text) => *text = changed(text),
            Value::Array(items) => items.iter_mut().for_each(|item| slow(item, change)),
            Value::Object(fields) => {
                let old = std::mem::take(fields);
                for (key, mut field) in old {
                    slow(&mut field, change);
                    fields.insert(changed(&key), field);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let text = r#"["\\a-c\u{0}-\u{3}é𝄞/]{0,6}"#;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            text.prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((text, inner), 0..5)
                    .prop_map(|pairs| { Value::Object(pairs.into_iter().collect()) }),
            ]
        })
    }

    #[test]
    fn reserved_keys_are_refused() {
        let check = |text: &str, expected: Option<Value>| {
            assert_eq!(read_value(text).ok(), expected, "{text}");
        };
        let raw = r#"{"$serde_json::private::RawValue": "[1]"}"#;
        check(raw, None);
        check(&raw.replace('$', "\\u0024"), None);
        check(&format!(r#"[{{"a": 1, "b": {raw}}}]"#), None);
        check(r#"{"$serde_json::private::Other": 1}"#, None);
        check(r#"{"$serde_json::private::Number": "x"}"#, None);
        // As a text it means nothing.
        let text = "$serde_json::private::RawValue";
        let value = serde_json::json!({ "a": text });
        check(&value.to_string(), Some(value.clone()));
        check(&"[".repeat(128), None);
    }

    proptest! {
        #[test]
        fn values_are_those_of_serde_json(json in any_json()) {
            let text = json.to_string();
            prop_assert_eq!(read_value(&text).unwrap(), json);
        }

        #[test]
        fn as_in_the_tree(json in any_json()) {
            // No two keys become the same one.
            let change = |text: &str| text.contains('a').then(|| format!("{text}\"\\\n"));
            let text = json.to_string();
            let fast = replace_strings(&text, |literal| {
                let text = literal_text(literal).expect("a literal");
                change(&text).map(|text| serde_json::to_string(&text)).transpose()
            });
            let fast: Value = serde_json::from_str(&fast.unwrap()).unwrap();
            let mut expected = json;
            slow(&mut expected, &change);
            prop_assert_eq!(fast, expected);
        }

        #[test]
        fn any_text_is_left_as_it_is(text in r#"["\\a\u{1}é]{0,12}"#) {
            let same = replace_strings(&text, |literal| Ok::<_, ()>(Some(literal.to_owned())));
            prop_assert_eq!(same.unwrap(), text.as_str());
        }
    }
}
