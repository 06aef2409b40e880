//! The events of a run to a browser, as server-sent events. A browser that leaves ends the run.

use axum::extract::{Query, State};
use axum::{Router, routing};
use gadgetry::{Agent, Model};
use gadgetry_axum::{Sse, for_this_machine};
use serde::Deserialize;

use crate::Error;

#[derive(Deserialize)]
struct Question {
    prompt: String,
}

async fn ask(State(agent): State<Agent>, Query(question): Query<Question>) -> Sse {
    Sse::events(agent.ask(question.prompt))
}

/// `GET /ask?prompt=…`
pub(crate) fn app(model: impl Model + 'static) -> Result<Router, Error> {
    let agent = Agent::builder().model(model).build()?;
    Ok(Router::new()
        .route("/ask", routing::get(ask))
        .with_state(agent))
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Error> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    Ok(axum::serve(listener, for_this_machine(app(gadgetry::model("haiku")?)?)).await?)
}
