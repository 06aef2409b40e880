//! The room that a conversation has in a context window.

use crate::convo::compaction::settings::Compaction;

/// Tokens that stay free for a reply.
const REPLY: u64 = 1_000;

/// Tokens that a conversation may have.
pub(super) struct Room {
    /// Tokens of the whole window.
    pub(super) window: u64,
    /// Tokens beyond which the conversation is compacted.
    pub(super) trigger: u64,
    /// The aim of leaving out old turns.
    pub(super) target: u64,
    /// The maximum, whatever has to go.
    most: u64,
}

impl Room {
    pub(super) fn of(compaction: &Compaction, window: u64) -> Self {
        let most = window - reserve(window);
        let trigger = share(window, compaction.trigger_percent).min(most);
        Self {
            window,
            trigger,
            target: share(window, compaction.target_percent).min(trigger),
            most,
        }
    }

    /// The maximum, if `fixed` tokens of it are of messages that cannot go.
    ///
    /// Where these fill most of the window, half of what they leave is for the rest of the conversation: otherwise all of it
    /// would go each time.
    pub(super) fn most(&self, fixed: u64) -> u64 {
        if fixed + self.window / 8 <= self.most {
            self.most
        } else {
            fixed + self.window.saturating_sub(fixed) / 2
        }
    }
}

/// Tokens of a window that stay free for a reply.
pub(super) fn reserve(window: u64) -> u64 {
    (window / 10).max(REPLY.min(window / 4))
}

/// `percent` of `window`, which is never more than all of it. A value that is not a number counts as 0.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "context windows are far below 2^52, and a float to integer cast saturates"
)]
fn share(window: u64, percent: f64) -> u64 {
    (window as f64 * percent.clamp(0.0, 100.0) / 100.0) as u64
}
