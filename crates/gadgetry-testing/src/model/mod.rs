//! A model that answers by rules.

mod builder;
mod report;
mod rule;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry::proto::convo::TextForm;
use gadgetry::proto::delta::Delta;
use gadgetry::proto::error::{ModelError, ModelErrorKind};
use gadgetry::proto::message::{Message, Request};
use gadgetry::{Model, ModelInfo};

use crate::call::Format;
use crate::checker::RequestChecker;
use crate::matcher::Asked;
use crate::render::render_conversation;
use crate::reply::{Step, reply};

pub use builder::{MockModelBuilder, RuleBuilder};
pub use report::Mismatch;
pub use rule::Then;

use rule::{Rule, times};

/// The code of the error that answers a request which no rule matches.
const UNMATCHED: &str = "unmatched_request";

/// A [`Model`] that answers by rules, records every request, and complains about what it did not expect.
///
/// It is strict: a request that no rule matches is answered with an error of the model (code `unmatched_request`), and
/// is reported; so is a rule that was never used. [`MockModelBuilder::lenient`] turns that off. Every request is checked
/// by a [`RequestChecker`].
///
/// Reports come from [`MockModel::verify`], and as a panic when the last clone is dropped, unless the thread panics
/// already, or the model has received no request: then `build` of its agent has probably failed, and the test shows that
/// error. Only `verify` reports that no request came. In a task of its own such a panic is only seen by who joins the task, so a test
/// that hands the model to one calls `verify`.
///
/// Clones are the same model: one may go to an agent while the test keeps another. Two mocks share nothing.
///
/// ```
/// use gadgetry::Agent;
/// use gadgetry_testing::{MockModel, paused};
///
/// let model = MockModel::builder()
///     .when(|m| m.last_message_contains("Hi")).once().replies_text("Hello!")
///     .build();
/// let agent = Agent::builder().model(model.clone()).build()?;
/// assert_eq!(paused(agent.ask("Hi").text())?, "Hello!");
/// model.verify();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MockModel {
    name: Arc<str>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    name: Arc<str>,
    rules: Vec<Rule>,
    info: ModelInfo,
    format: Format,
    strict: bool,
    silent: bool,
    checker: Option<RequestChecker>,
    record: Mutex<Record>,
}

/// Events so far.
#[derive(Debug, Default)]
struct Record {
    requests: Vec<Recorded>,
    /// Whether a report was taken since the last request.
    reported: bool,
}

#[derive(Debug)]
struct Recorded {
    request: Request,
    /// The title of the rule that answered it.
    rule: Option<String>,
    /// Reports about it.
    complaints: Vec<String>,
}

impl MockModel {
    /// The same model under another name, for rules that ask for the name.
    #[must_use]
    pub fn as_named(&self, name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            shared: Arc::clone(&self.shared),
        }
    }

    /// The requests so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        let record = self.shared.record();
        let requests = record.requests.iter();
        requests.map(|recorded| recorded.request.clone()).collect()
    }

    /// The last request.
    pub fn last_request(&self) -> Option<Request> {
        let record = self.shared.record();
        record.requests.last().map(|last| last.request.clone())
    }

    /// Returns the number of requests.
    pub fn call_count(&self) -> usize {
        self.shared.record().requests.len()
    }

    /// Who answered each request: the label of the rule, or `rule N`; `None` where no rule did.
    pub fn answered_by(&self) -> Vec<Option<String>> {
        let record = self.shared.record();
        let requests = record.requests.iter();
        requests.map(|recorded| recorded.rule.clone()).collect()
    }

    /// Returns what went wrong so far, as a report. The caller takes it over: dropping the model then reports nothing more about
    /// it.
    pub fn check(&self) -> Result<(), Mismatch> {
        self.shared.record().reported = true;
        match self.shared.report() {
            None => Ok(()),
            Some(report) => Err(Mismatch(report)),
        }
    }

    /// [`MockModel::check`], for tests that expect nothing to be wrong.
    ///
    /// # Panics
    ///
    /// With the report, if something went wrong.
    #[track_caller]
    pub fn verify(&self) {
        if let Err(mismatch) = self.check() {
            panic!("{mismatch}");
        }
    }
}

