//! Whether a value fits a view: the common keywords, checked without a validator.
//!
//! This decides between readings of one text, so it may admit too much (`pattern`, `format`, `not` are not looked at);
//! whether parameters are valid is the validator's word.

use serde_json::Value;

use crate::spec::schema::expand::Node;
use crate::spec::schema::expand::find;
use crate::spec::schema::types::Types;
use crate::spec::schema::view::View;
use crate::spec::schema::view::types;

/// Nodes looked at for one answer; with more, the value is taken to fit.
const STEPS: usize = 100_000;

impl<'a> View<'a> {
    /// Whether some alternative admits the value.
    pub(crate) fn fits(&self, value: &Value) -> bool {
        self.fits_any(value, &mut { STEPS })
    }

    /// Whether one alternative admits the value.
    pub(super) fn fits_alternative(&self, alternative: &[Node<'a>], value: &Value) -> bool {
        self.fits_one(alternative, value, &mut { STEPS })
    }

    fn fits_any(&self, value: &Value, steps: &mut usize) -> bool {
        let each = self.alternatives();
        each.is_empty()
            || each
                .iter()
                .any(|alternative| self.fits_one(alternative, value, steps))
    }

    fn fits_one(&self, alternative: &[Node<'a>], value: &Value, steps: &mut usize) -> bool {
        if *steps == 0 {
            return true;
        }
        *steps -= 1;
        if !types(alternative).meets(Types::of(value))
            || !alternative
                .iter()
                .all(|node| listed(node, value) && sized(node, value))
        {
            return false;
        }
        match value {
            Value::Array(items) => items.iter().enumerate().all(|(index, item)| {
                let view = self.item_of(alternative, index);
                view.is_some_and(|view| view.fits_any(item, steps))
            }),
            Value::Object(map) => map.iter().all(|(key, value)| {
                let view = self.property_of(alternative, key);
                view.is_some_and(|view| view.fits_any(value, steps))
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        }
    }
}

fn listed(node: Node<'_>, value: &Value) -> bool {
    let options = find(node, "enum").and_then(Value::as_array);
    find(node, "const").is_none_or(|constant| same(constant, value))
        && options.is_none_or(|options| options.iter().any(|option| same(option, value)))
}

fn same(left: &Value, right: &Value) -> bool {
    left == right
        || left
            .as_f64()
            .is_some_and(|float| Some(float) == right.as_f64())
}

fn sized(node: Node<'_>, value: &Value) -> bool {
    let bound = |keyword: &str| find(node, keyword).and_then(Value::as_f64);
    let within = |size: usize, min: &str, max: &str| {
        #[expect(clippy::cast_precision_loss, reason = "no text or array is 2^52 long")]
        let size = size as f64;
        bound(min).is_none_or(|min| size >= min) && bound(max).is_none_or(|max| size <= max)
    };
    match value {
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            bound("minimum").is_none_or(|min| number >= min)
                && bound("maximum").is_none_or(|max| number <= max)
                && bound("exclusiveMinimum").is_none_or(|min| number > min)
                && bound("exclusiveMaximum").is_none_or(|max| number < max)
                && bound("multipleOf").is_none_or(|step| (number / step).fract() == 0.0)
        }
        Value::String(text) => within(text.chars().count(), "minLength", "maxLength"),
        Value::Array(items) => within(items.len(), "minItems", "maxItems"),
        Value::Object(map) => {
            let required = find(node, "required").and_then(Value::as_array);
            let required = required.into_iter().flatten().filter_map(Value::as_str);
            within(map.len(), "minProperties", "maxProperties")
                && required.into_iter().all(|key| map.contains_key(key))
        }
        Value::Null | Value::Bool(_) => true,
    }
}
