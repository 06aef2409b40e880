//! Identifiers. All of them are counters of a run or words of the model; none is random.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Classified, Fault};
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

/// The id of an approval: the call, and a hash of what is shown about it.
///
/// What is shown in other words has another id, so an answer holds for exactly what the user has read. In JSON it is the text
/// `CALL-HASH`, which is safe in a URL.
///
/// ```
/// use gadgetry_proto::id::{ApprovalId, CallId};
/// let id = ApprovalId { call: CallId(5), shown: 0xab };
/// assert_eq!(id.to_string(), "5-000000000000000000000000000000ab");
/// assert_eq!("5-000000000000000000000000000000ab".parse(), Ok(id));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ApprovalId {
    /// The number of the call in its run.
    pub call: CallId,
    /// The hash of what is shown, and of the run.
    pub shown: u128,
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:032x}", self.call.0, self.shown)
    }
}

/// Error for a text that is not the id of an approval: a mistake of the caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not the id of an approval: expected the `approval` of an event `approval_required`"
)]
pub struct InvalidApprovalId(pub String);

impl Classified for InvalidApprovalId {
    fn fault(&self) -> Fault {
        Fault::Caller
    }
}

impl FromStr for ApprovalId {
    type Err = InvalidApprovalId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // One text for each id. `parse` would accept signs, and other lengths.
        let read = || {
            let (call, shown) = text.split_once('-')?;
            let id = Self {
                call: CallId(call.parse().ok()?),
                shown: u128::from_str_radix(shown, 16).ok()?,
            };
            (id.to_string() == text).then_some(id)
        };
        read().ok_or_else(|| InvalidApprovalId(text.to_owned()))
    }
}

impl From<ApprovalId> for String {
    fn from(id: ApprovalId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for ApprovalId {
    type Error = InvalidApprovalId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}
