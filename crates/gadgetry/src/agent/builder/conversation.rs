//! Options for the texts that a model reads and writes.

use std::sync::Arc;

use gadgetry_proto::block::{Anchoring, Markers};
use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::convo::compaction::Compaction;
use gadgetry_proto::dialect::Dialects;
use gadgetry_proto::limits::Limits;
use gadgetry_proto::message::Message;
use gadgetry_proto::prompt::{GadgetSearch, PromptTemplate};
use gadgetry_proto::reply::StopEarly;
use gadgetry_proto::run::{EphemeralMessage, HintTiming, RunStatus, iteration_hint, parallel_hint};
use gadgetry_proto::tags::CustomBlock;
use gadgetry_proto::transform::DeltaTransform;
use serde_json::Value;

use crate::agent::synthetic::SyntheticCall;
use crate::agent::{AgentBuilder, Conversation};

/// # The conversation
impl AgentBuilder {
    /// Adds earlier messages, before the prompt.
    pub fn history(mut self, messages: impl IntoIterator<Item = Message>) -> Self {
        self.history.extend(messages);
        self
    }

    /// Continues a conversation, or where a run ended: `continue_from(&finished)`.
    ///
    /// It replaces the history and the synthetic calls that were added before, because they are part of it; long results and
    /// markers are those of the conversation. An empty conversation changes nothing. To ask several times,
    /// [`Agent::ask_in`](crate::Agent::ask_in) is shorter.
    pub fn continue_from(mut self, conversation: impl Into<Conversation>) -> Self {
        let conversation = conversation.into();
        if conversation.is_empty() {
            return self;
        }
        self.history = conversation.messages;
        self.outputs = conversation.outputs;
        self.synthetic.clear();
        if let Some(markers) = conversation.markers {
            self.config.markers = markers;
        }
        self
    }

    /// Makes the model believe that it has called a gadget of this agent and got this result: the best way to demonstrate a call.
    /// The calls follow the history, in the order in which they were added.
    pub fn synthetic_call(
        mut self,
        gadget_name: impl Into<String>,
        parameters: Value,
        result: impl Into<String>,
        invocation_id: impl Into<String>,
    ) -> Self {
        self.synthetic.push(SyntheticCall {
            gadget_name: gadget_name.into(),
            parameters,
            result: result.into(),
            id: invocation_id.into(),
        });
        self
    }

    /// Adds a message at the end of every request. It is not kept in the conversation.
    pub fn trailing(mut self, text: impl Into<String>) -> Self {
        self.config
            .trailing
            .push(EphemeralMessage::Text(text.into()));
        self
    }

    /// Adds a message at the end of each request, made for that request; `None` adds none.
    ///
    /// The closure must be a pure function of its argument; otherwise a replay of the run differs.
    pub fn trailing_with(
        mut self,
        make: impl Fn(&RunStatus) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let name = format!("{}", self.config.trailing.len() + 1);
        self.config
            .trailing
            .push(EphemeralMessage::Code(name.clone()));
        self.code.trailing.insert(name, Arc::new(make));
        self
    }

    /// Informs the model of the number of replies that it has left, at the given times.
    pub fn iteration_hint(mut self, timing: HintTiming) -> Self {
        self.config.trailing.push(iteration_hint(timing));
        self
    }

    /// Informs the model that several calls fit into one reply, after each reply with at least one but fewer than `few`.
    pub fn parallel_hint(mut self, few: u32) -> Self {
        self.config.trailing.push(parallel_hint(few));
        self
    }

    /// Sets the compaction of the conversation when the context window fills up.
    pub fn compaction(mut self, compaction: Compaction) -> Self {
        self.config.compaction = Some(compaction);
        self
    }

    /// Sets whether the system message describes all gadgets, or the model looks most of them up. By default this depends on how
    /// many there are, and on the context window, if that is known.
    pub fn gadget_search(mut self, search: GadgetSearch) -> Self {
        self.config.gadget_search = search;
        self
    }

    /// Sets where a reply is ended before the model ends it: at a call that cannot become valid, and at lines that repeat without
    /// end. By default at both.
    pub fn stop_early(mut self, rules: StopEarly) -> Self {
        self.config.stop_early = rules;
        self
    }

