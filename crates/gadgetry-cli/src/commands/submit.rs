//! `gadgetry submit`: begins a run on the workers of a Restate server.

use gadgetry::journal::RunId;
use gadgetry_restate::Client;

use crate::cli::SubmitArgs;
use crate::commands::remote::{follow, unless_interrupted, words};
use crate::connect;
use crate::error::Error;
use crate::printer::Printer;
use crate::prompt::{not_empty, typed_or_piped};

/// Runs the command.
pub(crate) async fn run(args: &SubmitArgs, printer: &Printer) -> Result<(), Error> {
    let client = Client::new(&args.restate.restate).map_err(Error::input)?;
    let run = match &args.run_id {
        Some(id) => id.clone(),
        None => format!("run-{:016x}", connect::random()),
    };
    run.parse::<RunId>().map_err(Error::input)?;
    let prompt = not_empty(typed_or_piped(&args.prompt, printer)?)?;
    let submitting = client.clone();
    let id = run.clone();
    let submitted =
        unless_interrupted(async move { submitting.submit(&id, &prompt).await }).await?;
    let is_new = submitted.map_err(|error| words(&error))?;
    if !is_new {
        printer.progress(&format!("run {run} was submitted before\n"));
    }
    if args.follow {
        return follow(client, run, 0, false, printer).await;
    }
    printer.text(&run);
    printer.text("\n");
    Ok(())
}
