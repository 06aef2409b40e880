//! Checks that a request is a sound conversation.

use std::collections::BTreeSet;
use std::fmt;

use gadgetry::proto::message::{Message, Role};
use gadgetry::{Classified, Fault};

use crate::content::{calls, is_blank, results};
use crate::render::render_conversation;

/// Checks conversations before they go to a model. Providers refuse or misread those that break a [`Rule`], and no agent
/// should ever send one.
///
/// [`MockModel`](crate::MockModel) checks every request with it.
///
/// ```
/// use gadgetry_testing::{RequestChecker, Rule, call, conversation};
/// let cut = conversation().user("Go.").assistant_call(call("Run").id("a")).build();
/// let violations = RequestChecker::default().check(&cut).unwrap_err();
/// assert_eq!(violations.list[0].rule, Rule::EveryCallAnswered);
/// assert!(RequestChecker::default().without(Rule::EveryCallAnswered).check(&cut).is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestChecker {
    without: BTreeSet<Rule>,
}

/// The invariants of a valid conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// System messages come before all others.
    SystemLeads,
    /// No message is without content, or all blank. What a model thought counts as content.
    NoEmptyMessage,
    /// A result is in a message of the user, and answers a call of the assistant's message right before it, by the name
    /// that the call used.
    NoOrphanResult,
    /// The message after calls is the user's and answers each call once.
    EveryCallAnswered,
    /// Results stand in the order of their calls.
    CallOrder,
}

/// Place where a conversation breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The message that is wrong, from 1.
    pub message: usize,
    /// Problem with the message.
    pub problem: String,
}

/// All that is wrong with a conversation. Its text shows the whole conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violations {
    /// In the order of the messages.
    pub list: Vec<Violation>,
    rendered: String,
}

impl Classified for Violations {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

impl RequestChecker {
    /// Does not check `rule`.
    #[must_use]
    pub fn without(mut self, rule: Rule) -> Self {
        self.without.insert(rule);
        self
    }

    /// Finds everything that is wrong.
    pub fn check(&self, messages: &[Message]) -> Result<(), Violations> {
        let mut list = Vec::new();
        let mut conversation_began = false;
        for (at, message) in messages.iter().enumerate() {
            let mut found = |rule, problem| {
                list.push(Violation {
                    rule,
                    message: at + 1,
                    problem,
                });
            };
            conversation_began |= message.role != Role::System;
            if conversation_began && message.role == Role::System {
                let problem = "a system message follows other messages".to_owned();
                found(Rule::SystemLeads, problem);
            }
            if is_blank(message) {
                found(Rule::NoEmptyMessage, "the message is empty".to_owned());
            }
            let before = at.checked_sub(1).and_then(|before| messages.get(before));
            orphans(message, before, &mut found);
            answers(message, messages.get(at + 1), &mut found);
        }
        list.retain(|violation| !self.without.contains(&violation.rule));
        if list.is_empty() {
            return Ok(());
        }
        Err(Violations {
            list,
            rendered: render_conversation(messages),
        })
    }

    /// [`RequestChecker::check`], for tests that expect nothing to be wrong.
    ///
    /// # Panics
    ///
    /// If something is, with all of it and the conversation.
    #[track_caller]
    pub fn assert(&self, messages: &[Message]) {
        if let Err(violations) = self.check(messages) {
            panic!("no sound conversation: {violations}");
        }
    }
}

/// Results without a call.
fn orphans(message: &Message, before: Option<&Message>, found: &mut impl FnMut(Rule, String)) {
    for (id, gadget) in results(message) {
        if message.role != Role::User {
            let problem = format!("the result of {id:?} is not in a message of the user");
            found(Rule::NoOrphanResult, problem);
            continue;
        }
        let before = before.filter(|before| before.role == Role::Assistant);
        let mut named = before
            .into_iter()
            .flat_map(calls)
            .filter(|call| call.invocation_id.as_str() == id);
        let problem = match named.next() {
            None => format!("the result of {id:?} answers no call of the message before"),
            Some(call)
                if call.gadget_name != gadget && !named.any(|call| call.gadget_name == gadget) =>
            {
                format!(
                    "the result of {id:?} is of {gadget:?}, but the call is of {:?}",
                    call.gadget_name
                )
            }
            Some(_) => continue,
        };
        found(Rule::NoOrphanResult, problem);
    }
}

/// Calls without exactly one result, or with results in another order.
fn answers(message: &Message, after: Option<&Message>, found: &mut impl FnMut(Rule, String)) {
    if message.role != Role::Assistant {
        return;
    }
    let called: Vec<&str> = calls(message)
        .map(|call| call.invocation_id.as_str())
        .collect();
    let after = after.filter(|after| after.role == Role::User);
    let answered: Vec<&str> = after
        .into_iter()
        .flat_map(results)
        .map(|(id, _)| id)
        .collect();
    let count = |ids: &[&str], id| ids.iter().filter(|other| **other == id).count();
    let mut once = true;
    for id in called.iter().copied().collect::<BTreeSet<_>>() {
        let (calls, results) = (count(&called, id), count(&answered, id));
        if calls != results {
            once = false;
            let problem = match (calls, results) {
                (1, 0) => format!("the call {id:?} is not answered in the next message"),
                (1, _) => format!("the call {id:?} is answered {results} times"),
                _ => format!("the id {id:?} has {calls} calls and {results} results"),
            };
            found(Rule::EveryCallAnswered, problem);
        }
    }
    // Orphans among the results are already reported.
    let answered: Vec<_> = answered
        .into_iter()
        .filter(|id| called.contains(id))
        .collect();
    if once && called != answered {
        let problem = format!("the calls {called:?} are answered in the order {answered:?}");
        found(Rule::CallOrder, problem);
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for violation in &self.list {
            write!(
                f,
                "\n  message {}: {}",
                violation.message, violation.problem
            )?;
        }
        write!(f, "\n{}", self.rendered)
    }
}

impl std::error::Error for Violations {}
