//! Runs that others have changed, damaged or taken up.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::StreamExt as _;
use gadgetry::journal::{Journal as _, JournalError};
use gadgetry::log::replay;
use gadgetry::proto::schema::OnInterrupt;
use gadgetry::{
    Agent, Event, EventKind, ExecutionContext, GadgetSpec, IntoGadget as _, Outcome, Price, from_fn,
};
use gadgetry_store::SqliteJournal;
use gadgetry_testing::{MockModel, call, reply};
use rusqlite::Connection;
use tokio::sync::Notify;

use crate::journal::{Place, id};

fn gadget(name: &str) -> GadgetSpec {
    GadgetSpec {
        name: name.to_owned(),
        on_interrupt: OnInterrupt::Rerun,
        ..GadgetSpec::default()
    }
}

/// Replies with a call for each of these gadgets in turn, and then with an answer; by what the conversation has, so that any
/// process can continue it.
fn calls(gadgets: &'static [&'static str]) -> MockModel {
    let price = Price::default().input(1.0);
    let model = MockModel::builder().unchecked().price(price);
    let model = model.when(|any| any);
    let model = model.replies_by(|request| {
        let said = request.messages.iter();
        let said = said.filter(|message| message.role == gadgetry::Role::Assistant);
        let reply = match gadgets.get(said.count()) {
            Some(gadget) => reply().call(call(*gadget)),
            None => reply().text("All is done."),
        };
        reply.tokens(1000, 100)
    });
    model.build()
}

/// Its `Work` is done at once; its `Wait` hangs.
fn agent(gadgets: &'static [&'static str]) -> Agent {
    let work = from_fn(gadget("Work"), |_, _| async { Outcome::ok("worked") });
    let wait = from_fn(gadget("Wait"), |_, _| std::future::pending::<Outcome>());
    let agent = Agent::builder().model(calls(gadgets));
    agent.gadget(work).gadget(wait).build().unwrap()
}

/// Drives a run until its gadget hangs, and leaves it there.
async fn leave(journal: &SqliteJournal, name: &str, gadgets: &'static [&'static str]) {
    let agent = agent(gadgets);
    let run = agent.durable(journal).run_id(name).ask("Go").await;
    let mut run = run.unwrap();
    while let Some(event) = run.next().await {
        if matches!(&event.kind, EventKind::GadgetStart { gadget_name, .. } if gadget_name == "Wait")
        {
            break;
        }
    }
    drop(run);
    journal.flush().await;
}

/// Changes the file as another program could.
fn change(journal: &SqliteJournal, sql: &str) {
    let connection = Connection::open(journal.path()).unwrap();
    assert_eq!(connection.execute(sql, ()).unwrap(), 1, "{sql}");
}

#[tokio::test]
async fn what_can_be_read_of_a_damaged_run_is_exported() {
    let cases = [
        (
            "UPDATE entries SET lines = x'7b22ff' WHERE id = (SELECT max(id) FROM entries) - 1",
            "of its entries",
        ),
        (
            "UPDATE entries SET lines = x'7b7d' WHERE id = (SELECT max(id) FROM entries) - 1",
            "of its entries",
        ),
        (
            "UPDATE headers SET json = substr(json, 1, 100)",
            "its header",
        ),
    ];
    for (sql, place) in cases {
        let folder = Place::new();
        let journal = folder.open();
        leave(&journal, "run", &["Work", "Work", "Wait"]).await;
        let mut whole = Vec::new();
        let exported = journal.export(&id("run"), &mut whole).await.unwrap();
        let all = exported.inputs;
        assert!(exported.damage.is_none());
        change(&journal, sql);
        let resumed = agent(&["Work", "Work", "Wait"]);
        let resumed = resumed.durable(&journal).run_id("run").resume().await;
        let error = resumed.map(|_| ()).unwrap_err();
        assert!(matches!(error, JournalError::Damaged { .. }), "{error:?}");
        let words = error.to_string();
        assert!(
            words.contains(place) && words.contains("can be exported"),
            "{words}"
        );
        let mut log = Vec::new();
        match journal.export(&id("run"), &mut log).await {
            Ok(exported) => {
                let damage = exported.damage.as_ref().unwrap().to_string();
                assert!(damage.contains(place), "{damage}");
                assert!((1..all).contains(&exported.inputs), "{exported:?}");
                assert!(whole.starts_with(&log));
                let mut texts = 0;
                let played = replay(&log[..], &mut |_: &Event| texts += 1).unwrap();
                assert!(played.is_none() && texts > 5, "{texts}");
            }
            // Without its header no other line means anything.
            Err(error) => assert!(error.to_string().contains(place), "{error}"),
        }
    }
}

#[tokio::test]
async fn a_changed_agent_is_refused_with_a_list_or_forced() {
    let folder = Place::new();
    let journal = folder.open();
    leave(&journal, "run", &["Work", "Wait"]).await;
    let changed = || {
        let wait = from_fn(gadget("Wait"), |_, _| async { Outcome::ok("at last") });
        let more = from_fn(gadget("More"), |_, _| async { Outcome::ok("more") });
        let agent = Agent::builder().model(calls(&["Work", "Wait", "More"]));
        agent.gadget(wait).gadget(more).build().unwrap()
    };
    for resumes in [false, true] {
        let agent = changed();
        let run = agent.durable(&journal).run_id("run");
        let refused = if resumes {
            run.resume().await
        } else {
            run.ask("Go").await
        };
        let Err(JournalError::Changed { changes, .. }) = refused else {
            panic!("{refused:?}");
        };
        let changes = changes.join("; ");
        assert!(
            changes.contains("Work") && changes.contains("More") && !changes.contains("Wait"),
            "{changes}"
        );
    }
    let forced = changed();
    let forced = forced.durable(&journal).run_id("run").force().resume();
    let finished = forced.await.unwrap().finish().await.unwrap();
    assert_eq!(finished.summary.answer, "All is done.");
    assert_eq!(finished.summary.iterations, 4);
    let said = format!("{:?}", finished.history);
    for result in ["worked", "at last", "more"] {
        assert!(said.contains(result), "{said}");
    }
}

