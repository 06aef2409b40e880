//! Conversations of any kind, and what happens to them.

use gadgetry_proto::convo::compaction::Compaction;
use gadgetry_proto::event::CompactionStrategy;
use gadgetry_proto::message::{Content, Message, Role};
use proptest::prelude::*;

use super::words::{call, result};

/// Some message that is no reply and no results.
pub(crate) fn other() -> impl Strategy<Value = Message> {
    let role = prop_oneof![4 => Just(Role::User), 1 => Just(Role::System)];
    (role, text()).prop_map(|(role, text)| Message::text(role, text))
}

fn text() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("é"),
        Just("!!!GADGET_END"),
        Just("\nResult (a): "),
        Just("word ")
    ];
    (pieces, 0..60_usize).prop_map(|(piece, count)| piece.repeat(count))
}

/// A reply with calls, their results, and what else is said until the next reply.
fn turn() -> impl Strategy<Value = Vec<Message>> {
    let calls = prop::collection::vec(
        (0..3_u8, prop::bool::weighted(0.05), text(), any::<bool>()),
        0..3,
    );
    let others = prop::collection::vec(other(), 0..6).prop_map(|mut others| {
        // Mostly there are none.
        others.truncate(others.len().saturating_sub(4));
        others
    });
    (text(), calls, others).prop_map(|(said, calls, others)| {
        let mut reply = Message::text(Role::Assistant, said);
        let mut results = Vec::new();
        for (id, sticky, text, native) in calls {
            let id = id.to_string();
            reply.content.push(if native {
                Content::ToolUse {
                    tool_use_id: id.clone(),
                    name: "Save".to_owned(),
                    input: serde_json::json!({ "text": text }),
                }
            } else {
                call(&id)
            });
            results.push(result(&if sticky { id + "*" } else { id }, &text));
        }
        let mut turn = vec![reply];
        if !results.is_empty() {
            turn.push(Message::new(Role::User, results));
        }
        turn.extend(others);
        turn
    })
}

pub(crate) fn compaction() -> impl Strategy<Value = Compaction> {
    let strategy = prop_oneof![
        Just(CompactionStrategy::SlidingWindow),
        Just(CompactionStrategy::Summary),
        Just(CompactionStrategy::Hybrid),
    ];
    let percent = || prop_oneof![8 => 0.0..100.0, 1 => Just(100.0), 1 => prop::num::f64::ANY];
    let prompt = prop::option::of(Just("Be brief".to_owned()));
    (strategy, percent(), percent(), 0..6_u32, prompt).prop_map(
        |(strategy, trigger_percent, target_percent, keep_recent_turns, summary_prompt)| {
            Compaction {
                strategy,
                trigger_percent,
                target_percent,
                keep_recent_turns,
                summary_prompt,
            }
        },
    )
}

/// What happens to a conversation, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    pub(crate) turns: Vec<Vec<Message>>,
    pub(crate) observed: u64,
    pub(crate) window: u64,
    pub(crate) ask: usize,
    pub(crate) summary: Option<String>,
}

pub(crate) fn round() -> impl Strategy<Value = Round> {
    let turns = prop::collection::vec(turn(), 0..10);
    let summary = prop::option::weighted(0.8, text());
    let observed = prop_oneof![Just(0), 1..3_000_u64];
    let window = prop_oneof![1 => Just(0), 9 => 1..2_000_u64];
    (turns, observed, window, 0..3_usize, summary).prop_map(
        |(turns, observed, window, ask, summary)| Round {
            turns,
            observed,
            window,
            ask,
            summary,
        },
    )
}
