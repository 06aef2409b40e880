//! The pieces of a reply that the scanner finds: calls and custom blocks as they stream.
//!
//! Each is one struct, which a [`Delta`](crate::delta::Delta) carries through the pipeline, an
//! [`EventKind`](crate::event::EventKind) to the observers of a run, and a stream event to the readers of one reply. So a
//! piece is made once and moved from there on.

use serde::{Deserialize, Serialize};

use crate::id::{BlockId, InvocationId};
use crate::message::Attributes;

/// The header of a gadget block, complete.
///
/// ```
/// use gadgetry_proto::piece::CallStart;
/// let start = CallStart::new("Sum", "total").after(["a", "b"]);
/// assert_eq!(start.dependencies.len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallStart {
    /// The name as written.
    pub gadget_name: String,
    /// The id as written, or `gadget_N`.
    pub invocation_id: InvocationId,
    /// Ids of the calls that must succeed first.
    pub dependencies: Vec<InvocationId>,
}

impl CallStart {
    /// A call without dependencies.
    pub fn new(gadget_name: impl Into<String>, invocation_id: impl Into<InvocationId>) -> Self {
        Self {
            gadget_name: gadget_name.into(),
            invocation_id: invocation_id.into(),
            dependencies: Vec::new(),
        }
    }

    /// The same call with these dependencies.
    #[must_use]
    pub fn after<I: Into<InvocationId>>(mut self, ids: impl IntoIterator<Item = I>) -> Self {
        self.dependencies = ids.into_iter().map(Into::into).collect();
        self
    }
}

/// More text of one argument of a call.
///
/// ```
/// use gadgetry_proto::piece::ArgsPartial;
/// let args = ArgsPartial::new("Fetch", "page", "url", "https://").complete(false);
/// assert_eq!(args.field_path, "url");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ArgsPartial {
    /// The id of the call.
    pub invocation_id: InvocationId,
    /// The name as written.
    pub gadget_name: String,
    /// The pointer of the argument.
    pub field_path: String,
    /// More of its value, as text.
    pub delta: String,
    /// Whether the value is now complete.
    pub is_field_complete: bool,
}

impl ArgsPartial {
    /// More text of an argument that is not complete.
    pub fn new(
        gadget_name: impl Into<String>,
        invocation_id: impl Into<InvocationId>,
        field_path: impl Into<String>,
        delta: impl Into<String>,
    ) -> Self {
        Self {
            invocation_id: invocation_id.into(),
            gadget_name: gadget_name.into(),
            field_path: field_path.into(),
            delta: delta.into(),
            is_field_complete: false,
        }
    }

    /// The same text; `is_field_complete` says whether the value ends with it.
    #[must_use]
    pub fn complete(mut self, is_field_complete: bool) -> Self {
        self.is_field_complete = is_field_complete;
        self
    }
}

/// The opening tag of a custom block, complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BlockStart {
    /// The block.
    pub block_id: BlockId,
    /// The key of its definition.
    pub tag: String,
    /// The attributes of the opening tag.
    pub attrs: Attributes,
}

impl BlockStart {
    /// The start of a block.
    pub fn new(block_id: BlockId, tag: impl Into<String>, attrs: Attributes) -> Self {
        Self {
            block_id,
            tag: tag.into(),
            attrs,
        }
    }
}

/// More content of a custom block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BlockDelta {
    /// The block.
    pub block_id: BlockId,
    /// The key of its definition.
    pub tag: String,
    /// More content.
    pub delta: String,
}

impl BlockDelta {
    /// More content of a block.
    pub fn new(block_id: BlockId, tag: impl Into<String>, delta: impl Into<String>) -> Self {
        Self {
            block_id,
            tag: tag.into(),
            delta: delta.into(),
        }
    }
}

/// The end of a custom block. The whole block follows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BlockEnd {
    /// The block.
    pub block_id: BlockId,
    /// The key of its definition.
    pub tag: String,
    /// The reason it ended.
    pub reason: EndReason,
}

impl BlockEnd {
    /// The end of a block.
    pub fn new(block_id: BlockId, tag: impl Into<String>, reason: EndReason) -> Self {
        Self {
            block_id,
            tag: tag.into(),
            reason,
        }
    }
}

/// The reason a custom block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum EndReason {
    /// The closing tag was written.
    Closed,
    /// The tag closed itself.
    SelfClosing,
    /// The reply ended first.
    EndOfStream,
    /// The content passed [`crate::limits::Limits::tag_content`]; what follows is text.
    Limit,
}
