//! The conversation of a run: its messages, their length, and what is to be added.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::convo::History;
use crate::convo::TextForm;
use crate::convo::TokenEstimate;
use crate::convo::compaction::{self, Compaction, Slide, Summarise};
use crate::convo::escape_markers;
use crate::error::Overflow;
use crate::event::Compacted;
use crate::message::{Content, Message, Request, Role};
use crate::run::calls::Calls;
use crate::run::constraints::tool_choice;
use crate::run::ephemeral::RunStatus;
use crate::run::plan::Plan;
use crate::run::question::CompactionTrigger;

/// No model has a smaller context window, whatever an error says.
const SMALLEST_WINDOW: u64 = 128;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RunConversation {
    history: History,
    tokens: TokenEstimate,
    /// Messages of the user for the next request.
    injected: Vec<String>,
    /// Messages that follow the results of the current reply.
    appended: Vec<Message>,
    /// The context window of the model as it has said itself, when a request was too long for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    learned_window: Option<u64>,
    /// Whether a command asks for compaction before the next request.
    compaction_requested: bool,
    /// The visible text of the last reply that had any.
    answer: String,
}

impl RunConversation {
    /// The system message and the conversation as the model first reads them.
    pub(super) fn new(plan: &Plan, mut messages: Vec<Message>) -> Self {
        // Only the user's texts are escaped: a reply keeps the blocks that the model itself has written.
        for message in messages.iter_mut().filter(|it| it.role == Role::User) {
            for content in &mut message.content {
                if let Content::Text { text } = content {
                    *text = escape_markers(text, &plan.config.markers).into_owned();
                }
            }
        }
        if let Some(system) = &plan.config.system {
            messages.insert(0, Message::text(Role::System, system));
        }
        let mut history = History::new(messages);
        history.append_to_system(&plan.gadget_instructions);
        history.append_to_system(&plan.block_instructions);
        Self {
            tokens: TokenEstimate::of(history.messages()),
            history,
            injected: Vec::new(),
            appended: Vec::new(),
            learned_window: None,
            compaction_requested: false,
            answer: String::new(),
        }
    }

    pub(super) fn messages(&self) -> &[Message] {
        self.history.messages()
    }

    pub(super) fn into_messages(self) -> Vec<Message> {
        self.history.into_messages()
    }

    /// The estimated length of the conversation.
    pub(super) fn tokens(&self) -> u64 {
        self.tokens.tokens()
    }

    /// Corrects the estimate by what a provider has counted. Call it before the reply is added.
    pub(super) fn observe(&mut self, input_tokens: u64) {
        self.tokens.observe(input_tokens);
    }

    pub(super) fn push(&mut self, message: Message) {
        self.tokens.pushed(&message);
        self.history.push(message);
    }

    /// The visible text of the last reply that had any.
    pub(super) fn answer(&self) -> &str {
        &self.answer
    }

    pub(super) fn has_answer(&self) -> bool {
        !self.answer.trim().is_empty()
    }

    /// Takes the visible text of a reply. Whitespace alone is not an answer.
    pub(super) fn set_answer(&mut self, text: String) {
        if !text.trim().is_empty() {
            self.answer = text;
        }
    }

    /// Keeps a message of the user for the next request.
    pub(super) fn inject(&mut self, text: String) {
        self.injected.push(text);
    }

    /// Removes the latest message that was kept with this text.
    pub(super) fn retract(&mut self, text: &str) {
        if let Some(index) = self.injected.iter().rposition(|it| it == text) {
            self.injected.remove(index);
        }
    }

    pub(super) fn has_injected(&self) -> bool {
        !self.injected.is_empty()
    }

    /// Adds the messages of the user that were kept.
    pub(super) fn push_injected(&mut self, plan: &Plan) {
        for text in mem::take(&mut self.injected) {
            let text = escape_markers(&text, &plan.config.markers).into_owned();
            self.push(Message::text(Role::User, text));
        }
    }

    /// Keeps messages that follow the results of the current reply.
    pub(super) fn append(&mut self, messages: Vec<Message>) {
        self.appended = messages;
    }

    /// Adds the messages that follow the results.
    pub(super) fn push_appended(&mut self) {
        for message in mem::take(&mut self.appended) {
            self.push(message);
        }
    }

    /// Replaces the text of the last message, a reply. Its calls stay, for those who read them.
    pub(super) fn rewrite_last(&mut self, text: String) {
        if let Some(message) = self.history.messages_mut().last_mut() {
            let is_text = |content: &Content| matches!(content, Content::Text { .. });
            message.content.retain(|content| !is_text(content));
            let first = Content::Text { text: text.clone() };
            message.content.insert(0, first);
            message.raw = Some(text);
        }
        self.tokens.recount(self.history.messages());
    }

    /// The next request.
    pub(super) fn request(&self, status: &RunStatus, calls: &Calls, plan: &Plan) -> Request {
        let mut request = self.history.request(status.iteration);
        if !plan.worked_turns.is_empty() {
            request.messages = Arc::new(plan.worked_turns.shown(&request.messages));
        }
        request.tool_choice = tool_choice(status, calls.has_called(), &plan.config);
        request.constraint = plan.constraint(&request.tool_choice, calls.has_outputs());
        request.sampling = plan.config.sampling.clone();
        let texts = plan.trailing(status);
        request.trailing = texts.map(|text| Message::text(Role::User, text)).collect();
        request
    }

