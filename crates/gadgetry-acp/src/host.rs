//! The host of an agent: what makes its sessions.

use std::path::{Path, PathBuf};

use gadgetry::approval::Approval;
use gadgetry::proto::message::Content;
use gadgetry::{AgentRun, Event, Finished};
use serde_json::Value;

use crate::client::Client;
use crate::diff::Change;
use crate::error::HostError;
use crate::prompt::Prompt;

/// Facts about the agent that do not change while it is served.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "abilities, of which an agent has any"
)]
pub struct About {
    /// The name of the program.
    pub name: String,
    /// The name for users.
    pub title: String,
    /// The version of the program.
    pub version: String,
    /// Ways to log in. Clients list agents only if they have one.
    pub logins: Vec<Login>,
    /// Whether sessions are kept: they are listed, loaded and resumed.
    pub keeps_sessions: bool,
    /// Whether sessions that are kept can be deleted.
    pub deletes_sessions: bool,
    /// Whether sessions that are kept can be continued in another one, by a method that the protocol has not declared stable.
    pub forks_sessions: bool,
    /// Whether the agent takes images.
    pub takes_images: bool,
}

impl About {
    /// An agent that keeps no sessions, and takes text only.
    ///
    /// ```
    /// let about = gadgetry_acp::About::new("helper", "1.0.0");
    /// assert!(!about.keeps_sessions);
    /// ```
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            title: name.clone(),
            name,
            version: version.into(),
            ..Self::default()
        }
    }
}

/// A way to log in, which the agent carries out itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Login {
    /// The id.
    pub id: String,
    /// The name for users.
    pub name: String,
    /// Instructions for users.
    pub description: String,
}

impl Login {
    /// A way to log in.
    ///
    /// ```
    /// let login = gadgetry_acp::Login::new("keys", "API keys", "Set a key in the environment");
    /// assert_eq!(login.id, "keys");
    /// ```
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            description: description.into(),
        }
    }
}

/// Folder, servers and user of a session, from the client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Setup {
    /// The folder that the session works in, an absolute path.
    pub folder: PathBuf,
    /// MCP servers whose tools the agent may call.
    pub servers: Vec<ToolServer>,
    /// The user of the session.
    pub client: Client,
}

impl Setup {
    pub(crate) fn new(folder: PathBuf, servers: Vec<ToolServer>, client: Client) -> Self {
        Self {
            folder,
            servers,
            client,
        }
    }
}

/// An MCP server of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolServer {
    /// The name of the server.
    pub name: String,
    /// The way to reach it.
    pub transport: ToolTransport,
}

impl ToolServer {
    pub(crate) fn new(name: String, transport: ToolTransport) -> Self {
        Self { name, transport }
    }
}

/// The way to reach an MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolTransport {
    /// A program to start.
    Stdio {
        /// The program.
        program: PathBuf,
        /// The arguments of the program.
        arguments: Vec<String>,
        /// Variables of its environment, by name.
        variables: Vec<(String, String)>,
    },
    /// A URL.
    Http {
        /// The URL.
        url: String,
        /// Headers of each request, by name.
        headers: Vec<(String, String)>,
    },
}

/// A session that can be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionEntry {
    /// The id.
    pub id: String,
    /// The folder that it works in.
    pub folder: PathBuf,
    /// A title for users, such as the beginning of the first prompt.
    pub title: Option<String>,
    /// The time of the last change, in seconds since 1970.
    pub updated: Option<u64>,
}

impl SessionEntry {
    /// A session without a title.
    ///
    /// ```
    /// let entry = gadgetry_acp::SessionEntry::new("calm-otter", "/work");
    /// assert_eq!(entry.title, None);
    /// ```
    pub fn new(id: impl Into<String>, folder: impl Into<PathBuf>) -> Self {
        Self {
            id: id.into(),
            folder: folder.into(),
            title: None,
            updated: None,
        }
    }
}

/// One of several values, of a mode or an option.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// The id.
    pub id: String,
    /// The name for users.
    pub name: String,
    /// A description for users.
    pub description: Option<String>,
}

impl Choice {
    /// A value without a description.
    ///
    /// ```
    /// use gadgetry_acp::Choice;
    /// let ask = Choice::new("ask", "Ask").described("Asks before each change");
    /// assert_eq!(ask.description.as_deref(), Some("Asks before each change"));
    /// ```
    pub fn new(id: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            description: None,
        }
    }

    /// Adds a description.
    #[must_use]
    pub fn described(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

/// The kind of an option, for clients that show some in a place of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionKind {
    /// The mode of the session.
    Mode,
    /// The model.
    Model,
    /// The effort that the model spends on reasoning.
    Reasoning,
    /// An option of any other kind.
    Other,
}

