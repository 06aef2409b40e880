//! A server with a chat for the AI SDK, approvals over HTTP, and the agent as an OpenAI-compatible model: `cargo run -p gadgetry-axum --example web`.
//!
//! Its model is made up: it deploys twice, and is done. Take `.named("haiku")?` in place of `.model(…)` for a real one.

use std::error::Error;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Router, routing::post};
use gadgetry::approval::{Approvals, Rules};
use gadgetry::{Agent, Role, gadget};
use gadgetry_axum::{OpenAi, Runs, Sse, UiRequest, for_this_machine};
use gadgetry_testing::{MockModel, reply};

/// Deploys the service.
#[gadget]
fn deploy(to: String) -> String {
    format!("deployed to {to}")
}

const CALLS: &str = "On it.\n!!!GADGET_START:Deploy\n!!!ARG:to\nstaging\n!!!GADGET_END\n\
                     !!!GADGET_START:Deploy\n!!!ARG:to\nproduction\n!!!GADGET_END\n";

async fn chat(
    State((agent, runs)): State<(Agent, Runs)>,
    Path(run): Path<String>,
    body: String,
) -> Result<Sse, (StatusCode, String)> {
    let request: UiRequest = body
        .parse()
        .map_err(|error| (StatusCode::BAD_REQUEST, format!("{error}")))?;
    let run_of_agent = agent.ask_owned(request.conversation(), request.question());
    Sse::ui_messages(run_of_agent)
        .listed_in(&runs, run)
        .map_err(|error| (StatusCode::CONFLICT, error.to_string()))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = MockModel::builder().unchecked().when(|any| any);
    let model = model.replies_by(|request| {
        let has_called = request.messages.iter().any(|it| it.role == Role::Assistant);
        reply()
            .text(if has_called { "Done." } else { CALLS })
            .tokens(10, 5)
    });
    let approvals = Approvals::new(Rules::parse(["ask Deploy"])?).in_stream();
    let agent = Agent::builder().model(model.build()).gadget(Deploy);
    let agent = agent.approvals(approvals).build()?;

    let runs = Runs::default();
    let app = Router::new()
        .route("/chat/{run}", post(chat))
        .with_state((agent.clone(), runs.clone()))
        .nest("/runs", runs.router())
        .merge(OpenAi::new().agent("deployer", agent).router());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    axum::serve(listener, for_this_machine(app)).await?;
    Ok(())
}
