//! Logs of gadgets: events of `tracing`, which know the call that they belong to.
//!
//! `cargo run -p gadgetry --example logging`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use gadgetry::{Agent, gadget};
use gadgetry_testing::{MockModel, call, reply, test_gadget};
use serde_json::json;

/// Calls external API
#[gadget]
async fn call_api(endpoint: String) -> Result<String, io::Error> {
    tracing::debug!(endpoint, "starting the request");
    let response = request(&endpoint).await?;
    tracing::info!(status = response.status, "the request is completed");
    Ok(response.body)
}

/// Logs at every level, and with fields
#[gadget]
fn talk(id: u32) -> &'static str {
    tracing::trace!("details for debugging");
    tracing::debug!("what a developer wants to know");
    tracing::info!("what everybody wants to know");
    tracing::warn!("what may go wrong");
    tracing::error!(error = %io::Error::other("no more"), "what went wrong");
    // Fields are for programs that read logs. `%` shows a value, `?` shows it as `Debug` does.
    tracing::debug!(item = id, priority = "high", tags = ?["a", "b"], "processing an item");
    "said"
}

// A library of gadgets does nothing else: it has no logger of its own and configures nothing. The program decides what
// is kept, and where it goes. This one keeps everything in memory; most have `tracing_subscriber::fmt::init()`.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let kept = Kept::default();
    let writer = kept.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .without_time()
        .with_ansi(false)
        .init();

    let model = MockModel::in_order([
        reply().calls([
            call("CallApi").id("page").arg("endpoint", "/items"),
            call("Talk").id("talk").arg("id", 7),
        ]),
        reply().text("Done."),
    ]);
    let agent = Agent::builder().model(model).gadget(CallApi).gadget(Talk);
    agent.ask("Call the API")?.run_id("r").text().await?;

    let log = kept.take();
    print!("{log}");
    let lines = [
        // The span says which call it was, whatever else runs at the same time.
        "DEBUG run{run=\"r\" model=\"mock\"}:gadget{run=\"r\" call=\"page\" gadget=\"CallApi\"}: logging: starting the request endpoint=\"/items\"",
        "status=200",
        "gadget{run=\"r\" call=\"talk\" gadget=\"Talk\"}",
        "WARN",
        "what went wrong error=no more",
        "processing an item item=7 priority=\"high\" tags=[\"a\", \"b\"]",
    ];
    for line in lines {
        assert!(log.contains(line), "{line} is missing");
    }

    // A gadget that logs needs nothing in a test. There is no span then, for there is no run.
    let outcome = test_gadget(CallApi, json!({ "endpoint": "/items" })).await;
    assert_eq!(outcome.expect_result(), "[17, 23]");
    assert!(
        kept.take()
            .starts_with("DEBUG logging: starting the request")
    );
    Ok(())
}

struct Response {
    status: u16,
    body: String,
}

/// Simulates a network request.
async fn request(_endpoint: &str) -> io::Result<Response> {
    tokio::task::yield_now().await;
    Ok(Response {
        status: 200,
        body: "[17, 23]".to_owned(),
    })
}

/// Text that was logged.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    /// The lines so far.
    fn take(&self) -> String {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&mem::take(&mut *bytes)).into_owned();
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        lines.join("\n") + "\n"
    }
}

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
