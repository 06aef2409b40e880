//! `/undo` and `/rewind`: changes of files in this conversation.

use gadgetry_builtins::{FileError, Undone, Workspace};

use super::report::{Report, Tone};
use crate::error::Error;

/// Result of undoing changes, for the model and for the user.
#[derive(Debug, Default)]
pub(super) struct Undoing {
    /// For the model: each file, and what happened to it.
    pub(super) changes: Vec<String>,
    pub(super) reports: Vec<Report>,
    problems: Vec<String>,
}

/// Says that changes by commands are not recorded, and why.
pub(super) fn not_covered(problem: &str) -> String {
    format!("/undo does not cover commands here: {problem}")
}

/// Undoes the latest `count` steps: the change of a file, or all changes of a command. Stops after a step with a file that was changed
/// since; that change is not offered again. `not_covered` says which changes were not recorded, if some were not.
///
/// Fails if nothing was undone.
pub(super) fn undo(
    workspace: Option<&Workspace>,
    count: usize,
    not_covered: Option<String>,
) -> Result<Undoing, Error> {
    let mut undoing = Undoing::default();
    for _ in 0..count {
        let step = workspace.and_then(|it| Some((it, it.latest_step()?)));
        let Some((workspace, step)) = step else {
            if undoing.changes.is_empty() {
                let covered = not_covered.unwrap_or_else(|| {
                    "only changes since the start of this program can be undone".to_owned()
                });
                return Err(Error::input(format_args!(
                    "there is no change of a file to undo; {covered}"
                )));
            }
            let words = "there is nothing more to undo".to_owned();
            undoing.reports.push(Report::Note(Tone::Alert, words));
            break;
        };
        undoing.add_all(workspace.undo_to(step));
        if !undoing.problems.is_empty() {
            break;
        }
    }
    if undoing.changes.is_empty() {
        return Err(Error::input(undoing.problems.join("\n")));
    }
    undoing.problems.extend(not_covered);
    undoing.say_problems();
    Ok(undoing)
}

/// Undoes all changes after the first `count`, as far as they can be.
pub(super) fn undo_to(workspace: &Workspace, count: u64) -> Undoing {
    let mut undoing = Undoing::default();
    undoing.add_all(workspace.undo_to(count));
    let forgotten = workspace.forgotten().saturating_sub(count);
    if forgotten > 0 {
        let words = format!("{forgotten} earlier changes are not kept any more, and stay");
        undoing.problems.push(words);
    }
    undoing.say_problems();
    undoing
}

impl Undoing {
    fn add_all(&mut self, undone: Vec<Result<Undone, FileError>>) {
        for undone in undone {
            match undone {
                Ok(undone) => self.add(undone),
                Err(error) => self
                    .problems
                    .push(format!("cannot undo the change: {error}")),
            }
        }
    }

    fn add(&mut self, undone: Undone) {
        let Undone {
            path,
            removed,
            diff,
        } = undone;
        let what = if removed { "removed" } else { "restored" };
        self.changes.push(format!("{path} was {what}"));
        let words = format!("undone: {path} was {what}");
        self.reports.push(Report::plain(words));
        if !removed {
            self.reports.push(Report::Diff(diff));
        }
    }

    fn say_problems(&mut self) {
        let problems = std::mem::take(&mut self.problems).into_iter();
        let notes = problems.map(|words| Report::Note(Tone::Bad, words));
        self.reports.extend(notes);
    }
}
