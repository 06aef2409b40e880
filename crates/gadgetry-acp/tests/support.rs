//! An agent with a scripted model, and a client that writes and reads lines.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::pending;
use gadgetry::approval::{Approval, Approvals, Rules};
use gadgetry::terminal::TerminalCommand;
use gadgetry::{
    Agent, CallPreview, Conversation, Event, ExecutionContext, Finished, Gadget, GadgetError,
    GadgetInfo, Permission, ScriptedModel, Subject,
};
use gadgetry_acp::{
    About, CallDescription, CallKind, Choice, Client, Host, HostError, HostSession, Login, Offer,
    OptionKind, Past, Prompt, ServeError, SessionEntry, SessionOption, Setup, SlashCommand, Step,
    StepProgress, Turn, serve,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};
use tokio::io::{ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// Longer than anything takes on a machine that is busy.
pub(crate) const LONG: Duration = Duration::from_mins(2);

/// Makes a model's replies of a script, a JSON line each.
pub(crate) fn script(replies: &[Value]) -> String {
    let lines: Vec<String> = replies.iter().map(Value::to_string).collect();
    lines.join("\n")
}

/// A call as a model writes it.
pub(crate) fn call(gadget: &str, arguments: &[(&str, &str)]) -> String {
    let arguments = arguments.iter();
    let arguments = arguments.map(|(name, value)| format!("!!!ARG:{name}\n{value}\n"));
    let arguments: String = arguments.collect();
    format!("!!!GADGET_START:{gadget}\n{arguments}!!!GADGET_END\n")
}

/// Writes nothing, and needs approval.
struct Write;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct WriteParams {
    path: String,
    content: String,
}

impl Gadget for Write {
    type Params = WriteParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new("Write", "Writes a file")
    }

    fn permission(&self) -> Permission {
        Permission::Ask
    }

    async fn preview(&self, params: WriteParams) -> Result<CallPreview, GadgetError> {
        let WriteParams { path, content } = params;
        let diff = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{content}\n");
        Ok(CallPreview::of(Subject::Path(path)).diff(diff))
    }

    async fn execute(
        &self,
        params: WriteParams,
        _: ExecutionContext,
    ) -> Result<String, GadgetError> {
        Ok(format!("written to {}", params.path))
    }
}

/// Runs nothing, and needs approval.
struct Run;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct RunParams {
    command: String,
}

impl Gadget for Run {
    type Params = RunParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new("Run", "Runs a command")
    }

    fn permission(&self) -> Permission {
        Permission::Ask
    }

    async fn preview(&self, params: RunParams) -> Result<CallPreview, GadgetError> {
        Ok(CallPreview::of(Subject::command(params.command)))
    }

    async fn execute(&self, _: RunParams, _: ExecutionContext) -> Result<String, GadgetError> {
        Ok("run".to_owned())
    }
}

/// Notes nothing, and needs approval.
struct Note;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NoteParams {
    text: String,
    list: Vec<String>,
}

impl Gadget for Note {
    type Params = NoteParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new("Note", "Notes a text")
    }

    fn permission(&self) -> Permission {
        Permission::Ask
    }

    async fn execute(
        &self,
        params: NoteParams,
        _: ExecutionContext,
    ) -> Result<String, GadgetError> {
        Ok(format!("{} {}", params.text, params.list.len()))
    }
}

/// Never ends by itself, and reports when it begins and when it is cancelled.
struct Wait(mpsc::UnboundedSender<&'static str>);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct WaitParams {}

impl Gadget for Wait {
    type Params = WaitParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new("Wait", "Waits")
    }

    async fn execute(
        &self,
        _: WaitParams,
        context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        struct Dropped(mpsc::UnboundedSender<&'static str>);
        impl Drop for Dropped {
            fn drop(&mut self) {
                let _ = self.0.send("ended");
            }
        }
        let _dropped = Dropped(self.0.clone());
        let _ = self.0.send("begun");
        context.progress("half of it");
        pending().await
    }
}

/// Shows output, and then runs a command in a terminal of the client.
struct Shell(Client);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ShellParams {
    line: String,
    seconds: u64,
}

impl Gadget for Shell {
    type Params = ShellParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new("Shell", "Runs a command")
    }

    async fn execute(
        &self,
        params: ShellParams,
        context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        let key = context.idempotency_key();
        self.0
            .show_output(&key, "1%\r\x1b[32m2%\x1b[0m\n".to_owned());
        let command = TerminalCommand {
            program: "sh".into(),
            arguments: vec!["-c".to_owned(), params.line],
            folder: "/work".into(),
            timeout: Duration::from_secs(params.seconds),
            output: 1000,
        };
        let run = self.0.run_in_terminal(&key, command).await;
        run.map(|it| format!("{it:?}")).map_err(GadgetError::new)
    }
}

