//! `gadgetry mcp test`: whether a server can be reached, and what it offers.

use std::env;
use std::env::consts::EXE_SUFFIX;
use std::sync::Arc;

use gadgetry::DynGadget;
use gadgetry::agent::{SingleCall, single_call};
use gadgetry::proto::event::CallAnswer;
use gadgetry::proto::schema::closest;
use gadgetry_mcp::ServerConfig;
use gadgetry_mcp::client::{LIST_RESOURCES, READ_RESOURCE};

use super::configuration::{config, named};
use crate::cli::{ConfigArgs, McpTestArgs, TypedServer, name_and_target};
use crate::config::{Asking, Config};
use crate::connect;
use crate::error::Error;
use crate::lines::{one_line, short};
use crate::mcp::{self, Consents, Subject, configured};
use crate::printer::Printer;
use crate::run_agent::run_agent;

pub(super) async fn run(
    args: &McpTestArgs,
    chosen: &ConfigArgs,
    printer: &Printer,
) -> Result<(), Error> {
    let config = config(chosen, Asking::Prompt, printer)?;
    let (name, server) = chosen_server(&config, &args.server, printer)?;
    let configured = config.declared.servers.get(&args.server);
    if configured.is_some_and(|it| !it.is_enabled()) {
        printer.progress(&format!(
            "MCP server {} is disabled in the configuration; it is tested anyway\n",
            one_line(&name)
        ));
    }
    let Some(connected) = mcp::open(vec![(name.clone(), server)], printer).await? else {
        return Err(Error::Failed(format!("MCP server {name} is not used")));
    };
    let Some(servers) = connected.servers() else {
        return Err(Error::Failed(format!("MCP server {name} is closed")));
    };
    if let Some(failure) = servers.failures().first() {
        let hint = near(&config, &args.server);
        let failure = mcp::explained(failure);
        return Err(Error::Failed(format!("{failure}{hint}")));
    }
    let has_resources = servers.has_resources(&name);
    let is_of_resources = |gadget: &Arc<dyn DynGadget>| {
        has_resources && [LIST_RESOURCES, READ_RESOURCE].contains(&gadget.spec().name.as_str())
    };
    let gadgets = connected.gadgets(&[]).into_iter();
    let (resources, tools): (Vec<_>, Vec<_>) = gadgets.partition(is_of_resources);
    let protocol = connected.protocol(&name).await.unwrap_or_default();
    printer.text(&format!("server     {}\n", one_line(&name)));
    printer.text(&format!("protocol   {}\n", one_line(&protocol)));
    printer.text(&format!("tools      {}\n", tools.len()));
    for tool in tools {
        let (name, description) = (&tool.spec().name, short(&tool.spec().description));
        printer.text(&format!("  {}  {description}\n", one_line(name)));
    }
    for warning in servers.gadgets(&[]).warnings {
        printer.text(&format!(
            "  not offered: {}\n",
            one_line(&warning.to_string())
        ));
    }
    let is_list = |gadget: &Arc<dyn DynGadget>| gadget.spec().name == LIST_RESOURCES;
    match resources.into_iter().find(is_list) {
        Some(list) => {
            printer.text("resources\n");
            for line in listed(list).await?.lines() {
                printer.text(&format!("  {}\n", short(line)));
            }
        }
        None => printer.text("resources  none\n"),
    }
    Ok(())
}

/// A server of the configuration, to which the user agrees, or else one that was typed.
pub(super) fn chosen_server(
    config: &Config,
    text: &str,
    printer: &Printer,
) -> Result<(String, ServerConfig), Error> {
    if config.declared.servers.contains_key(text) {
        return Ok((text.to_owned(), agreed(config, text, printer)?));
    }
    if is_name(text) {
        named(config, text)?;
    }
    typed(text)
}

/// Returns whether a text can only be meant as a name of the configuration: it is one word, and no program has this name.
fn is_name(text: &str) -> bool {
    let (own, target) = name_and_target(text);
    let is_word = own.is_none()
        && !target.trim().is_empty()
        && !target.contains(|c: char| c.is_whitespace() || "/\\:'\"=".contains(c));
    let folders = env::var_os("PATH").unwrap_or_default();
    let with_suffix = format!("{target}{EXE_SUFFIX}");
    is_word
        && !env::split_paths(&folders)
            .any(|folder| folder.join(target).is_file() || folder.join(&with_suffix).is_file())
}

/// A server of the configuration, if the user has agreed to it. One that is disabled is tested as well.
fn agreed(config: &Config, name: &str, printer: &Printer) -> Result<ServerConfig, Error> {
    let configured = configured(named(config, name)?)?;
    let subject = Subject::of(&configured)?;
    let mut consents = Consents::load()?;
    if !mcp::is_agreed(name, subject.as_ref(), &mut consents, printer) {
        return Err(Error::Failed(format!("MCP server {name} is not trusted")));
    }
    let mut server = configured.config;
    server.enabled = true;
    Ok(server)
}

/// A command line or a URL.
fn typed(text: &str) -> Result<(String, ServerConfig), Error> {
    let typed = text.parse::<TypedServer>().map_err(Error::input)?;
    Ok((typed.name, typed.config))
}

/// A server of the configuration that may have been meant.
fn near(config: &Config, name: &str) -> String {
    if config.declared.servers.contains_key(name) {
        return String::new();
    }
    let names = config.declared.servers.keys().map(String::as_str);
    let near = closest(name, names);
    let near = near
        .first()
        .map(|near| format!("; the configuration has a server {near}, did you mean that?"));
    near.unwrap_or_default()
}

/// The resources, one in a line.
async fn listed(list: Arc<dyn DynGadget>) -> Result<String, Error> {
    let agent = single_call(list, "{}", connect::random()).map_err(Error::input)?;
    // The user has asked for the list.
    let agent = agent.without_approvals();
    let run = agent.ask("").map_err(Error::input)?;
    let finished = run_agent(run, None, SingleCall::default()).await?;
    match finished.observer.answer {
        Some(CallAnswer::Result(text) | CallAnswer::Error(text)) => Ok(text),
        None => Err(Error::Failed("cancelled".to_owned())),
    }
}
