//! A run as the reply of a model: what the agent says, without its calls.

use futures_util::StreamExt as _;
use gadgetry::approval::Answer;
use gadgetry::proto::delta::{Delta, StopReason};
use gadgetry::proto::error::{ModelError, ModelErrorKind};
use gadgetry::proto::event::FinishReason;
use gadgetry::proto::usage::Usage;
use gadgetry::{AgentRun, Event, EventKind};
use gadgetry_gateway::Failure;

/// What the client reads next.
pub(crate) enum Part {
    Delta(Delta),
    /// The run has failed; nothing follows.
    Failed(Failure),
}

/// A run, read as one reply.
pub(crate) struct AgentReply {
    run: AgentRun<'static>,
    model: String,
    usage: Usage,
    has_begun: bool,
    /// The text that was sent.
    said: String,
    /// A further reply has begun, and has said nothing yet.
    is_after_reply: bool,
    is_over: bool,
}

impl AgentReply {
    pub(crate) fn new(run: AgentRun<'static>, model: String) -> Self {
        Self {
            run,
            model,
            usage: Usage::default(),
            has_begun: false,
            said: String::new(),
            is_after_reply: false,
            is_over: false,
        }
    }

    /// Returns what the next event says, which may be nothing; `None` once the reply is over.
    ///
    /// Cancel safety: nothing is lost.
    pub(crate) async fn next(&mut self) -> Option<Vec<Part>> {
        if self.is_over {
            return None;
        }
        let Some(event) = self.run.next().await else {
            self.is_over = true;
            return Some(vec![Part::Failed(failure(FinishReason::Cancelled, None))]);
        };
        let mut parts = Vec::new();
        self.read(event, &mut parts);
        Some(parts)
    }

    /// Returns whether a model has replied or a part of a reply was read: from here on an error is one of the stream.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the client reads what is said, and nothing else"
    )]
    fn read(&mut self, event: Event, out: &mut Vec<Part>) {
        let is_own = event.path.is_empty();
        match event.kind {
            // The client has no way to answer.
            EventKind::ApprovalRequired { approval, .. } => {
                let reason = "no user can approve it here".to_owned();
                // It fails if something else has answered.
                let _ = self
                    .run
                    .handle()
                    .answer(approval.id, Answer::No(Some(reason)));
            }
            EventKind::ModelCallEnd { usage, error, .. } => {
                self.usage = self.usage.plus(usage);
                if is_own && error.is_none() {
                    self.begin(out);
                }
            }
            EventKind::Text { text } if is_own => {
                self.begin(out);
                self.say(text, out);
            }
            EventKind::Reasoning { text } if is_own => {
                self.begin(out);
                let metadata = None;
                out.push(Part::Delta(Delta::Reasoning {
                    delta: text,
                    metadata,
                }));
            }
            EventKind::IterationEnd { .. } if is_own => self.is_after_reply = true,
            EventKind::RunFinished {
                reason,
                answer,
                error,
                ..
            } if is_own => {
                self.is_over = true;
                match stop_reason(reason, error) {
                    Ok(stop_reason) => {
                        self.begin(out);
                        // The result of a gadget that ended the run.
                        if !self.said.ends_with(answer.trim_end()) {
                            self.is_after_reply = true;
                            self.say(answer, out);
                        }
                        out.push(Part::Delta(Delta::MessageEnd {
                            stop_reason,
                            usage: Some(self.usage),
                        }));
                    }
                    Err(failure) => out.push(Part::Failed(failure)),
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, out: &mut Vec<Part>) {
        if !self.has_begun {
            self.has_begun = true;
            let model = Some(self.model.clone());
            out.push(Part::Delta(Delta::MessageStart { model }));
        }
    }

    fn say(&mut self, text: String, out: &mut Vec<Part>) {
        if text.is_empty() {
            return;
        }
        let is_further = std::mem::take(&mut self.is_after_reply) && !self.said.is_empty();
        if is_further {
            // A paragraph of its own.
            let lines = self.said.len() - self.said.trim_end_matches('\n').len();
            let pause = "\n".repeat(2_usize.saturating_sub(lines));
            self.said.push_str(&pause);
            out.push(Part::Delta(Delta::text(pause)));
        }
        self.said.push_str(&text);
        out.push(Part::Delta(Delta::text(text)));
    }
}

/// The reason to stop, or the failure without the provider's words: they may be about its account.
fn stop_reason(reason: FinishReason, error: Option<ModelError>) -> Result<StopReason, Failure> {
    match reason {
        FinishReason::Completed | FinishReason::TaskCompleted | FinishReason::Stopped => {
            Ok(StopReason::Stop)
        }
        FinishReason::Truncated | FinishReason::MaxIterations => Ok(StopReason::MaxTokens),
        FinishReason::Withheld => Ok(StopReason::ContentFilter),
        FinishReason::ModelError
        | FinishReason::Cancelled
        | FinishReason::BudgetExceeded
        | FinishReason::GadgetError
        | _ => Err(failure(reason, error)),
    }
}

fn failure(reason: FinishReason, error: Option<ModelError>) -> Failure {
    let message = match reason {
        FinishReason::ModelError => "the model of the agent failed",
        FinishReason::BudgetExceeded => "the budget of the agent is spent",
        FinishReason::GadgetError => "a tool of the agent failed",
        FinishReason::Completed
        | FinishReason::TaskCompleted
        | FinishReason::MaxIterations
        | FinishReason::Truncated
        | FinishReason::Withheld
        | FinishReason::Cancelled
        | FinishReason::Stopped
        | _ => "the agent was stopped",
    };
    let kind = error.as_ref().map_or(ModelErrorKind::Other, |it| it.kind);
    Failure::Upstream {
        message: message.to_owned(),
        code: None,
        // The request is the agent's, not the client's.
        kind: if kind == ModelErrorKind::BadRequest {
            ModelErrorKind::Other
        } else {
            kind
        },
        retry_after_ms: error.and_then(|it| it.retry_after_ms),
    }
}
