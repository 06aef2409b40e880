//! The state of the conversation: messages in, effects out, rows of the screen. Nothing here waits or reads a clock.

mod call;
mod dialog;
mod keys;
mod run;
mod transcript;
mod view;

use std::collections::VecDeque;
use std::time::Duration;

use crossterm::event::KeyEvent;
use gadgetry::proto::event::Event;
use ratatui_core::text::Line;

use crate::chat::editor::{Editor, History};
use crate::usage_totals::UsageTotals;

use dialog::Dialog;
pub(crate) use dialog::{Approval, Preview, Verdict};
use run::Run;
pub(crate) use transcript::Tone;
use transcript::{Item, Transcript};

/// The number of a question or an approval.
pub(crate) type RequestId = u64;

/// What happened.
#[derive(Debug)]
pub(crate) enum Message {
    /// A key was pressed.
    Key(KeyEvent),
    /// A text was pasted.
    Paste(String),
    /// Time has passed.
    Tick,
    /// What was said last in a session that is continued.
    Replayed(String, String),
    /// A run begins about this message.
    Began(String),
    /// An event of the run.
    Run(Box<Event>),
    /// The run has ended. The error says why, unless it has an answer.
    Ended(Result<(), String>),
    /// A text was added to the run too late, so it begins another one.
    NotInjected(String),
    /// A call needs approval.
    Approval(RequestId, Approval),
    /// A gadget asks the user.
    Question(RequestId, String),
    /// An approval or an answer is not needed any more.
    Withdrawn(RequestId),
    /// The files of the working directory.
    Files(Vec<String>),
    /// Another model is in use.
    Model(ModelFacts),
    /// Something to show.
    Note(Tone, String),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Begin a run about this message.
    Send(String),
    /// Add this message to the run.
    Inject(String),
    /// Store this text in the history.
    Remember(String),
    /// Cancel the gadgets in flight; the run continues.
    CancelGadgets,
    /// Cancel the run.
    CancelRun,
    /// Answer a question; `None` means no answer.
    Answer(RequestId, Option<String>),
    /// Decide about a call.
    Decide(RequestId, Verdict),
    /// Use another model.
    UseModel(String),
    /// List the gadgets.
    ListTools,
    /// Shorten the conversation before the next request.
    Compact,
    /// Write the conversation to a file.
    Export(String),
    /// List the files of the working directory.
    ListFiles,
    /// Stop the process until the user continues it.
    Suspend,
    /// Leave the conversation.
    Leave,
}

/// What the status line says about the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ModelFacts {
    /// Its name, as typed.
    pub(crate) name: String,
    /// Tokens of a whole conversation, if known.
    pub(crate) window: Option<u64>,
}

/// The state of the conversation.
#[derive(Debug)]
pub(crate) struct App {
    editor: Editor,
    transcript: Transcript,
    run: Option<Run>,
    /// Messages that were typed when the run was about to end.
    queue: VecDeque<String>,
    /// One of these that begins a run now.
    resent: Option<String>,
    /// Approvals and questions; the first one is open.
    dialogs: VecDeque<Dialog>,
    totals: UsageTotals,
    /// Tokens of the latest request and its reply.
    context: u64,
    model: ModelFacts,
    /// How calls are approved.
    mode: String,
    /// The time of the latest message.
    now: Duration,
    /// The time of the latest key.
    last_key: Duration,
    /// When the latest run ended by itself.
    ended: Option<Duration>,
}

impl App {
    /// A conversation with this model, in which nothing was said. `mode` says how calls are approved.
    pub(crate) fn new(model: ModelFacts, mode: String, history: History) -> Self {
        Self {
            editor: Editor::new(history),
            transcript: Transcript::default(),
            run: None,
            queue: VecDeque::new(),
            resent: None,
            dialogs: VecDeque::new(),
            totals: UsageTotals::default(),
            context: 0,
            model,
            mode,
            now: Duration::ZERO,
            last_key: Duration::ZERO,
            ended: None,
        }
    }

    /// Handles what happened at a time since the start.
    pub(crate) fn update(&mut self, now: Duration, message: Message) -> Vec<Effect> {
        self.now = self.now.max(now);
        match message {
            Message::Key(key) => return self.key(key),
            Message::Paste(text) => return self.paste(&text),
            Message::Tick => {}
            Message::Replayed(prompt, answer) => {
                self.transcript.add(Item::Prompt(prompt, false));
                self.transcript.text(&answer);
                self.transcript.end_reply();
            }
            Message::Began(prompt) => self.begin(&prompt),
            Message::Run(event) => self.event(&event),
            Message::Ended(result) => return self.end(result),
            Message::NotInjected(text) => self.queue.push_back(text),
            Message::Approval(id, approval) => self.open(Dialog::approval(id, approval)),
            Message::Question(id, question) => self.open(Dialog::question(id, question)),
            Message::Withdrawn(id) => self.close(id),
            Message::Files(files) => self.editor.set_files(files),
            Message::Model(model) => self.model = model,
            Message::Note(tone, text) => self.note(tone, text),
        }
        Vec::new()
    }

    /// Takes the lines that are complete. They are printed above the live rows and belong to the terminal then.
    pub(crate) fn take_settled(&mut self, width: u16) -> Vec<Line<'static>> {
        self.transcript.take_settled(width)
    }

    /// Whether the rows change with time alone.
    pub(crate) fn is_moving(&self) -> bool {
        self.run.is_some() || !self.dialogs.is_empty()
    }

    /// Settles what is left, because the conversation is over.
    pub(crate) fn finish(&mut self) {
        self.transcript.end_run();
        self.run = None;
        self.dialogs.clear();
    }

    fn note(&mut self, tone: Tone, text: impl Into<String>) {
        self.transcript.add(Item::Note(tone, text.into()));
    }
}

#[cfg(test)]
mod tests;
