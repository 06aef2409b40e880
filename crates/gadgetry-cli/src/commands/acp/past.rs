//! What happened in the runs of a session.

use gadgetry::Event;
use gadgetry::driver::Observer;
use gadgetry::journal::RunId;
use gadgetry::proto::message::Content;
use gadgetry::proto::run::{Command, Input};
use gadgetry::proto::time::Time;
use gadgetry_acp::{HostError, Past};
use gadgetry_store::Replay;

use super::ground::words;
use crate::sessions::{Sessions, problem};

/// Reads the messages of the user and the events of a run, in order. A run that was not begun has none.
pub(super) async fn past(
    sessions: &Sessions,
    replay: &mut Replay,
    run: &RunId,
) -> Result<Vec<Past>, HostError> {
    let mut prompt = sessions.prompt(run).await.map_err(words)?;
    if let Some(text) = sessions.typed_apart(run).await.map_err(words)? {
        prompt.retain(|it| !matches!(it, Content::Text { .. }));
        prompt.insert(0, Content::Text { text });
    }
    let mut seen = Seen(vec![Past::Message(prompt)]);
    let replayed = replay.run(run, &mut seen).await;
    let unread = replayed.map_err(|error| words(problem(&error)))?;
    let unread = unread.map(|error| format!("The rest is not shown: {}", problem(&error)));
    seen.0.extend(unread.map(Past::Problem));
    Ok(seen.0)
}

struct Seen(Vec<Past>);

impl Observer for Seen {
    fn event(&mut self, event: &Event) {
        self.0.push(Past::Event(Box::new(event.clone())));
    }

    fn input(&mut self, _: Time, input: &Input) {
        if let Input::Command(Command::Inject(text)) = input {
            let text = text.clone();
            self.0.push(Past::Message(vec![Content::Text { text }]));
        }
    }
}
