//! Replies that are withdrawn and requested again, and what keeps a reply from it.

use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::tags::CustomBlock;
use gadgetry_proto::usage::{Price, Usage};

use super::retries::{broken_behind, requests, retrying};
use crate::support::sim::play;
use crate::support::sim::script::{Finish, Piece, Reply, Script, block, open_block};
use crate::support::sim::transcript::{check, lines};

/// A reply is withdrawn and requested again unless something may have acted on it: a block has begun or a call is complete.
/// Text, reasoning and the start of a native call are only shown.
#[test]
fn a_reply_that_was_acted_on_is_not_withdrawn() {
    let text = |text: &str| Piece::Text(text.to_owned());
    let hidden = CustomBlock::new("hidden").suppress();
    let reasoning = Piece::Delta(Delta::Reasoning {
        delta: "Hm.".to_owned(),
        metadata: None,
    });
    let tool = Piece::Delta(Delta::ToolCallStart {
        id: "t".to_owned(),
        name: "Tool".to_owned(),
    });
    let start = Piece::Delta(Delta::MessageStart { model: None });
    let raw = Piece::Delta(Delta::Raw {
        data: serde_json::Value::Null,
    });
    for (piece, asked) in [
        (text("So"), 2),
        (text("So<hid"), 2),
        (text(&block("Bell:a", &[])), 2),
        (text(&open_block("Bell:a", &[])), 2),
        (text("<shown>"), 1),
        (reasoning, 2),
        (tool, 2),
        (start, 2),
        (raw, 2),
        (text(""), 2),
        (text("\n\n"), 2),
        (text("<hid"), 2),
        (text("<hidden>secret</hidden>"), 2),
        (text("!!!GADGET_ST"), 2),
        (text("!!!GADGET_START:Bell:a"), 2),
        (text("\n!!!GADGET_START:Bell:a"), 2),
    ] {
        let script = retrying()
            .custom_block(hidden.clone())
            .custom_block(CustomBlock::new("shown"))
            .replies(broken_behind(vec![piece.clone()]));
        let log = play(&script);
        let found = lines(&log);
        // With a call, the run goes on from what it has.
        let again = found.iter().any(|line| line.contains("retry"));
        let sent = found.iter().filter(|line| line.contains(" ask ")).count();
        let called = found
            .iter()
            .any(|line| line.contains("call a") || line.contains("call t"));
        assert_eq!(sent, asked, "{piece:?}\n{found:#?}");
        assert_eq!(again, asked == 2 && !called, "{piece:?}\n{found:#?}");
        if again {
            // Nothing is left of what was taken back.
            let answer = &log.summary.answer;
            assert_eq!(answer, "fin", "{piece:?}");
            let last = log
                .history
                .last()
                .and_then(|message| message.raw.as_deref());
            assert_eq!(last, Some("fin"), "{piece:?}");
            assert_eq!(log.history.len(), log.opening.len() + 1, "{piece:?}");
        }
    }
}

/// What was shown is marked as withdrawn, and what it has cost counts.
#[test]
fn a_withdrawn_reply_is_marked_and_costs() {
    let price = Price::default().output(1_000_000.0);
    let thought = Piece::Delta(Delta::Reasoning {
        delta: "Hm.".to_owned(),
        metadata: None,
    });
    let counts = Piece::Delta(Delta::Usage {
        usage: Usage::default().output_tokens(2),
    });
    let pieces = vec![thought, Piece::Text("So ".to_owned()), counts];
    let script = retrying()
        .replies(broken_behind(pieces))
        .with(|spec| spec.price = Some(price.clone()));
    let log = play(&script);
    let found = lines(&log);
    let shown = ["0 ask 1", "0 reasoning Hm.", "0 text So ", "0 withdrawn 1"];
    assert_eq!(found[..4], shown, "{found:#?}");
    assert!(found[4].starts_with("0 reply error"), "{found:#?}");
    assert!(log.summary.total_cost >= Some(2.0), "{found:#?}");
    assert_eq!(log.history.len(), log.opening.len() + 1, "{found:#?}");
}

/// A stop reason that reports an interruption is a failure that may pass; one that nobody knows is not.
#[test]
fn interruptions_are_retried() {
    for (word, asked) in [
        ("abort", 2),
        ("insufficient_system_resource", 2),
        ("network_error", 2),
        ("MALFORMED_FUNCTION_CALL", 2),
        ("RECITATION", 1),
        ("weird", 1),
    ] {
        let reason = Finish::Reason(StopReason::Other(word.to_owned()));
        let script = retrying().reply_cut("So", reason);
        assert_eq!(requests(&script).len(), asked, "{word}");
    }
    let script = retrying().reply_cut("So", Finish::Reason(StopReason::Unspecified));
    assert_eq!(requests(&script).len(), 1);
}

/// Reasoning alone is no answer either.
#[test]
fn a_reply_of_reasoning_alone_is_empty() {
    let thought = || {
        Reply::stop(vec![Piece::Delta(Delta::Reasoning {
            delta: "Hm.".to_owned(),
            metadata: None,
        })])
    };
    check(
        &retrying().replies(thought()),
        &[
            "0 ask 1",
            "0 reasoning Hm.",
            "0 withdrawn 1",
            "0 reply stop: the reply had reasoning, but no answer",
            "0 retry 1 in 10: the reply had reasoning, but no answer",
            "10 ask 1",
            "10 text fin",
            "10 end completed after 1: fin",
        ],
    );
    check(
        &Script::default().replies(thought()),
        &[
            "0 ask 1",
            "0 reasoning Hm.",
            "0 end modelError after 1 (the reply had reasoning, but no answer): ",
        ],
    );
}

/// What was only shown is withdrawn with an event, what nobody saw without one; notes about it are forgotten.
#[test]
fn only_what_was_shown_is_marked() {
    let thought = |text: &str| {
        Piece::Delta(Delta::Reasoning {
            delta: text.to_owned(),
            metadata: None,
        })
    };
    for (piece, marked) in [
        (thought("Hm."), true),
        (thought(""), false),
        (Piece::Text("So".to_owned()), true),
        (Piece::Text("So !!GADGET_START:Bell ".to_owned()), true),
        (Piece::Text("!!!GADGET_ST".to_owned()), false),
    ] {
        let script = retrying().replies(broken_behind(vec![piece.clone()]));
        let found = lines(&play(&script));
        let is_marked = found.iter().any(|line| line == "0 withdrawn 1");
        assert_eq!(is_marked, marked, "{piece:?} {found:#?}");
        assert!(
            !found.iter().any(|line| line.contains("Note: ")),
            "{found:#?}"
        );
        let last = found.last().map(String::as_str);
        assert_eq!(last, Some("10 end completed after 1: fin"), "{piece:?}");
    }
}

/// Reasoning before an answer does not make the reply empty, and blank text is no answer.
#[test]
fn reasoning_with_an_answer_is_not_empty() {
    for (text, asked) in [("So.", 1), (" So.", 1), ("\n", 2)] {
        let thought = Piece::Delta(Delta::Reasoning {
            delta: "Hm.".to_owned(),
            metadata: None,
        });
        let reply = Reply::stop(vec![thought, Piece::Text(text.to_owned())]);
        let asks = requests(&retrying().replies(reply)).len();
        assert_eq!(asks, asked, "{text:?}");
    }
}
