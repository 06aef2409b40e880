//! Turns that are left out.

use gadgetry_proto::convo::compaction::{Compaction, CompactionPlan};
use gadgetry_proto::convo::{TokenEstimate, prompt_text};
use gadgetry_proto::event::{Compacted, CompactionStrategy};
use gadgetry_proto::media::{Media, MediaData, MediaKind};
use gadgetry_proto::message::{Content, Message};

use super::form;
use super::words::{conversation, words};

/// A window where more than eight long messages are too many, because a quarter is for the reply, and five are aimed at.
const WINDOW: u64 = 1_067;

fn compaction(keep_recent_turns: u32) -> Compaction {
    Compaction {
        strategy: CompactionStrategy::SlidingWindow,
        keep_recent_turns,
        target_percent: 47.0,
        ..Compaction::default()
    }
}

fn slide(plan: Option<CompactionPlan>, messages: &mut Vec<Message>) -> Option<Compacted> {
    plan.map(|plan| match plan {
        CompactionPlan::Slide(slide) => slide.apply(messages),
        CompactionPlan::Summarise(_) => panic!("sliding asks no model"),
    })
}

#[track_caller]
fn check(keep: u32, before: &str, after: Option<&str>) {
    let mut messages = conversation(before);
    let tokens = TokenEstimate::of(&messages);
    let plan = compaction(keep).plan(&messages, &tokens, WINDOW, &form());
    let compacted = slide(plan, &mut messages);
    let found = compacted.map(|_| words(&messages));
    assert_eq!(found.as_deref(), after, "{before}");
}

#[track_caller]
fn check_now(window: u64, before: &str, after: Option<&str>) {
    let mut messages = conversation(before);
    let tokens = TokenEstimate::of(&messages);
    let plan = compaction(1).plan_now(&messages, &tokens, window, &form());
    let compacted = slide(plan, &mut messages);
    let found = compacted.map(|_| words(&messages));
    assert_eq!(found.as_deref(), after, "{before}");
}

#[test]
fn turns_go_whole_and_oldest_first() {
    for (keep, before, after) in [
        // Eight messages fit.
        (
            1,
            "user:t call:a res:a call:b res:b call:c res:c say:d",
            None,
        ),
        (
            1,
            "sys:s user:t call:a res:a call:b res:b call:c res:c say:d",
            Some("sys:s user:t omit:3 say:d"),
        ),
        // Enough is enough.
        (
            1,
            "sys:s user:t call:a,b res:a,b say:c say:d say:e say:f say:g",
            Some("sys:s user:t omit:4 say:f say:g"),
        ),
        (
            2,
            "sys:s user:t call:a res:a call:b res:b call:c res:c say:d",
            Some("sys:s user:t omit:2 call:c res:c say:d"),
        ),
        (
            4,
            "sys:s user:t call:a res:a call:b res:b call:c res:c say:d",
            // Four do not fit.
            Some("sys:s user:t omit:1 call:b res:b call:c res:c say:d"),
        ),
        // The last results were not answered yet.
        (
            0,
            "sys:s user:t say:a say:b say:c say:d say:e call:f res:f",
            Some("sys:s user:t omit:5 call:f res:f"),
        ),
        (
            u32::MAX,
            "sys:s user:t say:a say:b say:c say:d say:e call:f res:f",
            Some("sys:s user:t omit:2 say:c say:d say:e call:f res:f"),
        ),
        // It need not begin with a task.
        (
            1,
            "say:a say:b say:c say:d say:e say:f say:g say:h say:i",
            Some("omit:5 say:f say:g say:h say:i"),
        ),
    ] {
        check(keep, before, after);
    }
}

#[test]
fn system_messages_sticky_results_and_the_task_stay() {
    for (before, after) in [
        (
            "sys:s sys:u user:t user:v call:a res:a call:b res:b say:c",
            Some("sys:s sys:u user:t user:v omit:2 say:c"),
        ),
        // A system message does not have to stand first.
        (
            "user:t say:a sys:s say:b say:c say:d say:e say:f say:g",
            Some("user:t omit:5 sys:s say:f say:g"),
        ),
        (
            "sys:s user:t call:a res:a* call:b res:b call:c res:c say:d",
            Some("sys:s user:t omit:2 call:a res:a* say:d"),
        ),
        // One sticky result of several is enough.
        (
            "user:t call:a,b res:a,b* call:c,d res:c,d call:e res:e say:f say:g",
            Some("user:t omit:3 call:a,b res:a,b* say:g"),
        ),
        // Of what the user said meanwhile, the latest.
        (
            "user:t say:a user:x say:b user:y call:c res:c call:d res:d",
            Some("user:t omit:2 say:b user:y call:d res:d"),
        ),
    ] {
        check(1, before, after);
    }
}

