//! All built-in gadgets in a window of 4,096 tokens.

use std::fmt::Write as _;
use std::fs;

use gadgetry::Agent;
use gadgetry::approval::{Approvals, Rules};
use gadgetry::proto::convo::prompt_text;
use gadgetry::proto::message::{Purpose, Request};
use gadgetry_testing::{MockModel, call, reply};

use crate::stage::Stage;

const WINDOW: u64 = 4_096;

/// Tokens of a request. The prompt has 3.17 bytes for a token of a model with a small vocabulary, as was measured.
fn tokens(request: &Request) -> u64 {
    let texts = request.messages.iter().map(prompt_text);
    texts.map(|text| text.len() as u64 * 10 / 31 + 8).sum()
}

/// Ten turns that each read as much as is read at once, with 1,000 tokens left for each reply.
#[tokio::test]
async fn ten_turns_leave_room_for_a_reply() {
    let stage = Stage::new();
    let mut text = String::new();
    for line in 0..400 {
        writeln!(
            text,
            "{line}: What is written here is different from other lines."
        )
        .unwrap();
    }
    fs::write(stage.work().join("long.txt"), text).unwrap();
    let model = MockModel::builder()
        .context_window(WINDOW)
        .when(|m| m)
        .replies_by(|request| {
            let said = reply().tokens(tokens(request), 40);
            let turn = request.iteration;
            match (request.purpose, turn) {
                (Purpose::Summary, _) => said.text("Read some of it."),
                (_, 1..=10) => {
                    let range = call("ReadFile").id(format!("r{turn}"));
                    let range = range.arg("filePath", "long.txt");
                    let range = range.arg("startLine", (turn * 30).to_string());
                    said.text("I read on.").call(range)
                }
                _ => said.text("Done."),
            }
        })
        .build();
    let agent = Agent::builder()
        .model(model.clone())
        .gadgets(stage.builtins.gadgets())
        .approvals(Approvals::new(Rules::default()))
        .max_iterations(12);
    let answer = agent
        .ask("Read long.txt, and say what it is about.")
        .unwrap();
    assert_eq!(answer.text().await.unwrap(), "Done.");
    let requests = model.requests();
    assert!(requests.len() >= 11, "{}", requests.len());
    for (at, request) in requests.iter().enumerate() {
        let tokens = tokens(request);
        assert!(tokens <= WINDOW - 1_000, "request {at}: {tokens} tokens");
    }
    let longest = requests.iter().map(tokens).max();
    // The system message has a third of it.
    assert!(longest > Some(2_300), "{longest:?}: the window is used");
}
