//! Runs of the durable agent as the world sees them, and what must hold of each.
//!
//! An item, `RUN.TURN.NUMBER`, is the parameter of one call. Calls 0 and 1 of a turn are of `Once`, which never runs again; call 2 is
//! of `Again`, which does after an interruption. Call 1 depends on call 0.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

/// Replies with calls in a run; one without follows.
pub(crate) const TURNS: usize = 3;
/// Calls of such a reply.
pub(crate) const CALLS: usize = 3;
/// The beginning of the names of runs whose process is not killed.
pub(crate) const STEADY: char = 'w';

/// What the world knows of a run.
#[derive(Default)]
pub(crate) struct Run {
    /// Key and receipt of each execution, by item.
    effects: BTreeMap<String, Vec<(String, String)>>,
    /// Replies that were refused or cut off.
    pub(crate) faults: usize,
    /// The conversation that was sent last.
    conversation: String,
    /// The answer, after `ok: `, or the error.
    pub(crate) ended: Option<String>,
}

impl Run {
    /// Notes an execution.
    pub(crate) fn effect(&mut self, key: &str, item: &str, receipt: &str) {
        let executions = self.effects.entry(item.to_owned()).or_default();
        executions.push((key.to_owned(), receipt.to_owned()));
    }

    /// The reply to a conversation in which the model has spoken `said` times.
    pub(crate) fn reply(&mut self, run: &str, said: usize, messages: &[Value]) -> String {
        self.conversation.clear();
        for message in messages {
            _ = writeln!(self.conversation, "{message}");
        }
        if said >= TURNS {
            return format!("All is done: {run}");
        }
        let mut text = format!("Turn {said}.\n");
        for number in 0..CALLS {
            let (gadget, after) = match number {
                0 => ("Once", String::new()),
                1 => ("Once", format!(":c{said}x0")),
                _ => ("Again", String::new()),
            };
            _ = write!(
                text,
                "!!!GADGET_START:{gadget}:c{said}x{number}{after}\n!!!ARG:item\n{run}.{said}.{number}\n!!!GADGET_END\n"
            );
        }
        text
    }

    /// Whether it ended with an answer.
    pub(crate) fn is_answered(&self) -> bool {
        self.ended.as_ref().is_some_and(|it| it.starts_with("ok: "))
    }

    /// Executions.
    pub(crate) fn executions(&self) -> usize {
        self.effects.values().map(Vec::len).sum()
    }

    /// The promises that a run has broken with the number of kills of its process.
    pub(crate) fn problems(&self, name: &str, kills: usize) -> Vec<String> {
        let mut problems = Vec::new();
        let disturbed = kills > 0 || self.faults > 0;
        match self.ended.as_deref() {
            None => problems.push(format!("{name}: lost, it has not ended")),
            Some(ended) if self.is_answered() => {
                if ended != format!("ok: All is done: {name}") {
                    problems.push(format!("{name}: another answer: {ended}"));
                }
            }
            Some(ended) if self.faults == 0 => problems.push(format!("{name}: failed: {ended}")),
            Some(_) => {}
        }
        for turn in 0..TURNS {
            for number in 0..CALLS {
                let item = format!("{name}.{turn}.{number}");
                self.item(&item, number, disturbed, kills, &mut problems);
            }
        }
        problems
    }

    fn item(
        &self,
        item: &str,
        number: usize,
        disturbed: bool,
        kills: usize,
        problems: &mut Vec<String>,
    ) {
        let none = Vec::new();
        let executions = self.effects.get(item).unwrap_or(&none);
        let times = executions.len();
        if number < 2 && times > 1 {
            problems.push(format!("{item}: ran {times} times"));
        }
        if times > 1 + kills {
            problems.push(format!("{item}: ran {times} times with {kills} kills"));
        }
        if executions.windows(2).any(|it| it[0].0 != it[1].0) {
            problems.push(format!("{item}: ran under two keys"));
        }
        if !self.is_answered() {
            return;
        }
        // The model wrote it, or reads of it, unless a fault came between.
        let shown = self.conversation.matches(&format!(" for {item}.")).count();
        let is_written = self.conversation.contains(&format!("\\n{item}\\n"));
        if shown > 1 {
            problems.push(format!("{item}: {shown} results"));
        }
        if !disturbed && (times != 1 || shown != 1) {
            problems.push(format!(
                "{item}: ran {times} times, {shown} results, and nothing disturbed it"
            ));
        }
        if times > 0 && !is_written {
            problems.push(format!(
                "{item}: ran, and the conversation has no such call"
            ));
        }
        let is_own = |(_, receipt): &(String, String)| {
            self.conversation
                .contains(&format!("{receipt} for {item}."))
        };
        if shown == 1 && !executions.iter().any(is_own) {
            problems.push(format!("{item}: a result of no execution"));
        }
    }
}
