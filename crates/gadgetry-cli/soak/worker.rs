//! The process of the durable agent: `soak worker FOLDER ADDRESS PARALLEL (RUN… | from NUMBER)`.
//!
//! It drives the runs that are named and ends, or all from a number on, and forgets those that have ended.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gadgetry::journal::Journal as _;
use gadgetry::proto::schema::OnInterrupt;
use gadgetry::provider::OpenAi;
use gadgetry::{Agent, ExecutionContext, GadgetSpec, Outcome, from_fn};
use gadgetry_store::SqliteJournal;
use serde_json::json;
use tokio::task::JoinSet;

use crate::Failure;
use crate::http;
use crate::runs::STEADY;

/// Exit code when the journal fails: the disk is full, for one.
pub(crate) const JOURNAL_FAILED: u8 = 8;

/// Does what the arguments say. Returns the exit code.
pub(crate) async fn run(args: &[String]) -> Result<u8, Failure> {
    let [folder, address, parallel, runs @ ..] = args else {
        return Err("worker FOLDER ADDRESS PARALLEL RUN…".into());
    };
    let Ok(journal) = SqliteJournal::open(Path::new(folder).join("runs.db")) else {
        return Ok(JOURNAL_FAILED);
    };
    let journal = Arc::new(journal);
    let agent = Arc::new(agent(address)?);
    let parallel: usize = parallel.parse()?;
    let endless = match runs {
        [from, number] if from == "from" => Some(number.parse::<usize>()?),
        _ => None,
    };
    let mut names: Box<dyn Iterator<Item = String> + Send> = match endless {
        Some(from) => Box::new((from..).map(|number| format!("{STEADY}{number}"))),
        None => Box::new(runs.iter().cloned()),
    };
    let mut tasks = JoinSet::new();
    loop {
        while tasks.len() < parallel {
            let Some(name) = names.next() else { break };
            let (agent, journal, address) =
                (Arc::clone(&agent), Arc::clone(&journal), address.clone());
            tasks.spawn(async move {
                let done = drive(&agent, &journal, &address, &name).await;
                if done && endless.is_some() {
                    journal.forget(&name.parse()?).await?;
                    // A load, and not a race for the processor.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Ok::<bool, Failure>(done)
            });
        }
        let Some(ended) = tasks.join_next().await else {
            return Ok(0);
        };
        if !ended?? {
            return Ok(JOURNAL_FAILED);
        }
    }
}

/// Drives a run to its end, and reports that. Returns whether its journal has it.
async fn drive(agent: &Agent, journal: &SqliteJournal, address: &str, name: &str) -> bool {
    let run = agent.durable(journal).run_id(name);
    let Ok(run) = run.ask(format!("soak run {name}")).await else {
        return false;
    };
    let result = match run.finish().await {
        Ok(finished) => format!("ok: {}", finished.summary.answer),
        Err(error) if error.model_error().is_some() => error.to_string(),
        Err(_) => return false,
    };
    let report = format!("{name} {result}");
    http::post(address, "/finished", &report).await.is_ok()
}

fn agent(address: &str) -> Result<Agent, Failure> {
    let gadget = |name: &str, on_interrupt| {
        let spec = GadgetSpec {
            name: name.to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "item": { "type": "string" } },
                "required": ["item"],
            }),
            on_interrupt,
            ..GadgetSpec::default()
        };
        let address = address.to_owned();
        from_fn(spec, move |parameters, context| {
            work(address.clone(), parameters["item"].clone(), context)
        })
    };
    let model = OpenAi::builder("m").base_url(format!("http://{address}/v1"));
    let agent = Agent::builder().model(model.build()?);
    let agent = agent.gadget(gadget("Once", OnInterrupt::Fail));
    Ok(agent.gadget(gadget("Again", OnInterrupt::Rerun)).build()?)
}

/// Changes the world, with pauses in which it may die.
async fn work(address: String, item: serde_json::Value, context: ExecutionContext) -> Outcome {
    let item = item.as_str().unwrap_or_default();
    tokio::time::sleep(Duration::from_millis(5)).await;
    let key = context.idempotency_key();
    let receipt = http::post(&address, "/effect", &format!("{key} {item}")).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    match receipt {
        Ok(answer) if answer.is_whole => Outcome::ok(answer.body),
        Ok(_) | Err(_) => Outcome::error("the world does not answer"),
    }
}