/// An option of a session that the user can change, with the values that it admits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionOption {
    /// The kind.
    pub kind: OptionKind,
    /// The option.
    pub option: Choice,
    /// The id of its value.
    pub current: String,
    /// The values that it admits.
    pub choices: Vec<Choice>,
}

impl SessionOption {
    /// An option with this value.
    ///
    /// ```
    /// use gadgetry_acp::{Choice, OptionKind, SessionOption};
    /// let models = vec![Choice::new("haiku", "Haiku"), Choice::new("opus", "Opus")];
    /// let model = SessionOption::new(OptionKind::Model, Choice::new("model", "Model"), "haiku", models);
    /// assert_eq!(model.current, "haiku");
    /// ```
    pub fn new(
        kind: OptionKind,
        option: Choice,
        current: impl Into<String>,
        choices: Vec<Choice>,
    ) -> Self {
        Self {
            kind,
            option,
            current: current.into(),
            choices,
        }
    }
}

/// A slash command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlashCommand {
    /// The name, without the slash.
    pub name: String,
    /// A description for users.
    pub description: String,
    /// A hint about its arguments, if it takes any.
    pub hint: Option<String>,
}

impl SlashCommand {
    /// A command without arguments.
    ///
    /// ```
    /// let review = gadgetry_acp::SlashCommand::new("review", "Reviews the last commit");
    /// assert_eq!(review.hint, None);
    /// ```
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            hint: None,
        }
    }
}

/// Options and commands for the user of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Offer {
    /// Options. One of the kind [`OptionKind::Mode`] is also offered as the modes of the session.
    pub options: Vec<SessionOption>,
    /// Slash commands.
    pub commands: Vec<SlashCommand>,
    /// The size of the model's context window in tokens, if it is known.
    pub window: Option<u64>,
}

/// The kind of a call, which clients show as an icon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallKind {
    /// Reads a file.
    Read,
    /// Changes a file.
    Edit,
    /// Deletes a file.
    Delete,
    /// Searches files or the web.
    Search,
    /// Runs a command.
    Execute,
    /// Plans the work, without effects.
    Think,
    /// Fetches a page.
    Fetch,
    /// A call of any other kind.
    #[default]
    Other,
}

/// A call for the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallDescription {
    /// The kind.
    pub kind: CallKind,
    /// A title, such as the command line.
    pub title: String,
    /// The files that it is about, each with a line from 1 if one is known: absolute, or relative to the folder of the session.
    pub files: Vec<(String, Option<u32>)>,
    /// The change that it makes, as far as its parameters say.
    pub changes: Vec<Change>,
    /// The steps of a plan, if the call shows one.
    pub steps: Vec<Step>,
}

impl CallDescription {
    /// A call of this kind.
    ///
    /// ```
    /// use gadgetry_acp::{CallDescription, CallKind};
    /// let call = CallDescription::new(CallKind::Execute, "cargo test");
    /// assert!(call.files.is_empty());
    /// ```
    pub fn new(kind: CallKind, title: impl Into<String>) -> Self {
        Self {
            kind,
            title: title.into(),
            ..Self::default()
        }
    }
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// The step.
    pub text: String,
    /// The progress of the step.
    pub progress: StepProgress,
}

impl Step {
    /// A step of a plan.
    ///
    /// ```
    /// use gadgetry_acp::{Step, StepProgress};
    /// let step = Step::new("Run all tests", StepProgress::Pending);
    /// assert_eq!(step.text, "Run all tests");
    /// ```
    pub fn new(text: impl Into<String>, progress: StepProgress) -> Self {
        Self {
            text: text.into(),
            progress,
        }
    }
}

/// Progress of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepProgress {
    /// The step has not begun.
    Pending,
    /// The agent works on the step.
    InProgress,
    /// The step is complete.
    Completed,
}

/// A run that answers a prompt.
#[derive(Debug)]
#[non_exhaustive]
pub struct Turn {
    /// The number of the run in its session, by which its calls are named.
    pub number: u32,
    /// The run, which nothing has consumed.
    pub run: AgentRun<'static>,
    /// Lines for the user before the reply. They are not shown again when the session is loaded.
    pub notes: Vec<String>,
}

