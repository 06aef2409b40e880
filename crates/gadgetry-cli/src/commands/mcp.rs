//! `gadgetry mcp`: servers of others, and gadgets as a server.

mod configuration;
mod import;
mod list;
mod login;
mod serve;
mod test;
mod trust;

use crate::cli::{ConfigArgs, McpArgs, McpVerb};
use crate::error::Error;
use crate::printer::Printer;
use crate::work::Work;

/// Runs the command. `of_root` is what was typed before the verb.
pub(crate) fn run(
    of_root: ConfigArgs,
    args: McpArgs,
    printer: &Printer,
) -> Result<Work<'_>, Error> {
    match args.verb {
        McpVerb::List(args) => list::run(&args, &args.chosen.clone().or(of_root), printer)?,
        McpVerb::Trust(args) => trust::run(&args, &args.chosen.clone().or(of_root), printer)?,
        McpVerb::Import(args) => import::run(&args, &args.chosen.clone().or(of_root), printer)?,
        McpVerb::Test(args) => {
            let chosen = args.chosen.clone().or(of_root);
            return Ok(Work::waits(async move {
                test::run(&args, &chosen, printer).await
            }));
        }
        McpVerb::Login(args) => {
            let chosen = args.chosen.clone().or(of_root);
            return Ok(Work::waits(async move {
                login::run(&args, &chosen, printer).await
            }));
        }
        McpVerb::Logout(args) => {
            let chosen = args.chosen.clone().or(of_root);
            let work = async move { login::log_out(&args, &chosen, printer).await };
            return Ok(Work::waits(work));
        }
        McpVerb::Serve(args) => {
            let chosen = args.chosen.clone().or(of_root);
            return Ok(Work::serves(async move {
                serve::run(&args, &chosen, printer).await
            }));
        }
    }
    Ok(Work::Done)
}