/// Asks the user.
#[gadgetry::gadget]
async fn ask(question: String, context: ExecutionContext) -> Result<String, GadgetError> {
    let answer = context.ask_human(question).await?;
    Ok(format!("the user says {answer}"))
}

/// Keeps steps.
#[gadgetry::gadget]
fn todo(step: String) -> String {
    format!("noted: {step}")
}

/// Completes the run.
#[gadgetry::gadget]
fn finish(message: String) -> Result<String, GadgetError> {
    Err(GadgetError::task_complete(message))
}

/// Panics.
#[gadgetry::gadget]
fn explode() -> String {
    panic!("as it should")
}

/// A host whose sessions have a model that reads this script.
pub(crate) struct TestHost {
    script: String,
    rules: Vec<&'static str>,
    waits: mpsc::UnboundedSender<&'static str>,
    kept: Kept,
}

/// What happened in the runs of sessions, by their number.
type Kept = Arc<Mutex<Vec<(String, Vec<Vec<Past>>)>>>;

pub(crate) struct TestSession {
    id: String,
    agent: Agent,
    conversation: Conversation,
    mode: String,
    kept: Kept,
}

impl TestHost {
    fn session(&self, id: &str, setup: Setup) -> Result<TestSession, HostError> {
        let failed = |error: &dyn std::fmt::Display| HostError::Failed(error.to_string());
        let model: ScriptedModel = self.script.parse().map_err(|it| failed(&it))?;
        let rules = Rules::parse(self.rules.clone()).map_err(|it| failed(&it))?;
        let approvals = Approvals::new(rules).approver(setup.client.clone());
        let (kept, name) = (Arc::clone(&self.kept), id.to_owned());
        let agent = Agent::builder()
            .model(model)
            .gadget(Write)
            .gadget(Run)
            .gadget(Note)
            .gadget(Wait(self.waits.clone()))
            .gadget(Shell(setup.client.clone()))
            .gadget(Ask)
            .gadget(Todo)
            .gadget(Finish)
            .gadget(Explode)
            .approvals(approvals)
            .on_human_input(setup.client)
            .max_iterations(3)
            .without_retry()
            .observer(move |event: &Event| {
                let mut kept = kept.lock().unwrap();
                let runs = kept.iter_mut().find(|(id, _)| *id == name).unwrap();
                let run = runs.1.last_mut().unwrap();
                run.push(past_event(event));
            })
            .build();
        Ok(TestSession {
            id: id.to_owned(),
            agent: agent.map_err(|it| failed(&it))?,
            conversation: Conversation::default(),
            mode: "ask".to_owned(),
            kept: Arc::clone(&self.kept),
        })
    }
}

fn past_event(event: &Event) -> Past {
    Past::Event(Box::new(event.clone()))
}

impl Host for TestHost {
    type Session = TestSession;

    fn about(&self) -> About {
        let mut about = About::new("tester", "1.2.3");
        about.logins = vec![Login::new("keys", "Keys", "Set a key")];
        about.keeps_sessions = true;
        about.deletes_sessions = true;
        about.takes_images = true;
        about
    }

    async fn log_in(&self, login: &str) -> Result<(), HostError> {
        if login == "keys" {
            return Ok(());
        }
        Err(HostError::AuthRequired(format!("no login {login}")))
    }

    async fn create(&self, setup: Setup) -> Result<TestSession, HostError> {
        if let Some(server) = setup.servers.first() {
            return Err(HostError::Invalid(format!("{server:?}")));
        }
        let id = {
            let mut kept = self.kept.lock().unwrap();
            let id = format!("s{}", kept.len() + 1);
            kept.push((id.clone(), Vec::new()));
            id
        };
        self.session(&id, setup)
    }

