//! Refunds that someone approves over HTTP, perhaps days later, and after the server was restarted.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Router, routing};
use gadgetry::approval::{Approvals, Rules};
use gadgetry::{Agent, AgentRun, Model, gadget};
use gadgetry_axum::{Runs, for_this_machine};
use gadgetry_store::SqliteJournal;

use crate::Error;

/// Pays money back
#[gadget(permission = "ask")]
fn refund(customer: String, euros: u32) -> String {
    println!("paying {euros} EUR to {customer}");
    format!("{customer} has {euros} EUR back")
}

struct Desk {
    agent: Agent,
    journal: SqliteJournal,
    runs: Runs,
}

type Problem = (StatusCode, String);

fn conflict(error: impl std::error::Error) -> Problem {
    (StatusCode::CONFLICT, error.to_string())
}

impl Desk {
    /// Drives a run to its end, and lists it until then.
    fn drive(&self, id: &str, run: AgentRun<'static>) -> Result<(), Problem> {
        let listed = self.runs.list(id, run.handle()).map_err(conflict)?;
        tokio::spawn(async move {
            println!("{:?}", run.text().await);
            drop(listed);
        });
        Ok(())
    }
}

async fn begin(
    State(desk): State<Arc<Desk>>,
    Path(id): Path<String>,
    complaint: String,
) -> Result<StatusCode, Problem> {
    let run = desk.agent.durable(&desk.journal).run_id(&id);
    desk.drive(&id, run.ask(complaint).await.map_err(conflict)?)?;
    Ok(StatusCode::ACCEPTED)
}

async fn answer(State(desk): State<Arc<Desk>>, Path(id): Path<String>) -> Result<String, Problem> {
    let id = id.parse().map_err(conflict)?;
    let run = desk.journal.run(&id).await.map_err(conflict)?;
    Ok(run
        .progress
        .summary
        .map_or("not decided yet".to_owned(), |it| it.answer))
}

/// `POST /refunds/{id}` with a complaint, `GET /refunds/{id}` for the answer, and `/runs/{id}/approvals` to decide.
pub(crate) async fn app(
    model: impl Model + 'static,
    journal: SqliteJournal,
) -> Result<Router, Error> {
    let approvals = Approvals::new(Rules::default()).in_stream();
    let agent = Agent::builder()
        .model(model)
        .gadget(Refund)
        .approvals(approvals)
        .build()?;
    let desk = Arc::new(Desk {
        agent,
        journal,
        runs: Runs::default(),
    });
    for record in desk.journal.runs().await? {
        if record.progress.summary.is_none() {
            let run = desk.agent.durable(&desk.journal).run_id(record.id.as_str());
            let driven = desk.drive(record.id.as_str(), run.resume().await?);
            driven.map_err(|(_, problem)| problem)?;
        }
    }
    let refunds = routing::post(begin).get(answer);
    let runs = desk.runs.router();
    Ok(Router::new()
        .route("/refunds/{id}", refunds)
        .with_state(desk)
        .nest("/runs", runs))
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Error> {
    let app = app(
        gadgetry::model("haiku")?,
        SqliteJournal::open("refunds.db")?,
    )
    .await?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    Ok(axum::serve(listener, for_this_machine(app)).await?)
}
