//! The user of a session, whom its run may ask.

use std::future::pending;
use std::sync::OnceLock;
use std::time::Duration;

use gadgetry::journal::RunId;
use gadgetry::proto::run::{OpenQuestion, OpenQuestionKind};
use gadgetry_store::SqliteJournal;
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::printer::Prompter;

/// Interval of checks whether the run waits for nothing but an answer.
const PAUSE: Duration = Duration::from_millis(50);

/// Answers the questions of a run: at the terminal if there is one. Otherwise the question whether an interrupted gadget
/// runs again stays open, and the run is left when it waits for nothing else; any other question has no answer.
#[derive(Default)]
pub(crate) struct Asker {
    place: OnceLock<Place>,
    left: Notify,
}

struct Place {
    journal: SqliteJournal,
    run: RunId,
    prompter: Option<Prompter>,
}

impl Asker {
    /// Says where the questions are kept, and where the user is. Until then, questions have no answer.
    pub(crate) fn begin(&self, journal: &SqliteJournal, run: &RunId, prompter: Option<Prompter>) {
        let place = Place {
            journal: journal.clone(),
            run: run.clone(),
            prompter,
        };
        // It is called once for each run, and each run has an asker of its own.
        let _ = self.place.set(place);
    }

    /// The answer, or `None` if no user is available.
    pub(crate) async fn ask(&self, question: String) -> Option<String> {
        let place = self.place.get()?;
        if let Some(prompter) = &place.prompter
            && let Some(answer) = prompter.ask(question.clone()).await
        {
            return Some(answer);
        }
        let open = questions(&place.journal, &place.run).await;
        let is_asked =
            |it: &OpenQuestion| it.kind == OpenQuestionKind::Interrupted && it.text == question;
        if !open.iter().any(is_asked) {
            return None;
        }
        while !is_waiting(&place.journal, &place.run).await {
            sleep(PAUSE).await;
        }
        self.left.notify_one();
        pending().await
    }

    /// Waits until the run is to be left, because it waits for nothing but answers.
    pub(crate) async fn left(&self) {
        self.left.notified().await;
    }
}

/// The open questions of a run; none if they cannot be read.
pub(crate) async fn questions(journal: &SqliteJournal, run: &RunId) -> Vec<OpenQuestion> {
    let record = journal.run(run).await;
    record.map_or_else(|_| Vec::new(), |record| record.progress.questions)
}

async fn is_waiting(journal: &SqliteJournal, run: &RunId) -> bool {
    // In this order, because an answer is taken and ends the wait in one step.
    let unread = journal.unread(run).await.unwrap_or_default();
    let record = journal.run(run).await;
    // What cannot be read is nothing to wait for.
    unread == 0 && record.map_or(true, |record| record.progress.is_waiting)
}
