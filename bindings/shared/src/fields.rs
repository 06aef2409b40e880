//! Options by name, out of a JSON object.
//!
//! The parser's options are read without `serde`, which would be an eighth of the package for browsers.

use std::time::Duration;

use gadgetry_proto::schema::read_plain_json;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Problem;

/// Options that have not been read yet.
#[derive(Debug, Default)]
pub struct Fields(Map<String, Value>);

impl Fields {
    /// Takes the options; those that are null are not there.
    pub fn new(mut options: Map<String, Value>) -> Self {
        options.retain(|_, value| !value.is_null());
        Self(options)
    }

    /// Reads them from JSON text.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        match read_plain_json(text) {
            Ok(Value::Object(options)) => Ok(Self::new(options)),
            Ok(_) => Err(Problem::wrong_type("options are an object")),
            Err(error) => Err(Problem::wrong_type(error.to_string())),
        }
    }

    /// Takes an option out.
    pub fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, Problem> {
        let Some(value) = self.0.remove(name) else {
            return Ok(None);
        };
        let value = serde_json::from_value(value);
        value
            .map(Some)
            .map_err(|error| Problem::wrong_type(format!("{name}: {error}")))
    }

    /// Takes a value out, unread.
    pub fn value(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    /// Takes a text out.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Problem::wrong_type(format!("{name}: expected a string"))),
        }
    }

    /// Takes a list of texts out.
    pub fn texts(&mut self, name: &str) -> Result<Option<Vec<String>>, Problem> {
        let wrong = || Problem::wrong_type(format!("{name}: expected a list of strings"));
        let Some(value) = self.value(name) else {
            return Ok(None);
        };
        let Value::Array(items) = value else {
            return Err(wrong());
        };
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            let Value::String(text) = item else {
                return Err(wrong());
            };
            texts.push(text);
        }
        Ok(Some(texts))
    }

    /// Takes an option out that has to be there.
    pub fn need<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, Problem> {
        self.take(name)?
            .ok_or_else(|| Problem::wrong_type(format!("{name} is missing")))
    }

    /// Takes a switch out.
    pub fn is_set(&mut self, name: &str) -> Result<bool, Problem> {
        Ok(self.take(name)?.unwrap_or(false))
    }

    /// Takes a number of seconds out.
    pub fn seconds(&mut self, name: &str) -> Result<Option<Duration>, Problem> {
        let seconds: Option<f64> = self.take(name)?;
        let duration = seconds.map(Duration::try_from_secs_f64).transpose();
        duration.map_err(|error| Problem::wrong_type(format!("{name}: {error}")))
    }

    /// Checks that all were read: what is left has no meaning to `owner`.
    pub fn end(self, owner: &str) -> Result<(), Problem> {
        match self.0.keys().next() {
            Some(name) => Err(Problem::wrong_type(format!("{owner} has no option {name}"))),
            None => Ok(()),
        }
    }
}
