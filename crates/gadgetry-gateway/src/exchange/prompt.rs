//! The conversation with the upstream.

use gadgetry_proto::convo::TokenEstimate;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::{Content, Message, Request, Role, ToolChoice};
use gadgetry_proto::prompt::append_to_system;

use super::history::{HistoryWriter, shaped};
use super::instructions;
use super::prefill::Prefill;
use super::setup::Setup;
use super::toolset::Toolset;

/// The messages to the upstream.
#[derive(Debug, Default)]
pub(super) struct Prompt {
    /// The conversation. Repair turns are appended.
    messages: Vec<Message>,
    /// Messages of the first request only: the demand for a call, the beginning of a call.
    trailing: Vec<Message>,
    /// The beginning of the first reply, if the request has it.
    prefill: Option<Prefill>,
    /// Bytes of the instructions about tools.
    injected: u64,
}

impl Prompt {
    /// Writes the prompt of the first request.
    pub(super) fn of(setup: &Setup) -> Self {
        let mut prompt = Self::default();
        prompt.messages = prompt.written(setup);
        prompt.prefill = Prefill::of(setup);
        if let Some(prefill) = &prompt.prefill {
            let head = Message::text(Role::Assistant, prefill.head());
            prompt.trailing.push(head);
        }
        prompt
    }

    fn written(&mut self, setup: &Setup) -> Vec<Message> {
        let (request, tools, secrets) = (setup.client(), setup.tools(), setup.secrets());
        let rules = &setup.rules;
        if setup.is_native {
            return natively(&request.messages, tools);
        }
        let held = |exchange| {
            if rules.run_dependencies {
                Vec::new()
            } else {
                setup.held_calls(exchange)
            }
        };
        let mut messages = HistoryWriter::of(setup, &held).write(&request.messages);
        if setup.reads_blocks() {
            if let Some((text, turns)) = instructions::about_tools(tools, rules, secrets) {
                self.injected = (text.len() + turns.len_bytes()) as u64;
                append_to_system(&mut messages, &text);
                if !turns.is_empty() {
                    messages = turns.shown(&messages);
                }
            }
            // After worked turns, a request has to end as they do: with the question.
            if setup.is_forced() && rules.worked_turns() == 0 {
                let note = instructions::must_call(&request.choice, tools, rules, secrets);
                self.trailing.push(Message::text(Role::User, note));
            }
        }
        if !rules.images {
            messages.iter_mut().for_each(without_images);
        }
        shaped(
            messages,
            rules.template.system_role,
            rules.template.alternate,
        )
    }

    /// Returns the request that follows `repairs` repair turns.
    pub(super) fn request(&self, setup: &Setup, repairs: u32) -> Request {
        let mut messages = self.messages.clone();
        messages.extend(self.trailing.iter().cloned());
        if setup.rules.template.alternate && !self.trailing.is_empty() {
            messages = shaped(messages, true, true);
        }
        Request::default()
            .messages(messages)
            .iteration(1 + repairs)
            .tool_choice(if setup.is_native {
                setup.native_choice()
            } else {
                ToolChoice::Auto
            })
            .constraint(setup.constraint.clone())
    }

    /// Appends a reply of the upstream, and the correction of it.
    pub(super) fn append(&mut self, turn: impl IntoIterator<Item = Message>) {
        self.trailing.clear();
        self.messages.extend(turn);
    }

    /// Takes a delta of the reply, and returns it with the beginning from the request; `None` while the text may repeat that.
    pub(super) fn continued(&mut self, delta: Delta) -> Option<Delta> {
        Prefill::continued(&mut self.prefill, delta)
    }

    /// Returns the text that is still withheld when the reply ends.
    pub(super) fn end_reply(&mut self) -> Option<Delta> {
        Prefill::end(&mut self.prefill)
    }

    /// Estimates the tokens of the instructions about tools.
    pub(super) fn injected_tokens(&self) -> u64 {
        self.injected.div_ceil(4)
    }

    /// Estimates the tokens of the messages.
    pub(super) fn tokens(&self) -> u64 {
        TokenEstimate::of(&self.messages).tokens()
    }
}

/// Returns the messages for an upstream with tools of its own, with its names of tools.
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

/// Replaces images by their captions.
fn without_images(message: &mut Message) {
    for part in &mut message.content {
        if let Content::Media(medium) = part {
            *part = Content::Text {
                text: medium.caption(),
            };
        }
    }
}
