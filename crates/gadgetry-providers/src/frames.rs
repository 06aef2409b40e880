//! Settings for reading the frames of an answer.

use crate::sse;

/// Settings for reading the frames of an answer.
///
/// ```
/// use gadgetry::provider::FrameLimits;
/// assert_eq!(FrameLimits::default().size, 16 << 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLimits {
    /// True if each frame is also emitted as [`Delta::Raw`](gadgetry_proto::delta::Delta::Raw), before its meaning.
    /// Otherwise only frames without a known meaning are.
    pub raw: bool,
    /// The maximum number of bytes in a frame, or in an answer that is not a stream.
    pub size: usize,
}

impl Default for FrameLimits {
    fn default() -> Self {
        Self {
            raw: false,
            size: sse::Decoder::LIMIT,
        }
    }
}
