//! Replay of the kept inputs of a run.

use gadgetry_proto::run::{Misuse, Output, Run, Summary};

use crate::journal::{JournalError, RunId};
use crate::log::Entry;
use crate::observer::Observer;

/// Replays entries of the run `id`, which begins as `run`. No effects are carried out; `observer` sees the inputs and the
/// resulting events. Returns the summary if the run has ended.
///
/// # Errors
///
/// [`JournalError::Damaged`] if an entry cannot follow the ones before it.
pub fn play(
    id: &RunId,
    run: &mut Run,
    entries: impl IntoIterator<Item = Entry>,
    observer: &mut dyn Observer,
) -> Result<Option<Summary>, JournalError> {
    let mut summary = drain(run, observer);
    for (number, Entry { time, input }) in entries.into_iter().enumerate() {
        observer.input(time, &input);
        match run.handle(time, input) {
            // A hook gave an answer that its question does not admit; the run did not change then either.
            Ok(()) | Err(Misuse::WrongDecision(_)) => {}
            Err(misuse) => {
                return Err(JournalError::Damaged {
                    run: id.clone(),
                    place: format!("entry {number} after its last checkpoint"),
                    problem: misuse.to_string(),
                });
            }
        }
        summary = drain(run, observer);
    }
    Ok(summary)
}

fn drain(run: &mut Run, observer: &mut dyn Observer) -> Option<Summary> {
    loop {
        match run.poll() {
            Output::Event(event) => observer.event(&event),
            Output::Wait(_) => return None,
            Output::Finished(summary) => return Some(summary),
            // Whether any of these was done is not known. If so, an entry has its result.
            Output::Send(_)
            | Output::CloseModel
            | Output::Start(_)
            | Output::Cancel(_)
            | Output::Ask(_) => {}
        }
    }
}
