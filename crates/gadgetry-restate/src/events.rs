//! The events of the runs that this worker drives, for those who follow them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::stream;
use gadgetry::Observer;
use gadgetry::proto::event::Event;
use tokio::sync::{Notify, watch};

use crate::ingress::random;

/// The hubs of a worker, by run.
pub(crate) type EventHubs = Arc<Mutex<HashMap<String, Arc<EventHub>>>>;

/// The events of one run so far, and a notification of new messages.
pub(crate) struct EventHub {
    /// The id of this drive of the run: another one may use the numbers of events that were not kept again.
    pub(crate) drive: String,
    events: watch::Sender<Events>,
    new_messages: Notify,
}

#[derive(Default)]
struct Events {
    /// The number of the first one: a run that is resumed here has had some elsewhere.
    first: Option<u64>,
    /// JSON lines, in the order of their numbers.
    lines: Vec<Bytes>,
    has_ended: bool,
}

impl EventHub {
    /// Makes a hub for a run, and registers it until [`RegisteredHub`] is dropped.
    pub(crate) fn register(hubs: &EventHubs, run: &str) -> RegisteredHub {
        let hub = Arc::new(Self {
            drive: random(),
            events: watch::Sender::default(),
            new_messages: Notify::new(),
        });
        lock(hubs).insert(run.to_owned(), Arc::clone(&hub));
        RegisteredHub {
            hubs: Arc::clone(hubs),
            run: run.to_owned(),
            hub,
        }
    }

    /// Notifies the run that there may be messages for it.
    pub(crate) fn wake(&self) {
        self.new_messages.notify_one();
    }

    /// Waits for [`EventHub::wake`].
    ///
    /// Cancel safety: nothing is lost.
    pub(crate) async fn woken(&self) {
        self.new_messages.notified().await;
    }

    /// Streams the events from this number on, as JSON lines, until the run ends or leaves this worker. All of them for a
    /// follower of another drive of the run.
    pub(crate) fn follow(
        self: &Arc<Self>,
        from: u64,
        drive: Option<&str>,
    ) -> impl Stream<Item = Bytes> + use<> {
        let receiver = self.events.subscribe();
        let from = if drive.is_some_and(|drive| drive != self.drive) {
            0
        } else {
            from
        };
        stream::unfold((receiver, from), |(mut receiver, next)| async move {
            let events = receiver
                .wait_for(|events| events.has_ended || !events.since(next).is_empty())
                .await
                .ok()?;
            let new = events.since(next);
            if new.is_empty() {
                return None;
            }
            let text: Vec<u8> = new.concat();
            let next = events.first.unwrap_or(0) + events.lines.len() as u64;
            drop(events);
            Some((Bytes::from(text), (receiver, next)))
        })
    }

    /// Takes an event of the run.
    pub(crate) fn event(&self, event: &Event) {
        let Ok(mut line) = gadgetry::serde_json::to_vec(event) else {
            return; // an event is always JSON
        };
        line.push(b'\n');
        self.events.send_modify(|events| {
            events.first.get_or_insert(event.seq);
            events.lines.push(Bytes::from(line));
        });
    }
}

impl Events {
    /// Returns the lines of the events from this number on.
    fn since(&self, from: u64) -> &[Bytes] {
        let skipped = from.saturating_sub(self.first.unwrap_or(0));
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        self.lines.get(skipped..).unwrap_or_default()
    }
}

/// A hub that can be found until this is dropped.
pub(crate) struct RegisteredHub {
    hubs: EventHubs,
    run: String,
    hub: Arc<EventHub>,
}

impl RegisteredHub {
    pub(crate) fn hub(&self) -> &Arc<EventHub> {
        &self.hub
    }

    pub(crate) fn wake(&self) {
        self.hub.wake();
    }
}

impl Drop for RegisteredHub {
    fn drop(&mut self) {
        self.hub
            .events
            .send_modify(|events| events.has_ended = true);
        let mut hubs = lock(&self.hubs);
        if hubs
            .get(&self.run)
            .is_some_and(|hub| Arc::ptr_eq(hub, &self.hub))
        {
            hubs.remove(&self.run);
        }
    }
}

/// Sends events to a hub.
pub(crate) struct HubObserver(pub(crate) Arc<EventHub>);

impl Observer for HubObserver {
    fn event(&mut self, event: &Event) {
        self.0.event(event);
    }
}

/// Finds the hub of a run.
pub(crate) fn find(hubs: &EventHubs, run: &str) -> Option<Arc<EventHub>> {
    lock(hubs).get(run).map(Arc::clone)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
