//! The calls of one server that are in flight, and the time that they have left.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gadgetry::{CancellationToken, ExecutionContext, TraceContext};
use rmcp::model::ProgressToken;
use tokio::time::{Instant, timeout_at};

/// Progress reports of one call that reach the run.
const REPORTS: u32 = 1_000;

/// Forms and addresses of one call that reach the user.
const FORMS: u32 = 16;

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
    forms: u32,
    /// Cancelled when the call has ended, which closes its questions.
    ended: CancellationToken,
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
            forms: 0,
            ended: CancellationToken::new(),
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

    /// Returns what asks the user the questions of one form, through the call that began last.
    ///
    /// `None` without a call, and for a call that has had [`FORMS`]: each question is kept in the run, so a server could fill it.
    pub(super) fn form(&self) -> Option<Questions> {
        let mut state = self.state();
        let mut call = state.calls.last_entry()?;
        let call = call.get_mut();
        call.forms += 1;
        (call.forms <= FORMS).then(|| Questions {
            context: call.context.clone(),
            user: call.user.clone(),
            ended: call.ended.clone(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The questions of one form to the user.
pub(super) struct Questions {
    context: ExecutionContext,
    user: UserTime,
    ended: CancellationToken,
}

impl Questions {
    /// Asks the user. `None` without a user, without an answer, and once the call has ended: a server has no business with the
    /// user between calls.
    pub(super) async fn ask(&self, question: String) -> Option<String> {
        let asked = async {
            let _asking = self.user.start();
            self.context.ask_human(question).await.ok()
        };
        self.ended.run_until_cancelled(asked).await.flatten()
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
        if let Some(call) = self.calls.state().calls.remove(&self.number) {
            call.ended.cancel();
        }
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
    use std::future::pending;
    use std::sync::Arc;
    use std::time::Duration;

    use gadgetry::context::Host;
    use gadgetry::proto::id::CallId;
    use gadgetry::proto::run::Report;
    use gadgetry::{
        BudgetScope, CancellationToken, ExecutionContext, Human, HumanQuestion, Invocation,
    };
    use tokio::sync::Notify;
    use tokio::time::sleep;

    use super::{FORMS, InFlight};

    fn invocation() -> Invocation {
        Invocation {
            gadget_name: "Wait".to_owned(),
            invocation_id: "w".into(),
            parameters: serde_json::json!({}),
            dependencies: std::collections::BTreeMap::new(),
        }
    }

    fn context() -> ExecutionContext {
        ExecutionContext::new(&invocation(), CancellationToken::new())
    }

    /// A run whose user gives no answer.
    struct Silent(BudgetScope, Arc<dyn Human>);

    impl Host for Silent {
        fn report(&self, _call: CallId, _report: Report) {}

        fn scope(&self) -> &BudgetScope {
            &self.0
        }

        fn human(&self) -> Option<&Arc<dyn Human>> {
            Some(&self.1)
        }
    }

    #[tokio::test]
    async fn questions_end_with_their_call() {
        let (calls, asked) = (InFlight::default(), Arc::new(Notify::new()));
        let seen = Arc::clone(&asked);
        let human = move |_: HumanQuestion| {
            seen.notify_one();
            pending::<Option<String>>()
        };
        let host = Arc::new(Silent(BudgetScope::default(), Arc::new(human)));
        let token = CancellationToken::new();
        let context = ExecutionContext::with_host(&invocation(), token, host, CallId(0));
        let call = calls.register(context);
        let (open, late) = (calls.form().unwrap(), calls.form().unwrap());
        let end = async {
            asked.notified().await;
            drop(call);
        };
        let (answer, ()) = tokio::join!(open.ask("Which?".to_owned()), end);
        assert_eq!(answer, None);
        assert_eq!(late.ask("Which?".to_owned()).await, None);
        assert!(calls.form().is_none(), "no call is in flight");
    }

    #[tokio::test]
    async fn each_call_has_a_few_forms() {
        let calls = InFlight::default();
        for _ in 0..2 {
            let _call = calls.register(context());
            let forms = (0..1_000).filter(|_| calls.form().is_some());
            assert_eq!(forms.count(), FORMS as usize);
        }
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
