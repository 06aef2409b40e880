//! What must hold for every run, whatever the model, the gadgets and the user do.

use std::collections::{BTreeMap, BTreeSet};

use gadgetry_proto::block::Markers;
use gadgetry_proto::convo::neutralise;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::event::{Answer, Event, EventKind};
use gadgetry_proto::id::{CallId, InvocationId};
use gadgetry_proto::message::{Content, Message, Purpose, Role};
use gadgetry_proto::run::{Input, Output};

use super::Log;

/// Panics with what does not hold.
pub fn check(log: &Log) {
    let mut watch = Watch::default();
    assert_eq!(log.outputs.len(), log.inputs.len() + 1);
    for (step, outputs) in log.outputs.iter().enumerate() {
        if let Some((_, input)) = step.checked_sub(1).and_then(|at| log.inputs.get(at)) {
            watch.input(input);
        }
        for output in outputs {
            watch.output(output);
        }
    }
    watch.end(log);
}

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Watch {
    seq: u64,
    /// Whether `run_finished` was told.
    over: bool,
    reading: bool,
    /// The current reply as the model wrote it.
    written: String,
    /// Calls of the current reply.
    announced: Vec<InvocationId>,
    /// Whether a call was answered, and how often, with what.
    answers: BTreeMap<InvocationId, Vec<(String, bool)>>,
    started: BTreeSet<CallId>,
    running: BTreeSet<CallId>,
    cancelled: BTreeSet<CallId>,
    /// Messages of the last request.
    sent: Vec<Message>,
    requests: u32,
    /// Whether the next request is a retry.
    again: bool,
    /// Whether the past was changed.
    compacted: bool,
    /// Whether what the model is told is not the run's alone.
    free: bool,
}

impl Watch {
    fn input(&mut self, input: &Input) {
        match input {
            Input::Delta(Delta::Text { delta, .. }) => self.written.push_str(delta),
            Input::ModelClosed(_) => self.reading = false,
            Input::Done(id, _) => drop(self.running.remove(id)),
            Input::Delta(_)
            | Input::Command(_)
            | Input::Decision(..)
            | Input::Report(..)
            | Input::RateLimited(_)
            | Input::SpentElsewhere(_)
            | Input::Tick => {}
        }
    }

    fn output(&mut self, output: &Output) {
        assert!(
            !self.over || matches!(output, Output::Finished(_)),
            "behind run_finished: {output:?}"
        );
        match output {
            Output::Send(request) if request.purpose == Purpose::Summary => self.reading = true,
            Output::Send(request) => {
                assert!(!self.reading, "a request while a reply is read");
                if std::mem::take(&mut self.again) || request.iteration == self.requests {
                    self.written.clear();
                } else {
                    self.requests += 1;
                }
                assert_eq!(request.iteration, self.requests, "the number of a request");
                if self.sent.is_empty() || self.free || std::mem::take(&mut self.compacted) {
                    self.sent.clone_from(&request.messages);
                    self.written.clear();
                    self.announced.clear();
                    self.answers.clear();
                } else {
                    self.conversation(&request.messages);
                }
                self.reading = true;
            }
            Output::CloseModel => {
                assert!(self.reading, "no model to close");
                self.reading = false;
            }
            Output::Start(start) => {
                assert!(self.started.insert(start.id), "{} starts twice", start.id);
                self.running.insert(start.id);
            }
            Output::Cancel(id) => {
                assert!(
                    self.running.contains(id),
                    "{id} is cancelled but not running"
                );
                assert!(self.cancelled.insert(*id), "{id} is cancelled twice");
            }
            // From here on, somebody else may write into the conversation.
            Output::Ask(_) => self.free = true,
            Output::Event(event) => self.event(event),
            Output::Wait(_) => {}
            Output::Finished(_) => assert!(self.over, "finished without run_finished"),
        }
    }