    /// Asks for compaction before the next request, whatever the length.
    pub(super) fn request_compaction(&mut self) {
        self.compaction_requested = true;
    }

    /// Returns the compaction before the next request, if the conversation is too long or a command asks for it.
    pub(super) fn next_compaction(
        &mut self,
        plan: &Plan,
    ) -> Option<(CompactionTrigger, compaction::CompactionPlan)> {
        let (trigger, compaction) = if mem::take(&mut self.compaction_requested) {
            let compaction = self.compaction(Compaction::plan_now, plan);
            (CompactionTrigger::Manual, compaction)
        } else {
            let compaction = self.compaction(Compaction::plan, plan);
            (CompactionTrigger::Auto, compaction)
        };
        Some((trigger, compaction?))
    }

    /// Returns the compaction after the model found the conversation too long.
    pub(super) fn overflow_compaction(&self, plan: &Plan) -> Option<compaction::CompactionPlan> {
        self.compaction(Compaction::plan_overflow, plan)
    }

    /// Learns from a refusal of the conversation because of its length.
    pub(super) fn learn(&mut self, overflow: Option<Overflow>) {
        let overflow = overflow.unwrap_or_default();
        if let Some(tokens) = overflow.prompt_tokens {
            self.tokens.observe(tokens);
        }
        let known = overflow.context_window.is_some();
        self.learn_window(overflow);
        if !known {
            // It is smaller than this, by our own measure.
            let estimate = self.tokens.tokens();
            let learned = self.learned_window.unwrap_or(estimate);
            self.learned_window = Some(learned.min(estimate));
        }
    }

    /// Keeps what a provider says of its context window.
    pub(super) fn learn_window(&mut self, overflow: Overflow) {
        let believable = |window: &u64| *window >= SMALLEST_WINDOW;
        let said = overflow.context_window.filter(believable);
        self.learned_window = said.or(self.learned_window);
    }

    /// The context window of the model, if it is known; the smaller one of what is configured and what the model has said.
    fn window(&self, plan: &Plan) -> Option<u64> {
        let known = [plan.config.context_window, self.learned_window];
        known.into_iter().flatten().min()
    }

    /// Advice about a conversation that is too long, and that compaction makes no shorter.
    pub(super) fn overflow_advice(&self, plan: &Plan) -> String {
        let messages = self.history.messages().iter();
        let is_system = |message: &&Message| message.role == Role::System;
        let mut system = self.tokens;
        system.recount(&messages.filter(is_system).cloned().collect::<Vec<_>>());
        let system = system.tokens();
        let advice = if plan.config.compaction.is_none() {
            "compaction is off: enable it, or begin a new conversation"
        } else if system > self.tokens() / 2 {
            "offer fewer gadgets or shorten the system text, or use a larger context window"
        } else {
            "shorten the last message, or use a larger context window"
        };
        let window = self.window(plan).map_or_else(String::new, |window| {
            format!(" of a context window of {window}")
        });
        format!(
            "the conversation has about {} tokens{window}, {system} of them in the system text; {advice}",
            self.tokens()
        )
    }

    fn compaction(
        &self,
        make: impl Fn(
            &Compaction,
            &[Message],
            &TokenEstimate,
            u64,
            &TextForm<'_>,
        ) -> Option<compaction::CompactionPlan>,
        plan: &Plan,
    ) -> Option<compaction::CompactionPlan> {
        let compaction = plan.config.compaction.as_ref()?;
        // A tag can have another name in the text than in the program.
        let renamed = plan.config.custom_blocks.iter();
        let xml_names: BTreeMap<String, String> = renamed
            .filter(|block| block.xml_tag() != block.key)
            .map(|block| (block.key.clone(), block.xml_tag().to_owned()))
            .collect();
        let form = TextForm {
            markers: &plan.config.markers,
            anchoring: plan.config.anchoring,
            xml_names: &xml_names,
        };
        let window = self.window(plan).unwrap_or(0);
        make(
            compaction,
            self.history.messages(),
            &self.tokens,
            window,
            &form,
        )
    }

    /// Leaves out what compaction says.
    pub(super) fn slide(&mut self, slide: Slide) -> Compacted {
        let compacted = slide.apply(self.history.messages_mut());
        self.tokens.recount(self.history.messages());
        compacted
    }

    /// Replaces what compaction says by its summary.
    pub(super) fn summarise(
        &mut self,
        replaced: Summarise,
        summary: &str,
        plan: &Plan,
    ) -> Compacted {
        let compacted = replaced.apply(self.history.messages_mut(), summary, &plan.config.markers);
        self.tokens.recount(self.history.messages());
        compacted
    }
}

/// Holds the reply to a request that a decision has changed to its own choice, unless the decision has changed what it is held to, too.
pub(super) fn hold_to_choice(
    request: &mut Request,
    status: &RunStatus,
    calls: &Calls,
    plan: &Plan,
) {
    let asked = tool_choice(status, calls.has_called(), &plan.config);
    let constraint = |choice| plan.constraint(choice, calls.has_outputs());
    if request.tool_choice != asked && request.constraint == constraint(&asked) {
        request.constraint = constraint(&request.tool_choice);
    }
}
