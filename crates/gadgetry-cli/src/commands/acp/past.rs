//! What happened in the runs of a session.

use std::io::Cursor;

use gadgetry::Event;
use gadgetry::driver::Observer;
use gadgetry::journal::RunId;
use gadgetry::log::replay;
use gadgetry::proto::message::Content;
use gadgetry::proto::run::{Command, Input};
use gadgetry::proto::time::Time;
use gadgetry_acp::{HostError, Past};

use super::ground::words;
use crate::sessions::Sessions;

/// Reads the messages of the user and the events of a run, in order. A run that was not begun has none.
pub(super) async fn past(sessions: &Sessions, run: &RunId) -> Result<Vec<Past>, HostError> {
    let prompt = sessions.prompt(run).await.map_err(words)?;
    let mut log = Vec::new();
    sessions.export(run, &mut log).await.map_err(words)?;
    let mut seen = Seen(vec![Past::Message(prompt)]);
    let replayed = replay(Cursor::new(log), &mut seen);
    replayed.map_err(|error| HostError::Failed(error.to_string()))?;
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
