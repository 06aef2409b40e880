//! What the tests share.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::StreamExt as _;
use gadgetry::proto::delta::Delta;
use gadgetry::proto::message::{Message, Request};
use gadgetry::proto::run::{Run, RunConfig, Summary};
use gadgetry::{IntoGadget, Model, Services, Toolbox, driver};
use gadgetry_testing::{EventLog, MockModel, conversation};

/// The first request about these messages.
pub(crate) fn request(messages: Vec<Message>) -> Request {
    Request::default().messages(messages).iteration(1)
}

/// The first request of a user who says this.
pub(crate) fn says(text: &str) -> Request {
    request(conversation().user(text).build())
}

/// Every delta of the reply. Waiting needs a runtime.
pub(crate) async fn deltas(model: &MockModel, request: Request) -> Vec<Delta> {
    model.stream(request).collect().await
}

/// The text of the reply, or the error that ends it.
pub(crate) async fn answer(model: &MockModel, request: Request) -> Result<String, String> {
    let mut text = String::new();
    for delta in deltas(model, request).await {
        if let Delta::Text { delta, .. } = delta {
            text.push_str(&delta);
        } else if let Delta::Error(error) = delta {
            return Err(error.message);
        }
    }
    Ok(text)
}

/// The words of the panic.
pub(crate) fn panic_of<T>(work: impl FnOnce() -> T) -> String {
    let panic = catch_unwind(AssertUnwindSafe(work)).err().unwrap();
    let words = panic.downcast_ref::<String>().cloned();
    words.unwrap_or_else(|| (*panic.downcast_ref::<&str>().unwrap()).to_owned())
}

pub(crate) fn toolbox(gadgets: impl IntoIterator<Item: IntoGadget>) -> Toolbox {
    let mut toolbox = Toolbox::default();
    for gadget in gadgets {
        toolbox.add(gadget).unwrap();
    }
    toolbox
}

/// A whole run about `prompt`.
pub(crate) async fn play(
    model: &MockModel,
    toolbox: &Toolbox,
    prompt: &str,
) -> (Summary, EventLog) {
    let history = conversation().user(prompt).build();
    play_on(RunConfig::default(), history, model, toolbox).await
}

/// A whole run with these gadgets, which continues `history`.
pub(crate) async fn play_on(
    config: RunConfig,
    history: Vec<Message>,
    model: &MockModel,
    toolbox: &Toolbox,
) -> (Summary, EventLog) {
    let plan = config.plan(Arc::clone(toolbox.registry())).unwrap();
    let run = Run::new(&plan, history);
    let mut log = EventLog::default();
    let (_commands, receiver) = tokio::sync::mpsc::channel(1);
    let services = Services::new(Arc::new(model.clone()), toolbox.clone());
    let ended = driver::drive(run, &services, receiver, &mut log).await;
    (ended.summary, log)
}
