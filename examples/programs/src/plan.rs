//! Two lists are fetched at the same time, and a third gadget gets both, or a part of one.

use std::time::Duration;

use gadgetry::{Agent, Model, gadget};
use serde_json::{Value, json};

use crate::Error;

/// Fetches a list
#[gadget]
async fn fetch(url: String) -> Value {
    tokio::time::sleep(Duration::from_millis(100)).await;
    match url.as_str() {
        "/users" => json!([{ "name": "Kim", "from": "Seoul" }]),
        _ => json!([4, 8]),
    }
}

/// Joins two values
#[gadget]
fn join(left: Value, right: Value) -> String {
    format!("{left} {right}")
}

/// Returns the names of the gadgets that were called.
pub(crate) async fn run(model: impl Model + 'static) -> Result<Vec<String>, Error> {
    let agent = Agent::builder().model(model).gadgets((Fetch, Join));
    let run = agent.ask("Join where the first of /users is from with all /orders")?;
    let finished = run.await?;
    let names = finished.calls().map(|call| call.gadget_name.to_owned());
    Ok(names.collect())
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Error> {
    println!("{:?}", run(gadgetry::model("haiku")?).await?);
    Ok(())
}
