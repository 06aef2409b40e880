//! The workflow of a run: each step keeps a part of the run's journal.

use std::sync::Arc;

use gadgetry::journal::OpenQuestion;
use gadgetry::serde_json::Value;
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::batch::Then;
use crate::inbox::{InboxServiceClient, signal};
use crate::session::Session;
use crate::worker::Shared;
use gadgetry::journal::RunId;

/// What a run begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Submission {
    pub(crate) prompt: String,
}

/// The code of an invocation that was cancelled.
const CANCELLED: u16 = 409;

/// The state that has the open questions.
const QUESTIONS: &str = "questions";

/// The service of all runs; a key is the id of a run.
pub(crate) struct RunService(pub(crate) Arc<Shared>);

#[restate_sdk::workflow(name = "GadgetryRun", client_visibility = "pub(crate)")]
impl RunService {
    /// Drives the run to its end.
    #[handler]
    async fn run(
        &self,
        ctx: WorkflowContext<'_>,
        submission: Json<Submission>,
    ) -> Result<Json<Value>, HandlerError> {
        let id: RunId = ctx
            .key()
            .parse()
            .map_err(|error| TerminalError::new_with_code(400, format!("{error}")))?;
        let invocation = ctx.invocation_id().to_owned();
        let session = Session::new(Arc::clone(&self.0), id, submission.into_inner(), invocation);
        let session = Arc::new(Mutex::new(session));
        let mut name = "start".to_owned();
        let result = loop {
            let driving = Arc::clone(&session);
            let batch = ctx
                .run(move || async move { driving.lock().await.next_batch().await })
                .name(name.clone())
                .await;
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) if error.code() == CANCELLED => {
                    // The steps continue until the driver has cancelled the gadgets.
                    session.lock().await.cancel();
                    continue;
                }
                Err(error) => break Err(error),
            };
            let head = session.lock().await.keep(&batch)?;
            match head.questions.as_deref() {
                Some([]) => ctx.clear(QUESTIONS),
                Some(questions) => ctx.set(QUESTIONS, Json(questions.to_vec())),
                None => {}
            }
            match head.then {
                Then::Work(next) => name = next,
                Then::Wait { message } => {
                    if let Err(error) = ctx.signal::<u64>(&signal(message)).await {
                        if error.code() != CANCELLED {
                            break Err(error);
                        }
                        session.lock().await.cancel();
                    }
                    session.lock().await.wake();
                    name = format!("message/{message}");
                }
                Then::End(result) => break Ok(result),
                Then::Fail { code, message } => {
                    break Err(TerminalError::new_with_code(code, message));
                }
            }
        };
        let inbox = ctx.object_client::<InboxServiceClient<'_>>(ctx.key());
        inbox.close().send();
        Ok(Json(result?))
    }

    /// The questions that are open.
    #[handler]
    async fn questions(
        &self,
        ctx: SharedWorkflowContext<'_>,
    ) -> Result<Json<Vec<OpenQuestion>>, HandlerError> {
        let questions = ctx.get::<Json<Vec<OpenQuestion>>>(QUESTIONS).await?;
        Ok(questions.unwrap_or(Json(Vec::new())))
    }
}
