//! A log of a run's events, for tests.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "each question picks its own kind of event"
)]

mod line;

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gadgetry::driver::Observer;
use gadgetry::proto::call::Call;
use gadgetry::proto::event::{Ancestor, CallAnswer, Event, EventKind, FinishReason};

use line::line;

/// An [`Observer`] that keeps every event, with questions that tests ask.
///
/// Clones share one log: one may go to an agent while the test keeps another. The expectations panic with the whole
/// log.
///
/// Queries refer to the run itself, except where all events are named; [`EventLog::subagent`] has the rest.
/// Their lines begin with the ids of the calls that they come from: `research> text "Found it."`.
///
/// ```
/// use gadgetry::Agent;
/// use gadgetry_testing::{EventLog, MockModel, paused};
///
/// let model = MockModel::in_order(["Hello!"]);
/// let log = EventLog::default();
/// let agent = Agent::builder().model(model).observer(log.clone()).build()?;
/// paused(agent.ask("Hi").text())?;
/// assert_eq!(log.text(), "Hello!");
/// assert_eq!(log.render(), "\
/// run_start mock
/// model_call 1
/// text \"Hello!\"
/// model_call_end 1 stop
/// iteration_end 1
/// finished completed 1
/// ");
/// log.assert_order(["model_call 1", "text", "finished completed"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct EventLog {
    events: Arc<Mutex<Vec<Event>>>,
}

impl EventLog {
    fn lock(&self) -> MutexGuard<'_, Vec<Event>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what `pick` takes of each of the run's own events, in order.
    fn pick<T>(&self, pick: impl FnMut(&EventKind) -> Option<T>) -> Vec<T> {
        let events = self.lock();
        events
            .iter()
            .filter(|event| event.path.is_empty())
            .map(|event| &event.kind)
            .filter_map(pick)
            .collect()
    }

    /// The events of the subagents of the call with this id, as if they were the run.
    #[must_use]
    pub fn subagent(&self, invocation_id: &str) -> Self {
        let events = self.lock();
        let theirs = events.iter().filter_map(|event| {
            let (first, rest) = event.path.split_first()?;
            let mut event = event.clone();
            event.path = rest.to_vec();
            (first.invocation_id.as_str() == invocation_id).then_some(event)
        });
        theirs.collect()
    }

    /// All events so far.
    pub fn events(&self) -> Vec<Event> {
        self.lock().clone()
    }

    /// The `type` of each event, as in JSON: `model_call_start`, `text`, `gadget_result` …
    pub fn names(&self) -> Vec<String> {
        self.pick(|kind| Some(line::name(kind)))
    }

    /// Returns the visible text of the run.
    pub fn text(&self) -> String {
        self.pick(|kind| match kind {
            EventKind::Text { text } => Some(text.clone()),
            _ => None,
        })
        .concat()
    }

    /// The calls, in the order in which they were written.
    pub fn calls(&self) -> Vec<Arc<Call>> {
        self.pick(|kind| match kind {
            EventKind::GadgetCall { written, .. } => Some(Arc::clone(written)),
            _ => None,
        })
    }

    /// The ids of the calls whose gadgets started, in that order.
    pub fn started(&self) -> Vec<String> {
        self.pick(|kind| match kind {
            EventKind::GadgetStart { invocation_id, .. } => Some(invocation_id.to_string()),
            _ => None,
        })
    }

    /// The id and the answer of each call that was answered, in that order. Skipped calls are not among them.
    pub fn results(&self) -> Vec<(String, CallAnswer)> {
        self.pick(|kind| match kind {
            EventKind::GadgetResult {
                invocation_id,
                answer,
                ..
            } => Some((invocation_id.to_string(), answer.clone())),
            _ => None,
        })
    }

    /// The ids of the calls that were skipped, in that order.
    pub fn skipped(&self) -> Vec<String> {
        self.pick(|kind| match kind {
            EventKind::GadgetSkipped { invocation_id, .. } => Some(invocation_id.to_string()),
            _ => None,
        })
    }

    /// The costs of the run and its subagents in US dollars; before its end, the sum of all events so far. `None` if the
    /// price of a model call is not known.
    pub fn total_cost(&self) -> Option<f64> {
        let total = self.pick(|kind| match kind {
            EventKind::RunFinished { total_cost, .. } => Some(*total_cost),
            _ => None,
        });
        let parts = || {
            let events = self.lock();
            events.iter().map(|event| event.kind.own_cost()).sum()
        };
        total.last().copied().unwrap_or_else(parts)
    }

    /// Returns the reason that the run ended; `None` while it is in progress.
    pub fn finish_reason(&self) -> Option<FinishReason> {
        let reasons = self.pick(|kind| match kind {
            EventKind::RunFinished { reason, .. } => Some(*reason),
            _ => None,
        });
        reasons.last().copied()
    }

