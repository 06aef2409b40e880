//! Names of runs.

use std::fmt;
use std::sync::Arc;

use gadgetry_proto::error::{Classified, Fault};
use gadgetry_proto::id::CallId;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The name of a run in its journal.
///
/// Up to 128 characters, without `/` and control characters, and not only blanks. The run of a subagent has the name of
/// its parent, the number of the call and the number of the subagent: `invoice-42/5.0`.
///
/// ```
/// use gadgetry::journal::RunId;
/// let id: RunId = "invoice-42".parse()?;
/// assert_eq!(id.as_str(), "invoice-42");
/// assert!("a/b".parse::<RunId>().is_err());
/// let read: RunId = gadgetry::serde_json::from_str(r#""invoice-42/5.0""#).unwrap();
/// assert_eq!(read.as_str(), "invoice-42/5.0");
/// # Ok::<(), gadgetry::journal::InvalidRunId>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(Arc<str>);

impl RunId {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Parses a name from a journal, including that of a subagent's run.
    ///
    /// # Errors
    ///
    /// If the part before the first `/` cannot name a run.
    pub fn parse_any(text: &str) -> Result<Self, InvalidRunId> {
        let own = text.split('/').next().unwrap_or_default();
        own.parse::<Self>()?;
        Ok(Self(text.into()))
    }

    /// Returns the name of the run of a subagent of this one.
    #[must_use]
    pub fn subagent(&self, call: CallId, agent: u32) -> Self {
        Self(format!("{}/{}.{agent}", self.0, call.0).into())
    }
}

impl std::str::FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, InvalidRunId> {
        let is_long = text.chars().count() > 128;
        let is_odd = text.chars().any(|it| it == '/' || it.is_control());
        if is_long || is_odd || text.trim().is_empty() || text.trim() != text {
            return Err(InvalidRunId(text.chars().take(128).collect()));
        }
        Ok(Self(text.into()))
    }
}

impl Serialize for RunId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// Reads a name as [`RunId::parse_any`] does.
impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse_any(&text).map_err(D::Error::custom)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Error for a text that cannot name a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} cannot name a run: use 1 to 128 characters, without `/`, control characters and surrounding blanks"
)]
pub struct InvalidRunId(String);

impl Classified for InvalidRunId {
    fn fault(&self) -> Fault {
        Fault::Caller
    }
}