impl Model for MockModel {
    /// # Panics
    ///
    /// If the request breaks a rule of the [`RequestChecker`], or a rule's own closure panics.
    fn stream(&self, request: Request) -> BoxStream<'static, Delta> {
        let steps = self.shared.answer(&self.name, &request);
        stream::iter(steps)
            .filter_map(|step| async {
                match step {
                    Step::Send(delta) => Some(delta),
                    Step::Wait(delay) => {
                        tokio::time::sleep(delay).await;
                        None
                    }
                }
            })
            .boxed()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn info(&self) -> ModelInfo {
        self.shared.info.clone()
    }
}

impl Shared {
    fn record(&self) -> MutexGuard<'_, Record> {
        // A test that panicked elsewhere still wants its report.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock is never held while code of the test runs.
    fn answer(&self, model: &str, request: &Request) -> Vec<Step> {
        let before = {
            let mut record = self.record();
            record.reported = false;
            record.requests.push(Recorded {
                request: request.clone(),
                rule: None,
                complaints: Vec::new(),
            });
            record.requests.len() - 1
        };
        let number = before + 1;
        let all_messages: Cow<'_, [Message]> = if request.trailing.is_empty() {
            Cow::Borrowed(&request.messages)
        } else {
            request.all_messages().cloned().collect()
        };
        if let Some(checker) = &self.checker
            && let Err(violations) = checker.check(&all_messages)
        {
            let complaint = report::violation(model, number, &violations.to_string());
            self.complain(before, &complaint);
            panic!("{complaint}");
        }
        let asked = Asked {
            request,
            all_messages: &all_messages,
            form: TextForm {
                markers: &self.format.markers,
                anchoring: self.format.anchoring,
                xml_names: &std::collections::BTreeMap::new(),
            },
            model,
            before,
        };
        let mut refusals = Vec::new();
        for rule in &self.rules {
            match rule.claim(&asked) {
                Ok(turn) => {
                    let title = rule.label.clone().unwrap_or_else(|| rule.title());
                    self.record().requests[before].rule = Some(title);
                    return rule.reply(turn, request).steps(&self.format);
                }
                Err(refusal) => refusals.push((rule, refusal)),
            }
        }
        if !self.strict {
            return reply().steps(&self.format);
        }
        let conversation = render_conversation(&all_messages);
        let complaint = report::unmatched(model, number, &conversation, &refusals);
        self.complain(before, &complaint);
        vec![Step::Send(Delta::Error(
            ModelError::new(ModelErrorKind::BadRequest, complaint).with_code(UNMATCHED),
        ))]
    }

    fn complain(&self, request: usize, complaint: &str) {
        let mut record = self.record();
        record.requests[request]
            .complaints
            .push(complaint.to_owned());
    }

    /// Everything that went wrong.
    fn report(&self) -> Option<String> {
        let record = self.record();
        let mut report = String::new();
        for recorded in &record.requests {
            report.extend(recorded.complaints.iter().map(String::as_str));
        }
        if self.strict {
            for rule in &self.rules {
                if let Some(shortfall) = rule.shortfall() {
                    report.push_str(&report::shortfall(rule, &shortfall));
                }
            }
        }
        let (name, called) = (&self.name, times(record.requests.len()));
        let head =
            format!("the mock model {name:?} was called {called}, not as its rules expect\n");
        (!report.is_empty()).then(|| head + &report)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.silent || std::thread::panicking() || self.record().reported {
            return;
        }
        // A `build` that fails drops the model before it returns its error, which must reach the test.
        if self.record().requests.is_empty() {
            return;
        }
        if let Some(report) = self.report() {
            panic!("{report}");
        }
    }
}
