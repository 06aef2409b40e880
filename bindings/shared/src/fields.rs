//! Options by name, out of a JSON object.

use std::time::Duration;

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
        let read = serde_json::from_str(text);
        read.map(Self::new)
            .map_err(|error| Problem::wrong_type(error.to_string()))
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
