//! Events of a run as updates of its session. Pure, so that a session that is loaded shows what it showed before.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, Cost, Diff, ImageContent, MessageId, Plan, PlanEntry,
    PlanEntryPriority, PlanEntryStatus, SessionUpdate, Terminal, TextContent, ToolCall,
    ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    ToolKind, UsageUpdate,
};
use gadgetry::proto::call::Parameters;
use gadgetry::proto::event::{Approval, CallAnswer};
use gadgetry::proto::id::CallId;
use gadgetry::proto::message::Content;
use gadgetry::proto::visible::{output_line, uncolored, visible, visible_line};
use gadgetry::{Event, EventKind, Media, MediaData, MediaKind};
use serde_json::Value;

use crate::diff::{Change, changes};
use crate::host::{CallDescription, CallKind, Step, StepProgress};
use crate::live::Seen;

/// Bytes of a result that the client is sent. The model reads all of it.
const RESULT: usize = 64 << 10;
/// Characters of a title.
const TITLE: usize = 200;

/// Describes a call, or a gadget if the parameters are not known yet.
pub(crate) type Describe<'d> = &'d dyn Fn(&str, Option<&Value>) -> CallDescription;

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
    pub(crate) fn event(&mut self, event: &Event, describe: Describe<'_>) -> Vec<SessionUpdate> {
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
                delay_ms, error, ..
            } => {
                let seconds = delay_ms.div_ceil(1000);
                vec![self.thought(&format!("\nRetrying in {seconds} s: {}\n", error.message))]
            }
            EventKind::ModelCallEnd { usage, .. } => {
                let used = usage.input_tokens + usage.output_tokens;
                // Without counts, it is not known.
                let update = self.usage(used).filter(|_| used > 0);
                update.into_iter().collect()
            }
            EventKind::GadgetCallStart { call, start } => {
                self.begun(*call, &start.gadget_name, None, describe)
            }
            EventKind::GadgetCall { call, written } => {
                let parameters = match &written.parameters {
                    Parameters::Parsed(parameters) => Some(parameters),
                    Parameters::Malformed(_) => None,
                };
                self.begun(*call, &written.gadget_name, parameters, describe)
            }
            EventKind::ApprovalRequired { call, approval, .. } => {
                let name = &approval.gadget_name;
                let mut updates = self.begun(*call, name, Some(&approval.parameters), describe);
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
                let mut updates = self.begun(*call, gadget_name, Some(parameters), describe);
                let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
                updates.push(self.update(*call, fields));
                updates
            }
            EventKind::GadgetRestarted {
                call, gadget_name, ..
            } => {
                let mut updates = self.begun(*call, gadget_name, None, describe);
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
                let mut updates = self.begun(*call, gadget_name, None, describe);
                match answer {
                    // It is the answer of the agent, which clients would fold with the call.
                    CallAnswer::Result(text) if *completes_run => {
                        let nothing = CallAnswer::Result(String::new());
                        updates.extend(self.ended(*call, &nothing, media));
                        let gap = if self.has_text { "\n\n" } else { "" };
                        if !text.is_empty() {
                            self.has_text = true;
                            updates.push(self.text(&format!("{gap}{text}")));
                        }
                    }
                    CallAnswer::Result(_) | CallAnswer::Error(_) => {
                        updates.extend(self.ended(*call, answer, media));
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
                let mut updates = self.begun(*call, gadget_name, None, describe);
                updates.extend(self.ended(*call, &CallAnswer::Error(error.clone()), &[]));
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
            .flat_map(|call| self.ended(call, &interrupted, &[]))
            .collect()
    }

    /// Returns a text of the agent about the run.
    pub(crate) fn text(&self, text: &str) -> SessionUpdate {
        SessionUpdate::AgentMessageChunk(self.chunk(text))
    }

    /// Returns a call that needs approval, with everything that the user has to see. `path` is that of its event.
    pub(crate) fn shown(
        &self,
        event: &Event,
        approval: &Approval,
        describe: Describe<'_>,
    ) -> ToolCallUpdate {
        let call = approval.id.call;
        let described = described(&approval.gadget_name, Some(&approval.parameters), describe);
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
        describe: Describe<'_>,
    ) -> Vec<SessionUpdate> {
        let id = self.id(call);
        let known = self.calls.get(&call);
        let is_new = known.is_none();
        let has_news = parameters.is_some() && known.is_none_or(|known| !known.has_parameters);
        if !is_new && !has_news {
            return Vec::new();
        }
        let known = self.calls.entry(call).or_default();
        known.description = described(gadget, parameters, describe);
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
    fn ended(&mut self, call: CallId, answer: &CallAnswer, media: &[Media]) -> Vec<SessionUpdate> {
        self.live.remove(&call);
        let known = self.calls.entry(call).or_default();
        known.is_over = true;
        let (status, text) = match answer {
            CallAnswer::Result(text) => (ToolCallStatus::Completed, text),
            CallAnswer::Error(text) => (ToolCallStatus::Failed, text),
        };
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
fn described(gadget: &str, parameters: Option<&Value>, describe: Describe<'_>) -> CallDescription {
    let mut description = describe(gadget, parameters);
    let title = &mut description.title;
    if title.trim().is_empty() {
        gadget.clone_into(title);
    }
    *title = one_line(title);
    description
}

/// One line of readable length, without control, bidirectional and invisible characters, which could make it look like another one.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let words = words.join(" ");
    let line = visible_line(&words);
    match line.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.into_owned(),
    }
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

/// The parameters of a call that has no changes to show, unless its title has all of them: not every client shows its input, and a
/// title is one line, and cut.
fn parameters(approval: &Approval, title: &str) -> Vec<ToolCallContent> {
    let subject = approval.subject.as_ref().map(|it| &*it.text);
    let mut texts = Vec::new();
    if let Some(subject) = subject.filter(|it| !title.contains(it)) {
        texts.push(visible(subject).into_owned());
    }
    let is_shown = |value: &Value| match value {
        Value::String(text) => Some(&**text) == subject || title.contains(text),
        Value::Number(number) => title.contains(&number.to_string()),
        Value::Null => true,
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    };
    let fields = approval.parameters.as_object();
    if !fields.is_some_and(|it| it.values().all(is_shown)) {
        let json = format!("{:#}", approval.parameters);
        texts.push(visible(&json).into_owned());
    }
    let blocks = texts.iter().map(|text| text_block(fenced(text)));
    blocks.map(content_block).collect()
}

/// Further facts for the user before a call is approved.
fn notes(approval: &Approval) -> Vec<ToolCallContent> {
    let mut lines = approval.notes.clone();
    if let Some(subject) = &approval.subject
        && let Some(folder) = &subject.folder
    {
        lines.push(format!("in {folder}"));
    }
    if let Some(server) = &approval.server {
        lines.push(format!("tool of the MCP server {server}"));
    }
    let text = lines.join("\n");
    let block = (!text.is_empty()).then(|| content_block(text_block(text)));
    block.into_iter().collect()
}

fn text_block(text: String) -> ContentBlock {
    ContentBlock::Text(TextContent::new(text))
}

fn content_block(block: ContentBlock) -> ToolCallContent {
    ToolCallContent::Content(agent_client_protocol_schema::v1::Content::new(block))
}

/// A medium, or its name if the protocol cannot carry it.
fn medium(media: &Media) -> ContentBlock {
    match (&media.kind, &media.data) {
        (MediaKind::Image, MediaData::Base64(data)) => {
            ContentBlock::Image(ImageContent::new(data.clone(), media.mime_type.clone()))
        }
        _ => text_block(media.caption()),
    }
}

fn clipped(text: &str) -> String {
    let end = text.floor_char_boundary(RESULT);
    if end == text.len() {
        return text.to_owned();
    }
    format!("{}\n… {} more bytes", &text[..end], text.len() - end)
}

/// The output of a command, of which each line is shown by `line`, with what is left of invisible characters written out.
fn written(output: &str, line: impl Fn(&str) -> Cow<'_, str>) -> String {
    let lines: Vec<Cow<'_, str>> = output.lines().map(line).collect();
    visible(&lines.join("\n")).into_owned()
}

/// A text that Markdown shows as it is.
fn fenced(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_that_shows_everything() {
        let check = |text: &str, expected: &str| assert_eq!(one_line(text), expected);
        check("ls", "ls");
        check("ls\n\n   \t; rm x", "ls ; rm x");
        check("echo \u{1b}[2J\u{202e}x", "echo \\u{1b}[2J\\u{202e}x");
        check(&"x".repeat(300), &format!("{}…", "x".repeat(200)));
    }
}
