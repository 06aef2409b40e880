//! The end of a reply: the text and the reason that the client receives.

use gadgetry_proto::delta::{Delta, StopReason};

/// Removes the text of a block that was cut off: the client must not see its beginning.
pub(super) fn remove_cut_block(deltas: &mut Vec<Delta>, start: &str) {
    let begins = |delta: &Delta| matches!(delta, Delta::Text { delta, .. } if delta.trim_start().starts_with(start));
    if let Some(at) = deltas.iter().position(begins) {
        let rest = deltas.split_off(at).into_iter();
        deltas.extend(rest.filter(|delta| !matches!(delta, Delta::Text { .. })));
    }
}

/// Returns the client's stop reason for a reply that has ended for `reason`.
pub(super) fn stop_reason(reason: StopReason, has_calls: bool) -> StopReason {
    use StopReason::{NextTurn, Stop, StopSequence, ToolUse};
    match (reason, has_calls) {
        (Stop | ToolUse | StopSequence | NextTurn, true) => ToolUse,
        (ToolUse | NextTurn, false) => Stop,
        (reason, _) => reason,
    }
}
