//! `gadgetry eval`: measures how a model calls tools, in each form that there is.

pub(super) mod arm;
mod bfcl;
pub(super) mod cases;
pub(super) mod measure;
pub(super) mod report;
mod score;

use std::sync::Arc;

use gadgetry::proto::block::Markers;
use gadgetry::provider::{ModelOptions, ServerFacts, ServerKind};
use serde_json::json;

use crate::catalog;
use crate::cli::{Arm, EvalArgs, EvalMarkers};
use crate::config::{Config, ModelMarkers, ModelSettings, save_model};
use crate::connect::{self, Unasked};
use crate::error::Error;
use crate::lines::one_line;
use crate::printer::Printer;
use crate::run_agent::until_interrupted;

use cases::Case;
use measure::{Measured, Plan, Results, measure};
use report::Report;

pub(crate) async fn run(args: &EvalArgs, config: &Config, printer: &Printer) -> Result<(), Error> {
    if args.quiet {
        printer.be_quiet();
    }
    // What is wrong is reported before anything is sent.
    let names = names(args, config)?;
    if args.save && config.user_path.is_none() {
        return Err(Error::input(
            "--save needs a configuration file, and none is read",
        ));
    }
    let cases = match &args.bfcl {
        Some(folder) => bfcl::cases(folder)?,
        None => cases::own()?,
    };
    let most = args.cases.map(std::num::NonZeroUsize::get);
    let cases: Arc<[Case]> = cases::chosen(cases, &args.classes, most).into();
    if cases.is_empty() {
        return Err(Error::input("there are no cases of this class"));
    }
    let catalog = catalog::load(&args.data)?;
    let options = ModelOptions {
        temperature: Some(0.0),
        max_tokens: Some(args.max_tokens),
        ..ModelOptions::default()
    };
    let unasked = names.iter().map(|name| {
        let unasked = Unasked::new(name, &args.server, options.clone(), &catalog)?;
        Ok((name, unasked))
    });
    let unasked = unasked.collect::<Result<Vec<_>, Error>>()?;
    let (mut reports, mut was_stopped) = (Vec::new(), false);
    for (name, unasked) in unasked {
        let mut report = model(name, &unasked, &cases, args, printer).await?;
        report.report.configured = config.models.model_settings(name);
        was_stopped = report.is_stopped;
        if !args.json {
            let blank = if reports.is_empty() { "" } else { "\n" };
            printer.text(&format!("{blank}{}", report.report.words()));
            printer.flush()?;
        }
        reports.push(report.report);
        if was_stopped {
            break;
        }
    }
    if args.json {
        let models: Vec<_> = reports.iter().map(Report::json).collect();
        printer.json_line(&json!({ "models": models, "isStopped": was_stopped }))?;
    }
    if was_stopped {
        return Err(Error::Failed(
            "stopped before everything was measured".to_owned(),
        ));
    }
    end(args, config, &reports, printer)
}

/// Saves what is to be saved. Fails if there is a model of which nothing is known now.
fn end(
    args: &EvalArgs,
    config: &Config,
    reports: &[Report],
    printer: &Printer,
) -> Result<(), Error> {
    let mut failed = Vec::new();
    for report in reports {
        let Some((_, settings)) = report.best() else {
            failed.push(one_line(&report.model));
            continue;
        };
        if let Some(path) = config.user_path.as_ref().filter(|_| args.save) {
            save_model(path, &report.model, &settings).map_err(Error::Failed)?;
            let table = format!("[models.{:?}]", report.model);
            printer.progress(&format!(
                "saved {} in {}\n",
                one_line(&table),
                path.display()
            ));
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(Error::Failed(format!(
        "{} made no right call, in whatever form",
        failed.join(", ")
    )))
}

/// The models that are measured.
fn names(args: &EvalArgs, config: &Config) -> Result<Vec<String>, Error> {
    if !args.model.is_empty() {
        return Ok(args.model.clone());
    }
    let configured = config.everywhere("model")?;
    let name = configured.and_then(|it| it.written.as_str().map(str::to_owned));
    let name = name.ok_or_else(|| {
        Error::input(
            "no model: name one, as in `gadgetry eval MODEL`, or set `model` in the configuration",
        )
    })?;
    Ok(vec![name])
}

struct OfModel {
    report: Report,
    is_stopped: bool,
}

async fn model(
    name: &str,
    unasked: &Unasked,
    cases: &Arc<[Case]>,
    args: &EvalArgs,
    printer: &Printer,
) -> Result<OfModel, Error> {
    printer.spin();
    printer.spin_with(|| format!("looks at the server of {}", one_line(name)));
    let facts = connect::server_facts(name, &args.server).await?;
    let (arms, left_out) = possible(&args.forms, name, &facts);
    let (markers, kind) = match args.markers {
        EvalMarkers::Plain => (Markers::default(), ModelMarkers::Plain),
        // A script was written before the run.
        EvalMarkers::Random if connect::script(name).is_some() => {
            (Markers::default(), ModelMarkers::Plain)
        }
        EvalMarkers::Random => (Markers::nonce(connect::random()), ModelMarkers::Random),
    };
    let plan = Plan {
        model: unasked.with(&facts)?,
        arms,
        cases: Arc::clone(cases),
        markers,
        patience: args.patience,
        parallel: args.parallel.get(),
    };
    let (arms, is_stopped) = measured(plan, |_| false, printer).await?;
    let report = Report {
        model: name.to_owned(),
        server: server_words(&facts),
        cases: cases.len(),
        markers: kind,
        arms,
        configured: ModelSettings::default(),
        left_out,
    };
    Ok(OfModel { report, is_stopped })
}

/// Describes the facts that a server reports about itself; empty if they are unknown.
pub(super) fn server_words(facts: &ServerFacts) -> String {
    if facts.kind == ServerKind::Unknown {
        return String::new();
    }
    facts.words()
}

/// Measures, and says whether an interrupt has stopped it.
pub(super) async fn measured(
    plan: Plan,
    is_enough: impl Fn(&Measured) -> bool + Send + 'static,
    printer: &Printer,
) -> Result<(Vec<Measured>, bool), Error> {
    let results = Results::default();
    let shown = printer.clone();
    let words = move |words| shown.spin_with(|| words);
    let work = {
        let results = results.clone();
        async move { measure(plan, results, words, is_enough).await }
    };
    let done = until_interrupted(work, || true).await?;
    printer.stop_spinning();
    Ok((results.so_far(), done.is_none()))
}

/// The arms that the server takes, and those that it does not.
pub(super) fn possible(
    wanted: &[Arm],
    name: &str,
    facts: &ServerFacts,
) -> (Vec<Arm>, Vec<(Arm, &'static str)>) {
    let id = name.split_once(':').map_or(name, |(_, id)| id);
    let of_model = facts.model(id).or_else(|| facts.model(name));
    let has_tools = of_model.and_then(|it| it.template_has_tools);
    let completes_only = of_model.is_some_and(|it| it.has_chat_template == Some(false));
    let mut left_out = Vec::new();
    let mut arms = Vec::new();
    for arm in Arm::ALL {
        if !wanted.is_empty() && !wanted.contains(&arm) {
            continue;
        }
        if arm.is_constrained() && !facts.constraint.is_known() {
            left_out.push((arm, "the server is not known to take grammars"));
        } else if arm.is_native() && completes_only {
            left_out.push((arm, "the model has no chat template"));
        } else if arm.is_native() && has_tools == Some(false) {
            left_out.push((arm, "the model's chat template has no tools"));
        } else {
            arms.push(arm);
        }
    }
    (arms, left_out)
}
