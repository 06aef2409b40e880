//! Compaction: before a request, and after one that the model found too long.

use std::collections::BTreeMap;
use std::mem;

use crate::convo::TextForm;
use crate::convo::compaction::{Plan, Slide};
use crate::delta::{Delta, StopReason};
use crate::event::{Compacted, EventKind};
use crate::message::{Message, Purpose, Request};
use crate::run::Run;
use crate::run::io::{Close, Output};
use crate::run::state::Phase;

impl Run {
    /// Adds to the conversation.
    pub(super) fn push_message(&mut self, message: Message) {
        self.state.tokens.pushed(&message);
        self.state.history.push(message);
    }

    /// Makes the conversation less if it has to be. Returns whether the model is asked for a summary first.
    pub(super) fn compact(&mut self, now: bool) -> Compaction {
        match self.plan(now) {
            None => Compaction::Nothing,
            Some(plan) => self.carry_out(plan),
        }
    }

    /// Does what was planned, or asks the model for a summary first.
    pub(super) fn carry_out(&mut self, plan: Plan) -> Compaction {
        match plan {
            Plan::Slide(slide) => {
                self.slide(slide);
                Compaction::Done
            }
            Plan::Summarise(summarise) => {
                let iteration = self.state.iteration;
                let request = Request {
                    messages: summarise.messages(),
                    iteration,
                    purpose: Purpose::Summary,
                    ..Request::default()
                };
                self.state.summary_plan = Some(summarise);
                self.state.phase = Phase::Summarising;
                self.state.used.begin_reply();
                self.state.sent = true;
                self.tell(EventKind::ModelCallStart {
                    iteration,
                    purpose: Purpose::Summary,
                });
                self.put(Output::Send(request));
                Compaction::Asked
            }
        }
    }

    /// What could be taken out: whatever the length if it must be `now`.
    pub(super) fn plan(&self, now: bool) -> Option<Plan> {
        let compaction = self.spec.compaction.as_ref()?;
        let renamed = self.spec.custom_blocks.iter();
        let xml_names: BTreeMap<String, String> = renamed
            .filter(|block| block.xml_tag() != block.key)
            .map(|block| (block.key.clone(), block.xml_tag().to_owned()))
            .collect();
        let form = TextForm {
            markers: &self.spec.markers,
            anchoring: self.spec.anchoring,
            xml_names: &xml_names,
        };
        let window = self.spec.context_window.unwrap_or(0);
        let (messages, tokens) = (self.state.history.messages(), &self.state.tokens);
        if now {
            compaction.plan_now(messages, tokens, window, &form)
        } else {
            compaction.plan(messages, tokens, window, &form)
        }
    }

    fn slide(&mut self, slide: Slide) {
        let compacted = slide.apply(self.state.history.edit());
        self.compacted(compacted);
    }

    fn compacted(&mut self, compacted: Compacted) {
        self.state.tokens.recount(self.state.history.messages());
        self.tell(EventKind::Compaction(compacted));
    }

    /// Takes a piece of the summary in.
    pub(super) fn read_summary(&mut self, delta: Delta) {
        let delta = self.count_in(delta);
        if self.state.used.is_full {
            self.put(Output::CloseModel);
            return self.close_summary(Close::Failed("the summary was too long".to_owned()));
        }
        let Some(delta) = &delta else { return };
        if let Delta::Text { delta, .. } = delta {
            self.state.raw.push_str(delta);
        } else if let Delta::Error { error, .. } = delta {
            self.state.summary_error = Some(error.clone());
        }
        self.state.accumulator.absorb(delta);
    }

    /// The summary is there, or is not to come.
    pub(super) fn close_summary(&mut self, close: Close) {
        let error = match close {
            Close::Ended => self.state.summary_error.take(),
            Close::Failed(error) => Some(error),
        };
        let whole = self.end_summary(error);
        let text = mem::take(&mut self.state.raw);
        let Some(summarise) = self.state.summary_plan.take() else {
            return;
        };
        if whole {
            let markers = &self.spec.markers;
            let compacted = summarise.apply(self.state.history.edit(), &text, markers);
            self.compacted(compacted);
        } else {
            self.slide(summarise.fallback());
        }
        self.ask_model();
    }

    /// Counts what the summary has cost. Returns whether it is whole.
    pub(super) fn end_summary(&mut self, error: Option<String>) -> bool {
        let reply = mem::take(&mut self.state.accumulator).into_output();
        let whole = error.is_none() && reply.stop_reason == Some(StopReason::Stop);
        let usage = self.used(reply.usage);
        self.tell_end_of_call(Purpose::Summary, reply.stop_reason, usage, error);
        whole
    }
}

/// What came of a wish to compact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compaction {
    /// There was nothing to do.
    Nothing,
    /// The conversation is less now.
    Done,
    /// The model is asked for a summary first.
    Asked,
}
