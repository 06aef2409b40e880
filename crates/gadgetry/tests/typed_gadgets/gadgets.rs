//! All ways to define a gadget lead into one toolbox, and into a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_core::future::BoxFuture;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::event::Event;
use gadgetry::proto::run::{Run, RunConfig};
use gadgetry::proto::schema::{GadgetSpec, OnInterrupt};
use gadgetry::schemars::JsonSchema;
use gadgetry::serde::{Deserialize, Serialize};
use gadgetry::{
    CommandGadget, DynGadget, Example, ExecutionContext, Gadget, GadgetError, GadgetInfo,
    IntoGadget, ScriptedModel, Services, Toolbox, command, drive, from_fn,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// A gadget with state: it adds up.
struct Counter {
    info: GadgetInfo,
    total: Arc<AtomicU32>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(crate = "gadgetry::serde")]
#[schemars(crate = "gadgetry::schemars")]
struct Step {
    /// What to add
    #[schemars(range(min = 1))]
    by: u32,
    /// Whether that was all
    #[serde(default)]
    last: bool,
}

impl Gadget for Counter {
    type Params = Step;
    type Output = u32;

    fn info(&self) -> GadgetInfo {
        self.info.clone()
    }

    async fn execute(&self, step: Step, _: ExecutionContext) -> Result<u32, GadgetError> {
        let total = self.total.fetch_add(step.by, Ordering::SeqCst) + step.by;
        if step.last {
            return Err(GadgetError::task_complete(format!("{total} in all")));
        }
        Ok(total)
    }
}

fn counter(info: GadgetInfo) -> Counter {
    Counter {
        info,
        total: Arc::default(),
    }
}

fn spec(name: &str) -> GadgetSpec {
    GadgetSpec {
        name: name.to_owned(),
        ..GadgetSpec::default()
    }
}

/// A gadget that implements the erased trait.
struct Own(GadgetSpec);

impl IntoGadget for Own {
    fn into_gadget(self) -> Arc<dyn DynGadget> {
        Arc::new(self)
    }
}

impl DynGadget for Own {
    fn spec(&self) -> &GadgetSpec {
        &self.0
    }

    fn execute(&self, _: Value, _: ExecutionContext) -> BoxFuture<'static, Outcome> {
        Box::pin(async { Outcome::ok("own") })
    }
}

fn add_error(gadget: impl IntoGadget) -> String {
    Toolbox::default().add(gadget).unwrap_err().to_string()
}

#[test]
fn a_toolbox_takes_all_of_them() {
    let mut toolbox = Toolbox::default();
    let function = |name: &str| from_fn(spec(name), |_, _| async { Outcome::ok("") });
    toolbox.add(counter(GadgetInfo::new("Typed", ""))).unwrap();
    toolbox.add(function("Function")).unwrap();
    toolbox
        .add(CommandGadget::new(spec("Program"), "true", [] as [&str; 0]))
        .unwrap();
    toolbox.add(Own(spec("Own"))).unwrap();
    let held: Arc<dyn DynGadget> = Arc::new(Own(spec("Held")));
    toolbox.add(held).unwrap();
    for name in ["TYPED", "function", "Program", "oWN", "held"] {
        let gadget = toolbox.get(name).unwrap();
        assert!(gadget.spec().name.eq_ignore_ascii_case(name));
    }
    assert!(toolbox.get("none").is_none());

    let error = toolbox.add(counter(GadgetInfo::new("FUNCTION", "")));
    assert_eq!(
        error.unwrap_err().to_string(),
        "Gadget 'FUNCTION' is already registered"
    );
    assert_eq!(toolbox.registry().len(), 5);
}

#[test]
fn what_is_said_about_a_gadget_becomes_its_specification() {
    let info = GadgetInfo::new("Count", "Counts up")
        .timeout(Duration::from_millis(1500))
        .max_concurrent(2)
        .exclusive()
        .sticky_result()
        .on_interrupt(OnInterrupt::Rerun)
        .example(Example::new(Step { by: 2, last: false }).output("2"));
    let gadget = counter(info).into_gadget();
    let expected = json!({
        "name": "Count",
        "description": "Counts up",
        "parameters": {
            "type": "object",
            "properties": {
                "by": { "type": "integer", "minimum": 1, "description": "What to add" },
                "last": { "type": "boolean", "default": false, "description": "Whether that was all" },
            },
            "required": ["by"],
        },
        "examples": [{ "params": { "by": 2, "last": false }, "output": "2" }],
        "timeoutMs": 1500,
        "maxConcurrent": 2,
        "exclusive": true,
        "stickyResult": true,
        "onInterrupt": "rerun",
    });
    assert_eq!(serde_json::to_value(gadget.spec()).unwrap(), expected);
    for (timeout, milliseconds) in [
        (Duration::ZERO, 0),
        (Duration::from_micros(1), 1),
        (Duration::MAX, u64::MAX),
    ] {
        let gadget = counter(GadgetInfo::new("Count", "").timeout(timeout)).into_gadget();
        assert_eq!(gadget.spec().timeout_ms, Some(milliseconds), "{timeout:?}");
    }
}

