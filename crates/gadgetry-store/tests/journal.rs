//! The journal in SQLite: what it keeps, and who may have a run.

use std::time::Duration;

use futures_util::StreamExt as _;
use gadgetry::journal::{JournalError, RunId};
use gadgetry::log::replay;
use gadgetry::{Agent, Event, EventKind, GadgetSpec, Outcome, ScriptedModel, from_fn};
use gadgetry_store::{SqliteJournal, Status};
use tempfile::TempDir;

pub(super) struct Place {
    folder: TempDir,
}

impl Place {
    pub(super) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(super) fn open(&self) -> SqliteJournal {
        SqliteJournal::open(self.folder.path().join("runs/journal.db")).unwrap()
    }
}

pub(super) fn id(text: &str) -> RunId {
    text.parse().unwrap()
}

pub(super) fn agent(script: &str) -> Agent {
    let model: ScriptedModel = script.parse().unwrap();
    let long = GadgetSpec {
        name: "Long".to_owned(),
        ..GadgetSpec::default()
    };
    let long = from_fn(long, |_, _| async {
        Outcome::ok("0123456789".repeat(20_000))
    });
    Agent::builder().model(model).gadget(long).build().unwrap()
}

const ANSWER: &str = r#"{"text": "4"}"#;
const LONG: &str = concat!(
    r#"{"text": "!!!GADGET_START:Long\n!!!GADGET_END\n!!!GADGET_START:Long\n!!!GADGET_END"}"#,
    "\n",
    r#"{"text": "long"}"#
);

#[tokio::test]
async fn a_finished_run_gives_its_answer_without_a_model() {
    let place = Place::new();
    let answer = agent(ANSWER)
        .durable(&place.open())
        .run_id("sum")
        .ask("2+2?")
        .await;
    assert_eq!(answer.unwrap().text().await.unwrap(), "4");

    // Another process, whose model says something else.
    let journal = place.open();
    let again = agent(r#"{"text": "5"}"#);
    let run = again
        .durable(&journal)
        .run_id("sum")
        .ask("2+2?")
        .await
        .unwrap();
    assert_eq!(run.text().await.unwrap(), "4");
    let run = again
        .durable(&journal)
        .run_id("sum")
        .resume()
        .await
        .unwrap();
    assert_eq!(run.text().await.unwrap(), "4");

    let record = journal.run(&id("sum")).await.unwrap();
    assert_eq!(record.status(), Status::Finished);
    assert_eq!(record.progress.summary.unwrap().answer, "4");
    let other = again.durable(&journal).run_id("sum").ask("3+3?").await;
    let changes = match other {
        Err(JournalError::Changed { changes, .. }) => changes,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        changes,
        ["the conversation and the question before the run"]
    );
}

#[tokio::test]
async fn the_events_of_a_run_are_those_of_its_log() {
    let place = Place::new();
    let journal = place.open();
    let run = agent(LONG)
        .durable(&journal)
        .run_id("long")
        .ask("Go")
        .await
        .unwrap();
    let mut seen = Vec::new();
    let finished = run
        .on_event(|event| seen.push(event.clone()))
        .await
        .unwrap();
    for from in [0, 3, seen.len() - 1] {
        let events = journal.events(&id("long"), from as u64).await.unwrap();
        let events: Vec<Event> = events.map(Result::unwrap).collect().await;
        assert_eq!(events, seen[from..]);
    }
    let mut log = Vec::new();
    let exported = journal.export(&id("long"), &mut log).await.unwrap();
    assert!(exported.damage.is_none());
    let summary = replay(&log[..], &mut |_: &Event| {}).unwrap();
    assert_eq!(summary, Some(finished.summary));
    // Twice 200 KB of the result, stored once and compressed.
    let size = std::fs::metadata(journal.path()).unwrap().len();
    assert!(size < 150_000, "{size}");
}

#[tokio::test]
async fn a_run_has_one_owner() {
    let place = Place::new();
    let (one, other) = (place.open(), place.open());
    let agent = agent(ANSWER);
    let run = agent.durable(&one).run_id("sum").ask("2+2?").await.unwrap();
    for journal in [&one, &other] {
        let refused = agent.durable(journal).run_id("sum").ask("2+2?").await;
        assert!(
            matches!(refused, Err(JournalError::Owned { .. })),
            "{refused:?}"
        );
        assert!(matches!(
            gadgetry::journal::Journal::forget(journal, &id("sum")).await,
            Err(JournalError::Owned { .. })
        ));
    }
    assert_eq!(
        other.run(&id("sum")).await.unwrap().status(),
        Status::Running
    );
    drop(run);
    one.flush().await;
    assert_eq!(
        other.run(&id("sum")).await.unwrap().status(),
        Status::Interrupted
    );
    let run = agent
        .durable(&other)
        .run_id("sum")
        .ask("2+2?")
        .await
        .unwrap();
    assert_eq!(run.text().await.unwrap(), "4");
}

#[tokio::test]
async fn a_run_is_cancelled_whether_or_not_it_is_driven() {
    let place = Place::new();
    let (one, other) = (place.open(), place.open());
    let spec = GadgetSpec {
        name: "Wait".to_owned(),
        ..GadgetSpec::default()
    };
    let wait = from_fn(spec, |_, _| std::future::pending::<Outcome>());
    let model: ScriptedModel = r#"{"text": "!!!GADGET_START:Wait\n!!!GADGET_END"}"#
        .parse()
        .unwrap();
    let agent = Agent::builder().model(model).gadget(wait).build().unwrap();

    let mut run = agent
        .durable(&one)
        .run_id("driven")
        .ask("Go")
        .await
        .unwrap();
    let mut is_cancelled = false;
    while let Some(event) = run.next().await {
        if matches!(event.kind, EventKind::GadgetStart { .. }) {
            other.cancel(&id("driven")).await.unwrap();
            is_cancelled = true;
        }
    }
    assert!(is_cancelled);
    let record = other.run(&id("driven")).await.unwrap();
    assert_eq!(record.status(), Status::Finished);

    let run = agent.durable(&one).run_id("left").ask("Go").await.unwrap();
    drop(run);
    one.flush().await;
    other.cancel(&id("left")).await.unwrap();
    let record = other.run(&id("left")).await.unwrap();
    assert_eq!(record.status(), Status::Finished);
    let removed = other.forget_older_than(Duration::ZERO).await.unwrap();
    assert_eq!(removed.len(), 2);
    other.vacuum().await.unwrap();
    assert!(one.runs().await.unwrap().is_empty());
}
