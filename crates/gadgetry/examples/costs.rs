//! What gadgets cost: reported while they run, counted for models that they ask, returned with the result.
//!
//! `cargo run -p gadgetry --example costs`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::mpsc;

use gadgetry::model_client::ModelCallOptions;
use gadgetry::presets::{Progress, ProgressTracking};
use gadgetry::{
    Agent, Event, EventKind, ExecutionContext, GadgetError, GadgetOutput, Price, gadget,
};
use gadgetry_testing::{MockModel, call, reply, test_gadget};
use serde_json::json;

// 1. Reported, as often as there is something to report. It counts however the call ends.

/// Calls multiple paid APIs
#[gadget(name = "MultiStepAPI")]
async fn multi_step(
    /// Query to process
    query: String,
    context: ExecutionContext,
) -> Result<String, GadgetError> {
    let step1 = call_api(&query).await;
    context.report_cost(0.001)?; // $0.001
    let step2 = call_api(&step1).await;
    context.report_cost(0.002)?; // $0.002
    Ok(format!("Processed: {step2}"))
}

// 2. Counted by itself, for models that a gadget asks. Outside of an agent there is no model.

/// Summarizes text using an internal LLM
#[gadget]
async fn summarizer(
    /// Text to summarize
    text: String,
    context: ExecutionContext,
) -> Result<String, GadgetError> {
    let Some(model) = context.model() else {
        return Ok("LLM not available in this context".to_owned());
    };
    let options = ModelCallOptions::default().model("haiku");
    Ok(model
        .complete(format!("Summarize briefly: {text}"), options)
        .await?)
}

// 3. Returned with the result.

/// Calls a paid external API
#[gadget(name = "PaidAPI")]
async fn paid_api(
    /// Query to send to the API
    query: String,
) -> GadgetOutput {
    let response = call_api(&query).await;
    GadgetOutput::new(response).with_cost(0.001) // $0.001 per API call
}

// All three: the sum counts.

/// Complex processing with multiple cost sources
#[gadget]
async fn complex(data: String, context: ExecutionContext) -> Result<GadgetOutput, GadgetError> {
    call_api(&data).await;
    context.report_cost(0.001)?;
    let Some(model) = context.model() else {
        return Ok(GadgetOutput::new("LLM not available").with_cost(0.001));
    };
    let options = ModelCallOptions::default().model("haiku");
    let analysis = model.complete(format!("Analyze: {data}"), options).await?;
    Ok(GadgetOutput::new(analysis).with_cost(0.0005)) // processing overhead
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // $1 a million tokens in, $5 out.
    let price = Price::default().input(1.0).output(5.0);
    let main_model = MockModel::builder()
        .price(price.clone())
        .when(|m| m.iteration(1))
        .replies(
            reply()
                .calls([
                    call("MultiStepAPI").id("steps").arg("query", "tea"),
                    call("Summarizer").id("summary").arg("text", "a long text"),
                    call("PaidAPI").id("paid").arg("query", "tea"),
                    call("Complex").id("all").arg("data", "numbers"),
                ])
                .tokens(1_000, 200), // $0.002
        )
        .when(|m| m.iteration(2))
        .replies(reply().text("Done.").tokens(2_000, 400)) // $0.004
        .build();
    let haiku = MockModel::builder()
        .name("haiku")
        .price(price)
        .when(|m| m.last_message_contains("Summarize briefly"))
        .replies(reply().text("A text.").tokens(500, 100)) // $0.001
        .when(|m| m.last_message_contains("Analyze"))
        .replies(reply().text("Numbers.").tokens(500, 100)) // $0.001
        .build();

    let (sender, progress) = mpsc::channel();
    let finished = Agent::builder()
        .model(main_model)
        .named_model("haiku", haiku)
        .gadget(MultiStep)
        .gadget(Summarizer)
        .gadget(PaidApi)
        .gadget(Complex)
        // Models and gadgets, as it comes.
        .observer(ProgressTracking::new(move |progress: &Progress| {
            // No receiver is left once the run is over.
            let _ = sender.send(*progress);
        }))
        .ask("Process this data")?
        .on_event(|event: &Event| {
            if let EventKind::GadgetResult {
                gadget_name, cost, ..
            } = &event.kind
            {
                println!("{gadget_name} cost ${cost:.4}");
            }
        })
        .await?;

    let last = progress
        .iter()
        .last()
        .ok_or("the run reported its progress")?;
    let (models, total) = last
        .model_cost
        .zip(last.total_cost)
        .ok_or("the model has a price")?;
    println!(
        "models ${models:.4}, gadgets ${:.4}\nTotal cost: ${total:.6}",
        last.gadget_cost
    );
    let dollars = |amount: f64| format!("{amount:.6}");
    assert_eq!(dollars(models), "0.006000");
    // 0.003 for the steps, 0.001 for the summary, 0.001 paid, 0.0025 for all three.
    assert_eq!(dollars(last.gadget_cost), "0.007500");
    assert_eq!(dollars(total), dollars(finished.summary.known_cost));

    // By itself, a gadget has no model, and its costs are counted all the same.
    let outcome = test_gadget(Complex, json!({ "data": "numbers" })).await;
    assert_eq!(outcome.expect_result(), "LLM not available");
    assert_eq!(dollars(outcome.cost), "0.002000");
    Ok(())
}

/// Simulates a network API.
async fn call_api(query: &str) -> String {
    tokio::task::yield_now().await;
    format!("<{query}>")
}
