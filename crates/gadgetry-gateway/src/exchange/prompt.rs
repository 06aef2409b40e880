//! The requests of an exchange to the upstream.

use std::sync::Arc;

use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::convo::TokenEstimate;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::message::{Content, Message, Request, Role, ToolChoice};
use gadgetry_proto::prompt::append_to_system;
use gadgetry_proto::schema::{GadgetSpec, coerce_json};
use serde_json::Value;

use super::call_ids::CallIds;
use super::history::HistoryWriter;
use super::prefill::Prefill;
use super::{Exchange, Setup, Toolset, held, history, instructions};

impl Exchange {
    /// Ends the first request with the beginning of a call, if the rules want that. A grammar begins with the whole block then, so
    /// both do not go together.
    pub(super) fn begin_call(&mut self) {
        let rules = &self.setup.rules;
        let is_demanded = self.reads_blocks() && self.setup.request.choice.kind.is_forced();
        if !is_demanded || !rules.prefill || rules.constraint().is_known() {
            return;
        }
        let name = if let ToolChoice::Gadget(name) = &self.setup.request.choice.kind {
            self.setup.tools.block_name(name).unwrap_or(name)
        } else {
            ""
        };
        let head = if rules.call_form() == CallForm::Json {
            let name = Value::from(name).to_string();
            format!("<tool_call>\n{{\"name\": {}", &name[..name.len() - 1])
        } else {
            format!("{}{name}", self.setup.secrets.markers.start())
        };
        self.trailing
            .push(Message::text(Role::Assistant, head.clone()));
        self.prefill = Some(Prefill::new(head));
    }

    /// The conversation for the upstream.
    pub(super) fn prompt(&mut self) -> Vec<Message> {
        let Setup {
            request,
            tools,
            rules,
            secrets,
            ..
        } = &self.setup;
        if self.setup.is_native {
            return natively(&request.messages, tools);
        }
        let held = |exchange| {
            if rules.run_dependencies {
                Vec::new()
            } else {
                self.setup.held_calls(exchange)
            }
        };
        let writer = HistoryWriter {
            tools,
            secrets,
            form: rules.call_form(),
            held: &held,
        };
        let mut messages = writer.write(&request.messages);
        if self.reads_blocks() {
            if let Some((text, turns)) = instructions::about_tools(tools, rules, secrets) {
                self.injected = (text.len() + turns.len_bytes()) as u64;
                append_to_system(&mut messages, &text);
                if !turns.is_empty() {
                    messages = turns.shown(&messages);
                }
            }
            // After worked turns, a request has to end as they do: with the question.
            if request.choice.kind.is_forced() && rules.worked_turns() == 0 {
                let note = instructions::must_call(&request.choice, tools, rules, secrets);
                self.trailing.push(Message::text(Role::User, note));
            }
        }
        if !rules.images {
            messages.iter_mut().for_each(without_images);
        }
        history::shaped(messages, rules.system_role, rules.alternate)
    }

    /// Sends calls that have waited for results of this request, and nothing else: then no request is sent to the model, and
    /// the reply is complete. `false` if no call is ready.
    pub fn run_dependencies(&mut self, out: &mut Vec<Delta>) -> bool {
        if !self.setup.rules.run_dependencies || !self.reads_blocks() {
            return false;
        }
        let messages = &self.setup.request.messages;
        let ready = held::ready(messages, |exchange| self.setup.held_calls(exchange));
        let tools = Arc::clone(&self.setup.tools);
        for (exchange, call, input) in ready {
            let Some(gadget) = tools.registered(&call.name) else {
                continue;
            };
            let input = coerce_json(input, Some(gadget.schema()));
            let Ok(input) = gadget.check(input) else {
                continue;
            };
            self.start(out);
            self.ids = CallIds::new(self.setup.id_prefix, exchange);
            let name = gadget.name().to_owned();
            if let Some(tool) = tools.tool(&name) {
                self.send(call.id, &name, tool, input, out);
            }
        }
        if self.sent.is_empty() {
            return false;
        }
        self.finish(StopReason::ToolUse, out);
        true
    }

    /// What the upstream is sent now.
    pub fn request(&self) -> Request {
        let mut messages = self.messages.clone();
        messages.extend(self.trailing.iter().cloned());
        if self.setup.rules.alternate && !self.trailing.is_empty() {
            messages = history::shaped(messages, true, true);
        }
        Request {
            messages: Arc::new(messages),
            iteration: 1 + self.counts.repairs,
            tool_choice: if self.setup.is_native {
                self.native_choice()
            } else {
                ToolChoice::Auto
            },
            constraint: self.setup.constraint.clone(),
            ..Request::default()
        }
    }

    pub(super) fn native_choice(&self) -> ToolChoice {
        match &self.setup.request.choice.kind {
            ToolChoice::Gadget(name) => {
                let name = self.setup.tools.block_name(name).unwrap_or(name);
                ToolChoice::Gadget(name.to_owned())
            }
            other => other.clone(),
        }
    }

    /// The tools that the upstream is offered as its own; none in text.
    pub fn native_tools(&self) -> Option<Vec<GadgetSpec>> {
        (self.setup.is_native && self.setup.request.may_call()).then(|| self.setup.tools.specs())
    }

    /// An estimate of the tokens that the instructions about tools add to the prompt.
    pub fn injected_tokens(&self) -> u64 {
        self.injected.div_ceil(4)
    }

    /// An estimate of the tokens of the prompt.
    pub fn prompt_tokens(&self) -> u64 {
        TokenEstimate::of(&self.messages).tokens()
    }
}

/// The messages for an upstream with tools of its own: the names of tools as it knows them.
fn natively(messages: &[Message], tools: &Toolset) -> Vec<Message> {
    let mut messages = messages.to_vec();
    for message in &mut messages {
        for part in &mut message.content {
            if let Content::ToolUse { name, .. } = part
                && let Some(own) = tools.block_name(name)
            {
                own.clone_into(name);
            }
        }
    }
    messages
}

/// Images become their captions.
fn without_images(message: &mut Message) {
    for part in &mut message.content {
        if let Content::Media(medium) = part {
            *part = Content::Text {
                text: medium.caption(),
            };
        }
    }
}
