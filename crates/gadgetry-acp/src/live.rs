//! What is seen of calls while they run: the output of commands, and terminals of the client.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1::TerminalId;
use gadgetry::proto::id::CallId;
use tokio::sync::Notify;

/// Calls with news; more are not shown before they end.
const CALLS: usize = 64;

/// News about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The end of its output so far.
    Output(String),
    /// The terminal in which its command runs.
    Terminal(TerminalId),
}

/// The news about the calls of a run, by call. Output that a later one replaces before it was shown is not shown.
#[derive(Debug, Default)]
pub(crate) struct Live {
    news: Mutex<BTreeMap<CallId, Seen>>,
    has_news: Notify,
}

impl Live {
    /// Shows this in the call of a [key](gadgetry::ExecutionContext::idempotency_key). The calls of subagents are not shown.
    pub(crate) fn show(&self, key: &str, seen: Seen) {
        let Some(call) = call_of(key) else {
            return;
        };
        let mut news = self.news();
        if news.len() < CALLS || news.contains_key(&call) {
            news.insert(call, seen);
        }
        drop(news);
        self.has_news.notify_one();
    }

    /// Shows nothing more of what was not shown yet of a call.
    pub(crate) fn withdraw(&self, key: &str) {
        if let Some(call) = call_of(key) {
            self.news().remove(&call);
        }
    }

    /// Waits until there is something to show.
    pub(crate) async fn changed(&self) {
        while self.news().is_empty() {
            self.has_news.notified().await;
        }
    }

    /// Takes the news.
    pub(crate) fn take(&self) -> BTreeMap<CallId, Seen> {
        mem::take(&mut *self.news())
    }

    fn news(&self) -> MutexGuard<'_, BTreeMap<CallId, Seen>> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The call of a key: `run/5` is of the run itself, `run/5.0/2` of a subagent.
fn call_of(key: &str) -> Option<CallId> {
    let (_, call) = key.split_once('/')?;
    call.parse().ok().map(CallId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_of_calls_of_the_run() {
        let live = Live::default();
        let output = |text: &str| Seen::Output(text.to_owned());
        for (key, text) in [("r/5", "a"), ("r/5", "b"), ("r/5.0/2", "c"), ("r", "d")] {
            live.show(key, output(text));
        }
        assert_eq!(live.take(), BTreeMap::from([(CallId(5), output("b"))]));
        for call in 0..2 * CALLS {
            live.show(&format!("r/{call}"), output("x"));
        }
        assert_eq!(live.take().len(), CALLS);
        assert_eq!(live.take().len(), 0);
        live.show("r/5", output("a"));
        live.withdraw("r/5");
        assert_eq!(live.take().len(), 0);
    }
}
