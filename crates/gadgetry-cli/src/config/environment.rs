//! Keys in the environment: `GADGETRY_MODEL` for `model`.

use std::env;

use gadgetry::proto::schema::closest;
use serde_json::Value as Json;

use super::keys::Keys;
use super::layer::Layer;
use crate::error::Error;
use crate::options::{Setting, Source};

/// The beginning of the names of our variables.
const PREFIX: &str = "GADGETRY_";

/// Other variables that mean something, without the beginning: the log of diagnostics, completion, the user's file, the profile, and
/// those that programs get from us.
const OTHERS: [&str; 6] = [
    "COMPLETE",
    "CONFIG",
    "FILE",
    "IDEMPOTENCY_KEY",
    "LOG",
    "PROFILE",
];

/// The variable of a key.
pub(crate) fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.to_uppercase().replace('-', "_"))
}

/// Variables that are set and mean nothing, but nearly have the name of one that does, with that name.
pub(crate) fn misspelt(keys: &Keys) -> Vec<(String, String)> {
    let set = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let set = set.filter(|name| name.starts_with(PREFIX));
    let mut misspelt: Vec<(String, String)> = set.filter_map(|name| near(&name, keys)).collect();
    misspelt.sort_unstable();
    misspelt
}

/// A variable with the name that was meant; `None` if it is one of ours, or near none.
fn near(name: &str, keys: &Keys) -> Option<(String, String)> {
    let names = keys.names(None).into_iter().map(variable);
    let known: Vec<String> = names
        .chain(OTHERS.iter().map(|it| format!("{PREFIX}{it}")))
        .collect();
    if known.iter().any(|it| it == name) {
        return None;
    }
    let ends = known.iter().filter_map(|it| it.strip_prefix(PREFIX));
    let end = closest(name.strip_prefix(PREFIX)?, ends).first().copied()?;
    Some((name.to_owned(), format!("{PREFIX}{end}")))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_nearly_ours() {
        let keys = Keys::new();
        let check = |name: &str, expected: Option<&str>| {
            let found = near(name, &keys);
            assert_eq!(
                found.as_ref().map(|(_, it)| it.as_str()),
                expected,
                "{name}"
            );
        };
        check("GADGETRY_MODLE", Some("GADGETRY_MODEL"));
        check("GADGETRY_SANBOX", Some("GADGETRY_SANDBOX"));
        check("GADGETRY_PROFIL", Some("GADGETRY_PROFILE"));
        check("GADGETRY_MAXTOKENS", Some("GADGETRY_MAX_TOKENS"));
        for known in [
            "MODEL",
            "PROFILE",
            "CONFIG",
            "LOG",
            "COMPLETE",
            "FILE",
            "HOME_OF_MINE",
            "",
        ] {
            check(&format!("GADGETRY_{known}"), None);
        }
    }
}