/// Where turns are not enough, texts are cut, and then all goes that can.
#[test]
fn texts_that_do_not_fit_are_cut() {
    for (window, before, after) in [
        // Results of the last turn first, and only as far as it has to be; then sticky ones.
        (
            1_174,
            "sys:s sys:s sys:s user:t user:u user:v user:w call:a res:a",
            Some("sys:s sys:s sys:s user:t user:u user:v user:w call:a res:a/"),
        ),
        (
            1_174,
            "sys:s sys:s sys:s user:t user:u user:v user:w call:a res:a*",
            Some("sys:s sys:s sys:s user:t user:u user:v user:w call:a res:a*/"),
        ),
        // Then replies, and messages of the user but the latest.
        (
            WINDOW,
            "user:a user:b user:c user:d user:e user:f user:g user:h user:i",
            Some("user:a/ user:b/ user:c/ user:d/ user:e/ user:f/ user:g/ user:h/ user:i"),
        ),
        (
            WINDOW,
            "sys:s sys:s sys:s sys:s sys:s user:u say:a user:v say:b",
            Some("sys:s sys:s sys:s sys:s sys:s user:u/ say:a/ user:v say:b/"),
        ),
        // Then turns go that stay otherwise, but for the latest message of the user.
        (
            560,
            "sys:s user:t user:u say:a res:a* say:b user:v say:c",
            Some("sys:s user:t/ user:u/ omit:2 user:v say:c/"),
        ),
        (
            280,
            "sys:s user:t say:a user:u call:b res:b",
            Some("sys:s omit:2 user:u"),
        ),
        (280, "sys:s user:t user:u", Some("sys:s omit:1 user:u")),
        // What is left does not fit, and is not touched.
        (150, "sys:s omit:2 user:u", None),
        (150, "sys:s user:u", None),
    ] {
        let mut messages = conversation(before);
        let tokens = TokenEstimate::of(&messages);
        let plan = compaction(5).plan(&messages, &tokens, window, &form());
        let compacted = slide(plan, &mut messages);
        let found = compacted.map(|_| words(&messages));
        assert_eq!(found.as_deref(), after, "{window}: {before}");
    }
}

/// On request nothing is cut, and the most recent turns stay.
#[test]
fn on_request_recent_turns_stay() {
    let messages = conversation("user:t call:a res:a call:b res:b say:c");
    let tokens = TokenEstimate::of(&messages);
    for window in [0, 200, 1_000] {
        let now = compaction(3).plan_now(&messages, &tokens, window, &form());
        assert_eq!(now, None, "{window}");
        let overflow = compaction(3).plan_overflow(&messages, &tokens, window, &form());
        assert!(overflow.is_some(), "{window}");
    }
}

#[test]
fn images_go_before_turns_do() {
    let picture = Media {
        kind: MediaKind::Image,
        mime_type: "image/png".to_owned(),
        data: MediaData::Base64("AAAA".repeat(1_000)),
        name: None,
    };
    let mut messages = conversation("sys:s user:u call:a res:a~");
    if let Content::GadgetResult { media, .. } = &mut messages[3].content[0] {
        media.push(picture);
    }
    let tokens = TokenEstimate::of(&messages);
    let plan = compaction(5).plan(&messages, &tokens, WINDOW, &form());
    let compacted = slide(plan, &mut messages).unwrap();
    assert_eq!((compacted.removed_turns, compacted.cut_texts), (0, 1));
    let note = "[image/png is left out to fit the context window]";
    assert!(prompt_text(&messages[3]).ends_with(note));
}

#[test]
fn a_second_compaction_renews_the_notice() {
    for (before, after) in [
        (
            "user:t omit:3 call:a res:a call:b res:b call:c res:c say:d say:e",
            "user:t omit:6 say:d say:e",
        ),
        (
            "user:t omit:3 call:a res:a* call:b res:b call:c res:c say:d say:e",
            "user:t omit:6 call:a res:a* say:e",
        ),
        // A summary is not thrown away.
        (
            "user:t sum:7:notes call:a res:a call:b res:b call:c res:c say:d say:e",
            "user:t sum:7:notes+omit:3 say:d say:e",
        ),
        (
            "user:t sum:7:notes+omit:3 call:a res:a call:b res:b call:c res:c say:d say:e",
            "user:t sum:7:notes+omit:6 say:d say:e",
        ),
        // However they came there, there is only one afterwards.
        (
            "omit:1 user:t sum:2:x call:a res:a omit:3 call:b res:b call:c res:c say:d say:e",
            "user:t sum:2:x+omit:7 say:d say:e",
        ),
        (
            "user:t omit:4294967295 call:a res:a call:b res:b call:c res:c say:d say:e",
            "user:t omit:4294967295 say:d say:e",
        ),
    ] {
        check(1, before, Some(after));
    }
}

#[test]
fn on_demand_at_least_one_turn_goes() {
    for (window, before, after) in [
        // Half of what there is, since the window is not the limit.
        (
            1_000,
            "user:t call:a res:a call:b res:b say:c",
            Some("user:t omit:2 say:c"),
        ),
        (
            0,
            "user:t call:a res:a call:b res:b say:c",
            Some("user:t omit:2 say:c"),
        ),
        // The window is.
        (
            400,
            "user:t say:a say:b say:c say:d say:e",
            Some("user:t omit:4 say:e"),
        ),
        (1_000, "user:t say:a say:b", Some("user:t omit:1 say:b")),
        (1_000, "user:t say:a", None),
        (1_000, "user:t call:a res:a* say:b", None),
        (1_000, "", None),
        // A notice that is longer than what goes is no help.
        (1_000, "user:t say:a~ say:b~ say:c~", None),
        (
            1_000,
            "user:t say:a~ say:b~ say:c~ say:d~ say:e~ say:f~ say:g~",
            Some("user:t omit:6 say:g"),
        ),
    ] {
        check_now(window, before, after);
    }
}

