//! Answers as values: a struct with an enum and a list, and a number.

use gadgetry::{Agent, Model, Typed};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Error;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mood {
    Happy,
    Angry,
}

/// The review of a customer.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
pub(crate) struct Review {
    pub(crate) mood: Mood,
    /// Whole stars, from 1 to 5
    pub(crate) stars: u8,
    pub(crate) products: Vec<String>,
}

/// Returns the review and the number of its words, each with what it has cost.
pub(crate) async fn read(
    model: impl Model + 'static,
    text: &str,
) -> Result<(Typed<Review>, Typed<u32>), Error> {
    let agent = Agent::builder().model(model).system(text).build()?;
    let review = agent.ask("Read this review.").typed().await?;
    let words = agent.ask("How many words has it?").typed().await?;
    Ok((review, words))
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Error> {
    let (review, words) = read(gadgetry::model("haiku")?, "It leaks! One star.").await?;
    let cost = review.finished.summary.total_cost;
    println!(
        "{:?} ({} words, {cost:?} dollars)",
        review.value, words.value
    );
    Ok(())
}
