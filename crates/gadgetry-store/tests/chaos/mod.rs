//! Runs whose process is killed with `kill -9` at any moment, on full disks, with torn files, and fought over.
//!
//! `GADGETRY_CHAOS_KILLS` is the number of kills; `cargo xtask test chaos` has more of them than the other tests.

mod commands;
mod victim;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use gadgetry::journal::{JournalError, RunId};
use gadgetry::proto::run::Decision;
use gadgetry::proto::run::Input;
use gadgetry::{Event, EventKind, Finished};
use gadgetry_store::{SqliteJournal, Status};
use victim::{FAILED, LOST, OWNED, RUN, agent, effects, journal, start};

/// Kills of a small dose.
const FEW: usize = 25;

/// A time that no test needs, on any machine.
const TOO_LONG: Duration = Duration::from_mins(10);

fn run() -> RunId {
    RUN.parse().unwrap()
}

/// Answers the question of the run when it is asked.
async fn answer(journal: &SqliteJournal) {
    let Ok(record) = journal.run(&run()).await else {
        return;
    };
    for question in record.progress.questions {
        let yes = Decision::Result("yes".to_owned());
        // It fails if the question is not open any more.
        let _ = journal.answer(&run(), question.id, yes).await;
    }
}

/// Waits for the end of a process, which is killed when `life` is over, and answers its questions. `None` if it was killed.
async fn wait(process: &mut Child, folder: &Path, life: Option<Duration>) -> Option<i32> {
    let began = Instant::now();
    let own = journal(folder).unwrap();
    let ended = loop {
        if let Some(status) = process.try_wait().unwrap() {
            break Some(status.code().unwrap_or(-1));
        }
        assert!(began.elapsed() < TOO_LONG, "the run does not end");
        if life.is_some_and(|life| began.elapsed() >= life) {
            process.kill().unwrap();
            process.wait().unwrap();
            break None;
        }
        answer(&own).await;
        tokio::time::sleep(Duration::from_micros(500)).await;
    };
    own.close().await;
    ended
}

/// A run that nothing disturbs.
async fn undisturbed() -> (Finished, Duration) {
    let folder = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let mut process = start(folder.path(), "");
    assert_eq!(wait(&mut process, folder.path(), None).await, Some(0));
    (
        finished(agent(folder.path()), folder.path()).await,
        began.elapsed(),
    )
}

/// The result of a run that has ended.
async fn finished(agent: gadgetry::Agent, folder: &Path) -> Finished {
    let journal = journal(folder).unwrap();
    let run = agent.durable(&journal).run_id(RUN).resume().await;
    run.unwrap().finish().await.unwrap()
}

/// What the run has lost, in US dollars, and how often each call was started again.
async fn losses(folder: &Path) -> (f64, BTreeMap<String, usize>) {
    let journal = journal(folder).unwrap();
    let (mut dollars, mut again) = (0.0, BTreeMap::new());
    let mut events = journal.events(&run(), 0).await.unwrap();
    while let Some(event) = events.next().await {
        let kind = event.unwrap().kind;
        if let EventKind::ModelCallEnd {
            cost: Some(cost),
            error: Some(_),
            ..
        } = kind
        {
            dollars += cost;
        } else if let EventKind::GadgetRestarted { call, .. } = kind {
            *again.entry(format!("{RUN}/{}", call.0)).or_default() += 1;
        }
    }
    (dollars, again)
}

