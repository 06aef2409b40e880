//! A question about the weather to a model on this machine, with its answer as it is written.

use futures_util::StreamExt as _;
use gadgetry::{Agent, Model, gadget};

use crate::Error;

/// Returns the weather in a city
#[gadget]
fn weather(
    /// City, such as Paris
    city: String,
) -> String {
    format!("{city}: 21 degrees, sunny")
}

/// Returns the answer, and how often the model called a gadget.
pub(crate) async fn ask(model: impl Model + 'static) -> Result<(String, usize), Error> {
    let agent = Agent::builder().model(model).gadget(Weather).build()?;
    let mut run = agent.ask("What is the weather in Paris?");
    while let Some(event) = run.next().await {
        print!("{}", event.own_text().unwrap_or_default());
    }
    let finished = run.finished().ok_or("the stream has ended")?;
    Ok((finished.summary.answer.clone(), finished.calls().count()))
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Error> {
    let (_, calls) = ask(gadgetry::model("ollama:llama3.2")?).await?;
    println!("\n({calls} calls)");
    Ok(())
}
