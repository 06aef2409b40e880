//! The spans of one run: itself, its current reply, its gadgets.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gadgetry::proto::error::ModelError;
use gadgetry::proto::event::{EventKind, RunInfo};
use gadgetry::proto::id::{CallId, InvocationId};
use gadgetry::proto::message::{Message, Purpose};
use gadgetry::proto::usage::Usage;
use gadgetry::serde::Serialize;
use gadgetry::serde_json::{self, Value};
use opentelemetry::trace::{Span, SpanContext, SpanKind, TraceContextExt, Tracer};
use opentelemetry::{Array, Context, KeyValue, StringValue};

use crate::call::{CallSpan, Identity, answered, fail};
use crate::{content, names, usage};

/// A request to the model, until its reply has ended.
struct ReplySpan<S> {
    span: S,
    began: SystemTime,
    has_begun_to_answer: bool,
    /// The parts of the reply, if content is wanted.
    parts: Vec<Value>,
}

/// The spans of a run that has not ended.
pub(crate) struct RunSpans<S> {
    id: Arc<str>,
    /// The span of the run; `None` for a single call, whose gadget has the only span.
    span: Option<S>,
    /// The run, as the parent of the spans of its replies.
    context: Context,
    provider: &'static str,
    model: StringValue,
    /// The name of the spans of its replies.
    reply_name: String,
    content: bool,
    reply: Option<ReplySpan<S>>,
    /// The last reply, to which calls belong, as the parent of their spans.
    wrote: Context,
    /// The calls without an answer. They are large, and in boxes: the nodes of the map are moved about.
    calls: BTreeMap<CallId, Box<CallSpan<S>>>,
    /// The span of the last call with each id.
    by_id: HashMap<InvocationId, SpanContext>,
}

impl<S: Span> RunSpans<S> {
    /// Begins the span of a run.
    pub(crate) fn begin<T: Tracer<Span = S>>(
        tracer: &T,
        info: Option<&RunInfo>,
        parent: &Context,
        content: bool,
        at: SystemTime,
    ) -> Self {
        if let Some(info) = info.filter(|info| info.single_call) {
            return Self::without_span(info, parent, content);
        }
        let full = info.map_or("", |info| &*info.model);
        let (provider, model) = names::provider_and_model(full);
        let mut attributes = vec![
            KeyValue::new(names::OPERATION, "invoke_agent"),
            KeyValue::new(names::PROVIDER, provider),
            KeyValue::new(names::REQUEST_MODEL, model.to_owned()),
        ];
        let mut name = "invoke_agent".to_owned();
        if let Some(info) = info {
            attributes.push(KeyValue::new(names::RUN, info.id.to_string()));
            if let Some(agent) = &info.agent {
                name = format!("invoke_agent {agent}");
                attributes.push(KeyValue::new(names::AGENT_NAME, agent.to_string()));
            }
            if let Some(Value::String(conversation)) = info.metadata.get("conversation") {
                attributes.push(KeyValue::new(names::CONVERSATION, conversation.clone()));
            }
        }
        let span = tracer
            .span_builder(name)
            .with_kind(SpanKind::Internal)
            .with_start_time(at)
            .with_attributes(attributes)
            .start_with_context(tracer, parent);
        let context = parent_of(&span);
        Self {
            id: info.map_or_else(|| Arc::from(""), |info| Arc::clone(&info.id)),
            wrote: context.clone(),
            span: Some(span),
            context,
            provider,
            model: StringValue::from(Arc::<str>::from(model)),
            reply_name: format!("chat {model}"),
            content,
            reply: None,
            calls: BTreeMap::new(),
            by_id: HashMap::new(),
        }
    }

    /// The spans of a single call, which is a child of `parent`.
    fn without_span(info: &RunInfo, parent: &Context, content: bool) -> Self {
        Self {
            id: Arc::clone(&info.id),
            span: None,
            context: parent.clone(),
            wrote: parent.clone(),
            provider: "",
            model: StringValue::from(""),
            reply_name: String::new(),
            content,
            reply: None,
            calls: BTreeMap::new(),
            by_id: HashMap::new(),
        }
    }