/// Compares a run that has ended with the one that nothing has disturbed.
async fn compare(folder: &Path, undisturbed: &Finished) {
    let finished = finished(agent(folder), folder).await;
    let texts = |finished: &Finished| -> Vec<String> {
        finished
            .history
            .iter()
            .map(|message| format!("{message:?}"))
            .collect()
    };
    assert_eq!(texts(&finished), texts(undisturbed));
    let (lost, again) = losses(folder).await;
    let cost = finished.summary.known_cost - lost;
    assert!(
        (cost - undisturbed.summary.known_cost).abs() < 1e-9,
        "{cost}"
    );
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for key in fs::read_to_string(effects(folder)).unwrap().lines() {
        *seen.entry(key.to_owned()).or_default() += 1;
    }
    assert_eq!(
        seen.len(),
        11,
        "all but the one whose dependency fails: {seen:?}"
    );
    for (key, times) in seen {
        let again = again.get(&key).copied().unwrap_or(0);
        assert!(
            times <= 1 + again,
            "{key}: {times} times, and started again {again} times"
        );
    }
    never_again(folder).await;
}

/// No call is started after it was done.
async fn never_again(folder: &Path) {
    let mut log = Vec::new();
    journal(folder)
        .unwrap()
        .export(&run(), &mut log)
        .await
        .unwrap();
    let mut done = Vec::new();
    for line in log
        .split(|byte| *byte == b'\n')
        .skip(1)
        .filter(|it| !it.is_empty())
    {
        let entry: gadgetry::log::Entry = serde_json::from_slice(line).unwrap();
        if let Input::Done(call, _) = entry.input {
            assert!(!done.contains(&call), "{call} is done twice");
            done.push(call);
        }
    }
}

fn kills() -> usize {
    let kills = std::env::var("GADGETRY_CHAOS_KILLS");
    kills.map_or(FEW, |kills| kills.parse().unwrap())
}

/// A number that differs each time, up to `limit`.
fn random(limit: Duration) -> Duration {
    let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0);
    let share = u32::try_from(random % 10_000).unwrap();
    limit.mul_f64(f64::from(share) / 10_000.0)
}

#[tokio::test]
async fn a_run_that_is_killed_at_any_moment_ends_as_if_it_had_not_been() {
    let (undisturbed, whole) = undisturbed().await;
    let mut killed = 0;
    while killed < kills() {
        let folder = tempfile::tempdir().unwrap();
        loop {
            let mut process = start(folder.path(), "");
            match wait(&mut process, folder.path(), Some(random(whole))).await {
                None => killed += 1,
                Some(code) => {
                    assert_eq!(code, 0);
                    break;
                }
            }
        }
        compare(folder.path(), &undisturbed).await;
    }
}

#[tokio::test]
async fn two_processes_do_not_have_one_run() {
    let (undisturbed, _) = undisturbed().await;
    let folder = tempfile::tempdir().unwrap();
    let mut processes: Vec<Child> = (0..3).map(|_| start(folder.path(), "")).collect();
    let mut codes = Vec::new();
    for process in &mut processes {
        codes.push(wait(process, folder.path(), None).await.unwrap());
    }
    assert!(codes.contains(&0), "{codes:?}");
    // One that comes late is given the result.
    assert!(
        codes.iter().all(|code| [0, OWNED].contains(code)),
        "{codes:?}"
    );
    compare(folder.path(), &undisturbed).await;
}

/// Sends a signal to the process.
fn signal(process: &Child, name: &str) {
    let mut kill = Command::new("kill");
    let sent = kill.args([name, &process.id().to_string()]).status();
    assert!(sent.unwrap().success(), "{name}");
}

