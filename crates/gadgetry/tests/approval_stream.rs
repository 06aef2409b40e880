//! Approvals in the events of a run, answered by its handle, or by another process through the journal.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use futures_core::future::BoxFuture;
use futures_util::StreamExt as _;
use gadgetry::approval::{
    Answer, Approval, ApprovalAnswer, ApprovalId, ApprovalRequest, Approvals, NotAnswered, Rules,
    SubjectKind,
};
use gadgetry::journal::{Journal, MemoryJournal, QuestionRef, RunId, RunMessageContent};
use gadgetry::proto::call::Outcome;
use gadgetry::proto::event::{CallAnswer, Event, EventKind, FinishReason};
use gadgetry::proto::run::Decision;
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::serde_json::Value;
use gadgetry::{
    Agent, AgentHandle, AgentRun, CallPreview, DynGadget, ExecutionContext, Permission, Role,
    Subject,
};
use gadgetry_store::SqliteJournal;
use gadgetry_testing::{MockModel, reply};

/// Writes the current version of a file, which changes as often as `steps` says: once for each preview.
struct Save {
    spec: GadgetSpec,
    version: AtomicU32,
    /// Versions that are added at the next previews and executions.
    steps: Mutex<Vec<u32>>,
    wrote: Mutex<Vec<u32>>,
}

impl Save {
    fn new(steps: &[u32]) -> Arc<Self> {
        Arc::new(Self {
            spec: GadgetSpec::new("Save", "Saves"),
            version: AtomicU32::new(1),
            steps: Mutex::new(steps.iter().rev().copied().collect()),
            wrote: Mutex::default(),
        })
    }

    fn now(&self) -> (u32, CallPreview) {
        let step = self.steps.lock().unwrap().pop().unwrap_or_default();
        let version = self.version.fetch_add(step, Ordering::Relaxed) + step;
        let preview = CallPreview::of(Subject::Path("a".to_owned())).diff(format!("+{version}"));
        (version, preview.note("a note"))
    }
}

struct Shared(Arc<Save>);

impl DynGadget for Shared {
    fn spec(&self) -> &GadgetSpec {
        &self.0.spec
    }

    fn execute(&self, _: Value, context: ExecutionContext) -> BoxFuture<'static, Outcome> {
        let save = Arc::clone(&self.0);
        Box::pin(async move {
            let (version, now) = save.now();
            if let Err(error) = context.check_approved(&now) {
                return Outcome::error(error.to_string());
            }
            save.wrote.lock().unwrap().push(version);
            Outcome::ok(format!("wrote {version}"))
        })
    }

    fn permission(&self) -> Permission {
        Permission::Ask
    }

    fn preview<'a>(&'a self, _: &'a Value) -> BoxFuture<'a, Result<CallPreview, String>> {
        let (_, preview) = self.0.now();
        Box::pin(async move { Ok(preview) })
    }
}

/// Calls the gadget `calls` times in its first reply, and is done in its second.
fn model(gadget: &'static str, calls: usize) -> MockModel {
    let model = MockModel::builder().unchecked().when(|any| any);
    let model = model.replies_by(move |request| {
        let is_first = request.messages.iter().all(|it| it.role != Role::Assistant);
        let block = |call| format!("!!!GADGET_START:{gadget}:{call}\n!!!GADGET_END\n");
        let blocks = (0..calls).map(block).collect::<Vec<_>>().concat();
        reply().text(if is_first { &blocks } else { "Done." })
    });
    model.build()
}

fn agent(save: &Arc<Save>, approvals: Approvals, calls: usize) -> Agent {
    let gadget: Arc<dyn DynGadget> = Arc::new(Shared(Arc::clone(save)));
    let agent = Agent::builder().model(model("Save", calls));
    agent.gadget(gadget).approvals(approvals).build().unwrap()
}

fn in_stream() -> Approvals {
    Approvals::new(Rules::default()).in_stream()
}

