//! Checks whether a value fits a view: the common keywords, without a validator.
//!
//! This decides between readings of one text, so it may admit too much (`pattern`, `format`, `not` are not looked at);
//! whether parameters are valid is the validator's word.

use std::rc::Rc;

use serde_json::Value;

use crate::schema::compiled::expand::Node;
use crate::schema::compiled::expand::find;
use crate::schema::compiled::place::Place;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::view::View;
use crate::schema::compiled::walk::Position;
use crate::schema::compiled::walk::Walk;

/// Steps for one answer. With more, or when those of the walk are used up, the value is taken to fit.
const STEPS: usize = 100_000;

impl View<'_> {
    /// Returns `true` if some alternative admits the value.
    pub(crate) fn fits(&self, value: &Value) -> bool {
        match &self.place {
            Place::Unrestricted => true,
            Place::Plain(node) if !value.is_array() && !value.is_object() => {
                self.place.types().meets(Types::of(value)) && admits(node, value)
            }
            Place::Plain(_) | Place::Walked(_) => {
                Fitting::new(&self.walk).any(&self.place.position(&self.walk), value)
            }
        }
    }

    /// Returns the alternative that admits the value, by its place in [`View::alternatives`]; the first one if there is no other.
    pub(super) fn chosen(&self, value: &Value) -> Option<usize> {
        let alternatives = self.alternatives().count();
        if alternatives < 2 {
            return alternatives.checked_sub(1);
        }
        let position = self.place.position(&self.walk);
        let each = position.each();
        let mut fitting = Fitting::new(&self.walk);
        let chosen = each.iter().position(|one| fitting.one(one, value));
        chosen.filter(|_| !fitting.is_spent)
    }
}

struct Fitting<'w, 'a> {
    walk: &'w Walk<'a>,
    left: usize,
    is_spent: bool,
}

impl<'w, 'a> Fitting<'w, 'a> {
    fn new(walk: &'w Walk<'a>) -> Self {
        Self {
            walk,
            left: STEPS,
            is_spent: false,
        }
    }

    fn any(&mut self, place: &Rc<Position<'a>>, value: &Value) -> bool {
        let each = place.each();
        each.is_empty() || each.iter().any(|one| self.one(one, value))
    }

    fn one(&mut self, one: &Rc<Position<'a>>, value: &Value) -> bool {
        self.left = self.left.saturating_sub(1);
        self.is_spent |= self.left == 0 || !self.walk.spend(1);
        if self.is_spent {
            return true;
        }
        let mut nodes = one.forms.alternatives.iter().flatten();
        if !one.types().meets(Types::of(value)) || !nodes.all(|node| admits(node, value)) {
            return false;
        }
        match value {
            Value::Array(items) => items.iter().enumerate().all(|(index, item)| {
                let place = self.walk.item_of(one, index);
                place.is_some_and(|place| self.any(&place, item))
            }),
            Value::Object(map) => {
                let mut fits = |key: &str, value: &Value| {
                    let place = self.walk.property_of(one, key);
                    place.is_some_and(|place| self.any(&place, value))
                };
                // What names the form of a union is a scalar. It is looked at first, so that the forms that it rules
                // out are not followed to the end, each within each.
                let (containers, scalars): (Vec<_>, Vec<_>) = map
                    .iter()
                    .partition(|(_, value)| value.is_array() || value.is_object());
                scalars
                    .into_iter()
                    .chain(containers)
                    .all(|(key, value)| fits(key, value))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        }
    }
}

/// Returns `true` if a node admits the value, children apart, whatever its type.
fn admits(node: Node<'_>, value: &Value) -> bool {
    listed(node, value) && sized(node, value)
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
                && required.into_iter().all(|key| find(map, key).is_some())
        }
        Value::Null | Value::Bool(_) => true,
    }
}
