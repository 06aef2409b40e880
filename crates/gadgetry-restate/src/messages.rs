//! The messages of one run on their way from its inbox to its driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gadgetry::proto::run::Command;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::hub::Hub;
use crate::inbox::Stored;
use crate::ingress::Ingress;
use gadgetry::journal::{Incoming, Message, RunId};

/// The number of a cancellation that came from Restate itself and not from the inbox.
const CANCELLED: u64 = u64::MAX;

/// Delivers messages to a driver.
pub(crate) struct Messages {
    ingress: Ingress,
    run: RunId,
    /// The number of the next message.
    seen: AtomicU64,
    driver: mpsc::UnboundedSender<Message>,
    /// How many messages were sent to the driver.
    delivered: AtomicU64,
}

impl Messages {
    pub(crate) fn new(ingress: Ingress, run: RunId) -> (Self, mpsc::UnboundedReceiver<Message>) {
        let (driver, receiver) = mpsc::unbounded_channel();
        let messages = Self {
            ingress,
            run,
            seen: AtomicU64::new(0),
            driver,
            delivered: AtomicU64::new(0),
        };
        (messages, receiver)
    }

    /// How many messages of the inbox were delivered.
    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Acquire)
    }

    /// How many messages were sent to the driver, which has perhaps not taken all of them.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Acquire)
    }

    /// Cancels the run.
    pub(crate) fn cancel(&self) {
        self.send(CANCELLED, Incoming::Command(Command::Cancel));
    }

    /// Delivers what the inbox has stored, except those that became inputs before.
    pub(crate) fn deliver(&self, stored: Vec<Stored>, is_known: impl Fn(u64) -> bool) {
        for Stored { number, message } in stored {
            if number < self.seen() {
                continue;
            }
            if !is_known(number) {
                self.send(number, message);
            }
            self.seen.store(number + 1, Ordering::Release);
        }
    }

    /// Fetches messages whenever there is news of some.
    pub(crate) async fn fetch(self: Arc<Self>, news: Arc<Hub>) {
        loop {
            news.woken().await;
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

    fn send(&self, id: u64, content: Incoming) {
        self.delivered.fetch_add(1, Ordering::AcqRel);
        // It fails when the driver has ended.
        let _ = self.driver.send(Message { id, content });
    }
}
