//! The short form of `gadgetry eval`: a few cases, in one form after the other until the model is good at one.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use gadgetry::models::ModelRegistry;
use gadgetry::proto::block::Markers;
use gadgetry::provider::{ModelOptions, ServerFacts};
use serde_json::Value;

use crate::cli::{Arm, DoctorArgs, ToolForm};
use crate::commands::eval::measure::{Measured, Plan};
use crate::commands::eval::report::{Report, best, options};
use crate::commands::eval::{cases, measured, possible, server_words};
use crate::config::{ModelMarkers, ModelSettings};
use crate::connect::{self, Unasked};
use crate::error::Error;
use crate::lines::{one_line, short};
use crate::printer::Printer;

/// Number of cases.
const CASES: usize = 6;

/// Maximum number of wrong cases.
const SLIPS: usize = 1;

/// Tokens of a reply, which has at most two short calls.
const MAX_TOKENS: u64 = 512;

/// The time for one reply.
const PATIENCE: Duration = Duration::from_mins(1);

/// Measurements of a model.
#[derive(Debug)]
pub(super) struct Probe {
    report: Report,
}

/// A model that is to be tested.
pub(super) struct Tested {
    name: String,
    unasked: Unasked,
}

impl Tested {
    /// Prepares the test of a model; reports what is wrong with the name before anything is done.
    pub(super) fn new(
        name: &str,
        args: &DoctorArgs,
        catalog: &ModelRegistry,
    ) -> Result<Self, Error> {
        let model_options = ModelOptions {
            temperature: Some(0.0),
            max_tokens: Some(MAX_TOKENS),
            ..ModelOptions::default()
        };
        let unasked = Unasked::new(name, &args.server, model_options, catalog)?;
        let model = unasked.with(&ServerFacts::default())?;
        if args.tools == Some(ToolForm::Native) && model.with_tools(&[]).is_none() {
            return Err(Error::input(format_args!(
                "{name} does not support native tool calls; omit --tools native"
            )));
        }
        let name = name.to_owned();
        Ok(Self { name, unasked })
    }

    /// Tries the model.
    pub(super) async fn probe(
        self,
        tools: Option<ToolForm>,
        facts: &ServerFacts,
        printer: &Printer,
    ) -> Result<Probe, Error> {
        let is_wanted = |arm: &Arm| match tools {
            Some(ToolForm::Native) => arm.is_native(),
            Some(ToolForm::Text) => !arm.is_native(),
            Some(ToolForm::Both) | None => true,
        };
        let wanted: Vec<Arm> = Arm::ALL.into_iter().filter(is_wanted).collect();
        let (arms, left_out) = possible(&wanted, &self.name, facts);
        let is_script = connect::script(&self.name).is_some();
        let (markers, kind) = if is_script {
            (Markers::default(), ModelMarkers::Plain)
        } else {
            (Markers::nonce(connect::random()), ModelMarkers::Random)
        };
        let cases: Arc<[_]> = cases::chosen(cases::own()?, &[], Some(CASES)).into();
        let plan = Plan {
            model: self.unasked.with(facts)?,
            arms,
            cases: Arc::clone(&cases),
            markers,
            patience: PATIENCE,
            parallel: 1,
        };
        let (arms, is_stopped) = measured(plan, is_enough, printer).await?;
        if is_stopped {
            return Err(Error::Failed("cancelled".to_owned()));
        }
        let report = Report {
            model: self.name,
            server: server_words(facts),
            cases: cases.len(),
            markers: kind,
            arms,
            configured: ModelSettings::default(),
            left_out,
        };
        Ok(Probe { report })
    }
}

/// Returns whether no other form needs to be tried: this one is good, or requests fail whatever the form.
fn is_enough(measured: &Measured) -> bool {
    let is_usual = !measured.arm.is_constrained() && !measured.arm.is_native();
    is_good(measured) || (measured.given_up().is_some() && is_usual)
}

fn is_good(measured: &Measured) -> bool {
    measured.numbers().right >= CASES - SLIPS
}

impl Probe {
    /// The form that the model is good at.
    fn good(&self) -> Option<&Measured> {
        self.report.arms.iter().find(|it| is_good(it))
    }

    /// The error of the requests, if all failed.
    fn error(&self) -> Option<&str> {
        let [only] = self.report.arms.as_slice() else {
            return None;
        };
        only.given_up()
    }

    fn settings(&self, measured: &Measured) -> String {
        options(&measured.arm.settings(self.report.markers))
    }

    pub(super) fn words(&self) -> String {
        let mut out = self.report.tables();
        let name = one_line(&self.report.model);
        match self.good() {
            Some(good) if good.arm == Arm::Text => {
                out.push_str("the default settings are good for it\n");
            }
            Some(good) => {
                // Writing to a string cannot fail.
                let _ = writeln!(
                    out,
                    "use it with {}, or measure more and keep the best: gadgetry eval {name} --save",
                    self.settings(good)
                );
            }
            None => {
                if let Some(text) = self.report.arms.iter().find_map(Measured::first_text) {
                    out.push_str("it wrote:\n");
                    for line in text.lines() {
                        let _ = writeln!(out, "  | {line}");
                    }
                }
            }
        }
        out
    }

    pub(super) fn json(&self) -> Value {
        let mut json = self.report.json();
        json["followsFormat"] = self.good().is_some().into();
        json["recommended"] = self.good().map(|good| self.settings(good)).into();
        json
    }

    pub(super) fn verdict(&self) -> Result<(), Error> {
        if self.good().is_some() {
            return Ok(());
        }
        let name = one_line(&self.report.model);
        if let Some(error) = self.error() {
            return Err(Error::Failed(format!(
                "model call failed: {}",
                short(error)
            )));
        }
        let message = match best(&self.report.arms, self.report.cases) {
            Some(best) => format!(
                "{name} was right in {} of {CASES} cases at most, with {}; `gadgetry eval {name}` measures more",
                best.numbers().right,
                self.settings(best)
            ),
            None => format!("{name} made no right call, in whatever form"),
        };
        Err(Error::Failed(message))
    }
}
