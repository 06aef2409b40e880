//! Answers as values: a struct with an enum and a list, and a number.

use gadgetry::{Agent, Model};
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

/// Returns the review, the number of words in it, and the cost of both in US dollars if the prices are known.
pub(crate) async fn read(
    model: impl Model + 'static,
    text: &str,
) -> Result<(Review, u32, Option<f64>), Error> {
    let agent = Agent::builder().model(model).build()?;
    let review = agent
        .ask(format!("Read this review: {text}"))
        .typed()
        .await?;
    let words = agent
        .ask(format!("How many words are in this: {text}"))
        .typed()
        .await?;
    let costs = review
        .finished
        .summary
        .total_cost
        .zip(words.finished.summary.total_cost);
    Ok((
        review.value,
        words.value,
        costs.map(|(first, second)| first + second),
    ))
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Error> {
    let text = "The kettle leaks, and so does the mug! One star.";
    println!("{:?}", read(gadgetry::model("haiku")?, text).await?);
    Ok(())
}
