//! `gadgetry doctor`: what there is to work with, and whether a model calls gadgets as it should.

mod probe;

use std::fmt::Write as _;
use std::time::Duration;

use futures_util::future::join_all;
use serde::Serialize;
use serde_json::Value;

use crate::args::DoctorArgs;
use crate::conduct::until_interrupted;
use crate::connect::{self, Wishes};
use crate::error::Error;
use crate::printer::Printer;
use crate::providers::{PROVIDERS, Provider};
use crate::{catalog, fetch};

use probe::Probe;

/// How long a server on this machine may take to say what it serves.
const PATIENCE: Duration = Duration::from_secs(2);

/// Names of models that are shown of one server.
const SHOWN: usize = 5;

/// All that was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    keys: Vec<Key>,
    servers: Vec<Server>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probe: Option<Probe>,
}

/// An environment variable for a key. What it holds is nobody's business.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Key {
    provider: &'static str,
    variable: &'static str,
    is_set: bool,
}

/// A server on this machine that answers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Server {
    provider: &'static str,
    base_url: String,
    models: Vec<String>,
}

pub(crate) fn run(args: &DoctorArgs, printer: &mut Printer) -> Result<(), Error> {
    if args.quiet {
        printer.be_quiet();
    }
    // What is wrong with the name of the model is told before anything is done.
    let wishes = Wishes {
        base_url: args.base_url.as_deref(),
        ..Wishes::default()
    };
    let catalog = catalog::load(&args.data)?;
    let connected = |name: &String| connect::model(name, wishes, &catalog);
    let model = args.model.as_ref().map(connected).transpose()?;
    printer.spin();
    printer.spin_with(|| "looks for local servers".to_owned());
    let mut report = Report {
        keys: keys(),
        servers: servers()?,
        probe: None,
    };
    if let Some((model, name)) = model.zip(args.model.as_ref()) {
        printer.spin_with(|| format!("asks {name}"));
        report.probe = Some(probe::probe(name, model)?);
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
            let state = if key.is_set { "set" } else { "not set" };
            // Writing to a string cannot fail.
            let _ = writeln!(out, "  {:<11} {:<19} {state}", key.provider, key.variable);
        }
        out.push_str("\nLocal servers\n");
        if self.servers.is_empty() {
            out.push_str("  none found\n");
        }
        for server in &self.servers {
            let mut models = server.models.clone();
            let more = models.len().saturating_sub(SHOWN);
            models.truncate(SHOWN);
            if more > 0 {
                models.push(format!("{more} more"));
            }
            let models = if models.is_empty() {
                "no models".to_owned()
            } else {
                models.join(", ")
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
        let has_any = !self.servers.is_empty() || self.keys.iter().any(|key| key.is_set);
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

fn keys() -> Vec<Key> {
    let key = |provider: &Provider| {
        Some(Key {
            provider: provider.name,
            variable: provider.key?,
            is_set: provider.api_key().is_some(),
        })
    };
    PROVIDERS.iter().filter_map(key).collect()
}

fn servers() -> Result<Vec<Server>, Error> {
    let work = || async {
        let local = PROVIDERS.iter().filter(|provider| provider.is_local());
        let found = join_all(local.map(server)).await;
        found.into_iter().flatten().collect()
    };
    let found = until_interrupted(work, || true)?;
    found.ok_or_else(|| Error::Failed("cancelled".to_owned()))
}

/// What serves there, if it says so itself.
async fn server(provider: &Provider) -> Option<Server> {
    let base_url = provider.base_url();
    let url = format!("{}/models", base_url.trim_end_matches('/'));
    let answer = fetch::get(&url, PATIENCE, true).await.ok()?;
    let answer: Value = serde_json::from_slice(&answer).ok()?;
    let models = answer.get("data")?.as_array()?.iter();
    let id = |model: &Value| Some(model.get("id")?.as_str()?.to_owned());
    Some(Server {
        provider: provider.name,
        base_url,
        models: models.filter_map(id).collect(),
    })
}
