//! `gadgetry doctor`: checks keys and servers, and tests whether a model calls gadgets correctly.

mod probe;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use futures_util::future::join_all;
use gadgetry::provider::resolve::FoundServer;
use gadgetry::provider::{ConstraintField, Resolver, ServerFacts, ServerKind};
use serde::Serialize;
use serde_json::Value;

use crate::catalog;
use crate::cli::DoctorArgs;
use crate::connect;
use crate::error::Error;
use crate::lines::one_line;
use crate::printer::Printer;
use crate::run_agent::until_interrupted;
use crate::usage_totals::grouped;

use probe::{Probe, Tested};

/// Maximum number of model names shown per server.
const SHOWN: usize = 5;

/// All that was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    keys: Vec<Key>,
    addresses: Vec<Address>,
    servers: Vec<Server>,
    /// The server of the model that is tested, if it is the user's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<Recognised>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probe: Option<Value>,
    #[serde(skip)]
    tested: Option<Probe>,
}

/// A provider's key, without its value.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Key {
    provider: &'static str,
    /// The environment variables that may hold it.
    variables: &'static [&'static str],
    /// The one that does.
    found_in: Option<&'static str>,
}

/// An address that the environment sets in place of a provider's own.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Address {
    provider: &'static str,
    /// Without passwords and queries.
    base_url: String,
    variable: &'static str,
}

/// A server that answers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Server {
    provider: &'static str,
    base_url: String,
    models: Vec<String>,
    /// The variable for the key, if the server refused the request without one or with the one that it got.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs_key: Option<&'static str>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    recognised: Option<Recognised>,
}

/// Facts that a server reports about itself.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Recognised {
    kind: ServerKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    constraint: ConstraintField,
    /// Context windows of the models for which the server reports one.
    context_windows: BTreeMap<String, u64>,
    #[serde(skip)]
    words: String,
}

impl Recognised {
    /// `None` if the server is unknown.
    fn new(facts: &ServerFacts) -> Option<Self> {
        let models = facts.models.iter();
        let windows = models.filter_map(|model| Some((model.name.clone(), model.context_window?)));
        (facts.kind != ServerKind::Unknown).then(|| Self {
            kind: facts.kind,
            version: facts.version.clone(),
            constraint: facts.constraint,
            context_windows: windows.collect(),
            words: one_line(&facts.words()),
        })
    }

    /// The name of a model, with its window.
    fn with_window(&self, name: &str) -> String {
        match self.context_windows.get(name) {
            Some(window) => format!("{} ({} tokens)", one_line(name), grouped(*window)),
            None => one_line(name),
        }
    }
}

pub(crate) async fn run(args: &DoctorArgs, printer: &Printer) -> Result<(), Error> {
    if args.quiet {
        printer.be_quiet();
    }
    // A wrong model name is reported before anything is done.
    let catalog = catalog::load(&args.data)?;
    let tested = |name: &String| Tested::new(name, args, &catalog);
    let tested = args.model.as_ref().map(tested).transpose()?;
    printer.spin();
    printer.spin_with(|| "looking for servers".to_owned());
    let resolver = Resolver::from_env();
    let mut report = Report {
        keys: keys(&resolver),
        addresses: addresses(&resolver),
        servers: servers(resolver, args.wait).await?,
        server: None,
        probe: None,
        tested: None,
    };
    if let Some((tested, name)) = tested.zip(args.model.as_ref()) {
        let facts = connect::server_facts(name, &args.server).await?;
        report.server = Recognised::new(&facts);
        let probe = tested.probe(args.tools, &facts, printer).await?;
        report.probe = args.json.then(|| probe.json());
        report.tested = Some(probe);
    }
    printer.stop_spinning();
    if args.json {
        printer.json_line(&report)?;
    } else {
        printer.text(&report.words());
    }
    report.verdict()
}

