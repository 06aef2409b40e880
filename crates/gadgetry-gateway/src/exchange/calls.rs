//! Calls of the model: which are sent to the client, which wait, and which are wrong.

use std::sync::Arc;

use gadgetry_proto::call::{Call, Parameters};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::reply::Verdict;
use serde_json::Value;

use super::turn::{Failure, NativeCall};
use super::{Exchange, HeldCall, Tool};

impl Exchange {
    /// A block of the reply.
    pub(super) fn block(&mut self, call: &Arc<Call>, out: &mut Vec<Delta>) {
        let id = call.invocation_id.as_str().to_owned();
        let verdict = self.reader.check(call);
        let depends = !call.dependencies.is_empty();
        match verdict {
            Verdict::Valid(input) if !depends => {
                self.decide(id, &call.gadget_name, Ok(input), out);
            }
            Verdict::Invalid(problem) => {
                self.decide(id, &call.gadget_name, Err(problem), out);
            }
            Verdict::Valid(_) | Verdict::NeedsResults => {
                if let Parameters::Parsed(input) = &call.parameters {
                    self.hold(call, input.clone(), out);
                }
            }
        }
    }

    /// Keeps a call that depends on others until their results are there.
    pub(super) fn hold(&mut self, call: &Call, input: Value, out: &mut Vec<Delta>) {
        let id = call.invocation_id.as_str().to_owned();
        let dependencies = call.dependencies.iter().map(|it| it.as_str().to_owned());
        let dependencies: Vec<String> = dependencies.collect();
        let is_written = |id: &String| {
            self.sent.iter().any(|(_, sent, _)| sent == id)
                || self.held.iter().any(|it| it.id == *id)
        };
        if let Some(missing) = dependencies.iter().find(|id| !is_written(id)) {
            let problem = format!(
                "it depends on {missing}, which no valid call before it in this reply has as its id; write the values themselves"
            );
            self.decide(id, &call.gadget_name, Err(problem), out);
            return;
        }
        let Some(tool) = self.setup.tools.tool(&call.gadget_name) else {
            return;
        };
        self.turn
            .accepted
            .push((id.clone(), call.gadget_name.clone()));
        self.counts.held += 1;
        self.held.push(HeldCall {
            id,
            name: tool.full_name(),
            dependencies,
            input,
        });
    }

    /// A call of the upstream's own interface.
    pub(super) fn native_call(&mut self, call: NativeCall, out: &mut Vec<Delta>) {
        let NativeCall { id, name, input } = call;
        let checked = match input {
            Ok(input) => self.checked(&name, input),
            Err(json) => Err(format!("the arguments are not valid JSON: {json}")),
        };
        // The upstream's ids mean nothing to the client, and may be empty or repeated.
        let own = if self.setup.is_native {
            id
        } else {
            String::new()
        };
        self.decide(own, &name, checked, out);
    }

    /// Whether the tool takes these parameters.
    pub(super) fn checked(&self, name: &str, input: Value) -> Result<Value, String> {
        let registry = self.setup.tools.registry();
        match registry.get(name) {
            Some(gadget) => gadget.check(input),
            None => Err(registry.unknown_gadget(name)),
        }
    }

    /// Sends a call to the client, or takes note of what is wrong with it.
    pub(super) fn decide(
        &mut self,
        id: String,
        name: &str,
        checked: Result<Value, String>,
        out: &mut Vec<Delta>,
    ) {
        if self.is_enough() || !self.setup.request.may_call() {
            return;
        }
        let tools = Arc::clone(&self.setup.tools);
        let checked = checked.and_then(|input| {
            let tool = tools
                .tool(name)
                .ok_or_else(|| tools.registry().unknown_gadget(name))?;
            let choice = &self.setup.request.choice;
            if choice.allows(&tool.full_name()) {
                Ok((tool, input))
            } else {
                Err(format!("this tool cannot be called now: call {choice}"))
            }
        });
        match checked {
            Ok((tool, input)) => self.send(id, name, tool, input, out),
            Err(problem) => {
                self.counts.invalid += 1;
                self.turn.failures.push(Failure {
                    id,
                    name: name.to_owned(),
                    problem,
                });
            }
        }
    }

    /// The beginning of the reply, and text that a call must follow.
    pub(super) fn before_call(&mut self, out: &mut Vec<Delta>) {
        self.start(out);
        if !self.withheld.is_empty() {
            out.push(Delta::text(std::mem::take(&mut self.withheld)));
        }
    }

    pub(super) fn send(
        &mut self,
        id: String,
        name: &str,
        tool: &Tool,
        input: Value,
        out: &mut Vec<Delta>,
    ) {
        self.turn.accepted.push((id.clone(), name.to_owned()));
        let is_same = |(sent, _, params): &(String, _, Value)| *sent == name && *params == input;
        // A model that corrects one call often repeats the others.
        if self.is_repair() && self.sent.iter().any(is_same) {
            return;
        }
        self.before_call(out);
        out.push(Delta::ToolCall {
            id: self.ids.for_client(&id),
            name: tool.full_name(),
            input: input.clone(),
        });
        self.counts.calls += 1;
        self.sent.push((name.to_owned(), id, input));
    }
}