    /// Disables compaction: the conversation is never shortened.
    pub fn without_compaction(mut self) -> Self {
        self.config.compaction = None;
        self
    }
}

/// # The format
impl AgentBuilder {
    /// Sets the form of calls in the text of replies. By default JSON for a model that is known to be small
    /// ([`ModelInfo::usual_form`](crate::ModelInfo::usual_form)), and blocks for others; `gadgetry eval` measures which one a model writes better.
    pub fn form(mut self, form: CallForm) -> Self {
        self.form = Some(form);
        self
    }

    /// Sets how many worked turns each request shows before the conversation, at most two. By default two for a model that is known to be small
    /// or to complete text only ([`ModelInfo::usual_examples`](crate::ModelInfo::usual_examples)), and none for others.
    pub fn examples(mut self, count: usize) -> Self {
        self.examples = Some(count);
        self
    }

    /// Sets whether replies are constrained to valid calls, by default `true`, where the server of the model does that
    /// ([`ModelInfo::constraint`](crate::ModelInfo::constraint)). Markers then count only at the start of a line.
    ///
    /// ```
    /// use gadgetry::{Agent, CallForm, ScriptedModel};
    /// let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
    /// let agent = Agent::builder().model(model).form(CallForm::Json).examples(2).constrained(false).build()?;
    /// # let _ = agent;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn constrained(mut self, is_constrained: bool) -> Self {
        self.is_constrained = is_constrained;
        self
    }

    /// Sets the markers of gadget blocks; [`Markers::nonce`] creates unguessable ones.
    pub fn markers(mut self, markers: Markers) -> Self {
        self.config.markers = markers;
        self
    }

    /// Sets the positions at which markers count. By default anywhere in a line.
    pub fn anchoring(mut self, anchoring: Anchoring) -> Self {
        self.config.anchoring = anchoring;
        self
    }

    /// Sets the limits of a reply: sizes, depth, calls.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.config.limits = limits;
        self
    }

    /// Sets the words around the list of gadgets in the system message.
    pub fn prompt_template(mut self, template: PromptTemplate) -> Self {
        self.config.prompt = template;
        self
    }

    /// Takes a tag out of the text of replies.
    pub fn custom_block(mut self, block: CustomBlock) -> Self {
        let (config, code) = block.into_parts();
        if !code.is_empty() {
            self.code.blocks.insert(config.xml_tag().to_owned(), code);
        }
        self.config.custom_blocks.push(config);
        self
    }

    /// Sets the tags whose content is reasoning: it is not part of the answer, and nothing in it is executed. By default `think`
    /// and `thinking`; none with an empty list. A custom block of the same tag takes precedence.
    pub fn reasoning_tags<S: Into<String>>(mut self, tags: impl IntoIterator<Item = S>) -> Self {
        self.config.reasoning_tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Sets whether each reply begins inside the first of the reasoning tags, because the prompt template of the model opens it
    /// and the model writes only the closing tag. See [`RunConfig::reasoning_open`](gadgetry_proto::run::RunConfig).
    pub fn reasoning_open(mut self, open: bool) -> Self {
        self.config.reasoning_open = open;
        self
    }

    /// Executes calls in forms other than gadget blocks, which the model was trained on. By default none: the model reads that
    /// such a call was not executed, and writes a block. See [`dialect`](gadgetry_proto::dialect) for the forms.
    ///
    /// The text of such a call is withheld until it is decided, and is not part of the text that streams.
    pub fn dialects(mut self, dialects: impl Into<Dialects>) -> Self {
        self.config.dialects = dialects.into();
        self
    }

    /// Rewrites the deltas of each reply, after the custom blocks; `make` creates a new one for each reply. Several transforms
    /// run in the order in which they were added.
    pub fn transform<T: DeltaTransform + 'static>(
        mut self,
        make: impl Fn() -> T + Send + Sync + 'static,
    ) -> Self {
        let make = move || -> Box<dyn DeltaTransform> { Box::new(make()) };
        self.code.transforms.push(Arc::new(make));
        self
    }
}