impl Report {
    fn words(&self) -> String {
        let mut out = String::from("Keys\n");
        for key in &self.keys {
            let state = match key.found_in {
                Some(variable) => format!("set in {variable}"),
                None => format!("not set: {}", key.variables.join(" or ")),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(out, "  {:<11} {state}", key.provider);
        }
        if !self.addresses.is_empty() {
            out.push_str("\nAddresses from the environment\n");
        }
        for address in &self.addresses {
            let Address {
                provider,
                base_url,
                variable,
            } = address;
            let _ = writeln!(out, "  {provider:<11} {base_url}  {variable}");
        }
        out.push_str("\nServers\n");
        if self.servers.is_empty() {
            out.push_str("  none found\n");
        }
        for server in &self.servers {
            let recognised = server.recognised.as_ref();
            let with_window = |name: &String| match recognised {
                Some(recognised) => recognised.with_window(name),
                None => one_line(name),
            };
            let mut models: Vec<String> = server.models.iter().map(with_window).collect();
            let more = models.len().saturating_sub(SHOWN);
            models.truncate(SHOWN);
            if more > 0 {
                models.push(format!("{more} more"));
            }
            let models = match server.needs_key {
                Some(variable) => format!("refused the request: needs a key ({variable})"),
                None if models.is_empty() => "no models".to_owned(),
                None => models.join(", "),
            };
            let words = recognised.map_or_else(String::new, |it| format!("  ({})", it.words));
            let _ = writeln!(
                out,
                "  {:<11} {}  {models}{words}",
                server.provider, server.base_url
            );
        }
        if let Some(server) = &self.server {
            let _ = write!(out, "\nServer of the model\n  {}\n", server.words);
            for (name, window) in server.context_windows.iter().take(SHOWN) {
                let _ = writeln!(out, "  {}: {} tokens", one_line(name), grouped(*window));
            }
        }
        if let Some(probe) = &self.tested {
            let _ = write!(out, "\n{}", probe.words());
        }
        out
    }

    fn verdict(&self) -> Result<(), Error> {
        let has_any =
            !self.servers.is_empty() || self.keys.iter().any(|key| key.found_in.is_some());
        match &self.tested {
            Some(probe) => probe.verdict(),
            None if has_any => Ok(()),
            None => Err(Error::Failed(
                "no key is set, and no server was found: set one of the variables above, or start a server"
                    .to_owned(),
            )),
        }
    }
}

fn keys(resolver: &Resolver) -> Vec<Key> {
    let configured = resolver.configured();
    let keys = Resolver::key_variables().filter_map(|(provider, variables)| {
        let found = configured.iter().find(|it| it.provider == provider);
        let found_in = found.and_then(|it| it.key);
        // A server on this machine may need none.
        let is_optional = found.is_some_and(|it| it.is_local);
        (found_in.is_some() || !is_optional).then_some(Key {
            provider,
            variables,
            found_in,
        })
    });
    keys.collect()
}

fn addresses(resolver: &Resolver) -> Vec<Address> {
    let configured = resolver.configured();
    let addresses = configured.iter().filter_map(|it| {
        Some(Address {
            provider: it.provider,
            base_url: it.base_url.shown(),
            variable: it.base_url_from?,
        })
    });
    addresses.collect()
}

async fn servers(resolver: Resolver, wait: Duration) -> Result<Vec<Server>, Error> {
    let work = async move {
        let found = resolver.find_servers_within(wait).await;
        // No model has this name, so that all of them are looked up.
        let any = found.iter().map(|it| format!("{}:*", it.provider));
        let any: Vec<String> = any.collect();
        let facts = join_all(any.iter().map(|name| resolver.recognise(name))).await;
        found.into_iter().zip(facts).collect::<Vec<_>>()
    };
    let found = until_interrupted(work, || true).await?;
    let found = found.ok_or_else(|| Error::Failed("cancelled".to_owned()))?;
    let server = |(server, facts): (FoundServer, ServerFacts)| Server {
        provider: server.provider,
        base_url: server.base_url.shown(),
        needs_key: server.needs_key,
        models: server.models,
        recognised: Recognised::new(&facts),
    };
    Ok(found.into_iter().map(server).collect())
}
