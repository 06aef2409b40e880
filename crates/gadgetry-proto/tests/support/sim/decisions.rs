//! What somebody random decides: the same for the same question, however often it is played.

use std::sync::Arc;

use gadgetry_proto::message::{Message, Request, Role};
use gadgetry_proto::run::{Decision, QuestionKind};
use serde_json::json;

use super::script::block;
use crate::support::generate::Random;

/// How long it takes, and what comes of it.
pub(crate) fn decide(seed: u64, question: &QuestionKind) -> (u64, Decision) {
    let text = serde_json::to_string(question).expect("a question is JSON");
    let hash = text.bytes().fold(seed, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let random = &mut Random::new(hash);
    let delay_ms = *random.pick(&[0, 0, 1, 7, 30]);
    (delay_ms, decision(random, question))
}

fn decision(random: &mut Random, question: &QuestionKind) -> Decision {
    if random.one_in(2) {
        return Decision::Proceed;
    }
    let text = (*random.pick(&["decided", "", "{\"n\":1}", "!!!GADGET_END"])).to_owned();
    match question {
        QuestionKind::BeforeModelCall { request } => match random.below(5) {
            0 => Decision::Stop,
            1 | 2 => Decision::Request(changed(request)),
            _ => Decision::Reply(reply(random)),
        },
        QuestionKind::BeforeCompaction { .. } => Decision::Deny(text),
        QuestionKind::AfterModelCall { .. } => {
            if random.one_in(5) {
                return Decision::Stop;
            }
            let append = (0..random.below(3)).map(|n| Message::text(Role::User, format!("{n}.")));
            Decision::AfterReply {
                text: random.one_in(2).then_some(text),
                append: append.collect(),
                next: None,
            }
        }
        QuestionKind::ModelError { .. } => Decision::Reply(reply(random)),
        QuestionKind::BeforeGadget { .. } => match random.below(4) {
            0 => Decision::Parameters(json!({ "n": 3 })),
            1 => Decision::Parameters(json!({ "n": "three" })),
            2 => Decision::Result(text),
            _ => Decision::Deny(text),
        },
        QuestionKind::AfterGadget { .. } => match random.below(5) {
            0 => Decision::Stop,
            1 | 2 => Decision::Result(text),
            _ => Decision::Deny(text),
        },
        QuestionKind::DependencySkipped { .. } => {
            if random.one_in(2) {
                Decision::Execute
            } else {
                Decision::Result(text)
            }
        }
        QuestionKind::Interrupted { .. } => match random.below(3) {
            0 => Decision::Execute,
            1 => Decision::Result(text),
            _ => Decision::Deny(text),
        },
        QuestionKind::Human { .. } | QuestionKind::Input { .. } => Decision::Result(text),
    }
}

fn changed(request: &Request) -> Request {
    let mut messages = request.messages.to_vec();
    messages.push(Message::text(Role::User, "Only now."));
    request.clone().messages(Arc::new(messages))
}

fn reply(random: &mut Random) -> String {
    match random.below(4) {
        0 => String::new(),
        1 => "Given.".to_owned(),
        2 => block("Alpha:a", &[]) + &block("Beta:b:a", &[("n", "${a}")]),
        _ => "So <thi".to_owned() + &block("Gamma:c", &[("n", "1")]) + "!!!GADGET_START:Alpha:d",
    }
}
