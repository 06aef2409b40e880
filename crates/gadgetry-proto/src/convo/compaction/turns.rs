//! The parts of a conversation.

use std::ops::Range;

use crate::convo::compaction::placeholder::is_placeholder;
use crate::convo::tokens::{size, total_size};
use crate::message::{Content, Message, Role};

/// A conversation, taken apart.
pub(super) struct Outline {
    /// Number of messages before the first reply.
    pub(super) head: usize,
    /// Everything from there on, in order.
    turns: Vec<OutlinedTurn>,
    /// Bytes of the whole conversation.
    pub(super) size: u64,
    /// Bytes that earlier compactions have put into it.
    pub(super) placeholder_size: u64,
    /// Index of the latest message of the user.
    pub(super) asked: Option<usize>,
}

/// A reply of the model, and everything up to the next one.
pub(super) struct OutlinedTurn {
    /// The messages of the turn.
    pub(super) range: Range<usize>,
    /// Bytes of those messages that go when the turn does.
    pub(super) size: u64,
    /// Whether it always stays.
    pinned: bool,
}

impl Outline {
    pub(super) fn of(messages: &[Message]) -> Self {
        let is_reply =
            |(at, message): (usize, &Message)| (message.role == Role::Assistant).then_some(at);
        let starts: Vec<usize> = messages.iter().enumerate().filter_map(is_reply).collect();
        let ends = starts.iter().skip(1).copied().chain([messages.len()]);
        let asked = messages.iter().rposition(is_from_user);
        let turns = starts.iter().zip(ends).map(|(&start, end)| {
            let range = start..end;
            let pinned = asked.is_some_and(|at| range.contains(&at))
                || messages[range.clone()].iter().any(is_sticky);
            let going = messages[range.clone()].iter().filter(|m| goes(m));
            OutlinedTurn {
                size: going.map(size).sum(),
                range,
                pinned,
            }
        });
        let placeholders = messages.iter().filter(|message| is_placeholder(message));
        Self {
            head: starts.first().copied().unwrap_or(messages.len()),
            turns: turns.collect(),
            size: total_size(messages),
            placeholder_size: placeholders.map(size).sum(),
            asked,
        }
    }

    /// The turns that may go, oldest first, and whether each is a recent one, which goes only if there is no room for it.
    pub(super) fn removable(
        &self,
        keep_recent: u32,
    ) -> impl Iterator<Item = (&OutlinedTurn, bool)> {
        let recent = usize::try_from(keep_recent).unwrap_or(usize::MAX).max(1);
        let old = self.turns.len().saturating_sub(recent);
        let turns = self
            .turns
            .split_last()
            .map_or(&[][..], |(_, others)| others);
        let turns = turns.iter().enumerate();
        let turns = turns.filter(|(_, turn)| !turn.pinned);
        turns.map(move |(at, turn)| (turn, at >= old))
    }

    /// The messages of all turns, oldest first.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.turns.iter().map(|turn| turn.range.clone())
    }

    /// The size of the messages that never change.
    pub(super) fn fixed_size(&self, messages: &[Message]) -> u64 {
        let all = messages.iter().enumerate();
        let fixed =
            all.filter(|&(at, message)| message.role == Role::System || self.asked == Some(at));
        fixed.map(|(_, message)| size(message)).sum()
    }
}

/// Returns `true` if a message goes when its turn does. A placeholder is renewed instead.
pub(super) fn goes(message: &Message) -> bool {
    message.role != Role::System && !is_placeholder(message)
}

/// Returns `true` for a message of the user, as far as is known: no part of it comes from a gadget or from compaction.
fn is_from_user(message: &Message) -> bool {
    let is_result = |part: &Content| matches!(part, Content::GadgetResult { .. });
    message.role == Role::User
        && !message.content.is_empty()
        && !message.content.iter().any(is_result)
        && !is_placeholder(message)
}

fn is_sticky(message: &Message) -> bool {
    let sticky = |part: &Content| matches!(part, Content::GadgetResult { sticky: true, .. });
    message.content.iter().any(sticky)
}
