//! The end of a session that is continued, as it was shown when it was said.

use gadgetry::proto::message::Role;

use super::{Talk, texts};
use crate::chat::state::Said;
use crate::error::Error;
use crate::follow::verdict;
use crate::sessions::{Moment, Moments, details, problem};

/// Exchanges that are shown.
const SHOWN: usize = 10;

/// What was said in a session.
#[derive(Debug, Default)]
pub(in crate::chat) struct Past {
    /// Texts before the exchanges that are shown, each with whether the user has said it, as far as the model still reads them.
    pub(in crate::chat) before: Vec<(bool, String)>,
    /// Messages of the user before these exchanges.
    pub(in crate::chat) earlier: usize,
    pub(in crate::chat) said: Vec<Said>,
}

impl Talk {
    /// Reads the last exchanges of the session, which takes as long as these and the texts before them.
    pub(in crate::chat) async fn past(&self) -> Result<Past, Error> {
        let mut past = Past::default();
        let skipped = self.turns.len().saturating_sub(SHOWN);
        let shown = &self.turns[skipped..];
        let (Some(kept), Some(first)) = (&self.kept, shown.first()) else {
            return Ok(past);
        };
        let sessions = &kept.sessions;
        let header = sessions.journal.header(&first.run).await;
        let header = header.map_err(|error| problem(&error))?;
        if let Some((_, before)) = header.conversation.split_last() {
            let before = texts(before).filter(|(role, _)| *role != Role::System);
            past.before = before
                .map(|(role, text)| (role == Role::User, text))
                .collect();
        }
        // A fork has messages of another session, and a compaction removes messages.
        let kept = past.before.iter().filter(|(is_user, _)| *is_user).count();
        past.earlier = skipped.max(kept);
        let mut replay = sessions.journal.replay();
        for turn in shown {
            let record = sessions.journal.run(&turn.run).await;
            let record = record.map_err(|error| problem(&error))?;
            let messages = details(&record).map(|it| (it.typed, it.added));
            let (typed, added) = messages.unwrap_or_default();
            let typed = sessions.typed_or_prompt(typed, &turn.run).await?;
            past.said.push(Said::Prompt(typed));
            let mut moments = Moments::new(added);
            let replayed = replay.run(&turn.run, &mut moments).await;
            let summary = record.progress.summary.as_ref();
            if let Ok(None) = replayed {
                let moments = moments.into_vec().into_iter();
                past.said.extend(moments.map(|moment| match moment {
                    Moment::Added(typed) => Said::Added(typed),
                    Moment::Event(event) => Said::Event(event),
                }));
            } else if let Some(summary) = summary {
                // It is damaged, or another version has begun it.
                past.said.push(Said::Answer(summary.answer.clone()));
            }
            if let Some(summary) = summary {
                let problem = verdict(summary).err().map(|error| error.to_string());
                past.said.push(Said::Ended(problem));
            }
        }
        Ok(past)
    }
}
