//! Delivery of the messages of one run from its inbox to its driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gadgetry::proto::run::Command;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::events::EventHub;
use crate::ingress::Ingress;
use crate::protocol::StoredMessage;
use gadgetry::journal::{RunId, RunMessage, RunMessageContent};

/// The number of a cancellation that came from Restate itself and not from the inbox.
const CANCELLATION: u64 = u64::MAX;

/// Delivers messages to a driver.
pub(crate) struct Delivery {
    ingress: Ingress,
    run: RunId,
    /// The number of the next message.
    seen: AtomicU64,
    driver: mpsc::UnboundedSender<RunMessage>,
    /// Number of messages that were sent to the driver.
    delivered: AtomicU64,
}

impl Delivery {
    pub(crate) fn new(ingress: Ingress, run: RunId) -> (Self, mpsc::UnboundedReceiver<RunMessage>) {
        let (driver, receiver) = mpsc::unbounded_channel();
        let delivery = Self {
            ingress,
            run,
            seen: AtomicU64::new(0),
            driver,
            delivered: AtomicU64::new(0),
        };
        (delivery, receiver)
    }

    /// Returns the number of messages of the inbox that were delivered.
    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Acquire)
    }

    /// Returns the number of messages that were sent to the driver, which has perhaps not taken all of them.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Acquire)
    }

    /// Cancels the run.
    pub(crate) fn cancel(&self) {
        self.send(CANCELLATION, RunMessageContent::Command(Command::Cancel));
    }

    /// Delivers what the inbox has stored, except those that became inputs before.
    pub(crate) fn deliver(&self, stored: Vec<StoredMessage>, is_known: impl Fn(u64) -> bool) {
        for StoredMessage { number, message } in stored {
            if number < self.seen() {
                continue;
            }
            if !is_known(number) {
                self.send(number, message);
            }
            self.seen.store(number + 1, Ordering::Release);
        }
    }

    /// Fetches messages whenever the worker was woken.
    pub(crate) async fn fetch(self: Arc<Self>, events: Arc<EventHub>) {
        loop {
            events.woken().await;
            for attempt in 0..5 {
                match self.ingress.messages(&self.run, self.seen()).await {
                    Ok(stored) => {
                        self.deliver(stored, |_| false);
                        break;
                    }
                    Err(error) => {
                        tracing::warn!(run = %self.run, "messages cannot be fetched: {error}");
                        sleep(Duration::from_secs(1 << attempt)).await;
                    }
                }
            }
        }
    }

    fn send(&self, id: u64, content: RunMessageContent) {
        self.delivered.fetch_add(1, Ordering::AcqRel);
        // It fails when the driver has ended.
        let _ = self.driver.send(RunMessage { id, content });
    }
}
