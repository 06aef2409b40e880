//! Gadgets that end the run, and gadgets that ask the user.
//!
//! `cargo run -p gadgetry --example ending_and_asking`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use gadgetry::human::HumanQuestion;
use gadgetry::{Agent, ExecutionContext, FinishReason, GadgetError, gadget};
use gadgetry_testing::{EventLog, MockModel, call, reply, test_gadget};
use serde_json::json;

// Ends the run. Other running gadgets are finished first; `summary` is the answer of the run.

/// Call when task is complete
#[gadget]
fn finish_task(summary: String) -> Result<String, GadgetError> {
    Err(GadgetError::task_complete(summary))
}

// Ends with a question. The user's answer is the result.

/// Ask the user a question
#[gadget]
fn ask_user(question: String) -> Result<String, GadgetError> {
    Err(GadgetError::human_input_required(question))
}

// Asks in the middle of its work, and continues.

/// Deletes a file
#[gadget]
async fn delete_file(path: String, context: ExecutionContext) -> Result<String, GadgetError> {
    let answer = context.ask_human(format!("Delete {path}?")).await?;
    Ok(if answer == "yes" {
        format!("{path} is deleted")
    } else {
        format!("{path} is kept: the user said {answer:?}")
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = MockModel::in_order([
        reply()
            .text("Two questions.\n")
            .call(
                call("AskUser")
                    .id("where")
                    .arg("question", "Where do you want to go?"),
            )
            .call(call("DeleteFile").id("old").arg("path", "old-plan.txt")),
        reply().call(
            call("FinishTask")
                .id("end")
                .arg("summary", "A week in Lisbon."),
        ),
    ]);
    let log = EventLog::default();
    let run = Agent::builder()
        .model(model)
        .gadget(FinishTask)
        .gadget(AskUser)
        .gadget(DeleteFile)
        .observer(log.clone())
        // A program would ask on its terminal or its web page. `None` means no answer.
        .on_human_input(|question: HumanQuestion| async move {
            let answer = match question.text.as_str() {
                "Where do you want to go?" => "Lisbon",
                _ => "not yet",
            };
            println!("{question} {answer}");
            Some(answer.to_owned())
        })
        .ask("Help me plan")?;
    let finished = run.finish().await?;

    println!("{}", finished.summary.answer);
    assert_eq!(log.expect_result("where"), "Lisbon");
    assert_eq!(
        log.expect_result("old"),
        "old-plan.txt is kept: the user said \"not yet\""
    );
    assert_eq!(finished.summary.answer, "A week in Lisbon.");
    assert_eq!(finished.summary.reason, FinishReason::TaskCompleted);

    // In an agent without human input, the call fails, and the model reads the error.
    let log = EventLog::default();
    let model = MockModel::in_order([
        reply().calls([
            call("AskUser").id("where").arg("question", "Where?"),
            call("DeleteFile").id("old").arg("path", "old-plan.txt"),
        ]),
        reply().text("I cannot ask."),
    ]);
    let agent = Agent::builder()
        .model(model)
        .gadget(AskUser)
        .gadget(DeleteFile);
    agent
        .observer(log.clone())
        .ask("Help me plan")?
        .text()
        .await?;
    assert_eq!(
        log.expect_error("where"),
        "The question has no answer: no user is available in this run, or they declined. The question was: Where?"
    );
    assert_eq!(log.expect_error("old"), "no user is available to answer");

    // In a test, the outcome says what the gadget wants.
    let outcome = test_gadget(FinishTask, json!({ "summary": "Done." })).await;
    assert!(outcome.completes_run);
    let outcome = test_gadget(AskUser, json!({ "question": "Where?" })).await;
    assert_eq!(outcome.asks_human.as_deref(), Some("Where?"));
    Ok(())
}