    /// The context of the run itself.
    pub(crate) fn context(&self) -> SpanContext {
        self.context.span().span_context().clone()
    }

    /// The context of the gadget of a call, or of the run.
    pub(crate) fn context_of(&self, call: CallId) -> SpanContext {
        let gadget = self.calls.get(&call).and_then(|it| it.context());
        gadget.unwrap_or_else(|| self.context())
    }

    /// The context of the reply that the model writes or, between replies, of the last one.
    pub(crate) fn context_of_reply(&self) -> SpanContext {
        self.wrote.span().span_context().clone()
    }

    /// Returns whether these are the spans of the run with this id.
    pub(crate) fn is(&self, run: &str) -> bool {
        &*self.id == run
    }

    /// Adds an attribute to the span of the run.
    pub(crate) fn set(&mut self, attribute: KeyValue) {
        if let Some(span) = &mut self.span {
            span.set_attribute(attribute);
        }
    }

    /// Notes the messages of the request that was just sent.
    pub(crate) fn request<'a>(&mut self, messages: impl Iterator<Item = &'a Message>) {
        let Some(reply) = self.reply.as_mut().filter(|_| self.content) else {
            return;
        };
        let (messages, system) = content::of_request(messages);
        let input = KeyValue::new(names::INPUT_MESSAGES, messages);
        reply.span.set_attribute(input);
        if let Some(system) = system {
            let system = KeyValue::new(names::SYSTEM_INSTRUCTIONS, system);
            reply.span.set_attribute(system);
        }
    }

    /// Follows an event of the run.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a later event says the rest"
    )]
    pub(crate) fn event<T: Tracer<Span = S>>(
        &mut self,
        tracer: &T,
        event: &EventKind,
        at: SystemTime,
    ) {
        match event {
            EventKind::ModelCallStart { iteration, purpose } => {
                self.begin_reply(tracer, *iteration, *purpose, at);
            }
            EventKind::Text { text } => self.piece(at, || content::text(text)),
            EventKind::Reasoning { text } => self.piece(at, || content::reasoning(text)),
            EventKind::CustomBlockStart(_) | EventKind::Diagnostic(_) => self.first_chunk(at),
            EventKind::GadgetCallStart { call, start } => {
                self.first_chunk(at);
                let call_span = CallSpan::after(start.dependencies.clone(), self.wrote.clone());
                self.calls.insert(*call, Box::new(call_span));
            }
            EventKind::GadgetCall { written, .. } => {
                let id = written.invocation_id.as_str();
                self.piece(at, || {
                    let (name, raw) = (&written.gadget_name, &written.parameters_raw);
                    content::call(id, name, &written.parameters, raw)
                });
            }
            EventKind::ModelCallEnd {
                stop_reason,
                usage,
                cost,
                error,
                ..
            } => self.end_reply(&stop_reason.to_string(), usage, *cost, error.as_ref(), at),
            EventKind::ReplyWithdrawn { .. } => {
                self.note_of_reply("gadgetry.reply_withdrawn", vec![], at);
            }
            EventKind::ModelRetry {
                delay_ms, error, ..
            } => {
                let attributes = vec![
                    KeyValue::new(names::ERROR_TYPE, word(&error.kind)),
                    delay(*delay_ms),
                ];
                self.note_of_reply("gadgetry.model_retry", attributes, at);
            }
            EventKind::RateLimited { delay_ms } => {
                self.note_of_reply("gadgetry.rate_limited", vec![delay(*delay_ms)], at);
            }
            EventKind::GadgetStart {
                call,
                invocation_id,
                gadget_name,
                parameters,
            } => {
                if let Some(span) = self.calls.get_mut(call).filter(|_| self.content) {
                    span.arguments(parameters);
                }
                self.begin_call(tracer, *call, invocation_id, gadget_name, at);
            }
            EventKind::GadgetResult {
                call,
                invocation_id,
                gadget_name,
                answer,
                duration_ms,
                cost,
                ..
            } => {
                let content = self.content;
                let began = at.checked_sub(Duration::from_millis(*duration_ms));
                let began = began.unwrap_or(at);
                if let Some(span) =
                    self.begin_call(tracer, *call, invocation_id, gadget_name, began)
                {
                    answered(span, answer, *cost, content, at);
                }
                self.calls.remove(call);
            }
            EventKind::GadgetSkipped {
                call,
                invocation_id,
                gadget_name,
                failed_dependency,
                error,
            } => {
                let content = self.content;
                let span = self.begin_call(tracer, *call, invocation_id, gadget_name, at);
                if let Some(span) = span {
                    let because = failed_dependency.clone();
                    span.set_attribute(KeyValue::new(names::SKIPPED_BECAUSE, because));
                    fail(span, "skipped", content.then_some(error));
                    span.end_with_timestamp(at);
                }
                self.calls.remove(call);
            }
            EventKind::GadgetRestarted { call, .. } => {
                self.note_of_call(*call, "gadgetry.restarted", at);
            }
            EventKind::ApprovalRequired { call, .. } => {
                self.note_of_call(*call, "gadgetry.approval_required", at);
            }
            EventKind::ApprovalAnswered { call, .. } => {
                self.note_of_call(*call, "gadgetry.approval_answered", at);
            }
            EventKind::HumanInputRequired { call, .. } => {
                self.note_of("gadgetry.human_input_required", *call, at);
            }
            EventKind::HumanInputReceived { call, .. } => {
                self.note_of("gadgetry.human_input_received", *call, at);
            }
            EventKind::Compaction(_) => {
                note_in(self.span.as_mut(), "gadgetry.compaction", vec![], at);
            }
            EventKind::RunFinished {
                reason,
                iterations,
                total_cost,
                error,
                ..
            } => {
                let reason = word(reason);
                if let Some(span) = &mut self.span {
                    if let Some(error) = error {
                        let message = self.content.then_some(&*error.message);
                        fail(span, &word(&error.kind), message);
                    } else if !matches!(&*reason, "completed" | "taskCompleted" | "stopped") {
                        fail(span, &reason, None);
                    }
                }
                self.set(KeyValue::new(names::FINISH_REASON, reason));
                self.set(KeyValue::new(names::ITERATION, i64::from(*iterations)));
                if let Some(cost) = total_cost {
                    self.set(KeyValue::new(names::COST, *cost));
                }
                self.end(at);
            }
            _ => {}
        }
    }

    /// Ends what is open.
    pub(crate) fn end(&mut self, at: SystemTime) {
        for call in self.calls.values_mut() {
            if let Some(span) = call.span() {
                span.end_with_timestamp(at);
            }
        }
        if let Some(mut reply) = self.reply.take() {
            reply.span.end_with_timestamp(at);
        }
        if let Some(span) = &mut self.span {
            span.end_with_timestamp(at);
        }
    }

    fn begin_reply<T: Tracer<Span = S>>(
        &mut self,
        tracer: &T,
        iteration: u32,
        purpose: Purpose,
        at: SystemTime,
    ) {
        let mut attributes = vec![
            KeyValue::new(names::OPERATION, "chat"),
            KeyValue::new(names::PROVIDER, self.provider),
            KeyValue::new(names::REQUEST_MODEL, self.model.clone()),
            KeyValue::new(names::REQUEST_STREAM, true),
            KeyValue::new(names::ITERATION, i64::from(iteration)),
        ];
        if purpose != Purpose::Reply {
            attributes.push(KeyValue::new(names::PURPOSE, word(&purpose)));
        }
        let span = tracer
            .span_builder(self.reply_name.clone())
            .with_kind(SpanKind::Client)
            .with_start_time(at)
            .with_attributes(attributes)
            .start_with_context(tracer, &self.context);
        self.wrote = parent_of(&span);
        self.reply = Some(ReplySpan {
            span,
            began: at,
            has_begun_to_answer: false,
            parts: Vec::new(),
        });
    }

    fn end_reply(
        &mut self,
        stop_reason: &str,
        usage: &Usage,
        cost: Option<f64>,
        error: Option<&ModelError>,
        at: SystemTime,
    ) {
        let Some(mut reply) = self.reply.take() else {
            return;
        };
        let span = &mut reply.span;
        let reasons = vec![StringValue::from(stop_reason.to_owned())];
        span.set_attribute(KeyValue::new(
            names::FINISH_REASONS,
            opentelemetry::Value::Array(Array::String(reasons)),
        ));
        usage::set(span, usage);
        if let Some(cost) = cost {
            span.set_attribute(KeyValue::new(names::COST, cost));
        }
        if self.content {
            let output = content::of_reply(&reply.parts, stop_reason);
            span.set_attribute(KeyValue::new(names::OUTPUT_MESSAGES, output));
        }
        if let Some(error) = error {
            let message = self.content.then_some(&*error.message);
            fail(span, &word(&error.kind), message);
        }
        span.end_with_timestamp(at);
    }

    fn begin_call<T: Tracer<Span = S>>(
        &mut self,
        tracer: &T,
        call: CallId,
        id: &InvocationId,
        name: &str,
        at: SystemTime,
    ) -> Option<&mut S> {
        let identity = Identity { call, id, name };
        let by_id = &self.by_id;
        // The start of a call of a run that was resumed may be in the log of another process.
        let wrote = &self.wrote;
        let unseen = || Box::new(CallSpan::after(Vec::new(), wrote.clone()));
        let call = self.calls.entry(call).or_insert_with(unseen);
        if call.span().is_none() {
            let context = call.begin(tracer, &identity, |id| by_id.get(id).cloned(), at);
            self.by_id.insert(id.clone(), context);
        }
        call.span()
    }

    /// Notes a piece of the reply, and that it has begun.
    fn piece(&mut self, at: SystemTime, part: impl FnOnce() -> Value) {
        self.first_chunk(at);
        let content = self.content;
        if let Some(reply) = self.reply.as_mut().filter(|_| content) {
            push(&mut reply.parts, part());
        }
    }

    /// Notes that the reply has begun.
    fn first_chunk(&mut self, at: SystemTime) {
        let Some(reply) = self.reply.as_mut().filter(|it| !it.has_begun_to_answer) else {
            return;
        };
        reply.has_begun_to_answer = true;
        let waited = at.duration_since(reply.began).unwrap_or_default();
        let waited = KeyValue::new(names::TIME_TO_FIRST_CHUNK, waited.as_secs_f64());
        reply.span.set_attribute(waited);
    }

    fn note_of_reply(&mut self, name: &'static str, attributes: Vec<KeyValue>, at: SystemTime) {
        let reply = self.reply.as_mut().map(|reply| &mut reply.span);
        note_in(reply.or(self.span.as_mut()), name, attributes, at);
    }

    fn note_of_call(&mut self, call: CallId, name: &'static str, at: SystemTime) {
        self.note_of(name, Some(call), at);
    }

    /// Notes what happens to a call, also before its gadget starts.
    fn note_of(&mut self, name: &'static str, call: Option<CallId>, at: SystemTime) {
        let attributes = call.map(|call| KeyValue::new(names::CALL, i64::from(call.0)));
        let attributes = attributes.into_iter().collect();
        let gadget = call.and_then(|call| self.calls.get_mut(&call));
        let span = gadget.and_then(|it| it.span()).or(self.span.as_mut());
        note_in(span, name, attributes, at);
    }
}

/// Adds an event to a span, if there is one.
fn note_in(
    span: Option<&mut impl Span>,
    name: &'static str,
    attributes: Vec<KeyValue>,
    at: SystemTime,
) {
    if let Some(span) = span {
        span.add_event_with_timestamp(name, at, attributes);
    }
}

/// The context of what begins below a span.
fn parent_of(span: &impl Span) -> Context {
    Context::new().with_remote_span_context(span.span_context().clone())
}

/// Adds a part of a reply; text that follows text of its kind is joined with it.
fn push(parts: &mut Vec<Value>, part: Value) {
    if let Some(last) = parts.last_mut()
        && last["type"] == part["type"]
        && let (Some(Value::String(last)), Some(more)) =
            (last.get_mut("content"), part["content"].as_str())
    {
        last.push_str(more);
        return;
    }
    parts.push(part);
}

fn delay(milliseconds: u64) -> KeyValue {
    let seconds = Duration::from_millis(milliseconds).as_secs_f64();
    KeyValue::new(names::DELAY, seconds)
}

/// The word that an enum is in events.
fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        Ok(_) | Err(_) => "other".to_owned(),
    }
}
