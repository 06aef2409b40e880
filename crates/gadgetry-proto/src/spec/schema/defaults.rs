//! Fills in the defaults of absent properties, and finds those that do not fit.

use std::collections::VecDeque;

use serde_json::Map;
use serde_json::Value;

use crate::spec::schema::Problem;
use crate::spec::schema::Schema;
use crate::spec::schema::Types;
use crate::spec::schema::expand::find;
use crate::spec::schema::view::View;

/// Objects in objects whose defaults are looked at.
const DEEP: usize = 4;
/// Objects whose defaults are looked at.
const OBJECTS: usize = 100;

/// A default that its own schema does not admit.
pub(crate) struct WrongDefault {
    /// The dotted path of the property.
    pub(crate) parameter: String,
    pub(crate) problem: Problem,
}

/// The first default that does not fit, the outer ones first.
pub(super) fn wrong(schema: &Schema) -> Option<WrongDefault> {
    let mut places: VecDeque<(Vec<&str>, View<'_>)> = VecDeque::from([(Vec::new(), schema.root())]);
    for _ in 0..OBJECTS {
        let (path, view) = places.pop_front()?;
        if let Some(wrong) = wrong_at(schema, &path) {
            return Some(wrong);
        }
        if path.len() < DEEP {
            for key in view.declared() {
                let below = view.property(key);
                if below.types().meets(Types::OBJECT) && below.declared().next().is_some() {
                    let path = path.iter().copied().chain([key.as_str()]).collect();
                    places.push_back((path, below));
                }
            }
        }
    }
    None
}

/// A wrong default in the object at `path`.
fn wrong_at(schema: &Schema, path: &[&str]) -> Option<WrongDefault> {
    let wrap = |value, key: &&str| Value::Object(Map::from_iter([((*key).to_owned(), value)]));
    let mut parameters = path.iter().rev().fold(Value::Object(Map::new()), wrap);
    apply(&schema.root(), &mut parameters);
    let object = path
        .iter()
        .try_fold(&parameters, |value, key| value.get(key))?;
    // Whatever is in the object now is a default.
    let mut defaults = object.as_object()?.keys().map(|key| {
        let path: Vec<&str> = path.iter().copied().chain([key.as_str()]).collect();
        path.join(".")
    });
    let problems = schema.validate(&parameters);
    defaults.find_map(|parameter| {
        let mut problems = problems.iter();
        let problem = problems.find(|problem| {
            let rest = problem.pointer.strip_prefix(&parameter);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })?;
        Some(WrongDefault {
            problem: problem.clone(),
            parameter,
        })
    })
}

pub(super) fn apply(view: &View<'_>, value: &mut Value) {
    match value {
        Value::Object(map) => {
            // Of several alternatives, only the one that the parameters chose has a say.
            let alternatives = view.alternatives();
            let chosen = if let [only] = alternatives {
                Some(only)
            } else {
                let whole = Value::Object(std::mem::take(map));
                let mut each = alternatives.iter();
                let chosen = each.find(|one| view.fits_alternative(one, &whole));
                if let Value::Object(taken) = whole {
                    *map = taken;
                }
                chosen
            };
            let nodes = chosen.into_iter().flatten();
            let properties = nodes.filter_map(|node| find(node, "properties")?.as_object());
            for (key, property) in properties.flatten() {
                if !map.contains_key(key)
                    && let Some(default) = default(view, key, property)
                {
                    map.insert(key.clone(), default);
                }
            }
            for (key, value) in map.iter_mut().filter(|(_, value)| may_lack(value)) {
                apply(&view.property(key), value);
            }
        }
        Value::Array(items) => {
            let items = items.iter_mut().enumerate();
            for (index, item) in items.filter(|(_, item)| may_lack(item)) {
                apply(&view.item(index), item);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether properties may be absent in it. The rest needs no look at the schema.
fn may_lack(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

/// The default of a property: its own, or one behind a reference.
fn default(view: &View<'_>, key: &str, property: &Value) -> Option<Value> {
    if let Some(default) = property.get("default") {
        return Some(default.clone());
    }
    let property = view.property(key);
    let [only] = property.alternatives() else {
        return None;
    };
    only.iter().find_map(|node| find(node, "default")).cloned()
}
