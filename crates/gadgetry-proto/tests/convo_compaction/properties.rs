//! What is true of every compaction of every conversation.

use gadgetry_proto::block::Markers;
use gadgetry_proto::convo::TokenEstimate;
use gadgetry_proto::convo::compaction::{Compaction, Plan};
use gadgetry_proto::event::{Compacted, CompactionStrategy};
use gadgetry_proto::id::InvocationId;
use gadgetry_proto::message::{Content, Message, Role};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::generate::{compaction, other, round};
use super::{form, naive};

proptest! {
    #[test]
    fn compaction_keeps_what_matters(
        head in prop::collection::vec(other(), 0..4),
        compaction in compaction(),
        rounds in prop::collection::vec(round(), 1..4),
    ) {
        let mut messages = head;
        let mut tokens = TokenEstimate::of(&messages);
        for round in rounds {
            for message in round.turns.into_iter().flatten() {
                tokens.pushed(&message);
                messages.push(message);
            }
            tokens.observe(round.observed);
            let make = |messages: &[Message], tokens: &TokenEstimate, now: bool| {
                let window = round.window;
                if now {
                    compaction.plan_now(messages, tokens, window, &form())
                } else {
                    compaction.plan(messages, tokens, window, &form())
                }
            };
            let mut now = round.now;
            // It comes to an end, since every time there are fewer turns.
            for _ in 0..=messages.len() {
                let plan = make(&messages, &tokens, now);
                let sliding = Compaction { strategy: CompactionStrategy::SlidingWindow, ..compaction.clone() };
                check_oracle(&sliding, &messages, &tokens, round.window, now)?;
                let Some(plan) = plan else { break };
                let before = messages.clone();
                let slid = matches!(plan, Plan::Slide(_));
                let compacted = apply(&plan, &mut messages, round.summary.as_deref())?;
                prop_assert_eq!(compacted.tokens_before, tokens.tokens());
                tokens.recount(&messages);
                prop_assert_eq!(compacted.tokens_after, tokens.tokens());
                check(&before, &messages, &compacted, compaction.keep_recent_turns)?;
                now = false;
                if slid {
                    prop_assert_eq!(make(&messages, &tokens, false), None, "once is enough");
                }
            }
            prop_assert_eq!(make(&messages, &tokens, false), None);
            let saved = serde_json::to_string(&messages).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Vec<Message>>(&saved).unwrap(), &messages);
        }
    }
}

/// Does what `plan` says, after it was saved and loaded.
fn apply(
    plan: &Plan,
    messages: &mut Vec<Message>,
    summary: Option<&str>,
) -> Result<Compacted, TestCaseError> {
    let saved = serde_json::to_string(plan).unwrap();
    let loaded: Plan = serde_json::from_str(&saved).unwrap();
    prop_assert_eq!(&loaded, plan);
    Ok(match (loaded, summary) {
        (Plan::Slide(slide), _) => slide.apply(messages),
        (Plan::Summarise(plan), Some(summary)) => {
            plan.apply(messages, summary, &Markers::default())
        }
        (Plan::Summarise(plan), None) => plan.fallback().apply(messages),
    })
}

/// So much of a window.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the windows are small, and the percents clamped"
)]
fn share(window: u64, percent: f64) -> u64 {
    if percent.is_nan() {
        return 0;
    }
    (window as f64 * percent.clamp(0.0, 100.0) / 100.0).floor() as u64
}

/// Sliding is what the naive twin does.
fn check_oracle(
    sliding: &Compaction,
    messages: &[Message],
    tokens: &TokenEstimate,
    window: u64,
    now: bool,
) -> TestCaseResult {
    let estimate = tokens.tokens();
    let due = window > 0 && estimate > share(window, sliding.trigger_percent);
    let base = if now && (window == 0 || estimate < window) {
        estimate
    } else {
        window
    };
    let target = share(base, sliding.target_percent).min(share(base, sliding.trigger_percent));
    let expected = (now || due)
        .then(|| naive::slide(messages, sliding.keep_recent_turns, target, *tokens))
        .flatten();
    let plan = if now {
        sliding.plan_now(messages, tokens, window, &form())
    } else {
        sliding.plan(messages, tokens, window, &form())
    };
    let found = plan.map(|plan| {
        let mut left = messages.to_vec();
        apply(&plan, &mut left, None).map(|_| left)
    });
    prop_assert_eq!(found.transpose()?, expected);
    Ok(())
}