/// Reads the run up to its next approval.
async fn next_approval(run: &mut AgentRun<'_>) -> Arc<Approval> {
    while let Some(event) = run.next().await {
        if let EventKind::ApprovalRequired { approval, .. } = event.kind {
            return approval;
        }
    }
    panic!("the run has ended");
}

/// What happens to the calls from now on.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the lines have the events that matter"
)]
async fn rest(
    run: &mut AgentRun<'_>,
    mut answer: impl FnMut(&AgentHandle, &Approval),
) -> Vec<String> {
    let handle = run.handle();
    let mut lines = Vec::new();
    while let Some(Event { kind, .. }) = run.next().await {
        lines.push(match kind {
            EventKind::ApprovalRequired { approval, .. } => {
                answer(&handle, &approval);
                format!("? {}", approval.diff.as_deref().unwrap_or_default())
            }
            EventKind::ApprovalAnswered { answer, .. } => match answer {
                ApprovalAnswer::Allowed => "yes".to_owned(),
                ApprovalAnswer::Denied { reason } => format!("no {}", reason.unwrap_or_default()),
                other => format!("{other:?}"),
            },
            EventKind::GadgetStart { .. } => "start".to_owned(),
            EventKind::GadgetResult { answer, .. } => match answer {
                CallAnswer::Result(text) | CallAnswer::Error(text) => text,
            },
            _ => continue,
        });
    }
    lines
}

