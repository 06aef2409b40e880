//! Fills in the defaults of absent properties.

use serde_json::Value;

use crate::spec::schema::expand::find;
use crate::spec::schema::view::View;

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
