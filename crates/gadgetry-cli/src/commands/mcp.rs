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

/// Runs the command. `of_root` is what was typed before the verb.
pub(crate) fn run(of_root: ConfigArgs, args: McpArgs, printer: &mut Printer) -> Result<(), Error> {
    match args.verb {
        McpVerb::List(args) => list::run(&args, &args.chosen.clone().or(of_root), printer),
        McpVerb::Test(args) => test::run(&args, &args.chosen.clone().or(of_root), printer),
        McpVerb::Login(args) => login::run(&args, &args.chosen.clone().or(of_root), printer),
        McpVerb::Logout(args) => login::log_out(&args, &args.chosen.clone().or(of_root), printer),
        McpVerb::Trust(args) => trust::run(&args, &args.chosen.clone().or(of_root), printer),
        McpVerb::Import(args) => import::run(&args, &args.chosen.clone().or(of_root), printer),
        McpVerb::Serve(args) => serve::run(&args, &args.chosen.clone().or(of_root), printer),
    }
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
