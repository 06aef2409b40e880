//! Passes events to `tracing`.

use std::ops::Not as _;

use gadgetry_proto::call::Parameters;
use gadgetry_proto::event::{CallAnswer, Event, EventKind};
use gadgetry_proto::id::InvocationId;

use crate::observer::Observer;
use crate::presets::{is_wanted, path_words};

/// Passes every event to `tracing`, with the target `gadgetry` and the fields `run`, `depth` and `path` (of the subagent). The first line
/// of a run has the agent, the model and the parent as well.
///
/// | level | logged |
/// |---|---|
/// | error | a model call failed; the run ended because of an error |
/// | warn | a gadget failed or was skipped, a retry, a rate limit, a diagnostic, a limit that ended the run |
/// | info | replies and gadgets that are done, compaction, human input, the end of the run |
/// | debug | model calls and gadgets that start, parameters, results, progress, the end of an iteration |
/// | trace | every piece of text, reasoning, arguments and custom blocks |
///
/// Events have the original parameters and results, so text that an interceptor hides from the model is in the log at debug.
///
/// The full text of models and gadgets is logged only at debug and trace; error texts are logged at warn and error. Without a
/// subscriber, it does nothing.
///
/// ```
/// use gadgetry::presets::{Logging, merge};
/// let observers = merge(vec![Box::new(Logging)]);
/// # drop(observers);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Logging;

impl Observer for Logging {
    fn event(&mut self, event: &Event) {
        log(event);
    }
}