impl Turn {
    /// A run of a session.
    ///
    /// ```
    /// # let model: gadgetry::ScriptedModel = r#"{"text": "4"}"#.parse()?;
    /// let agent = gadgetry::Agent::builder().model(model).build()?;
    /// let turn = gadgetry_acp::Turn::new(1, agent.ask("What is 2+2?"));
    /// assert_eq!(turn.number, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(number: u32, run: AgentRun<'static>) -> Self {
        Self {
            number,
            run,
            notes: Vec::new(),
        }
    }

    /// Adds lines for the user before the reply.
    #[must_use]
    pub fn with_notes(mut self, notes: Vec<String>) -> Self {
        self.notes = notes;
        self
    }
}

/// A message or an event of a run of a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Past {
    /// A message of the user.
    Message(Vec<Content>),
    /// An event of the run.
    Event(Box<Event>),
    /// Why the rest of the run cannot be shown, as text for the user.
    Problem(String),
}

/// Makes the sessions of an agent.
pub trait Host: Send + Sync + 'static {
    /// A session.
    type Session: HostSession;

    /// Returns what clients are shown of the agent.
    fn about(&self) -> About;

    /// Checks whether the agent can be used, after the user has logged in.
    fn log_in(&self, login: &str) -> impl Future<Output = Result<(), HostError>> + Send;

    /// Makes a session.
    ///
    /// Cancel safety: the future is dropped when the client leaves.
    fn create(&self, setup: Setup)
    -> impl Future<Output = Result<Self::Session, HostError>> + Send;

    /// Opens a session that is kept.
    ///
    /// Cancel safety: the future is dropped when the client leaves.
    fn open(
        &self,
        id: &str,
        setup: Setup,
    ) -> impl Future<Output = Result<Self::Session, HostError>> + Send;

    /// Makes a session that continues the conversation of another one, which stays as it is. By default it fails, see
    /// [`About::forks_sessions`].
    ///
    /// Cancel safety: the future is dropped when the client leaves.
    fn fork(
        &self,
        id: &str,
        setup: Setup,
    ) -> impl Future<Output = Result<Self::Session, HostError>> + Send {
        let error = HostError::Failed(format!("this agent does not fork sessions, such as {id}"));
        drop(setup);
        async move { Err(error) }
    }

    /// Lists sessions that are kept, the latest first; those of one folder if one is given. The first `skip` of them are left out,
    /// and at most `take` are listed.
    fn list(
        &self,
        folder: Option<&Path>,
        skip: usize,
        take: usize,
    ) -> impl Future<Output = Result<Vec<SessionEntry>, HostError>> + Send;

    /// Deletes a session that is not open. One that is not there is deleted already. By default it fails, see
    /// [`About::deletes_sessions`].
    fn delete(&self, id: &str) -> impl Future<Output = Result<(), HostError>> + Send {
        let error = HostError::Failed(format!("this agent does not delete sessions, such as {id}"));
        async move { Err(error) }
    }
}

/// A session: a conversation of the user with an agent.
pub trait HostSession: Send + 'static {
    /// Returns the id.
    fn id(&self) -> &str;

    /// Returns what the user can choose from now.
    fn offer(&self) -> Offer;

    /// Describes a call, or a gadget if the parameters are not known yet.
    fn describe(&self, gadget: &str, parameters: Option<&Value>) -> CallDescription;

    /// Returns whether a result reports a failure, such as that of a command that ended with status 3. An error is a failure in any
    /// case.
    fn has_failed(&self, gadget: &str, result: &str) -> bool {
        let _ = (gadget, result);
        false
    }

    /// Returns whether a call that needs approval runs without asking the user, because of the mode.
    fn approves(&self, approval: &Approval) -> bool {
        let _ = approval;
        false
    }

    /// Returns the numbers of the runs so far, in order.
    fn runs(&self) -> Vec<u32>;

    /// Reads what happened in a run.
    fn past(&mut self, run: u32) -> impl Future<Output = Result<Vec<Past>, HostError>> + Send;

    /// Begins a run about a prompt. The run before has ended.
    fn prompt(&mut self, prompt: Prompt) -> impl Future<Output = Result<Turn, HostError>> + Send;

    /// Takes the end of the run: the next one continues its conversation.
    fn ended(&mut self, finished: &Finished);

    /// Sets an option to one of its values. A run in progress continues as it began, unless the host says otherwise.
    fn set(
        &mut self,
        option: &str,
        value: &str,
    ) -> impl Future<Output = Result<(), HostError>> + Send;
}
