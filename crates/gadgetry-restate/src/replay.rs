//! A run and its subagents as the steps that Restate replays have them.

use std::collections::{BTreeMap, BTreeSet};

use gadgetry::log::{Entry, LogHeader};

use crate::step::{Line, LineContent};

/// The runs of one workflow, from the steps before this execution.
#[derive(Debug, Default)]
pub(crate) struct ReplayedRuns {
    runs: BTreeMap<String, ReplayedRun>,
    /// Numbers of the messages that became inputs.
    took: BTreeSet<u64>,
}

/// One run, from the steps before this execution.
#[derive(Debug)]
pub(crate) struct ReplayedRun {
    /// The description that it was made from.
    pub(crate) header: LogHeader,
    /// The inputs, in order.
    pub(crate) entries: Vec<Entry>,
}

impl ReplayedRuns {
    /// Adds the lines of a step.
    ///
    /// # Errors
    ///
    /// If they are damaged, with the problem.
    pub(crate) fn add(&mut self, lines: &str) -> Result<(), String> {
        for line in lines.lines() {
            let Line { run, content } =
                serde_json::from_str(line).map_err(|error| error.to_string())?;
            match content {
                LineContent::Begin(header) => {
                    let header = *header;
                    let entries = Vec::new();
                    self.runs.insert(run, ReplayedRun { header, entries });
                }
                LineContent::Entry(entry) => {
                    let known = self.runs.get_mut(&run);
                    let known = known.ok_or_else(|| format!("run {run:?} has no header"))?;
                    known.entries.push(*entry);
                }
                LineContent::Took(message) => {
                    self.took.insert(message);
                }
                LineContent::Forget => self.forget(&run),
            }
        }
        Ok(())
    }

    /// Removes a run and its subagents.
    pub(crate) fn forget(&mut self, run: &str) {
        let below = format!("{run}/");
        self.runs
            .retain(|name, _| name != run && !run.is_empty() && !name.starts_with(&below));
    }

    /// Takes a run out.
    pub(crate) fn take(&mut self, run: &str) -> Option<ReplayedRun> {
        self.runs.remove(run)
    }

    /// Returns whether this message became an input.
    pub(crate) fn has_taken(&self, message: u64) -> bool {
        self.took.contains(&message)
    }
}
