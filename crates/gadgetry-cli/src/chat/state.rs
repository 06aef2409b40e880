//! The state of the conversation: messages in, effects out, rows of the screen. Nothing here waits or reads a clock.

mod answers;
mod call;
mod dialog;
mod folded;
mod keys;
mod paged;
mod pager;
mod progress;
mod run;
mod transcript;
mod view;

use std::collections::VecDeque;
use std::time::Duration;

use crossterm::event::KeyEvent;
use gadgetry::proto::event::Event;
use ratatui_core::text::{Line, Span};

use crate::approvals::{Approval, Verdict};
use crate::chat::commands::Entered;
use crate::chat::editor::{Editor, History, Names, Typed};
use crate::chat::report::{Report, Tone};
use crate::chat::text::{BOLD, DIM, clean};
use crate::modes::Mode;
use crate::usage_totals::UsageTotals;

use dialog::Dialog;
pub(crate) use dialog::RequestId;
use folded::Folded;
use pager::Pager;
use run::{Run, UserCommand};
use transcript::{Item, Transcript};

/// Event that changes the state.
#[derive(Debug)]
pub(crate) enum Message {
    /// A key was pressed.
    Key(KeyEvent),
    /// Characters were typed, perhaps faster than they are shown.
    Text(String),
    /// A text was pasted.
    Paste(String),
    /// Time has passed.
    Tick,
    /// What was said before that, each with whether the user has said it.
    Past(Vec<(bool, String)>),
    /// The last exchanges of a session that is continued.
    Replayed(Vec<Said>),
    /// A run begins about this message.
    Began(String),
    /// An event of the run.
    Run(Box<Event>),
    /// The run has ended. The failure says why, unless it has an answer.
    Ended(Result<(), Failure>),
    /// The end of what the command of this call has written so far.
    Output(String, String),
    /// A message was added to the run, which has not read it.
    Added(String),
    /// The run has read it.
    Read(String),
    /// It was taken back.
    TakenBack(String),
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
    /// Other options are in use.
    Facts(Facts),
    /// The command of the user has ended.
    ShellEnded(Vec<Report>),
    /// A report for the user.
    Report(Report),
    /// A message to change and to send, unless another one is being typed.
    Draft(String),
}

/// A part of a conversation that is shown again.
#[derive(Debug)]
pub(crate) enum Said {
    /// A message of the user.
    Prompt(String),
    /// A message that was added to a run, when it has read it.
    Added(String),
    /// An event of a run.
    Event(Box<Event>),
    /// The answer of a run whose events cannot be read.
    Answer(String),
    /// The end of a run, and the reason if it has no answer.
    Ended(Option<String>),
}

/// Reason that a run has no answer, as text for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A request to the model has failed, and another one may succeed.
    Model(String),
    /// The run has failed for another reason.
    Run(String),
}

/// Effect to perform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Begin a run about this message.
    Send(String),
    /// Add this message to the run.
    Inject(String),
    /// Take this message back from the run.
    Retract(String),
    /// Store this text in the history.
    Remember(Typed),
    /// Cancel the gadgets in flight; the run continues.
    CancelGadgets,
    /// Cancel the run.
    CancelRun,
    /// Answer a question; `None` means no answer.
    Answer(RequestId, Option<String>),
    /// Decide about a call.
    Decide(RequestId, Verdict),
    /// Run this command line of the user.
    Shell(String),
    /// End the command line of the user.
    CancelShell,
    /// Use this mode of approval.
    Mode(Mode),
    /// Carry out a command.
    Perform(Entered),
    /// List the files of the working directory.
    ListFiles,
    /// List the files in this folder before the others.
    ListFolder(String),
    /// Look for the models that can be used.
    ListModels,
    /// List the sessions of this folder.
    ListSessions,
    /// Take the image in the clipboard.
    PasteImage,
    /// Stop the process until the user continues it.
    Suspend,
    /// Leave the conversation.
    Leave,
}

/// The reason that the conversation waits for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// A question is open.
    Decision,
    /// No run is in progress.
    Message,
}

impl Waiting {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Decision => "a question waits for you",
            Self::Message => "the run has ended",
        }
    }
}

/// Facts for the status line and for completions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Facts {
    /// The name of the model, as typed.
    pub(crate) name: String,
    /// Tokens of a whole conversation, if known.
    pub(crate) window: Option<u64>,
    /// Whether the model reads images.
    pub(crate) reads_images: bool,
    /// The folder and its branch.
    pub(crate) place: String,
    /// URL of the model's server, if the user has chosen it.
    pub(crate) server: Option<String>,
    /// Description of how calls are approved.
    pub(crate) mode: String,
    /// Mode of approval.
    pub(crate) approval: Mode,
    pub(crate) names: Names,
}

/// The state of the conversation.
#[derive(Debug)]
pub(crate) struct App {
    editor: Editor,
    transcript: Transcript,
    run: Option<Run>,
    /// The command of the user that runs.
    shell: Option<UserCommand>,
    /// Messages that were added to the run, which has not read them.
    added: Vec<String>,
    /// Whether the text that is typed was such a message, or several.
    is_taken_back: bool,
    /// Messages that were typed when the run was about to end.
    queue: VecDeque<String>,
    /// One of these that begins a run now.
    resent: Option<String>,
    /// Reasoning and results that a key prints.
    folded: Folded,
    /// The whole conversation, if it is on the screen.
    pager: Option<Pager>,
    /// Changes of files that were approved, by gadget and file: the user has seen them.
    seen: Vec<(String, String)>,
    /// Approvals and questions; the first one is open.
    dialogs: VecDeque<Dialog>,
    /// Whether the run has ended with a plan.
    has_plan: bool,
    totals: UsageTotals,
    /// Tokens of the latest request and its reply.
    context: u64,
    facts: Facts,
    /// Columns and rows of the screen.
    screen: (u16, u16),
    /// The time of the latest message.
    now: Duration,
    /// The time of the latest key.
    last_key: Duration,
    /// When Ctrl-C was pressed, if it leaves when it is pressed again.
    leaving: Option<Duration>,
}

