//! Usage of a model call, as far as its provider can be believed.

use crate::run::plan::Plan;
use crate::usage::Usage;

/// Bytes of text per token, where nothing better is known.
const BYTES_PER_TOKEN: u64 = 4;

/// No reply has more bytes per token on average. A report of fewer tokens is not believed.
const MOST_BYTES_PER_TOKEN: u64 = 128;

/// The usage to charge for a reply of `bytes` to a conversation of `tokens`.
///
/// Where the model has a price, a budget must hold even against a server that reports nothing, or one token per reply:
/// then the usage is an estimate.
pub(super) fn believable(reported: Usage, bytes: u64, tokens: u64, plan: &Plan) -> Usage {
    let output = bytes.div_ceil(BYTES_PER_TOKEN);
    if plan.config.price.is_none() {
        reported
    } else if reported == Usage::default() && bytes > 0 {
        Usage::estimate(tokens, output)
    } else if bytes / MOST_BYTES_PER_TOKEN > reported.output_tokens {
        let total = reported.input_tokens.saturating_add(output);
        Usage {
            output_tokens: output,
            total_tokens: reported.total_tokens.max(total),
            estimated: true,
            ..reported
        }
    } else {
        reported
    }
}