    /// The result of the last call with this id.
    ///
    /// # Panics
    ///
    /// If it has none, or failed.
    #[track_caller]
    pub fn expect_result(&self, id: &str) -> String {
        match self.answer(id) {
            Some(CallAnswer::Result(text)) => text,
            Some(CallAnswer::Error(error)) => {
                self.fail(&format!("the call {id:?} failed: {error:?}"))
            }
            None => self.fail(&format!("the call {id:?} has no result")),
        }
    }

    /// The error of the last call with this id.
    ///
    /// # Panics
    ///
    /// If it has none.
    #[track_caller]
    pub fn expect_error(&self, id: &str) -> String {
        match self.answer(id) {
            Some(CallAnswer::Error(error)) => error,
            Some(CallAnswer::Result(text)) => {
                self.fail(&format!("the call {id:?} did not fail: {text:?}"))
            }
            None => self.fail(&format!("the call {id:?} has no error")),
        }
    }

    fn answer(&self, id: &str) -> Option<CallAnswer> {
        let results = self.results().into_iter().rev();
        let mut answers = results.filter_map(|(of, answer)| (of == id).then_some(answer));
        answers.next()
    }

    /// The lines of [`EventLog::render`] contain these, each in a line after that of the one before. What is looked for
    /// are whole words in a row: `start a` is found in `start a Fetch`, and not in `start ab Fetch`.
    ///
    /// # Panics
    ///
    /// If one is not found there.
    #[track_caller]
    pub fn assert_order<'w>(&self, wanted: impl IntoIterator<Item = &'w str>) {
        let rendered = self.render();
        let mut lines = rendered.lines();
        let mut before = None;
        for wanted in wanted {
            if !lines.any(|line| has_words(line, wanted)) {
                let found = rendered.lines().any(|line| has_words(line, wanted));
                let how = match (before, found) {
                    (Some(before), true) => format!("comes, but not after {before:?}"),
                    _ => "never comes".to_owned(),
                };
                self.fail(&format!("{wanted:?} {how}"))
            }
            before = Some(wanted);
        }
    }

    /// One line per event, without times and without pieces of what is reported whole later. Adjacent texts are joined.
    pub fn render(&self) -> String {
        self.rendered(false)
    }

    /// [`EventLog::render`] with the time of each event before its line, in milliseconds.
    pub fn render_with_times(&self) -> String {
        self.rendered(true)
    }

    fn rendered(&self, times: bool) -> String {
        let mut out = String::new();
        for event in joined(&self.lock()) {
            if let Some(line) = line(&event.kind) {
                if times {
                    // Writing to a string does not fail.
                    let _ = write!(out, "{:>6} ", event.time.0);
                }
                out.push_str(&origin(&event.path));
                out.push_str(&line);
                out.push('\n');
            }
        }
        out
    }

    #[track_caller]
    fn fail(&self, problem: &str) -> ! {
        panic!(
            "{problem}\nevents, with milliseconds:\n{}",
            self.render_with_times()
        );
    }
}

/// Returns the subagent that an event comes from.
pub(crate) fn origin(path: &[Ancestor]) -> String {
    let names = path.iter().map(|ancestor| match ancestor.agent {
        0 => ancestor.invocation_id.to_string(),
        number => format!("{}#{number}", ancestor.invocation_id),
    });
    let names: Vec<_> = names.collect();
    if names.is_empty() {
        return String::new();
    }
    format!("{}> ", names.join("/"))
}

/// Adjacent texts, and adjacent thoughts, as one event at the time of the first.
pub(crate) fn joined(events: &[Event]) -> Vec<Event> {
    let mut out: Vec<Event> = Vec::new();
    for event in events {
        let last = out.last_mut().filter(|last| last.path == event.path);
        match (last.map(|last| &mut last.kind), &event.kind) {
            (Some(EventKind::Text { text }), EventKind::Text { text: more })
            | (Some(EventKind::Reasoning { text }), EventKind::Reasoning { text: more }) => {
                text.push_str(more);
            }
            _ => out.push(event.clone()),
        }
    }
    out
}

fn has_words(line: &str, wanted: &str) -> bool {
    let line: Vec<_> = line.split_whitespace().collect();
    let wanted: Vec<_> = wanted.split_whitespace().collect();
    wanted.is_empty() || line.windows(wanted.len()).any(|words| words == wanted)
}

impl Observer for EventLog {
    fn event(&mut self, event: &Event) {
        self.lock().push(event.clone());
    }
}

impl FromIterator<Event> for EventLog {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Self {
        Self {
            events: Arc::new(Mutex::new(events.into_iter().collect())),
        }
    }
}

impl fmt::Display for EventLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render_with_times())
    }
}