impl App {
    /// A conversation in which nothing was said.
    pub(crate) fn new(facts: Facts, history: History) -> Self {
        let mut editor = Editor::new(history);
        editor.set_names(facts.names.clone());
        let mut transcript = Transcript::default();
        if !facts.place.is_empty() {
            let server = facts.server.as_deref().map(server);
            let lines = [start(&facts.place)].into_iter().chain(server);
            transcript.print(lines.chain([Line::default()]).collect());
        }
        Self {
            editor,
            transcript,
            run: None,
            shell: None,
            added: Vec::new(),
            is_taken_back: false,
            queue: VecDeque::new(),
            resent: None,
            folded: Folded::default(),
            pager: None,
            seen: Vec::new(),
            dialogs: VecDeque::new(),
            has_plan: false,
            totals: UsageTotals::default(),
            context: 0,
            facts,
            screen: (80, 24),
            now: Duration::ZERO,
            last_key: Duration::ZERO,
            leaving: None,
        }
    }

    /// Handles what happened at a time since the start.
    pub(crate) fn update(&mut self, now: Duration, message: Message) -> Vec<Effect> {
        self.now = self.now.max(now);
        match message {
            Message::Key(key) => return self.key(key),
            Message::Text(text) => return self.text(&text),
            Message::Paste(text) => return self.paste(&text),
            Message::Tick => {}
            Message::Past(said) => {
                for (is_user, text) in said {
                    self.transcript.add_past(is_user, text);
                }
            }
            Message::Replayed(said) => self.replay(said),
            Message::Began(prompt) => self.begin(&prompt),
            Message::Run(event) => self.event(&event),
            Message::Ended(result) => return self.end(result),
            Message::Output(call, end) => self.output(&call, &end),
            Message::Added(text) => self.added.push(text),
            Message::Read(text) => {
                self.remove_added(&text);
                self.transcript.add(Item::Prompt(text, true));
            }
            Message::TakenBack(text) => {
                self.remove_added(&text);
                self.is_taken_back |= self.editor.is_empty();
                self.editor.take_back(&text);
            }
            Message::NotInjected(text) => {
                self.remove_added(&text);
                self.queue.push_back(text);
            }
            Message::Approval(id, approval) => self.open(Dialog::approval(id, approval)),
            Message::Question(id, question) => self.open(Dialog::question(id, &question)),
            Message::Withdrawn(id) => self.close(id),
            Message::Files(files) => self.editor.add_files(files),
            Message::Facts(facts) => {
                self.editor.set_names(facts.names.clone());
                self.facts = facts;
            }
            Message::ShellEnded(reports) => {
                self.shell = None;
                for report in reports {
                    self.transcript.add(Item::Report(report));
                }
            }
            Message::Report(report) => self.transcript.add(Item::Report(report)),
            Message::Draft(text) => self.editor.propose(&text),
        }
        Vec::new()
    }

    /// Takes the lines that are complete. They are printed above the live rows and belong to the terminal then.
    pub(crate) fn take_settled(&mut self, width: u16) -> Vec<Line<'static>> {
        self.transcript.take_settled(width)
    }

    /// Returns whether the rows change with time alone.
    pub(crate) fn is_moving(&self) -> bool {
        self.run.is_some() || self.shell.is_some() || !self.dialogs.is_empty()
    }

    /// Returns whether completions or a search are shown.
    pub(crate) fn has_popup(&self) -> bool {
        self.editor.has_popup()
    }

    /// Returns what the conversation waits for, unless a run is in progress that needs nothing.
    pub(crate) fn waits_for(&self) -> Option<Waiting> {
        if !self.dialogs.is_empty() {
            Some(Waiting::Decision)
        } else if self.run.is_none() {
            Some(Waiting::Message)
        } else {
            None
        }
    }

    /// Settles what is left, because the conversation is over.
    pub(crate) fn finish(&mut self) {
        self.transcript.end_run();
        self.run = None;
        self.dialogs.clear();
    }

    fn remove_added(&mut self, text: &str) {
        if let Some(index) = self.added.iter().position(|it| it == text) {
            self.added.remove(index);
        }
    }

    fn note(&mut self, tone: Tone, text: impl Into<String>) {
        let report = Report::Note(tone, text.into());
        self.transcript.add(Item::Report(report));
    }
}

/// The first line of a conversation. The status line has the model and the mode.
fn start(place: &str) -> Line<'static> {
    let name = Span::styled("gadgetry", BOLD);
    let version = env!("CARGO_PKG_VERSION");
    let rest = format!(" {version} in {}, /help for commands", clean(place));
    Line::from(vec![name, Span::styled(rest, DIM)])
}

/// The line about a server that the user has chosen.
fn server(url: &str) -> Line<'static> {
    Line::styled(format!("the model is at {}", clean(url)), DIM)
}

#[cfg(test)]
mod screens;
#[cfg(test)]
mod tests;
