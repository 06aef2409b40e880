//! Compaction: which part of a conversation is removed when the context window fills up, and what replaces it.
//!
//! A *turn* is a reply of the model with everything up to the next one: the results of its calls, and what the user
//! said meanwhile. Turns go as a whole, the oldest first, so a call and its result are never parted. What stays:
//!
//! - everything before the first reply, which is where the task is, and all system messages;
//! - the turn with the latest message of the user;
//! - turns with a sticky result;
//! - the most recent turns.
//!
//! That is so while the rest fits. What does not fit the window gives way step by step, until it does:
//!
//! 1. fewer recent turns, down to the last one;
//! 2. long results are cut in the middle, with a note, sticky ones last; then images and files go;
//! 3. long replies are cut, and messages of the user but the latest;
//! 4. turns that stay otherwise go, the last one at the end.
//!
//! System messages and the latest message of the user are never touched, so a conversation fits every window that holds
//! these.
//!
//! One message of the user in place of the turns says how many there were, and what they were about if the model
//! has summarised them. It is recognised by its [`Content`](crate::message::Content), so the next compaction renews
//! it and never adds another one.
//!
//! ```
//! use std::collections::BTreeMap;
//! use gadgetry_proto::block::{Anchoring, Markers};
//! use gadgetry_proto::convo::compaction::{Compaction, CompactionPlan};
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
//! let Some(CompactionPlan::Summarise(summarise)) = plan else { unreachable!("five turns go") };
//! // The request contains `summarise.messages()`, and the reply is:
//! let compacted = summarise.apply(&mut messages, "Counted up to 4.", form.markers);
//! tokens.recount(&messages);
//! assert_eq!(compacted.removed_turns, 5);
//! assert_eq!(compacted.tokens_after, tokens.tokens());
//! assert_eq!(prompt_text(&messages[1]), "[Summary of 5 earlier turns]\nCounted up to 4.");
//! ```

mod cut;
mod fit;
pub(super) mod placeholder;
mod plan;
mod room;
mod settings;
mod transcript;
mod turns;

use crate::convo::text::TextForm;
use crate::convo::tokens::TokenEstimate;
use crate::event::CompactionStrategy;
use crate::message::Message;

use room::Room;

pub use plan::{CompactionPlan, Slide, Summarise};
pub use settings::Compaction;

use placeholder::Placeholder;
use turns::Outline;

/// The number of turns from which the hybrid strategy summarises them.
const WORTH_A_SUMMARY: usize = 3;

/// Bytes of a transcript below which a summary of it is not worth a request.
const TOO_LITTLE: u64 = 400;

impl Compaction {
    /// Returns the plan for `messages`, of which `tokens` is the estimate; `None` if they fit, or nothing can go.
    ///
    /// `window` is the context window of the model in tokens. If it is 0, it is not known, and nothing is done.
    pub fn plan(
        &self,
        messages: &[Message],
        tokens: &TokenEstimate,
        window: u64,
        form: &TextForm<'_>,
    ) -> Option<CompactionPlan> {
        let room = Room::of(self, window);
        if window == 0 || tokens.tokens() <= room.trigger {
            return None;
        }
        self.plan_within(messages, tokens, &room, true, form)
    }

    /// Returns the plan that shortens `messages` on request, though they fit. Only turns go that are not among the
    /// most recent ones. `None` if nothing can be removed. A `window` of 0 means unknown.
    pub fn plan_now(
        &self,
        messages: &[Message],
        tokens: &TokenEstimate,
        window: u64,
        form: &TextForm<'_>,
    ) -> Option<CompactionPlan> {
        let estimate = tokens.tokens();
        let window = if window == 0 { estimate } else { window };
        let room = Room::of(self, window.min(estimate));
        self.plan_within(messages, tokens, &room, false, form)
    }

    /// Returns the plan for `messages` that overflow the context window, as the model reports. `None` if nothing can be removed.
    /// A `window` of 0 means unknown.
    pub fn plan_overflow(
        &self,
        messages: &[Message],
        tokens: &TokenEstimate,
        window: u64,
        form: &TextForm<'_>,
    ) -> Option<CompactionPlan> {
        // If they seem to fit, the estimate is too low, or the window too large. By how much is unknown.
        let guess = tokens.tokens() * 2 / 3;
        let window = if window == 0 { guess } else { window };
        let fits = tokens.tokens() <= window;
        let room = Room::of(self, if fits { guess } else { window });
        self.plan_within(messages, tokens, &room, true, form)
    }

    /// Takes out at least one turn, and then more until the target is met. If `must_fit`, continues with what stays
    /// otherwise, until there is room for a reply.
    fn plan_within(
        &self,
        messages: &[Message],
        tokens: &TokenEstimate,
        room: &Room,
        must_fit: bool,
        form: &TextForm<'_>,
    ) -> Option<CompactionPlan> {
        let outline = Outline::of(messages);
        let notice = Placeholder::of(messages).size_with_omission();
        let before = tokens.tokens_of(outline.size);
        let mut left = outline.size - outline.placeholder_size + notice;
        let mut after = before;
        let mut removed = Vec::new();
        let least_notice = Placeholder::default().size_with_omission();
        let fixed = tokens.tokens_of(outline.fixed_size(messages) + least_notice);
        let most = room.most(fixed);
        for (turn, is_recent) in outline.removable(self.keep_recent_turns) {
            if is_recent && !(must_fit && after > most) {
                break;
            }
            removed.push(turn.range.clone());
            left -= turn.size;
            after = tokens.tokens_of(left);
            if !is_recent && after < before && after <= room.target {
                break;
            }
        }
        let mut slide = Slide::new(removed, &outline, *tokens);
        if must_fit && after > most {
            // A few short words are not worth a notice that is longer.
            if after >= before {
                slide = Slide::new(Vec::new(), &outline, *tokens);
            }
            return fit::fit(slide, &outline, messages, tokens.size_within(most))
                .map(CompactionPlan::Slide);
        }
        if after >= before {
            return None;
        }
        let summarise = match self.strategy {
            CompactionStrategy::SlidingWindow => false,
            CompactionStrategy::Summary => true,
            CompactionStrategy::Hybrid => slide.count() as usize >= WORTH_A_SUMMARY,
        };
        let prompt = self.summary_prompt.as_deref();
        let limit = transcript::room(prompt, tokens, room.window);
        if !summarise || limit < TOO_LITTLE {
            return Some(CompactionPlan::Slide(slide));
        }
        let request = transcript::request(messages, &slide, prompt, limit, form);
        Some(CompactionPlan::Summarise(Summarise::new(slide, request)))
    }
}
