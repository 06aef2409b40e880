//! Which part of a conversation gives way when the context window fills up, and what takes its place.
//!
//! A *turn* is a reply of the model with everything up to the next one: the results of its calls, and what the user
//! said meanwhile. Turns go as a whole, the oldest first, so a call and its result are never parted. What stays:
//!
//! - everything before the first reply, which is where the task is, and all system messages;
//! - the turn with the latest message of the user;
//! - turns with a sticky result;
//! - the most recent turns.
//!
//! One message of the user in place of the turns says how many there were, and what they were about if the model
//! has summarised them. It is recognised by its [`Content`](crate::message::Content), so the next compaction renews
//! it and never adds another one.
//!
//! ```
//! use std::collections::BTreeMap;
//! use gadgetry_proto::block::{Anchoring, Markers};
//! use gadgetry_proto::convo::compaction::{Compaction, Plan};
//! use gadgetry_proto::convo::{TextForm, TokenEstimate, prompt_text};
//! use gadgetry_proto::message::{Message, Role};
//!
//! let mut messages = vec![Message::text(Role::User, "Count to ten thousand")];
//! messages.extend((0..10).map(|n| Message::text(Role::Assistant, format!("{n} ").repeat(200))));
//! let mut tokens = TokenEstimate::of(&messages);
//! let form = TextForm { markers: &Markers::default(), anchoring: Anchoring::default(), xml_names: &BTreeMap::new() };
//!
//! let compaction = Compaction::default();
//! assert_eq!(compaction.plan(&messages, &tokens, 10_000, &form), None, "there is room");
//! let plan = compaction.plan(&messages, &tokens, 1_200, &form);
//! let Some(Plan::Summarise(summarise)) = plan else { unreachable!("five turns go") };
//! // The request contains `summarise.messages()`, and the reply is:
//! let compacted = summarise.apply(&mut messages, "Counted up to 4.", form.markers);
//! tokens.recount(&messages);
//! assert_eq!(compacted.removed_turns, 5);
//! assert_eq!(compacted.tokens_after, tokens.tokens());
//! assert_eq!(prompt_text(&messages[1]), "[Summary of 5 earlier turns]\nCounted up to 4.");
//! ```

mod placeholder;
mod plan;
mod transcript;
mod turns;

use serde::{Deserialize, Serialize};

use crate::convo::text::TextForm;
use crate::convo::tokens::TokenEstimate;
use crate::event::CompactionStrategy;
use crate::message::Message;

pub use plan::{Plan, Slide, Summarise};

pub(super) use placeholder::{omission_text, summary_text};

use placeholder::Placeholder;
use turns::Outline;

/// When a conversation is compacted, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Compaction {
    /// How.
    pub strategy: CompactionStrategy,
    /// Percent of the context window that a conversation may fill.
    pub trigger_percent: f64,
    /// Percent of the context window that it may fill afterwards, if that can be done.
    pub target_percent: f64,
    /// The latest turns, which always stay. At least one does: the model has not answered its results yet.
    pub keep_recent_turns: u32,
    /// Instructions for the summary; without them, the default ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_prompt: Option<String>,
}

impl Default for Compaction {
    fn default() -> Self {
        Self {
            strategy: CompactionStrategy::Hybrid,
            trigger_percent: 80.0,
            target_percent: 50.0,
            keep_recent_turns: 5,
            summary_prompt: None,
        }
    }
}

/// The number of turns from which the hybrid strategy summarises them.
const WORTH_A_SUMMARY: usize = 3;

impl Compaction {
    /// What to do about `messages`, of which `tokens` is the estimate; `None` if they fit, or nothing can go.
    ///
    /// `window` is the context window of the model in tokens. If it is 0, it is not known, and nothing is done.
    pub fn plan(
        &self,
        messages: &[Message],
        tokens: &TokenEstimate,
        window: u64,
        form: &TextForm<'_>,
    ) -> Option<Plan> {
        if window == 0 || tokens.tokens() <= share(window, self.trigger_percent) {
            return None;
        }
        self.plan_within(messages, tokens, window, form)
    }

    /// What to do when `messages` must become less though they seem to fit: the model says that they overflow its
    /// context window, or on request. `None` if nothing can be removed. A `window` of 0 means unknown.
    pub fn plan_now(
        &self,
        messages: &[Message],
        tokens: &TokenEstimate,
        window: u64,
        form: &TextForm<'_>,
    ) -> Option<Plan> {
        let estimate = tokens.tokens();
        // After an overflow the estimate is too low or the window too large: the target is a part of the smaller one.
        let window = match window {
            0 => estimate,
            window => window.min(estimate),
        };
        self.plan_within(messages, tokens, window, form)
    }

    /// Takes out at least one turn, and then more until the target is met.
    fn plan_within(
        &self,
        messages: &[Message],
        tokens: &TokenEstimate,
        window: u64,
        form: &TextForm<'_>,
    ) -> Option<Plan> {
        let target = share(window, self.target_percent).min(share(window, self.trigger_percent));
        let outline = Outline::of(messages);
        let notice = Placeholder::of(messages).size_with_omission();
        let before = tokens.tokens_of(outline.size);
        let mut left = outline.size - outline.placeholder_size + notice;
        let mut after = before;
        let mut removed = Vec::new();
        for turn in outline.removable(self.keep_recent_turns) {
            removed.push(turn.range.clone());
            left -= turn.size;
            after = tokens.tokens_of(left);
            if after < before && after <= target {
                break;
            }
        }
        // A few short words are not worth a notice that is longer.
        if after >= before {
            return None;
        }
        let summarise = match self.strategy {
            CompactionStrategy::SlidingWindow => false,
            CompactionStrategy::Summary => true,
            CompactionStrategy::Hybrid => removed.len() >= WORTH_A_SUMMARY,
        };
        let slide = Slide::new(removed, outline.head, *tokens);
        if !summarise {
            return Some(Plan::Slide(slide));
        }
        let prompt = self.summary_prompt.as_deref();
        // What is left of the window is for the prompt and the summary.
        let limit = tokens.size_of(window / 2);
        let request = transcript::request(messages, &slide, prompt, limit, form);
        Some(Plan::Summarise(Summarise::new(slide, request)))
    }
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
