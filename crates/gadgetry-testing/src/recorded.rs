//! Saved runs as tests: the replies of the model as they were, and everything else as it is now.

use std::collections::VecDeque;
use std::io::BufRead;
use std::mem;
use std::sync::{Mutex, PoisonError};

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry::driver::Observer;
use gadgetry::log::{self, LogError, LogHeader};
use gadgetry::proto::message::Message;
use gadgetry::proto::run::{Close, Input};
use gadgetry::proto::time::Time;
use gadgetry::{
    AgentBuilder, AgentError, Classified, Delta, Event, Fault, Finished, Model, ModelError,
    ModelErrorKind, Request, RunError,
};

use crate::events::EventLog;

/// A saved run, and the same run with the gadgets and options of today.
#[derive(Debug)]
#[non_exhaustive]
pub struct Replayed {
    /// The events of the run as it was saved.
    pub recorded: EventLog,
    /// The events of the run with the agent of today.
    pub log: EventLog,
    /// The end of that run.
    pub result: Result<Finished, RunError>,
}

impl Replayed {
    /// Checks that both runs have the same [story](EventLog::story).
    ///
    /// # Panics
    ///
    /// If they have not, with both side by side.
    #[track_caller]
    pub fn assert_unchanged(&self) {
        let (recorded, now) = (self.recorded.story(), self.log.story());
        if recorded != now {
            let recorded: Vec<&str> = recorded.iter().map(String::as_str).collect();
            self.log.assert_story(&recorded);
            panic!("the run differs from the saved one in the end of a line with `…`: {now:#?}");
        }
    }
}

/// Runs `agent` about the question of a saved run, with the replies that its model gave then: a regression test for gadgets, hooks and
/// options, without a key. `gadgetry agent --save FILE` and [`LogWriter`](log::LogWriter) write such files.
///
/// The model of `agent` is replaced, so it needs none, and so are its markers and its history. A request beyond the recorded replies
/// is an error of the model. Retries wait as they do in a run; under a [paused](crate::paused) clock that takes no time.
///
/// # Errors
///
/// If the log cannot be read, and if the agent cannot be built.
///
/// ```
/// use gadgetry::{Agent, gadget};
/// use gadgetry_testing::{assert_run, paused, replay};
///
/// /// Gets the weather
/// #[gadget]
/// fn weather(city: String) -> String {
///     format!("{city}: 21 degrees")
/// }
///
/// # use gadgetry::log::LogWriter;
/// # use gadgetry_testing::{MockModel, call, reply};
/// # let model = MockModel::in_order([reply().call(call("Weather").arg("city", "Paris")), reply().text("It is warm.")]);
/// # let mut run = Agent::builder().model(model).gadget(Weather).ask("Is it warm in Paris?")?;
/// # let mut saved = Vec::new();
/// # paused(async {
/// #     let mut log = LogWriter::new(&mut saved, &run.header().await?)?;
/// #     run.observe(&mut log).await?;
/// #     log.finish()?;
/// #     Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// // In a test: let saved = include_bytes!("weather.jsonl");
/// let replayed = paused(replay(&saved[..], Agent::builder().gadget(Weather)))?;
/// replayed.assert_unchanged();
/// assert_run!(replayed.log, [r#"call Weather {"city":"Paris"}"#, "result Weather: Paris: 21…", "…", "end completed"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn replay(mut saved: impl BufRead, agent: AgentBuilder) -> Result<Replayed, ReplayError> {
    let mut text = Vec::new();
    saved.read_to_end(&mut text).map_err(LogError::Io)?;
    let mut recording = Recording::default();
    log::replay(&text[..], &mut recording)?;
    let (header, question) = beginning(&text)?;
    let log = EventLog::default();
    let agent = agent
        .model(recording.model())
        .markers(header.config.markers)
        .history(header.conversation)
        .observer(log.clone())
        .build()?;
    let result = agent.ask_with(question.content).finish().await;
    Ok(Replayed {
        recorded: recording.events,
        log,
        result,
    })
}

/// The header of a log, with the conversation before the question, and the question.
fn beginning(text: &[u8]) -> Result<(LogHeader, Message), LogError> {
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let wrong = |problem: String| LogError::Line { line: 1, problem };
    let mut header: LogHeader =
        serde_json::from_slice(first).map_err(|error| wrong(error.to_string()))?;
    let question = header.conversation.pop();
    let question = question.ok_or_else(|| wrong("the conversation is empty".to_owned()))?;
    Ok((header, question))
}

/// The events of a log, and the replies in it.
#[derive(Default)]
struct Recording {
    events: EventLog,
    replies: VecDeque<Vec<Delta>>,
    reply: Vec<Delta>,
}

impl Recording {
    fn model(&mut self) -> RecordedModel {
        let replies = Mutex::new(mem::take(&mut self.replies));
        RecordedModel { replies }
    }
}

impl Observer for Recording {
    fn event(&mut self, event: &Event) {
        self.events.event(event);
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other inputs are made again"
    )]
    fn input(&mut self, _: Time, input: &Input) {
        match input {
            Input::Delta(delta) => self.reply.push(delta.clone()),
            Input::ModelClosed(close) => {
                let mut reply = mem::take(&mut self.reply);
                if let Close::Failed(error) = close {
                    reply.push(error.clone().into());
                }
                self.replies.push_back(reply);
            }
            _ => {}
        }
    }
}

/// Gives recorded replies, in order.
struct RecordedModel {
    replies: Mutex<VecDeque<Vec<Delta>>>,
}

impl Model for RecordedModel {
    fn stream(&self, request: Request) -> BoxStream<'static, Delta> {
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = replies.pop_front().unwrap_or_else(|| {
            let number = request.iteration;
            let message =
                format!("the saved run has no reply for this request, in iteration {number}");
            // No retry has another reply.
            vec![ModelError::new(ModelErrorKind::BadRequest, message).into()]
        });
        stream::iter(reply).boxed()
    }

    fn name(&self) -> &'static str {
        "recorded"
    }
}

/// A saved run that cannot be run again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The agent cannot be built.
    #[error(transparent)]
    Agent(#[from] AgentError),
}

impl Classified for ReplayError {
    fn fault(&self) -> Fault {
        match self {
            Self::Log(error) => error.fault(),
            Self::Agent(error) => error.fault(),
        }
    }
}
