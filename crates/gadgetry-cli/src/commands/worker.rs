//! `gadgetry worker`: drives runs for a Restate server.

use std::collections::BTreeSet;
use std::sync::Arc;

use gadgetry::DynGadget;
use gadgetry_restate::{Spread, Worker, WorkerError};

use crate::build_agent::{Parts, Situation};
use crate::cli::WorkerArgs;
use crate::config::Declared;
use crate::error::Error;
use crate::mcp;
use crate::printer::Printer;
use crate::run_agent::until_interrupted;

/// Runs the command until an interrupt.
pub(crate) async fn run(
    args: &WorkerArgs,
    declared: &Arc<Declared>,
    printer: &Printer,
) -> Result<(), Error> {
    if args.options.model.quiet {
        printer.be_quiet();
    }
    let mut spread = Spread::default();
    let mut unknown: BTreeSet<&str> = args.spread.iter().map(String::as_str).collect();
    let wrap = |gadget: Arc<dyn DynGadget>| {
        if unknown.remove(gadget.spec().name.as_str()) {
            spread.gadget(gadget)
        } else {
            gadget
        }
    };
    let servers = mcp::connect(&args.options.source, declared, printer).await?;
    let situation = Situation {
        declared: Arc::clone(declared),
        ..Situation::default()
    };
    let parts = Parts::read(&args.options, situation).await?;
    let agent = parts.agent_with(servers.as_deref(), wrap)?;
    if let Some(name) = unknown.first() {
        return Err(Error::input(format_args!(
            "--spread {name}: there is no such gadget"
        )));
    }
    let mut worker = Worker::builder(agent)
        .spread(spread)
        .restate(&args.restate.restate)
        .listen(args.listen);
    if let Some(url) = &args.restate_admin {
        worker = worker.admin(url);
    }
    if let Some(url) = &args.advertise {
        worker = worker.advertise(url);
    }
    if let Some(url) = &args.own_url {
        worker = worker.own_url(url);
    }
    if let Some(key) = &args.identity_key {
        worker = worker.identity_key(key);
    }
    if args.force {
        worker = worker.force();
    }
    let worker = worker.build().map_err(|error| words(&error))?;
    let restate = args.restate.restate.clone();
    let progress = printer.clone();
    let work = async move {
        let serving = worker.start().await.map_err(|error| words(&error))?;
        let address = serving.address();
        progress.progress(&format!(
            "serving runs of Restate at {restate} on {address}\n"
        ));
        serving.ended().await;
        Ok(())
    };
    until_interrupted(work, || true).await?.unwrap_or(Ok(()))
}

fn words(error: &WorkerError) -> Error {
    if matches!(error, WorkerError::Register { .. }) {
        Error::Failed(error.to_string())
    } else {
        Error::input(error)
    }
}
