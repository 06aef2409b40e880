//! Keys in the environment: `GADGETRY_MODEL` for `model`.

use std::env;

use serde_json::Value as Json;

use super::keys::Keys;
use super::layer::Layer;
use crate::error::Error;
use crate::options::{Setting, Source};

/// The variable of a key.
pub(crate) fn variable(key: &str) -> String {
    format!("GADGETRY_{}", key.to_uppercase().replace('-', "_"))
}

/// The value of the variable of a key; an empty one counts as unset.
pub(crate) fn value(key: &str) -> Result<Option<String>, Error> {
    let name = variable(key);
    let Some(value) = env::var_os(&name).filter(|it| !it.is_empty()) else {
        return Ok(None);
    };
    let value = value.into_string();
    let value = value.map_err(|_| Error::at(&name, "the value is not UTF-8"));
    value.map(Some)
}

/// The keys that are set in the environment.
pub(crate) fn layer(keys: &Keys) -> Result<Layer, Error> {
    let mut layer = Layer::default();
    for name in keys.names(None) {
        let Some(text) = value(name)? else {
            continue;
        };
        let source = Source::Variable(variable(name));
        let verbs = keys.verbs(None, name);
        let value = keys.read_text(&verbs, name, &text);
        if let Some(value) = value.map_err(|problem| source.error(problem))? {
            let setting = Setting {
                value,
                written: Json::String(text),
                source,
            };
            layer.shared.insert(name, setting);
        }
    }
    Ok(layer)
}
