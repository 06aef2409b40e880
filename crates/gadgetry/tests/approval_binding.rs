//! What was approved is what runs.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_core::future::BoxFuture;
use gadgetry::approval::{Answer, ApprovalRequest, Approvals, Rules};
use gadgetry::control::BeforeGadget;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::event::{CallAnswer, Event, EventKind};
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::serde_json::{Value, json};
use gadgetry::{
    Agent, CallPreview, DynGadget, ExecutionContext, Permission, ScriptedModel, Subject,
};
use tokio::time::sleep;

/// A file that changes while it is approved: each preview shows a version, and each execution writes one.
struct Versions {
    spec: GadgetSpec,
    /// The versions that previews and executions find, the last one again and again.
    found: Mutex<VecDeque<u32>>,
    wrote: Mutex<Vec<u32>>,
}

impl Versions {
    fn next(&self) -> CallPreview {
        let mut found = self.found.lock().unwrap();
        let version = if found.len() > 1 {
            found.pop_front().unwrap()
        } else {
            found[0]
        };
        let folder = if version >= 100 { "elsewhere" } else { "docs" };
        CallPreview::of(Subject::Path(format!("{folder}/a"))).bound_to(version.to_string())
    }
}

struct Shared(Arc<Versions>);

impl DynGadget for Shared {
    fn spec(&self) -> &GadgetSpec {
        &self.0.spec
    }

