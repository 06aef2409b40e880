//! The list of dialects that are read, and dialects that a configuration defines.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::dialect::known::{Dialect, UnknownDialect};
use crate::error::{Classified, Fault};

/// Bytes of a marker of a dialect that a configuration defines.
const MARKER: usize = 64;

/// A form of calls that a configuration defines: texts before, in and after a call.
///
/// Without `name_before` the call is a JSON object that names its gadget, like `{"name": "Calc", "arguments": {…}}`.
///
/// ```
/// use gadgetry_proto::dialect::Dialects;
/// let form = r#"["hermes", {"name": "mine", "before": "<call>", "after": "</call>"}]"#;
/// let dialects: Dialects = serde_json::from_str(form)?;
/// assert_eq!(dialects.custom()[0].name, "mine");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CustomDialect {
    /// The name of the form, for errors.
    pub name: String,
    /// The text that begins a call.
    pub before: String,
    /// The text that ends a call.
    pub after: String,
    /// The text before the name of the gadget, which may be empty; without it, the JSON of the call has the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_before: Option<String>,
    /// The text between the name and the arguments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name_after: String,
    /// The notation of the arguments.
    #[serde(default)]
    pub arguments: Arguments,
}

/// The notation of the arguments of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arguments {
    /// One JSON object.
    #[default]
    Json,
    /// Keys and values, each between two texts.
    #[serde(rename_all = "kebab-case")]
    Pairs {
        /// The text before a key.
        key_before: String,
        /// The text after a key.
        key_after: String,
        /// The text before a value, which may be empty.
        #[serde(default)]
        value_before: String,
        /// The text after a value.
        value_after: String,
    },
}

/// A mistake in a dialect that a configuration defines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the dialect {name:?} {problem}")]
pub struct WrongDialect {
    name: String,
    problem: String,
}

