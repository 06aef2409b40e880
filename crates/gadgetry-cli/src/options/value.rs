//! The value of an option, as written. Types read it from its text, wherever it is from.

use std::ffi::{OsStr, OsString};
use std::fmt;

use serde_json::Value as Json;

/// The value of an option.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// A flag that is on or off.
    Switch(bool),
    /// The values of an option; one, unless it may be repeated.
    Texts(Vec<OsString>),
}

/// Values may be keys.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Value")
    }
}

impl Value {
    /// A single text.
    pub(crate) fn text(text: impl Into<OsString>) -> Self {
        Self::Texts(vec![text.into()])
    }

    /// Returns the texts; none of a flag.
    pub(crate) fn texts(&self) -> &[OsString] {
        match self {
            Self::Switch(_) => &[],
            Self::Texts(texts) => texts,
        }
    }

    /// Returns the first text, if it is UTF-8.
    pub(crate) fn first(&self) -> Option<&str> {
        self.texts().first()?.to_str()
    }

    /// Writes the value in JSON: `true`, a text or a list of texts. `None` if a text is not UTF-8.
    pub(crate) fn json(&self) -> Option<Json> {
        let texts = match self {
            Self::Switch(is_on) => return Some(Json::Bool(*is_on)),
            Self::Texts(texts) => texts,
        };
        let texts = texts.iter().map(|it| it.to_str().map(Json::from));
        let mut texts: Vec<Json> = texts.collect::<Option<_>>()?;
        match texts.len() {
            1 => texts.pop(),
            _ => Some(Json::Array(texts)),
        }
    }

    /// Reads what [`Self::json`] gives. `None` for any other JSON.
    pub(crate) fn of_json(json: &Json) -> Option<Self> {
        match json {
            Json::Bool(is_on) => Some(Self::Switch(*is_on)),
            Json::String(text) => Some(Self::text(text)),
            Json::Array(items) => {
                let texts = items.iter().map(|it| it.as_str().map(OsString::from));
                texts.collect::<Option<_>>().map(Self::Texts)
            }
            Json::Null | Json::Number(_) | Json::Object(_) => None,
        }
    }

    /// Replaces each text by what `change` makes of it.
    pub(crate) fn map<E>(&self, change: impl Fn(&OsStr) -> Result<OsString, E>) -> Result<Self, E> {
        match self {
            Self::Switch(is_on) => Ok(Self::Switch(*is_on)),
            Self::Texts(texts) => {
                let texts = texts.iter().map(|it| change(it));
                texts.collect::<Result<_, E>>().map(Self::Texts)
            }
        }
    }
}
