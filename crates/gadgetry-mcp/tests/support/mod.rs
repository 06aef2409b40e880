//! What the tests share: servers, calls, and processes.

pub(crate) mod found;
pub(crate) mod installed;
pub(crate) mod toolbox;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use gadgetry::context::Host;
use gadgetry::proto::id::CallId;
use gadgetry::proto::run::Report;
use gadgetry::{
    BudgetScope, CancellationToken, DynGadget, ExecutionContext, Human, HumanQuestion, Invocation,
    Outcome,
};
use gadgetry_mcp::{ServerConfig, Servers};
use serde_json::Value;

/// More than any test needs.
pub(crate) const LONG: Duration = Duration::from_mins(5);

/// A Python program of ours.
pub(crate) fn script(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers");
    folder.join(name).display().to_string()
}

/// The program that serves the gadgets of the tests over stdio: an example, which `cargo test` builds.
pub(crate) fn program() -> String {
    let tests = std::env::current_exe().unwrap();
    let folder = tests.ancestors().nth(2).unwrap().join("examples");
    let program = folder.join(format!("mcp-test-server{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.exists(),
        "run cargo test without --test, which builds {}",
        program.display()
    );
    program.display().to_string()
}

/// The server that misbehaves as `mode` says.
pub(crate) fn odd(mode: &[&str]) -> ServerConfig {
    let arguments = std::iter::once(script("odd.py")).chain(mode.iter().map(|&it| it.to_owned()));
    ServerConfig::stdio("python3", arguments)
}

/// The servers, all of which must be usable.
pub(crate) async fn connect(configs: &[(&str, ServerConfig)]) -> Servers {
    let configs = configs.iter().cloned();
    let servers = Servers::connect(configs.map(|(name, config)| (name.to_owned(), config))).await;
    assert!(servers.failures().is_empty(), "{:?}", servers.failures());
    servers
}

/// The gadget of that name.
pub(crate) fn gadget(servers: &Servers, name: &str) -> Arc<dyn DynGadget> {
    let offer = servers.gadgets(&[]);
    let found = offer.gadgets.iter().find(|it| it.spec().name == name);
    Arc::clone(found.unwrap_or_else(|| panic!("{name}: {offer:?}")))
}

/// The names of all gadgets.
pub(crate) fn names(servers: &Servers, reserved: &[&str]) -> Vec<String> {
    let offer = servers.gadgets(reserved);
    offer
        .gadgets
        .iter()
        .map(|it| it.spec().name.clone())
        .collect()
}

/// A run around a call: the user with prepared answers, and what was reported.
#[derive(Default)]
pub(crate) struct Run {
    scope: BudgetScope,
    human: Option<Arc<dyn Human>>,
    pub(crate) questions: Arc<Mutex<Vec<String>>>,
    pub(crate) progress: Mutex<Vec<String>>,
}

impl Run {
    /// A user who gives these answers, one after the other.
    pub(crate) fn with_answers(answers: &[&str]) -> Self {
        let questions: Arc<Mutex<Vec<String>>> = Arc::default();
        let answers: Vec<String> = answers.iter().map(|&it| it.to_owned()).collect();
        let human = Answers {
            questions: Arc::clone(&questions),
            answers,
        };
        Self {
            human: Some(Arc::new(human)),
            questions,
            ..Self::default()
        }
    }
}

struct Answers {
    questions: Arc<Mutex<Vec<String>>>,
    answers: Vec<String>,
}

impl Human for Answers {
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        let mut questions = self.questions.lock().unwrap();
        questions.push(question.text);
        let answer = self.answers.get(questions.len() - 1).cloned();
        Box::pin(async move { answer })
    }
}

impl Host for Run {
    fn report(&self, _call: CallId, report: Report) {
        if let Report::Progress(message) = report {
            self.progress.lock().unwrap().push(message);
        }
    }

    fn scope(&self) -> &BudgetScope {
        &self.scope
    }

    fn human(&self) -> Option<&Arc<dyn Human>> {
        self.human.as_ref()
    }
}

/// Calls a gadget within `run`.
pub(crate) async fn call_in(
    run: &Arc<Run>,
    gadget: &Arc<dyn DynGadget>,
    parameters: Value,
    cancellation: CancellationToken,
) -> Outcome {
    let invocation = Invocation {
        gadget_name: gadget.spec().name.clone(),
        invocation_id: "call".into(),
        parameters: gadget.check(parameters).unwrap(),
        dependencies: std::collections::BTreeMap::new(),
    };
    let host = Arc::clone(run);
    let context = ExecutionContext::with_host(&invocation, cancellation, host, CallId(0));
    let outcome = invocation.execute(&**gadget, context);
    tokio::time::timeout(LONG, outcome)
        .await
        .expect("the call ends")
}

/// Calls a gadget of a server.
pub(crate) async fn call(
    servers: &Servers,
    name: &str,
    parameters: Value,
) -> Result<String, String> {
    let run = Arc::new(Run::default());
    let token = CancellationToken::new();
    call_in(&run, &gadget(servers, name), parameters, token)
        .await
        .result
}

/// Whether a process is there and no zombie.
pub(crate) fn is_running(pid: &str) -> bool {
    let status = std::fs::read_to_string(PathBuf::from("/proc").join(pid.trim()).join("stat"));
    status.is_ok_and(|status| {
        let state = status.rsplit(')').next().unwrap_or_default();
        !state.trim_start().starts_with('Z')
    })
}

/// Waits until a process has ended.
pub(crate) async fn ended(pid: &str) {
    let gone = async {
        while is_running(pid) {
            tokio::task::yield_now().await;
        }
    };
    let gone = tokio::time::timeout(LONG, gone).await;
    gone.unwrap_or_else(|_| panic!("process {pid} is still there"));
}
