//! Events of a run as updates of its session. Pure, so that a session that is loaded shows what it showed before.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agent_client_protocol_schema::v1::{
    ContentChunk, Cost, Diff, MessageId, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus,
    SessionUpdate, Terminal, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields, ToolKind, UsageUpdate,
};
use gadgetry::proto::call::Parameters;
use gadgetry::proto::error::DiagnosticCode;
use gadgetry::proto::event::{Approval, CallAnswer};
use gadgetry::proto::id::CallId;
use gadgetry::proto::message::Content;
use gadgetry::proto::visible::{output_line, uncolored, visible_line};
use gadgetry::{Event, EventKind, Media};
use serde_json::Value;

use crate::blocks::{
    clipped, content_block, fenced, medium, notes, one_line, parameters, text_block, written,
};
use crate::diff::{Change, changes};
use crate::host::{CallDescription, CallKind, HostSession, Step, StepProgress};
use crate::live::Seen;

/// Facts about gadgets, as the host knows them.
pub(crate) trait Gadgets {
    /// Describes a call, or a gadget if the parameters are not known yet.
    fn describe(&self, gadget: &str, parameters: Option<&Value>) -> CallDescription;

    /// Returns whether a result reports a failure.
    fn has_failed(&self, gadget: &str, result: &str) -> bool;
}

impl<S: HostSession> Gadgets for S {
    fn describe(&self, gadget: &str, parameters: Option<&Value>) -> CallDescription {
        HostSession::describe(self, gadget, parameters)
    }

    fn has_failed(&self, gadget: &str, result: &str) -> bool {
        HostSession::has_failed(self, gadget, result)
    }
}

/// The cost of a session so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spent {
    dollars: f64,
    is_known: bool,
}

impl Default for Spent {
    fn default() -> Self {
        Self {
            dollars: 0.0,
            is_known: true,
        }
    }
}

impl Spent {
    fn add(&mut self, cost: Option<f64>) {
        self.is_known &= cost.is_some();
        self.dollars += cost.unwrap_or_default();
    }
}

/// Turns the events of one run into updates.
#[derive(Clone, Debug)]
pub(crate) struct Updates {
    run: u32,
    /// The folder of the session, an absolute path.
    folder: PathBuf,
    /// Tokens of the model's context window.
    window: Option<u64>,
    pub(crate) spent: Spent,
    iteration: u32,
    /// Whether the reply has text so far.
    has_text: bool,
    calls: BTreeMap<CallId, Call>,
    /// What is seen of calls while they run.
    live: BTreeMap<CallId, ToolCallContent>,
}

/// A call as the client knows it.
#[derive(Clone, Debug, Default)]
struct Call {
    description: CallDescription,
    /// The change that the user was shown for approval.
    approved: Vec<Change>,
    has_parameters: bool,
    is_over: bool,
}

impl Call {
    /// The changes of files, the most exact that is known.
    fn changes(&self) -> &[Change] {
        if self.approved.is_empty() {
            &self.description.changes
        } else {
            &self.approved
        }
    }
}

impl Updates {
    /// The updates of the run of this number. The session has `spent` that much before.
    pub(crate) fn new(run: u32, folder: PathBuf, window: Option<u64>, spent: Spent) -> Self {
        Self {
            run,
            folder,
            window,
            spent,
            iteration: 0,
            has_text: false,
            calls: BTreeMap::new(),
            live: BTreeMap::new(),
        }
    }

    /// Returns the number of the run.
    pub(crate) fn run(&self) -> u32 {
        self.run
    }

    /// Returns the updates of a message of the user.
    pub(crate) fn message(content: &[Content]) -> Vec<SessionUpdate> {
        let mut blocks = Vec::new();
        for content in content {
            if let Content::Text { text } = content {
                blocks.push(text_block(text.clone()));
            } else if let Content::Media(media) = content {
                blocks.push(medium(media));
            }
        }
        let chunks = blocks.into_iter().map(ContentChunk::new);
        chunks.map(SessionUpdate::UserMessageChunk).collect()
    }