    fn execute(&self, _: Value, context: ExecutionContext) -> BoxFuture<'static, Outcome> {
        let versions = Arc::clone(&self.0);
        Box::pin(async move {
            let now = versions.next();
            if let Err(error) = context.check_approved(&now) {
                return Outcome::error(error.to_string());
            }
            let version = now.bound[0].parse().unwrap();
            versions.wrote.lock().unwrap().push(version);
            Outcome::ok(format!("wrote {version}"))
        })
    }

    fn permission(&self) -> Permission {
        Permission::Ask
    }

    fn preview<'a>(&'a self, _: &'a Value) -> BoxFuture<'a, Result<CallPreview, String>> {
        let preview = self.0.next();
        Box::pin(async move { Ok(preview) })
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_approved_is_what_runs() {
    let check = async |rules: &[&str], found: &[u32], shown: &[&str], wrote: &[u32], said: &str| {
        let versions = Arc::new(Versions {
            spec: GadgetSpec::new("Save", "Saves"),
            found: Mutex::new(found.iter().copied().collect()),
            wrote: Mutex::default(),
        });
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let approver = move |request: ApprovalRequest| {
            log.lock().unwrap().push(request.preview.bound[0].clone());
            async { Answer::Once }
        };
        let approvals = Approvals::new(Rules::parse(rules).unwrap()).approver(approver);
        let call = "!!!GADGET_START:Save:a\n!!!GADGET_END\n";
        let script = format!("{}\n{}", json!({ "text": call }), json!({ "text": "done" }));
        let model: ScriptedModel = script.parse().unwrap();
        let results = Arc::new(Mutex::new(String::new()));
        let sink = Arc::clone(&results);
        let gadget: Arc<dyn DynGadget> = Arc::new(Shared(Arc::clone(&versions)));
        let agent = Agent::builder()
            .model(model)
            .gadget(gadget)
            .approvals(approvals)
            .on_event(move |event: &Event| {
                if let EventKind::GadgetResult {
                    answer: CallAnswer::Result(text) | CallAnswer::Error(text),
                    ..
                } = &event.kind
                {
                    sink.lock().unwrap().push_str(text);
                }
            });
        agent.ask("go").unwrap().text().await.unwrap();
        assert_eq!(*asked.lock().unwrap(), shown, "{found:?}");
        assert_eq!(*versions.wrote.lock().unwrap(), wrote, "{found:?}");
        let results = results.lock().unwrap();
        assert!(results.contains(said), "{found:?}: {results}");
    };
    check(&[], &[1], &["1"], &[1], "wrote 1").await;
    // Preview, execution; preview, execution.
    check(&[], &[1, 2], &["1", "2"], &[2], "wrote 2").await;
    check(&[], &[1, 2, 3, 4, 4], &["1", "3", "4"], &[4], "wrote 4").await;
    let always: Vec<u32> = (0..99).collect();
    let saves: Vec<String> = always.iter().step_by(2).map(ToString::to_string).collect();
    let shown: Vec<&str> = saves.iter().take(9).map(String::as_str).collect();
    check(&[], &always, &shown, &[], "changes again and again").await;
    // A rule is about the path, not about the content; of another path it is not.
    let docs = "allow Save(docs/**)";
    check(&[docs], &[1, 2, 3], &[], &[2], "wrote 2").await;
    check(
        &[docs, "deny *"],
        &[1, 100],
        &[],
        &[],
        "Denied by the rule `deny *`",
    )
    .await;
    check(&[docs], &[1, 100], &["100"], &[100], "wrote 100").await;
}

/// Appends to a text, slowly.
struct Append(GadgetSpec, Arc<Mutex<String>>);
impl DynGadget for Append {
    fn spec(&self) -> &GadgetSpec {
        &self.0
    }
    fn execute(&self, _: Value, context: ExecutionContext) -> BoxFuture<'static, Outcome> {
        let text = Arc::clone(&self.1);
        Box::pin(async move {
            sleep(Duration::from_millis(100)).await;
            let mut text = text.lock().unwrap();
            let now = CallPreview::of(Subject::Path("a".to_owned())).diff(format!("{text}+"));
            if let Err(error) = context.check_approved(&now) {
                return Outcome::error(error.to_string());
            }
            text.push('+');
            Outcome::ok(text.clone())
        })
    }
    fn permission(&self) -> Permission {
        Permission::Ask
    }
    fn preview<'a>(&'a self, _: &'a Value) -> BoxFuture<'a, Result<CallPreview, String>> {
        let diff = format!("{}+", self.1.lock().unwrap());
        let preview = CallPreview::of(Subject::Path("a".to_owned())).diff(diff);
        Box::pin(async move { Ok(preview) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_shows_the_state_after_the_calls_before_it() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let approvals = Approvals::new(Rules::default()).approver(move |request: ApprovalRequest| {
        log.lock().unwrap().push(request.preview.diff.unwrap());
        async { Answer::Once }
    });
    let text = Arc::new(Mutex::new(String::new()));
    let spec = GadgetSpec::new("Append", "Appends");
    let gadget: Arc<dyn DynGadget> = Arc::new(Append(spec, Arc::clone(&text)));
    let calls: String = ["a", "b", "c"]
        .map(|id| format!("!!!GADGET_START:Append:{id}\n!!!GADGET_END\n"))
        .concat();
    let script = format!(
        "{}\n{}",
        json!({ "text": calls }),
        json!({ "text": "done" })
    );
    let model: ScriptedModel = script.parse().unwrap();
    let agent = Agent::builder()
        .model(model)
        .gadget(gadget)
        .approvals(approvals);
    agent.ask("go").unwrap().text().await.unwrap();
    assert_eq!(*asked.lock().unwrap(), ["+", "++", "+++"]);
    assert_eq!(*text.lock().unwrap(), "+++");
}

#[tokio::test]
async fn parameters_that_change_after_the_approval_are_approved_again() {
    /// Runs a command.
    struct Run(GadgetSpec, Mutex<Vec<String>>);
    impl DynGadget for Run {
        fn spec(&self) -> &GadgetSpec {
            &self.0
        }
        fn execute(&self, parameters: Value, _: ExecutionContext) -> BoxFuture<'static, Outcome> {
            let line = parameters["line"].as_str().unwrap().to_owned();
            self.1.lock().unwrap().push(line);
            Box::pin(async { Outcome::ok("ran") })
        }
        fn permission(&self) -> Permission {
            Permission::Ask
        }
        fn preview<'a>(&'a self, it: &'a Value) -> BoxFuture<'a, Result<CallPreview, String>> {
            let preview = CallPreview::of(Subject::command(it["line"].as_str().unwrap()));
            Box::pin(async move { Ok(preview) })
        }
    }
    let check = async |rules: &[&str], expected: &[&str]| {
        let spec = GadgetSpec::new("Run", "Runs").parameters(
            json!({ "type": "object", "properties": { "line": { "type": "string" } } }),
        );
        let run = Arc::new(Run(spec, Mutex::default()));
        let gadget: Arc<dyn DynGadget> = Arc::<Run>::clone(&run);
        let call = "!!!GADGET_START:Run:a\n!!!ARG:line\nls\n!!!GADGET_END\n";
        let script = format!("{}\n{}", json!({ "text": call }), json!({ "text": "done" }));
        let model: ScriptedModel = script.parse().unwrap();
        let agent = Agent::builder()
            .model(model)
            .gadget(gadget)
            .approvals(Approvals::new(Rules::parse(rules).unwrap()))
            .before_gadget(|_| async { BeforeGadget::Parameters(json!({ "line": "rm -rf ." })) });
        agent.ask("go").unwrap().text().await.unwrap();
        assert_eq!(*run.1.lock().unwrap(), expected, "{rules:?}");
    };
    check(&["allow Run(ls *)"], &[]).await;
    check(&["allow Run"], &["rm -rf ."]).await;
}
