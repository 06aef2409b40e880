//! Options over defaults.

use serde_json::{Map, Value};

/// Puts `over` over `base`: objects are merged field by field, all the way down; anything else of `over` replaces what
/// was there, lists too. A `null` takes the field away.
///
/// ```
/// use gadgetry::provider::adapter::deep_merge;
/// use gadgetry::serde_json::{Value, json};
/// let mut options = json!({"a": {"b": 1, "c": [1, 2]}, "d": 4});
/// let over = json!({"a": {"c": [3]}, "d": null});
/// if let (Value::Object(base), Value::Object(over)) = (&mut options, over) {
///     deep_merge(base, over);
/// }
/// assert_eq!(options, json!({"a": {"b": 1, "c": [3]}}));
/// ```
pub fn deep_merge(base: &mut Map<String, Value>, over: Map<String, Value>) {
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
