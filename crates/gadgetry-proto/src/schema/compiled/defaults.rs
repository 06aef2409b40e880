//! Fills in the defaults of absent properties, and finds those that do not fit.

use std::collections::BTreeMap;
use std::collections::VecDeque;

use serde_json::Map;
use serde_json::Value;

use crate::schema::compiled::core::Core;
use crate::schema::compiled::cost;
use crate::schema::compiled::expand::find;
#[cfg(feature = "engine")]
use crate::schema::compiled::problem::Problem;
#[cfg(feature = "engine")]
use crate::schema::compiled::report;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::view::View;
use crate::schema::count;

/// Objects in objects whose defaults are looked at.
const DEEP: usize = 4;
/// Objects whose defaults are looked at.
const OBJECTS: usize = 100;

/// Defaults that hold each other.
const NESTED: usize = 32;
/// Steps for each node of a value that is filled in, or of a default.
const STEPS_PER_NODE: usize = 16;

/// A default that its own schema does not admit.
#[cfg(feature = "engine")]
pub(crate) struct WrongDefault {
    /// The dotted path of the property.
    pub(crate) parameter: String,
    pub(crate) problem: Problem,
}

/// The first default that does not fit, the outer ones first.
#[cfg(feature = "engine")]
pub(super) fn wrong(core: &Core) -> Option<WrongDefault> {
    let mut places: VecDeque<(Vec<&str>, View<'_>)> =
        VecDeque::from([(Vec::new(), View::new(core))]);
    for _ in 0..OBJECTS {
        let (path, view) = places.pop_front()?;
        if let Some(wrong) = wrong_at(core, &path) {
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
#[cfg(feature = "engine")]
fn wrong_at(core: &Core, path: &[&str]) -> Option<WrongDefault> {
    let wrap = |value, key: &&str| Value::Object(Map::from_iter([((*key).to_owned(), value)]));
    let mut parameters = path.iter().rev().fold(Value::Object(Map::new()), wrap);
    if !apply(&View::new(core), &mut parameters) {
        return Some(WrongDefault {
            parameter: path.join("."),
            problem: Problem::of_all(cost::DEFAULTS),
        });
    }
    let object = path
        .iter()
        .try_fold(&parameters, |value, key| value.get(key))?;
    // Whatever is in the object now is a default.
    let mut defaults = object.as_object()?.keys().map(|key| {
        let path: Vec<&str> = path.iter().copied().chain([key.as_str()]).collect();
        path.join(".")
    });
    let problems = report::problems(core, &parameters);
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

/// Fills in the defaults. Returns whether all of them are in: filling in ends where the budget does.
pub(super) fn apply(view: &View<'_>, value: &mut Value) -> bool {
    view.walk.allow(count(value).saturating_mul(STEPS_PER_NODE));
    Filling { within: Vec::new() }.fill(view, value)
}

struct Filling {
    /// The properties whose defaults hold the place that is being filled. A default that holds itself, as in
    /// `{"properties": {"n": {"$ref": "#", "default": {}}}}`, is put in once.
    within: Vec<*const Value>,
}

impl Filling {
    fn fill(&mut self, view: &View<'_>, value: &mut Value) -> bool {
        if !view.walk.spend(1) {
            return false;
        }
        match value {
            Value::Object(map) => self.fill_object(view, map),
            Value::Array(items) => {
                let mut items = items.iter_mut().enumerate();
                items.all(|(index, item)| !may_lack(item) || self.fill(&view.item(index), item))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        }
    }

    fn fill_object(&mut self, view: &View<'_>, map: &mut Map<String, Value>) -> bool {
        // Of several alternatives, only the one that the parameters chose has a say.
        let whole = Value::Object(std::mem::take(map));
        let chosen = view.chosen(&whole);
        if let Value::Object(taken) = whole {
            *map = taken;
        }
        let form = chosen.and_then(|at| view.alternatives().nth(at));
        let nodes = form.into_iter().flatten();
        let properties = nodes.filter_map(|node| find(node, "properties")?.as_object());
        let mut added = BTreeMap::new();
        for (key, property) in properties.flatten() {
            let address = std::ptr::from_ref(property);
            if find(map, key).is_some() || self.within.contains(&address) {
                continue;
            }
            let Some(default) = default(view, key, property) else {
                continue;
            };
            if !view
                .walk
                .spend(count(default).saturating_mul(STEPS_PER_NODE))
            {
                return false;
            }
            map.insert(key.clone(), default.clone());
            if may_lack(default) {
                added.insert(key.as_str(), address);
            }
        }
        for (key, value) in map.iter_mut().filter(|(_, value)| may_lack(value)) {
            let below = view.property(key);
            let added = added.get(key.as_str());
            if added.is_some() && self.within.len() == NESTED {
                return false;
            }
            self.within.extend(added);
            let done = self.fill(&below, value);
            if added.is_some() {
                self.within.pop();
            }
            if !done {
                return false;
            }
        }
        true
    }
}

/// Returns `true` if properties may be absent in a value. Other values need no look at the schema.
fn may_lack(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

/// The default of a property: its own, or one that a reference leads to.
fn default<'a>(view: &View<'a>, key: &str, property: &'a Value) -> Option<&'a Value> {
    if let Some(default) = property.as_object().and_then(|node| find(node, "default")) {
        return Some(default);
    }
    let property = view.property(key);
    let mut alternatives = property.alternatives();
    let (Some(only), None) = (alternatives.next(), alternatives.next()) else {
        return None;
    };
    only.iter().find_map(|node| find(node, "default"))
}