#[test]
fn a_notice_as_long_as_what_goes_wins_nothing() {
    // Twenty tokens, as many as the notice has.
    let short = format!("say:{}~", "x".repeat(60));
    let mut messages = conversation(&format!("user:t {short} {short} say:a"));
    let tokens = TokenEstimate::of(&messages);
    let compaction = Compaction {
        trigger_percent: 100.0,
        target_percent: 100.0,
        ..compaction(1)
    };
    let plan = compaction.plan_now(&messages, &tokens, 0, &form());
    let compacted = slide(plan, &mut messages).unwrap();
    assert_eq!(words(&messages), "user:t omit:2 say:a");
    assert_eq!(
        (compacted.tokens_before, compacted.tokens_after),
        (240, 220)
    );
}

#[test]
fn percents_and_windows_of_any_kind() {
    let before = "user:t say:a say:b say:c say:d say:e say:f say:g say:h say:i";
    for (window, trigger, target, after) in [
        // A quarter of the window is for the reply.
        (1_334, 100.0, 37.5, None),
        (1_330, 100.0, 37.5, Some("user:t omit:6 say:g say:h say:i")),
        (1_330, 1e9, 37.5, Some("user:t omit:6 say:g say:h say:i")),
        // The target is never above the trigger.
        (1_000, 30.0, 90.0, Some("user:t omit:8 say:i")),
        (1_000, 80.0, f64::NAN, Some("user:t omit:8 say:i")),
        (1_000, 80.0, -1.0, Some("user:t omit:8 say:i")),
        (1_000, f64::NAN, 90.0, Some("user:t omit:8 say:i")),
        (1, 80.0, 50.0, Some("user:t omit:9")),
        (0, 80.0, 50.0, None),
        (u64::MAX, 80.0, 50.0, None),
    ] {
        let mut messages = conversation(before);
        let tokens = TokenEstimate::of(&messages);
        let compaction = Compaction {
            trigger_percent: trigger,
            target_percent: target,
            ..compaction(1)
        };
        let plan = compaction.plan(&messages, &tokens, window, &form());
        let found = slide(plan, &mut messages).map(|_| words(&messages));
        assert_eq!(
            found.as_deref(),
            after,
            "{window} tokens, {trigger} % to {target} %"
        );
    }
}

#[test]
fn the_event_counts_removed_turns_and_messages() {
    let mut messages =
        conversation("sys:s user:t call:a res:a omit:2 say:b say:c say:d say:e say:f");
    let mut tokens = TokenEstimate::of(&messages);
    // The model counts half as much again.
    tokens.observe(1_380);
    let plan = compaction(2).plan(&messages, &tokens, 1_000, &form());
    let plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    // The conversation may go on in the meantime.
    messages.extend(conversation("user:x"));
    tokens.pushed(&messages[messages.len() - 1]);
    let before = tokens.tokens();
    let compacted = slide(plan, &mut messages);
    tokens.recount(&messages);
    assert_eq!(words(&messages), "sys:s user:t omit:6 say:e say:f user:x");
    let compacted = compacted.unwrap();
    assert_eq!(compacted.strategy, CompactionStrategy::SlidingWindow);
    assert_eq!(
        (compacted.removed_turns, compacted.removed_messages),
        (4, 5)
    );
    let estimates = (compacted.tokens_before, compacted.tokens_after);
    assert_eq!(estimates, (before, tokens.tokens()));
    assert_eq!((before, tokens.tokens()), (1_530, 780));
}

#[test]
fn the_notice_in_words() {
    let messages = conversation("omit:1 omit:5 sum:2:notes sum:1:notes+omit:1");
    let texts: Vec<_> = messages.iter().map(prompt_text).collect();
    assert_eq!(
        texts,
        [
            "[1 earlier turn was left out to fit the context window.]",
            "[5 earlier turns were left out to fit the context window.]",
            "[Summary of 2 earlier turns]\nnotes",
            "[Summary of 1 earlier turn]\nnotes\n\n\
             [1 earlier turn was left out to fit the context window.]",
        ]
    );
}

#[test]
fn the_configuration_is_saved() {
    let compaction = Compaction::default();
    let saved = serde_json::to_value(&compaction).unwrap();
    assert_eq!(
        saved,
        serde_json::json!({
            "strategy": "hybrid", "triggerPercent": 80.0, "targetPercent": 50.0, "keepRecentTurns": 5
        })
    );
    assert_eq!(
        serde_json::from_str::<Compaction>("{}").unwrap(),
        compaction
    );
}
