//! What happened in the runs of a session.

use gadgetry::journal::RunId;
use gadgetry::proto::message::Content;
use gadgetry_acp::{HostError, Past};
use gadgetry_store::Replay;

use super::ground::words;
use crate::sessions::{Moment, Moments, Sessions, problem};

/// Reads the messages of the user and the events of a run, in order. A run that was not begun has none.
pub(super) async fn past(
    sessions: &Sessions,
    replay: &mut Replay,
    run: &RunId,
) -> Result<Vec<Past>, HostError> {
    let mut prompt = sessions.prompt(run).await.map_err(words)?;
    let details = sessions.details(run).await.map_err(words)?;
    let messages = details.map(|it| (it.typed, it.added));
    let (typed, added) = messages.unwrap_or_default();
    if let Some(text) = typed {
        prompt.retain(|it| !matches!(it, Content::Text { .. }));
        if !text.is_empty() {
            prompt.insert(0, Content::Text { text });
        }
    }
    let mut moments = Moments::new(added);
    let replayed = replay.run(run, &mut moments).await;
    let unread = replayed.map_err(|error| words(problem(&error)))?;
    let unread = unread.map(|error| format!("The rest is not shown: {}", problem(&error)));
    let moments = moments.into_vec().into_iter().map(|moment| match moment {
        Moment::Added(text) => Past::Message(vec![Content::Text { text }]),
        Moment::Event(event) => Past::Event(event),
    });
    let mut past = vec![Past::Message(prompt)];
    past.extend(moments);
    past.extend(unread.map(Past::Problem));
    Ok(past)
}
