//! The gadgets that the tests serve.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use gadgetry::proto::schema::OnInterrupt;
use gadgetry::{
    DynGadget, ExecutionContext, GadgetError, GadgetOutput, GadgetSpec, IntoGadget as _, Outcome,
    Permission, Toolbox, from_fn, gadget,
};
use gadgetry_mcp::GadgetServer;
use serde_json::{Value, json};

/// Adds two whole numbers
#[gadget]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Fails
#[gadget]
fn fail() -> Result<String, GadgetError> {
    Err("as documented".into())
}

/// Panics
#[gadget]
fn panics() -> String {
    panic!("on purpose")
}

/// Takes longer than it may
#[gadget(timeout = "50ms")]
async fn slow() -> String {
    std::future::pending().await
}

/// Runs until it is cancelled, and then writes a file
#[gadget]
async fn wait(file: String, context: ExecutionContext) -> String {
    context.progress("waiting");
    context.cancellation().cancelled().await;
    std::fs::write(file, "cancelled").ok();
    String::new()
}

/// Reports progress
#[gadget]
async fn steps(count: u32, context: ExecutionContext) -> String {
    for step in 1..=count {
        context.progress(format!("step {step}"));
        tokio::task::yield_now().await;
    }
    "done".to_owned()
}

/// Draws
#[gadget]
fn picture() -> GadgetOutput {
    GadgetOutput::new("a dot").with_image("image/png", [0x89, 0x50])
}

/// Says a lot
#[gadget]
fn much(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// A gadget that needs approval.
struct Write(GadgetSpec);

impl DynGadget for Write {
    fn spec(&self) -> &GadgetSpec {
        &self.0
    }

    fn permission(&self) -> Permission {
        Permission::Ask
    }

    fn execute(&self, parameters: Value, _: ExecutionContext) -> BoxFuture<'static, Outcome> {
        let file = parameters["file"].as_str().unwrap_or_default().to_owned();
        async move {
            match std::fs::write(file, "written") {
                Ok(()) => Outcome::ok("written"),
                Err(error) => Outcome::error(error.to_string()),
            }
        }
        .boxed()
    }
}

/// The server of the tests.
pub(crate) fn server() -> GadgetServer {
    let file = json!({ "type": "object", "properties": { "file": { "type": "string" } }, "required": ["file"] });
    let write = GadgetSpec::new("Write", "Writes a file").parameters(file);
    let clock = GadgetSpec {
        on_interrupt: OnInterrupt::Rerun,
        ..GadgetSpec::new("Clock", "Says the time").parameters(Value::Bool(true))
    };
    let clock = from_fn(clock, |_, _| async { Ok("noon") });
    let mut toolbox = Toolbox::default();
    let gadgets: [Arc<dyn DynGadget>; 10] = [
        Add.into_gadget(),
        Fail.into_gadget(),
        Panics.into_gadget(),
        Slow.into_gadget(),
        Wait.into_gadget(),
        Steps.into_gadget(),
        Picture.into_gadget(),
        Much.into_gadget(),
        Arc::new(Write(write)),
        clock.into_gadget(),
    ];
    for gadget in gadgets {
        toolbox.add(gadget).expect("its specification is valid");
    }
    let server = GadgetServer::new(toolbox).expect("random numbers");
    server.output_limit(1_000).timeout(Duration::from_mins(5))
}
