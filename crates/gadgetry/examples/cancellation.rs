//! Gadgets that end early: their time is up, or the run is cancelled.
//!
//! `cargo run -p gadgetry --example cancellation`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use gadgetry::{Agent, ExecutionContext, FinishReason, Gadget, GadgetError, GadgetInfo, gadget};
use gadgetry_testing::{EventLog, MockModel, after, call, elapsed, reply};
use schemars::JsonSchema;
use serde::Deserialize;

// 1. Tidies up when it is cancelled. The token is cancelled first; two seconds later the future is dropped.

struct BrowserGadget {
    browser: Arc<Browser>,
}

#[derive(Deserialize, JsonSchema)]
struct Address {
    url: String,
}

impl Gadget for BrowserGadget {
    type Params = Address;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new("BrowserGadget", "Fetches web page content")
            .timeout(Duration::from_secs(30))
    }

    async fn execute(
        &self,
        Address { url }: Address,
        context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        let content = tokio::select! {
            content = self.browser.goto(&url) => Ok(content),
            () = context.cancellation().cancelled() => Err(GadgetError::cancelled()),
        };
        // Both ways lead here, and there is time to wait for it.
        self.browser.close().await;
        content
    }
}

// 2. Checks between its steps whether it should continue.

struct DataProcessor {
    processed: Arc<AtomicUsize>,
}

#[derive(Deserialize, JsonSchema)]
struct Batch {
    items: Vec<String>,
}

impl Gadget for DataProcessor {
    type Params = Batch;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new("DataProcessor", "Processes data in batches")
    }

    async fn execute(
        &self,
        Batch { items }: Batch,
        context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        let mut results = Vec::new();
        for item in items {
            // Before each expensive operation.
            context.throw_if_cancelled()?;
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.processed.fetch_add(1, Ordering::Relaxed);
            results.push(item.to_uppercase());
        }
        Ok(results.join(", "))
    }
}

// 3. Has nothing to tidy up: a future that is dropped ends its work, and a request on the network is such a future.
//    `run_until_cancelled` drops it at once and not only after the two seconds.

/// Fetches a page
#[gadget]
async fn fetch(url: String, context: ExecutionContext) -> Result<String, GadgetError> {
    let response = context
        .cancellation()
        .run_until_cancelled(request(&url))
        .await;
    response.ok_or_else(GadgetError::cancelled)
}

// The clock is paused: seconds pass at once.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    let browser = Arc::new(Browser::default());
    let log = EventLog::default();
    let model = MockModel::in_order([
        reply().call(
            call("BrowserGadget")
                .id("page")
                .arg("url", "https://example.com/hangs"),
        ),
        reply().text("The page does not load."),
    ]);
    let agent = Agent::builder()
        .model(model)
        .gadget(BrowserGadget {
            browser: Arc::clone(&browser),
        })
        .observer(log.clone());
    let (answer, took) = elapsed(agent.ask("Read the page")?.text()).await;
    println!(
        "{}\nafter {took:?}, the browser is closed: {}\n",
        answer?,
        browser.is_closed()
    );
    assert_eq!(
        log.expect_error("page"),
        "Gadget 'BrowserGadget' execution exceeded timeout of 30000ms"
    );
    assert!(browser.is_closed());
    assert_eq!(took, Duration::from_millis(30_100)); // with the tenth of a second to close it

    // The run is stopped after three and a half seconds.
    let processed = Arc::new(AtomicUsize::new(0));
    let log = EventLog::default();
    let items: Vec<String> = (1..=100).map(|number| format!("item {number}")).collect();
    let model = MockModel::in_order([reply().calls([
        call("DataProcessor").id("batch").arg("items", items),
        call("Fetch")
            .id("page")
            .arg("url", "https://example.com/hangs"),
    ])]);
    let run = Agent::builder()
        .model(model)
        .gadget(DataProcessor {
            processed: Arc::clone(&processed),
        })
        .gadget(Fetch)
        .observer(log.clone())
        .ask("Process all of it")?;
    let handle = run.handle();
    let stop = after(Duration::from_millis(3_500), async { handle.cancel() });
    let ((answer, ()), took) = elapsed(async { tokio::join!(run.text(), stop) }).await;
    let error = answer.err().ok_or("the run was cancelled")?;
    println!(
        "{error} after {took:?}; {} items were processed",
        processed.load(Ordering::Relaxed)
    );
    print!("{}", log.render());
    assert_eq!(error.reason(), FinishReason::Cancelled);
    // The fourth was in progress, and the gadget then noticed the cancellation.
    assert_eq!(processed.load(Ordering::Relaxed), 4);
    assert_eq!(took, Duration::from_secs(4));
    Ok(())
}

/// Simulates a browser.
#[derive(Default)]
struct Browser {
    closed: AtomicBool,
}

impl Browser {
    async fn goto(&self, url: &str) -> String {
        request(url).await
    }

    async fn close(&self) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        self.closed.store(true, Ordering::Relaxed);
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }
}

/// Simulates a network request that is never answered.
async fn request(_url: &str) -> String {
    std::future::pending().await
}
