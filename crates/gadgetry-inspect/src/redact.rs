//! Keys in values, and what replaces them.

use std::env;
use std::fmt;

use gadgetry_providers::variables::is_secret;
use serde_json::Value;

use crate::keys;

/// Bytes that a value of a variable must have to count as a secret. Shorter ones may be words.
const LENGTH: usize = 8;

/// Names of fields whose values are secrets, without `_` and `-`, in lower case.
const FIELDS: [&str; 14] = [
    "accesstoken",
    "apikey",
    "authorization",
    "authtoken",
    "bearertoken",
    "clientsecret",
    "cookie",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "refreshtoken",
    "secret",
    "secretkey",
];

/// Keys that are removed from files.
///
/// Texts that have the form of a key are removed in any case: those of known services, bearer tokens, passwords in URLs, private keys.
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
        if secret.len() >= LENGTH && !self.secrets.contains(&secret) {
            self.secrets.push(secret);
            self.secrets.sort_by_key(|it| std::cmp::Reverse(it.len()));
        }
        self
    }

    /// Returns a text without keys.
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            if text.contains(secret) {
                text = text.replace(secret, keys::MASK);
            }
        }
        keys::without(text)
    }

    /// Removes keys from all texts of a value, and the values of fields that are named as keys.
    pub(crate) fn clean(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|it| self.clean(it)),
            Value::Object(fields) => {
                // Names of fields are texts of the model as well.
                let cleaned = std::mem::take(fields).into_iter().map(|(name, mut value)| {
                    if value.is_string() && is_secret_field(&name) {
                        value = keys::MASK.into();
                    } else {
                        self.clean(&mut value);
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

fn is_secret_field(name: &str) -> bool {
    let letters = name.chars().filter(|c| !matches!(c, '_' | '-'));
    let name: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    FIELDS.contains(&name.as_str())
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
        });
        redaction.clean(&mut value);
        let expected = serde_json::json!({
            "api_key": "***", "Client-Secret": "***", "token_count": 5, "list": ["***!", "short"], "***": 1,
        });
        assert_eq!(value, expected);
    }
}
