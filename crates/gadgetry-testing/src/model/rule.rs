//! One rule of a mock model: which requests it answers, how often, and with what.

use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};

use gadgetry::proto::message::Request;

use crate::matcher::{Asked, Matcher};
use crate::reply::Reply;

/// Behaviour of a rule with several replies once it has given all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Then {
    /// Answers nothing more; later rules may.
    #[default]
    Refuse,
    /// Gives the last reply again.
    RepeatLast,
    /// Starts again with the first reply.
    Cycle,
}

/// The replies of a rule.
pub(super) enum Replies {
    Same(Box<Reply>),
    InOrder(Vec<Reply>, Then),
    By(Box<dyn Fn(&Request) -> Reply + Send + Sync>),
}

pub(super) struct Rule {
    /// Number of the rule, one-based.
    pub(super) number: usize,
    pub(super) label: Option<String>,
    pub(super) written_at: &'static Location<'static>,
    pub(super) matcher: Matcher,
    /// Number of requests that the rule answers.
    pub(super) times: Option<usize>,
    /// Whether it may remain unused.
    pub(super) optional: bool,
    pub(super) replies: Replies,
    pub(super) used: AtomicUsize,
}

impl Rule {
    /// Takes one of its turns; the number of the turn, from 0, or why it does not answer.
    pub(super) fn claim(&self, asked: &Asked<'_>) -> Result<usize, String> {
        if let Some(refusal) = self.matcher.refusal(asked) {
            return Err(refusal);
        }
        let most = self.most().unwrap_or(usize::MAX);
        let next = |used| (used < most).then_some(used + 1);
        let claimed = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        claimed.map_err(|used| format!("it matches, but has answered {}", times(used)))
    }

    /// Returns the reply to the request that took this turn.
    pub(super) fn reply(&self, turn: usize, request: &Request) -> Reply {
        match &self.replies {
            Replies::Same(reply) => Reply::clone(reply),
            Replies::By(make) => make(request),
            Replies::InOrder(replies, then) => {
                let at = match then {
                    Then::Cycle => turn.checked_rem(replies.len()).unwrap_or_default(),
                    Then::Refuse | Then::RepeatLast => turn.min(replies.len().saturating_sub(1)),
                };
                replies.get(at).cloned().unwrap_or_default()
            }
        }
    }

    /// Returns the maximum number of requests that the rule answers.
    fn most(&self) -> Option<usize> {
        let replies = match &self.replies {
            Replies::InOrder(replies, Then::Refuse) => Some(replies.len()),
            Replies::InOrder(replies, _) if replies.is_empty() => Some(0),
            Replies::InOrder(..) | Replies::Same(_) | Replies::By(_) => None,
        };
        match (self.times, replies) {
            (Some(times), Some(replies)) => Some(times.min(replies)),
            (times, replies) => times.or(replies),
        }
    }

    /// Describes what is wrong with the number of answers, once the test is over.
    pub(super) fn shortfall(&self) -> Option<String> {
        let used = self.used.load(Ordering::Relaxed);
        if self.optional || used >= self.most().unwrap_or(1) {
            return None;
        }
        Some(match self.most() {
            _ if used == 0 => "never answered".to_owned(),
            most => format!("answered {} of {}", used, times(most.unwrap_or(1))),
        })
    }

    /// Returns the name in reports.
    pub(super) fn title(&self) -> String {
        let number = self.number;
        match &self.label {
            Some(label) => format!("rule {number} {label:?}"),
            None => format!("rule {number}"),
        }
    }
}

/// A number of times, formatted.
pub(super) fn times(count: usize) -> String {
    match count {
        1 => "1 time".to_owned(),
        count => format!("{count} times"),
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({}): {:?}",
            self.title(),
            self.written_at,
            self.matcher
        )
    }
}