#[test]
fn mistakes_are_found_when_a_gadget_is_added() {
    let typed = |example| counter(GadgetInfo::new("Count", "").example(example));
    let fits = Example::new(json!({ "by": 1 }));
    assert_eq!(
        add_error(counter(GadgetInfo::new("Count", "").max_concurrent(0))),
        "gadget 'Count' may run 0 calls at once; allow 1 or more, or omit the limit"
    );
    assert_eq!(
        add_error(counter(
            GadgetInfo::new("Count", "")
                .example(fits.clone())
                .example(Example::new(json!({ "by": 0, "last": 1 })))
        )),
        "example 2 of gadget 'Count' does not fit its parameters: by: must be at least 1, got 0; \
         last: expected boolean, got number 1"
    );
    // A map whose keys are lists is no JSON.
    let map = std::collections::BTreeMap::from([([1], 2)]);
    assert_eq!(
        add_error(typed(Example::new(map))),
        "example 1 of gadget 'Count' does not fit its parameters: root: expected object, got null"
    );
    let dynamic = GadgetSpec {
        parameters: json!(true),
        examples: vec![Example::new("text")],
        ..spec("Any")
    };
    assert_eq!(
        add_error(from_fn(dynamic, |_, _| async { Outcome::ok("") })),
        "example 1 of gadget 'Any' does not fit its parameters: root: expected object, got string \"text\""
    );
    assert_eq!(
        add_error(Own(GadgetSpec {
            parameters: json!({ "type": "string" }),
            examples: vec![fits],
            ..spec("Own")
        })),
        "the parameters of gadget 'Own': parameters are an object, but the schema admits only: string"
    );
}

#[test]
fn examples_of_a_file_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gadgets.toml");
    let file = r#"
        [[gadget]]
        name = "Echo"
        description = "Says it again"
        command = ["cat"]
        parameters = { type = "object", properties = { text = { type = "string" } }, required = ["text"] }
        [[gadget.examples]]
        params = { txt = "hi" }
    "#;
    std::fs::write(&path, file).unwrap();
    let error = command::load(&path).unwrap_err().to_string();
    assert_eq!(
        error.replace(&path.display().to_string(), "FILE"),
        "FILE:8:18: example 1 of gadget 'Echo' does not fit its parameters: text: expected string, but it is missing; \
         txt: there is no such parameter; did you mean 'text'?"
    );
}

#[tokio::test]
async fn a_run_calls_a_typed_gadget() {
    let gadget = counter(GadgetInfo::new("Count", "Counts up"));
    let total = Arc::clone(&gadget.total);
    let mut toolbox = Toolbox::default();
    toolbox.add(gadget).unwrap();
    let reply = "!!!GADGET_START:count:a\n!!!ARG:by\n2\n!!!GADGET_END\n\
                 !!!GADGET_START:Count:b:a\n!!!ARG:by\n0\n!!!GADGET_END\n\
                 !!!GADGET_START:Count:c:a\n!!!ARG:by\n3\n!!!ARG:last\ntrue\n!!!GADGET_END\n";
    let model: ScriptedModel = json!({ "text": reply }).to_string().parse().unwrap();
    let plan = RunConfig::default().plan(Arc::clone(toolbox.registry()));
    let run = Run::ask(&plan.unwrap(), "Count");
    let (_commands, receiver) = mpsc::channel(1);
    let mut errors = Vec::new();
    let mut watch = |event: &Event| {
        let event = serde_json::to_value(event).unwrap().to_string();
        if event.contains("must be at least 1, got 0") {
            errors.push(event);
        }
    };
    let services = Services::new(Arc::new(model), toolbox);
    let ended = drive(run, &services, receiver, &mut watch).await;
    assert_eq!(ended.summary.answer, "5 in all");
    assert_eq!(total.load(Ordering::SeqCst), 5);
    assert!(!errors.is_empty());
}
