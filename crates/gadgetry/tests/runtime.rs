//! The executor seam: runs on executors that are not tokio.
//!
//! None of these tests has a tokio runtime, so anything in the driver that needs one panics here.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::task::{ArcWake, waker};
use futures_util::{StreamExt as _, stream};
use gadgetry::HumanQuestion;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::run::{Decision, Input, Run, RunConfig};
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::runtime::{Runtime, Step};
use gadgetry::{
    Event, EventKind, GadgetError, RunResult, ScriptedModel, Services, Toolbox, drive, from_fn,
};

/// One thread, virtual time: when nothing can continue, the clock jumps to the next timer.
#[derive(Clone)]
struct Virtual(Arc<Mutex<State>>);

struct State {
    start: Instant,
    elapsed: Duration,
    tasks: Vec<BoxFuture<'static, ()>>,
    timers: Vec<(Instant, Waker)>,
}

/// Whether something has been woken since the last look.
struct Woken(AtomicBool);

impl ArcWake for Woken {
    fn wake_by_ref(woken: &Arc<Self>) {
        woken.0.store(true, Ordering::Relaxed);
    }
}

impl Virtual {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            start: Instant::now(),
            elapsed: Duration::ZERO,
            tasks: Vec::new(),
            timers: Vec::new(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    fn elapsed(&self) -> Duration {
        self.state().elapsed
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.sleep_until(self.now() + duration)
    }

    fn block_on<T>(&self, main: impl Future<Output = T>) -> T {
        let mut main = pin!(main);
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        let waker = waker(Arc::clone(&woken));
        let mut cx = Context::from_waker(&waker);
        let mut tasks = Vec::new();
        loop {
            while woken.0.swap(false, Ordering::Relaxed) {
                if let Poll::Ready(value) = main.as_mut().poll(&mut cx) {
                    return value;
                }
                let spawned = std::mem::take(&mut self.state().tasks);
                if !spawned.is_empty() {
                    woken.0.store(true, Ordering::Relaxed);
                }
                tasks.extend(spawned);
                tasks.retain_mut(|task| task.as_mut().poll(&mut cx).is_pending());
            }
            self.advance();
            woken.0.store(true, Ordering::Relaxed);
        }
    }

    fn advance(&self) {
        let mut state = self.state();
        let next = state.timers.iter().map(|(at, _)| *at).min();
        let at = next.expect("everything waits, and for no timer");
        state.elapsed = at - state.start;
        state.timers.retain(|(other, _)| *other > at);
    }
}

impl Runtime for Virtual {
    fn now(&self) -> Instant {
        let state = self.state();
        state.start + state.elapsed
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        let runtime = self.clone();
        Box::pin(poll_fn(move |cx| {
            if runtime.now() >= at {
                return Poll::Ready(());
            }
            runtime.state().timers.push((at, cx.waker().clone()));
            Poll::Pending
        }))
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.state().tasks.push(task);
    }
}

/// Keeps the results of all steps, and gives them back instead of doing the work again.
#[derive(Clone)]
struct Journal {
    executor: Virtual,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    replies: BTreeMap<String, Vec<Input>>,
    outcomes: BTreeMap<String, Outcome>,
    decisions: BTreeMap<String, Decision>,
}

impl Runtime for Journal {
    fn now(&self) -> Instant {
        self.executor.now()
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        self.executor.sleep_until(at)
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.executor.spawn(task);
    }

    fn reply(&self, step: &Step, inputs: BoxStream<'static, Input>) -> BoxStream<'static, Input> {
        let key = step.to_string();
        if let Some(kept) = self.kept.lock().unwrap().replies.get(&key) {
            return stream::iter(kept.clone()).boxed();
        }
        let kept = Arc::clone(&self.kept);
        let inputs = inputs.inspect(move |input| {
            let mut kept = kept.lock().unwrap();
            kept.replies
                .entry(key.clone())
                .or_default()
                .push(input.clone());
        });
        inputs.boxed()
    }

    fn gadget(
        &self,
        step: &Step,
        work: BoxFuture<'static, Outcome>,
    ) -> BoxFuture<'static, Outcome> {
        let (key, kept) = (step.to_string(), Arc::clone(&self.kept));
        Box::pin(async move {
            let known = kept.lock().unwrap().outcomes.get(&key).cloned();
            let outcome = match known {
                Some(outcome) => return outcome,
                None => work.await,
            };
            kept.lock().unwrap().outcomes.insert(key, outcome.clone());
            outcome
        })
    }

    fn question(
        &self,
        step: &Step,
        work: BoxFuture<'static, Decision>,
    ) -> BoxFuture<'static, Decision> {
        let (key, kept) = (step.to_string(), Arc::clone(&self.kept));
        Box::pin(async move {
            let known = kept.lock().unwrap().decisions.get(&key).cloned();
            let decision = match known {
                Some(decision) => return decision,
                None => work.await,
            };
            kept.lock().unwrap().decisions.insert(key, decision.clone());
            decision
        })
    }
}

fn spec(name: &str, timeout_ms: Option<u64>) -> GadgetSpec {
    GadgetSpec {
        name: name.to_owned(),
        timeout_ms,
        ..GadgetSpec::default()
    }
}