fn log(event: &Event) {
    // Inside the function, so that it knows the event. A call site of `tracing` has one level and one set of fields, so each
    // kind needs its own.
    macro_rules! say {
        ($level:ident, $($rest:tt)*) => {
            tracing::$level!(
                target: "gadgetry",
                run = event.run.as_deref(),
                depth = event.depth(),
                path = event.depth().gt(&0).then(|| path_words(&event.path)),
                $($rest)*
            )
        };
    }

    match &event.kind {
        EventKind::RunStart(info) => {
            let agent = info.agent.as_deref();
            let model = info.single_call.not().then_some(&*info.model);
            let parent = info.parent.as_ref().map(|parent| &*parent.run);
            say!(debug, agent, model, parent, "run started");
        }
        EventKind::ModelCallStart { iteration, purpose } => {
            say!(debug, iteration, ?purpose, "calling model");
        }
        EventKind::ModelCallEnd {
            iteration,
            purpose,
            stop_reason,
            usage,
            cost,
            error,
        } => {
            let (input, output) = (usage.input_tokens, usage.output_tokens);
            match error {
                Some(failed) => {
                    let (kind, error) = (failed.kind, &failed.message);
                    say!(
                        error,
                        iteration,
                        ?purpose,
                        ?kind,
                        input,
                        output,
                        cost,
                        error,
                        "model call failed"
                    );
                }
                None => {
                    say!(
                        info,
                        iteration,
                        ?purpose,
                        ?stop_reason,
                        input,
                        output,
                        cost,
                        "model call finished"
                    );
                }
            }
        }
        EventKind::ModelRetry {
            iteration,
            attempt,
            left,
            delay_ms,
            error,
        } => {
            let (kind, error) = (error.kind, &error.message);
            say! { warn, iteration, attempt, left, delay_ms, ?kind, error, "retrying model call" }
        }
        EventKind::ReplyWithdrawn { iteration } => {
            say!(warn, iteration, "partial reply withdrawn");
        }
        EventKind::RateLimited { delay_ms } => {
            say!(warn, delay_ms, "request delayed by rate limit");
        }
        EventKind::Compaction(compacted) => {
            let (before, after) = (compacted.tokens_before, compacted.tokens_after);
            let (strategy, removed_turns) = (compacted.strategy, compacted.removed_turns);
            say! { info, ?strategy, removed_turns, before, after, "conversation compacted" }
        }
        EventKind::Text { text } => say!(trace, text, "text"),
        EventKind::Reasoning { text } => say!(trace, text, "reasoning"),
        EventKind::GadgetCallStart { start, .. } => {
            let (gadget, id) = (&start.gadget_name, start.invocation_id.as_str());
            say!(trace, gadget, id, "gadget call started");
        }
        EventKind::GadgetArgsPartial { args, .. } => {
            let (id, delta) = (args.invocation_id.as_str(), &args.delta);
            say!(trace, id, field = args.field_path, delta, "argument delta");
        }
        EventKind::GadgetCall { written: call, .. } => {
            let (gadget, id) = (&call.gadget_name, call.invocation_id.as_str());
            match &call.parameters {
                Parameters::Parsed(parameters) => {
                    say!(debug, gadget, id, %parameters, "gadget call");
                }
                Parameters::Malformed(error) => {
                    say!(warn, gadget, id, error, "malformed gadget call");
                }
            }
        }
        EventKind::GadgetStart {
            invocation_id,
            gadget_name,
            ..
        } => {
            let id = invocation_id.as_str();
            say!(debug, gadget = gadget_name, id, "gadget started");
        }
        EventKind::GadgetRestarted {
            invocation_id,
            gadget_name,
            ..
        } => {
            let id = invocation_id.as_str();
            say! { info, gadget = gadget_name, id, "gadget restarted after an interruption" }
        }
        EventKind::GadgetResult {
            invocation_id,
            gadget_name,
            answer,
            duration_ms,
            cost,
            ..
        } => {
            let id = invocation_id.as_str();
            match answer {
                CallAnswer::Result(result) => {
                    let chars = result.chars().count();
                    say!(
                        info,
                        gadget = gadget_name,
                        id,
                        duration_ms,
                        cost,
                        chars,
                        "gadget finished"
                    );
                    say!(debug, id, result, "gadget result");
                }
                CallAnswer::Error(error) => {
                    say!(
                        warn,
                        gadget = gadget_name,
                        id,
                        duration_ms,
                        cost,
                        error,
                        "gadget failed"
                    );
                }
            }
        }
        EventKind::GadgetCost {
            invocation_id,
            gadget_name,
            cost,
            ..
        } => {
            let id = invocation_id.as_str();
            say! { info, gadget = gadget_name, id, cost, "cost reported after timeout" }
        }
        EventKind::GadgetSkipped {
            invocation_id,
            gadget_name,
            failed_dependency,
            error,
            ..
        } => {
            let id = invocation_id.as_str();
            say! { warn, gadget = gadget_name, id, failed_dependency, error, "gadget call skipped" }
        }
        EventKind::GadgetProgress {
            invocation_id,
            message,
            ..
        } => {
            let id = invocation_id.as_str();
            say!(debug, id, progress = message, "gadget progress");
        }
        EventKind::ApprovalRequired {
            invocation_id,
            approval,
            ..
        } => {
            let (id, gadget) = (invocation_id.as_str(), &approval.gadget_name);
            say!(info, id, gadget, approval = %approval.id, "approval required");
        }
        EventKind::ApprovalAnswered {
            invocation_id,
            answer,
            ..
        } => {
            let id = invocation_id.as_str();
            say!(info, id, ?answer, "approval answered");
        }
        EventKind::HumanInputRequired {
            invocation_id,
            question,
            ..
        } => {
            let id = invocation_id.as_ref().map(InvocationId::as_str);
            say!(info, id, question, "human input requested");
        }
        EventKind::HumanInputReceived {
            invocation_id,
            answered,
            ..
        } => {
            let id = invocation_id.as_ref().map(InvocationId::as_str);
            say!(info, id, answered, "human input received");
        }
        EventKind::CustomBlockStart(start) => {
            let (block_id, tag) = (start.block_id, &start.tag);
            say!(trace, %block_id, tag, "custom block started");
        }
        EventKind::CustomBlockDelta(more) => {
            let (block_id, delta) = (more.block_id, &more.delta);
            say!(trace, %block_id, delta, "custom block delta");
        }
        EventKind::CustomBlockEnd(end) => {
            let (block_id, reason) = (end.block_id, end.reason);
            say!(trace, %block_id, ?reason, "custom block ended");
        }
        EventKind::CustomBlock(block) => {
            let (block_id, tag, content) = (block.block_id, &block.tag, &block.content);
            say!(debug, %block_id, tag, content, "custom block");
        }
        EventKind::Diagnostic(diagnostic) => {
            let (code, note) = (diagnostic.code, &diagnostic.message);
            say!(warn, ?code, note, "diagnostic");
        }
        EventKind::IterationEnd { iteration } => {
            say!(debug, iteration, "iteration finished");
        }
        EventKind::RunFinished {
            reason,
            iterations,
            total_cost,
            error,
            ..
        } => {
            if let Some(error) = error {
                let (kind, error) = (error.kind, &error.message);
                say!(
                    error,
                    ?reason,
                    iterations,
                    total_cost,
                    ?kind,
                    error,
                    "run failed"
                );
            } else if is_wanted(*reason) {
                say!(info, ?reason, iterations, total_cost, "run finished");
            } else {
                say!(warn, ?reason, iterations, total_cost, "run ended early");
            }
        }
        _ => say!(debug, kind = ?event.kind, "unknown event"),
    }
}