/// A subagent is a run of its own in the same file: what it has finished is not done again either.
#[tokio::test]
async fn a_subagent_is_resumed_where_it_was() {
    let folder = Place::new();
    let journal = folder.open();
    let requests = Arc::new(AtomicUsize::new(0));
    let worked = Arc::new(AtomicUsize::new(0));
    let hang = Arc::new(Notify::new());
    // Each has a process of its own: the first one dies while the subagent's second gadget runs.
    let mut history = Vec::new();
    for attempt in 0..2 {
        let (count, worked) = (Arc::clone(&requests), Arc::clone(&worked));
        let hung = Arc::clone(&hang);
        let work = from_fn(gadget("Work"), move |_, _| {
            worked.fetch_add(1, Ordering::Relaxed);
            async { Outcome::ok("worked") }
        })
        .into_gadget();
        let wait = from_fn(gadget("Wait"), move |_, _| {
            let hung = Arc::clone(&hung);
            async move {
                if attempt == 0 {
                    hung.notify_one();
                    std::future::pending::<()>().await;
                }
                Outcome::ok("waited")
            }
        })
        .into_gadget();
        let inner = calls(&["Work", "Wait"]);
        let inner_requests = inner.clone();
        let delegate = move |_, context: ExecutionContext| {
            let agent = Agent::builder().model(inner.clone()).budget(1.0);
            let agent = agent.gadget(Arc::clone(&work)).gadget(Arc::clone(&wait));
            async move {
                let agent = context.spawn_agent(agent).unwrap();
                Outcome::ok(agent.ask("Which?").text().await.unwrap())
            }
        };
        let outer = calls(&["Delegate"]);
        let outer_requests = outer.clone();
        let agent = Agent::builder()
            .model(outer)
            .gadget(from_fn(gadget("Delegate"), delegate))
            .budget(2.0)
            .build()
            .unwrap();
        let run = agent.durable(&journal).run_id("run").ask("Go").await;
        let run = run.unwrap().finish();
        tokio::select! {
            () = hang.notified() => {}
            finished = run => history = finished.unwrap().history,
        }
        journal.flush().await;
        count.fetch_add(
            outer_requests.call_count() + inner_requests.call_count(),
            Ordering::Relaxed,
        );
    }
    assert!(!history.is_empty(), "the second one has finished");
    // Two of the run and three of its subagent: none twice.
    assert_eq!(requests.load(Ordering::Relaxed), 5);
    assert_eq!(worked.load(Ordering::Relaxed), 1);
    assert_eq!(journal.runs().await.unwrap().len(), 1);
    let names = || -> Vec<String> {
        let connection = Connection::open(journal.path()).unwrap();
        let mut names = connection
            .prepare("SELECT id FROM runs ORDER BY id")
            .unwrap();
        let names = names.query_map((), |row| row.get(0)).unwrap();
        names.map(Result::unwrap).collect()
    };
    assert_eq!(names(), ["run", "run/0.0"]);
    journal.forget(&id("run")).await.unwrap();
    assert_eq!(names(), Vec::<String>::new());
}

#[tokio::test]
async fn a_file_of_another_kind_is_not_touched() {
    let cases = [
        ("PRAGMA user_version = 99", "has format version 99"),
        ("PRAGMA application_id = 7", "of another program"),
        (
            "PRAGMA user_version = 2",
            "says that it has format version 2, but does not have its tables",
        ),
        (
            "PRAGMA user_version = 1",
            "says that it has format version 1, but does not have its tables",
        ),
        ("DROP TABLE details", "says that it has format version 4"),
        (
            "ALTER TABLE runs DROP COLUMN entries",
            "says that it has format version 4",
        ),
    ];
    for (sql, words) in cases {
        let folder = Place::new();
        let journal = folder.open();
        leave(&journal, "run", &["Wait"]).await;
        let path = journal.path().to_owned();
        journal.close().await;
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(sql).unwrap();
        drop(connection);
        let before = std::fs::read(&path).unwrap();
        let refused = SqliteJournal::open(&path).map(|_| ()).unwrap_err();
        assert!(refused.to_string().contains(words), "{refused}");
        assert!(refused.to_string().contains("journal.db"), "{refused}");
        assert!(std::fs::read(&path).unwrap() == before, "{sql}");
    }
    let folder = Place::new();
    let path = folder.open().path().with_file_name("words.db");
    std::fs::write(&path, "These are words and no database. ".repeat(100)).unwrap();
    let refused = SqliteJournal::open(&path).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("not a database"), "{refused}");
}

#[tokio::test]
async fn a_closed_journal_is_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    for _ in 0..200 {
        SqliteJournal::open(&path).unwrap().close().await;
        let names = fs::read_dir(&folder).unwrap();
        let names: Vec<_> = names.map(|it| it.unwrap().file_name()).collect();
        assert_eq!(names, ["journal.db"]);
    }
}