    async fn open(&self, id: &str, setup: Setup) -> Result<TestSession, HostError> {
        let is_known = self.kept.lock().unwrap().iter().any(|(it, _)| it == id);
        if !is_known {
            return Err(HostError::UnknownSession(id.to_owned()));
        }
        self.session(id, setup)
    }

    async fn list(
        &self,
        folder: Option<&Path>,
        skip: usize,
        take: usize,
    ) -> Result<Vec<SessionEntry>, HostError> {
        let kept = self.kept.lock().unwrap();
        let entries = kept
            .iter()
            .filter(|_| folder.is_none_or(|it| it == Path::new("/")));
        let entries = entries.skip(skip).take(take).map(|(id, _)| {
            let mut entry = SessionEntry::new(id, "/");
            entry.title = Some(format!("Session {id}"));
            entry.updated = Some(0);
            entry
        });
        Ok(entries.collect())
    }

    async fn delete(&self, id: &str) -> Result<(), HostError> {
        self.kept.lock().unwrap().retain(|(it, _)| it != id);
        Ok(())
    }
}

impl HostSession for TestSession {
    fn id(&self) -> &str {
        &self.id
    }

    fn offer(&self) -> Offer {
        let modes = vec![
            Choice::new("ask", "Ask").described("Asks"),
            Choice::new("edit", "Edit"),
        ];
        let option = Choice::new("mode", "Mode");
        let mut offer = Offer::default();
        offer.options = vec![SessionOption::new(
            OptionKind::Mode,
            option,
            &self.mode,
            modes,
        )];
        let mut review = SlashCommand::new("review", "Reviews");
        review.hint = Some("FILE".to_owned());
        offer.commands = vec![review];
        offer.window = Some(1000);
        offer
    }

    fn describe(&self, gadget: &str, parameters: Option<&Value>) -> CallDescription {
        let text = |name: &str| parameters.and_then(|it| it[name].as_str());
        match (gadget, text("path"), text("step")) {
            ("Write", Some(path), _) => {
                let mut call = CallDescription::new(CallKind::Edit, format!("Write {path}"));
                call.files = vec![(path.to_owned(), Some(1))];
                call
            }
            ("Todo", _, Some(step)) => {
                let mut call = CallDescription::new(CallKind::Think, "Plan");
                call.steps = vec![Step::new(step, StepProgress::InProgress)];
                call
            }
            ("Run", ..) => {
                CallDescription::new(CallKind::Execute, text("command").unwrap_or_default())
            }
            ("Shell", ..) => CallDescription::new(CallKind::Execute, "Shell"),
            ("Wait", ..) => CallDescription::new(CallKind::Execute, "sleep 9"),
            _ => CallDescription::default(),
        }
    }

    fn approves(&self, _: &Approval) -> bool {
        self.mode == "edit"
    }

    fn runs(&self) -> Vec<u32> {
        let kept = self.kept.lock().unwrap();
        let runs = kept.iter().find(|(id, _)| *id == self.id).unwrap();
        let count = u32::try_from(runs.1.len()).unwrap();
        (1..=count).collect()
    }

    async fn past(&mut self, run: u32) -> Result<Vec<Past>, HostError> {
        let kept = self.kept.lock().unwrap();
        let runs = kept.iter().find(|(id, _)| *id == self.id).unwrap();
        Ok(runs.1[run as usize - 1].clone())
    }

    async fn prompt(&mut self, prompt: Prompt) -> Result<Turn, HostError> {
        if prompt.command() == Some(("fail", "")) {
            return Err(HostError::Failed("as asked".to_owned()));
        }
        assert_ne!(prompt.command(), Some(("panic", "")), "as asked");
        let number = {
            let mut kept = self.kept.lock().unwrap();
            let runs = kept.iter_mut().find(|(id, _)| *id == self.id).unwrap();
            runs.1.push(vec![Past::Message(prompt.content().to_vec())]);
            u32::try_from(runs.1.len()).unwrap()
        };
        let before = std::mem::take(&mut self.conversation);
        Ok(Turn::new(
            number,
            self.agent.ask_owned(before, prompt.texts()),
        ))
    }

    fn ended(&mut self, finished: &Finished) {
        self.conversation = finished.into();
    }

    async fn set(&mut self, _: &str, value: &str) -> Result<(), HostError> {
        value.clone_into(&mut self.mode);
        Ok(())
    }
}