    fn event(&mut self, event: &Event) {
        assert_eq!(event.seq, self.seq, "the number of an event");
        self.seq += 1;
        match &event.kind {
            EventKind::GadgetCall(call) => self.announced.push(call.invocation_id.clone()),
            EventKind::GadgetResult {
                invocation_id,
                answer,
                ..
            } => {
                let answer = match answer {
                    Answer::Result(text) => (text.clone(), false),
                    Answer::Error(text) => (text.clone(), true),
                };
                self.answer(invocation_id, answer);
            }
            EventKind::GadgetSkipped {
                invocation_id,
                error,
                ..
            } => self.answer(invocation_id, (error.clone(), true)),
            EventKind::ModelRetry { .. } => self.again = true,
            EventKind::Compaction(_) => self.compacted = true,
            EventKind::RunFinished { .. } => self.over = true,
            EventKind::ModelCallStart { .. }
            | EventKind::ModelCallEnd { .. }
            | EventKind::RateLimited { .. }
            | EventKind::GadgetProgress { .. }
            | EventKind::GadgetCost { .. }
            | EventKind::HumanInputRequired { .. }
            | EventKind::HumanInputReceived { .. }
            | EventKind::Text { .. }
            | EventKind::Reasoning { .. }
            | EventKind::GadgetCallStart { .. }
            | EventKind::GadgetArgsPartial { .. }
            | EventKind::GadgetStart { .. }
            | EventKind::CustomBlockStart { .. }
            | EventKind::CustomBlockDelta { .. }
            | EventKind::CustomBlockEnd { .. }
            | EventKind::CustomBlock(_)
            | EventKind::Diagnostic(_)
            | EventKind::IterationEnd { .. } => {}
        }
    }

    fn answer(&mut self, id: &InvocationId, answer: (String, bool)) {
        let answers = self.answers.entry(id.clone()).or_default();
        answers.push(answer);
        let announced = self.announced.iter().filter(|it| *it == id).count();
        assert!(answers.len() <= announced, "{id} is answered twice");
    }

    /// A request, or the history at the end: what went before, the reply, the results in call order, the user's words.
    fn conversation(&mut self, messages: &[Message]) {
        assert!(messages.starts_with(&self.sent), "the past has changed");
        let mut new = messages[self.sent.len()..].iter().peekable();
        let written = std::mem::take(&mut self.written);
        let mut called = Vec::new();
        if let Some(reply) = new.next_if(|message| message.role == Role::Assistant) {
            assert_eq!(reply.raw.as_deref(), Some(&*written), "the raw reply");
            called = ids(reply, |content| {
                let Content::GadgetCall(call) = content else {
                    return None;
                };
                Some(&call.invocation_id)
            });
        } else {
            assert!(
                written.trim().is_empty(),
                "the reply is missing: {written:?}"
            );
        }
        let announced = std::mem::take(&mut self.announced);
        assert_eq!(called, announced, "calls of the reply");
        let is_result = |content: &Content| matches!(content, Content::GadgetResult { .. });
        let results = new.next_if(|message| message.content.iter().any(is_result));
        let told = results.map_or(Vec::new(), |message| {
            ids(message, |content| {
                let Content::GadgetResult { invocation_id, .. } = content else {
                    return None;
                };
                Some(invocation_id)
            })
        });
        assert_eq!(told, announced, "results of the reply's calls");
        for content in results.iter().flat_map(|message| &message.content) {
            self.result(content);
        }
        let left: usize = self.answers.values().map(Vec::len).sum();
        assert_eq!(left, 0, "the model was not told {:?}", self.answers);
        for message in new {
            assert_eq!(message.role, Role::User, "behind the results");
            assert!(!message.content.iter().any(is_result), "orphan results");
        }
        self.sent = messages.to_vec();
    }

    /// What the model is told is what the event said.
    fn result(&mut self, content: &Content) {
        let Content::GadgetResult {
            invocation_id,
            text,
            is_error,
            ..
        } = content
        else {
            return;
        };
        let answers = self.answers.entry(invocation_id.clone()).or_default();
        let same = |(said, failed): &(String, bool)| {
            neutralise(said, &Markers::default()) == text.as_str() && failed == is_error
        };
        let at = answers.iter().position(same);
        let at = at.unwrap_or_else(|| panic!("{invocation_id}: no event said {text:?}"));
        answers.remove(at);
    }

    fn end(mut self, log: &Log) {
        assert!(self.over, "no run_finished");
        assert!(!self.reading, "the reply is still read");
        self.conversation(&log.history);
        let last = log.outputs.last().and_then(|outputs| outputs.last());
        assert_eq!(last, Some(&Output::Finished(log.summary.clone())));
        assert!(
            self.running.is_empty(),
            "{:?} still run at the end",
            self.running
        );
    }
}

fn ids<'a>(
    message: &'a Message,
    id: impl Fn(&'a Content) -> Option<&'a InvocationId>,
) -> Vec<InvocationId> {
    message.content.iter().filter_map(id).cloned().collect()
}
