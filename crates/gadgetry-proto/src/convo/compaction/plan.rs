//! What is to be done, and doing it.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::block::Markers;
use crate::convo::compaction::placeholder::{Placeholder, is_placeholder};
use crate::convo::compaction::turns::goes;
use crate::convo::neutral::escape_markers;
use crate::convo::tokens::{TokenEstimate, size};
use crate::event::{Compacted, CompactionStrategy};
use crate::message::Message;

/// What is to be done about a conversation. Something always is.
///
/// It can be saved, and is for the conversation that it was made for; until it is applied, that may grow at its end
/// but not change otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Plan {
    /// Turns are left out.
    Slide(Slide),
    /// The model summarises turns, and the summary takes their place.
    Summarise(Summarise),
}

/// Turns to leave out. See the [module](super).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Slide {
    /// The messages of each turn, in order.
    turns: Vec<Range<usize>>,
    /// Where the first turn of the conversation begins.
    head: usize,
    tokens: TokenEstimate,
}

impl Slide {
    pub(super) fn new(turns: Vec<Range<usize>>, head: usize, tokens: TokenEstimate) -> Self {
        Self {
            turns,
            head,
            tokens,
        }
    }

    /// Leaves the turns out. A notice says how many have gone by now.
    pub fn apply(self, messages: &mut Vec<Message>) -> Compacted {
        let mut placeholder = Placeholder::of(messages);
        placeholder.omitted = placeholder.omitted.saturating_add(self.count());
        self.replace(
            messages,
            placeholder.into_message(),
            CompactionStrategy::SlidingWindow,
        )
    }

    /// How many turns go.
    fn count(&self) -> u32 {
        u32::try_from(self.turns.len()).unwrap_or(u32::MAX)
    }

    /// Whether the message at `index` goes with its turn.
    pub(super) fn removes(&self, index: usize, message: &Message) -> bool {
        let turn = self.turns.partition_point(|turn| turn.end <= index);
        let inside = self.turns.get(turn).is_some_and(|t| t.contains(&index));
        inside && goes(message)
    }

    /// How many messages there are before the first turn.
    pub(super) fn head(&self) -> usize {
        self.head
    }

    fn replace(
        self,
        messages: &mut Vec<Message>,
        placeholder: Message,
        strategy: CompactionStrategy,
    ) -> Compacted {
        let (mut before, mut after) = (0, size(&placeholder));
        let (mut index, mut place, mut removed_messages) = (0, 0, 0);
        messages.retain(|message| {
            let removed = self.removes(index, message);
            let kept = !removed && !is_placeholder(message);
            removed_messages += u32::from(removed);
            place += usize::from(kept && index < self.head);
            before += size(message);
            after += if kept { size(message) } else { 0 };
            index += 1;
            kept
        });
        messages.insert(place, placeholder);
        Compacted {
            strategy,
            removed_turns: self.count(),
            removed_messages,
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
