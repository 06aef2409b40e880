//! Every cap on what a reply may make the engine hold, in one place.

use serde::{Deserialize, Serialize};

/// Caps, each with a default that no honest reply reaches. Sizes are bytes of UTF-8 text.
///
/// ```
/// use gadgetry_proto::limits::Limits;
/// let limits = Limits { calls_per_reply: 16, ..Limits::default() };
/// assert_eq!(limits.header, 1024);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Limits {
    /// The header line of a block, after the start marker. A longer one is text, not a block.
    pub header: usize,
    /// The pointer of one argument.
    pub pointer: usize,
    /// The value of one argument.
    pub value: usize,
    /// The whole body of a block.
    pub block: usize,
    /// The name of a tag.
    pub tag_name: usize,
    /// Everything between the name of a tag and its `>`. With more, the tag is text.
    pub attributes: usize,
    /// The content of a custom block. It ends there with [`crate::piece::EndReason::Limit`].
    pub tag_content: usize,
    /// Gadget calls in one reply; further ones are answered, not executed.
    pub calls_per_reply: usize,
    /// Levels of arrays and objects in the parameters of a call. At most 100 count, whatever this says: deeper values could
    /// not be read as a part of a log or a snapshot.
    pub depth: usize,
    /// Blanks and backslashes before a marker at a line start, a trailing fence line, whitespace in a closing tag.
    pub indent: usize,
    /// A run of whitespace that is buffered because it may be all there is between blocks. A longer one is text.
    pub whitespace: usize,
    /// Diagnostics of one reply about near misses and stray markers. The next one says that this is passed; no more follow.
    pub near_misses: usize,
    /// Diagnostics of one reply about anything else. The next one says that this is passed; no more follow.
    pub diagnostics: usize,
    /// One reply in a run: its text, its reasoning and the arguments of its native calls together. The reply is cut there,
    /// as by a token limit, and no more of it is read.
    pub reply: usize,
    /// JSON values in all the parameters of one reply together: each takes some hundred bytes. The call that passes this is
    /// answered, not executed. One JSON text may have at most 100,000, whatever this says.
    pub json_values: usize,
    /// Bytes of results that one reply puts into parameters by `${id}`. The call that passes this is answered, not
    /// executed.
    pub references: usize,
    /// Bytes of results that a run keeps. The result that passes this is replaced by an error, and no further gadget is
    /// started.
    pub results: usize,
}

/// Levels of arrays and objects in a value that a model wrote. `serde_json` reads 127, and logs, events and snapshots have
/// such a value inside of others.
pub(crate) const JSON_DEPTH: usize = 100;

/// Values in one JSON text. No reply of an honest model has as many: each takes a token at least.
pub(crate) const JSON_VALUES: usize = 100_000;

impl Limits {
    /// [`Limits::depth`], but never more than can be kept.
    pub(crate) fn levels(&self) -> usize {
        self.depth.min(JSON_DEPTH)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header: 1 << 10,
            pointer: 1 << 10,
            value: 32 << 20,
            block: 32 << 20,
            tag_name: 64,
            attributes: 4 << 10,
            tag_content: 32 << 20,
            calls_per_reply: 10_000,
            depth: 64,
            indent: 256,
            whitespace: 64 << 10,
            near_misses: 100,
            diagnostics: 1_000,
            reply: 16 << 20,
            json_values: JSON_VALUES,
            references: 32 << 20,
            results: 64 << 20,
        }
    }
}

/// A cap that a reply ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("Limit exceeded: {what} may have at most {limit} {}", what.unit())]
#[non_exhaustive]
pub struct LimitExceeded {
    /// The limit that was exceeded.
    pub what: Limit,
    /// The cap.
    pub limit: usize,
}

/// The names of the fields of [`Limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::header`]
    #[error("a block header")]
    Header,
    /// [`Limits::pointer`]
    #[error("an argument pointer")]
    Pointer,
    /// [`Limits::value`]
    #[error("an argument value")]
    Value,
    /// [`Limits::block`]
    #[error("a gadget block")]
    Block,
    /// [`Limits::tag_name`]
    #[error("a tag name")]
    TagName,
    /// [`Limits::attributes`]
    #[error("the attributes of a tag")]
    Attributes,
    /// [`Limits::tag_content`]
    #[error("the content of a tag")]
    TagContent,
    /// [`Limits::calls_per_reply`]
    #[error("a reply")]
    CallsPerReply,
    /// [`Limits::depth`]
    #[error("a parameter")]
    Depth,
    /// [`Limits::whitespace`]
    #[error("buffered whitespace")]
    Whitespace,
    /// [`Limits::near_misses`]
    #[error("a reply")]
    NearMisses,
    /// [`Limits::diagnostics`]
    #[error("a reply")]
    Diagnostics,
    /// [`Limits::reply`]
    #[error("a reply")]
    Reply,
    /// [`Limits::json_values`]
    #[error("the parameters of a reply")]
    JsonValues,
    /// [`Limits::references`]
    #[error("the results in the parameters of a reply")]
    References,
    /// [`Limits::results`]
    #[error("the results of a run")]
    Results,
}

impl Limit {
    /// Returns the unit that the cap counts.
    pub fn unit(self) -> &'static str {
        match self {
            Self::CallsPerReply => "gadget calls",
            Self::Depth => "levels of nesting",
            Self::NearMisses => "remarks about near misses",
            Self::Diagnostics => "other diagnostics",
            Self::JsonValues => "JSON values",
            Self::Header
            | Self::Pointer
            | Self::Value
            | Self::Block
            | Self::TagName
            | Self::Attributes
            | Self::TagContent
            | Self::Whitespace
            | Self::Reply
            | Self::References
            | Self::Results => "bytes",
        }
    }
}
