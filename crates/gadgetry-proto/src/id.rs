//! Identifiers. All of them are counters of a run or words of the model; none is random.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::visible::visible_line;

/// The id of a gadget call as the model sees it: its own word, or `gadget_N`.
///
/// It is unique within one reply; a later reply may use it again and then means its own call. Clones share the text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct InvocationId(Arc<str>);

impl InvocationId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id as one line without invisible characters, for texts that a user or a model reads.
    ///
    /// ```
    /// use gadgetry_proto::id::InvocationId;
    /// assert_eq!(InvocationId::from("a\u{202e}\nb").visible(), "a\\u{202e}\\u{a}b");
    /// ```
    pub fn visible(&self) -> Cow<'_, str> {
        visible_line(&self.0)
    }
}

impl From<&str> for InvocationId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

impl From<String> for InvocationId {
    fn from(id: String) -> Self {
        Self(id.into())
    }
}

impl Borrow<str> for InvocationId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InvocationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The number of a call in its run, from 0, in the order in which the headers of the calls were complete.
///
/// Never used twice: a call that was announced and never completed keeps its number, so there may be gaps in the numbers
/// of complete calls. `Ancestor::call` and the `call` of events are such numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct CallId(pub u32);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {}", self.0)
    }
}

/// The number of a custom block in its run, from 1. In JSON it is the text `block_N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block_{}", self.0)
    }
}

impl Serialize for BlockId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BlockId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = text
            .strip_prefix("block_")
            .and_then(|number| number.parse().ok());
        number
            .map(Self)
            .ok_or_else(|| serde::de::Error::custom(format!("no block id: {text}")))
    }
}
