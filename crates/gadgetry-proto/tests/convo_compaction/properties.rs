//! What is true of every compaction of every conversation.

use gadgetry_proto::block::Markers;
use gadgetry_proto::convo::TokenEstimate;
use gadgetry_proto::convo::compaction::{Compaction, CompactionPlan};
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
            let make = |messages: &[Message], tokens: &TokenEstimate, ask: Ask| {
                ask.plan(&compaction, messages, tokens, round.window)
            };
            let mut ask = [Ask::IfDue, Ask::Now, Ask::Overflow][round.ask];
            // It comes to an end, since every time there are fewer turns.
            for _ in 0..messages.len() + 4 {
                let plan = make(&messages, &tokens, ask);
                let sliding = Compaction { strategy: CompactionStrategy::SlidingWindow, ..compaction.clone() };
                let turns_are_enough = check_oracle(&sliding, &messages, &tokens, round.window, ask)?;
                let Some(plan) = plan else {
                    if ask == Ask::IfDue { break }
                    ask = Ask::IfDue;
                    continue;
                };
                let before = messages.clone();
                let slid = matches!(plan, CompactionPlan::Slide(_));
                let compacted = apply(&plan, &mut messages, round.summary.as_deref())?;
                prop_assert_eq!(compacted.tokens_before, tokens.tokens());
                tokens.recount(&messages);
                prop_assert_eq!(compacted.tokens_after, tokens.tokens());
                if turns_are_enough {
                    let keep = if ask == Ask::Now { compaction.keep_recent_turns } else { 1 };
                    check(&before, &messages, &compacted, keep)?;
                }
                check_fixed(&before, &messages)?;
                let was = std::mem::replace(&mut ask, Ask::IfDue);
                if slid && was != Ask::Now {
                    prop_assert_eq!(make(&messages, &tokens, ask), None, "once is enough");
                }
            }
            prop_assert_eq!(make(&messages, &tokens, Ask::IfDue), None);
            let fits = round.window == 0
                || tokens.tokens() <= most(&messages, &tokens, round.window)
                || least(&messages);
            prop_assert!(fits, "whatever there was, it fits, or nothing can go");
            let saved = serde_json::to_string(&messages).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Vec<Message>>(&saved).unwrap(), &messages);
        }
    }
}

