//! A workspace with files, next to a folder that no gadget may touch.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use gadgetry::approval::{Answer, ApprovalRequest, Approvals, Rules};
use gadgetry::proto::event::{CallAnswer, Event, EventKind};
use gadgetry::{Agent, DynGadget, ScriptedModel};
use gadgetry_builtins::Builtins;
use gadgetry_testing::test_gadget;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const SECRET: &str = "SECRET-41f7";

pub(crate) struct Stage {
    pub(crate) folder: TempDir,
    pub(crate) builtins: Builtins,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(|builtins| builtins)
    }

    pub(crate) fn with(change: impl FnOnce(Builtins) -> Builtins) -> Self {
        gadgetry::command::supervisor::use_program(env!("CARGO_BIN_EXE_gadgetry-supervisor"));
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, content: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        write("outside/secret.txt", SECRET);
        write("outside/folder/other.txt", SECRET);
        write("work/a.txt", "one\ntwo\nthree\n");
        write("work/src/lib.rs", "fn a() {}\n\nfn b() {}\n");
        write("work/src/deep/mod.rs", "pub fn c() {}\n");
        write("work/target/out.txt", "fn built() {}\n");
        write("work/.gitignore", "target/\n*.log\n");
        write("work/x.log", "fn logged() {}\n");
        let builtins = change(Builtins::in_dir(folder.path().join("work")).unwrap());
        Self { folder, builtins }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.folder.path().join("outside")
    }

    pub(crate) fn gadget(&self, name: &str) -> Arc<dyn DynGadget> {
        let gadgets = self.builtins.gadgets();
        gadgets
            .into_iter()
            .find(|it| it.spec().name == name)
            .unwrap()
    }

    /// The result of a call, or its error.
    pub(crate) async fn call(&self, name: &str, parameters: Value) -> Result<String, String> {
        let ended = test_gadget(self.gadget(name), parameters).await;
        match ended.result {
            Some(result) => Ok(result),
            None => Err(ended.error.unwrap()),
        }
    }

    pub(crate) async fn check(&self, name: &str, parameters: Value, expected: Result<&str, &str>) {
        let ended = self.call(name, parameters.clone()).await;
        match (&ended, expected) {
            (Ok(text), Ok(expected)) => assert_eq!(text, expected, "{name} {parameters}"),
            (Err(text), Err(expected)) => {
                assert!(text.contains(expected), "{name} {parameters}: {text}");
            }
            _ => panic!("{name} {parameters}: {ended:?}"),
        }
    }

    pub(crate) fn content(&self, path: &str) -> String {
        fs::read_to_string(self.work().join(path)).unwrap()
    }
}

/// All files below a folder with their contents, and links with their targets.
pub(crate) fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            files.insert(path, target.into_os_string().into_encoded_bytes());
        } else if path.is_dir() {
            files.insert(path.clone(), Vec::new());
            files.extend(tree(&path));
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    files
}

/// A call as a block.
fn call((gadget, parameters): &(&str, Value)) -> String {
    let mut block = format!("!!!GADGET_START:{gadget}\n");
    for (key, value) in parameters.as_object().unwrap() {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        block.extend(["!!!ARG:", key, "\n", &value, "\n"]);
    }
    block + "!!!GADGET_END\n"
}

/// Runs one reply with these calls; returns what the calls answer. `answer` is the user.
pub(crate) async fn run(
    stage: &Stage,
    rules: &[&str],
    calls: &[(&str, Value)],
    answer: impl Fn(ApprovalRequest) -> Answer + Send + Sync + 'static,
) -> Vec<String> {
    let text: String = calls.iter().map(call).collect();
    let script = format!("{}\n{}", json!({ "text": text }), json!({ "text": "done" }));
    let model: ScriptedModel = script.parse().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let approvals = Approvals::new(Rules::parse(rules).unwrap());
    let approvals = approvals.approver(move |request| {
        let answer = answer(request);
        async move { answer }
    });
    let agent = Agent::builder()
        .model(model)
        .gadgets(stage.builtins.gadgets())
        .approvals(approvals)
        .on_event(move |event: &Event| {
            if let EventKind::GadgetResult {
                answer: CallAnswer::Result(text) | CallAnswer::Error(text),
                ..
            } = &event.kind
            {
                sink.lock().unwrap().push(text.clone());
            }
        });
    agent.ask("go").unwrap().text().await.unwrap();
    let seen = seen.lock().unwrap();
    seen.clone()
}