    /// Returns the updates of the next event of the run.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "what the protocol has no update for is left out"
    )]
    pub(crate) fn event(&mut self, event: &Event, gadgets: &dyn Gadgets) -> Vec<SessionUpdate> {
        self.spent.add(event.kind.own_cost());
        // Those of subagents are details of the call that has started them.
        if !event.path.is_empty() {
            return Vec::new();
        }
        match &event.kind {
            EventKind::ModelCallStart { iteration, .. } => {
                (self.iteration, self.has_text) = (*iteration, false);
                Vec::new()
            }
            EventKind::Text { text } => {
                self.has_text = true;
                vec![self.text(text)]
            }
            EventKind::Reasoning { text } => vec![self.thought(text)],
            EventKind::ReplyWithdrawn { .. } => {
                vec![self.text("\n\n*The reply was cut off, and is written again.*\n\n")]
            }
            EventKind::ModelRetry {
                delay_ms,
                attempt,
                left,
                error,
                ..
            } => {
                let seconds = delay_ms.div_ceil(1000);
                let (next, all) = (attempt + 1, attempt + 1 + left);
                let why = &error.message;
                let text = format!("\nRetrying in {seconds} s, attempt {next} of {all}: {why}\n");
                vec![self.thought(&text)]
            }
            EventKind::Diagnostic(it) if it.code == DiagnosticCode::MediaOmitted => {
                vec![self.note(&it.message)]
            }
            EventKind::ModelCallEnd { usage, .. } => {
                let used = usage.input_tokens + usage.output_tokens;
                // Without counts, it is not known.
                let update = self.usage(used).filter(|_| used > 0);
                update.into_iter().collect()
            }
            EventKind::GadgetCallStart { call, start } => {
                self.begun(*call, &start.gadget_name, None, gadgets)
            }
            EventKind::GadgetCall { call, written } => {
                let parameters = match &written.parameters {
                    Parameters::Parsed(parameters) => Some(parameters),
                    Parameters::Malformed(_) => None,
                };
                self.begun(*call, &written.gadget_name, parameters, gadgets)
            }
            EventKind::ApprovalRequired { call, approval, .. } => {
                let name = &approval.gadget_name;
                let mut updates = self.begun(*call, name, Some(&approval.parameters), gadgets);
                let known = self.calls.entry(*call).or_default();
                known.approved = changes(approval.diff.as_deref().unwrap_or_default());
                let fields = ToolCallUpdateFields::new()
                    .status(ToolCallStatus::Pending)
                    .content(self.content(*call, notes(approval)));
                updates.push(self.update(*call, fields));
                updates
            }
            EventKind::GadgetStart {
                call,
                gadget_name,
                parameters,
                ..
            } => {
                let mut updates = self.begun(*call, gadget_name, Some(parameters), gadgets);
                let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
                updates.push(self.update(*call, fields));
                updates
            }
            EventKind::GadgetRestarted {
                call, gadget_name, ..
            } => {
                let mut updates = self.begun(*call, gadget_name, None, gadgets);
                let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
                updates.push(self.update(*call, fields));
                updates
            }
            EventKind::GadgetProgress { call, message, .. } => {
                let text = vec![content_block(text_block(clipped(message)))];
                let fields = ToolCallUpdateFields::new().content(self.content(*call, text));
                vec![self.update(*call, fields)]
            }
            EventKind::GadgetResult {
                call,
                gadget_name,
                answer,
                media,
                completes_run,
                ..
            } => {
                let mut updates = self.begun(*call, gadget_name, None, gadgets);
                match answer {
                    // It is the answer of the agent, which clients would fold with the call.
                    CallAnswer::Result(text) if *completes_run => {
                        let nothing = CallAnswer::Result(String::new());
                        updates.extend(self.ended(*call, &nothing, false, media));
                        let gap = if self.has_text { "\n\n" } else { "" };
                        if !text.is_empty() {
                            self.has_text = true;
                            updates.push(self.text(&format!("{gap}{text}")));
                        }
                    }
                    CallAnswer::Result(text) => {
                        let has_failed = gadgets.has_failed(gadget_name, text);
                        updates.extend(self.ended(*call, answer, has_failed, media));
                    }
                    CallAnswer::Error(_) => {
                        updates.extend(self.ended(*call, answer, true, media));
                    }
                }
                updates
            }
            EventKind::GadgetSkipped {
                call,
                gadget_name,
                error,
                ..
            } => {
                let mut updates = self.begun(*call, gadget_name, None, gadgets);
                let error = CallAnswer::Error(error.clone());
                updates.extend(self.ended(*call, &error, true, &[]));
                updates
            }
            _ => Vec::new(),
        }
    }

    /// Returns the update of a call of which something is seen while it runs. One that is not known yet shows it when it is.
    pub(crate) fn seen(&mut self, call: CallId, seen: Seen) -> Option<SessionUpdate> {
        let known = self.calls.get(&call);
        if known.is_some_and(|it| it.is_over) {
            return None;
        }
        let is_known = known.is_some();
        let content = match seen {
            Seen::Output(text) => content_block(text_block(fenced(&written(&text, output_line)))),
            Seen::Terminal(id) => ToolCallContent::Terminal(Terminal::new(id)),
        };
        self.live.insert(call, content);
        let fields = ToolCallUpdateFields::new().content(self.content(call, Vec::new()));
        is_known.then(|| self.update(call, fields))
    }

    /// Returns updates about the calls that were in flight when the program ended.
    pub(crate) fn interrupted(&mut self) -> Vec<SessionUpdate> {
        let open = self.calls.iter().filter(|(_, call)| !call.is_over);
        let open: Vec<CallId> = open.map(|(id, _)| *id).collect();
        let interrupted = CallAnswer::Error("It was interrupted.".to_owned());
        open.into_iter()
            .flat_map(|call| self.ended(call, &interrupted, true, &[]))
            .collect()
    }

    /// Returns a text of the agent about the run.
    pub(crate) fn text(&self, text: &str) -> SessionUpdate {
        SessionUpdate::AgentMessageChunk(self.chunk(text))
    }

    /// Returns a note of the agent for the user, apart from what the model says.
    pub(crate) fn note(&self, text: &str) -> SessionUpdate {
        self.text(&format!("*{}*\n\n", visible_line(text)))
    }

    /// Returns a call that needs approval, with everything that the user has to see. `path` is that of its event.
    pub(crate) fn shown(
        &self,
        event: &Event,
        approval: &Approval,
        gadgets: &dyn Gadgets,
    ) -> ToolCallUpdate {
        let call = approval.id.call;
        let described = described(&approval.gadget_name, Some(&approval.parameters), gadgets);
        let changes = changes(approval.diff.as_deref().unwrap_or_default());
        let mut content: Vec<ToolCallContent> = changes.iter().map(|it| self.diff(it)).collect();
        if changes.is_empty() {
            content.extend(parameters(approval, &described.title));
        }
        content.extend(notes(approval));
        let fields = self
            .fields(&described)
            .raw_input((*approval.parameters).clone())
            .status(ToolCallStatus::Pending)
            .content(content);
        let mut id = self.run.to_string();
        for ancestor in &event.path {
            id = format!("{id}.{}.{}", ancestor.call.0, ancestor.agent);
        }
        ToolCallUpdate::new(format!("{id}.{}", call.0), fields)
    }

    fn thought(&self, text: &str) -> SessionUpdate {
        SessionUpdate::AgentThoughtChunk(self.chunk(text))
    }

    fn chunk(&self, text: &str) -> ContentChunk {
        let id = format!("{}.{}", self.run, self.iteration);
        ContentChunk::new(text_block(text.to_owned())).message_id(MessageId::new(id))
    }

    fn usage(&self, used: u64) -> Option<SessionUpdate> {
        let mut usage = UsageUpdate::new(used, self.window?);
        if self.spent.is_known {
            usage = usage.cost(Cost::new(self.spent.dollars, "USD"));
        }
        Some(SessionUpdate::UsageUpdate(usage))
    }

    /// Announces a call, once, and its parameters, once.
    fn begun(
        &mut self,
        call: CallId,
        gadget: &str,
        parameters: Option<&Value>,
        gadgets: &dyn Gadgets,
    ) -> Vec<SessionUpdate> {
        let id = self.id(call);
        let known = self.calls.get(&call);
        let is_new = known.is_none();
        let has_news = parameters.is_some() && known.is_none_or(|known| !known.has_parameters);
        if !is_new && !has_news {
            return Vec::new();
        }
        let known = self.calls.entry(call).or_default();
        known.description = described(gadget, parameters, gadgets);
        known.has_parameters = parameters.is_some();
        let description = known.description.clone();
        let content = self.content(call, Vec::new());
        if is_new {
            let announced = ToolCall::new(id, description.title.clone())
                .kind(kind(description.kind))
                .status(ToolCallStatus::Pending)
                .name(gadget.to_owned())
                .locations(self.locations(&description))
                .content(content)
                .raw_input(parameters.cloned());
            return vec![SessionUpdate::ToolCall(announced)];
        }
        let fields = self
            .fields(&description)
            .content(content)
            .raw_input(parameters.cloned());
        vec![self.update(call, fields)]
    }

    /// The end of a call.
    fn ended(
        &mut self,
        call: CallId,
        answer: &CallAnswer,
        has_failed: bool,
        media: &[Media],
    ) -> Vec<SessionUpdate> {
        let text = match answer {
            CallAnswer::Result(text) => {
                // It has the whole output.
                self.live.remove(&call);
                text
            }
            CallAnswer::Error(text) => text,
        };
        let status = if has_failed {
            ToolCallStatus::Failed
        } else {
            ToolCallStatus::Completed
        };
        let known = self.calls.entry(call).or_default();
        known.is_over = true;
        let is_done = status == ToolCallStatus::Completed;
        let known_kind = known.description.kind;
        if is_done && known_kind == CallKind::Edit {
            // What it has done is more exact than its parameters.
            let done = changes(text);
            if !done.is_empty() {
                known.approved = done;
            }
        }
        let has_changes = !known.changes().is_empty();
        let steps = known.description.steps.clone();
        let mut content = Vec::new();
        let is_shown = is_done && has_changes;
        if !is_shown && !text.is_empty() {
            let text = clipped(text);
            let text = match known_kind {
                CallKind::Execute => fenced(&written(&text, uncolored)),
                CallKind::Read | CallKind::Search => fenced(&text),
                CallKind::Edit
                | CallKind::Delete
                | CallKind::Think
                | CallKind::Fetch
                | CallKind::Other => text,
            };
            content.push(content_block(text_block(text)));
        }
        content.extend(media.iter().map(|it| content_block(medium(it))));
        let fields = ToolCallUpdateFields::new()
            .status(status)
            .content(self.content(call, content));
        self.live.remove(&call);
        let mut updates = vec![self.update(call, fields)];
        if is_done && !steps.is_empty() {
            updates.push(plan(&steps));
        }
        updates
    }

    /// The content of a call: its changes, and what else there is to see.
    fn content(&self, call: CallId, more: Vec<ToolCallContent>) -> Vec<ToolCallContent> {
        let known = self.calls.get(&call);
        let changes = known.map(Call::changes).unwrap_or_default().iter();
        let changes = changes.map(|it| self.diff(it));
        let live = self.live.get(&call).cloned();
        changes.chain(live).chain(more).collect()
    }

    fn diff(&self, change: &Change) -> ToolCallContent {
        let path = self.folder.join(&change.path);
        let diff = Diff::new(path, change.after.clone()).old_text(change.before.clone());
        ToolCallContent::Diff(diff)
    }

    fn fields(&self, description: &CallDescription) -> ToolCallUpdateFields {
        ToolCallUpdateFields::new()
            .title(description.title.clone())
            .kind(kind(description.kind))
            .locations(self.locations(description))
    }

    fn locations(&self, description: &CallDescription) -> Vec<ToolCallLocation> {
        let files = description.files.iter();
        let locations =
            files.map(|(path, line)| ToolCallLocation::new(self.folder.join(path)).line(*line));
        locations.collect()
    }

    fn update(&self, call: CallId, fields: ToolCallUpdateFields) -> SessionUpdate {
        SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(self.id(call), fields))
    }

    fn id(&self, call: CallId) -> String {
        format!("{}.{}", self.run, call.0)
    }
}

