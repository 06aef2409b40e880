//! The effects of a run: requests, gadgets, questions.

use std::mem;
use std::sync::Arc;

use futures_util::FutureExt as _;
use gadgetry_proto::call::Outcome;
use gadgetry_proto::event::{ApprovalAnswer, EventKind};
use gadgetry_proto::run::{Input, Output, Summary};
use gadgetry_proto::time::Time;
use tracing::Span;

use crate::ask::ModelCall;
use crate::control::Seen;
use crate::driver::Driver;
use crate::runtime::StepKind;

/// Maximum number of inputs of a reply that a durable run takes before it starts gadgets.
const GATHERED: usize = 4096;

impl Driver<'_> {
    /// Carries out the outputs of the run. Returns the time to wake it, or how it ended.
    ///
    /// A durable run first takes everything that has arrived of the reply: a reply that arrives at once is kept at once, with one
    /// commit for all gadgets that it starts.
    pub(super) async fn drain(&mut self) -> Result<Option<Time>, Summary> {
        let mut gathered = 0;
        loop {
            match self.run.poll() {
                Output::Event(event) => {
                    if let Some(recording) = &mut self.recording {
                        recording.event(&event);
                    }
                    // Its future is dropped a moment later.
                    if let EventKind::ApprovalAnswered {
                        approval,
                        answer: ApprovalAnswer::Withdrawn,
                        ..
                    } = &event.kind
                        && event.path.is_empty()
                    {
                        self.handle.close_approval(*approval);
                    }
                    self.watchers.show(&self.handle.run, Seen::Event(&event));
                    self.observer.event(&event);
                }
                Output::Wait(until) => {
                    if gathered < GATHERED && self.gather() {
                        gathered += 1;
                        continue;
                    }
                    self.keep(Output::Wait(until)).await;
                    return Ok(until);
                }
                Output::Finished(summary) => {
                    self.keep(Output::Finished(summary.clone())).await;
                    return Err(summary);
                }
                effect @ (Output::Send(_)
                | Output::CloseModel
                | Output::Start(_)
                | Output::Cancel(_)
                | Output::Ask(_)) => {
                    if self.recording.is_some() {
                        self.effects.push(effect);
                    } else {
                        self.carry_out(effect);
                    }
                }
            }
        }
    }

    /// Feeds the run with everything that has arrived of its reply, while gadgets wait to be started. Returns whether there was
    /// any.
    fn gather(&mut self) -> bool {
        let starts = |effect: &Output| matches!(effect, Output::Start(_) | Output::Ask(_));
        if self.effects.is_empty() || !self.effects.iter().all(starts) {
            return false;
        }
        let Some(input) = self.reply.next().now_or_never() else {
            return false;
        };
        self.came = self.runtime.now();
        if let Some(spent) = self.external_spend() {
            self.feed(spent);
        }
        self.feed(input);
        true
    }

    /// Carries out the gathered effects, once everything that they depend on is kept. `next` is the output that follows them.
    async fn keep(&mut self, next: Output) {
        let Some(recording) = &mut self.recording else {
            return;
        };
        let kept = recording.before(&self.effects, &next, &self.run);
        if let Some(kept) = kept
            && let Err(error) = kept.await
        {
            self.lose_journal(&error);
        }
        for effect in mem::take(&mut self.effects) {
            self.carry_out(effect);
        }
    }

    fn carry_out(&mut self, effect: Output) {
        match effect {
            Output::Send(_) | Output::Ask(_) if self.is_unrecorded => {}
            Output::Start(start) if self.is_unrecorded => {
                let outcome = Outcome::error("not started, because the journal has failed");
                self.queue.push_back(Input::Done(start.id, outcome));
            }
            Output::Send(mut request) => {
                request.resumed_after = self.resumed_after.at(request.iteration);
                self.iteration = request.iteration;
                self.requests += 1;
                self.watchers
                    .show(&self.handle.run, Seen::Request(&request));
                self.observer.request(&request);
                let trace = self.watchers.trace_context(&self.handle.run, None);
                request.trace = trace.map(Arc::new);
                let services = &self.handle.services;
                let call =
                    ModelCall::new(Arc::clone(&services.model)).limiter(services.limiter.clone());
                let step = self.tasks.step(StepKind::Reply(self.requests));
                let info = self.handle.run.info();
                let span = if info.single_call {
                    Span::none()
                } else {
                    tracing::info_span!(
                        "model_call",
                        run = &*info.id,
                        agent = info.agent.as_deref(),
                        model = &*info.model,
                        iteration = request.iteration,
                    )
                };
                self.reply.send(call, request, &step, &*self.runtime, span);
            }
            Output::CloseModel => self.reply.close(),
            Output::Start(start) => self.start(start),
            Output::Cancel(id) => {
                if let Some(running) = self.running.get(&id) {
                    running.context.token().cancel();
                }
            }
            Output::Ask(question) => self.ask(question),
            Output::Event(_) | Output::Wait(_) | Output::Finished(_) => {}
        }
    }
}
