//! The calls of one server that are in flight, and the time that they have left.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gadgetry::{ExecutionContext, TraceContext};
use rmcp::model::ProgressToken;
use tokio::time::{Instant, timeout_at};

/// Progress reports of one call that reach the run.
const REPORTS: u32 = 1_000;

/// Additional time of a call that has asked the user.
const STEP: Duration = Duration::from_millis(100);

/// The calls in flight, in the order in which they began.
#[derive(Clone, Default)]
pub(super) struct InFlight(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    next: u64,
    calls: BTreeMap<u64, Call>,
}

struct Call {
    context: ExecutionContext,
    user: UserTime,
    token: Option<ProgressToken>,
    reports: u32,
}

/// A call, until it is dropped.
pub(super) struct Registered {
    calls: InFlight,
    number: u64,
    user: UserTime,
    trace: Option<TraceContext>,
}

impl InFlight {
    pub(super) fn register(&self, context: ExecutionContext) -> Registered {
        let user = UserTime::default();
        let trace = context.trace_context().cloned();
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        let call = Call {
            context,
            user: user.clone(),
            token: None,
            reports: 0,
        };
        state.calls.insert(number, call);
        Registered {
            calls: self.clone(),
            number,
            user,
            trace,
        }
    }

    /// Reports progress of the call with this token.
    pub(super) fn progress(&self, token: &ProgressToken, message: String) {
        let mut state = self.state();
        let mut calls = state.calls.values_mut();
        let Some(call) = calls.find(|call| call.token.as_ref() == Some(token)) else {
            return;
        };
        call.reports += 1;
        if call.reports <= REPORTS {
            call.context.progress(message);
        }
    }

    /// Asks the user a question of the server, through the call that began last.
    ///
    /// `None` without a call, without a user and without an answer: a server has no business with the user between calls.
    pub(super) async fn ask(&self, question: String) -> Option<String> {
        let (context, user) = {
            let state = self.state();
            let call = state.calls.values().next_back()?;
            (call.context.clone(), call.user.clone())
        };
        let _asking = user.start();
        context.ask_human(question).await.ok()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registered {
    /// The trace that the call belongs to.
    pub(super) fn trace(&self) -> Option<&TraceContext> {
        self.trace.as_ref()
    }

    /// Sets the token that progress of the call is reported with.
    pub(super) fn set_token(&self, token: ProgressToken) {
        if let Some(call) = self.calls.state().calls.get_mut(&self.number) {
            call.token = Some(token);
        }
    }

    /// Waits for `work`, but not longer than `limit`. The time in which the user answers questions does not count.
    pub(super) async fn within<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = pin!(work);
        let begin = Instant::now();
        let mut deadline = begin + limit;
        loop {
            if let Ok(done) = timeout_at(deadline, &mut work).await {
                return Some(done);
            }
            let now = Instant::now();
            let extended = begin + limit + self.user.total();
            if extended <= now {
                return None;
            }
            deadline = extended.max(now + STEP);
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.calls.state().calls.remove(&self.number);
    }
}

/// Returns the time for which the user has been asked.
#[derive(Clone, Default)]
struct UserTime(Arc<Mutex<Asked>>);

#[derive(Default)]
struct Asked {
    open: u32,
    since: Option<Instant>,
    before: Duration,
}

impl UserTime {
    fn start(&self) -> Asking {
        let mut asked = self.asked();
        asked.open += 1;
        asked.since.get_or_insert_with(Instant::now);
        Asking(self.clone())
    }

    fn total(&self) -> Duration {
        let asked = self.asked();
        asked.before + asked.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open question to the user.
struct Asking(UserTime);

impl Drop for Asking {
    fn drop(&mut self) {
        let mut asked = self.0.asked();
        asked.open -= 1;
        if asked.open == 0
            && let Some(since) = asked.since.take()
        {
            asked.before += since.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use gadgetry::{CancellationToken, ExecutionContext, Invocation};
    use tokio::time::sleep;

    use super::InFlight;

    fn context() -> ExecutionContext {
        let invocation = Invocation {
            gadget_name: "Wait".to_owned(),
            invocation_id: "w".into(),
            parameters: serde_json::json!({}),
            dependencies: std::collections::BTreeMap::new(),
        };
        ExecutionContext::new(&invocation, CancellationToken::new())
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_the_user_does_not_count() {
        let check = async |asking_s: u64, working_s: u64, in_time: bool| {
            let calls = InFlight::default();
            let call = calls.register(context());
            let user = call.user.clone();
            let work = async {
                let asking = user.start();
                sleep(Duration::from_secs(asking_s)).await;
                drop(asking);
                sleep(Duration::from_secs(working_s)).await;
            };
            let done = call.within(Duration::from_secs(10), work).await;
            assert_eq!(done.is_some(), in_time, "{asking_s} {working_s}");
        };
        check(0, 9, true).await;
        check(0, 11, false).await;
        check(3_600, 9, true).await;
        check(3_600, 11, false).await;
    }
}
