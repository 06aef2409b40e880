//! `gadgetry mcp trust`: consent to a server of the configuration.

use super::configuration::{config, named};
use crate::cli::{ConfigArgs, McpTrustArgs};
use crate::config::Asking;
use crate::error::Error;
use crate::lines::one_line;
use crate::mcp::{Consents, Subject, configured};
use crate::printer::{Printer, is_at_terminal};

pub(super) fn run(
    args: &McpTrustArgs,
    chosen: &ConfigArgs,
    printer: &Printer,
) -> Result<(), Error> {
    let config = config(chosen, Asking::Prompt, printer)?;
    let configured = configured(named(&config, &args.name)?)?;
    let name = one_line(&args.name);
    let Some(subject) = Subject::of(&configured)? else {
        printer.text(&format!(
            "MCP server {name} needs no consent: your own file names its address\n"
        ));
        return Ok(());
    };
    let mut consents = Consents::load()?;
    if !args.revoke && is_at_terminal() {
        let answer = printer.ask_about(subject.head(), subject.rows(), subject.question());
        if !answer.is_some_and(|it| matches!(it.trim(), "y" | "Y" | "yes")) {
            return Err(Error::Failed(format!("MCP server {name} is not trusted")));
        }
    } else if !args.revoke {
        printer.rows(subject.head(), &subject.rows());
    }
    let decided = consents.decide(&subject, (!args.revoke).then_some(true));
    decided.map_err(|error| Error::Failed(format!("the decision cannot be kept: {error}")))?;
    let state = if args.revoke {
        "not trusted any more"
    } else {
        "trusted"
    };
    printer.text(&format!("MCP server {name} is {state}\n"));
    Ok(())
}
