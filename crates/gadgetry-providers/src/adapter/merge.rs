//! Merges options into defaults.

use serde_json::{Map, Value};

/// Merges `over` into `base`: objects field by field at every level. Other values, lists too, replace those of `base`; a
/// `null` removes the field.
pub(super) fn deep_merge(base: &mut Map<String, Value>, over: Map<String, Value>) {
    for (name, value) in over {
        match (base.get_mut(&name), value) {
            (_, Value::Null) => {
                base.shift_remove(&name);
            }
            (Some(Value::Object(base)), Value::Object(over)) => deep_merge(base, over),
            (_, value) => {
                base.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_merge_at_every_level_and_null_removes() {
        let mut options = json!({"a": {"b": 1, "c": [1, 2]}, "d": 4});
        let over = json!({"a": {"c": [3]}, "d": null});
        if let (Value::Object(base), Value::Object(over)) = (&mut options, over) {
            deep_merge(base, over);
        }
        assert_eq!(options, json!({"a": {"b": 1, "c": [3]}}));
    }
}
