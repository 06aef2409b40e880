//! `gadgetry doctor`: checks keys and local servers, and tests whether a model calls gadgets correctly.

mod probe;

use std::fmt::Write as _;
use std::time::Duration;

use gadgetry::provider::Resolver;
use gadgetry::provider::resolve::LocalServer;
use serde::Serialize;

use crate::args::DoctorArgs;
use crate::catalog;
use crate::connect::{self, ModelOverrides};
use crate::error::Error;
use crate::lines::one_line;
use crate::printer::Printer;
use crate::run_agent::until_interrupted;

use probe::Probe;

/// Maximum number of model names shown per server.
const SHOWN: usize = 5;

/// All that was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    keys: Vec<Key>,
    addresses: Vec<Address>,
    servers: Vec<Server>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probe: Option<Probe>,
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

/// A server on this machine that answers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Server {
    provider: &'static str,
    base_url: String,
    models: Vec<String>,
    /// The variable for the key, if the server refused the request without one or with the one that it got.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs_key: Option<&'static str>,
}

pub(crate) fn run(args: &DoctorArgs, printer: &mut Printer) -> Result<(), Error> {
    if args.quiet {
        printer.be_quiet();
    }
    // A wrong model name is reported before anything is done.
    let overrides = ModelOverrides::plain(&args.server);
    let catalog = catalog::load(&args.data)?;
    let connected = |name: &String| connect::model(name, &overrides, &catalog);
    let model = args.model.as_ref().map(connected).transpose()?;
    printer.spin();
    printer.spin_with(|| "looking for local servers".to_owned());
    let resolver = Resolver::from_env();
    let mut report = Report {
        keys: keys(&resolver),
        addresses: addresses(&resolver),
        servers: servers(resolver, args.wait)?,
        probe: None,
    };
    if let Some((model, name)) = model.zip(args.model.as_ref()) {
        printer.spin_with(|| format!("asks {name}"));
        report.probe = Some(probe::probe(name, model, args.tools)?);
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
        out.push_str("\nLocal servers\n");
        if self.servers.is_empty() {
            out.push_str("  none found\n");
        }
        for server in &self.servers {
            let mut models: Vec<String> = server.models.iter().map(|it| one_line(it)).collect();
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
            let _ = writeln!(
                out,
                "  {:<11} {}  {models}",
                server.provider, server.base_url
            );
        }
        if let Some(probe) = &self.probe {
            let _ = write!(out, "\n{}", probe.words());
        }
        out
    }

    fn verdict(&self) -> Result<(), Error> {
        let has_any =
            !self.servers.is_empty() || self.keys.iter().any(|key| key.found_in.is_some());
        match &self.probe {
            Some(probe) => probe.verdict(),
            None if has_any => Ok(()),
            None => Err(Error::Failed(
                "no key is set, and no local server was found: set one of the variables above, or start a server"
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

fn servers(resolver: Resolver, wait: Duration) -> Result<Vec<Server>, Error> {
    let work = move || async move { resolver.local_servers_within(wait).await };
    let found = until_interrupted(work, || true)?;
    let found = found.ok_or_else(|| Error::Failed("cancelled".to_owned()))?;
    let server = |server: LocalServer| Server {
        provider: server.provider,
        base_url: server.base_url.shown(),
        needs_key: server.needs_key,
        models: server.models,
    };
    Ok(found.into_iter().map(server).collect())
}
