//! From one reply to the next, and to the end.

use std::mem;

use crate::convo::neutralise;
use crate::convo::result_content;
use crate::convo::results_message;
use crate::event::{EventKind, FinishReason};
use crate::message::{Content, Purpose, Role};
use crate::run::Run;
use crate::run::calls::index;
use crate::run::fresh_transforms;
use crate::run::io::{Output, Summary};
use crate::run::spec::TextOnly;
use crate::run::state::{Cut, Phase, Status};

impl Run {
    /// Asks the model.
    pub(super) fn send(&mut self) {
        for text in mem::take(&mut self.state.injected) {
            let text = neutralise(&text, &self.spec.markers).into_owned();
            self.state.history.push_text(Role::User, text);
        }
        let state = &mut self.state;
        state.iteration += 1;
        state.phase = Phase::Reading;
        state.cut = None;
        state.model_error = None;
        state.scheduler.begin_reply();
        self.transforms = fresh_transforms(&self.spec);
        let iteration = self.state.iteration;
        let request = self.state.history.request(iteration);
        self.tell(EventKind::ModelCallStart {
            iteration,
            purpose: Purpose::Reply,
        });
        self.put(Output::Send(request));
    }

    /// Goes on if the reply was read and all its calls are answered.
    pub(super) fn advance(&mut self) {
        match self.state.phase {
            Phase::Working => {}
            Phase::Settling(reason) => return self.finish(reason),
            Phase::Reading | Phase::Finished => return,
        }
        self.dispatch();
        if !self.state.scheduler.is_idle() {
            return;
        }
        let called = !self.state.calls.is_empty();
        let noted = !self.state.notes.is_empty();
        self.put_results();
        let iteration = self.state.iteration;
        self.tell(EventKind::IterationEnd { iteration });
        match self.verdict(called, noted) {
            Some(reason) => self.finish(reason),
            None => self.send(),
        }
        self.state.reminded = noted && !called;
    }

    /// Why the run is over; `None` if the model is asked again.
    fn verdict(&self, called: bool, noted: bool) -> Option<FinishReason> {
        // A model that only missed the format is told so, but not for ever.
        let reminder = noted && !self.state.reminded;
        let goes_on = called || reminder || !self.state.injected.is_empty();
        let reason = match self.state.cut {
            _ if self.state.completed.is_some() => Some(FinishReason::TaskCompleted),
            _ if goes_on => None,
            Some(Cut::Length | Cut::Filter) => Some(FinishReason::Truncated),
            Some(Cut::Error | Cut::Disconnect) => Some(FinishReason::ModelError),
            Some(Cut::Cancelled) => Some(FinishReason::Cancelled),
            None if self.spec.text_only == TextOnly::Terminate => Some(FinishReason::Completed),
            None => None,
        };
        let exhausted = self.state.iteration >= self.spec.max_iterations;
        reason.or(exhausted.then_some(FinishReason::MaxIterations))
    }

    /// Tells the model what became of its calls, in call order.
    fn put_results(&mut self) {
        let markers = &self.spec.markers;
        let state = &mut self.state;
        state.first_call += index(state.calls.len());
        let mut content = Vec::with_capacity(state.calls.len());
        for record in state.calls.drain(..) {
            let Status::Answered(answer) = &record.status else {
                continue;
            };
            let answer = answer.as_deref().map_err(AsRef::as_ref);
            let (id, name) = (&record.call.invocation_id, &record.call.gadget_name);
            content.push(result_content(id, name, answer, markers));
        }
        let notes = mem::take(&mut state.notes);
        if !notes.is_empty() {
            let lines: Vec<String> = notes.iter().map(|note| format!("Note: {note}")).collect();
            let text = lines.join("\n");
            content.push(Content::Text { text });
        }
        if !content.is_empty() {
            state.history.push(results_message(content));
        }
    }

    /// Somebody stopped the run.
    pub(super) fn cancel(&mut self) {
        if matches!(self.state.phase, Phase::Settling(_)) {
            return;
        }
        let reading = self.state.phase == Phase::Reading;
        self.state.cut = Some(Cut::Cancelled);
        self.cancel_calls();
        if reading {
            self.put(Output::CloseModel);
            self.finish_stages();
            self.end_reply();
        }
        self.put_results();
        let iteration = self.state.iteration;
        self.tell(EventKind::IterationEnd { iteration });
        self.finish(FinishReason::Cancelled);
    }

    /// Ends the run, once cancelled gadgets have said what they cost.
    fn finish(&mut self, reason: FinishReason) {
        if !self.state.cancelled.is_empty() {
            self.state.phase = Phase::Settling(reason);
            return;
        }
        let failed = reason == FinishReason::ModelError;
        let error = self.state.model_error.take().filter(|_| failed);
        let summary = Summary {
            reason,
            iterations: self.state.iteration,
            total_cost: self.state.total_cost,
            answer: self
                .state
                .completed
                .take()
                .unwrap_or_else(|| self.state.answer.clone()),
            error: error.clone(),
        };
        let (iterations, total_cost) = (summary.iterations, summary.total_cost);
        self.tell(EventKind::RunFinished {
            reason,
            iterations,
            total_cost,
            error,
        });
        self.state.phase = Phase::Finished;
        self.state.summary = Some(summary);
    }
}
