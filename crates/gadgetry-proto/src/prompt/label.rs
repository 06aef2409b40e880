//! The word for what kind of value goes to a place.

use serde_json::{Map, Value};

use crate::prompt::field;
use crate::prompt::flat::{Flat, Resolver, Trail};

impl Resolver<'_> {
    /// Returns the kind of value at `pointer`: `string`, `array of object`, `one of a | b`, `integer or null`.
    pub(super) fn label(&self, flat: &Flat, pointer: &str, trail: &mut Trail) -> String {
        let mut label = self.label_without_null(flat, pointer, trail);
        if flat.nullable {
            label.push_str(" or null");
        }
        label
    }

    fn label_without_null(&self, flat: &Flat, pointer: &str, trail: &mut Trail) -> String {
        if let Some(begun) = &flat.same_as {
            return match begun.as_str() {
                "" => "object like all parameters together".to_owned(),
                begun => format!("same as {begun}"),
            };
        }
        if let Some(values) = field::fixed_values(&flat.keywords) {
            return values;
        }
        let kinds = field::kinds(&flat.keywords);
        if kinds.is_empty() {
            return self.alternatives_label(&flat.alternatives, pointer, trail);
        }
        let labels = kinds
            .iter()
            .map(|kind| self.kind_label(kind, &flat.keywords, pointer, trail));
        labels.collect::<Vec<_>>().join(" or ")
    }

    fn alternatives_label(&self, options: &[Value], pointer: &str, trail: &mut Trail) -> String {
        let mut labels: Vec<String> = Vec::new();
        let mut constants: Vec<Value> = Vec::new();
        for schema in options {
            let before = trail.len();
            let option = self.flatten(schema, pointer, trail);
            constants.extend(option.keywords.get("const").cloned());
            let label = self.label(&option, pointer, trail);
            trail.truncate(before);
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        if labels.is_empty() {
            "any value".to_owned()
        } else if constants.len() == options.len() {
            format!("one of {}", field::show_all(&constants))
        } else {
            labels.join(" or ")
        }
    }

    /// A kind, with the kind of what it holds if that says something.
    fn kind_label(
        &self,
        kind: &str,
        keywords: &Map<String, Value>,
        pointer: &str,
        trail: &mut Trail,
    ) -> String {
        let (prefix, held) = match kind {
            "array" if !field::tuple_items(keywords).is_empty() => return "tuple".to_owned(),
            "array" => ("array", keywords.get("items")),
            "object" if !keywords.contains_key("properties") => {
                ("map", keywords.get("additionalProperties"))
            }
            _ => return kind.to_owned(),
        };
        let Some(schema) = held.filter(|schema| schema.is_object()) else {
            return kind.to_owned();
        };
        let before = trail.len();
        let held = self.flatten(schema, pointer, trail);
        trail.truncate(before);
        let kinds = field::kinds(&held.keywords);
        if kinds.is_empty() || held.same_as.is_some() {
            prefix.to_owned()
        } else {
            format!("{prefix} of {}", kinds.join(" or "))
        }
    }
}
