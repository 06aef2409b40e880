//! The workflow of a run: each step saves a part of the run's journal.

use std::sync::Arc;

use gadgetry::journal::OpenQuestion;
use gadgetry::serde_json::Value;
use restate_sdk::prelude::*;
use tokio::sync::Mutex;

use crate::context::WorkerContext;
use crate::execution::Execution;
use crate::inbox::InboxServiceClient;
use crate::protocol::{CANCELLED, Submission, message_signal};
use crate::step::NextAction;
use gadgetry::journal::RunId;

/// The key of the state with the open questions.
const QUESTIONS: &str = "questions";

/// The service of all runs; a key is the id of a run.
pub(crate) struct RunService(pub(crate) Arc<WorkerContext>);

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
        let execution =
            Execution::new(Arc::clone(&self.0), id, submission.into_inner(), invocation);
        let execution = Arc::new(Mutex::new(execution));
        let mut name = "start".to_owned();
        let result = loop {
            let driving = Arc::clone(&execution);
            let step = ctx
                .run(move || async move { driving.lock().await.next_step().await })
                .name(name.clone())
                .await;
            let step = match step {
                Ok(step) => step,
                Err(error) if error.code() == CANCELLED => {
                    // The steps continue until the driver has cancelled the gadgets.
                    execution.lock().await.cancel();
                    continue;
                }
                Err(error) => break Err(error),
            };
            let head = execution.lock().await.take(&step)?;
            match head.questions.as_deref() {
                Some([]) => ctx.clear(QUESTIONS),
                Some(questions) => ctx.set(QUESTIONS, Json(questions.to_vec())),
                None => {}
            }
            match head.next {
                NextAction::Work(next) => name = next,
                NextAction::Wait { message } => {
                    if let Err(error) = ctx.signal::<u64>(&message_signal(message)).await {
                        if error.code() != CANCELLED {
                            break Err(error);
                        }
                        execution.lock().await.cancel();
                    }
                    execution.lock().await.wake();
                    name = format!("message/{message}");
                }
                NextAction::End(result) => break Ok(result),
                NextAction::Fail { code, message } => {
                    break Err(TerminalError::new_with_code(code, message));
                }
            }
        };
        let inbox = ctx.object_client::<InboxServiceClient<'_>>(ctx.key());
        inbox.close().send();
        Ok(Json(result?))
    }

    /// Returns the questions that are open.
    #[handler]
    async fn questions(
        &self,
        ctx: SharedWorkflowContext<'_>,
    ) -> Result<Json<Vec<OpenQuestion>>, HandlerError> {
        let questions = ctx.get::<Json<Vec<OpenQuestion>>>(QUESTIONS).await?;
        Ok(questions.unwrap_or(Json(Vec::new())))
    }
}