#[tokio::test(start_paused = true)]
async fn the_handle_answers_what_the_stream_shows() {
    let check = async |steps: &[u32], calls, answers: &[Answer], expected: &[&str]| {
        let save = Save::new(steps);
        let agent = agent(&save, in_stream(), calls);
        let mut run = agent.ask("Go");
        let mut answers = answers.iter().cloned();
        let lines = rest(&mut run, |handle, approval| {
            assert_eq!(handle.approvals(), [Arc::new(approval.clone())]);
            let subject = approval.subject.as_ref().unwrap();
            assert_eq!((subject.kind, &*subject.text), (SubjectKind::Path, "a"));
            assert_eq!(
                (&*approval.gadget_name, &*approval.notes),
                ("Save", &["a note".to_owned()][..])
            );
            assert_eq!(handle.answer(approval.id, Answer::Pending), Ok(()));
            let answer = answers.next().unwrap();
            assert_eq!(handle.answer(approval.id, answer), Ok(()));
            let again = handle.answer(approval.id, Answer::Once);
            assert_eq!(again, Err(NotAnswered::Closed));
            let mut other = approval.id;
            other.shown += 1;
            let unknown = handle.answer(other, Answer::Once);
            assert_eq!(unknown, Err(NotAnswered::Unknown));
        });
        assert_eq!(lines.await, expected);
    };
    let no = |reason: &str| Answer::No(Some(reason.to_owned()));
    check(
        &[],
        1,
        &[Answer::Once],
        &["? +1", "yes", "start", "wrote 1"],
    )
    .await;
    check(
        &[],
        1,
        &[no(" not now ")],
        &["? +1", "no not now", "Denied by the user: not now"],
    )
    .await;
    check(
        &[],
        1,
        &[Answer::No(None)],
        &["? +1", "no ", "Denied by the user"],
    )
    .await;
    // One after the other, and the second by the rule of the first.
    check(
        &[],
        2,
        &[Answer::Once, no("x")],
        &[
            "? +1",
            "yes",
            "start",
            // The gadget is done, and the driver reads that next.
            "? +1",
            "wrote 1",
            "no x",
            "Denied by the user: x",
        ],
    )
    .await;
    let rule = Answer::Session("allow Save".parse().unwrap());
    check(
        &[],
        2,
        &[rule],
        &["? +1", "yes", "start", "wrote 1", "start", "wrote 1"],
    )
    .await;
    // What would happen has changed when the gadget runs: it is shown as it is now.
    check(
        &[0, 1],
        1,
        &[Answer::Once, Answer::Once],
        &["? +1", "yes", "start", "? +2", "yes", "wrote 2"],
    )
    .await;
    check(
        &[0, 1],
        1,
        &[Answer::Once, no("x")],
        &[
            "? +1",
            "yes",
            "start",
            "? +2",
            "no x",
            "Denied by the user: x",
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_holds_for_what_was_shown() {
    let save = Save::new(&[0, 1]);
    let agent = agent(&save, in_stream(), 1);
    let mut run = agent.ask("Go");
    let handle = run.handle();
    let first = next_approval(&mut run).await;
    handle.answer(first.id, Answer::Once).unwrap();
    let second = next_approval(&mut run).await;
    assert_ne!(first.id, second.id);
    assert_eq!(first.id.call, second.id.call);
    assert_eq!(
        handle.answer(first.id, Answer::Once),
        Err(NotAnswered::Closed)
    );
    assert_eq!(save.wrote.lock().unwrap().len(), 0);
    handle.answer(second.id, Answer::Once).unwrap();
    assert_eq!(run.text().await.unwrap(), "Done.");
    assert_eq!(*save.wrote.lock().unwrap(), [2]);
}

#[tokio::test(start_paused = true)]
async fn runs_do_not_answer_for_each_other() {
    let save = Save::new(&[]);
    let agent = agent(&save, in_stream(), 1);
    let (mut one, mut other) = (agent.ask("Go"), agent.ask("Go"));
    // Both are open at the same time.
    let (first, second) = (
        next_approval(&mut one).await,
        next_approval(&mut other).await,
    );
    assert_ne!(first.id, second.id);
    let (handle, stranger) = (one.handle(), other.handle());
    assert_eq!(
        stranger.answer(first.id, Answer::Once),
        Err(NotAnswered::Unknown)
    );
    handle.answer(first.id, Answer::Once).unwrap();
    assert_eq!(one.text().await.unwrap(), "Done.");
    // A run that was cancelled withdraws its question.
    stranger.cancel();
    let lines = rest(&mut other, |_, _| {}).await;
    assert_eq!(lines[0], "Withdrawn");
    assert_eq!(
        stranger.answer(second.id, Answer::Once),
        Err(NotAnswered::Closed)
    );
    assert_eq!(stranger.approvals(), []);
}

#[tokio::test(start_paused = true)]
async fn an_approver_may_leave_a_question_open() {
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let approver = move |_: ApprovalRequest| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        async move {
            if number == 0 {
                Answer::Pending
            } else {
                Answer::Once
            }
        }
    };
    let save = Save::new(&[]);
    let agent = agent(
        &save,
        Approvals::new(Rules::default()).approver(approver),
        1,
    );
    let mut open = agent.ask("Go");
    let first = next_approval(&mut open).await;
    // The approver is free for another run meanwhile.
    let mut other = agent.ask("Go");
    let lines = rest(&mut other, |_, _| {}).await;
    assert_eq!(lines, ["? +1", "yes", "start", "wrote 1"]);
    open.handle().answer(first.id, Answer::No(None)).unwrap();
    assert_eq!(rest(&mut open, |_, _| {}).await[0], "no ");
}

#[tokio::test(start_paused = true)]
async fn the_handle_answers_for_subagents() {
    let save = Save::new(&[]);
    let inner = Arc::clone(&save);
    let spec = GadgetSpec::new("Delegate", "Asks another agent");
    let delegate = gadgetry::from_fn(spec, move |_, context: ExecutionContext| {
        let gadget: Arc<dyn DynGadget> = Arc::new(Shared(Arc::clone(&inner)));
        async move {
            let agent = Agent::builder().model(model("Save", 1)).gadget(gadget);
            let agent = context.spawn_agent(agent).unwrap();
            Outcome::ok(agent.ask("Sub").text().await.unwrap())
        }
    });
    let builder = Agent::builder()
        .model(model("Delegate", 1))
        .gadget(delegate);
    let mut run = builder.approvals(in_stream()).ask("Go").unwrap();
    let handle = run.handle();
    let approval = next_approval(&mut run).await;
    handle.answer(approval.id, Answer::Once).unwrap();
    assert_eq!(run.text().await.unwrap(), "Done.");
    assert_eq!(*save.wrote.lock().unwrap(), [1]);
}

/// Begins or resumes the run, and reads it up to its approval.
async fn resume<J: Journal + Clone + 'static>(
    journal: &J,
    save: &Arc<Save>,
) -> (AgentRun<'static>, Arc<Approval>) {
    let agent = agent(save, in_stream(), 1);
    let run = agent.durable(journal).run_id("run").ask("Go").await;
    let mut run = run.unwrap();
    let approval = next_approval(&mut run).await;
    (run, approval)
}

#[tokio::test]
async fn an_open_approval_survives_the_process() {
    async fn check<J: Journal + Clone + 'static>(journal: &J) {
        let (run, first) = resume(journal, &Save::new(&[])).await;
        drop(run);
        // The same is shown, so it has the same id.
        let save = Save::new(&[]);
        let (run, again) = resume(journal, &save).await;
        assert_eq!(first, again);
        drop(run);
        // Something else is shown: the old answer does not hold.
        let (mut run, changed) = resume(journal, &Save::new(&[5])).await;
        assert_ne!(first.id, changed.id);
        let handle = run.handle();
        let stale = handle.answer(first.id, Answer::Once);
        assert_eq!(stale, Err(NotAnswered::Unknown));
        handle.answer(changed.id, Answer::Once).unwrap();
        let lines = rest(&mut run, |_, _| {}).await;
        assert_eq!(lines, ["yes", "start", "wrote 6"]);
    }
    check(&MemoryJournal::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let journal = SqliteJournal::open(folder.path().join("runs.db")).unwrap();
    check(&journal).await;
}

#[tokio::test(start_paused = true)]
async fn another_process_answers_through_the_journal() {
    let run_id: RunId = "run".parse().unwrap();
    let answer = |id: ApprovalId, decision| RunMessageContent::Answer {
        question: QuestionRef::Approval(id),
        decision,
    };
    for (decision, expected) in [
        (Decision::Proceed, vec!["? +1", "yes", "start", "wrote 1"]),
        (
            Decision::Deny("no".to_owned()),
            vec!["? +1", "no no", "Denied by the user: no"],
        ),
    ] {
        let journal = MemoryJournal::default();
        let (mut run, shown) = resume(&journal, &Save::new(&[])).await;
        // What is kept has all that a user has to see.
        tokio::select! {
            biased;
            _ = run.next() => panic!("nobody has answered"),
            () = std::future::ready(()) => {}
        }
        let progress = journal.progress(&run_id).unwrap();
        assert!(progress.is_waiting);
        let [open] = &progress.questions[..] else {
            panic!("one question: {:?}", progress.questions)
        };
        assert_eq!(open.id, QuestionRef::Approval(shown.id));
        assert_eq!(open.approval.as_ref(), Some(&shown));
        drop(run);
        // Nobody drives the run when the answer is given, and one to what is not shown changes nothing.
        let mut other = shown.id;
        other.shown ^= 1;
        journal
            .send(&run_id, answer(other, Decision::Proceed))
            .unwrap();
        journal
            .send(&run_id, answer(shown.id, Decision::Stop))
            .unwrap();
        journal.send(&run_id, answer(shown.id, decision)).unwrap();
        let agent = agent(&Save::new(&[]), in_stream(), 1);
        let resumed = agent.durable(&journal).run_id("run").ask("Go").await;
        let mut resumed = resumed.unwrap();
        assert_eq!(rest(&mut resumed, |_, _| {}).await, expected);
        let finished = resumed.finished().unwrap();
        assert_eq!(finished.summary.reason, FinishReason::Completed);
    }
}
