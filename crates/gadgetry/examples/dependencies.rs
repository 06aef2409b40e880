//! Calls that need each other's results, and what happens when one of them fails.
//!
//! `cargo run -p gadgetry --example dependencies`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::time::Duration;

use gadgetry::control::OnDependencySkipped;
use gadgetry::{Agent, AgentBuilder, ExecutionContext, gadget};
use gadgetry_testing::{EventLog, MockModel, call, elapsed, reply};

/// Fetches a list
#[gadget]
async fn fetch(url: String) -> Result<Vec<u32>, std::io::Error> {
    tokio::time::sleep(Duration::from_secs(2)).await;
    match url.as_str() {
        "/users" => Ok(vec![17, 23]),
        "/orders" => Ok(vec![4, 8, 15]),
        _ => Err(std::io::Error::other(format!("{url} is not there"))),
    }
}

/// Merges two lists
#[gadget]
fn merge(left: Vec<u32>, right: Vec<u32>, context: ExecutionContext) -> Vec<u32> {
    // The result of any dependency, as the text that it is.
    println!(
        "the users are {}",
        context.dependency("users").unwrap_or("not known")
    );
    left.into_iter().chain(right).collect()
}

// The clock is paused: seconds pass at once.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    // Both lists are fetched at the same time; the merge waits for them and has them put in as JSON.
    let (log, took) = elapsed(run(Agent::builder(), "/orders")).await;
    let log = log?;
    println!("{}", log.render_with_times());
    assert_eq!(log.expect_result("report"), "[17,23,4,8,15]");
    assert_eq!(took, Duration::from_secs(2));

    // One of them fails: the merge is skipped, and the model reads the reason.
    let log = run(Agent::builder(), "/nothing").await?;
    println!("{}", log.render());
    assert_eq!(log.expect_error("orders"), "/nothing is not there");
    assert_eq!(log.skipped(), ["report"]);

    // A hook decides otherwise: here, the skipped call gets a result of its own.
    let agent = Agent::builder().on_dependency_skipped(|unmet| async move {
        println!(
            "{} lacks {}",
            unmet.about.invocation_id, unmet.failed_dependency
        );
        match unmet.about.gadget_name.as_str() {
            "Merge" => OnDependencySkipped::Fallback("[]".to_owned()),
            _ => OnDependencySkipped::Skip,
        }
    });
    let log = run(agent, "/nothing").await?;
    println!("{}", log.render());
    assert_eq!(log.expect_result("report"), "[]");
    assert!(log.skipped().is_empty());
    Ok(())
}

/// A run in which two lists are fetched, and merged.
async fn run(agent: AgentBuilder, second: &str) -> Result<EventLog, Box<dyn Error>> {
    let log = EventLog::default();
    let model = MockModel::in_order([
        reply().calls([
            call("Fetch").id("users").arg("url", "/users"),
            call("Fetch").id("orders").arg("url", second),
            call("Merge")
                .id("report")
                .after("users")
                .after("orders")
                .arg("left", "${users}")
                .arg("right", "${orders}"),
        ]),
        reply().text("Done."),
    ]);
    let agent = agent
        .model(model)
        .gadget(Fetch)
        .gadget(Merge)
        .observer(log.clone());
    agent.ask("Merge the lists")?.text().await?;
    Ok(log)
}