/// The description of a call, with a title in one line.
fn described(gadget: &str, parameters: Option<&Value>, gadgets: &dyn Gadgets) -> CallDescription {
    let mut description = gadgets.describe(gadget, parameters);
    let title = &mut description.title;
    if title.trim().is_empty() {
        gadget.clone_into(title);
    }
    *title = one_line(title);
    description
}

fn kind(kind: CallKind) -> ToolKind {
    match kind {
        CallKind::Read => ToolKind::Read,
        CallKind::Edit => ToolKind::Edit,
        CallKind::Delete => ToolKind::Delete,
        CallKind::Search => ToolKind::Search,
        CallKind::Execute => ToolKind::Execute,
        CallKind::Think => ToolKind::Think,
        CallKind::Fetch => ToolKind::Fetch,
        CallKind::Other => ToolKind::Other,
    }
}

fn plan(steps: &[Step]) -> SessionUpdate {
    let entries = steps.iter().map(|step| {
        let status = match step.progress {
            StepProgress::Pending => PlanEntryStatus::Pending,
            StepProgress::InProgress => PlanEntryStatus::InProgress,
            StepProgress::Completed => PlanEntryStatus::Completed,
        };
        PlanEntry::new(step.text.clone(), PlanEntryPriority::Medium, status)
    });
    SessionUpdate::Plan(Plan::new(entries.collect()))
}

#[cfg(test)]
mod tests;
