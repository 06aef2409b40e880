//! `gadgetry mcp list`: the servers of the configuration.

use gadgetry_mcp::config::Transport;
use serde::Serialize;
use serde_json::json;

use super::configuration::config;
use crate::cli::{ConfigArgs, McpListArgs};
use crate::config::{Asking, McpServer, PROJECT_FILE, Status, redact};
use crate::error::Error;
use crate::lines::one_line;
use crate::mcp::{Consents, Subject, configured};
use crate::printer::Printer;

/// A server, without keys.
#[derive(Serialize)]
struct Row {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<&'static str>,
    /// The command line or the URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consent: Option<&'static str>,
    source: String,
    /// Error in the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(super) fn run(args: &McpListArgs, chosen: &ConfigArgs, printer: &Printer) -> Result<(), Error> {
    let config = config(chosen, Asking::Silent, printer)?;
    if matches!(config.project, Status::Untrusted | Status::Changed) {
        printer.progress(&format!(
            "{PROJECT_FILE} is {}; `gadgetry config trust` shows it and trusts it\n",
            config.project.name()
        ));
    }
    let consents = Consents::load()?;
    let mut rows = Vec::new();
    for server in config.declared.servers.values() {
        rows.push(row(server, &consents)?);
    }
    if args.json {
        return rows.iter().try_for_each(|row| printer.json(row));
    }
    if rows.is_empty() {
        printer.progress("no MCP servers\n");
    }
    let rows = rows.iter().map(|row| {
        let state = match (row.enabled, row.consent) {
            (Some(false), _) => "disabled",
            (_, Some(consent)) => consent,
            (_, None) => "invalid",
        };
        let target = row.target.as_ref().or(row.error.as_ref());
        [
            one_line(&row.name),
            row.transport.unwrap_or("?").to_owned(),
            state.to_owned(),
            one_line(&row.source),
            one_line(target.map_or("", String::as_str)),
        ]
    });
    let rows: Vec<[String; 5]> = rows.collect();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or_default()
    };
    let widths = [0, 1, 2, 3].map(width);
    for [name, transport, state, source, target] in &rows {
        let [of_name, of_transport, of_state, of_source] = widths;
        printer.text(&format!(
            "{name:of_name$}  {transport:of_transport$}  {state:of_state$}  {source:of_source$}  {target}\n"
        ));
    }
    Ok(())
}

fn row(server: &McpServer, consents: &Consents) -> Result<Row, Error> {
    let mut row = Row {
        name: server.name.clone(),
        transport: None,
        target: None,
        enabled: None,
        consent: None,
        source: server.item.place.to_string(),
        error: None,
    };
    let configured = match configured(server) {
        Ok(configured) => configured,
        Err(Error::Input(problem)) => {
            // The position has a column of its own, unless it is another one.
            let place = format!("{}: ", row.source);
            let problem = problem.strip_prefix(&place).unwrap_or(&problem);
            row.error = Some(problem.to_owned());
            return Ok(row);
        }
        Err(error) => return Err(error),
    };
    let (transport, target) = match &configured.config.transport {
        Transport::Stdio(_) => ("stdio", configured.config.command_line()),
        Transport::Http(http) => {
            let shown = redact("base-url", &json!(http.url));
            let shown = shown.as_str().unwrap_or_default().to_owned();
            ("http", shown)
        }
    };
    row.transport = Some(transport);
    row.target = Some(target);
    row.enabled = Some(configured.config.enabled);
    let subject = Subject::of(&configured)?;
    row.consent = Some(consents.about(subject.as_ref()).name());
    Ok(row)
}
