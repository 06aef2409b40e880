//! Other conversations from this one: back to an earlier message, a copy, a new one.

use gadgetry::Conversation;
use gadgetry::log::replay;
use gadgetry::proto::event::{CallAnswer, Event, EventKind};

use super::Talk;
use crate::calls::EDITING;
use crate::chat::changes::{self, Undoing, not_covered};
use crate::chat::report::{Report, Tone};
use crate::checkpoints::Checkpoints;
use crate::error::Error;
use crate::hooks::{Commands, Ending, Moments, Start};
use crate::lines::{one_line, short};
use crate::sessions::{no_sessions, problem};
use crate::subagents::RUN_AGENT;

/// Messages that are listed.
const LISTED: usize = 20;

/// The conversation before an earlier message.
pub(in crate::chat) struct Rewound {
    /// The earlier message, to change and to send again.
    pub(in crate::chat) prompt: String,
    pub(in crate::chat) reports: Vec<Report>,
}

impl Talk {
    /// Lists the messages that one can return to, with the number of each.
    pub(in crate::chat) async fn turns(&mut self) -> Result<Vec<Report>, Error> {
        let skipped = self.turns.len().saturating_sub(LISTED);
        let mut rows = Vec::new();
        for index in skipped..self.turns.len() {
            let prompt = short(&one_line(&self.prompt_of(index).await?));
            rows.push((format!("/rewind {}", index + 1), prompt));
        }
        if rows.is_empty() {
            let words = "there is no message to return to";
            return Ok(vec![Report::plain(words)]);
        }
        let words = "/rewind N returns to before a message: the conversation, and the files that were changed since the start of this program";
        Ok(vec![Report::Table(rows), Report::plain(words)])
    }

    /// Returns to before a message, with the files that were changed since. The conversation so far stays in its session; the next
    /// message begins another one.
    pub(in crate::chat) async fn rewind(&mut self, number: usize) -> Result<Rewound, Error> {
        let index = number
            .checked_sub(1)
            .filter(|index| *index < self.turns.len());
        let index = index.ok_or_else(|| {
            Error::input(format_args!(
                "there is no message {number}; /rewind lists the messages"
            ))
        })?;
        let prompt = self.prompt_of(index).await?;
        let before = match index.checked_sub(1) {
            Some(before) => {
                let run = self.turns[before].run.clone();
                let kept = self.kept.as_ref().or(self.last.as_ref());
                let kept = kept.ok_or_else(no_sessions)?;
                let durable = self.agent.durable(&kept.sessions.journal);
                let run = durable.run_id(run.as_str()).force().resume().await;
                let finished = run.map_err(|error| problem(&error))?.finish().await;
                let finished = finished.unwrap_or_else(gadgetry::RunError::into_finished);
                Conversation::from(&finished)
            }
            None => Conversation::default(),
        };
        let changes = self.turns[index..].iter().find_map(|it| it.changes);
        let mut undoing = match (changes, self.user.workspaces.current()) {
            (Some(changes), Some(workspace)) => changes::undo_to(&workspace, changes),
            (_, _) => Undoing::default(),
        };
        if let Some(verb) = self.earlier_changes(index).await {
            let words = format!("files that an earlier program {verb} are left as they are");
            undoing.reports.push(Report::Note(Tone::Alert, words));
        }
        if let Some(problem) = self.user.checkpoints.problem() {
            let words = not_covered(&problem);
            undoing.reports.push(Report::Note(Tone::Alert, words));
        }
        self.turns.truncate(index);
        let mut reports = undoing.reports;
        reports.push(self.leave_session(&format!("back before message {number}")));
        self.conversation = before;
        Ok(Rewound { prompt, reports })
    }

    /// Continues in a session of its own from here; the one so far stays as it is.
    pub(in crate::chat) fn fork(&mut self) -> Result<Report, Error> {
        if self.kept.is_none() && self.turns.is_empty() {
            return Err(Error::input(
                "nothing was said yet, so there is no session to fork",
            ));
        }
        Ok(self.leave_session("forked"))
    }

    /// Begins a new conversation.
    pub(in crate::chat) async fn start_over(&mut self) -> Vec<Report> {
        let name = self.name().map(ToString::to_string);
        let notes = self.moments.end(name.as_deref(), Ending::Clear).await;
        let commands = Commands::of(
            self.base.declared(),
            &self.args.options,
            None,
            self.user.mode.clone(),
        );
        self.moments = Moments::new(commands, Start::Clear);
        self.turns.clear();
        self.conversation = Conversation::default();
        self.compacts_next = false;
        let notes = notes.into_iter().map(Report::plain);
        let left = self.leave_session("a new conversation");
        notes.chain([left]).collect()
    }

    /// The next message begins a session. Returns what is said about that.
    fn leave_session(&mut self, what: &str) -> Report {
        let mut left = self.kept.take();
        if let Some(left) = &mut left {
            left.hold = None;
        }
        self.last = left.or(self.last.take());
        self.args.session = None;
        self.number = 0;
        self.is_interrupted = false;
        self.unanswered = None;
        if let Some(details) = &mut self.details {
            details.added.clear();
            details.undone.clear();
        }
        let before = self.last.as_ref().map(|it| it.name.to_string());
        let before = before.map(|name| {
            format!("; the conversation so far is the session {name} (/resume {name})")
        });
        let before = before.unwrap_or_default();
        Report::plain(format!(
            "{what}: the next message begins another session{before}"
        ))
    }

    /// Returns what an earlier program did to files from this message on: what it `has changed`, or `may have changed` by gadgets
    /// whose effects only they know; `None` if it has changed nothing.
    async fn earlier_changes(&self, index: usize) -> Option<&'static str> {
        const MAYBE: &str = "may have changed";
        let sessions = &self.kept.as_ref().or(self.last.as_ref())?.sessions;
        let mut found = None;
        for turn in self.turns[index..].iter().filter(|it| it.prompt.is_none()) {
            let mut log = Vec::new();
            let mut has_changed = false;
            let mut watch = |event: &Event| {
                if let EventKind::GadgetStart { gadget_name, .. } = &event.kind
                    && may_change(gadget_name)
                {
                    found = Some(MAYBE);
                }
                if let EventKind::GadgetResult {
                    gadget_name,
                    answer: CallAnswer::Result(_),
                    ..
                } = &event.kind
                {
                    has_changed |= EDITING.contains(&gadget_name.as_str());
                }
            };
            let is_read = sessions.export(&turn.run, &mut log).await.is_ok()
                && replay(&log[..], &mut watch).is_ok();
            if has_changed {
                return Some("has changed");
            }
            if !is_read {
                found = Some(MAYBE);
            }
        }
        found
    }

    async fn prompt_of(&self, index: usize) -> Result<String, Error> {
        let Some(turn) = self.turns.get(index) else {
            return Ok(String::new());
        };
        if let Some(prompt) = &turn.prompt {
            return Ok(prompt.clone());
        }
        let kept = self.kept.as_ref().or(self.last.as_ref());
        let kept = kept.ok_or_else(no_sessions)?;
        kept.sessions.typed(&turn.run).await
    }
}

/// Returns whether a gadget of this name may change files.
fn may_change(gadget: &str) -> bool {
    EDITING.contains(&gadget) || gadget == RUN_AGENT || Checkpoints::are_for(gadget)
}