/// Does what `plan` says, after it was saved and loaded.
fn apply(
    plan: &CompactionPlan,
    messages: &mut Vec<Message>,
    summary: Option<&str>,
) -> Result<Compacted, TestCaseError> {
    let saved = serde_json::to_string(plan).unwrap();
    let loaded: CompactionPlan = serde_json::from_str(&saved).unwrap();
    prop_assert_eq!(&loaded, plan);
    Ok(match (loaded, summary) {
        (CompactionPlan::Slide(slide), _) => slide.apply(messages),
        (CompactionPlan::Summarise(plan), Some(summary)) => {
            plan.apply(messages, summary, &Markers::default())
        }
        (CompactionPlan::Summarise(plan), None) => plan.fallback().apply(messages),
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

/// The tokens that are never passed if that can be done: a tenth of the window stays free, and 1,000 tokens or a quarter.
/// If what never changes fills most of it, half of the rest does.
fn most(messages: &[Message], tokens: &TokenEstimate, window: u64) -> u64 {
    let free = window / 10;
    let free = free.max((window / 4).min(1_000));
    let kept = window - free;
    let fixed = fixed(messages, tokens);
    if fixed + window / 8 <= kept {
        kept
    } else {
        fixed + window.saturating_sub(fixed) / 2
    }
}

/// The tokens of what never changes: system messages, the latest message of the user, and the notice.
fn fixed(messages: &[Message], tokens: &TokenEstimate) -> u64 {
    let mut estimate = *tokens;
    estimate.recount(&irreducible(messages));
    estimate.tokens()
}

fn irreducible(messages: &[Message]) -> Vec<Message> {
    let latest = latest_of_user(messages);
    let mut left: Vec<Message> = (0..messages.len())
        .filter(|&at| messages[at].role == Role::System || latest == Some(at))
        .map(|at| messages[at].clone())
        .collect();
    let content = vec![Content::Omission { turns: 1 }];
    left.push(Message::new(Role::User, content));
    left
}

fn latest_of_user(messages: &[Message]) -> Option<usize> {
    let is_users =
        |m: &Message| m.role == Role::User && results(m).is_empty() && turns(m).is_none();
    (0..messages.len()).rfind(|&at| is_users(&messages[at]))
}

/// The window that counts.
fn base(tokens: &TokenEstimate, window: u64, ask: Ask) -> u64 {
    let estimate = tokens.tokens();
    let is_smaller = window > 0 && window < estimate;
    match ask {
        Ask::IfDue => window,
        _ if is_smaller => window,
        Ask::Now => estimate,
        Ask::Overflow => estimate * 2 / 3,
    }
}

/// Sliding is what the naive twin does, as long as turns are enough.
fn check_oracle(
    sliding: &Compaction,
    messages: &[Message],
    tokens: &TokenEstimate,
    window: u64,
    ask: Ask,
) -> Result<bool, TestCaseError> {
    let kept = |window: u64| window - (window / 10).max((window / 4).min(1_000));
    let trigger = |window: u64| share(window, sliding.trigger_percent).min(kept(window));
    let now = ask != Ask::IfDue;
    let due = window > 0 && tokens.tokens() > trigger(window);
    let base = base(tokens, window, ask);
    let target = share(base, sliding.target_percent).min(trigger(base));
    let most = (ask != Ask::Now).then(|| most(messages, tokens, base));
    let expected = if now || due {
        naive::slide(messages, sliding.keep_recent_turns, (target, most), *tokens)
    } else {
        Ok(None)
    };
    let plan = ask.plan(sliding, messages, tokens, window);
    let found = plan.map(|plan| {
        let mut left = messages.to_vec();
        apply(&plan, &mut left, None).map(|done| (done.cut_texts, left))
    });
    let found = found.transpose()?;
    let turns_are_enough = expected.is_ok();
    if let Ok(expected) = expected {
        prop_assert_eq!(found.map(|(_, left)| left), expected);
    } else if let Some((_, left)) = found {
        let mut after = *tokens;
        after.recount(&left);
        let fits = after.tokens() <= most.unwrap_or(0);
        prop_assert!(fits || least(&left), "{after:?} of {most:?}: {left:#?}");
    }
    Ok(turns_are_enough)
}

/// Whether nothing of a conversation is left but what never changes.
fn least(left: &[Message]) -> bool {
    let latest = latest_of_user(left);
    (0..left.len())
        .all(|at| left[at].role == Role::System || latest == Some(at) || turns(&left[at]).is_some())
}

/// On what occasion something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    IfDue,
    Now,
    Overflow,
}

impl Ask {
    fn plan(
        self,
        compaction: &Compaction,
        messages: &[Message],
        tokens: &TokenEstimate,
        window: u64,
    ) -> Option<CompactionPlan> {
        let make = match self {
            Self::IfDue => Compaction::plan,
            Self::Now => Compaction::plan_now,
            Self::Overflow => Compaction::plan_overflow,
        };
        make(compaction, messages, tokens, window, &form())
    }
}

/// What is never touched, whatever has to go.
fn check_fixed(before: &[Message], after: &[Message]) -> TestCaseResult {
    check_pairs(after)?;
    let systems = |messages: &[Message]| -> Vec<Message> {
        let systems = messages.iter().filter(|m| m.role == Role::System);
        systems.cloned().collect()
    };
    prop_assert_eq!(systems(before), systems(after));
    let latest = |messages: &[Message]| latest_of_user(messages).map(|at| messages[at].clone());
    prop_assert_eq!(latest(before), latest(after));
    Ok(())
}

fn check(
    before: &[Message],
    after: &[Message],
    compacted: &Compacted,
    keep: u32,
) -> TestCaseResult {
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
