//! When a reply is ended although the model has not.

use serde::{Deserialize, Serialize};

use crate::error::DiagnosticCode;

/// When a reply is ended early, because the rest of it would only cost.
///
/// ```
/// use gadgetry_proto::reply::StopEarly;
/// let rules = StopEarly { repeated_lines: 50, ..StopEarly::default() };
/// assert!(rules.hopeless_calls);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StopEarly {
    /// Ends the reply at a call that cannot become valid any more: a pointer is repeated, or, after all required parameters, one follows
    /// that the schema does not admit. The call is answered with an error; those before it count.
    pub hopeless_calls: bool,
    /// Ends the reply at the line that was written this many times in succession, or ends as many repetitions of up to four lines. 0 is
    /// without limit.
    ///
    /// Whitespace does not count, and neither do lines without a letter: blank lines, braces and rows of numbers are as if
    /// they were not there. A line of less than eight letters has to be repeated more often, up to eight times. In content,
    /// which is a block, a custom block or a code fence, it is four times as many lines.
    ///
    /// In a line of more than a thousand letters, sentences count as lines do, and words, or up to four of them, may be repeated four times as
    /// often.
    pub repeated_lines: u32,
}

impl Default for StopEarly {
    fn default() -> Self {
        Self {
            hopeless_calls: true,
            repeated_lines: 10,
        }
    }
}

impl StopEarly {
    /// Lets the model write whatever it writes.
    pub const NEVER: Self = Self {
        hopeless_calls: false,
        repeated_lines: 0,
    };
}

/// The place where a reply was ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    /// Offset in the text of the reply; what follows was not read.
    pub at: u64,
    /// The cause: [`DiagnosticCode::HopelessCall`] or [`DiagnosticCode::RepeatedLines`].
    pub why: DiagnosticCode,
    /// Whether a block was open.
    pub in_block: bool,
}
