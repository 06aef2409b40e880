//! Reasoning that a model writes into its text.

use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::DiagnosticCode;
use gadgetry_proto::message::Content;
use gadgetry_proto::run::{RunConfig, Tools};
use gadgetry_proto::tags::BlockConfig;

use crate::support::sim::play;
use crate::support::sim::script::{Piece, Reply, Script, block, gadget};
use crate::support::sim::transcript::lines;

/// One reply under some options, cut in two everywhere: what is told of it, up to its end.
#[track_caller]
fn check(change: impl Fn(&mut RunConfig), reply: &str, expected: &[&str]) {
    for cut in (0..=reply.len()).filter(|at| reply.is_char_boundary(*at)) {
        let (before, behind) = reply.split_at(cut);
        let pieces = [before, behind].map(|text| Piece::Text(text.to_owned()));
        let mut script = Script::default().gadget(gadget("Bell"));
        change(&mut script.base);
        let log = play(&script.replies(Reply::stop(pieces.to_vec())));
        let all = lines(&log);
        let mut told: Vec<String> = Vec::new();
        for line in all[1..]
            .iter()
            .take_while(|line| !line.starts_with("0 ask"))
        {
            match (told.last_mut(), line.strip_prefix("0 reasoning ")) {
                (Some(before), Some(more)) if before.starts_with("0 reasoning") => {
                    before.push_str(more);
                }
                _ => told.push(line.clone()),
            }
        }
        assert_eq!(told, expected, "{reply:?} cut at {cut}");
        if let Some(answer) = &log.history[log.opening.len()..].first() {
            assert_eq!(answer.raw.as_deref(), Some(reply), "as it was written");
        }
    }
}

#[test]
fn nothing_in_reasoning_is_text_or_a_call() {
    let draft = block("Bell:d", &[]);
    let real = block("Bell:r", &[]);
    let default = |_: &mut RunConfig| {};
    let native = |spec: &mut RunConfig| spec.tools = Tools::Native;
    let thought = format!("0 reasoning {draft}");
    for options in [default, native] {
        check(
            options,
            &format!("<think>{draft}</think>\n\nNo need."),
            &[
                &thought,
                "0 text No need.",
                "0 end completed after 1: No need.",
            ],
        );
        check(
            options,
            &format!("Well.<thinking>{draft}"),
            &["0 text Well.", &thought, "0 end completed after 1: Well."],
        );
    }
    check(
        default,
        &format!("<think>{draft}</think>\n\n{real}"),
        &[
            &thought,
            "0 call r Bell",
            "0 start r {}",
            "0 ok r: ok Bell",
            "  told Result (r): ok Bell",
        ],
    );
    check(
        |spec| spec.reasoning_tags = Vec::new(),
        &format!("<think>{draft}"),
        &[
            "0 text <think>",
            "0 call d Bell",
            "0 start d {}",
            "0 ok d: ok Bell",
            "  told Result (d): ok Bell",
        ],
    );
    check(
        |spec| spec.reasoning_tags = vec!["plan".to_owned()],
        "<plan>a</plan>b<think>c",
        &[
            "0 reasoning a",
            "0 text b<think>c",
            "0 end completed after 1: b<think>c",
        ],
    );
    check(
        |spec| spec.custom_blocks = vec![BlockConfig::new("think")],
        "<think>a</think>b",
        &["0 block think a", "0 text b", "0 end completed after 1: b"],
    );
    check(
        default,
        "Write `<think>` and `</think>` around it.",
        &[
            "0 text Write `<think>` and `</think>` around it.",
            "0 end completed after 1: Write `<think>` and `</think>` around it.",
        ],
    );
}

/// Templates swallow the opening tag.
#[test]
fn a_reply_that_begins_inside() {
    let draft = block("Bell:d", &[]);
    check(
        |spec| spec.reasoning_open = true,
        &format!("{draft}</think>\nYes."),
        &[
            &format!("0 reasoning {draft}"),
            "0 text Yes.",
            "0 end completed after 1: Yes.",
        ],
    );
    // Who does not say so has seen it as text, until the closing tag came; the answer is what follows.
    let log = play(&Script::default().reply("Hm, 2 + 2.</think>\n\nFour."));
    assert_eq!(log.summary.answer, "Four.");
    assert_eq!(log.diagnostics(DiagnosticCode::StrayReasoningEnd), 1);
    let reply = &log.history[log.opening.len()];
    let [
        Content::Reasoning { text: thought },
        Content::Text { text: answer },
    ] = &reply.content[..]
    else {
        panic!("{reply:?}");
    };
    assert_eq!((thought.as_str(), answer.as_str()), ("Hm, 2 + 2.", "Four."));
}

/// What the provider marks as reasoning is not scanned at all.
#[test]
fn reasoning_of_the_provider_stays_reasoning() {
    let reasoning = Delta::Reasoning {
        delta: "</think><think>".to_owned(),
        metadata: None,
    };
    let pieces = vec![Piece::Delta(reasoning), Piece::Text("So.".to_owned())];
    let log = play(&Script::default().replies(Reply::stop(pieces)));
    assert_eq!(log.summary.answer, "So.");
    assert_eq!(log.diagnostics(DiagnosticCode::StrayReasoningEnd), 0);
}

#[test]
fn empty_reasoning_is_no_event() {
    let reasoning = |text: &str| {
        Piece::Delta(Delta::Reasoning {
            delta: text.to_owned(),
            metadata: None,
        })
    };
    let pieces = ["", "Hm.", ""].map(reasoning);
    let log = play(&Script::default().replies(Reply::stop(pieces.to_vec())));
    let thoughts: Vec<String> = lines(&log)
        .into_iter()
        .filter(|line| line.starts_with("0 reasoning"))
        .collect();
    assert_eq!(thoughts, ["0 reasoning Hm."]);
}
