//! The inbox of a run: a virtual object of Restate that stores the messages to it, and knows which worker drives it.

use std::time::Duration;

use gadgetry::proto::run::Command;
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};

use crate::ingress::Ingress;
use crate::protocol::{InboxOpening, StoredMessage, WorkerAddress, message_signal};
use gadgetry::journal::RunMessageContent;

/// Maximum number of messages of a run.
const MAX_MESSAGES: usize = 10_000;

/// Maximum number of bytes of one message.
const MAX_MESSAGE: usize = 1 << 20;

/// Time for which the note that a run has ended is stored.
const CLOSED_FOR: Duration = Duration::from_hours(7 * 24);

/// The key of everything that an inbox stores.
const KEY: &str = "inbox";

/// The state of an inbox.
#[derive(Default, Serialize, Deserialize)]
struct Inbox {
    invocation: Option<String>,
    #[serde(rename = "place")]
    worker: Option<WorkerAddress>,
    messages: Vec<RunMessageContent>,
    is_closed: bool,
}

/// The service of all inboxes; a key is the id of a run.
pub(crate) struct InboxService(pub(crate) Ingress);

#[restate_sdk::object(name = "GadgetryInbox", client_visibility = "pub(crate)")]
impl InboxService {
    /// Takes note of the worker that begins to drive the run. Returns all messages.
    #[handler]
    async fn open(
        &self,
        ctx: ObjectContext<'_>,
        opening: Json<InboxOpening>,
    ) -> Result<Json<Vec<StoredMessage>>, HandlerError> {
        let Json(opening) = opening;
        let mut inbox = load(ctx.get::<Json<Inbox>>(KEY).await?);
        inbox.invocation = Some(opening.invocation);
        inbox.worker = Some(opening.worker);
        let messages = stored(&inbox, 0);
        ctx.set(KEY, Json(inbox));
        Ok(Json(messages))
    }

    /// Stores a message, wakes the workflow if it is suspended, and the worker that drives the run. Returns its number.
    #[handler]
    async fn put(
        &self,
        ctx: ObjectContext<'_>,
        message: Json<RunMessageContent>,
    ) -> Result<Json<u64>, HandlerError> {
        let Json(message) = message;
        let mut inbox = load(ctx.get::<Json<Inbox>>(KEY).await?);
        let run = ctx.key().to_owned();
        if inbox.is_closed {
            let ended = format!("run {run} has ended");
            return Err(TerminalError::new_with_code(409, ended).into());
        }
        let size = gadgetry::serde_json::to_vec(&message).map_or(0, |text| text.len());
        let is_cancel = message == RunMessageContent::Command(Command::Cancel);
        if size > MAX_MESSAGE || (inbox.messages.len() >= MAX_MESSAGES && !is_cancel) {
            let limits = format!(
                "a run takes {MAX_MESSAGES} messages of at most {MAX_MESSAGE} bytes each; this one has {size}"
            );
            return Err(TerminalError::new_with_code(413, limits).into());
        }
        let number = inbox.messages.len() as u64;
        inbox.messages.push(message);
        let invocation = inbox.invocation.clone();
        let worker = inbox.worker.clone();
        ctx.set(KEY, Json(inbox));
        if let Some(invocation) = invocation {
            let invocation = ctx.invocation_handle(invocation);
            invocation.signal(message_signal(number)).resolve(number);
        }
        if let Some(worker) = worker {
            // What comes before a step is stored once the step is: the worker finds the message.
            ctx.run(|| async { Ok(()) }).name("stored").await?;
            let ingress = self.0.clone();
            ctx.run(move || async move {
                ingress.wake(&worker, &run).await;
                Ok(())
            })
            .name("wake")
            .await?;
        }
        Ok(Json(number))
    }

    /// Returns the messages from this number on.
    #[handler]
    async fn messages(
        &self,
        ctx: SharedObjectContext<'_>,
        from: Json<u64>,
    ) -> Result<Json<Vec<StoredMessage>>, HandlerError> {
        let inbox = load(ctx.get::<Json<Inbox>>(KEY).await?);
        Ok(Json(stored(&inbox, from.into_inner())))
    }

    /// Returns the worker that drives the run, if there is one. Clients of other versions call it by this name.
    #[handler]
    async fn place(
        &self,
        ctx: SharedObjectContext<'_>,
    ) -> Result<Json<Option<WorkerAddress>>, HandlerError> {
        Ok(Json(load(ctx.get::<Json<Inbox>>(KEY).await?).worker))
    }

    /// Refuses messages from now on: the run has ended.
    #[handler]
    async fn close(&self, ctx: ObjectContext<'_>) -> Result<(), HandlerError> {
        let closed = Inbox {
            is_closed: true,
            ..Inbox::default()
        };
        if load(ctx.get::<Json<Inbox>>(KEY).await?).is_closed {
            return Ok(());
        }
        ctx.set(KEY, Json(closed));
        let this = ctx.object_client::<InboxServiceClient<'_>>(ctx.key());
        this.purge().send_after(CLOSED_FOR);
        Ok(())
    }

    /// Removes everything, unless the id is in use again.
    #[handler]
    async fn purge(&self, ctx: ObjectContext<'_>) -> Result<(), HandlerError> {
        if load(ctx.get::<Json<Inbox>>(KEY).await?).is_closed {
            ctx.clear_all();
        }
        Ok(())
    }
}

fn load(inbox: Option<Json<Inbox>>) -> Inbox {
    inbox.map(Json::into_inner).unwrap_or_default()
}

fn stored(inbox: &Inbox, from: u64) -> Vec<StoredMessage> {
    let messages = inbox.messages.iter().cloned();
    let messages = (0..).zip(messages).filter(|(number, _)| *number >= from);
    messages
        .map(|(number, message)| StoredMessage { number, message })
        .collect()
}
