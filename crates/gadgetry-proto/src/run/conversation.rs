//! The conversation of a run: its messages, their length, and what is to be added.

use std::collections::BTreeMap;
use std::mem;

use serde::{Deserialize, Serialize};

use crate::convo::History;
use crate::convo::TextForm;
use crate::convo::TokenEstimate;
use crate::convo::compaction::{Plan, Slide, Summarise};
use crate::convo::neutralise;
use crate::event::Compacted;
use crate::message::{Content, Message, Request, Role};
use crate::prompt::CustomBlockDoc;
use crate::prompt::custom_block_listing;
use crate::run::spec::RunSpec;
use crate::run::trailing::Standing;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Conversation {
    history: History,
    tokens: TokenEstimate,
    /// Messages of the user for the next request.
    injected: Vec<String>,
    /// Messages that follow the results of the current reply.
    appended: Vec<Message>,
    /// Whether a command asks for compaction before the next request.
    compaction_requested: bool,
    /// The visible text of the last reply that had any.
    answer: String,
}

impl Conversation {
    /// The system message and the conversation as the model first reads them.
    pub(super) fn new(spec: &RunSpec, mut messages: Vec<Message>) -> Self {
        // Only the user's texts are escaped: a reply keeps the blocks that the model itself has written.
        for message in messages.iter_mut().filter(|it| it.role == Role::User) {
            for content in &mut message.content {
                if let Content::Text { text } = content {
                    *text = neutralise(text, &spec.markers).into_owned();
                }
            }
        }
        if let Some(system) = &spec.system {
            messages.insert(0, Message::text(Role::System, system));
        }
        let mut history = History::new(messages);
        if spec.tools.reads_blocks() {
            let (registry, markers) = (&spec.registry, &spec.markers);
            let gadgets = spec
                .prompt
                .render_registry(registry, markers, spec.anchoring);
            history.append_to_system(&gadgets.unwrap_or_default());
        }
        let blocks = spec.custom_blocks.iter().map(|block| CustomBlockDoc {
            tag: block.xml_tag(),
            description: block.description.as_deref(),
            instructions: block.instructions.as_deref(),
        });
        history.append_to_system(&custom_block_listing(blocks).unwrap_or_default());
        Self {
            tokens: TokenEstimate::of(history.messages()),
            history,
            injected: Vec::new(),
            appended: Vec::new(),
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

    /// Takes the visible text of a reply. White space alone answers nothing.
    pub(super) fn set_answer(&mut self, text: String) {
        if !text.trim().is_empty() {
            self.answer = text;
        }
    }

    /// Keeps a message of the user for the next request.
    pub(super) fn inject(&mut self, text: String) {
        self.injected.push(text);
    }

    pub(super) fn has_injected(&self) -> bool {
        !self.injected.is_empty()
    }

    /// Adds the messages of the user that were kept.
    pub(super) fn push_injected(&mut self, spec: &RunSpec) {
        for text in mem::take(&mut self.injected) {
            let text = neutralise(&text, &spec.markers).into_owned();
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
        if let Some(message) = self.history.edit().last_mut() {
            let is_text = |content: &Content| matches!(content, Content::Text { .. });
            message.content.retain(|content| !is_text(content));
            let first = Content::Text { text: text.clone() };
            message.content.insert(0, first);
            message.raw = Some(text);
        }
        self.tokens.recount(self.history.messages());
    }

    /// The next request. A forced tool choice ends with the first call of the run: a model that must call a gadget each
    /// time could never answer.
    pub(super) fn request(&self, status: &Standing, has_called: bool, spec: &RunSpec) -> Request {
        let mut request = self.history.request(status.iteration);
        let choice = &spec.tool_choice;
        if !(choice.is_forced() && has_called) {
            request.tool_choice = choice.clone();
        }
        let trailing = spec.trailing.iter();
        let texts = trailing.filter_map(|it| it.message(status));
        request.trailing = texts.map(|text| Message::text(Role::User, text)).collect();
        request
    }

    /// Asks for compaction before the next request, whatever the length.
    pub(super) fn request_compaction(&mut self) {
        self.compaction_requested = true;
    }

    /// What compaction takes out before the next request, if the conversation is too long or a command asks for it.
    pub(super) fn plan_next(&mut self, spec: &RunSpec) -> Option<Plan> {
        let now = mem::take(&mut self.compaction_requested);
        self.plan(now, spec)
    }

    /// What compaction takes out, whatever the length: the model found the conversation too long.
    pub(super) fn plan_overflow(&self, spec: &RunSpec) -> Option<Plan> {
        self.plan(true, spec)
    }

    fn plan(&self, now: bool, spec: &RunSpec) -> Option<Plan> {
        let compaction = spec.compaction.as_ref()?;
        // A tag can have another name in the text than in the program.
        let renamed = spec.custom_blocks.iter();
        let xml_names: BTreeMap<String, String> = renamed
            .filter(|block| block.xml_tag() != block.key)
            .map(|block| (block.key.clone(), block.xml_tag().to_owned()))
            .collect();
        let form = TextForm {
            markers: &spec.markers,
            anchoring: spec.anchoring,
            xml_names: &xml_names,
        };
        let window = spec.context_window.unwrap_or(0);
        let (messages, tokens) = (self.history.messages(), &self.tokens);
        if now {
            compaction.plan_now(messages, tokens, window, &form)
        } else {
            compaction.plan(messages, tokens, window, &form)
        }
    }

    /// Leaves out what a plan says.
    pub(super) fn slide(&mut self, slide: Slide) -> Compacted {
        let compacted = slide.apply(self.history.edit());
        self.tokens.recount(self.history.messages());
        compacted
    }

    /// Replaces what a plan says by its summary.
    pub(super) fn summarise(
        &mut self,
        plan: Summarise,
        summary: &str,
        spec: &RunSpec,
    ) -> Compacted {
        let compacted = plan.apply(self.history.edit(), summary, &spec.markers);
        self.tokens.recount(self.history.messages());
        compacted
    }
}
