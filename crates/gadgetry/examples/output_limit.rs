//! Results that are too long for the conversation: kept aside, and read through `GadgetOutputViewer`.
//!
//! `cargo run -p gadgetry --example output_limit`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use gadgetry::{Agent, AgentBuilder, char_limit, gadget, prompt_text};
use gadgetry_testing::{EventLog, MockModel, any, call, reply};
use serde_json::json;

/// Searches the code
#[gadget]
fn search(query: String) -> String {
    let line = |number: u32| {
        let weight = if number.is_multiple_of(1_000) {
            "HIGH"
        } else {
            "low"
        };
        format!("src/file_{number:04}.rs: {query} {weight}")
    };
    (1..=4_200).map(line).collect::<Vec<_>>().join("\n")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // 15 % of the window, at four characters per token, by default.
    assert_eq!(char_limit(200_000, 15.0), 120_000);

    let log = EventLog::default();
    let model = MockModel::builder()
        .context_window(200_000)
        .when(|m| m.iteration(1))
        .replies_with_call(call("Search").id("todo").arg("query", "TODO: look at this"))
        .when(|m| m.iteration(2))
        .replies_by(|request| {
            // The model takes the id from the notice about the result.
            let notice = request.messages.last().map(prompt_text).unwrap_or_default();
            let id = notice.split('"').find(|word| word.starts_with("Search_"));
            let view = reply().call(call("GadgetOutputViewer").id("view").args(json!({
                "id": id,
                "patterns": [{ "regex": "TODO.*HIGH", "include": true, "before": 2, "after": 2 }],
                "limit": "100-",
            })));
            println!(
                "The model reads:\n{notice}\n\nand writes:\n{}",
                view.written()
            );
            view
        })
        .when(|m| m.iteration(3))
        .replies_text("Four of them are urgent.")
        .build();
    let agent = Agent::builder()
        .model(model.clone())
        .gadget(Search)
        .observer(log.clone());
    let answer = agent.ask("What is urgent?")?.text().await?;

    let view = log.expect_result("view");
    println!("It is shown:\n{view}\n\n{answer}");
    let notice = "[Gadget \"Search\" returned too much data: 172,203 bytes, 4,200 lines. \
                  Use GadgetOutputViewer with id \"Search_";
    let requests = model.requests();
    let sent = requests[1]
        .messages
        .last()
        .map(prompt_text)
        .unwrap_or_default();
    assert!(sent.contains(notice), "{sent}");
    // Four lines with two lines before and after each.
    assert!(
        view.starts_with("[Mode: line | Showing 20 of 4200 lines]"),
        "{view}"
    );
    assert_eq!(view.matches("HIGH").count(), 4);
    // Observers of the run see the whole result.
    assert_eq!(log.expect_result("todo").lines().count(), 4_200);

    // Without a limit, and with one that has room for all of it.
    assert!(
        model_reads(Agent::builder().without_output_limit())
            .await?
            .contains("file_4200")
    );
    assert!(
        model_reads(Agent::builder().output_limit_percent(25.0))
            .await?
            .contains("file_4200")
    );
    assert!(
        !model_reads(Agent::builder().output_limit_percent(10.0))
            .await?
            .contains("file_4200")
    );
    Ok(())
}

/// What the model is shown of the result of a search.
async fn model_reads(agent: AgentBuilder) -> Result<String, Box<dyn Error>> {
    let model = MockModel::builder()
        .context_window(200_000)
        .when(any())
        .replies_in_order([
            reply().call(call("Search").arg("query", "TODO: look at this")),
            reply().text("I see."),
        ])
        .build();
    // What takes a quarter of the window fills it to the mark at which conversations are made shorter.
    let agent = agent
        .model(model.clone())
        .gadget(Search)
        .without_compaction();
    agent.ask("What is urgent?")?.text().await?;
    let request = model.last_request().ok_or("there was a request")?;
    Ok(request.messages.iter().map(prompt_text).collect())
}