fn check(
    before: &[Message],
    after: &[Message],
    compacted: &Compacted,
    keep: u32,
) -> TestCaseResult {
    check_pairs(after)?;
    // One placeholder, in front of the first reply, that counts every turn that ever went.
    let made: Vec<usize> = (0..after.len())
        .filter(|&at| turns(&after[at]).is_some())
        .collect();
    prop_assert_eq!(made.len(), 1);
    let counted = |messages: &[Message]| messages.iter().filter_map(turns).sum::<u32>();
    prop_assert_eq!(counted(after), counted(before) + compacted.removed_turns);
    prop_assert!(compacted.removed_turns > 0);
    prop_assert!(
        after[made[0] + 1..]
            .iter()
            .find(|m| m.role != Role::System)
            .is_some_and(|m| m.role == Role::Assistant)
    );
    // Everything else was there before, in this order.
    let real = |messages: &[Message]| -> Vec<Message> {
        messages
            .iter()
            .filter(|m| turns(m).is_none())
            .cloned()
            .collect()
    };
    let (was, is) = (real(before), real(after));
    let mut rest = was.iter();
    prop_assert!(
        is.iter().all(|message| rest.any(|other| other == message)),
        "order"
    );
    prop_assert_eq!(was.len() - is.len(), compacted.removed_messages as usize);
    // What stays.
    let replies = |messages: &[Message]| {
        messages
            .iter()
            .filter(|m| m.role == Role::Assistant)
            .count()
    };
    prop_assert_eq!(
        replies(&was) - replies(&is),
        compacted.removed_turns as usize
    );
    let first = |messages: &[Message]| {
        messages
            .iter()
            .position(|m| m.role == Role::Assistant)
            .unwrap_or(messages.len())
    };
    prop_assert!(is.starts_with(&was[..first(&was)]), "the task");
    let is_system = |m: &&Message| m.role == Role::System;
    let systems = |messages: &[Message]| {
        messages
            .iter()
            .filter(is_system)
            .cloned()
            .collect::<Vec<_>>()
    };
    prop_assert_eq!(systems(&was), systems(&is));
    let sticky = |messages: &[Message]| -> Vec<Message> {
        let found = (1..messages.len()).filter(|&at| is_sticky(&messages[at]));
        found
            .flat_map(|at| messages[at - 1..=at].to_vec())
            .collect()
    };
    prop_assert_eq!(sticky(&was), sticky(&is));
    let recent = |messages: &[Message]| {
        let replies = (0..messages.len())
            .rev()
            .filter(|&at| messages[at].role == Role::Assistant);
        let start = replies.take((keep as usize).max(1)).last().unwrap_or(0);
        messages[start..].to_vec()
    };
    prop_assert_eq!(recent(&was), recent(&is));
    let is_users = |m: &&Message| m.role == Role::User && results(m).is_empty();
    prop_assert_eq!(was.iter().rfind(is_users), is.iter().rfind(is_users));
    prop_assert!(compacted.tokens_after <= compacted.tokens_before);
    prop_assert_ne!(compacted.strategy, CompactionStrategy::Hybrid);
    Ok(())
}

/// Every call is answered by the next message, and every result belongs to a call of the message before.
fn check_pairs(messages: &[Message]) -> TestCaseResult {
    let mut called = Vec::new();
    for message in messages {
        prop_assert_eq!(&results(message), &called);
        called = message
            .content
            .iter()
            .filter_map(|part| match part {
                Content::GadgetCall(call) => Some(call.invocation_id.clone()),
                Content::ToolUse { tool_use_id, .. } => {
                    Some(InvocationId::from(tool_use_id.as_str()))
                }
                _ => None,
            })
            .collect();
    }
    prop_assert_eq!(called, Vec::new());
    Ok(())
}

fn results(message: &Message) -> Vec<InvocationId> {
    let ids = message.content.iter().filter_map(|part| match part {
        Content::GadgetResult { invocation_id, .. } => Some(invocation_id.clone()),
        _ => None,
    });
    ids.collect()
}

fn is_sticky(message: &Message) -> bool {
    let sticky = |part: &Content| matches!(part, Content::GadgetResult { sticky: true, .. });
    message.content.iter().any(sticky)
}

/// How many turns a placeholder stands for.
fn turns(message: &Message) -> Option<u32> {
    message
        .content
        .iter()
        .filter_map(|part| match part {
            Content::Summary { turns, .. } | Content::Omission { turns } => Some(*turns),
            _ => None,
        })
        .reduce(|a, b| a + b)
}
