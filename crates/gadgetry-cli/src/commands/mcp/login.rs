//! `gadgetry mcp login` and `logout`: OAuth for servers over HTTP.

use gadgetry_mcp::{Login, LoginError, ServerConfig};

use super::configuration::config;
use super::test::chosen_server;
use crate::cli::{ConfigArgs, McpLoginArgs};
use crate::config::Asking;
use crate::error::Error;
use crate::lines::one_line;
use crate::mcp;
use crate::printer::Printer;
use crate::run_agent::until_interrupted;

/// Logs in: prints the address to open, and waits for the browser.
pub(super) async fn run(
    args: &McpLoginArgs,
    chosen: &ConfigArgs,
    printer: &Printer,
) -> Result<(), Error> {
    let (name, server) = server(args, chosen, printer)?;
    let tokens = mcp::tokens()?;
    let shown = printer.clone();
    let of = name.clone();
    let work = async move {
        let problem = |error: LoginError| Error::Failed(format!("MCP server {of}: {error}"));
        let login = Login::begin(&server, &tokens).await.map_err(problem)?;
        shown.progress("Open this address to log in; Ctrl-C cancels\n");
        shown.text(&format!("{}\n", one_line(login.url())));
        shown.flush()?;
        login.finish().await.map_err(problem)
    };
    let done = until_interrupted(work, || true).await?;
    done.ok_or_else(|| Error::Failed("cancelled".to_owned()))??;
    printer.progress(&format!("logged in to {name}\n"));
    Ok(())
}

/// Removes the tokens of a server.
pub(super) async fn log_out(
    args: &McpLoginArgs,
    chosen: &ConfigArgs,
    printer: &Printer,
) -> Result<(), Error> {
    let (name, server) = server(args, chosen, printer)?;
    let tokens = mcp::tokens()?;
    let work = async move { tokens.remove(&server).await };
    let removed = until_interrupted(work, || true).await?;
    let removed = removed.ok_or_else(|| Error::Failed("cancelled".to_owned()))?;
    let removed = removed
        .map_err(|error| Error::Failed(format!("cannot log out of MCP server {name}: {error}")))?;
    let words = if removed {
        format!("logged out of {name}\n")
    } else {
        format!("{name} has no login\n")
    };
    printer.progress(&words);
    Ok(())
}

fn server(
    args: &McpLoginArgs,
    chosen: &ConfigArgs,
    printer: &Printer,
) -> Result<(String, ServerConfig), Error> {
    let config = config(chosen, Asking::Prompt, printer)?;
    chosen_server(&config, &args.server, printer)
}
