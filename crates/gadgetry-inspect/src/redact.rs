//! Keys in values, and what replaces them.

use std::borrow::Borrow;
use std::env;
use std::fmt;

use gadgetry_providers::variables::is_secret;
use serde_json::{Map, Value};

use crate::keys;

/// Bytes that a value of a variable must have to count as a secret. Shorter ones may be words.
const LENGTH: usize = 8;

/// Secrets that are learnt from a recording. More are only removed where they were found.
const LEARNT: usize = 100;

/// Keys that are removed from files.
///
/// Texts that have the form of a key are removed in any case: those of known services, bearer tokens, passwords in URLs and after `-u`, paths of
/// webhooks, parameters of URLs such as `key` and `sig`, private keys, and what is assigned to the name of a secret, as in `API_KEY=…`, a header or JSON. What none of these recognises stays.
///
/// ```
/// use gadgetry_inspect::Redaction;
///
/// let redaction = Redaction::default().secret("correct-horse-battery");
/// assert_eq!(redaction.text("it is correct-horse-battery"), "it is ***");
/// assert_eq!(redaction.text("ghp_0123456789abcdefghijABCDEFGHIJ012345"), "***");
/// ```
#[derive(Clone, Default)]
pub struct Redaction {
    /// The longest first.
    secrets: Vec<String>,
}

impl Redaction {
    /// Removes the values of variables of this process that hold keys, too.
    pub fn from_env() -> Self {
        let variables = env::vars_os().filter_map(|(name, value)| {
            let name = name.to_str()?;
            let value = value.into_string().ok()?;
            is_secret(name).then_some(value)
        });
        variables.fold(Self::default(), Self::secret)
    }

    /// Removes this text, too. One of fewer than 8 bytes may be a word, and stays.
    #[must_use]
    pub fn secret(mut self, secret: impl Into<String>) -> Self {
        let secret = secret.into().trim().to_owned();
        if secret.len() >= LENGTH {
            self.add(secret);
            self.secrets.sort_by_key(|it| std::cmp::Reverse(it.len()));
        }
        self
    }

    fn add(&mut self, secret: String) {
        // In JSON that is in a text, as parameters are.
        let written = Value::from(&*secret).to_string();
        let written = written.trim_matches('"').to_owned();
        for secret in [secret, written] {
            if !self.secrets.contains(&secret) {
                self.secrets.push(secret);
            }
        }
    }

    /// Removes the values of the fields in these that are named as keys also where they are repeated in texts.
    #[must_use]
    pub(crate) fn learning(&self, values: impl IntoIterator<Item = impl Borrow<Value>>) -> Self {
        let mut own = self.clone();
        let most = own.secrets.len() + LEARNT;
        for value in values {
            each_secret(value.borrow(), &mut |secret| {
                // A word would be removed from sentences.
                let is_key =
                    secret.len() >= LENGTH && secret.contains(|c: char| !c.is_alphabetic());
                if is_key && own.secrets.len() < most {
                    own.add(secret.to_owned());
                }
            });
        }
        own.secrets.sort_by_key(|it| std::cmp::Reverse(it.len()));
        own
    }

    /// Returns a text without keys.
    pub fn text(&self, text: &str) -> String {
        keys::without(text.to_owned(), &self.secrets)
    }

    /// Removes keys from all texts of a value, and the values of fields that are named as keys.
    pub(crate) fn clean(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => {
                // The arguments of a command.
                let mut before = String::new();
                for item in items {
                    let argument = item.as_str().unwrap_or_default().to_owned();
                    self.clean(item);
                    if let Some(at) = keys::argument(&before, &argument) {
                        *item = format!("{}{}", self.text(&argument[..at]), keys::MASK).into();
                    }
                    before = argument;
                }
            }
            Value::Object(fields) => {
                let is_secret = secret_names(fields);
                // Names of fields are texts of the model as well.
                let cleaned = std::mem::take(fields).into_iter().map(|(name, mut value)| {
                    self.clean(&mut value);
                    if is_secret(&name) {
                        mask(&mut value);
                    }
                    (self.text(&name), value)
                });
                *fields = cleaned.collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redaction")
            .field("secrets", &self.secrets.len())
            .finish()
    }
}

/// Returns a check for names of fields that hold a secret: by the name, or by that of a pair of a name and a value, as headers are written.
fn secret_names(fields: &Map<String, Value>) -> impl Fn(&str) -> bool + use<> {
    let name = ["name", "key"]
        .iter()
        .find_map(|it| fields.get(*it)?.as_str());
    let is_pair = name.is_some_and(keys::is_secret_name);
    move |name| keys::is_secret_name(name) || is_pair && name == "value"
}

/// Masks a value, but not what is within objects: they describe secrets, as schemas do.
fn mask(value: &mut Value) {
    match value {
        Value::String(_) | Value::Number(_) => *value = keys::MASK.into(),
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Object(_) | Value::Null | Value::Bool(_) => {}
    }
}

/// Calls `found` with the texts that [`Redaction::clean`] masks because of their names.
fn each_secret(value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::Array(items) => items.iter().for_each(|it| each_secret(it, found)),
        Value::Object(fields) => {
            let is_secret = secret_names(fields);
            for (name, value) in fields {
                if is_secret(name) {
                    let items = value
                        .as_array()
                        .map_or(std::slice::from_ref(value), Vec::as_slice);
                    items.iter().filter_map(Value::as_str).for_each(&mut *found);
                }
                each_secret(value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Changes each text of a value, but for names of fields.
pub(crate) fn each_string(value: &mut Value, change: &impl Fn(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|it| each_string(it, change)),
        Value::Object(fields) => fields.values_mut().for_each(|it| each_string(it, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lose_their_keys() {
        let redaction = Redaction::default()
            .secret("hunter2-hunter2")
            .secret("short");
        let mut value = serde_json::json!({
            "api_key": "anything", "Client-Secret": "x", "token_count": 5, "list": ["hunter2-hunter2!", "short"], "hunter2-hunter2": 1,
            "x-api-key": "x", "password": ["a", 1, { "type": "string" }], "headers": [{ "name": "Authorization", "value": "y" }],
            "run": ["curl", "-u", "ada:pw", "--password", "x", "--token-count", "--user"],
        });
        redaction.clean(&mut value);
        let expected = serde_json::json!({
            "api_key": "***", "Client-Secret": "***", "token_count": 5, "list": ["***!", "short"], "***": 1,
            "x-api-key": "***", "password": ["***", "***", { "type": "string" }], "headers": [{ "name": "Authorization", "value": "***" }],
            "run": ["curl", "-u", "ada:***", "--password", "***", "--token-count", "--user"],
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn values_of_secret_fields_are_removed_from_texts() {
        let secrets =
            serde_json::json!([{ "pin_token": "abc-12345" }, { "secret": "description" }]);
        let redaction = Redaction::default().learning([secrets]);
        let text = "it has abc-12345, and a description";
        assert_eq!(redaction.text(text), "it has ***, and a description");
        let quoted = Redaction::default().secret("a\"b-01234");
        assert_eq!(quoted.text(r#"as a\"b-01234"#), "as ***");
    }
}
