//! Answers to the questions of running gadgets that come from outside of the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gadgetry_proto::id::CallId;
use tokio::sync::oneshot;

/// The questions of the gadgets of a durable run, and the answers that arrived before their questions: a gadget that is
/// executed again may not have asked yet.
#[derive(Default)]
pub(super) struct OutsideAnswers(Mutex<BTreeMap<(CallId, u32), Place>>);

enum Place {
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
        let mut places = self.lock();
        match places.remove(&(call, number)) {
            Some(Place::Answered(answer)) => {
                // The receiver is in this function.
                let _ = sender.send(answer);
            }
            Some(Place::Asked(_)) | None => {
                places.insert((call, number), Place::Asked(sender));
            }
        }
        async move { answer.await.unwrap_or_default() }
    }

    /// Brings the answer to a question.
    pub(super) fn answer(&self, call: CallId, number: u32, answer: Option<String>) {
        let mut places = self.lock();
        match places.remove(&(call, number)) {
            Some(Place::Asked(sender)) => {
                // It fails if the gadget no longer waits.
                let _ = sender.send(answer);
            }
            Some(Place::Answered(_)) | None => {
                places.insert((call, number), Place::Answered(answer));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(CallId, u32), Place>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
