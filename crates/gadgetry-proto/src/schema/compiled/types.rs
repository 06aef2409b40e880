//! The types of JSON Schema as a set.

use std::ops::BitAnd;
use std::ops::BitOr;
use std::ops::Not;

use serde_json::Map;
use serde_json::Value;

use crate::schema::compiled::expand::find;

/// A set of JSON types. `number` is every number; `integer` is the part of it without a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Types(u8);

impl Types {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const STRING: Self = Self(1);
    pub(crate) const INTEGER: Self = Self(1 << 1);
    pub(crate) const FRACTION: Self = Self(1 << 2);
    pub(crate) const NUMBER: Self = Self(Self::INTEGER.0 | Self::FRACTION.0);
    pub(crate) const BOOLEAN: Self = Self(1 << 3);
    pub(crate) const ARRAY: Self = Self(1 << 4);
    pub(crate) const OBJECT: Self = Self(1 << 5);
    pub(crate) const NULL: Self = Self(1 << 6);
    pub(crate) const ALL: Self = Self((1 << 7) - 1);

    /// Returns `true` if the sets have a member in common.
    pub(crate) fn meets(self, other: Self) -> bool {
        self & other != Self::NONE
    }

    /// The type of a value.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) => match number.as_f64() {
                Some(float) if float.fract() != 0.0 => Self::FRACTION,
                Some(_) | None => Self::INTEGER,
            },
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// The type of a value that a schema lists. A float beyond 2^53 is not meant as an integer: its digits are not all known.
    fn of_listed(value: &Value) -> Self {
        const EXACT: f64 = 9_007_199_254_740_992.0;

        match value.as_f64().filter(|_| value.is_f64()) {
            Some(float) if float.abs() > EXACT => Self::NUMBER,
            Some(_) | None => Self::of(value),
        }
    }

    /// Returns the types that `type`, `const` and `enum` of a subschema admit; `None` if it has none of them.
    pub(crate) fn declared(node: &Map<String, Value>) -> Option<Self> {
        let by_type = find(node, "type").map(|names| match names {
            Value::Array(names) => names
                .iter()
                .fold(Self::NONE, |types, name| types | Self::named(name)),
            Value::String(_) => Self::named(names),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Self::ALL,
        });
        let by_value = find(node, "const").map(Self::of_listed).or_else(|| {
            let options = find(node, "enum")?.as_array()?;
            Some(
                options
                    .iter()
                    .fold(Self::NONE, |types, option| types | Self::of_listed(option)),
            )
        });
        match (by_type, by_value) {
            (Some(left), Some(right)) => Some(left & right),
            (types, None) | (None, types) => types,
        }
    }

    /// Returns the types that a subschema without declared types is probably about, judged by its other keywords.
    pub(crate) fn implied(node: &Map<String, Value>) -> Option<Self> {
        let has = |keywords: &[&str]| keywords.iter().any(|keyword| find(node, keyword).is_some());
        if has(&[
            "properties",
            "patternProperties",
            "additionalProperties",
            "required",
        ]) {
            Some(Self::OBJECT)
        } else if has(&["items", "prefixItems"]) {
            Some(Self::ARRAY)
        } else {
            None
        }
    }

    /// The names of the members, as JSON Schema writes them, joined by ` or `.
    pub(crate) fn names(self) -> String {
        let numbers = if self.meets(Self::FRACTION) {
            "number"
        } else {
            "integer"
        };
        let mut names = Vec::new();
        for (types, name) in [
            (Self::STRING, "string"),
            (Self::NUMBER, numbers),
            (Self::BOOLEAN, "boolean"),
            (Self::ARRAY, "array"),
            (Self::OBJECT, "object"),
            (Self::NULL, "null"),
        ] {
            if self.meets(types) {
                names.push(name);
            }
        }
        names.join(" or ")
    }

    fn named(name: &Value) -> Self {
        match name.as_str() {
            Some("string") => Self::STRING,
            Some("number") => Self::NUMBER,
            Some("integer") => Self::INTEGER,
            Some("boolean") => Self::BOOLEAN,
            Some("array") => Self::ARRAY,
            Some("object") => Self::OBJECT,
            Some("null") => Self::NULL,
            Some(_) | None => Self::ALL,
        }
    }
}

impl BitOr for Types {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Not for Types {
    type Output = Self;

    fn not(self) -> Self {
        Self(!self.0 & Self::ALL.0)
    }
}

impl BitAnd for Types {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}
