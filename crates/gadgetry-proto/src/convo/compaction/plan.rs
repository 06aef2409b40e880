//! The plan of a compaction, and applying it.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::block::Markers;
use crate::convo::compaction::cut::Cut;
use crate::convo::compaction::placeholder::{Placeholder, is_placeholder};
use crate::convo::compaction::turns::{Outline, goes};
use crate::convo::neutral::escape_markers;
use crate::convo::tokens::{TokenEstimate, size};
use crate::event::{Compacted, CompactionStrategy};
use crate::message::{Message, Role};

/// The plan of a compaction. Each plan changes something.
///
/// It can be saved, and is for the conversation that it was made for; until it is applied, that may grow at its end
/// but not change otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CompactionPlan {
    /// Turns are left out.
    Slide(Slide),
    /// The model summarises turns, and the summary takes their place.
    Summarise(Summarise),
}

/// Turns to leave out, and texts to cut. See the [module](super).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Slide {
    /// The messages of each turn, in order.
    turns: Vec<Range<usize>>,
    /// Index of the message with which the first turn begins.
    head: usize,
    tokens: TokenEstimate,
    /// The latest message of the user, which stays.
    #[serde(default)]
    asked: Option<usize>,
    /// Whether earlier messages of the user go, too, that are before the first turn.
    #[serde(default)]
    clears_head: bool,
    #[serde(default)]
    pub(super) cut: Cut,
}

impl Slide {
    pub(super) fn new(turns: Vec<Range<usize>>, outline: &Outline, tokens: TokenEstimate) -> Self {
        Self {
            turns,
            head: outline.head,
            tokens,
            asked: outline.asked,
            clears_head: false,
            cut: Cut::default(),
        }
    }

    /// Leaves the turns out, and cuts the texts. A notice says how many turns have gone by now.
    pub fn apply(self, messages: &mut Vec<Message>) -> Compacted {
        let mut placeholder = Placeholder::of(messages);
        placeholder.omitted = placeholder.omitted.saturating_add(self.count());
        self.replace(
            messages,
            placeholder.into_message(),
            CompactionStrategy::SlidingWindow,
        )
    }

    /// Removes all turns but the last `kept` ones; if that is all of them, what is before the first one, too.
    pub(super) fn remove_all(&mut self, outline: &Outline, kept: usize) {
        self.turns = outline.ranges().collect();
        self.turns.truncate(self.turns.len().saturating_sub(kept));
        self.clears_head = kept == 0;
    }

    /// Returns the number of turns that go.
    pub(super) fn count(&self) -> u32 {
        // Messages of the user that go without a turn are one.
        let turns = self.turns.len().max(usize::from(self.clears_head));
        u32::try_from(turns).unwrap_or(u32::MAX)
    }

    /// Returns `true` if the message at `index` goes with its turn.
    pub(super) fn removes(&self, index: usize, message: &Message) -> bool {
        let turn = self.turns.partition_point(|turn| turn.end <= index);
        let inside = self.turns.get(turn).is_some_and(|t| t.contains(&index));
        let before = self.clears_head && index < self.head;
        (inside || before) && goes(message) && self.asked != Some(index)
    }

    /// Returns `true` if the texts of the message at `index` may be cut.
    pub(super) fn may_cut(&self, index: usize, message: &Message) -> bool {
        message.role != Role::System && self.asked != Some(index) && !self.removes(index, message)
    }

    /// Returns the number of messages before the first turn.
    pub(super) fn head(&self) -> usize {
        self.head
    }

    fn replace(
        self,
        messages: &mut Vec<Message>,
        mut placeholder: Message,
        strategy: CompactionStrategy,
    ) -> Compacted {
        let mut cut_texts = self.cut.apply(&mut placeholder);
        let has_placeholder = !placeholder.content.is_empty();
        let (mut before, mut after) = (0, 0);
        let (mut index, mut place, mut removed_messages) = (0, 0, 0);
        messages.retain_mut(|message| {
            let removed = self.removes(index, message);
            let kept = !removed && !is_placeholder(message);
            removed_messages += u32::from(removed);
            // Without turns, what has gone was before the latest message of the user.
            let is_after = self.turns.is_empty() && self.clears_head && self.asked == Some(index);
            place += usize::from(kept && index < self.head && !is_after);
            before += size(message);
            if kept {
                if self.may_cut(index, message) {
                    cut_texts += self.cut.apply(message);
                }
                after += size(message);
            }
            index += 1;
            kept
        });
        if has_placeholder {
            after += size(&placeholder);
            messages.insert(place, placeholder);
        }
        Compacted {
            strategy,
            removed_turns: self.count(),
            removed_messages,
            cut_texts,
            tokens_before: self.tokens.tokens_of(before),
            tokens_after: self.tokens.tokens_of(after),
        }
    }
}

/// Turns to replace by a summary. See the [module](super).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summarise {
    slide: Slide,
    messages: Arc<Vec<Message>>,
}

impl Summarise {
    pub(super) fn new(slide: Slide, messages: Vec<Message>) -> Self {
        let messages = Arc::new(messages);
        Self { slide, messages }
    }

    /// The request to the model: how to summarise, and what. The reply is for [`Summarise::apply`].
    ///
    /// An earlier summary is a part of it. What is too long for the context window is cut, oldest turns first.
    pub fn messages(&self) -> Arc<Vec<Message>> {
        Arc::clone(&self.messages)
    }

    /// Puts `summary` in the place of the turns and of an earlier summary, with its `markers` made unrecognisable.
    ///
    /// A blank summary, or one that is longer than what it sums up, is not used; then this is the [`fallback`].
    ///
    /// [`fallback`]: Summarise::fallback
    pub fn apply(self, messages: &mut Vec<Message>, summary: &str, markers: &Markers) -> Compacted {
        let summary = summary.trim();
        let earlier = Placeholder::of(messages);
        let removed: u64 = (0..)
            .zip(messages.iter())
            .filter(|&(index, message)| self.slide.removes(index, message))
            .map(|(_, message)| size(message))
            .sum();
        let renewed = Placeholder {
            summary: Some(escape_markers(summary, markers).into_owned()),
            summarised: earlier.summarised.saturating_add(self.slide.count()),
            omitted: earlier.omitted,
        }
        .into_message();
        let placeholders = messages.iter().filter(|message| is_placeholder(message));
        let replaced = removed + placeholders.map(size).sum::<u64>();
        if summary.is_empty() || size(&renewed) >= replaced {
            return self.fallback().apply(messages);
        }
        self.slide
            .replace(messages, renewed, CompactionStrategy::Summary)
    }

    /// Leaves the same turns out without a summary, for when the model fails. An earlier summary stays.
    pub fn fallback(self) -> Slide {
        self.slide
    }
}
