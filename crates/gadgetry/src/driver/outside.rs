//! Answers to the questions of running gadgets that come from outside of the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gadgetry_proto::id::CallId;
use tokio::sync::oneshot;

/// The questions of the gadgets of a durable run, and the answers that arrived before their questions: a gadget that is
/// executed again may not have asked yet.
#[derive(Default)]
pub(super) struct OutsideAnswers(Mutex<BTreeMap<(CallId, u32), OpenAnswer>>);

enum OpenAnswer {
    /// The gadget waits.
    Asked(oneshot::Sender<Option<String>>),
    /// The answer waits.
    Answered(Option<String>),
}

impl OutsideAnswers {
    /// Waits for the answer to a question; `None` if the user gave no answer.
    pub(super) fn wait(
        &self,
        call: CallId,
        number: u32,
    ) -> impl Future<Output = Option<String>> + Send + 'static {
        let (sender, answer) = oneshot::channel();
        let mut answers = self.lock();
        match answers.remove(&(call, number)) {
            Some(OpenAnswer::Answered(answer)) => {
                // The receiver is in this function.
                let _ = sender.send(answer);
            }
            Some(OpenAnswer::Asked(_)) | None => {
                answers.insert((call, number), OpenAnswer::Asked(sender));
            }
        }
        async move { answer.await.unwrap_or_default() }
    }

    /// Brings the answer to a question.
    pub(super) fn answer(&self, call: CallId, number: u32, answer: Option<String>) {
        let mut answers = self.lock();
        match answers.remove(&(call, number)) {
            Some(OpenAnswer::Asked(sender)) => {
                // It fails if the gadget no longer waits.
                let _ = sender.send(answer);
            }
            Some(OpenAnswer::Answered(_)) | None => {
                answers.insert((call, number), OpenAnswer::Answered(answer));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(CallId, u32), OpenAnswer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
