//! The process that is killed: this test program again, which drives one run to its end.

use std::env;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use gadgetry::journal::JournalError;
use gadgetry::proto::schema::OnInterrupt;
use gadgetry::{Agent, ExecutionContext, GadgetSpec, Outcome, Price, Role, from_fn};
use gadgetry_store::SqliteJournal;
use gadgetry_testing::{Cut, MockModel, reply};

/// The folder of the run, in the environment of the process.
pub(super) const FOLDER: &str = "GADGETRY_CHAOS_FOLDER";
/// The name of the run.
pub(super) const RUN: &str = "run";
/// The name of the test that is the process.
const TEST: &str = "chaos::victim::the_process";
/// What the process ends with when another one has the run.
pub(super) const OWNED: i32 = 7;
/// What it ends with when the journal fails.
pub(super) const FAILED: i32 = 8;

/// Twelve calls in three replies: two chains, one that fails with its dependent, and one that asks the user.
const REPLIES: [&str; 4] = [
    "I begin.\n\
     !!!GADGET_START:Work:a\n!!!GADGET_END\n\
     !!!GADGET_START:Work:b:a\n!!!GADGET_END\n\
     !!!GADGET_START:Work:c:a\n!!!GADGET_END\n\
     !!!GADGET_START:Work:d:b,c\n!!!GADGET_END\n\
     !!!GADGET_START:Work:e\n!!!GADGET_END\n",
    "!!!GADGET_START:Fail:f\n!!!GADGET_END\n\
     !!!GADGET_START:Work:g:f\n!!!GADGET_END\n\
     !!!GADGET_START:Work:h\n!!!GADGET_END\n\
     !!!GADGET_START:Ask:i\n!!!GADGET_END\n",
    "!!!GADGET_START:Work:j\n!!!GADGET_END\n\
     !!!GADGET_START:Work:k:j\n!!!GADGET_END\n\
     !!!GADGET_START:Work:l\n!!!GADGET_END\n",
    "All is done.",
];

/// What it ends with when another process has taken up the run.
pub(super) const LOST: i32 = 9;

/// Replies as a model does: by what the conversation has.
fn model() -> MockModel {
    let price = Price::default().input(1.0).output(2.0);
    let model = MockModel::builder().unchecked().price(price);
    let model = model.when(|any| any).replies_by(|request| {
        let said = request.messages.iter();
        let said = said.filter(|message| message.role == Role::Assistant);
        let text = REPLIES.get(said.count()).copied().unwrap_or("Off script.");
        // In pieces, so that there are moments in between.
        let pieces = reply().text(text).chunks(Cut::Every(20));
        pieces.tokens(1000, 100)
    });
    model.build()
}

/// The file that every execution of a gadget appends its key to: the world that must not see anything twice.
pub(super) fn effects(folder: &Path) -> PathBuf {
    folder.join("effects")
}

pub(super) fn journal(folder: &Path) -> Result<SqliteJournal, JournalError> {
    SqliteJournal::open(folder.join("journal").join("runs.db"))
}

pub(super) fn agent(folder: &Path) -> Agent {
    let gadget = |name: &str| {
        let name = name.to_owned();
        let spec = GadgetSpec {
            name: name.clone(),
            on_interrupt: OnInterrupt::Rerun,
            ..GadgetSpec::default()
        };
        let file = effects(folder);
        from_fn(spec, move |_, context| {
            work(name.clone(), file.clone(), context)
        })
    };
    let gadgets = ["Work", "Fail", "Ask"].map(gadget);
    let agent = Agent::builder().model(model()).gadgets(gadgets);
    agent.without_retry().build().unwrap()
}

async fn work(name: String, file: PathBuf, context: ExecutionContext) -> Outcome {
    let answer = if name == "Ask" {
        match context.ask_human("Shall I?").await {
            Ok(answer) => answer,
            Err(error) => return Outcome::error(error.to_string()),
        }
    } else {
        "done".to_owned()
    };
    // Some time passes, so that there are moments to die in.
    tokio::time::sleep(Duration::from_millis(2)).await;
    let mut options = OpenOptions::new();
    let mut file = options.append(true).create(true).open(file).unwrap();
    // One write, which a kill does not tear.
    let line = format!("{}\n", context.idempotency_key());
    file.write_all(line.as_bytes()).unwrap();
    let outcome = if name == "Fail" {
        Outcome::error("it fails")
    } else {
        Outcome::ok(answer)
    };
    Outcome {
        cost: 0.25,
        ..outcome
    }
}

/// Starts the process. It has `shell` in front of its command line, if that is not empty.
pub(super) fn start(folder: &Path, shell: &str) -> Child {
    process(folder, shell, TEST)
}

/// [`start`] for the test of this name.
pub(super) fn process(folder: &Path, shell: &str, test: &str) -> Child {
    let program = env::current_exe().unwrap();
    let mut command = if shell.is_empty() {
        Command::new(program)
    } else {
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("{shell}; exec \"$0\" \"$@\"")])
            .arg(program);
        command
    };
    command
        .args(["--exact", test, "--nocapture"])
        .env(FOLDER, folder);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// The process. As a test it does nothing.
#[test]
fn the_process() {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let code = runtime.unwrap().block_on(drive(&folder, agent(&folder)));
    std::process::exit(code);
}

/// Drives the run to its end. Returns the exit code.
pub(super) async fn drive(folder: &Path, agent: Agent) -> i32 {
    let Ok(journal) = journal(folder) else {
        return FAILED;
    };
    match agent.durable(&journal).run_id(RUN).ask("Go").await {
        Ok(run) => match run.finish().await {
            Ok(_) => 0,
            Err(error) if error.to_string().contains("taken up by another") => LOST,
            Err(_) => FAILED,
        },
        Err(JournalError::Owned { .. }) => OWNED,
        Err(_) => FAILED,
    }
}