#[tokio::test]
async fn a_process_that_was_frozen_gives_up_its_run() {
    let (undisturbed, _) = undisturbed().await;
    let folder = tempfile::tempdir().unwrap();
    let mut process = start(folder.path(), "");
    let journal = journal(folder.path()).unwrap();
    // Until it waits for nothing but the answer.
    while !journal
        .run(&run())
        .await
        .is_ok_and(|record| record.status() == Status::Waiting)
    {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let take_up = || async {
        agent(folder.path())
            .durable(&journal)
            .run_id(RUN)
            .resume()
            .await
    };
    signal(&process, "-STOP");
    let refused = take_up().await;
    assert!(
        matches!(refused, Err(JournalError::Owned { .. })),
        "{refused:?}"
    );
    // Its lease ends.
    let connection = rusqlite::Connection::open(journal.path()).unwrap();
    connection
        .execute("UPDATE runs SET lease_ms = 0", ())
        .unwrap();
    let run = take_up().await.unwrap();
    signal(&process, "-CONT");
    // It waits, and learns all the same that the run is no longer its own.
    assert_eq!(wait_only(&mut process).await, LOST);
    let answering = async {
        loop {
            answer(&journal).await;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        finished = run.finish() => finished.map(|_| ()).unwrap(),
        () = answering => {}
    }
    compare(folder.path(), &undisturbed).await;
}

/// Waits for the end of a process.
async fn wait_only(process: &mut Child) -> i32 {
    let began = Instant::now();
    loop {
        if let Some(status) = process.try_wait().unwrap() {
            return status.code().unwrap_or(-1);
        }
        assert!(began.elapsed() < TOO_LONG, "the process does not end");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_run_on_a_full_disk_stops_and_is_resumed_when_there_is_room() {
    let (undisturbed, _) = undisturbed().await;
    // Blocks of 512 or 1,024 bytes, whatever the shell counts in: from no room for the tables to room for all of it.
    let mut stopped = 0;
    for blocks in [40, 60, 80, 100, 120, 140, 160, 200, 300] {
        let folder = tempfile::tempdir().unwrap();
        let limit = format!("trap '' XFSZ; ulimit -f {blocks}");
        let mut process = start(folder.path(), &limit);
        let code = wait(&mut process, folder.path(), None).await.unwrap();
        if code == 0 {
            continue;
        }
        assert_eq!(code, FAILED, "{blocks} blocks");
        stopped += 1;
        let mut process = start(folder.path(), "");
        assert_eq!(wait(&mut process, folder.path(), None).await, Some(0));
        compare(folder.path(), &undisturbed).await;
    }
    assert!(stopped > 1, "the disk was never full");
}

#[tokio::test]
async fn a_torn_page_at_the_end_loses_no_more_than_the_last_steps() {
    let (undisturbed, whole) = undisturbed().await;
    for torn in [1_u64, 100, 5_000] {
        let folder = tempfile::tempdir().unwrap();
        let mut process = start(folder.path(), "");
        if wait(&mut process, folder.path(), Some(whole.mul_f64(0.7)))
            .await
            .is_none()
        {
            let log = folder.path().join("journal").join("runs.db-wal");
            if let Ok(mut file) = fs::OpenOptions::new().write(true).open(&log) {
                let end = file.seek(SeekFrom::End(0)).unwrap();
                let start = end.saturating_sub(torn);
                file.seek(SeekFrom::Start(start)).unwrap();
                file.write_all(&vec![0xAA; usize::try_from(end - start).unwrap()])
                    .unwrap();
            }
            let mut process = self::start(folder.path(), "");
            assert_eq!(wait(&mut process, folder.path(), None).await, Some(0));
        }
        let finished = finished(agent(folder.path()), folder.path()).await;
        assert_eq!(finished.history, undisturbed.history);
    }
}

#[tokio::test]
async fn the_undisturbed_run_does_what_its_script_says() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = start(folder.path(), "");
    assert_eq!(wait(&mut process, folder.path(), None).await, Some(0));
    let record = journal(folder.path()).unwrap().run(&run()).await.unwrap();
    assert_eq!(record.status(), Status::Finished);
    let events = journal(folder.path())
        .unwrap()
        .events(&run(), 0)
        .await
        .unwrap();
    let events: Vec<Event> = events.map(Result::unwrap).collect().await;
    let started = events
        .iter()
        .filter(|it| matches!(it.kind, EventKind::GadgetStart { .. }));
    assert_eq!(started.count(), 11);
    assert_eq!(record.progress.summary.unwrap().answer, "All is done.");
}
