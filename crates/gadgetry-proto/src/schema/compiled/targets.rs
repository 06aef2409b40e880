//! Targets of references, as far as the work of a validator has to be known.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::schema::pointer;

/// Parts of a schema that references may name: anchors, and resources with an `$id` of their own. Most schemas have
/// neither.
#[derive(Default)]
pub(super) struct Targets {
    /// JSON Pointers by the name of the anchor.
    anchors: BTreeMap<String, Vec<String>>,
    /// The last segment of the `$id` and the JSON Pointer of each resource within the schema.
    resources: Vec<(String, String)>,
}

impl Targets {
    pub(super) fn new(schema: &Value) -> Self {
        let mut targets = Self::default();
        targets.visit(schema, &mut String::new());
        targets
    }

    fn visit(&mut self, value: &Value, path: &mut String) {
        let before = path.len();
        match value {
            Value::Object(map) => {
                for keyword in ["$anchor", "$dynamicAnchor"] {
                    if let Some(name) = map.get(keyword).and_then(Value::as_str) {
                        let paths = self.anchors.entry(name.to_owned()).or_default();
                        paths.push(path.clone());
                    }
                }
                if let Some(id) = map.get("$id").and_then(Value::as_str) {
                    let (id, fragment) = id.split_once('#').unwrap_or((id, ""));
                    let name = id.rsplit('/').next().unwrap_or_default();
                    self.resources.push((name.to_owned(), path.clone()));
                    if !fragment.is_empty() {
                        let paths = self.anchors.entry(fragment.to_owned()).or_default();
                        paths.push(path.clone());
                    }
                }
                for (key, value) in map {
                    path.push('/');
                    path.push_str(&pointer::encode(key));
                    self.visit(value, path);
                    path.truncate(before);
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    path.push('/');
                    path.push_str(&index.to_string());
                    self.visit(value, path);
                    path.truncate(before);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Everything that a reference may mean; empty if it leads out of the schema.
    pub(super) fn of<'s>(&self, root: &'s Value, reference: &str) -> Vec<&'s Value> {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let name = base.rsplit('/').next().unwrap_or_default();
        // In order, each once.
        let mut bases: Vec<&str> = Vec::new();
        if base.is_empty() {
            bases.push("");
        }
        let resources = self.resources.iter();
        for (_, path) in resources.filter(|(id, _)| base.is_empty() || id == name) {
            if let Err(at) = bases.binary_search(&path.as_str()) {
                bases.insert(at, path);
            }
        }
        if !fragment.is_empty() && !fragment.starts_with('/') {
            let paths = self.anchors.get(fragment).into_iter().flatten();
            return paths.filter_map(|path| root.pointer(path)).collect();
        }
        let decoded = segments(fragment);
        bases
            .into_iter()
            .filter_map(|base| root.pointer(base)?.pointer(&decoded))
            .collect()
    }
}

/// A fragment as a JSON Pointer.
fn segments(fragment: &str) -> String {
    let mut decoded = String::new();
    for segment in fragment.split('/').skip(1) {
        decoded.push('/');
        decoded.push_str(&pointer::encode(&pointer::decode(&percent_decoded(
            segment,
        ))));
    }
    decoded
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let code = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        if let Some(code) = code.filter(|_| byte == b'%') {
            bytes.push(code);
            rest = &after[2..];
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
