//! What is known of a run and its subagents: the lines of all its steps, by run.

use std::collections::{BTreeMap, BTreeSet};

use gadgetry::log::{Entry, Header};

use crate::batch::{Line, What};

/// What is known of the runs of one workflow.
#[derive(Debug, Default)]
pub(crate) struct Known {
    runs: BTreeMap<String, KnownRun>,
    /// The messages that became inputs.
    took: BTreeSet<u64>,
}

/// What is known of one run.
#[derive(Debug)]
pub(crate) struct KnownRun {
    /// What it was made from.
    pub(crate) header: Header,
    /// Its inputs.
    pub(crate) entries: Vec<Entry>,
}

impl Known {
    /// Adds the lines of a batch. Fails with what is wrong with them.
    pub(crate) fn add(&mut self, lines: &str) -> Result<(), String> {
        for line in lines.lines() {
            let Line { run, what } =
                serde_json::from_str(line).map_err(|error| error.to_string())?;
            match what {
                What::Begin(header) => {
                    let header = *header;
                    let entries = Vec::new();
                    self.runs.insert(run, KnownRun { header, entries });
                }
                What::Entry(entry) => {
                    let known = self.runs.get_mut(&run);
                    let known = known.ok_or_else(|| format!("run {run:?} has no header"))?;
                    known.entries.push(*entry);
                }
                What::Took(message) => {
                    self.took.insert(message);
                }
                What::Forget => self.forget(&run),
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

    /// Takes what is known of a run out.
    pub(crate) fn take(&mut self, run: &str) -> Option<KnownRun> {
        self.runs.remove(run)
    }

    /// Whether this message became an input.
    pub(crate) fn has_taken(&self, message: u64) -> bool {
        self.took.contains(&message)
    }
}
