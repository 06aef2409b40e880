//! Durable runs, killed at every commit and resumed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_core::future::BoxFuture;
use gadgetry::journal::{
    Durability, Journal, JournalError, MemoryJournal, Opened, Recorder, RunId, RunMessageContent,
    RunProgress,
};
use gadgetry::log::LogHeader;
use gadgetry::proto::run::{Decision, Input};
use gadgetry::proto::schema::OnInterrupt;
use gadgetry::proto::time::Time;
use gadgetry::{Agent, Finished, GadgetSpec, Model, Outcome, Price, Role, ScriptedModel, from_fn};
use gadgetry_testing::{Cut, MockModel, paused, reply};
use tokio::sync::Notify;

/// A journal whose process dies at one of its commits: before or after it is done.
#[derive(Clone)]
struct Dying {
    journal: MemoryJournal,
    left: Arc<AtomicUsize>,
    dead: Arc<Notify>,
    /// Notified when the run waits for the user alone.
    waits: Arc<Notify>,
}

impl Dying {
    fn new(journal: &MemoryJournal, at: usize) -> Self {
        Self {
            journal: journal.clone(),
            left: Arc::new(AtomicUsize::new(at)),
            dead: Arc::default(),
            waits: Arc::default(),
        }
    }
}

struct DyingRecorder {
    inner: Box<dyn Recorder>,
    dying: Dying,
}

impl Journal for Dying {
    fn open<'a>(
        &'a self,
        id: &'a RunId,
        header: Option<&'a LogHeader>,
    ) -> BoxFuture<'a, Result<Opened, JournalError>> {
        Box::pin(async move {
            let mut opened = self.journal.open(id, header).await?;
            let inner = opened.recorder;
            let dying = self.clone();
            opened.recorder = Box::new(DyingRecorder { inner, dying });
            Ok(opened)
        })
    }

    fn forget<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<(), JournalError>> {
        self.journal.forget(id)
    }
}

impl Recorder for DyingRecorder {
    fn record(&mut self, time: Time, input: &Input) {
        self.inner.record(time, input);
    }

    fn took(&mut self, message: u64) {
        self.inner.took(message);
    }

    fn progress(&mut self, progress: RunProgress) {
        if progress.is_waiting {
            self.dying.waits.notify_one();
        }
        self.inner.progress(progress);
    }

    fn commit(&mut self, durability: Durability) -> BoxFuture<'static, Result<(), JournalError>> {
        // An even number: before the commit; an odd one: after it.
        let left = self.dying.left.load(Ordering::SeqCst);
        if left == 0 {
            self.dying.dead.notify_one();
            return Box::pin(pending());
        }
        let committed = self.inner.commit(durability);
        if left == 1 {
            self.dying.left.store(0, Ordering::SeqCst);
            self.dying.dead.notify_one();
            return Box::pin(pending());
        }
        self.dying.left.store(left - 2, Ordering::SeqCst);
        committed
    }
}

/// A model whose reply depends on how many replies the conversation has, as a model's does.
fn model() -> MockModel {
    let price = Price::default().input(1.0).output(2.0);
    let model = MockModel::builder().unchecked().price(price);
    let model = model.when(|any| any).replies_by(|request| {
        let said = request.messages.iter();
        let said = said.filter(|message| message.role == Role::Assistant);
        // In pieces, so that there are moments in between.
        let pieces = reply().text(REPLIES[said.count()]).chunks(Cut::Every(20));
        pieces.tokens(100, 10)
    });
    model.build()
}

const REPLIES: [&str; 3] = [
    "I begin.\n\
     !!!GADGET_START:Write:a\n!!!ARG:text\none\n!!!GADGET_END\n\
     !!!GADGET_START:Write:b:a\n!!!ARG:text\ntwo\n!!!GADGET_END\n\
     !!!GADGET_START:Fail:c\n!!!GADGET_END\n",
    "!!!GADGET_START:Write:d\n!!!ARG:text\nthree\n!!!GADGET_END\n",
    "All is done.",
];

/// How often each call was executed: the effects on the world.
type World = Arc<Mutex<BTreeMap<String, usize>>>;

fn agent(model: impl Model + 'static, world: &World) -> Agent {
    let gadget = |name: &str, result: Result<&'static str, &'static str>| {
        let world = Arc::clone(world);
        let spec = GadgetSpec {
            name: name.to_owned(),
            on_interrupt: OnInterrupt::Rerun,
            ..GadgetSpec::default()
        };
        from_fn(spec, move |_, context| {
            let world = Arc::clone(&world);
            async move {
                let call = context.invocation_id().as_str().to_owned();
                *world.lock().unwrap().entry(call).or_default() += 1;
                let outcome = result.map_or_else(Outcome::error, Outcome::ok);
                Outcome {
                    cost: 0.25,
                    ..outcome
                }
            }
        })
    };
    Agent::builder()
        .model(model)
        .gadget(gadget("Write", Ok("written")))
        .gadget(gadget("Fail", Err("it fails")))
        .build()
        .unwrap()
}

