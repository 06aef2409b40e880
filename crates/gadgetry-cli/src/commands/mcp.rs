//! `gadgetry mcp`: servers of others, and gadgets as a server.

mod import;
mod list;
mod login;
mod serve;
mod test;
mod trust;

use gadgetry::proto::schema::closest;

use crate::args::{ConfigArgs, McpArgs, McpVerb};
use crate::config::{Asking, Config, Keys, McpServer};
use crate::error::Error;
use crate::printer::Printer;
use crate::work::Work;

/// Runs the command. `of_root` is what was typed before the verb.
pub(crate) fn run(
    of_root: ConfigArgs,
    args: McpArgs,
    printer: &mut Printer,
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

fn config(chosen: &ConfigArgs, asking: Asking, printer: &mut Printer) -> Result<Config, Error> {
    Config::load(chosen, &Keys::new(), asking, printer)
}

/// The server of this name.
fn named<'c>(config: &'c Config, name: &str) -> Result<&'c McpServer, Error> {
    config.declared.servers.get(name).ok_or_else(|| {
        let names = config.declared.servers.keys().map(String::as_str);
        let near = closest(name, names);
        let hint = near.first().map(|near| format!("; did you mean {near}?"));
        let hint = hint.unwrap_or_default();
        Error::input(format_args!(
            "the configuration has no MCP server {name}{hint}"
        ))
    })
}
