//! `/undo`: changes of files that built-in gadgets have made in this conversation.

use gadgetry_builtins::{FileError, Undone, Workspace};

use super::report::{Report, Tone};
use crate::error::Error;

/// Result of undoing changes, for the model and for the user.
#[derive(Debug, Default)]
pub(super) struct Undoing {
    /// For the model: each file, and what happened to it.
    pub(super) changes: Vec<String>,
    pub(super) reports: Vec<Report>,
}

/// Undoes the latest `count` changes. Stops at a file that was changed since; that change is not offered again.
///
/// Fails if nothing was undone.
pub(super) fn undo(workspace: Option<&Workspace>, count: usize) -> Result<Undoing, Error> {
    let mut undoing = Undoing::default();
    let next = || workspace.map_or(Ok(None), Workspace::undo);
    for _ in 0..count {
        match next() {
            Ok(Some(undone)) => undoing.add(undone),
            Ok(None) if undoing.changes.is_empty() => {
                return Err(Error::input(
                    "there is no change of a file to undo; only changes by built-in gadgets since the start of this program can be undone",
                ));
            }
            Ok(None) => {
                let words = "there is nothing more to undo".to_owned();
                undoing.reports.push(Report::Note(Tone::Alert, words));
                break;
            }
            Err(error) if undoing.changes.is_empty() => return Err(refused(&error)),
            Err(error) => {
                let words = refused(&error).to_string();
                undoing.reports.push(Report::Note(Tone::Bad, words));
                break;
            }
        }
    }
    Ok(undoing)
}

fn refused(error: &FileError) -> Error {
    Error::input(format_args!("cannot undo the change: {error}"))
}

impl Undoing {
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
}