impl Classified for WrongDialect {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

impl CustomDialect {
    /// Checks that the form differs from prose, and its parts from each other.
    ///
    /// # Errors
    ///
    /// If a text is missing or too long, or a setting contradicts another one. The error names it.
    pub fn check(&self) -> Result<(), WrongDialect> {
        let wrong = |problem: String| {
            let name = self.name.clone();
            Err(WrongDialect { name, problem })
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.name.is_empty() || !self.name.chars().all(is_name) {
            return wrong("has a `name` that is not letters, digits, `-` and `_`".to_owned());
        }
        if self.name.parse::<Dialect>().is_ok() || ["all", "none", "custom"].contains(&&*self.name)
        {
            return wrong("has a `name` that is taken".to_owned());
        }
        let mut needed = vec![("before", &self.before), ("after", &self.after)];
        let mut all = vec![("name-after", &self.name_after)];
        if let Arguments::Pairs {
            key_before,
            key_after,
            value_before,
            value_after,
        } = &self.arguments
        {
            if self.name_before.is_none() {
                return wrong("needs `name-before`, because its arguments are pairs".to_owned());
            }
            needed.extend([
                ("key-before", key_before),
                ("key-after", key_after),
                ("value-after", value_after),
            ]);
            all.push(("value-before", value_before));
        }
        if let Some((field, _)) = needed.iter().find(|(_, text)| text.trim().is_empty()) {
            return wrong(format!("has a blank `{field}`"));
        }
        all.extend(needed);
        all.extend(self.name_before.iter().map(|text| ("name-before", text)));
        if let Some((field, _)) = all.iter().find(|(_, text)| text.len() > MARKER) {
            return wrong(format!("has a `{field}` of more than {MARKER} bytes"));
        }
        let before = self.before.trim();
        if before.len() < 3
            || before.len() != self.before.len()
            || before.chars().all(char::is_alphanumeric)
        {
            return wrong(
                "needs a `before` of at least three characters, not all of them letters or digits, without blanks \
                 around it: it must not occur in prose"
                    .to_owned(),
            );
        }
        if self.before == self.after {
            return wrong("has the same text as `before` and `after`".to_owned());
        }
        if self.name_before.is_none() && !self.name_after.is_empty() {
            return wrong("has a `name-after`, but no `name-before`".to_owned());
        }
        Ok(())
    }
}

/// The dialects whose calls are understood: those known by name, and those that a configuration defines.
///
/// As text it is names with commas between them, `all` or `none`; a definition is a JSON object among the names.
///
/// ```
/// use gadgetry_proto::dialect::{Dialect, Dialects};
/// let dialects: Dialects = "hermes,llama".parse()?;
/// assert!(dialects.contains(Dialect::Hermes) && !dialects.contains(Dialect::Xml));
/// assert!("none".parse::<Dialects>()?.is_empty());
/// # Ok::<(), gadgetry_proto::dialect::DialectsError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dialects {
    known: Vec<Dialect>,
    custom: Vec<CustomDialect>,
}

/// A mistake in a list of dialects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DialectsError {
    /// A word names none.
    #[error(transparent)]
    Unknown(#[from] UnknownDialect),
    /// A definition is wrong.
    #[error(transparent)]
    Wrong(#[from] WrongDialect),
    /// A definition has a wrong shape.
    #[error("a dialect cannot be read: {0}")]
    Shape(String),
    /// Two definitions have one name.
    #[error("the dialect {0:?} is defined twice")]
    Twice(String),
}

impl Classified for DialectsError {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

impl Dialects {
    /// All that are known by name.
    pub fn all() -> Self {
        Dialect::ALL.into_iter().collect()
    }

    /// Returns those that a wrapper, or JSON with the name of a gadget, marks: all but XML and Python.
    pub fn marked() -> Self {
        let all = Dialect::ALL.into_iter();
        all.filter(|it| !matches!(it, Dialect::Xml | Dialect::Python))
            .collect()
    }

    /// Adds a definition.
    ///
    /// # Errors
    ///
    /// If it is wrong, or its name is there already.
    pub fn define(&mut self, form: CustomDialect) -> Result<(), DialectsError> {
        form.check()?;
        if self.custom.iter().any(|it| it.name == form.name) {
            return Err(DialectsError::Twice(form.name));
        }
        self.custom.push(form);
        Ok(())
    }

    /// Adds one that is known by name.
    pub fn include(&mut self, dialect: Dialect) {
        if !self.contains(dialect) {
            self.known.push(dialect);
        }
    }

    /// Returns `true` if calls in this form are understood.
    pub fn contains(&self, dialect: Dialect) -> bool {
        dialect == Dialect::Custom || self.known.contains(&dialect)
    }

    /// Returns `true` if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty() && self.custom.is_empty()
    }

    /// Returns the dialects that are known by name.
    pub fn known(&self) -> &[Dialect] {
        &self.known
    }

    /// Returns the dialects that the configuration defines.
    pub fn custom(&self) -> &[CustomDialect] {
        &self.custom
    }

    fn add(&mut self, item: Value) -> Result<(), DialectsError> {
        if let Value::String(name) = &item {
            let known: Dialect = name.parse()?;
            if !self.known.contains(&known) {
                self.known.push(known);
            }
            return Ok(());
        }
        let form = serde_json::from_value(item)
            .map_err(|error| DialectsError::Shape(error.to_string()))?;
        self.define(form)
    }
}

impl FromIterator<Dialect> for Dialects {
    fn from_iter<I: IntoIterator<Item = Dialect>>(known: I) -> Self {
        let known = known
            .into_iter()
            .filter(|it| *it != Dialect::Custom)
            .collect();
        Self {
            known,
            custom: Vec::new(),
        }
    }
}

impl<const N: usize> From<[Dialect; N]> for Dialects {
    fn from(known: [Dialect; N]) -> Self {
        known.into_iter().collect()
    }
}

impl FromStr for Dialects {
    type Err = DialectsError;

    fn from_str(text: &str) -> Result<Self, DialectsError> {
        match text.trim() {
            "all" => return Ok(Self::all()),
            "none" => return Ok(Self::default()),
            _ => {}
        }
        let mut dialects = Self::default();
        let mut rest = text;
        loop {
            rest = rest.trim_start();
            if rest.starts_with('{') {
                let mut items = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
                let item = items.next().unwrap_or(Ok(Value::Null));
                let item = item.map_err(|error| DialectsError::Shape(error.to_string()))?;
                rest = rest[items.byte_offset()..].trim_start();
                dialects.add(item)?;
                match rest.strip_prefix(',') {
                    Some(behind) => rest = behind,
                    None if rest.is_empty() => return Ok(dialects),
                    None => {
                        return Err(DialectsError::Shape(format!(
                            "{rest:?} follows a definition"
                        )));
                    }
                }
                continue;
            }
            let (name, behind) = rest.split_once(',').unwrap_or((rest, ""));
            dialects.add(Value::from(name.trim()))?;
            if behind.is_empty() {
                return Ok(dialects);
            }
            rest = behind;
        }
    }
}

impl fmt::Display for Dialects {
    /// Writes the list as [`FromStr`] reads it, with the names of definitions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.iter().map(|it| it.name());
        let names: Vec<&str> = known
            .chain(self.custom.iter().map(|it| &*it.name))
            .collect();
        f.write_str(if names.is_empty() { "none" } else { "" })?;
        f.write_str(&names.join(","))
    }
}

impl Serialize for Dialects {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = self.known.iter().map(|it| Ok(Value::from(it.name())));
        let custom = self.custom.iter().map(serde_json::to_value);
        let items: Result<Vec<Value>, serde_json::Error> = known.chain(custom).collect();
        items
            .map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Dialects {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut dialects = Self::default();
        for item in Vec::<Value>::deserialize(deserializer)? {
            dialects.add(item).map_err(D::Error::custom)?;
        }
        Ok(dialects)
    }
}