/// A connection to a served agent.
pub(crate) struct Connection {
    input: Option<WriteHalf<DuplexStream>>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    served: JoinHandle<Result<(), ServeError>>,
    stop: Option<oneshot::Sender<()>>,
    /// What `Wait` reports.
    pub(crate) waits: mpsc::UnboundedReceiver<&'static str>,
}

impl Connection {
    /// Serves an agent whose model reads this script, with these rules.
    pub(crate) fn new(script: &str, rules: &[&'static str]) -> Self {
        let (waits, receiver) = mpsc::unbounded_channel();
        let host = TestHost {
            script: script.to_owned(),
            rules: rules.to_vec(),
            waits,
            kept: Kept::default(),
        };
        let (near, far) = tokio::io::duplex(1 << 16);
        let (stop, stopped) = oneshot::channel();
        let served = async move {
            let (input, output) = tokio::io::split(far);
            let stop = async move {
                if stopped.await.is_err() {
                    pending::<()>().await;
                }
            };
            serve(host, input, output, stop).await
        };
        let (output, input) = tokio::io::split(near);
        Self {
            input: Some(input),
            output: BufReader::new(output).lines(),
            served: tokio::spawn(served),
            stop: Some(stop),
            waits: receiver,
        }
    }

    /// The same, with a session `s1`.
    pub(crate) async fn with_session(script: &str, rules: &[&'static str]) -> Self {
        let mut connection = Self::new(script, rules);
        connection.begin(json!({})).await;
        connection
    }

    /// Begins a session of a client with these abilities.
    pub(crate) async fn begin(&mut self, abilities: Value) {
        let params = json!({ "protocolVersion": 1, "clientCapabilities": abilities });
        self.request(0, "initialize", params).await;
        self.receive().await;
        let params = json!({ "cwd": "/", "mcpServers": [] });
        self.request(0, "session/new", params).await;
        self.receive().await;
        self.receive().await;
    }

    /// Sends bytes.
    pub(crate) async fn send_raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        let sent = tokio::time::timeout(LONG, input.write_all(bytes)).await;
        sent.unwrap().unwrap();
    }

    /// Sends a message.
    pub(crate) async fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        self.send_raw(format!("{message}\n").as_bytes()).await;
    }

    /// Sends a request.
    pub(crate) async fn request(&mut self, id: u32, method: &str, params: Value) {
        self.send(json!({ "id": id, "method": method, "params": params }))
            .await;
    }

    /// Sends a prompt of session `s1`.
    pub(crate) async fn prompt(&mut self, id: u32, text: &str) {
        let prompt = json!([{ "type": "text", "text": text }]);
        let params = json!({ "sessionId": "s1", "prompt": prompt });
        self.request(id, "session/prompt", params).await;
    }

    /// The next message, without the version.
    pub(crate) async fn receive(&mut self) -> Value {
        let line = tokio::time::timeout(LONG, self.output.next_line()).await;
        let line = line.expect("a message").unwrap();
        let mut message: Value = serde_json::from_str(&line.expect("a line")).unwrap();
        let version = message.as_object_mut().unwrap().remove("jsonrpc");
        assert_eq!(version, Some("2.0".into()));
        message
    }

    /// The updates of session `s1` up to the answer to a request, and that answer.
    pub(crate) async fn until_answer(&mut self, id: u32) -> (Vec<Value>, Value) {
        let mut updates = Vec::new();
        loop {
            let mut message = self.receive().await;
            if message["method"] == "session/update" {
                assert_eq!(message["params"]["sessionId"], "s1");
                updates.push(message["params"]["update"].take());
            } else if message["id"] == id && message.get("method").is_none() {
                return (updates, message);
            } else {
                panic!("{message}");
            }
        }
    }

    /// Stops the service from outside.
    pub(crate) fn stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    /// Closes the input; the messages that are left.
    pub(crate) async fn end(mut self) -> Vec<Value> {
        if let Some(mut input) = self.input.take() {
            let _ = input.shutdown().await;
        }
        let mut left = Vec::new();
        let reading = async {
            while let Ok(Some(line)) = self.output.next_line().await {
                left.push(serde_json::from_str(&line).unwrap());
            }
            self.served.await
        };
        let served = tokio::time::timeout(LONG, reading).await;
        served.expect("it ends").unwrap().unwrap();
        left
    }
}
