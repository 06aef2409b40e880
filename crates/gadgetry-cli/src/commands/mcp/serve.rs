//! `gadgetry mcp serve`: gadgets for MCP clients.

use std::net::SocketAddr;
use std::path;
use std::sync::Arc;

use gadgetry::Skills;
use gadgetry::approval::Approvals;
use gadgetry::proto::schema::RegisteredGadget;
use gadgetry_gateway::config::read_keys;
use gadgetry_mcp::{GadgetServer, HttpOptions, ServeError};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::configuration::config;
use crate::approvals::{Names, rules};
use crate::cli::{ApprovalOptions, ConfigArgs, McpServeArgs, SkillOptions};
use crate::config::{Asking, Config};
use crate::error::Error;
use crate::interrupts::Interrupts;
use crate::mcp;
use crate::printer::Printer;
use crate::sources::OF_RUN;
#[cfg(feature = "otel")]
use crate::telemetry;

/// Runs the command until the client leaves, or until an interrupt.
pub(super) async fn run(
    args: &McpServeArgs,
    chosen: &ConfigArgs,
    printer: &Printer,
) -> Result<(), Error> {
    if args.quiet {
        printer.be_quiet();
    }
    // Stdin is the client's.
    let mut config = config(chosen, Asking::Silent, printer)?;
    if let Some(keys) = &args.keys {
        // A client that adds one could let others in.
        let keys = path::absolute(keys).map_err(|error| Error::at(keys.display(), error))?;
        Arc::make_mut(&mut config.declared).files.push(keys);
    }
    let http = args.listen.map(|listen| http(args, listen)).transpose()?;
    let options = ApprovalOptions {
        approval: args.approval.clone(),
        configured_approval: config
            .declared
            .approvals
            .iter()
            .map(|it| it.rule.clone())
            .collect(),
        yes: args.yes,
        dangerously_without_sandbox: args.dangerously_without_sandbox,
        ..ApprovalOptions::default()
    };
    let approvals = Approvals::new(rules(&options)?);
    let skills = skills(args, &config)?;
    let servers = mcp::connect(&args.source, &config.declared, printer).await?;
    let toolbox = args
        .source
        .toolbox(&config.declared, servers.as_deref(), OF_RUN)?;
    let names = Names {
        gadgets: toolbox
            .registry()
            .iter()
            .map(RegisteredGadget::name)
            .collect(),
        source: &args.source,
        declared: &config.declared,
        servers: servers.as_deref(),
    };
    for note in names.check(&options)? {
        printer.progress(&format!("{note}\n"));
    }
    let server = GadgetServer::new(toolbox).map_err(words)?;
    let mut server = server.approvals(approvals).skills(skills);
    #[cfg(feature = "otel")]
    if let Some(spans) = telemetry::spans() {
        server = server.hook(spans);
    }
    if let Some(timeout) = args.timeout {
        server = server.timeout(timeout);
    }
    if let Some(bytes) = args.output_limit {
        server = server.output_limit(bytes);
    }
    serve(server, http, printer).await
}

async fn serve(
    server: GadgetServer,
    http: Option<(SocketAddr, HttpOptions)>,
    printer: &Printer,
) -> Result<(), Error> {
    let mut interrupts = Interrupts::listen().map_err(|error| Error::machine(&error))?;
    let (second, hurries) = oneshot::channel();
    let stop = async move {
        interrupts.next().await;
        // Another one ends the program at once.
        tokio::spawn(async move {
            interrupts.next().await;
            // It has ended already, then.
            let _ = second.send(());
        });
    };
    let serving = async {
        let Some((listen, options)) = http else {
            return Box::pin(server.serve_stdio(stop)).await.map_err(words);
        };
        let listener = TcpListener::bind(listen)
            .await
            .map_err(|error| Error::Failed(format!("cannot listen on {listen}: {error}")))?;
        let address = listener.local_addr();
        let address = address.map_err(|error| Error::machine(&error))?;
        printer.progress(&format!("serving http://{address}/mcp\n"));
        let served = server.serve_http(listener, options, stop);
        served.await.map_err(words)
    };
    tokio::select! {
        served = serving => served,
        Ok(()) = hurries => Err(Error::Failed("stopped without waiting for calls".to_owned())),
    }
}

/// Returns the address to listen at, and the options that decide whose requests are admitted.
fn http(args: &McpServeArgs, listen: SocketAddr) -> Result<(SocketAddr, HttpOptions), Error> {
    let mut options = HttpOptions::default();
    if let Some(path) = &args.keys {
        let keys = read_keys(path).map_err(Error::input)?;
        options.keys = keys.into_iter().map(|(_, key)| key).collect();
    }
    if options.keys.is_empty() && (args.keys.is_some() || !listen.ip().is_loopback()) {
        return Err(Error::input(format_args!(
            "{listen} needs a key, and no key is given: add one to --keys FILE, or listen on 127.0.0.1 without it"
        )));
    }
    Ok((listen, options))
}

/// The skills of the options and of the configuration.
fn skills(args: &McpServeArgs, config: &Config) -> Result<Skills, Error> {
    let configured = config.skills.iter().map(|(folder, _)| folder.clone());
    let options = SkillOptions {
        skills: args.skills.clone(),
        configured_skills: configured.collect(),
    };
    options.load()
}

fn words(error: ServeError) -> Error {
    if matches!(error, ServeError::KeyNeeded | ServeError::BadKey) {
        Error::input(error)
    } else {
        Error::Failed(error.to_string())
    }
}