/// A model that calls `Slow`, `Stuck` and `Ask` at once and then answers.
const SCRIPT: &str = concat!(
    r#"{"text": "!!!GADGET_START:Slow:a\n!!!GADGET_END\n!!!GADGET_START:Stuck:b\n!!!GADGET_END\n"#,
    r#"!!!GADGET_START:Ask:c\n!!!GADGET_END\n"}"#,
    "\n",
    r#"{"text": "All done."}"#
);

/// What a run of the script has seen.
struct Seen {
    result: RunResult,
    /// The gadgets that were executed, and the questions that were asked.
    work: Vec<String>,
    /// Ends of calls with their times in milliseconds.
    ends: Vec<String>,
}

/// Drives the script on `runtime`, which waits with `executor`.
fn run(executor: &Virtual, runtime: Arc<dyn Runtime>, script: &str) -> Seen {
    let work = Arc::new(Mutex::new(Vec::new()));
    let note = |what: &'static str| {
        let work = Arc::clone(&work);
        move || work.lock().unwrap().push(what.to_owned())
    };
    let mut toolbox = Toolbox::default();
    let (clock, began) = (executor.clone(), note("Slow"));
    let slow = from_fn(spec("Slow", None), move |_, _| {
        began();
        let sleep = clock.sleep(Duration::from_secs(10));
        async move {
            sleep.await;
            Ok("slept")
        }
    });
    // Watches its token, and cleans up for one of the two seconds that it has.
    let (clock, began) = (executor.clone(), note("Stuck"));
    let stuck = from_fn(spec("Stuck", Some(3_000)), move |_, context| {
        began();
        let clock = clock.clone();
        async move {
            context.cancellation().cancelled().await;
            clock.sleep(Duration::from_secs(1)).await;
            Err::<(), _>(GadgetError::cancelled())
        }
    });
    let began = note("Ask");
    let ask = from_fn(spec("Ask", None), move |_, _| {
        began();
        async { Err::<(), _>(GadgetError::human_input_required("Sure?")) }
    });
    for gadget in [
        gadgetry::IntoGadget::into_gadget(slow),
        gadgetry::IntoGadget::into_gadget(stuck),
        gadgetry::IntoGadget::into_gadget(ask),
    ] {
        toolbox.add(gadget).unwrap();
    }
    let model: ScriptedModel = script.parse().unwrap();
    let mut services = Services::new(Arc::new(model), toolbox);
    let asked = note("human");
    services.human = Some(Arc::new(move |_: HumanQuestion| {
        asked();
        async { Some("yes".to_owned()) }
    }));
    services.runtime = runtime;
    let config = RunConfig {
        asks: services.asks(),
        ..RunConfig::default()
    };
    let (_commands, receiver) = tokio::sync::mpsc::channel(1);
    let mut ends = Vec::new();
    let mut observer = |event: &Event| {
        if let EventKind::GadgetResult { invocation_id, .. } = &event.kind {
            ends.push(format!("{} {}", invocation_id.as_str(), event.time.0));
        }
    };
    let run = Run::ask(&crate::support::stage::plan(&services, config), "Go!");
    let result = executor.block_on(drive(run, &services, receiver, &mut observer));
    let work = std::mem::take(&mut *work.lock().unwrap());
    Seen { result, work, ends }
}

#[test]
fn a_run_on_virtual_time() {
    let executor = Virtual::new();
    let seen = run(&executor, Arc::new(executor.clone()), SCRIPT);
    assert_eq!(seen.result.summary.answer, "All done.");
    assert_eq!(seen.work, ["Slow", "Stuck", "Ask", "human"]);
    assert_eq!(seen.ends, ["c 0", "b 3000", "a 10000"]);
    assert_eq!(executor.elapsed(), Duration::from_secs(10));
}

#[test]
fn a_durable_engine_does_nothing_twice() {
    let first = Virtual::new();
    let kept = Arc::<Mutex<Kept>>::default();
    let journal = |executor: &Virtual| {
        Arc::new(Journal {
            executor: executor.clone(),
            kept: Arc::clone(&kept),
        })
    };
    let seen = run(&first, journal(&first), SCRIPT);
    assert_eq!(seen.work, ["Slow", "Stuck", "Ask", "human"]);
    {
        let kept = kept.lock().unwrap();
        let replies: Vec<&String> = kept.replies.keys().collect();
        assert_eq!(replies, ["/ reply 1", "/ reply 2"]);
        let outcomes: Vec<&String> = kept.outcomes.keys().collect();
        assert_eq!(outcomes, ["/ gadget 0", "/ gadget 1", "/ gadget 2"]);
        assert_eq!(kept.decisions.len(), 1);
    }

    // Everything is known: no gadget runs, no one is asked, and a model that would fail is not called.
    let second = Virtual::new();
    let again = run(
        &second,
        journal(&second),
        r#"{"text": "?", "expect": {"contains": ["a word that no request has"]}}"#,
    );
    assert_eq!(again.work, [""; 0]);
    assert_eq!(again.result.summary.answer, seen.result.summary.answer);
    assert_eq!(second.elapsed(), Duration::ZERO);
}