/// Runs until the end or until the process dies, at its `at`th commit.
async fn attempt(journal: &MemoryJournal, world: &World, at: usize) -> Option<Finished> {
    attempt_with(agent(model(), world), journal, at).await
}

async fn attempt_with(agent: Agent, journal: &MemoryJournal, at: usize) -> Option<Finished> {
    let dying = Dying::new(journal, at);
    let dead = Arc::clone(&dying.dead);
    let run = async {
        let run = agent.durable(&dying).run_id("run").ask("Go").await;
        run.unwrap().finish().await.unwrap()
    };
    tokio::select! {
        () = dead.notified() => None,
        finished = run => Some(finished),
    }
}

#[test]
fn a_run_that_dies_at_any_commit_ends_as_if_it_had_not() {
    paused(async {
        let world = World::default();
        let undisturbed = attempt(&MemoryJournal::default(), &world, usize::MAX).await;
        let undisturbed = undisturbed.unwrap();
        assert_eq!(undisturbed.summary.answer, "All is done.");
        for at in 0.. {
            let (journal, world) = (MemoryJournal::default(), World::default());
            if attempt(&journal, &world, at).await.is_some() {
                assert!(at > 10, "there were moments to die at: {at}");
                return;
            }
            let finished = attempt(&journal, &world, usize::MAX).await.unwrap();
            assert_eq!(finished.history, undisturbed.history, "{at}");
        }
    });
}

/// Each process has its own model, which begins at the first line. The first request is cut off and sent again, so a line is not
/// an iteration.
#[test]
fn a_script_continues_where_the_process_has_died() {
    let line = |text: &str| gadgetry::serde_json::json!({ "text": text }).to_string();
    let cut = r#"{"text": "I b", "finish": "disconnect"}"#.to_owned();
    let script: Vec<_> = std::iter::once(cut).chain(REPLIES.map(line)).collect();
    let scripted = || script.join("\n").parse::<ScriptedModel>().unwrap();
    paused(async {
        for at in 0.. {
            let (journal, world) = (MemoryJournal::default(), World::default());
            let first = agent(scripted(), &world);
            if attempt_with(first, &journal, at).await.is_some() {
                assert!(at > 10, "there were moments to die at: {at}");
                return;
            }
            let second = agent(scripted(), &world);
            let finished = attempt_with(second, &journal, usize::MAX).await.unwrap();
            assert_eq!(finished.summary.answer, "All is done.", "{at}");
            let calls: Vec<_> = finished.calls().map(|call| call.invocation_id).collect();
            assert_eq!(calls, ["a", "b", "c", "d"], "{at}");
        }
    });
}

/// A run whose only gadget asks the user.
async fn asking(journal: &Dying) -> Finished {
    let spec = GadgetSpec {
        name: "Ask".to_owned(),
        on_interrupt: OnInterrupt::Rerun,
        ..GadgetSpec::default()
    };
    let ask = from_fn(spec, |_, context| async move {
        let answer = context.ask_human("Now?").await;
        // The driver reads the question and the answer before the end.
        tokio::time::sleep(Duration::from_secs(1)).await;
        answer.map_or_else(|error| Outcome::error(error.to_string()), Outcome::ok)
    });
    let model = MockModel::builder().unchecked().when(|any| any);
    let model = model.replies_by(|request| {
        let is_first = request.messages.iter().all(|it| it.role != Role::Assistant);
        let block = "!!!GADGET_START:Ask:a\n!!!GADGET_END\n";
        reply().text(if is_first { block } else { "Done." })
    });
    let agent = Agent::builder().model(model.build()).gadget(ask);
    let agent = agent.build().unwrap();
    let run = agent.durable(journal).run_id("run").ask("Go").await;
    run.unwrap().finish().await.unwrap()
}

#[test]
fn a_question_that_is_repeated_and_was_answered_is_not_waited_for() {
    paused(async {
        let journal = MemoryJournal::default();
        let first = Dying::new(&journal, usize::MAX);
        tokio::select! {
            () = first.waits.notified() => {}
            finished = asking(&first) => panic!("nobody has answered: {finished:?}"),
        }
        let run: RunId = "run".parse().unwrap();
        let open = journal.progress(&run).unwrap().questions;
        let answer = RunMessageContent::Answer {
            question: open[0].id,
            decision: Decision::Result("yes".to_owned()),
        };
        journal.send(&run, answer).unwrap();
        let second = Dying::new(&journal, usize::MAX);
        tokio::select! {
            biased;
            () = second.waits.notified() => panic!("it waits for an answer that is there"),
            finished = asking(&second) => assert_eq!(finished.summary.answer, "Done."),
        }
    });
}
